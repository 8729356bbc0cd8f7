//===- gemm_apart.cuh - warpgroups that do not wait for each other -*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main loop of Hopper for operands that the copy engine brings, where the
// epilogue matters. Two warpgroups have the left and the right half of a tile's
// columns: all 128 rows of A are for both, and each has a B of its own. So
// there are three rings, each filled by a warp of its own, and nothing but A's
// ring keeps the warpgroups together. The second one starts kLag steps later;
// while one is in its epilogue, the other one has the tensor cores for itself
// and works off the steps of A that the ring still holds.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_APART_CUH
#define FUSEC_GEMM_APART_CUH
#ifdef FUSEC_SM90

/// One instantiation: tiles of 128 x TileN, 128 bytes of k a step, StagesA
/// slots for A and StagesB for each half of B. The CTAs of a cluster of two
/// have tiles one below the other; each brings one half of B for both. With
/// `Promoted` the sums of each step are added to the accumulators in f32
/// (gemm_promote.cuh says why).
template <GemmKind Kind, i32 TileN, i32 StagesA, i32 StagesB, i32 GroupM,
          i32 Cluster, bool Promoted = false>
struct GemmApartConfig {
  using Types = GemmTypes<Kind>;
  using Element = typename Types::Element;
  using Sum = typename Types::Sum;
  static constexpr GemmKind kKind = Kind;
  static constexpr i32 kTileM = 128;
  static constexpr i32 kTileN = TileN;
  static constexpr i32 kTileK = 128 / i32(sizeof(Element));
  static constexpr i32 kHalfN = TileN / 2;
  static constexpr i32 kStagesA = StagesA;
  static constexpr i32 kStagesB = StagesB;
  static constexpr i32 kGroupM = GroupM;
  static constexpr i32 kCluster = Cluster;
  static constexpr i32 kSharers = Cluster;
  static constexpr i32 kRanks = 1;
  static constexpr bool kPromoted = Promoted;
  static constexpr i32 kThreads = 384;
  static constexpr i32 kBlocks = 1;
  static constexpr GemmRoles kRoles = GemmRoles::Apart;
  static constexpr i32 kSlotA = kTileM * kTileK;
  /// Along n B, of 16 bits, comes in panels of 128 bytes: the last one may be
  /// cut.
  static constexpr i32 kSlotB =
      (sizeof(Element) == 2 ? (kHalfN + 63) / 64 * 64 : kHalfN) * kTileK;
  static constexpr i32 kSharedBytes =
      (StagesA * kSlotA + 2 * StagesB * kSlotB) * i32(sizeof(Element));
  /// Steps that the first warpgroup is ahead in the beginning.
  static constexpr i32 kLag = StagesA - 2 < StagesB ? StagesA - 2 : StagesB;

  static_assert(
      Kind != GemmKind::F32 && TileN % 64 == 0 &&
          TileN <= (Promoted ? 192 : 320),
      "lanes hand over 32 columns at once, and have at most 192 sums");
  static_assert(Cluster == 1 || Cluster == 2, "a block for each half of B");
  static_assert(StagesA >= 3 && StagesB >= 3 && StagesA < kLag + StagesB,
                "two slots are under way, and no slot of B has been filled "
                "twice when the second warpgroup starts");
};

/// The barriers of a CTA: A's, then those of each half of B.
template <class Config>
struct GemmApartSlots {
  static constexpr i32 kTotal = Config::kStagesA + 2 * Config::kStagesB;
  FUSEC_DEVICE i32 b(i32 half) {
    return Config::kStagesA + half * Config::kStagesB;
  }
};

/// Fills a ring that is A's alone; one thread.
template <class Config, class Holes, class Ring, class Map>
FUSEC_DEVICE void gemmBringA(Ring ring, const Map &map,
                             FUSEC_SHARED_PTR(FusecMbarrier) full,
                             FUSEC_SHARED_PTR(FusecMbarrier) empty,
                             const GemmWork<Config> &work) {
  using Box = typename Holes::BoxA;
  constexpr i32 kRows = Box::kAlongK ? Config::kTileM : 64;
  GemmTurn<Config::kStagesA> turn{0, 1};
  for (i32 t = work.first(); t < work.tiles; t += work.stride()) {
    GemmTile tile = work.tile(t);
    for (i32 s = 0; s < work.steps; ++s) {
      mbar_wait(empty, turn.slot, turn.parity);
      mbar_arrive_expect(full, turn.slot, Config::kTileM * 128);
      FUSEC_UNROLL
      for (i32 row = 0; row < Config::kTileM; row += kRows)
        Box::template load<1>(
            ring, turn.slot * Config::kSlotA + row * Config::kTileK, map, full,
            turn.slot, tile.batch, tile.m0 + row, s * Config::kTileK);
      turn.next();
    }
  }
}

