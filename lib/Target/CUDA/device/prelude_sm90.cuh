//===- prelude_sm90.cuh - what kernels for Hopper may call ----*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The second half of the private prelude, for sm_90a only: transaction
// barriers, clusters, the copy engine (TMA), warpgroup products. Put between
// the first half and kernels that set Kernel::usesSm90; the emulator has the
// same names in prelude_emulator_sm90.h.
//
// Conventions
//  * Shared memory is named by an array and an element index, also where the
//    instruction wants an address. `rank` is a block of the own cluster.
//  * Two proxies. Threads access memory through the generic proxy; TMA, bulk
//    copies and wgmma use the async proxy. Shared memory written by threads
//    (sts, stmatrix, DSMEM) and then touched by the async proxy needs
//    `fence_proxy_async` in each thread that wrote, before the barrier through
//    which the issuing thread learns of it. What a bulk copy wrote and an
//    mbarrier completed needs no fence, nor does overwriting what was read.
//  * An asynchronous load has arrived when the phase of its mbarrier is over
//    and `mbar_wait` has returned in the thread that reads. An asynchronous
//    store has read its source after `bulk_wait_read`, has written after
//    `bulk_wait`; groups belong to the thread that issued them.
//  * A function with "cluster" or "remote" in its name needs a cluster_sync
//    after the start of the kernel, and the block it accesses must not end
//    before the access: end with a cluster_sync, or learn of it by an mbarrier.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PRELUDE_SM90_CUH
#define FUSEC_PRELUDE_SM90_CUH
/// Headers that build on this one ask for it.
#define FUSEC_SM90 1

/// A kernel that is launched with clusters of `cluster` blocks
/// (Kernel::cluster), with registers for at least `blocks` blocks on an SM.
#define FUSEC_KERNEL_CLUSTER(name, threads, blocks, cluster)                   \
  FUSEC_KERNEL_MIN(name, threads, blocks)
/// A shared array that starts at a multiple of 1024 bytes, as the 128-byte
/// swizzle wants it; dynamic shared memory does so at its start.
#define FUSEC_SHARED_TILE(T, name, count)                                      \
  __shared__ __align__(1024) T name[count]

//===-- Transaction barriers ----------------------------------------------===//
// A phase is over when `count` arrivals and all expected bytes have come in.
// Phases alternate in parity, the first has parity 0: wait(p) returns when the
// phase of parity p is over, so wait(1) on a new barrier returns at once.

struct FusecMbarrier {
  u64 state;
};
/// An array of barriers; in dynamic memory FUSEC_SHARED_DYN_AT(FusecMbarrier,
/// name, offset), as a parameter FUSEC_SHARED_PTR(FusecMbarrier).
#define FUSEC_MBARRIERS(name, count)                                           \
  __shared__ __align__(8) FusecMbarrier name[count]

/// By one thread; then `mbar_init_fence` by it and a barrier (of the cluster,
/// if peers or multicasts use it) before anyone else touches it.
FUSEC_DEVICE void mbar_init(FusecMbarrier *b, i32 i, i32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
                   fusec_detail::sharedAddress(b + i)),
               "r"(count)
               : "memory");
}
FUSEC_DEVICE void mbar_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// One arrival; releases what the thread did to the threads of its block.
FUSEC_DEVICE void mbar_arrive(FusecMbarrier *b, i32 i) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(
                   fusec_detail::sharedAddress(b + i))
               : "memory");
}
/// First expects `bytes` more bytes in the current phase, then arrives.
FUSEC_DEVICE void mbar_arrive_expect(FusecMbarrier *b, i32 i, i32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                   fusec_detail::sharedAddress(b + i)),
               "r"(bytes)
               : "memory");
}
/// Expects bytes without arriving; an arrival of the same phase must follow.
FUSEC_DEVICE void mbar_expect(FusecMbarrier *b, i32 i, i32 bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(
                   fusec_detail::sharedAddress(b + i)),
               "r"(bytes)
               : "memory");
}
/// Arrives at the barrier of another block. Cheap: flow control ("I have read
/// the slot") only, it does not publish DSMEM stores of this thread.
FUSEC_DEVICE void mbar_arrive_remote(FusecMbarrier *b, i32 i, i32 rank) {
  asm volatile("{\n\t.reg .b32 r;\n\tmapa.shared::cluster.u32 r, %0, %1;\n\t"
               "mbarrier.arrive.shared::cluster.b64 _, [r];\n\t}" ::"r"(
                   fusec_detail::sharedAddress(b + i)),
               "r"(rank)
               : "memory");
}
/// As before, and releases to the whole cluster what this thread stored. Dear:
/// every store of the thread is waited for.
FUSEC_DEVICE void mbar_arrive_remote_release(FusecMbarrier *b, i32 i,
                                             i32 rank) {
  asm volatile(
      "{\n\t.reg .b32 r;\n\tmapa.shared::cluster.u32 r, %0, %1;\n\t"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r];\n\t}" ::"r"(
          fusec_detail::sharedAddress(b + i)),
      "r"(rank)
      : "memory");
}
/// Waits for the end of the phase of this parity.
FUSEC_DEVICE void mbar_wait(FusecMbarrier *b, i32 i, i32 parity) {
  asm volatile("{\n\t.reg .pred p;\nWAIT:\n\t"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t"
               "@p bra DONE;\n\tbra WAIT;\nDONE:\n\t}" ::"r"(
                   fusec_detail::sharedAddress(b + i)),
               "r"(parity)
               : "memory");
}
/// As `mbar_wait`; acquires what peers released with
/// mbar_arrive_remote_release.
FUSEC_DEVICE void mbar_wait_cluster(FusecMbarrier *b, i32 i, i32 parity) {
  asm volatile(
      "{\n\t.reg .pred p;\nWAIT:\n\t"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], "
      "%1;\n\t@p bra DONE;\n\tbra WAIT;\nDONE:\n\t}" ::"r"(
          fusec_detail::sharedAddress(b + i)),
      "r"(parity)
      : "memory");
}
/// Whether the phase is over, without waiting.
FUSEC_DEVICE bool mbar_test(FusecMbarrier *b, i32 i, i32 parity) {
  u32 r;
  asm volatile("{\n\t.reg .pred p;\n\t"
               "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
               "selp.u32 %0, 1, 0, p;\n\t}"
               : "=r"(r)
               : "r"(fusec_detail::sharedAddress(b + i)), "r"(parity)
               : "memory");
  return r != 0;
}

//===-- Clusters ----------------------------------------------------------===//

FUSEC_DEVICE i32 cluster_rank() {
  u32 r;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return (i32)r;
}
FUSEC_DEVICE i32 cluster_size() {
  u32 r;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(r));
  return (i32)r;
}
/// The barrier of all threads of the cluster in two halves. `arrive` releases
/// (and waits for the thread's stores), the relaxed form orders nothing but
/// the barrier itself; `wait` acquires.
FUSEC_DEVICE void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
}
FUSEC_DEVICE void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}
FUSEC_DEVICE void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
FUSEC_DEVICE void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

