//===- ScatterTest.cpp - updates at computed places -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ElementInterpreter.h"
#include "ReferenceTestUtils.h"
#include "gtest/gtest.h"
#include <cmath>
#include <numeric>

using namespace fusec;
using namespace fusec::reference::test;

using Shape = std::vector<int64_t>;

static HostTensor counting(DType dtype, const Shape &shape, int64_t first) {
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                  std::multiplies<>());
  std::vector<int64_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return wholes(dtype, shape, values);
}

static HostTensor scatter(const std::string &op, const HostTensor &x,
                          const HostTensor &indices, const HostTensor &updates,
                          const std::string &attributes = "") {
  std::string a = typeText(x.dtype, x.shape),
              b = typeText(indices.dtype, indices.shape),
              c = typeText(updates.dtype, updates.shape);
  Graph graph({a, b, c}, a,
              "graph." + op + " %0, %1, %2" + attributes + " : " + a + ", " +
                  b + ", " + c);
  expectElementsMatch(graph.op(), {x, indices, updates});
  return run(graph, {x, indices, updates}).at(0);
}

using Values = std::vector<int64_t>;

TEST(ScatterNd, KindsOnRepeatedIndices) {
  HostTensor x = counting(DType::I32, {5}, 10); // 10 11 12 13 14
  HostTensor i = wholes(DType::I64, {4, 1}, {1, 3, 1, 1});
  HostTensor u = wholes(DType::I32, {4}, {7, 20, 9, 2});
  EXPECT_EQ(asWholes(scatter("scatter_nd assign", x, i, u)),
            (Values{10, 2, 12, 20, 14}));
  EXPECT_EQ(asWholes(scatter("scatter_nd add", x, i, u)),
            (Values{10, 29, 12, 33, 14}));
  EXPECT_EQ(asWholes(scatter("scatter_nd mul", x, i, u)),
            (Values{10, 11 * 7 * 9 * 2, 12, 260, 14}));
  EXPECT_EQ(asWholes(scatter("scatter_nd max", x, i, u)),
            (Values{10, 11, 12, 20, 14}));
  EXPECT_EQ(asWholes(scatter("scatter_nd min", x, i, u)),
            (Values{10, 2, 12, 13, 14}));
}

TEST(ScatterNd, HostileIndices) {
  HostTensor x = counting(DType::F32, {3}, 1);
  HostTensor i =
      wholes(DType::I64, {6, 1}, {-1, -3, -4, 3, INT64_MIN, INT64_MAX});
  HostTensor u = counting(DType::F32, {6}, 10);
  EXPECT_EQ(asReals(scatter("scatter_nd assign", x, i, u)),
            (std::vector<double>{11, 2, 10}));
  // Unsigned indices never count from the end.
  HostTensor w = wholes(DType::U64, {3, 1}, {-1, -3, 1});
  EXPECT_EQ(asReals(scatter("scatter_nd assign", x, w,
                            counting(DType::F32, {3}, 10))),
            (std::vector<double>{1, 12, 3}));
}

TEST(ScatterNd, SlicesDepthsAndEmptyLists) {
  HostTensor x = counting(DType::F16, {3, 4}, 0);
  scatter("scatter_nd assign", x, wholes(DType::I32, {2, 1}, {2, 0}),
          counting(DType::F16, {2, 4}, 50));
  scatter("scatter_nd add", x,
          wholes(DType::I8, {2, 2, 2}, {0, 1, 2, 3, 0, 1, 1, -1}),
          counting(DType::F16, {2, 2}, 50));
  scatter("scatter_nd assign", x, wholes(DType::I32, {0, 1}, {}),
          counting(DType::F16, {0, 4}, 0));
  // Index vectors of length 0 name the whole tensor.
  scatter("scatter_nd assign", x, wholes(DType::I32, {2, 0}, {}),
          counting(DType::F16, {2, 3, 4}, 30));
  scatter("scatter_nd add", counting(DType::F32, {}, 5),
          wholes(DType::I32, {0}, {}), counting(DType::F32, {}, 3));
}

TEST(ScatterElements, AxesAndSmallerUpdates) {
  HostTensor x = counting(DType::I16, {3, 4}, 0);
  EXPECT_EQ(asWholes(scatter("scatter_elements add", x,
                             wholes(DType::I32, {2, 3}, {0, -1, 2, 1, 2, 9}),
                             counting(DType::I16, {2, 3}, 100), " axis = 0")),
            // 101 at (2, 1), 104 again there; 9 is out of range.
            (Values{100, 1, 2, 3, 107, 5, 6, 7, 8, 214, 112, 11}));
  scatter("scatter_elements assign", x,
          wholes(DType::I32, {2, 6}, {0, 0, 3, -4, 1, 1, 2, 2, 2, 2, 2, 2}),
          counting(DType::I16, {2, 6}, 100), " axis = 1");
  scatter("scatter_elements max", x, wholes(DType::I32, {0, 4}, {}),
          counting(DType::I16, {0, 4}, 0), " axis = 0");
}

// An element that no update hits keeps its bits, -0 and NaN included.
TEST(Scatter, UntouchedElementsKeepTheirBits) {
  HostTensor x = reals(DType::F32, {4}, {-0.0, 0.0, -HUGE_VAL, std::nan("")});
  HostTensor i = wholes(DType::I32, {1, 1}, {9}),
             u = reals(DType::F32, {1}, {1});
  for (const char *kind : {"assign", "add", "mul", "max", "min"}) {
    HostTensor y = scatter(std::string("scatter_nd ") + kind, x, i, u);
    EXPECT_TRUE(std::signbit(y.getF64(0))) << kind;
    EXPECT_FALSE(std::signbit(y.getF64(1))) << kind;
    EXPECT_EQ(y.getF64(2), -HUGE_VAL) << kind;
    EXPECT_TRUE(std::isnan(y.getF64(3))) << kind;
  }
}
