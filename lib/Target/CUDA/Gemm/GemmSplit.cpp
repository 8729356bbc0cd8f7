//===- GemmSplit.cpp - shapes of the loop whose clusters divide k ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of fewer tiles than multiprocessors lasts as long as the steps of
// one tile. Dividing them between the blocks of a cluster costs the exchange of
// the sums, so what wins is a small tile, whose sums are few, or a large one,
// whose steps are. Clusters of more than two blocks do not fill a GPU.
//===----------------------------------------------------------------------===//
#include "GemmRank.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace fusec::cuda;

namespace {

/// A tile with as many slots as fit, and the microseconds of a step of 128
/// bytes of k where two blocks share B, and where none do. Measured are those
/// of 128 x 256 (800 and 640 TFLOP/s) and, from whole sums of long k, of
/// 64 x 64: 0.28 us for two on a multiprocessor, 0.17 for one
/// (benchmarks/results/2026-11-30-gemm.md). The former is what shared memory
/// does at 128 bytes a clock, in and out, so that is where the others are from.
struct Tile {
  int64_t tileM, tileN, stages;
  double shared, alone;
};
constexpr Tile kTiles[] = {
    {128, 256, 4, 0.69, 0.86}, {64, 256, 5, 0.36, 0.36},
    {128, 128, 7, 0.38, 0.38}, {64, 128, 9, 0.25, 0.25},
    {64, 64, 14, 0.17, 0.17},
};
/// Adding up sums of 8-bit floats makes a step longer.
constexpr double kPromotion = 1.1;
/// Start and end of a tile, and what the blocks of a cluster wait for each
/// other, in microseconds.
constexpr double kFixed = 2, kMeetings = 1.5;
/// Bytes in a microsecond that a block reads from others' shared memory (13
/// bytes a clock, published for clusters of 4 on an H100).
constexpr double kDistant = 25e3;
/// The largest cluster that every GPU with clusters takes. Their sizes here are
/// powers of two, which have been launched on an H200.
constexpr int64_t kPortable = 8;
/// Steps of a part, and results along each side, at least.
constexpr int64_t kShortPart = 4, kFewResults = 65;

/// Clusters that run at once. Their blocks are of one group of multiprocessors,
/// of which an H100 and an H200 have eight: of 16 or 18 each, one of fewer (15
/// clusters of 8 have been seen to fit).
int64_t clustersAtOnce(int64_t blocks, int64_t multiprocessors) {
  constexpr int64_t kGroup = 16, kSmallest = 12;
  if (blocks <= 2 || multiprocessors < kGroup)
    return multiprocessors / blocks;
  return (multiprocessors / kGroup - 1) * (kGroup / blocks) +
         kSmallest / blocks;
}

} // namespace

std::vector<GemmRanked> fusec::cuda::rankSplitConfigs(GemmKind kind, int64_t m,
                                                      int64_t n, int64_t k,
                                                      int64_t batch,
                                                      const GemmDevice &device,
                                                      bool fast) {
  if (kind == GemmKind::F32 || !device.hasWarpgroups || m < kFewResults ||
      n < kFewResults || batch < 1)
    return {};
  std::vector<GemmRanked> ranked;
  for (const Tile &tile : kTiles)
    for (int64_t sharers : {1, 2})
      for (int64_t ranks : {2, 4, 8}) {
        if (ranks * sharers > std::min(kPortable, device.largestCluster))
          break;
        GemmConfig config;
        config.kind = kind;
        config.loop = GemmLoop::Warpgroup;
        config.tileM = tile.tileM, config.tileN = tile.tileN;
        config.tileK = 128 / config.elementBytes();
        config.warpsM = tile.tileM / 16, config.warpsN = 1;
        config.stages = tile.stages;
        config.cluster = sharers * ranks, config.ranks = ranks;
        bool isPromoted = isFloat8(kind) && !fast;
        config.parts = isPromoted ? partsOf(tile.tileN) : 0;
        int64_t steps = llvm::divideCeil(k, config.tileK);
        // Panels of 64 columns are shared whole, and rows by tiles.
        if (steps < ranks * kShortPart || tile.tileN < 64 * sharers ||
            (sharers > 1 && m <= tile.tileM) ||
            config.sharedBytes() > device.sharedPerBlock)
          continue;
        int64_t rounds = llvm::divideCeil(
            config.clusters(m, n, batch),
            std::max<int64_t>(clustersAtOnce(config.cluster, device.smCount),
                              1));
        double step = (sharers > 1 ? tile.shared : tile.alone) *
                      (isPromoted ? kPromotion : 1);
        double exchanged = double(tile.tileM * tile.tileN * 4) *
                           double(ranks - 1) / double(ranks);
        double time =
            double(rounds) * (kFixed + kMeetings + exchanged / kDistant +
                              double(llvm::divideCeil(steps, ranks)) * step);
        ranked.push_back({config, time});
      }
  return inOrder(std::move(ranked));
}

std::optional<GemmRanked>
fusec::cuda::chooseSplitConfig(GemmKind kind, int64_t m, int64_t n, int64_t k,
                               int64_t batch, const GemmDevice &device,
                               bool fast) {
  std::vector<GemmRanked> ranked =
      rankSplitConfigs(kind, m, n, k, batch, device, fast);
  if (ranked.empty())
    return std::nullopt;
  return ranked.front();
}
