//===- rolled.cuh - rows that start anywhere in a vector --------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Behind prelude_cuda.cuh. A kernel that gives every column of a row the same
// meaning (lib/Driver/RolledRows.h) may take the columns in any order. Compiled
// with FUSEC_ROLLED, the columns C of a row, it takes them as they lie in
// memory: with a buffer that starts `first` elements before a whole vector,
// what the text calls column c is column (c + first) mod C. Vectors of the text
// are then vectors of memory but for the last of each row, which has the row's
// last elements and its first ones.
//
//   FUSEC_ROWS(T) p     a parameter: rows of elements of T, const or not; `T *`
//                       without FUSEC_ROLLED
//   FUSEC_ROLLED_UNIT   a power of two that divides C, a vector of the
//   narrowest
//                       rows or more: all of a launch start equally far before
//                       a multiple of so many elements. Offsets of vectors are
//                       multiples of their sizes.
//   FUSEC_ROLLED_FIRST  `first`, if it is one for all launches of the form
//===----------------------------------------------------------------------===//
#ifndef FUSEC_ROLLED
#define FUSEC_ROWS(T) T *
#else
#define FUSEC_ROWS(T) RolledRows<T, FUSEC_ROLLED, FUSEC_ROLLED_UNIT>

template <class T, i32 C, i32 U>
struct RolledRows {
  T *start;
};

namespace fusec_detail {
/// Elements of `rows` before the first whole vector of memory.
template <class T, i32 C, i32 U>
FUSEC_DEVICE i32 firstOf(RolledRows<T, C, U> rows) {
#ifdef FUSEC_ROLLED_FIRST
  return FUSEC_ROLLED_FIRST;
#else
  return (i32)((0 - (u32)((u64)rows.start / sizeof(T))) & (U - 1));
#endif
}
/// How many of the E elements that the text has at `off` are past the end of
/// their row in memory, and so at its start; not positive for none.
template <i32 E, class T, i32 C, i32 U, class I>
FUSEC_DEVICE i32 pastEnd(RolledRows<T, C, U> rows, I off) {
  static_assert(C % U == 0 && (U & (U - 1)) == 0 && E <= U,
                "whole vectors in a row");
  const u32 column = sizeof(I) > 4 ? (u32)((u64)off % C) : (u32)off % (u32)C;
  return (i32)column + (firstOf(rows) - (C - E));
}

/// Bytes of `w` from `from` on become those of `start`.
FUSEC_DEVICE void replaceBehind(u32 *w, const u32 *start, i32 from) {
  FUSEC_UNROLL
  for (i32 k = 0; k < 4; ++k) {
    const i32 kept = from - 4 * k; // bytes of this word
    const u32 mask = kept <= 0 ? 0 : kept >= 4 ? ~0u : (1u << 8 * kept) - 1;
    w[k] = (w[k] & mask) | (start[k] & ~mask);
  }
}

/// Whether hardly any warp has the end of a row among its E elements a lane:
/// then one test decides about all else.
template <i32 E, i32 C>
constexpr bool kEndsRarely = C > 65536 * E;

/// Where memory has the E elements that the text has at `off`.
template <i32 E, class T, i32 C, i32 U>
struct RolledPlace {
  i32 split;    // bytes of the first of its two vectors
  bool isSplit; // whether it has two
  T *at;        // the only one or the first; the other is a row before it
  template <class I>
  FUSEC_METHOD RolledPlace(RolledRows<T, C, U> rows, I off) {
    const i32 first = firstOf(rows), past = pastEnd<E>(rows, off);
    const bool isAround = E < U && past >= E;
    split = (E - first % E) * (i32)sizeof(T);
    isSplit = E > 1 && past > 0 && !isAround;
    at = rows.start + first + off;
    if (isAround)
      at -= C;
  }
};

/// `bytes` to words where `mask`, which are anything elsewhere. Without a
/// branch, so that nothing waits for what was asked for before.
template <i32 bytes, bool ReadOnly>
FUSEC_DEVICE void loadWordsIf(u32 *w, const void *p, bool mask) {
#define FUSEC_DETAIL_ROLLED(how)                                               \
  if constexpr (bytes == 16)                                                   \
    asm volatile("{.reg .pred p; setp.ne.u32 p, %5, 0;\n"                      \
                 "@p ld.global" how ".v4.u32 {%0, %1, %2, %3}, [%4];}"         \
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])              \
                 : "l"(__cvta_generic_to_global(p)), "r"((u32)mask));          \
  else if constexpr (bytes == 8)                                               \
    asm volatile("{.reg .pred p; setp.ne.u32 p, %3, 0;\n"                      \
                 "@p ld.global" how ".v2.u32 {%0, %1}, [%2];}"                 \
                 : "=r"(w[0]), "=r"(w[1])                                      \
                 : "l"(__cvta_generic_to_global(p)), "r"((u32)mask));          \
  else if (mask)                                                               \
  loadWords<bytes, ReadOnly>(p, w)
  if constexpr (ReadOnly) {
    FUSEC_DETAIL_ROLLED(".nc");
  } else {
    FUSEC_DETAIL_ROLLED("");
  }
