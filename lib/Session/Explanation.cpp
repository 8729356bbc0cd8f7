//===- Explanation.cpp - what a plan is, in plain facts -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Session/Explanation.h"
#include "mlir/IR/Location.h"
#include <map>

using namespace fusec;
using namespace fusec::session;
using runtime::Launch;

double Explanation::floorMicroseconds() const {
  double sum = 0;
  for (const KernelEntry &kernel : kernels)
    sum += kernel.floorMicroseconds;
  return sum;
}

double Explanation::predictedMicroseconds() const {
  double sum = 0;
  for (const KernelEntry &kernel : kernels)
    sum += kernel.predictedMicroseconds;
  return sum;
}

std::vector<const EdgeEntry *> Explanation::refused() const {
  std::vector<const EdgeEntry *> result;
  for (const EdgeEntry &edge : edges)
    if (!edge.fused)
      result.push_back(&edge);
  // Equal costs stay in program order.
  llvm::sort(result, [](const EdgeEntry *a, const EdgeEntry *b) {
    return std::pair(-a->microseconds, a) < std::pair(-b->microseconds, b);
  });
  return result;
}

//===----------------------------------------------------------------------===//
// From decisions
//===----------------------------------------------------------------------===//

static std::string shortName(llvm::StringRef op) {
  op.consume_front("graph.");
  return op.str();
}

/// Where the graph file has the op: the name of its node or a place in text.
static std::string placeOf(const analysis::OpRef &op) {
  if (!op.loc)
    return "";
  if (auto name = (*op.loc)->findInstanceOf<mlir::NameLoc>())
    return name.getName().str();
  if (auto place = (*op.loc)->findInstanceOf<mlir::FileLineColLoc>())
    return place.getFilename().str() + ":" + std::to_string(place.getLine());
  return "";
}

static OpEntry entryOf(const analysis::OpRef &op) {
  return {op.name ? shortName(op.name->getStringRef()) : "op", placeOf(op)};
}

static void setCost(KernelEntry &entry, const analysis::CostEstimate &cost) {
  entry.minimumBytes = cost.readBytes + cost.writtenBytes;
  entry.movedBytes = entry.minimumBytes;
  entry.flops = cost.tensorFlops + cost.instructions;
  entry.predictedMicroseconds = cost.total();
}

/// A kernel that has code.
static KernelEntry entryOf(const driver::KernelSummary &summary,
                           const runtime::Program &program) {
  KernelEntry entry;
  entry.entry = program.kernels[summary.kernel].entry;
  entry.kind = analysis::name(summary.kind).str();
  entry.schedule = summary.schedule;
  for (auto [op, place] : llvm::zip(summary.ops, summary.places))
    entry.ops.push_back({shortName(op), place});
  entry.numOps = entry.ops.size();
  entry.inputs = summary.inputs;
  entry.outputs = summary.outputs;
  setCost(entry, summary.cost);
  entry.movedBytes = summary.requestedBytes;
  const auto &launch = std::get<Launch>(program.steps[summary.step]);
  KernelCode code;
  code.threads = program.kernels[summary.kernel].threads;
  code.grid = launch.grid;
  code.dynamicSharedBytes = launch.dynamicSharedBytes;
  entry.code = code;
  if (summary.decision) {
    const ScheduleQuestion &question = summary.decision->question;
    const ScheduleAnswer &answer = summary.decision->answer;
    entry.numCandidates = question.candidates.size();
    entry.choice = question.candidates[answer.candidate].name;
    entry.choiceWhy = answer.why;
    if (const auto &vendor = summary.decision->vendor)
      entry.vendor = vendor->name;
  }
  return entry;
}

static KernelEntry entryOf(const fusion::KernelDecision &decision) {
  KernelEntry entry;
  entry.kind = analysis::name(decision.kind).str();
  entry.numOps = decision.numOps;
  entry.inputs = decision.numInputs;
  entry.outputs = decision.numOutputs;
  setCost(entry, decision.cost);
  return entry;
}

