//===- gemm_fma.cuh - the f32 main loop -------------------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The contraction in f32 with fused multiply-add: one rounding a product, so
// the result is as good as an f32 dot product can be. Each thread makes up to
// 8 x 16 results; the holes are those of the tensor-core loop. Where the
// results are too few to keep the machine busy, groups of warps take parts of
// k and their sums are added in the epilogue.
//
// Shared memory has both operands along their outer dimension, whatever order
// they come in: a thread then reads four outer coordinates of one k at once,
// into neighbouring registers, which lie in both banks in turn. Four k of one
// coordinate would leave all that a product of one k can read in one bank.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_FMA_CUH
#define FUSEC_GEMM_FMA_CUH

/// A tile of an operand in shared memory: a line of `Tile` outer coordinates
/// for each k. Eight lines start in eight different groups of four banks, so
/// that lanes can store elements of eight k and four coordinates at once.
template <class Config, i32 Tile>
struct GemmLines {
  FUSEC_DEVICE i32 index(i32 k, i32 outer) {
    return k * (Tile + Config::kGap) + outer;
  }
};

/// GemmLoader for such tiles. Elements that are along k in memory are turned
/// on their way, one by one; lanes have eight k of several outer coordinates,
/// 32 bytes of memory each.
template <class Config, class Holes, class Side, i32 Tile>
struct GemmLineLoader {
  using Row = typename Side::Row;
  using Lines = GemmLines<Config, Tile>;
  static constexpr bool kAsync = Side::kAccess == GemmAccess::Async;
  static constexpr bool kAlongK = Side::kOrder == GemmOrder::KContiguous;
  static constexpr i32 kThreads = Config::kLoadThreads;
  /// Elements of a call, and calls of a thread.
  static constexpr i32 kVector = kAsync && kAlongK ? 1 : Side::vector(4);
  static constexpr i32 kPasses = Tile * Config::kTileK / (kVector * kThreads);
  /// k that neighbouring lanes have, of operands along k.
  static constexpr i32 kBlock = Config::kTileK < 8 ? Config::kTileK : 8;
  /// Threads that have all of a block or of a line, and how many such groups
  /// there are.
  static constexpr i32 kAlong = (kAlongK ? kBlock : Tile) / kVector;
  static constexpr i32 kAcross = kThreads / kAlong;
  /// Outer coordinates of a thread.
  static constexpr i32 kRows = kAlongK && kAcross < Tile ? Tile / kAcross : 1;
  static_assert(kPasses * kVector * kThreads == Tile * Config::kTileK &&
                    kThreads % kAlong == 0 && kBlock % kVector == 0,
                "threads have equally many calls, groups whole lines");

  Row rows[kRows];
  f32 held[kAsync ? 1 : kPasses * kVector];
  i32 firstOuter;
  i32 firstK;

  FUSEC_METHOD i32 outerOf(i32 pass) const {
    return firstOuter + (kAlongK ? pass * kAcross % Tile : 0);
  }
  FUSEC_METHOD i32 kOf(i32 pass) const {
    return firstK + (kAlongK ? pass * kAcross / Tile * kBlock : pass * kAcross);
  }

  /// Prepares for the tile whose first outer coordinate is `outer`.
  FUSEC_METHOD void begin(const Holes &holes, i32 b, i32 outer) {
    i32 along = tid() % kAlong * kVector;
    i32 across = tid() / kAlong;
    firstOuter = kAlongK ? across % Tile : along;
    firstK = kAlongK ? along + across / Tile * kBlock : across;
    FUSEC_UNROLL
    for (i32 r = 0; r < kRows; ++r)
      rows[r] = Side::prepare(holes, b, outer + outerOf(r));
  }

  /// Starts moving the tile at `k0` into `ring` from element `tile` on.
  template <class Shared>
  FUSEC_METHOD void fetch(const Holes &holes, i32 k0, Shared ring, i32 tile) {
    FUSEC_UNROLL
    for (i32 p = 0; p < kPasses; ++p) {
      const Row &row = rows[p % kRows];
      i32 k = k0 + kOf(p);
      i32 place = tile + Lines::index(kOf(p), outerOf(p));
      if constexpr (!kAsync) {
        f32 v[kVector];
        Side::values(holes, row, k, v);
        FUSEC_UNROLL
        for (i32 i = 0; i < kVector; ++i)
          held[p * kVector + i] = v[i];
      } else if constexpr (kAlongK) {
        Side::copyOne(holes, row, k, ring, place);
      } else {
        Side::copy(holes, row, k, ring, place);
      }
    }
  }

  /// Stores what `fetch` left in registers; nothing for an Async operand.
  template <class Shared>
  FUSEC_METHOD void commit(Shared ring, i32 tile) const {
    if constexpr (!kAsync) {
      FUSEC_UNROLL
      for (i32 p = 0; p < kPasses; ++p) {
        i32 place = tile + Lines::index(kOf(p), outerOf(p));
        if constexpr (kAlongK) {
          FUSEC_UNROLL
          for (i32 i = 0; i < kVector; ++i)
            sts(ring, place + Lines::index(i, 0), held[p * kVector + i]);
        } else {
          sts<kVector>(ring, place, held, p * kVector);
        }
      }
    }
  }
};

/// The outer coordinates of one operand that a thread holds: runs of four of
/// the tile's `Tile`, `Places` threads beside each other.
template <class Config, i32 Tile, i32 Places>
struct GemmLane {
  static constexpr i32 kCount = Tile / Places;
  static_assert(kCount % 4 == 0, "runs of four");
  i32 place;

  /// The i-th outer coordinate of the thread.
  FUSEC_METHOD i32 outer(i32 i) const {
    return i / 4 * (4 * Places) + place * 4 + i % 4;
  }

  /// Those of one k.
  template <class Shared>
  FUSEC_METHOD void load(f32 (&v)[kCount], Shared ring, i32 tile, i32 k) const {
    FUSEC_UNROLL
    for (i32 i = 0; i < kCount; i += 4)
      lds<4>(v, i, ring, tile + GemmLines<Config, Tile>::index(k, outer(i)));
  }
};

/// The accumulators of a thread.
template <class Config>
struct GemmThread {
  using LaneA = GemmLane<Config, Config::kTileM, 4 * Config::kWarpsM>;
  using LaneB = GemmLane<Config, Config::kTileN, 8 * Config::kWarpsN>;
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
    for (i32 s = 0; s < kSlice; ++s) {
      i32 k = group * kSlice + s;
      f32 a[kM];
      f32 b[kN];
      la.load(a, ring, slot * Config::kSlot, k);
      lb.load(b, ring, slot * Config::kSlot + Config::kSlotA, k);
      // A product reads three registers, of which two banks give one each in a
      // clock: neighbours in the order of a snake have an operand in common.
      FUSEC_UNROLL
      for (i32 j = 0; j < kN; ++j)
        FUSEC_UNROLL
      for (i32 step = 0; step < kM; ++step) {
        i32 i = j % 2 ? kM - 1 - step : step;
        acc[i][j] = m_fma(a[i], b[j], acc[i][j]);
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
  GemmPipeline<Config, Holes, GemmLineLoader> pipeline;
  GemmThread<Config> state;
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
