//===- gemm_boxes.cuh - results go out by boxes -----------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results that turn (gemm_turn.cuh) and are a matrix for each batch need not
// come back to registers: the copy engine takes a warpgroup's 64 rows and 64
// columns away as a box, while the next one is made in a second place of shared
// memory. Places past the end of rows and columns are not stored.
//
// Such a hole has `BoxC`, a GemmBox along columns, and the tensor map `results`.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_BOXES_CUH
#define FUSEC_GEMM_BOXES_CUH
#ifdef FUSEC_SM90

/// Whether results go out by boxes.
template <class Holes, class = void>
struct GemmBoxed {
  static constexpr bool kExists = false;
};
template <class Holes>
struct GemmBoxed<Holes, decltype(void(sizeof(typename Holes::BoxC)))> {
  static constexpr bool kExists = true;
};

/// A box of 64 rows of 128 bytes, as the 128-byte swizzle has it.
struct GemmResultBox {
  static constexpr i32 kSize = 64 * 64;
  FUSEC_DEVICE i32 index(i32 row, i32 column) {
    return row * 64 + ((column >> 3 ^ row & 7) << 3) + (column & 7);
  }
};

/// Hands the accumulators of a warpgroup's 64 rows to the hole; `row` is that
/// of the lane's first results, those of the others are 8 below. n is a
/// multiple of 8. Named barriers 4 on: one for each warpgroup.
template <class Config, class Holes, class Sum, i32 R>
FUSEC_DEVICE void gemmHandOverBoxes(const Holes &holes, const Sum (&acc)[R],
                                    GemmTile tile, i32 row, i32 m, i32 n) {
  using T = typename Holes::Result;
  static_assert(sizeof(T) == 2 && Holes::kColumns == 2 && R % 64 == 0,
                "pairs of boxes of 16-bit results");
  FUSEC_SHARED_TILE(T, boxes,
                    (Config::kThreads / 128 - 1) * 2 * GemmResultBox::kSize);
  i32 group = shfl_idx(warp() / 4 - 1, 0);
  i32 line = warp() % 4 * 16 + (lane() >> 2), quad = lane() & 3;
  bool isFirst = tid() % 128 == 0;
  // Tiles end where columns do.
  const bool fits = n % Config::kTileN == 0;
  auto inside = [](i32 at, i32 end, i32 count) {
    return at < end ? at : end - count;
  };
  FUSEC_UNROLL
  for (i32 c = 0; c < R / 32; ++c) {
    i32 own = (2 * group + c % 2) * GemmResultBox::kSize;
    i32 first = tile.n0 + 64 * c;
    // The box before the last one has been read.
    if (isFirst)
      bulk_wait_read<1>();
    bar_named(4 + group, 128);
    FUSEC_UNROLL
    for (i32 half = 0; half < 2; ++half)
      FUSEC_UNROLL
    for (i32 j = 0; j < 8; ++j) {
      i32 r = 32 * c + 4 * j + 2 * half;
      const Sum some[2] = {acc[r], acc[r + 1]};
      i32 at = first + 8 * j + 2 * quad;
      GemmKeptResults<T> kept;
      holes.epilogue(tile.batch, inside(row + 8 * half, m, 1),
                     fits ? at : inside(at, n, 2), some, 0, kept);
      sts<2>(boxes,
             own + GemmResultBox::index(line + 8 * half, 8 * j + 2 * quad),
             kept.v, 0);
    }
    fence_proxy_async();
    bar_named(4 + group, 128);
    if (isFirst) {
      if (row - line < m && first < n)
        Holes::BoxC::store(holes.results, boxes, own, tile.batch, row - line,
                           first);
      bulk_commit();
    }
  }
}

/// What a thread has stored by boxes is in memory.
template <class Holes>
FUSEC_DEVICE void gemmEndBoxes() {
  if constexpr (GemmBoxed<Holes>::kExists)
    bulk_wait<0>();
}

#endif // FUSEC_SM90
#endif // FUSEC_GEMM_BOXES_CUH
