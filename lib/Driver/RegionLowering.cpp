//===- RegionLowering.cpp - regions to block programs ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RegionLowering.h"
#include "AskChooser.h"
#include "ChainPlan.h"
#include "IsolateOps.h"
#include "ProgramBuilder.h"
#include "RolledRows.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;

FailureOr<LoweredRegion> RegionLowering::lower(graph::FusionOp fusion,
                                               const analysis::RegionForm &form,
                                               const TileOptions &tileOptions) {
  std::string name = "kernel" + std::to_string(numKernels);
  TileOptions asking = tileOptions;
  std::optional<AskChooser> ask;
  if (chooser)
    asking.chooser = &ask.emplace(
        *chooser, vendor, tileOptions.pattern ? *tileOptions.pattern : form,
        tileOptions);
  FailureOr<tile::KernelOp> kernel =
      lowerRegion(fusion, form, asking, kernels, name);
  if (failed(kernel)) {
    // What was begun is not valid.
    if (Operation *begun = SymbolTable::lookupSymbolIn(kernels, name))
      begun->erase();
    return failure();
  }
  ++numKernels;
  LoweredRegion region{fusion, needsWideOffsets(fusion, form), *kernel, {}};
  if (ask)
    region.decision = ask->take(fusion);
  // Rolled rows are added in an order that depends on where they start.
  if (!isBatchInvariant || form.reduced.empty())
    region.rows = findRolledRows(facts, fusion, form);
  return region;
}

/// What was made of a region equal to `fusion`, for `fusion`.
std::optional<LoweredRegion> RegionLowering::findEqual(graph::FusionOp fusion) {
  auto it = launchOf.find(regions.firstOf(fusion));
  if (it == launchOf.end())
    return std::nullopt;
  LoweredRegion region = launches[it->second].front();
  region.fusion = fusion;
  region.equalTo = it->second;
  return region;
}

void RegionLowering::addLaunch(LoweredRegion region,
                               const analysis::RegionForm &form) {
  result.kernels.push_back(
      summarize(region.fusion, form, facts, options.target));
  result.kernels.back().decision = region.decision;
  launches.push_back({std::move(region)});
  threads.push_back(0);
}

/// Adds a part to the report entry of a launch.
static void addPart(KernelSummary &sum, const KernelSummary &part,
                    const TargetInfo &target) {
  sum.kind = part.kind;
  ++sum.parts;
  llvm::append_range(sum.ops, part.ops);
  llvm::append_range(sum.places, part.places);
  sum.inputs += part.inputs;
  sum.outputs += part.outputs;
  sum.bytes += part.bytes;
  sum.requestedBytes += part.requestedBytes;
  // One launch, in which the parts share the machine.
  sum.cost = analysis::CostModel(target).fromTotals(
      sum.cost.readBytes + part.cost.readBytes,
      sum.cost.writtenBytes + part.cost.writtenBytes,
      sum.cost.instructions + part.cost.instructions,
      sum.cost.tensorFlops + part.cost.tensorFlops);
}

bool driver::isChain(ArrayRef<graph::FusionOp> fusions) {
  return llvm::any_of(fusions, [&](graph::FusionOp fusion) {
    return llvm::any_of(fusion.getInputs(), [&](Value input) {
      return llvm::is_contained(fusions, input.getDefiningOp());
    });
  });
}

/// The kind of a launch of several regions.
static analysis::KernelKind kindOf(ArrayRef<LoweredRegion> launch) {
  SmallVector<graph::FusionOp> fusions;
  for (const LoweredRegion &region : launch)
    fusions.push_back(region.fusion);
  return isChain(fusions) ? analysis::KernelKind::Chain
                          : analysis::KernelKind::Multi;
}

