//===- prelude_emulator_sm90.h - Hopper's prelude, emulated -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same names as prelude_sm90.cuh (see there for what each one means); put
// behind prelude_emulator.h for kernels that set Kernel::usesSm90.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PRELUDE_EMULATOR_SM90_H
#define FUSEC_PRELUDE_EMULATOR_SM90_H
/// Headers that build on this one ask for it.
#define FUSEC_SM90 1

#define FUSEC_KERNEL_CLUSTER(name, threads, blocks, cluster)                   \
  FUSEC_DETAIL_KERNEL(name, threads, cluster, 0)
#define FUSEC_SHARED_TILE(T, name, count)                                      \
  static char fusec_key_##name;                                                \
  const FusecShared<T> name =                                                  \
      fusec_detail::sharedArray<T>(&fusec_key_##name, (count), 1024, __LINE__)
#define FUSEC_MBARRIERS(name, count) FUSEC_SHARED(FusecMbarrier, name, count)
using FusecMbarriers = FusecShared<FusecMbarrier>;

//===-- Transaction barriers ----------------------------------------------===//

FUSEC_DEVICE void mbar_init(FusecMbarriers b, i32 i, i32 count,
                            FUSEC_DETAIL_LINE) {
  fusec_emu->mbarInit(fusec_detail::at(b, i), count, line);
}
FUSEC_DEVICE void mbar_init_fence(FUSEC_DETAIL_LINE) {
  fusec_emu->mbarInitFence(line);
}
FUSEC_DEVICE void mbar_arrive(FusecMbarriers b, i32 i, FUSEC_DETAIL_LINE) {
  fusec_emu->mbarArrive(FusecArrive, fusec_detail::at(b, i), 0, 0, line);
}
FUSEC_DEVICE void mbar_arrive_expect(FusecMbarriers b, i32 i, i32 bytes,
                                     FUSEC_DETAIL_LINE) {
  fusec_emu->mbarArrive(FusecArriveExpect, fusec_detail::at(b, i), 0, bytes,
                        line);
}
FUSEC_DEVICE void mbar_expect(FusecMbarriers b, i32 i, i32 bytes,
                              FUSEC_DETAIL_LINE) {
  fusec_emu->mbarArrive(FusecExpect, fusec_detail::at(b, i), 0, bytes, line);
}
FUSEC_DEVICE void mbar_arrive_remote(FusecMbarriers b, i32 i, i32 rank,
                                     FUSEC_DETAIL_LINE) {
  fusec_emu->mbarArrive(FusecArriveRemote, fusec_detail::at(b, i), rank, 0,
                        line);
}
FUSEC_DEVICE void mbar_arrive_remote_release(FusecMbarriers b, i32 i, i32 rank,
                                             FUSEC_DETAIL_LINE) {
  fusec_emu->mbarArrive(FusecArriveRemoteRelease, fusec_detail::at(b, i), rank,
                        0, line);
}
FUSEC_DEVICE void mbar_wait(FusecMbarriers b, i32 i, i32 parity,
                            FUSEC_DETAIL_LINE) {
  fusec_emu->mbarWait(FusecWait, fusec_detail::at(b, i), parity, line);
}
FUSEC_DEVICE void mbar_wait_cluster(FusecMbarriers b, i32 i, i32 parity,
                                    FUSEC_DETAIL_LINE) {
  fusec_emu->mbarWait(FusecWaitCluster, fusec_detail::at(b, i), parity, line);
}
FUSEC_DEVICE bool mbar_test(FusecMbarriers b, i32 i, i32 parity,
                            FUSEC_DETAIL_LINE) {
  return fusec_emu->mbarWait(FusecTest, fusec_detail::at(b, i), parity, line);
}

//===-- Clusters ----------------------------------------------------------===//

FUSEC_DEVICE i32 cluster_rank() { return fusec_emu->ids()->rank; }
FUSEC_DEVICE i32 cluster_size() { return fusec_emu->ids()->cluster; }
FUSEC_DEVICE void cluster_arrive(FUSEC_DETAIL_LINE) {
  fusec_emu->clusterBarrier(FusecClusterArrive, line);
}
FUSEC_DEVICE void cluster_arrive_relaxed(FUSEC_DETAIL_LINE) {
  fusec_emu->clusterBarrier(FusecClusterArriveRelaxed, line);
}
FUSEC_DEVICE void cluster_wait(FUSEC_DETAIL_LINE) {
  fusec_emu->clusterBarrier(FusecClusterWait, line);
}
FUSEC_DEVICE void cluster_sync(FUSEC_DETAIL_LINE) {
  cluster_arrive(line);
  cluster_wait(line);
}

template <class T>
FUSEC_DEVICE T lds_cluster(FusecShared<T> s, i32 i, i32 rank,
                           FUSEC_DETAIL_LINE) {
  T r;
  fusec_emu->peerLoad(&r, fusec_detail::at(s, i), 1, rank, line);
  return r;
}
template <i32 V, class T, i32 N>
FUSEC_DEVICE void lds_cluster(T (&dst)[N], i32 r, FusecShared<T> s, i32 i,
                              i32 rank, FUSEC_DETAIL_LINE) {
  static_assert(V * sizeof(T) <= 16, "at most 16 bytes");
  if (r % V == 0)
    fusec_emu->peerLoad(dst + r, fusec_detail::at(s, i), V, rank, line);
}
template <class T>
FUSEC_DEVICE void sts_cluster(FusecShared<T> s, i32 i, fusec_detail::Same<T> v,
                              i32 rank, FUSEC_DETAIL_LINE) {
  fusec_emu->peerStore(fusec_detail::at(s, i), &v, 1, rank, line);
}
template <i32 V, class T, i32 N>
FUSEC_DEVICE void sts_cluster(FusecShared<T> s, i32 i, const T (&src)[N], i32 r,
                              i32 rank, FUSEC_DETAIL_LINE) {
  static_assert(V * sizeof(T) <= 16, "at most 16 bytes");
  if (r % V == 0)
    fusec_emu->peerStore(fusec_detail::at(s, i), src + r, V, rank, line);
}
template <class T>
FUSEC_DEVICE void st_async(FusecShared<T> s, i32 i, fusec_detail::Same<T> v,
                           i32 rank, FusecMbarriers b, i32 j,
                           FUSEC_DETAIL_LINE) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "4, 8 or 16 bytes");
  fusec_emu->storeAsync(fusec_detail::at(s, i), &v, 1, rank,
                        fusec_detail::at(b, j), line);
}
template <i32 V, class T, i32 N>
FUSEC_DEVICE void st_async(FusecShared<T> s, i32 i, const T (&src)[N], i32 r,
                           i32 rank, FusecMbarriers b, i32 j,
                           FUSEC_DETAIL_LINE) {
  static_assert(V * sizeof(T) == 4 || V * sizeof(T) == 8 || V * sizeof(T) == 16,
                "4, 8 or 16 bytes");
  if (r % V == 0)
    fusec_emu->storeAsync(fusec_detail::at(s, i), src + r, V, rank,
                          fusec_detail::at(b, j), line);
}