#undef FUSEC_DETAIL_ROLLED
}

/// E elements to words, of the one or two vectors of memory that hold them.
template <i32 E, bool ReadOnly, class T, i32 C, i32 U, class I>
FUSEC_DEVICE void loadRolled(u32 *w, RolledRows<T, C, U> rows, I off) {
  constexpr i32 bytes = E * (i32)sizeof(T);
  if constexpr (E > 1 && kEndsRarely<E, C>) {
    if (pastEnd<E>(rows, off) <= 0)
      return loadWords<bytes, ReadOnly>(rows.start + firstOf(rows) + off, w);
  }
  const RolledPlace<E, T, C, U> place(rows, off);
  loadWords<bytes, ReadOnly>(place.at, w);
  if constexpr (E > 1) {
    u32 start[4] = {};
    loadWordsIf<bytes, ReadOnly>(start, place.at - C, place.isSplit);
    replaceBehind(w, start, place.isSplit ? place.split : bytes);
  }
}
/// As loadRolled at `off` and C elements behind it: the second vector there is
/// the first one here.
template <i32 E, bool ReadOnly, class T, i32 C, i32 U, class I>
FUSEC_DEVICE void loadRolledPair(u32 *w, u32 *v, RolledRows<T, C, U> rows,
                                 I off) {
  constexpr i32 bytes = E * (i32)sizeof(T);
  const RolledPlace<E, T, C, U> place(rows, off);
  u32 start[4] = {};
  loadWords<bytes, ReadOnly>(place.at, w);
  loadWords<bytes, ReadOnly>(place.at + C, v);
  loadWordsIf<bytes, ReadOnly>(start, place.at - C, place.isSplit);
  const i32 kept = place.isSplit ? place.split : bytes;
  replaceBehind(v, w, kept);
  replaceBehind(w, start, kept);
}

