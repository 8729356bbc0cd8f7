//===- gemm_few.cuh - products of few rows ----------------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With few rows of A a product lasts as long as reading B takes, so what counts
// is how many bytes are under way. A CTA has a tile of columns; its warps share
// out the steps of k and need nothing of each other until they add their sums
// in the end. A lane copies just those 16-byte groups that it multiplies
// itself into a ring of its own in shared memory, which therefore needs no
// barriers and holds far more than registers could.
//
// mma.sync takes B for its 16 rows and A for its 8 columns. Each lane has 16
// bytes of k at once: the order of k within a step is the same for both
// operands, so no lane has to hand anything over. Columns that are contiguous
// in memory are paired up along k in registers instead.
//
// The CTAs of a cluster divide k further where there are too few columns; they
// add up through each other's shared memory.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_FEW_CUH
#define FUSEC_GEMM_FEW_CUH

/// Adds the sums of all warps, in their order, and of all CTAs of the cluster,
/// and hands them to the epilogue hole.
template <class Config, class Holes, class Shared>
FUSEC_DEVICE void gemmFewEpilogue(const Holes &holes, Shared staged,
                                  GemmTile tile, i32 rank, i32 m, i32 n) {
  constexpr i32 kLine = Config::kTileN / 8;
  constexpr i32 kTotal = Config::kTileM * kLine;
  typename Config::Sum v[8], more[8];
  auto finish = [&](i32 row, i32 column) {
    i32 left = n - (tile.n0 + column);
    if (tile.m0 + row < m && left > 0)
      holes.epilogue(tile.batch, tile.m0 + row, tile.n0 + column, v,
                     left < 8 ? left : 8);
  };
  for (i32 i = tid(); i < kTotal; i += Config::kThreads) {
    i32 row = i / kLine;
    i32 column = i % kLine * 8;
    i32 at = row * Config::kPitch + column;
    lds<4>(v, 0, staged, at);
    lds<4>(v, 4, staged, at + 4);
    FUSEC_UNROLL
    for (i32 w = 1; w < Config::kWarpsK; ++w) {
      lds<4>(more, 0, staged, at + w * Config::kSlab);
      lds<4>(more, 4, staged, at + w * Config::kSlab + 4);
      FUSEC_UNROLL
      for (i32 e = 0; e < 8; ++e)
        v[e] += more[e];
    }
    if constexpr (Config::kCluster == 1) {
      finish(row, column);
    } else {
      sts<4>(staged, at, v, 0);
      sts<4>(staged, at + 4, v, 4);
    }
  }
#ifdef FUSEC_SM90
  if constexpr (Config::kCluster > 1) {
    cluster_sync();
    for (i32 i = tid() * Config::kCluster + rank; i < kTotal;
         i += Config::kThreads * Config::kCluster) {
      i32 row = i / kLine;
      i32 column = i % kLine * 8;
      i32 at = row * Config::kPitch + column;
      lds_cluster<4>(v, 0, staged, at, 0);
      lds_cluster<4>(v, 4, staged, at + 4, 0);
      FUSEC_UNROLL
      for (i32 c = 1; c < Config::kCluster; ++c) {
        lds_cluster<4>(more, 0, staged, at, c);
        lds_cluster<4>(more, 4, staged, at + 4, c);
        FUSEC_UNROLL
        for (i32 e = 0; e < 8; ++e)
          v[e] += more[e];
      }
      finish(row, column);
    }
    // A block stays while others read its sums.
    cluster_sync();
  }
#endif
}

/// The part of a warp in k, and the steps that it has. Tiles start at different
/// steps, as all of them would wait for the same lines of A otherwise. Where B
/// is copied they start whole rounds of warps apart, so that the warps of a CTA
/// read neighbouring pieces of B at any time; where it streams, single steps
/// apart, which is faster by a tenth on an H200.
template <class Config>
struct GemmFewSteps {
  static constexpr i32 kParts = Config::kWarpsK * Config::kCluster;
  i32 part;
  i32 count;
  i32 all;
  i32 start;
  FUSEC_METHOD void begin(i32 rank, i32 k) {
    all = (k + Config::kTileK - 1) / Config::kTileK;
    part = rank * Config::kWarpsK + warp();
    count = all > part ? (all - part + kParts - 1) / kParts : 0;
    const i32 places = Config::kStreams ? all : count;
    start = places > 0 ? cta_x() / Config::kCluster % places : 0;
  }
  /// The first k of a step; past k's end behind the last one.
  FUSEC_METHOD i32 at(i32 step) const {
    if (step >= count)
      return (part + step * kParts) * Config::kTileK;
    if (Config::kStreams) {
      i32 number = part + step * kParts + start;
      return (number < all ? number : number - all) * Config::kTileK;
    }
    i32 turned = step + start;
    turned -= turned < count ? 0 : count;
    return (part + turned * kParts) * Config::kTileK;
  }
};

