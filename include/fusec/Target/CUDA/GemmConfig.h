//===- GemmConfig.h - tile shapes of a contraction kernel -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host side of the contraction skeleton (docs/skeleton-contraction.md):
// which instantiation serves a problem, and how it is launched. Knows no IR.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TARGET_CUDA_GEMMCONFIG_H
#define FUSEC_TARGET_CUDA_GEMMCONFIG_H

#include "fusec/Support/TargetInfo.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fusec::cuda {

/// What the main loop computes with; the device headers' enum of that name.
enum class GemmKind : uint8_t {
  F16,
  BF16,
  TF32,
  F32,
  I8,
  I8U8,
  U8I8,
  U8,
  E4M3,
  E4M3E5M2,
  E5M2E4M3,
  E5M2
};

/// As the device headers spell it: "BF16".
llvm::StringRef name(GemmKind kind);

/// 8-bit integers in, 32-bit sums out.
inline bool isInteger(GemmKind kind) {
  return kind >= GemmKind::I8 && kind <= GemmKind::U8;
}

/// 8-bit floats (Warpgroup loop, copied operands along k only).
inline bool isFloat8(GemmKind kind) { return kind >= GemmKind::E4M3; }

/// Parts in which the columns of a tile with promoted sums are made: a thread
/// has at most 192 accumulators.
inline int64_t partsOf(int64_t tileN) { return tileN > 192 ? 2 : 1; }

/// The main loops: every warp copies and multiplies (gemm_mma.cuh,
/// gemm_fma.cuh), warpgroups with roles on sm_90a (gemm_wgmma.cuh), or warps
/// that divide k for few rows: through rings (gemm_few.cuh), or straight to
/// registers with A in shared memory (gemm_direct.cuh).
enum class GemmLoop : uint8_t { Warp, Warpgroup, Few, Direct };

/// An operand that is, for each batch b, a matrix in memory:
///   element(b, outer, k) = base[outer * outerStride + k * kStride +
///                               b % split * lowStride + b / split *
///                               highStride]
/// with extents `outer` and `k`, beyond which it reads as zero. Strides are in
/// elements.
struct GemmMatrix {
  int64_t outer = 0, k = 0;
  int64_t outerStride = 0, kStride = 0;
  /// Batches along each of the two dimensions; a dimension of stride 0 or of
  /// one batch does not matter.
  int64_t split = 1, high = 1;
  int64_t lowStride = 0, highStride = 0;

  /// Whether the copy engine can bring boxes of it: elements of `bytes`,
  /// contiguous along the outer dimension or along k.
  bool isBoxable(int64_t bytes, bool isOuter) const;
  bool hasLow() const { return split > 1 && lowStride != 0; }
  bool hasHigh() const { return high > 1 && highStride != 0; }
  /// All fields as numbers, for attributes, and back.
  std::array<int64_t, 8> toNumbers() const;
  static GemmMatrix fromNumbers(llvm::ArrayRef<int64_t> numbers);
};

/// How the operands of a problem reach shared memory, the worse of the two:
/// element by element, in 16-byte groups, by the copy engine.
enum class GemmSupply : uint8_t { Computed, Groups, Boxes };

/// The limits of a GPU that bear on the choice. The defaults are an H200's.
struct GemmDevice {
  /// Multiprocessors.
  int64_t smCount = 132;
  /// Shared memory that one block may have, and that an SM has, in bytes.
  int64_t sharedPerBlock = 227 * 1024;
  int64_t sharedPerSM = 228 * 1024;
  /// Has wgmma (sm_90a).
  bool hasWarpgroups = true;
  /// Blocks of the largest cluster that it can run; 1 without clusters.
  int64_t largestCluster = 16;

  static GemmDevice of(const TargetInfo &target);
};

