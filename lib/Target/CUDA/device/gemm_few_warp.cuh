//===- gemm_few_warp.cuh - a warp's part of few rows -------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a warp of gemm_few.cuh does by itself: how its lanes bring both operands
// to their ring, and its products.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_FEW_WARP_CUH
#define FUSEC_GEMM_FEW_WARP_CUH

/// One instantiation: tiles of TileM (8, 16, 32, 64) x TileN, WarpsK warps, a
/// ring of `Stages` steps for each. All sums of a CTA are of different k. With
/// a `Span` a lane has that many k of a step, and B streams (GemmStream):
/// `Staged` copies of a lane for each of its columns go through the ring.
template <GemmKind Kind, i32 TileM, i32 TileN, i32 WarpsK, i32 Stages,
          i32 Cluster, i32 Span = 0, i32 Staged = 0>
struct GemmFewConfig {
  using Types = GemmTypes<Kind>;
  using Element = typename Types::Element;
  using Sum = typename Types::Sum;
  static constexpr GemmKind kKind = Kind;
  static constexpr i32 kTileM = TileM;
  static constexpr i32 kTileN = TileN;
  static constexpr i32 kWarpsK = WarpsK;
  static constexpr i32 kStages = Stages;
  static constexpr i32 kCluster = Cluster;
  static constexpr i32 kGroupM = 1;
  static constexpr i32 kThreads = 32 * WarpsK;
  static constexpr i32 kGroup = 16 / i32(sizeof(Element));
  static constexpr bool kStreams = Span > 0;
  /// k of a step: 16 bytes, or a span, for each of four lanes.
  static constexpr i32 kSpan = kStreams ? Span : kGroup;
  static constexpr i32 kChunks = kSpan / kGroup;
  static constexpr i32 kTileK = 4 * kSpan;
  /// 16-byte groups of a lane in a step: of B, then of A.
  static constexpr i32 kStaged = kStreams ? Staged : 1;
  static constexpr i32 kGroupsB = TileN / 8 * kStaged;
  static constexpr i32 kGroupsA = TileM / 8 * kChunks;
  /// 32-bit words of a warp's step, and of its ring.
  static constexpr i32 kSlot = (kGroupsB + kGroupsA) * 32 * 4;
  static constexpr i32 kRing = Stages * kSlot;
  /// Sums of a warp: a line of columns for each row.
  static constexpr i32 kPitch = TileN + 4;
  static constexpr i32 kSlab = TileM * kPitch;
  static constexpr i32 kRingBytes = WarpsK * kRing * 4;
  static constexpr i32 kStageBytes = WarpsK * kSlab * 4;
  static constexpr i32 kSharedBytes =
      kRingBytes > kStageBytes ? kRingBytes : kStageBytes;

  static_assert(Kind != GemmKind::F32, "f32 goes through gemm_fma");
  static_assert(TileM % 8 == 0 && TileN % 16 == 0 && Stages >= 2,
                "tiles are whole fragments, a step is under way");
  static_assert(kSpan % kGroup == 0, "a span is whole groups");
};

/// The kind of mma.sync whose first operand is B.
template <GemmKind Kind>
constexpr GemmKind kGemmExchanged = Kind == GemmKind::I8U8   ? GemmKind::U8I8
                                    : Kind == GemmKind::U8I8 ? GemmKind::I8U8
                                                             : Kind;

/// 16 bytes of elements as words.
template <class Element, i32 N>
FUSEC_DEVICE void gemmWords(u32 *words, const Element (&v)[N]) {
  FUSEC_UNROLL
  for (i32 i = 0; i < 4; ++i) {
    if constexpr (sizeof(Element) == 4)
      words[i] = as_u32(v[i]);
    else if constexpr (sizeof(Element) == 2)
      words[i] = pack2(v[2 * i], v[2 * i + 1]);
    else
      words[i] = u32(u8(v[4 * i])) | u32(u8(v[4 * i + 1])) << 8 |
                 u32(u8(v[4 * i + 2])) << 16 | u32(u8(v[4 * i + 3])) << 24;
  }
}

/// The 16-byte slot of chunk c of row g of the eight rows i, in the span of
/// lane t of the row: the lanes that write four neighbouring chunks, and the
/// ones that read one of each span, have banks of their own.
template <i32 Chunks>
FUSEC_DEVICE i32 gemmFewPlace(i32 i, i32 c, i32 g, i32 t) {
  return (i * Chunks + c) * 32 + 4 * g + (t ^ c * (4 / Chunks));
}