namespace fusec_detail {
/// The address of a peer's copy of a shared address.
FUSEC_DEVICE u32 peerAddress(const void *p, i32 rank) {
  u32 r;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(r)
      : "r"(sharedAddress(p)), "r"(rank));
  return r;
}
template <i32 B>
FUSEC_DEVICE void loadPeer(u32 at, u32 *w) {
  if constexpr (B == 16)
    asm volatile("ld.shared::cluster.v4.b32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(at)
                 : "memory");
  else if constexpr (B == 8)
    asm volatile("ld.shared::cluster.v2.b32 {%0,%1}, [%2];"
                 : "=r"(w[0]), "=r"(w[1])
                 : "r"(at)
                 : "memory");
  else if constexpr (B == 4)
    asm volatile("ld.shared::cluster.b32 %0, [%1];"
                 : "=r"(w[0])
                 : "r"(at)
                 : "memory");
  else if constexpr (B == 2)
    asm volatile("{\n\t.reg .b16 h;\n\tld.shared::cluster.b16 h, [%1];\n\t"
                 "cvt.u32.u16 %0, h;\n\t}"
                 : "=r"(w[0])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ld.shared::cluster.u8 %0, [%1];"
                 : "=r"(w[0])
                 : "r"(at)
                 : "memory");
}
template <i32 B>
FUSEC_DEVICE void storePeer(u32 at, const u32 *w) {
  if constexpr (B == 16)
    asm volatile("st.shared::cluster.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(at),
                 "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
                 : "memory");
  else if constexpr (B == 8)
    asm volatile("st.shared::cluster.v2.b32 [%0], {%1,%2};" ::"r"(at),
                 "r"(w[0]), "r"(w[1])
                 : "memory");
  else if constexpr (B == 4)
    asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(at), "r"(w[0])
                 : "memory");
  else if constexpr (B == 2)
    asm volatile("st.shared::cluster.b16 [%0], %1;" ::"r"(at), "h"((u16)w[0])
                 : "memory");
  else
    asm volatile("st.shared::cluster.u8 [%0], %1;" ::"r"(at), "r"(w[0])
                 : "memory");
}
template <i32 V, class T>
FUSEC_DEVICE void loadPeerVector(T *dst, u32 at) {
  static_assert(V * sizeof(T) <= 16, "at most 16 bytes");
  u32 w[4];
  loadPeer<V *(i32)sizeof(T)>(at, w);
  FUSEC_UNROLL
  for (i32 k = 0; k < V; ++k)
    dst[k] = unpackElement<T>(w, k);
}
template <i32 V, class T>
FUSEC_DEVICE void packVector(u32 (&w)[4], const T *src) {
  static_assert(V * sizeof(T) <= 16, "at most 16 bytes");
  w[0] = w[1] = w[2] = w[3] = 0;
  FUSEC_UNROLL
  for (i32 k = 0; k < V; ++k)
    packElement<T>(w, k, src[k]);
}
} // namespace fusec_detail

/// Loads and stores of a peer's copy of s[i]; at most 16 bytes.
template <class T>
FUSEC_DEVICE T lds_cluster(const T *s, i32 i, i32 rank) {
  T r;
  fusec_detail::loadPeerVector<1>(&r, fusec_detail::peerAddress(s + i, rank));
  return r;
}
template <i32 V, class T, i32 N>
FUSEC_DEVICE void lds_cluster(T (&dst)[N], i32 r, const T *s, i32 i, i32 rank) {
  if (r % V == 0)
    fusec_detail::loadPeerVector<V>(dst + r,
                                    fusec_detail::peerAddress(s + i, rank));
}
template <class T>
FUSEC_DEVICE void sts_cluster(T *s, i32 i, fusec_detail::Same<T> v, i32 rank) {
  u32 w[4];
  fusec_detail::packVector<1>(w, &v);
  fusec_detail::storePeer<sizeof(T)>(fusec_detail::peerAddress(s + i, rank), w);
}
template <i32 V, class T, i32 N>
FUSEC_DEVICE void sts_cluster(T *s, i32 i, const T (&src)[N], i32 r, i32 rank) {
  if (r % V == 0) {
    u32 w[4];
    fusec_detail::packVector<V>(w, src + r);
    fusec_detail::storePeer<V *(i32)sizeof(T)>(
        fusec_detail::peerAddress(s + i, rank), w);
  }
}

namespace fusec_detail {
template <i32 B>
FUSEC_DEVICE void storeAsync(u32 at, u32 barrier, const u32 *w) {
  static_assert(B == 4 || B == 8 || B == 16, "4, 8 or 16 bytes");
  if constexpr (B == 16)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
                 "[%0], {%1,%2,%3,%4}, [%5];" ::"r"(at),
                 "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(barrier)
                 : "memory");
  else if constexpr (B == 8)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 "
                 "[%0], {%1,%2}, [%3];" ::"r"(at),
                 "r"(w[0]), "r"(w[1]), "r"(barrier)
                 : "memory");
  else
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 "
                 "[%0], %1, [%2];" ::"r"(at),
                 "r"(w[0]), "r"(barrier)
                 : "memory");
}
} // namespace fusec_detail

/// Stores 4, 8 or 16 bytes to a peer (or the own block) in the background and
/// completes that many bytes at the peer's barrier b[j].
template <class T>
FUSEC_DEVICE void st_async(T *s, i32 i, fusec_detail::Same<T> v, i32 rank,
                           FusecMbarrier *b, i32 j) {
  u32 w[4];
  fusec_detail::packVector<1>(w, &v);
  fusec_detail::storeAsync<sizeof(T)>(fusec_detail::peerAddress(s + i, rank),
                                      fusec_detail::peerAddress(b + j, rank),
                                      w);
}
template <i32 V, class T, i32 N>
FUSEC_DEVICE void st_async(T *s, i32 i, const T (&src)[N], i32 r, i32 rank,
                           FusecMbarrier *b, i32 j) {
  if (r % V == 0) {
    u32 w[4];
    fusec_detail::packVector<V>(w, src + r);
    fusec_detail::storeAsync<V *(i32)sizeof(T)>(
        fusec_detail::peerAddress(s + i, rank),
        fusec_detail::peerAddress(b + j, rank), w);
  }
}

//===-- The copy engine ---------------------------------------------------===//

/// See the conventions.
FUSEC_DEVICE void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// The same for global memory that this kernel wrote with st.
FUSEC_DEVICE void fence_proxy_async_global() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

/// A tensor map (TensorMapArg) as a kernel parameter and as a parameter of a
/// device function. Coordinates are elements, the innermost dimension first;
/// they may lie outside: loads give the fill value, stores drop it.
struct __align__(64) FusecTensorMap {
  u64 opaque[16];
};
#define FUSEC_TENSOR_MAP(name) const __grid_constant__ FusecTensorMap name
#define FUSEC_TENSOR_MAP_REF(name) const FusecTensorMap &name

