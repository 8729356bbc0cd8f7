//===- prelude_language.cuh - what generated kernels may call --*- CUDA -*-===//
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
//
// This file: element types, macros for functions, kernels and shared arrays,
// and elements as bits.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PRELUDE_LANGUAGE_CUH
#define FUSEC_PRELUDE_LANGUAGE_CUH

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
/// What holds here; the emulator checks it.
#define FUSEC_ASSUME(condition) __builtin_assume(condition)
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

#endif // FUSEC_PRELUDE_LANGUAGE_CUH
