//===- gemm_fma.cuh - the f32 main loop -------------------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contraction in f32 with fused multiply-add: one rounding a product, so
// the result is as good as an f32 dot product can be. Each thread makes up to
// 8 x 8 results from shared tiles in either order; the holes are those of the
// tensor-core loop. Where the results are too few to keep the machine busy,
// groups of warps take parts of k and their sums are added in the epilogue.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_FMA_CUH
#define FUSEC_GEMM_FMA_CUH

/// The outer coordinates of one operand that a thread holds, four or eight of
/// the tile's `Tile` over `Places` threads, kDepth of k at a time. Along k they
/// are `Places` apart (neighbouring lanes read neighbouring lines); along the
/// outer dimension they are runs of four.
template <class Config, GemmOrder Order, i32 Tile, i32 Places>
struct GemmLane {
  static constexpr bool kAlongK = Order == GemmOrder::KContiguous;
  static constexpr i32 kSpan = kAlongK ? Config::kTileK : Tile;
  static constexpr i32 kDepth = 4;
  static constexpr i32 kCount = Tile / Places;
  using Layout = GemmLayout<f32, Order, kSpan>;

  i32 place;

  /// The i-th outer coordinate of the thread.
  FUSEC_METHOD i32 outer(i32 i) const {
    return kAlongK ? i * Places + place
                   : i / 4 * (4 * Places) + place * 4 + i % 4;
  }

  template <class Shared>
  FUSEC_METHOD void load(f32 (&v)[kCount][kDepth], Shared ring, i32 tile,
                         i32 k) const {
    if constexpr (kAlongK) {
      FUSEC_UNROLL
      for (i32 i = 0; i < kCount; ++i)
        lds<kDepth>(v[i], 0, ring, tile + Layout::index(outer(i), k));
    } else {
      FUSEC_UNROLL
      for (i32 d = 0; d < kDepth; ++d) {
        f32 run[kCount];
        FUSEC_UNROLL
        for (i32 i = 0; i < kCount; i += 4)
          lds<4>(run, i, ring, tile + Layout::index(k + d, outer(i)));
        FUSEC_UNROLL
        for (i32 i = 0; i < kCount; ++i)
          v[i][d] = run[i];
      }
    }
  }
};

/// The accumulators of a thread.
template <class Config, class Holes>
struct GemmThread {
  using LaneA =
      GemmLane<Config, Holes::kOrderA, Config::kTileM, 4 * Config::kWarpsM>;
  using LaneB =
      GemmLane<Config, Holes::kOrderB, Config::kTileN, 8 * Config::kWarpsN>;
  static constexpr i32 kDepth = LaneA::kDepth;
  static constexpr i32 kM = LaneA::kCount;
  static constexpr i32 kN = LaneB::kCount;
  /// k of each step that a group of warps takes.
  static constexpr i32 kSlice = Config::kTileK / Config::kWarpsK;
  LaneA la;
  LaneB lb;
  i32 group;
  f32 acc[kM][kN];

  /// A warp covers 4 places of m and 8 of n. Lanes that differ in bit 0 alone
  /// have the same of m, in bit 1 alone the same of n: 16 lanes then read 16
  /// bytes each at once, instead of 8.
  FUSEC_METHOD void begin() {
    i32 w = warp() % (Config::kWarpsM * Config::kWarpsN);
    group = warp() / (Config::kWarpsM * Config::kWarpsN);
    la.place = w / Config::kWarpsN * 4 + (lane() >> 1 & 1) + (lane() >> 3 & 2);
    lb.place = w % Config::kWarpsN * 8 + (lane() & 1) + (lane() >> 1 & 6);
    FUSEC_UNROLL
    for (i32 i = 0; i < kM; ++i)
      FUSEC_UNROLL
    for (i32 j = 0; j < kN; ++j)
      acc[i][j] = 0.0f;
  }

  template <class Shared>
  FUSEC_METHOD void multiply(Shared ring, i32 slot) {
    FUSEC_UNROLL
    for (i32 s = 0; s < kSlice; s += kDepth) {
      i32 k = group * kSlice + s;
      f32 a[kM][kDepth];
      f32 b[kN][kDepth];
      la.load(a, ring, slot * Config::kSlot, k);
      lb.load(b, ring, slot * Config::kSlot + Config::kSlotA, k);
      // A product reads three registers, of which two banks give one each in a
      // clock: neighbours in the order of a snake have an operand in common.
      FUSEC_UNROLL
      for (i32 d = 0; d < kDepth; ++d)
        FUSEC_UNROLL
      for (i32 j = 0; j < kN; ++j)
        FUSEC_UNROLL
      for (i32 step = 0; step < kM; ++step) {
        i32 i = j % 2 ? kM - 1 - step : step;
        acc[i][j] = m_fma(a[i][d], b[j][d], acc[i][j]);
      }
    }
  }

  template <class Shared>
  FUSEC_METHOD void stage(Shared out) const {
    i32 slab = group * (Config::kTileM * Config::kTileN);
    FUSEC_UNROLL
    for (i32 i = 0; i < kM; ++i)
      FUSEC_UNROLL
    for (i32 j = 0; j < kN; ++j)
      sts(out, slab + GemmStage<Config>::index(la.outer(i), lb.outer(j)),
          acc[i][j]);
  }
};

/// One CTA of the contraction in f32; launch and meaning as for gemm_mma.
template <class Config, class Holes>
FUSEC_DEVICE void gemm_fma(const Holes &holes, i32 m, i32 n, i32 k, i32 batch) {
  constexpr i32 kStages = Config::kStages;
  static_assert(Config::kKind == GemmKind::F32, "gemm_fma computes in f32");
  FUSEC_SHARED_DYN(f32, ring);

  GemmTile tile = gemmTile<Config>(cta_x(), m, n);
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
