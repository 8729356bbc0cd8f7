//===- ControlTest.cpp - fusion, while, scan in the evaluator -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ReferenceTestUtils.h"
#include "gtest/gtest.h"

using namespace fusec;
using namespace fusec::reference;
using namespace fusec::reference::test;

using Values = std::vector<double>;

TEST(Control, FusionEvaluatesItsBody) {
  Graph graph(R"(
func.func @f(%x: tensor<3xf16>) -> (tensor<3xf16>, tensor<3xf16>) {
  %r:2 = graph.fusion(%a = %x) : (tensor<3xf16>) -> (tensor<3xf16>, tensor<3xf16>) {
    %s = graph.add %a, %a : tensor<3xf16>
    %t = graph.mul %s, %a : tensor<3xf16>
    graph.yield %t, %s : tensor<3xf16>, tensor<3xf16>
  }
  return %r#0, %r#1 : tensor<3xf16>, tensor<3xf16>
})");
  auto results = run(graph, {reals(DType::F16, {3}, {1, 2, 3})});
  EXPECT_EQ(asReals(results.at(0)), (Values{2, 8, 18}));
  EXPECT_EQ(asReals(results.at(1)), (Values{2, 4, 6}));
}

/// Doubles %x while %n > 0, counting %n down; reads a value from above.
static std::string doubling(int64_t maxTrips) {
  return R"(
func.func @f(%n: tensor<i32>, %x: tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>) {
  %one = graph.constant dense<1> : tensor<i32>
  %r:2 = graph.while (%n, %x) max_trips = )" +
         std::to_string(maxTrips) +
         R"( : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>) {
  ^bb0(%i: tensor<i32>, %v: tensor<2xf32>):
    %more = graph.compare ge %i, %one : tensor<i32>
    graph.yield %more : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %v: tensor<2xf32>):
    %next = graph.sub %i, %one : tensor<i32>
    %twice = graph.add %v, %v : tensor<2xf32>
    graph.yield %next, %twice : tensor<i32>, tensor<2xf32>
  }
  return %r#0, %r#1 : tensor<i32>, tensor<2xf32>
})";
}

TEST(Control, WhileEndsByConditionOrTripCount) {
  struct Case {
    int64_t maxTrips, count, left;
    double factor;
  };
  for (auto [maxTrips, count, left, factor] : {Case{100, 5, 0, 32},
                                               {3, 5, 2, 8},
                                               {0, 5, 5, 1},
                                               {100, 0, 0, 1},
                                               {100, -7, -7, 1}}) {
    Graph graph(doubling(maxTrips));
    auto results = run(graph, {wholes(DType::I32, {}, {count}),
                               reals(DType::F32, {2}, {1, 3})});
    EXPECT_EQ(results.at(0).getI64(0), left);
    EXPECT_EQ(asReals(results.at(1)), (Values{factor, 3 * factor}));
  }
}

TEST(Control, EndlessWhileMeetsTheStepLimit) {
  Graph graph(doubling(INT64_MAX));
  EvaluateOptions options;
  options.maxSteps = 1000;
  auto results = evaluate(
      graph.function(),
      {wholes(DType::I32, {}, {INT32_MAX}), reals(DType::F32, {2}, {1, 3})},
      options);
  ASSERT_FALSE(bool(results));
  std::string message = llvm::toString(results.takeError());
  EXPECT_NE(message.find("more than 1000 steps"), std::string::npos) << message;
}

/// Running sums of the rows; yields the sum before each row.
static std::string scanning(int64_t trips, bool reverse) {
  std::string n = std::to_string(trips), many = "tensor<" + n + "x2xf32>";
  return "func.func @f(%h: tensor<2xf32>, %xs: " + many +
         ") -> (tensor<2xf32>, " + many +
         ") {\n  %r:2 = graph.scan carry(%h) over(%xs) trips = " + n +
         (reverse ? " {reverse = true}" : "") + " : (tensor<2xf32>, " + many +
         ") -> (tensor<2xf32>, " + many + R"() {
  ^bb0(%s: tensor<2xf32>, %x: tensor<2xf32>):
    %next = graph.add %s, %x : tensor<2xf32>
    graph.yield %next, %s : tensor<2xf32>, tensor<2xf32>
  }
  return %r#0, %r#1 : tensor<2xf32>, )" +
         many + "\n}";
}

TEST(Control, ScanForwardBackwardAndEmpty) {
  HostTensor start = reals(DType::F32, {2}, {100, 200});
  HostTensor rows = reals(DType::F32, {3, 2}, {1, 2, 3, 4, 5, 6});
  {
    Graph graph(scanning(3, false));
    auto results = run(graph, {start, rows});
    EXPECT_EQ(asReals(results.at(0)), (Values{109, 212}));
    EXPECT_EQ(asReals(results.at(1)), (Values{100, 200, 101, 202, 104, 206}));
  }
  {
    Graph graph(scanning(3, true));
    auto results = run(graph, {start, rows});
    EXPECT_EQ(asReals(results.at(0)), (Values{109, 212}));
    EXPECT_EQ(asReals(results.at(1)), (Values{108, 210, 105, 206, 100, 200}));
  }
  Graph graph(scanning(0, false));
  auto results = run(graph, {start, reals(DType::F32, {0, 2}, {})});
  EXPECT_EQ(asReals(results.at(0)), (Values{100, 200}));
  EXPECT_EQ(results.at(1).elements(), 0);
}
