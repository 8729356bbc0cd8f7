//===- Tuning.h - chosen kernels for the C API ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_API_TUNING_H
#define FUSEC_LIB_API_TUNING_H

#include "Objects.h"
#include "fusec/Tune/Tune.h"

namespace fusec::api {

/// What the caller wants of tuning.
struct TuningRequest {
  /// 0: no search.
  double seconds = 0;
  bool useRecord = true;
  bool useVendor = true;
};

/// Checks the fields; `canSearch` says whether there is a device with kernels
/// and nothing that they are taken from.
fusec_error *readTuning(const fusec_compile_options &options, bool canSearch,
                        TuningRequest &request);

/// Lets `options` choose by the record in the settings' cache folder, after a
/// search on `device` (null if only compiled) where the request wants one.
/// `module` is copied; its context is locked by the caller.
fusec_error *chooseKernels(const Settings &settings, const DeviceData *device,
                           mlir::ModuleOp module, const TuningRequest &request,
                           driver::CompileOptions &options,
                           std::optional<tune::TuneReport> &report);

} // namespace fusec::api

#endif // FUSEC_LIB_API_TUNING_H
