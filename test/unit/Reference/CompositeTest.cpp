//===- CompositeTest.cpp - formulas against decompositions ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluator computes composites by formulas of its own. Here each graph
// runs twice, as it is and decomposed into primitives, on ordinary and special
// values.
//===----------------------------------------------------------------------===//
#include "ReferenceTestUtils.h"
#include "fusec/Dialect/Graph/Transforms/Passes.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"
#include <cmath>
#include <numeric>

using namespace fusec;
using namespace fusec::reference::test;

using Shape = std::vector<int64_t>;

/// Values between -4 and 4 without a pattern that reductions would cancel.
static HostTensor spread(DType dtype, const Shape &shape, double shift = 0) {
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                  std::multiplies<>());
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = 4 * std::sin(double(i * i + 1)) + shift;
  return reals(dtype, shape, values);
}

/// Expects both evaluations to agree within `tolerance`, relative for large
/// and absolute for small values; NaN and infinities exactly.
static void expectDefinition(Graph &graph,
                             const std::vector<HostTensor> &arguments,
                             double tolerance) {
  HostTensor direct = run(graph, arguments).at(0);
  ASSERT_GT(graph::decomposeComposites(graph.function()), 0);
  ASSERT_TRUE(mlir::succeeded(mlir::verify(graph.function())));
  HostTensor decomposed = run(graph, arguments).at(0);
  ASSERT_EQ(direct.shape, decomposed.shape);
  for (int64_t i = 0; i < direct.elements(); ++i) {
    double a = direct.getF64(i), b = decomposed.getF64(i);
    if (std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b)) {
      EXPECT_TRUE((std::isnan(a) && std::isnan(b)) || a == b)
          << i << ": " << a << " and " << b;
      continue;
    }
    EXPECT_LE(std::fabs(a - b), tolerance * std::max(1.0, std::fabs(a)))
        << i << ": " << a << " and " << b;
  }
}

/// Unit round-off, a few of which the tests allow.
static double unit(DType dtype) {
  return std::ldexp(1, -int(precisionBits(dtype)));
}

TEST(Composite, Activations) {
  const char *ops[] = {"relu %0",
                       "leaky_relu %0 {alpha = 0.01 : f64}",
                       "gelu erf %0",
                       "gelu tanh %0",
                       "silu %0",
                       "softplus %0",
                       "elu %0 {alpha = 0.5 : f64}",
                       "hard_sigmoid %0 {alpha = 0.2 : f64, beta = 0.5 : f64}"};
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (const char *op : ops)
      for (const HostTensor &x : {spread(dtype, {37}), specialValues(dtype)}) {
        SCOPED_TRACE(op + (" " + name(dtype).str()));
        std::string type = typeText(dtype, x.shape);
        Graph graph({type}, type, std::string("graph.") + op + " : " + type);
        expectDefinition(graph, {x}, 8 * unit(dtype));
      }
}

// Each composite counts once, primitives do not.
TEST(Composite, DecompositionIsCounted) {
  std::string type = typeText(DType::F32, {4});
  Graph graph({type}, type, "graph.relu %0 : " + type);
  EXPECT_EQ(graph::decomposeComposites(graph.function()), 1);
  EXPECT_EQ(graph::decomposeComposites(graph.function()), 0);
}

TEST(Composite, ReluOfIntegers) {
  for (DType dtype : {DType::I8, DType::U8, DType::I64, DType::U64}) {
    HostTensor x = specialValues(dtype);
    std::string type = typeText(dtype, x.shape);
    Graph graph({type}, type, "graph.relu %0 : " + type);
    HostTensor direct = run(graph, {x}).at(0);
    graph::decomposeComposites(graph.function());
    expectSame(run(graph, {x}).at(0), direct, type);
  }
}

