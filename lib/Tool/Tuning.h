//===- Tuning.h - --tune and the tuning record ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_TUNING_H
#define FUSEC_LIB_TOOL_TUNING_H

#include "Options.h"
#include "fusec/Tune/Tune.h"

namespace fusec::tool {

/// --no-tuning-record.
OptionSpec recordOptionSpec();
/// --no-vendor.
OptionSpec vendorOptionSpec();
/// --tune --no-tuning-record --no-vendor.
std::vector<OptionSpec> tuneOptionSpecs();

/// Where they act: on targets with GPU kernels.
std::vector<Rule> tuneRules();

/// The tuning record that `arguments` and the environment ask for, beside the
/// compiled kernels of `cache`; null for none, and then why.
struct RecordOption {
  std::shared_ptr<const runtime::TuningRecord> record;
  std::string why;
};
RecordOption recordOption(const Arguments &arguments,
                          const runtime::DiskCache *cache);

/// Lets `options` choose by the record and, with --tune, first searches on the
/// device of `target` for the kernels of `module`, a copy of which is compiled.
/// What was found, if it searched. `target` null: nothing is open and --tune
/// not given. Fails (Usage) on --tune for a target without such kernels.
llvm::Expected<std::optional<tune::TuneReport>>
applyTuning(const Arguments &arguments, mlir::ModuleOp module,
            const Target *target, const runtime::DiskCache *cache,
            driver::CompileOptions &options);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_TUNING_H