/// Brings one operand's groups of a lane: along k, 16 bytes of k of every
/// eighth of the tile's lines (a span of k: several groups); along the outer
/// dimension, eight lines of it at each of kGroup k. An Async operand is copied
/// as far ahead as the ring allows; a Computed one waits in registers for the
/// next step.
template <class Config, class Holes, class Side, i32 Groups, i32 Chunks = 1>
struct GemmFewSide {
  using Element = typename Config::Element;
  using Row = typename Side::Row;
  static constexpr i32 kGroup = Config::kGroup;
  static constexpr bool kAsync = Side::kAccess == GemmAccess::Async;
  static constexpr bool kAlongK = Side::kOrder == GemmOrder::KContiguous;
  static constexpr i32 kVector = Side::vector(kGroup);
  /// Calls for a group, and outer coordinates of a lane.
  static constexpr i32 kCalls = kGroup / kVector;
  static constexpr i32 kRows = kAlongK ? Groups / Chunks : kCalls;
  static_assert(kAlongK || (sizeof(Element) == 2 && Groups == 8),
                "16-bit elements alone are paired up, of 64 columns");
  static_assert(Side::kAccess != GemmAccess::Tensor, "lanes copy themselves");

  Row rows[kRows];
  u32 held[kAsync ? 1 : 4 * Groups];

  FUSEC_METHOD void begin(const Holes &holes, i32 b, i32 outer) {
    FUSEC_UNROLL
    for (i32 r = 0; r < kRows; ++r)
      rows[r] =
          Side::prepare(holes, b,
                        outer + (kAlongK ? 8 * r + (lane() >> 2)
                                         : 8 * (lane() >> 2) + kVector * r));
  }

  /// Starts copying the step at `k0` to ring[at..] (words).
  template <class Ring>
  FUSEC_METHOD void copy(const Holes &holes, i32 k0, Ring ring, i32 at) const {
    if constexpr (kAsync) {
      i32 k = k0 + kGroup * (lane() & 3);
      FUSEC_UNROLL
      for (i32 g = 0; g < Groups; ++g) {
        // Four lanes copy what is contiguous, not what they read.
        i32 q = g % Chunks * 4 + (lane() & 3);
        i32 slot = Chunks == 1 ? g * 32 + lane()
                               : gemmFewPlace<Chunks>(g / Chunks, q % Chunks,
                                                      lane() >> 2, q / Chunks);
        Side::template copy<true>(holes, rows[kAlongK ? g / Chunks : 0],
                                  kAlongK ? k + g % Chunks * 4 * kGroup : k + g,
                                  ring, (at / 4 + slot) * kGroup);
      }
    }
  }
  /// What streams reads something ahead of the first step (GemmStream).
  FUSEC_METHOD void start(const Holes &, i32) const {}
  /// Computes the step at `k0`.
  FUSEC_METHOD void compute(const Holes &holes, i32 k0) {
    if constexpr (!kAsync) {
      i32 k = k0 + Chunks * kGroup * (lane() & 3);
      FUSEC_UNROLL
      for (i32 g = 0; g < Groups; ++g) {
        Element group[kGroup];
        FUSEC_UNROLL
        for (i32 c = 0; c < kCalls; ++c) {
          Element v[kVector];
          Side::values(holes, rows[kAlongK ? g / Chunks : c],
                       kAlongK ? k + g % Chunks * kGroup + kVector * c : k + g,
                       v);
          FUSEC_UNROLL
          for (i32 i = 0; i < kVector; ++i)
            group[kVector * c + i] = v[i];
        }
        gemmWords(held + 4 * g, group);
      }
    }
  }
  /// Stores what was computed to words[at..].
  template <class Words>
  FUSEC_METHOD void commit(Words words, i32 at) const {
    if constexpr (!kAsync) {
      FUSEC_UNROLL
      for (i32 g = 0; g < Groups; ++g) {
        i32 slot = gemmFewPlace<Chunks>(g / Chunks, g % Chunks, lane() >> 2,
                                        lane() & 3);
        sts<4>(words, at + slot * 4, held, 4 * g);
      }
    }
  }
};

/// A warp's sums of its steps of k.
template <class Config, class Holes>
struct GemmFewWarp {
  using Sum = typename Config::Sum;
  static constexpr i32 kBlocksM = Config::kTileM / 8;
  static constexpr i32 kBlocksN = Config::kTileN / 16;
  static constexpr bool kAlongK = Holes::kOrderB == GemmOrder::KContiguous;
  static constexpr bool kRounds = Config::kKind == GemmKind::TF32;
  Sum acc[kBlocksN][kBlocksM][4];

  FUSEC_METHOD void begin() {
    FUSEC_UNROLL
    for (i32 j = 0; j < kBlocksN; ++j)
      FUSEC_UNROLL
    for (i32 i = 0; i < kBlocksM; ++i)
      FUSEC_UNROLL
    for (i32 e = 0; e < 4; ++e)
      acc[j][i][e] = 0;
  }

  template <class Words>
  FUSEC_DEVICE void read(u32 (&w)[4], Words words, i32 at, i32 group) {
    lds<4>(w, 0, words, at + (group * 32 + lane()) * 4);
    if constexpr (kRounds) {
      FUSEC_UNROLL
      for (i32 i = 0; i < 4; ++i)
        w[i] = to_tf32(as_f32(w[i]));
    }
  }

  FUSEC_METHOD void product(i32 block, const u32 (&w)[4],
                            const u32 (&x)[kBlocksM][4], i32 half) {
    FUSEC_UNROLL
    for (i32 i = 0; i < kBlocksM; ++i) {
      const u32 pair[2] = {x[i][2 * half], x[i][2 * half + 1]};
      gemmProduct<kGemmExchanged<Config::kKind>>(acc[block][i], w, pair);
    }
  }

