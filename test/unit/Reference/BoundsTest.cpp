//===- BoundsTest.cpp - what right results may be -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Reference/Bounds.h"
#include "ReferenceTestUtils.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace fusec;
using namespace fusec::reference;
using namespace fusec::reference::test;

static const double kInf = HUGE_VAL, kNan = NAN;

static std::vector<Bounds> boundsOf(Graph &graph,
                                    llvm::ArrayRef<HostTensor> arguments) {
  auto bounds = evaluateBounds(graph.function(), arguments);
  if (!bounds) {
    ADD_FAILURE() << llvm::toString(bounds.takeError());
    return {};
  }
  return std::move(*bounds);
}

/// Bounds of one op of f32 vectors of one size.
static Bounds boundsOf(llvm::StringRef op,
                       std::vector<std::vector<double>> arguments) {
  std::vector<std::string> types;
  std::vector<HostTensor> tensors;
  for (const std::vector<double> &values : arguments) {
    int64_t size = values.size();
    types.push_back(typeText(DType::F32, {size}));
    tensors.push_back(reals(DType::F32, {size}, values));
  }
  Graph graph(types, types[0], (op + " : " + types[0]).str());
  return boundsOf(graph, tensors)[0];
}

TEST(Bounds, ExistForEveryPrimitiveOp) {
  mlir::MLIRContext context;
  context.loadDialect<graph::GraphDialect>();
  int64_t rules = 0;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    if (!mlir::isa<graph::GraphDialect>(name.getDialect()) ||
        name.hasInterface<graph::CompositeOpInterface>() ||
        name.hasTrait<mlir::OpTrait::IsTerminator>())
      continue;
    EXPECT_TRUE(hasBoundRule(name)) << name.getStringRef().str();
    ++rules;
  }
  EXPECT_GT(rules, 70);
}

TEST(Bounds, RoundedOpsOfExactOperandsHaveOneValue) {
  Bounds sum =
      boundsOf("graph.add %0, %1", {{0.1, 1, -kInf}, {0.2, 0x1p-40, 1}});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(sum.low[i], sum.high[i]) << i;
  EXPECT_EQ(sum.low[0], double(0.1f + 0.2f));
  EXPECT_EQ(sum.low[1], 1);
}

TEST(Bounds, NanAndInfinitiesAreExact) {
  Bounds b = boundsOf("graph.sub %0, %1",
                      {{kInf, kInf, kNan, 3e38}, {kInf, 1, 1, -3e38}});
  EXPECT_TRUE(std::isnan(b.low[0]) && std::isnan(b.high[0]));
  EXPECT_EQ(b.low[1], kInf);
  EXPECT_TRUE(std::isnan(b.low[2]));
  EXPECT_EQ(b.low[3], kInf);
}

TEST(Bounds, FunctionsMayBeOffByFourUnits) {
  Bounds b = boundsOf("graph.exp %0", {{1, 0, -kInf, 89}});
  double e = std::exp(1.0), unit = 0x1p-22; // of numbers in [2, 4)
  EXPECT_LE(b.low[0], e - 3 * unit);
  EXPECT_GE(b.low[0], e - 7 * unit);
  EXPECT_GE(b.high[0], e + 3 * unit);
  EXPECT_EQ(b.high[2], 0);
  EXPECT_EQ(b.low[3], kInf);
}

TEST(Bounds, PolesStepsAndDomainsAreUnknown) {
  const char *text = "func.func @f(%x: tensor<3xf32>) -> (tensor<3xf32>, "
                     "tensor<3xi1>, tensor<3xf32>) {\n"
                     "  %s = graph.sin %x : tensor<3xf32>\n"
                     "  %z = graph.sub %s, %s : tensor<3xf32>\n"
                     "  %d = graph.div %x, %z : tensor<3xf32>\n"
                     "  %c = graph.compare lt %z, %s : tensor<3xf32>\n"
                     "  %l = graph.log %z : tensor<3xf32>\n"
                     "  return %d, %c, %l : tensor<3xf32>, tensor<3xi1>, "
                     "tensor<3xf32>\n}\n";
  Graph graph(text);
  auto b = boundsOf(graph, {reals(DType::F32, {3}, {1, 0x1p-126, 0})});
  ASSERT_EQ(b.size(), 3u);
  EXPECT_TRUE(b[0].isUnknown(0));
  EXPECT_FALSE(b[1].isUnknown(0));
  EXPECT_TRUE(b[2].isUnknown(0));
  // sin(0) is 0 on every way, and so is the difference: 0 / 0, log 0.
  EXPECT_TRUE(std::isnan(b[0].low[2]));
  EXPECT_EQ(b[2].low[2], -kInf);
}

