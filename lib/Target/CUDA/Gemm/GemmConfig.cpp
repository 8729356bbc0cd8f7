//===- GemmConfig.cpp - tile shapes of a contraction kernel ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of configurations with the rate each reaches on a large problem, and
// an estimate of the time that a problem takes: every SM works through
// ceil(tiles / SMs) tiles, slower when fewer blocks than it could hold are
// there to hide each other's latency; each tile costs a fixed start and end
// beside its k loop, and a step of k no less than the way to memory.
//===----------------------------------------------------------------------===//
#include "fusec/Target/CUDA/GemmConfig.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
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
constexpr Candidate kTf32[] = {
    {128, 128, 32, 2, 2, 1, 3, 2, 175, 0.8},
    {128, 128, 16, 2, 2, 1, 4, 2, 171, 0.8},
    {64, 64, 32, 2, 2, 1, 3, 4, 128, 0.7},
};
constexpr Candidate kTf32Computed[] = {
    {128, 128, 16, 2, 4, 1, 4, 1, 66, 1},
    {64, 64, 32, 2, 2, 1, 3, 2, 50, 0.8},
};
// The last four are for few results: warps divide k, or a thread makes less.
constexpr Candidate kSingle[] = {
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
    return kSingle;
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
  return config;
}

/// Microseconds of a problem.
double estimate(const GemmConfig &config, const Candidate &c, int64_t m,
                int64_t n, int64_t k, int64_t batch, bool computed,
                const GemmDevice &device) {
  // A tile's start (filling the ring) and end cost about as much as this many
  // steps of k: 34.8 us for k = 1024 against 29.7 without an epilogue.
  constexpr double kFixedK = 200;
  // From a load to its use, in us: once a step for a computed operand, which
  // is loaded one step ahead; shared by the ring's steps for others.
  constexpr double kLatency = 0.6;
  int64_t resident = std::clamp<int64_t>(
      device.sharedPerSM / (config.sharedBytes() + 1024), 1, config.minBlocks);
  int64_t rounds = llvm::divideCeil(
      std::max<int64_t>(config.grid(m, n, batch), 1), device.smCount);
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
  return double(rounds) * (perK * kFixedK + steps * step);
}

} // namespace

int64_t GemmConfig::elementBytes() const {
  return kind == GemmKind::F16 || kind == GemmKind::BF16 ? 2 : 4;
}

int64_t GemmConfig::sharedBytes() const {
  int64_t ring = stages * (tileM + tileN) * tileK * elementBytes();
  return std::max(ring, warpsK * tileM * tileN * 4);
}

int64_t GemmConfig::grid(int64_t m, int64_t n, int64_t batch) const {
  return llvm::divideCeil(m, tileM) * llvm::divideCeil(n, tileN) * batch;
}

std::string GemmConfig::deviceType() const {
  static constexpr const char *names[] = {"F16", "BF16", "TF32", "F32"};
  std::string text = "GemmConfig<GemmKind::";
  text += names[static_cast<unsigned>(kind)];
  for (int64_t v :
       {tileM, tileN, tileK, warpsM, warpsN, stages, groupM, warpsK})
    text += ", " + std::to_string(v);
  return text + ">";
}

std::array<int64_t, 10> GemmConfig::toNumbers() const {
  return {static_cast<int64_t>(kind),
          tileM,
          tileN,
          tileK,
          warpsM,
          warpsN,
          stages,
          groupM,
          warpsK,
          minBlocks};
}

GemmConfig GemmConfig::fromNumbers(llvm::ArrayRef<int64_t> numbers) {
  assert(numbers.size() == 10 && "as many numbers as toNumbers gives");
  GemmConfig config;
  config.kind = static_cast<GemmKind>(numbers[0]);
  config.tileM = numbers[1], config.tileN = numbers[2];
  config.tileK = numbers[3];
  config.warpsM = numbers[4], config.warpsN = numbers[5];
  config.stages = numbers[6], config.groupM = numbers[7];
  config.warpsK = numbers[8], config.minBlocks = numbers[9];
  return config;
}

GemmConfig fusec::cuda::chooseGemmConfig(GemmKind kind, int64_t m, int64_t n,
                                         int64_t k, int64_t batch,
                                         bool computed,
                                         const GemmDevice &device) {
  llvm::ArrayRef<Candidate> table = candidates(kind, computed);
  // The smallest configuration fits every device and is the fallback.
  GemmConfig best = configOf(kind, table.back());
  double bestTime =
      estimate(best, table.back(), m, n, k, batch, computed, device);
  for (const Candidate &c : table.drop_back()) {
    GemmConfig config = configOf(kind, c);
    if (config.sharedBytes() > device.sharedPerBlock)
      continue;
    double time = estimate(config, c, m, n, k, batch, computed, device);
    if (time < bestTime) {
      best = config;
      bestTime = time;
    }
  }
  return best;
}
