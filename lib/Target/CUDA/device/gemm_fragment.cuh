//===- gemm_fragment.cuh - operand fragments of mma.sync --------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the fragments of mma.sync from swizzled tiles. One call yields 16 outer
// coordinates by two 16-byte groups of k (k32 for 8-bit elements, k16 for
// 16-bit ones, k8 for 32-bit ones): the A fragment of one m16 block, or the B fragments of two n8
// blocks. 8-bit tiles, which are along k, 16-bit tiles of either order and
// 32-bit tiles along k go through ldmatrix; 32-bit tiles along the outer dimension are read word by word.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_FRAGMENT_CUH
#define FUSEC_GEMM_FRAGMENT_CUH

/// Which operand a fragment belongs to; the four 8x8 matrices of a call are
/// ordered (outer, k) = 00 10 01 11 for A and 00 01 10 11 for B.
enum class GemmRole : u8 { A, B };

template <class Config, GemmRole Role, GemmOrder Order, i32 Tile>
struct GemmFragment {
  using Element = typename Config::Element;
  static constexpr bool kAlongK =
      Order == GemmOrder::KContiguous || sizeof(Element) == 1;
  static constexpr i32 kSpan = kAlongK ? Config::kTileK : Tile;
  static constexpr bool kWords = sizeof(Element) == 4 && !kAlongK;
  using Layout = GemmLayout<
      Element, kAlongK ? GemmOrder::KContiguous : GemmOrder::OuterContiguous,
      kSpan>;

  /// The lane's line within the 16 lines of a call, its group (0 or 1), and
  /// the group with the line's XOR term; lines advance by 16 between calls, so
  /// the term never changes.
  i32 line0;
  i32 phase;
  i32 outer0;

  FUSEC_METHOD void begin(i32 outer) {
    constexpr bool kLow = (Role == GemmRole::A) == kAlongK;
    i32 inner = kLow ? lane() & 15 : (lane() & 7) + (lane() >> 4 << 3);
    i32 group = kLow ? lane() >> 4 : lane() >> 3 & 1;
    outer0 = outer;
    line0 = kAlongK ? outer + inner : inner;
    phase = group ^ Layout::phase(line0);
  }

  /// Reads block `block` (16 outer coordinates) of k step `step` of the tile
  /// that starts at element `tile` of the ring. `halves` is the ring seen as
  /// 16-bit elements, the unit of ldmatrix.
  template <class Shared, class Halves>
  FUSEC_METHOD void load(u32 (&r)[4], Shared ring, Halves halves, i32 tile,
                         i32 block, i32 step) const {
    if constexpr (kWords) {
      loadWords(r, ring, tile, block, step);
    } else if constexpr (kAlongK) {
      i32 at = tile + (line0 + 16 * block) * kSpan +
               ((2 * step) ^ phase) * Config::kGroup;
      ldmatrix_x4(r, halves, at * i32(sizeof(Element)) / 2);
    } else {
      i32 at = tile + (line0 + 16 * step) * kSpan +
               ((outer0 / Config::kGroup + 2 * block) ^ phase) * Config::kGroup;
      ldmatrix_x4_trans(r, halves, at);
    }
    if constexpr (Config::kKind == GemmKind::TF32) {
      FUSEC_UNROLL
      for (i32 i = 0; i < 4; ++i)
        r[i] = to_tf32(as_f32(r[i]));
    }
  }

  /// The word-by-word form: lane 4g + t holds k = t, t + 4 of outer g, g + 8.
  template <class Shared>
  FUSEC_METHOD void loadWords(u32 (&r)[4], Shared ring, i32 tile, i32 block,
                              i32 step) const {
    i32 k = step * 8 + (lane() & 3);
    i32 outer = outer0 + block * 16 + (lane() >> 2);
    FUSEC_UNROLL
    for (i32 i = 0; i < 4; ++i) {
      bool farK = Role == GemmRole::A ? i >= 2 : i % 2 == 1;
      bool farOuter = Role == GemmRole::A ? i % 2 == 1 : i >= 2;
      r[i] =
          as_u32(lds(ring, tile + Layout::index(k + (farK ? 4 : 0),
                                                outer + (farOuter ? 8 : 0))));
    }
  }
};

#endif // FUSEC_GEMM_FRAGMENT_CUH
