//===- prelude_math.cuh - functions of floats ------------------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the C library, those with an error bound of their own, and
// maximum and minimum.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PRELUDE_MATH_CUH
#define FUSEC_PRELUDE_MATH_CUH

#define FUSEC_DETAIL_MATH1(name, fn)                                           \
  FUSEC_DEVICE f32 m_##name(f32 x) { return fn##f(x); }                        \
  FUSEC_DEVICE f64 m_##name(f64 x) { return fn(x); }
#define FUSEC_DETAIL_MATH2(name, fn)                                           \
  FUSEC_DEVICE f32 m_##name(f32 x, f32 y) { return fn##f(x, y); }              \
  FUSEC_DEVICE f64 m_##name(f64 x, f64 y) { return fn(x, y); }
FUSEC_DETAIL_MATH1(exp, exp)
FUSEC_DETAIL_MATH1(exp2, exp2)
FUSEC_DETAIL_MATH1(expm1, expm1)
FUSEC_DETAIL_MATH1(log, log)
FUSEC_DETAIL_MATH1(log2, log2)
FUSEC_DETAIL_MATH1(log1p, log1p)
FUSEC_DETAIL_MATH1(sqrt, sqrt)
FUSEC_DETAIL_MATH1(rsqrt, rsqrt)
FUSEC_DETAIL_MATH1(sin, sin)
FUSEC_DETAIL_MATH1(cos, cos)
FUSEC_DETAIL_MATH1(tan, tan)
FUSEC_DETAIL_MATH1(asin, asin)
FUSEC_DETAIL_MATH1(acos, acos)
FUSEC_DETAIL_MATH1(atan, atan)
FUSEC_DETAIL_MATH1(sinh, sinh)
FUSEC_DETAIL_MATH1(cosh, cosh)
FUSEC_DETAIL_MATH1(tanh, tanh)
FUSEC_DETAIL_MATH1(asinh, asinh)
FUSEC_DETAIL_MATH1(acosh, acosh)
FUSEC_DETAIL_MATH1(atanh, atanh)
FUSEC_DETAIL_MATH1(erf, erf)
FUSEC_DETAIL_MATH1(cbrt, cbrt)
FUSEC_DETAIL_MATH1(floor, floor)
FUSEC_DETAIL_MATH1(ceil, ceil)
FUSEC_DETAIL_MATH1(trunc, trunc)
FUSEC_DETAIL_MATH1(rint, rint)
FUSEC_DETAIL_MATH1(abs, fabs)
FUSEC_DETAIL_MATH2(atan2, atan2)
FUSEC_DETAIL_MATH2(pow, pow)
FUSEC_DETAIL_MATH2(fmod, fmod)
FUSEC_DETAIL_MATH2(copysign, copysign)
#undef FUSEC_DETAIL_MATH1
#undef FUSEC_DETAIL_MATH2

