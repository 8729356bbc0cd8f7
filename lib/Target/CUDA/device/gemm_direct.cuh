//===- gemm_direct.cuh - few rows, weights to registers --------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For rows so few that all of A fits in shared memory. B is read by each lane
// straight to the registers from which it is multiplied: `Units` groups of a
// lane's columns are under way at any time, and as soon as one is multiplied
// the next one is asked for. Nothing of B passes through shared memory, so
// there are no barriers until sums are added, and a multiprocessor holds many
// warps, which hide each other's latency.
//
// A is put into shared memory once, while the first weights are under way, in
// the order in which lanes read it for mma.sync, whose 16 rows are columns of B
// and whose 8 columns are rows of A (gemm_few.cuh).
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_DIRECT_CUH
#define FUSEC_GEMM_DIRECT_CUH

/// One instantiation: tiles of TileM (1, 2, 4, 8, 16) rows by 16 * Blocks
/// columns for each of WarpsN warps; WarpsK of these divide k. A unit is `Span`
/// k for each of the four lanes that share a column; `Depth` k, whole units,
/// are in shared memory.
template <GemmKind Kind, i32 TileM, i32 WarpsN, i32 WarpsK, i32 Blocks,
          i32 Units, i32 Span, i32 Depth>
struct GemmDirectConfig {
  using Types = GemmTypes<Kind>;
  using Element = typename Types::Element;
  using Sum = typename Types::Sum;
  static constexpr GemmKind kKind = Kind;
  static constexpr i32 kTileM = TileM;
  static constexpr i32 kColumns = 16 * Blocks;
  static constexpr i32 kTileN = kColumns * WarpsN;
  static constexpr i32 kWarpsN = WarpsN;
  static constexpr i32 kWarpsK = WarpsK;
  static constexpr i32 kBlocksN = Blocks;
  static constexpr i32 kUnits = Units;
  static constexpr i32 kSpan = Span;
  static constexpr i32 kTileK = 4 * Span;
  static constexpr i32 kCluster = 1;
  static constexpr i32 kGroupM = 1;
  static constexpr i32 kThreads = 32 * WarpsN * WarpsK;
  /// Elements of 16 bytes, and so many of them in a span.
  static constexpr i32 kGroup = 8;
  static constexpr i32 kChunks = Span / kGroup;
  /// Rows of a block of mma.sync that are kept, and blocks.
  static constexpr i32 kRows = TileM < 8 ? TileM : 8;
  static constexpr i32 kBlocksM = (TileM + 7) / 8;
  /// Units of k, and steps in which the warps take `Units` each.
  static constexpr i32 kAll = Depth / kTileK;
  static constexpr i32 kSteps = (kAll + WarpsK * Units - 1) / (WarpsK * Units);
  static constexpr bool kWhole = kAll == kSteps * WarpsK * Units;
  /// Sums of a warp: a line of columns for each row. A is behind them.
  static constexpr i32 kPitch = kTileN + 4;
  static constexpr i32 kSlab = TileM * kPitch;
  static constexpr i32 kSums = WarpsK * kSlab;
  static constexpr i32 kSharedBytes = 4 * kSums + 2 * TileM * Depth;

  static_assert(sizeof(Element) == 2, "pairs in words");
  static_assert(Depth % kTileK == 0 && Span % kGroup == 0, "whole units");
  static_assert(TileM <= 8 ? 8 % TileM == 0 : TileM % 8 == 0, "whole blocks");
};

/// gemmTile, but without divisions where tiles lie in one line.
template <class Config>
FUSEC_DEVICE GemmTile gemmDirectTile(i32 number, i32 m, i32 n, i32 batch) {
  if (m <= Config::kTileM && batch == 1)
    return {0, 0, number * Config::kTileN};
  return gemmTile<Config>(number, m, n);
}

/// Which elements along k B has in a word (GemmPairs).
template <class Holes>
FUSEC_DEVICE constexpr i32 gemmDirectApart() {
  if constexpr (Holes::kAccessB == GemmAccess::Async)
    return 1;
  else
    return Holes::kApartB;
}

