//===- prelude_cuda.cuh - what generated kernels may call -----*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The private prelude for NVRTC and nvcc (C++17, sm_80 and later, no header,
// -fmad=false). Generated kernels and device headers call only these names, so
// that the emulator can run the same text with prelude_emulator.h, which has
// the same names with checks behind them.
//
// Conventions
//  * Blocks are one-dimensional. Ids and counts are i32, offsets i32 or i64.
//  * A vector access `ld<V>(dst, r, p, off)` acts only where r % V == 0 and
//    then moves elements p[off, off+V) to dst[r, r+V) in accesses of at most
//    16 bytes, each naturally aligned. V is a power of two.
//    FUSEC_ALIGNMENT, if defined, is what buffers are aligned to instead of 16
//    bytes: an access of 16 bytes is then made of the aligned ones that hold
//    its elements (see `loadAnywhere`), narrower ones are no wider than that.
//  * Memory behind a `const T *` is not written by anyone while the kernel
//    runs, from grid_wait() on if it waits (it is read with ld.global.nc),
//    unless FUSEC_IN_PLACE is defined.
//    What a kernel both reads and writes is passed as `T *`.
//  * f16, bf16, f8e4m3 and f8e5m2 are storage types; arithmetic is in f32.
//    Conversions round to nearest even. f8e4m3 is the finite (FN) type:
//    overflow gives NaN; f8e5m2 overflows to infinity; `from_f32_sat` clamps
//    both, infinities too, to the largest finite value. NaN stays NaN.
//  * Integers wrap. x / 0 = 0, x % 0 = x, MIN / -1 = MIN, MIN % -1 = 0. A
//    shift by the width or more (or a negative amount) gives 0, or the sign
//    for an arithmetic right shift.
//  * Warp functions are called by all lanes of a warp, barriers by all threads
//    of the block, or of the named group.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PRELUDE_CUDA_CUH
#define FUSEC_PRELUDE_CUDA_CUH

// A kernel uses a few of these functions and leaves the rest unused; integer
// templates compare unsigned values with zero.
#pragma nv_diag_suppress 177, 186

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};
struct f8e4m3 {
  u8 bits;
};
struct f8e5m2 {
  u8 bits;
};

#define FUSEC_DEVICE static __device__ __forceinline__
/// A non-static member function of a struct that lives in registers.
#define FUSEC_METHOD __device__ __forceinline__
#define FUSEC_UNROLL _Pragma("unroll")
#define FUSEC_NO_UNROLL _Pragma("unroll 1")
#define FUSEC_KERNEL(name, threads)                                            \
  extern "C" __global__ void __launch_bounds__(threads) name
/// As FUSEC_KERNEL, with registers for at least `blocks` blocks on an SM.
#define FUSEC_KERNEL_MIN(name, threads, blocks)                                \
  extern "C" __global__ void __launch_bounds__(threads, blocks) name
/// As FUSEC_KERNEL_MIN, for kernels whose blocks wait for each other
/// (Kernel::cooperative): all blocks of a launch run at the same time.
#define FUSEC_KERNEL_GRID(name, threads, blocks)                               \
  FUSEC_KERNEL_MIN(name, threads, blocks)
#define FUSEC_EXPORT(name)
#define FUSEC_SHARED(T, name, count) __shared__ __align__(128) T name[count]
/// Dynamic shared memory seen as `T`, from its start or from a byte offset
/// that is a multiple of 16.
#define FUSEC_SHARED_DYN(T, name) FUSEC_SHARED_DYN_AT(T, name, 0)
#define FUSEC_SHARED_DYN_AT(T, name, byteOffset)                               \
  extern __shared__ __align__(1024) u8 fusec_dynamic_shared[];                 \
  T *const name = reinterpret_cast<T *>(fusec_dynamic_shared + (byteOffset))
/// The type of a shared array as a parameter of a device function, and the
/// part of a shared array that starts at element i.
#define FUSEC_SHARED_PTR(T) T *
template <class T>
FUSEC_DEVICE T *shared_at(T *s, i32 i) {
  return s + i;
}
/// A shared array of words seen as T, as far as it goes.
template <class T>
FUSEC_DEVICE T *shared_cast(u64 *words) {
  return reinterpret_cast<T *>(words);
}
/// `Count` elements of T at byte `Offset` (a multiple of 128) of a shared array
/// of words that several pieces of code use, one of them a block.
template <class T, i32 Offset, i32 Count>
FUSEC_DEVICE T *shared_as(u64 *arena) {
  return reinterpret_cast<T *>(arena + Offset / 8);
}
/// A number or pointer that is read here and not where it is used first.
FUSEC_DEVICE i32 pinned(i32 x) {
  asm volatile("" : "+r"(x));
  return x;
}
FUSEC_DEVICE i64 pinned(i64 x) {
  asm volatile("" : "+l"(x));
  return x;
}
template <class T>
FUSEC_DEVICE T *pinned(T *p) {
  u64 at = __cvta_generic_to_global(p);
  asm volatile("" : "+l"(at));
  return (T *)__cvta_global_to_generic(at);
}
/// A struct of pointers and integers as a parameter: it stays where launch
/// parameters are, so that its arrays may be indexed by what a block finds out.
#define FUSEC_TABLE(T, name) const __grid_constant__ T name

//===-- Bits --------------------------------------------------------------===//

