//===- gemm_pair.cuh - two products of one operand --------------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gated units need two products, A * B and A * B2, at the same places. A tile
// has columns of both side by side, as if B2's stood behind B's: a step brings
// A once, a wgmma multiplies by both, and a thread has the two sums of a place,
// which the epilogue hole takes together.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_PAIR_CUH
#define FUSEC_GEMM_PAIR_CUH
#ifdef FUSEC_SM90

/// As GemmWgmmaConfig, for TileN columns of each product. Both operands are
/// Tensor ones, and the maps of B are GemmTwoMaps.
template <GemmKind Kind, i32 Consumers, i32 TileN, i32 Stages, i32 GroupM,
          i32 Blocks, i32 Cluster>
struct GemmPairConfig : GemmWgmmaConfig<Kind, Consumers, TileN, Stages, GroupM,
                                        Blocks, Cluster> {
  using Base =
      GemmWgmmaConfig<Kind, Consumers, TileN, Stages, GroupM, Blocks, Cluster>;
  static constexpr i32 kProducts = 2;
  static constexpr i32 kSlot = Base::kSlotA + 2 * TileN * Base::kTileK;
  static constexpr i32 kSharedBytes =
      Stages * kSlot * i32(sizeof(typename Base::Element));
  static_assert(TileN % 64 == 0 && TileN <= 128,
                "the panels of both are one operand of wgmma");
};

/// The sums of both products at one place.
template <class Sum>
struct GemmTwo {
  Sum first;
  Sum second;
};

template <class Sum>
FUSEC_DEVICE GemmTwo<Sum> shfl_xor(GemmTwo<Sum> v, i32 by) {
  return {shfl_xor(v.first, by), shfl_xor(v.second, by)};
}

/// The accumulators of a tile by their places.
template <class Sum, i32 R>
FUSEC_DEVICE void gemmJoinProducts(const Sum (&acc)[2 * R],
                                   GemmTwo<Sum> (&both)[R]) {
  FUSEC_UNROLL
  for (i32 i = 0; i < R; ++i)
    both[i] = {acc[i], acc[R + i]};
}

#endif // FUSEC_SM90
#endif // FUSEC_GEMM_PAIR_CUH
