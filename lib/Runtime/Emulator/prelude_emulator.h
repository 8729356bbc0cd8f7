//===- prelude_emulator.h - the prelude of the CPU emulator -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same names as the prelude for CUDA (prelude_language.cuh says what they
// have in common, the files behind it what each one means), for a host C++17
// compiler and without any header. What needs a check, another thread or a
// rounding mode is a call through a table that the runtime binds after loading
// (FusecEmuApi), so that this text stays cheap to compile and the loaded object
// needs no symbol of the process. Line numbers come from __builtin_LINE() as a
// default argument.
//
// FUSEC_EMU_CHECKS=0 turns loads and stores into plain ones.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PRELUDE_EMULATOR_H
#define FUSEC_PRELUDE_EMULATOR_H

#ifndef FUSEC_EMU_CHECKS
#define FUSEC_EMU_CHECKS 1
#endif

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

//===-- What the runtime provides; EmulatorApi.h includes this part too
//----===//

/// Per-thread facts that do not change while a thread of a block runs.
struct FusecEmuIds {
  i32 tid, lane, warp, nthreads;
  i32 cta[3], ncta[3];
  u8 *shared;
  i32 rank, cluster; ///< place in the cluster, and its size
};
/// An address in shared memory: byte offset of the array, element index and
/// the number of elements.
struct FusecEmuShared {
  u32 base, count;
  i64 index;
  u32 elementBytes;
};
enum FusecEmuFormat {
  FusecF16,
  FusecBF16,
  FusecF8E4M3,
  FusecF8E5M2,
  FusecTF32,
  FusecS8,
  FusecU8
};
enum FusecEmuShuffle { FusecShflXor, FusecShflIdx, FusecShflDown, FusecShflUp };
enum FusecEmuAtomic {
  FusecAdd,
  FusecMax,
  FusecMin,
  FusecCas,
  FusecTicket,
  FusecExchange
};
enum FusecEmuNumber {
  FusecI32,
  FusecU32,
  FusecI64,
  FusecU64,
  FusecF32,
  FusecF64
};
enum FusecEmuMma {
  FusecMmaF16,
  FusecMmaBF16,
  FusecMmaTF32,
  FusecMmaI8,
  FusecMmaI8U8,
  FusecMmaU8I8,
  FusecMmaU8
};
enum FusecEmuArrival {
  FusecArrive,
  FusecArriveExpect,
  FusecExpect,
  FusecArriveRemote,
  FusecArriveRemoteRelease
};
enum FusecEmuMbarWait { FusecWait, FusecWaitCluster, FusecTest };
enum FusecEmuClusterBarrier {
  FusecClusterArrive,
  FusecClusterArriveRelaxed,
  FusecClusterWait
};
enum FusecEmuPacked {
  FusecPack2,
  FusecAdd2,
  FusecSub2,
  FusecMul2,
  FusecMax2,
  FusecMin2,
  FusecFma2
};

/// A transaction barrier takes eight bytes; its state is the runtime's.
struct FusecMbarrier {
  u64 state;
};
/// What a tensor map says; dimensions from the innermost one.
struct alignas(64) FusecTensorMap {
  u64 magic; ///< kFusecTensorMap in a map that the runtime made
  u64 base;
  u64 strides[4]; ///< bytes, of the dimensions after the first
  u32 dims[5];
  u16 box[5];
  u8 steps[5]; ///< element strides
  u8 rank, elementBytes, swizzle, fillNan;
  u8 im2col;              ///< a map of convolution windows: has what follows
  i16 lower[3], upper[3]; ///< corners of the box from those of the tensor
  u16 channels, pixels;
  u8 roundsToTf32; ///< loads round f32 elements
  u8 reserved[23];
};
static_assert(sizeof(FusecTensorMap) == 128, "as large as CUtensorMap");
constexpr u64 kFusecTensorMap = 0x70616d20726f736eull;
/// One wgmma of a thread.
struct FusecEmuWgmma {
  i32 typeA, typeB, n;
  bool mnA, mnB, accumulate, integer;
  void *d;
  const u32 *registers; ///< of A, or null
  u64 a, b;
};

struct FusecEmuApi {
  const FusecEmuIds *(*ids)();
  void (*load)(void *dst, u64 base, i64 offset, u32 bytes, i32 line);
  void (*store)(u64 base, i64 offset, const void *src, u32 bytes, i32 line);
  u32 (*sharedArray)(const void *key, u32 bytes, u32 alignment, i32 line);
  u32 (*sharedDynamic)(u32 offset, u32 elementBytes, u32 *count, i32 line);
  void (*sharedLoad)(void *dst, FusecEmuShared at, u32 elements, i32 line);
  void (*sharedStore)(FusecEmuShared at, const void *src, u32 elements,
                      i32 line);
  void (*barrier)(i32 id, i32 threads, i32 line);
  void (*barrierWarp)(i32 line);
  u64 (*shuffle)(i32 kind, u64 value, i32 arg, i32 line);
  u32 (*vote)(bool predicate, i32 line);
  u64 (*atomic)(i32 op, i32 type, u64 base, i64 offset, u64 a, u64 b, i32 line);
  void (*fence)(i32 line);
  void (*gridWait)(i32 line);
  void (*mma)(i32 kind, void *d, const u32 *a, const u32 *b, i32 line);
  void (*ldmatrix)(u32 *r, i32 tiles, bool transposed, FusecEmuShared at,
                   i32 line);
  void (*cpAsync)(FusecEmuShared at, u64 base, i64 offset, u32 bytes, bool pred,
                  i32 line);
  void (*cpAsyncCommit)(i32 line);
  void (*cpAsyncWait)(i32 newest, i32 line);
  f32 (*decode)(i32 format, u16 bits);
  u16 (*encode)(i32 format, f64 value, bool saturate);
  /// For a thread that waits for memory to change.
  void (*poll)(i32 line);

