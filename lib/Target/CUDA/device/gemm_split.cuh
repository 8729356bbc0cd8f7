//===- gemm_split.cuh - sums that a cluster divides -------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main loop of Hopper (gemm_wgmma.cuh) where tiles are fewer than
// multiprocessors: the blocks of a cluster have the same tile, or a few tiles
// one below the other, and a part of k each. In the end the parts are added
// through each other's shared memory, in the order of the parts whatever block
// adds them. The 64 x 32 pieces that the epilogue walks anyway are shared out
// to the blocks, so that the epilogue is divided, too.
//
// A block puts all its sums into its ring, which is empty by then, and reads
// its pieces from all blocks. Blocks meet twice a tile:
//   1. when the sums of all are in their rings. A block's multipliers store
//      them once each has seen all slots of this tile full and multiplied, so
//      no copy is under way to this ring any more, the sharers' halves of B
//      included (they count as bytes of the slot); and producers go on to the
//      next tile behind 2. only;
//   2. when all have read what they add. Behind it the rings may be filled for
//      the next tile, and blocks may end: nobody reads them any more. Copies
//      that follow reads need no fence between the proxies, as in any ring
//      whose slots are handed back.
// All threads of all blocks are at both, for each tile: clusters take tiles, so
// their blocks have equally many. Warps come to them whole, as the barrier of
// the cluster counts warps.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_SPLIT_CUH
#define FUSEC_GEMM_SPLIT_CUH
#ifdef FUSEC_SM90

/// As GemmWgmmaConfig, in clusters of Sharers * Ranks blocks: Sharers have
/// tiles one below the other and share B, Ranks divide k. Both operands are
/// Tensor ones.
template <GemmKind Kind, i32 Consumers, i32 TileN, i32 Stages, i32 GroupM,
          i32 Sharers, i32 Ranks, i32 Parts = 0>
struct GemmSplitConfig : GemmWgmmaConfig<Kind, Consumers, TileN, Stages, GroupM,
                                         1, Sharers, Parts> {
  using Base = GemmWgmmaConfig<Kind, Consumers, TileN, Stages, GroupM, 1,
                               Sharers, Parts>;
  static constexpr i32 kCluster = Sharers * Ranks;
  static constexpr i32 kRanks = Ranks;
  static_assert(Ranks > 1 && kCluster <= 8,
                "more than 8 blocks do not fit everywhere");
  static_assert(Base::kSharedBytes >= Base::kTileM * TileN * 4,
                "the ring has room for the sums of a tile");
};

/// Fills the ring, by thread 0; its warpgroup attends the meetings.
template <class Config, class Holes, class Ring, class MapA, class MapB>
FUSEC_DEVICE void gemmSplitProduce(const Holes &holes, const MapA &mapA,
                                   const MapB &mapB, Ring ring,
                                   FUSEC_SHARED_PTR(FusecMbarrier) full,
                                   FUSEC_SHARED_PTR(FusecMbarrier) empty,
                                   const GemmWork<Config> &work) {
  using Feeds = GemmFeeds<Config, Holes>;
  static_assert(Feeds::kTensors, "the copy engine brings both operands");
  typename Feeds::A a;
  typename Feeds::B b;
  GemmTurn<Config::kStages> turn{0, 1};
  for (i32 t = work.first(); t < work.tiles; t += work.stride()) {
    GemmTile tile = work.tile(t);
    a.begin(holes, tile.batch, tile.m0);
    b.begin(holes, tile.batch, tile.n0);
    if (tid() == 0)
      for (i32 s = 0; s < work.steps; ++s) {
        i32 k0 = work.firstK + s * Config::kTileK;
        i32 base = turn.slot * Config::kSlot;
        mbar_wait(empty, turn.slot, turn.parity);
        mbar_arrive_expect(full, turn.slot, Feeds::kBytes);
        a.fetch(holes, k0, ring, base, mapA, full, turn.slot);
        b.fetch(holes, k0, ring, base + Config::kSlotA, mapB, full, turn.slot);
        turn.next();
      }
    bar_warp();
    cluster_sync(); // the sums are there
    cluster_sync(); // and have been read
  }
}

/// Adds the parts of sums and hands over this block's pieces. `tile` are the
/// 64 rows number `group`, whose sums the warpgroup has.
/// Element i of the accumulators of a piece, of lane l of warp w of its four,
/// is at word ((piece * 4 + i / 4) * 128 + 32 * w + l) * 4 + i % 4, so that
/// neighbouring lanes access neighbouring 16 bytes.
template <class Config, class Holes, class Sum, i32 R>
FUSEC_DEVICE void gemmCombine(const Holes &holes, const Sum (&acc)[R],
                              GemmTile tile, i32 group,
                              const GemmWork<Config> &work) {
  constexpr i32 kRanks = Config::kRanks;
  constexpr i32 kChunks = Config::kTileN / 32;
  constexpr i32 kPieces = Config::kConsumers * kChunks;
  FUSEC_SHARED_DYN(Sum, sums);
  i32 thread = tid() % 128;
  // The other warpgroup's products have been read from the ring, too: each
  // waits for its own before it comes here.
  if constexpr (Config::kConsumers > 1)
    bar_named(1, 128 * Config::kConsumers);
  FUSEC_UNROLL
  for (i32 v = 0; v < R / 4; ++v)
    sts<4>(sums, ((group * kChunks * 4 + v) * 128 + thread) * 4, acc, 4 * v);
  // Copies for the next tile overwrite them.
  fence_proxy_async();
  cluster_sync();
  // One piece of each block first.
  i32 piece = gemmRank<Config>() + group * kRanks;
  constexpr i32 kStride = Config::kConsumers * kRanks;
  if (piece >= kPieces)
    cluster_arrive();
  for (; piece < kPieces; piece += kStride) {
    Sum parts[kRanks][16];
    FUSEC_UNROLL
    for (i32 v = 0; v < 4; ++v)
      FUSEC_UNROLL
    for (i32 r = 0; r < kRanks; ++r)
      lds_cluster<4>(parts[r], 4 * v, sums,
                     ((piece * 4 + v) * 128 + thread) * 4,
                     r * Config::kSharers + work.sharer);
    FUSEC_UNROLL
    for (i32 r = 1; r < kRanks; ++r)
      FUSEC_UNROLL
    for (i32 i = 0; i < 16; ++i)
      parts[0][i] += parts[r][i];
    if (piece + kStride >= kPieces)
      cluster_arrive();
    GemmTile here = tile;
    here.n0 += piece % kChunks * 32;
    here.m0 += (piece / kChunks - group) * 64;
    i32 row = here.m0 + warp() % 4 * 16 + (lane() >> 2);
    GemmColumn<Holes> column[1];
    gemmHandOver<Config>(holes, parts[0], here, row, work.m, work.n, column);
    gemmMeetColumns<Config>(holes, column, here, work.m, work.n);
    // Pieces are parts of a row and of columns; what this waits for holds up
    // nobody else.
    gemmCountRows<Config, 32>(holes, here.batch, here.m0 + warp() % 4 * 16,
                              work.m, work.n);
    gemmCountColumns<64, 32, 4>(holes, here, warp() % 4, work.m, work.n);
  }
  cluster_wait();
}

#endif // FUSEC_SM90
#endif // FUSEC_GEMM_SPLIT_CUH