/// Lowers the parts of a launch for one number of threads, the largest that any
/// asks for. Returns the parts that cannot share it.
SmallVector<graph::FusionOp>
RegionLowering::lowerParts(graph::FusionOp fusion) {
  facts = analysis::FactTable();
  LoweredLaunch launch;
  SmallVector<graph::FusionOp> apart;
  SmallVector<analysis::RegionVerdict> forms;
  int64_t most = 0;
  for (graph::FusionOp part : fusion.unpack()) {
    analysis::RegionVerdict form = analysis::analyzeFusion(facts, part);
    FailureOr<LoweredRegion> region = failure();
    if (form && form->kind != analysis::KernelKind::Contraction &&
        form->columns.empty())
      region = lower(part, *form, options);
    if (failed(region)) {
      apart.push_back(part);
      continue;
    }
    most = std::max<int64_t>(most, region->tile.getThreads());
    launch.push_back(std::move(*region));
    forms.push_back(std::move(form));
  }
  auto record = [&](bool asLaunch) {
    if (apart.empty() || result.decisions.kernels.empty())
      return;
    analysis::Refusal why{analysis::RefusalReason::LaunchOfItsOwn,
                          &apart.front().getBody().front().front()};
    if (asLaunch)
      fusion::recordApart(result.decisions, launches.size() - 1, apart, why,
                          options.target);
    else
      fusion::recordSplit(result.decisions, launches.size(), apart, why,
                          options.target);
  };
  if (launch.size() < 2) {
    if (!launch.empty())
      addLaunch(std::move(launch.front()), *forms.front());
    record(!launch.empty());
    return apart;
  }
  TileOptions shared = options;
  shared.threads = most;
  LoweredLaunch joint;
  KernelSummary summary;
  for (auto [region, form] : llvm::zip(launch, forms)) {
    region.tile.erase();
    FailureOr<LoweredRegion> again = lower(region.fusion, *form, shared);
    if (failed(again) || int64_t(again->tile.getThreads()) != most) {
      if (succeeded(again))
        again->tile.erase();
      apart.push_back(region.fusion);
      continue;
    }
    addPart(summary, summarize(region.fusion, *form, facts, options.target),
            options.target);
    joint.push_back(std::move(*again));
  }
  if (joint.empty()) {
    record(false);
    return apart;
  }
  if (summary.parts > 1)
    summary.kind = kindOf(joint);
  result.kernels.push_back(std::move(summary));
  launches.push_back(std::move(joint));
  threads.push_back(most);
  record(true);
  return apart;
}

/// Threads of a block of a chain: so many that a thread has about 4 elements of
/// the largest step.
static int64_t threadsOf(const analysis::RegionForm &chain) {
  double most = 0;
  for (const analysis::RegionForm &part : chain.parts)
    most = std::max(most, analysis::pointCount(part.spine()));
  uint64_t share = uint64_t(most) / (4 * analysis::kChainBlocks);
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(share), 128, 512);
}

/// Whether all that steps of a chain hand on can be kept by its blocks.
static bool canKeepValues(ArrayRef<graph::FusionOp> steps) {
  for (graph::FusionOp step : steps)
    for (Value input : step.getInputs())
      if (llvm::is_contained(steps, input.getDefiningOp()) &&
          !canBeKept(input.getType()))
        return false;
  return true;
}

/// Options for a step of a chain whose blocks keep values. Where results are
/// few for each element that is read, every block does all of the step: then
/// it is laid out for one multiprocessor, else for those of the chain.
static TileOptions optionsOfStep(const TileOptions &chain,
                                 const analysis::RegionForm &step) {
  TileOptions result = chain;
  bool isReduced =
      step.kind == analysis::KernelKind::Row &&
      llvm::all_of(step.outputs, [](const analysis::RegionOutput &output) {
        return output.isUniform;
      });
  result.target.multiprocessors = isReduced ? 1 : analysis::kChainBlocks;
  return result;
}

