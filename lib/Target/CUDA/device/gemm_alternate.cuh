//===- gemm_alternate.cuh - warpgroups that take tiles in turns *- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main loop of Hopper for operands that the copy engine brings, where
// stores take about as long as products. Two warpgroups take tiles of 128 rows
// in turns: one has the tensor cores for all steps of its tile while the other
// one is in the epilogue of the tile before. So there is one ring of A and one
// of B, each filled by a warp of its own, and a slot is for one warpgroup.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_ALTERNATE_CUH
#define FUSEC_GEMM_ALTERNATE_CUH
#ifdef FUSEC_SM90

/// One instantiation: tiles of 128 x TileN, 128 bytes of k a step, StagesA and
/// StagesB slots. The CTAs of a cluster have tiles one below the other; each
/// brings a part of B for all: rows where these are along k, else steps of k.
template <GemmKind Kind, i32 TileN, i32 StagesA, i32 StagesB, i32 GroupM,
          i32 Cluster>
struct GemmAlternateConfig {
  using Types = GemmTypes<Kind>;
  using Element = typename Types::Element;
  using Sum = typename Types::Sum;
  static constexpr GemmKind kKind = Kind;
  static constexpr i32 kTileM = 128;
  static constexpr i32 kTileN = TileN;
  static constexpr i32 kTileK = 128 / i32(sizeof(Element));
  static constexpr i32 kStagesA = StagesA;
  static constexpr i32 kStagesB = StagesB;
  static constexpr i32 kGroupM = GroupM;
  static constexpr i32 kCluster = Cluster;
  static constexpr i32 kSharers = Cluster;
  static constexpr i32 kRanks = 1;
  static constexpr i32 kThreads = 384;
  static constexpr i32 kBlocks = 1;
  static constexpr GemmRoles kRoles = GemmRoles::Alternate;
  static constexpr i32 kSlotA = kTileM * kTileK;
  /// Along n B comes in panels of 128 bytes: the last one may be cut.
  static constexpr i32 kSlotB = (TileN + 63) / 64 * 64 * kTileK;
  static constexpr i32 kSharedBytes =
      (StagesA * kSlotA + StagesB * kSlotB) * i32(sizeof(Element));

  static_assert(sizeof(Element) == 2 && TileN % 32 == 0 && TileN <= 160,
                "lanes hand over 32 columns at once, and have at most 160 "
                "sums");
  static_assert(TileN % (8 * Cluster) == 0, "rows of B by the eight");
  static_assert(StagesA >= 3 && StagesB >= 3, "two slots are under way");
};

/// Fills B's ring; one thread. Its barriers follow A's.
template <class Config, class Holes, class Ring, class Map>
FUSEC_DEVICE void gemmAlternateBringB(Ring ring, const Map &map,
                                      FUSEC_SHARED_PTR(FusecMbarrier) full,
                                      FUSEC_SHARED_PTR(FusecMbarrier) empty,
                                      const GemmWork<Config> &work) {
  using Box = typename Holes::BoxB;
  constexpr i32 kPanels = (Config::kTileN + 63) / 64;
  constexpr i32 kLines = Box::kAlongK ? Config::kTileN : kPanels * 64;
  constexpr i32 kRows = Config::kTileN / Config::kCluster;
  constexpr i32 kDepth = Config::kTileK / Config::kCluster;
  static_assert(!Box::kEights || kRows % 32 == 0, "whole blocks");
  GemmTurn<Config::kStagesB> turn{0, 1};
  for (i32 t = work.first(); t < work.tiles; t += work.stride()) {
    GemmTile tile = work.tile(t);
    for (i32 s = 0; s < work.steps; ++s) {
      i32 slot = Config::kStagesA + turn.slot;
      i32 at = Config::kStagesA * Config::kSlotA + turn.slot * Config::kSlotB;
      mbar_wait(empty, slot, turn.parity);
      mbar_arrive_expect(full, slot, kLines * 128);
      if constexpr (Box::kAlongK) {
        i32 row = work.sharer * kRows;
        Box::template load<Config::kCluster>(ring, at + row * Config::kTileK,
                                             map, full, slot, tile.batch,
                                             tile.n0 + row, s * Config::kTileK);
      } else {
        i32 line = work.sharer * kDepth;
        FUSEC_UNROLL
        for (i32 panel = 0; panel < kPanels; ++panel)
          Box::template load<Config::kCluster>(
              ring, at + (panel * Config::kTileK + line) * 64, map, full, slot,
              tile.batch, tile.n0 + 64 * panel, s * Config::kTileK + line);
      }
      turn.next();
    }
  }
}

