//===- ElementsTest.cpp - buildElement against the evaluator --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every elementwise op on special values of every element type, both ways.
//===----------------------------------------------------------------------===//
#include "ElementInterpreter.h"
#include "ReferenceTestUtils.h"
#include "gtest/gtest.h"

using namespace fusec;
using namespace fusec::reference::test;

/// `op %0 : T` on special values.
static void checkUnary(const std::string &mnemonic, DType dtype,
                       int64_t ulps = 0) {
  HostTensor x = specialValues(dtype);
  std::string type = typeText(dtype, x.shape);
  Graph graph({type}, type, "graph." + mnemonic + " %0 : " + type);
  expectElementsMatch(graph.op(), {x}, ulps);
}

/// `op %0, %1 : T` on all pairs of special values.
static void checkBinary(const std::string &mnemonic, DType dtype,
                        int64_t ulps = 0) {
  HostTensor special = specialValues(dtype);
  auto [x, y] = allPairs(special, special);
  std::string type = typeText(dtype, x.shape);
  Graph graph({type, type}, type, "graph." + mnemonic + " %0, %1 : " + type);
  expectElementsMatch(graph.op(), {x, y}, ulps);
}

TEST(Elements, ExactFloatUnary) {
  for (DType dtype : kFloats)
    for (const char *mnemonic :
         {"abs", "neg", "sign", "floor", "ceil", "trunc", "round", "sqrt"})
      checkUnary(mnemonic, dtype);
}

TEST(Elements, MathFloatUnary) {
  // One step apart where f32 and then a narrower type are rounded to, two for
  // the three roundings of logistic.
  for (DType dtype : kFloats)
    for (const char *mnemonic :
         {"rsqrt", "cbrt", "exp",  "exp2",  "expm1", "log",   "log2",
          "log1p", "sin",  "cos",  "tan",   "asin",  "acos",  "atan",
          "sinh",  "cosh", "tanh", "asinh", "acosh", "atanh", "erf"})
      checkUnary(mnemonic, dtype, 1);
  for (DType dtype : kFloats)
    checkUnary("logistic", dtype, 2);
}

TEST(Elements, FloatBinary) {
  for (DType dtype : kFloats) {
    for (const char *mnemonic :
         {"add", "sub", "mul", "div", "rem", "mod", "max", "min"})
      checkBinary(mnemonic, dtype);
    for (const char *mnemonic : {"pow", "atan2"})
      checkBinary(mnemonic, dtype, 1);
  }
}

TEST(Elements, Integers) {
  for (DType dtype : kIntegers) {
    for (const char *mnemonic : {"abs", "neg", "sign", "not"})
      checkUnary(mnemonic, dtype);
    for (const char *mnemonic :
         {"add", "sub", "mul", "div", "rem", "mod", "max", "min", "pow", "and",
          "or", "xor", "shl", "shr"})
      checkBinary(mnemonic, dtype);
  }
}

TEST(Elements, Bools) {
  checkUnary("not", DType::Bool);
  for (const char *mnemonic : {"and", "or", "xor"})
    checkBinary(mnemonic, DType::Bool);
}

static std::vector<DType> allTypes() {
  std::vector<DType> types(std::begin(kFloats), std::end(kFloats));
  types.insert(types.end(), std::begin(kIntegers), std::end(kIntegers));
  types.push_back(DType::Bool);
  return types;
}

TEST(Elements, Compare) {
  for (DType dtype : allTypes()) {
    HostTensor special = specialValues(dtype);
    auto [x, y] = allPairs(special, special);
    std::string type = typeText(dtype, x.shape);
    for (const char *predicate : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      Graph graph({type, type}, typeText(DType::Bool, x.shape),
                  std::string("graph.compare ") + predicate +
                      " %0, %1 : " + type);
      expectElementsMatch(graph.op(), {x, y});
    }
  }
}

TEST(Elements, Predicates) {
  for (DType dtype : kFloats)
    for (const char *mnemonic : {"is_nan", "is_inf"}) {
      HostTensor x = specialValues(dtype);
      std::string type = typeText(dtype, x.shape);
      Graph graph({type}, typeText(DType::Bool, x.shape),
                  std::string("graph.") + mnemonic + " %0 : " + type);
      expectElementsMatch(graph.op(), {x});
    }
}

TEST(Elements, SelectAndClamp) {
  for (DType dtype : allTypes()) {
    HostTensor special = specialValues(dtype);
    auto [x, y] = allPairs(special, special);
    std::string type = typeText(dtype, x.shape),
                pred = typeText(DType::Bool, x.shape);
    HostTensor choice =
        wholes(DType::Bool, x.shape, std::vector<int64_t>(x.elements(), 1));
    for (int64_t i = 0; i < x.elements(); i += 3)
      choice.setI64(i, 0);
    Graph select({pred, type, type}, type,
                 "graph.select %0, %1, %2 : " + pred + ", " + type);
    expectElementsMatch(select.op(), {choice, x, y});
    if (dtype == DType::Bool)
      continue;
    Graph clamp({type, type, type}, type, "graph.clamp %0, %1, %2 : " + type);
    expectElementsMatch(clamp.op(), {y, x, x});
    expectElementsMatch(clamp.op(), {x, y, x});
    expectElementsMatch(clamp.op(), {x, x, y});
  }
}

