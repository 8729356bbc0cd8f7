//===- Tuning.cpp - chosen kernels for the C API --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Tuning.h"
#include "fusec/Tune/DeviceBench.h"

#include <cmath>

using namespace fusec;
using namespace fusec::api;

fusec_error *api::readTuning(const fusec_compile_options &options,
                             bool canSearch, TuningRequest &request) {
  if (!std::isfinite(options.tune_seconds) || options.tune_seconds < 0)
    return makeError(FUSEC_INVALID_ARGUMENT,
                     "tune_seconds: expected a number of at least 0, found " +
                         std::to_string(options.tune_seconds));
  if (options.tune_seconds > 0 && !canSearch)
    return makeError(FUSEC_INVALID_ARGUMENT,
                     "tune_seconds: expected an opened CUDA device or emulator "
                     "and no 'like'");
  request = {options.tune_seconds, !options.no_tuning_record,
             !options.no_vendor};
  return nullptr;
}

/// Says which kernel is searched for, once for each.
static std::function<void(const tune::TuneProgress &)>
progressOf(const Settings &settings) {
  if (!settings.enabled(FUSEC_LOG_INFO))
    return {};
  return [&settings, last = SIZE_MAX](const tune::TuneProgress &at) mutable {
    if (std::exchange(last, at.kernel) != at.kernel)
      settings.say(FUSEC_LOG_INFO,
                   "tuning " + llvm::Twine(at.kernel + 1) + " of " +
                       llvm::Twine(at.numKernels) + " kernels, " +
                       llvm::Twine(at.candidates) + " candidates: " + at.title);
  };
}

fusec_error *api::chooseKernels(const Settings &settings,
                                const DeviceData *device, mlir::ModuleOp module,
                                const TuningRequest &request,
                                driver::CompileOptions &options,
                                std::optional<tune::TuneReport> &report) {
  std::shared_ptr<const runtime::TuningRecord> record;
  if (settings.cache)
    record =
        std::make_shared<runtime::TuningRecord>(settings.cache->directory());
  runtime::Device *open = device ? device->target.device.get() : nullptr;
  tune::Machine machine = tune::machineOf(options.target, open);
  auto chooser = std::make_shared<tune::RecordChooser>(
      request.useRecord ? record : nullptr, machine,
      request.useRecord ? "there is no folder with a tuning record"
                        : "no_tuning_record is set",
      request.useVendor);
  if (request.seconds > 0) {
    auto bench = tune::DeviceBench::create(device->target.device);
    if (!bench)
      return toError(bench.takeError(), FUSEC_FAILED);
    tune::TuneOptions search{request.seconds, request.useVendor,
                             progressOf(settings)};
    auto found = tune::tune(module, options, **bench, *chooser, machine,
                            record.get(), search);
    if (!found)
      return toError(found.takeError(), FUSEC_UNSUPPORTED);
    if (!found->notKept.empty())
      settings.say(FUSEC_LOG_WARNING, found->notKept);
    report = std::move(*found);
  }
  if (request.useVendor)
    options.vendor = chooser;
  options.chooser = std::move(chooser);
  return nullptr;
}
