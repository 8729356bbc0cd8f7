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
  for (EdgeDecision &edge : decisions.edges) {
    if (edge.fused && edge.producerKernel == kernel) {
      edge.fused = false;
      edge.refusal = why;
    }
    renumber(edge.producerKernel, edge.producer);
    renumber(edge.consumerKernel, edge.consumer);
  }
}
