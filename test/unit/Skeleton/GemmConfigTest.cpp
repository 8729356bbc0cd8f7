//===- GemmConfigTest.cpp - choice of contraction tiles -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fusec/Target/CUDA/GemmConfig.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace fusec::cuda;

namespace {

constexpr GemmKind kKinds[] = {GemmKind::F16, GemmKind::BF16, GemmKind::TF32,
                               GemmKind::F32, GemmKind::I8,   GemmKind::U8I8};
constexpr GemmSupply kSupplies[] = {GemmSupply::Computed, GemmSupply::Groups,
                                    GemmSupply::Boxes};

TEST(GemmConfig, HasTheFormulasOfTheDeviceTemplate) {
  GemmConfig config;
  config.kind = GemmKind::BF16;
  config.tileM = 128, config.tileN = 256, config.tileK = 64;
  config.warpsM = 2, config.warpsN = 4, config.stages = 3;
  EXPECT_EQ(config.deviceType(),
            "GemmConfig<GemmKind::BF16, 128, 256, 64, 2, 4, 3, 8, 1>");
  EXPECT_EQ(config.threads(), 256);
  EXPECT_EQ(config.sharedBytes(), 3 * (128 + 256) * 64 * 2);
  config.stages = 2, config.tileK = 32;
  EXPECT_EQ(config.sharedBytes(), 128 * 256 * 4) << "the staged f32 tile";
  config.kind = GemmKind::F32;
  EXPECT_EQ(config.sharedBytes(), 128 * 256 * 4);
  config.stages = 3;
  EXPECT_EQ(config.sharedBytes(), 3 * (132 + 260) * 32 * 4)
      << "four elements behind each line";
  EXPECT_EQ(config.grid(4096, 4096, 3, {}), 32 * 16 * 3);
  EXPECT_EQ(config.grid(1, 257, 1, {}), 2);
}

TEST(GemmConfig, HasTheFormulasOfTheWarpgroupLoop) {
  GemmConfig config;
  config.loop = GemmLoop::Warpgroup;
  config.tileM = 128, config.tileN = 256, config.tileK = 64;
  config.warpsM = 8, config.warpsN = 1, config.stages = 4;
  EXPECT_EQ(config.deviceType(),
            "GemmWgmmaConfig<GemmKind::F16, 2, 256, 4, 8, 1, 1>");
  EXPECT_EQ(config.threads(), 384);
  EXPECT_EQ(config.sharedBytes(), 4 * (128 + 256) * 64 * 2);
  EXPECT_EQ(config.grid(4096, 4096, 3, {}), 132)
      << "no more than there are SMs";
  EXPECT_EQ(config.grid(129, 256, 1, {}), 2);
  config.cluster = 2;
  EXPECT_EQ(config.grid(129, 256, 1, {}), 2);
  EXPECT_EQ(config.grid(257, 512, 1, {}), 8) << "whole clusters";
  GemmConfig same = GemmConfig::fromNumbers(config.toNumbers());
  EXPECT_EQ(same.deviceType(), config.deviceType());
}

TEST(GemmConfig, HasTheFormulasOfWarpgroupsApart) {
  GemmConfig config;
  config.loop = GemmLoop::Warpgroup;
  config.tileM = 128, config.tileN = 320, config.tileK = 64;
  config.warpsM = 8, config.warpsN = 1, config.cluster = 2;
  config.stages = 4, config.halfStages = 3;
  EXPECT_EQ(config.deviceType(),
            "GemmApartConfig<GemmKind::F16, 320, 4, 3, 8, 2>");
  EXPECT_EQ(config.threads(), 384);
  EXPECT_EQ(config.sharedBytes(), 128 * (4 * 128 + 2 * 3 * 192))
      << "panels of 64 columns";
  EXPECT_EQ(config.boxColumns(), 160);
  GemmConfig same = GemmConfig::fromNumbers(config.toNumbers());
  EXPECT_EQ(same.deviceType(), config.deviceType());
  config.kind = GemmKind::E4M3;
  config.tileN = 192, config.parts = 1, config.cluster = 1;
  EXPECT_EQ(config.deviceType(),
            "GemmApartConfig<GemmKind::E4M3, 192, 4, 3, 8, 1, true>");
  EXPECT_EQ(config.sharedBytes(), 128 * (4 * 128 + 3 * 192));
}

TEST(GemmConfig, HasTheFormulasOfClustersThatDivideSums) {
  GemmConfig config;
  config.loop = GemmLoop::Warpgroup;
  config.tileM = 128, config.tileN = 256, config.tileK = 64;
  config.warpsM = 8, config.warpsN = 1, config.stages = 4;
  config.cluster = 6, config.ranks = 3;
  EXPECT_EQ(config.deviceType(),
            "GemmSplitConfig<GemmKind::F16, 2, 256, 4, 8, 2, 3>");
  EXPECT_EQ(config.threads(), 384);
  EXPECT_EQ(config.sharedBytes(), 4 * (128 + 256) * 64 * 2);
  EXPECT_EQ(config.boxColumns(), 128) << "two blocks share B";
  EXPECT_EQ(config.grid(1024, 1024, 1, {}), 16 * 6);
  EXPECT_EQ(config.grid(129, 257, 3, {}), 6 * 6);
  EXPECT_EQ(config.grid(4096, 4096, 1, {}), 132) << "22 clusters";
  GemmConfig same = GemmConfig::fromNumbers(config.toNumbers());
  EXPECT_EQ(same.deviceType(), config.deviceType());
  config.kind = GemmKind::E4M3, config.parts = 2;
  EXPECT_EQ(config.deviceType(),
            "GemmSplitConfig<GemmKind::E4M3, 2, 256, 4, 8, 2, 3, 2>");
}

TEST(GemmConfig, DividesLongSumsOfFewTilesInClusters) {
  auto choose = [](int64_t m, int64_t n, int64_t k, int64_t batch = 1) {
    return chooseGemmConfig(GemmKind::BF16, m, n, k, batch, GemmSupply::Boxes);
  };
  GemmConfig pairs = choose(512, 1024, 8192);
  EXPECT_EQ(pairs.ranks, 2) << pairs.deviceType();
  GemmConfig wide = choose(1024, 1024, 8192);
  EXPECT_EQ(wide.deviceType(),
            "GemmSplitConfig<GemmKind::BF16, 1, 256, 5, 8, 1, 2>");
  EXPECT_EQ(wide.grid(1024, 1024, 1, {}), 128);
  EXPECT_EQ(choose(64, 16384, 8192).cluster, 1);
  EXPECT_EQ(choose(512, 512, 16384).cluster, 2)
      << "16 clusters of 8 may not fit at once";
  EXPECT_EQ(choose(256, 256, 4096).cluster, 8);
  EXPECT_EQ(choose(128, 128, 8192).ranks, 8);
  for (auto [m, n, k, batch] : {std::array<int64_t, 4>{4096, 1024, 1024, 1},
                                {512, 512, 512, 64},
                                {8192, 8192, 8192, 1},
                                {8192, 8192, 256, 1},
                                {2048, 2048, 2048, 1},
                                {1024, 1024, 1024, 1},
                                {128, 768, 768, 1},
                                {64, 64, 64, 32},
                                {64, 8192, 4096, 1},
                                {256, 256, 128, 1}})
    EXPECT_EQ(choose(m, n, k, batch).ranks, 1) << m << "x" << n << "x" << k;
  EXPECT_EQ(
      chooseGemmConfig(GemmKind::BF16, 256, 256, 4096, 1, GemmSupply::Groups)
          .ranks,
      1)
      << "the copy engine brings both operands";
  GemmDevice other;
  other.hasWarpgroups = false;
  EXPECT_FALSE(chooseSplitConfig(GemmKind::BF16, 256, 256, 4096, 1, other));
  EXPECT_FALSE(chooseSplitConfig(GemmKind::F32, 256, 256, 4096, 1));
}

TEST(GemmConfig, DividesSumsWithinTheLimitsOfTheDeviceTemplate) {
  for (GemmKind kind : {GemmKind::F16, GemmKind::TF32, GemmKind::U8I8,
                        GemmKind::E4M3, GemmKind::E5M2})
    for (bool fast : {false, true})
      for (int64_t m : {65, 130, 1000})
        for (int64_t n : {65, 300, 1000})
          for (int64_t k : {1000, 5000, 30000}) {
            auto choice = chooseSplitConfig(kind, m, n, k, 1, {}, fast);
            ASSERT_TRUE(choice.has_value());
            const GemmConfig &c = choice->config;
            EXPECT_EQ(c.cluster % c.ranks, 0);
            EXPECT_GE(c.ranks, 2);
            EXPECT_LE(c.cluster, 8);
            EXPECT_EQ(c.tileN % (64 * c.sharers()), 0) << c.deviceType();
            EXPECT_GE(c.sharedBytes(), c.tileM * c.tileN * 4);
            EXPECT_LE(c.sharedBytes(), GemmDevice().sharedPerBlock);
            EXPECT_EQ(c.parts > 0, isFloat8(kind) && !fast);
          }
}

TEST(GemmConfig, TakesNoLargerClusterThanTheDeviceRuns) {
  for (int64_t largest : {1, 2, 4}) {
    GemmDevice device;
    device.largestCluster = largest;
    for (auto [m, n, k] : {std::array<int64_t, 3>{256, 256, 4096},
                           {8192, 8192, 4096},
                           {1024, 1024, 8192},
                           {8, 64, 65536}}) {
      GemmOrders orders;
      for (const GemmRanked &ranked :
           rankGemmConfigs(GemmKind::BF16, m, n, k, 1, GemmSupply::Boxes,
                           device, false, &orders))
        EXPECT_LE(ranked.config.cluster, largest) << ranked.config.deviceType();
    }
  }
}

TEST(GemmConfig, LaunchesBlocksOnTheSmallestDevice) {
  GemmConfig config =
      chooseGemmConfig(GemmKind::BF16, 256, 256, 4096, 1, GemmSupply::Boxes);
  ASSERT_EQ(config.cluster, 8);
  GemmDevice device;
  device.smCount = 6;
  EXPECT_EQ(config.grid(256, 256, 1, device), 8)
      << "refused by the driver, not left out";
}

TEST(GemmConfig, StreamsWeightsOfFewRows) {
  fusec::cuda::GemmOrders orders;
  orders.span = 32, orders.staged = 1, orders.bytes = 0.5625;
  auto choose = [&](int64_t m, int64_t n, int64_t k) {
    return chooseGemmConfig(GemmKind::BF16, m, n, k, 1, GemmSupply::Computed,
                            {}, false, &orders);
  };
  GemmConfig config = choose(1, 8192, 4096);
  EXPECT_EQ(config.deviceType(),
            "GemmDirectConfig<GemmKind::BF16, 1, 1, 8, 1, 2, 32, 4096>");
  EXPECT_EQ(config.threads(), 256);
  EXPECT_EQ(config.sharedBytes(), 4 * 8 * (16 + 4) + 2 * 4096)
      << "sums of eight warps, and one row";
  EXPECT_EQ(config.grid(1, 8192, 1, {}), 512) << "four blocks each";
  EXPECT_EQ(config.grid(1, 65536, 1, {}), 528) << "take several tiles";
  EXPECT_EQ(GemmConfig::fromNumbers(config.toNumbers()).deviceType(),
            config.deviceType());
  config = choose(13, 8192, 4096);
  EXPECT_EQ(config.tileM, 16);
  EXPECT_EQ(config.depth, 4096);
  EXPECT_EQ(choose(5, 8192, 4100).depth, 4224) << "whole units of 128";
  // More rows, and rows that do not fit, go through rings.
  config = choose(32, 8192, 4096);
  EXPECT_EQ(config.loop, GemmLoop::Few);
  config = choose(16, 8192, 16384);
  EXPECT_EQ(config.deviceType(),
            "GemmFewConfig<GemmKind::BF16, 16, 128, 8, 2, 2, 32, 1>");
  EXPECT_EQ(config.sharedBytes(), 8 * 2 * (16 * 256 + 128 * 64))
      << "rows of 128 k, and 64 bytes of each column";
  EXPECT_EQ(config.grid(16, 8192, 1, {}), 128);
  orders.span = 0;
  EXPECT_EQ(choose(16, 8192, 4096).span, 0);
}

TEST(GemmConfig, ReadsCopiedWeightsOfFewRowsToRegisters) {
  GemmOrders orders;
  auto loop = [&](int64_t m) {
    return chooseGemmConfig(GemmKind::BF16, m, 8192, 4096, 1, GemmSupply::Boxes,
                            {}, false, &orders)
        .loop;
  };
  EXPECT_EQ(loop(4), GemmLoop::Few) << "along k, where it is no faster";
  orders.isRhsOuter = true;
  EXPECT_EQ(loop(1), GemmLoop::Direct);
  EXPECT_EQ(loop(4), GemmLoop::Direct);
  EXPECT_EQ(loop(16), GemmLoop::Warpgroup) << "bringing A takes too long";
  EXPECT_EQ(loop(64), GemmLoop::Warpgroup);
  GemmConfig ring = chooseGemmConfig(GemmKind::BF16, 64, 8192, 4096, 1,
                                     GemmSupply::Boxes, {}, false, &orders);
  EXPECT_EQ(ring.minBlocks, 1);
  EXPECT_EQ(ring.stages, 14) << "a tile each: all of the shared memory";
}

TEST(GemmConfig, TakesTheWidestTilesWhereTheyFit) {
  auto choose = [](int64_t m, int64_t n, GemmSupply supply) {
    return chooseGemmConfig(GemmKind::BF16, m, n, 1280, 1, supply);
  };
  GemmConfig turns = choose(65536, 320, GemmSupply::Boxes);
  EXPECT_EQ(turns.tileN, 160);
  EXPECT_EQ(turns.alternate, 5) << "tiles in turns";
  EXPECT_EQ(turns.deviceType(),
            "GemmAlternateConfig<GemmKind::BF16, 160, 5, 5, 8, 2>");
  GemmConfig wide = choose(16384, 320, GemmSupply::Boxes);
  EXPECT_EQ(wide.tileN, 320) << "too few tiles for turns";
  EXPECT_EQ(wide.halfStages, 3);
  EXPECT_EQ(choose(65536, 320, GemmSupply::Groups).halfStages, 0);
  EXPECT_EQ(choose(8192, 8192, GemmSupply::Boxes).tileN, 256);
  EXPECT_EQ(choose(32768, 768, GemmSupply::Boxes).tileN, 256);
  EXPECT_EQ(choose(64, 320, GemmSupply::Boxes).halfStages, 0)
      << "boxes have all rows of a tile";
  auto deep = [](int64_t k) {
    return chooseGemmConfig(GemmKind::BF16, 8192, 8192, k, 1,
                            GemmSupply::Boxes);
  };
  EXPECT_EQ(deep(4096).halfStages, 0);
  EXPECT_EQ(deep(256).halfStages, 0);
  EXPECT_EQ(deep(320).held, 0) << "they do not fit";
  EXPECT_EQ(deep(256).deviceType(),
            "GemmHeldConfig<GemmKind::BF16, 256, 4, 4>")
      << "columns of B stay";
  EXPECT_EQ(deep(256).grid(8192, 8192, 1, {}), 128)
      << "four blocks with the rows of each 256 columns";
  EXPECT_EQ(deep(256).grid(8192, 5 * 256, 1, {}), 130);
  EXPECT_EQ(deep(256).grid(8192, 45 * 256, 1, {}), 132)
      << "two with each columns would leave 42 multiprocessors";
  EXPECT_EQ(deep(256).grid(100, 256, 1, {}), 1);
  EXPECT_EQ(deep(256).grid(100, 256, 0, {}), 0);
  GemmConfig few =
      chooseGemmConfig(GemmKind::BF16, 4096, 1024, 1024, 1, GemmSupply::Boxes);
  EXPECT_EQ(few.tileN, 256);
  EXPECT_EQ(few.cluster, 1) << "few rounds of short sums";
  EXPECT_EQ(choose(8192, 8192, GemmSupply::Boxes).cluster, 2);
}

TEST(GemmConfig, PromotesSumsOfFloat8UnlessTheyMayBeFast) {
  for (GemmKind kind :
       {GemmKind::E4M3, GemmKind::E4M3E5M2, GemmKind::E5M2E4M3, GemmKind::E5M2})
    for (GemmSupply supply : {GemmSupply::Groups, GemmSupply::Boxes})
      for (int64_t n : {64, 1000, 8192}) {
        GemmConfig promoted = chooseGemmConfig(kind, n, n, n, 1, supply);
        GemmConfig fast =
            chooseGemmConfig(kind, n, n, n, 1, supply, {}, /*fast=*/true);
        EXPECT_EQ(promoted.loop, GemmLoop::Warpgroup);
        EXPECT_GT(promoted.parts, 0);
        EXPECT_EQ(fast.parts, 0);
        // Two sets of accumulators beside what else a thread needs.
        int64_t sums = promoted.tileN / 2 * (promoted.parts + 1);
        EXPECT_LE(sums / promoted.parts, 192);
        EXPECT_EQ(promoted.elementBytes(), 1);
        EXPECT_LE(promoted.sharedBytes(), GemmDevice().sharedPerBlock);
        EXPECT_EQ(GemmConfig::fromNumbers(promoted.toNumbers()).deviceType(),
                  promoted.deviceType());
      }
  EXPECT_EQ(chooseGemmConfig(GemmKind::F16, 512, 512, 512, 1).parts, 0);
  EXPECT_EQ(chooseGemmConfig(GemmKind::U8, 512, 512, 512, 1).parts, 0);
}

TEST(GemmConfig, LaunchesNothingForEmptyResults) {
  for (GemmKind kind : kKinds) {
    EXPECT_EQ(chooseGemmConfig(kind, 0, 64, 64, 1).grid(0, 64, 1, {}), 0);
    EXPECT_EQ(chooseGemmConfig(kind, 64, 0, 64, 1).grid(64, 0, 1, {}), 0);
    EXPECT_EQ(chooseGemmConfig(kind, 64, 64, 64, 0).grid(64, 64, 0, {}), 0);
    EXPECT_GT(chooseGemmConfig(kind, 64, 64, 0, 1).grid(64, 64, 1, {}), 0);
  }
}

TEST(GemmConfig, TakesLargeTilesForLargeAndSmallTilesForSmallProblems) {
  for (GemmKind kind : kKinds)
    for (GemmSupply supply : kSupplies) {
      GemmConfig large = chooseGemmConfig(kind, 8192, 8192, 4096, 1, supply);
      GemmConfig small = chooseGemmConfig(kind, 256, 256, 1024, 1, supply);
      EXPECT_GE(large.tileM * large.tileN, 128 * 128);
      EXPECT_LE(small.tileM * small.tileN, 64 * 64);
      GemmConfig batched = chooseGemmConfig(kind, 256, 256, 1024, 512, supply);
      EXPECT_GE(batched.tileM * batched.tileN, 128 * 128);
    }
}

TEST(GemmConfig, DividesKWhereResultsAreFew) {
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{160, 64, 960}, {960, 64, 160}, {64, 256, 480}}) {
    GemmConfig config =
        chooseGemmConfig(GemmKind::F32, m, n, k, 1, GemmSupply::Computed);
    EXPECT_GE(config.threads(), 256) << config.deviceType();
    EXPECT_GT(config.warpsK, 1) << config.deviceType();
  }
  EXPECT_EQ(chooseGemmConfig(GemmKind::F32, 4096, 4096, 4096, 1).warpsK, 1);
}