/// The inverse, which writes no other byte: `count` rows in a row from `off`
/// on, of each E elements, 16 bytes. The memory between the end of a row and
/// the start of the next is one access where the thread has both or a lane C /
/// E further has the next; ends that have no such neighbour are pieces.
template <i32 E, i32 count, class T, i32 C, i32 U, class I>
FUSEC_DEVICE void storeTogether(RolledRows<T, C, U> rows, I off, u32 (*w)[4],
                                bool mask) {
  constexpr i32 lanes = C / E;
  constexpr bool isNear = lanes < 32;
  const RolledPlace<E, T, C, U> place(rows, off);
  const i32 split = place.split;
  bool hasNext = false, hasBefore = false;
  u32 next[4] = {};
  if constexpr (isNear) {
    const u32 together = __activemask(), lane = threadIdx.x & 31;
    const I known = mask ? off : (I)-1;
    const I other = __shfl_down_sync(together, known, lanes);
    hasNext = lane + lanes < 32 && together >> ((lane + lanes) & 31) & 1 &&
              mask && other == off + count * C;
    const u32 continued = __ballot_sync(together, hasNext);
    hasBefore = lane >= lanes && continued >> ((lane - lanes) & 31) & 1;
    FUSEC_UNROLL
    for (i32 k = 0; k < 4; ++k)
      next[k] = __shfl_down_sync(together, w[0][k], lanes);
  }
  if (!mask)
    return;
  const i32 kept = place.isSplit ? split : 16;
  u32 whole[4];
  FUSEC_UNROLL
  for (i32 i = 0; i < count; ++i) {
    FUSEC_UNROLL
    for (i32 k = 0; k < 4; ++k)
      whole[k] = w[i][k];
    replaceBehind(whole, i + 1 < count ? w[i + 1 < count ? i + 1 : i] : next,
                  kept);
    if (i + 1 < count || !place.isSplit || hasNext)
      storeWords<16>(place.at + i * C, whole);
  }
  if (place.isSplit && !hasNext)
    storeBefore((u8 *)(place.at + (count - 1) * C), w[count - 1], split);
  if (place.isSplit && !hasBefore)
    storeBehind((u8 *)(place.at - C), w[0], split);
}
template <i32 E, class T, i32 C, i32 U, class I>
FUSEC_DEVICE void storeRolled(RolledRows<T, C, U> rows, I off, const T *src,
                              bool mask) {
  u32 w[1][4] = {};
  FUSEC_UNROLL
  for (i32 k = 0; k < E; ++k)
    packElement<T>(w[0], k, src[k]);
  if constexpr (E * sizeof(T) == 16 && C / E < 32) {
    storeTogether<E, 1>(rows, off, w, mask);
  } else if (mask) {
    const RolledPlace<E, T, C, U> place(rows, off);
    // Of a long row, one that a lane has by itself.
    const i32 split = kEndsRarely<E, C>
                          ? (E - pastEnd<E>(rows, off)) * (i32)sizeof(T)
                          : place.split;
    if (!place.isSplit) {
      storeWords<E *(i32)sizeof(T)>(place.at, w[0]);
    } else if constexpr (E * sizeof(T) == 16) {
      storeBefore((u8 *)place.at, w[0], (u32)split);
      storeBehind((u8 *)(place.at - C), w[0], (u32)split);
    } else {
      FUSEC_UNROLL
      for (i32 k = 0; k < E; ++k)
        place.at[k * (i32)sizeof(T) < split ? k : k - C] = src[k];
    }
  }
}
} // namespace fusec_detail

template <i32 V, class D, i32 N, class T, i32 C, i32 U, class I>
FUSEC_DEVICE void ldm(D (&dst)[N], i32 r, RolledRows<T, C, U> p, I off,
                      bool mask, fusec_detail::Same<D> other) {
  using namespace fusec_detail;
  constexpr i32 E = Split<V, D, 16>::perChunk;
  if (r % V != 0)
    return;
  FUSEC_UNROLL
  for (i32 c = 0; c < V; c += E) {
    u32 w[4] = {};
    FUSEC_UNROLL
    for (i32 k = 0; k < E; ++k)
      packElement<D>(w, k, other);
    if (mask)
      loadRolled<E, kIsConst<T> && kReadOnly>(w, p, off + c);
    FUSEC_UNROLL
    for (i32 k = 0; k < E; ++k)
      dst[r + c + k] = unpackElement<D>(w, k);
  }
}
template <i32 V, class D, i32 N, class T, i32 C, i32 U, class I>
FUSEC_DEVICE void ld(D (&dst)[N], i32 r, RolledRows<T, C, U> p, I off) {
  ldm<V>(dst, r, p, off, true, D{});
}
template <i32 V, class T, i32 N, i32 C, i32 U, class I>
FUSEC_DEVICE void stm(RolledRows<T, C, U> p, I off, const T (&src)[N], i32 r,
                      bool mask) {
  constexpr i32 E = fusec_detail::Split<V, T, 16>::perChunk;
  if (r % V != 0)
    return;
  FUSEC_UNROLL
  for (i32 c = 0; c < V; c += E)
    fusec_detail::storeRolled<E>(p, off + c, src + r + c, mask);
}
template <i32 V, class T, i32 N, i32 C, i32 U, class I>
FUSEC_DEVICE void st(RolledRows<T, C, U> p, I off, const T (&src)[N], i32 r) {
  stm<V>(p, off, src, r, true);
}

