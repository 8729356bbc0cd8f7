//===- CompileForHost.cpp - from a planned graph to host code -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//  1. decompose composites, make padding an op;
//  2. give every value of the function a buffer;
//  3. per region: plan stages, build kernels, launch them in order. Stages
//  share
//     a kernel that goes row by row where that is possible;
//  4. copy what no kernel writes in place, plan the workspace.
//===----------------------------------------------------------------------===//
#include "fusec/Target/Host/CompileForHost.h"
#include "EvaluatorCall.h"
#include "KernelBuilder.h"
#include "PadConvolutions.h"
#include "fusec/Reference/Attributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::host;
using llvm::Error;
using llvm::Expected;
using runtime::BufferRef;
using runtime::Space;

namespace {
/// Turns diagnostics into the text of an error while it lives.
class DiagnosticText {
public:
  explicit DiagnosticText(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return;
          llvm::raw_string_ostream stream(text);
          stream << (text.empty() ? "" : "\n") << diagnostic.getLocation()
                 << ": " << diagnostic;
        }) {}
  Error take(StringRef otherwise) {
    return llvm::createStringError(text.empty() ? otherwise.str() : text);
  }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};

class Compiler {
public:
  Compiler(func::FuncOp function, const CompileOptions &options)
      : function(function), options(options),
        diagnostics(function.getContext()) {}
  Error run();
  runtime::Program program;

private:
  Error describeArguments();
  Error addBuffers();
  Expected<BufferRef> addConstant(graph::ConstantOp op);
  BufferRef addTemporary(int64_t bytes);
  Error lower(Operation *op);
  Error lowerEvaluated(Operation *op);
  Error lowerRegion(const RegionBody &region, Location loc);
  Error lowerStages(ArrayRef<Stage> stages, Location loc);
  Expected<bool> lowerKernel(ArrayRef<Stage> stages, Location loc);
  SmallVector<Operand> operandsOf(ArrayRef<Stage> stages);
  Error addKernel(BuiltKernel kernel);

  func::FuncOp function;
  const CompileOptions &options;
  DiagnosticText diagnostics;
  llvm::DenseMap<Value, BufferRef> buffers;
  // Values whose buffer holds them in their compute type.
  llvm::DenseSet<Value> wide;
  // Roots of the current region that no kernel has written yet.
  llvm::DenseSet<Value> unwritten;
  llvm::StringMap<uint32_t> kernelsByText;
};
} // namespace

static Expected<runtime::TensorSpec> specOf(Type type, std::string name) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<DType> dtype;
  if (tensor && tensor.hasStaticShape())
    dtype = graph::toDType(tensor.getElementType());
  if (!dtype) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return llvm::createStringError("tensor '" + name +
                                   "': expected a static shape, found " + text);
  }
  runtime::TensorSpec spec{std::move(name), *dtype,
                           std::vector<int64_t>(tensor.getShape())};
  if (Expected<int64_t> bytes = runtime::checkedBytes(spec); !bytes)
    return bytes.takeError();
  return spec;
}

static std::string nameOf(DictionaryAttr attributes, const char *prefix,
                          unsigned position) {
  if (attributes)
    if (auto name = attributes.getAs<StringAttr>("graph.name"))
      return name.str();
  return prefix + std::to_string(position);
}

static bool isEmpty(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements() == 0;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Expected<BufferRef> Compiler::addConstant(graph::ConstantOp op) {
  auto bytes = reference::toBytes(op.getValue());
  if (!bytes)
    return bytes.takeError();
  auto type = cast<RankedTensorType>(op.getType());
  BufferRef ref{Space::Constant, uint32_t(program.constants.size())};
  program.constants.push_back({{"", *graph::toDType(type.getElementType()),
                                std::vector<int64_t>(type.getShape())},
                               std::move(*bytes)});
  return ref;
}

BufferRef Compiler::addTemporary(int64_t bytes) {
  program.temporaries.push_back({bytes, -1});
  return {Space::Temporary, uint32_t(program.temporaries.size() - 1)};
}

Error Compiler::describeArguments() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto spec = specOf(argument.getType(),
                       nameOf(function.getArgAttrDict(i), "input", i));
    if (!spec)
      return spec.takeError();
    buffers[argument] = {Space::Input, i};
    program.inputs.push_back(std::move(*spec));
  }
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto spec = specOf(value.getType(),
                       nameOf(function.getResultAttrDict(i), "output", i));
    if (!spec)
      return spec.takeError();
    program.outputs.push_back(std::move(*spec));
    // The first result that names a computed value is where it is written.
    Operation *op = value.getDefiningOp();
    if (op && !isa<graph::ConstantOp>(op))
      buffers.try_emplace(value, BufferRef{Space::Output, unsigned(i)});
  }
  return Error::success();
}