TEST(GemmConfig, StaysWithinTheSharedMemoryOfTheDevice) {
  for (int64_t limit : {48, 99, 163, 227}) {
    GemmDevice device{108, limit * 1024, (limit + 1) * 1024};
    for (GemmKind kind : kKinds)
      for (GemmSupply supply : kSupplies)
        for (int64_t size : {1, 100, 1000, 10000}) {
          GemmConfig config =
              chooseGemmConfig(kind, size, size, size, 1, supply, device);
          EXPECT_LE(config.sharedBytes(), device.sharedPerBlock);
          EXPECT_LE(config.threads(), 1024);
        }
  }
}

TEST(GemmConfig, MeetsTheConstraintsOfTheDeviceTemplate) {
  for (GemmKind kind : kKinds)
    for (GemmSupply supply : kSupplies)
      for (int64_t m : {1, 17, 300, 5000})
        for (int64_t n : {1, 17, 300, 5000})
          for (bool hasWarpgroups : {false, true}) {
            GemmDevice device;
            device.hasWarpgroups = hasWarpgroups;
            GemmConfig c = chooseGemmConfig(kind, m, n, 512, 1, supply, device);
            EXPECT_TRUE(hasWarpgroups || c.loop == GemmLoop::Warp);
            for (int64_t v : {c.tileM, c.tileK, c.warpsM, c.warpsN})
              EXPECT_EQ(v & (v - 1), 0) << c.deviceType();
            if (c.loop == GemmLoop::Warp)
              EXPECT_EQ(c.tileN & (c.tileN - 1), 0) << c.deviceType();
            if (kind == GemmKind::F32) {
              EXPECT_GE(c.tileM, 16 * c.warpsM);
              EXPECT_GE(c.tileN, 32 * c.warpsN);
              EXPECT_LE(c.tileM * c.tileN, 64 * 64 * c.warpsM * c.warpsN);
              EXPECT_GE(c.tileK, 4 * c.warpsK);
            } else if (c.loop == GemmLoop::Warpgroup) {
              EXPECT_EQ(c.tileM, 16 * c.warpsM);
              EXPECT_EQ(c.tileK * c.elementBytes(), 128);
            } else {
              EXPECT_EQ(c.tileM % (16 * c.warpsM), 0);
              EXPECT_EQ(c.tileN % (16 * c.warpsN), 0);
              EXPECT_GE(c.tileK * c.elementBytes(), 64);
            }
          }
}