TEST(Bounds, SumsAreOffByOneRoundingPerTerm) {
  Graph graph({"tensor<1000xf32>"}, "tensor<f32>",
              "graph.reduce sum %0 [0] : tensor<1000xf32> -> tensor<f32>");
  std::vector<double> values(1000, 0.1);
  Bounds inexact = boundsOf(graph, {reals(DType::F32, {1000}, values)})[0];
  double room = inexact.high[0] - inexact.middle.getF64(0);
  EXPECT_GT(room, 0.9 * 1000 * 0x1p-24 * 100);
  EXPECT_LT(room, 1.1 * 1000 * 0x1p-24 * 100);
  // Quarters add up exactly in any order.
  values.assign(1000, 0.25);
  Bounds exact = boundsOf(graph, {reals(DType::F32, {1000}, values)})[0];
  EXPECT_EQ(exact.low[0], 250);
  EXPECT_EQ(exact.high[0], 250);
  // 2e38 + 2e38 - ... overflows in some orders.
  values.assign(1000, 2e38);
  for (int i = 0; i < 1000; i += 2)
    values[i] = -2e38;
  EXPECT_TRUE(
      boundsOf(graph, {reals(DType::F32, {1000}, values)})[0].isUnknown(0));
  values[5] = kNan;
  EXPECT_TRUE(std::isnan(
      boundsOf(graph, {reals(DType::F32, {1000}, values)})[0].low[0]));
}

TEST(Bounds, SumsOfFloat8ProductsAreCutOffWhereGpusMakeThem) {
  // 512 products of 1.125 * 1.25: S = 720, and 1.40625 has seven digits.
  std::vector<double> left(512, 1.125), right(512, 1.25);
  auto roomOf = [&](llvm::StringRef flag, bool float8Sums) {
    Graph graph({"tensor<512xf8E4M3FN>", "tensor<512xf8E4M3FN>"}, "tensor<f32>",
                ("graph.contract %0, %1 batch [] x [] contract [0] x [0] " +
                 flag +
                 " : tensor<512xf8E4M3FN>, tensor<512xf8E4M3FN> -> "
                 "tensor<f32>")
                    .str());
    auto bounds = evaluateBounds(
        graph.function(),
        {reals(DType::F8E4M3, {512}, left), reals(DType::F8E4M3, {512}, right)},
        {}, float8Sums);
    EXPECT_TRUE(bool(bounds));
    return (*bounds)[0].high[0] - (*bounds)[0].middle.getF64(0);
  };
  // Exact in f32.
  EXPECT_EQ(roomOf("", false), 0);
  // Four instructions of 32 products and an accumulator, one in reserve.
  EXPECT_NEAR(roomOf("", true), (128 + 2 * 5) * 0x1p-13 * 720, 0.1);
  EXPECT_NEAR(roomOf("{graph.fast_accumulation}", true),
              (512 + 2 * 17) * 0x1p-13 * 720, 0.2);
  // Sums below 2^14 of the last digit are exact: 512 * 1 * 2.
  left.assign(512, 1), right.assign(512, 2);
  EXPECT_EQ(roomOf("", true), 0);
  EXPECT_EQ(roomOf("{graph.fast_accumulation}", true), 0);
}

TEST(Bounds, SumsThatCancelMayTurnTheirSign) {
  Graph graph({"tensor<3xf32>"}, "tensor<f32>",
              "graph.reduce sum %0 [0] : tensor<3xf32> -> tensor<f32>");
  Bounds b =
      boundsOf(graph, {reals(DType::F32, {3}, {0x1p30, -0x1p30, 0.3})})[0];
  EXPECT_LT(b.low[0], -1);
  EXPECT_GT(b.high[0], 1);
  // Without cancellation zero is the least.
  b = boundsOf(graph, {reals(DType::F32, {3}, {0x1p-149, 0x1p30, 0.3})})[0];
  EXPECT_GT(b.low[0], 0);
}

TEST(Bounds, ProductsOfDoublesAreRoundedOrNot) {
  Graph graph({"tensor<2xf64>", "tensor<2xf64>"}, "tensor<f64>",
              "graph.contract %0, %1 batch [] x [] contract [0] x [0] : "
              "tensor<2xf64>, tensor<2xf64> -> tensor<f64>");
  // 3.25 and 3.5 least denormals: 3 and 4, or their difference of a half.
  double least = 0x1p-1074;
  Bounds b = boundsOf(graph, {reals(DType::F64, {2}, {3.25, -3.5}),
                              reals(DType::F64, {2}, {-least, -least})})[0];
  EXPECT_LE(b.low[0], 0);
  EXPECT_GE(b.high[0], least);
  // Products that f64 holds have one sum.
  b = boundsOf(graph, {reals(DType::F64, {2}, {3, 5}),
                       reals(DType::F64, {2}, {7, -0.5})})[0];
  EXPECT_EQ(b.low[0], 18.5);
  EXPECT_EQ(b.high[0], 18.5);
}

