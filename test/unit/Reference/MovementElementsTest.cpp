//===- MovementElementsTest.cpp - movement both ways ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// buildElement of movement ops against the evaluator, on degenerate and
// hostile shapes and indices.
//===----------------------------------------------------------------------===//
#include "ElementInterpreter.h"
#include "ReferenceTestUtils.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace fusec;
using namespace fusec::reference::test;

/// 0, 1, 2, ... in a shape.
static HostTensor counting(DType dtype, std::vector<int64_t> shape) {
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                  std::multiplies<>());
  std::vector<int64_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  return wholes(dtype, shape, values);
}

TEST(MovementElements, Reshapes) {
  using Shape = std::vector<int64_t>;
  std::pair<Shape, Shape> cases[] = {{{12}, {3, 4}},
                                     {{3, 4}, {12}},
                                     {{4, 6}, {8, 3}},
                                     {{2, 3}, {3, 2}},
                                     {{4, 6}, {3, 8}},
                                     {{2, 3, 4}, {6, 4}},
                                     {{1, 5, 1}, {5}},
                                     {{5}, {1, 1, 5, 1}},
                                     {{}, {1, 1}},
                                     {{1}, {}},
                                     {{0, 3}, {7, 0, 2}},
                                     {{2, 2, 3}, {3, 4}},
                                     {{2, 5, 3}, {5, 6}},
                                     {{7, 11}, {11, 7}},
                                     {{8, 1, 9}, {2, 36}},
                                     {{6, 10, 4}, {4, 15, 4}},
                                     {{2, 3, 5, 7}, {10, 21}},
                                     {{12, 5, 6}, {4, 3, 30}},
                                     {{16, 9}, {4, 4, 3, 3}}};
  for (auto &[from, to] : cases) {
    HostTensor x = counting(DType::I32, from);
    std::string source = typeText(DType::I32, from),
                target = typeText(DType::I32, to);
    Graph graph({source}, target,
                "graph.reshape %0 : " + source + " -> " + target);
    expectElementsMatch(graph.op(), {x});
  }
}

TEST(MovementElements, BroadcastTransposeSlice) {
  struct Case {
    std::vector<int64_t> from, to;
    std::string op, attributes;
  };
  Case cases[] = {
      {{3}, {2, 3}, "broadcast", "[1]"},
      {{3}, {3, 2}, "broadcast", "[0]"},
      {{1, 3}, {4, 2, 3}, "broadcast", "[1, 2]"},
      {{}, {2, 2}, "broadcast", "[]"},
      {{3}, {0, 3}, "broadcast", "[1]"},
      {{2, 3, 4}, {4, 2, 3}, "transpose", "[2, 0, 1]"},
      {{2, 0}, {0, 2}, "transpose", "[1, 0]"},
      {{}, {}, "transpose", "[]"},
      {{10}, {9}, "slice", "offsets [9] strides [-1]"},
      {{10}, {3}, "slice", "offsets [9] strides [-3]"},
      {{10}, {1}, "slice", "offsets [5] strides [9223372036854775807]"},
      {{10}, {0}, "slice", "offsets [99] strides [1]"},
      {{5}, {4}, "slice", "offsets [0] strides [0]"},
      {{4, 5}, {2, 2}, "slice", "offsets [3, 0] strides [-2, 3]"}};
  for (const Case &each : cases) {
    std::string source = typeText(DType::I32, each.from),
                target = typeText(DType::I32, each.to);
    Graph graph({source}, target,
                "graph." + each.op + " %0 " + each.attributes + " : " + source +
                    " -> " + target);
    expectElementsMatch(graph.op(), {counting(DType::I32, each.from)});
  }
}

TEST(MovementElements, IotaInEveryType) {
  // 300 wraps in 8 bits and rounds in bf16 and float8.
  for (DType dtype : kFloats) {
    std::string type = typeText(dtype, {2, 300});
    Graph graph({}, type, "graph.iota 1 : " + type);
    expectElementsMatch(graph.op(), {});
  }
  for (DType dtype : kIntegers) {
    std::string type = typeText(dtype, {300, 2});
    Graph graph({}, type, "graph.iota 0 : " + type);
    expectElementsMatch(graph.op(), {});
  }
}