/// One instantiation of the skeleton; the fields are the parameters of the
/// device template `GemmConfig`, or of `GemmWgmmaConfig`, `GemmPairConfig`,
/// `GemmSplitConfig`, `GemmApartConfig`, `GemmAlternateConfig` or
/// `GemmHeldConfig` with the Warpgroup loop, where warpsM counts the
/// multiplying warps alone.
struct GemmConfig {
  GemmKind kind = GemmKind::F16;
  GemmLoop loop = GemmLoop::Warp;
  int64_t tileM = 0, tileN = 0, tileK = 0;
  int64_t warpsM = 0, warpsN = 0;
  int64_t stages = 0;
  int64_t groupM = 8;
  /// Groups of warps that divide k between them (F32, and the Few loop).
  int64_t warpsK = 1;
  /// Blocks an SM that registers are to allow (third argument of
  /// FUSEC_KERNEL_MIN).
  int64_t minBlocks = 1;
  /// Blocks of a cluster, which share B (Warpgroup loop, Boxes only) or divide
  /// k (Few loop), or do both (below).
  int64_t cluster = 1;
  /// Parts of k, which so many groups of `cluster / ranks` blocks take that
  /// share B (gemm_split.cuh; Warpgroup loop, Boxes only).
  int64_t ranks = 1;
  /// Rows of a box of A (Warpgroup loop): fewer than a tile has where the
  /// matrix has fewer; 0: as many as a tile has.
  int64_t boxRows = 0;
  /// Parts of a tile's columns whose sums of one step of k are made apart and
  /// then added in f32 (8-bit floats); 0: the products accumulate by
  /// themselves.
  int64_t parts = 0;
  /// Slots of each half of B where the two multiplying warpgroups have a ring
  /// of their own for B (gemm_apart.cuh; Warpgroup loop, Boxes only), and
  /// `stages` are A's; 0: they share one ring.
  int64_t halfStages = 0;
  /// k of a lane in a step where B streams through registers (Few and Direct
  /// loops); 0: it is copied unchanged.
  int64_t span = 0;
  /// Copies of a lane through the ring for each of its columns, of `span`.
  int64_t staged = 0;
  /// k of A in shared memory (Direct loop), whole units of `tileK`.
  int64_t depth = 0;
  /// Products of A that a tile has `tileN` columns of, each with a B of its own
  /// (gemm_pair.cuh; Warpgroup loop, Boxes only): 1 or 2.
  int64_t products = 1;
  /// Slots of B where warpgroups take tiles in turns (gemm_alternate.cuh;
  /// Warpgroup loop, Boxes only), and `stages` are A's; 0: they do not.
  int64_t alternate = 0;
  /// Steps of k of a tile's columns of B that stay in shared memory
  /// (gemm_held.cuh; Warpgroup loop, Boxes only), and `stages` are those of
  /// each warpgroup's ring of A; there are no clusters then. 0: no columns
  /// stay.
  int64_t held = 0;

  /// Blocks of a cluster that share B (Warpgroup loop).
  int64_t sharers() const { return cluster / ranks; }
  /// Columns of a box of B along k.
  int64_t boxColumns() const {
    return halfStages ? tileN / 2 : held ? tileN : tileN / sharers();
  }
  /// Rows, or steps of k where these are not along k, in a box of A.
  int64_t boxLines(bool isOuter) const {
    return held ? 64 : isOuter ? tileK : tileM;
  }
  /// Steps of k in a box of B along n.
  int64_t boxDepth() const { return alternate ? tileK / cluster : tileK; }
  /// Bytes of one element in shared memory.
  int64_t elementBytes() const;
  /// Threads of a block.
  int64_t threads() const;
  /// Dynamic shared memory of a block, in bytes.
  int64_t sharedBytes() const;
  /// Shared memory in which warps turn 16-bit results (gemm_turn.cuh;
  /// Warpgroup loop), in bytes.
  int64_t turnBytes() const { return warpsM * 16 * 64 * 2; }
  /// Whether 16-bit results that turn go out by boxes instead (gemm_boxes.cuh):
  /// warpgroups have whole boxes of columns, and shared memory has room.
  bool storesBoxes(const GemmDevice &device) const;
  /// Tiles of a problem.
  int64_t tiles(int64_t m, int64_t n, int64_t batch) const;
  /// Clusters that make these tiles (Warpgroup loop), with one below the other
  /// for those that share B.
  int64_t clusters(int64_t m, int64_t n, int64_t batch) const;
  /// Blocks in x for a problem (y = z = 1); 0 means that nothing is launched.
  /// With the Warpgroup loop blocks take several tiles: no more than the GPU
  /// holds at once.
  int64_t grid(int64_t m, int64_t n, int64_t batch,
               const GemmDevice &device) const;
  /// Parts of the columns whose states of rows are kept apart, and counters of
  /// warps that have the same rows in several tiles (gemm_statistics.cuh).
  int64_t rowParts(int64_t n) const;
  int64_t rowCounters(int64_t m, int64_t batch) const;
  /// The same for parts of the rows whose states of columns are kept.
  int64_t columnParts(int64_t m) const;
  int64_t columnCounters(int64_t n, int64_t batch) const;
  /// Whether shared memory and registers have room for states of columns of
  /// `stateBytes`, 0 for none.
  bool holdsColumns(int64_t stateBytes, const GemmDevice &device) const;
  /// The device type, "GemmConfig<GemmKind::F16, 128, 128, 64, 2, 2, 3, 8, 1>".
  std::string deviceType() const;
  /// The device function to call.
  const char *deviceFunction() const;
  /// For people and records: the device type and what it does not say.
  std::string name() const;
  /// Equal for configurations that add the terms of a result in the same order
  /// by the same instructions: their results are equal bit for bit.
  std::string sumOrder() const;

