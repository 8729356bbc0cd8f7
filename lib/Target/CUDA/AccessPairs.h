//===- AccessPairs.h - accesses of neighbouring rows ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_CUDA_ACCESSPAIRS_H
#define FUSEC_LIB_TARGET_CUDA_ACCESSPAIRS_H

#include "fusec/Dialect/Simt/IR/Simt.h"

namespace fusec::cuda {

/// Accesses that are made where a later one of the same block is, together with
/// it: the same buffer, a constant number of elements further. Where rows
/// follow each other so (halves that change places), the memory between them is
/// accessed once (device/rolled.cuh).
struct AccessPairs {
  struct First {
    mlir::Operation *op;
    /// From its offset to that of the later one; positive.
    int64_t distance;
  };
  /// By the later one.
  llvm::DenseMap<mlir::Operation *, First> firstOf;
  /// Those that are made later.
  llvm::DenseSet<mlir::Operation *> isLater;
};

/// The pairs of `kernel` in buffers that are rows, by argument. Nothing that a
/// pair moves over can tell.
AccessPairs findAccessPairs(simt::KernelOp kernel, llvm::ArrayRef<bool> isRow);

} // namespace fusec::cuda

#endif // FUSEC_LIB_TARGET_CUDA_ACCESSPAIRS_H
