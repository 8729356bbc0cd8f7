//===- gemm_statistics.cuh - reductions of a result's rows and columns -*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is spread over registers, lanes and the blocks of a row of tiles, a
// column over lanes, warps and the blocks of a column of tiles. An epilogue
// hole that reduces rows returns the state of its columns (Holes::Row), one
// that reduces columns yields a state for each of its results
// (Holes::Column). Threads join what they have, lanes theirs by shuffles, and
// warps that share columns theirs through shared memory (gemm_columns.cuh).
// Then each part of a row, or of a column, has a place of its own in memory,
// and the last warp that comes with the same rows or columns joins the parts in
// their order and finishes: no order depends on time.
//
// Who counts: a warp has the same rows in every tile of a row of tiles, and
// stores the same columns in every tile of a column of tiles, so it draws a
// ticket for them by itself, without a barrier. Its lanes store, meet
// (bar_warp), and lane 0 draws, which releases what all of them stored; whoever
// draws the last ticket acquires, meets its lanes again, and reads.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_STATISTICS_CUH
#define FUSEC_GEMM_STATISTICS_CUH

/// Stands for the state of holes that reduce nothing along an axis.
struct GemmNoState {};

template <class State>
struct GemmHasState {
  static constexpr bool kExists = true;
};
template <>
struct GemmHasState<GemmNoState> {
  static constexpr bool kExists = false;
};

template <class Holes, class = void>
struct GemmRowOf : GemmHasState<GemmNoState> {
  using Type = GemmNoState;
};
template <class Holes>
struct GemmRowOf<Holes, decltype(void(sizeof(typename Holes::Row)))>
    : GemmHasState<typename Holes::Row> {
  using Type = typename Holes::Row;
};
template <class Holes, class = void>
struct GemmColumnOf : GemmHasState<GemmNoState> {
  using Type = GemmNoState;
};
template <class Holes>
struct GemmColumnOf<Holes, decltype(void(sizeof(typename Holes::Column)))>
    : GemmHasState<typename Holes::Column> {
  using Type = typename Holes::Column;
};
template <class Holes>
using GemmRow = typename GemmRowOf<Holes>::Type;
template <class Holes>
using GemmColumn = typename GemmColumnOf<Holes>::Type;

/// The state of nothing.
template <class State, class Holes>
FUSEC_DEVICE State gemmNone(const Holes &holes) {
  if constexpr (GemmHasState<State>::kExists)
    return holes.none(State{});
  else
    return {};
}

template <class State, class Holes>
FUSEC_DEVICE State gemmJoin(const Holes &holes, const State &first,
                            const State &second) {
  if constexpr (GemmHasState<State>::kExists)
    return holes.join(first, second);
  else
    return {};
}

/// Calls the epilogue hole, which writes the states of its results to
/// `columns`.
template <class Holes, class Sum, i32 V>
FUSEC_DEVICE GemmRow<Holes> gemmCall(const Holes &holes, i32 b, i32 m, i32 n,
                                     const Sum (&v)[V], i32 valid,
                                     GemmColumn<Holes> (&columns)[V]) {
  auto call = [&] {
    if constexpr (GemmColumnOf<Holes>::kExists)
      return holes.epilogue(b, m, n, v, valid, columns);
    else
      return holes.epilogue(b, m, n, v, valid);
  };
  if constexpr (GemmRowOf<Holes>::kExists) {
    return call();
  } else {
    call();
    return {};
  }
}

/// Joins the states of lanes that differ in the bits from `First` up to `End`,
/// powers of two. All of them get the same bits; all lanes of the warp take
/// part.
template <i32 First, i32 End, class State, class Holes>
FUSEC_DEVICE State gemmJoinLanes(const Holes &holes, State state) {
  if constexpr (GemmHasState<State>::kExists) {
    FUSEC_UNROLL
    for (i32 by = First; by < End; by *= 2) {
      State other = holes.exchange(state, by);
      bool isSecond = (lane() & by) != 0;
      state = holes.join(isSecond ? other : state, isSecond ? state : other);
    }
  }
  return state;
}

/// Parts of a row of `n` columns: those of a tile, or as many as a warpgroup
/// has of them.
template <class Config, i32 Columns>
FUSEC_DEVICE i32 gemmParts(i32 n) {
  return (n + Config::kTileN - 1) / Config::kTileN * (Config::kTileN / Columns);
}

/// Where a part's state of a row is, or of a column; `extent` is their number.
FUSEC_DEVICE i64 gemmPlace(i32 batch, i32 part, i32 parts, i32 index,
                           i32 extent) {
  return ((i64)batch * parts + part) * extent + index;
}