FUSEC_DEVICE f32 as_f32(u32 x) { return __uint_as_float(x); }
FUSEC_DEVICE u32 as_u32(f32 x) { return __float_as_uint(x); }
FUSEC_DEVICE f64 as_f64(u64 x) { return __longlong_as_double((i64)x); }
FUSEC_DEVICE u64 as_u64(f64 x) { return (u64)__double_as_longlong(x); }

namespace fusec_detail {
template <class T>
struct Id {
  using type = T;
};
/// A parameter type from which nothing is deduced.
template <class T>
using Same = typename Id<T>::type;
template <bool C, class A, class B>
struct Cond {
  using type = A;
};
template <class A, class B>
struct Cond<false, A, B> {
  using type = B;
};
template <i32 Bytes>
using UInt = typename Cond<
    Bytes == 1, u8,
    typename Cond<Bytes == 2, u16,
                  typename Cond<Bytes == 4, u32, u64>::type>::type>::type;

/// Raw<T>: an element as an unsigned integer of its size.
template <class T>
struct Raw {
  using U = UInt<sizeof(T)>;
  FUSEC_DEVICE U to(T x) { return (U)x; }
  FUSEC_DEVICE T from(U x) { return (T)x; }
};
template <class T, class Bits>
struct RawStruct {
  using U = Bits;
  FUSEC_DEVICE U to(T x) { return x.bits; }
  FUSEC_DEVICE T from(U x) { return T{x}; }
};
template <>
struct Raw<f16> : RawStruct<f16, u16> {};
template <>
struct Raw<bf16> : RawStruct<bf16, u16> {};
template <>
struct Raw<f8e4m3> : RawStruct<f8e4m3, u8> {};
template <>
struct Raw<f8e5m2> : RawStruct<f8e5m2, u8> {};
template <>
struct Raw<f32> {
  using U = u32;
  FUSEC_DEVICE U to(f32 x) { return as_u32(x); }
  FUSEC_DEVICE f32 from(U x) { return as_f32(x); }
};
template <>
struct Raw<f64> {
  using U = u64;
  FUSEC_DEVICE U to(f64 x) { return as_u64(x); }
  FUSEC_DEVICE f64 from(U x) { return as_f64(x); }
};
} // namespace fusec_detail

/// An element of type T from its bit pattern, and back.
template <class T>
FUSEC_DEVICE T from_bits(typename fusec_detail::Raw<T>::U x) {
  return fusec_detail::Raw<T>::from(x);
}
template <class T>
FUSEC_DEVICE auto to_bits(T x) {
  return fusec_detail::Raw<T>::to(x);
}

//===-- Conversions -------------------------------------------------------===//

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

//===-- Ids ---------------------------------------------------------------===//

FUSEC_DEVICE i32 tid() { return (i32)threadIdx.x; }
FUSEC_DEVICE i32 lane() { return (i32)(threadIdx.x & 31u); }
FUSEC_DEVICE i32 warp() { return (i32)(threadIdx.x >> 5); }
FUSEC_DEVICE i32 nthreads() { return (i32)blockDim.x; }
FUSEC_DEVICE i32 cta_x() { return (i32)blockIdx.x; }
FUSEC_DEVICE i32 cta_y() { return (i32)blockIdx.y; }
FUSEC_DEVICE i32 cta_z() { return (i32)blockIdx.z; }
FUSEC_DEVICE i32 ncta_x() { return (i32)gridDim.x; }
FUSEC_DEVICE i32 ncta_y() { return (i32)gridDim.y; }
FUSEC_DEVICE i32 ncta_z() { return (i32)gridDim.z; }

/// The last i with first[i] <= block, for N ascending numbers of which the
/// first is 0: the part of a launch that a block belongs to.
template <i32 N>
FUSEC_DEVICE i32 part_of(const i32 (&first)[N], i32 block) {
  i32 low = 0;
  FUSEC_UNROLL
  for (i32 step = 1 << 14; step > 0; step /= 2)
    if (step < N && low + step < N && first[low + step] <= block)
      low += step;
  return low;
}

//===-- Memory ------------------------------------------------------------===//

#ifndef FUSEC_ALIGNMENT
#define FUSEC_ALIGNMENT 16
#endif

