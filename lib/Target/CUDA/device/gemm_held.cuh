//===- gemm_held.cuh - B stays in shared memory ----------------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main loop of Hopper for operands that the copy engine brings and sums so
// short that all of k of a tile's columns fits shared memory. A CTA brings its
// columns of B once, and then rows of A for as long as it stays with them: half
// of what other loops bring, and of what they write to shared memory. CTAs next
// to each other make the columns of the same rows, so that results go to memory
// by whole rows. Each of two warpgroups has 64 rows of a tile and a ring of its
// own for A; they take turns at the tensor cores, so that one multiplies while
// the other one is in its epilogue.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_HELD_CUH
#define FUSEC_GEMM_HELD_CUH
#ifdef FUSEC_SM90

/// One instantiation: tiles of 128 x TileN, sums of at most `Steps` steps of
/// 128 bytes, `Stages` slots of 64 rows of A for each warpgroup. No clusters.
template <GemmKind Kind, i32 TileN, i32 Steps, i32 Stages>
struct GemmHeldConfig {
  using Types = GemmTypes<Kind>;
  using Element = typename Types::Element;
  using Sum = typename Types::Sum;
  static constexpr GemmKind kKind = Kind;
  static constexpr i32 kTileM = 128;
  static constexpr i32 kTileN = TileN;
  static constexpr i32 kTileK = 128 / i32(sizeof(Element));
  static constexpr i32 kSteps = Steps;
  static constexpr i32 kStages = Stages;
  static constexpr i32 kCluster = 1;
  static constexpr i32 kSharers = 1;
  static constexpr i32 kRanks = 1;
  static constexpr i32 kThreads = 384;
  static constexpr i32 kBlocks = 1;
  static constexpr GemmRoles kRoles = GemmRoles::Held;
  static constexpr i32 kSlotA = 64 * kTileK;
  /// What a step of B has.
  static constexpr i32 kSlotB = TileN * kTileK;
  static constexpr i32 kSharedBytes =
      (2 * Stages * kSlotA + Steps * kSlotB) * i32(sizeof(Element));

  static_assert(TileN % 64 == 0 && TileN <= 256, "whole panels of B");
  static_assert(Stages >= 3, "two slots are under way");
};

/// The tiles of a CTA: a run of those of all groups of columns, one group after
/// the other, from the first rows to the last.
template <class Config>
struct GemmHeldWork {
  i32 steps;
  i32 rows;
  i32 across;
  i32 begin;
  i32 end;
  FUSEC_METHOD void start(i32 m, i32 n, i32 k, i32 batch) {
    steps = k > 0 ? (k + Config::kTileK - 1) / Config::kTileK : 1;
    rows = (m + Config::kTileM - 1) / Config::kTileM;
    across = (n + Config::kTileN - 1) / Config::kTileN;
    i64 tiles = (i64)rows * across * batch;
    begin = (i32)(cta_x() * tiles / ncta_x());
    end = (i32)((cta_x() + 1) * tiles / ncta_x());
  }
  /// Whether other columns begin with tile `t`.
  FUSEC_METHOD bool turns(i32 t) const { return t == begin || t % rows == 0; }
  FUSEC_METHOD GemmTile tile(i32 t) const {
    i32 group = t / rows;
    return {group / across, t % rows * Config::kTileM,
            group % across * Config::kTileN};
  }
};

/// Fills the ring of warpgroup `group`; one thread.
template <class Config, class Holes, class Ring, class Map>
FUSEC_DEVICE void gemmHeldBringA(Ring ring, const Map &map,
                                 FUSEC_SHARED_PTR(FusecMbarrier) full,
                                 FUSEC_SHARED_PTR(FusecMbarrier) empty,
                                 const GemmHeldWork<Config> &work, i32 group) {
  using Box = typename Holes::BoxA;
  GemmTurn<Config::kStages> turn{0, 1};
  for (i32 t = work.begin; t < work.end; ++t) {
    GemmTile tile = work.tile(t);
    for (i32 s = 0; s < work.steps; ++s) {
      i32 slot = group * Config::kStages + turn.slot;
      mbar_wait(empty, slot, turn.parity);
      mbar_arrive_expect(full, slot, 64 * 128);
      Box::template load<1>(ring, slot * Config::kSlotA, map, full, slot,
                            tile.batch, tile.m0 + group * 64,
                            s * Config::kTileK);
      turn.next();
    }
  }
}

/// Brings the columns of B; one thread. Barrier `kSteps` of `held`: both
/// warpgroups are done with the columns before.
template <class Config, class Holes, class Ring, class Map>
FUSEC_DEVICE void gemmHeldBringB(Ring ring, const Map &map,
                                 FUSEC_SHARED_PTR(FusecMbarrier) held,
                                 const GemmHeldWork<Config> &work) {
  using Box = typename Holes::BoxB;
  constexpr i32 kRows = Box::kAlongK ? Config::kTileN : 64;
  i32 parity = 1;
  for (i32 t = work.begin; t < work.end; ++t) {
    if (!work.turns(t))
      continue;
    GemmTile tile = work.tile(t);
    mbar_wait(held, Config::kSteps, parity);
    parity ^= 1;
    for (i32 s = 0; s < work.steps; ++s) {
      mbar_arrive_expect(held, s, Config::kTileN * 128);
      i32 at = 2 * Config::kStages * Config::kSlotA + s * Config::kSlotB;
      FUSEC_UNROLL
      for (i32 row = 0; row < Config::kTileN; row += kRows)
        Box::template load<1>(ring, at + row * Config::kTileK, map, held, s,
                              tile.batch, tile.n0 + row, s * Config::kTileK);
    }
  }
}

