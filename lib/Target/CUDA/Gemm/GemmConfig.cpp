//===- GemmConfig.cpp - tile shapes of a contraction kernel ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of configurations with the rate each reaches on a large problem, and
// an estimate of the time that a problem takes: every SM works through
// ceil(tiles / SMs) tiles, slower when fewer blocks than it could hold are
// there to hide each other's latency; each tile costs a fixed start and end
// beside its k loop, and a step of k no less than the way to memory.
//===----------------------------------------------------------------------===//
#include "GemmRank.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace fusec::cuda;

namespace {

/// A configuration and its rate, in TFLOP/s on an H200 (figures of
/// benchmarks/results/2026-11-29-gemm-mma-sync.md: 4096^3, computed 16-bit ones
/// 4096x1024x1024; the small computed tf32 tile is not measured). `alone` is
/// the part of the rate that a block reaches if it has an SM to itself. Only
/// ratios within one table matter.
struct Candidate {
  int64_t tileM, tileN, tileK, warpsM, warpsN, warpsK, stages, minBlocks;
  double rate, alone;
  /// As GemmConfig has it.
  int64_t halfStages = 0;
  /// A tile's start (filling the ring) and end cost about as much as this many
  /// steps of k: 34.8 us for k = 1024 against 29.7 without an epilogue.
  double fixedK = 200;
  /// The longest sum, the most tiles one block makes, and the shortest sum that
  /// it is for.
  int64_t mostK = INT64_MAX, mostRounds = INT64_MAX, leastK = 0;
  /// As GemmConfig has it; a block then makes no fewer tiles than
  /// `leastRounds`, and no more than `mostAcross` are side by side.
  int64_t alternate = 0, leastRounds = 0, mostAcross = INT64_MAX;
  /// As GemmConfig has it.
  int64_t held = 0;
};

// 16-bit operands that the copy engine brings, in clusters of two.
constexpr Candidate kHalfCluster[] = {
    {128, 256, 64, 8, 1, 1, 4, 1, 800, 1},
    {128, 128, 64, 8, 1, 1, 6, 1, 540, 1},
    // Few results of long sums: 1024 x 1024 x 8192 is 128 such tiles, for which
    // cuBLAS has the same shape: 33.8 us, 31.1 as pairs of 64 x 256 that divide
    // k.
    {64, 128, 64, 4, 1, 1, 9, 1, 600, 1, 0, 200, INT64_MAX, INT64_MAX,
     /*leastK=*/2048},
    // Warpgroups apart, for short sums (K = 256: 71 us against 67, below that
    // less; with K = 768, f16, bias and results that turn 68.2 against 71.0, as
    // the epilogue of one is behind the other's products), and for 320 columns
    // and multiples, as each has half of them
    // (benchmarks/results/2026-11-30-gemm.md).
    {128, 256, 64, 8, 1, 1, 5, 1, 765, 1, /*halfStages=*/4, /*fixedK=*/150,
     INT64_MAX, INT64_MAX, /*leastK=*/384},
    {128, 256, 64, 8, 1, 1, 5, 1, 765, 1, /*halfStages=*/4, /*fixedK=*/185},
    {128, 320, 64, 8, 1, 1, 4, 1, 770, 1, /*halfStages=*/3},
    // In turns, for 320 columns (in turns with cuBLAS 0.986 of its speed, as
    // warpgroups apart 0.89).
    {128, 160, 64, 8, 1, 1, 5, 1, 790, 1, 0, /*fixedK=*/60, INT64_MAX,
     INT64_MAX, 0, /*alternate=*/5, /*leastRounds=*/4, /*mostAcross=*/2},
};
// With columns of B that stay in shared memory, without clusters.
constexpr Candidate kHalfHeld[] = {
    {128, 256, 64, 8, 1, 1, 4, 1, 800, 1, 0, /*fixedK=*/60, /*mostK=*/256,
     INT64_MAX, 0, 0, /*leastRounds=*/4, INT64_MAX, /*held=*/4},
};
// Asynchronous 16-bit operands on warpgroups; warpsM are the multiplying warps.
// benchmarks/results/2026-11-29-gemm-wgmma.md.
constexpr Candidate kHalfWarpgroup[] = {
    // Short sums in few rounds start sooner without a cluster: 64 x 512^3 in
    // 35.1 us against 38.0, 4096 x 1024 x 1024 in 17.0 against 18.0.
    {128, 256, 64, 8, 1, 1, 4, 1, 800, 1, 0, /*fixedK=*/130, 1024, 4},
    // 384 columns are two of them: 32768 x 384 x 384 in 22.7 us against 28.6.
    {128, 192, 64, 8, 1, 1, 5, 1, 750, 1, 0, /*fixedK=*/130, 1024, 4, 0, 0,
     /*leastRounds=*/3},
    {128, 256, 64, 8, 1, 1, 4, 1, 640, 1},
    {128, 224, 64, 8, 1, 1, 4, 1, 625, 1},
    {128, 192, 64, 8, 1, 1, 5, 1, 610, 1},
    {128, 160, 64, 8, 1, 1, 5, 1, 580, 1},
    {128, 128, 64, 8, 1, 1, 6, 1, 520, 1},
    {64, 128, 64, 4, 1, 1, 4, 2, 540, 0.7},
    {64, 64, 64, 4, 1, 1, 6, 2, 400, 0.7},
};
// Asynchronous 16-bit operands.
constexpr Candidate kHalf[] = {
    {128, 256, 64, 2, 4, 1, 3, 1, 379, 1},
    {128, 128, 64, 2, 2, 1, 3, 2, 382, 0.8},
    {128, 128, 32, 2, 2, 1, 4, 2, 369, 0.8},
    {64, 128, 64, 2, 2, 1, 3, 3, 345, 0.73},
    {64, 64, 64, 2, 2, 1, 3, 4, 299, 0.7},
    {64, 64, 32, 2, 2, 1, 4, 4, 286, 0.7},
    {32, 64, 32, 2, 2, 1, 4, 6, 203, 0.67},
};
// A computed 16-bit operand: more registers, more threads a tile to gather.
constexpr Candidate kHalfComputed[] = {
    {128, 128, 32, 2, 4, 1, 3, 2, 104, 0.8},
    {64, 64, 32, 2, 2, 1, 4, 4, 69, 0.7},
    {32, 64, 32, 2, 2, 1, 4, 4, 54, 0.7},
};
// 8-bit integers: twice the elements in the same bytes and time. Rates are the
// 16-bit ones doubled, not measured one by one.
constexpr Candidate kByteCluster[] = {
    {128, 256, 128, 8, 1, 1, 4, 1, 1600, 1},
    {128, 128, 128, 8, 1, 1, 6, 1, 1080, 1},
};
constexpr Candidate kByteWarpgroup[] = {
    {128, 256, 128, 8, 1, 1, 4, 1, 1280, 1},
    {128, 224, 128, 8, 1, 1, 4, 1, 1250, 1},
    {128, 192, 128, 8, 1, 1, 5, 1, 1220, 1},
    {128, 160, 128, 8, 1, 1, 5, 1, 1160, 1},
    {128, 128, 128, 8, 1, 1, 6, 1, 1040, 1},
    {64, 128, 128, 4, 1, 1, 4, 2, 1080, 0.7},
    {64, 64, 128, 4, 1, 1, 6, 2, 800, 0.7},
};
// 8-bit floats whose sums are promoted: two sets of accumulators, so half the
// columns a thread. Wider tiles are made in parts (`partsOf`). At 8192^3
// (benchmarks/results/2026-11-30-float8.md); 160, alone 128 and 64 not
// measured.
constexpr Candidate kPromotedCluster[] = {
    {128, 256, 128, 8, 1, 1, 4, 1, 1510, 1},
    {128, 192, 128, 8, 1, 1, 5, 1, 1490, 1},
    {128, 128, 128, 8, 1, 1, 6, 1, 1330, 1},
};
constexpr Candidate kPromotedWarpgroup[] = {
    {128, 256, 128, 8, 1, 1, 4, 1, 1500, 1},
    {128, 192, 128, 8, 1, 1, 5, 1, 1545, 1},
    {128, 160, 128, 8, 1, 1, 5, 1, 1450, 1},
    {128, 128, 128, 8, 1, 1, 6, 1, 1320, 1},
    {64, 128, 128, 4, 1, 1, 6, 1, 900, 1},
    {64, 64, 128, 4, 1, 1, 6, 2, 800, 0.7},
};
constexpr Candidate kByte[] = {
    {128, 128, 128, 2, 2, 1, 3, 2, 764, 0.8},
    {128, 128, 64, 2, 2, 1, 4, 2, 738, 0.8},
    {64, 128, 128, 2, 2, 1, 3, 3, 690, 0.73},
    {64, 64, 128, 2, 2, 1, 3, 4, 598, 0.7},
    {64, 64, 64, 2, 2, 1, 4, 4, 572, 0.7},
    {32, 64, 64, 2, 2, 1, 4, 6, 406, 0.67},
};
constexpr Candidate kByteComputed[] = {
    {128, 128, 64, 2, 4, 1, 3, 1, 150, 1},
    {64, 64, 64, 2, 2, 1, 3, 2, 100, 0.8},
    {32, 64, 64, 2, 2, 1, 3, 3, 80, 0.7},
};
constexpr Candidate kTf32[] = {
    {128, 128, 32, 2, 2, 1, 3, 2, 175, 0.8},
    {128, 128, 16, 2, 2, 1, 4, 2, 171, 0.8},
    {64, 64, 32, 2, 2, 1, 3, 4, 128, 0.7},
};
// TF32 that the copy engine brings and rounds: half the elements in the same
// bytes and time as 16-bit ones.
constexpr Candidate kTf32Cluster[] = {
    {128, 256, 32, 8, 1, 1, 4, 1, 400, 1},
    {128, 128, 32, 8, 1, 1, 6, 1, 270, 1},
};
constexpr Candidate kTf32Warpgroup[] = {
    {128, 256, 32, 8, 1, 1, 4, 1, 320, 1},
    {128, 192, 32, 8, 1, 1, 5, 1, 305, 1},
    {128, 160, 32, 8, 1, 1, 5, 1, 290, 1},
    {128, 128, 32, 8, 1, 1, 6, 1, 260, 1},
    {64, 128, 32, 4, 1, 1, 4, 2, 270, 0.7},
    {64, 64, 32, 4, 1, 1, 6, 2, 200, 0.7},
};
constexpr Candidate kTf32Computed[] = {
    {128, 128, 16, 2, 4, 1, 4, 1, 66, 1},
    {64, 64, 32, 2, 2, 1, 3, 2, 50, 0.8},
};
// The last four are for few results: warps divide k, or a thread makes less.
constexpr Candidate kSingle[] = {
    {128, 128, 32, 4, 2, 1, 3, 2, 47.4, 0.92},
    {128, 128, 16, 4, 2, 1, 3, 1, 41, 1},
    {64, 64, 16, 2, 1, 1, 3, 4, 43, 0.25},
    {64, 64, 32, 2, 1, 4, 2, 1, 38, 1},
    {32, 64, 64, 1, 1, 8, 2, 1, 32, 1},
    {32, 32, 64, 2, 1, 4, 2, 2, 24, 0.7},
    {16, 32, 64, 1, 1, 8, 2, 2, 16, 0.7},
};
// What a computed operand holds leaves no registers for a second block.
constexpr Candidate kSingleComputed[] = {
    {128, 128, 32, 4, 2, 1, 3, 1, 46, 1},  {128, 128, 16, 4, 2, 1, 3, 1, 41, 1},
    {64, 64, 16, 2, 1, 1, 3, 4, 43, 0.25}, {64, 64, 32, 2, 1, 4, 2, 1, 38, 1},
    {32, 64, 64, 1, 1, 8, 2, 1, 32, 1},    {32, 32, 64, 2, 1, 4, 2, 2, 24, 0.7},
    {16, 32, 64, 1, 1, 8, 2, 2, 16, 0.7},
};

llvm::ArrayRef<Candidate> candidates(GemmKind kind, bool computed) {
  switch (kind) {
  case GemmKind::F16:
  case GemmKind::BF16:
    return computed ? llvm::ArrayRef(kHalfComputed) : llvm::ArrayRef(kHalf);
  case GemmKind::TF32:
    return computed ? llvm::ArrayRef(kTf32Computed) : llvm::ArrayRef(kTf32);
  case GemmKind::F32:
    return computed ? llvm::ArrayRef(kSingleComputed) : llvm::ArrayRef(kSingle);
  case GemmKind::I8:
  case GemmKind::I8U8:
  case GemmKind::U8I8:
  case GemmKind::U8:
    return computed ? llvm::ArrayRef(kByteComputed) : llvm::ArrayRef(kByte);
  case GemmKind::E4M3:
  case GemmKind::E4M3E5M2:
  case GemmKind::E5M2E4M3:
  case GemmKind::E5M2:
    return {};
  }
  llvm_unreachable("unknown kind");
}

GemmConfig configOf(GemmKind kind, const Candidate &c) {
  GemmConfig config;
  config.kind = kind;
  config.tileM = c.tileM, config.tileN = c.tileN, config.tileK = c.tileK;
  config.warpsM = c.warpsM, config.warpsN = c.warpsN;
  config.warpsK = c.warpsK;
  config.stages = c.stages, config.minBlocks = c.minBlocks;
  config.halfStages = c.halfStages;
  config.alternate = c.alternate;
  config.held = c.held;
  return config;
}

/// Microseconds of a problem.
double estimate(const GemmConfig &config, const Candidate &c, int64_t m,
                int64_t n, int64_t k, int64_t batch, bool computed,
                const GemmDevice &device) {
  // From a load to its use, in us: once a step for a computed operand, which
  // is loaded one step ahead; shared by the ring's steps for others.
  constexpr double kLatency = 0.6;
  int64_t resident = std::clamp<int64_t>(
      device.sharedPerSM / (config.sharedBytes() + 1024), 1, config.minBlocks);
  int64_t rounds = llvm::divideCeil(
      std::max<int64_t>(config.tiles(m, n, batch), 1), device.smCount);
  int64_t together = std::min(rounds, resident);
  double hidden = config.minBlocks == 1
                      ? c.alone
                      : c.alone + (1 - c.alone) * double(together - 1) /
                                      double(config.minBlocks - 1);
  double perK = 2e-6 * double(device.smCount) *
                double(config.tileM * config.tileN) / (c.rate * hidden);
  double step = std::max(
      perK * double(config.tileK),
      kLatency / double(computed ? together : together * (config.stages - 1)));
  double steps = double(llvm::divideCeil(k, config.tileK));
  return double(rounds) * (perK * c.fixedK + steps * step);
}

} // namespace

