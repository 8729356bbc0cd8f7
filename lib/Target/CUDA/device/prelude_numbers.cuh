//===- prelude_numbers.cuh - conversions and packed elements ---*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between element types and f32, f64, tf32 and integers (see the conventions
// in prelude_language.cuh), and pairs of short elements in a word.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PRELUDE_NUMBERS_CUH
#define FUSEC_PRELUDE_NUMBERS_CUH

FUSEC_DEVICE f32 to_f32(f32 x) { return x; }
FUSEC_DEVICE f32 to_f32(f16 x) {
  f32 r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
  return r;
}
FUSEC_DEVICE f32 to_f32(bf16 x) { return as_f32((u32)x.bits << 16); }
FUSEC_DEVICE f32 to_f32(f8e5m2 x) { return to_f32(f16{(u16)(x.bits << 8)}); }
FUSEC_DEVICE f32 to_f32(f8e4m3 x) {
#if __CUDA_ARCH__ >= 890
  u32 pair;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((u16)x.bits));
  return to_f32(f16{(u16)pair});
#endif
  // As f16 the exponent bias is 15 instead of 7: scale by 2^8, exact also for
  // denormals.
  f32 r = to_f32(f16{(u16)((x.bits & 0x7f) << 7)}) * 256.0f;
  u32 sign = (u32)(x.bits & 0x80) << 24;
  return (x.bits & 0x7f) == 0x7f ? as_f32(0x7fffffffu)
                                 : as_f32(as_u32(r) | sign);
}
FUSEC_DEVICE f32 to_f32(f64 x) { return (f32)x; }
FUSEC_DEVICE f32 to_f32(i64 x) { return (f32)x; }
FUSEC_DEVICE f32 to_f32(i32 x) { return (f32)x; }
FUSEC_DEVICE f32 to_f32(i16 x) { return (f32)x; }
FUSEC_DEVICE f32 to_f32(i8 x) { return (f32)x; }
FUSEC_DEVICE f32 to_f32(u64 x) { return (f32)x; }
FUSEC_DEVICE f32 to_f32(u32 x) { return (f32)x; }
FUSEC_DEVICE f32 to_f32(u16 x) { return (f32)x; }
FUSEC_DEVICE f32 to_f32(u8 x) { return (f32)x; }
FUSEC_DEVICE f32 to_f32(bool x) { return x ? 1.0f : 0.0f; }

FUSEC_DEVICE f64 to_f64(f64 x) { return x; }
FUSEC_DEVICE f64 to_f64(i64 x) { return (f64)x; }
FUSEC_DEVICE f64 to_f64(u64 x) { return (f64)x; }
FUSEC_DEVICE f64 to_f64(i32 x) { return (f64)x; }
FUSEC_DEVICE f64 to_f64(u32 x) { return (f64)x; }
/// Every other element type is exact in f32.
template <class T>
FUSEC_DEVICE f64 to_f64(T x) {
  return (f64)to_f32(x);
}