/// Puts the rows of A from m0 on into shared memory: pieces of 16 bytes in the
/// order [unit][chunk][row][lane of four]. A thread has one row and lane.
template <class Config, class Holes>
struct GemmDirectA {
  using Element = typename Config::Element;
  /// Pieces of a chunk, chunks that are read side by side, and all.
  static constexpr i32 kLine = 4 * Config::kTileM;
  static constexpr i32 kSide = Config::kThreads / kLine;
  static constexpr i32 kAll = Config::kAll * Config::kChunks;
  static constexpr i32 kEach = (kAll + kSide - 1) / kSide;
  static constexpr i32 kAtOnce = kEach < 4 ? kEach : 4;
  static_assert(Config::kThreads % kLine == 0, "whole chunks side by side");

  template <class Row>
  FUSEC_DEVICE void read(u32 (&w)[4], const Holes &holes, const Row &row,
                         i32 k) {
    if constexpr (Holes::kAccessA == GemmAccess::Async) {
      GemmSource source = holes.sourceA(row, k);
      ld_group<false>(w, holes.baseA(), source.offset, source.valid);
    } else {
      constexpr i32 kVector = Holes::kVectorA;
      Element group[Config::kGroup], v[kVector];
      FUSEC_UNROLL
      for (i32 c = 0; c < Config::kGroup; c += kVector) {
        holes.valuesA(row, k + c, v);
        FUSEC_UNROLL
        for (i32 i = 0; i < kVector; ++i)
          group[c + i] = v[i];
      }
      gemmWords(w, group);
    }
  }

  /// Blocks begin at different chunks: all would wait for the same lines.
  template <class Words>
  FUSEC_DEVICE void stage(const Holes &holes, i32 batch, i32 m0, Words words) {
    const i32 start = cta_x() * 37 % 128 * (kAll / 128);
    const i32 lane = tid() % 4;
    const i32 at = Config::kSums + tid() % kLine * 4;
    auto row = holes.prepareA(batch, m0 + tid() / 4 % Config::kTileM);
    FUSEC_NO_UNROLL
    for (i32 first = tid() / kLine; first < kAll; first += kAtOnce * kSide) {
      u32 w[kAtOnce][4];
      i32 chunks[kAtOnce];
      FUSEC_UNROLL
      for (i32 q = 0; q < kAtOnce; ++q) {
        i32 chunk = first + q * kSide + start;
        chunk = chunk < kAll ? chunk : chunk - kAll;
        chunks[q] = chunk;
        // Past the end the first ones are read once more.
        read(w[q], holes, row,
             chunk / Config::kChunks * Config::kTileK + lane * Config::kSpan +
                 chunk % Config::kChunks * Config::kGroup);
      }
      FUSEC_UNROLL
      for (i32 q = 0; q < kAtOnce; ++q)
        if (kAll % (kAtOnce * kSide) == 0 || first + q * kSide < kAll) {
          GemmPairs<gemmDirectApart<Holes>()>::sort(w[q]);
          sts<4>(words, at + chunks[q] * kLine * 4, w[q], 0);
        }
    }
  }
};

/// What of B is inside for certain, because tiles or units are whole. Holes'
/// masks then vanish: of a masked read ptxas may move a part right after it was
/// asked for, which waits for it.
template <class Config>
struct GemmDirectExtents {
  i32 n, k;

  FUSEC_METHOD void begin(i32 columns, i32 depth) {
    n = columns;
    k = depth;
  }
  FUSEC_METHOD i32 outer(i32 column) const {
    if (n % Config::kTileN == 0)
      FUSEC_ASSUME(column < n);
    return column;
  }
  FUSEC_METHOD i32 along(i32 first) const {
    if (Config::kWhole && k == Config::kAll * Config::kTileK)
      FUSEC_ASSUME(first < k);
    return first;
  }
};

/// B along k, copied: 16 bytes of each of a lane's columns are a unit.
template <class Config, class Holes>
struct GemmDirectLines : GemmDirectExtents<Config> {
  static constexpr i32 kLines = 2 * Config::kBlocksN;
  static_assert(Config::kSpan == Config::kGroup, "16 bytes of a column");
  u32 w[Config::kUnits][kLines][4];

