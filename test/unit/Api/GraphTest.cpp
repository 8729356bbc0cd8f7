//===- GraphTest.cpp - graphs from files and text -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "../Frontend/OnnxWriter.h"
#include "ApiTestUtils.h"

using namespace fusec::test;

static fusec_error *fromText(const Context &context, const std::string &text,
                             Graph &result) {
  fusec_graph *graph = nullptr;
  fusec_error *error =
      fusec_graph_from_mlir(context.get(), text.data(), text.size(), &graph);
  result.reset(graph);
  return error;
}

TEST(ApiGraph, TextIsParsed) {
  Context context = makeContext();
  Graph graph;
  ASSERT_TRUE(ok(fromText(
      context,
      "func.func @f(%a: tensor<2x5xf16> {graph.name = \"a\"}) -> "
      "tensor<2x5xf16> {\n %0 = graph.neg %a : tensor<2x5xf16>\n return %0 : "
      "tensor<2x5xf16>\n}",
      graph)));
  EXPECT_EQ(fusec_graph_num_inputs(graph.get()), 1u);
  EXPECT_EQ(fusec_graph_num_outputs(graph.get()), 1u);
  EXPECT_EQ(fusec_graph_is_bound(graph.get()), 1);
  fusec_tensor_info info = fusec_tensor_info_default();
  ASSERT_TRUE(ok(fusec_graph_input(graph.get(), 0, &info)));
  EXPECT_STREQ(info.name, "a");
  EXPECT_EQ(info.dtype, FUSEC_F16);
  ASSERT_EQ(info.rank, 2);
  EXPECT_EQ(info.shape[1], 5);
  EXPECT_EQ(info.symbols, nullptr);
  EXPECT_EQ(info.bytes, 20);
  EXPECT_TRUE(failsWith(fusec_graph_output(graph.get(), 1, &info),
                        FUSEC_INVALID_ARGUMENT, "output 1"));
}

TEST(ApiGraph, BadTextIsAnErrorWithItsPlace) {
  Context context = makeContext();
  Graph graph;
  EXPECT_TRUE(failsWith(fromText(context, "func.func @f(", graph),
                        FUSEC_INVALID_GRAPH, "text"));
  EXPECT_TRUE(
      failsWith(fromText(context, "", graph), FUSEC_INVALID_GRAPH, "function"));
  EXPECT_TRUE(
      failsWith(fromText(context,
                         "func.func @f(%a: tensor<?xf32>) -> tensor<?xf32> "
                         "{ return %a : tensor<?xf32> }",
                         graph),
                FUSEC_UNSUPPORTED, "static shape"));
}

TEST(ApiGraph, TextRoundTrips) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  char *text = nullptr;
  ASSERT_TRUE(ok(fusec_graph_to_mlir(graph.get(), &text)));
  Graph again;
  EXPECT_TRUE(ok(fromText(context, text, again)));
  fusec_string_free(text);
  fusec_tensor_info info = fusec_tensor_info_default();
  ASSERT_TRUE(ok(fusec_graph_output(again.get(), 0, &info)));
  EXPECT_STREQ(info.name, "y");
}

TEST(ApiGraph, FilesAreRead) {
  Context context = makeContext();
  fusec_graph *graph = nullptr;
  std::string model = FUSEC_TEST_MODELS "/mnist_cnn/model.onnx";
  ASSERT_TRUE(ok(fusec_graph_from_file(context.get(), model.c_str(), &graph)));
  EXPECT_EQ(fusec_graph_num_inputs(graph), 1u);
  fusec_graph_free(graph);
  EXPECT_TRUE(
      failsWith(fusec_graph_from_file(context.get(), "/nowhere/x.onnx", &graph),
                FUSEC_INVALID_GRAPH, "/nowhere/x.onnx"));
  EXPECT_TRUE(
      failsWith(fusec_graph_from_file(context.get(), "/nowhere/x.mlir", &graph),
                FUSEC_INVALID_ARGUMENT, "/nowhere/x.mlir"));
  EXPECT_TRUE(
      failsWith(fusec_graph_from_file(context.get(), "graph.txt", &graph),
                FUSEC_INVALID_ARGUMENT, ".onnx or .mlir"));
}