std::array<int64_t, 8> GemmMatrix::toNumbers() const {
  return {outer, k, outerStride, kStride, split, high, lowStride, highStride};
}

bool GemmMatrix::isBoxable(int64_t bytes, bool isOuter) const {
  // The copy engine takes strides of whole 16-byte units below 2^40 bytes.
  auto fits = [&](int64_t stride) {
    return stride > 0 && stride * bytes % 16 == 0 &&
           stride < (int64_t(1) << 40) / bytes;
  };
  return (isOuter ? outerStride : kStride) == 1 &&
         fits(isOuter ? kStride : outerStride) && outer > 0 && k > 0 &&
         (!hasLow() || fits(lowStride)) && (!hasHigh() || fits(highStride));
}

GemmMatrix GemmMatrix::fromNumbers(llvm::ArrayRef<int64_t> numbers) {
  assert(numbers.size() == 8 && "as many numbers as toNumbers gives");
  return {numbers[0], numbers[1], numbers[2], numbers[3],
          numbers[4], numbers[5], numbers[6], numbers[7]};
}

int64_t GemmConfig::elementBytes() const {
  if (isInteger(kind) || isFloat8(kind))
    return 1;
  return kind == GemmKind::F16 || kind == GemmKind::BF16 ? 2 : 4;
}

