//===- ReferenceTestUtils.cpp - graphs and tensors for tests --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ReferenceTestUtils.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace fusec;
using namespace fusec::reference::test;

void Graph::parse(const std::string &text) {
  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module) << text;
}

Graph::Graph(const std::string &text) { parse(text); }

Graph::Graph(ArrayRef<std::string> arguments, StringRef result,
             StringRef body) {
  std::string text = "func.func @f(";
  for (size_t i = 0; i < arguments.size(); ++i)
    text += (i ? ", %" : "%") + std::to_string(i) + ": " + arguments[i];
  text += ") -> " + result.str() + " {\n  %r = " + body.str() +
          "\n  return %r : " + result.str() + "\n}\n";
  parse(text);
}

func::FuncOp Graph::function() {
  return module->lookupSymbol<func::FuncOp>("f");
}

Operation *Graph::op() { return &function().getBody().front().front(); }

static std::string elementText(DType dtype) {
  switch (dtype) {
  case DType::F8E4M3:
    return "f8E4M3FN";
  case DType::F8E5M2:
    return "f8E5M2";
  case DType::Bool:
    return "i1";
  default:
    return (isUnsignedInt(dtype) ? "ui" + std::to_string(integerBits(dtype))
                                 : name(dtype).str());
  }
}

std::string reference::test::typeText(DType dtype, ArrayRef<int64_t> shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + elementText(dtype) + ">";
}

HostTensor reference::test::reals(DType dtype, ArrayRef<int64_t> shape,
                                  ArrayRef<double> values) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(dtype, shape));
  EXPECT_EQ(tensor.elements(), int64_t(values.size()));
  for (auto [i, value] : llvm::enumerate(values))
    tensor.setF64(i, value);
  return tensor;
}

HostTensor reference::test::wholes(DType dtype, ArrayRef<int64_t> shape,
                                   ArrayRef<int64_t> values) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(dtype, shape));
  EXPECT_EQ(tensor.elements(), int64_t(values.size()));
  for (auto [i, value] : llvm::enumerate(values))
    tensor.setI64(i, value);
  return tensor;
}

HostTensor reference::test::specialValues(DType dtype) {
  if (dtype == DType::Bool)
    return wholes(dtype, {2}, {0, 1});
  if (!isFloat(dtype)) {
    unsigned bits = integerBits(dtype);
    int64_t top = static_cast<int64_t>(uint64_t(1) << (bits - 1));
    return wholes(dtype, {12},
                  {0, 1, 2, 3, 7, -1, -2, -3, top, top - 1, top + 1, 5});
  }
  // The bits of the least denormal, the largest denormal, the least normal and
  // the largest finite number: neighbours in the order of bits.
  unsigned mantissa = precisionBits(dtype) - 1;
  uint64_t normal = uint64_t(1) << mantissa;
  uint64_t most = encodeFloat(dtype, HUGE_VAL, Overflow::Saturate);
  SmallVector<double> values = {0.0,
                                decodeFloat(dtype, 1),
                                decodeFloat(dtype, normal - 1),
                                decodeFloat(dtype, normal),
                                decodeFloat(dtype, most),
                                0.5,
                                0.75,
                                1.0,
                                1.25,
                                1.5,
                                2.0,
                                2.5,
                                3.5,
                                7.0,
                                100.0,
                                HUGE_VAL};
  for (size_t i = 0, count = values.size(); i < count; ++i)
    values.push_back(-values[i]);
  values.push_back(std::nan(""));
  return reals(dtype, {int64_t(values.size())}, values);
}

std::pair<HostTensor, HostTensor>
reference::test::allPairs(const HostTensor &lhs, const HostTensor &rhs) {
  int64_t n = lhs.elements(), m = rhs.elements();
  HostTensor left = llvm::cantFail(HostTensor::create(lhs.dtype, {n * m}));
  HostTensor right = llvm::cantFail(HostTensor::create(rhs.dtype, {n * m}));
  for (int64_t i = 0; i < n * m; ++i) {
    left.setBits(i, lhs.getBits(i / m));
    right.setBits(i, rhs.getBits(i % m));
  }
  return {left, right};
}

std::vector<HostTensor> reference::test::run(Graph &graph,
                                             ArrayRef<HostTensor> arguments,
                                             const EvaluateOptions &options) {
  auto results = evaluate(graph.function(), arguments, options);
  if (results)
    return std::move(*results);
  ADD_FAILURE() << llvm::toString(results.takeError());
  return {};
}

std::vector<double> reference::test::asReals(const HostTensor &tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    values.push_back(tensor.getF64(i));
  return values;
}

std::vector<int64_t> reference::test::asWholes(const HostTensor &tensor) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    values.push_back(tensor.getI64(i));
  return values;
}

/// Position of a number in the order of its type; both zeros are at 0.
static int64_t orderOf(const HostTensor &tensor, int64_t i) {
  uint64_t bits = tensor.getBits(i);
  uint64_t sign = uint64_t(1) << (8 * byteSize(tensor.dtype) - 1);
  return bits & sign ? -static_cast<int64_t>(bits & (sign - 1))
                     : static_cast<int64_t>(bits);
}

void reference::test::expectSame(const HostTensor &actual,
                                 const HostTensor &expected,
                                 const std::string &what, int64_t ulps) {
  ASSERT_EQ(actual.dtype, expected.dtype) << what;
  ASSERT_EQ(actual.shape, expected.shape) << what;
  for (int64_t i = 0; i < actual.elements(); ++i) {
    if (!isFloat(actual.dtype)) {
      EXPECT_EQ(actual.getI64(i), expected.getI64(i)) << what << " at " << i;
      continue;
    }
    double found = actual.getF64(i), wanted = expected.getF64(i);
    if (std::isnan(found) && std::isnan(wanted))
      continue;
    bool isClose = !std::isnan(found) && !std::isnan(wanted) &&
                   std::abs(orderOf(actual, i) - orderOf(expected, i)) <= ulps;
    if (found == 0 && wanted == 0)
      isClose = std::signbit(found) == std::signbit(wanted);
    if (std::isinf(found) != std::isinf(wanted))
      isClose = false;
    EXPECT_TRUE(isClose) << what << " at " << i << ": expected " << wanted
                         << ", found " << found;
  }
}
