// Kernels that use each primitive of prelude_sm90.cuh in a small way; the cases
// in sm90_cases.h say what they compute. Run by the emulator's tests, and on a
// GPU by gpu_parity_sm90.cu.

//===-- Transaction barriers ----------------------------------------------===//

// Threads 32.. write a slot, warp 0 reads it, eight times.
FUSEC_KERNEL(k_mbarrier, 64)(i32 *out) {
  FUSEC_SHARED(i32, slot, 32);
  FUSEC_MBARRIERS(b, 2);
  if (tid() == 0) {
    mbar_init(b, 0, 32);
    mbar_init(b, 1, 1);
    mbar_init_fence();
  }
  bar();
  i32 sum = 0;
  for (i32 k = 0; k < 8; ++k) {
    if (warp() == 1) {
      mbar_wait(b, 1, (k & 1) ^ 1);
      sts(slot, lane(), k * 100 + lane());
      mbar_arrive(b, 0);
    } else {
      if (k % 2)
        mbar_wait_cluster(b, 0, k & 1);
      else
        while (!mbar_test(b, 0, k & 1)) {
        }
      sum += lds(slot, 31 - lane());
      bar_warp();
      if (elect_one())
        mbar_arrive(b, 1);
    }
  }
  if (warp() == 0)
    st1(out, lane(), sum);
}
FUSEC_EXPORT(k_mbarrier)

//===-- Clusters ----------------------------------------------------------===//

// Each block gets what its right neighbour wrote, in all four ways.
FUSEC_KERNEL_CLUSTER(k_cluster, 32, 1, 4)(i32 *out) {
  FUSEC_SHARED(i32, own, 32);
  FUSEC_SHARED(i32, got, 96);
  FUSEC_SHARED(u8, bytes, 16);
  FUSEC_MBARRIERS(b, 3);
  const i32 rank = cluster_rank(), n = cluster_size();
  const i32 left = (rank + n - 1) % n, right = (rank + 1) % n;
  if (tid() == 0) {
    mbar_init(b, 0, 1);
    mbar_init(b, 1, 1);
    mbar_init(b, 2, 32);
    mbar_init_fence();
    mbar_arrive_expect(b, 0, 32 * 4);
    mbar_arrive_expect(b, 1, 32 * 4);
  }
  sts(own, tid(), rank * 1000 + tid());
  fence_proxy_async();
  cluster_sync();
  // By loads, by background stores, by a bulk copy, by plain stores.
  const i32 loaded = lds_cluster(own, tid(), right);
  if (tid() < 8) {
    i32 v[4];
    lds<4>(v, 0, own, 4 * tid());
    st_async<4>(got, 4 * tid(), v, 0, left, b, 0);
  }
  if (tid() == 0)
    bulk_send(got, 32, left, own, 0, 32 * 4, b, 1);
  i32 w[2];
  w[0] = rank * 10 + tid();
  w[1] = -w[0];
  if (tid() < 16)
    sts_cluster<2>(got, 64 + 2 * tid(), w, 0, left);
  if (tid() < 16)
    sts_cluster(bytes, tid(), (u8)(rank + tid()), left);
  mbar_arrive_remote_release(b, 2, left);
  mbar_wait(b, 0, 0);
  mbar_wait(b, 1, 0);
  mbar_wait_cluster(b, 2, 0);
  const i32 at = cta_x() * 160 + tid();
  st1(out, at, loaded);
  st1(out, at + 32, lds(got, tid()));
  st1(out, at + 64, lds(got, 32 + tid()));
  st1(out, at + 96, lds(got, 64 + tid()));
  st1(out, at + 128, (i32)lds(bytes, tid() % 16));
  cluster_arrive();
  cluster_wait();
}
FUSEC_EXPORT(k_cluster)

// One slot a block, filled by block 0 again and again; the peers' arrivals let
// it go on, the relaxed barrier ends a round.
FUSEC_KERNEL_CLUSTER(k_flow, 32, 1, 2)(i32 *out) {
  FUSEC_SHARED(i32, slot, 32);
  FUSEC_MBARRIERS(b, 2);
  if (tid() == 0) {
    mbar_init(b, 0, 1);
    mbar_init(b, 1, 1);
    mbar_init_fence();
  }
  cluster_sync();
  i32 sum = 0;
  for (i32 k = 0; k < 6; ++k) {
    if (cluster_rank() == 1 && tid() == 0)
      mbar_arrive_expect(b, 0, 128);
    if (cluster_rank() == 0) {
      mbar_wait(b, 1, (k & 1) ^ 1);
      st_async(slot, tid(), k * tid(), 1, b, 0);
    } else {
      mbar_wait(b, 0, k & 1);
      sum += lds(slot, 31 - tid());
      bar_warp();
      if (tid() == 0)
        mbar_arrive_remote(b, 1, 0);
    }
    cluster_arrive_relaxed();
    cluster_wait();
  }
  if (cluster_rank() == 1)
    st1(out, tid(), sum);
  cluster_sync();
}
FUSEC_EXPORT(k_flow)