int64_t GemmConfig::threads() const {
  int64_t producers = loop == GemmLoop::Warpgroup ? 4 : 0;
  return 32 * (warpsM * warpsN * warpsK + producers);
}

int64_t GemmConfig::sharedBytes() const {
  if (loop == GemmLoop::Direct)
    return 4 * warpsK * tileM * (tileN + 4) + 2 * tileM * depth;
  if (halfStages) {
    // Along n B comes in panels of 64.
    int64_t half =
        elementBytes() == 2 ? llvm::alignTo(tileN / 2, 64) : tileN / 2;
    return 128 * (stages * tileM + 2 * halfStages * half);
  }
  if (alternate)
    return 128 *
           (stages * tileM + alternate * int64_t(llvm::alignTo(tileN, 64)));
  if (held)
    return 128 * (2 * stages * 64 + held * tileN);
  if (loop == GemmLoop::Warpgroup)
    return stages * (tileM + products * int64_t(llvm::alignTo(tileN, 64))) *
           tileK * elementBytes();
  // Four elements lie behind each line of f32.
  int64_t gap = kind == GemmKind::F32 ? 4 : 0;
  int64_t ring = stages * (tileM + tileN + 2 * gap) * tileK * elementBytes();
  if (span) // 64 bytes a column for each copy
    ring = stages * (tileM * tileK * elementBytes() + tileN * staged * 64);
  if (loop == GemmLoop::Few)
    return warpsK * std::max(ring, tileM * (tileN + 4) * 4);
  return std::max(ring, warpsK * tileM * tileN * 4);
}

