//===- ReductionTest.cpp - reductions, prefix sums, windows ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluator against values worked out here, and buildElement against the
// evaluator, on degenerate shapes and special values.
//===----------------------------------------------------------------------===//
#include "ElementInterpreter.h"
#include "ReferenceTestUtils.h"
#include "gtest/gtest.h"
#include <cmath>
#include <numeric>

using namespace fusec;
using namespace fusec::reference::test;

using Shape = std::vector<int64_t>;

/// Small integers, positive and negative, that are exact in every type but the
/// unsigned ones, where they wrap.
static HostTensor mixed(DType dtype, const Shape &shape) {
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                  std::multiplies<>());
  std::vector<int64_t> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = (i * 7 + 3) % 5 - 2;
  return wholes(dtype, shape, values);
}

/// `op` on one operand, both ways.
static HostTensor evaluateBoth(const std::string &op, const HostTensor &x,
                               DType dtype, const Shape &shape) {
  std::string from = typeText(x.dtype, x.shape), to = typeText(dtype, shape);
  Graph graph({from}, to, op + " : " + from + " -> " + to);
  expectElementsMatch(graph.op(), {x});
  return run(graph, {x}).at(0);
}

TEST(Reduction, EveryKindAndNumberType) {
  for (auto types : {llvm::ArrayRef(kFloats), llvm::ArrayRef(kIntegers)})
    for (DType dtype : types)
      for (const char *kind : {"sum", "prod", "max", "min"}) {
        std::string op = std::string("graph.reduce ") + kind + " %0 ";
        evaluateBoth(op + "[1]", mixed(dtype, {3, 7, 2}), dtype, {3, 2});
        evaluateBoth(op + "[0, 2]", mixed(dtype, {3, 5, 2}), dtype, {5});
        evaluateBoth(op + "[0, 1]", mixed(dtype, {2, 3}), dtype, {});
        evaluateBoth(op + "[]", mixed(dtype, {3}), dtype, {3});
        evaluateBoth(op + "[0]", mixed(dtype, {0, 3}), dtype, {3});
        evaluateBoth(op + "[1]", mixed(dtype, {0, 3}), dtype, {0});
      }
}

TEST(Reduction, KnownValues) {
  auto reduce = [](const char *kind, const HostTensor &x) {
    return evaluateBoth(std::string("graph.reduce ") + kind + " %0 [0]", x,
                        x.dtype, {});
  };
  HostTensor x = reals(DType::F32, {4}, {3, -1, 0.5, 2});
  EXPECT_EQ(reduce("sum", x).getF64(0), 4.5);
  EXPECT_EQ(reduce("prod", x).getF64(0), -3);
  EXPECT_EQ(reduce("max", x).getF64(0), 3);
  EXPECT_EQ(reduce("min", x).getF64(0), -1);
  // Half precision accumulates wider: 2048 + 1 + 1 is no 2048.
  HostTensor half = reals(DType::F16, {3}, {2048, 1, 1});
  EXPECT_EQ(reduce("sum", half).getF64(0), 2050);
  // Integers wrap.
  EXPECT_EQ(reduce("sum", wholes(DType::I8, {2}, {127, 1})).getI64(0), -128);
  EXPECT_EQ(reduce("prod", wholes(DType::U8, {2}, {16, 17})).getI64(0), 16);
  // u64 compares as unsigned.
  HostTensor big = wholes(DType::U64, {2}, {-1, 1});
  EXPECT_EQ(reduce("max", big).getI64(0), -1);
  EXPECT_EQ(reduce("min", big).getI64(0), 1);
}

// One after the other they would be 1.9e-8 too many; infinities stay.
TEST(Reduction, LongSumsOfDoubles) {
  HostTensor x = llvm::cantFail(HostTensor::create(DType::F64, Shape{100000}));
  for (int64_t i = 0; i < x.elements(); ++i)
    x.setF64(i, 0.1);
  Graph graph({"tensor<100000xf64>"}, "tensor<f64>",
              "graph.reduce sum %0 [0] : tensor<100000xf64> -> tensor<f64>");
  EXPECT_EQ(run(graph, {x}).at(0).getF64(0), 10000);
  x.setF64(5, 1e308);
  x.setF64(9, 1e308);
  EXPECT_EQ(run(graph, {x}).at(0).getF64(0), HUGE_VAL);
  x.setF64(50, -HUGE_VAL);
  EXPECT_TRUE(std::isnan(run(graph, {x}).at(0).getF64(0)));
  x.setF64(9, 0);
  EXPECT_EQ(run(graph, {x}).at(0).getF64(0), -HUGE_VAL);
}