  FUSEC_METHOD void fix(const Holes &, i32, i32) {}
  FUSEC_METHOD void load(const Holes &holes, i32 u, i32 batch, i32 n0, i32 k) {
    FUSEC_UNROLL
    for (i32 line = 0; line < kLines; ++line) {
      GemmSource source = holes.sourceB(
          holes.prepareB(batch, this->outer(n0 + 8 * line + (lane() >> 2))),
          this->along(k + Config::kSpan * (lane() & 3)));
      ld_group<true>(w[u][line], holes.baseB(), source.offset, source.valid);
    }
  }
  /// Four words of each half of block j, for two products.
  FUSEC_METHOD void values(u32 (&low)[4], u32 (&high)[4], const Holes &, i32 u,
                           i32 j, i32, i32, i32, i32) const {
    FUSEC_UNROLL
    for (i32 i = 0; i < 4; ++i) {
      low[i] = w[u][2 * j][i];
      high[i] = w[u][2 * j + 1][i];
    }
  }
};

/// B along n, copied: 16 bytes, eight columns, at each of eight k are a unit.
/// They are paired up along k.
template <class Config, class Holes>
struct GemmDirectColumns : GemmDirectExtents<Config> {
  static_assert(Config::kBlocksN == 4 && Config::kSpan == Config::kGroup,
                "eight lanes have 64 columns");
  u32 w[Config::kUnits][8][4];

  FUSEC_METHOD void fix(const Holes &, i32, i32) {}
  FUSEC_METHOD void load(const Holes &holes, i32 u, i32 batch, i32 n0, i32 k) {
    auto row = holes.prepareB(batch, this->outer(n0 + 8 * (lane() >> 2)));
    FUSEC_UNROLL
    for (i32 i = 0; i < 8; ++i) {
      GemmSource source =
          holes.sourceB(row, this->along(k + 8 * (lane() & 3) + i));
      ld_group<true>(w[u][i], holes.baseB(), source.offset, source.valid);
    }
  }
  FUSEC_METHOD void values(u32 (&low)[4], u32 (&high)[4], const Holes &, i32 u,
                           i32 j, i32, i32, i32, i32) const {
    FUSEC_UNROLL
    for (i32 i = 0; i < 4; ++i) {
      low[i] = byte_perm(w[u][2 * i][j], w[u][2 * i + 1][j], 0x5410u);
      high[i] = byte_perm(w[u][2 * i][j], w[u][2 * i + 1][j], 0x7632u);
    }
  }
};

/// B that is computed from what was read (gemm_stream.cuh): a span of each of a
/// lane's columns is a unit. What is the same for all k is read once a tile.
template <class Config, class Holes>
struct GemmDirectStream : GemmDirectExtents<Config> {
  using Extents = GemmDirectExtents<Config>;
  using Element = typename Config::Element;
  using Pairs = GemmPairs<gemmDirectApart<Holes>()>;
  static constexpr i32 kLines = 2 * Config::kBlocksN;
  static constexpr i32 kVector = Holes::kVectorB;
  static_assert(kVector == Config::kSpan, "as the host counts");
  typename Holes::GroupsB groups[Config::kUnits][kLines];
  typename Holes::RawB raw[Holes::kFixedB ? 1 : Config::kUnits][kLines];

  FUSEC_METHOD auto row(const Holes &holes, i32 batch, i32 n0, i32 line) const {
    return holes.prepareB(batch, Extents::outer(n0 + 8 * line + (lane() >> 2)));
  }
  FUSEC_METHOD i32 along(i32 k) const {
    return Extents::along(k + kVector * (lane() & 3));
  }