int64_t GemmConfig::tiles(int64_t m, int64_t n, int64_t batch) const {
  return llvm::divideCeil(m, tileM) * llvm::divideCeil(n, tileN) * batch;
}

int64_t GemmConfig::clusters(int64_t m, int64_t n, int64_t batch) const {
  return llvm::divideCeil(m, tileM * sharers()) * llvm::divideCeil(n, tileN) *
         batch;
}

int64_t GemmConfig::grid(int64_t m, int64_t n, int64_t batch,
                         const GemmDevice &device) const {
  if (loop == GemmLoop::Direct)
    return std::min(tiles(m, n, batch), device.smCount * minBlocks);
  if (loop != GemmLoop::Warpgroup)
    return tiles(m, n, batch) * cluster;
  if (held) {
    // Blocks stay with columns, for as many rows as others that have the same,
    // unless that leaves too many multiprocessors without work.
    int64_t groups = llvm::divideCeil(n, tileN) * batch;
    int64_t all = groups * llvm::divideCeil(m, tileM);
    int64_t most = std::max<int64_t>(1, device.smCount);
    int64_t even = groups > 0 ? most / groups * groups : 0;
    return std::min(all, even * 16 >= most * 15 ? even : most);
  }
  // Whole clusters; of two tiles below each other the second may be empty.
  int64_t atOnce = std::max<int64_t>(1, device.smCount * minBlocks / cluster);
  return cluster * std::min(clusters(m, n, batch), atOnce);
}

