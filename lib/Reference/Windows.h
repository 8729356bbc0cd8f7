//===- Windows.h - how many windows fit -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_REFERENCE_WINDOWS_H
#define FUSEC_LIB_REFERENCE_WINDOWS_H

#include "fusec/Support/Numeric.h"

namespace fusec::reference {

/// Positions of a window along one dimension:
/// floor((size + low + high - dilation * (window - 1) - 1) / stride) + 1, at
/// least 0. An answer that does not fit is the largest integer, which no tensor
/// can have.
inline int64_t countWindows(int64_t size, int64_t window, int64_t stride,
                            int64_t dilation, int64_t low, int64_t high) {
  constexpr int64_t huge = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> extent = checkedMul(dilation, window - 1);
  std::optional<int64_t> padded = checkedAdd(size, low);
  if (padded)
    padded = checkedAdd(*padded, high);
  if (!extent || !padded)
    return huge;
  int64_t room = *padded - *extent - 1;
  return room < 0 ? 0 : room / stride + 1;
}

} // namespace fusec::reference

#endif // FUSEC_LIB_REFERENCE_WINDOWS_H
