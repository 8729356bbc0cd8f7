//===- rolled_emulator.h - rows that start anywhere in a vector -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of rolled.cuh (see there) behind prelude_emulator.h, element by
// element.
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
/// Of element `off` of the text.
template <class T, i32 C, i32 U, class I>
static Address rolledAddress(RolledRows<T, C, U> rows, I off) {
  static_assert(C % U == 0 && (U & (U - 1)) == 0, "whole vectors in a row");
#ifdef FUSEC_ROLLED_FIRST
  const i64 first = FUSEC_ROLLED_FIRST;
#else
  const i64 first = (0 - (u64)rows.start / sizeof(T)) % U;
#endif
  const i64 column = off % C;
  return address(rows.start, off - column + (column + first) % C);
}
} // namespace fusec_detail

template <i32 V, class D, i32 N, class T, i32 C, i32 U, class I>
FUSEC_DEVICE void ldm(D (&dst)[N], i32 r, RolledRows<T, C, U> p, I off,
                      bool mask, fusec_detail::Same<D> other,
                      FUSEC_DETAIL_LINE) {
  for (i32 k = 0; r % V == 0 && k < V; ++k)
    if (mask)
      fusec_detail::load<1>(dst + r + k,
                            fusec_detail::rolledAddress(p, off + k), line);
    else
      dst[r + k] = other;
}
template <i32 V, class D, i32 N, class T, i32 C, i32 U, class I>
FUSEC_DEVICE void ld(D (&dst)[N], i32 r, RolledRows<T, C, U> p, I off,
                     FUSEC_DETAIL_LINE) {
  ldm<V>(dst, r, p, off, true, D{}, line);
}
template <i32 V, class T, i32 N, i32 C, i32 U, class I>
FUSEC_DEVICE void stm(RolledRows<T, C, U> p, I off, const T (&src)[N], i32 r,
                      bool mask, FUSEC_DETAIL_LINE) {
  for (i32 k = 0; r % V == 0 && mask && k < V; ++k)
    fusec_detail::store<1>(fusec_detail::rolledAddress(p, off + k), src + r + k,
                           line);
}
template <i32 V, class T, i32 N, i32 C, i32 U, class I>
FUSEC_DEVICE void st(RolledRows<T, C, U> p, I off, const T (&src)[N], i32 r,
                     FUSEC_DETAIL_LINE) {
  stm<V>(p, off, src, r, true, line);
}

#define FUSEC_DETAIL_CP_ROLLED(name, bytes)                                    \
  template <class D, class T, i32 C, i32 U, class I>                           \
  FUSEC_DEVICE void name(FusecShared<D> s, i32 i, RolledRows<T, C, U> p,       \
                         I off, bool pred, FUSEC_DETAIL_LINE) {                \
    constexpr i32 count = bytes / (i32)sizeof(D);                              \
    D elements[count] = {};                                                    \
    for (i32 k = 0; k < count; ++k)                                            \
      ldm<1>(elements, k, p, off + k, pred, D{}, line);                        \
    fusec_detail::sharedStore<count>(s, i, elements, line);                    \
  }
FUSEC_DETAIL_CP_ROLLED(cp_async4, 4)
FUSEC_DETAIL_CP_ROLLED(cp_async8, 8)
FUSEC_DETAIL_CP_ROLLED(cp_async16, 16)
#undef FUSEC_DETAIL_CP_ROLLED
#endif