/// Multiplies every second tile; `group` is the warpgroup's number. Named
/// barriers 2 and 3: the steps of the tile before have been issued.
template <class Config, class Holes, class Ring>
FUSEC_DEVICE void gemmAlternateConsume(const Holes &holes, Ring ring,
                                       FUSEC_SHARED_PTR(FusecMbarrier) full,
                                       FUSEC_SHARED_PTR(FusecMbarrier) empty,
                                       const GemmWork<Config> &work,
                                       i32 group) {
  using A = GemmDescriptor<Config, Holes::kOrderA>;
  using B = GemmDescriptor<Config, Holes::kOrderB>;
  using Sum = typename Config::Sum;
  constexpr i32 kSums = Config::kTileN / 2;
  GemmTurn<Config::kStagesA> turnA{0, 0};
  GemmTurn<Config::kStagesB> turnB{0, 0};
  GemmLater<Config, Holes, 2, Config::kTileN> later;
  later.begin();
  i32 turns = 0;
  for (i32 t = work.first(); t < work.tiles; t += work.stride(), turns ^= 1) {
    if (turns != group) {
      turnA.skip(work.steps);
      turnB.skip(work.steps);
      continue;
    }
    GemmTile tile = work.tile(t);
    const bool isFirst = t == work.first(),
               isLast = t + work.stride() >= work.tiles;
    Sum upper[kSums], lower[kSums];
    i32 lastA = 0, lastB = 0;
    if (!isFirst)
      bar_named(2 + group, 256);
    FUSEC_NO_UNROLL
    for (i32 s = 0; s < work.steps; ++s) {
      i32 slotB = Config::kStagesA + turnB.slot;
      mbar_wait(full, turnA.slot, turnA.parity);
      mbar_wait(full, slotB, turnB.parity);
      i32 at = turnA.slot * Config::kSlotA;
      u64 a = A::make(ring, at),
          below = A::make(ring, at + 64 * Config::kTileK);
      u64 b = B::make(ring, Config::kStagesA * Config::kSlotA +
                                turnB.slot * Config::kSlotB);
      wgmma_fence();
      FUSEC_UNROLL
      for (i32 i = 0; i < 4; ++i) {
        gemmIssue<Config, Holes>(upper, a, b, i, s > 0 || i > 0);
        gemmIssue<Config, Holes>(lower, below, b, i, s > 0 || i > 0);
      }
      wgmma_commit();
      if (s == 0)
        gemmPrefetch<128, Config::kTileN>(holes, tile, work.m, work.n);
      if (s == work.countAt())
        later.count(holes, work.m, work.n);
      wgmma_wait<1>();
      if (s > 0)
        gemmReleaseBoth<Config>(empty, lastA, lastB);
      lastA = turnA.slot;
      lastB = slotB;
      turnA.next();
      turnB.next();
    }
    if (!isLast)
      bar_named_arrive(3 - group, 256);
    wgmma_wait<0>(upper);
    wgmma_wait<0>(lower);
    gemmReleaseBoth<Config>(empty, lastA, lastB);
    i32 row = tile.m0 + warp() % 4 * 16 + (lane() >> 2);
    GemmColumn<Holes> none[kSums / 16];
    gemmHandOver<Config>(holes, upper, tile, row, work.m, work.n, none);
    gemmHandOver<Config>(holes, lower, tile, row + 64, work.m, work.n, none);
    later.put(tile);
  }
  later.count(holes, work.m, work.n);
}

/// gemm_wgmma of a GemmAlternateConfig. Boxes of B have a cluster's share of a
/// tile's columns where these are along k, else of a step's k.
template <class Config, class Holes, class MapA, class MapB>
FUSEC_DEVICE void gemmAlternate(const Holes &holes, const MapA &mapA,
                                const MapB &mapB, i32 m, i32 n, i32 k,
                                i32 batch) {
  using Element = typename Config::Element;
  constexpr i32 kSlots = Config::kStagesA + Config::kStagesB;
  static_assert(Holes::kAccessA == GemmAccess::Tensor &&
                    Holes::kAccessB == GemmAccess::Tensor &&
                    Holes::BoxA::kRows == 0,
                "whole boxes");
  static_assert(!GemmColumnOf<Holes>::kExists,
                "accumulators leave no registers for states of columns");
  FUSEC_SHARED_DYN(Element, ring);
  FUSEC_MBARRIERS(full, kSlots);
  FUSEC_MBARRIERS(empty, kSlots);
  if (tid() == 0) {
    for (i32 s = 0; s < kSlots; ++s) {
      mbar_init(full, s, 1);
      mbar_init(empty, s, s < Config::kStagesA ? 4 : 4 * Config::kCluster);
    }
    mbar_init_fence();
    gemmPrefetchMap(mapA);
    gemmPrefetchMap(mapB);
  }
  gemmMeet<Config>();
  GemmWork<Config> work;
  work.begin(m, n, k, batch);
  grid_wait();
  if (warp() < 4) {
    setmaxnreg_dec<40>();
    if (lane() == 0) {
      if (warp() == 0)
        gemmBringA<Config, Holes>(ring, mapA, full, empty, work);
      else if (warp() == 1)
        gemmAlternateBringB<Config, Holes>(ring, mapB, full, empty, work);
    }
  } else {
    setmaxnreg_inc<232>();
    gemmAlternateConsume<Config>(holes, ring, full, empty, work,
                                 gemmConsumer());
  }
  // A block stays while others may still copy to it or give slots back.
  if constexpr (Config::kCluster > 1)
    cluster_sync();
}

#endif // FUSEC_SM90
#endif // FUSEC_GEMM_ALTERNATE_CUH
