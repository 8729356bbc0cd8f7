//===- Compile.cpp - from a graph to a Program ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//  1. simplify: composites to primitives, canonicalise, fold, merge;
//  2. plan: regions;
//  3. lower each region: tile program, thread program, text;
//  4. assemble: values to buffers, regions to launches.
//===----------------------------------------------------------------------===//
#include "fusec/Driver/Compile.h"
#include "BuildProgram.h"
#include "InPlace.h"
#include "IsolateOps.h"
#include "NarrowConstants.h"
#include "PlanChoice.h"
#include "ProgramBuilder.h"
#include "RegionLowering.h"
#include "fusec/Conversion/TileToSimt.h"
#include "fusec/Dialect/Graph/Transforms/Passes.h"
#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Dialect/Simt/Transforms/Passes.h"
#include "fusec/Dialect/Tile/Transforms/Passes.h"
#include "fusec/Driver/BatchInvariant.h"
#include "fusec/Driver/Diagnostics.h"
#include "fusec/Fusion/MergeContractions.h"
#include "fusec/Fusion/ScaleRows.h"
#include "fusec/Fusion/SplitSums.h"
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

//===----------------------------------------------------------------------===//
// Optional passes
//===----------------------------------------------------------------------===//

llvm::ArrayRef<OptionalPass> driver::optionalPasses() {
  static constexpr OptionalPass kPasses[] = {
      {"canonicalize", "folds and rewrites of graphs, tiles and threads", true},
      {"cse", "equal ops once", true},
      {"fusec-graph-fold-constants", "ops on constants at compile time", true},
      {"fusec-graph-align-products", "rows of products at whole 16 bytes",
       true},
      {"fusec-graph-float8-products", "products of dequantised 8-bit floats",
       true},
      {"fusec-graph-hoist-slices", "only what is read of values", true},
      {"fusec-graph-narrow-products", "zero points out of products", true},
      {"fusec-tile-hoist-loads", "loads that a loop repeats"},
      {"fusec-tile-load-early", "loads ahead of reductions"},
      {"fusec-tile-vectorize", "wide loads and stores"},
      {"fusec-simt-reassociate-index", "cheaper addresses"},
      {"loop-invariant-code-motion", "what a loop repeats"},
      {"fusec-simt-near-math", "shorter arithmetic for 16-bit results"},
      {"fusec-simt-overlap-launches", "kernels that begin while others end"},
  };
  return kPasses;
}

/// Adds an optional pass unless the options disable it.
static void addOptional(OpPassManager &passes, std::unique_ptr<Pass> pass,
                        const CompileOptions &options) {
  if (!llvm::is_contained(options.disabledPasses, pass->getArgument().str()))
    passes.addPass(std::move(pass));
}

llvm::Error driver::simplifyGraph(ModuleOp module,
                                  const CompileOptions &options) {
  DiagnosticCollector diagnostics(module.getContext());
  PassManager passes(module.getContext());
  passes.addPass(graph::createDecomposeCompositesPass());
  if (options.numerics == NumericsMode::Default &&
      options.target.computeCapability == 90)
    addOptional(passes, graph::createFloat8ProductsPass(), options);
  addOptional(passes, createCanonicalizerPass(), options);
  addOptional(passes, createCSEPass(), options);
  addOptional(passes, graph::createHoistSlicesPass(), options);
  graph::NarrowProductsPassOptions narrow;
  narrow.turnSingles = options.target.computeCapability == 90;
  addOptional(passes, graph::createNarrowProductsPass(narrow), options);
  if (options.target.computeCapability == 90)
    addOptional(passes, graph::createAlignProductsPass(), options);
  addOptional(passes, reference::createFoldConstantsPass(), options);
  addOptional(passes, createCanonicalizerPass(), options);
  addOptional(passes, createCSEPass(), options);
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
  std::vector<fusion::SiblingDecision> siblings;
  if (options.horizontal) {
    fusion::MergedContractions merged =
        fusion::mergeContractions(*entry, groups);
    reference::joinConstants(merged.constantConcats);
    siblings = std::move(merged.decisions);
    // Depends on how many rows there are.
    if (options.numerics == NumericsMode::Default && !options.batchInvariant)
      reference::foldProducts(fusion::scaleRows(*entry).constants);
  }
  PlanWay way = choosePlan(*entry, options);
  groups.productStatistics = way.statistics;
  if (way.dividesSums)
    fusion::splitSums(*entry, groups.target);
  fusion::FusionDecisions decisions = fusion::formGroups(*entry, groups);
  if (options.horizontal)
    narrowConstants(*entry);
  decisions.siblings = std::move(siblings);
  return decisions;
}

