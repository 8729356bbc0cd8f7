//===- Build.cpp - compiling a model for a target -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Session/Build.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Driver/BatchInvariant.h"
#include "fusec/Target/Host/CompileForHost.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::session;

/// Bytes of a tensor value.
static int64_t bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<DType> dtype =
      tensor ? graph::toDType(tensor.getElementType()) : std::nullopt;
  return dtype && tensor.hasStaticShape()
             ? tensor.getNumElements() * byteSize(*dtype)
             : 0;
}

/// What one kernel per op would do.
static void countOps(Operation *module, FusionSummary &summary) {
  for (func::FuncOp function : cast<ModuleOp>(module).getOps<func::FuncOp>())
    for (Operation &op : function.getBody().front()) {
      if (!isa<graph::FusibleOpInterface>(op) || isa<graph::ConstantOp>(op))
        continue;
      ++summary.opsBefore;
      for (Type type : op.getOperandTypes())
        summary.bytesBefore += bytesOf(type);
      for (Type type : op.getResultTypes())
        summary.bytesBefore += bytesOf(type);
    }
}

/// Compiles by `compile`, which is given an observer that counts, too.
static llvm::Expected<Compiled>
compileBy(const driver::StageObserver &observer,
          llvm::function_ref<llvm::Expected<driver::Compilation>(
              const driver::StageObserver &)>
              compile) {
  FusionSummary summary;
  llvm::Expected<driver::Compilation> compilation =
      compile([&](driver::Stage stage, Operation *op) {
        if (stage == driver::Stage::Graph) {
          summary = FusionSummary();
          countOps(op, summary);
        }
        if (observer)
          observer(stage, op);
      });
  if (!compilation)
    return withClass(ErrorClass::Unsupported, compilation.takeError());
  summary.kernels = compilation->program.kernels.size();
  summary.launches = compilation->kernels.size();
  summary.workspaceBytes = compilation->program.workspaceBytes;
  for (const driver::KernelSummary &kernel : compilation->kernels)
    summary.bytesAfter += kernel.bytes;
  return Compiled{std::move(*compilation), summary};
}

llvm::Expected<Compiled>
session::compileModel(Model &model, const driver::CompileOptions &options,
                      const driver::StageObserver &observer,
                      driver::Plan *plan) {
  return compileBy(observer, [&](const driver::StageObserver &observe) {
    return driver::compile(*model.module, options, observe, plan);
  });
}

llvm::Expected<Compiled>
session::compileModelLike(Model &model, const driver::Plan &plan,
                          const driver::StageObserver &observer) {
  driver::FollowReport report;
  auto compiled =
      compileBy(observer, [&](const driver::StageObserver &observe) {
        return driver::compileLike(plan, *model.module, report, observe);
      });
  if (compiled)
    compiled->followed = std::move(report);
  return compiled;
}

llvm::Expected<Compiled>
session::compileModelLike(Model &model, std::shared_ptr<PlannedModel> like,
                          const driver::StageObserver &observer) {
  auto compiled = compileModelLike(model, like->plan, observer);
  if (compiled)
    compiled->like = std::move(like);
  return compiled;
}

llvm::json::Object session::toJson(const driver::FollowReport &report) {
  llvm::json::Object object{{"shared_kernels", report.sharedKernels},
                            {"new_kernels", report.newKernels}};
  if (!report.reason.empty())
    object["reason"] = jsonText(report.reason);
  return object;
}

llvm::Expected<std::shared_ptr<PlannedModel>>
session::planModel(Model model, const driver::CompileOptions &options) {
  auto planned = std::make_shared<PlannedModel>();
  planned->model = std::move(model);
  auto compilation =
      driver::compile(*planned->model.module, options, {}, &planned->plan);
  if (!compilation)
    return withClass(ErrorClass::Unsupported, compilation.takeError());
  return planned;
}

/// The bytes that each region and each op outside of one moves.
static int64_t bytesMoved(Model &model) {
  int64_t bytes = 0;
  for (Operation &op : model.function().getBody().front()) {
    if (!isa<graph::FusionOp, graph::FusibleOpInterface>(op) ||
        isa<graph::ConstantOp>(op))
      continue;
    for (Type type : op.getOperandTypes())
      bytes += bytesOf(type);
    for (Type type : op.getResultTypes())
      bytes += bytesOf(type);
  }
  return bytes;
}

/// Simplifies the graph of `model` and forms its regions.
static llvm::Expected<fusion::FusionDecisions>
planForHost(Model &model, const driver::CompileOptions &options,
            FusionSummary &summary) {
  // What tensor cores want is of no use here.
  driver::CompileOptions simplifyOptions = options;
  simplifyOptions.target.computeCapability = 0;
  // A launch on the host costs nothing that sharing it could save.
  driver::CompileOptions planOptions = options;
  planOptions.horizontal = false;
  OwningOpRef<ModuleOp> other;
  if (options.batchInvariant)
    other = model.module->clone();
  ModuleOp counted = other ? *other : *model.module;
  if (llvm::Error error = driver::simplifyGraph(counted, simplifyOptions))
    return std::move(error);
  countOps(counted, summary);
  if (!options.batchInvariant)
    return driver::planGraph(*model.module, planOptions);
  planOptions.target.computeCapability = 0;
  return driver::planGraphInvariant(*model.module, planOptions);
}

llvm::Expected<Compiled>
session::compileForHost(Model &model, const driver::CompileOptions &options) {
  Compiled result;
  auto decisions = planForHost(model, options, result.summary);
  if (!decisions)
    return withClass(ErrorClass::Unsupported, decisions.takeError());
  result.compilation.decisions = std::move(*decisions);
  result.summary.bytesAfter = bytesMoved(model);
  host::CompileOptions hostOptions;
  hostOptions.exact = options.numerics == NumericsMode::Exact;
  hostOptions.batchInvariant = options.batchInvariant;
  auto program = host::compileForHost(*model.module, hostOptions);
  if (!program)
    return withClass(ErrorClass::Unsupported, program.takeError());
  result.summary.kernels = program->kernels.size();
  result.summary.launches =
      llvm::count_if(program->steps, [](const runtime::Step &step) {
        return std::holds_alternative<runtime::Launch>(step);
      });
  result.summary.workspaceBytes = program->workspaceBytes;
  result.compilation.program = std::move(*program);
  return result;
}