//===-- Bulk copies -------------------------------------------------------===//

// Global to shared to global, in two groups; block 0 also multicasts.
FUSEC_KERNEL_CLUSTER(k_bulk, 64, 1, 2)(const i32 *in, i32 *out) {
  FUSEC_SHARED(i32, s, 256);
  FUSEC_MBARRIERS(b, 1);
  if (tid() == 0) {
    mbar_init(b, 0, 1);
    mbar_init_fence();
    mbar_expect(b, 0, 512);
    mbar_arrive_expect(b, 0, 512);
  }
  cluster_sync();
  if (tid() == 0) {
    bulk_load(s, 0, in, 128 * cluster_rank(), 512, b, 0);
    if (cluster_rank() == 0)
      bulk_load_multicast(s, 128, in, (i64)256, 512, b, 0, 3u);
  }
  mbar_wait(b, 0, 0);
  for (i32 i = tid(); i < 256; i += 64)
    sts(s, i, lds(s, i) + 1);
  fence_proxy_async();
  bar();
  if (tid() == 0) {
    bulk_store(out, 256 * cta_x(), s, 0, 512);
    bulk_commit();
    bulk_store(out, 256 * cta_x() + 128, s, 128, 512);
    bulk_commit();
    bulk_wait_read<1>();
    sts(s, 0, -1);
    bulk_wait<0>();
  }
  cluster_sync();
}
FUSEC_EXPORT(k_bulk)

//===-- Tensor maps -------------------------------------------------------===//