/// Fills the ring of one half of B; one thread. In a cluster the block of that
/// number brings it for both.
template <class Config, class Holes, class Ring, class Map>
FUSEC_DEVICE void gemmApartBringB(Ring ring, const Map &map,
                                  FUSEC_SHARED_PTR(FusecMbarrier) full,
                                  FUSEC_SHARED_PTR(FusecMbarrier) empty,
                                  const GemmWork<Config> &work, i32 half) {
  using Box = typename Holes::BoxB;
  constexpr i32 kRows = Box::kAlongK ? Config::kHalfN : 64;
  constexpr i32 kPanels = (Config::kHalfN + kRows - 1) / kRows;
  i32 first = GemmApartSlots<Config>::b(half);
  i32 begin = Config::kStagesA * Config::kSlotA +
              half * (Config::kStagesB * Config::kSlotB);
  bool isMine = Config::kCluster == 1 || work.sharer == half;
  GemmTurn<Config::kStagesB> turn{0, 1};
  for (i32 t = work.first(); t < work.tiles; t += work.stride()) {
    GemmTile tile = work.tile(t);
    i32 outer = tile.n0 + half * Config::kHalfN;
    for (i32 s = 0; s < work.steps; ++s) {
      mbar_wait(empty, first + turn.slot, turn.parity);
      mbar_arrive_expect(full, first + turn.slot, kPanels * kRows * 128);
      if (isMine)
        FUSEC_UNROLL
      for (i32 panel = 0; panel < kPanels; ++panel)
        Box::template load<Config::kCluster>(
            ring,
            begin + turn.slot * Config::kSlotB + panel * kRows * Config::kTileK,
            map, full, first + turn.slot, tile.batch, outer + panel * kRows,
            s * Config::kTileK);
      turn.next();
    }
  }
}

/// Where a warpgroup is in both rings.
template <class Config>
struct GemmApartTurn {
  GemmTurn<Config::kStagesA> a;
  GemmTurn<Config::kStagesB> b;
  FUSEC_METHOD void next() {
    a.next();
    b.next();
  }
};

/// Descriptors of a step: A's upper and lower 64 rows, the half of B.
struct GemmApartStep {
  u64 a, below, b;
};

