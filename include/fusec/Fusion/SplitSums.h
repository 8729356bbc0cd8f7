//===- SplitSums.h - long sums of few results -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef FUSEC_FUSION_SPLITSUMS_H
#define FUSEC_FUSION_SPLITSUMS_H

#include "fusec/Support/TargetInfo.h"
#include "fusec/Target/CUDA/GemmConfig.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace fusec::fusion {

/// Divides the sums of products of 16-bit floats in `function` that have too
/// few results for all multiprocessors of `target`:
///
///     %y = contract %x, %w       %p = contract, k in parts, a batch each (f32)
///                          ->    %s = reduce sum %p over the parts
///                                %y = cast %s
///
/// Only where the parts are estimated to be faster, and for sizes that are
/// known and divide. Parts and their sum have fixed orders. Returns how many
/// were divided.
unsigned splitSums(mlir::FunctionOpInterface function,
                   const TargetInfo &target);

/// Whether splitSums would divide any.
bool hasLongSums(mlir::FunctionOpInterface function, const TargetInfo &target);

/// Into how many parts sums of k terms are divided, 1 where they stay whole.
/// m, n >= 1 are the results of each of `batch` products. `boxes` where the
/// copy engine brings both operands: then clusters may be better at dividing.
int64_t sumParts(int64_t m, int64_t n, int64_t k, int64_t batch,
                 std::optional<cuda::GemmKind> boxes, const TargetInfo &target);

} // namespace fusec::fusion

#endif // FUSEC_FUSION_SPLITSUMS_H
