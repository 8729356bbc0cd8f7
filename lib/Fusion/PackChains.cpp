//===- PackChains.cpp - kernels one after the other in one launch ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "PackChains.h"
#include "LaunchParts.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;
using analysis::KernelKind;

/// Fewer launches than this are left alone: a chain takes a compilation of its
/// own and shares its text with no other launch.
static constexpr unsigned kFewestLaunches = 3;
/// A step must take less than this part of what its launch takes.
static constexpr double kWorthwhile = 0.7;

namespace {

/// A launch as what it would be in a chain.
struct Step {
  /// One, or the parts of a launch that several share.
  SmallVector<graph::FusionOp, 1> fusions;
  unsigned numOps = 0, tableBytes = 0;
};

class ChainPacker {
public:
  ChainPacker(std::vector<PlannedKernel> planned,
              const FormGroupsOptions &options)
      : planned(std::move(planned)), options(options), model(options.target) {}
  std::vector<PlannedKernel> run();

private:
  std::optional<Step> asStep(graph::FusionOp fusion);
  void close();

  std::vector<PlannedKernel> planned, result;
  const FormGroupsOptions &options;
  analysis::CostModel model;
  analysis::FactTable facts;
  /// The run that is open: launches, and their steps.
  std::vector<PlannedKernel> launches;
  std::vector<Step> steps;
};

} // namespace

/// Whether regions of this kind can be steps.
static bool canBeStep(const analysis::RegionForm &form) {
  if (form.kind == KernelKind::Multi)
    return llvm::all_of(form.parts, canBeStep);
  return (form.kind == KernelKind::Pointwise || form.kind == KernelKind::Row) &&
         form.columns.empty() &&
         llvm::none_of(form.spine(), ShapedType::isDynamic);
}

std::optional<Step> ChainPacker::asStep(graph::FusionOp fusion) {
  analysis::RegionVerdict form = analysis::analyzeFusion(facts, fusion);
  if (!form || !canBeStep(*form))
    return std::nullopt;
  analysis::CostEstimate alone = model.estimate(facts, *form);
  if (model.asStep(alone).total() > kWorthwhile * alone.total())
    return std::nullopt;
  Step step;
  if (SmallVector<graph::FusionOp, 0> parts = fusion.getParts(); !parts.empty())
    step.fusions.append(parts.begin(), parts.end());
  else
    step.fusions.push_back(fusion);
  step.numOps = form->ops.size();
  for (graph::FusionOp part : step.fusions)
    step.tableBytes += tableBytesOf(part);
  return step;
}

/// Ends the run that is open.
void ChainPacker::close() {
  if (launches.size() < kFewestLaunches) {
    llvm::move(launches, std::back_inserter(result));
  } else {
    PlannedKernel chain;
    SmallVector<graph::FusionOp> fusions;
    for (auto [launch, step] : llvm::zip(launches, steps)) {
      llvm::append_range(chain.groups, launch.groups);
      // Steps are in an order of their own: parts of a shared launch, too.
      if (!launch.fusion.getParts().empty())
        launch.fusion.unpack();
      llvm::append_range(fusions, step.fusions);
    }
    OpBuilder builder(fusions.back()->getContext());
    builder.setInsertionPointAfter(fusions.back());
    chain.fusion = mergeParts(builder, fusions);
    result.push_back(std::move(chain));
  }
  launches.clear();
  steps.clear();
}

/// Whether only constants stand between two fusions.
static bool areNeighbours(graph::FusionOp first, graph::FusionOp second) {
  Operation *op = first->getNextNode();
  while (op && op != second && op->hasTrait<OpTrait::ConstantLike>())
    op = op->getNextNode();
  return op == second;
}

std::vector<PlannedKernel> ChainPacker::run() {
  unsigned numOps = 0, tableBytes = 0;
  for (PlannedKernel &kernel : planned) {
    std::optional<Step> step = asStep(kernel.fusion);
    bool isNext = step && !launches.empty() &&
                  areNeighbours(launches.back().fusion, kernel.fusion) &&
                  numOps + step->numOps <= options.maxOps &&
                  tableBytes + step->tableBytes <= kMaxTableBytes;
    if (!isNext) {
      close();
      numOps = tableBytes = 0;
    }
    if (!step) {
      result.push_back(std::move(kernel));
      continue;
    }
    numOps += step->numOps;
    tableBytes += step->tableBytes;
    launches.push_back(std::move(kernel));
    steps.push_back(std::move(*step));
  }
  close();
  return std::move(result);
}

std::vector<PlannedKernel>
fusion::packChains(std::vector<PlannedKernel> planned,
                   const FormGroupsOptions &options) {
  if (options.target.computeCapability < 90)
    return planned;
  return ChainPacker(std::move(planned), options).run();
}
