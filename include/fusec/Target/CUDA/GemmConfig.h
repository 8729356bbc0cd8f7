//===- GemmConfig.h - tile shapes of a contraction kernel -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host side of the contraction skeleton (docs/skeleton-contraction.md):
// which instantiation serves a problem, and how it is launched. Knows no IR.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TARGET_CUDA_GEMMCONFIG_H
#define FUSEC_TARGET_CUDA_GEMMCONFIG_H

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstdint>
#include <string>

namespace fusec::cuda {

/// What the main loop computes with; the device headers' enum of that name.
enum class GemmKind : uint8_t { F16, BF16, TF32, F32 };

/// The limits of a GPU that bear on the choice. The defaults are an H200's.
struct GemmDevice {
  /// Multiprocessors.
  int64_t smCount = 132;
  /// Shared memory that one block may have, and that an SM has, in bytes.
  int64_t sharedPerBlock = 227 * 1024;
  int64_t sharedPerSM = 228 * 1024;
};

/// One instantiation of the skeleton; the fields are the parameters of the
/// device template `GemmConfig`.
struct GemmConfig {
  GemmKind kind = GemmKind::F16;
  int64_t tileM = 0, tileN = 0, tileK = 0;
  int64_t warpsM = 0, warpsN = 0;
  int64_t stages = 0;
  int64_t groupM = 8;
  /// Groups of warps that divide k between them (F32 only).
  int64_t warpsK = 1;
  /// Blocks an SM that registers are to allow (third argument of
  /// FUSEC_KERNEL_MIN).
  int64_t minBlocks = 1;

  /// Bytes of one element in shared memory.
  int64_t elementBytes() const;
  /// Threads of a block.
  int64_t threads() const { return 32 * warpsM * warpsN * warpsK; }
  /// Dynamic shared memory of a block, in bytes.
  int64_t sharedBytes() const;
  /// Blocks in x for a problem (y = z = 1); 0 means that nothing is launched.
  int64_t grid(int64_t m, int64_t n, int64_t batch) const;
  /// The device type, "GemmConfig<GemmKind::F16, 128, 128, 64, 2, 2, 3, 8, 1>".
  std::string deviceType() const;

  /// All fields as numbers, for attributes, and back.
  std::array<int64_t, 10> toNumbers() const;
  static GemmConfig fromNumbers(llvm::ArrayRef<int64_t> numbers);
};

/// The configuration expected to be fastest for out[batch, m, n] over k.
/// `computed` says that an operand is a Computed one. The estimate counts
/// rounds of tiles over the SMs at measured rates
/// (benchmarks/results/2026-11-29-gemm-mma-sync.md); extents may be 0.
GemmConfig chooseGemmConfig(GemmKind kind, int64_t m, int64_t n, int64_t k,
                            int64_t batch, bool computed = false,
                            const GemmDevice &device = {});

} // namespace fusec::cuda

#endif // FUSEC_TARGET_CUDA_GEMMCONFIG_H