namespace fusec_detail {
/// |x| -> the code of an 8-bit float with M fraction bits; `MaxCode` is the
/// largest finite code and `Overflow` what lies past it.
template <i32 M, i32 Bias, u32 MaxCode, u32 Overflow>
FUSEC_DEVICE u8 encode8(f32 x, bool sat) {
  u32 sign = (as_u32(x) >> 24) & 0x80u;
  u32 u = as_u32(x) & 0x7fffffffu;
  u32 code;
  if (u > 0x7f800000u)
    return (u8)(sign | 0x7fu);
  if (u < (u32)(128 - Bias) << 23) {
    // Denormal: adding 2^23 quanta makes the f32 adder round to the quantum.
    const u32 magic = (u32)(127 + 24 - Bias - M) << 23;
    code = as_u32(as_f32(u) + as_f32(magic)) - magic;
  } else {
    u += ((u >> (23 - M)) & 1u) + (1u << (22 - M)) - 1u;
    code = (u >> (23 - M)) - ((u32)(127 - Bias) << M);
  }
  if (code > MaxCode)
    code = sat ? MaxCode : Overflow;
  return (u8)(sign | code);
}

template <class T>
struct FromF32;
template <>
struct FromF32<f64> {
  FUSEC_DEVICE f64 get(f32 x, bool) { return (f64)x; }
};
template <>
struct FromF32<f32> {
  FUSEC_DEVICE f32 get(f32 x, bool) { return x; }
};
template <>
struct FromF32<f16> {
  FUSEC_DEVICE f16 get(f32 x, bool sat) {
    f16 r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
    if (sat && (r.bits & 0x7fff) == 0x7c00)
      r.bits -= 1;
    return r;
  }
};
template <>
struct FromF32<bf16> {
  FUSEC_DEVICE bf16 get(f32 x, bool sat) {
    bf16 r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
    if (sat && (r.bits & 0x7fff) == 0x7f80)
      r.bits -= 1;
    return r;
  }
};
#if __CUDA_ARCH__ >= 890
/// `x` saturated; the other half of the pair is zero.
#define FUSEC_DETAIL_PACK8(name, format)                                       \
  FUSEC_DEVICE u8 name(f32 x) {                                                \
    u16 r;                                                                     \
    asm("cvt.rn.satfinite." format ".f32 %0, %1, %2;"                          \
        : "=h"(r)                                                              \
        : "f"(0.0f), "f"(x));                                                  \
    return (u8)r;                                                              \
  }
FUSEC_DETAIL_PACK8(packE4m3, "e4m3x2")
FUSEC_DETAIL_PACK8(packE5m2, "e5m2x2")
#undef FUSEC_DETAIL_PACK8
#endif
template <>
struct FromF32<f8e4m3> {
  FUSEC_DEVICE f8e4m3 get(f32 x, bool sat) {
#if __CUDA_ARCH__ >= 890
    // 464 lies between the largest finite value and the next: a tie, to even.
    u8 r = packE4m3(x);
    return {sat || !(fabsf(x) > 464.0f) ? r : (u8)(r | 0x7f)};
#else
    return {encode8<3, 7, 0x7e, 0x7f>(x, sat)};
#endif
  }
};
template <>
struct FromF32<f8e5m2> {
  FUSEC_DEVICE f8e5m2 get(f32 x, bool sat) {
#if __CUDA_ARCH__ >= 890
    u8 r = packE5m2(x);
    return {sat || !(fabsf(x) >= 61440.0f) ? r : (u8)((r & 0x80) | 0x7c)};
#else
    return {encode8<2, 15, 0x7b, 0x7c>(x, sat)};
#endif
  }
};

template <class T>
struct FromF64 {
  /// Rounds to odd in f32 first: a second rounding to at most 22 bits is then
  /// as if done at once.
  FUSEC_DEVICE T get(f64 x) {
    f32 r = __double2float_rz(x);
    if ((f64)r != x)
      r = as_f32(as_u32(r) | 1u);
    return FromF32<T>::get(r, false);
  }
};
template <>
struct FromF64<f64> {
  FUSEC_DEVICE f64 get(f64 x) { return x; }
};
template <>
struct FromF64<f32> {
  FUSEC_DEVICE f32 get(f64 x) { return (f32)x; }
};
} // namespace fusec_detail

/// `x` as f64, rounded to odd: a further rounding to a narrower type gives what
/// one rounding of `x` would.
FUSEC_DEVICE f64 to_f64_odd(u64 x) {
  if (x >> 53)
    x = ((x >> 11) | (u64)((x & 2047) != 0)) << 11;
  return (f64)x;
}
FUSEC_DEVICE f64 to_f64_odd(i64 x) {
  return x < 0 ? -to_f64_odd(0 - (u64)x) : to_f64_odd((u64)x);
}
/// The same in f32, of which at least 17 digits are exact: enough for a further
/// rounding to at most 15, without f64, which would cost as much as four
/// functions.
FUSEC_DEVICE f32 to_f32_odd(u32 x) {
  return (f32)(x >> 24 ? (x | ((x & 255u) + 255u)) & ~255u : x);
}
FUSEC_DEVICE f32 to_f32_odd(i32 x) {
  // The odd one of two multiples of 128 beside it, of negative numbers too.
  const bool isLong = (u32)x + 0x1000000u > 0x2000000u;
  return (f32)(isLong ? (x | ((x & 127) + 127)) & ~127 : x);
}