namespace fusec_detail {
#ifdef FUSEC_IN_PLACE
constexpr bool kReadOnly = false;
#else
constexpr bool kReadOnly = true;
#endif

/// Moves B <= 16 bytes between memory and 32-bit words. `ReadOnly` loads go
/// through ld.global.nc, which the compiler may also merge and move.
template <i32 B, bool ReadOnly>
FUSEC_DEVICE void loadWords(const void *p, u32 *w) {
  if constexpr (B == 16) {
    uint4 v = ReadOnly ? __ldg((const uint4 *)p) : *(const uint4 *)p;
    w[0] = v.x, w[1] = v.y, w[2] = v.z, w[3] = v.w;
  } else if constexpr (B == 8) {
    uint2 v = ReadOnly ? __ldg((const uint2 *)p) : *(const uint2 *)p;
    w[0] = v.x, w[1] = v.y;
  } else {
    using U = UInt<B>;
    w[0] = ReadOnly ? __ldg((const U *)p) : *(const U *)p;
  }
}
template <i32 B>
FUSEC_DEVICE void storeWords(void *p, const u32 *w) {
  if constexpr (B == 16)
    *(uint4 *)p = make_uint4(w[0], w[1], w[2], w[3]);
  else if constexpr (B == 8)
    *(uint2 *)p = make_uint2(w[0], w[1]);
  else
    *(UInt<B> *)p = (UInt<B>)w[0];
}

/// As storeWords where `mask`, in one instruction: what the words follow from
/// is computed in any case, not moved behind a branch. No clobber of memory:
/// loads of later pieces go ahead of it, which is what it is for. Kernels load
/// what they store in place alone, each element in the thread that stores it,
/// and the words follow from that load.
template <i32 B>
FUSEC_DEVICE void storeWordsIf(void *p, const u32 *w, bool mask) {
  const auto at = __cvta_generic_to_global(p);
  if constexpr (B == 16)
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t"
                 "@p st.global.v4.b32 [%0], {%1,%2,%3,%4};\n\t}" ::"l"(at),
                 "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"((u32)mask));
  else if constexpr (B == 8)
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %3, 0;\n\t"
                 "@p st.global.v2.b32 [%0], {%1,%2};\n\t}" ::"l"(at),
                 "r"(w[0]), "r"(w[1]), "r"((u32)mask));
  else if constexpr (B == 4)
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t"
                 "@p st.global.b32 [%0], %1;\n\t}" ::"l"(at),
                 "r"(w[0]), "r"((u32)mask));
  else if constexpr (B == 2)
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t"
                 "@p st.global.b16 [%0], %1;\n\t}" ::"l"(at),
                 "h"((u16)w[0]), "r"((u32)mask));
  else
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t"
                 "@p st.global.u8 [%0], %1;\n\t}" ::"l"(at),
                 "r"(w[0]), "r"((u32)mask));
}

/// Element k of a run of words, and the inverse into zeroed words.
template <class T>
FUSEC_DEVICE T unpackElement(const u32 *w, i32 k) {
  using U = typename Raw<T>::U;
  if constexpr (sizeof(T) == 8)
    return Raw<T>::from((u64)w[2 * k] | (u64)w[2 * k + 1] << 32);
  else
    return Raw<T>::from(
        (U)(w[k * (i32)sizeof(T) / 4] >> (8 * ((k * (i32)sizeof(T)) & 3))));
}
template <class T>
FUSEC_DEVICE void packElement(u32 *w, i32 k, T x) {
  if constexpr (sizeof(T) == 8) {
    w[2 * k] = (u32)Raw<T>::to(x);
    w[2 * k + 1] = (u32)(Raw<T>::to(x) >> 32);
  } else {
    w[k * (i32)sizeof(T) / 4] |= (u32)Raw<T>::to(x)
                                 << (8 * ((k * (i32)sizeof(T)) & 3));
  }
}

/// An access of V elements to memory that is aligned to `Alignment` bytes, in
/// chunks of 16 bytes or as many as it is aligned to.
template <i32 V, class T, i32 Alignment>
struct Split {
  static_assert(V > 0 && (V & (V - 1)) == 0, "V is a power of two");
  static constexpr i32 bytes = V * (i32)sizeof(T);
  static constexpr i32 fitting =
      bytes >= 16 ? 16 : bytes < Alignment ? bytes : Alignment;
  static constexpr i32 chunk =
      fitting < (i32)sizeof(T) ? (i32)sizeof(T) : fitting;
  static constexpr i32 perChunk = chunk / (i32)sizeof(T);
  static constexpr bool isAnywhere = chunk > Alignment && chunk == 16;
};

/// Bytes [shift, shift + 16) of `from`, shift < 16.
FUSEC_DEVICE void shiftWords(const u32 (&from)[8], u32 shift, u32 *w) {
  u32 half[6], word[5];
  FUSEC_UNROLL
  for (i32 k = 0; k < 6; ++k)
    half[k] = shift & 8 ? from[k + 2] : from[k];
  FUSEC_UNROLL
  for (i32 k = 0; k < 5; ++k)
    word[k] = shift & 4 ? half[k + 1] : half[k];
  FUSEC_UNROLL
  for (i32 k = 0; k < 4; ++k)
    w[k] = __funnelshift_r(word[k], word[k + 1], 8 * (shift & 3));
}
/// How far `p` is behind 16 aligned bytes.
FUSEC_DEVICE u32 misalignment(const void *p) {
  return (u32)(u64)p & (16 - FUSEC_ALIGNMENT);
}

/// 16 bytes from any address: of the one or two aligned accesses that hold
/// them, so of memory around them that belongs to the same allocation, too. A
/// warp finds its second accesses in the first-level cache.
template <bool ReadOnly>
FUSEC_DEVICE void loadAnywhere(const void *p, u32 *w) {
  const u32 shift = misalignment(p);
  const u8 *at = (const u8 *)p - shift;
  u32 all[8] = {};
  loadWords<16, ReadOnly>(at, all);
  if (shift)
    loadWords<16, ReadOnly>(at + 16, all + 4);
  shiftWords(all, shift, w);
}