TEST(GemmConfig, RanksTheChoiceFirst) {
  GemmOrders orders;
  for (GemmKind kind : kKinds)
    for (GemmSupply supply : kSupplies)
      for (int64_t m : {1, 7, 16, 64, 100, 4096})
        for (int64_t n : {64, 320, 4096})
          for (const GemmOrders *few :
               {(const GemmOrders *)nullptr, (const GemmOrders *)&orders}) {
            std::vector<fusec::cuda::GemmRanked> ranked =
                rankGemmConfigs(kind, m, n, 1024, 1, supply, {}, false, few);
            ASSERT_FALSE(ranked.empty());
            EXPECT_EQ(
                ranked.front().config.name(),
                chooseGemmConfig(kind, m, n, 1024, 1, supply, {}, false, few)
                    .name());
            for (size_t i = 0; i < ranked.size(); ++i) {
              if (i) {
                EXPECT_LE(ranked[i - 1].microseconds, ranked[i].microseconds);
              }
              for (size_t j = 0; j < i; ++j)
                EXPECT_NE(ranked[i].config.name(), ranked[j].config.name())
                    << "names tell them apart";
              EXPECT_LE(ranked[i].config.sharedBytes(),
                        GemmDevice().sharedPerBlock);
              for (const GemmConfig &variant : variantsOf(ranked[i].config)) {
                EXPECT_NE(variant.name(), ranked[i].config.name());
                EXPECT_EQ(variant.sumOrder(), ranked[i].config.sumOrder());
                EXPECT_LE(variant.sharedBytes(), GemmDevice().sharedPerBlock);
                EXPECT_GE(variant.stages, 2);
              }
            }
          }
}

