//===- BenchCommand.cpp - fusec bench -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Bandwidth.h"
#include "Benchmark.h"
#include "Commands.h"
#include "Explanation.h"
#include "Inputs.h"
#include "Like.h"
#include "Prepare.h"
#include "Progress.h"
#include "Tuning.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;
using llvm::json::Array;
using llvm::json::Object;

namespace {
/// One step of the program.
struct StepEntry {
  /// A kernel's entry, or "copy", "fill", "call while".
  std::string name;
  std::string ops;
  /// What runs in place of the kernel, if the vendor's library does.
  std::string vendor;
  std::optional<Times> times;
  /// Each element once.
  double bytes = 0;
  /// Not known for kernels of the host.
  std::optional<double> flops;
};

struct BenchReport {
  std::vector<StepEntry> steps;
  CallTimes calls;
  double bytes = 0;
  std::optional<double> flops;
  /// On a GPU only: bytes/s by copies.
  std::optional<double> bandwidth;
  std::optional<double> joules;
  std::string noEnergy;

  /// Sum of the medians, µs.
  double kernelMicroseconds() const {
    double sum = 0;
    for (const StepEntry &step : steps)
      if (step.times)
        sum += step.times->median;
    return sum;
  }
  /// The floor over `microseconds`; nothing without a bandwidth.
  std::optional<double> ofFloor(double bytes, double microseconds) const {
    if (!bandwidth || microseconds <= 0)
      return std::nullopt;
    return bytes / *bandwidth * 1e6 / microseconds;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// What the steps are
//===----------------------------------------------------------------------===//

/// The bytes of the buffers that a step names, each once.
static double bytesOf(const runtime::Program &program,
                      const runtime::Step &step) {
  std::vector<runtime::BufferRef> refs;
  auto add = [&](runtime::BufferRef ref) {
    if (!llvm::is_contained(refs, ref))
      refs.push_back(ref);
  };
  if (const auto *launch = std::get_if<runtime::Launch>(&step)) {
    for (const runtime::KernelArg &arg : launch->args) {
      if (const auto *ref = std::get_if<runtime::BufferRef>(&arg))
        add(*ref);
      if (const auto *table = std::get_if<runtime::TableArg>(&arg))
        for (const runtime::TableArg::Field &field : table->fields)
          if (const auto *ref = std::get_if<runtime::BufferRef>(&field))
            add(*ref);
      if (const auto *map = std::get_if<runtime::TensorMapArg>(&arg))
        add(map->buffer);
    }
  } else if (const auto *call = std::get_if<runtime::HostCall>(&step)) {
    llvm::for_each(call->args, add);
  } else if (const auto *copy = std::get_if<runtime::Copy>(&step)) {
    add(copy->from);
    add(copy->to);
  } else {
    add(std::get<runtime::Fill>(step).buffer);
  }
  double bytes = 0;
  for (runtime::BufferRef ref : refs)
    bytes += double(runtime::bufferBytes(program, ref));
  return bytes;
}

static std::string nameOf(const runtime::Program &program,
                          const runtime::Step &step) {
  if (const auto *launch = std::get_if<runtime::Launch>(&step))
    return program.kernels[launch->kernel].entry;
  if (const auto *call = std::get_if<runtime::HostCall>(&step))
    return "call " + call->what;
  return std::holds_alternative<runtime::Copy>(step) ? "copy" : "fill";
}

/// What is known of the steps before anything runs.
static void describeSteps(const Session &session, BenchReport &report) {
  const Compiled &compiled = *session.compiled();
  const runtime::Program &program = compiled.compilation.program;
  for (const runtime::Step &step : program.steps) {
    StepEntry entry;
    entry.name = nameOf(program, step);
    entry.bytes = bytesOf(program, step);
    entry.vendor = session.vendorOf(report.steps.size());
    report.steps.push_back(std::move(entry));
  }
  for (const driver::KernelSummary &summary : compiled.compilation.kernels) {
    StepEntry &entry = report.steps[summary.step];
    std::vector<OpEntry> ops;
    for (llvm::StringRef op : summary.ops)
      ops.push_back(
          {op.starts_with("graph.") ? op.drop_front(6).str() : op.str(), ""});
    entry.ops = opList(ops);
    entry.bytes = summary.cost.readBytes + summary.cost.writtenBytes;
    entry.flops = summary.cost.tensorFlops + summary.cost.instructions;
    report.flops = report.flops.value_or(0) + *entry.flops;
  }
  if (!report.flops)
    for (const auto &kernel : compiled.compilation.decisions.kernels)
      report.flops = report.flops.value_or(0) + kernel.cost.tensorFlops +
                     kernel.cost.instructions;
  for (const StepEntry &entry : report.steps)
    report.bytes += entry.bytes;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static std::string percentText(std::optional<double> fraction) {
  if (!fraction)
    return "-";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.0f %%", *fraction * 100);
  return text;
}

static std::string flopsText(std::optional<double> flops) {
  if (!flops)
    return "-";
  const char *units[] = {"", "k", "M", "G", "T"};
  double value = *flops;
  size_t unit = 0;
  for (; value >= 1000 && unit < 4; ++unit)
    value /= 1000;
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g %s", value, units[unit]);
  return text;
}

static void printTimes(llvm::StringRef what, const Times &times,
                       llvm::StringRef note) {
  llvm::outs() << llvm::format(
      "%-9s %.2f us median of %lld, p10 %.2f, p90 %.2f", what.str().c_str(),
      times.median, static_cast<long long>(times.count), times.p10, times.p90);
  llvm::outs() << "  (" << note << ")\n";
}

static void printSteps(const BenchReport &report) {
  llvm::raw_ostream &os = llvm::outs();
  bool gpu = report.bandwidth.has_value();
  os << "\n    #  kernel                  us       p10       p90      bytes    "
        " FLOP"
     << (gpu ? "     GB/s  of floor" : "     GB/s") << "  ops\n";
  for (auto [i, step] : llvm::enumerate(report.steps)) {
    if (!step.times)
      continue;
    double us = step.times->median;
    os << llvm::format(
        "  %3zu  %-18s %9.2f %9.2f %9.2f %10s %8s %8.1f", i, step.name.c_str(),
        us, step.times->p10, step.times->p90, bytesText(step.bytes).c_str(),
        flopsText(step.flops).c_str(), us > 0 ? step.bytes / us * 1e-3 : 0.0);
    if (gpu)
      os << llvm::format(" %9s",
                         percentText(report.ofFloor(step.bytes, us)).c_str());
    os << "  " << step.ops;
    if (!step.vendor.empty())
      os << ", by " << step.vendor;
    os << '\n';
  }
}

static void print(const Session &session, const Benchmark &bench,
                  const BenchReport &report) {
  llvm::raw_ostream &os = llvm::outs();
  os << "device:   " << session.target().device->info().name << '\n'
     << toText(session.compiled()->summary) << "buffers:  " << bench.numSets()
     << (bench.numSets() == 1 ? " set of " : " sets in turn, each of ")
     << bytesText(double(bench.setBytes())) << ", last-level cache "
     << (bench.cacheBytes() ? bytesText(double(bench.cacheBytes()))
                            : std::string("not known"))
     << '\n';
  printTimes("call:", report.calls.call, "host clock, until results are there");
  printTimes("device:", report.calls.device, "between events on the stream");
  double kernels = report.kernelMicroseconds();
  os << llvm::format("kernels:  %.2f us sum of medians, ", kernels)
     << bytesText(report.bytes) << ", " << flopsText(report.flops) << "FLOP\n";
  if (report.bandwidth)
    os << llvm::format("floor:    %.2f us at %.2f TB/s by copies; kernels are "
                       "at ",
                       report.bytes / *report.bandwidth * 1e6,
                       *report.bandwidth / 1e12)
       << percentText(report.ofFloor(report.bytes, kernels)) << " of it\n";
  if (std::string why = session.vendorProblem(); !why.empty())
    os << "vendor:   kernels run in its place: " << why << '\n';
  if (report.joules)
    os << llvm::format("energy:   %.4g mJ per call\n", *report.joules * 1e3);
  else
    os << "energy:   not measured: " << report.noEnergy << '\n';
  printSteps(report);
}

static llvm::json::Value optionalJson(std::optional<double> value) {
  return value ? llvm::json::Value(*value) : llvm::json::Value(nullptr);
}

static Object toJson(const Prepared &prepared, const Benchmark &bench,
                     const BenchReport &report) {
  Object object = headOf(prepared);
  object["buffers"] = Object{{"sets", int64_t(bench.numSets())},
                             {"set_bytes", int64_t(bench.setBytes())},
                             {"cache_bytes", int64_t(bench.cacheBytes())}};
  object["microseconds"] = toJson(report.calls.device);
  object["call_microseconds"] = toJson(report.calls.call);
  double sum = report.kernelMicroseconds();
  object["kernel_microseconds"] = sum;
  object["bytes"] = report.bytes;
  object["flops"] = optionalJson(report.flops);
  object["bandwidth"] = optionalJson(report.bandwidth);
  object["floor_fraction"] = optionalJson(report.ofFloor(report.bytes, sum));
  object["joules_per_call"] = optionalJson(report.joules);
  if (!report.joules)
    object["no_energy"] = jsonText(report.noEnergy);
  Array steps;
  for (auto [i, step] : llvm::enumerate(report.steps)) {
    if (!step.times)
      continue;
    Object entry{{"step", int64_t(i)},
                 {"name", jsonText(step.name)},
                 {"ops", jsonText(step.ops)},
                 {"microseconds", toJson(*step.times)},
                 {"bytes", step.bytes},
                 {"flops", optionalJson(step.flops)},
                 {"floor_fraction", optionalJson(report.ofFloor(
                                        step.bytes, step.times->median))}};
    if (!step.vendor.empty())
      entry["vendor"] = jsonText(step.vendor);
    steps.push_back(std::move(entry));
  }
  object["kernels"] = std::move(steps);
  return object;
}

//===----------------------------------------------------------------------===//
// The command
//===----------------------------------------------------------------------===//

/// A second lets the counter, which is updated some tens of times in it, tell
/// one part in a hundred.
static constexpr double kEnergySeconds = 1;

static llvm::Error measure(Benchmark &bench, const Session &session,
                           int64_t repeats, Progress &progress,
                           BenchReport &report) {
  auto show = [&](llvm::StringRef what) {
    return [&progress, what, repeats](int64_t done) {
      progress.show(what + ": " + llvm::Twine(done) + " of " +
                    llvm::Twine(repeats));
    };
  };
  auto calls =
      bench.timeCalls(repeats, std::min<int64_t>(repeats, 10), show("calls"));
  if (!calls)
    return calls.takeError();
  report.calls = *calls;
  auto steps = bench.timeSteps(repeats, show("kernels"));
  if (!steps)
    return steps.takeError();
  for (auto [entry, times] : llvm::zip(report.steps, *steps))
    entry.times = times;
  if (session.target().kind == TargetKind::Cuda) {
    auto bandwidth = measureBandwidth(session.target().device);
    if (!bandwidth)
      return bandwidth.takeError();
    report.bandwidth = bandwidth->bytesPerSecond;
  }
  progress.show("energy");
  if (auto joules = bench.energyPerCall(kEnergySeconds))
    report.joules = *joules;
  else
    report.noEnergy = llvm::toString(joules.takeError());
  return llvm::Error::success();
}

static llvm::Expected<ExitCode> bench(const Arguments &arguments) {
  llvm::Expected<int64_t> repeats =
      arguments.integer("repeat", 100, 1, 1'000'000);
  if (!repeats)
    return repeats.takeError();
  Progress progress(arguments);
  progress.show("compiling");
  llvm::Expected<Prepared> prepared = prepare(arguments);
  if (!prepared)
    return prepared.takeError();
  Session &session = *prepared->session;
  bool rotate = session.target().kind != TargetKind::Emulator;
  auto benchmark = session.benchmark(prepared->inputs, rotate);
  if (!benchmark)
    return benchmark.takeError();
  BenchReport report;
  describeSteps(session, report);
  llvm::Error error = measure(**benchmark, session, *repeats, progress, report);
  progress.clear();
  if (error)
    return withCode(ExitCode::Failed, std::move(error));
  if (arguments.has("json"))
    printJson(toJson(*prepared, **benchmark, report));
  else
    print(session, **benchmark, report);
  if (prepared->tuned && !arguments.has("json"))
    llvm::outs() << '\n' << tune::toText(*prepared->tuned);
  return ExitCode::Ok;
}

CommandSpec fusec::tool::benchCommand() {
  return {
      "bench",
      "times, bytes, floor and energy of a graph and its kernels",
      "MODEL [options]",
      "Measures whole calls and each kernel alone. Buffers are taken in turn "
      "from so many\nsets that data come from memory and not from the "
      "last-level cache. On a GPU also: how\nclose to the floor (minimum bytes "
      "at the bandwidth of copies), and energy by NVML.",
      concat<OptionSpec>(
          {{targetOptionSpec()},
           {{"repeat", "N",
             "runs to measure, after up to 10 that are not (default: 100)"}},
           inputOptionSpecs(),
           bindingOptionSpecs(),
           likeOptionSpecs(),
           tuneOptionSpecs(),
           compileOptionSpecs(),
           {{"json", "", "report as JSON (docs/tool.md has the schema)"}},
           commonOptionSpecs()}),
      {{"fusec bench softmax.mlir --target=host --repeat 20",
        "on the CPU; median, p10 and p90 of 20 runs"},
       {"fusec bench model.onnx --target=cuda", "of 100 runs on the GPU"},
       {"fusec bench model.onnx --target=cuda --fuse=off --json",
        "the same without fusion, for comparison"},
       {"fusec bench model.onnx --target=cuda --tune=60",
        "with the fastest kernels that a minute of search finds"}},
      1,
      1,
      {},
      bench,
      concat<Rule>({tuneRules(), compileOptionRules()})};
}