TEST(Reduction, EmptyGivesTheIdentity) {
  auto empty = [](const char *kind, DType dtype) {
    return evaluateBoth(std::string("graph.reduce ") + kind + " %0 [0]",
                        wholes(dtype, {0}, {}), dtype, {});
  };
  EXPECT_EQ(empty("sum", DType::F32).getF64(0), 0);
  EXPECT_EQ(empty("prod", DType::F32).getF64(0), 1);
  EXPECT_EQ(empty("max", DType::F32).getF64(0), -HUGE_VAL);
  EXPECT_EQ(empty("min", DType::F64).getF64(0), HUGE_VAL);
  EXPECT_EQ(empty("max", DType::I8).getI64(0), -128);
  EXPECT_EQ(empty("min", DType::I4).getI64(0), 7);
  EXPECT_EQ(empty("max", DType::U8).getI64(0), 0);
  EXPECT_EQ(empty("min", DType::U64).getI64(0), -1);
  EXPECT_EQ(empty("all", DType::Bool).getI64(0), 1);
  EXPECT_EQ(empty("any", DType::Bool).getI64(0), 0);
}

TEST(Reduction, Bools) {
  HostTensor x = wholes(DType::Bool, {4, 2}, {0, 0, 0, 1, 1, 0, 1, 1});
  EXPECT_EQ(
      asWholes(evaluateBoth("graph.reduce all %0 [1]", x, DType::Bool, {4})),
      (std::vector<int64_t>{0, 0, 0, 1}));
  EXPECT_EQ(
      asWholes(evaluateBoth("graph.reduce any %0 [1]", x, DType::Bool, {4})),
      (std::vector<int64_t>{0, 1, 1, 1}));
}

/// Every pair of special values as rows of two.
static HostTensor specialRows(DType dtype) {
  auto [left, right] = allPairs(specialValues(dtype), specialValues(dtype));
  HostTensor rows =
      llvm::cantFail(HostTensor::create(dtype, {left.elements(), 2}));
  for (int64_t i = 0; i < left.elements(); ++i) {
    rows.setBits(2 * i, left.getBits(i));
    rows.setBits(2 * i + 1, right.getBits(i));
  }
  return rows;
}

TEST(Reduction, SpecialValuesInEveryOrder) {
  for (DType dtype :
       {DType::F32, DType::F16, DType::F8E4M3, DType::I8, DType::U8}) {
    HostTensor rows = specialRows(dtype);
    for (const char *kind : {"max", "min"}) {
      evaluateBoth(std::string("graph.reduce ") + kind + " %0 [1]", rows, dtype,
                   {rows.shape[0]});
      for (const char *last : {"", " {selectLast = true}"})
        evaluateBoth(std::string("graph.arg_reduce ") + kind +
                         " %0 dimension = 1" + last,
                     rows, DType::I32, {rows.shape[0]});
    }
  }
}

TEST(ArgReduce, TiesAndNan) {
  auto arg = [](const char *kind, bool last, std::vector<double> values) {
    HostTensor x = reals(DType::F32, {int64_t(values.size())}, values);
    return evaluateBoth(std::string("graph.arg_reduce ") + kind +
                            " %0 dimension = 0" +
                            (last ? " {selectLast = true}" : ""),
                        x, DType::I64, {})
        .getI64(0);
  };
  double nan = std::nan(""), inf = HUGE_VAL;
  EXPECT_EQ(arg("max", false, {1, 3, 3, 2}), 1);
  EXPECT_EQ(arg("max", true, {1, 3, 3, 2}), 2);
  EXPECT_EQ(arg("min", false, {0.0, -0.0, 1}), 0); // the zeros tie
  EXPECT_EQ(arg("min", true, {0.0, -0.0, 1}), 1);
  EXPECT_EQ(arg("max", false, {1, nan, inf, nan}), 1);
  EXPECT_EQ(arg("max", true, {1, nan, inf, nan}), 3);
  EXPECT_EQ(arg("min", false, {1, nan, -inf, nan}), 1);
  EXPECT_EQ(arg("max", false, {-inf, -inf}), 0); // equal to the identity
  EXPECT_EQ(arg("max", true, {-inf, -inf}), 1);
  EXPECT_EQ(arg("min", false, {inf}), 0);
}

// Schedules split an axis and merge in their own order: the result is the same.
TEST(ArgReduce, MergesInAnyOrder) {
  double nan = std::nan(""), inf = HUGE_VAL;
  std::vector<std::vector<double>> rows = {{1, 3, 3, 2, 3},
                                           {-inf, -inf, -inf, -inf, -inf},
                                           {0.0, -0.0, 0.0, -0.0, -1},
                                           {nan, inf, nan, 2, nan},
                                           {inf, nan, -inf, inf, 5}};
  for (const char *kind : {"max", "min"})
    for (const char *last : {"", " {selectLast = true}"}) {
      Graph graph({"tensor<5xf32>"}, "tensor<i64>",
                  std::string("graph.arg_reduce ") + kind +
                      " %0 dimension = 0" + last +
                      " : tensor<5xf32> -> tensor<i64>");
      for (const auto &row : rows) {
        HostTensor x = reals(DType::F32, {5}, row);
        HostTensor wanted = run(graph, {x}).at(0);
        std::vector<int64_t> order = {0, 1, 2, 3, 4};
        do {
          auto found = interpretMerged(graph.op(), {x}, order);
          if (!found)
            FAIL() << llvm::toString(found.takeError());
          EXPECT_EQ(found->getI64(0), wanted.getI64(0)) << kind << last;
        } while (std::next_permutation(order.begin(), order.end()));
      }
    }
}

