//===- prelude_memory.cuh - global and shared accesses ---------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector and scalar accesses, masked or not, to buffers that are aligned to
// FUSEC_ALIGNMENT bytes (see the conventions in prelude_language.cuh).
//===----------------------------------------------------------------------===//
#ifndef FUSEC_PRELUDE_MEMORY_CUH
#define FUSEC_PRELUDE_MEMORY_CUH

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
/// Two accesses at once: D elements behind the first is the second, of other
/// registers. More than that where they are rows (rolled.cuh).
template <i32 V, i32 D, class T, i32 N, i32 M, class P, class I>
FUSEC_DEVICE void ld_pair(T (&dst)[N], i32 r, T (&behind)[M], i32 q, P *p,
                          I off) {
  ld<V>(dst, r, p, off);
  ld<V>(behind, q, p, off + D);
}
template <i32 V, i32 D, class T, i32 N, i32 M, class P, class I>
FUSEC_DEVICE void stm_pair(P *p, I off, const T (&src)[N], i32 r,
                           const T (&behind)[M], i32 q, bool mask) {
  stm<V>(p, off, src, r, mask);
  stm<V>(p, off + D, behind, q, mask);
}
template <i32 V, i32 D, class T, i32 N, i32 M, class P, class I>
FUSEC_DEVICE void st_pair(P p, I off, const T (&src)[N], i32 r,
                          const T (&behind)[M], i32 q) {
  stm_pair<V, D>(p, off, src, r, behind, q, true);
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

#endif // FUSEC_PRELUDE_MEMORY_CUH