/// Clean-ups of tile and thread programs: both are plain arith, math and scf.
static LogicalResult cleanUpTiles(ModuleOp kernels,
                                  const CompileOptions &options) {
  PassManager passes(kernels.getContext());
  addOptional(passes, createCanonicalizerPass(), options);
  addOptional(passes, createCSEPass(), options);
  addOptional(passes.nest<tile::KernelOp>(), tile::createHoistLoadsPass(),
              options);
  addOptional(passes, createCSEPass(), options);
  addOptional(passes.nest<tile::KernelOp>(), tile::createVectorizePass(),
              options);
  addOptional(passes.nest<tile::KernelOp>(), tile::createLoadEarlyPass(),
              options);
  return passes.run(kernels);
}
static LogicalResult cleanUpThreads(ModuleOp kernels,
                                    const CompileOptions &options) {
  PassManager passes(kernels.getContext());
  addOptional(passes, createCanonicalizerPass(), options);
  addOptional(passes, createCSEPass(), options);
  addOptional(passes.nest<simt::KernelOp>(), simt::createReassociateIndexPass(),
              options);
  addOptional(passes, createCanonicalizerPass(), options);
  addOptional(passes, createLoopInvariantCodeMotionPass(), options);
  addOptional(passes, createCSEPass(), options);
  addOptional(passes.nest<simt::KernelOp>(), simt::createNearMathPass(),
              options);
  if (options.target.computeCapability == 90)
    addOptional(passes.nest<simt::KernelOp>(),
                simt::createOverlapLaunchesPass(), options);
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

/// Thread programs of all regions, in place of their block programs.
static LogicalResult lowerToThreads(std::vector<LoweredLaunch> &launches) {
  for (LoweredLaunch &launch : launches)
    for (LoweredRegion &region : launch) {
      if (region.equalTo) {
        region.simt = launches[*region.equalTo].front().simt;
        continue;
      }
      FailureOr<simt::KernelOp> kernel =
          lowerTileKernel(region.tile, region.isWide);
      if (failed(kernel))
        return failure();
      region.simt = *kernel;
      region.tile.erase();
    }
  return success();
}

/// Text and launch of regions that share a launch, or of one alone.
static LogicalResult emitLaunch(const LoweredLaunch &launch,
                                ProgramBuilder &program,
                                ArrayRef<KernelSummary> summaries,
                                const TargetInfo &target,
                                KernelSummary &summary) {
  if (launch.size() == 1) {
    const LoweredRegion &region = launch.front();
    if (region.equalTo) {
      summary.kernel = summaries[*region.equalTo].kernel;
    } else {
      FailureOr<runtime::Kernel> text =
          cuda::emitKernel(region.simt, region.rows);
      if (failed(text))
        return failure();
      summary.kernel = program.addKernel(std::move(*text));
    }
    program.addLaunch(region.fusion, region.simt, summary.kernel,
                      cuda::dynamicSharedBytes(region.simt), region.decision,
                      region.rows);
    return success();
  }
  SmallVector<graph::FusionOp> fusions;
  SmallVector<simt::KernelOp> threads;
  SmallVector<bool> repeated;
  SmallVector<cuda::RowBuffers> rows;
  for (const LoweredRegion &region : launch) {
    fusions.push_back(region.fusion);
    threads.push_back(region.simt);
    repeated.push_back(region.isRepeated);
    rows.push_back(region.rows);
  }
  std::optional<ChainPlan> chain;
  if (isChain(fusions))
    chain = planChain(fusions, threads, repeated, target);
  FailureOr<cuda::JointKernel> joint =
      chain ? cuda::emitChainKernel(threads, chain->form)
            : cuda::emitJointKernel(threads, rows);
  // Values leave larger arrays of the programs their room.
  if (succeeded(joint) && chain && chain->form.keepsValues() &&
      joint->arenaBytes > kUsualArenaBytes) {
    chain = planChain(fusions, threads, repeated, target, joint->arenaBytes);
    joint = cuda::emitChainKernel(threads, chain->form);
  }
  if (failed(joint))
    return failure();
  summary.kernel = program.addKernel(joint->kernel);
  program.addJointLaunch(fusions, threads, *joint, summary.kernel,
                         chain ? &*chain : nullptr, rows);
  return success();
}

/// The launches of `lowering`, for those that follow.
static void recordPlan(ModuleOp module, func::FuncOp entry,
                       const RegionLowering &lowering, Plan &plan) {
  llvm::DenseMap<Operation *, unsigned> positions;
  for (graph::FusionOp fusion : entry.getBody().getOps<graph::FusionOp>())
    positions.try_emplace(fusion, positions.size());
  plan.regions = cast<ModuleOp>(module->clone());
  for (auto [launch, threads] :
       llvm::zip(lowering.launches, lowering.threads)) {
    LaunchPlan &record = plan.launches.emplace_back();
    record.threads = threads;
    for (const LoweredRegion &region : launch) {
      record.regions.push_back(positions.lookup(region.fusion));
      record.repeated.push_back(region.isRepeated);
    }
  }
}

llvm::Expected<Compilation>
driver::buildProgram(ModuleOp module, const CompileOptions &options,
                     fusion::FusionDecisions decisions,
                     const StageObserver &observe, const Plan *pattern,
                     Plan *record, ModuleOp counted) {
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
  Compilation result;
  result.decisions = std::move(decisions);
  RegionLowering lowering(*kernels, options, result);
  if (failed(pattern ? lowering.run(*entry, *pattern, counted, diagnostics)
                     : lowering.run(*entry, diagnostics)))
    return diagnostics.take("a region has no schedule");
  if (record)
    recordPlan(module, *entry, lowering, *record);
  if (failed(cleanUpTiles(*kernels, options)))
    return diagnostics.take("a block program is not valid");
  observe(Stage::Tile, *kernels);
  SmallVector<InPlaceValue> inPlace;
  for (const LoweredLaunch &launch : lowering.launches)
    for (const LoweredRegion &region : launch)
      llvm::append_range(inPlace, findInPlace(region.fusion, region.tile));
  if (failed(lowerToThreads(lowering.launches)))
    return diagnostics.take("a block program has no thread code");
  if (failed(cleanUpThreads(*kernels, options)))
    return diagnostics.take("a thread program is not valid");
  observe(Stage::Simt, *kernels);

  ProgramBuilder program(result.program);
  if (llvm::Error error = program.begin(*entry))
    return error;
  for (auto [launch, summary] : llvm::zip(lowering.launches, result.kernels)) {
    summary.step = result.program.steps.size();
    if (failed(emitLaunch(launch, program, result.kernels, options.target,
                          summary)))
      return diagnostics.take("a thread program has no text");
  }
  for (const InPlaceValue &pair : inPlace)
    program.addAlias(pair.argument, pair.result);
  if (llvm::Error error = program.finish(*entry))
    return error;
  return result;
}

llvm::Expected<Compilation> driver::compile(ModuleOp module,
                                            const CompileOptions &options,
                                            const StageObserver &observer,
                                            Plan *plan) {
  return options.batchInvariant
             ? compileInvariant(module, options, observer, plan)
             : compileAtSizes(module, options, observer, plan);
}

llvm::Expected<Compilation>
driver::compileAtSizes(ModuleOp module, const CompileOptions &options,
                       const StageObserver &observer, Plan *plan) {
  StageObserver observe = [&](Stage stage, Operation *op) {
    if (observer)
      observer(stage, op);
  };
  if (llvm::Error error = simplifyGraph(module, options))
    return error;
  observe(Stage::Graph, module);
  if (plan)
    plan->graph = cast<ModuleOp>(module->clone());
  llvm::Expected<fusion::FusionDecisions> decisions =
      planGraph(module, options);
  if (!decisions)
    return decisions.takeError();
  observe(Stage::Fused, module);
  llvm::Expected<Compilation> result =
      buildProgram(module, options, std::move(*decisions), observe,
                   /*pattern=*/nullptr, plan);
  if (!result || !plan)
    return result;
  plan->options = options;
  plan->decisions = result->decisions;
  for (const runtime::Kernel &kernel : result->program.kernels)
    plan->texts.insert(kernel.source);
  return result;
}
