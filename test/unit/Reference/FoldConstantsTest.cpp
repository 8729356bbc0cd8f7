//===- FoldConstantsTest.cpp - how results are stored ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ReferenceTestUtils.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Attributes.h"
#include "fusec/Reference/Passes.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace fusec;
using namespace fusec::reference;
using namespace fusec::reference::test;

/// Gives the constant of `graph` the value `tensor`, as a resource if `large`.
static void setConstant(Graph &graph, const HostTensor &tensor, bool large) {
  auto constant = mlir::cast<graph::ConstantOp>(graph.op());
  mlir::ElementsAttr value = toAttribute(tensor, constant.getContext());
  if (large)
    value = mlir::DenseResourceElementsAttr::get(
        mlir::cast<mlir::ShapedType>(constant.getType()), "given",
        mlir::HeapAsmResourceBlob::allocateAndCopyWithAlign(
            llvm::ArrayRef(reinterpret_cast<const char *>(tensor.data()),
                           tensor.bytes->size()),
            8));
  constant.setValueAttr(value);
}

static std::string negation(DType dtype, int64_t size) {
  std::string type = typeText(dtype, {size});
  return "func.func @f() -> " + type +
         " {\n  %c = graph.constant dense<0> : " + type +
         "\n  %r = graph.neg %c : " + type + "\n  return %r : " + type + "\n}";
}

TEST(FoldConstants, LargeResultsAreResources) {
  for (int64_t size : {512, 2048}) {
    Graph graph(negation(DType::I32, size));
    std::vector<int64_t> values(size);
    std::iota(values.begin(), values.end(), 0);
    setConstant(graph, wholes(DType::I32, {size}, values), /*large=*/true);
    FoldReport report = foldConstants(graph.function());
    EXPECT_EQ(report.folded, 1);
    EXPECT_EQ(report.overBudget, 0);
    auto constant = mlir::cast<graph::ConstantOp>(graph.op());
    EXPECT_EQ(mlir::isa<mlir::DenseResourceElementsAttr>(constant.getValue()),
              size > 1024);
    for (int64_t &value : values)
      value = -value;
    expectSame(run(graph, {}).at(0), wholes(DType::I32, {size}, values),
               "folded");
  }
}

// Equal elements become a splat though the operand was none.
TEST(FoldConstants, ResultsThatAreSplatsAreStoredAsSuch) {
  std::string type = typeText(DType::F32, {2048});
  Graph graph("func.func @f() -> " + type +
              " {\n  %c = graph.constant dense<1.0> : " + type +
              "\n  %r = graph.abs %c : " + type + "\n  return %r : " + type +
              "\n}");
  std::vector<double> values(2048);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i % 2 ? 3 : -3;
  setConstant(graph, reals(DType::F32, {2048}, values), /*large=*/false);
  foldConstants(graph.function());
  auto constant = mlir::cast<graph::ConstantOp>(graph.op());
  EXPECT_TRUE(constant.getValue().isSplat());
}

// A resource with too few bytes cannot be read: the op is left, nothing fails.
TEST(FoldConstants, BrokenResourcesAreLeft) {
  Graph graph(negation(DType::I32, 2048));
  auto constant = mlir::cast<graph::ConstantOp>(graph.op());
  char data[4] = {};
  constant.setValueAttr(mlir::DenseResourceElementsAttr::get(
      mlir::cast<mlir::ShapedType>(constant.getType()), "given",
      mlir::HeapAsmResourceBlob::allocateAndCopyWithAlign(data, 8)));
  FoldReport report = foldConstants(graph.function());
  EXPECT_EQ(report.folded, 0);
  EXPECT_TRUE(mlir::isa<graph::NegOp>(graph.op()->getNextNode()));
}

TEST(FoldConstants, LimitsAreCounted) {
  Graph graph(negation(DType::I32, 2048));
  std::vector<int64_t> values(2048);
  std::iota(values.begin(), values.end(), 0);
  setConstant(graph, wholes(DType::I32, {2048}, values), /*large=*/true);
  FoldConstantsPassOptions options;
  options.maxBytes = 8191;
  FoldReport report = foldConstants(graph.function(), options);
  EXPECT_EQ(report.folded, 0);
  EXPECT_EQ(report.overBudget, 1);
  options.maxBytes = 8192;
  EXPECT_EQ(foldConstants(graph.function(), options).folded, 1);
}
