//===- Compile.cpp - from a graph to a Program ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//  1. simplify: composites to primitives, canonicalise, fold, merge;
//  2. plan: regions;
//  3. lower each region: tile program, thread program, text;
//  4. assemble: values to buffers, regions to launches.
//===----------------------------------------------------------------------===//
#include "fusec/Driver/Compile.h"
#include "InPlace.h"
#include "IsolateOps.h"
#include "ProgramBuilder.h"
#include "fusec/Conversion/TileToSimt.h"
#include "fusec/Dialect/Graph/Transforms/Passes.h"
#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Dialect/Simt/Transforms/Passes.h"
#include "fusec/Dialect/Tile/Transforms/Passes.h"
#include "fusec/Driver/Diagnostics.h"
#include "fusec/Reference/Passes.h"
#include "fusec/Target/CUDA/CudaEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;

void driver::registerDialects(DialectRegistry &registry) {
  registry
      .insert<arith::ArithDialect, func::FuncDialect, graph::GraphDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
              simt::SimtDialect, tensor::TensorDialect, tile::TileDialect>();
}

llvm::Expected<func::FuncOp> driver::findEntry(ModuleOp module) {
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.size() != 1)
    return llvm::createStringError("expected a module of one function, found " +
                                   llvm::Twine(functions.size()));
  if (functions.front().isExternal())
    return llvm::createStringError("expected a function with a body");
  return functions.front();
}

