//===- Target.h - what --target and --arch name -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_TARGET_H
#define FUSEC_LIB_TOOL_TARGET_H

#include "ToolError.h"
#include "fusec/Session/Target.h"

namespace fusec::tool {

using session::devicePrelude;
using session::name;
using session::nvrtcOptions;
using session::Target;
using session::TargetKind;

/// The machine that `arch` names; the H200 if it is empty.
llvm::Expected<TargetInfo> targetInfo(llvm::StringRef arch);

/// Opens what `name` says; empty takes CUDA where there is a GPU and otherwise
/// the host, with a note on stderr unless `quiet`. `arch` may be empty: that of
/// the device. `cache` may be null.
llvm::Expected<Target> openTarget(llvm::StringRef name, llvm::StringRef arch,
                                  std::shared_ptr<runtime::DiskCache> cache,
                                  bool quiet);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_TARGET_H