/// The ends of 16 bytes `w`: those from byte `from` on, or those before it, in
/// naturally aligned pieces.
FUSEC_DEVICE void storeBehind(u8 *at, const u32 *w, u32 from) {
  const u32 count = 16 - from;
  if (FUSEC_ALIGNMENT <= 1 && count & 1)
    at[from] = (u8)((from & 8 ? from & 4 ? w[3] : w[2]
                     : from & 4 ? w[1]
                                : w[0]) >>
                    8 * (from & 3));
  u32 next = from + (count & 1);
  if (FUSEC_ALIGNMENT <= 2 && count & 2)
    *(u16 *)(at + next) = (u16)((next & 8 ? next & 4 ? w[3] : w[2]
                                 : next & 4 ? w[1]
                                            : w[0]) >>
                                8 * (next & 2));
  next += count & 2;
  if (FUSEC_ALIGNMENT <= 4 && count & 4)
    *(u32 *)(at + next) = count & 8 ? w[1] : w[3];
  if (count & 8)
    *(uint2 *)(at + 8) = make_uint2(w[2], w[3]);
}
FUSEC_DEVICE void storeBefore(u8 *at, const u32 *w, u32 count) {
  if (count & 8)
    *(uint2 *)at = make_uint2(w[0], w[1]);
  if (FUSEC_ALIGNMENT <= 4 && count & 4)
    *(u32 *)(at + (count & 8)) = count & 8 ? w[2] : w[0];
  const u32 word = count & 8 ? count & 4 ? w[3] : w[2]
                   : count & 4 ? w[1]
                               : w[0];
  if (FUSEC_ALIGNMENT <= 2 && count & 2)
    *(u16 *)(at + (count & 12)) = (u16)word;
  if (FUSEC_ALIGNMENT <= 1 && count & 1)
    at[count - 1] = (u8)(word >> 8 * (count & 2));
}

/// 16 bytes to any address. Where the lane before continues into them, the
/// aligned bytes that both have parts of are one access, made here; ends that no
/// other lane continues are pieces.
FUSEC_DEVICE void storeAnywhere(void *p, const u32 *w) {
  const u32 shift = misalignment(p), lane = threadIdx.x & 31;
  const u32 together = __activemask();
  if (__all_sync(together, shift == 0))
    return storeWords<16>(p, w);
  const u64 before = __shfl_up_sync(together, (u64)p, 1);
  const bool continues =
      lane > 0 && together >> (lane - 1) & 1 && before + 16 == (u64)p;
  const u32 continued = __ballot_sync(together, continues) >> 1;
  u32 both[8], whole[4];
  FUSEC_UNROLL
  for (i32 k = 0; k < 4; ++k) {
    both[k] = __shfl_up_sync(together, w[k], 1);
    both[k + 4] = w[k];
  }
  u8 *at = (u8 *)p - shift;
  if (!shift) {
    storeWords<16>(p, w);
    return;
  }
  shiftWords(both, 16 - shift, whole);
  if (continues)
    storeWords<16>(at, whole);
  else
    storeBehind(at, whole, shift);
  if (!(continued >> lane & 1)) {
    FUSEC_UNROLL
    for (i32 k = 0; k < 4; ++k)
      both[k] = w[k];
    shiftWords(both, 16 - shift, whole);
    storeBefore(at + 16, whole, shift);
  }
}

template <i32 V, bool ReadOnly, i32 Alignment = FUSEC_ALIGNMENT, class T>
FUSEC_DEVICE void loadVector(T *dst, const T *p) {
  using S = Split<V, T, Alignment>;
  FUSEC_UNROLL
  for (i32 c = 0; c < V; c += S::perChunk) {
    u32 w[4];
    if constexpr (S::isAnywhere)
      loadAnywhere<ReadOnly>(p + c, w);
    else
      loadWords<S::chunk, ReadOnly>(p + c, w);
    FUSEC_UNROLL
    for (i32 k = 0; k < S::perChunk; ++k)
      dst[c + k] = unpackElement<T>(w, k);
  }
}
template <class T>
constexpr bool kIsConst = false;
template <class T>
constexpr bool kIsConst<const T> = true;

/// As loadVector where `mask` holds, else V times `other`. Whole words are
/// chosen and then unpacked, so that short elements need no second unpacking.
template <i32 V, bool ReadOnly, class T>
FUSEC_DEVICE void loadWordsMasked(T *dst, const T *p, bool mask, T other) {
  using S = Split<V, T, FUSEC_ALIGNMENT>;
  FUSEC_UNROLL
  for (i32 c = 0; c < V; c += S::perChunk) {
    u32 w[4] = {0, 0, 0, 0};
    FUSEC_UNROLL
    for (i32 k = 0; k < S::perChunk; ++k)
      packElement<T>(w, k, other);
    if (mask) {
      if constexpr (S::isAnywhere)
        loadAnywhere<ReadOnly>(p + c, w);
      else
        loadWords<S::chunk, ReadOnly>(p + c, w);
    }
    FUSEC_UNROLL
    for (i32 k = 0; k < S::perChunk; ++k)
      dst[c + k] = unpackElement<T>(w, k);
  }
}
template <i32 V, i32 Alignment = FUSEC_ALIGNMENT, class T>
FUSEC_DEVICE void storeVector(T *p, const T *src) {
  using S = Split<V, T, Alignment>;
  FUSEC_UNROLL
  for (i32 c = 0; c < V; c += S::perChunk) {
    u32 w[4] = {0, 0, 0, 0};
    FUSEC_UNROLL
    for (i32 k = 0; k < S::perChunk; ++k)
      packElement<T>(w, k, src[c + k]);
    if constexpr (S::isAnywhere)
      storeAnywhere(p + c, w);
    else
      storeWords<S::chunk>(p + c, w);
  }
}
template <i32 V, class T>
FUSEC_DEVICE void storeVectorIf(T *p, const T *src, bool mask) {
  using S = Split<V, T, FUSEC_ALIGNMENT>;
  FUSEC_UNROLL
  for (i32 c = 0; c < V; c += S::perChunk) {
    u32 w[4] = {0, 0, 0, 0};
    FUSEC_UNROLL
    for (i32 k = 0; k < S::perChunk; ++k)
      packElement<T>(w, k, src[c + k]);
    if constexpr (!S::isAnywhere)
      storeWordsIf<S::chunk>(p + c, w, mask);
    else if (mask)
      storeAnywhere(p + c, w);
  }
}
} // namespace fusec_detail