//===----------------------------------------------------------------------===//
// ONNX
//===----------------------------------------------------------------------===//

static constexpr int kFloat = 1;

/// y = Relu(x) with x f32 of the given sizes; negative ones are named d<i>.
static std::string reluModel(const std::vector<int64_t> &dims) {
  GraphSpec graph;
  graph.nodes = {node("Relu", {"x"}, {"y"})};
  graph.inputs = {valueInfo("x", kFloat, dims)};
  graph.outputs = {valueInfo("y", kFloat, dims)};
  return model(graph.proto()).bytes;
}

static fusec_error *fromOnnx(const Context &context, const std::string &bytes,
                             Graph &result) {
  fusec_graph *graph = nullptr;
  fusec_error *error =
      fusec_graph_from_onnx(context.get(), bytes.data(), bytes.size(), &graph);
  result.reset(graph);
  return error;
}

static fusec_error *bind(const Graph &graph,
                         const std::vector<fusec_dim_binding> &dims,
                         const std::vector<fusec_shape_binding> &shapes,
                         Graph &result) {
  fusec_graph *bound = nullptr;
  fusec_error *error = fusec_graph_bind(graph.get(), dims.data(), dims.size(),
                                        shapes.data(), shapes.size(), &bound);
  result.reset(bound);
  return error;
}

TEST(ApiGraph, StaticOnnxIsBound) {
  Context context = makeContext();
  Graph graph;
  ASSERT_TRUE(ok(fromOnnx(context, reluModel({2, 3}), graph)));
  EXPECT_EQ(fusec_graph_is_bound(graph.get()), 1);
  EXPECT_TRUE(compile(graph));
}

TEST(ApiGraph, OpenDimensionsAreDescribedAndBound) {
  Context context = makeContext();
  Graph graph, bound;
  ASSERT_TRUE(ok(fromOnnx(context, reluModel({-1, 3}), graph)));
  EXPECT_EQ(fusec_graph_is_bound(graph.get()), 0);
  fusec_tensor_info info = fusec_tensor_info_default();
  ASSERT_TRUE(ok(fusec_graph_input(graph.get(), 0, &info)));
  EXPECT_EQ(info.shape[0], -1);
  EXPECT_EQ(info.shape[1], 3);
  EXPECT_STREQ(info.symbols[0], "d0");
  EXPECT_STREQ(info.symbols[1], "");
  EXPECT_EQ(info.bytes, -1);

  ASSERT_TRUE(ok(bind(graph, {{"d0", 4}}, {}, bound)));
  ASSERT_TRUE(ok(fusec_graph_output(bound.get(), 0, &info)));
  EXPECT_EQ(info.shape[0], 4);
  EXPECT_EQ(info.bytes, 48);
  const int64_t shape[] = {7, 3};
  ASSERT_TRUE(ok(bind(graph, {}, {{"x", 2, shape}}, bound)));
  ASSERT_TRUE(ok(fusec_graph_input(bound.get(), 0, &info)));
  EXPECT_EQ(info.shape[0], 7);
}

TEST(ApiGraph, AnUnboundGraphDoesNotCompile) {
  Context context = makeContext();
  Graph graph;
  ASSERT_TRUE(ok(fromOnnx(context, reluModel({-1, 3}), graph)));
  fusec_executable *executable = nullptr;
  EXPECT_TRUE(failsWith(fusec_compile(graph.get(), nullptr, &executable),
                        FUSEC_INVALID_ARGUMENT, "bind them first"));
  char *text = nullptr;
  EXPECT_TRUE(failsWith(fusec_graph_to_mlir(graph.get(), &text),
                        FUSEC_INVALID_ARGUMENT, "bind it first"));
}

