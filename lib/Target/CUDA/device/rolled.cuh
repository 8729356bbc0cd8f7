//===- rolled.cuh - rows that start anywhere in a vector --------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Behind prelude_cuda.cuh. A kernel that gives every column of a row the same
// meaning (lib/Driver/RolledRows.h) may take the columns in any order. Compiled
// with FUSEC_ROLLED, the columns C of a row, it takes them as they lie in
// memory: with a buffer that starts `first` elements before a whole vector, what
// the text calls column c is column (c + first) mod C. Vectors of the text are
// then vectors of memory but for the last of each row, which has the row's last
// elements and its first ones.
//
//   FUSEC_ROWS(T) p     a parameter: rows of elements of T, const or not; `T *`
//                       without FUSEC_ROLLED
//   FUSEC_ROLLED_UNIT   a power of two that divides C, a vector of the narrowest
//                       rows or more: all of a launch start equally far before
//                       a multiple of so many elements. Offsets of vectors are
//                       multiples of their sizes.
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
  return (i32)((0 - (u32)((u64)rows.start / sizeof(T))) & (U - 1));
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

/// Whether most warps have the end of a row among their E elements a lane: then
/// every lane makes two accesses, which are under way together and are one but
/// there; a branch would wait for the first.
template <i32 E, i32 C>
constexpr bool kEndsOften = C <= 512 * E;

/// Whether hardly any warp has: then one test decides about all else.
template <i32 E, i32 C>
constexpr bool kEndsRarely = C > 65536 * E;

/// E elements to words, of the one or two vectors of memory that hold them.
template <i32 E, bool ReadOnly, class T, i32 C, i32 U, class I>
FUSEC_DEVICE void loadRolled(u32 *w, RolledRows<T, C, U> rows, I off) {
  constexpr i32 bytes = E * (i32)sizeof(T);
  const i32 first = firstOf(rows), past = pastEnd<E>(rows, off);
  const i32 split = (E - first % E) * (i32)sizeof(T);
  const bool isAround = E < U && past >= E;
  const bool isSplit = E > 1 && past > 0 && !isAround;
  const T *at = rows.start + first + off;
  if constexpr (E > 1 && kEndsRarely<E, C>) {
    if (past <= 0)
      return loadWords<bytes, ReadOnly>(at, w);
  }
  if (isAround)
    at -= C;
  loadWords<bytes, ReadOnly>(at, w);
  if constexpr (E > 1 && kEndsOften<E, C>) {
    u32 start[4] = {};
    loadWords<bytes, ReadOnly>(isSplit ? at - C : at, start);
    replaceBehind(w, start, split);
  } else if (isSplit) {
    u32 start[4] = {};
    loadWords<bytes, ReadOnly>(at - C, start);
    replaceBehind(w, start, split);
  }
}
/// The inverse, which writes no other byte.
template <i32 E, class T, i32 C, i32 U, class I>
FUSEC_DEVICE void storeRolled(RolledRows<T, C, U> rows, I off, const T *src) {
  const i32 first = firstOf(rows), past = pastEnd<E>(rows, off);
  T *at = rows.start + first + off;
  u32 w[4] = {};
  FUSEC_UNROLL
  for (i32 k = 0; k < E; ++k)
    packElement<T>(w, k, src[k]);
  if (past <= 0 || (E < U && past >= E)) {
    storeWords<E * (i32)sizeof(T)>(past > 0 ? at - C : at, w);
  } else if constexpr (E * sizeof(T) == 16) {
    const u32 split = (E - past) * (i32)sizeof(T);
    storeBefore((u8 *)at, w, split);
    storeBehind((u8 *)(at - C), w, split);
  } else {
    FUSEC_UNROLL
    for (i32 k = 0; k < E; ++k)
      at[k < E - past ? k : k - C] = src[k];
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
  if (r % V != 0 || !mask)
    return;
  FUSEC_UNROLL
  for (i32 c = 0; c < V; c += E)
    fusec_detail::storeRolled<E>(p, off + c, src + r + c);
}
template <i32 V, class T, i32 N, i32 C, i32 U, class I>
FUSEC_DEVICE void st(RolledRows<T, C, U> p, I off, const T (&src)[N], i32 r) {
  stm<V>(p, off, src, r, true);
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
