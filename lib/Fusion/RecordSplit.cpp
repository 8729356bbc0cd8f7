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

/// Numbers the kernels anew after one gave way to `parts`: those behind it move
/// up by `added`, and an end of an edge in it follows its op, to `first` + i if
/// part i holds it. Ops of equal name and place (a composite's) count as one:
/// the first.
static void renumber(std::optional<unsigned> &number, const analysis::OpRef &op,
                     unsigned kernel, ArrayRef<graph::FusionOp> parts,
                     unsigned first, unsigned added) {
  if (!number || *number < kernel)
    return;
  if (*number > kernel) {
    *number += added;
    return;
  }
  const auto *part = llvm::find_if(
      parts, [&](graph::FusionOp fusion) { return holds(fusion, op); });
  if (part != parts.end())
    *number = first + (part - parts.begin());
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
  // Parts of a shared launch keep what is fused inside of them.
  bool areOps = llvm::all_of(parts, [](graph::FusionOp part) {
    return llvm::hasSingleElement(part.getBody().front().without_terminator());
  });
  for (EdgeDecision &edge : decisions.edges) {
    bool wasHere = edge.fused && edge.producerKernel == kernel;
    unsigned added = parts.size() - 1;
    renumber(edge.producerKernel, edge.producer, kernel, parts, kernel, added);
    renumber(edge.consumerKernel, edge.consumer, kernel, parts, kernel, added);
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
  for (EdgeDecision &edge : decisions.edges) {
    unsigned added = apart.size(), first = kernel + 1;
    renumber(edge.producerKernel, edge.producer, kernel, apart, first, added);
    renumber(edge.consumerKernel, edge.consumer, kernel, apart, first, added);
  }
}