llvm::Error driver::simplifyGraph(ModuleOp module) {
  DiagnosticCollector diagnostics(module.getContext());
  PassManager passes(module.getContext());
  passes.addPass(graph::createDecomposeCompositesPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(reference::createFoldConstantsPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (failed(passes.run(module)))
    return diagnostics.take("simplifying the graph failed");
  return llvm::Error::success();
}

llvm::Expected<fusion::FusionDecisions>
driver::planGraph(ModuleOp module, const CompileOptions &options) {
  llvm::Expected<func::FuncOp> entry = findEntry(module);
  if (!entry)
    return entry.takeError();
  if (!options.fuse) {
    isolateOps(*entry);
    return fusion::FusionDecisions();
  }
  fusion::FormGroupsOptions groups;
  groups.target = options.target;
  groups.horizontal = options.horizontal;
  return fusion::formGroups(*entry, groups);
}

/// Clean-ups of tile and thread programs: both are plain arith, math and scf.
static LogicalResult cleanUpTiles(ModuleOp kernels) {
  PassManager passes(kernels.getContext());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addNestedPass<tile::KernelOp>(tile::createHoistLoadsPass());
  passes.addPass(createCSEPass());
  passes.addNestedPass<tile::KernelOp>(tile::createVectorizePass());
  return passes.run(kernels);
}
static LogicalResult cleanUpThreads(ModuleOp kernels) {
  PassManager passes(kernels.getContext());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addNestedPass<simt::KernelOp>(simt::createReassociateIndexPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createCSEPass());
  return passes.run(kernels);
}

/// Kernels are made for static shapes.
static llvm::Error checkStaticShapes(func::FuncOp function) {
  llvm::Error result = llvm::Error::success();
  auto check = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (result || !type || type.hasStaticShape())
      return;
    std::string text;
    llvm::raw_string_ostream(text) << type << " at " << value.getLoc();
    result = llvm::createStringError("expected static shapes, found " + text);
  };
  for (BlockArgument arg : function.getArguments())
    check(arg);
  function.walk([&](Operation *op) {
    for (Value value : op->getResults())
      check(value);
  });
  return result;
}

llvm::Expected<Compilation> driver::compile(ModuleOp module,
                                            const CompileOptions &options,
                                            const StageObserver &observer) {
  auto observe = [&](Stage stage, Operation *op) {
    if (observer)
      observer(stage, op);
  };
  if (llvm::Error error = simplifyGraph(module))
    return error;
  observe(Stage::Graph, module);
  llvm::Expected<fusion::FusionDecisions> decisions =
      planGraph(module, options);
  if (!decisions)
    return decisions.takeError();
  observe(Stage::Fused, module);
  llvm::Expected<func::FuncOp> entry = findEntry(module);
  if (!entry)
    return entry.takeError();
  if (llvm::Error error = checkStaticShapes(*entry))
    return error;

  module.getContext()
      ->loadDialect<arith::ArithDialect, math::MathDialect,
                    memref::MemRefDialect, scf::SCFDialect, simt::SimtDialect,
                    tensor::TensorDialect, tile::TileDialect>();
  DiagnosticCollector diagnostics(module.getContext());
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  analysis::FactTable facts;
  Compilation result;
  result.decisions = std::move(*decisions);
  TileOptions tileOptions{options.target, options.numerics};
  SmallVector<graph::FusionOp> fusions;
  SmallVector<bool> wide;
  SmallVector<graph::FusionOp> pending(
      entry->getBody().getOps<graph::FusionOp>());
  std::reverse(pending.begin(), pending.end());
  while (!pending.empty()) {
    graph::FusionOp fusion = pending.pop_back_val();
    analysis::RegionVerdict form = analysis::analyzeFusion(facts, fusion);
    analysis::Refusal why{analysis::RefusalReason::NoSchedule,
                          fusion.getOperation()};
    std::string name = "kernel" + std::to_string(fusions.size());
    if (!form) {
      why = form.refusal();
      fusion.emitOpError() << "is not one kernel: " << why.sentence();
    } else if (succeeded(
                   lowerRegion(fusion, *form, tileOptions, *kernels, name))) {
      result.kernels.push_back(summarize(fusion, *form));
      result.kernels.back().microseconds =
          analysis::CostModel(options.target).estimate(facts, *form).total();
      fusions.push_back(fusion);
      wide.push_back(needsWideOffsets(fusion, *form));
      continue;
    }
    if (llvm::hasSingleElement(fusion.getBody().front().without_terminator()))
      return diagnostics.take("a region has no schedule");
    // One kernel per op in its place, and the decisions say so.
    diagnostics.clear();
    facts = analysis::FactTable();
    SmallVector<graph::FusionOp> parts = splitRegion(fusion);
    if (!result.decisions.kernels.empty())
      fusion::recordSplit(result.decisions, fusions.size(), parts, why,
                          options.target);
    pending.append(parts.rbegin(), parts.rend());
  }
  if (failed(cleanUpTiles(*kernels)))
    return diagnostics.take("a block program is not valid");
  observe(Stage::Tile, *kernels);
  SmallVector<tile::KernelOp> tiles(kernels->getOps<tile::KernelOp>());
  SmallVector<InPlaceValue> inPlace;
  for (auto [fusion, kernel] : llvm::zip(fusions, tiles))
    llvm::append_range(inPlace, findInPlace(fusion, kernel));
  for (auto [isWide, kernel] : llvm::zip(wide, tiles)) {
    if (failed(lowerTileKernel(kernel, isWide)))
      return diagnostics.take("a block program has no thread code");
    kernel.erase();
  }
  if (failed(cleanUpThreads(*kernels)))
    return diagnostics.take("a thread program is not valid");
  observe(Stage::Simt, *kernels);

  ProgramBuilder program(result.program);
  if (llvm::Error error = program.begin(*entry))
    return error;
  SmallVector<simt::KernelOp> threads(kernels->getOps<simt::KernelOp>());
  for (auto [fusion, kernel, summary] :
       llvm::zip(fusions, threads, result.kernels)) {
    FailureOr<runtime::Kernel> text = cuda::emitKernel(kernel);
    if (failed(text))
      return diagnostics.take("a thread program has no text");
    summary.kernel = program.addKernel(std::move(*text));
    program.addLaunch(fusion, kernel, summary.kernel,
                      cuda::dynamicSharedBytes(kernel));
  }
  for (const InPlaceValue &pair : inPlace)
    program.addAlias(pair.argument, pair.result);
  if (llvm::Error error = program.finish(*entry))
    return error;
  return result;
}
