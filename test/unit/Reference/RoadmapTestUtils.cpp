//===- RoadmapTestUtils.cpp - run the graphs of the road map --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RoadmapTestUtils.h"
#include "fusec/Dialect/Graph/Transforms/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cmath>
#include <numeric>

using namespace fusec;
using namespace fusec::reference::test;

static int64_t countOf(const std::vector<int64_t> &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

Array::Array(std::vector<int64_t> shape, uint32_t seed, double low,
             double high) {
  std::vector<double> values(countOf(shape));
  uint32_t state = seed;
  for (double &value : values) {
    state = state * 1664525u + 1013904223u;
    value = low + (high - low) * ((state >> 8) / 16777216.0);
  }
  tensor = reals(DType::F32, shape, values);
}

reference::test::Expected::Expected(std::vector<int64_t> shape)
    : shape(shape), values(countOf(shape), 0) {}

void reference::test::expectNear(const HostTensor &actual,
                                 const Expected &expected, const char *what) {
  ASSERT_EQ(actual.shape, expected.shape) << what;
  for (int64_t i = 0; i < actual.elements(); ++i) {
    double wanted = expected.values[i];
    EXPECT_NEAR(actual.getF64(i), wanted,
                1e-5 * std::max(1.0, std::fabs(wanted)))
        << what << " at " << i;
  }
}

void reference::test::runRoadmap(
    const std::string &name, const std::vector<HostTensor> &arguments,
    llvm::function_ref<void(const std::vector<HostTensor> &)> check) {
  auto file =
      llvm::MemoryBuffer::getFile(FUSEC_ROADMAP_DIR "/" + name + ".mlir");
  ASSERT_TRUE(file) << name;
  Graph graph((*file)->getBuffer().str());
  ASSERT_TRUE(graph.function());
  {
    SCOPED_TRACE(name + " as it is");
    check(run(graph, arguments));
  }
  graph::decomposeComposites(graph.function());
  SCOPED_TRACE(name + " decomposed");
  check(run(graph, arguments));
}
