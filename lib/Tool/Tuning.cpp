//===- Tuning.cpp - --tune and the tuning record --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Tuning.h"
#include "Progress.h"
#include "fusec/Tune/DeviceBench.h"
#include "llvm/Support/Format.h"

using namespace fusec;
using namespace fusec::tool;

/// Of --tune without a number.
static constexpr double kDefaultSeconds = 30;

OptionSpec fusec::tool::recordOptionSpec() {
  return {"no-tuning-record", "",
          "take the model's choices where --tune found others before"};
}

OptionSpec fusec::tool::vendorOptionSpec() {
  return {"no-vendor", "",
          "no products by cuBLASLt, which runs only where --tune finds or\n"
          "found it the fastest"};
}

std::vector<OptionSpec> fusec::tool::tuneOptionSpecs() {
  return {{"tune", "[SECONDS]",
           "time the candidates of each kernel on the device, for at\n"
           "most so long (default: 30), and keep what won for later "
           "runs\n(docs/tool.md)"},
          recordOptionSpec(),
          vendorOptionSpec()};
}

RecordOption fusec::tool::recordOption(const Arguments &arguments,
                                       const runtime::DiskCache *cache) {
  if (arguments.has("no-tuning-record"))
    return {nullptr, "--no-tuning-record was given"};
  if (!cache)
    return {nullptr, "there is no folder with a tuning record"};
  return {std::make_shared<runtime::TuningRecord>(cache->directory()), ""};
}

std::vector<Rule> fusec::tool::tuneRules() {
  return {{{"tune", "no-tuning-record", "no-vendor"},
           {absent("target", {"host", "reference"})},
           "choices are among GPU kernels",
           "--target=cuda or --target=emulator"}};
}

static std::string textOf(const tune::TuneProgress &progress) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "tuning " << progress.kernel + 1 << " of " << progress.numKernels
     << " kernels: " << progress.settled << " of " << progress.candidates
     << " candidates";
  if (progress.bestMicroseconds)
    os << llvm::format(", best %.2f us", *progress.bestMicroseconds);
  os << ", " << progress.title;
  return text;
}

static llvm::Expected<tune::TuneReport>
searchOn(const Arguments &arguments, mlir::ModuleOp module,
         const Target &target, const driver::CompileOptions &options,
         tune::RecordChooser &chooser, const tune::Machine &machine,
         const runtime::TuningRecord *record) {
  tune::TuneOptions search;
  llvm::StringRef seconds = arguments.value("tune");
  search.seconds = kDefaultSeconds;
  if (!seconds.empty()) {
    llvm::Expected<double> number = arguments.number("tune", kDefaultSeconds);
    if (!number)
      return number.takeError();
    search.seconds = *number;
  }
  search.vendor = !arguments.has("no-vendor");
  if (target.kind != TargetKind::Cuda && target.kind != TargetKind::Emulator)
    return toolError(ExitCode::Usage,
                     "--tune is for the kernels of a GPU, which " +
                         llvm::Twine(name(target.kind)) + " does not run",
                     "--target=cuda or --target=emulator");
  auto bench = tune::DeviceBench::create(target.device);
  if (!bench)
    return withCode(ExitCode::Failed, bench.takeError());
  Progress progress(arguments);
  search.progress = [&](const tune::TuneProgress &at) {
    progress.show(textOf(at));
  };
  progress.show("tuning: compiling candidates");
  auto report =
      tune::tune(module, options, **bench, chooser, machine, record, search);
  progress.clear();
  if (!report)
    return withCode(ExitCode::Unsupported, report.takeError());
  return report;
}

llvm::Expected<std::optional<tune::TuneReport>>
fusec::tool::applyTuning(const Arguments &arguments, mlir::ModuleOp module,
                         const Target *target, const runtime::DiskCache *cache,
                         driver::CompileOptions &options) {
  RecordOption option = recordOption(arguments, cache);
  tune::Machine machine =
      tune::machineOf(options.target, target ? target->device.get() : nullptr);
  bool useVendor = !arguments.has("no-vendor");
  auto chooser = std::make_shared<tune::RecordChooser>(option.record, machine,
                                                       option.why, useVendor);
  std::optional<tune::TuneReport> report;
  if (target && arguments.has("tune")) {
    // What is found is kept also where older findings are not wanted.
    std::optional<runtime::TuningRecord> record;
    if (cache)
      record.emplace(cache->directory());
    auto found = searchOn(arguments, module, *target, options, *chooser,
                          machine, record ? &*record : nullptr);
    if (!found)
      return found.takeError();
    report = std::move(*found);
  }
  if (useVendor)
    options.vendor = chooser;
  options.chooser = std::move(chooser);
  return report;
}