template <class T>
FUSEC_DEVICE T from_f32(f32 x) {
  return fusec_detail::FromF32<T>::get(x, false);
}
namespace fusec_detail {
template <class T>
struct Rounded {
  FUSEC_DEVICE f32 get(f32 x) { return to_f32(from_f32<T>(x)); }
};
/// As the upper half of a pair it is in place, and pairs are converted four
/// times as fast as single numbers.
template <>
struct Rounded<bf16> {
  FUSEC_DEVICE f32 get(f32 x) {
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(x), "f"(0.0f));
    return as_f32(r);
  }
};
} // namespace fusec_detail
/// to_f32(from_f32<T>(x)).
template <class T>
FUSEC_DEVICE f32 rounded(f32 x) {
  return fusec_detail::Rounded<T>::get(x);
}
template <class T>
FUSEC_DEVICE T from_f32_sat(f32 x) {
  return fusec_detail::FromF32<T>::get(x, true);
}
/// rounded<bf16>(x) and (y) to a and b, of which there are instructions for
/// pairs alone, likewise from_f32_sat to 8-bit floats.
FUSEC_DEVICE void rounded_bf16_pair(f32 &a, f32 &b, f32 x, f32 y) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(y), "f"(x));
  a = as_f32(r << 16);
  b = as_f32(r & 0xffff0000u);
}
#if __CUDA_ARCH__ >= 890
#define FUSEC_DETAIL_PAIR8(T, format)                                          \
  FUSEC_DEVICE void from_f32_sat_pair(T &a, T &b, f32 x, f32 y) {              \
    u16 r;                                                                     \
    asm("cvt.rn.satfinite." format ".f32 %0, %1, %2;"                          \
        : "=h"(r)                                                              \
        : "f"(y), "f"(x));                                                     \
    a.bits = (u8)r;                                                            \
    b.bits = (u8)(r >> 8);                                                     \
  }
FUSEC_DETAIL_PAIR8(f8e4m3, "e4m3x2")
FUSEC_DETAIL_PAIR8(f8e5m2, "e5m2x2")
#undef FUSEC_DETAIL_PAIR8
#else
template <class T>
FUSEC_DEVICE void from_f32_sat_pair(T &a, T &b, f32 x, f32 y) {
  a = from_f32_sat<T>(x);
  b = from_f32_sat<T>(y);
}
#endif
template <class T>
FUSEC_DEVICE T from_f64(f64 x) {
  return fusec_detail::FromF64<T>::get(x);
}

namespace fusec_detail {
template <class T>
struct Limits {
  static constexpr bool isSigned = (T)-1 < (T)0;
  static constexpr i32 width = 8 * sizeof(T);
  static constexpr T min =
      isSigned ? (T)((UInt<sizeof(T)>)1 << (width - 1)) : (T)0;
  static constexpr T max = (T) ~(UInt<sizeof(T)>)min;
};
} // namespace fusec_detail

/// Float to i8 or u8: rounded to nearest even, clamped to the range of T, NaN
/// gives 0.
template <class T>
FUSEC_DEVICE T rint_sat(f32 x) {
  i32 r;
  if constexpr ((T)-1 < (T)0)
    asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(r) : "f"(x));
  else
    asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(r) : "f"(x));
  return (T)r;
}

/// rint_sat<i8>(x) and (y) to a and b.
FUSEC_DEVICE void rint_sat_pair(i8 &a, i8 &b, f32 x, f32 y) {
  i32 low, high;
  u32 r;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(low) : "f"(x));
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(high) : "f"(y));
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;"
      : "=r"(r)
      : "r"(high), "r"(low), "r"(0));
  a = (i8)r;
  b = (i8)(r >> 8);
}