TEST(ApiGraph, BindingsMustFit) {
  Context context = makeContext();
  Graph graph, bound;
  ASSERT_TRUE(ok(fromOnnx(context, reluModel({-1, 3}), graph)));
  const int64_t wrong[] = {7, 4}, negative[] = {-1, 3};
  EXPECT_TRUE(failsWith(bind(graph, {}, {}, bound), FUSEC_INVALID_ARGUMENT,
                        "'x' has no size for dimension 0 ('d0')"));
  EXPECT_TRUE(failsWith(bind(graph, {{"n", 1}}, {}, bound),
                        FUSEC_INVALID_ARGUMENT, "'n'"));
  EXPECT_TRUE(failsWith(bind(graph, {{"d0", -1}}, {}, bound),
                        FUSEC_INVALID_ARGUMENT, "at least 0"));
  EXPECT_TRUE(failsWith(bind(graph, {{nullptr, 1}}, {}, bound),
                        FUSEC_INVALID_ARGUMENT, "name"));
  EXPECT_TRUE(failsWith(bind(graph, {{"d0", 1}, {"d0", 2}}, {}, bound),
                        FUSEC_INVALID_ARGUMENT, "twice"));
  EXPECT_TRUE(failsWith(bind(graph, {}, {{"z", 2, wrong}}, bound),
                        FUSEC_INVALID_ARGUMENT, "'z'"));
  EXPECT_TRUE(failsWith(bind(graph, {}, {{"x", 2, nullptr}}, bound),
                        FUSEC_INVALID_ARGUMENT, "sizes"));
  EXPECT_TRUE(failsWith(bind(graph, {}, {{"x", 2, negative}}, bound),
                        FUSEC_INVALID_ARGUMENT, "'x'"));
  EXPECT_TRUE(failsWith(bind(graph, {}, {{"x", 2, wrong}}, bound),
                        FUSEC_INVALID_GRAPH, "x"));
  EXPECT_TRUE(
      failsWith(fusec_graph_bind(graph.get(), nullptr, 1, nullptr, 0, nullptr),
                FUSEC_INVALID_ARGUMENT, "result"));
  Graph text = makeAddRelu(context);
  EXPECT_TRUE(failsWith(bind(text, {}, {}, bound), FUSEC_UNSUPPORTED, "ONNX"));
}

TEST(ApiGraph, BadBytesAreErrors) {
  Context context = makeContext();
  std::string bytes = reluModel({2, 3});
  Graph graph;
  EXPECT_TRUE(failsWith(fromOnnx(context, "", graph), FUSEC_INVALID_GRAPH, ""));
  for (size_t cut = 1; cut + 1 < bytes.size(); ++cut) {
    fusec_error *error = fromOnnx(context, bytes.substr(0, cut), graph);
    EXPECT_NE(error, nullptr) << cut;
    fusec_error_free(error);
  }
}

TEST(ApiGraph, UnknownOperatorsAreUnsupported) {
  GraphSpec spec;
  spec.nodes = {node("NoSuchOperator", {"x"}, {"y"})};
  spec.inputs = {valueInfo("x", kFloat, {2})};
  spec.outputs = {valueInfo("y", kFloat, {2})};
  Context context = makeContext();
  Graph graph;
  EXPECT_TRUE(failsWith(fromOnnx(context, model(spec.proto()).bytes, graph),
                        FUSEC_UNSUPPORTED, "NoSuchOperator"));
}

// Unbalanced brackets in comments and strings are no nesting.
TEST(ApiGraph, CommentsAndStringsDoNotNest) {
  Context context = makeContext();
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "// a < b, ( [ {\n";
  text += "module attributes {x.note = \"";
  text += std::string(1000, '<') +
          "\\\"((\"} {\n"
          "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
          "  return %x : tensor<4xf32>\n}\n}\n";
  fusec_graph *graph = nullptr;
  EXPECT_TRUE(ok(
      fusec_graph_from_mlir(context.get(), text.data(), text.size(), &graph)));
  fusec_graph_free(graph);
  // Arrows close no type.
  std::string deep = "func.func private @f(";
  for (int i = 0; i < 20000; ++i)
    deep += "tuple<() -> (), ";
  EXPECT_TRUE(failsWith(
      fusec_graph_from_mlir(context.get(), deep.data(), deep.size(), &graph),
      FUSEC_INVALID_GRAPH, "nested at most 256 deep"));
}