TEST(Bounds, Tf32LosesBitsOfDenormals) {
  Graph graph({"tensor<1xf32>", "tensor<1xf32>"}, "tensor<f32>",
              "graph.contract %0, %1 batch [] x [] contract [0] x [0] "
              "{allowTf32 = true} : tensor<1xf32>, tensor<1xf32> -> "
              "tensor<f32>");
  double x = 0x1.8p-137 + 0x1p-149;
  Bounds b = boundsOf(
      graph, {reals(DType::F32, {1}, {x}), reals(DType::F32, {1}, {1})})[0];
  EXPECT_GE(b.high[0], 0x1p-136);
}

/// The copy engine rounds them to infinity, other kernels cut them off.
TEST(Bounds, Tf32MayLoseTheLargestNumbers) {
  Graph graph({"tensor<1xf32>", "tensor<1xf32>"}, "tensor<f32>",
              "graph.contract %0, %1 batch [] x [] contract [0] x [0] "
              "{allowTf32 = true} : tensor<1xf32>, tensor<1xf32> -> "
              "tensor<f32>");
  auto isUnknown = [&](double x) {
    Bounds b = boundsOf(graph, {reals(DType::F32, {1}, {x}),
                                reals(DType::F32, {1}, {0.25})})[0];
    return b.isUnknown(0);
  };
  EXPECT_TRUE(isUnknown((2 - 0x1p-11) * 0x1p127));
  EXPECT_FALSE(isUnknown((2 - 0x1p-10) * 0x1p127));
  EXPECT_FALSE(isUnknown(INFINITY));
}

TEST(Bounds, WhatMayBeNanWinsInScatters) {
  Graph graph("func.func @f(%x: tensor<2xf32>, %i: tensor<1xi32>, %u: "
              "tensor<1xf32>) -> tensor<2xf32> {\n"
              "  %s = graph.sin %x : tensor<2xf32>\n"
              "  %z = graph.sub %s, %s : tensor<2xf32>\n"
              "  %l = graph.log %z : tensor<2xf32>\n"
              "  %r = graph.scatter_elements max %l, %i, %u axis = 0 : "
              "tensor<2xf32>, tensor<1xi32>, tensor<1xf32>\n"
              "  return %r : tensor<2xf32>\n}\n");
  HostTensor index = llvm::cantFail(HostTensor::create(DType::I32, {1}));
  index.setI64(0, 0);
  Bounds b = boundsOf(graph, {reals(DType::F32, {2}, {1, 2}), index,
                              reals(DType::F32, {1}, {4})})[0];
  EXPECT_TRUE(b.isUnknown(0));
}

TEST(Bounds, HalfMayBeRoundedBetweenOpsOrNot) {
  const char *text = "func.func @f(%x: tensor<2xf16>) -> (tensor<2xf16>, "
                     "tensor<2xf16>) {\n"
                     "  %p = graph.mul %x, %x : tensor<2xf16>\n"
                     "  %q = graph.sub %p, %x : tensor<2xf16>\n"
                     "  return %p, %q : tensor<2xf16>, tensor<2xf16>\n}\n";
  Graph graph(text);
  // 1.0009765625^2 needs more bits than f16 has; 300^2 overflows.
  auto b = boundsOf(graph, {reals(DType::F16, {2}, {1.0009765625, 300})});
  EXPECT_EQ(b[0].low[0], b[0].high[0]);
  EXPECT_LT(b[1].low[0], b[1].high[0]);
  EXPECT_EQ(b[0].low[1], kInf);
  EXPECT_EQ(b[1].high[1], kInf);
}

/// Bounds of the results of a function on f32 vectors.
static std::vector<Bounds>
boundsOfBody(llvm::StringRef body, llvm::StringRef results, int count,
             std::vector<std::vector<double>> arguments) {
  int64_t size = arguments[0].size();
  std::string type = typeText(DType::F32, {size}), types, names;
  std::vector<HostTensor> tensors;
  for (auto [i, values] : llvm::enumerate(arguments)) {
    names += (i ? ", %" : "%") + std::string(1, char('x' + i)) + ": " + type;
    tensors.push_back(reals(DType::F32, {size}, values));
  }
  for (int i = 0; i < count; ++i)
    types += (i ? ", " : "") + type;
  std::string text = "func.func @f(" + names + ") -> (" + types + ") {\n";
  llvm::SmallVector<llvm::StringRef> lines;
  body.split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines)
    text += (line + " : " + type + "\n").str();
  Graph graph(text + "  return " + results.str() + " : " + types + "\n}\n");
  return boundsOf(graph, tensors);
}