/// Fetches the map itself ahead of its first use.
FUSEC_DEVICE void tma_prefetch_map(FUSEC_TENSOR_MAP_REF(map)) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// tma_load_{1..5}d(s, i, map, b, j, c0, ..): the box at these coordinates to
/// s[i..], counted in bytes at barrier b[j] of the own block. One thread
/// issues it. s[i] is aligned to 128 bytes, and better to 1024: the swizzle is
/// one of address bits.
/// tma_load_multicast_{1..5}d(s, i, map, b, j, mask, c0, ..): to the same place
/// in every block of the cluster whose bit is set, counted at each one's b[j].
/// tma_store_{1..5}d(map, s, i, c0, ..): the other way, in the thread's current
/// bulk group.
/// tma_prefetch_{1..5}d(map, c0, ..): the box to L2.
#define FUSEC_DETAIL_TMA(n, params, in3, in4, in2, in1, ...)                   \
  template <class T>                                                           \
  FUSEC_DEVICE void tma_load_##n##d(T *s, i32 i, FUSEC_TENSOR_MAP_REF(map),    \
                                    FusecMbarrier *b, i32 j,                   \
                                    FUSEC_DETAIL_LIST params) {                \
    asm volatile("cp.async.bulk.tensor." #n "d.shared::cluster.global.tile."   \
                 "mbarrier::complete_tx::bytes [%0], [%1, " in3                \
                 "], [%2];" ::"r"(fusec_detail::sharedAddress(s + i)),         \
                 "l"(&map), "r"(fusec_detail::sharedAddress(b + j)),           \
                 __VA_ARGS__                                                   \
                 : "memory");                                                  \
  }                                                                            \
  template <class T>                                                           \
  FUSEC_DEVICE void tma_load_multicast_##n##d(                                 \
      T *s, i32 i, FUSEC_TENSOR_MAP_REF(map), FusecMbarrier *b, i32 j,         \
      u32 mask, FUSEC_DETAIL_LIST params) {                                    \
    asm volatile(                                                              \
        "cp.async.bulk.tensor." #n "d.shared::cluster.global.tile."            \
        "mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, " in4      \
        "], [%2], %3;" ::"r"(fusec_detail::sharedAddress(s + i)),              \
        "l"(&map), "r"(fusec_detail::sharedAddress(b + j)), "h"((u16)mask),    \
        __VA_ARGS__                                                            \
        : "memory");                                                           \
  }                                                                            \
  template <class T>                                                           \
  FUSEC_DEVICE void tma_store_##n##d(FUSEC_TENSOR_MAP_REF(map), const T *s,    \
                                     i32 i, FUSEC_DETAIL_LIST params) {        \
    asm volatile("cp.async.bulk.tensor." #n "d.global.shared::cta.tile."       \
                 "bulk_group [%0, " in2 "], [%1];" ::"l"(&map),                \
                 "r"(fusec_detail::sharedAddress(s + i)), __VA_ARGS__          \
                 : "memory");                                                  \
  }                                                                            \
  FUSEC_DEVICE void tma_prefetch_##n##d(FUSEC_TENSOR_MAP_REF(map),             \
                                        FUSEC_DETAIL_LIST params) {            \
    asm volatile("cp.async.bulk.prefetch.tensor." #n "d.L2.global.tile "       \
                 "[%0, " in1 "];" ::"l"(&map),                                 \
                 __VA_ARGS__                                                   \
                 : "memory");                                                  \
  }
#define FUSEC_DETAIL_LIST(...) __VA_ARGS__
FUSEC_DETAIL_TMA(1, (i32 c0), "{%3}", "{%4}", "{%2}", "{%1}", "r"(c0))
FUSEC_DETAIL_TMA(2, (i32 c0, i32 c1), "{%3,%4}", "{%4,%5}", "{%2,%3}",
                 "{%1,%2}", "r"(c0), "r"(c1))
FUSEC_DETAIL_TMA(3, (i32 c0, i32 c1, i32 c2), "{%3,%4,%5}", "{%4,%5,%6}",
                 "{%2,%3,%4}", "{%1,%2,%3}", "r"(c0), "r"(c1), "r"(c2))
FUSEC_DETAIL_TMA(4, (i32 c0, i32 c1, i32 c2, i32 c3), "{%3,%4,%5,%6}",
                 "{%4,%5,%6,%7}", "{%2,%3,%4,%5}", "{%1,%2,%3,%4}", "r"(c0),
                 "r"(c1), "r"(c2), "r"(c3))
FUSEC_DETAIL_TMA(5, (i32 c0, i32 c1, i32 c2, i32 c3, i32 c4),
                 "{%3,%4,%5,%6,%7}", "{%4,%5,%6,%7,%8}", "{%2,%3,%4,%5,%6}",
                 "{%1,%2,%3,%4,%5}", "r"(c0), "r"(c1), "r"(c2), "r"(c3),
                 "r"(c4))
#undef FUSEC_DETAIL_TMA

/// By maps of convolution windows (Im2colMapArg), whose pixels are taken from
/// the first one on within the map's box, row by row and image by image:
/// tma_load_im2col_{3..5}d(s, i, map, b, j, c, w, [h, [d,]] n, ow, [oh, [od]]):
/// from channel c of pixel (w, h, d) of image n, which is one of the box, each
/// pixel moved by an offset (at most 16, 8 or 5 bits a dimension);
/// tma_load_multicast_im2col_{3..5}d likewise, with a mask behind j;
/// tma_store_im2col_{3..5}d(map, s, i, c, w, .., n): the other way, not moved.
#define FUSEC_DETAIL_IM2COL(n, params, offsetParams, in, offsets, inMulticast, \
                            offsetsMulticast, inStore, coordinates, ...)       \
  template <class T>                                                           \
  FUSEC_DEVICE void tma_load_im2col_##n##d(                                    \
      T *s, i32 i, FUSEC_TENSOR_MAP_REF(map), FusecMbarrier *b, i32 j,         \
      FUSEC_DETAIL_LIST params, FUSEC_DETAIL_LIST offsetParams) {              \
    asm volatile("cp.async.bulk.tensor." #n "d.shared::cluster.global.im2col." \
                 "mbarrier::complete_tx::bytes [%0], [%1, " in                 \
                 "], [%2], " offsets                                           \
                 ";" ::"r"(fusec_detail::sharedAddress(s + i)),                \
                 "l"(&map), "r"(fusec_detail::sharedAddress(b + j)),           \
                 FUSEC_DETAIL_LIST coordinates, __VA_ARGS__                    \
                 : "memory");                                                  \
  }                                                                            \
  template <class T>                                                           \
  FUSEC_DEVICE void tma_load_multicast_im2col_##n##d(                          \
      T *s, i32 i, FUSEC_TENSOR_MAP_REF(map), FusecMbarrier *b, i32 j,         \
      u32 blocks, FUSEC_DETAIL_LIST params, FUSEC_DETAIL_LIST offsetParams) {  \
    asm volatile("cp.async.bulk.tensor." #n "d.shared::cluster.global.im2col." \
                 "mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, " \
                 inMulticast "], [%2], " offsetsMulticast                      \
                 ", %3;" ::"r"(fusec_detail::sharedAddress(s + i)),            \
                 "l"(&map), "r"(fusec_detail::sharedAddress(b + j)),           \
                 "h"((u16)blocks), FUSEC_DETAIL_LIST coordinates, __VA_ARGS__  \
                 : "memory");                                                  \
  }                                                                            \
  template <class T>                                                           \
  FUSEC_DEVICE void tma_store_im2col_##n##d(FUSEC_TENSOR_MAP_REF(map),         \
                                            const T *s, i32 i,                 \
                                            FUSEC_DETAIL_LIST params) {        \
    asm volatile("cp.async.bulk.tensor." #n "d.global.shared::cta."            \
                 "im2col_no_offs.bulk_group [%0, " inStore "], [%1];" ::"l"(   \
                     &map),                                                    \
                 "r"(fusec_detail::sharedAddress(s + i)),                      \
                 FUSEC_DETAIL_LIST coordinates                                 \
                 : "memory");                                                  \
  }
