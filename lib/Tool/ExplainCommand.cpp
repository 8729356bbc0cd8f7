//===- ExplainCommand.cpp - fusec explain ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "Options.h"
#include "Report.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace fusec;
using namespace fusec::tool;
using fusion::EdgeDecision;
using llvm::json::Object;

static std::string opName(const analysis::OpRef &op) {
  return op.name ? op.name->getStringRef().str() : "op";
}

/// The source name of an op: for ONNX the node's.
static std::string place(const analysis::OpRef &op) {
  std::string text;
  if (op.loc)
    llvm::raw_string_ostream(text) << *op.loc;
  return text;
}

namespace {
/// What explain prints.
struct Explanation {
  /// Decisions speak of locations in its context.
  std::optional<Model> model;
  fusion::FusionDecisions decisions;
  /// Parallel to decisions.kernels if compilation went through, else empty.
  std::vector<driver::KernelSummary> kernels;
  FusionSummary summary;
  /// Why there is no code, if there is none.
  std::string failure;
};
} // namespace

static std::string opList(llvm::ArrayRef<std::string> ops) {
  llvm::MapVector<llvm::StringRef, unsigned> counts;
  for (llvm::StringRef op : ops)
    ++counts[op.starts_with("graph.") ? op.drop_front(6) : op];
  std::string text;
  for (auto [op, count] : counts)
    text += (text.empty() ? "" : " ") + op.str() +
            (count > 1 ? "*" + std::to_string(count) : "");
  return text;
}

