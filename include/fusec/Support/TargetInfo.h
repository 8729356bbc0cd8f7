//===- TargetInfo.h - what planners know of a machine -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plain struct of limits and speeds. It needs neither a device nor CUDA, so
// the same plan comes out on every machine.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SUPPORT_TARGETINFO_H
#define FUSEC_SUPPORT_TARGETINFO_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace fusec {

/// Limits and sustained speeds of one GPU.
struct TargetInfo {
  llvm::StringRef name;
  /// Compute capability, 10 * major + minor.
  unsigned computeCapability = 0;
  unsigned multiprocessors = 0;
  /// Shared memory a block may use, bytes.
  int64_t sharedBytesPerBlock = 0;
  /// 32-bit registers a multiprocessor has.
  int64_t registersPerMultiprocessor = 0;
  unsigned maxRegistersPerThread = 255;
  unsigned maxThreadsPerBlock = 1024;
  /// Device memory, sustained by a copy kernel, bytes/s.
  double memoryBandwidth = 0;
  /// Scalar instructions of fp32 rate, lanes * clock, 1/s.
  double instructionRate = 0;
  /// Dense tensor-core FLOP/s for fp16/bf16 inputs, and for tf32.
  double halfTensorFlops = 0;
  double tf32TensorFlops = 0;
  /// FLOP/s of fp32 FMA on CUDA cores.
  double floatFlops = 0;
  /// The largest cluster of blocks; 1 without clusters.
  unsigned maxClusterBlocks = 1;
  /// Bytes of a row that a block of a cluster keeps in its shared memory; 0:
  /// what is best. Small for tests: short rows are then kept by clusters.
  int64_t rowBlockBytes = 0;
  /// Time from one dependent kernel's end to the next one's work, µs.
  double launchMicroseconds = 0;

  /// H200 SXM (sm_90a).
  static TargetInfo h200();
  /// A100 SXM 80 GB (sm_80).
  static TargetInfo a100();
  /// The preset for "sm_90a" or "sm_80"; nothing for another name.
  static std::optional<TargetInfo> get(llvm::StringRef arch);
};

} // namespace fusec

#endif // FUSEC_SUPPORT_TARGETINFO_H