int64_t GemmConfig::rowParts(int64_t n) const {
  // Halves have a warpgroup each, pieces of 32 columns a block of a cluster.
  int64_t perTile = ranks > 1 ? tileN / 32 : halfStages ? 2 : 1;
  return llvm::divideCeil(n, tileN) * perTile;
}

int64_t GemmConfig::rowCounters(int64_t m, int64_t batch) const {
  // The warps of warpgroups have 16 rows of each 64.
  if (loop == GemmLoop::Warpgroup)
    return llvm::divideCeil(m, 16) * batch;
  return llvm::divideCeil(m, tileM) * batch * (threads() / 32);
}

int64_t GemmConfig::columnParts(int64_t m) const {
  // Each warpgroup has 64 rows.
  return llvm::divideCeil(m, loop == GemmLoop::Warpgroup ? 64 : tileM);
}

int64_t GemmConfig::columnCounters(int64_t n, int64_t batch) const {
  return llvm::divideCeil(n, 32) * batch;
}

bool GemmConfig::holdsColumns(int64_t stateBytes,
                              const GemmDevice &device) const {
  // Other loops use the ring; barriers take less than 256 bytes. The
  // accumulators of warpgroups apart leave no registers for them.
  if (loop != GemmLoop::Warpgroup || stateBytes == 0)
    return true;
  int64_t columns = ranks > 1 ? 32 : tileN;
  int64_t bytes = sharedBytes() + warpsM * columns * stateBytes + 256;
  return !halfStages && !alternate && !held && bytes <= device.sharedPerBlock &&
         minBlocks * (bytes + 1024) <= device.sharedPerSM;
}