/// Float to integer: truncates, clamps to the range of T, NaN gives 0.
template <class T, class F>
FUSEC_DEVICE T cvt_sat(F x) {
  using L = fusec_detail::Limits<T>;
  // The bounds are powers of two (or 0), so they are exact in F.
  const F high = (F)2 * (F)((u64)1 << (L::width - 1 - L::isSigned));
  const F low = L::isSigned ? -high : (F)0;
  if (!(x == x))
    return 0;
  if (x >= high)
    return L::max;
  if (x <= low)
    return L::min;
  return (T)x;
}

/// The hardware's conversion clamps and gives 0 for NaN.
template <>
__device__ __forceinline__ i32 cvt_sat<i32, f32>(f32 x) {
  return __float2int_rz(x);
}
template <>
__device__ __forceinline__ u32 cvt_sat<u32, f32>(f32 x) {
  return __float2uint_rz(x);
}

/// tf32 bits of x, rounded to nearest, ties away from zero. Tensor cores ignore
/// the low 13 bits: a finite number that would round to infinity is left to
/// them, and a NaN that the conversion would cut to infinity becomes another.
FUSEC_DEVICE u32 to_tf32(f32 x) {
  u32 r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return fabsf(__uint_as_float(r)) == __uint_as_float(0x7f800000u)
             ? __float_as_uint(__fadd_rn(x, 0.0f))
             : r;
}

/// Two 16-bit elements in a word, the first one low.
FUSEC_DEVICE u32 pack2(f16 lo, f16 hi) { return lo.bits | (u32)hi.bits << 16; }
FUSEC_DEVICE u32 pack2(bf16 lo, bf16 hi) {
  return lo.bits | (u32)hi.bits << 16;
}
/// The same of two numbers, rounded: f16 or bf16.
template <class T>
FUSEC_DEVICE u32 pack2_rn(f32 lo, f32 hi);
template <>
__device__ __forceinline__ u32 pack2_rn<f16>(f32 lo, f32 hi) {
  u32 r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
template <>
__device__ __forceinline__ u32 pack2_rn<bf16>(f32 lo, f32 hi) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
  return r;
}
FUSEC_DEVICE void unpack2(u32 x, f16 &lo, f16 &hi) {
  lo.bits = (u16)x;
  hi.bits = (u16)(x >> 16);
}
FUSEC_DEVICE void unpack2(u32 x, bf16 &lo, bf16 &hi) {
  lo.bits = (u16)x;
  hi.bits = (u16)(x >> 16);
}

/// Two 8-bit floats, the first one low, as two of f16; exact.
template <class T>
FUSEC_DEVICE u32 halves_of(u16 pair) {
  return pack2(from_f32<f16>(to_f32(T{(u8)pair})),
               from_f32<f16>(to_f32(T{(u8)(pair >> 8)})));
}
#if __CUDA_ARCH__ >= 890
template <>
__device__ __forceinline__ u32 halves_of<f8e4m3>(u16 pair) {
  u32 r;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(r) : "h"(pair));
  return r;
}
#endif

namespace fusec_detail {
template <class T>
struct PackedName;
template <>
struct PackedName<f16> {
  static constexpr char v[] = "f16x2";
};
template <>
struct PackedName<bf16> {
  static constexpr char v[] = "bf16x2";
};
} // namespace fusec_detail

/// x * y + z of pairs of f16 or bf16, each element rounded once.
template <class T>
FUSEC_DEVICE u32 fma2(u32 x, u32 y, u32 z) {
  u32 r;
  asm("fma.rn.%4 %0, %1, %2, %3;"
      : "=r"(r)
      : "r"(x), "r"(y), "r"(z), "C"(fusec_detail::PackedName<T>::v));
  return r;
}

/// (x & mask) ^ flip in one instruction; of constants the compiler makes two.
FUSEC_DEVICE u32 and_xor(u32 x, u32 mask, u32 flip) {
  u32 r;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;"
      : "=r"(r)
      : "r"(x), "r"(mask), "r"(flip));
  return r;
}

/// Four bytes out of those of x (0 to 3) and y (4 to 7), chosen by the low three
/// bits of each hexadecimal digit of `selector`.
FUSEC_DEVICE u32 byte_perm(u32 x, u32 y, u32 selector) {
  return __byte_perm(x, y, selector);
}

#endif // FUSEC_PRELUDE_NUMBERS_CUH
