//===- Explanation.h - what a plan is, in plain facts -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The facts behind every output of `fusec explain` and the library's plan as
// JSON: plain numbers and text, no IR. Names come from the graph file and are
// not to be trusted by a writer.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SESSION_EXPLANATION_H
#define FUSEC_SESSION_EXPLANATION_H

#include "fusec/Runtime/Device.h"
#include "fusec/Session/Build.h"
#include "fusec/Session/Occupancy.h"

namespace fusec::session {

/// An op of the graph.
struct OpEntry {
  /// "reduce", without the dialect.
  std::string op;
  /// The node's name in an ONNX file, "file:line" in text, or empty.
  std::string place;
};

/// What the compiled code of a kernel needs.
struct KernelCode {
  uint32_t threads = 1;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  /// Bytes per block; static ones come with `resources`.
  uint32_t dynamicSharedBytes = 0;
  /// From the cubin; empty without one.
  std::optional<runtime::KernelResources> resources;
  std::optional<Occupancy> occupancy;
  /// User processor time of NVRTC for the kernel by itself, where it was asked.
  std::optional<double> compileMicroseconds;
};

/// One launch of the plan. Bytes are of one launch, times µs.
struct KernelEntry {
  /// "kernel3"; equal kernels share one.
  std::string entry;
  std::string kind;
  /// Who holds a row, where that is more than the registers of a block.
  std::string schedule;
  std::vector<OpEntry> ops;
  /// That of the plan, where the names are not known.
  size_t numOps = 0;
  unsigned inputs = 0, outputs = 0;
  /// Each element that is used, once.
  double minimumBytes = 0;
  /// What the blocks ask for, with halos and repeated reads.
  double movedBytes = 0;
  /// Multiply-adds count as two; other ops in the planner's instructions.
  double flops = 0;
  /// `minimumBytes` at the bandwidth.
  double floorMicroseconds = 0;
  /// The planner's estimate.
  double predictedMicroseconds = 0;
  std::optional<KernelCode> code;
  /// Where the schedule offered several candidates: how many, the one that was
  /// taken, and who chose it and why.
  unsigned numCandidates = 0;
  std::string choice, choiceWhy;
  /// What the vendor's library does in place of `choice`, where it is there.
  std::string vendor;
  /// Why its ops are not in the kernel that was planned for them, if so.
  std::string split;
  /// The independent regions that share this launch: "3 row of 1 ops".
  unsigned numParts = 1;
  std::string parts;
  /// Why it shares its launch with no other kernel: the reason's name and a
  /// sentence; empty where it does, or where that was not looked for.
  std::string aloneReason, aloneWhy;
};

/// An edge of the graph between two ops.
struct EdgeEntry {
  OpEntry producer, consumer;
  /// Positions in Explanation::kernels, where the op is in one.
  std::optional<unsigned> producerKernel, consumerKernel;
  bool fused = false;
  /// What fusing saves, or would at most.
  double microseconds = 0;
  /// For an edge that is not fused: the reason's name, a sentence, and the
  /// smallest change that would allow it.
  std::string reason, why, remedy;
};

/// Contractions of one operand: made one product, or not.
struct SiblingEntry {
  std::vector<OpEntry> members;
  bool merged = false;
  /// What merging saves or would; negative where it costs.
  double microseconds = 0;
  /// As of an edge, where they were not merged.
  std::string reason, why, remedy;
};

/// A plan, and what is known of its code and the machine.
struct Explanation {
  /// "sm_90a H200".
  std::string target;
  /// Bytes/s that floors are computed with, and where the number is from.
  double bandwidth = 0;
  bool bandwidthMeasured = false;
  std::string bandwidthSource;
  std::vector<KernelEntry> kernels;
  std::vector<EdgeEntry> edges;
  std::vector<SiblingEntry> siblings;
  FusionSummary summary;
  /// Why there is no code, if there is none: then it is a plan only.
  std::string failure;
  /// Why kernels have no resources, if they have none.
  std::string noResources;

  double floorMicroseconds() const;
  double predictedMicroseconds() const;
  /// Edges that are not fused, the most costly first.
  std::vector<const EdgeEntry *> refused() const;
};

/// What `compiled` is; floors at the bandwidth that the planner assumes. Reads
/// locations of the model's context.
Explanation explain(const Compiled &compiled, const TargetInfo &target);

/// The plan of a graph that has no code.
Explanation explain(const fusion::FusionDecisions &decisions,
                    const TargetInfo &target);

/// Sets the bandwidth and the floors that follow from it.
void setFloors(Explanation &explanation, double bandwidth, bool measured,
               std::string source);

/// The one schema of a plan (docs/tool.md, `explain`).
llvm::json::Object toJson(const Explanation &explanation);

} // namespace fusec::session

#endif // FUSEC_SESSION_EXPLANATION_H