// A box at (c0, c1, ...) is prefetched (where bit 0 of `parts` is set), loaded
// and dumped word by word, so that the swizzle shows (bit 1), and stored
// through the second map at the same place (bit 2).
#define TENSOR_KERNEL(n, ...)                                                  \
  FUSEC_KERNEL(k_tensor##n, 32)                                                \
  (FUSEC_TENSOR_MAP(from), FUSEC_TENSOR_MAP(to), u32 * dump, i32 bytes,        \
   i32 parts, i32 c0, i32 c1, i32 c2, i32 c3, i32 c4) {                        \
    FUSEC_SHARED_TILE(u32, s, 2048);                                           \
    FUSEC_MBARRIERS(b, 1);                                                     \
    if (tid() == 0) {                                                          \
      tma_prefetch_map(from);                                                  \
      if (parts & 1)                                                           \
        tma_prefetch_##n##d(from, __VA_ARGS__);                                \
      mbar_init(b, 0, 1);                                                      \
      mbar_init_fence();                                                       \
      if (parts & 2) {                                                         \
        mbar_arrive_expect(b, 0, bytes);                                       \
        tma_load_##n##d(s, 0, from, b, 0, __VA_ARGS__);                        \
      }                                                                        \
    }                                                                          \
    bar();                                                                     \
    if (parts & 2) {                                                           \
      mbar_wait(b, 0, 0);                                                      \
      for (i32 i = tid(); i < bytes / 4; i += 32)                              \
        st1(dump, i, lds(s, i));                                               \
      bar();                                                                   \
    }                                                                          \
    if (tid() == 0 && (parts & 4)) {                                           \
      tma_store_##n##d(to, s, 0, __VA_ARGS__);                                 \
      bulk_commit();                                                           \
      bulk_wait<0>();                                                          \
    }                                                                          \
  }                                                                            \
  FUSEC_EXPORT(k_tensor##n)
TENSOR_KERNEL(1, c0)
TENSOR_KERNEL(2, c0, c1)
TENSOR_KERNEL(3, c0, c1, c2)
TENSOR_KERNEL(4, c0, c1, c2, c3)
TENSOR_KERNEL(5, c0, c1, c2, c3, c4)
#undef TENSOR_KERNEL

// Pixels from (c, w, .., n) on, moved by the offsets, are loaded, dumped and
// stored through the second map, not moved.
#define IM2COL_KERNEL(n, at, ...)                                              \
  FUSEC_KERNEL(k_im2col##n, 32)                                                \
  (FUSEC_TENSOR_MAP(from), FUSEC_TENSOR_MAP(to), u32 * dump, i32 bytes,        \
   i32 parts, i32 c0, i32 c1, i32 c2, i32 c3, i32 c4, i32 o0, i32 o1,          \
   i32 o2) {                                                                   \
    FUSEC_SHARED_TILE(u32, s, 2048);                                           \
    FUSEC_MBARRIERS(b, 1);                                                     \
    if (tid() == 0) {                                                          \
      mbar_init(b, 0, 1);                                                      \
      mbar_init_fence();                                                       \
      if (parts & 2) {                                                         \
        mbar_arrive_expect(b, 0, bytes);                                       \
        tma_load_im2col_##n##d(s, 0, from, b, 0, IM2COL_LIST at, __VA_ARGS__); \
      }                                                                        \
    }                                                                          \
    bar();                                                                     \
    if (parts & 2) {                                                           \
      mbar_wait(b, 0, 0);                                                      \
      for (i32 i = tid(); i < bytes / 4; i += 32)                              \
        st1(dump, i, lds(s, i));                                               \
      bar();                                                                   \
    }                                                                          \
    if (tid() == 0 && (parts & 4)) {                                           \
      tma_store_im2col_##n##d(to, s, 0, IM2COL_LIST at);                       \
      bulk_commit();                                                           \
      bulk_wait<0>();                                                          \
    }                                                                          \
  }                                                                            \
  FUSEC_EXPORT(k_im2col##n)
#define IM2COL_LIST(...) __VA_ARGS__
IM2COL_KERNEL(3, (c0, c1, c2), o0)
IM2COL_KERNEL(4, (c0, c1, c2, c3), o0, o1)
IM2COL_KERNEL(5, (c0, c1, c2, c3, c4), o0, o1, o2)
#undef IM2COL_KERNEL
#undef IM2COL_LIST

// Each block loads the pixels of one image for both.
FUSEC_KERNEL_CLUSTER(k_im2col_multicast, 32, 1, 2)
(FUSEC_TENSOR_MAP(from), u32 *out) {
  FUSEC_SHARED_TILE(u32, s, 512);
  FUSEC_MBARRIERS(b, 1);
  if (tid() == 0) {
    mbar_init(b, 0, 1);
    mbar_init_fence();
    mbar_arrive_expect(b, 0, 2048);
  }
  cluster_sync();
  if (tid() == 0)
    tma_load_multicast_im2col_4d(s, 256 * cluster_rank(), from, b, 0, 3u, 0, -1,
                                 -1, cluster_rank(), 1, 2);
  mbar_wait(b, 0, 0);
  for (i32 i = tid(); i < 512; i += 32)
    st1(out, 512 * cta_x() + i, lds(s, i));
  cluster_sync();
}
FUSEC_EXPORT(k_im2col_multicast)

// Each block loads one half of a box for both.
FUSEC_KERNEL_CLUSTER(k_multicast, 32, 1, 2)
(FUSEC_TENSOR_MAP(from), u32 *out) {
  FUSEC_SHARED_TILE(u32, s, 512);
  FUSEC_MBARRIERS(b, 1);
  if (tid() == 0) {
    mbar_init(b, 0, 1);
    mbar_init_fence();
    mbar_arrive_expect(b, 0, 2048);
  }
  cluster_sync();
  if (tid() == 0)
    tma_load_multicast_2d(s, 256 * cluster_rank(), from, b, 0, 3u, 0,
                          8 * cluster_rank());
  mbar_wait(b, 0, 0);
  for (i32 i = tid(); i < 512; i += 32)
    st1(out, 512 * cta_x() + i, lds(s, i));
  cluster_sync();
}
FUSEC_EXPORT(k_multicast)

//===-- Warps and packed numbers ------------------------------------------===//

FUSEC_KERNEL(k_stmatrix, 32)(const u32 *in, u16 *out) {
  FUSEC_SHARED(f16, s, 256);
  u32 r[4], two[2], one[1];
  FUSEC_UNROLL
  for (i32 k = 0; k < 4; ++k)
    r[k] = ld1(in, k * 32 + lane());
  two[0] = r[2], two[1] = r[3];
  one[0] = r[1];
  for (i32 form = 0; form < 4; ++form) {
    if (form == 0)
      stmatrix_x4(s, 8 * lane(), r);
    else if (form == 1)
      stmatrix_x4_trans(s, 8 * lane(), r);
    else if (form == 2)
      stmatrix_x2(s, 8 * (lane() % 16), two);
    else
      stmatrix_x1_trans(s, 8 * (lane() % 8), one);
    bar();
    for (i32 i = lane(); i < 256; i += 32)
      st1(out, 256 * form + i, lds(s, i).bits);
    bar();
  }
}
FUSEC_EXPORT(k_stmatrix)

// Warps 0 and 1 write without waiting, warps 2 and 3 read; then these meet at
// a token of their own.
FUSEC_KERNEL(k_named, 128)(i32 *out) {
  FUSEC_SHARED(i32, s, 64);
  u32 v[2] = {3u, 5u};
  if (warp() < 2) {
    sts(s, tid(), 7 * tid());
    bar_named_arrive(3, 128);
  } else {
    bar_named(3, 128);
    pin(v, bar_token(4, 64));
    st1(out, tid() - 64, lds(s, tid() - 64) + (i32)(v[0] + v[1]));
  }
}
FUSEC_EXPORT(k_named)

FUSEC_KERNEL(k_packed, 32)(const f32 *in, u32 *out, i32 n) {
  for (i32 i = tid(); i < n; i += 32) {
    const f32 a = ld1(in, 4 * i), b = ld1(in, 4 * i + 1);
    const f32 c = ld1(in, 4 * i + 2), d = ld1(in, 4 * i + 3);
    const u32 h0 = pack2_f32<f16>(a, b), h1 = pack2_f32<f16>(c, d);
    const u32 g0 = pack2_f32<bf16>(a, b), g1 = pack2_f32<bf16>(c, d);
    u32 r[16] = {h0,
                 g0,
                 pack4_sat<f8e4m3>(a, b, c, d),
                 pack4_sat<f8e5m2>(a, b, c, d),
                 add2<f16>(h0, h1),
                 add2<bf16>(g0, g1),
                 sub2<f16>(h0, h1),
                 sub2<bf16>(g0, g1),
                 mul2<f16>(h0, h1),
                 mul2<bf16>(g0, g1),
                 max2<f16>(h0, h1),
                 min2<bf16>(g0, g1),
                 min2<f16>(h0, h1),
                 max2<bf16>(g0, g1),
                 fma2<f16>(h0, h1, h0),
                 fma2<bf16>(g0, g1, g1)};
    FUSEC_UNROLL
    for (i32 k = 0; k < 16; ++k)
      st1(out, 16 * i + k, r[k]);
  }
}
FUSEC_EXPORT(k_packed)

//===-- Warpgroup products ------------------------------------------------===//

// The operands come as images of shared memory; the product is stored in the
// order of the accumulator layout. Two steps accumulate on `base`.
template <class TA, class TB, bool MnA, bool MnB, i32 SwA, i32 SwB, class D,
          i32 N>
FUSEC_DEVICE void product(FUSEC_SHARED_PTR(u32) s, const D *base, D *out,
                          const i32 *forms) {
  D acc[N / 2];
  FUSEC_UNROLL
  for (i32 r = 0; r < N / 2; ++r)
    acc[r] = ld1(base, tid() * (N / 2) + r);
  const u64 a = wgmma_desc<SwA>(s, 0, ld1(forms, 0), ld1(forms, 1));
  const u64 b = wgmma_desc<SwB>(s, 4096, ld1(forms, 2), ld1(forms, 3));
  wgmma_fence();
  wgmma<TA, TB, MnA, MnB>(acc, a, b, ld1(forms, 4) != 0);
  wgmma_commit();
  wgmma<TA, TB, MnA, MnB>(acc, a, b, true);
  wgmma_commit();
  wgmma_wait<1>();
  wgmma_wait<0>(acc);
  FUSEC_UNROLL
  for (i32 r = 0; r < N / 2; ++r)
    st1(out, tid() * (N / 2) + r, acc[r]);
}
// A comes in registers: words 0..3 of each thread at s[4 * tid].
template <class TA, class TB, bool MnB, i32 SwB, class D, i32 N>
FUSEC_DEVICE void productRegisters(FUSEC_SHARED_PTR(u32) s, const D *base,
                                   D *out, const i32 *forms) {
  D acc[N / 2];
  FUSEC_UNROLL
  for (i32 r = 0; r < N / 2; ++r)
    acc[r] = ld1(base, tid() * (N / 2) + r);
  u32 a[4];
  lds<4>(a, 0, s, 4 * tid());
  const u64 b = wgmma_desc<SwB>(s, 4096, ld1(forms, 2), ld1(forms, 3));
  wgmma_fence();
  wgmma_ra<TA, TB, MnB>(acc, a, b, ld1(forms, 4) != 0);
  wgmma_commit();
  wgmma_wait<0>(acc);
  FUSEC_UNROLL
  for (i32 r = 0; r < N / 2; ++r)
    st1(out, tid() * (N / 2) + r, acc[r]);
}
#define PRODUCT_BEGIN(name, D)                                                 \
  FUSEC_KERNEL_MIN(name, 128, 1)                                               \
  (const u32 *image, const D *base, D *out, const i32 *forms) {                \
    FUSEC_SHARED_TILE(u32, s, 12288);                                          \
    for (i32 i = tid(); i < 12288; i += 128)                                   \
      sts(s, i, ld1(image, i));                                                \
    fence_proxy_async();                                                       \
    bar();
#define PRODUCT(name, TA, TB, MnA, MnB, SwA, SwB, D, N)                        \
  PRODUCT_BEGIN(name, D)                                                       \
  product<TA, TB, MnA, MnB, SwA, SwB, D, N>(s, base, out, forms);              \
  }                                                                            \
  FUSEC_EXPORT(name)
#define PRODUCT_RA(name, TA, TB, MnB, SwB, D, N)                               \
  PRODUCT_BEGIN(name, D)                                                       \
  productRegisters<TA, TB, MnB, SwB, D, N>(s, base, out, forms);               \
  }                                                                            \
  FUSEC_EXPORT(name)
PRODUCT(k_wgmma0, bf16, bf16, false, false, 128, 128, f32, 64)
PRODUCT(k_wgmma1, f16, f16, true, true, 128, 128, f32, 64)
PRODUCT(k_wgmma2, bf16, bf16, true, false, 64, 32, f32, 128)
PRODUCT(k_wgmma3, f16, f16, false, true, 32, 64, f32, 32)
PRODUCT(k_wgmma4, bf16, bf16, false, false, 0, 0, f32, 8)
PRODUCT(k_wgmma5, f16, f16, true, true, 0, 0, f32, 256)
PRODUCT(k_wgmma6, f32, f32, false, false, 128, 64, f32, 24)
PRODUCT(k_wgmma7, f8e4m3, f8e5m2, false, false, 128, 128, f32, 40)
PRODUCT(k_wgmma8, f8e5m2, f8e4m3, false, false, 32, 0, f32, 16)
PRODUCT(k_wgmma9, i8, u8, false, false, 64, 128, i32, 48)
PRODUCT(k_wgmma10, u8, i8, false, false, 128, 32, i32, 128)
PRODUCT(k_wgmma11, bf16, bf16, true, true, 32, 32, f32, 192)
PRODUCT(k_wgmma12, bf16, bf16, true, true, 64, 64, f32, 96)
PRODUCT_RA(k_wgmma13, bf16, bf16, false, 128, f32, 256)
PRODUCT_RA(k_wgmma14, f16, f16, true, 128, f32, 64)
PRODUCT_RA(k_wgmma15, f32, f32, false, 128, f32, 8)
PRODUCT_RA(k_wgmma16, f8e4m3, f8e4m3, false, 128, f32, 32)
PRODUCT_RA(k_wgmma17, i8, i8, false, 128, i32, 24)

//===-- Grids -------------------------------------------------------------===//

// Prefix sums over blocks, twice.
FUSEC_KERNEL_GRID(k_grid, 64, 1)(i32 *data, u32 *words) {
  for (i32 round = 0; round < 2; ++round) {
    if (tid() == 0)
      st1(data, (i32)cta_x() + round * ncta_x(), cta_x() + 1 + round);
    grid_sync(words, 0);
    i32 sum = 0;
    for (i32 k = 0; k <= cta_x(); ++k)
      sum += ld1(data, k + round * ncta_x());
    grid_sync(words, 0);
    if (tid() == 0)
      st1(data, (i32)cta_x() + round * ncta_x(), sum);
    grid_sync(words, 0);
  }
  if (tid() == 0) {
    if (cta_x() == 0)
      st_release(words, 1, 5u);
    while (ld_acquire(words, 1) != 5u) {
    }
  }
}
FUSEC_EXPORT(k_grid)
