//===- Compile.cpp - from a graph to an executable ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Device.h"
#include "Tuning.h"
#include "fusec/Session/Explanation.h"
#include "llvm/Support/Format.h"

#include <chrono>

using namespace fusec;
using namespace fusec::api;
using session::TargetKind;

namespace {
/// A checked request.
struct Request {
  driver::CompileOptions compile;
  TargetKind kind = TargetKind::Cuda;
  /// Null if only compiled.
  std::shared_ptr<const DeviceData> device;
  /// Whose decisions to take; null if none.
  const ExecutableData *like = nullptr;
  TuningRequest tuning;
};
} // namespace

static fusec_error *invalid(const llvm::Twine &message) {
  return makeError(FUSEC_INVALID_ARGUMENT, message);
}

/// The preset of a compute capability; nothing for 0.
static fusec_error *readMachine(int32_t capability,
                                std::optional<TargetInfo> &machine) {
  if (capability == 0)
    return nullptr;
  if (capability == 80)
    machine = TargetInfo::a100();
  else if (capability == 90)
    machine = TargetInfo::h200();
  else
    return makeError(FUSEC_UNSUPPORTED,
                     "compute_capability: expected 0, 80 or 90, found " +
                         llvm::Twine(capability));
  return nullptr;
}

/// Picks or opens the device and what to plan for.
static fusec_error *readDevice(const GraphData &graph,
                               const fusec_compile_options &options,
                               Request &request) {
  std::optional<TargetInfo> machine;
  if (fusec_error *error = readMachine(options.compute_capability, machine))
    return error;
  if (options.compile_only) {
    if (options.target < FUSEC_TARGET_AUTO ||
        options.target > FUSEC_TARGET_REFERENCE)
      return invalid("target: expected 0 to 4, found " +
                     llvm::Twine(options.target));
    if (options.target != FUSEC_TARGET_AUTO)
      request.kind = static_cast<TargetKind>(options.target - 1);
    request.compile.target = machine.value_or(TargetInfo::h200());
    return nullptr;
  }
  if (options.device)
    request.device = options.device->data;
  else if (fusec_error *error =
               openDevice(graph.settings, options.target, options.ordinal,
                          machine, request.device))
    return error;
  const session::Target &target = request.device->target;
  request.kind = target.kind;
  request.compile.target = machine.value_or(target.info);
  unsigned capability = target.device->info().computeCapability;
  if (machine && target.kind == TargetKind::Cuda &&
      machine->computeCapability > capability)
    return invalid("compute_capability: expected at most the device's " +
                   llvm::Twine(capability) + ", found " +
                   llvm::Twine(machine->computeCapability));
  return nullptr;
}

static bool hasKernels(TargetKind kind) {
  return kind == TargetKind::Cuda || kind == TargetKind::Emulator;
}

/// Checks that the decisions of `like` are for what is compiled for.
static fusec_error *readLike(const fusec_compile_options &options,
                             Request &request) {
  if (!options.like)
    return nullptr;
  const ExecutableData &like = *options.like->data;
  if (!hasKernels(request.kind) || !like.decisions)
    return invalid("like: expected an executable with GPU kernels and a target "
                   "that runs them");
  if (like.machine.computeCapability !=
      request.compile.target.computeCapability)
    return invalid("like: expected compute capability " +
                   llvm::Twine(request.compile.target.computeCapability) +
                   ", found " + llvm::Twine(like.machine.computeCapability));
  request.like = &like;
  return nullptr;
}

static fusec_error *readRequest(const GraphData &graph,
                                const fusec_compile_options *options,
                                Request &request) {
  fusec_compile_options known;
  if (fusec_error *error =
          readStruct(options, FUSEC_END_OF(fusec_compile_options, compile_only),
                     "fusec_compile_options", known))
    return error;
  if (known.numerics != FUSEC_NUMERICS_DEFAULT &&
      known.numerics != FUSEC_NUMERICS_EXACT)
    return invalid("numerics: expected 0 or 1, found " +
                   llvm::Twine(known.numerics));
  if (known.fusion != FUSEC_FUSION_ON && known.fusion != FUSEC_FUSION_OFF)
    return invalid("fusion: expected 0 or 1, found " +
                   llvm::Twine(known.fusion));
  request.compile.numerics = known.numerics == FUSEC_NUMERICS_EXACT
                                 ? NumericsMode::Exact
                                 : NumericsMode::Default;
  request.compile.batchInvariant = known.batch_invariant != 0;
  request.compile.fuse = known.fusion == FUSEC_FUSION_ON;
  if (fusec_error *error = readDevice(graph, known, request))
    return error;
  if (fusec_error *error = readLike(known, request))
    return error;
  return readTuning(known,
                    request.device && hasKernels(request.kind) && !request.like,
                    request.tuning);
}

/// What the kernels of the program are, by position.
static std::vector<KernelDescription>
describeKernels(const runtime::Program &program,
                llvm::ArrayRef<driver::KernelSummary> summaries) {
  std::vector<KernelDescription> kernels(program.kernels.size());
  for (const runtime::Step &step : program.steps)
    if (const auto *launch = std::get_if<runtime::Launch>(&step))
      ++kernels[launch->kernel].launches;
  for (const driver::KernelSummary &summary : summaries) {
    KernelDescription &kernel = kernels[summary.kernel];
    if (kernel.bytes >= 0)
      continue;
    kernel.bytes = summary.bytes;
    kernel.ops = summary.ops;
    for (const std::string &op : kernel.ops)
      kernel.opPointers.push_back(op.c_str());
  }
  return kernels;
}

