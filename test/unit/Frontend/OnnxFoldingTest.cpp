//===- OnnxFoldingTest.cpp - what the ONNX importer computes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxImported.h"

#include <chrono>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::test;

namespace {

TEST(OnnxImport, ShapeArithmeticFolds) {
  // Flatten all but the first dimension, the long way.
  GraphSpec graph = simple(
      {node("Shape", {"x"}, {"shape"}),
       node("Gather", {"shape", "zero"}, {"rows"}, {intAttr("axis", 0)}),
       node("Unsqueeze", {"rows", "axes"}, {"rows1"}),
       node("Concat", {"rows1", "minus1"}, {"target"}, {intAttr("axis", 0)}),
       node("Reshape", {"x", "target"}, {"y"})});
  graph.inputs = {valueInfo("x", kFloat, {2, 3, 5})};
  graph.initializers = {rawTensor<int64_t>({}, kInt64, {0}, "zero"),
                        i64("axes", {0}), i64("minus1", {-1})};
  Imported m = import(model(graph.proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_EQ(m.resultType(), "tensor<2x15xf32>");
  EXPECT_EQ(m.ops(), 1);
}

/// Imports one node on i64 initializers a, b, c and returns its result.
std::vector<int64_t> foldNode(const Proto &n,
                              std::vector<std::vector<int64_t>> values,
                              int outputType = kInt64) {
  GraphSpec graph;
  graph.nodes = {n};
  for (size_t i = 0; i < values.size(); ++i)
    graph.initializers.push_back(i64(std::string(1, char('a' + i)), values[i]));
  graph.outputs = {valueInfo("y", outputType, {})};
  Imported m = import(model(graph.proto()));
  if (!m.module) {
    ADD_FAILURE() << m.error;
    return {};
  }
  return m.constantResult();
}

TEST(OnnxImport, FoldsIntegerArithmetic) {
  auto binary = [](const std::string &op, Ints a, Ints b, int type = kInt64) {
    return foldNode(node(op, {"a", "b"}, {"y"}), {a, b}, type);
  };
  EXPECT_EQ(binary("Add", {INT64_MAX, 2}, {1, 3}), (Ints{INT64_MIN, 5}));
  EXPECT_EQ(binary("Sub", {INT64_MIN}, {1}), (Ints{INT64_MAX}));
  EXPECT_EQ(binary("Mul", {INT64_MIN, 3}, {-1, 4}), (Ints{INT64_MIN, 12}));
  EXPECT_EQ(binary("Div", {-7, 7, INT64_MIN, 5}, {2, -2, -1, 0}),
            (Ints{-3, -3, INT64_MIN, 0}));
  EXPECT_EQ(binary("Mod", {-7, 7, INT64_MIN, 5}, {3, -3, -1, 0}),
            (Ints{2, -2, 0, 5}));
  EXPECT_EQ(binary("Max", {1, 5}, {4, 2}), (Ints{4, 5}));
  EXPECT_EQ(binary("Min", {1, 5}, {4, 2}), (Ints{1, 2}));
  EXPECT_EQ(binary("Less", {1, 5, 3}, {4, 2, 3}, kBool), (Ints{1, 0, 0}));
  EXPECT_EQ(binary("Equal", {1, 3}, {4, 3}, kBool), (Ints{0, 1}));
}

TEST(OnnxImport, FoldsMovement) {
  EXPECT_EQ(
      foldNode(node("Gather", {"a", "b"}, {"y"}), {{10, 11, 12}, {-1, 0, 1}}),
      (Ints{12, 10, 11}));
  EXPECT_EQ(foldNode(node("Slice", {"a", "b", "c", "d", "e"}, {"y"}),
                     {{0, 1, 2, 3, 4, 5}, {-1}, {INT64_MIN}, {0}, {-2}}),
            (Ints{5, 3, 1}));
  EXPECT_EQ(foldNode(node("Slice", {"a", "b", "c", "d", "e"}, {"y"}),
                     {{0, 1, 2}, {1}, {INT64_MAX}, {0}, {INT64_MAX}}),
            (Ints{1}));
  EXPECT_EQ(foldNode(node("Slice", {"a", "b", "c", "d", "e"}, {"y"}),
                     {{0, 1, 2}, {INT64_MAX}, {INT64_MIN}, {0}, {INT64_MIN}}),
            (Ints{2}));
  EXPECT_EQ(foldNode(node("Concat", {"a", "b"}, {"y"}, {intAttr("axis", 0)}),
                     {{1}, {2, 3}}),
            (Ints{1, 2, 3}));
  EXPECT_EQ(foldNode(node("Tile", {"a", "b"}, {"y"}), {{1, 2}, {3}}),
            (Ints{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(foldNode(node("Expand", {"a", "b"}, {"y"}), {{1, 2}, {2, 1}}),
            (Ints{1, 2, 1, 2}));
  EXPECT_EQ(foldNode(node("Pad", {"a", "b"}, {"y"}), {{1, 2, 3}, {1, -1}}),
            (Ints{0, 1, 2}));
  EXPECT_EQ(
      foldNode(node("Pad", {"a", "b"}, {"y"}, {stringAttr("mode", "reflect")}),
               {{1, 2, 3}, {2, 3}}),
      (Ints{3, 2, 1, 2, 3, 2, 1, 2}));
  EXPECT_EQ(
      foldNode(node("Pad", {"a", "b"}, {"y"}, {stringAttr("mode", "edge")}),
               {{1, 2}, {1, 2}}),
      (Ints{1, 1, 2, 2, 2}));
  EXPECT_EQ(
      foldNode(node("Pad", {"a", "b"}, {"y"}, {stringAttr("mode", "wrap")}),
               {{1, 2, 3}, {2, 4}}),
      (Ints{2, 3, 1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(foldNode(node("ReduceProd", {"a"}, {"y"}, {intAttr("keepdims", 0)}),
                     {{2, 3, 7}}),
            (Ints{42}));
  EXPECT_EQ(foldNode(node("ReduceMax", {"a"}, {"y"}), {{2, 9, 7}}), (Ints{9}));
}

/// Range of three i64 scalars.
Ints range(int64_t start, int64_t limit, int64_t delta) {
  GraphSpec graph;
  graph.nodes = {node("Range", {"a", "b", "c"}, {"y"})};
  graph.initializers = {rawTensor<int64_t>({}, kInt64, {start}, "a"),
                        rawTensor<int64_t>({}, kInt64, {limit}, "b"),
                        rawTensor<int64_t>({}, kInt64, {delta}, "c")};
  graph.outputs = {valueInfo("y", kInt64, {})};
  Imported m = import(model(graph.proto()));
  return m.module ? m.constantResult() : Ints{-99};
}

TEST(OnnxImport, RangesEndWhereTheyShould) {
  EXPECT_EQ(range(1, 7, 3), (Ints{1, 4}));
  EXPECT_EQ(range(1, 8, 3), (Ints{1, 4, 7}));
  EXPECT_EQ(range(5, 0, -2), (Ints{5, 3, 1}));
  EXPECT_EQ(range(0, 0, 1), Ints{});
  EXPECT_EQ(range(0, 5, -1), Ints{});
  EXPECT_EQ(range(0, 5, 0), Ints{-99});
  EXPECT_EQ(range(INT64_MIN, INT64_MAX, 1), Ints{-99});
  EXPECT_EQ(range(0, INT64_MAX, 1), Ints{-99});
}

TEST(OnnxImport, FoldingStopsAtItsBudget) {
  GraphSpec graph = simple({node("Expand", {"v", "s"}, {"wide"}),
                            node("Add", {"x", "wide"}, {"y"})});
  graph.inputs = {valueInfo("x", kFloat, {100000})};
  graph.initializers = {rawTensor<float>({1}, kFloat, {1}, "v"),
                        i64("s", {100000})};
  Imported m = import(model(graph.proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_EQ(m.count<graph::BroadcastOp>(), 1);
  // A chain of doublings stays within the total.
  GraphSpec chain;
  std::string last = "a0";
  chain.initializers = {i64("a0", Ints(2048, 1))};
  for (int i = 1; i <= 20000; ++i) {
    std::string name = "a" + std::to_string(i);
    chain.nodes.push_back(node("Add", {last, last}, {name}));
    last = name;
  }
  chain.outputs = {valueInfo(last, kInt64, {})};
  auto start = std::chrono::steady_clock::now();
  m = import(model(chain.proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_GT(m.count<graph::AddOp>(), 10000);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

} // namespace
