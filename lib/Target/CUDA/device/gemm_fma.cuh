//===- gemm_fma.cuh - the f32 main loop -------------------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contraction in f32 with fused multiply-add, k ascending for every
// result: one rounding a product, so the result is as good as an f32 dot
// product can be. Each thread makes 8 x 8 results from shared tiles in either
// order; the holes are those of the tensor-core loop.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_FMA_CUH
#define FUSEC_GEMM_FMA_CUH

/// Eight outer coordinates of one operand, kDepth of k at a time. Along k a
/// thread's rows are Tile / 8 apart (neighbouring lanes read neighbouring
/// lines); along the outer dimension they are two runs of four.
template <class Config, GemmOrder Order, i32 Tile>
struct GemmLane {
  static constexpr bool kAlongK = Order == GemmOrder::KContiguous;
  static constexpr i32 kSpan = kAlongK ? Config::kTileK : Tile;
  static constexpr i32 kDepth = 4;
  using Layout = GemmLayout<f32, Order, kSpan>;

  i32 place;

  /// The i-th outer coordinate of the thread.
  FUSEC_METHOD i32 outer(i32 i) const {
    return kAlongK ? i * (Tile / 8) + place
                   : i / 4 * (Tile / 2) + place * 4 + i % 4;
  }

  template <class Shared>
  FUSEC_METHOD void load(f32 (&v)[8][kDepth], Shared ring, i32 tile,
                         i32 k) const {
    if constexpr (kAlongK) {
      FUSEC_UNROLL
      for (i32 i = 0; i < 8; ++i)
        lds<kDepth>(v[i], 0, ring, tile + Layout::index(outer(i), k));
    } else {
      FUSEC_UNROLL
      for (i32 d = 0; d < kDepth; ++d) {
        f32 run[8];
        lds<4>(run, 0, ring, tile + Layout::index(k + d, outer(0)));
        lds<4>(run, 4, ring, tile + Layout::index(k + d, outer(4)));
        FUSEC_UNROLL
        for (i32 i = 0; i < 8; ++i)
          v[i][d] = run[i];
      }
    }
  }
};

/// The accumulators of a thread.
template <class Config, class Holes>
struct GemmThread {
  using LaneA = GemmLane<Config, Holes::kOrderA, Config::kTileM>;
  using LaneB = GemmLane<Config, Holes::kOrderB, Config::kTileN>;
  static constexpr i32 kDepth = LaneA::kDepth;
  LaneA la;
  LaneB lb;
  f32 acc[8][8];

  /// A warp covers 4 places of m and 8 of n.
  FUSEC_METHOD void begin() {
    la.place = warp() / Config::kWarpsN * 4 + lane() / 8;
    lb.place = warp() % Config::kWarpsN * 8 + lane() % 8;
    FUSEC_UNROLL
    for (i32 i = 0; i < 8; ++i)
      FUSEC_UNROLL
    for (i32 j = 0; j < 8; ++j)
      acc[i][j] = 0.0f;
  }

  template <class Shared>
  FUSEC_METHOD void multiply(Shared ring, i32 slot) {
    FUSEC_UNROLL
    for (i32 k = 0; k < Config::kTileK; k += kDepth) {
      f32 a[8][kDepth];
      f32 b[8][kDepth];
      la.load(a, ring, slot * Config::kSlot, k);
      lb.load(b, ring, slot * Config::kSlot + Config::kSlotA, k);
      FUSEC_UNROLL
      for (i32 d = 0; d < kDepth; ++d)
        FUSEC_UNROLL
      for (i32 i = 0; i < 8; ++i)
        FUSEC_UNROLL
      for (i32 j = 0; j < 8; ++j)
        acc[i][j] = m_fma(a[i][d], b[j][d], acc[i][j]);
    }
  }

  template <class Shared>
  FUSEC_METHOD void stage(Shared out) const {
    FUSEC_UNROLL
    for (i32 i = 0; i < 8; ++i)
      FUSEC_UNROLL
    for (i32 j = 0; j < 8; ++j)
      sts(out, GemmStage<Config>::index(la.outer(i), lb.outer(j)), acc[i][j]);
  }
};

/// One CTA of the contraction in f32; launch and meaning as for gemm_mma.
template <class Config, class Holes>
FUSEC_DEVICE void gemm_fma(const Holes &holes, i32 m, i32 n, i32 k, i32 batch) {
  constexpr i32 kStages = Config::kStages;
  static_assert(Config::kKind == GemmKind::F32, "gemm_fma computes in f32");
  FUSEC_SHARED_DYN(f32, ring);

  GemmTile tile = gemmTile<Config>(m, n);
  GemmPipeline<Config, Holes> pipeline;
  GemmThread<Config, Holes> state;
  pipeline.begin(holes, tile.batch, tile.m0, tile.n0);
  state.begin();

  pipeline.fill(holes, ring);
  i32 slot = 0;
  i32 free = kStages - 1;
  for (i32 k0 = 0; k0 < k; k0 += Config::kTileK) {
    cp_async_wait<kStages - 2>();
    bar();
    pipeline.fetch(holes, k0 + (kStages - 1) * Config::kTileK, ring, free);
    state.multiply(ring, slot);
    pipeline.commit(ring, free);
    free = slot;
    slot = slot + 1 == kStages ? 0 : slot + 1;
  }
  cp_async_wait<0>();
  bar();
  state.stage(ring);
  gemmEpilogue<Config>(holes, ring, tile, m, n);
}

#endif // FUSEC_GEMM_FMA_CUH