// Both ends of such an interval are outside of what the function is defined
// on, its middle is within.
TEST(Bounds, DomainsMayLieWithinAnInterval) {
  // 1e8 + x - 1e8 is x, or anything up to 8 away from it.
  auto b = boundsOfBody("%s = graph.add %x, %y\n%z = graph.sub %s, %y\n"
                        "%t = graph.sin %x\n%u = graph.mul %t, %y\n"
                        "%v = graph.sub %u, %u\n%a = graph.asin %v\n"
                        "%b = graph.acos %v\n%c = graph.atanh %v",
                        "%a, %b, %c", 3, {{1, 5}, {1e9, 1e9}});
  ASSERT_EQ(b.size(), 3u);
  for (const Bounds &one : b)
    for (int i = 0; i < 2; ++i)
      EXPECT_TRUE(one.isUnknown(i)) << one.low[i] << " " << one.high[i];
}

TEST(Bounds, PowersMayHideNan) {
  // exp(-inf) + 1 is 1 for certain, exp(0) about 1.
  auto b = boundsOfBody("%e = graph.exp %x\n%q = graph.add %e, %y\n"
                        "%p = graph.pow %q, %z\n%l = graph.log %q\n"
                        "%r = graph.pow %z, %l",
                        "%p, %r", 2, {{-kInf, 0}, {1, 0}, {kNan, kNan}});
  ASSERT_EQ(b.size(), 2u);
  EXPECT_NEAR(b[0].low[0], 1, 1e-6);
  EXPECT_TRUE(b[0].isUnknown(1));
  EXPECT_NEAR(b[1].low[0], 1, 1e-6);
  EXPECT_TRUE(b[1].isUnknown(1));
  // e is neither 1 nor 0.
  auto c = boundsOfBody("%e = graph.exp %x\n%p = graph.pow %e, %y\n"
                        "%r = graph.pow %y, %e",
                        "%p, %r", 2, {{1}, {kNan}});
  EXPECT_TRUE(std::isnan(c[0].low[0]));
  EXPECT_TRUE(std::isnan(c[1].low[0]));
}

TEST(Bounds, ZerosMayHaveEitherSign) {
  // log(exp(0)) is about 0, at most +0 the way it is written here.
  std::string zero = "%e = graph.exp %y\n%l = graph.log %e\n"
                     "%m = graph.min %l, %y\n%z = graph.ceil %m\n";
  auto b = boundsOfBody(zero + "%d = graph.div %x, %z\n"
                               "%r = graph.rsqrt %z\n%s = graph.sin %z\n"
                               "%i = graph.div %x, %s\n%n = graph.neg %z\n"
                               "%j = graph.div %x, %n\n%a = graph.abs %z\n"
                               "%k = graph.div %x, %a\n%c = graph.cos %z\n"
                               "%p = graph.pow %x, %z",
                        "%z, %d, %r, %i, %j, %k, %c, %p", 8, {{1}, {0}});
  ASSERT_EQ(b.size(), 8u);
  // The value is known, its sign is not.
  EXPECT_EQ(b[0].low[0], 0);
  EXPECT_EQ(b[0].high[0], 0);
  for (int i = 1; i < 5; ++i)
    EXPECT_TRUE(b[i].isUnknown(0)) << i;
  EXPECT_EQ(b[5].low[0], kInf);
  EXPECT_GT(b[6].low[0], 0.999);
  EXPECT_NEAR(b[7].low[0], 1, 1e-6);
  EXPECT_NEAR(b[7].high[0], 1, 1e-6);
}

