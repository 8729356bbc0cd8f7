//===- Explanation.cpp - what explain knows of a plan ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Explanation.h"
#include "Bandwidth.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace fusec;
using namespace fusec::tool;
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

std::string fusec::tool::opList(llvm::ArrayRef<OpEntry> ops) {
  llvm::MapVector<llvm::StringRef, unsigned> counts;
  for (const OpEntry &entry : ops)
    ++counts[entry.op];
  std::string text;
  for (auto [op, count] : counts)
    text += (text.empty() ? "" : " ") + op.str() +
            (count > 1 ? "*" + std::to_string(count) : "");
  return text;
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

/// Edges, and what befell kernels after planning.
static void addDecisions(Explanation &result,
                         const fusion::FusionDecisions &decisions) {
  for (auto [entry, decision] : llvm::zip(result.kernels, decisions.kernels))
    addDecision(entry, decision);
  for (const fusion::EdgeDecision &edge : decisions.edges)
    result.edges.push_back(entryOf(edge));
}

static void addCompiled(Explanation &result, const Compiled &compiled) {
  const driver::Compilation &compilation = compiled.compilation;
  for (const driver::KernelSummary &summary : compilation.kernels)
    result.kernels.push_back(entryOf(summary, compilation.program));
  addDecisions(result, compilation.decisions);
  result.summary = compiled.summary;
}

/// The plan of a graph that does not compile.
static llvm::Error addPlan(Explanation &result, const ModelFile &file,
                           const Bindings &bindings,
                           const driver::CompileOptions &options) {
  llvm::Expected<Model> model = file.load(bindings);
  if (!model)
    return model.takeError();
  if (llvm::Error error = driver::simplifyGraph(*model->module))
    return withCode(ExitCode::Unsupported, std::move(error));
  auto decisions = driver::planGraph(*model->module, options);
  if (!decisions)
    return withCode(ExitCode::Unsupported, decisions.takeError());
  for (const fusion::KernelDecision &kernel : decisions->kernels)
    result.kernels.push_back(entryOf(kernel));
  addDecisions(result, *decisions);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// From the machine
//===----------------------------------------------------------------------===//

/// Compiles the kernels to cubins and reads what they need.
static llvm::Error addResources(Explanation &result,
                                const driver::Compilation &compilation,
                                const ExplainOptions &options) {
  auto nvrtc = runtime::Nvrtc::open();
  if (!nvrtc)
    return nvrtc.takeError();
  const TargetInfo &target = options.compile.target;
  runtime::NvrtcCompiler compiler(*nvrtc, nvrtcOptions(target), options.cache);
  auto kernels = compiler.compileAll(compilation.program.kernels);
  if (!kernels)
    return kernels.takeError();
  for (auto [entry, summary] : llvm::zip(result.kernels, compilation.kernels)) {
    KernelCode &code = *entry.code;
    code.resources = (*kernels)[summary.kernel].resources;
    if (code.resources->registers)
      code.occupancy =
          occupancy(target, code.threads, *code.resources->registers,
                    code.dynamicSharedBytes +
                        code.resources->staticSharedBytes.value_or(0));
  }
  return llvm::Error::success();
}

/// Measures where there is a GPU of the kind that was planned for, and
/// otherwise takes what the planner assumes.
static void addFloors(Explanation &result, const TargetInfo &target,
                      bool measure) {
  result.bandwidth = target.memoryBandwidth;
  result.bandwidthSource = "assumed for " + target.name.str();
  if (measure) {
    if (auto measured = measureBandwidth(target.computeCapability)) {
      result.bandwidth = measured->bytesPerSecond;
      result.bandwidthMeasured = true;
      result.bandwidthSource = "measured by copies on " + measured->device;
    } else {
      llvm::consumeError(measured.takeError());
    }
  }
  for (KernelEntry &kernel : result.kernels)
    kernel.floorMicroseconds = kernel.minimumBytes / result.bandwidth * 1e6;
}

llvm::Expected<Explanation>
fusec::tool::explainModel(const ModelFile &file, const Bindings &bindings,
                          const ExplainOptions &options) {
  auto progress = [&](llvm::StringRef text) {
    if (options.progress)
      options.progress(text);
  };
  progress("planning");
  Explanation result;
  result.target = options.compile.target.name.str();
  llvm::Expected<Model> model = file.load(bindings);
  if (!model)
    return model.takeError();
  llvm::Expected<Compiled> compiled = compileModel(*model, options.compile, {});
  if (!compiled) {
    result.failure = llvm::toString(compiled.takeError());
    result.noResources = "there is no code";
    if (llvm::Error error = addPlan(result, file, bindings, options.compile))
      return error;
  } else {
    addCompiled(result, *compiled);
    progress("compiling " +
             std::to_string(compiled->compilation.program.kernels.size()) +
             " kernels");
    if (options.planOnly)
      result.noResources = "--plan-only was given";
    else if (llvm::Error error =
                 addResources(result, compiled->compilation, options))
      result.noResources = llvm::toString(std::move(error));
  }
  addFloors(result, options.compile.target, !options.planOnly);
  return result;
}
