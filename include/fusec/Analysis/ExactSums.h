//===- ExactSums.h - data on which the order of a sum is nothing ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kernels that add the terms of a product in different orders differ in the
// last bits, and how far they may differ after an epilogue is hard to say. On
// data for which every partial sum is a number of the accumulator they must be
// equal in every bit, whatever follows.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_ANALYSIS_EXACTSUMS_H
#define FUSEC_ANALYSIS_EXACTSUMS_H

#include "fusec/Analysis/OpFacts.h"

namespace fusec::analysis {

/// Simple data: floats are one of these, integers 0 to kSimpleIntegers, and
/// truth values anything.
inline constexpr double kSimpleFloats[] = {-1, -0.5, 0.5, 1};
inline constexpr int64_t kSimpleIntegers = 7;

/// True if on simple data in place of the arguments of the region of `hero`, a
/// contraction or convolution of two operands, every sum of its products is
/// exact in f32. False where that is not clear: a prologue of more than
/// movement, conversions, sums and products. Linear in the ops before `hero`.
bool isExactOnSimpleData(FactTable &facts, mlir::Operation *hero);

} // namespace fusec::analysis

#endif // FUSEC_ANALYSIS_EXACTSUMS_H