FUSEC_DEVICE f32 m_fma(f32 x, f32 y, f32 z) { return __fmaf_rn(x, y, z); }
FUSEC_DEVICE f64 m_fma(f64 x, f64 y, f64 z) { return __fma_rn(x, y, z); }
namespace fusec_detail {
FUSEC_DEVICE f32 reciprocal(f32 x) {
  f32 r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
FUSEC_DEVICE f32 power2(f32 x) {
  f32 r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
} // namespace fusec_detail

namespace fusec_detail {
/// What division by y needs that does not depend on what is divided, without
/// branches: done once where many are divided by the same. 1 / y is
/// scale * reciprocal, where `isRegular`; by zero and infinity what IEEE has.
struct Divisor {
  /// 2^-100, 1 or 2^100, with y's sign: a quotient of zero keeps its own. What
  /// y becomes by it.
  f32 scale, scaled;
  f32 reciprocal;
  bool isRegular;

  FUSEC_METHOD explicit Divisor(f32 y) {
    const u32 sign = as_u32(y) & 0x80000000u;
    const u32 a = as_u32(y) & 0x7fffffffu;
    isRegular = a - 1u < 0x7f7fffffu;
    const u32 zero = a == 0x7f800000u ? 0u : 0x7fffffffu;
    const f32 other = as_f32(sign | (a == 0u ? 0x7f800000u : zero));
    const u32 power = a >= 0x5d800000u  ? 0x0d800000u // 2^60, 2^-100
                      : a < 0x2b800000u ? 0x71800000u // 2^-40, 2^100
                                        : 0x3f800000u;
    const f32 s = as_f32(sign | power);
    scaled = y * s;
    scale = isRegular ? s : 1.0f;
    // No asm, which the compiler would repeat.
    f32 r = __fdividef(1.0f, scaled);
    r = __fmaf_rn(r, __fmaf_rn(-scaled, r, 1.0f), r);
    reciprocal = isRegular ? r : other;
  }
};
} // namespace fusec_detail

/// A quotient that is rounded to an integer or 8-bit float and saturated: x / y
/// rounded to nearest where 2^-40 <= |x / y| < 2^60; elsewhere something on the
/// same side of that range, with its sign, zero, infinity or NaN. What depends
/// on y alone is done once where many are divided by the same.
FUSEC_DEVICE f32 m_div_bounded(f32 x, f32 y) {
  const fusec_detail::Divisor d(y);
  const f32 r = d.reciprocal;
  x *= d.scale;
  const f32 q = x * r;
  // Residuals are exact in this range.
  f32 p = __fmaf_rn(-r, __fmaf_rn(d.scaled, q, -x), q);
  p = __fmaf_rn(-r, __fmaf_rn(d.scaled, p, -x), p);
  return fabsf(q) < (d.isRegular ? 0x1p60f : -1.0f) ? p : q;
}
/// The same within two units.
FUSEC_DEVICE f32 m_div_bounded_near(f32 x, f32 y) {
  const fusec_detail::Divisor d(y);
  return x * d.scale * d.reciprocal;
}
FUSEC_DEVICE f64 m_div_bounded(f64 x, f64 y) { return x / y; }

// Functions of values that are rounded to 16 bits or fewer afterwards: within
// 2^-17 of the result unless said, results below 2^-126 may become 0.
FUSEC_DEVICE f32 m_exp_near(f32 x) {
  return fusec_detail::power2(x * 0x1.715476p+0f);
}
FUSEC_DEVICE f32 m_exp2_near(f32 x) { return fusec_detail::power2(x); }
FUSEC_DEVICE f32 m_sqrt_near(f32 x) {
  f32 r;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
FUSEC_DEVICE f32 m_div_near(f32 x, f32 y) {
  f32 r;
  asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}
/// exp of an x that is off by a rounding itself: within (|x| + 4) 2^-24 of the
/// result, 0 where that is below 2^-126. Small parts of a sum that is at least 1
/// are off by more of themselves and by less of the sum.
FUSEC_DEVICE f32 m_exp_part(f32 x) { return m_exp_near(x); }
/// x / y for 1 <= y < 2^126 (or NaN).
FUSEC_DEVICE f32 m_div_by_sum(f32 x, f32 y) {
  return x * fusec_detail::reciprocal(y);
}
/// 1 - erf(x): for x >= 0 two to the power of a polynomial, which is within
/// 2^-17 of the result up to 4.5 and within 2^-11 up to 5; from there on within
/// 2^-48, which the sum 1 + erf(x) that this stands for has not in f32. More
/// terms, or another polynomial for the tail, cost erf GELU 5 to 25 %.
FUSEC_DEVICE f32 m_erfc_near(f32 x) {
  const f32 a = fabsf(x);
  f32 p = -0x1.54e18ap-16f;
  p = __fmaf_rn(p, a, 0x1.fdb5b6p-12f);
  p = __fmaf_rn(p, a, -0x1.565688p-8f);
  p = __fmaf_rn(p, a, 0x1.15cb36p-5f);
  p = __fmaf_rn(p, a, -0x1.382d26p-3f);
  p = __fmaf_rn(p, a, -0x1.d58bb8p-1f);
  p = __fmaf_rn(p, a, -0x1.a0c8c0p+0f);
  const f32 e = fusec_detail::power2(p * a);
  return x < 0.0f ? 2.0f - e : e;
}
/// 1 + erf(x) within 2^-21, given exp(-x^2). With z = |x| and k = 1 / (z + c),
/// exp(z^2) erfc(z) is near 1 - z k Q(k): c and the polynomial Q of degree 4
/// make the largest error of erfc least (2^-25.4). Roundings make it 4.9 2^-24.
FUSEC_DEVICE f32 m_one_plus_erf(f32 x, f32 power) {
  const f32 z = fabsf(x);
  const f32 k = fusec_detail::reciprocal(z + 0x1.20f066p+1f);
  f32 q = -0x1.c95bfcp+2f;
  q = __fmaf_rn(q, k, 0x1.37b0a4p+3f);
  q = __fmaf_rn(q, k, 0x1.31d0e0p-1f);
  q = __fmaf_rn(q, k, 0x1.f943aap+0f);
  q = __fmaf_rn(q, k, 0x1.f7cd2cp-1f);
  // Below 1, but NaN for infinity, which saturation makes 0.
  const f32 share = __saturatef(z * k);
  const f32 rest = __fmaf_rn(-share, q, 1.0f) * power;
  return x < 0.0f ? rest : 2.0f - rest;
}
FUSEC_DEVICE f64 m_erfc(f64 x) { return erfc(x); }
FUSEC_DEVICE f32 m_erfc(f32 x) { return erfcf(x); }

/// The bits of x: 0 for -0 and 2^31 - 1 for NaN, as a sum with +0 gives them.
FUSEC_DEVICE i32 m_plain_bits(f32 x) {
  f32 r;
  asm("add.f32 %0, %1, 0f00000000;" : "=f"(r) : "f"(x));
  return (i32)as_u32(r);
}

FUSEC_DEVICE bool m_isnan(f32 x) { return x != x; }
FUSEC_DEVICE bool m_isnan(f64 x) { return x != x; }
/// NaN if either is NaN; -0 < +0.
FUSEC_DEVICE f32 m_max(f32 x, f32 y) {
  f32 r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}
FUSEC_DEVICE f32 m_min(f32 x, f32 y) {
  f32 r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}
FUSEC_DEVICE bf16 m_max(bf16 x, bf16 y) {
  u16 r;
  asm("max.NaN.bf16 %0, %1, %2;" : "=h"(r) : "h"(x.bits), "h"(y.bits));
  return {r};
}
FUSEC_DEVICE f16 m_max(f16 x, f16 y) {
  u16 r;
  asm("max.NaN.f16 %0, %1, %2;" : "=h"(r) : "h"(x.bits), "h"(y.bits));
  return {r};
}
FUSEC_DEVICE f64 m_max(f64 x, f64 y) {
  return x != x || y != y ? as_f64(0x7ff8000000000000ull)
         : x == y         ? as_f64(as_u64(x) & as_u64(y))
         : x > y          ? x
                          : y;
}
FUSEC_DEVICE f64 m_min(f64 x, f64 y) {
  return x != x || y != y ? as_f64(0x7ff8000000000000ull)
         : x == y         ? as_f64(as_u64(x) | as_u64(y))
         : x < y          ? x
                          : y;
}

#endif // FUSEC_PRELUDE_MATH_CUH
