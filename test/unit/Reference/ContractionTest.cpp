//===- ContractionTest.cpp - contract and convolution ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluator against plain loops, and buildElement against the evaluator.
// Values are small integers, so sums are exact in every type.
//===----------------------------------------------------------------------===//
#include "ElementInterpreter.h"
#include "ReferenceTestUtils.h"
#include "gtest/gtest.h"
#include <cmath>
#include <numeric>

using namespace fusec;
using namespace fusec::reference::test;

using Shape = std::vector<int64_t>;

/// Integers from -2 to 2 (from 0 for unsigned types).
static HostTensor small(DType dtype, const Shape &shape, int64_t seed) {
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                  std::multiplies<>());
  std::vector<int64_t> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = (i * 7 + seed) % 5 - (isUnsignedInt(dtype) ? 0 : 2);
  return wholes(dtype, shape, values);
}

static HostTensor both(const std::string &op, const HostTensor &lhs,
                       const HostTensor &rhs, DType dtype, const Shape &shape) {
  std::string a = typeText(lhs.dtype, lhs.shape),
              b = typeText(rhs.dtype, rhs.shape), c = typeText(dtype, shape);
  Graph graph({a, b}, c, op + " : " + a + ", " + b + " -> " + c);
  expectElementsMatch(graph.op(), {lhs, rhs});
  return run(graph, {lhs, rhs}).at(0);
}

TEST(Contract, MatchesLoops) {
  const int64_t B = 3, M = 5, K = 7, N = 4;
  HostTensor lhs = small(DType::F32, {B, M, K}, 1),
             rhs = small(DType::F32, {K, B, N}, 4);
  HostTensor c =
      both("graph.contract %0, %1 batch [0] x [1] contract [2] x [0]", lhs, rhs,
           DType::F32, {B, M, N});
  for (int64_t b = 0; b < B; ++b)
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = 0; n < N; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < K; ++k)
          sum +=
              lhs.getF64((b * M + m) * K + k) * rhs.getF64((k * B + b) * N + n);
        EXPECT_EQ(c.getF64((b * M + m) * N + n), sum);
      }
}

TEST(Contract, RoundsToTf32WhereAskedAndAllowed) {
  auto product = [](bool allowed, bool asked) {
    std::string a = "tensor<1x1xf32>";
    Graph graph({a, a}, a,
                std::string("graph.contract %0, %1 batch [] x [] contract [1] "
                            "x [0]") +
                    (allowed ? " {allowTf32 = true}" : "") + " : " + a + ", " +
                    a + " -> " + a);
    reference::EvaluateOptions options;
    options.tf32 = asked;
    // A tie of the 11th digit, and less than half of it.
    return run(graph,
               {reals(DType::F32, {1, 1}, {1 + 0x1p-11}),
                reals(DType::F32, {1, 1}, {-1 - 0x1p-12})},
               options)
        .at(0)
        .getF64(0);
  };
  EXPECT_EQ(product(true, true), -1 - 0x1p-10);
  double whole = double(float(-(1 + 0x1p-11) * (1 + 0x1p-12)));
  EXPECT_EQ(product(true, false), whole);
  EXPECT_EQ(product(false, true), whole);
}

TEST(Contract, ShapesAndTypes) {
  struct Case {
    Shape lhs, rhs, result;
    std::string dims;
  };
  Case cases[] = {
      {{3, 2}, {2, 5}, {3, 5}, "batch [] x [] contract [1] x [0]"},
      {{2, 3}, {5, 2}, {3, 5}, "batch [] x [] contract [0] x [1]"},
      {{2, 3, 4},
       {4, 3, 2},
       {},
       "batch [] x [] contract [0, 1, 2] x [2, 1, 0]"},
      {{2, 3, 4},
       {4, 2, 3},
       {2, 3},
       "batch [0, 1] x [1, 2] contract [2] x [0]"},
      {{3, 2}, {2, 3}, {2, 3}, "batch [1, 0] x [0, 1] contract [] x []"},
      {{3}, {2}, {3, 2}, "batch [] x [] contract [] x []"},
      {{}, {}, {}, "batch [] x [] contract [] x []"},
      {{3, 0}, {0, 2}, {3, 2}, "batch [] x [] contract [1] x [0]"},
      {{0, 3}, {3, 2}, {0, 2}, "batch [] x [] contract [1] x [0]"}};
  std::tuple<DType, DType, DType> types[] = {
      {DType::F32, DType::F32, DType::F32},
      {DType::F64, DType::F64, DType::F64},
      {DType::F16, DType::F16, DType::F16},
      {DType::BF16, DType::BF16, DType::F32},
      {DType::F8E4M3, DType::F8E5M2, DType::F16},
      {DType::F32, DType::F64, DType::F32},
      {DType::I8, DType::I8, DType::I32},
      {DType::U8, DType::I8, DType::I32},
      {DType::I32, DType::I16, DType::I8},
      {DType::I4, DType::U4, DType::U64}};
  for (const Case &each : cases)
    for (auto [lhs, rhs, result] : types)
      both("graph.contract %0, %1 " + each.dims, small(lhs, each.lhs, 1),
           small(rhs, each.rhs, 3), result, each.result);
}