bool GemmConfig::storesBoxes(const GemmDevice &device) const {
  // Two boxes of 64 rows and columns for each warpgroup; barriers.
  int64_t boxes = warpsM / 4 * 2 * 64 * 64 * 2;
  return loop == GemmLoop::Warpgroup && held &&
         sharedBytes() + boxes + 1024 <= device.sharedPerBlock;
}

llvm::StringRef fusec::cuda::name(GemmKind kind) {
  static constexpr llvm::StringRef names[] = {
      "F16",  "BF16", "TF32", "F32",      "I8",       "I8U8",
      "U8I8", "U8",   "E4M3", "E4M3E5M2", "E5M2E4M3", "E5M2"};
  return names[static_cast<unsigned>(kind)];
}

std::string GemmConfig::deviceType() const {
  static constexpr const char *types[] = {"GemmConfig", "GemmWgmmaConfig",
                                          "GemmFewConfig", "GemmDirectConfig"};
  std::string text = halfStages     ? "GemmApartConfig"
                     : alternate    ? "GemmAlternateConfig"
                     : held         ? "GemmHeldConfig"
                     : ranks > 1    ? "GemmSplitConfig"
                     : products > 1 ? "GemmPairConfig"
                                    : types[static_cast<unsigned>(loop)];
  text += "<GemmKind::" + cuda::name(kind).str();
  auto add = [&](std::initializer_list<int64_t> numbers) {
    for (int64_t v : numbers)
      text += ", " + std::to_string(v);
  };
  switch (loop) {
  case GemmLoop::Few:
    add({tileM, tileN, warpsK, stages, cluster});
    if (span)
      add({span, staged});
    break;
  case GemmLoop::Direct:
    add({tileM, warpsN, warpsK, tileN / (16 * warpsN), stages, tileK / 4,
         depth});
    break;
  case GemmLoop::Warpgroup:
    if (halfStages) {
      add({tileN, stages, halfStages, groupM, cluster});
      text += parts ? ", true" : "";
      break;
    }
    if (alternate) {
      add({tileN, stages, alternate, groupM, cluster});
      break;
    }
    if (held) {
      add({tileN, held, stages});
      break;
    }
    if (ranks > 1)
      add({warpsM / 4, tileN, stages, groupM, sharers(), ranks});
    else
      add({warpsM / 4, tileN, stages, groupM, minBlocks, cluster});
    if (parts)
      add({parts});
    break;
  case GemmLoop::Warp:
    add({tileM, tileN, tileK, warpsM, warpsN, stages, groupM, warpsK});
    break;
  }
  return text + ">";
}

const char *GemmConfig::deviceFunction() const {
  static constexpr const char *names[] = {"gemm", "gemm_wgmma", "gemm_few",
                                          "gemm_direct"};
  return names[static_cast<unsigned>(loop)];
}