/// Values around the places where conversions round, saturate and wrap.
static HostTensor castValues(DType from) {
  if (from == DType::F64 || from == DType::F32) {
    std::vector<double> values = {0.3,          0.5,
                                  0.999,        1.5,
                                  7.4,          7.5,
                                  7.9,          8.0,
                                  15.9,         16.0,
                                  127.9,        128.0,
                                  255.9,        256.0,
                                  300.0,        448.0,
                                  463.9,        464.0,
                                  465.0,        1e3,
                                  32767.9,      32768.0,
                                  57344.0,      61439.0,
                                  61440.0,      65503.0,
                                  65519.9,      65520.0,
                                  65535.9,      65536.0,
                                  2147483520.0, 2147483648.0,
                                  4294967040.0, 4294967296.0,
                                  9.2e18,       9223372036854775808.0,
                                  1.8e19,       18446744073709551616.0,
                                  1e30,         1.0626220703125,
                                  1.00390625,   1.005859375,
                                  1e-40,        1e-7,
                                  3e-8};
    for (size_t i = 0, count = values.size(); i < count; ++i)
      values.push_back(-values[i]);
    values.push_back(__builtin_nan(""));
    return reals(from, {int64_t(values.size())}, values);
  }
  if (isFloat(from) || from == DType::Bool)
    return specialValues(from);
  // Ties and near ties of f32, bf16 and f16 at several sizes.
  std::vector<int64_t> values = {0,
                                 1,
                                 -1,
                                 8,
                                 15,
                                 16,
                                 127,
                                 128,
                                 -128,
                                 255,
                                 300,
                                 449,
                                 463,
                                 464,
                                 465,
                                 2049,
                                 2050,
                                 2051,
                                 65519,
                                 65520,
                                 16777217,
                                 16777219,
                                 257,
                                 258,
                                 259,
                                 4611686018427387904 + (int64_t(1) << 54),
                                 4611686018427387904 + (int64_t(1) << 54) + 1,
                                 4611686018427387904 + (int64_t(1) << 54) - 1,
                                 (int64_t(1) << 53) + (int64_t(1) << 45) + 1,
                                 (int64_t(1) << 53) + (int64_t(1) << 45),
                                 INT64_MAX,
                                 INT64_MIN,
                                 INT32_MAX,
                                 INT32_MIN};
  for (size_t i = 0, count = values.size(); i < count; ++i)
    values.push_back(static_cast<int64_t>(-static_cast<uint64_t>(values[i])));
  return wholes(from, {int64_t(values.size())}, values);
}

TEST(Elements, CastsOfAllPairs) {
  for (DType from : allTypes())
    for (DType to : allTypes())
      for (const char *saturate : {"", " {saturate = false}"}) {
        HostTensor x = castValues(from);
        std::string source = typeText(from, x.shape),
                    target = typeText(to, x.shape);
        Graph graph({source}, target,
                    std::string("graph.cast %0") + saturate + " : " + source +
                        " -> " + target);
        expectElementsMatch(graph.op(), {x});
      }
}

TEST(Elements, Quantize) {
  for (DType from : {DType::F64, DType::F32, DType::F16})
    for (DType to :
         {DType::I4, DType::U4, DType::I8, DType::U8, DType::I16, DType::U16,
          DType::I32, DType::U32, DType::F8E4M3, DType::F8E5M2}) {
      auto [x, scale] = allPairs(specialValues(from),
                                 reals(DType::F32, {3}, {0.25, 1.0, 0.1}));
      std::string type = typeText(from, x.shape),
                  scales = typeText(DType::F32, x.shape),
                  target = typeText(to, x.shape);
      HostTensor zero =
          isFloat(to)
              ? reals(to, x.shape, std::vector<double>(x.elements(), 0.0))
              : wholes(to, x.shape, std::vector<int64_t>(x.elements(), 3));
      Graph quantize({type, scales, target}, target,
                     "graph.quantize %0, %1, %2 : " + type + ", " + scales +
                         ", " + target + " -> " + target);
      expectElementsMatch(quantize.op(), {x, scale, zero});
      auto [stored, rate] =
          allPairs(specialValues(to), reals(DType::F32, {2}, {0.1, 3.0}));
      HostTensor point =
          isFloat(to) ? reals(to, stored.shape,
                              std::vector<double>(stored.elements(), 0.0))
                      : wholes(to, stored.shape,
                               std::vector<int64_t>(stored.elements(), 3));
      std::string storedType = typeText(to, stored.shape),
                  rates = typeText(DType::F32, stored.shape),
                  realType = typeText(from, stored.shape);
      Graph dequantize({storedType, rates, storedType}, realType,
                       "graph.dequantize %0, %1, %2 : " + storedType + ", " +
                           rates + ", " + storedType + " -> " + realType);
      expectElementsMatch(dequantize.op(), {stored, rate, point});
    }
}
