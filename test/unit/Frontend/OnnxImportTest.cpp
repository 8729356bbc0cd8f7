//===- OnnxImportTest.cpp - tests of the ONNX importer --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxWriter.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Frontend/Onnx/Import.h"
#include "fusec/Frontend/Onnx/Reader.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

#include <chrono>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::test;

namespace {

constexpr int kFloat = 1, kInt64 = 7, kBool = 9, kUInt8 = 2, kInt8 = 3;

/// A module and the context that it lives in, or the first diagnostic.
struct Imported {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string error;

  Imported() = default;
  Imported(Imported &&) = default;
  Imported &operator=(Imported &&other) {
    module = std::move(other.module); // before the context that it lives in
    context = std::move(other.context);
    error = std::move(other.error);
    return *this;
  }

  mlir::func::FuncOp function() {
    return *module->getBody()->getOps<mlir::func::FuncOp>().begin();
  }
  /// How often an op class occurs.
  template <typename OpT>
  int count() {
    int n = 0;
    module->walk([&](OpT) { ++n; });
    return n;
  }
  int ops() {
    int n = 0;
    function().walk([&](mlir::Operation *) { ++n; });
    return n - 2; // the function and its return
  }
  /// The constant that result `i` returns.
  std::vector<int64_t> constantResult(unsigned i = 0) {
    mlir::Operation *ret = function().getBody().front().getTerminator();
    auto constant = ret->getOperand(i).getDefiningOp<graph::ConstantOp>();
    std::vector<int64_t> out;
    if (!constant) {
      ADD_FAILURE() << "result " << i << " is not a constant";
      return out;
    }
    auto values = llvm::cast<mlir::DenseElementsAttr>(constant.getValue());
    for (const llvm::APInt &v : values.getValues<llvm::APInt>())
      out.push_back(values.getElementType().isInteger(1) ? v.getZExtValue()
                                                         : v.getSExtValue());
    return out;
  }
  std::string resultType(unsigned i = 0) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << function().getResultTypes()[i];
    return text;
  }
};

Imported import(const Proto &proto, const ImportOptions &options = {}) {
  Imported out;
  out.context = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(out.context.get(),
                                        [&](mlir::Diagnostic &diagnostic) {
                                          if (out.error.empty())
                                            out.error = diagnostic.str();
                                          return mlir::success();
                                        });
  auto model = parseModel(llvm::MemoryBuffer::getMemBufferCopy(proto.bytes));
  if (!model) {
    out.error = "reader: " + llvm::toString(model.takeError());
    return out;
  }
  out.module = importModel(*model, out.context.get(), options);
  EXPECT_EQ(bool(out.module), out.error.empty()) << out.error;
  return out;
}

/// A graph from x: f32[2,3] to y with the given nodes.
GraphSpec simple(std::vector<Proto> nodes, int outputType = kFloat) {
  GraphSpec graph;
  graph.nodes = std::move(nodes);
  graph.inputs = {valueInfo("x", kFloat, {2, 3})};
  graph.outputs = {valueInfo("y", outputType, {})};
  return graph;
}

/// Why the import of a graph fails.
ImportFailure failureOf(const GraphSpec &graph, int64_t opset = 21) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto file = parseModel(
      llvm::MemoryBuffer::getMemBufferCopy(model(graph.proto(), opset).bytes));
  if (!file) {
    llvm::consumeError(file.takeError());
    return ImportFailure::Malformed;
  }
  ImportFailure failure;
  auto module = importModel(*file, &context, {}, &failure);
  EXPECT_EQ(bool(module), failure == ImportFailure::None);
  return failure;
}

std::string errorOf(const GraphSpec &graph, int64_t opset = 21) {
  return import(model(graph.proto(), opset)).error;
}

Proto i64(const std::string &name, std::vector<int64_t> values) {
  return rawTensor<int64_t>({static_cast<int64_t>(values.size())}, kInt64,
                            values, name);
}

//===----------------------------------------------------------------------===//
// The frame
//===----------------------------------------------------------------------===//

