//===- OnnxImportTest.cpp - ONNX graphs as functions ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OnnxImported.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::test;

namespace {

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

} // namespace