/// ld<V>: see the conventions. The `T *` form reads memory that the kernel
/// also writes.
template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void ld(T (&dst)[N], i32 r, const T *p, I off) {
  if (r % V == 0)
    fusec_detail::loadVector<V, fusec_detail::kReadOnly>(dst + r, p + off);
}
template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void ld(T (&dst)[N], i32 r, T *p, I off) {
  if (r % V == 0)
    fusec_detail::loadVector<V, false>(dst + r, (const T *)(p + off));
}
/// As `ld` where `mask` holds; elsewhere the V registers become `other`.
template <i32 V, class T, i32 N, class P, class I>
FUSEC_DEVICE void ldm(T (&dst)[N], i32 r, P *p, I off, bool mask,
                      fusec_detail::Same<T> other) {
  if (r % V != 0)
    return;
  using S = fusec_detail::Split<V, T, FUSEC_ALIGNMENT>;
  if constexpr (sizeof(T) < 4 && S::chunk >= 4) {
    using namespace fusec_detail;
    loadWordsMasked<V, kIsConst<P> && kReadOnly, T>(dst + r, p + off, mask,
                                                    other);
  } else if (mask) {
    ld<V>(dst, r, p, off);
  } else {
    FUSEC_UNROLL
    for (i32 k = 0; k < V; ++k)
      dst[r + k] = other;
  }
}
/// 16 aligned bytes of p from off on as words, zeros where !mask (then `off`
/// may be anything), without a branch: calls in a row are under way together.
/// Once: only this thread reads them, but others the rest of their 128 bytes,
/// which the L2 asks for at once.
template <bool Once, class T, class I>
FUSEC_DEVICE void ld_group(u32 (&w)[4], const T *p, I off, bool mask) {
  w[0] = w[1] = w[2] = w[3] = 0;
#define FUSEC_DETAIL_GROUP(how)                                                \
  asm volatile("{.reg .pred p; setp.ne.u32 p, %5, 0;\n"                        \
               "@p ld.global" how ".v4.u32 {%0, %1, %2, %3}, [%4];}"           \
               : "+r"(w[0]), "+r"(w[1]), "+r"(w[2]), "+r"(w[3])                \
               : "l"(__cvta_generic_to_global(p + off)), "r"((u32)mask))
  if constexpr (FUSEC_ALIGNMENT < 16) {
    if (mask)
      fusec_detail::loadAnywhere<fusec_detail::kReadOnly>(p + off, w);
  } else if constexpr (!fusec_detail::kReadOnly)
    FUSEC_DETAIL_GROUP("");
  else if constexpr (Once)
    FUSEC_DETAIL_GROUP(".nc.L1::no_allocate.L2::128B");
  else
    FUSEC_DETAIL_GROUP(".nc");
#undef FUSEC_DETAIL_GROUP
}
/// Asks for p[off..off + N) to be in L2; a multiple of 32 bytes, aligned to
/// them or not. Nothing happens if it is too late.
template <i32 N, class T, class I>
FUSEC_DEVICE void prefetch_l2(const T *p, I off) {
  FUSEC_UNROLL
  for (i32 k = 0; k < N * (i32)sizeof(T); k += 32)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(
        __cvta_generic_to_global((const char *)(p + off) + k)));
}
template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void st(T *p, I off, const T (&src)[N], i32 r) {
  if (r % V == 0)
    fusec_detail::storeVector<V>(p + off, src + r);
}
template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void stm(T *p, I off, const T (&src)[N], i32 r, bool mask) {
  if (r % V == 0 && mask)
    fusec_detail::storeVector<V>(p + off, src + r);
}
/// stm without a branch.
template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void st_if(T *p, I off, const T (&src)[N], i32 r, bool mask) {
  if (r % V == 0)
    fusec_detail::storeVectorIf<V>(p + off, src + r, mask);
}
template <class T, class I>
FUSEC_DEVICE T ld1(const T *p, I off) {
  T r;
  fusec_detail::loadVector<1, fusec_detail::kReadOnly>(&r, p + off);
  return r;
}
template <class T, class I>
FUSEC_DEVICE T ld1(T *p, I off) {
  T r;
  fusec_detail::loadVector<1, false>(&r, (const T *)(p + off));
  return r;
}
template <class T, class I>
FUSEC_DEVICE T ldm1(const T *p, I off, bool mask, fusec_detail::Same<T> other) {
  T r = other;
  if (mask)
    r = ld1(p, off);
  return r;
}
template <class T, class I>
FUSEC_DEVICE T ldm1(T *p, I off, bool mask, fusec_detail::Same<T> other) {
  T r = other;
  if (mask)
    r = ld1(p, off);
  return r;
}
template <class T, class I>
FUSEC_DEVICE void st1(T *p, I off, fusec_detail::Same<T> v) {
  p[off] = v;
}
template <class T, class I>
FUSEC_DEVICE void stm1(T *p, I off, fusec_detail::Same<T> v, bool mask) {
  if (mask)
    p[off] = v;
}