FUSEC_DETAIL_IM2COL(3, (i32 c, i32 w, i32 n), (i32 ow), "{%3,%4,%5}", "{%6}",
                    "{%4,%5,%6}", "{%7}", "{%2,%3,%4}",
                    ("r"(c), "r"(w), "r"(n)), "h"((u16)ow))
FUSEC_DETAIL_IM2COL(4, (i32 c, i32 w, i32 h, i32 n), (i32 ow, i32 oh),
                    "{%3,%4,%5,%6}", "{%7,%8}", "{%4,%5,%6,%7}", "{%8,%9}",
                    "{%2,%3,%4,%5}", ("r"(c), "r"(w), "r"(h), "r"(n)),
                    "h"((u16)ow), "h"((u16)oh))
FUSEC_DETAIL_IM2COL(5, (i32 c, i32 w, i32 h, i32 d, i32 n),
                    (i32 ow, i32 oh, i32 od), "{%3,%4,%5,%6,%7}",
                    "{%8,%9,%10}", "{%4,%5,%6,%7,%8}", "{%9,%10,%11}",
                    "{%2,%3,%4,%5,%6}",
                    ("r"(c), "r"(w), "r"(h), "r"(d), "r"(n)), "h"((u16)ow),
                    "h"((u16)oh), "h"((u16)od))
#undef FUSEC_DETAIL_IM2COL

/// Copies `bytes` (a multiple of 16, both ends aligned to 16) from p[off..] to
/// s[i..], counted at b[j]. The multicast form as for tma_load_multicast.
template <class T, class I>
FUSEC_DEVICE void bulk_load(T *s, i32 i, const fusec_detail::Same<T> *p, I off,
                            i32 bytes, FusecMbarrier *b, i32 j) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
      "bytes [%0], [%1], %2, [%3];" ::"r"(fusec_detail::sharedAddress(s + i)),
      "l"(__cvta_generic_to_global(p + off)), "r"(bytes),
      "r"(fusec_detail::sharedAddress(b + j))
      : "memory");
}
template <class T, class I>
FUSEC_DEVICE void
bulk_load_multicast(T *s, i32 i, const fusec_detail::Same<T> *p, I off,
                    i32 bytes, FusecMbarrier *b, i32 j, u32 mask) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
               "bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
                   fusec_detail::sharedAddress(s + i)),
               "l"(__cvta_generic_to_global(p + off)), "r"(bytes),
               "r"(fusec_detail::sharedAddress(b + j)), "h"((u16)mask)
               : "memory");
}
/// The other way, in the thread's current bulk group.
template <class T, class I>
FUSEC_DEVICE void bulk_store(fusec_detail::Same<T> *p, I off, const T *s, i32 i,
                             i32 bytes) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
          __cvta_generic_to_global(p + off)),
      "r"(fusec_detail::sharedAddress(s + i)), "r"(bytes)
      : "memory");
}
/// From own shared memory s[i..] to a peer's d[k..], counted at the peer's
/// b[j].
template <class T>
FUSEC_DEVICE void bulk_send(T *d, i32 k, i32 rank, const T *s, i32 i, i32 bytes,
                            FusecMbarrier *b, i32 j) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::"
               "complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   fusec_detail::peerAddress(d + k, rank)),
               "r"(fusec_detail::sharedAddress(s + i)), "r"(bytes),
               "r"(fusec_detail::peerAddress(b + j, rank))
               : "memory");
}
/// Closes the thread's group of stores; the waits are for all but the newest N
/// groups: `read` until shared memory may be overwritten, else until the data
/// is written.
FUSEC_DEVICE void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <i32 N>
FUSEC_DEVICE void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}
template <i32 N>
FUSEC_DEVICE void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

//===-- Warps and roles ---------------------------------------------------===//

/// True in one lane of the warp, always the same one; called by all lanes.
FUSEC_DEVICE bool elect_one() {
  u32 r;
  asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\t"
               "selp.u32 %0, 1, 0, p;\n\t}"
               : "=r"(r));
  return r != 0;
}
/// Registers of a thread from here on, for a whole warpgroup: 24 to 256 in
/// steps of 8. The kernel names its blocks an SM (FUSEC_KERNEL_MIN).
template <i32 N>
FUSEC_DEVICE void setmaxnreg_inc() {
  static_assert(N >= 24 && N <= 256 && N % 8 == 0, "24 to 256 in steps of 8");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(N));
}
template <i32 N>
FUSEC_DEVICE void setmaxnreg_dec() {
  static_assert(N >= 24 && N <= 256 && N % 8 == 0, "24 to 256 in steps of 8");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(N));
}
/// Arrives at named barrier `id` without waiting: some threads of the group
/// arrive, the others call bar_named.
FUSEC_DEVICE void bar_named_arrive(i32 id, i32 threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// bar_named with a result, always 0, that the compiler cannot know: what
/// `pin`s it cannot be moved above the barrier, or above a release before it.
/// All threads of the group call it: beside bar_named or bar_named_arrive at
/// the same barrier it is undefined (PTX), and an illegal instruction on H200.
FUSEC_DEVICE u32 bar_token(i32 id, i32 threads) {
  u32 r;
  asm volatile("{\n\t.reg .pred p, q;\n\tsetp.ne.u32 p, 0, 0;\n\t"
               "bar.red.or.pred q, %1, %2, p;\n\tselp.u32 %0, 1, 0, q;\n\t}"
               : "=r"(r)
               : "r"(id), "r"(threads)
               : "memory");
  return r;
}
template <i32 N>
FUSEC_DEVICE void pin(u32 (&v)[N], u32 token) {
  FUSEC_UNROLL
  for (i32 k = 0; k < N; ++k)
    v[k] |= token;
}

#define FUSEC_DETAIL_STMATRIX(n, suffix, trans, regs, ...)                     \
  template <class T>                                                           \
  FUSEC_DEVICE void stmatrix_x##n##suffix(T *s, i32 i, const u32(&r)[n]) {     \
    static_assert(sizeof(T) == 2, "stmatrix moves 16-bit elements");           \
    asm volatile("stmatrix.sync.aligned.m8n8.x" #n trans ".shared.b16 [%0], "  \
                 "{" regs "};" ::"r"(fusec_detail::sharedAddress(s + i)),      \
                 __VA_ARGS__                                                   \
                 : "memory");                                                  \
  }
