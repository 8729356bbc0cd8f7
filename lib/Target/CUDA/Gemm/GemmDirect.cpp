//===- GemmDirect.cpp - shapes of the loop that keeps A in shared memory --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Up to 16 rows, all of whose k fits in shared memory. Small blocks hide each
// other's beginning and end; where A is large, one block has a multiprocessor.
//===----------------------------------------------------------------------===//
#include "GemmRank.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace fusec::cuda;

namespace {

constexpr int64_t kMostRows = 16;
/// Bytes per microsecond of the memory and of one multiprocessor, and weights
/// that it converts.
constexpr double kMemory = 4.3e6, kPerSM = 80e3, kWeights = 100e3;
/// For each byte of A in a multiprocessor, and what a further round of blocks
/// adds, in microseconds.
constexpr double kByte = 3.0 / (128 << 10), kRound = 0.3;

/// Warps side by side and along k, units under way, blocks a multiprocessor,
/// and microseconds of beginning and end. Measured for 8192 columns of 4096
/// weights (benchmarks/results/2026-11-30-gemm.md).
struct Shape {
  int64_t warpsN, warpsK, units, blocks;
  double fixed;
};
/// B along n, copied. More under way is slower.
constexpr Shape kAcross[] = {{1, 16, 1, 1, 2.7}};
/// B that streams. Small blocks hide each other's beginning and end, and bring
/// A more often.
constexpr Shape kStreams[] = {
    {1, 8, 2, 4, 2.2}, {2, 8, 2, 2, 2.9}, {4, 8, 2, 1, 3.5}};

} // namespace

std::vector<GemmRanked> fusec::cuda::rankDirectConfigs(
    GemmKind kind, int64_t m, int64_t n, int64_t k, int64_t batch,
    GemmSupply supply, const GemmOrders &orders, const GemmDevice &device) {
  bool isCopy = supply != GemmSupply::Computed;
  if ((kind != GemmKind::F16 && kind != GemmKind::BF16) || m < 1 ||
      m > kMostRows || n < 1 || k < 1 || orders.isLhsOuter ||
      (isCopy ? !orders.isRhsOuter : !orders.span))
    return {};
  GemmConfig config;
  config.kind = kind;
  config.loop = GemmLoop::Direct;
  config.groupM = config.warpsM = 1;
  config.tileM = llvm::PowerOf2Ceil(uint64_t(m));
  config.span = isCopy ? 0 : orders.span;
  config.staged = isCopy ? 0 : orders.staged;
  config.tileK = 4 * (isCopy ? 8 : orders.span);
  config.depth = llvm::alignTo(uint64_t(k), uint64_t(config.tileK));
  std::vector<GemmRanked> ranked;
  for (const Shape &shape :
       isCopy ? llvm::ArrayRef(kAcross) : llvm::ArrayRef(kStreams)) {
    config.warpsN = shape.warpsN;
    config.warpsK = shape.warpsK;
    config.stages = shape.units;
    config.minBlocks = shape.blocks;
    config.tileN = (isCopy ? 64 : 16) * shape.warpsN;
    if (config.sharedBytes() > device.sharedPerBlock ||
        config.minBlocks * (config.sharedBytes() + 1024) > device.sharedPerSM)
      continue;
    double weights = double(n * k * batch);
    double bytes = weights * (isCopy ? 2 : orders.bytes);
    double tiles = double(config.tiles(m, n, batch));
    double blocks = double(config.grid(m, n, batch, device));
    double rounds = std::ceil(tiles / blocks);
    // The last round of large blocks is not full.
    double idle = shape.blocks == 1 ? rounds * blocks / tiles : 1;
    double busy = std::min(blocks, double(device.smCount));
    double time = idle * std::max({bytes / kMemory, bytes / (kPerSM * busy),
                                   weights / (kWeights * busy)});
    double ofA = double(2 * config.tileM * config.depth * config.minBlocks);
    ranked.push_back(
        {config, time + shape.fixed + kByte * ofA + kRound * (rounds - 1)});
  }
  return inOrder(std::move(ranked));
}