/// Shared memory: scalar and vector forms.
template <class T>
FUSEC_DEVICE T lds(const T *s, i32 i) {
  return s[i];
}
template <class T>
FUSEC_DEVICE void sts(T *s, i32 i, fusec_detail::Same<T> v) {
  s[i] = v;
}
template <i32 V, class T, i32 N>
FUSEC_DEVICE void lds(T (&dst)[N], i32 r, const T *s, i32 i) {
  if (r % V == 0)
    fusec_detail::loadVector<V, false, 16>(dst + r, s + i);
}
template <i32 V, class T, i32 N>
FUSEC_DEVICE void sts(T *s, i32 i, const T (&src)[N], i32 r) {
  if (r % V == 0)
    fusec_detail::storeVector<V, 16>(s + i, src + r);
}

//===-- Synchronisation ---------------------------------------------------===//

FUSEC_DEVICE void bar() { __syncthreads(); }
/// Waits for `threads` threads (a multiple of 32) at barrier id 1..15.
FUSEC_DEVICE void bar_named(i32 id, i32 threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
FUSEC_DEVICE void bar_warp() { __syncwarp(); }
FUSEC_DEVICE void fence_gpu() { __threadfence(); }

/// Waits until the launches before this one have ended and what they wrote is
/// visible. Before it a kernel that may begin early (Kernel::overlaps) touches no global
/// memory, neither to read nor to write. Each of its threads waits, so that
/// who waits for this launch waits for those before it, too.
FUSEC_DEVICE void grid_wait() {
#if __CUDA_ARCH__ >= 900
  u32 zero;
  asm volatile("griddepcontrol.wait;\n\tmov.u32 %0, 0;"
               : "=r"(zero)
               :
               : "memory");
  // Never: loads through ld.global.nc are kept behind the asm by no clobber,
  // but by a branch. The assembler knows the wait and takes the branch away.
  if (zero) {
    asm volatile("exit;");
    __builtin_unreachable();
  }
#endif
}

//===-- Warp --------------------------------------------------------------===//

#define FUSEC_DETAIL_SHFL(name, intrinsic)                                     \
  template <class T>                                                           \
  FUSEC_DEVICE T name(T v, i32 arg) {                                          \
    using R = fusec_detail::Raw<T>;                                            \
    if constexpr (sizeof(T) == 8)                                              \
      return R::from((u64)intrinsic(0xffffffffu, (u64)R::to(v), arg));         \
    else                                                                       \
      return R::from(                                                          \
          (typename R::U)intrinsic(0xffffffffu, (u32)R::to(v), arg));          \
  }
FUSEC_DETAIL_SHFL(shfl_xor, __shfl_xor_sync)
FUSEC_DETAIL_SHFL(shfl_idx, __shfl_sync)
FUSEC_DETAIL_SHFL(shfl_down, __shfl_down_sync)
FUSEC_DETAIL_SHFL(shfl_up, __shfl_up_sync)
#undef FUSEC_DETAIL_SHFL

// CUDA still declares removed intrinsics of these three names.
#define ballot(p) fusec_ballot(p)
#define any(p) fusec_any(p)
#define all(p) fusec_all(p)
FUSEC_DEVICE u32 ballot(bool p) { return __ballot_sync(0xffffffffu, p); }
FUSEC_DEVICE bool any(bool p) { return __any_sync(0xffffffffu, p); }
FUSEC_DEVICE bool all(bool p) { return __all_sync(0xffffffffu, p); }
FUSEC_DEVICE i32 warp_max(i32 v) { return __reduce_max_sync(0xffffffffu, v); }

//===-- Atomics (global, relaxed, GPU scope; the old value is returned)
//----===//

template <class I>
FUSEC_DEVICE i32 atom_add(i32 *p, I off, i32 v) {
  return atomicAdd(p + off, v);
}
template <class I>
FUSEC_DEVICE u32 atom_add(u32 *p, I off, u32 v) {
  return atomicAdd(p + off, v);
}
template <class I>
FUSEC_DEVICE i64 atom_add(i64 *p, I off, i64 v) {
  return (i64)atomicAdd((u64 *)(p + off), (u64)v);
}
template <class I>
FUSEC_DEVICE f32 atom_add(f32 *p, I off, f32 v) {
  return atomicAdd(p + off, v);
}
template <class I>
FUSEC_DEVICE f64 atom_add(f64 *p, I off, f64 v) {
  return atomicAdd(p + off, v);
}
template <class I>
FUSEC_DEVICE i32 atom_max(i32 *p, I off, i32 v) {
  return atomicMax(p + off, v);
}
template <class I>
FUSEC_DEVICE u32 atom_max(u32 *p, I off, u32 v) {
  return atomicMax(p + off, v);
}
template <class I>
FUSEC_DEVICE i64 atom_max(i64 *p, I off, i64 v) {
  return atomicMax(p + off, v);
}
template <class I>
FUSEC_DEVICE i32 atom_min(i32 *p, I off, i32 v) {
  return atomicMin(p + off, v);
}
template <class I>
FUSEC_DEVICE u32 atom_min(u32 *p, I off, u32 v) {
  return atomicMin(p + off, v);
}
template <class I>
FUSEC_DEVICE i64 atom_min(i64 *p, I off, i64 v) {
  return atomicMin(p + off, v);
}
template <class I>
FUSEC_DEVICE u32 atom_cas(u32 *p, I off, u32 cmp, u32 v) {
  return atomicCAS(p + off, cmp, v);
}
template <class I>
FUSEC_DEVICE u64 atom_cas(u64 *p, I off, u64 cmp, u64 v) {
  return atomicCAS(p + off, cmp, v);
}

/// Takes one of n tickets: returns 0, 1, .., n-1 and then starts again at 0,
/// so that a counter that was zero is zero after n calls. Acquires and
/// releases at GPU scope: who draws n-1 sees what all others wrote before.
template <class I>
FUSEC_DEVICE u32 ticket(u32 *p, I off, u32 n) {
  u32 old;
  asm volatile("{\n\t.reg .u64 a;\n\tcvta.to.global.u64 a, %1;\n\t"
               "atom.acq_rel.gpu.global.inc.u32 %0, [a], %2;\n\t}"
               : "=r"(old)
               : "l"(p + off), "r"(n - 1u)
               : "memory");
  return old;
}

template <class I>
FUSEC_DEVICE u32 ticket(i32 *p, I off, u32 n) {
  return ticket((u32 *)p, off, n);
}

/// A load that acquires and a store that releases at GPU scope, for one block
/// that waits for another.
template <class I>
FUSEC_DEVICE u32 ld_acquire(const u32 *p, I off) {
  u32 r;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
               : "=r"(r)
               : "l"(__cvta_generic_to_global(p + off))
               : "memory");
  return r;
}
template <class I>
FUSEC_DEVICE void st_release(u32 *p, I off, u32 v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(
                   __cvta_generic_to_global(p + off)),
               "r"(v)
               : "memory");
}
/// A barrier of all blocks of a cooperative launch, called by all threads. The
/// word was zero before the first launch and is used for nothing else by
/// launches of this many blocks; it need not be reset between launches.
template <class I>
FUSEC_DEVICE void grid_sync(u32 *p, I off) {
  // All blocks together add 2^31: the top bit changes with the last one.
  const u32 others = (u32)(ncta_x() * ncta_y() * ncta_z()) - 1u;
  const bool first = cta_x() == 0 && cta_y() == 0 && cta_z() == 0;
  bar();
  if (tid() == 0) {
    u32 old;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(__cvta_generic_to_global(p + off)),
                   "r"(first ? 0x80000000u - others : 1u)
                 : "memory");
    while (((old ^ ld_acquire(p, off)) >> 31) == 0) {
    }
  }
  bar();
}
template <class I>
FUSEC_DEVICE void grid_sync(i32 *p, I off) {
  grid_sync((u32 *)p, off);
}