Error Compiler::addBuffers() {
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
      Expected<BufferRef> ref = addConstant(constant);
      if (!ref)
        return ref.takeError();
      buffers[constant] = *ref;
      continue;
    }
    for (Value result : op.getResults()) {
      auto spec = specOf(result.getType(), "temporary");
      if (!spec)
        return spec.takeError();
      if (!buffers.contains(result))
        buffers[result] = addTemporary(spec->bytes());
    }
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// What the stages read from memory and what they write.
SmallVector<Operand> Compiler::operandsOf(ArrayRef<Stage> stages) {
  llvm::SetVector<Value> found;
  SmallVector<Value> open;
  llvm::SmallPtrSet<Value, 16> seen;
  for (const Stage &stage : stages)
    for (Value root : stage.roots) {
      found.insert(root);
      llvm::append_range(open, root.getDefiningOp()->getOperands());
    }
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (buffers.contains(value) && !unwritten.contains(value))
      found.insert(value);
    else if (Operation *op = value.getDefiningOp())
      llvm::append_range(open, op->getOperands());
  }
  SmallVector<Operand> operands;
  for (Value value : found)
    operands.push_back({value, wide.contains(value)});
  return operands;
}

Error Compiler::addKernel(BuiltKernel kernel) {
  FailureOr<std::string> text = translateKernel(*kernel.module);
  if (failed(text))
    return diagnostics.take("a kernel has no LLVM form");
  auto [entry, isNew] =
      kernelsByText.try_emplace(*text, program.kernels.size());
  if (isNew) {
    std::string name = "host_kernel" + std::to_string(entry->second);
    std::string from = ("@" + kKernelName + "(").str(), to = "@" + name + "(";
    for (size_t at = 0; (at = text->find(from, at)) != std::string::npos;)
      text->replace(at, from.size(), to);
    program.kernels.push_back({name, std::move(*text)});
  }
  runtime::Launch launch;
  launch.kernel = entry->second;
  launch.grid = {static_cast<uint32_t>(kernel.blocks), 1, 1};
  for (const Operand &operand : kernel.operands)
    launch.args.push_back(buffers.lookup(operand.value));
  program.steps.push_back(std::move(launch));
  return Error::success();
}

/// False if the stages do not fit one kernel.
Expected<bool> Compiler::lowerKernel(ArrayRef<Stage> stages, Location loc) {
  FailureOr<std::optional<BuiltKernel>> kernel =
      buildKernel(stages, operandsOf(stages), loc, options);
  if (failed(kernel))
    return diagnostics.take("an op has no host code");
  if (!*kernel)
    return false;
  if (Error error = addKernel(std::move(**kernel)))
    return std::move(error);
  for (const Stage &stage : stages)
    for (Value root : stage.roots)
      unwritten.erase(root);
  return true;
}

Error Compiler::lowerStages(ArrayRef<Stage> stages, Location loc) {
  Expected<bool> together = lowerKernel(stages, loc);
  if (!together)
    return together.takeError();
  if (*together)
    return Error::success();
  if (stages.size() == 1)
    return llvm::createStringError("an op has too much code for one kernel");
  for (const Stage &stage : stages)
    if (Error error = lowerStages(stage, loc))
      return error;
  return Error::success();
}

Error Compiler::lowerRegion(const RegionBody &region, Location loc) {
  // Constants of the region that are not one value are in memory.
  for (Operation *op : region.ops)
    if (auto constant = dyn_cast<graph::ConstantOp>(op))
      if (!isa<SplatElementsAttr>(constant.getValue()) ||
          llvm::is_contained(region.outputs, constant.getResult())) {
        Expected<BufferRef> ref = addConstant(constant);
        if (!ref)
          return ref.takeError();
        buffers.try_emplace(constant.getResult(), *ref);
      }
  runtime::Program before = program;
  auto knownBuffers = buffers;
  for (bool everyOp : {false, true}) {
    SmallVector<Stage> stages = planStages(region, everyOp);
    unwritten.clear();
    for (const Stage &stage : stages)
      for (Value root : stage.roots) {
        unwritten.insert(root);
        if (!buffers.contains(root)) {
          auto type = cast<RankedTensorType>(root.getType());
          Type storage = storageType(type.getElementType(), /*isWide=*/true);
          buffers[root] = addTemporary(type.getNumElements() *
                                       (storage.getIntOrFloatBitWidth() / 8));
          wide.insert(root);
        }
      }
    llvm::erase_if(stages,
                   [](const Stage &stage) { return isEmpty(stage.roots[0]); });
    Error error = stages.empty() ? Error::success() : lowerStages(stages, loc);
    if (!error)
      return error;
    if (everyOp)
      return error;
    // Too much code with values computed again and again: once each, then.
    llvm::consumeError(std::move(error));
    program = before;
    buffers = knownBuffers;
  }
  return Error::success();
}