//===-- The copy engine ---------------------------------------------------===//

FUSEC_DEVICE void fence_proxy_async(FUSEC_DETAIL_LINE) {
  fusec_emu->proxyFence(line);
}
FUSEC_DEVICE void fence_proxy_async_global(FUSEC_DETAIL_LINE) {
  fusec_emu->fence(line);
}
#define FUSEC_TENSOR_MAP(name) const FusecTensorMap &name
#define FUSEC_TENSOR_MAP_REF(name) const FusecTensorMap &name
FUSEC_DEVICE void tma_prefetch_map(FUSEC_TENSOR_MAP_REF(map),
                                   FUSEC_DETAIL_LINE) {
  (void)map;
  fusec_emu->fence(line);
}

#define FUSEC_DETAIL_LIST(...) __VA_ARGS__
#define FUSEC_DETAIL_TMA(n, params, ...)                                       \
  template <class T>                                                           \
  FUSEC_DEVICE void tma_load_##n##d(                                           \
      FusecShared<T> s, i32 i, FUSEC_TENSOR_MAP_REF(map), FusecMbarriers b,    \
      i32 j, FUSEC_DETAIL_LIST params, FUSEC_DETAIL_LINE) {                    \
    const i32 c[] = {__VA_ARGS__};                                             \
    fusec_emu->tmaLoad(fusec_detail::at(s, i), &map, c, n,                     \
                       fusec_detail::at(b, j), 0, line);                       \
  }                                                                            \
  template <class T>                                                           \
  FUSEC_DEVICE void tma_load_multicast_##n##d(                                 \
      FusecShared<T> s, i32 i, FUSEC_TENSOR_MAP_REF(map), FusecMbarriers b,    \
      i32 j, u32 mask, FUSEC_DETAIL_LIST params, FUSEC_DETAIL_LINE) {          \
    const i32 c[] = {__VA_ARGS__};                                             \
    fusec_emu->tmaLoad(fusec_detail::at(s, i), &map, c, n,                     \
                       fusec_detail::at(b, j), mask | 0x80000000u, line);      \
  }                                                                            \
  template <class T>                                                           \
  FUSEC_DEVICE void tma_store_##n##d(                                          \
      FUSEC_TENSOR_MAP_REF(map), FusecShared<T> s, i32 i,                      \
      FUSEC_DETAIL_LIST params, FUSEC_DETAIL_LINE) {                           \
    const i32 c[] = {__VA_ARGS__};                                             \
    fusec_emu->tmaStore(&map, fusec_detail::at(s, i), c, n, line);             \
  }                                                                            \
  FUSEC_DEVICE void tma_prefetch_##n##d(FUSEC_TENSOR_MAP_REF(map),             \
                                        FUSEC_DETAIL_LIST params,              \
                                        FUSEC_DETAIL_LINE) {                   \
    const i32 c[] = {__VA_ARGS__};                                             \
    fusec_emu->tmaPrefetch(&map, c, n, line);                                  \
  }