/// ld<V> and stm<V> at `off` and, of other registers, D elements behind it.
/// Rows that follow each other so have the memory between them accessed once.
template <i32 V, i32 D, class T, i32 N, i32 M, class P, i32 C, i32 U, class I>
FUSEC_DEVICE void ld_pair(T (&dst)[N], i32 r, T (&behind)[M], i32 q,
                          RolledRows<P, C, U> p, I off) {
  using namespace fusec_detail;
  if constexpr (D == C && V * sizeof(T) == 16) {
    u32 w[4] = {}, v[4] = {};
    loadRolledPair<V, kIsConst<P> && kReadOnly>(w, v, p, off);
    FUSEC_UNROLL
    for (i32 k = 0; k < V; ++k)
      dst[r + k] = unpackElement<T>(w, k),
              behind[q + k] = unpackElement<T>(v, k);
  } else {
    ld<V>(dst, r, p, off);
    ld<V>(behind, q, p, off + D);
  }
}
template <i32 V, i32 D, class T, i32 N, i32 M, i32 C, i32 U, class I>
FUSEC_DEVICE void stm_pair(RolledRows<T, C, U> p, I off, const T (&src)[N],
                           i32 r, const T (&behind)[M], i32 q, bool mask) {
  using namespace fusec_detail;
  if constexpr (D == C && V * sizeof(T) == 16) {
    u32 w[2][4] = {};
    FUSEC_UNROLL
    for (i32 k = 0; k < V; ++k)
      packElement<T>(w[0], k, src[r + k]),
          packElement<T>(w[1], k, behind[q + k]);
    storeTogether<V, 2>(p, off, w, mask);
  } else {
    stm<V>(p, off, src, r, mask);
    stm<V>(p, off + D, behind, q, mask);
  }
}

namespace fusec_detail {
/// Both vectors at once where there are two; in the background otherwise.
template <i32 bytes, class D, class T, i32 C, i32 U, class I>
FUSEC_DEVICE void copyRolled(D *s, RolledRows<T, C, U> p, I off, bool pred) {
  constexpr i32 E = bytes / (i32)sizeof(D);
  const i32 past = pastEnd<E>(p, off);
  if (past <= 0 || past >= E || !pred) {
    const T *at = p.start + firstOf(p) + off - (past > 0 ? C : 0);
    const auto to = sharedAddress(s);
    const auto from = __cvta_generic_to_global(at);
    if constexpr (bytes == 16)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                   "l"(from), "r"(pred ? 16 : 0)
                   : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to),
                   "l"(from), "r"(pred ? bytes : 0), "n"(bytes)
                   : "memory");
    return;
  }
  u32 w[4] = {};
  loadRolled<E, kReadOnly>(w, p, off);
  storeWords<bytes>(s, w);
}
} // namespace fusec_detail

#define FUSEC_DETAIL_CP_ROLLED(name, bytes)                                    \
  template <class D, class T, i32 C, i32 U, class I>                           \
  FUSEC_DEVICE void name(D *s, i32 i, RolledRows<T, C, U> p, I off,            \
                         bool pred) {                                          \
    fusec_detail::copyRolled<bytes>(s + i, p, off, pred);                      \
  }
FUSEC_DETAIL_CP_ROLLED(cp_async4, 4)
FUSEC_DETAIL_CP_ROLLED(cp_async8, 8)
FUSEC_DETAIL_CP_ROLLED(cp_async16, 16)
#undef FUSEC_DETAIL_CP_ROLLED
#endif
