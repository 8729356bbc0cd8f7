// The names of prelude_sm90.cuh that sm90_kernels.cuh does not use. Compiled,
// not run.
FUSEC_KERNEL_MIN(k_names_sm90, 128, 1)
(FUSEC_TENSOR_MAP(map), const f64 *wide, i64 *out, u32 *words) {
  FUSEC_SHARED_TILE(bf16, s, 4096);
  FUSEC_SHARED(i64, w, 16);
  FUSEC_SHARED_DYN_AT(FusecMbarrier, b, 0);
  u32 one[1] = {1u}, two[2] = {1u, 2u}, four[4] = {1u, 2u, 3u, 4u};
  i64 longs[2] = {1, 2};
  setmaxnreg_dec<40>();
  setmaxnreg_inc<232>();
  fence_proxy_async_global();
  stmatrix_x1(s, 0, one);
  stmatrix_x1_trans(s, 0, one);
  stmatrix_x2(s, 0, two);
  stmatrix_x2_trans(s, 0, two);
  stmatrix_x4(s, 0, four);
  stmatrix_x4_trans(s, 0, four);
  tma_load_im2col_3d(s, 0, map, b, 0, 0, 1, 2, 3);
  tma_load_im2col_4d(s, 0, map, b, 0, 0, 1, 2, 3, 4, 5);
  tma_load_im2col_5d(s, 0, map, b, 0, 0, 1, 2, 3, 4, 5, 6, 7);
  tma_load_multicast_im2col_3d(s, 0, map, b, 0, 3u, 0, 1, 2, 3);
  tma_load_multicast_im2col_4d(s, 0, map, b, 0, 3u, 0, 1, 2, 3, 4, 5);
  tma_load_multicast_im2col_5d(s, 0, map, b, 0, 3u, 0, 1, 2, 3, 4, 5, 6, 7);
  tma_store_im2col_3d(map, s, 0, 0, 1, 2);
  tma_store_im2col_4d(map, s, 0, 0, 1, 2, 3);
  tma_store_im2col_5d(map, s, 0, 0, 1, 2, 3, 4);
  tma_load_multicast_1d(s, 0, map, b, 0, 3u, 0);
  tma_load_multicast_3d(s, 0, map, b, 0, 3u, 0, 1, 2);
  tma_load_multicast_4d(s, 0, map, b, 0, 3u, 0, 1, 2, 3);
  tma_load_multicast_5d(s, 0, map, b, 0, 3u, 0, 1, 2, 3, 4);
  lds_cluster<2>(longs, 0, w, 0, 1);
  sts_cluster<2>(w, 0, longs, 0, 1);
  st_async(w, 0, 5, 1, shared_at(b, 1), 0);
  st_async<2>(w, 0, longs, 0, 1, b, 0);
  st1(out, 0, longs[0] + lds_cluster(w, 1, 0));
  mbar_arrive_remote(b, 0, 1);
  bulk_load(s, 0, (const bf16 *)wide, (i64)0, 16, b, 0);
  bulk_wait_read<3>();
  bulk_wait<2>();
  f32 acc[128];
  wgmma_fence();
  wgmma<bf16, bf16, false, true>(acc, wgmma_desc<0>(s, 0, 128, 256),
                                 wgmma_desc<32>(s, 0, 16, 256), true);
  wgmma_ra<f16, f16, true>(acc, four, wgmma_desc<64>(s, 0, 16, 512), true);
  wgmma_commit();
  wgmma_wait<0>(acc);
  st1(words, 0, as_u32(acc[3]) + atom_add(words, 1, 1u) + ld_acquire(words, 2));
  st_release(words, 3, 1u);
}
FUSEC_EXPORT(k_names_sm90)

// The names of chain.cuh.
struct names_chain_table {
  i32 bytes[3];
  ChainStep step[2];
};
FUSEC_KERNEL_CLUSTER(k_names_chain, 128, 1, 2)
(FUSEC_TABLE(names_chain_table, table), f64 *out) {
  FUSEC_SHARED_DYN(u64, values);
  FUSEC_MBARRIERS(meetings, 3);
  begin_meetings<128>(meetings, table.bytes);
  const ChainStep now = read_ahead(table.step[0]);
  i32 waited = 0;
  meet<true>(meetings, now, waited);
  f64 wide[4] = {1, 2, 3, 4};
  f32 narrow[2] = {1, 2};
  f64 *const to = pinned(out);
  const i64 at = pinned((i64)tid());
  const auto a = kept<f64>(values, 0);
  const auto b = sent<f32, 2>(values, 16, meetings, now.sends);
  const auto c = sent_out<f64, 2>(values, 32, meetings, now.sends, to);
  ld<4>(wide, 0, a, 4 * at);
  ldm<2>(narrow, 0, kept<f32>(values, 16), at, at > 0, 1.0f);
  st<4>(a, at, wide, 0);
  stm<2>(b, at, narrow, 0, at > 0);
  stm<4>(c, at, wide, 0, at > 0);
}
FUSEC_EXPORT(k_names_chain)