FUSEC_DETAIL_TMA(1, (i32 c0), c0)
FUSEC_DETAIL_TMA(2, (i32 c0, i32 c1), c0, c1)
FUSEC_DETAIL_TMA(3, (i32 c0, i32 c1, i32 c2), c0, c1, c2)
FUSEC_DETAIL_TMA(4, (i32 c0, i32 c1, i32 c2, i32 c3), c0, c1, c2, c3)
FUSEC_DETAIL_TMA(5, (i32 c0, i32 c1, i32 c2, i32 c3, i32 c4), c0, c1, c2, c3,
                 c4)
#undef FUSEC_DETAIL_TMA

#define FUSEC_DETAIL_IM2COL(n, params, coordinates, offsetParams, ...)         \
  template <class T>                                                           \
  FUSEC_DEVICE void tma_load_im2col_##n##d(                                    \
      FusecShared<T> s, i32 i, FUSEC_TENSOR_MAP_REF(map), FusecMbarriers b,    \
      i32 j, FUSEC_DETAIL_LIST params, FUSEC_DETAIL_LIST offsetParams,         \
      FUSEC_DETAIL_LINE) {                                                     \
    const i32 at[] = {FUSEC_DETAIL_LIST coordinates};                          \
    const i32 by[] = {__VA_ARGS__};                                            \
    fusec_emu->im2colLoad(fusec_detail::at(s, i), &map, at, by, n,             \
                          fusec_detail::at(b, j), 0, line);                    \
  }                                                                            \
  template <class T>                                                           \
  FUSEC_DEVICE void tma_load_multicast_im2col_##n##d(                          \
      FusecShared<T> s, i32 i, FUSEC_TENSOR_MAP_REF(map), FusecMbarriers b,    \
      i32 j, u32 mask, FUSEC_DETAIL_LIST params,                               \
      FUSEC_DETAIL_LIST offsetParams, FUSEC_DETAIL_LINE) {                     \
    const i32 at[] = {FUSEC_DETAIL_LIST coordinates};                          \
    const i32 by[] = {__VA_ARGS__};                                            \
    fusec_emu->im2colLoad(fusec_detail::at(s, i), &map, at, by, n,             \
                          fusec_detail::at(b, j), mask | 0x80000000u, line);   \
  }                                                                            \
  template <class T>                                                           \
  FUSEC_DEVICE void tma_store_im2col_##n##d(                                   \
      FUSEC_TENSOR_MAP_REF(map), FusecShared<T> s, i32 i,                      \
      FUSEC_DETAIL_LIST params, FUSEC_DETAIL_LINE) {                           \
    const i32 at[] = {FUSEC_DETAIL_LIST coordinates};                          \
    fusec_emu->im2colStore(&map, fusec_detail::at(s, i), at, n, line);         \
  }
