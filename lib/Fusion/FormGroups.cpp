//===- FormGroups.cpp - plan one function ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts the planner's parts together: graph, choice, rewrite, record.
//===----------------------------------------------------------------------===//
#include "fusec/Fusion/FormGroups.h"
#include "ChooseGroups.h"
#include "PackChains.h"
#include "RefineGroups.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;

/// The decision about every edge of `plan`; kernel numbers are group names yet.
static void recordEdges(PlanGraph &plan, GroupChooser &chooser,
                        FusionDecisions &decisions) {
  // What is left of ops that only other groups compute.
  auto isDead = [&](unsigned id) {
    const PlanNode &node = plan.nodes[id];
    return node.isCopy && !node.isReturned && node.users.empty();
  };
  for (auto [id, node] : llvm::enumerate(plan.nodes)) {
    for (unsigned user : node.users) {
      if (isDead(user))
        continue;
      EdgeDecision edge;
      edge.producer = node.op;
      edge.consumer = plan.nodes[user].op;
      edge.producerKernel = plan.groups.find(id);
      edge.consumerKernel = plan.groups.find(user);
      edge.fused = edge.producerKernel == edge.consumerKernel;
      edge.microseconds = chooser.edgeSaving(id, user);
      if (!edge.fused)
        if (const analysis::Refusal *why = chooser.refusalOf(id, user))
          edge.refusal = *why;
      decisions.edges.push_back(std::move(edge));
    }
  }
}

KernelDecision fusion::describeKernel(analysis::FactTable &facts,
                                      graph::FusionOp fusion,
                                      const TargetInfo &target) {
  KernelDecision kernel{fusion.getLoc()};
  kernel.numInputs = fusion.getNumOperands();
  kernel.numOutputs = fusion.getNumResults();
  if (analysis::RegionVerdict form = analysis::analyzeFusion(facts, fusion)) {
    kernel.kind = form->kind;
    kernel.numOps = form->ops.size();
    kernel.cost = analysis::CostModel(target).estimate(facts, *form);
    for (auto [part, partForm] : llvm::zip(fusion.getParts(), form->parts))
      kernel.parts.push_back(
          {part.getLoc(), partForm.kind, unsigned(partForm.ops.size())});
  }
  return kernel;
}

/// Replaces group names in `decisions` by kernel numbers and describes kernels.
static void recordKernels(Block &block, ArrayRef<PlannedKernel> planned,
                          const FormGroupsOptions &options,
                          FusionDecisions &decisions) {
  llvm::DenseMap<Operation *, const PlannedKernel *> planOf;
  for (const PlannedKernel &plan : planned)
    planOf[plan.fusion] = &plan;
  llvm::DenseMap<unsigned, unsigned> kernelOf;
  analysis::FactTable facts;
  for (auto fusion : block.getOps<graph::FusionOp>()) {
    decisions.kernels.push_back(describeKernel(facts, fusion, options.target));
    auto plan = planOf.find(fusion);
    if (plan == planOf.end())
      continue;
    for (unsigned group : plan->second->groups)
      kernelOf[group] = decisions.kernels.size() - 1;
    decisions.kernels.back().alone = plan->second->alone;
  }
  auto resolve = [&](std::optional<unsigned> &kernel) {
    auto it = kernelOf.find(*kernel);
    kernel = it == kernelOf.end() ? std::nullopt : std::optional(it->second);
  };
  for (EdgeDecision &edge : decisions.edges) {
    resolve(edge.producerKernel);
    resolve(edge.consumerKernel);
    // Two steps of a chain.
    if (!edge.fused && edge.producerKernel &&
        edge.producerKernel == edge.consumerKernel) {
      edge.fused = true;
      edge.refusal.reset();
    }
  }
}

FusionDecisions fusion::formGroups(FunctionOpInterface function,
                                   const FormGroupsOptions &options) {
  FusionDecisions decisions;
  if (function.isExternal() || !function.getFunctionBody().hasOneBlock())
    return decisions;
  Block &block = function.getFunctionBody().front();
  analysis::FactTable facts;
  PlanGraph plan(block, facts);
  GroupChooser chooser(plan, facts, options);
  chooser.run();
  unsigned copied = plan.nodes.size() - plan.numOps;
  copied += recomputeCheapValues(plan, chooser, plan.numOps - copied);
  moveReadsBehindProducts(plan, chooser, plan.numOps - copied);
  recordEdges(plan, chooser, decisions);
  decisions.attempts = chooser.attempts;
  decisions.analyzedOps = chooser.analyzedOps;
  decisions.visits = plan.groups.visits();
  unsigned numFusible = llvm::count_if(
      block, [&](Operation &op) { return facts.get(&op) != nullptr; });
  SmallVector<OutlinedGroup> outlined = outlineGroups(block, plan);
  unsigned inKernels = 0;
  for (OutlinedGroup &group : outlined)
    for (Operation &op : group.fusion.getBody().front().without_terminator())
      inKernels += !op.hasTrait<OpTrait::ConstantLike>();
  decisions.clonedOps = inKernels > numFusible ? inKernels - numFusible : 0;
  std::vector<PlannedKernel> planned;
  if (options.horizontal)
    planned = packChains(packSiblings(block, outlined, options), options);
  else
    for (const OutlinedGroup &group : outlined)
      planned.push_back({group.fusion, {group.group}});
  recordKernels(block, planned, options, decisions);
  return decisions;
}

LogicalResult fusion::verifyGroups(FunctionOpInterface function) {
  if (function.isExternal())
    return success();
  analysis::FactTable facts;
  bool ok = true;
  for (Operation &op : function.getFunctionBody().front()) {
    if (auto fusion = dyn_cast<graph::FusionOp>(op)) {
      analysis::RegionVerdict verdict = analysis::analyzeFusion(facts, fusion);
      if (!verdict) {
        fusion.emitOpError("is not one kernel: ")
            << verdict.refusal().sentence();
        ok = false;
      }
    } else if (isa<graph::FusibleOpInterface>(op)) {
      op.emitOpError("is outside of every graph.fusion");
      ok = false;
    }
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == op.getBlock() &&
          !producer->isBeforeInBlock(&op)) {
        op.emitOpError("uses a value before it is made");
        ok = false;
      }
  }
  return success(ok);
}
