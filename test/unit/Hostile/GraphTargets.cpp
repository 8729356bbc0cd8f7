//===- GraphTargets.cpp - bytes that become a graph -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HostileTargets.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "fusec/Driver/Compile.h"
#include "fusec/Frontend/Onnx/Reader.h"
#include "fusec/Reference/Evaluate.h"
#include "fusec/Session/SharedContext.h"

using namespace fusec;
using namespace fusec::hostile;
using namespace fusec::test;
using llvm::StringRef;

/// A context for some hundred inputs: it takes longer to make than most of them
/// to read, and keeps what was uniqued in it.
static mlir::MLIRContext &sharedContext() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 500 == 0)
    context = session::createContext();
  return *context;
}

/// Simplifies (folds) what was read and evaluates it on zeros.
static void evaluate(session::Model &model) {
  if (llvm::Error error = driver::simplifyGraph(*model.module))
    return llvm::consumeError(std::move(error));
  std::vector<HostTensor> inputs;
  for (const runtime::TensorSpec &spec : model.inputs) {
    auto input = HostTensor::create(spec.dtype, spec.shape, kMaxTensorBytes);
    if (!isGood(input))
      return;
    inputs.push_back(std::move(*input));
  }
  reference::EvaluateOptions options;
  options.maxSteps = 20000;
  options.maxTensorBytes = 8 * kMaxTensorBytes;
  options.maxLiveBytes = 64 * kMaxTensorBytes;
  auto outputs = reference::evaluate(model.function(), inputs, options);
  if (!isGood(outputs))
    return;
  if (outputs->size() != model.outputs.size())
    fail("outputs are missing");
  for (auto [found, spec] : llvm::zip(*outputs, model.outputs))
    if (found.dtype != spec.dtype || found.shape != spec.shape)
      fail("an output has another type than the graph says");
}

static void runOnnx(StringRef bytes) {
  onnx::ReadLimits limits;
  limits.maxNodes = 200;
  limits.maxMessages = 1 << 14;
  auto file =
      onnx::parseModel(llvm::MemoryBuffer::getMemBufferCopy(bytes), "", limits);
  if (!isGood(file))
    return;
  if (file->graph.nodes.empty() && file->graph.outputs.empty())
    return;
  onnx::ImportOptions options;
  options.maxTensorBytes = kMaxTensorBytes;
  options.maxFoldElements = 256;
  options.maxTotalFoldElements = 1 << 14;
  options.maxMadeElements = 1 << 16;
  options.maxNodes = 400;
  auto model = session::importModel(*file, options, "fuzz", sharedContext());
  if (isGood(model))
    evaluate(*model);
}

static void runMlir(StringRef bytes) {
  auto model = session::parseModel(bytes, "fuzz", sharedContext());
  if (isGood(model))
    evaluate(*model);
}

static std::vector<std::string> onnxSeeds() {
  std::vector<std::string> seeds = modelSeeds();
  // The operators in turn on two operands, most of them in a form that is
  // refused: what matters is that each reader of operands and attributes runs.
  for (StringRef op : onnx::supportedOperators()) {
    auto [domain, name] = op.rsplit('.');
    if (name.empty())
      std::swap(domain, name);
    seeds.push_back(graphSeed({node(name.str(), {"x", "s"}, {"y"},
                                    {intAttr("axis", 1)}, domain.str())},
                              {rawTensor<int64_t>({2}, 7, {1, 1}, "s")}));
  }
  return seeds;
}

static std::vector<std::string> mlirSeeds() {
  return {
      "func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
      "  %a = graph.exp %x : tensor<2x3xf32>\n"
      "  return %a : tensor<2x3xf32>\n}\n",
      "func.func @f(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> "
      "tensor<2xf32> {\n"
      "  %a = graph.add %x, %y : tensor<2x3xf32>\n"
      "  %b = graph.reduce sum %a [1] : tensor<2x3xf32> -> tensor<2xf32>\n"
      "  return %b : tensor<2xf32>\n}\n",
      "func.func @f(%x: tensor<4x4xi8>) -> tensor<4x4xi8> {\n"
      "  %c = graph.constant dense<3> : tensor<4x4xi8>\n"
      "  %a = graph.mul %x, %c : tensor<4x4xi8>\n"
      "  return %a : tensor<4x4xi8>\n}\n",
      "func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) -> "
      "tensor<2x4xf32> {\n"
      "  %c = graph.contract %a, %b batch [] x [] contract [1] x [0] : "
      "tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>\n"
      "  return %c : tensor<2x4xf32>\n}\n",
      "func.func @f(%x: tensor<1x2x5x5xf32>) -> tensor<1x2x3x3xf32> {\n"
      "  %p = graph.window_reduce max %x window [1, 1, 3, 3] strides "
      "[1, 1, 2, 2] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1] "
      ": tensor<1x2x5x5xf32> -> tensor<1x2x3x3xf32>\n"
      "  return %p : tensor<1x2x3x3xf32>\n}\n",
      "func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {\n"
      "  %a = graph.cumulative sum %x dimension = 0 {exclusive = true} : "
      "tensor<8xf32>\n"
      "  return %a : tensor<8xf32>\n}\n"};
}

llvm::ArrayRef<Target> fusec::hostile::graphTargets() {
  static const Target kTargets[] = {{"onnx", runOnnx, onnxSeeds},
                                    {"mlir", runMlir, mlirSeeds}};
  return kTargets;
}
