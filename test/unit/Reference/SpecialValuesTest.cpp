//===- SpecialValuesTest.cpp - published answers of the evaluator ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unary functions against the C library rounded by llvm::APFloat, and cases
// with answers written out where systems are known to differ.
//===----------------------------------------------------------------------===//
#include "ReferenceTestUtils.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace fusec;
using namespace fusec::reference::test;
using llvm::APFloat;

static const double inf = HUGE_VAL;
static const double nan_ = __builtin_nan("");

static const llvm::fltSemantics &semanticsOf(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return APFloat::IEEEdouble();
  case DType::F32:
    return APFloat::IEEEsingle();
  case DType::F16:
    return APFloat::IEEEhalf();
  case DType::BF16:
    return APFloat::BFloat();
  case DType::F8E4M3:
    return APFloat::Float8E4M3FN();
  default:
    return APFloat::Float8E5M2();
  }
}

/// `value` rounded once to `dtype`; float8 saturates, but what is infinite in
/// f32 is so in f8e5m2.
static double roundTo(DType dtype, double value) {
  bool isFloat8 = dtype == DType::F8E4M3 || dtype == DType::F8E5M2;
  if (isFloat8 && !std::isnan(value) &&
      !(dtype == DType::F8E5M2 && std::isinf(float(value)))) {
    double most = APFloat::getLargest(semanticsOf(dtype)).convertToDouble();
    value = std::min(std::max(value, -most), most);
  }
  bool lost;
  APFloat rounded(value);
  rounded.convert(semanticsOf(dtype), APFloat::rmNearestTiesToEven, &lost);
  return rounded.convertToDouble();
}

TEST(SpecialValues, UnaryAgainstTheLibrary) {
  std::pair<const char *, double (*)(double)> functions[] = {
      {"abs", std::fabs},    {"floor", std::floor}, {"ceil", std::ceil},
      {"trunc", std::trunc}, {"round", std::rint},  {"sqrt", std::sqrt},
      {"cbrt", std::cbrt},   {"exp", std::exp},     {"exp2", std::exp2},
      {"expm1", std::expm1}, {"log", std::log},     {"log2", std::log2},
      {"log1p", std::log1p}, {"sin", std::sin},     {"cos", std::cos},
      {"tan", std::tan},     {"asin", std::asin},   {"acos", std::acos},
      {"atan", std::atan},   {"sinh", std::sinh},   {"cosh", std::cosh},
      {"tanh", std::tanh},   {"asinh", std::asinh}, {"acosh", std::acosh},
      {"atanh", std::atanh}, {"erf", std::erf}};
  for (DType dtype : kFloats)
    for (auto [mnemonic, function] : functions) {
      HostTensor x = specialValues(dtype);
      std::string type = typeText(dtype, x.shape);
      Graph graph({type}, type,
                  std::string("graph.") + mnemonic + " %0 : " + type);
      HostTensor expected = x.clone();
      for (int64_t i = 0; i < x.elements(); ++i)
        expected.setF64(i, roundTo(dtype, function(x.getF64(i))));
      auto results = run(graph, {x});
      ASSERT_EQ(results.size(), 1u);
      expectSame(results[0], expected, std::string(mnemonic) + " of " + type);
    }
}

namespace {
/// One op on rank-1 float tensors with its answers.
struct RealCase {
  DType dtype;
  std::string op;
  std::vector<std::vector<double>> operands;
  std::vector<double> expected;
};
struct WholeCase {
  DType dtype;
  std::string op;
  std::vector<std::vector<int64_t>> operands;
  std::vector<int64_t> expected;
};
} // namespace

template <typename Case, typename Make>
static void check(const Case &each, Make make) {
  std::vector<int64_t> shape = {int64_t(each.expected.size())};
  std::string type = typeText(each.dtype, shape), body = "graph." + each.op;
  std::vector<std::string> types;
  std::vector<HostTensor> operands;
  for (size_t i = 0; i < each.operands.size(); ++i) {
    body += (i ? ", %" : " %") + std::to_string(i);
    types.push_back(type);
    operands.push_back(make(each.dtype, shape, each.operands[i]));
  }
  Graph graph(types, type, body + " : " + type);
  auto results = run(graph, operands);
  ASSERT_EQ(results.size(), 1u);
  expectSame(results[0], make(each.dtype, shape, each.expected), each.op);
}

