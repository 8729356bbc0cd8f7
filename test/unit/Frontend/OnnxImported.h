//===- OnnxImported.h - graphs through the ONNX importer --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests of the importer share: a small graph, its import with the first
// diagnostic, and questions about the module.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_FRONTEND_ONNXIMPORTED_H
#define FUSEC_TEST_UNIT_FRONTEND_ONNXIMPORTED_H

#include "OnnxWriter.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Frontend/Onnx/Import.h"
#include "fusec/Frontend/Onnx/Reader.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

namespace fusec::test {

inline constexpr int kFloat = 1, kInt64 = 7, kBool = 9, kUInt8 = 2, kInt8 = 3;

using Ints = std::vector<int64_t>;

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
  Ints constantResult(unsigned i = 0) {
    mlir::Operation *ret = function().getBody().front().getTerminator();
    auto constant = ret->getOperand(i).getDefiningOp<graph::ConstantOp>();
    Ints out;
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

inline Imported import(const Proto &proto,
                       const onnx::ImportOptions &options = {}) {
  Imported out;
  out.context = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(out.context.get(),
                                        [&](mlir::Diagnostic &diagnostic) {
                                          if (out.error.empty())
                                            out.error = diagnostic.str();
                                          return mlir::success();
                                        });
  auto model =
      onnx::parseModel(llvm::MemoryBuffer::getMemBufferCopy(proto.bytes));
  if (!model) {
    out.error = "reader: " + llvm::toString(model.takeError());
    return out;
  }
  out.module = onnx::importModel(*model, out.context.get(), options);
  EXPECT_EQ(bool(out.module), out.error.empty()) << out.error;
  return out;
}

/// A graph from x: f32[2,3] to y with the given nodes.
inline GraphSpec simple(std::vector<Proto> nodes, int outputType = kFloat) {
  GraphSpec graph;
  graph.nodes = std::move(nodes);
  graph.inputs = {valueInfo("x", kFloat, {2, 3})};
  graph.outputs = {valueInfo("y", outputType, {})};
  return graph;
}

/// Why the import of a graph fails.
inline onnx::ImportFailure failureOf(const GraphSpec &graph,
                                     int64_t opset = 21) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto file = onnx::parseModel(
      llvm::MemoryBuffer::getMemBufferCopy(model(graph.proto(), opset).bytes));
  if (!file) {
    llvm::consumeError(file.takeError());
    return onnx::ImportFailure::Malformed;
  }
  onnx::ImportFailure failure;
  auto module = onnx::importModel(*file, &context, {}, &failure);
  EXPECT_EQ(bool(module), failure == onnx::ImportFailure::None);
  return failure;
}

inline std::string errorOf(const GraphSpec &graph, int64_t opset = 21) {
  return import(model(graph.proto(), opset)).error;
}

inline Proto i64(const std::string &name, Ints values) {
  return rawTensor<int64_t>({static_cast<int64_t>(values.size())}, kInt64,
                            values, name);
}

} // namespace fusec::test

#endif // FUSEC_TEST_UNIT_FRONTEND_ONNXIMPORTED_H
