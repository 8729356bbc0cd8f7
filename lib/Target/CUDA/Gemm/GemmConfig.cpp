//===- GemmConfig.cpp - tile shapes of a contraction kernel ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of configurations with the rate each reaches on a large problem, and
// an estimate of the rounds that a problem takes: every SM works through
// ceil(tiles / SMs) tiles, slower when fewer blocks than it could hold are
// there to hide each other's latency, and each tile costs a fixed start and
// end beside its k loop.
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
/// 4096x1024x1024; the small computed tf32 tile is not measured). Only ratios
/// within one table matter.
struct Candidate {
  int64_t tileM, tileN, tileK, warpsM, warpsN, stages, minBlocks;
  double rate;
};

// Asynchronous 16-bit operands.
constexpr Candidate kHalf[] = {
    {128, 256, 64, 2, 4, 3, 1, 379}, {128, 128, 64, 2, 2, 3, 2, 382},
    {128, 128, 32, 2, 2, 4, 2, 369}, {64, 128, 64, 2, 2, 3, 3, 345},
    {64, 64, 64, 2, 2, 3, 4, 299},   {64, 64, 32, 2, 2, 4, 4, 286},
    {32, 64, 32, 2, 2, 4, 6, 203},
};
// A computed 16-bit operand: more registers, more threads a tile to gather.
constexpr Candidate kHalfComputed[] = {
    {128, 128, 32, 2, 4, 3, 2, 104},
    {64, 64, 32, 2, 2, 4, 4, 69},
    {32, 64, 32, 2, 2, 4, 4, 54},
};
constexpr Candidate kTf32[] = {
    {128, 128, 32, 2, 2, 3, 2, 175},
    {128, 128, 16, 2, 2, 4, 2, 171},
    {64, 64, 32, 2, 2, 3, 4, 128},
};
constexpr Candidate kTf32Computed[] = {
    {128, 128, 16, 2, 4, 4, 1, 66},
    {64, 64, 32, 2, 2, 3, 2, 50},
};
constexpr Candidate kSingle[] = {
    {128, 128, 32, 4, 2, 3, 1, 46},
    {128, 128, 16, 4, 2, 3, 1, 41},
    {64, 64, 16, 2, 1, 3, 4, 43},
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
  config.stages = c.stages, config.minBlocks = c.minBlocks;
  return config;
}

/// Relative time of a problem.
double estimate(const GemmConfig &config, double rate, int64_t m, int64_t n,
                int64_t k, int64_t batch, const GemmDevice &device) {
  // A tile's start (filling the ring) and end cost about as much as this many
  // steps of k: 34.8 us for k = 1024 against 29.7 without an epilogue.
  constexpr double kFixedK = 200;
  int64_t resident = std::clamp<int64_t>(
      device.sharedPerSM / (config.sharedBytes() + 1024), 1, config.minBlocks);
  int64_t rounds = llvm::divideCeil(
      std::max<int64_t>(config.grid(m, n, batch), 1), device.smCount);
  // One block alone on an SM that holds more reaches about six tenths.
  double hidden = 0.6 + 0.4 * std::min(rounds, resident) / config.minBlocks;
  return double(rounds) * config.tileM * config.tileN * (k + kFixedK) /
         (rate * hidden);
}

} // namespace

int64_t GemmConfig::elementBytes() const {
  return kind == GemmKind::F16 || kind == GemmKind::BF16 ? 2 : 4;
}

int64_t GemmConfig::sharedBytes() const {
  int64_t ring = stages * (tileM + tileN) * tileK * elementBytes();
  return std::max(ring, tileM * tileN * 4);
}

int64_t GemmConfig::grid(int64_t m, int64_t n, int64_t batch) const {
  return llvm::divideCeil(m, tileM) * llvm::divideCeil(n, tileN) * batch;
}

std::string GemmConfig::deviceType() const {
  static constexpr const char *names[] = {"F16", "BF16", "TF32", "F32"};
  std::string text = "GemmConfig<GemmKind::";
  text += names[static_cast<unsigned>(kind)];
  for (int64_t v : {tileM, tileN, tileK, warpsM, warpsN, stages, groupM})
    text += ", " + std::to_string(v);
  return text + ">";
}

std::array<int64_t, 9> GemmConfig::toNumbers() const {
  return {static_cast<int64_t>(kind), tileM,  tileN,  tileK,    warpsM,
          warpsN,                     stages, groupM, minBlocks};
}

GemmConfig GemmConfig::fromNumbers(llvm::ArrayRef<int64_t> numbers) {
  assert(numbers.size() == 9 && "as many numbers as toNumbers gives");
  GemmConfig config;
  config.kind = static_cast<GemmKind>(numbers[0]);
  config.tileM = numbers[1], config.tileN = numbers[2];
  config.tileK = numbers[3];
  config.warpsM = numbers[4], config.warpsN = numbers[5];
  config.stages = numbers[6], config.groupM = numbers[7];
  config.minBlocks = numbers[8];
  return config;
}

GemmConfig fusec::cuda::chooseGemmConfig(GemmKind kind, int64_t m, int64_t n,
                                         int64_t k, int64_t batch,
                                         bool computed,
                                         const GemmDevice &device) {
  llvm::ArrayRef<Candidate> table = candidates(kind, computed);
  // The smallest configuration fits every device and is the fallback.
  GemmConfig best = configOf(kind, table.back());
  double bestTime = estimate(best, table.back().rate, m, n, k, batch, device);
  for (const Candidate &c : table.drop_back()) {
    GemmConfig config = configOf(kind, c);
    if (config.sharedBytes() > device.sharedPerBlock)
      continue;
    double time = estimate(config, c.rate, m, n, k, batch, device);
    if (time < bestTime) {
      best = config;
      bestTime = time;
    }
  }
  return best;
}