/// The inverse of ldmatrix: lane l names row l % 8 of tile l / 8 (lanes past
/// the tiles are ignored, but name a valid address).
FUSEC_DETAIL_STMATRIX(1, , "", "%1", "r"(r[0]))
FUSEC_DETAIL_STMATRIX(2, , "", "%1,%2", "r"(r[0]), "r"(r[1]))
FUSEC_DETAIL_STMATRIX(4, , "", "%1,%2,%3,%4", "r"(r[0]), "r"(r[1]), "r"(r[2]),
                      "r"(r[3]))
FUSEC_DETAIL_STMATRIX(1, _trans, ".trans", "%1", "r"(r[0]))
FUSEC_DETAIL_STMATRIX(2, _trans, ".trans", "%1,%2", "r"(r[0]), "r"(r[1]))
FUSEC_DETAIL_STMATRIX(4, _trans, ".trans", "%1,%2,%3,%4", "r"(r[0]), "r"(r[1]),
                      "r"(r[2]), "r"(r[3]))
#undef FUSEC_DETAIL_STMATRIX

//===-- Packed numbers ----------------------------------------------------===//

namespace fusec_detail {
template <>
struct PackedName<f8e4m3> {
  static constexpr char v[] = "e4m3x2";
};
template <>
struct PackedName<f8e5m2> {
  static constexpr char v[] = "e5m2x2";
};
} // namespace fusec_detail

/// Two f32 as f16 or bf16 in a word, the first one low.
template <class T>
FUSEC_DEVICE u32 pack2_f32(f32 lo, f32 hi) {
  u32 r;
  asm("cvt.rn.%3.f32 %0, %1, %2;"
      : "=r"(r)
      : "f"(hi), "f"(lo), "C"(fusec_detail::PackedName<T>::v));
  return r;
}
/// Four f32 as f8e4m3 or f8e5m2 in a word, the first one lowest; overflow and
/// infinities give the largest finite value, NaN the code 0x7f.
template <class T>
FUSEC_DEVICE u32 pack4_sat(f32 a, f32 b, f32 c, f32 d) {
  u16 lo, hi;
  asm("cvt.rn.satfinite.%3.f32 %0, %1, %2;"
      : "=h"(lo)
      : "f"(b), "f"(a), "C"(fusec_detail::PackedName<T>::v));
  asm("cvt.rn.satfinite.%3.f32 %0, %1, %2;"
      : "=h"(hi)
      : "f"(d), "f"(c), "C"(fusec_detail::PackedName<T>::v));
  return lo | (u32)hi << 16;
}
#define FUSEC_DETAIL_PACKED2(name, op)                                         \
  template <class T>                                                           \
  FUSEC_DEVICE u32 name(u32 x, u32 y) {                                        \
    u32 r;                                                                     \
    asm(op ".%3 %0, %1, %2;"                                                   \
        : "=r"(r)                                                              \
        : "r"(x), "r"(y), "C"(fusec_detail::PackedName<T>::v));                \
    return r;                                                                  \
  }
/// On pairs of f16 or bf16, each element rounded once; max and min give NaN if
/// either is NaN.
FUSEC_DETAIL_PACKED2(add2, "add.rn")
FUSEC_DETAIL_PACKED2(sub2, "sub.rn")
FUSEC_DETAIL_PACKED2(mul2, "mul.rn")
FUSEC_DETAIL_PACKED2(max2, "max.NaN")
FUSEC_DETAIL_PACKED2(min2, "min.NaN")
#undef FUSEC_DETAIL_PACKED2

//===-- Warpgroup products ------------------------------------------------===//
// wgmma<TA, TB, MnA, MnB>(d, a, b, accumulate): d (+)= a * b for a warpgroup
// (4 warps, the first a multiple of 4), in the background. d is f32[N/2] (i32
// for 8-bit integers), N a multiple of 8 up to 256 (i32: also 8, 16, 24, then
// multiples of 16), and holds row w*16 + l/4 + 8*(r/2 % 2), column r/4*8 +
// l%4*2 + r%2 of the 64 x N product in register r of lane l of warp w. K is 16
// for f16 and bf16, 8 for f32 (read as tf32), 32 for 8-bit types. MnA and MnB
// say that the operand is stored with M or N contiguous; 16-bit types only.
// wgmma_ra takes A in registers, in the layout of mma's A for each warp's 16
// rows (K = 8: two columns of 4; K = 32: four elements a word).
//
// Order: wgmma_fence, products, wgmma_commit, then wgmma_wait<N>() until all
// but the newest N groups are done. Before that no thread may touch d, the
// registers of A, or overwrite operands in shared memory. wgmma_fence again
// after threads have touched d. Waits stand under no condition: the assembler
// then makes every product wait (C7515).

FUSEC_DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
FUSEC_DEVICE void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <i32 N>
FUSEC_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
/// As `wgmma_wait`; no use of `d` is moved above it. For the wait after which
/// accumulators are read.
template <i32 N, i32 R>
FUSEC_DEVICE void wgmma_wait(f32 (&d)[R]) {
  wgmma_wait<N>();
  FUSEC_UNROLL
  for (i32 k = 0; k < R; ++k)
    asm volatile("" : "+f"(d[k])::"memory");
}
template <i32 N, i32 R>
FUSEC_DEVICE void wgmma_wait(i32 (&d)[R]) {
  wgmma_wait<N>();
  FUSEC_UNROLL
  for (i32 k = 0; k < R; ++k)
    asm volatile("" : "+r"(d[k])::"memory");
}

/// The descriptor of an operand that starts at s[i]. `Swizzle` is 128, 64, 32
/// or 0 bytes. In units of 16 bytes x 8 rows ("core matrices") or, swizzled, of
/// `Swizzle` bytes x 8 rows, which are contiguous:
///   K contiguous: `stride` bytes from 8 rows of M or N to the next 8;
///     `leading` from one core matrix to the next along K without swizzle, not
///     used with it (rows are `Swizzle` bytes, K goes along them).
///   M or N contiguous: the rows are K; without swizzle `stride` from one core
///     matrix to the next along M or N and `leading` from 8 of K to the next 8;
///     with it `leading` along M or N and `stride` along K.
template <i32 Swizzle, class T>
FUSEC_DEVICE u64 wgmma_desc(const T *s, i32 i, i32 leading, i32 stride) {
  static_assert(Swizzle == 0 || Swizzle == 32 || Swizzle == 64 ||
                    Swizzle == 128,
                "a swizzle is 0, 32, 64 or 128 bytes");
  constexpr u64 mode = Swizzle == 128  ? 1
                       : Swizzle == 64 ? 2
                                       : Swizzle / 32 * 3;
  return (u64)((fusec_detail::sharedAddress(s + i) & 0x3ffff) >> 4) |
         (u64)(((u32)leading & 0x3ffff) >> 4) << 16 |
         (u64)(((u32)stride & 0x3ffff) >> 4) << 32 | mode << 62;
}
/// Moves the start by a multiple of 16 bytes, for the next K within swizzled
/// rows.
FUSEC_DEVICE u64 wgmma_advance(u64 desc, i32 bytes) {
  return desc + (u64)((u32)bytes >> 4);
}

