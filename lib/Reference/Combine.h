//===- Combine.h - the combining functions of reductions --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_REFERENCE_COMBINE_H
#define FUSEC_LIB_REFERENCE_COMBINE_H

#include "Tensor.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include <cmath>
#include <limits>

namespace fusec::reference {

/// Larger (or smaller) of two doubles: NaN wins, +0 is above -0.
inline double pickReal(bool larger, double lhs, double rhs) {
  if (std::isnan(lhs) || std::isnan(rhs))
    return std::numeric_limits<double>::quiet_NaN();
  if (lhs == rhs)
    return std::signbit(lhs) == larger ? rhs : lhs;
  return (lhs > rhs) == larger ? lhs : rhs;
}

/// lhs < rhs for integers of `dtype` as a Tensor holds them.
inline bool isLess(DType dtype, int64_t lhs, int64_t rhs) {
  if (isSignedInt(dtype))
    return lhs < rhs;
  return static_cast<uint64_t>(lhs) < static_cast<uint64_t>(rhs);
}

/// A ReduceKind on elements of one type.
class Combine {
public:
  Combine(graph::ReduceKind kind, DType dtype) : kind(kind), dtype(dtype) {}

  /// The state of an empty reduction, as a float or as an integer.
  double realIdentity() const {
    switch (kind) {
    case graph::ReduceKind::prod:
      return 1;
    case graph::ReduceKind::max:
      return -HUGE_VAL;
    case graph::ReduceKind::min:
      return HUGE_VAL;
    default:
      return 0;
    }
  }
  int64_t wholeIdentity() const {
    switch (kind) {
    case graph::ReduceKind::prod:
    case graph::ReduceKind::all:
      return 1;
    case graph::ReduceKind::max:
      return isSignedInt(dtype) ? wrapSigned(half(), integerBits(dtype)) : 0;
    case graph::ReduceKind::min:
      return isSignedInt(dtype) ? static_cast<int64_t>(half() - 1)
                                : static_cast<int64_t>(half() - 1 + half());
    default:
      return 0;
    }
  }

  double operator()(double lhs, double rhs) const {
    switch (kind) {
    case graph::ReduceKind::sum:
      return lhs + rhs;
    case graph::ReduceKind::prod:
      return lhs * rhs;
    default:
      return pickReal(kind == graph::ReduceKind::max, lhs, rhs);
    }
  }
  /// Sums and products wrap to 64 bits; the caller wraps them further.
  int64_t operator()(int64_t lhs, int64_t rhs) const {
    auto a = static_cast<uint64_t>(lhs), b = static_cast<uint64_t>(rhs);
    switch (kind) {
    case graph::ReduceKind::sum:
      return static_cast<int64_t>(a + b);
    case graph::ReduceKind::prod:
      return static_cast<int64_t>(a * b);
    case graph::ReduceKind::max:
      return isLess(dtype, lhs, rhs) ? rhs : lhs;
    case graph::ReduceKind::min:
      return isLess(dtype, rhs, lhs) ? rhs : lhs;
    case graph::ReduceKind::all:
      return lhs & rhs;
    case graph::ReduceKind::any:
      return lhs | rhs;
    }
    llvm_unreachable("unknown reduce kind");
  }

  /// Sets every element to the identity.
  void fill(Tensor &tensor) const {
    std::fill(tensor.real.begin(), tensor.real.end(), realIdentity());
    std::fill(tensor.whole.begin(), tensor.whole.end(), wholeIdentity());
  }

private:
  /// The weight of the top bit.
  uint64_t half() const { return uint64_t(1) << (integerBits(dtype) - 1); }

  graph::ReduceKind kind;
  DType dtype;
};

/// Strides by which an element of `shape` finds its place in a row-major
/// tensor without the dimensions `reduced`: those have stride 0.
inline llvm::SmallVector<int64_t, 6>
keptStrides(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> reduced) {
  llvm::SmallVector<int64_t, 6> strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (llvm::is_contained(reduced, static_cast<int64_t>(dim)))
      continue;
    strides[dim] = stride;
    stride *= shape[dim] == 0 ? 1 : shape[dim];
  }
  return strides;
}

} // namespace fusec::reference

#endif // FUSEC_LIB_REFERENCE_COMBINE_H
