//===- gemm_mma.cuh - the tensor-core main loop -----------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mma.sync over a cp.async ring:
//   1. fill all ring slots but one;
//   2. for each step of TileK: wait for its slot, read the first fragments,
//      start the step that goes into the slot just freed, multiply, store
//      Computed operands;
//   3. drain, stage the accumulators, run the epilogue hole.
// Steps past k fetch zeros, so the loop has no tail. Fragments are not double
// buffered by hand: the unrolled step lets the assembler read ahead as far as
// registers allow, and TileK = 64 fits without spills.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_MMA_CUH
#define FUSEC_GEMM_MMA_CUH

/// The product of one k group.
template <GemmKind Kind>
FUSEC_DEVICE void gemmProduct(typename GemmTypes<Kind>::Sum (&d)[4],
                              const u32 (&a)[4], const u32 (&b)[2]) {
  if constexpr (Kind == GemmKind::F16)
    mma_f16(d, a, b);
  else if constexpr (Kind == GemmKind::BF16)
    mma_bf16(d, a, b);
  else if constexpr (Kind == GemmKind::TF32)
    mma_tf32(d, a, b);
  else if constexpr (Kind == GemmKind::I8)
    mma_i8(d, a, b);
  else if constexpr (Kind == GemmKind::I8U8)
    mma_i8u8(d, a, b);
  else if constexpr (Kind == GemmKind::U8I8)
    mma_u8i8(d, a, b);
  else
    mma_u8(d, a, b);
}

/// The accumulators of a warp and the fragments that feed them.
template <class Config, class Holes>
struct GemmWarp {
  static constexpr i32 kWarpM = Config::kTileM / Config::kWarpsM;
  static constexpr i32 kWarpN = Config::kTileN / Config::kWarpsN;
  static constexpr i32 kBlocksM = kWarpM / 16;
  static constexpr i32 kBlocksN = kWarpN / 16;
  using FragmentA =
      GemmFragment<Config, GemmRole::A, Holes::kOrderA, Config::kTileM>;
  using FragmentB =
      GemmFragment<Config, GemmRole::B, Holes::kOrderB, Config::kTileN>;

  FragmentA fa;
  FragmentB fb;
  i32 row0;
  i32 column0;
  u32 a[kBlocksM][4];
  u32 b[kBlocksN][4];
  typename Config::Sum acc[kBlocksM][2 * kBlocksN][4];

  FUSEC_METHOD void begin() {
    row0 = warp() % Config::kWarpsM * kWarpM;
    column0 = warp() / Config::kWarpsM * kWarpN;
    fa.begin(row0);
    fb.begin(column0);
    FUSEC_UNROLL
    for (i32 i = 0; i < kBlocksM; ++i)
      FUSEC_UNROLL
    for (i32 j = 0; j < 2 * kBlocksN; ++j)
      FUSEC_UNROLL
    for (i32 e = 0; e < 4; ++e)
      acc[i][j][e] = 0;
  }

  template <class Shared, class Halves>
  FUSEC_METHOD void read(Shared ring, Halves halves, i32 slot, i32 step) {
    i32 base = slot * Config::kSlot;
    FUSEC_UNROLL
    for (i32 i = 0; i < kBlocksM; ++i)
      fa.load(a[i], ring, halves, base, i, step);
    FUSEC_UNROLL
    for (i32 j = 0; j < kBlocksN; ++j)
      fb.load(b[j], ring, halves, base + Config::kSlotA, j, step);
  }

  FUSEC_METHOD void multiply() {
    FUSEC_UNROLL
    for (i32 i = 0; i < kBlocksM; ++i)
      FUSEC_UNROLL
    for (i32 j = 0; j < 2 * kBlocksN; ++j) {
      // Back and forth, so that consecutive products share a B fragment.
      i32 jj = i % 2 ? 2 * kBlocksN - 1 - j : j;
      const u32 pair[2] = {b[jj / 2][jj % 2 * 2], b[jj / 2][jj % 2 * 2 + 1]};
      gemmProduct<Config::kKind>(acc[i][jj], a[i], pair);
    }
  }

  /// Lane 4g + t holds columns 2t, 2t + 1 of rows g and g + 8 of each m16n8
  /// block. The group number is a bit field of the index and the warp's first
  /// column a multiple of its width, so a block's column is one XOR away.
  template <class Shared>
  FUSEC_METHOD void stage(Shared out) const {
    i32 at = GemmStage<Config>::index(row0 + (lane() >> 2),
                                      column0 + 2 * (lane() & 3));
    FUSEC_UNROLL
    for (i32 j = 0; j < 2 * kBlocksN; ++j)
      FUSEC_UNROLL
    for (i32 i = 0; i < kBlocksM; ++i) {
      i32 place = (at ^ (j << 2)) + 16 * i * Config::kTileN;
      sts<2>(out, place, acc[i][j], 0);
      sts<2>(out, place + 8 * Config::kTileN, acc[i][j], 2);
    }
  }
};

/// One CTA of the contraction
///   out(b, m, n) = epilogue(sum over k of A(b, m, k) * B(b, k, n)).
/// Launch: Config::kThreads threads, Config::kSharedBytes dynamic shared bytes,
/// ceil(m / TileM) * ceil(n / TileN) * batch CTAs in x (none if that is 0).
/// k == 0 hands zeros to the epilogue.
template <class Config, class Holes>
FUSEC_DEVICE void gemm_mma(const Holes &holes, i32 m, i32 n, i32 k, i32 batch) {
  using Element = typename Config::Element;
  constexpr i32 kSteps = Config::kTileK / (2 * Config::kGroup);
  constexpr i32 kStages = Config::kStages;
  static_assert(Config::kKind != GemmKind::F32, "f32 goes through gemm_fma");
  FUSEC_SHARED_DYN(Element, ring);
  FUSEC_SHARED_DYN(f16, halves);
  FUSEC_SHARED_DYN(typename Config::Sum, staged);

  GemmTile tile = gemmTile<Config>(cta_x(), m, n);
  GemmPipeline<Config, Holes> pipeline;
  GemmWarp<Config, Holes> state;
  pipeline.begin(holes, tile.batch, tile.m0, tile.n0);
  state.begin();

  pipeline.fill(holes, ring);
  i32 slot = 0;
  i32 free = kStages - 1;
  for (i32 k0 = 0; k0 < k; k0 += Config::kTileK) {
    cp_async_wait<kStages - 2>();
    bar();
    FUSEC_UNROLL
    for (i32 s = 0; s < kSteps; ++s) {
      state.read(ring, halves, slot, s);
      if (s == 0)
        pipeline.fetch(holes, k0 + (kStages - 1) * Config::kTileK, ring, free);
      state.multiply();
    }
    pipeline.commit(ring, free);
    free = slot;
    slot = slot + 1 == kStages ? 0 : slot + 1;
  }
  cp_async_wait<0>();
  bar();
  state.stage(staged);
  gemmEpilogue<Config>(holes, staged, tile, m, n);
}

#endif // FUSEC_GEMM_MMA_CUH
