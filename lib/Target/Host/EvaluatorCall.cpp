//===- EvaluatorCall.cpp - ops that the evaluator runs --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The op goes into a function of its own and through bytecode into a context
// that the call owns, so that a Program outlives the caller's context.
//===----------------------------------------------------------------------===//
#include "EvaluatorCall.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Evaluate.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/RegionUtils.h"

#include <cstring>

using namespace mlir;
using namespace fusec;
using namespace fusec::host;
using llvm::Error;
using llvm::Expected;

namespace {
/// The op's own context and function.
struct OwnedFunction {
  OwnedFunction() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};
} // namespace

/// func(reads) -> results of a clone of `op`, as bytecode.
static std::string serialize(Operation *op, ValueRange reads) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
  auto type = builder.getFunctionType(TypeRange(reads), op->getResultTypes());
  auto function = func::FuncOp::create(builder, op->getLoc(), "evaluate", type);
  Block *block = function.addEntryBlock();
  IRMapping mapping;
  mapping.map(reads, block->getArguments());
  builder.setInsertionPointToStart(block);
  Operation *copy = builder.clone(*op, mapping);
  func::ReturnOp::create(builder, op->getLoc(), copy->getResults());
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(writeBytecodeToFile(*module, stream)))
    return {};
  return bytes;
}

static Error run(const OwnedFunction &owned, ArrayRef<void *> buffers) {
  func::FuncOp function = owned.function;
  std::vector<HostTensor> arguments;
  for (auto [type, buffer] : llvm::zip(function.getArgumentTypes(), buffers)) {
    auto tensor = cast<RankedTensorType>(type);
    Expected<HostTensor> argument = HostTensor::create(
        *graph::toDType(tensor.getElementType()), tensor.getShape());
    if (!argument)
      return argument.takeError();
    if (!argument->bytes->empty())
      std::memcpy(argument->data(), buffer, argument->bytes->size());
    arguments.push_back(std::move(*argument));
  }
  Expected<std::vector<HostTensor>> results =
      reference::evaluate(function, arguments);
  if (!results)
    return results.takeError();
  for (auto [result, buffer] :
       llvm::zip(*results, buffers.drop_front(arguments.size())))
    if (!result.bytes->empty())
      std::memcpy(buffer, result.data(), result.bytes->size());
  return Error::success();
}

Expected<EvaluatorCall> host::callEvaluator(Operation *op) {
  EvaluatorCall result;
  llvm::SetVector<Value> reads(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), reads);
  auto owned = std::make_shared<OwnedFunction>();
  std::string bytes = serialize(op, reads.getArrayRef());
  owned->module = parseSourceString<ModuleOp>(bytes, &owned->context);
  if (!owned->module)
    return llvm::createStringError("an op cannot be copied for the evaluator");
  owned->function = *owned->module->getOps<func::FuncOp>().begin();
  result.call.what = op->getName().getStringRef().str();
  result.call.call = [owned](ArrayRef<void *> buffers) {
    return run(*owned, buffers);
  };
  result.operands.assign(reads.begin(), reads.end());
  llvm::append_range(result.operands, op->getResults());
  return result;
}