std::array<int64_t, 22> GemmConfig::toNumbers() const {
  return {static_cast<int64_t>(kind),
          tileM,
          tileN,
          tileK,
          warpsM,
          warpsN,
          stages,
          groupM,
          warpsK,
          minBlocks,
          static_cast<int64_t>(loop),
          cluster,
          boxRows,
          parts,
          halfStages,
          span,
          staged,
          ranks,
          depth,
          products,
          alternate,
          held};
}

GemmDevice GemmDevice::of(const TargetInfo &target) {
  GemmDevice device;
  device.smCount = target.multiprocessors;
  device.sharedPerBlock = target.sharedBytesPerBlock;
  device.sharedPerSM = device.sharedPerBlock + 1024;
  device.hasWarpgroups = target.computeCapability == 90;
  device.largestCluster =
      std::min<int64_t>(target.maxClusterBlocks, target.multiprocessors);
  return device;
}

GemmConfig GemmConfig::fromNumbers(llvm::ArrayRef<int64_t> numbers) {
  assert(numbers.size() == 22 && "as many numbers as toNumbers gives");
  GemmConfig config;
  config.kind = static_cast<GemmKind>(numbers[0]);
  config.tileM = numbers[1], config.tileN = numbers[2];
  config.tileK = numbers[3];
  config.warpsM = numbers[4], config.warpsN = numbers[5];
  config.stages = numbers[6], config.groupM = numbers[7];
  config.warpsK = numbers[8], config.minBlocks = numbers[9];
  config.loop = static_cast<GemmLoop>(numbers[10]);
  config.cluster = numbers[11];
  config.boxRows = numbers[12];
  config.parts = numbers[13];
  config.halfStages = numbers[14];
  config.span = numbers[15];
  config.staged = numbers[16];
  config.ranks = numbers[17];
  config.depth = numbers[18];
  config.products = numbers[19];
  config.alternate = numbers[20];
  config.held = numbers[21];
  return config;
}

/// `ranked`, which is in order, with forms whose clusters divide k among them.
static std::vector<GemmRanked> withSplits(std::vector<GemmRanked> ranked,
                                          std::vector<GemmRanked> splits) {
  // Estimates of fewer blocks than multiprocessors are up to half too long,
  // but for small tiles in clusters, whose rate is that of one round.
  const GemmConfig &first = ranked.front().config;
  bool isSmall = first.cluster > 1 && first.tileM == 64;
  double trusted = isSmall ? 0.95 : 0.65;
  double best = ranked.front().microseconds;
  for (GemmRanked &split : splits) {
    if (split.microseconds >= trusted * best)
      split.microseconds = std::max(split.microseconds / trusted, best);
    ranked.push_back(split);
  }
  return inOrder(std::move(ranked));
}