Error Compiler::lowerEvaluated(Operation *op) {
  Expected<EvaluatorCall> call = callEvaluator(op);
  if (!call)
    return call.takeError();
  for (Value operand : call->operands)
    call->call.args.push_back(buffers.lookup(operand));
  program.steps.push_back(std::move(call->call));
  return Error::success();
}

/// Steps of a search per result element from which the evaluator's linear
/// algorithms win over looking through all of them.
static constexpr int64_t kMaxSearch = 256;

/// True if `op` is, or holds, an op that looks through many elements for each
/// of its own (scatter, cumulative).
static bool searchesLong(Operation *op) {
  return op
      ->walk([](graph::FusibleOpInterface inner) {
        if (inner.getFusionRole() != graph::FusionRole::search)
          return WalkResult::advance();
        int64_t steps = 1;
        for (int64_t size : inner.getIterationSpace().reduced)
          steps = std::min(steps * size, kMaxSearch + 1);
        return steps > kMaxSearch ? WalkResult::interrupt()
                                  : WalkResult::advance();
      })
      .wasInterrupted();
}

Error Compiler::lower(Operation *op) {
  if (isa<graph::ConstantOp>(op))
    return Error::success();
  if (searchesLong(op))
    return lowerEvaluated(op);
  RegionBody region;
  auto fusion = dyn_cast<graph::FusionOp>(op);
  if (!fusion) {
    if (!isa<graph::FusibleOpInterface>(op))
      return lowerEvaluated(op);
    region.ops.push_back(op);
    llvm::append_range(region.inputs, op->getOperands());
    llvm::append_range(region.outputs, op->getResults());
    return lowerRegion(region, op->getLoc());
  }
  Block &body = fusion.getBody().front();
  for (Operation &inner : body.without_terminator()) {
    if (!isa<graph::ConstantOp, graph::FusibleOpInterface>(inner)) {
      inner.emitOpError("cannot be part of a kernel");
      return diagnostics.take("a region holds an op without element form");
    }
    region.ops.push_back(&inner);
  }
  for (auto [argument, input] :
       llvm::zip(body.getArguments(), fusion.getInputs())) {
    buffers[argument] = buffers.lookup(input);
    region.inputs.push_back(argument);
  }
  SmallVector<runtime::Copy> copies;
  for (auto [value, result] :
       llvm::zip(fusion.getYield().getOperands(), fusion.getResults())) {
    region.outputs.push_back(value);
    BufferRef to = buffers.lookup(result);
    Operation *source = value.getDefiningOp();
    if (source && !isa<graph::ConstantOp>(source))
      buffers.try_emplace(value, to);
  }
  if (Error error = lowerRegion(region, op->getLoc()))
    return error;
  for (auto [value, result] : llvm::zip(region.outputs, fusion.getResults()))
    if (BufferRef from = buffers.lookup(value), to = buffers.lookup(result);
        from != to)
      program.steps.push_back(runtime::Copy{from, to});
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The whole function
//===----------------------------------------------------------------------===//

static void decomposeComposites(func::FuncOp function) {
  for (;;) {
    SmallVector<graph::CompositeOpInterface> composites;
    function.walk(
        [&](graph::CompositeOpInterface op) { composites.push_back(op); });
    if (composites.empty())
      return;
    for (graph::CompositeOpInterface op : composites) {
      OpBuilder builder(op);
      op->replaceAllUsesWith(op.decompose(builder));
      op->erase();
    }
  }
}

/// A launch on the host costs nothing that parts could share.
static void unpackParts(func::FuncOp function) {
  for (graph::FusionOp fusion :
       llvm::to_vector(function.getBody().front().getOps<graph::FusionOp>()))
    if (!fusion.getParts().empty())
      fusion.unpack();
}

Error Compiler::run() {
  unpackParts(function);
  decomposeComposites(function);
  padConvolutions(function);
  if (Error error = describeArguments())
    return error;
  if (Error error = addBuffers())
    return error;
  for (Operation &op : function.getBody().front().without_terminator())
    if (Error error = lower(&op))
      return error;
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    BufferRef from = buffers.lookup(value), to{Space::Output, unsigned(i)};
    if (from != to)
      program.steps.push_back(runtime::Copy{from, to});
  }
  return planWorkspace(program);
}

Expected<runtime::Program> host::compileForHost(ModuleOp module,
                                                const CompileOptions &options) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.size() != 1 || functions[0].isExternal())
    return llvm::createStringError(
        "expected a module of one function with a body, found " +
        llvm::Twine(functions.size()));
  if (!functions[0].getBody().hasOneBlock())
    return llvm::createStringError("expected a function of one block");
  Compiler compiler(functions[0], options);
  if (Error error = compiler.run())
    return std::move(error);
  return std::move(compiler.program);
}