TEST(SpecialValues, Floats) {
  const RealCase cases[] = {
      {DType::F32,
       "max",
       {{5, nan_, 0.0, -0.0}, {nan_, 5, -0.0, 0.0}},
       {nan_, nan_, 0.0, 0.0}},
      {DType::F32,
       "min",
       {{5, nan_, 0.0, -0.0}, {nan_, 5, -0.0, 0.0}},
       {nan_, nan_, -0.0, -0.0}},
      {DType::F32,
       "mul",
       {{nan_, inf, -inf, 1, -1}, {0, 0, 0, 0, 0}},
       {nan_, nan_, nan_, 0, -0.0}},
      {DType::F32, "sub", {{inf, 1}, {inf, 1}}, {nan_, 0}},
      {DType::F32,
       "round",
       {{-2.5, -1.5, -.5, .5, 1.5, 2.5}},
       {-2, -2, -0.0, 0, 2, 2}},
      {DType::F32,
       "logistic",
       {{1000, -1000, 0, inf, -inf}},
       {1, 0, 0.5, 1, 0}},
      {DType::F32,
       "sign",
       {{-3, 0.0, -0.0, nan_, inf}},
       {-1, 0.0, -0.0, nan_, 1}},
      {DType::F32, "neg", {{0.0, inf}}, {-0.0, -inf}},
      {DType::F32, "asinh", {{3e22}}, {52.44863128662109375}},
      {DType::F32, "erf", {{1e-7, 1e-5}}, {1.1283792e-07, 1.12837915e-05}},
      {DType::F32,
       "rem",
       {{-7, 7, -7, 7, inf, 1}, {3, -3, -3, 3, 1, inf}},
       {-1, 1, -1, 1, nan_, 1}},
      {DType::F32,
       "mod",
       {{-7, 7, -7, 7, -1, 6}, {3, -3, -3, 3, inf, -3}},
       {2, -2, -1, 1, inf, -0.0}},
      {DType::F64, "rem", {{1e10}, {1e-20}}, {std::fmod(1e10, 1e-20)}},
      {DType::F64,
       "atan2",
       {{0.0, 0.0, -0.0, -0.0}, {0.0, -0.0, 0.0, -0.0}},
       {0.0, M_PI, -0.0, -M_PI}},
      {DType::BF16, "add", {{1}, {0.001953125}}, {1}},
      {DType::F16, "mul", {{65504, 300}, {2, 300}}, {inf, inf}},
      {DType::F8E4M3, "add", {{448, 448}, {448, -1}}, {448, 448}},
      {DType::F8E5M2, "add", {{57344, inf}, {57344, 1}}, {57344, inf}},
      {DType::F32,
       "clamp",
       {{0, 0, nan_}, {0.5, -3, 1}, {nan_, 1, 2}},
       {nan_, 0, nan_}}};
  for (const RealCase &each : cases)
    check(each, reals);
}

TEST(SpecialValues, Integers) {
  const WholeCase cases[] = {
      {DType::U8, "neg", {{6, 0, 255}}, {250, 0, 1}},
      {DType::I8,
       "mul",
       {{12, 7, 20, 15, 11}, {12, 7, 20, 15, 11}},
       {-112, 49, -112, -31, 121}},
      {DType::I8, "abs", {{-112, -128, 127}}, {112, -128, 127}},
      {DType::I32, "add", {{2147483647}, {1}}, {-2147483648LL}},
      {DType::I32,
       "div",
       {{-7, 7, -7, 7, 5, INT32_MIN}, {3, -3, -3, 3, 0, -1}},
       {-2, -2, 2, 2, 0, INT32_MIN}},
      {DType::I32,
       "rem",
       {{-7, 7, -7, 7, 5, INT32_MIN}, {3, -3, -3, 3, 0, -1}},
       {-1, 1, -1, 1, 5, 0}},
      {DType::I32,
       "mod",
       {{-7, 7, -7, 7, 5, INT32_MIN}, {3, -3, -3, 3, 0, -1}},
       {2, -2, -1, 1, 5, 0}},
      {DType::I64, "div", {{INT64_MIN, 1}, {-1, 0}}, {INT64_MIN, 0}},
      {DType::I64, "mod", {{(int64_t(1) << 53) + 1}, {2}}, {1}},
      {DType::U64, "div", {{-1, -1}, {2, 0}}, {INT64_MAX, 0}},
      {DType::U64, "max", {{-1}, {1}}, {-1}},
      {DType::I32,
       "pow",
       {{3, -2, 5, 7, 3, 10}, {1, 3, 0, 2, 19, 9}},
       {3, -8, 1, 49, 1162261467, 1000000000}},
      {DType::I32,
       "pow",
       {{2, 1, -1, 0, -1}, {-1, -1, -1, -1, -2}},
       {0, 1, -1, 0, 1}},
      {DType::U8, "pow", {{2, 3}, {8, 5}}, {0, 243}},
      {DType::I8, "shl", {{1, 1, 1, -1}, {7, 8, -1, 0}}, {-128, 0, 0, -1}},
      {DType::I8,
       "shr",
       {{-128, -128, 127, -1}, {7, 8, -1, 3}},
       {-1, -1, 0, -1}},
      {DType::U8, "shr", {{255, 255, 255}, {7, 8, 0}}, {1, 0, 255}},
      {DType::I4, "add", {{7, -8}, {1, -1}}, {-8, 7}},
      {DType::U4, "sub", {{0, 15}, {1, 15}}, {15, 0}},
      {DType::U32, "not", {{0}}, {4294967295LL}},
      {DType::I16,
       "clamp",
       {{-5, -5, 9}, {-100, 100, 7}, {5, 5, 5}},
       {-5, 5, 5}}};
  for (const WholeCase &each : cases)
    check(each, wholes);
}