/// Counts one part of the warp's `Count` rows, or columns, at(0..Count-1),
/// whose states its lanes have kept. Finishes them if it was the last of
/// `parts`, which it reads `AtOnce` at a time. All lanes of the warp take part.
template <class State, i32 Count, i32 AtOnce, class Holes, class At>
FUSEC_DEVICE void gemmCount(const Holes &holes, i32 counter, i32 parts,
                            i32 batch, i32 extent, At at) {
  bar_warp();
  i32 drawn = 0;
  if (lane() == 0)
    drawn = holes.draw(counter, parts, State{});
  if (shfl_idx(drawn, 0) == parts - 1) {
    bar_warp();
    for (i32 i = lane(); i < Count; i += 32) {
      i32 index = at(i);
      if (index >= extent)
        continue;
      auto kept = [&](i32 part) {
        return holes.kept(gemmPlace(batch, part, parts, index, extent),
                          State{});
      };
      State state = kept(0);
      for (i32 part = 1; part < parts; part += AtOnce) {
        State next[AtOnce];
        FUSEC_UNROLL
        for (i32 j = 0; j < AtOnce; ++j)
          next[j] = kept(part + j < parts ? part + j : parts - 1);
        FUSEC_UNROLL
        for (i32 j = 0; j < AtOnce; ++j)
          if (part + j < parts)
            state = holes.join(state, next[j]);
      }
      holes.finish(batch, index, state);
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
      gemmCount<GemmRow<Holes>, 16, 4>(holes,
                                       batch * ((m + 15) / 16) + first / 16,
                                       gemmParts<Config, Columns>(n), batch, m,
                                       [&](i32 i) { return first + i; });
}

/// Counts the columns that warp `number` of `Warps` has stored of those of a
/// tile: every so many chunks of 32, for a part of `Rows` rows. There are many
/// parts, so as many as `Registers` hold are read at a time.
template <i32 Rows, i32 Columns, i32 Warps, i32 Registers = 16, class Holes>
FUSEC_DEVICE void gemmCountColumns(const Holes &holes, GemmTile tile,
                                   i32 number, i32 m, i32 n) {
  if constexpr (GemmColumnOf<Holes>::kExists) {
    using Column = GemmColumn<Holes>;
    constexpr i32 kFit = 4 * Registers / i32(sizeof(Column));
    constexpr i32 kAtOnce = kFit > 1 ? kFit : 1;
    if (tile.m0 < m)
      for (i32 chunk = number; chunk < Columns / 32; chunk += Warps) {
        i32 first = tile.n0 + chunk * 32;
        if (first < n)
          gemmCount<Column, 32, kAtOnce>(
              holes, tile.batch * ((n + 31) / 32) + first / 32,
              (m + Rows - 1) / Rows, tile.batch, n,
              [&](i32 i) { return first + i; });
      }
  }
}

/// The tile that all lanes of a warp have, from lane 0. In a tile that is kept
/// while the next one is worked on, ptxas (13.0 to 13.5) moves sums of its
/// coordinates out of the loop over k, behind the place where these have become
/// the next tile's: rows of it would be finished before their parts are there,
/// and those that are complete never (test/gpu/families.py, statistics-rows).
/// What comes out of a shuffle stays where it is.
FUSEC_DEVICE GemmTile gemmFirstLane(GemmTile tile) {
  tile.batch = shfl_idx(tile.batch, 0);
  tile.m0 = shfl_idx(tile.m0, 0);
  tile.n0 = shfl_idx(tile.n0, 0);
  return tile;
}

/// The statistics of a warpgroup's last tile: Blocks of 64 rows. They are
/// counted during the next tile, right after products have been issued, so that
/// neither waiting for their stores nor the ticket holds up the tensor cores.
template <class Config, class Holes, i32 Blocks, i32 Columns,
          bool = (GemmRowOf<Holes>::kExists || GemmColumnOf<Holes>::kExists) &&
                 Config::kRanks == 1>
struct GemmLater {
  FUSEC_METHOD void begin() {}
  FUSEC_METHOD void put(GemmTile) {}
  FUSEC_METHOD void count(const Holes &, i32, i32) {}
};

template <class Config, class Holes, i32 Blocks, i32 Columns>
struct GemmLater<Config, Holes, Blocks, Columns, true> {
  /// batch -1: nothing to count.
  GemmTile tile;
  FUSEC_METHOD void begin() { tile.batch = -1; }
  /// Remembers that the states of `done` have been kept.
  FUSEC_METHOD void put(GemmTile done) { tile = done; }
  /// Counts them.
  FUSEC_METHOD void count(const Holes &holes, i32 m, i32 n) {
    if (tile.batch < 0)
      return;
    GemmTile done = gemmFirstLane(tile);
    FUSEC_UNROLL
    for (i32 block = 0; block < Blocks; ++block)
      gemmCountRows<Config, Columns>(
          holes, done.batch, done.m0 + warp() % 4 * 16 + 64 * block, m, n);
    // Blocks that share a multiprocessor have few registers.
    gemmCountColumns<64, Columns, 4, (Config::kBlocks > 1 ? 4 : 16)>(
        holes, done, warp() % 4, m, n);
    tile.batch = -1;
  }
};

#endif // FUSEC_GEMM_STATISTICS_CUH