//===-- Tensor cores ------------------------------------------------------===//

namespace fusec_detail {
FUSEC_DEVICE u32 sharedAddress(const void *p) {
  return (u32)__cvta_generic_to_shared(p);
}
} // namespace fusec_detail

#define FUSEC_DETAIL_MMA(name, type, reg, shape_types)                         \
  FUSEC_DEVICE void name(type(&d)[4], const u32(&a)[4], const u32(&b)[2]) {    \
    asm volatile("mma.sync.aligned." shape_types                               \
                 " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"      \
                 : "+" reg(d[0]), "+" reg(d[1]), "+" reg(d[2]), "+" reg(d[3])  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),      \
                   "r"(b[1]));                                                 \
  }
/// d += a * b on one warp; PTX fragment layouts.
FUSEC_DETAIL_MMA(mma_f16, f32, "f", "m16n8k16.row.col.f32.f16.f16.f32")
FUSEC_DETAIL_MMA(mma_bf16, f32, "f", "m16n8k16.row.col.f32.bf16.bf16.f32")
FUSEC_DETAIL_MMA(mma_tf32, f32, "f", "m16n8k8.row.col.f32.tf32.tf32.f32")
/// 8-bit integers, four of k a word, modulo 2^32; the types of a, then of b.
FUSEC_DETAIL_MMA(mma_i8, i32, "r", "m16n8k32.row.col.s32.s8.s8.s32")
FUSEC_DETAIL_MMA(mma_i8u8, i32, "r", "m16n8k32.row.col.s32.s8.u8.s32")
FUSEC_DETAIL_MMA(mma_u8i8, i32, "r", "m16n8k32.row.col.s32.u8.s8.s32")
FUSEC_DETAIL_MMA(mma_u8, i32, "r", "m16n8k32.row.col.s32.u8.u8.s32")
#undef FUSEC_DETAIL_MMA

/// Four 8x8 tiles of 16-bit elements; lane l names row l % 8 of tile l / 8 by
/// the index of its first element (16-byte aligned).
template <class T>
FUSEC_DEVICE void ldmatrix_x4(u32 (&r)[4], const T *s, i32 i) {
  static_assert(sizeof(T) == 2, "ldmatrix moves 16-bit elements");
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(fusec_detail::sharedAddress(s + i))
               : "memory");
}
template <class T>
FUSEC_DEVICE void ldmatrix_x4_trans(u32 (&r)[4], const T *s, i32 i) {
  static_assert(sizeof(T) == 2, "ldmatrix moves 16-bit elements");
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(fusec_detail::sharedAddress(s + i))
      : "memory");
}

namespace fusec_detail {
/// Where the buffer is not aligned to `bytes`: in halves and, below the least
/// that the hardware copies, at once.
template <i32 bytes, class T>
inline constexpr bool isOneCopy =
    bytes <= FUSEC_ALIGNMENT || bytes == (i32)sizeof(T);
template <class T>
FUSEC_DEVICE void copyElements(T *s, const T *p, i32 count, bool pred) {
  FUSEC_UNROLL
  for (i32 k = 0; k < count; ++k)
    s[k] = pred ? p[k] : T{};
}
template <class T>
FUSEC_DEVICE void copyAnywhere(T *s, const T *p, bool pred) {
  u32 w[4] = {0, 0, 0, 0};
  if (pred)
    loadAnywhere<kReadOnly>(p, w);
  storeWords<16>(s, w);
}
} // namespace fusec_detail

