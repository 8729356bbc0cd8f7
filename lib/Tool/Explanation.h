//===- Explanation.h - what explain knows of a plan -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The facts behind every output of `fusec explain`: plain numbers and text, no
// IR. Names come from the graph file and are not to be trusted by a writer.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_EXPLANATION_H
#define FUSEC_LIB_TOOL_EXPLANATION_H

#include "Occupancy.h"
#include "Report.h"

namespace fusec::tool {

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
};

/// One launch of the plan. Bytes are of one launch, times µs.
struct KernelEntry {
  /// "kernel3"; equal kernels share one.
  std::string entry;
  std::string kind;
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

struct Explanation {
  /// "sm_90a H200".
  std::string target;
  /// Bytes/s that floors are computed with, and where the number is from.
  double bandwidth = 0;
  bool bandwidthMeasured = false;
  std::string bandwidthSource;
  std::vector<KernelEntry> kernels;
  std::vector<EdgeEntry> edges;
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

/// How to explain.
struct ExplainOptions {
  driver::CompileOptions compile;
  /// Look neither for NVRTC nor for a GPU: the same on every machine.
  bool planOnly = false;
  std::shared_ptr<runtime::DiskCache> cache = {};
  /// Told what is being done; may be empty.
  std::function<void(llvm::StringRef)> progress = {};
};

/// Plans `file` and compiles it as far as it goes: a plan without code is of
/// use too. Looks for a GPU of the wanted kind to measure its bandwidth.
llvm::Expected<Explanation> explainModel(const ModelFile &file,
                                         const Bindings &bindings,
                                         const ExplainOptions &options);

/// "add*2 exp".
std::string opList(llvm::ArrayRef<OpEntry> ops);

std::string toText(const Explanation &explanation);
llvm::json::Object toJson(const Explanation &explanation);
/// Text for Graphviz.
std::string toDot(const Explanation &explanation);
/// One page that needs no network. `title` is shown.
std::string toHtml(const Explanation &explanation, llvm::StringRef title);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_EXPLANATION_H