/// Whether every block of a chain does a step of so many blocks: one more takes
/// about as long as sending the results does, 0.2 us.
static bool isShort(tile::KernelOp step) {
  constexpr int64_t kMostBlocks = 2;
  int64_t blocks = 1;
  for (int64_t size : step.getGrid())
    blocks *= size;
  return blocks <= kMostBlocks;
}

/// Lowers the parts of a chain. Returns all parts if one of them cannot be a
/// step.
SmallVector<graph::FusionOp>
RegionLowering::lowerChain(graph::FusionOp fusion) {
  facts = analysis::FactTable();
  TileOptions shared = options;
  KernelSummary summary;
  SmallVector<analysis::CostEstimate> costs;
  if (analysis::RegionVerdict chain = analysis::analyzeFusion(facts, fusion))
    shared.threads = threadsOf(*chain);
  SmallVector<graph::FusionOp> parts(fusion.unpack());
  bool keepsValues = canKeepValues(parts);
  LoweredLaunch launch;
  for (graph::FusionOp part : parts) {
    analysis::RegionVerdict form = analysis::analyzeFusion(facts, part);
    FailureOr<LoweredRegion> region = failure();
    if (form && shared.threads)
      region = lower(part, *form,
                     keepsValues ? optionsOfStep(shared, *form) : shared);
    if (succeeded(region)) {
      region->isRepeated = isShort(region->tile);
      launch.push_back(*region);
      if (int64_t(region->tile.getThreads()) == shared.threads) {
        KernelSummary one = summarize(part, *form, facts, options.target);
        costs.push_back(one.cost);
        addPart(summary, one, options.target);
        continue;
      }
    }
    for (LoweredRegion &lowered : launch)
      lowered.tile.erase();
    if (!result.decisions.kernels.empty())
      fusion::recordSplit(
          result.decisions, launches.size(), parts,
          analysis::Refusal{analysis::RefusalReason::LaunchOfItsOwn,
                            &part.getBody().front().front()},
          options.target);
    return parts;
  }
  summary.kind = analysis::KernelKind::Chain;
  summary.cost = analysis::CostModel(options.target).chainOf(costs);
  result.kernels.push_back(std::move(summary));
  launches.push_back(std::move(launch));
  threads.push_back(shared.threads);
  return {};
}

