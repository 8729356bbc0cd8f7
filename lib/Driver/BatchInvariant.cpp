//===- BatchInvariant.cpp - choices that ignore the batch -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Driver/BatchInvariant.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Dialect/Graph/Transforms/Passes.h"
#include "fusec/Dialect/Graph/Transforms/Resize.h"
#include "fusec/Driver/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;

static llvm::Error refused(const llvm::Twine &why) {
  return llvm::createStringError("batch-invariant: " + why);
}

/// The same options for the sizes that decide: of a device that has more
/// multiprocessors than its architecture's preset, the preset's number (blocks
/// that meet have to fit one with fewer); and what was measured once, in
/// whatever sizes, does not count.
static CompileOptions optionsToDecide(CompileOptions options) {
  const TargetInfo preset = options.target.computeCapability == 90
                                ? TargetInfo::h200()
                                : TargetInfo::a100();
  options.target.multiprocessors =
      std::min(options.target.multiprocessors, preset.multiprocessors);
  options.chooser = nullptr;
  options.vendor = nullptr;
  return options;
}

static bool hasElements(func::FuncOp function) {
  return llvm::all_of(function.getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && tensor.getNumElements() > 0;
  });
}

/// Makes `module` the graph for the size that decides: before anything is
/// simplified, as what is repeated for one item alone may be left out then.
static llvm::Error makeTypical(ModuleOp module) {
  DiagnosticCollector diagnostics(module.getContext());
  PassManager passes(module.getContext());
  passes.addPass(graph::createDecomposeCompositesPass());
  if (failed(passes.run(module)))
    return diagnostics.take("simplifying the graph failed");
  llvm::Expected<func::FuncOp> entry = findEntry(module);
  if (!entry)
    return entry.takeError();
  if (llvm::Error error = graph::resizeOutermost(*entry, kInvariantBatch))
    return refused(llvm::toString(std::move(error)));
  return llvm::Error::success();
}

llvm::Expected<Compilation>
driver::compileInvariant(ModuleOp module, const CompileOptions &options,
                         const StageObserver &observer, Plan *plan) {
  CompileOptions deciding = optionsToDecide(options);
  llvm::Expected<func::FuncOp> entry = findEntry(module);
  if (!entry)
    return entry.takeError();
  if (!hasElements(*entry))
    return compileAtSizes(module, deciding, observer, plan);
  OwningOpRef<ModuleOp> typical = module.clone();
  if (llvm::Error error = makeTypical(*typical))
    return error;
  Plan own;
  Plan &decided = plan ? *plan : own;
  if (auto first = compileAtSizes(*typical, deciding, {}, &decided); !first)
    return first.takeError();
  FollowReport report;
  return compileLike(decided, module, report, observer);
}

llvm::Expected<fusion::FusionDecisions>
driver::planGraphInvariant(ModuleOp module, const CompileOptions &options) {
  llvm::Expected<func::FuncOp> entry = findEntry(module);
  if (!entry)
    return entry.takeError();
  CompileOptions deciding = optionsToDecide(options);
  bool isTypical = hasElements(*entry);
  SmallVector<SmallVector<int64_t>> shapes;
  for (Type type : entry->getArgumentTypes())
    shapes.push_back(llvm::to_vector(cast<RankedTensorType>(type).getShape()));
  if (llvm::Error error =
          isTypical ? makeTypical(module) : llvm::Error::success())
    return error;
  if (llvm::Error error = simplifyGraph(module, deciding))
    return error;
  llvm::Expected<fusion::FusionDecisions> decisions =
      planGraph(module, deciding);
  if (!decisions || !isTypical)
    return decisions;
  if (llvm::Error error = graph::resize(*entry, shapes))
    return refused(llvm::toString(std::move(error)));
  return decisions;
}
