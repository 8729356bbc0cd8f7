//===- gemm_promote.cuh - 8-bit float sums on Hopper ------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor cores of Hopper add products of 8-bit floats with 14 binary digits,
// those of the accumulator included: the terms are aligned to the largest one
// and cut off. So the products of one step (128 of k) make sums of their own,
// which are added to f32 accumulators outside the tensor cores. That takes two
// sets of accumulators; a tile of more columns than fit is multiplied in parts,
// each part with the same registers for its sums of a step. While one
// warpgroup adds, the other one's products keep the tensor cores busy.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_PROMOTE_CUH
#define FUSEC_GEMM_PROMOTE_CUH
#ifdef FUSEC_SM90

/// As gemmConsume, with sums that are promoted after each step.
template <class Config, class Holes, class Ring>
FUSEC_DEVICE void gemmPromote(const Holes &holes, Ring ring,
                              FUSEC_SHARED_PTR(FusecMbarrier) full,
                              FUSEC_SHARED_PTR(FusecMbarrier) empty,
                              const GemmWork<Config> &work, i32 group) {
  using Types = typename Config::Types;
  using A = GemmDescriptor<Config, Holes::kOrderA>;
  using B = GemmDescriptor<Config, Holes::kOrderB>;
  constexpr i32 kPartN = Config::kTileN / Config::kParts;
  constexpr i32 kSums = kPartN / 2;
  static_assert(A::kAlongK && B::kAlongK && sizeof(typename Config::Sum) == 4 &&
                    Config::kTileN % Config::kParts == 0 && kPartN % 8 == 0,
                "parts of columns of operands along k");
  GemmTurn<Config::kStages> turn{0, 0};
  GemmLater<Config, Holes, 1, Config::kTileN> later;
  later.begin();
  for (i32 t = work.first(); t < work.tiles; t += work.stride()) {
    GemmTile tile = work.tile(t);
    tile.m0 += group * 64;
    // There are no registers for it beside two sets of sums.
    later.count(holes, work.m, work.n);
    typename Config::Sum acc[Config::kTileN / 2];
    FUSEC_UNROLL
    for (i32 r = 0; r < Config::kTileN / 2; ++r)
      acc[r] = 0;
    for (i32 s = 0; s < work.steps; ++s) {
      mbar_wait(full, turn.slot, turn.parity);
      i32 base = turn.slot * Config::kSlot;
      u64 a = A::make(ring, base + group * (64 * Config::kTileK));
      FUSEC_UNROLL
      for (i32 p = 0; p < Config::kParts; ++p) {
        typename Config::Sum sums[kSums];
        u64 b = B::make(ring,
                        base + Config::kSlotA + p * (kPartN * Config::kTileK));
        wgmma_fence();
        FUSEC_UNROLL
        for (i32 i = 0; i < 4; ++i)
          wgmma<typename Types::A, typename Types::B>(
              sums, wgmma_advance(a, i * A::kStep),
              wgmma_advance(b, i * B::kStep), i > 0);
        wgmma_commit();
        if (s == 0 && p == 0)
          gemmPrefetch<64, Config::kTileN>(holes, tile, work.m, work.n);
        wgmma_wait<0>(sums);
        if (p == Config::kParts - 1)
          gemmRelease<Config>(empty, turn.slot);
        FUSEC_UNROLL
        for (i32 r = 0; r < kSums; ++r)
          acc[p * kSums + r] += sums[r];
      }
      turn.next();
    }
    gemmDeliver<Config>(holes, acc, tile, group, work);
    later.put(tile);
  }
  later.count(holes, work.m, work.n);
}

#endif // FUSEC_SM90
#endif // FUSEC_GEMM_PROMOTE_CUH