TEST(MovementElements, PadAndConcat) {
  std::string x = typeText(DType::F8E5M2, {2, 3}),
              v = typeText(DType::F8E5M2, {}),
              padded = typeText(DType::F8E5M2, {5, 4}),
              joined = typeText(DType::F8E5M2, {2, 9}),
              empty = typeText(DType::F8E5M2, {2, 0});
  // Infinity and NaN move unchanged.
  HostTensor values =
      reals(DType::F8E5M2, {2, 3},
            {1, -0.0, HUGE_VAL, -HUGE_VAL, __builtin_nan(""), 57344.0});
  HostTensor scalar = reals(DType::F8E5M2, {}, {-HUGE_VAL});
  Graph pad({x, v}, padded,
            "graph.pad %0, %1 low [1, 0] high [2, 1] : " + x + ", " + v +
                " -> " + padded);
  expectElementsMatch(pad.op(), {values, scalar});
  Graph concat({x, empty, x, x}, joined,
               "graph.concat %0, %1, %2, %3 axis = 1 : " + x + ", " + empty +
                   ", " + x + ", " + x + " -> " + joined);
  expectElementsMatch(
      concat.op(), {values, reals(DType::F8E5M2, {2, 0}, {}), values, values});
  std::string none = typeText(DType::F8E5M2, {0}),
              three = typeText(DType::F8E5M2, {3});
  Graph fill({none, v}, three,
             "graph.pad %0, %1 low [3] high [0] : " + none + ", " + v + " -> " +
                 three);
  expectElementsMatch(fill.op(), {reals(DType::F8E5M2, {0}, {}), scalar});
}

TEST(MovementElements, GathersOfHostileIndices) {
  for (DType dtype : kIntegers) {
    HostTensor indices = specialValues(dtype); // 12 of them
    int64_t count = indices.elements();
    std::string x = typeText(DType::I32, {2, 5, 3}),
                i = typeText(dtype, {count});
    std::string gathered = typeText(DType::I32, {2, count, 3});
    HostTensor values = counting(DType::I32, {2, 5, 3});
    Graph gather({x, i}, gathered,
                 "graph.gather %0, %1 axis = 1 : " + x + ", " + i + " -> " +
                     gathered);
    expectElementsMatch(gather.op(), {values, indices});

    HostTensor cube = indices.clone();
    cube.shape = {2, 3, 2};
    std::string j = typeText(dtype, {2, 3, 2}),
                result = typeText(DType::I32, {2, 3, 2});
    Graph elements({x, j}, result,
                   "graph.gather_elements %0, %1 axis = 1 : " + x + ", " + j +
                       " -> " + result);
    expectElementsMatch(elements.op(), {values, cube});

    std::string rows = typeText(DType::I32, {2, 3, 3});
    Graph vectors({x, j}, rows,
                  "graph.gather_nd %0, %1 : " + x + ", " + j + " -> " + rows);
    expectElementsMatch(vectors.op(), {values, cube});
    std::string batched = typeText(DType::I32, {2, 3});
    Graph batch({x, j}, batched,
                "graph.gather_nd %0, %1 {batchDims = 1 : i64} : " + x + ", " +
                    j + " -> " + batched);
    expectElementsMatch(batch.op(), {values, cube});
  }
}

TEST(MovementElements, Philox) {
  std::string scalar = typeText(DType::U64, {}),
              bits = typeText(DType::U32, {3, 5});
  Graph graph({scalar, scalar}, bits,
              "graph.philox %0, %1 : " + scalar + " -> " + bits);
  for (int64_t seed : {int64_t(0), int64_t(-1), int64_t(0x123456789abcdef)})
    expectElementsMatch(graph.op(), {wholes(DType::U64, {}, {seed}),
                                     wholes(DType::U64, {}, {-2})});
  // The known answers of Philox4x32-10 for counter and key 0, and for words of
  // all ones in the low half of the counter and in the key.
  auto zero =
      run(graph, {wholes(DType::U64, {}, {0}), wholes(DType::U64, {}, {0})});
  ASSERT_EQ(zero.size(), 1u);
  std::vector<int64_t> words = asWholes(zero[0]);
  words.resize(4);
  EXPECT_EQ(words, (std::vector<int64_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                         0x9b00dbd8}));
}
