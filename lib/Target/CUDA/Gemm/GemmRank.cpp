//===- GemmRank.cpp - what a search chooses among -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of configurations, those that only a measurement tells apart, and
// which of them must agree in every bit.
//===----------------------------------------------------------------------===//
#include "GemmRank.h"
#include "llvm/ADT/STLExtras.h"

using namespace fusec::cuda;

std::vector<GemmRanked> fusec::cuda::inOrder(std::vector<GemmRanked> ranked) {
  // Few of them; and std::stable_sort asks for memory in a deprecated way.
  std::vector<GemmRanked> result;
  for (const GemmRanked &one : ranked)
    result.insert(llvm::upper_bound(result, one,
                                    [](const auto &a, const auto &b) {
                                      return a.microseconds < b.microseconds;
                                    }),
                  one);
  return result;
}

std::vector<GemmConfig> fusec::cuda::variantsOf(const GemmConfig &config,
                                                const GemmDevice &device) {
  std::vector<GemmConfig> variants;
  // Blocks of few rows have one tile of rows, and as long a ring as fits.
  if (config.loop == GemmLoop::Few || config.loop == GemmLoop::Direct)
    return variants;
  for (int64_t group : {4, 16}) {
    GemmConfig other = config;
    other.groupM = group;
    variants.push_back(other);
  }
  // The rings of warpgroups apart have lengths that go together, and those of
  // clusters that divide k are as long as fits.
  if (config.halfStages || config.alternate || config.held || config.ranks > 1)
    return variants;
  int64_t fewest = config.loop == GemmLoop::Warp ? 2 : 3;
  for (int64_t more : {1, -1}) {
    GemmConfig other = config;
    other.stages += more;
    if (other.stages >= fewest &&
        other.sharedBytes() <= device.sharedPerBlock &&
        other.minBlocks * (other.sharedBytes() + 1024) <= device.sharedPerSM)
      variants.push_back(other);
  }
  return variants;
}

std::vector<GemmRanked> fusec::cuda::rankPairConfigs(GemmKind kind, int64_t m,
                                                     int64_t n, int64_t k,
                                                     int64_t batch,
                                                     const GemmDevice &device) {
  std::vector<GemmRanked> ranked;
  for (GemmRanked &one :
       rankGemmConfigs(kind, m, 2 * n, k, batch, GemmSupply::Boxes, device)) {
    GemmConfig &config = one.config;
    // Columns of each product are whole panels of 64, and are not divided
    // among warpgroups or parts of k.
    if (config.loop != GemmLoop::Warpgroup || config.halfStages ||
        config.alternate || config.held || config.ranks > 1 || config.parts ||
        config.tileN % (128 * config.cluster))
      continue;
    config.products = 2;
    config.tileN /= 2;
    ranked.push_back(one);
  }
  return ranked;
}

std::string GemmConfig::name() const {
  std::string text = deviceType();
  // The other loop has it among its parameters.
  if (loop != GemmLoop::Warpgroup)
    text += " x" + std::to_string(minBlocks);
  return text;
}

std::string GemmConfig::sumOrder() const {
  if (isInteger(kind))
    return "exact";
  switch (loop) {
  case GemmLoop::Warp:
    // One sum over ascending k, or one of each group of warps, which have their
    // part of each step.
    return warpsK == 1 ? "warp"
                       : "warp, " + std::to_string(warpsK) + " parts of " +
                             std::to_string(tileK);
  case GemmLoop::Warpgroup:
    // As many parts of k, of the same whole steps, are added in their order.
    return std::string("warpgroup") + (parts ? ", promoted" : "") +
           (ranks > 1 ? ", " + std::to_string(ranks) + " parts" : "");
  case GemmLoop::Few:
  case GemmLoop::Direct:
    // Warps, clusters and the step at which a tile begins divide k.
    return deviceType();
  }
  llvm_unreachable("covered switch");
}
