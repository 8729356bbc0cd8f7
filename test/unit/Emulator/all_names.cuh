// Uses every name of the prelude once, so that both preludes must have it with
// the same meaning of its arguments. Compiled, not run.
FUSEC_DEVICE f32 useShared(FUSEC_SHARED_PTR(f32) s) {
  return lds(shared_at(s, 4), 0);
}

template <class T>
FUSEC_DEVICE void useElement(const T *in, T *out, i32 i, i64 j) {
  FUSEC_SHARED(T, s, 64);
  T a[16];
  FUSEC_UNROLL
  for (i32 r = 0; r < 16; ++r) {
    ld<4>(a, r, in, i);
    ld<16>(a, r, out, j);
    ldm<2>(a, r, in, j, i < 3, from_bits<T>(0));
    ldm<1>(a, r, out, i, i < 3, a[0]);
    st<8>(out, i, a, r);
    stm<2>(out, j, a, r, i < 3);
    st_if<2>(out, j, a, r, i < 3);
    prefetch_l2<32>(out, j);
    lds<4>(a, r, s, i);
    sts<8>(s, i, a, r);
  }
  T b = ld1(in, i);
  b = ld1(out, j);
  b = ldm1(in, i, i < 2, b);
  b = ldm1(out, j, i < 2, b);
  sts(s, i, b);
  b = lds(s, i);
  b = shfl_xor(b, 1);
  b = shfl_idx(b, 0);
  b = shfl_down(b, 2);
  b = shfl_up(b, 2);
  st1(out, i, b);
  stm1(out, j, from_bits<T>(to_bits(b)), i < 7);
}

template <class T>
FUSEC_DEVICE void useFloat(const T *in, T *out, i32 i) {
  useElement<T>(in, out, i, i);
  f32 x = to_f32(ld1(in, i));
  f64 y = to_f64(ld1(in, i));
  st1(out, i, from_f32<T>(x));
  st1(out, i + 1, from_f32_sat<T>(x));
  st1(out, i + 1, from_f32<T>(rounded<T>(x)));
  st1(out, i + 2, from_f64<T>(y));
}

template <class T>
FUSEC_DEVICE void useInteger(const T *in, T *out, i32 i) {
  useElement<T>(in, out, i, i);
  T x = ld1(in, i), y = ld1(in, i + 1);
  x = i_add(x, y);
  x = i_sub(x, y);
  x = i_mul(x, y);
  x = i_div(x, y);
  x = i_rem(x, y);
  x = i_shl(x, y);
  x = i_shr(x, y);
  x = i_ushr(x, y);
  x = i_min(i_max(i_abs(i_neg(x)), y), y);
  x = i_add(x, cvt_sat<T>(to_f32(x)));
  x = i_add(x, cvt_sat<T>(to_f64(x)));
  if constexpr (sizeof(T) == 1)
    x = i_add(x, rint_sat<T>(to_f32(x)));
  if constexpr (sizeof(T) == 4)
    x = i_add(x, cvt_sat<T>(to_f32_odd(x)));
  st1(out, i, x);
}

template <class T>
FUSEC_DEVICE T useMath(T x, T y) {
  T r = m_exp(x) + m_exp2(x) + m_expm1(x) + m_log(x) + m_log2(x) + m_log1p(x);
  r += m_sqrt(x) + m_rsqrt(x) + m_sin(x) + m_cos(x) + m_tan(x) + m_asin(x);
  r += m_acos(x) + m_atan(x) + m_atan2(x, y) + m_sinh(x) + m_cosh(x);
  r += m_tanh(x) + m_asinh(x) + m_acosh(x) + m_atanh(x) + m_erf(x);
  r += m_pow(x, y) + m_fmod(x, y) + m_cbrt(x) + m_floor(x) + m_ceil(x);
  r += m_trunc(x) + m_rint(x) + m_abs(x) + m_copysign(x, y) + m_fma(x, y, r);
  r += m_max(x, y) + m_min(x, y);
  return m_isnan(r) ? x : r;
}

/// What is approximated where `default` allows it.
FUSEC_DEVICE f32 useNear(f32 x, f32 y) {
  f32 r = m_exp_near(x) + m_exp_part(x) + m_exp2_near(x) + m_sqrt_near(x) +
          m_erfc_near(x) + m_one_plus_erf(x, x);
  r += (f32)m_plain_bits(x);
  r += to_f32(m_max(from_f32<bf16>(x), from_f32<bf16>(y)));
  r += to_f32(m_max(from_f32<f16>(x), from_f32<f16>(y)));
  r += m_div_near(x, y) + m_div_by_sum(x, y) + m_div_bounded(x, y);
  r += m_div_bounded_near(x, y);
  f32 p, q;
  rounded_bf16_pair(p, q, x, y);
  f8e4m3 e, f;
  from_f32_sat_pair(e, f, x, y);
  i8 i, j;
  rint_sat_pair(i, j, x, y);
  r += p + q + to_f32(e) + to_f32(f) + (f32)i + (f32)j;
  return r + m_erfc(x);
}

