//===- OnnxOperatorTest.cpp - versions and shapes of operators ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxImported.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::test;

namespace {

/// The result type of one node on x with initializers, or the error.
std::string typeOf(const Proto &n, std::vector<int64_t> x,
                   std::vector<Proto> initializers = {}, int64_t opset = 21,
                   int inputType = kFloat, int outputType = 0) {
  GraphSpec graph;
  graph.nodes = {n};
  graph.inputs = {valueInfo("x", inputType, x)};
  graph.initializers = std::move(initializers);
  graph.outputs = {valueInfo("y", outputType, {})};
  Imported m = import(model(graph.proto(), opset));
  return m.module ? m.resultType() : m.error;
}

TEST(OnnxImport, PoolingSizes) {
  auto pool = [](std::vector<int64_t> x, std::vector<Proto> attributes) {
    return typeOf(node("MaxPool", {"x"}, {"y"}, attributes), x);
  };
  Proto k3 = intsAttr("kernel_shape", {3}), s2 = intsAttr("strides", {2});
  EXPECT_EQ(pool({1, 1, 8}, {k3, s2}), "tensor<1x1x3xf32>");
  EXPECT_EQ(pool({1, 1, 8}, {k3, s2, intAttr("ceil_mode", 1)}),
            "tensor<1x1x4xf32>");
  // The last window would start in the padding behind the data.
  EXPECT_EQ(
      pool({1, 1, 7}, {intsAttr("kernel_shape", {2}), s2,
                       intsAttr("pads", {1, 1}), intAttr("ceil_mode", 1)}),
      "tensor<1x1x4xf32>");
  EXPECT_EQ(pool({1, 1, 7}, {k3, s2, stringAttr("auto_pad", "SAME_UPPER")}),
            "tensor<1x1x4xf32>");
  EXPECT_EQ(pool({1, 1, 22}, {k3, intsAttr("dilations", {2}),
                              stringAttr("auto_pad", "SAME_LOWER")}),
            "tensor<1x1x22xf32>");
  EXPECT_NE(pool({1, 1, 2}, {k3}).find("larger than the padded input"),
            std::string::npos);
  EXPECT_NE(pool({1, 1, 8}, {k3, intsAttr("strides", {0})}), "");
  EXPECT_NE(
      pool({1, 1, 8}, {k3, intsAttr("strides", {0})}).find("positive entries"),
      std::string::npos);
}

TEST(OnnxImport, ConvolutionSizes) {
  auto weights = [](std::vector<int64_t> dims) {
    int64_t n = 1;
    for (int64_t d : dims)
      n *= d;
    return rawTensor<float>(dims, kFloat, std::vector<float>(n, 1), "w");
  };
  Proto conv = node("Conv", {"x", "w"}, {"y"});
  EXPECT_EQ(typeOf(conv, {2, 3, 8, 9}, {weights({4, 3, 3, 3})}),
            "tensor<2x4x6x7xf32>");
  EXPECT_NE(typeOf(conv, {2, 3, 8, 9}, {weights({4, 2, 3, 3})})
                .find("do not fit the input"),
            std::string::npos);
  EXPECT_EQ(typeOf(node("Conv", {"x", "w"}, {"y"},
                        {intAttr("group", 3), intsAttr("pads", {1, 0, 2, 0}),
                         intsAttr("strides", {2, 1})}),
                   {2, 3, 8, 9}, {weights({6, 1, 3, 1})}),
            "tensor<2x6x5x9xf32>");
  Proto up =
      node("ConvTranspose", {"x", "w"}, {"y"},
           {intsAttr("strides", {2, 2}), intsAttr("output_padding", {1, 0})});
  EXPECT_EQ(typeOf(up, {1, 2, 3, 4}, {weights({2, 5, 3, 3})}),
            "tensor<1x5x8x9xf32>");
}

TEST(OnnxImport, SoftmaxFlattensBeforeOpset13) {
  Proto n = node("Softmax", {"x"}, {"y"});
  for (int64_t opset : {12, 13}) {
    GraphSpec graph = simple({n});
    graph.inputs = {valueInfo("x", kFloat, {2, 3, 4})};
    Imported m = import(model(graph.proto(), opset));
    ASSERT_TRUE(bool(m.module)) << m.error;
    m.module->walk([&](graph::SoftmaxOp op) {
      EXPECT_EQ(op.getDimensions().size(), opset == 12 ? 2u : 1u);
    });
    EXPECT_EQ(m.count<graph::SoftmaxOp>(), 1);
  }
}

TEST(OnnxImport, AxesMoveFromAttributeToInput) {
  Proto attribute = node("ReduceSum", {"x"}, {"y"}, {intsAttr("axes", {1})});
  Proto input = node("ReduceSum", {"x", "a"}, {"y"});
  EXPECT_EQ(typeOf(attribute, {2, 3}, {}, 12), "tensor<2x1xf32>");
  EXPECT_NE(typeOf(attribute, {2, 3}, {}, 13).find("unsupported attribute"),
            std::string::npos);
  EXPECT_EQ(typeOf(input, {2, 3}, {i64("a", {-1})}, 13), "tensor<2x1xf32>");
  EXPECT_EQ(typeOf(node("Squeeze", {"x"}, {"y"}, {intsAttr("axes", {0})}),
                   {1, 3}, {}, 12),
            "tensor<3xf32>");
}

TEST(OnnxImport, MatMulRanks) {
  auto product = [](std::vector<int64_t> a, std::vector<int64_t> b) {
    GraphSpec graph;
    graph.nodes = {node("MatMul", {"a", "b"}, {"y"})};
    graph.inputs = {valueInfo("a", kFloat, a), valueInfo("b", kFloat, b)};
    graph.outputs = {valueInfo("y", 0, {})};
    Imported m = import(model(graph.proto()));
    return m.module ? m.resultType() : m.error;
  };
  EXPECT_EQ(product({2, 3}, {3, 5}), "tensor<2x5xf32>");
  EXPECT_EQ(product({3}, {3}), "tensor<f32>");
  EXPECT_EQ(product({3}, {3, 5}), "tensor<5xf32>");
  EXPECT_EQ(product({2, 3}, {3}), "tensor<2xf32>");
  EXPECT_EQ(product({7, 2, 3}, {3, 5}), "tensor<7x2x5xf32>");
  EXPECT_EQ(product({7, 1, 2, 3}, {4, 3, 5}), "tensor<7x4x2x5xf32>");
  EXPECT_EQ(product({3}, {7, 3, 5}), "tensor<7x5xf32>");
  EXPECT_EQ(product({7, 2, 3}, {3}), "tensor<7x2xf32>");
  EXPECT_EQ(product({0, 3}, {3, 5}), "tensor<0x5xf32>");
  EXPECT_NE(product({2, 3}, {4, 5}).find("cannot multiply"), std::string::npos);
  EXPECT_NE(product({}, {3}).find("rank 1 or more"), std::string::npos);
}

TEST(OnnxImport, QuantizationTypes) {
  Proto scale = rawTensor<float>({}, kFloat, {0.5f}, "s");
  Proto zero = rawTensor<int8_t>({}, kInt8, {3}, "z");
  EXPECT_EQ(typeOf(node("QuantizeLinear", {"x", "s"}, {"y"}), {2, 3}, {scale}),
            "tensor<2x3xui8>");
  EXPECT_EQ(typeOf(node("QuantizeLinear", {"x", "s", "z"}, {"y"}), {2, 3},
                   {scale, zero}),
            "tensor<2x3xi8>");
  EXPECT_EQ(typeOf(node("DequantizeLinear", {"x", "s"}, {"y"}), {2, 3}, {scale},
                   21, kUInt8),
            "tensor<2x3xf32>");
  Proto perAxis = rawTensor<float>({3}, kFloat, {1, 2, 3}, "s");
  EXPECT_EQ(
      typeOf(node("QuantizeLinear", {"x", "s"}, {"y"}, {intAttr("axis", 1)}),
             {2, 3}, {perAxis}),
      "tensor<2x3xui8>");
  EXPECT_NE(
      typeOf(node("QuantizeLinear", {"x", "s"}, {"y"}, {intAttr("axis", 0)}),
             {2, 3}, {perAxis})
          .find("expected 2 scales"),
      std::string::npos);
}

TEST(OnnxImport, ResizeNearestTakesTheRightNeighbours) {
  auto resized = [](const std::string &coordinate, const std::string &nearest,
                    int64_t from, int64_t to) {
    GraphSpec graph;
    Ints values;
    for (int64_t i = 0; i < from; ++i)
      values.push_back(i);
    graph.nodes = {
        node("Resize", {"a", "", "", "s"}, {"y"},
             {stringAttr("coordinate_transformation_mode", coordinate),
              stringAttr("nearest_mode", nearest)})};
    graph.initializers = {i64("a", values), i64("s", {to})};
    graph.outputs = {valueInfo("y", kInt64, {})};
    Imported m = import(model(graph.proto()));
    EXPECT_TRUE(bool(m.module)) << m.error;
    return m.module ? m.constantResult() : Ints{};
  };
  EXPECT_EQ(resized("half_pixel", "round_prefer_ceil", 20, 6)[4], 15);
  EXPECT_EQ(resized("half_pixel", "round_prefer_floor", 20, 6)[4], 14);
  EXPECT_EQ(resized("align_corners", "round_prefer_floor", 5, 3),
            (Ints{0, 2, 4}));
  EXPECT_EQ(resized("asymmetric", "floor", 5, 3), (Ints{0, 1, 3}));
  EXPECT_EQ(resized("half_pixel", "floor", 5, 3), (Ints{0, 2, 3}));
}

TEST(OnnxImport, AlignedCornersUseTheSizeBeforeRounding) {
  // 4 * 0.6 = 2.4: element 1 of 2 is at 3 / 1.4, not at 3.
  GraphSpec graph;
  graph.nodes = {
      node("Resize", {"a", "", "f"}, {"y"},
           {stringAttr("coordinate_transformation_mode", "align_corners")})};
  graph.initializers = {i64("a", {0, 1, 2, 3}),
                        rawTensor<float>({1}, kFloat, {0.6f}, "f")};
  graph.outputs = {valueInfo("y", kInt64, {})};
  Imported m = import(model(graph.proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_EQ(m.constantResult(), (Ints{0, 2}));
}

/// A body that carries its state on and stacks its exponentials.
Proto stackingBody(bool scan) {
  GraphSpec body;
  body.nodes = {node("Exp", {scan ? "e" : "s"}, {"row"})};
  if (scan)
    body.inputs = {valueInfo("s", kFloat, {3}), valueInfo("e", kFloat, {2})};
  else
    body.inputs = {valueInfo("i", kInt64, {}), valueInfo("c", kBool, {}),
                   valueInfo("s", kFloat, {3})};
  if (!scan)
    body.outputs = {valueInfo("c", kBool, {})};
  body.outputs.push_back(valueInfo("s", kFloat, {3}));
  body.outputs.push_back(valueInfo("row", kFloat, {}));
  return body.proto();
}

TEST(OnnxImport, LoopsWithoutIterationsStackNothing) {
  GraphSpec loop;
  loop.nodes = {node("Loop", {"n", "", "x"}, {"last", "y"},
                     {graphAttr("body", stackingBody(false))})};
  loop.inputs = {valueInfo("x", kFloat, {3})};
  loop.initializers = {i64("n", {0})};
  loop.outputs = {valueInfo("last", kFloat, {3}), valueInfo("y", kFloat, {})};
  Imported m = import(model(loop.proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  auto stacked = [&] {
    return llvm::cast<mlir::RankedTensorType>(
        m.function().getFunctionType().getResult(1));
  };
  EXPECT_EQ(stacked().getShape(), (llvm::ArrayRef<int64_t>{0, 3}));

  GraphSpec scan;
  scan.nodes = {node(
      "Scan", {"x", "e"}, {"last", "y"},
      {graphAttr("body", stackingBody(true)), intAttr("num_scan_inputs", 1)})};
  scan.inputs = {valueInfo("x", kFloat, {3}), valueInfo("e", kFloat, {0, 2})};
  scan.outputs = loop.outputs;
  m = import(model(scan.proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_EQ(stacked().getShape(), (llvm::ArrayRef<int64_t>{0, 2}));
}

TEST(OnnxImport, HostileNumbersOfOperatorsAreErrors) {
  // One more than all inputs, counted modulo 2^64.
  GraphSpec scan = simple({node("Scan", {"", "x"}, {"y"},
                                {graphAttr("body", GraphSpec().proto()),
                                 intAttr("num_scan_inputs", -1)})});
  EXPECT_NE(errorOf(scan, 8).find("unexpected num_scan_inputs"),
            std::string::npos);
  // The number of steps in two directions does not fit.
  GraphSpec rnn;
  rnn.nodes = {node("RNN", {"x", "w", "r"}, {"y"},
                    {stringAttr("direction", "bidirectional")})};
  rnn.inputs = {valueInfo("x", kFloat, {int64_t(1) << 62, 1, 0}),
                valueInfo("w", kFloat, {2, 4, 0}),
                valueInfo("r", kFloat, {2, 4, 4})};
  rnn.outputs = {valueInfo("y", kFloat, {})};
  EXPECT_NE(errorOf(rnn).find("more than 1024 steps"), std::string::npos);
  // 4^40 corners.
  GraphSpec sample;
  std::vector<int64_t> image(42, 1), grid(42, 1);
  grid.back() = 40;
  sample.nodes = {
      node("GridSample", {"x", "g"}, {"y"}, {stringAttr("mode", "cubic")})};
  sample.inputs = {valueInfo("x", kFloat, image), valueInfo("g", kFloat, grid)};
  sample.outputs = {valueInfo("y", kFloat, {})};
  EXPECT_NE(errorOf(sample, 20).find("more than 3 spatial dimensions"),
            std::string::npos);
}

TEST(OnnxImport, EmbeddingMasksHaveRankTwo) {
  GraphSpec graph;
  graph.nodes = {node("EmbedLayerNormalization",
                      {"w", "", "t", "p", "", "s", "b", "m"}, {"y", "n"}, {},
                      "com.microsoft")};
  graph.initializers = {i64("m", {1, 1})};
  graph.inputs = {valueInfo("w", kInt64, {1, 2}),
                  valueInfo("t", kFloat, {5, 4}),
                  valueInfo("p", kFloat, {5, 4}), valueInfo("s", kFloat, {4}),
                  valueInfo("b", kFloat, {4})};
  graph.outputs = {valueInfo("y", kFloat, {}), valueInfo("n", 6, {})};
  Proto file = model(graph.proto());
  file.message(8, Proto().text(1, "com.microsoft").integer(2, 1));
  EXPECT_NE(import(file).error.find("expected a mask of rank 2, found [2]"),
            std::string::npos);
}

TEST(OnnxImport, SoftplusOfRecurrentNetsDoesNotOverflow) {
  GraphSpec graph;
  Proto names = Proto().text(1, "activations").text(9, "Softplus");
  graph.nodes = {node("RNN", {"x", "w", "r"}, {"y"}, {names.integer(20, 8)})};
  graph.inputs = {valueInfo("x", kFloat, {1, 1, 3}),
                  valueInfo("w", kFloat, {1, 4, 3}),
                  valueInfo("r", kFloat, {1, 4, 4})};
  graph.outputs = {valueInfo("y", kFloat, {})};
  Imported m = import(model(graph.proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_EQ(m.count<graph::SoftplusOp>(), 1);
}

TEST(OnnxImport, EveryRegisteredOperatorSurvivesBareNodes) {
  // No attributes and 0 to 4 inputs of odd shapes: an error or a module.
  std::vector<llvm::StringRef> names = supportedOperators();
  EXPECT_GE(names.size(), 60u);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto importBare = [&](llvm::StringRef name, int64_t opset, size_t inputs,
                        const std::vector<int64_t> &shape, int type) {
    GraphSpec graph;
    graph.nodes = {
        node(name.str(), std::vector<std::string>(inputs, "x"), {"y"})};
    graph.inputs = {valueInfo("x", type, shape)};
    graph.outputs = {valueInfo("y", 0, {})};
    auto m = parseModel(llvm::MemoryBuffer::getMemBufferCopy(
        model(graph.proto(), opset).bytes));
    ASSERT_TRUE(bool(m));
    std::vector<std::string> errors;
    mlir::ScopedDiagnosticHandler handler(&context,
                                          [&](mlir::Diagnostic &diagnostic) {
                                            errors.push_back(diagnostic.str());
                                            return mlir::success();
                                          });
    bool imported = bool(importModel(*m, &context));
    ASSERT_EQ(errors.size(), imported ? 0u : 1u) << name.str();
    if (!imported) {
      EXPECT_EQ(errors[0].find("node 0 'node_" + name.str()), 0u) << errors[0];
    }
  };
  for (llvm::StringRef name : names)
    for (int64_t opset : {7, 12, 23})
      for (size_t inputs = 0; inputs <= 4; ++inputs)
        for (std::vector<int64_t> shape :
             {std::vector<int64_t>{}, {0}, {2, 3}, {1, 2, 3, 4}})
          for (int type : {kFloat, kInt64, kBool})
            importBare(name, opset, inputs, shape, type);
}

} // namespace
