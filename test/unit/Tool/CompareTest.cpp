//===- CompareTest.cpp - expected against found ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Compare.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace fusec;
using namespace fusec::tool;

static HostTensor tensor(DType dtype, std::vector<double> values,
                         std::vector<int64_t> shape = {}) {
  if (shape.empty())
    shape = {static_cast<int64_t>(values.size())};
  HostTensor result = llvm::cantFail(HostTensor::create(dtype, shape));
  for (auto [i, value] : llvm::enumerate(values))
    result.setF64(i, value);
  return result;
}

/// Whether `found` passes for `expected` by default.
static bool isRight(DType dtype, std::vector<double> expected,
                    std::vector<double> found, OutputFacts facts = {}) {
  return compare(tensor(dtype, expected), tensor(dtype, found),
                 ToleranceOptions().of(dtype, facts))
      .ok();
}

TEST(Tolerance, ErrorsCountAgainstTheLargestElement) {
  // 8e-6 of the largest element, where the element itself is zero or small.
  EXPECT_TRUE(isRight(DType::F32, {100, 0, 1e-3}, {100, 8e-4, 1.8e-3}));
  EXPECT_FALSE(isRight(DType::F32, {100, 0, 1e-3}, {100, 1.2e-3, 1e-3}));
  // Nothing to measure by: equal.
  EXPECT_TRUE(isRight(DType::F32, {0, 0}, {0, -0.0}));
  EXPECT_FALSE(isRight(DType::F32, {0, 0}, {0, 1e-30}));
  // Infinity is no measure.
  EXPECT_FALSE(isRight(DType::F32, {HUGE_VAL, 1}, {HUGE_VAL, 1.001}));
}

TEST(Tolerance, CatchesAThousandth) {
  // From 1.2% of the largest element on.
  for (double size : {1.0, 0.1, 0.012, -0.5})
    EXPECT_FALSE(isRight(DType::F32, {1, size}, {1, size * 1.001})) << size;
  EXPECT_FALSE(isRight(DType::F32, {1, 2, 3}, {1.001, 2.002, 3.003}));
  EXPECT_FALSE(isRight(DType::F32, {7}, {7.007}));
}

TEST(Tolerance, FollowsTheType) {
  // One unit in the last place is right, eight are not; f8 must be equal.
  EXPECT_TRUE(isRight(DType::F16, {1}, {1 + 0x1p-10}));
  EXPECT_FALSE(isRight(DType::F16, {1}, {1 + 0x1p-7}));
  EXPECT_TRUE(isRight(DType::BF16, {1}, {1 + 0x1p-7}));
  EXPECT_FALSE(isRight(DType::BF16, {1}, {1 + 0x1p-4}));
  EXPECT_FALSE(isRight(DType::F8E4M3, {1}, {1 + 0x1p-3}));
  // Graphs of f64 alone are held to f64.
  EXPECT_TRUE(isRight(DType::F64, {1}, {1 + 1e-7}));
  OutputFacts isDouble{/*isDouble=*/true};
  EXPECT_FALSE(isRight(DType::F64, {1}, {1 + 1e-7}, isDouble));
  EXPECT_TRUE(isRight(DType::F64, {1}, {1 + 1e-13}, isDouble));
}

TEST(Compare, SpecialValues) {
  double nan = std::nan(""), inf = HUGE_VAL;
  EXPECT_TRUE(isRight(DType::F32, {nan, inf, -inf}, {-nan, inf, -inf}));
  EXPECT_FALSE(isRight(DType::F32, {nan}, {1}));
  EXPECT_FALSE(isRight(DType::F32, {1}, {nan}));
  EXPECT_FALSE(isRight(DType::F32, {inf}, {-inf}));
  EXPECT_FALSE(isRight(DType::F32, {3e38}, {inf}));
  // The difference overflows; reports stay finite.
  Difference difference = compare(tensor(DType::F64, {1.7e308, 4e-324}),
                                  tensor(DType::F64, {-1.7e308, 1}), {});
  EXPECT_EQ(difference.wrong, 2);
  EXPECT_TRUE(std::isfinite(difference.maxAbsolute));
  EXPECT_TRUE(std::isfinite(difference.maxRelative));
}

TEST(Compare, TypesShapesAndIntegersAreExact) {
  Tolerance loose{1, 1, 1};
  HostTensor ints = llvm::cantFail(HostTensor::create(DType::I32, {2}));
  HostTensor others = llvm::cantFail(HostTensor::create(DType::I32, {2}));
  EXPECT_TRUE(compare(ints, others, loose).ok());
  others.setI64(1, 1);
  EXPECT_FALSE(compare(ints, others, loose).ok());
  EXPECT_FALSE(compare(ints, tensor(DType::F32, {0, 0}), loose).ok());
  EXPECT_FALSE(compare(tensor(DType::F32, {0, 0}),
                       tensor(DType::F32, {0, 0}, {2, 1}), loose)
                   .ok());
}

TEST(Tolerance, StepsKeepTheTop) {
  ToleranceOptions options;
  options.steps = 2;
  OutputFacts facts;
  facts.step = 0.5;
  auto check = [&](std::vector<double> expected, std::vector<double> found) {
    return compare(tensor(DType::F32, expected, {1, 3}),
                   tensor(DType::F32, found, {1, 3}),
                   options.of(DType::F32, facts))
        .ok();
  };
  EXPECT_TRUE(check({1, 2, 3}, {2, 1, 3.5}));
  EXPECT_FALSE(check({1, 2, 3}, {2.5, 2, 3}));
  EXPECT_FALSE(check({1, 2.5, 3}, {1, 3, 2.5}));
  // Any of equal tops will do.
  EXPECT_TRUE(check({1, 3, 3}, {1, 2.5, 3}));
  // An output that no dequantise makes keeps its tolerance.
  facts.step = 0;
  EXPECT_FALSE(check({1, 2, 3}, {1, 2, 3.5}));
}

TEST(OutputFacts, FindStepAndWidth) {
  mlir::DialectRegistry registry;
  registry.insert<graph::GraphDialect, mlir::func::FuncDialect>();
  Model model;
  model.context = std::make_unique<mlir::MLIRContext>(registry);
  model.module = mlir::parseSourceString<mlir::ModuleOp>(
      R"(func.func @main(%x: tensor<4xi8>, %s: tensor<4xf32>)
           -> (tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>) {
        %z = graph.constant dense<0> : tensor<4xi8>
        %scale = graph.constant dense<0.25> : tensor<4xf32>
        %y = graph.dequantize %x, %scale, %z
          : tensor<4xi8>, tensor<4xf32>, tensor<4xi8> -> tensor<4xf32>
        %r = graph.reshape %y : tensor<4xf32> -> tensor<2x2xf32>
        %other = graph.dequantize %x, %s, %z
          : tensor<4xi8>, tensor<4xf32>, tensor<4xi8> -> tensor<4xf32>
        return %r, %other, %s : tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>
      })",
      model.context.get());
  ASSERT_TRUE(model.module);
  std::vector<OutputFacts> facts = outputFacts(model);
  ASSERT_EQ(facts.size(), 3u);
  EXPECT_EQ(facts[0].step, 0.25);
  EXPECT_EQ(facts[1].step, 0);
  EXPECT_EQ(facts[2].step, 0);
  EXPECT_FALSE(facts[0].isDouble);
}