TEST(Composite, Softmax) {
  std::pair<Shape, const char *> cases[] = {
      {{5, 7}, "[1]"},          {{5, 7}, "[0]"}, {{2, 3, 4}, "[0, 2]"},
      {{2, 3, 4}, "[0, 1, 2]"}, {{3, 1}, "[1]"}, {{0, 3}, "[1]"},
      {{3, 0}, "[1]"}};
  for (DType dtype : {DType::F64, DType::F32, DType::F16})
    for (auto &[shape, dims] : cases)
      for (const char *op : {"softmax", "log_softmax"}) {
        SCOPED_TRACE(op + (" " + name(dtype).str()) + dims);
        std::string type = typeText(dtype, shape);
        Graph graph({type}, type,
                    std::string("graph.") + op + " %0 " + dims + " : " + type);
        expectDefinition(graph, {spread(dtype, shape)}, 32 * unit(dtype));
      }
}

// Large values do not overflow; rows with an infinity or NaN are NaN as the
// formula says.
TEST(Composite, SoftmaxOfExtremes) {
  double inf = HUGE_VAL;
  HostTensor x =
      reals(DType::F32, {4, 2}, {1e30, 1e30, -inf, 0, inf, 0, std::nan(""), 0});
  std::string type = typeText(DType::F32, {4, 2});
  Graph graph({type}, type, "graph.softmax %0 [1] : " + type);
  auto y = asReals(run(graph, {x}).at(0));
  EXPECT_EQ(y[0], 0.5);
  EXPECT_EQ(y[1], 0.5);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 1);
  for (int i = 4; i < 8; ++i)
    EXPECT_TRUE(std::isnan(y[i]) || i == 5) << i;
  expectDefinition(graph, {x}, 1e-6);
}

TEST(Composite, Normalisations) {
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    SCOPED_TRACE(name(dtype).str());
    std::string x = typeText(dtype, {4, 3, 5}), s = typeText(dtype, {3, 5}),
                v = typeText(dtype, {3});
    HostTensor data = spread(dtype, {4, 3, 5}, 1),
               scale = spread(dtype, {3, 5}), bias = spread(dtype, {3, 5}, 2);
    double tolerance = 16 * unit(dtype);
    Graph plain({x, s}, x,
                "graph.layer_norm %0, %1 axis = 1 epsilon = 1.0e-5 : " + x +
                    ", " + s);
    expectDefinition(plain, {data, scale}, tolerance);
    Graph biased({x, s, s}, x,
                 "graph.layer_norm %0, %1, %2 axis = 1 epsilon = 1.0e-5 : " +
                     x + ", " + s + ", " + s);
    expectDefinition(biased, {data, scale, bias}, tolerance);
    Graph rms({x, s}, x,
              "graph.rms_norm %0, %1 axis = 1 epsilon = 1.0e-5 : " + x + ", " +
                  s);
    expectDefinition(rms, {data, scale}, tolerance);
    Graph batch({x, v, v, v, v}, x,
                "graph.batch_norm %0, %1, %2, %3, %4 channel = 1 epsilon = "
                "1.0e-3 : " +
                    x + ", " + v + ", " + v + ", " + v + ", " + v);
    expectDefinition(batch,
                     {data, spread(dtype, {3}), spread(dtype, {3}, 1),
                      spread(dtype, {3}, 2), reals(dtype, {3}, {0.5, 2, 1})},
                     tolerance);
  }
}

// The variance of values far from zero survives: it is taken around the mean.
TEST(Composite, LayerNormOfShiftedValues) {
  HostTensor x = reals(DType::F32, {1, 4}, {10000, 10001, 10002, 10003});
  HostTensor one = reals(DType::F32, {4}, {1, 1, 1, 1});
  std::string type = typeText(DType::F32, {1, 4}),
              s = typeText(DType::F32, {4});
  Graph graph({type, s}, type,
              "graph.layer_norm %0, %1 axis = 1 epsilon = 0.0 : " + type +
                  ", " + s);
  auto y = asReals(run(graph, {x, one}).at(0));
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(y[i], (i - 1.5) / std::sqrt(1.25), 1e-6);
  expectDefinition(graph, {x, one}, 1e-6);
}