FUSEC_KERNEL(k_numbers, 64)
(const f64 *i0, f64 *o0, const f32 *i1, f32 *o1, const f16 *i2, f16 *o2,
 const bf16 *i3, bf16 *o3, const f8e4m3 *i4, f8e4m3 *o4, const f8e5m2 *i5,
 f8e5m2 *o5, const i64 *i6, i64 *o6, const i32 *i7, i32 *o7, const i16 *i8_,
 i16 *o8, const i8 *i9, i8 *o9, const u64 *i10, u64 *o10, const u32 *i11,
 u32 *o11, const u16 *i12, u16 *o12, const u8 *i13, u8 *o13, const bool *i14,
 bool *o14) {
  i32 i = tid() + nthreads() * (cta_x() + cta_y() * ncta_x() + cta_z()) +
          ncta_y() + ncta_z() + lane() + warp();
  useFloat<f64>(i0, o0, i);
  useFloat<f32>(i1, o1, i);
  useFloat<f16>(i2, o2, i);
  useFloat<bf16>(i3, o3, i);
  useFloat<f8e4m3>(i4, o4, i);
  useFloat<f8e5m2>(i5, o5, i);
  useInteger<i64>(i6, o6, i);
  useInteger<i32>(i7, o7, i);
  useInteger<i16>(i8_, o8, i);
  useInteger<i8>(i9, o9, i);
  useInteger<u64>(i10, o10, i);
  useInteger<u32>(i11, o11, i);
  useInteger<u16>(i12, o12, i);
  useInteger<u8>(i13, o13, i);
  useElement<bool>(i14, o14, i, i);
  st1(o14, i, from_f32<f32>(to_f32(ld1(i14, i))) != 0.0f);
  st1(o0, i, useMath(ld1(i0, i), ld1(i0, i + 1)));
  st1(o1, i, useMath(ld1(i1, i), ld1(i1, i + 1)));
  st1(o1, i, useNear(ld1(i1, i), ld1(i1, i + 1)));
  st1(o0, i, m_erfc(ld1(i0, i)) + m_div_bounded(ld1(i0, i), ld1(i0, i + 1)));
  st1(o11, i, i_mulhi(ld1(i11, i), 3u) + as_u32(as_f32(ld1(i11, i))));
  st1(o10, i, i_mulhi(ld1(i10, i), 3ull) + as_u64(as_f64(ld1(i10, i))));
}
FUSEC_EXPORT(k_numbers)

FUSEC_KERNEL(k_machine, 128)
(const bf16 *in, f32 *out, i32 *pi, u32 *pu, i64 *pl, u64 *pv, f64 *pd) {
  FUSEC_SHARED(f16, s0, 1024);
  FUSEC_SHARED(f32, s1, 8);
  FUSEC_SHARED_DYN(bf16, s2);
  FUSEC_SHARED_DYN_AT(f32, s3, 2048);
  u32 a[4], b[2] = {0u, 0u};
  f32 d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  cp_async16(s2, 8 * tid(), in, 8 * tid(), tid() < 3);
  cp_async8(s2, 8 * tid(), in, (i64)(8 * tid()), true);
  cp_async4(s2, 8 * tid(), in, 8 * tid(), true);
  cp_async_commit();
  cp_async_wait<1>();
  cp_async_wait<0>();
  bar();
  bar_named(1, 64);
  bar_warp();
  ldmatrix_x4(a, s2, 8 * lane());
  ldmatrix_x4_trans(a, s0, 8 * lane());
  b[0] = to_tf32(lds(s3, lane()));
  mma_f16(d, a, b);
  mma_bf16(d, a, b);
  mma_tf32(d, a, b);
  i32 sums[4] = {};
  mma_i8(sums, a, b);
  mma_i8u8(sums, a, b);
  mma_u8i8(sums, a, b);
  mma_u8(sums, a, b);
  f16 h0, h1;
  bf16 g0, g1;
  unpack2(a[0], h0, h1);
  unpack2(a[1], g0, g1);
  st1(pu, 0, pack2(h0, h1) + pack2(g0, g1) + ballot(tid() < 3));
  st1(out, 0,
      d[0] + useShared(s1) + (any(d[0] > 0) || all(d[1] > 0) ? 1 : 0) +
          warp_max(tid()));
  atom_add(pi, 0, 1);
  atom_add(pu, 0, 1u);
  atom_add(pl, 0, 1);
  atom_add(out, 0, 1.0f);
  atom_add(pd, 0, 1.0);
  atom_max(pi, 0, 1);
  atom_max(pu, 0, 1u);
  atom_max(pl, 0, 1);
  atom_min(pi, 0, 1);
  atom_min(pu, 0, 1u);
  atom_min(pl, 0, 1);
  atom_cas(pu, 0, 0u, 1u);
  atom_cas(pv, 0, 0u, 1u);
  fence_gpu();
  grid_wait();
  st1(pu, 1, ticket(pu, 2, (u32)ncta_x()));
}
FUSEC_EXPORT(k_machine)

struct UsedEntry {
  const f32 *in;
  f32 *out;
  i64 n;
};
struct UsedTable {
  i32 first[3];
  UsedEntry entries[3];
};
FUSEC_DEVICE void useArena(FUSEC_SHARED_PTR(u64) arena, i32 i) {
  FUSEC_SHARED_PTR(i16) s = shared_as<i16, 128, 8>(arena);
  sts(s, i, (i16)i);
}
FUSEC_KERNEL(k_table, 32)(FUSEC_TABLE(UsedTable, table)) {
  FUSEC_SHARED(u64, arena, 64);
  const i32 part = part_of(table.first, cta_x());
  useArena(arena, part);
  st1(table.entries[part].out, (i32)table.entries[part].n,
      ld1(table.entries[part].in, 0));
}
FUSEC_EXPORT(k_table)
