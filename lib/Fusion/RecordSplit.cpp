//===- RecordSplit.cpp - decisions about a region that was split ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Fusion/FormGroups.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;

/// True if `fusion` computes the op that `op` speaks of.
static bool holds(graph::FusionOp fusion, const analysis::OpRef &op) {
  return llvm::any_of(fusion.getBody().front(), [&](Operation &inner) {
    return op.name == inner.getName() && op.loc == inner.getLoc();
  });
}

void fusion::recordSplit(FusionDecisions &decisions, unsigned kernel,
                         ArrayRef<graph::FusionOp> parts,
                         const analysis::Refusal &why,
                         const TargetInfo &target) {
  analysis::FactTable facts;
  std::vector<KernelDecision> described;
  for (graph::FusionOp part : parts) {
    described.push_back(describeKernel(facts, part, target));
    described.back().split = why;
  }
  auto at = decisions.kernels.erase(decisions.kernels.begin() + kernel);
  decisions.kernels.insert(at, described.begin(), described.end());
  // Ops of equal name and place (a composite's) count as one: the first.
  auto renumber = [&](std::optional<unsigned> &number,
                      const analysis::OpRef &op) {
    if (!number || *number < kernel)
      return;
    if (*number > kernel) {
      *number += parts.size() - 1;
      return;
    }
    const auto *part = llvm::find_if(
        parts, [&](graph::FusionOp fusion) { return holds(fusion, op); });
    *number += part == parts.end() ? 0 : part - parts.begin();
  };
  // Parts of a shared launch keep what is fused inside of them.
  bool areOps = llvm::all_of(parts, [](graph::FusionOp part) {
    return llvm::hasSingleElement(part.getBody().front().without_terminator());
  });
  for (EdgeDecision &edge : decisions.edges) {
    bool wasHere = edge.fused && edge.producerKernel == kernel;
    renumber(edge.producerKernel, edge.producer);
    renumber(edge.consumerKernel, edge.consumer);
    if (wasHere && (areOps || edge.producerKernel != edge.consumerKernel)) {
      edge.fused = false;
      edge.refusal = why;
    }
  }
}

void fusion::recordApart(FusionDecisions &decisions, unsigned kernel,
                         ArrayRef<graph::FusionOp> apart,
                         const analysis::Refusal &why,
                         const TargetInfo &target) {
  analysis::FactTable facts;
  std::vector<KernelDecision> described;
  std::vector<PartDecision> &staying = decisions.kernels[kernel].parts;
  for (graph::FusionOp part : apart) {
    described.push_back(describeKernel(facts, part, target));
    described.back().alone = why;
    auto it = llvm::find_if(staying, [&](const PartDecision &other) {
      return other.loc == part.getLoc();
    });
    if (it != staying.end())
      staying.erase(it);
  }
  decisions.kernels.insert(decisions.kernels.begin() + kernel + 1,
                           described.begin(), described.end());
  auto renumber = [&](std::optional<unsigned> &number,
                      const analysis::OpRef &op) {
    if (!number || *number < kernel)
      return;
    if (*number > kernel) {
      *number += apart.size();
      return;
    }
    const auto *part = llvm::find_if(
        apart, [&](graph::FusionOp fusion) { return holds(fusion, op); });
    if (part != apart.end())
      *number += 1 + (part - apart.begin());
  };
  for (EdgeDecision &edge : decisions.edges) {
    renumber(edge.producerKernel, edge.producer);
    renumber(edge.consumerKernel, edge.consumer);
  }
}