  // Hopper; see prelude_sm90.cuh. `mask` 0 means the own block only.
  void (*mbarInit)(FusecEmuShared at, i32 count, i32 line);
  void (*mbarArrive)(i32 kind, FusecEmuShared at, i32 rank, i32 bytes,
                     i32 line);
  bool (*mbarWait)(i32 how, FusecEmuShared at, i32 parity, i32 line);
  void (*clusterBarrier)(i32 what, i32 line);
  void (*peerLoad)(void *dst, FusecEmuShared at, u32 elements, i32 rank,
                   i32 line);
  void (*peerStore)(FusecEmuShared at, const void *src, u32 elements, i32 rank,
                    i32 line);
  void (*storeAsync)(FusecEmuShared at, const void *src, u32 elements, i32 rank,
                     FusecEmuShared barrier, i32 line);
  void (*proxyFence)(i32 line);
  void (*mbarInitFence)(i32 line);
  void (*bulkLoad)(FusecEmuShared to, u64 base, i64 offset, i32 bytes,
                   FusecEmuShared barrier, u32 mask, i32 line);
  void (*bulkStore)(u64 base, i64 offset, FusecEmuShared from, i32 bytes,
                    i32 line);
  void (*bulkSend)(FusecEmuShared to, i32 rank, FusecEmuShared from, i32 bytes,
                   FusecEmuShared barrier, i32 line);
  void (*tmaLoad)(FusecEmuShared to, const FusecTensorMap *map,
                  const i32 *coordinates, i32 rank, FusecEmuShared barrier,
                  u32 mask, i32 line);
  void (*tmaPrefetch)(const FusecTensorMap *map, const i32 *coordinates,
                      i32 rank, i32 line);
  void (*tmaStore)(const FusecTensorMap *map, FusecEmuShared from,
                   const i32 *coordinates, i32 rank, i32 line);
  void (*im2colLoad)(FusecEmuShared to, const FusecTensorMap *map,
                     const i32 *coordinates, const i32 *offsets, i32 rank,
                     FusecEmuShared barrier, u32 mask, i32 line);
  void (*im2colStore)(const FusecTensorMap *map, FusecEmuShared from,
                      const i32 *coordinates, i32 rank, i32 line);
  void (*bulkCommit)(i32 line);
  void (*bulkWait)(i32 newest, bool read, i32 line);
  void (*registers)(i32 count, bool more, i32 line);
  bool (*elect)(i32 line);
  void (*barrierArrive)(i32 id, i32 threads, i32 line);
  void (*barrierReduce)(i32 id, i32 threads, i32 line);
  void (*stmatrix)(FusecEmuShared at, const u32 *r, i32 tiles, bool transposed,
                   i32 line);
  void (*wgmmaFence)(i32 line);
  void (*wgmma)(const FusecEmuWgmma *what, i32 line);
  void (*wgmmaCommit)(i32 line);
  void (*wgmmaWait)(i32 newest, i32 line);
  u32 (*packed)(i32 op, i32 format, u32 x, u32 y, u32 z);
};

#ifndef FUSEC_EMU_API_ONLY

static const FusecEmuApi *fusec_emu;
extern "C" __attribute__((visibility("default"))) void
fusec_emu_bind(const FusecEmuApi *api) {
  fusec_emu = api;
}

#ifndef FUSEC_ALIGNMENT
#define FUSEC_ALIGNMENT 16
#endif
#define FUSEC_DEVICE static inline
/// What texts of kernels bring along is needed in each of them.
#define FUSEC_KERNEL_NAMESPACES 1
#define FUSEC_METHOD inline
#define FUSEC_UNROLL
#define FUSEC_NO_UNROLL
#define FUSEC_ASSUME(condition) ((condition) ? void() : __builtin_trap())
#define FUSEC_DETAIL_LINE i32 line = __builtin_LINE()
#define FUSEC_DETAIL_KERNEL(name, threads, cluster, grid)                      \
  static const i32 fusec_form_##name =                                         \
      (threads) | (cluster) << 16 | (grid) << 24;                              \
  static void name
#define FUSEC_KERNEL(name, threads) FUSEC_DETAIL_KERNEL(name, threads, 0, 0)
#define FUSEC_KERNEL_MIN(name, threads, blocks) FUSEC_KERNEL(name, threads)
#define FUSEC_KERNEL_GRID(name, threads, blocks)                               \
  FUSEC_DETAIL_KERNEL(name, threads, 0, 1)
/// The launch interface of cuLaunchKernel: one pointer per parameter.
#define FUSEC_EXPORT(name)                                                     \
  extern "C" __attribute__((visibility("default"))) i32                        \
  fusec_emu_form_##name() {                                                    \
    return fusec_form_##name;                                                  \
  }                                                                            \
  extern "C" __attribute__((visibility("default"))) void                       \
  fusec_emu_entry_##name(void **args) {                                        \
    fusec_detail::call(&name, args);                                           \
  }