namespace fusec_detail {
template <class TA, class TB>
struct WgmmaTypes;
#define FUSEC_DETAIL_WGMMA_TYPES(TA, TB, name, majors)                         \
  template <>                                                                  \
  struct WgmmaTypes<TA, TB> {                                                  \
    static constexpr char shape[] = name;                                      \
    static constexpr bool hasMajors = majors;                                  \
  };
FUSEC_DETAIL_WGMMA_TYPES(f16, f16, "k16.f32.f16.f16", true)
FUSEC_DETAIL_WGMMA_TYPES(bf16, bf16, "k16.f32.bf16.bf16", true)
FUSEC_DETAIL_WGMMA_TYPES(f32, f32, "k8.f32.tf32.tf32", false)
FUSEC_DETAIL_WGMMA_TYPES(f8e4m3, f8e4m3, "k32.f32.e4m3.e4m3", false)
FUSEC_DETAIL_WGMMA_TYPES(f8e4m3, f8e5m2, "k32.f32.e4m3.e5m2", false)
FUSEC_DETAIL_WGMMA_TYPES(f8e5m2, f8e4m3, "k32.f32.e5m2.e4m3", false)
FUSEC_DETAIL_WGMMA_TYPES(f8e5m2, f8e5m2, "k32.f32.e5m2.e5m2", false)
FUSEC_DETAIL_WGMMA_TYPES(i8, i8, "k32.s32.s8.s8", false)
FUSEC_DETAIL_WGMMA_TYPES(i8, u8, "k32.s32.s8.u8", false)
FUSEC_DETAIL_WGMMA_TYPES(u8, i8, "k32.s32.u8.s8", false)
FUSEC_DETAIL_WGMMA_TYPES(u8, u8, "k32.s32.u8.u8", false)

#undef FUSEC_DETAIL_WGMMA_TYPES

/// The last operands: the majors, where the types have a choice.
template <bool Has, bool... Mn>
struct WgmmaMajors {
  static constexpr char text[] = "";
};
template <>
struct WgmmaMajors<true, false> {
  static constexpr char text[] = ", 0";
};
template <>
struct WgmmaMajors<true, true> {
  static constexpr char text[] = ", 1";
};
template <>
struct WgmmaMajors<true, false, false> {
  static constexpr char text[] = ", 0, 0";
};
template <>
struct WgmmaMajors<true, false, true> {
  static constexpr char text[] = ", 0, 1";
};
template <>
struct WgmmaMajors<true, true, false> {
  static constexpr char text[] = ", 1, 0";
};
template <>
struct WgmmaMajors<true, true, true> {
  static constexpr char text[] = ", 1, 1";
};

// Lists of registers %0.. and of operands d[0].., in steps of four.
#define FUSEC_DETAIL_S4 "%0,%1,%2,%3"
#define FUSEC_DETAIL_D4(c) c(d[0]), c(d[1]), c(d[2]), c(d[3])
#define FUSEC_DETAIL_S8 FUSEC_DETAIL_S4 ",%4,%5,%6,%7"
#define FUSEC_DETAIL_D8(c)                                                     \
  FUSEC_DETAIL_D4(c), c(d[4]), c(d[5]), c(d[6]), c(d[7])
#define FUSEC_DETAIL_S12 FUSEC_DETAIL_S8 ",%8,%9,%10,%11"
#define FUSEC_DETAIL_D12(c)                                                    \
  FUSEC_DETAIL_D8(c), c(d[8]), c(d[9]), c(d[10]), c(d[11])
#define FUSEC_DETAIL_S16 FUSEC_DETAIL_S12 ",%12,%13,%14,%15"
#define FUSEC_DETAIL_D16(c)                                                    \
  FUSEC_DETAIL_D12(c), c(d[12]), c(d[13]), c(d[14]), c(d[15])
#define FUSEC_DETAIL_S20 FUSEC_DETAIL_S16 ",%16,%17,%18,%19"
#define FUSEC_DETAIL_D20(c)                                                    \
  FUSEC_DETAIL_D16(c), c(d[16]), c(d[17]), c(d[18]), c(d[19])
#define FUSEC_DETAIL_S24 FUSEC_DETAIL_S20 ",%20,%21,%22,%23"
#define FUSEC_DETAIL_D24(c)                                                    \
  FUSEC_DETAIL_D20(c), c(d[20]), c(d[21]), c(d[22]), c(d[23])
#define FUSEC_DETAIL_S28 FUSEC_DETAIL_S24 ",%24,%25,%26,%27"
#define FUSEC_DETAIL_D28(c)                                                    \
  FUSEC_DETAIL_D24(c), c(d[24]), c(d[25]), c(d[26]), c(d[27])
#define FUSEC_DETAIL_S32 FUSEC_DETAIL_S28 ",%28,%29,%30,%31"
#define FUSEC_DETAIL_D32(c)                                                    \
  FUSEC_DETAIL_D28(c), c(d[28]), c(d[29]), c(d[30]), c(d[31])
#define FUSEC_DETAIL_S36 FUSEC_DETAIL_S32 ",%32,%33,%34,%35"
#define FUSEC_DETAIL_D36(c)                                                    \
  FUSEC_DETAIL_D32(c), c(d[32]), c(d[33]), c(d[34]), c(d[35])
#define FUSEC_DETAIL_S40 FUSEC_DETAIL_S36 ",%36,%37,%38,%39"
#define FUSEC_DETAIL_D40(c)                                                    \
  FUSEC_DETAIL_D36(c), c(d[36]), c(d[37]), c(d[38]), c(d[39])
#define FUSEC_DETAIL_S44 FUSEC_DETAIL_S40 ",%40,%41,%42,%43"
#define FUSEC_DETAIL_D44(c)                                                    \
  FUSEC_DETAIL_D40(c), c(d[40]), c(d[41]), c(d[42]), c(d[43])
#define FUSEC_DETAIL_S48 FUSEC_DETAIL_S44 ",%44,%45,%46,%47"
#define FUSEC_DETAIL_D48(c)                                                    \
  FUSEC_DETAIL_D44(c), c(d[44]), c(d[45]), c(d[46]), c(d[47])
#define FUSEC_DETAIL_S52 FUSEC_DETAIL_S48 ",%48,%49,%50,%51"
#define FUSEC_DETAIL_D52(c)                                                    \
  FUSEC_DETAIL_D48(c), c(d[48]), c(d[49]), c(d[50]), c(d[51])
#define FUSEC_DETAIL_S56 FUSEC_DETAIL_S52 ",%52,%53,%54,%55"
#define FUSEC_DETAIL_D56(c)                                                    \
  FUSEC_DETAIL_D52(c), c(d[52]), c(d[53]), c(d[54]), c(d[55])
#define FUSEC_DETAIL_S60 FUSEC_DETAIL_S56 ",%56,%57,%58,%59"
#define FUSEC_DETAIL_D60(c)                                                    \
  FUSEC_DETAIL_D56(c), c(d[56]), c(d[57]), c(d[58]), c(d[59])
#define FUSEC_DETAIL_S64 FUSEC_DETAIL_S60 ",%60,%61,%62,%63"
#define FUSEC_DETAIL_D64(c)                                                    \
  FUSEC_DETAIL_D60(c), c(d[60]), c(d[61]), c(d[62]), c(d[63])
#define FUSEC_DETAIL_S68 FUSEC_DETAIL_S64 ",%64,%65,%66,%67"
#define FUSEC_DETAIL_D68(c)                                                    \
  FUSEC_DETAIL_D64(c), c(d[64]), c(d[65]), c(d[66]), c(d[67])
#define FUSEC_DETAIL_S72 FUSEC_DETAIL_S68 ",%68,%69,%70,%71"
#define FUSEC_DETAIL_D72(c)                                                    \
  FUSEC_DETAIL_D68(c), c(d[68]), c(d[69]), c(d[70]), c(d[71])
#define FUSEC_DETAIL_S76 FUSEC_DETAIL_S72 ",%72,%73,%74,%75"
#define FUSEC_DETAIL_D76(c)                                                    \
  FUSEC_DETAIL_D72(c), c(d[72]), c(d[73]), c(d[74]), c(d[75])
#define FUSEC_DETAIL_S80 FUSEC_DETAIL_S76 ",%76,%77,%78,%79"
#define FUSEC_DETAIL_D80(c)                                                    \
  FUSEC_DETAIL_D76(c), c(d[76]), c(d[77]), c(d[78]), c(d[79])
#define FUSEC_DETAIL_S84 FUSEC_DETAIL_S80 ",%80,%81,%82,%83"
#define FUSEC_DETAIL_D84(c)                                                    \
  FUSEC_DETAIL_D80(c), c(d[80]), c(d[81]), c(d[82]), c(d[83])
#define FUSEC_DETAIL_S88 FUSEC_DETAIL_S84 ",%84,%85,%86,%87"
#define FUSEC_DETAIL_D88(c)                                                    \
  FUSEC_DETAIL_D84(c), c(d[84]), c(d[85]), c(d[86]), c(d[87])
#define FUSEC_DETAIL_S92 FUSEC_DETAIL_S88 ",%88,%89,%90,%91"
#define FUSEC_DETAIL_D92(c)                                                    \
  FUSEC_DETAIL_D88(c), c(d[88]), c(d[89]), c(d[90]), c(d[91])
#define FUSEC_DETAIL_S96 FUSEC_DETAIL_S92 ",%92,%93,%94,%95"
#define FUSEC_DETAIL_D96(c)                                                    \
  FUSEC_DETAIL_D92(c), c(d[92]), c(d[93]), c(d[94]), c(d[95])
#define FUSEC_DETAIL_S100 FUSEC_DETAIL_S96 ",%96,%97,%98,%99"
#define FUSEC_DETAIL_D100(c)                                                   \
  FUSEC_DETAIL_D96(c), c(d[96]), c(d[97]), c(d[98]), c(d[99])
#define FUSEC_DETAIL_S104 FUSEC_DETAIL_S100 ",%100,%101,%102,%103"
#define FUSEC_DETAIL_D104(c)                                                   \
  FUSEC_DETAIL_D100(c), c(d[100]), c(d[101]), c(d[102]), c(d[103])
#define FUSEC_DETAIL_S108 FUSEC_DETAIL_S104 ",%104,%105,%106,%107"
#define FUSEC_DETAIL_D108(c)                                                   \
  FUSEC_DETAIL_D104(c), c(d[104]), c(d[105]), c(d[106]), c(d[107])
#define FUSEC_DETAIL_S112 FUSEC_DETAIL_S108 ",%108,%109,%110,%111"
#define FUSEC_DETAIL_D112(c)                                                   \
  FUSEC_DETAIL_D108(c), c(d[108]), c(d[109]), c(d[110]), c(d[111])
#define FUSEC_DETAIL_S116 FUSEC_DETAIL_S112 ",%112,%113,%114,%115"
#define FUSEC_DETAIL_D116(c)                                                   \
  FUSEC_DETAIL_D112(c), c(d[112]), c(d[113]), c(d[114]), c(d[115])
#define FUSEC_DETAIL_S120 FUSEC_DETAIL_S116 ",%116,%117,%118,%119"
#define FUSEC_DETAIL_D120(c)                                                   \
  FUSEC_DETAIL_D116(c), c(d[116]), c(d[117]), c(d[118]), c(d[119])
#define FUSEC_DETAIL_S124 FUSEC_DETAIL_S120 ",%120,%121,%122,%123"
#define FUSEC_DETAIL_D124(c)                                                   \
  FUSEC_DETAIL_D120(c), c(d[120]), c(d[121]), c(d[122]), c(d[123])
#define FUSEC_DETAIL_S128 FUSEC_DETAIL_S124 ",%124,%125,%126,%127"
#define FUSEC_DETAIL_D128(c)                                                   \
  FUSEC_DETAIL_D124(c), c(d[124]), c(d[125]), c(d[126]), c(d[127])

// P0.. are the numbers of the operands after the accumulators.
#define FUSEC_DETAIL_WGMMA(R, P0, P1, P2, P3, P4, P5, P6, P7, P8)              \
  template <class O, bool MnA, bool MnB>                                       \
  FUSEC_DEVICE void wgmmaShared(f32(&d)[R], u64 a, u64 b, i32 accumulate) {    \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" #P2 ", 0; wgmma.mma_async"  \
                 ".sync.aligned.m64n%" #P3 "%" #P4 " {" FUSEC_DETAIL_S##R      \
                 "}, %" #P0 ", %" #P1 ", p, 1, 1%" #P5 ";}"                    \
                 : FUSEC_DETAIL_D##R("+f")                                     \
                 : "l"(a), "l"(b), "r"(accumulate), "n"(2 * R), "C"(O::shape), \
                   "C"(WgmmaMajors<O::hasMajors, MnA, MnB>::text));            \
  }                                                                            \
  template <class O, bool MnB>                                                 \
  FUSEC_DEVICE void wgmmaRegisters(f32(&d)[R], const u32(&a)[4], u64 b,        \
                                   i32 accumulate) {                           \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" #P5 ", 0; wgmma.mma_async"  \
                 ".sync.aligned.m64n%" #P6 "%" #P7 " {" FUSEC_DETAIL_S##R      \
                 "}, {%" #P0 ",%" #P1 ",%" #P2 ",%" #P3 "}, %" #P4             \
                 ", p, 1, 1%" #P8 ";}"                                         \
                 : FUSEC_DETAIL_D##R("+f")                                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),         \
                   "r"(accumulate), "n"(2 * R), "C"(O::shape),                 \
                   "C"(WgmmaMajors<O::hasMajors, MnB>::text));                 \
  }                                                                            \
  template <class O, bool MnA, bool MnB>                                       \
  FUSEC_DEVICE void wgmmaShared(i32(&d)[R], u64 a, u64 b, i32 accumulate) {    \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" #P2 ", 0; wgmma.mma_async"  \
                 ".sync.aligned.m64n%" #P3 "%" #P4 " {" FUSEC_DETAIL_S##R      \
                 "}, %" #P0 ", %" #P1 ", p;}"                                  \
                 : FUSEC_DETAIL_D##R("+r")                                     \
                 : "l"(a), "l"(b), "r"(accumulate), "n"(2 * R),                \
                   "C"(O::shape));                                             \
  }                                                                            \
  template <class O, bool MnB>                                                 \
  FUSEC_DEVICE void wgmmaRegisters(i32(&d)[R], const u32(&a)[4], u64 b,        \
                                   i32 accumulate) {                           \
    asm volatile("{.reg .pred p; setp.ne.b32 p, %" #P5 ", 0; wgmma.mma_async"  \
                 ".sync.aligned.m64n%" #P6 "%" #P7 " {" FUSEC_DETAIL_S##R      \
                 "}, {%" #P0 ",%" #P1 ",%" #P2 ",%" #P3 "}, %" #P4 ", p;}"     \
                 : FUSEC_DETAIL_D##R("+r")                                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),         \
                   "r"(accumulate), "n"(2 * R), "C"(O::shape));                \
  }
