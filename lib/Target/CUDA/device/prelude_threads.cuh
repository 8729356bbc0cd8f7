//===- prelude_threads.cuh - ids, barriers, shuffles, atomics --*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which thread this is and how it meets the others: of its block, its warp,
// and through global memory of its launch.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PRELUDE_THREADS_CUH
#define FUSEC_PRELUDE_THREADS_CUH

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

/// Lets the next launch on the stream begin, if it is one that waits, once all
/// blocks have said so: its blocks come in where there is room. For kernels
/// whose blocks are all there from the start: what waits would hold the room of
/// blocks still to come.
FUSEC_DEVICE void grid_next() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
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

#endif // FUSEC_PRELUDE_THREADS_CUH