/// B as the loop has it: it streams, or lanes bring it as they do A.
template <class Config, class Holes, bool Streams = Config::kStreams>
struct GemmFewB : GemmStream<Config, Holes> {};
template <class Config, class Holes>
struct GemmFewB<Config, Holes, false>
    : GemmFewSide<Config, Holes, GemmSideB<Holes>, Config::kGroupsB> {};

/// One CTA of the contraction; meaning as for gemm_mma. A is along k.
/// Launch: Config::kThreads threads, Config::kSharedBytes dynamic shared bytes,
/// a cluster in x for each tile of TileM x TileN of each batch.
template <class Config, class Holes>
FUSEC_DEVICE void gemm_few(const Holes &holes, i32 m, i32 n, i32 k, i32 batch) {
  using A = GemmFewSide<Config, Holes, GemmSideA<Holes>, Config::kGroupsA,
                        Config::kChunks>;
  constexpr i32 kStages = Config::kStages;
  constexpr i32 kOfA = Config::kGroupsB * 32 * 4;
  static_assert(A::kAlongK, "rows are along k");
  FUSEC_SHARED_DYN(typename Config::Element, ring);
  FUSEC_SHARED_DYN(u32, words);
  FUSEC_SHARED_DYN(typename Config::Sum, staged);
  GemmTile tile = gemmTile<Config>(cta_x() / Config::kCluster, m, n);
  i32 rank = cta_x() % Config::kCluster;
  i32 base = warp() * Config::kRing;
  GemmFewSteps<Config> steps;
  steps.begin(rank, k);

  A a;
  GemmFewB<Config, Holes> b;
  GemmFewWarp<Config, Holes> state;
  a.begin(holes, tile.batch, tile.m0);
  b.begin(holes, tile.batch, tile.n0);
  state.begin();
  FUSEC_UNROLL
  for (i32 s = 0; s < kStages - 1; ++s) {
    if (s < steps.count) {
      i32 at = base + s * Config::kSlot;
      b.copy(holes, steps.at(s), ring, at);
      a.copy(holes, steps.at(s), ring, at + kOfA);
    }
    cp_async_commit();
  }
  b.start(holes, steps.at(0));
  if (steps.count > 0) {
    b.compute(holes, steps.at(0));
    a.compute(holes, steps.at(0));
    b.commit(words, base);
    a.commit(words, base + kOfA);
  }
  i32 slot = 0;
  i32 free = kStages - 1;
  auto step = [&](i32 s) {
    cp_async_wait<kStages - 2>();
    if constexpr (Config::kStreams)
      bar_warp(); // A of other lanes; they are done with the slot that is free
    if (s + kStages - 1 < steps.count) {
      i32 k0 = steps.at(s + kStages - 1), at = base + free * Config::kSlot;
      b.copy(holes, k0, ring, at);
      a.copy(holes, k0, ring, at + kOfA);
    }
    cp_async_commit();
    if (s + 1 < steps.count) {
      b.compute(holes, steps.at(s + 1));
      a.compute(holes, steps.at(s + 1));
    }
    state.multiply(holes, words, base + slot * Config::kSlot, b, steps, s);
    free = slot;
    slot = slot + 1 == kStages ? 0 : slot + 1;
    if (s + 1 < steps.count) {
      b.commit(words, base + slot * Config::kSlot);
      a.commit(words, base + slot * Config::kSlot + kOfA);
    }
  };
  if constexpr (Config::kStreams) {
    FUSEC_NO_UNROLL
    for (i32 s = 0; s < steps.count; ++s)
      step(s);
  } else {
    for (i32 s = 0; s < steps.count; ++s)
      step(s);
  }
  cp_async_wait<0>();
  bar();
  state.stage(staged, warp() * Config::kSlab);
  bar();
  gemmFewEpilogue<Config>(holes, staged, tile, rank, m, n);
}

#endif // FUSEC_GEMM_FEW_CUH