static EdgeEntry entryOf(const fusion::EdgeDecision &decision) {
  EdgeEntry entry;
  entry.producer = entryOf(decision.producer);
  entry.consumer = entryOf(decision.consumer);
  entry.fused = decision.fused;
  entry.microseconds = decision.microseconds;
  entry.producerKernel = decision.producerKernel;
  entry.consumerKernel = decision.consumerKernel;
  if (decision.refusal) {
    entry.reason = analysis::name(decision.refusal->reason).str();
    entry.why = decision.refusal->sentence();
    entry.remedy = decision.refusal->remedy();
  } else if (!decision.fused) {
    entry.reason = "OutsideKernels";
    entry.why = "one of the two is not in a kernel";
    entry.remedy = "none in this version: control flow runs op by op";
  }
  return entry;
}

/// "100 pointwise of 15 ops, 1 row of 3 ops".
static std::string partList(llvm::ArrayRef<fusion::PartDecision> parts) {
  std::map<std::string, unsigned> counts;
  for (const fusion::PartDecision &part : parts)
    ++counts[analysis::name(part.kind).str() + " of " +
             std::to_string(part.numOps) + " ops"];
  std::string text;
  for (const auto &[part, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + part;
  return text;
}

static void addDecision(KernelEntry &entry,
                        const fusion::KernelDecision &decision) {
  if (decision.split)
    entry.split = decision.split->sentence();
  if (!decision.parts.empty()) {
    entry.numParts = decision.parts.size();
    entry.parts = partList(decision.parts);
  }
  if (decision.alone) {
    entry.aloneReason = analysis::name(decision.alone->reason).str();
    entry.aloneWhy = decision.alone->sentence();
  }
}

static SiblingEntry entryOf(const fusion::SiblingDecision &decision) {
  SiblingEntry entry;
  for (const analysis::OpRef &member : decision.members)
    entry.members.push_back(entryOf(member));
  entry.merged = decision.merged;
  entry.microseconds = decision.microseconds;
  if (decision.refusal) {
    entry.reason = analysis::name(decision.refusal->reason).str();
    entry.why = decision.refusal->sentence();
    entry.remedy = decision.refusal->remedy();
  }
  return entry;
}

/// Edges and sets of siblings, and what befell kernels after planning.
static void addDecisions(Explanation &result,
                         const fusion::FusionDecisions &decisions) {
  for (auto [entry, decision] : llvm::zip(result.kernels, decisions.kernels))
    addDecision(entry, decision);
  for (const fusion::EdgeDecision &edge : decisions.edges)
    result.edges.push_back(entryOf(edge));
  for (const fusion::SiblingDecision &siblings : decisions.siblings)
    result.siblings.push_back(entryOf(siblings));
}

static Explanation forTarget(const TargetInfo &target) {
  Explanation result;
  result.target = target.name.str();
  return result;
}

static void assumeFloors(Explanation &explanation, const TargetInfo &target) {
  setFloors(explanation, target.memoryBandwidth, /*measured=*/false,
            "assumed for " + target.name.str());
}

Explanation session::explain(const Compiled &compiled,
                             const TargetInfo &target) {
  Explanation result = forTarget(target);
  const driver::Compilation &compilation = compiled.compilation;
  for (const driver::KernelSummary &summary : compilation.kernels)
    result.kernels.push_back(entryOf(summary, compilation.program));
  // The host says of its kernels only what was planned.
  if (compilation.kernels.empty())
    for (const fusion::KernelDecision &kernel : compilation.decisions.kernels)
      result.kernels.push_back(entryOf(kernel));
  addDecisions(result, compilation.decisions);
  result.summary = compiled.summary;
  assumeFloors(result, target);
  return result;
}

Explanation session::explain(const fusion::FusionDecisions &decisions,
                             const TargetInfo &target) {
  Explanation result = forTarget(target);
  for (const fusion::KernelDecision &kernel : decisions.kernels)
    result.kernels.push_back(entryOf(kernel));
  addDecisions(result, decisions);
  assumeFloors(result, target);
  return result;
}

void session::setFloors(Explanation &explanation, double bandwidth,
                        bool measured, std::string source) {
  explanation.bandwidth = bandwidth;
  explanation.bandwidthMeasured = measured;
  explanation.bandwidthSource = std::move(source);
  for (KernelEntry &kernel : explanation.kernels)
    kernel.floorMicroseconds = kernel.minimumBytes / bandwidth * 1e6;
}