LogicalResult RegionLowering::run(func::FuncOp function,
                                  DiagnosticCollector &diagnostics) {
  SmallVector<graph::FusionOp> pending(
      function.getBody().getOps<graph::FusionOp>());
  std::reverse(pending.begin(), pending.end());
  while (!pending.empty()) {
    graph::FusionOp fusion = pending.pop_back_val();
    if (!fusion.getParts().empty()) {
      SmallVector<graph::FusionOp> apart =
          fusion.isChain() ? lowerChain(fusion) : lowerParts(fusion);
      diagnostics.clear();
      pending.append(apart.rbegin(), apart.rend());
      continue;
    }
    analysis::RegionVerdict form = analysis::analyzeFusion(facts, fusion);
    analysis::Refusal why{analysis::RefusalReason::NoSchedule,
                          fusion.getOperation()};
    if (!form) {
      why = form.refusal();
      fusion.emitOpError() << "is not one kernel: " << why.sentence();
    } else if (std::optional<LoweredRegion> equal = findEqual(fusion)) {
      addLaunch(std::move(*equal), *form);
      continue;
    } else if (FailureOr<LoweredRegion> region = lower(fusion, *form, options);
               succeeded(region)) {
      launchOf[fusion] = launches.size();
      addLaunch(std::move(*region), *form);
      continue;
    }
    if (llvm::hasSingleElement(fusion.getBody().front().without_terminator()))
      return failure();
    // One kernel per op in its place, and the decisions say so.
    regions.forget(fusion);
    diagnostics.clear();
    facts = analysis::FactTable();
    SmallVector<graph::FusionOp> parts = splitRegion(fusion);
    if (!result.decisions.kernels.empty())
      fusion::recordSplit(result.decisions, launches.size(), parts, why,
                          options.target);
    pending.append(parts.rbegin(), parts.rend());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Other sizes
//===----------------------------------------------------------------------===//

/// One launch as `plan` has it.
LogicalResult RegionLowering::follow(const LaunchPlan &plan,
                                     ArrayRef<graph::FusionOp> fusions,
                                     ArrayRef<graph::FusionOp> patterns,
                                     ArrayRef<graph::FusionOp> counted,
                                     DiagnosticCollector &diagnostics) {
  LoweredLaunch launch;
  KernelSummary summary;
  SmallVector<analysis::CostEstimate> costs;
  SmallVector<graph::FusionOp> steps;
  for (unsigned region : plan.regions)
    steps.push_back(fusions[region]);
  bool keepsValues = isChain(steps) && canKeepValues(steps);
  for (unsigned region : plan.regions) {
    graph::FusionOp fusion = fusions[region];
    analysis::RegionVerdict form = analysis::analyzeFusion(facts, fusion);
    analysis::RegionVerdict pattern =
        analysis::analyzeFusion(patternFacts, patterns[region]);
    std::optional<analysis::RegionVerdict> numbers;
    if (!counted.empty())
      numbers = analysis::analyzeFusion(countedFacts, counted[region]);
    if (!form)
      return fusion.emitOpError() << "is not one kernel in other sizes: "
                                  << form.refusal().sentence();
    if (!pattern || (numbers && !*numbers))
      return fusion.emitOpError("is not one kernel in other sizes");
    KernelSummary part = summarize(fusion, *form, facts, options.target);
    if (plan.regions.size() == 1)
      if (std::optional<LoweredRegion> equal = findEqual(fusion)) {
        addLaunch(std::move(*equal), *form);
        return success();
      }
    TileOptions same = keepsValues ? optionsOfStep(options, *form) : options;
    same.threads = plan.threads;
    same.pattern = &*pattern;
    same.counted = numbers ? &**numbers : nullptr;
    FailureOr<LoweredRegion> lowered = lower(fusion, *form, same);
    if (failed(lowered) && !numbers) {
      diagnostics.clear();
      same.pattern = nullptr;
      summary.decidedAnew = true;
      lowered = lower(fusion, *form, same);
    }
    if (failed(lowered) ||
        (plan.threads && int64_t(lowered->tile.getThreads()) != plan.threads))
      return failure();
    costs.push_back(part.cost);
    addPart(summary, part, options.target);
    lowered->isRepeated = plan.repeated[launch.size()];
    launch.push_back(std::move(*lowered));
  }
  if (launch.size() == 1) {
    launchOf[launch.front().fusion] = launches.size();
    summary.decision = launch.front().decision;
  } else
    summary.kind = kindOf(launch);
  if (summary.kind == analysis::KernelKind::Chain)
    summary.cost = analysis::CostModel(options.target).chainOf(costs);
  result.kernels.push_back(std::move(summary));
  launches.push_back(std::move(launch));
  threads.push_back(plan.threads);
  return success();
}

/// The regions of a module of one function, in order.
static SmallVector<graph::FusionOp> regionsOf(ModuleOp module) {
  func::FuncOp entry = *module.getOps<func::FuncOp>().begin();
  return llvm::to_vector(entry.getBody().getOps<graph::FusionOp>());
}

LogicalResult RegionLowering::run(func::FuncOp function, const Plan &plan,
                                  ModuleOp counted,
                                  DiagnosticCollector &diagnostics) {
  auto fusions = llvm::to_vector(function.getBody().getOps<graph::FusionOp>());
  SmallVector<graph::FusionOp> patterns = regionsOf(plan.regions.get()),
                               numbers;
  if (counted)
    numbers = regionsOf(counted);
  for (const LaunchPlan &launch : plan.launches)
    if (failed(follow(launch, fusions, patterns, numbers, diagnostics)))
      return failure();
  return success();
}
