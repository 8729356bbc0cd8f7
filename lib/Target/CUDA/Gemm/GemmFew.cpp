//===- GemmFew.cpp - shapes of the loop for few rows ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of few rows takes as long as reading B. Blocks of 64 columns read
// it at the bandwidth of the memory if there are about as many as
// multiprocessors; where there are fewer, the blocks of a cluster divide k.
//===----------------------------------------------------------------------===//
#include "GemmRank.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace fusec::cuda;

namespace {

/// Bytes per microsecond of the memory, of the L2 and of one multiprocessor.
constexpr double kMemory = 4.3e6, kCache = 6e6, kPerSM = 80e3;
/// The first for B along n that is copied: 34 us for 67 MB
/// (benchmarks/results/2026-11-30-gemm.md), where a warp's copies of one row of
/// B are 128 bytes only.
constexpr double kMemoryAcross = 2e6;
/// TFLOP/s of mma.sync.
constexpr double kProducts = 400;
/// Start and end of a block, with the sums of each of its warps, what a further
/// round of blocks adds, and the meeting of a cluster, in microseconds.
constexpr double kFixed = 0.7, kWarp = 0.1, kRound = 0.7, kMeeting = 0.7;

int64_t tileRows(int64_t m) {
  for (int64_t rows : {8, 16, 32})
    if (m <= rows)
      return rows;
  return kMostFewRows;
}

double estimate(const GemmConfig &config, int64_t m, int64_t n, int64_t k,
                int64_t batch, double memory, const GemmDevice &device) {
  double bytes = double(config.elementBytes());
  double ofB = double(n * k * batch) * bytes;
  double blocks = double(config.grid(m, n, batch, device));
  double slots = double(device.smCount * config.minBlocks);
  // A block reads its columns and all rows for its part of k.
  double ofBlock = double((config.tileN + config.tileM) * k) * bytes /
                   double(config.cluster);
  double rowTiles = double(llvm::divideCeil(m, config.tileM));
  double perSM = std::ceil(blocks / double(device.smCount));
  double time = std::max({rowTiles * ofB / memory, blocks * ofBlock / kCache,
                          perSM * ofBlock / kPerSM,
                          2e-6 * double(config.tileM) * rowTiles *
                              double(n * k * batch) / kProducts});
  // Many rows take the room of a long ring from few warps.
  double warps = double(config.tileM <= 16 ? config.warpsK : 8);
  return time + kFixed + kWarp * warps +
         kRound * (std::ceil(blocks / slots) - 1) +
         (config.cluster > 1 ? kMeeting : 0);
}

/// Shapes of the loop whose B streams. What was measured for 8192 columns of
/// 4096 weights (benchmarks/results/2026-11-30-gemm.md): A is read at 1.7 TB/s,
/// as all blocks read the same lines, so that for more than 8 rows wider tiles
/// pay, whose blocks divide k.
std::vector<GemmRanked> rankStreams(GemmConfig config, int64_t m, int64_t n,
                                    int64_t k, int64_t batch,
                                    const GemmOrders &orders,
                                    const GemmDevice &device) {
  constexpr double kShared = 1.7e6, kConverted = 3.5;
  config.loop = GemmLoop::Few;
  config.tileM = tileRows(m);
  config.span = orders.span;
  config.staged = orders.staged;
  config.tileK = 4 * orders.span;
  config.warpsM = config.warpsN = config.groupM = config.minBlocks = 1;
  double ofB = double(n * k * batch) * orders.bytes;
  std::vector<GemmRanked> ranked;
  // 16 warps, for a search: they have registers for 8 rows.
  for (auto [columns, warps] :
       {std::pair<int64_t, int64_t>(64, 12), {64, 16}, {128, 8}})
    for (int64_t cluster : {1, 2, 4, 8}) {
      config.tileN = columns;
      config.warpsK = warps;
      config.cluster = cluster;
      config.stages = 1;
      config.stages =
          std::min<int64_t>(3, device.sharedPerBlock / config.sharedBytes());
      // Of 8 rows narrow tiles read as fast; 32 by 128 sums are too many.
      if (config.stages < 2 || (columns == 128 && config.tileM != 16) ||
          (warps == 16 && config.tileM != 8) ||
          (cluster > 1 &&
           (!device.hasWarpgroups || cluster > device.largestCluster ||
            k < warps * cluster * config.tileK / 2)))
        continue;
      double blocks = double(config.grid(m, n, batch, device));
      double rounds = std::ceil(blocks / double(device.smCount));
      double idle = rounds * double(device.smCount) / blocks;
      double rowTiles = double(llvm::divideCeil(m, config.tileM));
      double ofA = double(std::min(m, config.tileM) * k) * 2 *
                   double(config.tiles(m, n, batch));
      double time = rowTiles * ofB / kMemory * idle + ofA / kShared + kFixed +
                    kWarp * double(warps) + kRound * (rounds - 1) + kConverted +
                    (cluster > 1 ? kMeeting : 0);
      ranked.push_back({config, time});
    }
  return inOrder(std::move(ranked));
}

} // namespace

std::vector<GemmRanked> fusec::cuda::rankFewConfigs(
    GemmKind kind, int64_t m, int64_t n, int64_t k, int64_t batch,
    GemmSupply supply, const GemmOrders &orders, const GemmDevice &device) {
  GemmConfig config;
  config.kind = kind;
  if (kind == GemmKind::F32 || isFloat8(kind) || m < 1 || m > kMostFewRows ||
      n < 1 || k < 1 || orders.isLhsOuter ||
      (orders.isRhsOuter && config.elementBytes() != 2))
    return {};
  bool isComputed = supply == GemmSupply::Computed;
  if (orders.span)
    if (auto streams = rankStreams(config, m, n, k, batch, orders, device);
        !streams.empty())
      return streams;
  double memory = orders.isRhsOuter && !isComputed ? kMemoryAcross : kMemory;
  config.loop = GemmLoop::Few;
  config.tileM = tileRows(m);
  config.tileN = 64;
  config.tileK = 64 / config.elementBytes();
  config.warpsM = config.warpsN = 1;
  config.groupM = 1;
  std::vector<GemmRanked> ranked;
  // Computed elements wait in registers, so more warps have more under way.
  for (auto [warps, blocks] : {std::pair<int64_t, int64_t>(8, 1), {4, 2}}) {
    config.warpsK = isComputed && config.tileM <= 16 ? warps * 3 / 2 : warps;
    config.minBlocks = blocks;
    // As many stages as fit beside the other blocks of the multiprocessor.
    int64_t room =
        std::min(device.sharedPerBlock, device.sharedPerSM / blocks - 1024);
    config.stages = 1;
    int64_t stage = config.sharedBytes();
    config.stages = std::min<int64_t>(
        isComputed ? 3 : 8,
        room / (config.warpsK * (config.tileM + config.tileN) * 64));
    if (config.stages < 2 || stage > room)
      continue;
    for (int64_t cluster : {1, 2, 4, 8}) {
      config.cluster = cluster;
      int64_t parts = config.warpsK * cluster;
      if (cluster > 1 &&
          (!device.hasWarpgroups || cluster > device.largestCluster ||
           k < parts * config.tileK))
        break;
      double time = estimate(config, m, n, k, batch, memory, device);
      ranked.push_back({config, time});
    }
  }
  return inOrder(std::move(ranked));
}
