//===- Target.h - what --target and --arch name -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only place of the tool that knows which devices exist.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_TARGET_H
#define FUSEC_LIB_TOOL_TARGET_H

#include "ToolError.h"
#include "fusec/Runtime/Cuda/DiskCache.h"
#include "fusec/Support/TargetInfo.h"

namespace fusec::tool {

enum class TargetKind : uint8_t {
  /// A GPU through the CUDA driver and NVRTC.
  Cuda,
  /// LLVM code for the CPU, from the planned graph: no GPU kernels.
  Host,
  /// The CUDA text on the CPU with every access checked.
  Emulator,
  /// The graph op by op in f64; no kernels.
  Reference,
};

/// An opened target.
struct Target {
  TargetKind kind = TargetKind::Reference;
  /// Null for Reference.
  std::shared_ptr<runtime::Device> device;
  /// What the planner and NVRTC are told.
  TargetInfo info = TargetInfo::h200();
};

/// "cuda", "host", "emulator" or "reference".
llvm::StringRef name(TargetKind kind);

/// The machine that `arch` names; the H200 if it is empty.
llvm::Expected<TargetInfo> targetInfo(llvm::StringRef arch);

/// Opens what `name` says; empty takes CUDA where there is a GPU and otherwise
/// the host, with a note on stderr. `arch` may be empty: that of the
/// device. `cache` may be null.
llvm::Expected<Target> openTarget(llvm::StringRef name, llvm::StringRef arch,
                                  std::shared_ptr<runtime::DiskCache> cache);

/// How NVRTC compiles the kernels of fusec for `info`.
runtime::NvrtcOptions nvrtcOptions(const TargetInfo &info);

/// The device text that kernels build on, for files that stand alone.
llvm::StringRef devicePrelude();

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_TARGET_H