static std::string
planText(const session::Compiled &compiled, const TargetInfo &target,
         const std::optional<tune::TuneReport> &tuned = std::nullopt) {
  llvm::json::Object object =
      session::toJson(session::explain(compiled, target));
  if (compiled.followed)
    object["like"] = session::toJson(*compiled.followed);
  if (tuned)
    object["tuning"] = tune::toJson(*tuned);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  return text;
}

/// A plan in the context of `graph`.
static std::shared_ptr<driver::Plan>
makePlan(const std::shared_ptr<const GraphData> &graph) {
  return {new driver::Plan, [graph](driver::Plan *plan) {
            GraphLock lock(*graph);
            delete plan;
          }};
}

/// Compiles a copy of the graph's module. The copy lives in the graph's
/// context, which is locked meanwhile.
static fusec_error *
compileProgram(const std::shared_ptr<const GraphData> &shared,
               const Request &request, session::Compiled &result,
               ExecutableData &executable) {
  const GraphData &graph = *shared;
  std::shared_ptr<driver::Plan> plan;
  if (request.like) {
    executable.source = request.like->source;
    executable.decisions = request.like->decisions;
  } else if (hasKernels(request.kind)) {
    executable.source = shared;
    executable.decisions = plan = makePlan(shared);
  }
  GraphPairLock lock(graph, executable.source ? *executable.source : graph);
  if (fusec_error *error = lock.check())
    return error;
  if (request.kind == TargetKind::Reference) {
    auto copy = session::cloneModel(*graph.model);
    if (!copy)
      return toError(copy.takeError(), FUSEC_FAILED);
    auto program = session::referenceProgram(std::move(*copy));
    if (!program)
      return toError(program.takeError(), FUSEC_UNSUPPORTED);
    result.compilation.program = std::move(*program);
    executable.plan = planText(result, request.compile.target);
    return nullptr;
  }
  session::Model model;
  mlir::ModuleOp original = *graph.model->module;
  model.module = original.clone();
  driver::CompileOptions options = request.compile;
  std::optional<tune::TuneReport> tuned;
  if (hasKernels(request.kind) && !request.like)
    if (fusec_error *error =
            chooseKernels(*graph.settings, request.device.get(), original,
                          request.tuning, options, tuned))
      return error;
  auto compiled =
      request.kind == TargetKind::Host ? session::compileForHost(model, options)
      : request.like
          ? session::compileModelLike(model, *request.like->decisions, {})
          : session::compileModel(model, options, {}, plan.get());
  if (!compiled)
    return toError(compiled.takeError(), FUSEC_UNSUPPORTED);
  // Decisions speak of the context: they become text under its lock.
  executable.plan = planText(*compiled, options.target, tuned);
  result = std::move(*compiled);
  result.compilation.decisions = {};
  return nullptr;
}

static fusec_error *load(runtime::Program program, ExecutableData &executable) {
  if (!executable.device) {
    executable.unloaded = std::move(program);
    return nullptr;
  }
  auto loaded = runtime::Executable::create(std::move(program),
                                            executable.device->target.device);
  if (!loaded)
    return toError(loaded.takeError(), FUSEC_FAILED);
  executable.loaded = std::move(*loaded);
  if (const std::string &why = executable.loaded->vendorProblem(); !why.empty())
    executable.settings->say(FUSEC_LOG_WARNING,
                             "kernels run in place of the vendor's library: " +
                                 llvm::Twine(why));
  return nullptr;
}

static fusec_error *compileGraph(const std::shared_ptr<const GraphData> &shared,
                                 const Request &request,
                                 fusec_executable **result) {
  const GraphData &graph = *shared;
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  auto executable = std::make_shared<ExecutableData>();
  executable->settings = graph.settings;
  executable->kind = request.kind;
  executable->machine = request.compile.target;
  executable->device = request.device;
  session::Compiled compiled;
  if (fusec_error *error =
          compileProgram(shared, request, compiled, *executable))
    return error;
  executable->inputs = describe(compiled.compilation.program.inputs);
  executable->outputs = describe(compiled.compilation.program.outputs);
  executable->kernels = describeKernels(compiled.compilation.program,
                                        compiled.compilation.kernels);
  if (fusec_error *error =
          load(std::move(compiled.compilation.program), *executable))
    return error;
  std::chrono::duration<double, std::milli> took = Clock::now() - begin;
  if (graph.settings->enabled(FUSEC_LOG_INFO))
    graph.settings->say(
        FUSEC_LOG_INFO,
        "compiled " + session::quoted(graph.name) + " for " +
            session::name(request.kind) + ": " +
            llvm::Twine(compiled.summary.opsBefore) + " ops, " +
            llvm::Twine(compiled.summary.launches) + " launches of " +
            llvm::Twine(executable->kernels.size()) + " kernels, " +
            llvm::Twine(int64_t(took.count())) + " ms");
  *result = new fusec_executable{std::move(executable)};
  return nullptr;
}

fusec_error *fusec_compile(const fusec_graph *graph,
                           const fusec_compile_options *options,
                           fusec_executable **result) {
  return guard([&]() -> fusec_error * {
    if (fusec_error *error = requireNotNull(graph, "graph"))
      return error;
    if (fusec_error *error = requireNotNull(result, "result"))
      return error;
    if (!graph->data->model)
      return invalid(session::quoted(graph->data->name) +
                     " has open dimensions: bind them first");
    Request request;
    if (fusec_error *error = readRequest(*graph->data, options, request))
      return error;
    return compileGraph(graph->data, request, result);
  });
}

void fusec_executable_free(fusec_executable *executable) { delete executable; }