/// Multiplies; `half` is the warpgroup's half of the columns.
template <class Config, class Holes, class Ring>
FUSEC_DEVICE void gemmApartConsume(const Holes &holes, Ring ring,
                                   FUSEC_SHARED_PTR(FusecMbarrier) full,
                                   FUSEC_SHARED_PTR(FusecMbarrier) empty,
                                   const GemmWork<Config> &work, i32 half) {
  using A = GemmDescriptor<Config, Holes::kOrderA>;
  using B = GemmDescriptor<Config, Holes::kOrderB>;
  using Sum = typename Config::Sum;
  constexpr i32 kSums = Config::kHalfN / 2;
  static_assert(sizeof(typename Config::Element) == 2 ||
                    (A::kAlongK && B::kAlongK),
                "wgmma takes 16-bit elements alone in either order");
  i32 first = GemmApartSlots<Config>::b(half);
  i32 begin = Config::kStagesA * Config::kSlotA +
              half * (Config::kStagesB * Config::kSlotB);
  if (half == 1 && work.total() >= Config::kLag)
    mbar_wait(empty, GemmApartSlots<Config>::b(0) + Config::kLag - 1, 0);
  GemmApartTurn<Config> turn{{0, 0}, {0, 0}};
  GemmLater<Config, Holes, 2, Config::kHalfN> later;
  later.begin();
  // Waits for the slots of the step whose turn it is.
  auto next = [&]() -> GemmApartStep {
    mbar_wait(full, turn.a.slot, turn.a.parity);
    mbar_wait(full, first + turn.b.slot, turn.b.parity);
    i32 a = turn.a.slot * Config::kSlotA;
    return {A::make(ring, a), A::make(ring, a + 64 * Config::kTileK),
            B::make(ring, begin + turn.b.slot * Config::kSlotB)};
  };
  for (i32 t = work.first(); t < work.tiles; t += work.stride()) {
    GemmTile tile = work.tile(t);
    tile.n0 += half * Config::kHalfN;
    Sum upper[kSums], lower[kSums];
    i32 lastA = 0, lastB = 0;
    if constexpr (Config::kPromoted) {
      // As in gemm_promote.cuh.
      later.count(holes, work.m, work.n);
      FUSEC_UNROLL
      for (i32 r = 0; r < kSums; ++r)
        upper[r] = lower[r] = 0;
      Sum one[kSums], two[kSums];
      FUSEC_NO_UNROLL
      for (i32 s = 0; s < work.steps; ++s) {
        GemmApartStep at = next();
        wgmma_fence();
        FUSEC_UNROLL
        for (i32 i = 0; i < 4; ++i)
          gemmIssue<Config, Holes>(one, at.a, at.b, i, i > 0);
        wgmma_commit();
        FUSEC_UNROLL
        for (i32 i = 0; i < 4; ++i)
          gemmIssue<Config, Holes>(two, at.below, at.b, i, i > 0);
        wgmma_commit();
        if (s == 0)
          gemmPrefetch<128, Config::kHalfN>(holes, tile, work.m, work.n);
        wgmma_wait<1>(one);
        FUSEC_UNROLL
        for (i32 r = 0; r < kSums; ++r)
          upper[r] += one[r];
        wgmma_wait<0>(two);
        gemmReleaseBoth<Config>(empty, turn.a.slot, first + turn.b.slot);
        FUSEC_UNROLL
        for (i32 r = 0; r < kSums; ++r)
          lower[r] += two[r];
        turn.next();
      }
    } else {
      FUSEC_NO_UNROLL
      for (i32 s = 0; s < work.steps; ++s) {
        GemmApartStep at = next();
        wgmma_fence();
        FUSEC_UNROLL
        for (i32 i = 0; i < 4; ++i) {
          gemmIssue<Config, Holes>(upper, at.a, at.b, i, s > 0 || i > 0);
          gemmIssue<Config, Holes>(lower, at.below, at.b, i, s > 0 || i > 0);
        }
        wgmma_commit();
        if (s == 0)
          gemmPrefetch<128, Config::kHalfN>(holes, tile, work.m, work.n);
        if (s == work.countAt())
          later.count(holes, work.m, work.n);
        wgmma_wait<1>();
        if (s > 0)
          gemmReleaseBoth<Config>(empty, lastA, lastB);
        lastA = turn.a.slot;
        lastB = first + turn.b.slot;
        turn.next();
      }
      wgmma_wait<0>(upper);
      wgmma_wait<0>(lower);
      gemmReleaseBoth<Config>(empty, lastA, lastB);
    }
    i32 row = tile.m0 + warp() % 4 * 16 + (lane() >> 2);
    GemmColumn<Holes> none[kSums / 16];
    gemmHandOver<Config>(holes, upper, tile, row, work.m, work.n, none);
    gemmHandOver<Config>(holes, lower, tile, row + 64, work.m, work.n, none);
    later.put(tile);
  }
  later.count(holes, work.m, work.n);
}

/// gemm_wgmma of a GemmApartConfig. Boxes of B have half a tile's columns.
template <class Config, class Holes, class MapA, class MapB>
FUSEC_DEVICE void gemmApart(const Holes &holes, const MapA &mapA,
                            const MapB &mapB, i32 m, i32 n, i32 k, i32 batch) {
  using Element = typename Config::Element;
  using Slots = GemmApartSlots<Config>;
  static_assert(Holes::kAccessA == GemmAccess::Tensor &&
                    Holes::kAccessB == GemmAccess::Tensor &&
                    Holes::BoxA::kRows == 0,
                "whole boxes");
  static_assert(!GemmColumnOf<Holes>::kExists,
                "accumulators leave no registers for states of columns");
  FUSEC_SHARED_DYN(Element, ring);
  FUSEC_MBARRIERS(full, Slots::kTotal);
  FUSEC_MBARRIERS(empty, Slots::kTotal);
  if (tid() == 0) {
    for (i32 s = 0; s < Slots::kTotal; ++s) {
      mbar_init(full, s, 1);
      mbar_init(empty, s, s < Config::kStagesA ? 8 : 4 * Config::kCluster);
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
    setmaxnreg_dec<56>();
    if (lane() == 0) {
      if (warp() == 0) {
        gemmBringA<Config, Holes>(ring, mapA, full, empty, work);
      } else if (warp() < 3) {
        gemmApartBringB<Config, Holes>(ring, mapB, full, empty, work,
                                       warp() - 1);
      }
    }
  } else {
    setmaxnreg_inc<224>();
    gemmApartConsume<Config>(holes, ring, full, empty, work, gemmConsumer());
  }
  // A block stays while others may still copy to it or give slots back.
  if constexpr (Config::kCluster > 1)
    cluster_sync();
}

#endif // FUSEC_SM90
#endif // FUSEC_GEMM_APART_CUH
