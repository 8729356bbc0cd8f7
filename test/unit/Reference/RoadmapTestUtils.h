//===- RoadmapTestUtils.h - run the graphs of the road map ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_REFERENCE_ROADMAPTESTUTILS_H
#define FUSEC_TEST_UNIT_REFERENCE_ROADMAPTESTUTILS_H

#include "ReferenceTestUtils.h"

namespace fusec::reference::test {

/// The f32 elements of a tensor, by index.
class Array {
public:
  explicit Array(HostTensor tensor) : tensor(std::move(tensor)) {}
  /// Numbers in [low, high), the same on every machine.
  Array(std::vector<int64_t> shape, uint32_t seed, double low = -1,
        double high = 1);

  template <typename... Indices>
  double operator()(Indices... indices) const {
    int64_t position = 0;
    size_t dim = 0;
    ((position = position * tensor.shape[dim++] + indices), ...);
    return tensor.getF64(position);
  }

  HostTensor tensor;
};

/// A row-major array of expected numbers.
class Expected {
public:
  explicit Expected(std::vector<int64_t> shape);

  template <typename... Indices>
  double &operator()(Indices... indices) {
    int64_t position = 0;
    size_t dim = 0;
    ((position = position * shape[dim++] + indices), ...);
    return values[position];
  }

  std::vector<int64_t> shape;
  std::vector<double> values;
};

/// Expects shape and values of `expected`: 1e-5, relative above 1.
void expectNear(const HostTensor &actual, const Expected &expected,
                const char *what);

/// Runs function @f of the road map's file `name`.mlir as it is and decomposed,
/// and calls `check` on both lists of results.
void runRoadmap(
    const std::string &name, const std::vector<HostTensor> &arguments,
    llvm::function_ref<void(const std::vector<HostTensor> &)> check);

inline double logistic(double x) { return 1 / (1 + __builtin_exp(-x)); }

} // namespace fusec::reference::test

#endif // FUSEC_TEST_UNIT_REFERENCE_ROADMAPTESTUTILS_H