TEST(OnnxImport, NamesAndTypesOfTheFunction) {
  GraphSpec graph = simple({node("Relu", {"x"}, {"y"})});
  Imported m = import(model(graph.proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_EQ(m.function().getName(), "main");
  EXPECT_EQ(m.function().getNumArguments(), 1u);
  auto argument =
      m.function().getArgAttrOfType<mlir::StringAttr>(0, "graph.name");
  ASSERT_TRUE(argument);
  EXPECT_EQ(argument.getValue(), "x");
  auto result =
      m.function().getResultAttrOfType<mlir::StringAttr>(0, "graph.name");
  ASSERT_TRUE(result);
  EXPECT_EQ(result.getValue(), "y");
  EXPECT_EQ(m.resultType(), "tensor<2x3xf32>");
  EXPECT_EQ(m.count<graph::ReluOp>(), 1);
}

TEST(OnnxImport, BroadcastsExplicitly) {
  GraphSpec graph = simple({node("Add", {"x", "b"}, {"y"})});
  graph.initializers = {rawTensor<float>({3}, kFloat, {1, 2, 3}, "b")};
  Imported m = import(model(graph.proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_EQ(m.count<graph::AddOp>(), 1);
}

TEST(OnnxImport, LargeInitializersAreResourcesAndUnusedOnesVanish) {
  GraphSpec graph = simple({node("Add", {"x", "big"}, {"y"})});
  std::vector<float> values(1000, 1);
  values[7] = 2;
  graph.inputs = {valueInfo("x", kFloat, {1000})};
  graph.initializers = {rawTensor<float>({1000}, kFloat, values, "big"),
                        rawTensor<float>({1000}, kFloat, values, "unused")};
  Imported m = import(model(graph.proto()));
  ASSERT_TRUE(bool(m.module)) << m.error;
  int constants = 0;
  m.module->walk([&](graph::ConstantOp op) {
    ++constants;
    auto resource =
        llvm::dyn_cast<mlir::DenseResourceElementsAttr>(op.getValue());
    ASSERT_TRUE(resource);
    auto data = resource.getRawHandle().getBlob()->getDataAs<float>();
    ASSERT_EQ(data.size(), 1000u);
    EXPECT_EQ(data[7], 2);
  });
  EXPECT_EQ(constants, 1);
}

TEST(OnnxImport, DynamicDimensionsMustBeBound) {
  GraphSpec graph = simple({node("Relu", {"x"}, {"y"})});
  graph.inputs = {valueInfo("x", kFloat, {-1, 3})};
  Proto proto = model(graph.proto());
  EXPECT_EQ(import(proto).error,
            "model: dimension 0 ('d0') of input 'x' is dynamic; give the "
            "input's shape or the symbol's size");
  ImportOptions symbols;
  symbols.symbols["d0"] = 5;
  EXPECT_EQ(import(proto, symbols).resultType(), "tensor<5x3xf32>");
  ImportOptions shapes;
  shapes.inputShapes["x"] = {0, 3};
  EXPECT_EQ(import(proto, shapes).resultType(), "tensor<0x3xf32>");
  shapes.inputShapes["x"] = {4, 4};
  EXPECT_NE(import(proto, shapes).error.find("expected 3, found 4"),
            std::string::npos);
  shapes.inputShapes["x"] = {4};
  EXPECT_NE(import(proto, shapes).error.find("expected rank 2"),
            std::string::npos);
  shapes.inputShapes["x"] = {-1, 3};
  EXPECT_NE(import(proto, shapes).error, "");
  symbols.symbols["d0"] = int64_t(1) << 62;
  EXPECT_NE(import(proto, symbols).error, "");
}

TEST(OnnxImport, BoundInputsBecomeConstants) {
  GraphSpec graph = simple({node("Reshape", {"x", "s"}, {"y"})});
  graph.inputs.push_back(valueInfo("s", kInt64, {1}));
  Proto proto = model(graph.proto());
  EXPECT_NE(import(proto).error.find("input 1 ('s') must be known at import"),
            std::string::npos);
  auto shape = HostTensor::create(DType::I64, {1});
  ASSERT_TRUE(bool(shape));
  shape->setI64(0, 6);
  ImportOptions options;
  options.boundInputs["s"] = *shape;
  Imported m = import(proto, options);
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_EQ(m.function().getNumArguments(), 1u);
  EXPECT_EQ(m.resultType(), "tensor<6xf32>");
  options.boundInputs["s"] =
      llvm::cantFail(HostTensor::create(DType::I32, {1}));
  EXPECT_NE(import(proto, options).error.find("does not fit its type"),
            std::string::npos);
}

TEST(OnnxImport, InitializersOfInputsAreDefaults) {
  GraphSpec graph = simple({node("Add", {"x", "b"}, {"y"})});
  graph.inputs.push_back(valueInfo("b", kFloat, {3}));
  graph.initializers = {rawTensor<float>({3}, kFloat, {1, 2, 3}, "b")};
  Proto proto = model(graph.proto());
  Imported m = import(proto);
  ASSERT_TRUE(bool(m.module)) << m.error;
  EXPECT_EQ(m.function().getNumArguments(), 1u);
  ImportOptions options;
  options.boundInputs["b"] =
      llvm::cantFail(HostTensor::create(DType::F32, {3}));
  m = import(proto, options);
  ASSERT_TRUE(bool(m.module)) << m.error;
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Computing at import
//===----------------------------------------------------------------------===//

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

using Ints = std::vector<int64_t>;

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

//===----------------------------------------------------------------------===//
// Branches and functions
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Operator versions and shapes
//===----------------------------------------------------------------------===//

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