TEST(GemmConfig, TellsWhoseSumsAreEqual) {
  auto orders = [](GemmKind kind, int64_t m, GemmSupply supply) {
    std::vector<std::string> texts;
    GemmOrders few;
    for (const auto &one :
         rankGemmConfigs(kind, m, 512, 1024, 1, supply, {}, false, &few))
      texts.push_back(one.config.sumOrder());
    llvm::sort(texts);
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    return texts;
  };
  EXPECT_EQ(orders(GemmKind::I8, 16, GemmSupply::Groups),
            std::vector<std::string>{"exact"});
  EXPECT_EQ(orders(GemmKind::F16, 512, GemmSupply::Groups),
            (std::vector<std::string>{"warp", "warpgroup"}));
  EXPECT_EQ(orders(GemmKind::F16, 512, GemmSupply::Boxes),
            (std::vector<std::string>{"warp", "warpgroup", "warpgroup, 2 parts",
                                      "warpgroup, 4 parts"}));
  EXPECT_GT(orders(GemmKind::F16, 16, GemmSupply::Computed).size(), 2u)
      << "each shape for few rows divides k in its own way";
  EXPECT_GT(orders(GemmKind::F32, 512, GemmSupply::Groups).size(), 2u);
}

} // namespace

// States of columns take shared memory beside the ring, and registers.
TEST(GemmConfig, HoldsStatesOfColumns) {
  GemmDevice device;
  bool heldAll = true;
  for (const GemmRanked &one :
       rankGemmConfigs(GemmKind::BF16, 8192, 4096, 256, 1, GemmSupply::Boxes)) {
    EXPECT_TRUE(one.config.holdsColumns(0, device));
    EXPECT_FALSE(one.config.halfStages && one.config.holdsColumns(4, device));
    heldAll &= one.config.holdsColumns(4, device);
    EXPECT_EQ(one.config.columnCounters(33, 3), 6);
    if (one.config.loop == GemmLoop::Warpgroup) {
      EXPECT_EQ(one.config.columnParts(129), 3);
    }
  }
  EXPECT_FALSE(heldAll);
}