FUSEC_DETAIL_IM2COL(3, (i32 c, i32 w, i32 n), (c, w, n), (i32 ow), ow)
FUSEC_DETAIL_IM2COL(4, (i32 c, i32 w, i32 h, i32 n), (c, w, h, n),
                    (i32 ow, i32 oh), ow, oh)
FUSEC_DETAIL_IM2COL(5, (i32 c, i32 w, i32 h, i32 d, i32 n), (c, w, h, d, n),
                    (i32 ow, i32 oh, i32 od), ow, oh, od)
#undef FUSEC_DETAIL_IM2COL

template <class T, class I>
FUSEC_DEVICE void bulk_load(FusecShared<T> s, i32 i,
                            const fusec_detail::Same<T> *p, I off, i32 bytes,
                            FusecMbarriers b, i32 j, FUSEC_DETAIL_LINE) {
  const fusec_detail::Address from = fusec_detail::address(p, off);
  fusec_emu->bulkLoad(fusec_detail::at(s, i), from.base, from.offset, bytes,
                      fusec_detail::at(b, j), 0, line);
}
template <class T, class I>
FUSEC_DEVICE void bulk_load_multicast(FusecShared<T> s, i32 i,
                                      const fusec_detail::Same<T> *p, I off,
                                      i32 bytes, FusecMbarriers b, i32 j,
                                      u32 mask, FUSEC_DETAIL_LINE) {
  const fusec_detail::Address from = fusec_detail::address(p, off);
  fusec_emu->bulkLoad(fusec_detail::at(s, i), from.base, from.offset, bytes,
                      fusec_detail::at(b, j), mask | 0x80000000u, line);
}
template <class T, class I>
FUSEC_DEVICE void bulk_store(fusec_detail::Same<T> *p, I off, FusecShared<T> s,
                             i32 i, i32 bytes, FUSEC_DETAIL_LINE) {
  const fusec_detail::Address to = fusec_detail::address(p, off);
  fusec_emu->bulkStore(to.base, to.offset, fusec_detail::at(s, i), bytes, line);
}
template <class T>
FUSEC_DEVICE void bulk_send(FusecShared<T> d, i32 k, i32 rank, FusecShared<T> s,
                            i32 i, i32 bytes, FusecMbarriers b, i32 j,
                            FUSEC_DETAIL_LINE) {
  fusec_emu->bulkSend(fusec_detail::at(d, k), rank, fusec_detail::at(s, i),
                      bytes, fusec_detail::at(b, j), line);
}
FUSEC_DEVICE void bulk_commit(FUSEC_DETAIL_LINE) {
  fusec_emu->bulkCommit(line);
}
template <i32 N>
FUSEC_DEVICE void bulk_wait(FUSEC_DETAIL_LINE) {
  fusec_emu->bulkWait(N, false, line);
}
template <i32 N>
FUSEC_DEVICE void bulk_wait_read(FUSEC_DETAIL_LINE) {
  fusec_emu->bulkWait(N, true, line);
}

//===-- Warps and roles ---------------------------------------------------===//

