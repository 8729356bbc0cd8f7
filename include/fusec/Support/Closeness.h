//===- Closeness.h - when two right results are close -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SUPPORT_CLOSENESS_H
#define FUSEC_SUPPORT_CLOSENESS_H

#include "fusec/Support/HostTensor.h"

namespace fusec {

/// Two results of one graph are both right if each element of one is within
///   relative * |expected| + scaled * (largest finite |expected|)
/// of the other's; docs/semantics.md derives the numbers.
struct Closeness {
  double relative = 0, scaled = 0;
};

/// Of an output of `dtype` that is computed in f32. Float8 has no allowance for
/// its own rounding: its numbers come from casts and quantisers, which are
/// exact.
Closeness closenessOf(DType dtype);

/// The largest finite |x| of `tensor`; 0 if there is none.
double largestFinite(const HostTensor &tensor);

} // namespace fusec

#endif // FUSEC_SUPPORT_CLOSENESS_H
