//===- gemm_rows.cuh - reductions of the rows of a result -------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is spread over registers, lanes and the blocks of a row of tiles. An
// epilogue hole that reduces rows returns the state of its columns
// (Holes::Row); lanes of a row join theirs by shuffles, each part of the
// columns has a place of its own for every row in memory, and the last warp
// that comes with the same rows joins the parts in their order and finishes: no
// order depends on time.
//
// Who counts: a warp has the same rows in every tile of a row of tiles, so it
// draws a ticket for them by itself, without a barrier. Its lanes store, meet
// (bar_warp), and lane 0 draws, which releases what all of them stored; whoever
// draws the last ticket acquires, meets its lanes again, and reads.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_ROWS_CUH
#define FUSEC_GEMM_ROWS_CUH

/// Stands for the state of holes that reduce nothing.
struct GemmNoRow {};

template <class Holes, class = void>
struct GemmRowOf {
  using Type = GemmNoRow;
  static constexpr bool kExists = false;
};
template <class Holes>
struct GemmRowOf<Holes, decltype(void(sizeof(typename Holes::Row)))> {
  using Type = typename Holes::Row;
  static constexpr bool kExists = true;
};
template <class Holes>
using GemmRow = typename GemmRowOf<Holes>::Type;

/// The state of no columns.
template <class Holes>
FUSEC_DEVICE GemmRow<Holes> gemmNoRow(const Holes &holes) {
  if constexpr (GemmRowOf<Holes>::kExists)
    return holes.none();
  else
    return {};
}

template <class Holes>
FUSEC_DEVICE GemmRow<Holes> gemmJoin(const Holes &holes,
                                     const GemmRow<Holes> &first,
                                     const GemmRow<Holes> &second) {
  if constexpr (GemmRowOf<Holes>::kExists)
    return holes.join(first, second);
  else
    return {};
}

/// Calls the epilogue hole.
template <class Holes, class Sum, i32 V>
FUSEC_DEVICE GemmRow<Holes> gemmCall(const Holes &holes, i32 b, i32 m, i32 n,
                                     const Sum (&v)[V], i32 valid) {
  if constexpr (GemmRowOf<Holes>::kExists) {
    return holes.epilogue(b, m, n, v, valid);
  } else {
    holes.epilogue(b, m, n, v, valid);
    return {};
  }
}

/// Joins the states of `Lanes` neighbouring lanes, all of which get the same
/// bits. All lanes of the warp take part.
template <i32 Lanes, class Holes>
FUSEC_DEVICE GemmRow<Holes> gemmJoinLanes(const Holes &holes,
                                          GemmRow<Holes> row) {
  if constexpr (GemmRowOf<Holes>::kExists) {
    FUSEC_UNROLL
    for (i32 by = 1; by < Lanes; by *= 2) {
      GemmRow<Holes> other = holes.exchange(row, by);
      bool isSecond = (lane() & by) != 0;
      row = holes.join(isSecond ? other : row, isSecond ? row : other);
    }
  }
  return row;
}

/// Parts of a row of `n` columns: those of a tile, or as many as a warpgroup
/// has of them.
template <class Config, i32 Columns>
FUSEC_DEVICE i32 gemmParts(i32 n) {
  return (n + Config::kTileN - 1) / Config::kTileN * (Config::kTileN / Columns);
}

/// Where a part's state of a row is.
FUSEC_DEVICE i64 gemmPlace(i32 batch, i32 part, i32 parts, i32 row, i32 m) {
  return ((i64)batch * parts + part) * m + row;
}

/// Counts one part of the warp's rows: `Rows` of them, rowOf(0..Rows-1), whose
/// states its lanes have kept. Finishes them if it was the last of `parts`. All
/// lanes of the warp take part.
template <i32 Rows, class Holes, class RowOf>
FUSEC_DEVICE void gemmCount(const Holes &holes, i32 counter, i32 parts,
                            i32 batch, i32 m, RowOf rowOf) {
  bar_warp();
  i32 drawn = 0;
  if (lane() == 0)
    drawn = holes.draw(counter, parts);
  if (shfl_idx(drawn, 0) == parts - 1) {
    bar_warp();
    for (i32 i = lane(); i < Rows; i += 32) {
      i32 row = rowOf(i);
      if (row >= m)
        continue;
      GemmRow<Holes> state = holes.kept(gemmPlace(batch, 0, parts, row, m));
      for (i32 part = 1; part < parts; part += 4) {
        // Four reads are under way at a time.
        GemmRow<Holes> next[4];
        FUSEC_UNROLL
        for (i32 j = 0; j < 4; ++j) {
          i32 at = part + j < parts ? part + j : parts - 1;
          next[j] = holes.kept(gemmPlace(batch, at, parts, row, m));
        }
        FUSEC_UNROLL
        for (i32 j = 0; j < 4; ++j)
          if (part + j < parts)
            state = holes.join(state, next[j]);
      }
      holes.finish(batch, row, state);
    }
  }
  bar_warp();
}

/// Counts the 16 rows from `first` on that a warp of the Warpgroup loops has,
/// for a part of `Columns` columns.
template <class Config, i32 Columns, class Holes>
FUSEC_DEVICE void gemmCountRows(const Holes &holes, i32 batch, i32 first, i32 m,
                                i32 n) {
  if constexpr (GemmRowOf<Holes>::kExists)
    if (first < m)
      gemmCount<16>(holes, batch * ((m + 15) / 16) + first / 16,
                    gemmParts<Config, Columns>(n), batch, m,
                    [&](i32 i) { return first + i; });
}

/// The rows of a warp of the Warpgroup loops: Blocks of 16, 64 apart. They are
/// counted during the next tile, right after products have been issued, so that
/// neither waiting for their stores nor the ticket holds up the tensor cores.
template <class Config, class Holes, i32 Blocks, i32 Columns,
          bool = GemmRowOf<Holes>::kExists && Config::kRanks == 1>
struct GemmLater {
  FUSEC_METHOD void begin() {}
  FUSEC_METHOD void put(GemmTile) {}
  FUSEC_METHOD void count(const Holes &, i32, i32) {}
};

template <class Config, class Holes, i32 Blocks, i32 Columns>
struct GemmLater<Config, Holes, Blocks, Columns, true> {
  i32 batch;
  i32 row0;
  /// -1: nothing to count.
  i32 part;
  FUSEC_METHOD void begin() { part = -1; }
  /// Remembers what has been kept of `tile`.
  FUSEC_METHOD void put(GemmTile tile) {
    batch = tile.batch;
    row0 = tile.m0 + warp() % 4 * 16;
    part = tile.n0 / Columns;
  }
  /// Counts it.
  FUSEC_METHOD void count(const Holes &holes, i32 m, i32 n) {
    if (part < 0)
      return;
    part = -1;
    FUSEC_UNROLL
    for (i32 block = 0; block < Blocks; ++block)
      gemmCountRows<Config, Columns>(holes, batch, row0 + 64 * block, m, n);
  }
};

#endif // FUSEC_GEMM_ROWS_CUH