FUSEC_DEVICE bool elect_one(FUSEC_DETAIL_LINE) {
  return fusec_emu->elect(line);
}
template <i32 N>
FUSEC_DEVICE void setmaxnreg_inc(FUSEC_DETAIL_LINE) {
  static_assert(N >= 24 && N <= 256 && N % 8 == 0, "24 to 256 in steps of 8");
  fusec_emu->registers(N, true, line);
}
template <i32 N>
FUSEC_DEVICE void setmaxnreg_dec(FUSEC_DETAIL_LINE) {
  static_assert(N >= 24 && N <= 256 && N % 8 == 0, "24 to 256 in steps of 8");
  fusec_emu->registers(N, false, line);
}
FUSEC_DEVICE void bar_named_arrive(i32 id, i32 threads, FUSEC_DETAIL_LINE) {
  fusec_emu->barrierArrive(id, threads, line);
}
FUSEC_DEVICE u32 bar_token(i32 id, i32 threads, FUSEC_DETAIL_LINE) {
  fusec_emu->barrierReduce(id, threads, line);
  return 0;
}
template <i32 N>
FUSEC_DEVICE void pin(u32 (&v)[N], u32 token) {
  for (i32 k = 0; k < N; ++k)
    v[k] |= token;
}

#define FUSEC_DETAIL_STMATRIX(n, suffix, transposed)                           \
  template <class T>                                                           \
  FUSEC_DEVICE void stmatrix_x##n##suffix(                                     \
      FusecShared<T> s, i32 i, const u32(&r)[n], FUSEC_DETAIL_LINE) {          \
    static_assert(sizeof(T) == 2, "stmatrix moves 16-bit elements");           \
    fusec_emu->stmatrix(fusec_detail::at(s, i), r, n, transposed, line);       \
  }
FUSEC_DETAIL_STMATRIX(1, , false)
FUSEC_DETAIL_STMATRIX(2, , false)
FUSEC_DETAIL_STMATRIX(4, , false)
FUSEC_DETAIL_STMATRIX(1, _trans, true)
FUSEC_DETAIL_STMATRIX(2, _trans, true)
FUSEC_DETAIL_STMATRIX(4, _trans, true)
#undef FUSEC_DETAIL_STMATRIX

//===-- Packed numbers ----------------------------------------------------===//

namespace fusec_detail {
#define FUSEC_DETAIL_FORMAT(T, number)                                         \
  template <>                                                                  \
  struct FormatOf<T> {                                                         \
    static constexpr i32 v = number;                                           \
  };
FUSEC_DETAIL_FORMAT(f32, FusecTF32)
FUSEC_DETAIL_FORMAT(f8e4m3, FusecF8E4M3)
FUSEC_DETAIL_FORMAT(f8e5m2, FusecF8E5M2)
FUSEC_DETAIL_FORMAT(i8, FusecS8)
FUSEC_DETAIL_FORMAT(u8, FusecU8)
#undef FUSEC_DETAIL_FORMAT
/// The instruction makes every NaN the positive one.
template <class T>
FUSEC_DEVICE u32 satByte(f32 x) {
  return x != x ? 0x7fu : (u32)fusec_emu->encode(FormatOf<T>::v, x, true);
}
} // namespace fusec_detail

template <class T>
FUSEC_DEVICE u32 pack2_f32(f32 lo, f32 hi) {
  return fusec_emu->packed(FusecPack2, fusec_detail::FormatOf<T>::v, as_u32(lo),
                           as_u32(hi), 0);
}
template <class T>
FUSEC_DEVICE u32 pack4_sat(f32 a, f32 b, f32 c, f32 d) {
  using fusec_detail::satByte;
  return satByte<T>(a) | satByte<T>(b) << 8 | satByte<T>(c) << 16 |
         satByte<T>(d) << 24;
}
#define FUSEC_DETAIL_PACKED2(name, op)                                         \
  template <class T>                                                           \
  FUSEC_DEVICE u32 name(u32 x, u32 y) {                                        \
    return fusec_emu->packed(op, fusec_detail::FormatOf<T>::v, x, y, 0);       \
  }
FUSEC_DETAIL_PACKED2(add2, FusecAdd2)
FUSEC_DETAIL_PACKED2(sub2, FusecSub2)
FUSEC_DETAIL_PACKED2(mul2, FusecMul2)
FUSEC_DETAIL_PACKED2(max2, FusecMax2)
FUSEC_DETAIL_PACKED2(min2, FusecMin2)
#undef FUSEC_DETAIL_PACKED2

//===-- Warpgroup products ------------------------------------------------===//

