//===- HoleSplit.h - what a hole computes once a row ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_CUDA_HOLESPLIT_H
#define FUSEC_LIB_TARGET_CUDA_HOLESPLIT_H

#include "fusec/Dialect/Simt/IR/Simt.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace fusec::cuda {

/// The ops of an operand hole (b, outer, k) in two parts: those that depend on
/// k and those that do not. Both keep their order. A register array belongs
/// to the part of everything that touches it.
struct HoleSplit {
  explicit HoleSplit(mlir::Block &hole);

  /// Ops of the hole's block that depend on k.
  llvm::DenseSet<mlir::Operation *> late;
  /// Scalars of the early part that the late part or the terminator uses.
  llvm::SetVector<mlir::Value> carried;

private:
  void classify(mlir::Block &hole);
  void collect(mlir::Block &hole);
};

} // namespace fusec::cuda

#endif // FUSEC_LIB_TARGET_CUDA_HOLESPLIT_H
