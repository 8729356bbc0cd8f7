//===- Blocking.h - several elements in one pass of a reduction -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contraction that computes one element at a time reads both operands for
// each product. Elements that differ in a dimension which one operand does not
// have can share what they read of it: their accumulators stay in registers,
// and one loop serves them all.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_HOST_BLOCKING_H
#define FUSEC_LIB_TARGET_HOST_BLOCKING_H

#include "Stages.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fusec::host {

/// Elements along one result dimension that are computed together.
struct Blocking {
  /// The dimension; -1 for none.
  int64_t dim = -1;
  /// How many elements.
  int64_t count = 1;

  explicit operator bool() const { return dim >= 0; }
};

/// The block of `stage` for vectors along its last dimension: along an earlier
/// one that the operand with the last dimension does not have, so that the
/// block shares its vectors, else for depthwise convolutions along the last but
/// one. None if the roots are not elementwise functions of a contraction.
/// `isInMemory` says which values are read instead of computed.
Blocking blockForLanes(const Stage &stage,
                       llvm::function_ref<bool(mlir::Value)> isInMemory);

/// The block of `stage` for vectors along the reduced dimension: along the last
/// dimension, if an operand does not have it.
Blocking blockForSums(const Stage &stage,
                      llvm::function_ref<bool(mlir::Value)> isInMemory);

/// Unrolls `loop`, which has `count` iterations, and merges the copies of the
/// loops in it. Leaves `loop` as it is where that is not possible.
void jam(mlir::scf::ForOp loop, int64_t count);

} // namespace fusec::host

#endif // FUSEC_LIB_TARGET_HOST_BLOCKING_H