std::vector<GemmRanked>
fusec::cuda::rankGemmConfigs(GemmKind kind, int64_t m, int64_t n, int64_t k,
                             int64_t batch, GemmSupply supply,
                             const GemmDevice &device, bool fast,
                             const GemmOrders *few) {
  std::vector<GemmRanked> ranked;
  bool computed = supply == GemmSupply::Computed;
  bool isPromoted = isFloat8(kind) && !fast;
  // A table may have a tile twice, first for some problems.
  auto isRanked = [&](const GemmConfig &config) {
    return llvm::any_of(ranked, [&](const GemmRanked &other) {
      return other.config.toNumbers() == config.toNumbers();
    });
  };
  auto consider = [&](llvm::ArrayRef<Candidate> table, GemmLoop loop,
                      int64_t cluster) {
    if (cluster > std::max<int64_t>(1, device.largestCluster))
      return;
    for (const Candidate &c : table) {
      GemmConfig config = configOf(kind, c);
      config.loop = loop;
      config.cluster = cluster;
      config.parts = isPromoted ? partsOf(config.tileN) : 0;
      // The smallest configuration fits every device.
      bool isFallback =
          loop == GemmLoop::Warp && &c == &table.back() && ranked.empty();
      if (config.sharedBytes() > device.sharedPerBlock && !isFallback)
        continue;
      // The second block of a cluster has the tile below.
      if (cluster > 1 && m <= config.tileM)
        continue;
      // Boxes have all rows of such a tile.
      if ((config.halfStages || config.alternate || config.held) &&
          m < config.tileM)
        continue;
      int64_t rounds =
          llvm::divideCeil(config.tiles(m, n, batch), uint64_t(device.smCount));
      int64_t across = llvm::divideCeil(n, config.tileN);
      if (k > c.mostK || k < c.leastK || rounds > c.mostRounds ||
          rounds < c.leastRounds || across > c.mostAcross || isRanked(config))
        continue;
      // Few rows are bound by what is under way: a block that has a
      // multiprocessor to itself has all of its shared memory.
      if (few && m <= config.tileM && loop == GemmLoop::Warpgroup &&
          rounds == 1 && config.minBlocks > 1) {
        int64_t slot = config.sharedBytes() / config.stages;
        config.minBlocks = 1;
        config.stages = device.sharedPerBlock / slot;
      }
      ranked.push_back(
          {config, estimate(config, c, m, n, k, batch, computed, device)});
    }
  };
  bool isByte = isInteger(kind) || isFloat8(kind);
  auto pick = [&](auto &half, auto &byte, auto &promoted) {
    return isPromoted ? llvm::ArrayRef<Candidate>(promoted)
           : isByte   ? llvm::ArrayRef<Candidate>(byte)
                      : llvm::ArrayRef<Candidate>(half);
  };
  if ((kind == GemmKind::F16 || kind == GemmKind::BF16) &&
      supply == GemmSupply::Boxes && device.hasWarpgroups)
    consider(kHalfHeld, GemmLoop::Warpgroup, 1);
  bool isNarrow = isByte || kind == GemmKind::F16 || kind == GemmKind::BF16;
  if (isNarrow && supply == GemmSupply::Boxes && device.hasWarpgroups)
    consider(pick(kHalfCluster, kByteCluster, kPromotedCluster),
             GemmLoop::Warpgroup, 2);
  if (isNarrow && !computed && device.hasWarpgroups)
    consider(pick(kHalfWarpgroup, kByteWarpgroup, kPromotedWarpgroup),
             GemmLoop::Warpgroup, 1);
  // Nothing but the copy engine rounds on the way to shared memory.
  if (kind == GemmKind::TF32 && supply == GemmSupply::Boxes &&
      device.hasWarpgroups) {
    consider(kTf32Cluster, GemmLoop::Warpgroup, 2);
    consider(kTf32Warpgroup, GemmLoop::Warpgroup, 1);
  }
  consider(candidates(kind, computed), GemmLoop::Warp, 1);
  ranked = inOrder(std::move(ranked));
  if (supply == GemmSupply::Boxes)
    ranked = withSplits(std::move(ranked),
                        rankSplitConfigs(kind, m, n, k, batch, device, fast));
  if (!few)
    return ranked;
  // The other loops have read 16 rows' weights at 78 % of the bandwidth. What
  // they take beyond that is still their order.
  double bytes = double(ranked.front().config.elementBytes() * n * k * batch);
  for (GemmRanked &other : ranked)
    other.microseconds = std::max(other.microseconds, bytes / 3.6e6) + 1.5;
  llvm::append_range(
      ranked, rankFewConfigs(kind, m, n, k, batch, supply, *few, device));
  llvm::append_range(
      ranked, rankDirectConfigs(kind, m, n, k, batch, supply, *few, device));
  return inOrder(std::move(ranked));
}

GemmConfig fusec::cuda::chooseGemmConfig(GemmKind kind, int64_t m, int64_t n,
                                         int64_t k, int64_t batch,
                                         GemmSupply supply,
                                         const GemmDevice &device, bool fast,
                                         const GemmOrders *few) {
  return rankGemmConfigs(kind, m, n, k, batch, supply, device, fast, few)
      .front()
      .config;
}