TEST(ArgReduce, NarrowIndexAndMiddleAxis) {
  evaluateBoth("graph.arg_reduce max %0 dimension = 1",
               mixed(DType::I16, {3, 7, 2}), DType::U4, {3, 2});
  evaluateBoth("graph.arg_reduce min %0 dimension = 0",
               mixed(DType::F64, {128, 1}), DType::I8, {1});
}

TEST(Cumulative, AllVariants) {
  for (DType dtype : {DType::F32, DType::F16, DType::I32, DType::U8, DType::I4})
    for (const char *kind : {"sum", "prod", "max", "min"})
      for (const char *variant :
           {"", " {exclusive = true}", " {reverse = true}",
            " {exclusive = true, reverse = true}"})
        for (auto [shape, axis] : {std::pair<Shape, int>{{5}, 0},
                                   {{2, 7, 3}, 1},
                                   {{0, 2}, 0},
                                   {{2, 0}, 0},
                                   {{1, 1}, 1}}) {
          std::string type = typeText(dtype, shape);
          Graph graph({type}, type,
                      std::string("graph.cumulative ") + kind +
                          " %0 dimension = " + std::to_string(axis) + variant +
                          " : " + type);
          expectElementsMatch(graph.op(), {mixed(dtype, shape)});
        }
}

TEST(Cumulative, KnownValues) {
  auto sums = [](const std::string &variant) {
    Graph graph({"tensor<4xi32>"}, "tensor<4xi32>",
                "graph.cumulative sum %0 dimension = 0" + variant +
                    " : tensor<4xi32>");
    return asWholes(run(graph, {wholes(DType::I32, {4}, {1, 2, 3, 4})}).at(0));
  };
  using Values = std::vector<int64_t>;
  EXPECT_EQ(sums(""), (Values{1, 3, 6, 10}));
  EXPECT_EQ(sums(" {exclusive = true}"), (Values{0, 1, 3, 6}));
  EXPECT_EQ(sums(" {reverse = true}"), (Values{10, 9, 7, 4}));
  EXPECT_EQ(sums(" {exclusive = true, reverse = true}"), (Values{9, 7, 4, 0}));
}

TEST(Cumulative, WhatOverflowsStaysInfinite) {
  for (const char *kind : {"sum", "prod"})
    for (const char *variant : {"", " {reverse = true}"}) {
      Graph graph({"tensor<5xf32>"}, "tensor<5xf32>",
                  std::string("graph.cumulative ") + kind +
                      " %0 dimension = 0" + variant + " : tensor<5xf32>");
      expectElementsMatch(
          graph.op(),
          {reals(DType::F32, {5}, {3e38, 3e38, -3e38, -2e38, 1e-38})});
    }
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

TEST(WindowReduce, Shapes) {
  struct Case {
    Shape from, to;
    std::string window;
  };
  Case cases[] = {
      {{7}, {7}, "[3] strides [1] dilations [1] low [1] high [1]"},
      {{7}, {3}, "[3] strides [2] dilations [1] low [0] high [0]"},
      {{7}, {3}, "[3] strides [1] dilations [2] low [0] high [0]"},
      {{5}, {0}, "[9] strides [1] dilations [1] low [0] high [0]"},
      {{0}, {1}, "[3] strides [1] dilations [1] low [2] high [1]"},
      {{3}, {9}, "[1] strides [1] dilations [1] low [4] high [2]"},
      {{2, 5, 6},
       {2, 3, 3},
       "[1, 3, 2] strides [1, 2, 3] dilations [1, 1, 2] low [0, 1, 2] high "
       "[0, 1, 1]"},
      {{}, {}, "[] strides [] dilations [] low [] high []"}};
  for (const Case &each : cases)
    for (DType dtype : {DType::F32, DType::BF16, DType::U8})
      for (const char *kind : {"sum", "prod", "max", "min"})
        evaluateBoth(std::string("graph.window_reduce ") + kind +
                         " %0 window " + each.window,
                     mixed(dtype, each.from), dtype, each.to);
}

TEST(WindowReduce, PaddingCountsAsTheIdentity) {
  HostTensor x = reals(DType::F32, {3}, {-5, -6, -7});
  HostTensor max = evaluateBoth("graph.window_reduce max %0 window [3] strides "
                                "[1] dilations [1] low [1] high [3]",
                                x, DType::F32, {5});
  EXPECT_EQ(asReals(max), (std::vector<double>{-5, -5, -6, -7, -HUGE_VAL}));
}
