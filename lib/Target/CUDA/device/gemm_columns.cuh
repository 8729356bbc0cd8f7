//===- gemm_columns.cuh - states of a tile's columns ------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the rows of a column's tile meet: lanes by shuffles, so that each has
// the states of other columns in the end, then warps through shared memory.
// Chunks of 32 columns belong to the warps in turn: the owner of one joins what
// all warps have of it, in their order, keeps it, and counts it
// (gemm_statistics.cuh).
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_COLUMNS_CUH
#define FUSEC_GEMM_COLUMNS_CUH

/// Joins the states of 8 columns that the 8 lanes lane % 4, lane % 4 + 4, .. of
/// a warp have, and returns that of column lane / 4 to each of them: every
/// exchange halves what a lane deals with. All lanes of the warp take part.
template <class Holes>
FUSEC_DEVICE GemmColumn<Holes>
gemmSpreadColumns(const Holes &holes, GemmColumn<Holes> (&columns)[8]) {
  if constexpr (GemmColumnOf<Holes>::kExists) {
    FUSEC_UNROLL
    for (i32 half = 4; half >= 1; half /= 2)
      FUSEC_UNROLL
    for (i32 i = 0; i < half; ++i) {
      bool isUpper = (lane() & 4 * half) != 0;
      GemmColumn<Holes> own = isUpper ? columns[i + half] : columns[i];
      GemmColumn<Holes> given = isUpper ? columns[i] : columns[i + half];
      columns[i] = holes.join(own, holes.exchange(given, 4 * half));
    }
  }
  return columns[0];
}

/// Joins the states that `Warps` warps have put into slab[base + Columns * warp
/// + column] for the columns of a tile, and keeps them as those of a part of
/// `Rows` rows. The warps, of which this one is `number`, have met since.
template <i32 Rows, i32 Columns, i32 Warps, class Holes, class Slab>
FUSEC_DEVICE void gemmKeepColumns(const Holes &holes, Slab slab, i32 base,
                                  GemmTile tile, i32 number, i32 m, i32 n) {
  for (i32 chunk = number; chunk < Columns / 32; chunk += Warps) {
    i32 column = 32 * chunk + lane();
    GemmColumn<Holes> state = lds(slab, base + column);
    FUSEC_UNROLL
    for (i32 w = 1; w < Warps; ++w)
      state = holes.join(state, lds(slab, base + w * Columns + column));
    if (tile.n0 + column < n)
      holes.keep(gemmPlace(tile.batch, tile.m0 / Rows, (m + Rows - 1) / Rows,
                           tile.n0 + column, n),
                 state);
  }
}

#endif // FUSEC_GEMM_COLUMNS_CUH
