//===- gemm_epilogue.cuh - accumulators to the epilogue hole ----*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accumulator tile passes through shared memory (the ring's, drained), so
// that the epilogue hole sees eight consecutive n of one row whatever the main
// loop's fragment layout was, stores 16 bytes a lane, and is instantiated once
// in a rolled loop instead of once a fragment.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_EPILOGUE_CUH
#define FUSEC_GEMM_EPILOGUE_CUH

/// The tile of sums in shared memory. A row holds its groups of eight in two
/// planes (first and second half of each group); groups are permuted by XOR so
/// that neither the fragment writes (8 bytes a lane, four rows at once) nor
/// the group reads (16 bytes a lane) share banks.
template <class Config>
struct GemmStage {
  static constexpr i32 kGroups = Config::kTileN / 8;

  /// Element index of (row, column) of the tile; columns n and n + 1 of an
  /// even n, and the four of a half group, are adjacent.
  FUSEC_DEVICE i32 index(i32 row, i32 column) {
    i32 plane = (column >> 2 & 1) ^ (row & 1);
    i32 spread = kGroups >= 8 ? plane << 2 : 0;
    i32 group = (column >> 3) ^ (row & 3) ^ spread;
    return row * Config::kTileN + (plane * kGroups + group) * 4 + (column & 3);
  }
};

/// The eight results of the tile at (row, column), the parts of k added in
/// order.
template <class Config, class Shared>
FUSEC_DEVICE void gemmStaged(typename Config::Sum (&v)[8], Shared stage,
                             i32 row, i32 column) {
  using Stage = GemmStage<Config>;
  lds<4>(v, 0, stage, Stage::index(row, column));
  lds<4>(v, 4, stage, Stage::index(row, column + 4));
  FUSEC_UNROLL
  for (i32 part = 1; part < Config::kWarpsK; ++part) {
    i32 slab = part * (Config::kTileM * Config::kTileN);
    typename Config::Sum more[8];
    lds<4>(more, 0, stage, slab + Stage::index(row, column));
    lds<4>(more, 4, stage, slab + Stage::index(row, column + 4));
    FUSEC_UNROLL
    for (i32 e = 0; e < 8; ++e)
      v[e] += more[e];
  }
}

/// Counts the rows whose states a warp has kept: whole warps go around the
/// tile, each time with as many whole rows as they have.
template <class Config, class Holes>
FUSEC_DEVICE void gemmCountStagedRows(const Holes &holes, GemmTile tile, i32 m,
                                      i32 n) {
  if constexpr (GemmRowOf<Holes>::kExists) {
    constexpr i32 kGroups = GemmStage<Config>::kGroups;
    constexpr i32 kRows = 32 / kGroups;
    constexpr i32 kWarps = Config::kThreads / 32;
    constexpr i32 kOwn =
        Config::kTileM > kWarps * kRows ? Config::kTileM / kWarps : kRows;
    static_assert(kGroups <= 32 && kOwn % kRows == 0, "a warp has whole rows");
    i32 rows = (m + Config::kTileM - 1) / Config::kTileM;
    i32 first = warp() * kRows;
    if (first < Config::kTileM)
      gemmCount<GemmRow<Holes>, kOwn, 4>(
          holes,
          (tile.batch * rows + tile.m0 / Config::kTileM) * kWarps + warp(),
          gemmParts<Config, Config::kTileN>(n), tile.batch, m, [&](i32 i) {
            return tile.m0 + i / kRows * (kWarps * kRows) + first + i % kRows;
          });
  }
}

/// Joins the states that threads have of the 8 columns of their group, where
/// the tile was, and counts the columns.
template <class Config, class Holes>
FUSEC_DEVICE void gemmCountStagedColumns(const Holes &holes,
                                         GemmColumn<Holes> (&columns)[8],
                                         GemmTile tile, i32 m, i32 n) {
  if constexpr (GemmColumnOf<Holes>::kExists) {
    constexpr i32 kGroups = GemmStage<Config>::kGroups;
    constexpr i32 kWarps = Config::kThreads / 32;
    static_assert(kWarps * Config::kTileN * sizeof(GemmColumn<Holes>) <=
                          Config::kSharedBytes &&
                      Config::kThreads % kGroups == 0 && kGroups <= 32,
                  "a thread has the same columns in all its rows");
    FUSEC_SHARED_DYN(GemmColumn<Holes>, slab);
    bar();
    FUSEC_UNROLL
    for (i32 e = 0; e < 8; ++e) {
      columns[e] = gemmJoinLanes<kGroups, 32>(holes, columns[e]);
      if (lane() < kGroups)
        sts(slab, warp() * Config::kTileN + lane() * 8 + e, columns[e]);
    }
    bar();
    gemmKeepColumns<Config::kTileM, Config::kTileN, kWarps>(holes, slab, 0,
                                                            tile, warp(), m, n);
    gemmCountColumns<Config::kTileM, Config::kTileN, kWarps>(holes, tile,
                                                             warp(), m, n);
  }
}

/// Hands the staged tile to the epilogue hole. The caller has stored the whole
/// tile, once for each of Config::kWarpsK parts of k, one after the other; this
/// function makes them visible to all threads first.
template <class Config, class Holes, class Shared>
FUSEC_DEVICE void gemmEpilogue(const Holes &holes, Shared stage, GemmTile tile,
                               i32 m, i32 n) {
  using Stage = GemmStage<Config>;
  constexpr i32 kTotal = Config::kTileM * Stage::kGroups;
  GemmColumn<Holes> columns[8];
  FUSEC_UNROLL
  for (i32 e = 0; e < 8; ++e)
    columns[e] = gemmNone<GemmColumn<Holes>>(holes);
  bar();
  for (i32 i = tid(); i < kTotal; i += Config::kThreads) {
    i32 row = i / Stage::kGroups;
    i32 column = i % Stage::kGroups * 8;
    GemmRow<Holes> state = gemmNone<GemmRow<Holes>>(holes);
    if (tile.m0 + row < m && tile.n0 + column < n) {
      typename Config::Sum v[8];
      gemmStaged<Config>(v, stage, row, column);
      i32 left = n - (tile.n0 + column);
      GemmColumn<Holes> more[8];
      state = gemmCall(holes, tile.batch, tile.m0 + row, tile.n0 + column, v,
                       left < 8 ? left : 8, more);
      FUSEC_UNROLL
      for (i32 e = 0; e < 8; ++e)
        columns[e] = gemmJoin(holes, columns[e], more[e]);
    }
    if constexpr (GemmRowOf<Holes>::kExists) {
      state = gemmJoinLanes<1, Stage::kGroups>(holes, state);
      if (column == 0 && tile.m0 + row < m)
        holes.keep(gemmPlace(tile.batch, tile.n0 / Config::kTileN,
                             gemmParts<Config, Config::kTileN>(n),
                             tile.m0 + row, m),
                   state);
    }
  }
  gemmCountStagedRows<Config>(holes, tile, m, n);
  gemmCountStagedColumns<Config>(holes, columns, tile, m, n);
}

#endif // FUSEC_GEMM_EPILOGUE_CUH