FUSEC_DETAIL_WGMMA(4, 4, 5, 6, 7, 8, 9, 10, 11, 12)
FUSEC_DETAIL_WGMMA(8, 8, 9, 10, 11, 12, 13, 14, 15, 16)
FUSEC_DETAIL_WGMMA(12, 12, 13, 14, 15, 16, 17, 18, 19, 20)
FUSEC_DETAIL_WGMMA(16, 16, 17, 18, 19, 20, 21, 22, 23, 24)
FUSEC_DETAIL_WGMMA(20, 20, 21, 22, 23, 24, 25, 26, 27, 28)
FUSEC_DETAIL_WGMMA(24, 24, 25, 26, 27, 28, 29, 30, 31, 32)
FUSEC_DETAIL_WGMMA(28, 28, 29, 30, 31, 32, 33, 34, 35, 36)
FUSEC_DETAIL_WGMMA(32, 32, 33, 34, 35, 36, 37, 38, 39, 40)
FUSEC_DETAIL_WGMMA(36, 36, 37, 38, 39, 40, 41, 42, 43, 44)
FUSEC_DETAIL_WGMMA(40, 40, 41, 42, 43, 44, 45, 46, 47, 48)
FUSEC_DETAIL_WGMMA(44, 44, 45, 46, 47, 48, 49, 50, 51, 52)
FUSEC_DETAIL_WGMMA(48, 48, 49, 50, 51, 52, 53, 54, 55, 56)
FUSEC_DETAIL_WGMMA(52, 52, 53, 54, 55, 56, 57, 58, 59, 60)
FUSEC_DETAIL_WGMMA(56, 56, 57, 58, 59, 60, 61, 62, 63, 64)
FUSEC_DETAIL_WGMMA(60, 60, 61, 62, 63, 64, 65, 66, 67, 68)
FUSEC_DETAIL_WGMMA(64, 64, 65, 66, 67, 68, 69, 70, 71, 72)
FUSEC_DETAIL_WGMMA(68, 68, 69, 70, 71, 72, 73, 74, 75, 76)
FUSEC_DETAIL_WGMMA(72, 72, 73, 74, 75, 76, 77, 78, 79, 80)
FUSEC_DETAIL_WGMMA(76, 76, 77, 78, 79, 80, 81, 82, 83, 84)
FUSEC_DETAIL_WGMMA(80, 80, 81, 82, 83, 84, 85, 86, 87, 88)
FUSEC_DETAIL_WGMMA(84, 84, 85, 86, 87, 88, 89, 90, 91, 92)
FUSEC_DETAIL_WGMMA(88, 88, 89, 90, 91, 92, 93, 94, 95, 96)
FUSEC_DETAIL_WGMMA(92, 92, 93, 94, 95, 96, 97, 98, 99, 100)
FUSEC_DETAIL_WGMMA(96, 96, 97, 98, 99, 100, 101, 102, 103, 104)
FUSEC_DETAIL_WGMMA(100, 100, 101, 102, 103, 104, 105, 106, 107, 108)
FUSEC_DETAIL_WGMMA(104, 104, 105, 106, 107, 108, 109, 110, 111, 112)
FUSEC_DETAIL_WGMMA(108, 108, 109, 110, 111, 112, 113, 114, 115, 116)
FUSEC_DETAIL_WGMMA(112, 112, 113, 114, 115, 116, 117, 118, 119, 120)
FUSEC_DETAIL_WGMMA(116, 116, 117, 118, 119, 120, 121, 122, 123, 124)
FUSEC_DETAIL_WGMMA(120, 120, 121, 122, 123, 124, 125, 126, 127, 128)
FUSEC_DETAIL_WGMMA(124, 124, 125, 126, 127, 128, 129, 130, 131, 132)
FUSEC_DETAIL_WGMMA(128, 128, 129, 130, 131, 132, 133, 134, 135, 136)
#undef FUSEC_DETAIL_WGMMA
} // namespace fusec_detail

template <class TA, class TB = TA, bool MnA = false, bool MnB = false, class D,
          i32 R>
FUSEC_DEVICE void wgmma(D (&d)[R], u64 a, u64 b, bool accumulate) {
  using O = fusec_detail::WgmmaTypes<TA, TB>;
  static_assert(O::hasMajors || !(MnA || MnB),
                "operands of this type have K contiguous");
  fusec_detail::wgmmaShared<O, MnA, MnB>(d, a, b, accumulate);
}
template <class TA, class TB = TA, bool MnB = false, class D, i32 R>
FUSEC_DEVICE void wgmma_ra(D (&d)[R], const u32 (&a)[4], u64 b,
                           bool accumulate) {
  using O = fusec_detail::WgmmaTypes<TA, TB>;
  static_assert(O::hasMajors || !MnB,
                "operands of this type have K contiguous");
  fusec_detail::wgmmaRegisters<O, MnB>(d, a, b, accumulate);
}

#endif // FUSEC_PRELUDE_SM90_CUH