TEST(Bounds, NarrowResultsMayBeApproximated) {
  auto one = [](llvm::StringRef op, DType dtype, std::vector<double> x,
                std::vector<double> y) {
    int64_t size = x.size();
    std::string type = typeText(dtype, {size});
    Graph graph({type, type}, type, (op + " : " + type).str());
    return boundsOf(graph,
                    {reals(dtype, {size}, x), reals(dtype, {size}, y)})[0];
  };
  // 2^-130 / 3 may vanish in bf16, and is exact in f32; 0 / 3 is 0.
  Bounds b = one("graph.div %0, %1", DType::BF16, {0x1p-130, 0}, {3, 3});
  EXPECT_EQ(b.low[0], 0);
  EXPECT_GT(b.high[0], 0);
  EXPECT_EQ(b.low[1], 0);
  EXPECT_EQ(b.high[1], 0);
  b = one("graph.div %0, %1", DType::F32, {0x1p-130}, {3});
  EXPECT_EQ(b.low[0], b.high[0]);
  EXPECT_GT(b.low[0], 0);
  // What is well within the spacing of the type is still one number.
  b = one("graph.div %0, %1", DType::F16, {1}, {3});
  EXPECT_EQ(b.low[0], b.high[0]);
  // 21 / 7 need not cancel with 3 before it is rounded.
  Graph graph("func.func @f(%x: tensor<1xf16>, %y: tensor<1xf16>, %z: "
              "tensor<1xf16>) -> tensor<1xf16> {\n"
              "  %q = graph.div %x, %y : tensor<1xf16>\n"
              "  %d = graph.sub %z, %q : tensor<1xf16>\n"
              "  return %d : tensor<1xf16>\n}\n");
  b = boundsOf(graph,
               {reals(DType::F16, {1}, {21}), reals(DType::F16, {1}, {7}),
                reals(DType::F16, {1}, {3})})[0];
  EXPECT_LT(b.low[0], -0x1p-17);
  EXPECT_GT(b.low[0], -0x1p-14);
  EXPECT_GT(b.high[0], 0x1p-17);
}

TEST(Bounds, ScatteredSumsThatCancelMayTurnTheirSign) {
  Graph graph({"tensor<1xf32>", "tensor<3x1xi32>", "tensor<3xf32>"},
              "tensor<1xf32>",
              "graph.scatter_nd add %0, %1, %2 : tensor<1xf32>, "
              "tensor<3x1xi32>, tensor<3xf32>");
  HostTensor places = reals(DType::I32, {3, 1}, {0, 0, 0});
  Bounds b = boundsOf(graph, {reals(DType::F32, {1}, {0}), places.clone(),
                              reals(DType::F32, {3}, {1e8, 1, -1e8})})[0];
  EXPECT_LT(b.low[0], 0);
  EXPECT_GT(b.high[0], 1);
}

TEST(Bounds, CompositesMayLoseDenormalsOfDoubles) {
  Graph graph({"tensor<5xf64>"}, "tensor<5xf64>",
              "graph.silu %0 : tensor<5xf64>");
  HostTensor x = reals(DType::F64, {5}, {-716, -740, -0x1p-1074, 3e-310, -1e4});
  Bounds b = boundsOf(graph, {x.clone()})[0];
  HostTensor found = run(graph, {x.clone()})[0];
  Deviation deviation = deviationOf(b, found);
  EXPECT_TRUE(deviation.ok()) << deviation.first;
  // -716 e^-716, and not the zero that 1 / (1 + e^716) makes of it.
  EXPECT_LT(found.getF64(0), -1e-309);
  found.setF64(0, 0);
  EXPECT_FALSE(deviationOf(b, found).ok());
  found.setF64(0, b.middle.getF64(0));
  found.setF64(2, 0);
  EXPECT_TRUE(deviationOf(b, found).ok());
}

TEST(Bounds, DeviationFindsWhatIsOutside) {
  Bounds b = boundsOf("graph.exp %0", {{1, 2, 3}});
  HostTensor found = b.middle.clone();
  Deviation right = deviationOf(b, found);
  EXPECT_TRUE(right.ok());
  EXPECT_EQ(right.worst, 0);
  found.setF64(1, b.high[1] * (1 + 0x1p-20));
  Deviation wrong = deviationOf(b, found);
  EXPECT_EQ(wrong.wrong, 1);
  EXPECT_GT(wrong.worst, 1);
  EXPECT_EQ(wrong.first.substr(0, 12), "element [1]:");
  found.setF64(1, kNan);
  EXPECT_FALSE(deviationOf(b, found).ok());
}

TEST(Bounds, ContainTheReferenceOfComposites) {
  Graph graph({"tensor<4x33xf16>"}, "tensor<4x33xf16>",
              "graph.softmax %0 [1] : tensor<4x33xf16>");
  HostTensor x = reals(DType::F16, {4, 33}, std::vector<double>(132, 0.5));
  for (int i = 0; i < 132; ++i)
    x.setF64(i, (i * 37 % 101) / 16.0 - 3);
  Deviation deviation =
      deviationOf(boundsOf(graph, {x})[0], run(graph, {x})[0]);
  EXPECT_TRUE(deviation.ok()) << deviation.first;
  EXPECT_EQ(deviation.unknown, 0);
}