/// Multiplies 64 rows of each tile; `group` is the warpgroup's number. Named
/// barriers 2 and 3: the products that come before have been issued.
template <class Config, class Holes, class Ring>
FUSEC_DEVICE void gemmHeldConsume(const Holes &holes, Ring ring,
                                  FUSEC_SHARED_PTR(FusecMbarrier) full,
                                  FUSEC_SHARED_PTR(FusecMbarrier) empty,
                                  FUSEC_SHARED_PTR(FusecMbarrier) held,
                                  const GemmHeldWork<Config> &work, i32 m,
                                  i32 n, i32 group) {
  using A = GemmDescriptor<Config, Holes::kOrderA>;
  using B = GemmDescriptor<Config, Holes::kOrderB>;
  using Sum = typename Config::Sum;
  constexpr i32 kSums = Config::kTileN / 2;
  static_assert(sizeof(typename Config::Element) == 2 ||
                    (A::kAlongK && B::kAlongK),
                "wgmma takes 16-bit elements alone in either order");
  GemmTurn<Config::kStages> turn{0, 0};
  GemmLater<Config, Holes, 1, Config::kTileN> later;
  later.begin();
  i32 parity = 1;
  for (i32 t = work.begin; t < work.end; ++t) {
    GemmTile tile = work.tile(t);
    tile.m0 += group * 64;
    if (work.turns(t))
      parity ^= 1;
    if (group == 1 || t != work.begin)
      bar_named(2 + group, 256);
    Sum acc[kSums];
    i32 last = 0;
    FUSEC_NO_UNROLL
    for (i32 s = 0; s < work.steps; ++s) {
      i32 slot = group * Config::kStages + turn.slot;
      // What is there stays: to wait again costs little.
      mbar_wait(held, s, parity);
      mbar_wait(full, slot, turn.parity);
      u64 a = A::make(ring, slot * Config::kSlotA);
      u64 b = B::make(ring, 2 * Config::kStages * Config::kSlotA +
                                s * Config::kSlotB);
      wgmma_fence();
      FUSEC_UNROLL
      for (i32 i = 0; i < 4; ++i)
        gemmIssue<Config, Holes>(acc, a, b, i, s > 0 || i > 0);
      wgmma_commit();
      if (s == 0)
        gemmPrefetch<64, Config::kTileN>(holes, tile, m, n);
      if (s == work.steps - 1)
        later.count(holes, m, n);
      wgmma_wait<1>();
      if (s > 0)
        gemmRelease<Config>(empty, last);
      last = slot;
      turn.next();
    }
    if (group == 0 || t + 1 != work.end)
      bar_named_arrive(3 - group, 256);
    wgmma_wait<0>(acc);
    gemmRelease<Config>(empty, last);
    if (t + 1 != work.end && work.turns(t + 1) && lane() == 0)
      mbar_arrive(held, Config::kSteps);
    i32 row = tile.m0 + warp() % 4 * 16 + (lane() >> 2);
    GemmColumn<Holes> none[kSums / 16];
    gemmHandOver<Config>(holes, acc, tile, row, m, n, none);
    later.put(tile);
  }
  later.count(holes, m, n);
  gemmEndBoxes<Holes>();
}

/// gemm_wgmma of a GemmHeldConfig. Boxes of A have 64 rows or a step's k, those
/// of B all of a tile's columns where these are along k. Launch: no blocks
/// without tiles.
template <class Config, class Holes, class MapA, class MapB>
FUSEC_DEVICE void gemmHeld(const Holes &holes, const MapA &mapA,
                           const MapB &mapB, i32 m, i32 n, i32 k, i32 batch) {
  using Element = typename Config::Element;
  constexpr i32 kSlots = 2 * Config::kStages;
  static_assert(Holes::kAccessA == GemmAccess::Tensor &&
                    Holes::kAccessB == GemmAccess::Tensor &&
                    Holes::BoxA::kRows == 0,
                "whole boxes");
  static_assert(!GemmColumnOf<Holes>::kExists,
                "there is no room for states of columns");
  FUSEC_SHARED_DYN(Element, ring);
  FUSEC_MBARRIERS(full, kSlots);
  FUSEC_MBARRIERS(empty, kSlots);
  FUSEC_MBARRIERS(held, Config::kSteps + 1);
  if (tid() == 0) {
    for (i32 s = 0; s < kSlots; ++s) {
      mbar_init(full, s, 1);
      mbar_init(empty, s, 4);
    }
    for (i32 s = 0; s <= Config::kSteps; ++s)
      mbar_init(held, s, s < Config::kSteps ? 1 : 8);
    mbar_init_fence();
    gemmPrefetchMap(mapA);
    gemmPrefetchMap(mapB);
  }
  gemmMeet<Config>();
  GemmHeldWork<Config> work;
  work.start(m, n, k, batch);
  grid_wait();
  if (warp() < 4) {
    setmaxnreg_dec<40>();
    if (lane() == 0) {
      if (warp() < 2)
        gemmHeldBringA<Config, Holes>(ring, mapA, full, empty, work, warp());
      else if (warp() == 2)
        gemmHeldBringB<Config, Holes>(ring, mapB, held, work);
    }
  } else {
    setmaxnreg_inc<232>();
    gemmHeldConsume<Config>(holes, ring, full, empty, held, work, m, n,
                            gemmConsumer());
  }
}

#endif // FUSEC_SM90
#endif // FUSEC_GEMM_HELD_CUH
