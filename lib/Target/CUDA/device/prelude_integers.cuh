//===- prelude_integers.cuh - integer arithmetic ---------------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without undefined cases (see the conventions in prelude_language.cuh). The
// emulator runs this file, too.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PRELUDE_INTEGERS_CUH
#define FUSEC_PRELUDE_INTEGERS_CUH

template <class T>
FUSEC_DEVICE T i_add(T x, fusec_detail::Same<T> y) {
  return (T)((u64)x + (u64)y);
}
template <class T>
FUSEC_DEVICE T i_sub(T x, fusec_detail::Same<T> y) {
  return (T)((u64)x - (u64)y);
}
template <class T>
FUSEC_DEVICE T i_mul(T x, fusec_detail::Same<T> y) {
  return (T)((u64)x * (u64)y);
}
template <class T>
FUSEC_DEVICE T i_neg(T x) {
  return (T)(0 - (u64)x);
}
template <class T>
FUSEC_DEVICE T i_abs(T x) {
  return x < 0 ? i_neg(x) : x;
}
template <class T>
FUSEC_DEVICE T i_min(T x, fusec_detail::Same<T> y) {
  return x < y ? x : y;
}
template <class T>
FUSEC_DEVICE T i_max(T x, fusec_detail::Same<T> y) {
  return x > y ? x : y;
}
template <class T>
FUSEC_DEVICE T i_div(T x, fusec_detail::Same<T> y) {
  if (y == 0)
    return 0;
  if (fusec_detail::Limits<T>::isSigned && y == (T)-1)
    return i_neg(x);
  return (T)(x / y);
}
template <class T>
FUSEC_DEVICE T i_rem(T x, fusec_detail::Same<T> y) {
  if (y == 0)
    return x;
  if (fusec_detail::Limits<T>::isSigned && y == (T)-1)
    return 0;
  return (T)(x % y);
}
/// Shifts; `i_shr` keeps the sign of signed types, `i_ushr` never does.
template <class T>
FUSEC_DEVICE T i_shl(T x, fusec_detail::Same<T> n) {
  constexpr u64 width = 8 * sizeof(T);
  return (u64)n >= width ? (T)0 : (T)((u64)x << (u32)n);
}
template <class T>
FUSEC_DEVICE T i_shr(T x, fusec_detail::Same<T> n) {
  constexpr u64 width = 8 * sizeof(T);
  return (u64)n >= width ? (T)(x < 0 ? -1 : 0) : (T)(x >> (u32)n);
}
template <class T>
FUSEC_DEVICE T i_ushr(T x, fusec_detail::Same<T> n) {
  constexpr u64 width = 8 * sizeof(T);
  using U = fusec_detail::UInt<sizeof(T)>;
  return (u64)n >= width ? (T)0 : (T)((U)x >> (u32)n);
}
FUSEC_DEVICE u32 i_mulhi(u32 x, u32 y) { return __umulhi(x, y); }
FUSEC_DEVICE u64 i_mulhi(u64 x, u64 y) { return __umul64hi(x, y); }

#endif // FUSEC_PRELUDE_INTEGERS_CUH