  FUSEC_METHOD void fix(const Holes &holes, i32 batch, i32 n0) {
    if constexpr (Holes::kFixedB) {
      FUSEC_UNROLL
      for (i32 line = 0; line < kLines; ++line)
        raw[0][line] = holes.fetchB(row(holes, batch, n0, line), along(0));
    }
  }
  FUSEC_METHOD void load(const Holes &holes, i32 u, i32 batch, i32 n0, i32 k) {
    FUSEC_UNROLL
    for (i32 line = 0; line < kLines; ++line) {
      auto prepared = row(holes, batch, n0, line);
      groups[u][line] = holes.loadB(prepared, along(k));
      if constexpr (!Holes::kFixedB)
        raw[u][line] = holes.fetchB(prepared, along(k));
    }
  }
  /// Those of chunk c; what others take the compiler leaves out.
  FUSEC_METHOD void convert(u32 (&words)[4], const Holes &holes, i32 u,
                            i32 line, i32 batch, i32 n0, i32 k, i32 c) const {
    auto prepared = row(holes, batch, n0, line);
    const auto &rest = raw[Holes::kFixedB ? 0 : u][line];
    if constexpr (Pairs::kMade) {
      u32 v[kVector];
      holes.convertB(prepared, along(k), rest, groups[u][line], v);
      FUSEC_UNROLL
      for (i32 i = 0; i < 4; ++i)
        words[i] = v[Pairs::first(4 * c + i)];
    } else {
      f32 v[kVector];
      holes.convertB(prepared, along(k), rest, groups[u][line], v);
      FUSEC_UNROLL
      for (i32 i = 4 * c; i < 4 * c + 4; ++i)
        words[i - 4 * c] = pack2_rn<Element>(v[2 * i], v[2 * i + 1]);
    }
  }
  FUSEC_METHOD void values(u32 (&low)[4], u32 (&high)[4], const Holes &holes,
                           i32 u, i32 j, i32 batch, i32 n0, i32 k,
                           i32 c) const {
    convert(low, holes, u, 2 * j, batch, n0, k, c);
    convert(high, holes, u, 2 * j + 1, batch, n0, k, c);
  }
};

/// B by its access and order.
template <class Config, class Holes, bool Async, bool AlongK>
struct GemmDirectB : GemmDirectStream<Config, Holes> {};
template <class Config, class Holes>
struct GemmDirectB<Config, Holes, true, true> : GemmDirectLines<Config, Holes> {
};
template <class Config, class Holes>
struct GemmDirectB<Config, Holes, true, false>
    : GemmDirectColumns<Config, Holes> {};

/// The sums of a warp.
template <class Config, class Holes>
struct GemmDirectSums {
  static constexpr bool kAlongK = Holes::kOrderB == GemmOrder::KContiguous;
  f32 acc[Config::kBlocksN][Config::kBlocksM][4];

  FUSEC_METHOD void clear() {
    FUSEC_UNROLL
    for (i32 j = 0; j < Config::kBlocksN; ++j)
      FUSEC_UNROLL
    for (i32 i = 0; i < Config::kBlocksM; ++i)
      FUSEC_UNROLL
    for (i32 e = 0; e < 4; ++e)
      acc[j][i][e] = 0;
  }

  /// Adds the products of unit number `unit`, which waits in b's registers u.
  template <class Words, class B>
  FUSEC_METHOD void multiply(const Holes &holes, Words words, const B &b, i32 u,
                             i32 unit, i32 batch, i32 n0) {
    constexpr i32 kOfRow = 16, kOfBlock = Config::kRows * kOfRow;
    i32 mine = Config::kSums + (lane() >> 2) % Config::kRows * kOfRow +
               (lane() & 3) * 4;
    FUSEC_UNROLL
    for (i32 c = 0; c < Config::kChunks; ++c) {
      u32 x[Config::kBlocksM][4];
      FUSEC_UNROLL
      for (i32 i = 0; i < Config::kBlocksM; ++i)
        lds<4>(x[i], 0, words,
               mine + ((unit * Config::kChunks + c) * Config::kBlocksM + i) *
                          kOfBlock);
      FUSEC_UNROLL
      for (i32 j = 0; j < Config::kBlocksN; ++j) {
        u32 low[4], high[4];
        b.values(low, high, holes, u, j, batch, n0, unit * Config::kTileK, c);
        FUSEC_UNROLL
        for (i32 h = 0; h < 4; h += 2) {
          const u32 w[4] = {low[h], high[h], low[h + 1], high[h + 1]};
          FUSEC_UNROLL
          for (i32 i = 0; i < Config::kBlocksM; ++i) {
            const u32 pair[2] = {x[i][h], x[i][h + 1]};
            gemmProduct<Config::kKind>(acc[j][i], w, pair);
          }
        }
      }
    }
  }