namespace {
struct CastCase {
  DType from, to;
  bool saturate;
  std::vector<double> values, expected;
};
} // namespace

TEST(SpecialValues, Casts) {
  const CastCase cases[] = {
      {DType::F32,
       DType::I8,
       true,
       {300, nan_, inf, -inf, 50, -50, -1.9},
       {127, 0, 127, -128, 50, -50, -1}},
      {DType::F32,
       DType::U8,
       true,
       {300, nan_, inf, -inf, 50.9, -50, -0.9},
       {255, 0, 255, 0, 50, 0, 0}},
      {DType::F32,
       DType::I32,
       true,
       {3e9, -3e9, 2147483520},
       {2147483647, -2147483648.0, 2147483520}},
      {DType::F32, DType::Bool, true, {0.5, 0.0, -0.0, nan_}, {1, 0, 0, 1}},
      {DType::F32,
       DType::BF16,
       true,
       {1.2345678, 1.00390625, 3.4e38},
       {1.234375, 1.0, inf}},
      {DType::F32, DType::F8E4M3, true, {1.0626220703125}, {1.125}},
      {DType::F32,
       DType::F8E4M3,
       true,
       {448, 464, 465, 1000, -1000, nan_, inf},
       {448, 448, 448, 448, -448, nan_, 448}},
      {DType::F32,
       DType::F8E4M3,
       false,
       {448, 464, 465, 1000, -1000, nan_, inf},
       {448, 448, nan_, nan_, nan_, nan_, nan_}},
      {DType::F32,
       DType::F8E5M2,
       true,
       {61440, inf, nan_},
       {57344, 57344, nan_}},
      {DType::F32,
       DType::F8E5M2,
       false,
       {61439, 61440, inf, nan_},
       {57344, inf, inf, nan_}},
      {DType::I16, DType::I8, true, {300, -129}, {44, 127}},
      {DType::U8, DType::I16, true, {200}, {200}},
      {DType::I8, DType::U8, true, {-1}, {255}},
      {DType::Bool, DType::F32, true, {0, 1}, {0, 1}},
      // Rounding through f32 first would give 257 and its tie 256.
      {DType::I32,
       DType::BF16,
       true,
       {257, 259, 16842753},
       {256, 260, 16908288}}};
  for (const CastCase &each : cases) {
    std::vector<int64_t> shape = {int64_t(each.values.size())};
    std::string from = typeText(each.from, shape),
                to = typeText(each.to, shape);
    std::string flag = each.saturate ? "" : " {saturate = false}";
    Graph graph({from}, to,
                "graph.cast %0" + flag + " : " + from + " -> " + to);
    auto results = run(graph, {reals(each.from, shape, each.values)});
    ASSERT_EQ(results.size(), 1u);
    expectSame(results[0], reals(each.to, shape, each.expected),
               from + " to " + to);
  }
}

TEST(SpecialValues, Quantize) {
  Graph graph({"tensor<8xf32>", "tensor<8xf32>", "tensor<8xui8>"},
              "tensor<8xui8>",
              "graph.quantize %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, "
              "tensor<8xui8> -> tensor<8xui8>");
  auto results = run(
      graph, {reals(DType::F32, {8}, {nan_, inf, -inf, 0.5, 1.5, 2.5, -10, 0}),
              reals(DType::F32, {8}, {1, 1, 1, 1, 1, 1, 1, 0}),
              wholes(DType::U8, {8}, {3, 3, 3, 3, 3, 3, 3, 3})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(asWholes(results[0]),
            (std::vector<int64_t>{3, 255, 0, 3, 5, 5, 0, 3}));
}

TEST(SpecialValues, WideKeepsFloatsAndCastsRound) {
  Graph graph(
      "func.func @f(%x: tensor<1xf16>) -> (tensor<1xf16>, tensor<1xbf16>) {\n"
      "  %0 = graph.mul %x, %x : tensor<1xf16>\n"
      "  %1 = graph.cast %0 : tensor<1xf16> -> tensor<1xbf16>\n"
      "  return %0, %1 : tensor<1xf16>, tensor<1xbf16>\n}\n");
  fusec::reference::EvaluateOptions options;
  options.wide = true;
  auto results = run(graph, {reals(DType::F16, {1}, {1.0009765625})}, options);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].dtype, DType::F64);
  EXPECT_EQ(results[0].getF64(0), 1.0009765625 * 1.0009765625);
  EXPECT_EQ(results[1].getF64(0), 1.0);
}
