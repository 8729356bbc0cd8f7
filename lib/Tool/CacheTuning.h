//===- CacheTuning.h - fusec cache tuning -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_CACHETUNING_H
#define FUSEC_LIB_TOOL_CACHETUNING_H

#include "Arguments.h"

namespace fusec::tool {

/// --import --clear, which are for the action "tuning" alone.
std::vector<OptionSpec> cacheTuningOptionSpecs();

/// Fails (Usage) if one of them is given for another action.
llvm::Error checkCacheTuning(const Arguments &arguments,
                             llvm::StringRef action);

/// Lists the tuning record in `directory`, adds to it from a file, or removes
/// it. Damaged files are removed and give WrongResult.
llvm::Expected<ExitCode> cacheTuning(const Arguments &arguments,
                                     const std::string &directory);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_CACHETUNING_H
