//===- FusionDecisions.h - what the planner decided and why -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The record behind `fusec explain` and the planner's remarks: one entry per
// producer-consumer edge, per set of sibling contractions and per kernel, in
// program order.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FUSION_FUSIONDECISIONS_H
#define FUSEC_FUSION_FUSIONDECISIONS_H

#include "fusec/Analysis/CostModel.h"
#include <vector>

namespace fusec::fusion {

/// One edge of the graph before fusing.
struct EdgeDecision {
  analysis::OpRef producer, consumer;
  bool fused = false;
  /// Kernels that hold the two, indices into FusionDecisions::kernels; none for
  /// an op that stays outside of kernels.
  std::optional<unsigned> producerKernel, consumerKernel;
  /// Why not, where `fused` is false.
  std::optional<analysis::Refusal> refusal;
  /// Time that fusing saves (fused) or would save at most (not fused): the
  /// launch and the traffic of the value, µs.
  double microseconds = 0;
};

/// One of the regions in a kernel of several.
struct PartDecision {
  mlir::Location loc;
  analysis::KernelKind kind = analysis::KernelKind::Pointwise;
  unsigned numOps = 0;
};

/// One kernel: of the plan, or of what runs in its place after `recordSplit`.
struct KernelDecision {
  mlir::Location loc;
  analysis::KernelKind kind = analysis::KernelKind::Pointwise;
  unsigned numOps = 0, numInputs = 0, numOutputs = 0;
  analysis::CostEstimate cost = {};
  /// Why the region that this op was planned in does not run as one kernel.
  std::optional<analysis::Refusal> split = std::nullopt;
  /// The parts of a Multi kernel or a Chain.
  std::vector<PartDecision> parts = {};
  /// Why it shares its launch with no other kernel; nothing for Multi, or where
  /// the plan was not asked to share launches.
  std::optional<analysis::Refusal> alone = std::nullopt;
};

/// Contractions of one operand: one product with the others joined, or not.
struct SiblingDecision {
  /// The contractions, in program order.
  std::vector<analysis::OpRef> members;
  bool merged = false;
  /// Why not, where `merged` is false.
  std::optional<analysis::Refusal> refusal;
  /// Time that merging saves or would save, µs; negative where it costs. 0
  /// where it was not estimated.
  double microseconds = 0;
};

/// All decisions about one function.
struct FusionDecisions {
  std::vector<KernelDecision> kernels;
  std::vector<EdgeDecision> edges;
  /// What mergeContractions decided before kernels were formed.
  std::vector<SiblingDecision> siblings;
  /// Ops in kernels beyond those of the graph: bounded recomputation.
  unsigned clonedOps = 0;
  /// Pairs of groups that were looked at, and groups that cycle searches
  /// visited: the work measures that must stay near-linear.
  uint64_t attempts = 0, visits = 0, analyzedOps = 0;

  /// Sum over kernels, µs.
  double estimatedMicroseconds() const {
    double sum = 0;
    for (const KernelDecision &kernel : kernels)
      sum += kernel.cost.total();
    return sum;
  }
};

} // namespace fusec::fusion

#endif // FUSEC_FUSION_FUSIONDECISIONS_H
