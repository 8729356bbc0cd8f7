//===- promote_variants.cuh - other ways to promote sums -------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For tiles.py --with=: what gemm_promote.cuh could do instead.
//   Ahead: a warpgroup has the products of two parts of its columns under way.
//   Turns: the two warpgroups issue in turns, so that one adds while the other
//   one's products run.
//===----------------------------------------------------------------------===//

template <class Config, class Holes, class Sum, i32 R, class Ring>
FUSEC_DEVICE void promoteIssue(Sum (&sums)[R], Ring ring, i32 base, i32 group,
                               i32 part) {
  using Types = typename Config::Types;
  using A = GemmDescriptor<Config, Holes::kOrderA>;
  using B = GemmDescriptor<Config, Holes::kOrderB>;
  u64 a = A::make(ring, base + group * (64 * Config::kTileK));
  u64 b = B::make(ring,
                  base + Config::kSlotA + part * (2 * R * Config::kTileK));
  wgmma_fence();
  FUSEC_UNROLL
  for (i32 i = 0; i < 4; ++i)
    wgmma<typename Types::A, typename Types::B>(
        sums, wgmma_advance(a, i * A::kStep), wgmma_advance(b, i * B::kStep),
        i > 0);
  wgmma_commit();
}

/// Parts must be 2.
template <class Config, class Holes, class Ring>
FUSEC_DEVICE void
gemmPromoteAhead(const Holes &holes, Ring ring,
                 FUSEC_SHARED_PTR(FusecMbarrier) full,
                 FUSEC_SHARED_PTR(FusecMbarrier) empty,
                 const GemmWork<Config> &work, i32 group) {
  constexpr i32 kSums = Config::kTileN / 4;
  GemmTurn<Config::kStages> turn{0, 0};
  for (i32 t = work.first(); t < work.tiles; t += work.stride()) {
    GemmTile tile = work.tile(t);
    typename Config::Sum acc[2 * kSums], low[kSums], high[kSums];
    FUSEC_UNROLL
    for (i32 r = 0; r < 2 * kSums; ++r)
      acc[r] = 0;
    i32 last = 0;
    for (i32 s = 0; s < work.steps; ++s) {
      mbar_wait(full, turn.slot, turn.parity);
      i32 base = turn.slot * Config::kSlot;
      promoteIssue<Config, Holes>(low, ring, base, group, 0);
      if (s > 0) {
        wgmma_wait<1>(high);
        gemmRelease<Config>(empty, last);
        FUSEC_UNROLL
        for (i32 r = 0; r < kSums; ++r)
          acc[kSums + r] += high[r];
      }
      promoteIssue<Config, Holes>(high, ring, base, group, 1);
      wgmma_wait<1>(low);
      FUSEC_UNROLL
      for (i32 r = 0; r < kSums; ++r)
        acc[r] += low[r];
      last = turn.slot;
      turn.next();
    }
    wgmma_wait<0>(high);
    gemmRelease<Config>(empty, last);
    FUSEC_UNROLL
    for (i32 r = 0; r < kSums; ++r)
      acc[kSums + r] += high[r];
    i32 row = tile.m0 + group * 64 + warp() % 4 * 16 + (lane() >> 2);
    gemmHandOver<Config>(holes, acc, tile, row, work.m, work.n);
  }
}

/// Two warpgroups.
template <class Config, class Holes, class Ring>
FUSEC_DEVICE void
gemmPromoteTurns(const Holes &holes, Ring ring,
                 FUSEC_SHARED_PTR(FusecMbarrier) full,
                 FUSEC_SHARED_PTR(FusecMbarrier) empty,
                 const GemmWork<Config> &work, i32 group) {
  constexpr i32 kSums = Config::kTileN / 2 / Config::kParts;
  GemmTurn<Config::kStages> turn{0, 0};
  // Barrier 1 + g: it is the turn of warpgroup g.
  if (group == 1)
    bar_named_arrive(1, 256);
  for (i32 t = work.first(); t < work.tiles; t += work.stride()) {
    GemmTile tile = work.tile(t);
    typename Config::Sum acc[Config::kTileN / 2], sums[kSums];
    FUSEC_UNROLL
    for (i32 r = 0; r < Config::kTileN / 2; ++r)
      acc[r] = 0;
    for (i32 s = 0; s < work.steps; ++s) {
      mbar_wait(full, turn.slot, turn.parity);
      FUSEC_UNROLL
      for (i32 p = 0; p < Config::kParts; ++p) {
        bar_named(1 + group, 256);
        promoteIssue<Config, Holes>(sums, ring, turn.slot * Config::kSlot,
                                    group, p);
        bar_named_arrive(2 - group, 256);
        wgmma_wait<0>(sums);
        if (p == Config::kParts - 1)
          gemmRelease<Config>(empty, turn.slot);
        FUSEC_UNROLL
        for (i32 r = 0; r < kSums; ++r)
          acc[p * kSums + r] += sums[r];
      }
      turn.next();
    }
    i32 row = tile.m0 + group * 64 + warp() % 4 * 16 + (lane() >> 2);
    gemmHandOver<Config>(holes, acc, tile, row, work.m, work.n);
  }
  // The last arrival of the other one.
  if (group == 0)
    bar_named(1, 256);
}