FUSEC_DEVICE void wgmma_fence(FUSEC_DETAIL_LINE) {
  fusec_emu->wgmmaFence(line);
}
FUSEC_DEVICE void wgmma_commit(FUSEC_DETAIL_LINE) {
  fusec_emu->wgmmaCommit(line);
}
template <i32 N>
FUSEC_DEVICE void wgmma_wait(FUSEC_DETAIL_LINE) {
  fusec_emu->wgmmaWait(N, line);
}
template <i32 N, i32 R>
FUSEC_DEVICE void wgmma_wait(f32 (&)[R], FUSEC_DETAIL_LINE) {
  fusec_emu->wgmmaWait(N, line);
}
template <i32 N, i32 R>
FUSEC_DEVICE void wgmma_wait(i32 (&)[R], FUSEC_DETAIL_LINE) {
  fusec_emu->wgmmaWait(N, line);
}
template <i32 Swizzle, class T>
FUSEC_DEVICE u64 wgmma_desc(FusecShared<T> s, i32 i, i32 leading, i32 stride) {
  static_assert(Swizzle == 0 || Swizzle == 32 || Swizzle == 64 ||
                    Swizzle == 128,
                "a swizzle is 0, 32, 64 or 128 bytes");
  constexpr u64 mode = Swizzle == 128  ? 1
                       : Swizzle == 64 ? 2
                                       : Swizzle / 32 * 3;
  const u32 address = s.base + (u32)((s.first + i) * (i64)sizeof(T));
  return (u64)((address & 0x3ffff) >> 4) |
         (u64)(((u32)leading & 0x3ffff) >> 4) << 16 |
         (u64)(((u32)stride & 0x3ffff) >> 4) << 32 | mode << 62;
}
FUSEC_DEVICE u64 wgmma_advance(u64 desc, i32 bytes) {
  return desc + (u64)((u32)bytes >> 4);
}

namespace fusec_detail {
template <class A, class B>
struct SameType {
  static constexpr bool v = false;
};
template <class A>
struct SameType<A, A> {
  static constexpr bool v = true;
};
template <class TA, class TB, class D, i32 R>
static void wgmma(D (&d)[R], const u32 *registers, u64 a, u64 b, bool mnA,
                  bool mnB, bool accumulate, i32 line) {
  constexpr bool integer = SameType<D, i32>::v;
  static_assert(R % 4 == 0 && R <= 128, "N is a multiple of 8 up to 256");
  static_assert(integer == (SameType<TA, i8>::v || SameType<TA, u8>::v),
                "8-bit integers have i32 accumulators, others f32");
  const FusecEmuWgmma what = {FormatOf<TA>::v,
                              FormatOf<TB>::v,
                              2 * R,
                              mnA,
                              mnB,
                              accumulate,
                              integer,
                              d,
                              registers,
                              a,
                              b};
  fusec_emu->wgmma(&what, line);
}
template <class TA, class TB>
struct WgmmaTypes {
  static constexpr bool hasMajors = sizeof(TA) == 2;
  static_assert(SameType<TA, TB>::v || sizeof(TA) == 1, "of one type");
};
} // namespace fusec_detail

template <class TA, class TB = TA, bool MnA = false, bool MnB = false, class D,
          i32 R>
FUSEC_DEVICE void wgmma(D (&d)[R], u64 a, u64 b, bool accumulate,
                        FUSEC_DETAIL_LINE) {
  static_assert(fusec_detail::WgmmaTypes<TA, TB>::hasMajors || !(MnA || MnB),
                "operands of this type have K contiguous");
  fusec_detail::wgmma<TA, TB>(d, nullptr, a, b, MnA, MnB, accumulate, line);
}
template <class TA, class TB = TA, bool MnB = false, class D, i32 R>
FUSEC_DEVICE void wgmma_ra(D (&d)[R], const u32 (&a)[4], u64 b, bool accumulate,
                           FUSEC_DETAIL_LINE) {
  static_assert(fusec_detail::WgmmaTypes<TA, TB>::hasMajors || !MnB,
                "operands of this type have K contiguous");
  fusec_detail::wgmma<TA, TB>(d, a, 0, b, false, MnB, accumulate, line);
}

#endif // FUSEC_PRELUDE_EMULATOR_SM90_H
