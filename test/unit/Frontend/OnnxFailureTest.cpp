//===- OnnxFailureTest.cpp - what the ONNX importer refuses ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxImported.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::test;

namespace {

TEST(OnnxImport, FailuresNameTheNode) {
  EXPECT_EQ(errorOf(simple({node("Relu", {"x"}, {"a"}),
                            node("Frobnicate", {"a"}, {"y"})})),
            "node 1 'node_Frobnicate' (Frobnicate): unsupported operator "
            "'Frobnicate' (domain '', opset 21)");
  EXPECT_EQ(errorOf(simple({node("Relu", {"z"}, {"y"})})),
            "node 0 'node_Relu' (Relu): input 'z' is not defined before the "
            "node");
  EXPECT_EQ(errorOf(simple({node("Relu", {}, {"y"})})),
            "node 0 'node_Relu' (Relu): input 0 is missing");
  EXPECT_EQ(
      errorOf(simple({node("Relu", {"x"}, {"y"}), node("Relu", {"x"}, {"y"})})),
      "node 1 'node_Relu' (Relu): the name 'y' is defined twice");
  EXPECT_EQ(errorOf(simple({node("Relu", {"x"}, {"y"}, {intAttr("k", 1)})})),
            "node 0 'node_Relu' (Relu): unsupported attribute 'k'");
  EXPECT_EQ(errorOf(simple({node("Relu", {"x"}, {"y", "extra"})})),
            "node 0 'node_Relu' (Relu): output 1 is not supported");
  EXPECT_EQ(errorOf(simple({node("Relu", {"x"}, {"z"})})),
            "model: output 'y' is not defined");
  EXPECT_EQ(errorOf(simple({node("Relu", {"x"}, {"y"})}, kInt64)),
            "model: output 'y': expected INT64, found f32");
  EXPECT_EQ(
      errorOf(simple({node("LeakyRelu", {"x"}, {"y"}, {intAttr("alpha", 1)})})),
      "node 0 'node_LeakyRelu' (LeakyRelu): expected attribute 'alpha' "
      "of type float, found int");
}

TEST(OnnxImport, NodesMayComeInAnyOrder) {
  Imported m = import(
      model(simple({node("Neg", {"b"}, {"y"}), node("Relu", {"a"}, {"b"}),
                    node("Exp", {"x"}, {"a"})})
                .proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_EQ(m.ops(), 3);
  // A cycle has no order.
  EXPECT_EQ(
      errorOf(simple({node("Relu", {"y"}, {"a"}), node("Relu", {"a"}, {"y"})})),
      "node 0 'node_Relu' (Relu): input 'y' is not defined before the "
      "node");
}

TEST(OnnxImport, NamesAreEscapedInMessages) {
  std::string error = errorOf(
      simple({node("Relu", {"\x1b[2J" + std::string(5000, 'x')}, {"y"})}));
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
  EXPECT_LT(error.size(), 300u);
}

TEST(OnnxImport, OpsetsAreChecked) {
  GraphSpec graph = simple({node("Relu", {"x"}, {"y"})});
  EXPECT_EQ(errorOf(graph, 7), "");
  EXPECT_EQ(errorOf(graph, kNewestOpset), "");
  EXPECT_NE(errorOf(graph, 6).find("unsupported opset version 6"),
            std::string::npos);
  EXPECT_NE(errorOf(graph, 1000).find("unsupported opset version 1000"),
            std::string::npos);
  EXPECT_NE(errorOf(simple({node("Relu", {"x"}, {"y"}, {}, "com.acme")}))
                .find("domain 'com.acme' is not imported"),
            std::string::npos);
  EXPECT_EQ(errorOf(simple({node("Relu", {"x"}, {"y"}, {}, "ai.onnx")})), "");
}

TEST(OnnxImport, InconsistentFilesAreToldFromUnsupportedOnes) {
  using enum ImportFailure;
  auto with = [](std::vector<Proto> nodes,
                 std::vector<Proto> initializers = {}) {
    GraphSpec graph = simple(std::move(nodes));
    graph.initializers = std::move(initializers);
    return graph;
  };
  EXPECT_EQ(failureOf(with({node("Relu", {"x"}, {"y"})})), None);

  // What contradicts itself.
  EXPECT_EQ(failureOf(with({node("Relu", {"absent"}, {"y"})})), Malformed);
  EXPECT_EQ(failureOf(with({node("Relu", {}, {"y"})})), Malformed);
  EXPECT_EQ(failureOf(with({node("Relu", {"x"}, {"z"})})), Malformed);
  EXPECT_EQ(
      failureOf(with({node("Relu", {"x"}, {"y"}), node("Abs", {"x"}, {"y"})})),
      Malformed);
  EXPECT_EQ(failureOf(with({node("Relu", {"y"}, {"y"})})), Malformed);
  EXPECT_EQ(failureOf(with({node("Add", {"x", "b"}, {"y"})},
                           {rawTensor<float>({4}, kFloat, {1, 2, 3, 4}, "b")})),
            Malformed);
  EXPECT_EQ(
      failureOf(with({node("Add", {"x", "b"}, {"y"})}, {i64("b", {1, 2, 3})})),
      Malformed);
  EXPECT_EQ(failureOf(with({node("Add", {"x", "b"}, {"y"})},
                           {rawTensor<float>({3}, kFloat, {1, 2}, "b")})),
            Malformed);
  EXPECT_EQ(failureOf(with({node("Add", {"x", "b"}, {"y"})},
                           {rawTensor<float>({3}, 99, {1, 2, 3}, "b")})),
            Malformed);
  EXPECT_EQ(
      failureOf(with({node("Softmax", {"x"}, {"y"}, {floatAttr("axis", 1)})})),
      Malformed);
  EXPECT_EQ(
      failureOf(with({node("Softmax", {"x"}, {"y"}, {intAttr("axis", 5)})})),
      Malformed);
  EXPECT_EQ(failureOf(with(
                {node("Transpose", {"x"}, {"y"}, {intsAttr("perm", {0, 0})})})),
            Malformed);
  EXPECT_EQ(
      failureOf(with({node("Reshape", {"x", "s"}, {"y"})}, {i64("s", {7})})),
      Malformed);
  EXPECT_EQ(failureOf(with({node("Cast", {"x"}, {"y"}, {intAttr("to", 99)})})),
            Malformed);
  EXPECT_EQ(failureOf(with({node("Relu", {"x"}, {"y"}, {}, "com.acme")})),
            Malformed);
  EXPECT_EQ(failureOf(with({node("Relu", {"x"}, {"y"})}), 0), Malformed);
  GraphSpec wrongOutput = simple({node("Relu", {"x"}, {"y"})}, kInt64);
  EXPECT_EQ(failureOf(wrongOutput), Malformed);
  GraphSpec twice = simple({node("Relu", {"x"}, {"y"})});
  twice.inputs.push_back(twice.inputs[0]);
  EXPECT_EQ(failureOf(twice), Malformed);
  GraphSpec untyped = simple({node("Relu", {"x"}, {"y"})});
  untyped.inputs = {Proto().text(1, "x")};
  EXPECT_EQ(failureOf(untyped), Malformed);

  // What fusec does not do.
  EXPECT_EQ(failureOf(with({node("NonZero", {"x"}, {"y"})})), Unsupported);
  EXPECT_EQ(failureOf(with({node("Relu", {"x"}, {"y"})}), 1), Unsupported);
  EXPECT_EQ(failureOf(with({node("Relu", {"x"}, {"y"})}), 1000), Unsupported);
  EXPECT_EQ(
      failureOf(with({node("Relu", {"x"}, {"y"}, {intAttr("invented", 1)})})),
      Unsupported);
  EXPECT_EQ(failureOf(with({node("Cast", {"x"}, {"y"}, {intAttr("to", 8)})})),
            Unsupported);
  GraphSpec strings = simple({node("Relu", {"x"}, {"y"})});
  strings.inputs = {valueInfo("x", 8, {2})};
  EXPECT_EQ(failureOf(strings), Unsupported);
  GraphSpec open = simple({node("Relu", {"x"}, {"y"})});
  open.inputs = {valueInfo("x", kFloat, {-1, 3})};
  EXPECT_EQ(failureOf(open), Unsupported);
  GraphSpec value = simple({node("Reshape", {"x", "s"}, {"y"})});
  value.inputs.push_back(valueInfo("s", kInt64, {2}));
  EXPECT_EQ(failureOf(value), Unsupported);
}

TEST(OnnxImport, HostileShapesAreErrors) {
  auto shaped = [](const std::string &op, std::vector<int64_t> shape,
                   std::vector<Proto> attributes = {}) {
    GraphSpec graph = simple({node(op, {"x", "s"}, {"y"}, attributes)});
    graph.initializers = {i64("s", shape)};
    return errorOf(graph);
  };
  int64_t huge = int64_t(1) << 62;
  for (std::vector<int64_t> shape : {std::vector<int64_t>{huge, 2, 3},
                                     {huge, huge},
                                     {-2, -3},
                                     {-1, -1},
                                     {0, 0, 0, -1},
                                     {7},
                                     {INT64_MIN},
                                     {-1, 4}})
    EXPECT_NE(shaped("Reshape", shape), "");
  EXPECT_NE(shaped("Expand", {huge, 2, 3}), "");
  EXPECT_NE(shaped("Expand", {-1, 3}), "");
  EXPECT_NE(shaped("Tile", {huge, huge}), "");
  EXPECT_NE(shaped("Tile", {-1, 1}), "");
  EXPECT_NE(shaped("Unsqueeze", {5}), "");
  EXPECT_NE(shaped("Unsqueeze", {0, 0}), "");
  EXPECT_NE(shaped("Squeeze", {0}), "");
  EXPECT_NE(shaped("Pad", {huge, huge, huge, huge}), "");
  EXPECT_NE(shaped("Pad", {-9, 0, 0, 0}), "");
  EXPECT_NE(shaped("Pad", {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}), "");
  GraphSpec fill = simple({node("ConstantOfShape", {"s"}, {"y"})});
  fill.initializers = {i64("s", {int64_t(1) << 38})};
  EXPECT_NE(errorOf(fill).find("above the limit"), std::string::npos);
}

} // namespace
