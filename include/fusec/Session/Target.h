//===- Target.h - the targets and their devices -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only place that knows which devices exist; the tool and the library both
// open them here.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SESSION_TARGET_H
#define FUSEC_SESSION_TARGET_H

#include "fusec/Runtime/Cuda/DiskCache.h"
#include "fusec/Session/Error.h"
#include "fusec/Support/TargetInfo.h"

namespace fusec::session {

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
  /// Never null.
  std::shared_ptr<runtime::Device> device;
  /// What the planner and NVRTC are told.
  TargetInfo info = TargetInfo::h200();
  /// Opened so.
  bool fastCompile = false;
};

/// "cuda", "host", "emulator" or "reference".
llvm::StringRef name(TargetKind kind);
/// The names in the order of the enum.
llvm::ArrayRef<llvm::StringRef> targetNames();
/// The inverse of `name`.
std::optional<TargetKind> parseTargetKind(llvm::StringRef name);

/// How to open a target.
struct OpenOptions {
  /// Which GPU; for Cuda.
  int ordinal = 0;
  /// What to plan for; by default the GPU's own preset, else the H200.
  std::optional<TargetInfo> machine = std::nullopt;
  /// Compiled kernels on disk, for Cuda; null for none.
  std::shared_ptr<runtime::DiskCache> cache = {};
  /// What `openDefaultTarget` is told of a missing GPU.
  std::function<void(llvm::StringRef why)> onNoGpu = {};
  /// Compile kernels fast rather than for speed; for tests.
  bool fastCompile = false;
  /// Threads of the host and the emulator; 0 means one per core.
  unsigned threads = 0;
};

/// Opens a target. Reference gets a host device that runs its one call. Fails
/// (NoDevice) where there is no GPU, driver or NVRTC.
llvm::Expected<Target> openTarget(TargetKind kind,
                                  const OpenOptions &options = {});

/// Opens Cuda where there is a GPU and otherwise Host.
llvm::Expected<Target> openDefaultTarget(const OpenOptions &options = {});

/// How NVRTC compiles the kernels of fusec for `info`.
runtime::NvrtcOptions nvrtcOptions(const TargetInfo &info);

/// The device text that kernels build on, for files that stand alone.
llvm::StringRef devicePrelude();

} // namespace fusec::session

#endif // FUSEC_SESSION_TARGET_H