  /// All fields as numbers, for attributes, and back.
  std::array<int64_t, 22> toNumbers() const;
  static GemmConfig fromNumbers(llvm::ArrayRef<int64_t> numbers);
};

/// Which operands come along their outer dimension. The loop for few rows wants
/// A along k, and B unless its elements have 16 bits.
struct GemmOrders {
  bool isLhsOuter = false, isRhsOuter = false;
  /// Where B is computed from independent reads of `span` elements along k,
  /// these elements, the reads that are copies of 4 to 16 bytes, and the bytes
  /// read for each element.
  int64_t span = 0, staged = 0;
  double bytes = 0;
};

/// A configuration and the microseconds that it is expected to take.
struct GemmRanked {
  GemmConfig config;
  double microseconds = 0;
};

/// The configuration expected to be fastest for out[batch, m, n] over k. With
/// `fast`, sums of 8-bit floats are not promoted.
/// The estimate counts rounds of tiles over the SMs at measured rates
/// (benchmarks/results/2026-11-29-gemm-mma-sync.md); extents may be 0. With
/// `few` the loop for few rows competes.
GemmConfig chooseGemmConfig(GemmKind kind, int64_t m, int64_t n, int64_t k,
                            int64_t batch,
                            GemmSupply supply = GemmSupply::Groups,
                            const GemmDevice &device = {}, bool fast = false,
                            const GemmOrders *few = nullptr);

/// All configurations that serve the problem, that of chooseGemmConfig first
/// and the others in the order of their estimates, of which only differences
/// mean anything: those of the loop for few rows have another origin.
std::vector<GemmRanked> rankGemmConfigs(GemmKind kind, int64_t m, int64_t n,
                                        int64_t k, int64_t batch,
                                        GemmSupply supply = GemmSupply::Groups,
                                        const GemmDevice &device = {},
                                        bool fast = false,
                                        const GemmOrders *few = nullptr);

/// Configurations that differ from `config` in what the estimate does not see:
/// the order of tiles and the length of the ring.
std::vector<GemmConfig> variantsOf(const GemmConfig &config,
                                   const GemmDevice &device = {});

/// Rows up to which the loop for few rows is tried.
inline constexpr int64_t kMostFewRows = 64;

/// Forms whose clusters divide k (gemm_split.cuh), of operands that the copy
/// engine brings, in the order of their estimates; none where they do not
/// apply.
std::vector<GemmRanked> rankSplitConfigs(GemmKind kind, int64_t m, int64_t n,
                                         int64_t k, int64_t batch,
                                         const GemmDevice &device = {},
                                         bool fast = false);
/// The first of them.
std::optional<GemmRanked> chooseSplitConfig(GemmKind kind, int64_t m, int64_t n,
                                            int64_t k, int64_t batch,
                                            const GemmDevice &device = {},
                                            bool fast = false);

/// Forms whose tiles have columns of two products of A with matrices of n
/// columns each (gemm_pair.cuh), in the order of their estimates; none where
/// the device has no such loop. Operands are 16-bit ones that the copy engine
/// brings.
std::vector<GemmRanked> rankPairConfigs(GemmKind kind, int64_t m, int64_t n,
                                        int64_t k, int64_t batch,
                                        const GemmDevice &device = {});

/// Those of the loop for few rows (gemm_few.cuh) for this problem in the order
/// of their estimates; none where it does not apply.
std::vector<GemmRanked> rankFewConfigs(GemmKind kind, int64_t m, int64_t n,
                                       int64_t k, int64_t batch,
                                       GemmSupply supply,
                                       const GemmOrders &orders,
                                       const GemmDevice &device = {});

/// Those of the loop that keeps A in shared memory (gemm_direct.cuh).
std::vector<GemmRanked> rankDirectConfigs(GemmKind kind, int64_t m, int64_t n,
                                          int64_t k, int64_t batch,
                                          GemmSupply supply,
                                          const GemmOrders &orders,
                                          const GemmDevice &device = {});

} // namespace fusec::cuda

#endif // FUSEC_TARGET_CUDA_GEMMCONFIG_H