  /// To shared memory. Lane 4g + t has rows 2t, 2t + 1 of columns g and g + 8
  /// of a block, or, paired up, of columns 8g + 2j and the next one.
  template <class Shared>
  FUSEC_METHOD void stage(Shared out, i32 at) const {
    i32 g = lane() >> 2;
    FUSEC_UNROLL
    for (i32 j = 0; j < Config::kBlocksN; ++j)
      FUSEC_UNROLL
    for (i32 i = 0; i < Config::kBlocksM; ++i)
      FUSEC_UNROLL
    for (i32 e = 0; e < 2; ++e) {
      i32 row = 8 * i + 2 * (lane() & 3) + e;
      i32 line = at + row * Config::kPitch;
      if (row < Config::kTileM) {
        sts(out, line + (kAlongK ? 16 * j + g : 8 * g + 2 * j), acc[j][i][e]);
        sts(out, line + (kAlongK ? 16 * j + g + 8 : 8 * g + 2 * j + 1),
            acc[j][i][2 + e]);
      }
    }
  }
};

/// One CTA of the contraction; meaning as for gemm_mma, A is along k. Launch:
/// Config::kThreads threads, Config::kSharedBytes dynamic shared bytes, as many
/// blocks in x as there are tiles, or fewer, which take several.
template <class Config, class Holes>
FUSEC_DEVICE void gemm_direct(const Holes &holes, i32 m, i32 n, i32 k,
                              i32 batch) {
  static_assert(Holes::kOrderA == GemmOrder::KContiguous, "rows are along k");
  FUSEC_SHARED_DYN(u32, words);
  FUSEC_SHARED_DYN(f32, staged);
  const i32 all = (m + Config::kTileM - 1) / Config::kTileM *
                  ((n + Config::kTileN - 1) / Config::kTileN) * batch;
  const i32 part = warp() / Config::kWarpsN;
  const i32 column = warp() % Config::kWarpsN * Config::kColumns;
  auto unitOf = [&](i32 step, i32 u) {
    return (step * Config::kWarpsK + part) * Config::kUnits + u;
  };
  GemmDirectB<Config, Holes, Holes::kAccessB == GemmAccess::Async,
              Holes::kOrderB == GemmOrder::KContiguous>
      b;
  GemmDirectSums<Config, Holes> sums;
  b.begin(n, k);
  GemmTile tile = gemmDirectTile<Config>(cta_x(), m, n, batch);
  FUSEC_UNROLL
  for (i32 u = 0; u < Config::kUnits; ++u)
    b.load(holes, u, tile.batch, tile.n0 + column,
           unitOf(0, u) * Config::kTileK);
  b.fix(holes, tile.batch, tile.n0 + column);
  GemmTile kept = {-1, 0, 0};
  FUSEC_NO_UNROLL
  for (i32 number = cta_x(); number < all; number += ncta_x()) {
    if (kept.batch != tile.batch || kept.m0 != tile.m0)
      GemmDirectA<Config, Holes>::stage(holes, tile.batch, tile.m0, words);
    kept = tile;
    // A is there, and the sums before have been read.
    bar();
    const bool isEnd = number + ncta_x() >= all;
    GemmTile next = tile;
    if (!isEnd)
      next = gemmDirectTile<Config>(number + ncta_x(), m, n, batch);
    sums.clear();
    FUSEC_NO_UNROLL
    for (i32 step = 0; step < Config::kSteps; ++step) {
      const bool isLast = step + 1 == Config::kSteps;
      FUSEC_UNROLL
      for (i32 u = 0; u < Config::kUnits; ++u) {
        i32 unit = unitOf(step, u);
        if (Config::kWhole || unit < Config::kAll)
          sums.multiply(holes, words, b, u, unit, tile.batch, tile.n0 + column);
        if (!isLast || !isEnd)
          b.load(holes, u, isLast ? next.batch : tile.batch,
                 (isLast ? next.n0 : tile.n0) + column,
                 unitOf(isLast ? 0 : step + 1, u) * Config::kTileK);
      }
    }
    if (!isEnd)
      b.fix(holes, next.batch, next.n0 + column);
    sums.stage(staged, part * Config::kSlab + column);
    bar();
    gemmFewEpilogue<Config>(holes, staged, tile, 0, m, n);
    tile = next;
  }
}

#endif // FUSEC_GEMM_DIRECT_CUH