  /// Multiplies step number s, at words[at..].
  template <class Words, class B, class Steps>
  FUSEC_METHOD void multiply(const Holes &holes, Words words, i32 at, B &b,
                             const Steps &steps, i32 s) {
    if constexpr (Config::kStreams)
      stream(holes, words, at, b, steps.at(s), steps.at(s + 1));
    else
      multiply(words, at);
  }

  /// Multiplies the step at words[at..] of A by that of B at `k0`, which was
  /// read, and reads the rest of B's step at `next` meanwhile.
  template <class Words, class Stream>
  FUSEC_METHOD void stream(const Holes &holes, Words words, i32 at, Stream &b,
                           i32 k0, i32 next) {
    constexpr i32 kChunks = Config::kChunks;
    u32 x[kChunks][kBlocksM][4];
    FUSEC_UNROLL
    for (i32 c = 0; c < kChunks; ++c)
      FUSEC_UNROLL
    for (i32 i = 0; i < kBlocksM; ++i) {
      lds<4>(x[c][i], 0, words,
             at + Config::kGroupsB * 128 +
                 gemmFewPlace<kChunks>(i, c, lane() >> 2, lane() & 3) * 4);
      GemmPairs<Holes::kApartB>::sort(x[c][i]);
    }
    FUSEC_UNROLL
    for (i32 j = 0; j < kBlocksN; ++j) {
      u32 low[Config::kSpan / 2], high[Config::kSpan / 2];
      b.values(low, holes, 2 * j, k0, words, at);
      b.values(high, holes, 2 * j + 1, k0, words, at);
      b.fetch(holes, 2 * j, next);
      b.fetch(holes, 2 * j + 1, next);
      FUSEC_UNROLL
      for (i32 h = 0; h < 2 * kChunks; ++h) {
        const u32 w[4] = {low[2 * h], high[2 * h], low[2 * h + 1],
                          high[2 * h + 1]};
        product(j, w, x[h / 2], h % 2);
      }
    }
  }

  /// Multiplies the step at words[at..].
  template <class Words>
  FUSEC_METHOD void multiply(Words words, i32 at) {
    u32 x[kBlocksM][4];
    FUSEC_UNROLL
    for (i32 i = 0; i < kBlocksM; ++i)
      read(x[i], words, at, Config::kGroupsB + i);
    if constexpr (kAlongK) {
      FUSEC_UNROLL
      for (i32 j = 0; j < kBlocksN; ++j) {
        u32 low[4], high[4]; // rows l / 4 and l / 4 + 8
        read(low, words, at, 2 * j);
        read(high, words, at, 2 * j + 1);
        FUSEC_UNROLL
        for (i32 h = 0; h < 2; ++h) {
          const u32 w[4] = {low[2 * h], high[2 * h], low[2 * h + 1],
                            high[2 * h + 1]};
          product(j, w, x, h);
        }
      }
    } else {
      FUSEC_UNROLL
      for (i32 h = 0; h < 2; ++h) {
        u32 w[4][4]; // four k of columns 8 (l / 4) ..
        FUSEC_UNROLL
        for (i32 i = 0; i < 4; ++i)
          read(w[i], words, at, 4 * h + i);
        FUSEC_UNROLL
        for (i32 j = 0; j < kBlocksN; ++j) {
          const u32 pairs[4] = {(w[0][j] & 0xffffu) | w[1][j] << 16,
                                w[0][j] >> 16 | (w[1][j] & 0xffff0000u),
                                (w[2][j] & 0xffffu) | w[3][j] << 16,
                                w[2][j] >> 16 | (w[3][j] & 0xffff0000u)};
          product(j, pairs, x, h);
        }
      }
    }
  }

  /// The sums to shared memory. Lane 4g + t has rows 2t, 2t + 1 of columns g
  /// and g + 8 of a block, or, paired up, of columns 8g + 2j and the next one.
  template <class Shared>
  FUSEC_METHOD void stage(Shared out, i32 at) const {
    i32 g = lane() >> 2;
    i32 t = lane() & 3;
    FUSEC_UNROLL
    for (i32 j = 0; j < kBlocksN; ++j)
      FUSEC_UNROLL
    for (i32 i = 0; i < kBlocksM; ++i)
      FUSEC_UNROLL
    for (i32 e = 0; e < 2; ++e) {
      i32 line = at + (8 * i + 2 * t + e) * Config::kPitch;
      if constexpr (kAlongK) {
        sts(out, line + 16 * j + g, acc[j][i][e]);
        sts(out, line + 16 * j + g + 8, acc[j][i][2 + e]);
      } else {
        const Sum pair[2] = {acc[j][i][e], acc[j][i][2 + e]};
        sts<2>(out, line + 8 * g + 2 * j, pair, 0);
      }
    }
  }
};

#endif // FUSEC_GEMM_FEW_WARP_CUH
