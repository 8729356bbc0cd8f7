//===- Closeness.cpp - when two right results are close -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Support/Closeness.h"

#include <algorithm>
#include <cmath>

using namespace fusec;

/// What f32 arithmetic may do to a right result; derived in docs/semantics.md.
static constexpr double kRelative = 1e-4, kScaled = 1e-5;

Closeness fusec::closenessOf(DType dtype) {
  // Half the spacing of numbers near 1 where that is above the error of f32
  // arithmetic.
  double unit = dtype == DType::F16    ? 0x1p-11
                : dtype == DType::BF16 ? 0x1p-8
                                       : 0;
  return {kRelative + 2 * unit, kScaled + unit};
}

double fusec::largestFinite(const HostTensor &tensor) {
  double result = 0;
  for (int64_t i = 0, e = tensor.elements(); i < e; ++i)
    if (double x = std::fabs(tensor.getF64(i)); std::isfinite(x))
      result = std::max(result, x);
  return result;
}