#define FUSEC_DETAIL_CP_ASYNC(name, bytes, cache, hint, split)                 \
  template <class T, class I>                                                  \
  FUSEC_DEVICE void name(T *s, i32 i, const fusec_detail::Same<T> *p, I off,   \
                         bool pred) {                                          \
    if constexpr (fusec_detail::isOneCopy<bytes, T>) {                         \
      asm volatile(                                                            \
          "cp.async." cache ".shared.global" hint " [%0], [%1], " #bytes       \
          ", %2;" ::"r"(fusec_detail::sharedAddress(s + i)),                   \
          "l"(__cvta_generic_to_global(p + off)), "r"(pred ? bytes : 0)        \
          : "memory");                                                         \
    } else {                                                                   \
      constexpr i32 half = bytes / 2 / (i32)sizeof(T);                         \
      split                                                                    \
    }                                                                          \
  }
#define FUSEC_DETAIL_HALVES(copy)                                              \
  copy(s, i, p, off, pred);                                                    \
  copy(s, i + half, p, off + half, pred);
/// Copies 16, 8 or 4 bytes from p[off..] to s[i..] in the background; writes
/// zeros when !pred (then `off` may be anything, `p` stays a real pointer).
/// The data may be read after the wait, by other threads after a barrier too.
/// `cp_line16` asks for all 128 bytes around them to be in L2, of which warps
/// copy less at a time.
#define FUSEC_DETAIL_EIGHTS                                                    \
  if constexpr (FUSEC_ALIGNMENT < 4)                                           \
    fusec_detail::copyAnywhere(s + i, p + off, pred);                          \
  else {                                                                       \
    FUSEC_DETAIL_HALVES(cp_async8)                                             \
  }
FUSEC_DETAIL_CP_ASYNC(cp_async4, 4, "ca", "",
                      fusec_detail::copyElements(s + i, p + off, 2 * half,
                                                 pred);)
FUSEC_DETAIL_CP_ASYNC(cp_async8, 8, "ca", "", FUSEC_DETAIL_HALVES(cp_async4))
FUSEC_DETAIL_CP_ASYNC(cp_async16, 16, "cg", "", FUSEC_DETAIL_EIGHTS)
FUSEC_DETAIL_CP_ASYNC(cp_line16, 16, "cg", ".L2::128B", FUSEC_DETAIL_EIGHTS)
#undef FUSEC_DETAIL_EIGHTS
#undef FUSEC_DETAIL_HALVES
#undef FUSEC_DETAIL_CP_ASYNC
/// Closes a group of copies; `cp_async_wait<N>` waits for all but the newest
/// N groups of this thread.
FUSEC_DEVICE void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <i32 N>
FUSEC_DEVICE void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

//===-- Mathematics -------------------------------------------------------===//

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

/// A quotient that is rounded to an integer or 8-bit float and saturated: x / y
/// rounded to nearest where 2^-40 <= |x / y| < 2^60; elsewhere something on the
/// same side of that range, with its sign, zero, infinity or NaN. What depends
/// on y alone is done once where many are divided by the same.
FUSEC_DEVICE f32 m_div_bounded(f32 x, f32 y) {
  // Without branches: what depends on y alone is then done once for many x.
  const u32 sign = as_u32(y) & 0x80000000u;
  const u32 a = as_u32(y) & 0x7fffffffu;
  const bool isRegular = a - 1u < 0x7f7fffffu;
  // By zero and infinity, as IEEE has it: infinite, 0 or NaN.
  const u32 zero = a == 0x7f800000u ? 0u : 0x7fffffffu;
  const f32 other = as_f32(sign | (a == 0u ? 0x7f800000u : zero));
  // Makes y positive, so that a zero keeps its sign below.
  const u32 scale = a >= 0x5d800000u  ? 0x0d800000u // 2^60, 2^-100
                    : a < 0x2b800000u ? 0x71800000u // 2^-40, 2^100
                                      : 0x3f800000u;
  const f32 s = as_f32(sign | scale);
  y *= s;
  // No asm, which the compiler would repeat.
  f32 r = __fdividef(1.0f, y);
  r = __fmaf_rn(r, __fmaf_rn(-y, r, 1.0f), r);
  r = isRegular ? r : other;
  x *= isRegular ? s : 1.0f;
  const f32 q = x * r;
  // Residuals are exact in this range.
  f32 p = __fmaf_rn(-r, __fmaf_rn(y, q, -x), q);
  p = __fmaf_rn(-r, __fmaf_rn(y, p, -x), p);
  return fabsf(q) < (isRegular ? 0x1p60f : -1.0f) ? p : q;
}
FUSEC_DEVICE f64 m_div_bounded(f64 x, f64 y) { return x / y; }

// Functions of values that are rounded to 16 bits or fewer afterwards: within
// 2^-17 of the result unless said, results below 2^-126 may become 0.
FUSEC_DEVICE f32 m_exp_near(f32 x) {
  return fusec_detail::power2(x * 0x1.715476p+0f);
}
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

//===-- Integers ----------------------------------------------------------===//

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

#endif // FUSEC_PRELUDE_CUDA_CUH