// Half precision sums in f32 and rounds once.
TEST(Contract, AccumulatesWide) {
  HostTensor lhs = reals(DType::F16, {3}, {2048, 1, 1}),
             ones = reals(DType::F16, {3}, {1, 1, 1});
  EXPECT_EQ(both("graph.contract %0, %1 batch [] x [] contract [0] x [0]", lhs,
                 ones, DType::F16, {})
                .getF64(0),
            2050);
  // Integers are converted first and wrap in the result type.
  HostTensor bytes = wholes(DType::I8, {2}, {-128, -128});
  EXPECT_EQ(both("graph.contract %0, %1 batch [] x [] contract [0] x [0]",
                 bytes, bytes, DType::I32, {})
                .getI64(0),
            32768);
  EXPECT_EQ(both("graph.contract %0, %1 batch [] x [] contract [0] x [0]",
                 bytes, bytes, DType::I16, {})
                .getI64(0),
            -32768);
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

TEST(Convolution, MatchesLoops) {
  // NCHW, stride 2 x 1, dilation 1 x 2, uneven padding, 2 groups.
  const int64_t N = 2, C = 4, H = 6, W = 7, O = 6, P = 2, KH = 3, KW = 2;
  const int64_t OH = 3, OW = 8;
  HostTensor x = small(DType::F32, {N, C, H, W}, 1),
             w = small(DType::F32, {O, P, KH, KW}, 2);
  HostTensor y =
      both("graph.convolution %0, %1 strides [2, 1] dilations [1, 2] low [1, "
           "0] high "
           "[0, 3] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 2",
           x, w, DType::F32, {N, O, OH, OW});
  for (int64_t n = 0; n < N; ++n)
    for (int64_t o = 0; o < O; ++o)
      for (int64_t i = 0; i < OH; ++i)
        for (int64_t j = 0; j < OW; ++j) {
          double sum = 0;
          for (int64_t c = 0; c < P; ++c)
            for (int64_t a = 0; a < KH; ++a)
              for (int64_t b = 0; b < KW; ++b) {
                int64_t h = 2 * i + a - 1, v = j + 2 * b;
                if (h < 0 || h >= H || v < 0 || v >= W)
                  continue;
                int64_t channel = o / 3 * P + c;
                sum += x.getF64(((n * C + channel) * H + h) * W + v) *
                       w.getF64(((o * P + c) * KH + a) * KW + b);
              }
          EXPECT_EQ(y.getF64(((n * O + o) * OH + i) * OW + j), sum);
        }
}

TEST(Convolution, LayoutsGroupsAndTypes) {
  struct Case {
    Shape input, kernel, result;
    std::string attributes;
  };
  Case cases[] = {
      // Channels last.
      {{2, 5, 3},
       {2, 3, 4},
       {2, 4, 4},
       "strides [1] dilations [1] low [0] high [0] dims [0, 2, 1] x [2, 1, 0] "
       "-> [0, 2, 1] groups = 1"},
      // Depthwise.
      {{1, 3, 4},
       {3, 1, 3},
       {1, 3, 4},
       "strides [1] dilations [1] low [1] high [1] dims [0, 1, 2] x [0, 1, 2] "
       "-> [0, 1, 2] groups = 3"},
      // Result with the batch last.
      {{2, 2, 3},
       {4, 1, 2},
       {2, 4, 2},
       "strides [1] dilations [1] low [0] high [0] dims [0, 1, 2] x [0, 1, 2] "
       "-> [2, 1, 0] groups = 2"},
      // No spatial dimensions, no input channels, an empty batch.
      {{2, 3},
       {4, 3},
       {2, 4},
       "strides [] dilations [] low [] high [] dims [0, 1] x [0, 1] -> [0, 1] "
       "groups = 1"},
      {{2, 0, 3},
       {4, 0, 1},
       {2, 4, 3},
       "strides [1] dilations [1] low [0] high [0] dims [0, 1, 2] x [0, 1, 2] "
       "-> [0, 1, 2] groups = 1"},
      {{0, 1, 3},
       {1, 1, 1},
       {0, 1, 3},
       "strides [1] dilations [1] low [0] high [0] dims [0, 1, 2] x [0, 1, 2] "
       "-> [0, 1, 2] groups = 1"},
      // Only padding.
      {{1, 1, 0},
       {1, 1, 2},
       {1, 1, 2},
       "strides [1] dilations [1] low [2] high [1] dims [0, 1, 2] x [0, 1, 2] "
       "-> [0, 1, 2] groups = 1"}};
  std::tuple<DType, DType, DType> types[] = {
      {DType::F32, DType::F32, DType::F32},
      {DType::F16, DType::F16, DType::F16},
      {DType::BF16, DType::F32, DType::F64},
      {DType::U8, DType::I8, DType::I32}};
  for (const Case &each : cases)
    for (auto [input, kernel, result] : types)
      both("graph.convolution %0, %1 " + each.attributes,
           small(input, each.input, 1), small(kernel, each.kernel, 2), result,
           each.result);
}

// Padding is a zero that is multiplied: an infinite weight shows it.
TEST(Convolution, PaddingTimesInfinity) {
  HostTensor x = reals(DType::F32, {1, 1, 2}, {1, 2}),
             w = reals(DType::F32, {1, 1, 2}, {HUGE_VAL, 1});
  HostTensor y =
      both("graph.convolution %0, %1 strides [1] dilations [1] low [1] high "
           "[0] dims [0, 1, 2] x [0, 1, 2] -> [0, 1, 2] groups = 1",
           x, w, DType::F32, {1, 1, 2});
  EXPECT_TRUE(std::isnan(y.getF64(0)));
  EXPECT_EQ(y.getF64(1), HUGE_VAL);
}
