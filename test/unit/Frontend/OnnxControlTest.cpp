//===- OnnxControlTest.cpp - branches and functions of ONNX ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxImported.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::test;

namespace {

GraphSpec ifGraph(bool condition) {
  GraphSpec yes, no;
  yes.nodes = {node("Relu", {"x"}, {"r"})};
  yes.outputs = {valueInfo("r", kFloat, {})};
  no.nodes = {node("Neg", {"x"}, {"n"})};
  no.outputs = {valueInfo("n", kFloat, {})};
  GraphSpec graph = simple({node("If", {"c"}, {"y"},
                                 {graphAttr("then_branch", yes.proto()),
                                  graphAttr("else_branch", no.proto())})});
  graph.initializers = {
      rawTensor<uint8_t>({}, kBool, {uint8_t(condition)}, "c")};
  return graph;
}

TEST(OnnxImport, KnownConditionsTakeOneBranch) {
  Imported yes = import(model(ifGraph(true).proto()));
  ASSERT_TRUE(bool(yes.module)) << yes.error;
  EXPECT_EQ(yes.count<graph::ReluOp>(), 1);
  EXPECT_EQ(yes.count<graph::NegOp>(), 0);
  Imported no = import(model(ifGraph(false).proto()));
  ASSERT_TRUE(bool(no.module)) << no.error;
  EXPECT_EQ(no.count<graph::NegOp>(), 1);
}

TEST(OnnxImport, OpenConditionsSelect) {
  GraphSpec open = ifGraph(true);
  open.initializers.clear();
  open.inputs.push_back(valueInfo("c", kBool, {}));
  Imported m = import(model(open.proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_EQ(m.count<graph::ReluOp>(), 1);
  EXPECT_EQ(m.count<graph::NegOp>(), 1);
  EXPECT_EQ(m.count<graph::SelectOp>(), 1);
}

TEST(OnnxImport, BranchesDoNotLeakNames) {
  GraphSpec graph = ifGraph(true);
  graph.nodes.push_back(node("Relu", {"r"}, {"z"}));
  EXPECT_NE(errorOf(graph).find("input 'r' is not defined"), std::string::npos);
}

Proto refAttr(const std::string &name, const std::string &ref) {
  return Proto().text(1, name).text(21, ref).integer(20, 1);
}

TEST(OnnxImport, FunctionsAreInlined) {
  Proto f =
      function("Leaky", {"a", "b"}, {"r"},
               {node("LeakyRelu", {"a"}, {"t"}, {refAttr("alpha", "slope")}),
                node("Clip", {"t", "b"}, {"r"})});
  f.text(6, "slope");
  GraphSpec graph =
      simple({node("Leaky", {"x"}, {"m"}, {floatAttr("slope", 0.5f)}, "local"),
              node("Leaky", {"m"}, {"y"}, {}, "local")});
  Imported m = import(model(graph.proto(), 21, {f}));
  ASSERT_TRUE(bool(m.module)) << m.error;
  std::vector<double> alphas;
  m.module->walk([&](graph::LeakyReluOp op) {
    alphas.push_back(op.getAlpha().convertToDouble());
  });
  EXPECT_EQ(alphas, (std::vector<double>{0.5, double(0.01f)}));
}

TEST(OnnxImport, FunctionsMustNotRecur) {
  Proto a = function("A", {"x"}, {"y"}, {node("B", {"x"}, {"y"}, {}, "local")});
  Proto b = function("B", {"x"}, {"y"}, {node("A", {"x"}, {"y"}, {}, "local")});
  GraphSpec graph = simple({node("A", {"x"}, {"y"}, {}, "local")});
  EXPECT_NE(import(model(graph.proto(), 21, {a, b}))
                .error.find("function 'A' calls itself"),
            std::string::npos);
  // Through the branch of an If.
  GraphSpec branch;
  branch.nodes = {node("C", {"x"}, {"r"}, {}, "local")};
  branch.outputs = {valueInfo("r", kFloat, {})};
  Proto c =
      function("C", {"x"}, {"y"},
               {node("Constant", {}, {"t"},
                     {tensorAttr("value", rawTensor<uint8_t>({}, kBool, {1}))}),
                node("If", {"t"}, {"y"},
                     {graphAttr("then_branch", branch.proto()),
                      graphAttr("else_branch", branch.proto())})});
  GraphSpec viaIf = simple({node("C", {"x"}, {"y"}, {}, "local")});
  EXPECT_NE(import(model(viaIf.proto(), 21, {c}))
                .error.find("function 'C' calls itself"),
            std::string::npos);
}

TEST(OnnxImport, ExponentialCallsAreCapped) {
  // F0 calls F1 twice, F1 calls F2 twice, ...: 2^30 nodes from 30 functions.
  std::vector<Proto> functions;
  for (int i = 0; i < 30; ++i) {
    std::string next = "F" + std::to_string(i + 1);
    functions.push_back(function("F" + std::to_string(i), {"x"}, {"y"},
                                 {node(next, {"x"}, {"m"}, {}, "local"),
                                  node(next, {"m"}, {"y"}, {}, "local")}));
  }
  functions.push_back(
      function("F30", {"x"}, {"y"}, {node("Relu", {"x"}, {"y"})}));
  GraphSpec graph = simple({node("F0", {"x"}, {"y"}, {}, "local")});
  ImportOptions options;
  options.maxNodes = 10000;
  EXPECT_NE(import(model(graph.proto(), 21, functions), options)
                .error.find("more than 10000 nodes"),
            std::string::npos);
  options.maxFunctionDepth = 8;
  EXPECT_NE(import(model(graph.proto(), 21, functions), options)
                .error.find("nested more than 8 deep"),
            std::string::npos);
}

TEST(OnnxImport, LongChainsAreImportedIteratively) {
  std::vector<Proto> nodes;
  std::string last = "x";
  for (int i = 0; i < 100000; ++i) {
    std::string name = i + 1 == 100000 ? "y" : "v" + std::to_string(i);
    nodes.push_back(node("Relu", {last}, {name}));
    last = name;
  }
  Imported m = import(model(simple(std::move(nodes)).proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_EQ(m.count<graph::ReluOp>(), 100000);
}

} // namespace