/// Without fusion there are no decisions, only kernels.
static void printUnfused(const Explanation &e) {
  llvm::outs() << "kernels:\n";
  for (auto [i, kernel] : llvm::enumerate(e.kernels))
    llvm::outs() << llvm::format("  %3zu  %-11s %10s moved  %s\n", i,
                                 analysis::name(kernel.kind).str().c_str(),
                                 bytesText(kernel.bytes).c_str(),
                                 opList(kernel.ops).c_str());
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

/// The reasons why kernels share no launch, each with its kernels.
static void printAlone(const Explanation &e) {
  std::map<std::string, std::string> reasons;
  for (auto [i, kernel] : llvm::enumerate(e.decisions.kernels))
    if (kernel.alone)
      reasons[kernel.alone->sentence()] += " " + std::to_string(i);
  if (reasons.empty() || e.decisions.kernels.size() < 2)
    return;
  llvm::outs() << "\nkernels that share no launch:\n";
  for (const auto &[reason, kernels] : reasons)
    llvm::outs() << " " << kernels << ": " << reason << '\n';
}

static void printKernels(const Explanation &e) {
  if (e.decisions.kernels.empty())
    return printUnfused(e);
  llvm::raw_ostream &os = llvm::outs();
  os << "kernels (time is the planner's estimate):\n";
  for (auto [i, kernel] : llvm::enumerate(e.decisions.kernels)) {
    os << llvm::format("  %3zu  %-11s %4u ops  %10s read %10s written %9.2f us",
                       i, analysis::name(kernel.kind).str().c_str(),
                       kernel.numOps, bytesText(kernel.cost.readBytes).c_str(),
                       bytesText(kernel.cost.writtenBytes).c_str(),
                       kernel.cost.total());
    if (i < e.kernels.size())
      os << "  " << opList(e.kernels[i].ops);
    os << '\n';
    if (kernel.split)
      os << "       by itself: " << kernel.split->sentence() << '\n';
    if (!kernel.parts.empty())
      os << "       parts: " << partList(kernel.parts) << '\n';
  }
  os << llvm::format("  total %.2f us\n", e.decisions.estimatedMicroseconds());
}

static void printEdges(const Explanation &e) {
  llvm::raw_ostream &os = llvm::outs();
  llvm::SmallVector<const EdgeDecision *> refused;
  double saved = 0;
  unsigned fused = 0;
  for (const EdgeDecision &edge : e.decisions.edges) {
    if (edge.fused) {
      ++fused;
      saved += edge.microseconds;
    } else if (edge.refusal) {
      refused.push_back(&edge);
    }
  }
  llvm::sort(refused, [](const EdgeDecision *a, const EdgeDecision *b) {
    // Equal costs stay in program order.
    return std::pair(-a->microseconds, a) < std::pair(-b->microseconds, b);
  });
  os << llvm::format(
      "\n%u edges fused, saving about %.2f us; %zu not fused%s\n", fused, saved,
      refused.size(), refused.empty() ? "" : ", most costly first:");
  for (const EdgeDecision *edge : refused) {
    os << "  " << opName(edge->producer) << " -> " << opName(edge->consumer);
    if (edge->producerKernel && edge->consumerKernel)
      os << " (kernels " << *edge->producerKernel << " and "
         << *edge->consumerKernel << ")";
    os << llvm::format(", at most %.2f us", edge->microseconds)
       << "\n    why:  " << edge->refusal->sentence()
       << "\n    then: " << edge->refusal->remedy()
       << "\n    at:   " << place(edge->consumer) << '\n';
  }
}

static void printJson(const Explanation &e) {
  Object object = session::toJson(e.decisions, e.kernels);
  if (e.failure.empty())
    object["fusion"] = toJson(e.summary);
  else
    object["failure"] = jsonText(e.failure);
  tool::printJson(std::move(object));
}

/// Plans, and compiles as far as it goes: a plan without code is of use too.
static llvm::Expected<Explanation>
makeExplanation(const ModelFile &file, const Bindings &bindings,
                const driver::CompileOptions &options) {
  Explanation result;
  llvm::Expected<Model> model = file.load(bindings);
  if (!model)
    return model.takeError();
  llvm::Expected<Compiled> compiled = compileModel(*model, options, {});
  if (compiled) {
    result.decisions = std::move(compiled->compilation.decisions);
    result.kernels = std::move(compiled->compilation.kernels);
    result.summary = compiled->summary;
    result.model = std::move(*model);
    return result;
  }
  result.failure = llvm::toString(compiled.takeError());
  llvm::Expected<Model> again = file.load(bindings);
  if (!again)
    return again.takeError();
  if (llvm::Error error = driver::simplifyGraph(*again->module))
    return withCode(ExitCode::Unsupported, std::move(error));
  auto decisions = driver::planGraph(*again->module, options);
  if (!decisions)
    return withCode(ExitCode::Unsupported, decisions.takeError());
  result.decisions = std::move(*decisions);
  result.model = std::move(*again);
  return result;
}

static llvm::Expected<ExitCode> explain(const Arguments &arguments) {
  llvm::Expected<TargetInfo> info = targetInfo(arguments.value("arch"));
  if (!info)
    return info.takeError();
  auto options = parseCompileOptions(arguments, *info);
  if (!options)
    return options.takeError();
  llvm::Expected<Bindings> bindings = parseBindings(arguments);
  if (!bindings)
    return bindings.takeError();
  llvm::Expected<ModelFile> file = ModelFile::open(arguments.positionals[0]);
  if (!file)
    return file.takeError();
  llvm::Expected<Explanation> e = makeExplanation(*file, *bindings, *options);
  if (!e)
    return e.takeError();
  if (arguments.has("json")) {
    printJson(*e);
    return ExitCode::Ok;
  }
  if (e->failure.empty())
    llvm::outs() << toText(e->summary) << '\n';
  printKernels(*e);
  printEdges(*e);
  printAlone(*e);
  if (!e->failure.empty())
    llvm::outs() << "\nthis is a plan only, it has no code yet: " << e->failure
                 << '\n';
  return ExitCode::Ok;
}

CommandSpec fusec::tool::explainCommand() {
  return {"explain",
          "which ops became which kernel, and why others did not fuse",
          "MODEL [options]",
          "Shows the kernels of a graph, and for every edge that was not fused "
          "the reason,\nwhat it costs and the smallest change that would allow "
          "it. Needs no GPU.",
          concat({bindingOptionSpecs(),
                  compileOptionSpecs(),
                  {{"json", "", "report as JSON"}},
                  commonOptionSpecs()}),
          {{"fusec explain model.onnx --shape x=8x3x224x224",
            "the plan for an H200"},
           {"fusec explain model.onnx --arch=sm_80 --json",
            "the plan for an A100, for programs"}},
          1,
          1,
          {},
          explain};
}
