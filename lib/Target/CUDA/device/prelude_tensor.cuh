//===- prelude_tensor.cuh - matrix products of a warp ----------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor cores of sm_80 and what feeds them: ldmatrix and copies into shared
// memory in the background.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PRELUDE_TENSOR_CUH
#define FUSEC_PRELUDE_TENSOR_CUH

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

#endif // FUSEC_PRELUDE_TENSOR_CUH
