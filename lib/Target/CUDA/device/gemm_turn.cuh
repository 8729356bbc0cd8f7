//===- gemm_turn.cuh - results turn in shared memory -----------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of each 8 columns a lane has 2 neighbours of a row, as accumulators lie. An
// epilogue hole that stores one result of 16 bits takes them two by two; the
// results pass through shared memory, 16 rows and 64 columns of a warp at a
// time, and are stored as whole lines of 128 bytes. Half a word an element goes
// each way, where an exchange between lanes takes two shuffles and six selects
// for four results and leaves a row in pieces of 32 bytes.
//
// Such a hole has `Result`, and hands what it stores to a sink. So one text
// says what is stored, to a sink that keeps values (addresses are dead code),
// and where, to a sink that has the values (how they come about is dead code).
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_TURN_CUH
#define FUSEC_GEMM_TURN_CUH
#ifdef FUSEC_SM90

/// Whether results turn.
template <class Holes, class = void>
struct GemmTurns {
  static constexpr bool kExists = false;
};
template <class Holes>
struct GemmTurns<Holes, decltype(void(sizeof(typename Holes::Result)))> {
  static constexpr bool kExists = true;
};

/// Keeps what the hole would store.
template <class T>
struct GemmKeptResults {
  T v[2];
  template <i32 V, class I>
  FUSEC_METHOD void put(T *, I, const T (&from)[2], i32 r, bool) {
    v[r] = from[r];
  }
};

/// Stores 8 results from where the hole would store its first.
template <class T>
struct GemmTurnedResults {
  T v[8];
  template <i32 V, class I>
  FUSEC_METHOD void put(T *to, I offset, const T (&)[2], i32 r, bool mask) {
    if (r == 0)
      st_if<8>(to, offset, v, 0, mask);
  }
};

/// A warp's 16 rows of 64 results. Groups of 8 are permuted, so that neither
/// pairs of 8 rows nor groups of a row share banks.
struct GemmTurnBlock {
  static constexpr i32 kSize = 16 * 64;
  FUSEC_DEVICE i32 index(i32 row, i32 column) {
    return row * 64 + ((column >> 3 ^ row & 7) << 3) + (column & 7);
  }
};

/// Hands the accumulators of a warp's 16 rows to the hole; `row` is that of the
/// lane's first results, those of the others are 8 below. n is a multiple of 8,
/// and so is the place of 8 results.
template <class Config, class Holes, class Sum, i32 R>
FUSEC_DEVICE void gemmHandOverTurned(const Holes &holes, const Sum (&acc)[R],
                                     GemmTile tile, i32 row, i32 m, i32 n) {
  using T = typename Holes::Result;
  static_assert(sizeof(T) == 2 && Holes::kColumns == 2, "16-bit results");
  FUSEC_SHARED(T, blocks, (Config::kThreads / 32 - 4) * GemmTurnBlock::kSize);
  i32 own = (warp() - 4) * GemmTurnBlock::kSize;
  i32 line = lane() >> 2, quad = lane() & 3;
  // Tiles end where columns do.
  const bool fits = n % Config::kTileN == 0;
  auto inside = [](i32 at, i32 end, i32 count) {
    return at < end ? at : end - count;
  };
  FUSEC_UNROLL
  for (i32 c = 0; c < R / 16; c += 2) {
    i32 first = tile.n0 + 32 * c;
    const i32 groups = c + 1 < R / 16 ? 8 : 4;
    // What was here before has been read.
    bar_warp();
    FUSEC_UNROLL
    for (i32 half = 0; half < 2; ++half)
      FUSEC_UNROLL
    for (i32 j = 0; j < groups; ++j) {
      i32 r = 16 * c + 4 * j + 2 * half;
      const Sum some[2] = {acc[r], acc[r + 1]};
      i32 at = first + 8 * j + 2 * quad;
      GemmKeptResults<T> kept;
      holes.epilogue(tile.batch, inside(row + 8 * half, m, 1),
                     fits ? at : inside(at, n, 2), some, 0, kept);
      sts<2>(blocks,
             own + GemmTurnBlock::index(line + 8 * half, 8 * j + 2 * quad),
             kept.v, 0);
    }
    bar_warp();
    // Of 32 columns eight rows at once: two of each eight lanes, 4 apart.
    FUSEC_UNROLL
    for (i32 i = 0; i < 16; i += 32 / groups) {
      i32 below = i + (groups == 8 ? lane() >> 3 : lane() >> 3 | lane() & 4);
      i32 group = lane() % groups;
      i32 at = first + 8 * group, atRow = row - line + below;
      bool isInside = atRow < m && (fits || at < n);
      GemmTurnedResults<T> turned;
      lds<8>(turned.v, 0, blocks, own + GemmTurnBlock::index(below, 8 * group));
      const Sum none[2] = {};
      holes.epilogue(tile.batch, inside(atRow, m, 1),
                     fits ? at : inside(at, n, 8), none, isInside ? 8 : 0,
                     turned);
    }
  }
}

#endif // FUSEC_SM90
#endif // FUSEC_GEMM_TURN_CUH