#define FUSEC_SHARED(T, name, count)                                           \
  static char fusec_key_##name;                                                \
  const FusecShared<T> name =                                                  \
      fusec_detail::sharedArray<T>(&fusec_key_##name, (count), 128, __LINE__)
#define FUSEC_SHARED_DYN(T, name) FUSEC_SHARED_DYN_AT(T, name, 0)
#define FUSEC_SHARED_DYN_AT(T, name, byteOffset)                               \
  const FusecShared<T> name =                                                  \
      fusec_detail::sharedDynamic<T>((byteOffset), __LINE__)
#define FUSEC_SHARED_PTR(T) FusecShared<T>

/// A shared array: a handle, so that it cannot be dereferenced.
template <class T>
struct FusecShared {
  u32 base;  ///< byte offset in the shared memory of the block
  u32 count; ///< elements of the whole array
  i64 first; ///< element that index 0 names
};
template <class T>
FUSEC_DEVICE FusecShared<T> shared_at(FusecShared<T> s, i32 i) {
  s.first += i;
  return s;
}
template <class T, i32 Offset, i32 Count>
FUSEC_DEVICE FusecShared<T> shared_as(FusecShared<u64> arena) {
  static_assert(Offset % 128 == 0, "an array starts at a multiple of 128");
  return {arena.base + Offset, Count, 0};
}
template <class T>
FUSEC_DEVICE FusecShared<T> shared_cast(FusecShared<u64> words) {
  constexpr u32 each = sizeof(u64) / sizeof(T);
  return {words.base, words.count * each, words.first * each};
}
template <class T>
FUSEC_DEVICE T pinned(T x) {
  return x;
}
/// By reference: a fibre's stack has no room for a copy.
#define FUSEC_TABLE(T, name) const T &name

namespace fusec_detail {
template <class T>
struct Id {
  using type = T;
};
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

template <class T>
struct Plain {
  using type = T;
};
template <class T>
struct Plain<const T &> {
  using type = const T;
};

template <i32... I>
struct Indices {};
template <i32 N, i32... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <i32... I>
struct MakeIndices<0, I...> {
  using type = Indices<I...>;
};
template <class... A, i32... I>
static void callWith(void (*kernel)(A...), void **args, Indices<I...>) {
  kernel(*static_cast<typename Plain<A>::type *>(args[I])...);
}
template <class... A>
static void call(void (*kernel)(A...), void **args) {
  callWith(kernel, args, typename MakeIndices<sizeof...(A)>::type());
}

template <class T>
static FusecShared<T> sharedArray(const void *key, u32 count, u32 alignment,
                                  i32 line) {
  return {fusec_emu->sharedArray(key, count * (u32)sizeof(T), alignment, line),
          count, 0};
}
template <class T>
static FusecShared<T> sharedDynamic(u32 offset, i32 line) {
  FusecShared<T> s{0, 0, 0};
  s.base = fusec_emu->sharedDynamic(offset, sizeof(T), &s.count, line);
  return s;
}
template <class T>
static FusecEmuShared at(FusecShared<T> s, i64 i) {
  return {s.base, s.count, s.first + i, sizeof(T)};
}
/// An address as the pointer it starts from, which tells the buffer, and a byte
/// offset that may be anything.
struct Address {
  u64 base;
  i64 offset;
};
template <class T, class I>
static Address address(const T *p, I off) {
  return {(u64)p, (i64)((u64)(i64)off * sizeof(T))};
}
static u64 atomic(i32 op, i32 type, Address a, u64 x, u64 y, i32 line) {
  return fusec_emu->atomic(op, type, a.base, a.offset, x, y, line);
}
template <class To, class From>
static To bitCast(From x) {
  static_assert(sizeof(To) == sizeof(From), "equal sizes");
  To r;
  __builtin_memcpy(&r, &x, sizeof(To));
  return r;
}
template <i32 V>
struct PowerOfTwo {
  static_assert(V > 0 && (V & (V - 1)) == 0, "V is a power of two");
};

/// Elements of one access: see FUSEC_ALIGNMENT in prelude_language.cuh.
template <i32 V, class T>
struct Piece {
  static constexpr i32 fitting = FUSEC_ALIGNMENT / (i32)sizeof(T);
  static constexpr i32 elements = FUSEC_ALIGNMENT >= 16 ? V
                                  : fitting < 1         ? 1
                                  : fitting < V         ? fitting
                                                        : V;
};

template <i32 V, class T>
static void load(T *dst, Address a, i32 line) {
  (void)sizeof(PowerOfTwo<V>);
#if FUSEC_EMU_CHECKS
  constexpr i32 n = Piece<V, T>::elements;
  for (i32 k = 0; k < V; k += n)
    fusec_emu->load(dst + k, a.base, a.offset + k * (i64)sizeof(T),
                    n * sizeof(T), line);
#else
  __builtin_memcpy(dst, (const void *)(a.base + a.offset), V * sizeof(T));
#endif
}
template <i32 V, class T>
static void store(Address a, const T *src, i32 line) {
  (void)sizeof(PowerOfTwo<V>);
#if FUSEC_EMU_CHECKS
  constexpr i32 n = Piece<V, T>::elements;
  for (i32 k = 0; k < V; k += n)
    fusec_emu->store(a.base, a.offset + k * (i64)sizeof(T), src + k,
                     n * sizeof(T), line);
#else
  __builtin_memcpy((void *)(a.base + a.offset), src, V * sizeof(T));
#endif
}
template <i32 V, class T>
static void sharedLoad(T *dst, FusecShared<T> s, i32 i, i32 line) {
  (void)sizeof(PowerOfTwo<V>);
#if FUSEC_EMU_CHECKS
  fusec_emu->sharedLoad(dst, at(s, i), V, line);
#else
  __builtin_memcpy(
      dst, fusec_emu->ids()->shared + s.base + (s.first + i) * sizeof(T),
      V * sizeof(T));
#endif
}
template <i32 V, class T>
static void sharedStore(FusecShared<T> s, i32 i, const T *src, i32 line) {
  (void)sizeof(PowerOfTwo<V>);
#if FUSEC_EMU_CHECKS
  fusec_emu->sharedStore(at(s, i), src, V, line);
#else
  __builtin_memcpy(fusec_emu->ids()->shared + s.base +
                       (s.first + i) * sizeof(T),
                   src, V * sizeof(T));
#endif
}
/// In pieces as small as the buffer's alignment; those below the least that the
/// hardware copies in the background at once.
template <i32 bytes, class T>
static void copyAsync(FusecShared<T> s, i32 i, Address from, bool pred,
                      i32 line) {
  constexpr i32 count = bytes / (i32)sizeof(T);
  constexpr i32 n = Piece<count, T>::elements, size = n * (i32)sizeof(T);
  for (i32 k = 0; k < count; k += n) {
    i64 offset = from.offset + k * (i64)sizeof(T);
    if constexpr (size >= 4) {
      fusec_emu->cpAsync(at(s, i + k), from.base, offset, size, pred, line);
    } else {
      T elements[n] = {};
      if (pred)
        load<n>(elements, Address{from.base, offset}, line);
      sharedStore<n>(s, i + k, elements, line);
    }
  }
}
} // namespace fusec_detail

//===-- Bits and conversions ----------------------------------------------===//

FUSEC_DEVICE f32 as_f32(u32 x) { return fusec_detail::bitCast<f32>(x); }
FUSEC_DEVICE u32 as_u32(f32 x) { return fusec_detail::bitCast<u32>(x); }
FUSEC_DEVICE f64 as_f64(u64 x) { return fusec_detail::bitCast<f64>(x); }
FUSEC_DEVICE u64 as_u64(f64 x) { return fusec_detail::bitCast<u64>(x); }
template <class T>
FUSEC_DEVICE T from_bits(fusec_detail::UInt<sizeof(T)> x) {
  return fusec_detail::bitCast<T>(x);
}
template <class T>
FUSEC_DEVICE auto to_bits(T x) {
  return fusec_detail::bitCast<fusec_detail::UInt<sizeof(T)>>(x);
}

FUSEC_DEVICE f32 to_f32(f32 x) { return x; }
FUSEC_DEVICE f32 to_f32(f16 x) { return fusec_emu->decode(FusecF16, x.bits); }
FUSEC_DEVICE f32 to_f32(bf16 x) { return as_f32((u32)x.bits << 16); }
FUSEC_DEVICE f32 to_f32(f8e4m3 x) {
  return fusec_emu->decode(FusecF8E4M3, x.bits);
}
FUSEC_DEVICE f32 to_f32(f8e5m2 x) {
  return fusec_emu->decode(FusecF8E5M2, x.bits);
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
template <class T>
FUSEC_DEVICE f64 to_f64(T x) {
  return (f64)to_f32(x);
}

namespace fusec_detail {
template <class T>
struct Encode;
template <>
struct Encode<f64> {
  static f64 get(f64 x, bool) { return x; }
};
template <>
struct Encode<f32> {
  static f32 get(f64 x, bool) { return (f32)x; }
};
template <>
struct Encode<f16> {
  static f16 get(f64 x, bool s) { return {fusec_emu->encode(FusecF16, x, s)}; }
};
template <>
struct Encode<bf16> {
  static bf16 get(f64 x, bool s) {
    return {fusec_emu->encode(FusecBF16, x, s)};
  }
};
template <>
struct Encode<f8e4m3> {
  static f8e4m3 get(f64 x, bool s) {
    return {(u8)fusec_emu->encode(FusecF8E4M3, x, s)};
  }
};
template <>
struct Encode<f8e5m2> {
  static f8e5m2 get(f64 x, bool s) {
    return {(u8)fusec_emu->encode(FusecF8E5M2, x, s)};
  }
};
template <class T>
struct Limits {
  static constexpr bool isSigned = (T)-1 < (T)0;
  static constexpr i32 width = 8 * sizeof(T);
  static constexpr T min =
      isSigned ? (T)((UInt<sizeof(T)>)1 << (width - 1)) : (T)0;
  static constexpr T max = (T) ~(UInt<sizeof(T)>)min;
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
  return fusec_detail::Encode<T>::get(x, false);
}
template <class T>
FUSEC_DEVICE f32 rounded(f32 x) {
  return to_f32(from_f32<T>(x));
}
template <class T>
FUSEC_DEVICE T from_f32_sat(f32 x) {
  return fusec_detail::Encode<T>::get(x, true);
}
FUSEC_DEVICE void rounded_bf16_pair(f32 &a, f32 &b, f32 x, f32 y) {
  a = rounded<bf16>(x);
  b = rounded<bf16>(y);
}
template <class T>
FUSEC_DEVICE void from_f32_sat_pair(T &a, T &b, f32 x, f32 y) {
  a = from_f32_sat<T>(x);
  b = from_f32_sat<T>(y);
}
template <class T>
FUSEC_DEVICE T from_f64(f64 x) {
  return fusec_detail::Encode<T>::get(x, false);
}
template <class T, class F>
FUSEC_DEVICE T cvt_sat(F x) {
  using L = fusec_detail::Limits<T>;
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
template <class T>
FUSEC_DEVICE T rint_sat(f32 x) {
  return cvt_sat<T>(__builtin_rintf(x));
}
FUSEC_DEVICE void rint_sat_pair(i8 &a, i8 &b, f32 x, f32 y) {
  a = rint_sat<i8>(x);
  b = rint_sat<i8>(y);
}
FUSEC_DEVICE u32 to_tf32(f32 x) {
  u32 u = as_u32(x);
  if ((u & 0x7fffffffu) > 0x7f800000u)
    return 0x7fffffffu;
  return (u & 0x7fffffffu) >= 0x7f7ff000u ? u : (u + 0x1000u) & ~0x1fffu;
}
FUSEC_DEVICE u32 pack2(f16 lo, f16 hi) { return lo.bits | (u32)hi.bits << 16; }
FUSEC_DEVICE u32 pack2(bf16 lo, bf16 hi) {
  return lo.bits | (u32)hi.bits << 16;
}
template <class T>
FUSEC_DEVICE u32 pack2_rn(f32 lo, f32 hi) {
  return pack2(from_f32<T>(lo), from_f32<T>(hi));
}
FUSEC_DEVICE void unpack2(u32 x, f16 &lo, f16 &hi) {
  lo.bits = (u16)x;
  hi.bits = (u16)(x >> 16);
}
FUSEC_DEVICE void unpack2(u32 x, bf16 &lo, bf16 &hi) {
  lo.bits = (u16)x;
  hi.bits = (u16)(x >> 16);
}

template <class T>
FUSEC_DEVICE u32 halves_of(u16 pair) {
  return pack2(from_f32<f16>(to_f32(T{(u8)pair})),
               from_f32<f16>(to_f32(T{(u8)(pair >> 8)})));
}

namespace fusec_detail {
template <class T>
struct FormatOf;
template <>
struct FormatOf<f16> {
  static constexpr i32 v = FusecF16;
};
template <>
struct FormatOf<bf16> {
  static constexpr i32 v = FusecBF16;
};
} // namespace fusec_detail

template <class T>
FUSEC_DEVICE u32 fma2(u32 x, u32 y, u32 z) {
  return fusec_emu->packed(FusecFma2, fusec_detail::FormatOf<T>::v, x, y, z);
}
FUSEC_DEVICE u32 and_xor(u32 x, u32 mask, u32 flip) {
  return (x & mask) ^ flip;
}
FUSEC_DEVICE u32 byte_perm(u32 x, u32 y, u32 selector) {
  u64 bytes = (u64)y << 32 | x;
  u32 r = 0;
  for (i32 i = 0; i < 4; ++i)
    r |= (u32)(bytes >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
  return r;
}

//===-- Ids ---------------------------------------------------------------===//

FUSEC_DEVICE i32 tid() { return fusec_emu->ids()->tid; }
FUSEC_DEVICE i32 lane() { return fusec_emu->ids()->lane; }
FUSEC_DEVICE i32 warp() { return fusec_emu->ids()->warp; }
FUSEC_DEVICE i32 nthreads() { return fusec_emu->ids()->nthreads; }
FUSEC_DEVICE i32 cta_x() { return fusec_emu->ids()->cta[0]; }
FUSEC_DEVICE i32 cta_y() { return fusec_emu->ids()->cta[1]; }
FUSEC_DEVICE i32 cta_z() { return fusec_emu->ids()->cta[2]; }
FUSEC_DEVICE i32 ncta_x() { return fusec_emu->ids()->ncta[0]; }
FUSEC_DEVICE i32 ncta_y() { return fusec_emu->ids()->ncta[1]; }
FUSEC_DEVICE i32 ncta_z() { return fusec_emu->ids()->ncta[2]; }
template <i32 N>
FUSEC_DEVICE i32 part_of(const i32 (&first)[N], i32 block) {
  i32 low = 0;
  for (i32 step = 1 << 14; step > 0; step /= 2)
    if (low + step < N && first[low + step] <= block)
      low += step;
  return low;
}

//===-- Memory ------------------------------------------------------------===//

template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void ld(T (&dst)[N], i32 r, const T *p, I off, FUSEC_DETAIL_LINE) {
  if (r % V == 0)
    fusec_detail::load<V>(dst + r, fusec_detail::address(p, off), line);
}
template <i32 N, class T, class I>
FUSEC_DEVICE void prefetch_l2(const T *, I) {}
template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void ldm(T (&dst)[N], i32 r, const T *p, I off, bool mask,
                      fusec_detail::Same<T> other, FUSEC_DETAIL_LINE) {
  if (r % V != 0)
    return;
  if (mask) {
    fusec_detail::load<V>(dst + r, fusec_detail::address(p, off), line);
  } else {
    for (i32 k = 0; k < V; ++k)
      dst[r + k] = other;
  }
}
template <bool Once, class T, class I>
FUSEC_DEVICE void ld_group(u32 (&w)[4], const T *p, I off, bool mask,
                           FUSEC_DETAIL_LINE) {
  w[0] = w[1] = w[2] = w[3] = 0;
  if (mask)
    fusec_detail::load<4>(w, fusec_detail::address(p, off), line);
}
template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void st(T *p, I off, const T (&src)[N], i32 r, FUSEC_DETAIL_LINE) {
  if (r % V == 0)
    fusec_detail::store<V>(fusec_detail::address(p, off), src + r, line);
}
template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void stm(T *p, I off, const T (&src)[N], i32 r, bool mask,
                      FUSEC_DETAIL_LINE) {
  if (r % V == 0 && mask)
    fusec_detail::store<V>(fusec_detail::address(p, off), src + r, line);
}
template <i32 V, i32 D, class T, i32 N, i32 M, class P, class I>
FUSEC_DEVICE void ld_pair(T (&dst)[N], i32 r, T (&behind)[M], i32 q, P p, I off,
                          FUSEC_DETAIL_LINE) {
  ld<V>(dst, r, p, off, line);
  ld<V>(behind, q, p, off + D, line);
}
template <i32 V, i32 D, class T, i32 N, i32 M, class P, class I>
FUSEC_DEVICE void stm_pair(P p, I off, const T (&src)[N], i32 r,
                           const T (&behind)[M], i32 q, bool mask,
                           FUSEC_DETAIL_LINE) {
  stm<V>(p, off, src, r, mask, line);
  stm<V>(p, off + D, behind, q, mask, line);
}
template <i32 V, i32 D, class T, i32 N, i32 M, class P, class I>
FUSEC_DEVICE void st_pair(P p, I off, const T (&src)[N], i32 r,
                          const T (&behind)[M], i32 q, FUSEC_DETAIL_LINE) {
  stm_pair<V, D>(p, off, src, r, behind, q, true, line);
}
template <i32 V, class T, i32 N, class I>
FUSEC_DEVICE void st_if(T *p, I off, const T (&src)[N], i32 r, bool mask,
                        FUSEC_DETAIL_LINE) {
  stm<V>(p, off, src, r, mask, line);
}
template <class T, class I>
FUSEC_DEVICE T ld1(const T *p, I off, FUSEC_DETAIL_LINE) {
  T r;
  fusec_detail::load<1>(&r, fusec_detail::address(p, off), line);
  return r;
}
template <class T, class I>
FUSEC_DEVICE T ldm1(const T *p, I off, bool mask, fusec_detail::Same<T> other,
                    FUSEC_DETAIL_LINE) {
  T r = other;
  if (mask)
    fusec_detail::load<1>(&r, fusec_detail::address(p, off), line);
  return r;
}
template <class T, class I>
FUSEC_DEVICE void st1(T *p, I off, fusec_detail::Same<T> v, FUSEC_DETAIL_LINE) {
  fusec_detail::store<1>(fusec_detail::address(p, off), &v, line);
}
template <class T, class I>
FUSEC_DEVICE void stm1(T *p, I off, fusec_detail::Same<T> v, bool mask,
                       FUSEC_DETAIL_LINE) {
  if (mask)
    fusec_detail::store<1>(fusec_detail::address(p, off), &v, line);
}

template <class T>
FUSEC_DEVICE T lds(FusecShared<T> s, i32 i, FUSEC_DETAIL_LINE) {
  T r;
  fusec_detail::sharedLoad<1>(&r, s, i, line);
  return r;
}
template <class T>
FUSEC_DEVICE void sts(FusecShared<T> s, i32 i, fusec_detail::Same<T> v,
                      FUSEC_DETAIL_LINE) {
  fusec_detail::sharedStore<1>(s, i, &v, line);
}
template <i32 V, class T, i32 N>
FUSEC_DEVICE void lds(T (&dst)[N], i32 r, FusecShared<T> s, i32 i,
                      FUSEC_DETAIL_LINE) {
  if (r % V == 0)
    fusec_detail::sharedLoad<V>(dst + r, s, i, line);
}
template <i32 V, class T, i32 N>
FUSEC_DEVICE void sts(FusecShared<T> s, i32 i, const T (&src)[N], i32 r,
                      FUSEC_DETAIL_LINE) {
  if (r % V == 0)
    fusec_detail::sharedStore<V>(s, i, src + r, line);
}

//===-- Synchronisation and warps -----------------------------------------===//

FUSEC_DEVICE void bar(FUSEC_DETAIL_LINE) { fusec_emu->barrier(0, -1, line); }
FUSEC_DEVICE void bar_named(i32 id, i32 threads, FUSEC_DETAIL_LINE) {
  fusec_emu->barrier(id, threads, line);
}
FUSEC_DEVICE void bar_warp(FUSEC_DETAIL_LINE) { fusec_emu->barrierWarp(line); }
FUSEC_DEVICE void fence_gpu(FUSEC_DETAIL_LINE) { fusec_emu->fence(line); }
FUSEC_DEVICE void grid_wait(FUSEC_DETAIL_LINE) { fusec_emu->gridWait(line); }
FUSEC_DEVICE void grid_next() {}

#define FUSEC_DETAIL_SHFL(name, kind)                                          \
  template <class T>                                                           \
  FUSEC_DEVICE T name(T v, i32 arg, FUSEC_DETAIL_LINE) {                       \
    return from_bits<T>((fusec_detail::UInt<sizeof(T)>)fusec_emu->shuffle(     \
        kind, to_bits(v), arg, line));                                         \
  }
FUSEC_DETAIL_SHFL(shfl_xor, FusecShflXor)
FUSEC_DETAIL_SHFL(shfl_idx, FusecShflIdx)
FUSEC_DETAIL_SHFL(shfl_down, FusecShflDown)
FUSEC_DETAIL_SHFL(shfl_up, FusecShflUp)
#undef FUSEC_DETAIL_SHFL

FUSEC_DEVICE u32 ballot(bool p, FUSEC_DETAIL_LINE) {
  return fusec_emu->vote(p, line);
}
FUSEC_DEVICE bool any(bool p, FUSEC_DETAIL_LINE) {
  return fusec_emu->vote(p, line) != 0;
}
FUSEC_DEVICE bool all(bool p, FUSEC_DETAIL_LINE) {
  return fusec_emu->vote(!p, line) == 0;
}
FUSEC_DEVICE i32 warp_max(i32 v, FUSEC_DETAIL_LINE) {
  for (i32 bit = 1; bit < 32; bit *= 2) {
    i32 other = shfl_xor(v, bit, line);
    v = v > other ? v : other;
  }
  return v;
}

//===-- Atomics -----------------------------------------------------------===//

#define FUSEC_DETAIL_ATOMIC(name, op, T, number)                               \
  template <class I>                                                           \
  FUSEC_DEVICE T name(T *p, I off, T v, FUSEC_DETAIL_LINE) {                   \
    return from_bits<T>((fusec_detail::UInt<sizeof(T)>)fusec_detail::atomic(   \
        op, number, fusec_detail::address(p, off), to_bits(v), 0, line));      \
  }
FUSEC_DETAIL_ATOMIC(atom_add, FusecAdd, i32, FusecI32)
FUSEC_DETAIL_ATOMIC(atom_add, FusecAdd, u32, FusecU32)
FUSEC_DETAIL_ATOMIC(atom_add, FusecAdd, i64, FusecI64)
FUSEC_DETAIL_ATOMIC(atom_add, FusecAdd, f32, FusecF32)
FUSEC_DETAIL_ATOMIC(atom_add, FusecAdd, f64, FusecF64)
FUSEC_DETAIL_ATOMIC(atom_max, FusecMax, i32, FusecI32)
FUSEC_DETAIL_ATOMIC(atom_max, FusecMax, u32, FusecU32)
FUSEC_DETAIL_ATOMIC(atom_max, FusecMax, i64, FusecI64)
FUSEC_DETAIL_ATOMIC(atom_min, FusecMin, i32, FusecI32)
FUSEC_DETAIL_ATOMIC(atom_min, FusecMin, u32, FusecU32)
FUSEC_DETAIL_ATOMIC(atom_min, FusecMin, i64, FusecI64)
#undef FUSEC_DETAIL_ATOMIC
template <class I>
FUSEC_DEVICE u32 atom_cas(u32 *p, I off, u32 cmp, u32 v, FUSEC_DETAIL_LINE) {
  return (u32)fusec_detail::atomic(FusecCas, FusecU32,
                                   fusec_detail::address(p, off), v, cmp, line);
}
template <class I>
FUSEC_DEVICE u64 atom_cas(u64 *p, I off, u64 cmp, u64 v, FUSEC_DETAIL_LINE) {
  return fusec_detail::atomic(FusecCas, FusecU64, fusec_detail::address(p, off),
                              v, cmp, line);
}
template <class I>
FUSEC_DEVICE u32 ld_acquire(const u32 *p, I off, FUSEC_DETAIL_LINE) {
  // The null update: an atomic of the host acquires.
  fusec_emu->poll(line);
  return (u32)fusec_detail::atomic(FusecAdd, FusecU32,
                                   fusec_detail::address(p, off), 0, 0, line);
}
template <class I>
FUSEC_DEVICE void st_release(u32 *p, I off, u32 v, FUSEC_DETAIL_LINE) {
  fusec_detail::atomic(FusecExchange, FusecU32, fusec_detail::address(p, off),
                       v, 0, line);
}
template <class I>
FUSEC_DEVICE void grid_sync(u32 *p, I off, FUSEC_DETAIL_LINE) {
  const u32 others = (u32)(ncta_x() * ncta_y() * ncta_z()) - 1u;
  const bool first = cta_x() == 0 && cta_y() == 0 && cta_z() == 0;
  bar(line);
  if (tid() == 0) {
    const u32 old = atom_add(p, off, first ? 0x80000000u - others : 1u, line);
    while (((old ^ ld_acquire(p, off, line)) >> 31) == 0) {
    }
  }
  bar(line);
}
template <class I>
FUSEC_DEVICE void grid_sync(i32 *p, I off, FUSEC_DETAIL_LINE) {
  grid_sync((u32 *)p, off, line);
}
template <class I>
FUSEC_DEVICE u32 ticket(u32 *p, I off, u32 n, FUSEC_DETAIL_LINE) {
  return (u32)fusec_detail::atomic(FusecTicket, FusecU32,
                                   fusec_detail::address(p, off), n, 0, line);
}
template <class I>
FUSEC_DEVICE u32 ticket(i32 *p, I off, u32 n, FUSEC_DETAIL_LINE) {
  return ticket((u32 *)p, off, n, line);
}

//===-- Tensor cores and asynchronous copies ------------------------------===//

#define FUSEC_DETAIL_MMA(name, kind, type)                                     \
  FUSEC_DEVICE void name(type(&d)[4], const u32(&a)[4], const u32(&b)[2],      \
                         FUSEC_DETAIL_LINE) {                                  \
    fusec_emu->mma(kind, d, a, b, line);                                       \
  }
FUSEC_DETAIL_MMA(mma_f16, FusecMmaF16, f32)
FUSEC_DETAIL_MMA(mma_bf16, FusecMmaBF16, f32)
FUSEC_DETAIL_MMA(mma_tf32, FusecMmaTF32, f32)
FUSEC_DETAIL_MMA(mma_i8, FusecMmaI8, i32)
FUSEC_DETAIL_MMA(mma_i8u8, FusecMmaI8U8, i32)
FUSEC_DETAIL_MMA(mma_u8i8, FusecMmaU8I8, i32)
FUSEC_DETAIL_MMA(mma_u8, FusecMmaU8, i32)
#undef FUSEC_DETAIL_MMA
template <class T>
FUSEC_DEVICE void ldmatrix_x4(u32 (&r)[4], FusecShared<T> s, i32 i,
                              FUSEC_DETAIL_LINE) {
  static_assert(sizeof(T) == 2, "ldmatrix moves 16-bit elements");
  fusec_emu->ldmatrix(r, 4, false, fusec_detail::at(s, i), line);
}
template <class T>
FUSEC_DEVICE void ldmatrix_x4_trans(u32 (&r)[4], FusecShared<T> s, i32 i,
                                    FUSEC_DETAIL_LINE) {
  static_assert(sizeof(T) == 2, "ldmatrix moves 16-bit elements");
  fusec_emu->ldmatrix(r, 4, true, fusec_detail::at(s, i), line);
}
#define FUSEC_DETAIL_CP_ASYNC(name, bytes)                                     \
  template <class T, class I>                                                  \
  FUSEC_DEVICE void name(FusecShared<T> s, i32 i,                              \
                         const fusec_detail::Same<T> *p, I off, bool pred,     \
                         FUSEC_DETAIL_LINE) {                                  \
    fusec_detail::copyAsync<bytes>(s, i, fusec_detail::address(p, off), pred,  \
                                   line);                                      \
  }
FUSEC_DETAIL_CP_ASYNC(cp_line16, 16)
FUSEC_DETAIL_CP_ASYNC(cp_async16, 16)
FUSEC_DETAIL_CP_ASYNC(cp_async8, 8)
FUSEC_DETAIL_CP_ASYNC(cp_async4, 4)
#undef FUSEC_DETAIL_CP_ASYNC
FUSEC_DEVICE void cp_async_commit(FUSEC_DETAIL_LINE) {
  fusec_emu->cpAsyncCommit(line);
}
template <i32 N>
FUSEC_DEVICE void cp_async_wait(FUSEC_DETAIL_LINE) {
  fusec_emu->cpAsyncWait(N, line);
}

//===-- Mathematics -------------------------------------------------------===//

#define FUSEC_DETAIL_MATH1(name, fn)                                           \
  FUSEC_DEVICE f32 m_##name(f32 x) { return __builtin_##fn##f(x); }            \
  FUSEC_DEVICE f64 m_##name(f64 x) { return __builtin_##fn(x); }
#define FUSEC_DETAIL_MATH2(name, fn)                                           \
  FUSEC_DEVICE f32 m_##name(f32 x, f32 y) { return __builtin_##fn##f(x, y); }  \
  FUSEC_DEVICE f64 m_##name(f64 x, f64 y) { return __builtin_##fn(x, y); }
FUSEC_DETAIL_MATH1(exp, exp)
FUSEC_DETAIL_MATH1(exp2, exp2)
FUSEC_DETAIL_MATH1(expm1, expm1)
FUSEC_DETAIL_MATH1(log, log)
FUSEC_DETAIL_MATH1(log2, log2)
FUSEC_DETAIL_MATH1(log1p, log1p)
FUSEC_DETAIL_MATH1(sqrt, sqrt)
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

FUSEC_DEVICE f32 m_rsqrt(f32 x) { return (f32)(1.0 / __builtin_sqrt((f64)x)); }
FUSEC_DEVICE f64 m_rsqrt(f64 x) { return 1.0 / __builtin_sqrt(x); }
FUSEC_DEVICE f32 m_fma(f32 x, f32 y, f32 z) { return __builtin_fmaf(x, y, z); }
FUSEC_DEVICE f64 m_fma(f64 x, f64 y, f64 z) { return __builtin_fma(x, y, z); }
FUSEC_DEVICE f32 m_div_bounded(f32 x, f32 y) { return x / y; }
FUSEC_DEVICE f64 m_div_bounded(f64 x, f64 y) { return x / y; }
FUSEC_DEVICE f32 m_div_bounded_near(f32 x, f32 y) { return x / y; }
// May be less exact on a GPU: what is rounded to 16 bits or fewer afterwards.
FUSEC_DEVICE f32 m_exp_near(f32 x) { return m_exp(x); }
FUSEC_DEVICE f32 m_exp_part(f32 x) { return m_exp(x); }
FUSEC_DEVICE f32 m_exp2_near(f32 x) { return m_exp2(x); }
FUSEC_DEVICE f32 m_sqrt_near(f32 x) { return m_sqrt(x); }
FUSEC_DEVICE f32 m_div_near(f32 x, f32 y) { return x / y; }
FUSEC_DEVICE f32 m_div_by_sum(f32 x, f32 y) { return x / y; }
FUSEC_DEVICE f32 m_erfc(f32 x) { return __builtin_erfcf(x); }
FUSEC_DEVICE f64 m_erfc(f64 x) { return __builtin_erfc(x); }
FUSEC_DEVICE f32 m_erfc_near(f32 x) { return m_erfc(x); }
FUSEC_DEVICE f32 m_one_plus_erf(f32 x, f32) { return 1.0f + m_erf(x); }
FUSEC_DEVICE i32 m_plain_bits(f32 x) {
  return x != x ? 0x7fffffff : from_bits<i32>(to_bits(x + 0.0f));
}
FUSEC_DEVICE bool m_isnan(f32 x) { return x != x; }
FUSEC_DEVICE bool m_isnan(f64 x) { return x != x; }
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
FUSEC_DEVICE f32 m_max(f32 x, f32 y) {
  return x != x || y != y ? as_f32(0x7fffffffu)
         : x == y         ? as_f32(as_u32(x) & as_u32(y))
         : x > y          ? x
                          : y;
}
FUSEC_DEVICE bf16 m_max(bf16 x, bf16 y) {
  return from_f32<bf16>(m_max(to_f32(x), to_f32(y)));
}
FUSEC_DEVICE f16 m_max(f16 x, f16 y) {
  return from_f32<f16>(m_max(to_f32(x), to_f32(y)));
}
FUSEC_DEVICE f32 m_min(f32 x, f32 y) {
  return x != x || y != y ? as_f32(0x7fffffffu)
         : x == y         ? as_f32(as_u32(x) | as_u32(y))
         : x < y          ? x
                          : y;
}

//===-- Integers ----------------------------------------------------------===//

// prelude_integers.cuh, which follows, names these two alone of CUDA's.
FUSEC_DEVICE u32 __umulhi(u32 x, u32 y) { return (u32)((u64)x * y >> 32); }
FUSEC_DEVICE u64 __umul64hi(u64 x, u64 y) {
  return (u64)((unsigned __int128)x * y >> 64);
}

#endif // FUSEC_EMU_API_ONLY
#endif // FUSEC_PRELUDE_EMULATOR_H
