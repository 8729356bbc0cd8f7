//===- gemm_wgmma.cuh - the main loop of Hopper -----------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warpgroups with roles around a ring of slots, each with two barriers:
//   the producer waits until a slot is empty and fills it from the operand
//     holes, the steps of one tile after the other, as far ahead as the ring
//     allows, also while consumers are in the epilogue;
//   consumers (64 rows each) wait until a slot is full, issue the products of
//     the step, and give back the slot before it when its products are done.
// A CTA stays for many tiles. Accumulators never pass through shared memory:
// four lanes exchange pairs until each has eight consecutive n of a row, which
// is what the epilogue hole wants.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_WGMMA_CUH
#define FUSEC_GEMM_WGMMA_CUH
#ifdef FUSEC_SM90

/// Panels of 128 bytes a line as the 128-byte swizzle of wgmma has them: along
/// k a line is a row of the tile; along the outer dimension a panel of 64 rows
/// has a line for each k.
template <class Element, GemmOrder Order, i32 TileK>
struct GemmPanel {
  static constexpr i32 kGroup = 16 / i32(sizeof(Element));
  static constexpr i32 kPitch = 128 / i32(sizeof(Element));
  static constexpr i32 kPeriod = 8;

  FUSEC_DEVICE i32 index(i32 line, i32 along) {
    i32 panel = along / kPitch * (TileK * kPitch);
    i32 group = along % kPitch / kGroup ^ line & 7;
    return panel + line * kPitch + group * kGroup + along % kGroup;
  }
};

/// What the multiplying warpgroups of a CTA have: rows of one tile and one ring
/// (here), columns of one tile (gemm_apart.cuh), tiles in turns
/// (gemm_alternate.cuh), or rows of one tile and rings of their own
/// (gemm_held.cuh).
enum class GemmRoles : u8 { Together, Apart, Alternate, Held };

/// One instantiation: a CTA of one producing and `Consumers` multiplying
/// warpgroups makes tiles of 64 * Consumers x TileN, 128 bytes of k a step.
/// Blocks CTAs share an SM. The CTAs of a cluster have tiles one below the
/// other; each brings a part of B and copies it to all (Tensor operands only).
/// With Parts the sums of each step are promoted, a part of the columns at a
/// time (gemm_promote.cuh).
template <GemmKind Kind, i32 Consumers, i32 TileN, i32 Stages, i32 GroupM,
          i32 Blocks, i32 Cluster, i32 Parts = 0>
struct GemmWgmmaConfig {
  using Types = GemmTypes<Kind>;
  using Element = typename Types::Element;
  using Sum = typename Types::Sum;
  static constexpr GemmKind kKind = Kind;
  static constexpr i32 kConsumers = Consumers;
  static constexpr i32 kTileM = 64 * Consumers;
  static constexpr i32 kTileN = TileN;
  static constexpr i32 kTileK = 128 / i32(sizeof(Element));
  static constexpr i32 kStages = Stages;
  static constexpr i32 kGroupM = GroupM;
  static constexpr i32 kBlocks = Blocks;
  static constexpr GemmRoles kRoles = GemmRoles::Together;
  static constexpr i32 kCluster = Cluster;
  /// Blocks of the cluster that share B, one after the other, and parts of k
  /// that such groups of blocks take (gemm_split.cuh).
  static constexpr i32 kSharers = Cluster;
  static constexpr i32 kRanks = 1;
  /// Products of A that a tile has TileN columns of (gemm_pair.cuh).
  static constexpr i32 kProducts = 1;
  static constexpr i32 kParts = Parts;
  static constexpr i32 kLoadThreads = 128;
  static constexpr i32 kThreads = 128 * (Consumers + 1);
  static constexpr i32 kGroup = 16 / i32(sizeof(Element));
  template <GemmOrder Order, i32 Span>
  using Layout = GemmPanel<Element, Order, kTileK>;
  static constexpr i32 kSlotA = kTileM * kTileK;
  /// B along n comes in panels of 128 bytes: the last one may be cut.
  static constexpr i32 kPaddedN = (TileN + 63) / 64 * 64;
  static constexpr i32 kSlot = (kTileM + kPaddedN) * kTileK;
  static constexpr i32 kSharedBytes = Stages * kSlot * i32(sizeof(Element));
  /// Registers of a producing and of a multiplying thread: what is left of
  /// 64 Ki, as the kernel starts with the same number for all.
  static constexpr bool kMoveRegisters = Blocks == 1 && Consumers == 2;

  static_assert(Kind != GemmKind::F32, "f32 goes through gemm_fma");
  static_assert(TileN % 32 == 0 && TileN <= 256 &&
                    (TileN % (64 * Cluster) == 0 || Cluster == 1 ||
                     (sizeof(Element) != 2 && TileN % (8 * Cluster) == 0)),
                "lanes hand over 32 columns at once, clusters share panels, or "
                "rows by the eight where they are along k");
  static_assert(Stages >= 3, "two slots are under way");
};

/// A place in the ring and the phase of its barriers.
template <i32 Stages>
struct GemmTurn {
  i32 slot;
  i32 parity;
  FUSEC_METHOD void next() {
    bool wraps = slot + 1 == Stages;
    slot = wraps ? 0 : slot + 1;
    parity ^= wraps ? 1 : 0;
  }
  /// `next`, so many times.
  FUSEC_METHOD void skip(i32 steps) {
    i32 to = slot + steps;
    slot = to % Stages;
    parity ^= to / Stages & 1;
  }
};

/// A block's place among those that share B, the first one of them, and the
/// part of k that they have.
template <class Config>
FUSEC_DEVICE i32 gemmSharer() {
  if constexpr (Config::kSharers == 1)
    return 0;
  else if constexpr (Config::kRanks == 1)
    return cluster_rank();
  else
    return cluster_rank() % Config::kSharers;
}
template <class Config>
FUSEC_DEVICE i32 gemmFirstSharer() {
  if constexpr (Config::kRanks == 1)
    return 0;
  else
    return cluster_rank() / Config::kSharers * Config::kSharers;
}
template <class Config>
FUSEC_DEVICE i32 gemmRank() {
  if constexpr (Config::kRanks == 1)
    return 0;
  else
    return cluster_rank() / Config::kSharers;
}

/// The tiles of a CTA and the k steps of each; sums without terms are one step
/// of zeros. Where k is divided each part has as many steps; those past the end
/// of k are zeros.
template <class Config>
struct GemmWork {
  /// The tiles of a cluster, one below the other, are one to the numbering.
  struct Together {
    static constexpr i32 kTileM = Config::kTileM * Config::kSharers;
    static constexpr i32 kTileN = Config::kTileN;
    static constexpr i32 kGroupM = Config::kGroupM;
  };
  i32 sharer;
  i32 tiles;
  i32 steps;
  i32 firstK;
  i32 m;
  i32 n;
  FUSEC_METHOD void begin(i32 rows, i32 columns, i32 k, i32 batch) {
    sharer = gemmSharer<Config>();
    m = rows;
    n = columns;
    tiles = (m + Together::kTileM - 1) / Together::kTileM *
            ((n + Together::kTileN - 1) / Together::kTileN) * batch;
    steps = k > 0 ? (k + Config::kTileK - 1) / Config::kTileK : 1;
    steps = (steps + Config::kRanks - 1) / Config::kRanks;
    firstK = gemmRank<Config>() * (steps * Config::kTileK);
  }
  FUSEC_METHOD i32 first() const { return cta_x() / Config::kCluster; }
  /// Steps of all tiles of this CTA.
  FUSEC_METHOD i32 total() const {
    return first() < tiles ? ((tiles - 1 - first()) / stride() + 1) * steps : 0;
  }
  /// The step after whose products the tile before is counted: its stores have
  /// had the time to arrive.
  FUSEC_METHOD i32 countAt() const { return steps > 3 ? 3 : steps - 1; }
  FUSEC_METHOD i32 stride() const { return ncta_x() / Config::kCluster; }
  FUSEC_METHOD GemmTile tile(i32 number) const {
    GemmTile result = gemmTile<Together>(number, m, n);
    result.m0 += sharer * Config::kTileM;
    return result;
  }
};

/// Stands for the tensor map of an operand that has none.
struct GemmNoMap {};

/// The maps of B and of the second product's B (gemm_pair.cuh).
struct GemmTwoMaps {
  FUSEC_TENSOR_MAP_REF(first);
  FUSEC_TENSOR_MAP_REF(second);
};

/// The coordinates of a Tensor operand beside outer and k: batch % Split, then
/// batch / Split, where the map has these dimensions. With `Rows` its boxes
/// have only so many rows, as there are no more; the tile's others are zeros
/// from the start (A along k only).
/// With `Blocks` >= 0 (B along k only) the rows of each block of 32 come in the
/// order 0 1 8 9 16 17 24 25 2 3 ..: the columns of the accumulators that a
/// lane has are then eight consecutive ones. The map's dimensions are k, rows
/// of 2, 4 (8 apart), 4 (2 apart) and 32, the last going through all batches,
/// each of `Blocks` (0 where there are none).
template <GemmOrder Order, i32 Split, bool HasLow, bool HasHigh, i32 Rows = 0,
          i32 Blocks = -1>
struct GemmBox {
  static constexpr i32 kRows = Rows;
  static constexpr bool kAlongK = Order == GemmOrder::KContiguous;
  static constexpr bool kEights = Blocks >= 0;

  /// To ring[at..] of this block, or of `Copies` blocks of the cluster, from
  /// number `first` on.
  template <i32 Copies, class Ring, class Map>
  FUSEC_DEVICE void load(Ring ring, i32 at, const Map &map,
                         FUSEC_SHARED_PTR(FusecMbarrier) full, i32 slot,
                         i32 batch, i32 outer, i32 k, i32 first = 0) {
    const u32 mask = ((1u << Copies) - 1) << first;
    i32 c0 = kAlongK ? k : outer;
    i32 c1 = kAlongK ? outer : k;
    i32 low = batch % Split;
    i32 high = batch / Split;
    if constexpr (kEights) {
      i32 block = high * Blocks + outer / 32;
      if constexpr (Copies > 1)
        tma_load_multicast_5d(ring, at, map, full, slot, mask, c0, 0, 0, 0,
                              block);
      else
        tma_load_5d(ring, at, map, full, slot, c0, 0, 0, 0, block);
    } else if constexpr (Copies > 1) {
      if constexpr (HasLow && HasHigh)
        tma_load_multicast_4d(ring, at, map, full, slot, mask, c0, c1, low,
                              high);
      else if constexpr (HasLow || HasHigh)
        tma_load_multicast_3d(ring, at, map, full, slot, mask, c0, c1,
                              HasLow ? low : high);
      else
        tma_load_multicast_2d(ring, at, map, full, slot, mask, c0, c1);
    } else {
      if constexpr (HasLow && HasHigh)
        tma_load_4d(ring, at, map, full, slot, c0, c1, low, high);
      else if constexpr (HasLow || HasHigh)
        tma_load_3d(ring, at, map, full, slot, c0, c1, HasLow ? low : high);
      else
        tma_load_2d(ring, at, map, full, slot, c0, c1);
    }
  }

  /// From ring[at..] to memory, in the thread's group of stores.
  template <class Ring, class Map>
  FUSEC_DEVICE void store(const Map &map, Ring ring, i32 at, i32 batch,
                          i32 outer, i32 k) {
    static_assert(kAlongK && !HasLow && !kEights, "rows, and all batches");
    if constexpr (HasHigh)
      tma_store_3d(map, ring, at, k, outer, batch);
    else
      tma_store_2d(map, ring, at, k, outer);
  }
};

/// Brings one operand's part of each step: as the base loop does, or as boxes,
/// of which each of `Copies` blocks copies its share to all.
template <class Config, class Holes, class Side, class Box, i32 Tile,
          i32 Copies, bool IsTensor>
struct GemmFeed : GemmLoader<Config, Holes, Side, Tile> {
  using Base = GemmLoader<Config, Holes, Side, Tile>;
  static constexpr i32 kBytes = 0;
  template <class Ring, class Map>
  FUSEC_METHOD void fetch(const Holes &holes, i32 k0, Ring ring, i32 at,
                          const Map &, FUSEC_SHARED_PTR(FusecMbarrier), i32) {
    Base::fetch(holes, k0, ring, at);
  }
};

template <class Config, class Holes, class Side, class Box, i32 Tile,
          i32 Copies>
struct GemmFeed<Config, Holes, Side, Box, Tile, Copies, true> {
  /// Rows of 128 bytes of a step.
  static constexpr i32 kLines = Box::kRows     ? Box::kRows
                                : Box::kAlongK ? Tile
                                               : (Tile + 63) / 64 * 64;
  static constexpr i32 kBytes = kLines * 128;
  static_assert(!Box::kEights || Tile / Copies % 32 == 0, "whole blocks");
  static_assert(Box::kRows == 0 || (Box::kAlongK && Copies == 1),
                "short boxes are along k");
  i32 batch;
  i32 outer;
  i32 sharer;
  i32 first;
  FUSEC_METHOD void begin(const Holes &, i32 b, i32 o) {
    batch = b;
    outer = o;
    sharer = first = 0;
    if constexpr (Copies > 1) {
      sharer = gemmSharer<Config>();
      first = gemmFirstSharer<Config>();
    }
  }
  template <class Ring, class Map>
  FUSEC_METHOD void fetch(const Holes &, i32 k0, Ring ring, i32 at,
                          const Map &map, FUSEC_SHARED_PTR(FusecMbarrier) full,
                          i32 slot) {
    if (tid() != 0)
      return;
    constexpr i32 kPart = Tile / Copies;
    constexpr i32 kRows = Box::kAlongK ? kPart : 64;
    FUSEC_UNROLL
    for (i32 row = 0; row < kPart; row += kRows) {
      i32 o = sharer * kPart + row;
      Box::template load<Copies>(ring, at + o * Config::kTileK, map, full, slot,
                                 batch, outer + o, k0, first);
    }
  }
  template <class Ring>
  FUSEC_METHOD void commit(Ring, i32) const {}
};

/// What fills the ring.
template <class Config, class Holes>
struct GemmFeeds {
  static constexpr bool kTensorA = Holes::kAccessA == GemmAccess::Tensor;
  static constexpr bool kTensorB = Holes::kAccessB == GemmAccess::Tensor;
  /// One thread suffices.
  static constexpr bool kTensors = kTensorA && kTensorB;
  using A = GemmFeed<Config, Holes, GemmSideA<Holes>, typename Holes::BoxA,
                     Config::kTileM, 1, kTensorA>;
  using B = GemmFeed<Config, Holes, GemmSideB<Holes>, typename Holes::BoxB,
                     Config::kTileN, Config::kSharers, kTensorB>;
  static_assert(kTensors || sizeof(typename Config::Element) <= 2,
                "nothing but the copy engine rounds to TF32");
  static_assert(kTensors || Config::kCluster == 1,
                "clusters share what the copy engine brings");
  static constexpr i32 kBytes = A::kBytes + Config::kProducts * B::kBytes;
  /// Arrivals that fill a slot, beside the bytes.
  static constexpr i32 kArrivals = kTensors ? 1 : Config::kLoadThreads;
};

/// Fills the ring. Copies by threads of `kLag` steps are under way; a step is
/// published when this thread's part has arrived and is visible to wgmma.
/// Boxes are counted by the slot's barrier itself.
template <class Config, class Holes, class Ring, class MapA, class MapB>
FUSEC_DEVICE void gemmProduce(const Holes &holes, const MapA &mapA,
                              const MapB &mapB, Ring ring,
                              FUSEC_SHARED_PTR(FusecMbarrier) full,
                              FUSEC_SHARED_PTR(FusecMbarrier) empty,
                              const GemmWork<Config> &work) {
  using Feeds = GemmFeeds<Config, Holes>;
  constexpr i32 kLag = Feeds::kTensors ? 0 : Config::kStages - 2;
  typename Feeds::A a;
  typename Feeds::B b;
  GemmTurn<Config::kStages> turn{0, 1};
  i32 published = 0;
  i32 lag = 0;
  for (i32 t = work.first(); t < work.tiles; t += work.stride()) {
    GemmTile tile = work.tile(t);
    a.begin(holes, tile.batch, tile.m0);
    b.begin(holes, tile.batch, tile.n0);
    for (i32 s = 0; s < work.steps; ++s) {
      i32 k0 = s * Config::kTileK;
      i32 base = turn.slot * Config::kSlot;
      mbar_wait(empty, turn.slot, turn.parity);
      if constexpr (Feeds::kTensors)
        mbar_arrive_expect(full, turn.slot, Feeds::kBytes);
      else if (Feeds::kBytes > 0 && tid() == 0)
        mbar_expect(full, turn.slot, Feeds::kBytes);
      a.fetch(holes, k0, ring, base, mapA, full, turn.slot);
      if constexpr (Config::kProducts == 1) {
        b.fetch(holes, k0, ring, base + Config::kSlotA, mapB, full, turn.slot);
      } else {
        i32 at = base + Config::kSlotA;
        b.fetch(holes, k0, ring, at, mapB.first, full, turn.slot);
        b.fetch(holes, k0, ring, at + Config::kTileN * Config::kTileK,
                mapB.second, full, turn.slot);
      }
      if constexpr (!Feeds::kTensors) {
        cp_async_commit();
        a.commit(ring, base);
        b.commit(ring, base + Config::kSlotA);
        if (lag < kLag) {
          ++lag;
        } else {
          cp_async_wait<kLag>();
          fence_proxy_async();
          mbar_arrive(full, published);
          published = published + 1 == Config::kStages ? 0 : published + 1;
        }
      }
      turn.next();
    }
  }
  if constexpr (!Feeds::kTensors) {
    cp_async_wait<0>();
    fence_proxy_async();
    for (; lag > 0; --lag) {
      mbar_arrive(full, published);
      published = published + 1 == Config::kStages ? 0 : published + 1;
    }
  }
}

/// The operands of a warpgroup as wgmma names them.
template <class Config, GemmOrder Order>
struct GemmDescriptor {
  static constexpr bool kAlongK = Order == GemmOrder::KContiguous;
  static constexpr i32 kLine = 128;
  /// Bytes from one product's k to the next one's.
  static constexpr i32 kStep = kAlongK ? 32 : 16 * kLine;
  template <class Ring>
  FUSEC_DEVICE u64 make(Ring ring, i32 element) {
    constexpr i32 kPanel = Config::kTileK * kLine;
    return wgmma_desc<128>(ring, element, kAlongK ? 16 : kPanel, 8 * kLine);
  }
};

/// Lanes of a quad exchange pairs of columns. Of four blocks of 8 each had 2 of
/// every one, and then has 4 of each second one, or with `All` the 8 of one.
template <bool All, class Sum>
FUSEC_DEVICE void gemmExchange(Sum (&v)[8], i32 quad) {
  FUSEC_UNROLL
  for (i32 s = 1; s <= (All ? 2 : 1); s *= 2)
    FUSEC_UNROLL
  for (i32 j = 0; j < 4; ++j)
    if ((j & s) == 0)
      FUSEC_UNROLL
  for (i32 e = 0; e < 2; ++e) {
    Sum low = v[2 * j + e];
    Sum high = v[2 * (j + s) + e];
    bool isHigh = (quad & s) != 0;
    Sum other = shfl_xor(isHigh ? low : high, s);
    v[2 * j + e] = isHigh ? other : low;
    v[2 * (j + s) + e] = isHigh ? high : other;
  }
}

/// Whether lanes exchange columns before they call the epilogue hole.
template <class Holes>
constexpr bool kExchanges = Holes::kColumns > 2 && !Holes::BoxB::kEights;

/// Which of 32 columns are the 8 that a lane has: number `first` of these, and
/// those that follow it in a call of the hole.
template <class Holes>
FUSEC_DEVICE i32 gemmColumnOf(i32 first) {
  i32 quad = lane() & 3;
  if constexpr (Holes::kColumns == 8 || Holes::BoxB::kEights)
    return 8 * quad + first;
  else if constexpr (Holes::kColumns == 2)
    return first / 2 * 8 + 2 * quad + first % 2;
  else
    return first / 4 * 16 + 8 * (quad & 1) + 4 * (quad >> 1) + first % 4;
}

/// Calls the epilogue hole for the columns that a lane has of 32: 8 at once, or
/// 4, where two lanes have the halves of 8. `fits`: tiles end where columns do.
/// Returns `state` joined with the state of these columns, and writes what is
/// to be joined to each column's to `columns`.
template <class Holes, class Sum>
FUSEC_DEVICE GemmRow<Holes> gemmFinish(const Holes &holes, const Sum (&v)[8],
                                       i32 batch, i32 row, i32 column, i32 m,
                                       i32 n, bool fits, GemmRow<Holes> state,
                                       GemmColumn<Holes> (&columns)[8]) {
  constexpr i32 kColumns = Holes::kColumns;
  FUSEC_UNROLL
  for (i32 part = 0; part < 8 / kColumns; ++part) {
    Sum some[kColumns];
    GemmColumn<Holes> made[kColumns];
    FUSEC_UNROLL
    for (i32 i = 0; i < kColumns; ++i) {
      some[i] = v[kColumns * part + i];
      made[i] = gemmNone<GemmColumn<Holes>>(holes);
    }
    i32 at = column + gemmColumnOf<Holes>(kColumns * part);
    i32 left = n - at;
    i32 valid = fits || left > kColumns ? kColumns : left;
    bool isInside = row < m && (fits || left > 0);
    if constexpr (Holes::kMasks) {
      GemmRow<Holes> more =
          gemmCall(holes, batch, row < m ? row : m - 1,
                   fits || left > 0 ? at : (n - 1) / kColumns * kColumns, some,
                   row < m ? valid : 0, made);
      state = gemmJoin(holes, state,
                       isInside ? more : gemmNone<GemmRow<Holes>>(holes));
    } else if (isInside) {
      state = gemmJoin(holes, state,
                       gemmCall(holes, batch, row, at, some, valid, made));
    }
    FUSEC_UNROLL
    for (i32 i = 0; i < kColumns; ++i)
      columns[kColumns * part + i] =
          isInside ? made[i] : gemmNone<GemmColumn<Holes>>(holes);
  }
  return state;
}

/// Keeps the state of a row's `Columns` columns, which four lanes have.
template <class Config, i32 Columns, class Holes>
FUSEC_DEVICE void gemmKeepRow(const Holes &holes, GemmTile tile, i32 row,
                              GemmRow<Holes> state, i32 m, i32 n) {
  if constexpr (GemmRowOf<Holes>::kExists) {
    state = gemmJoinLanes<1, 4>(holes, state);
    if ((lane() & 3) == 0 && row < m)
      holes.keep(gemmPlace(tile.batch, tile.n0 / Columns,
                           gemmParts<Config, Columns>(n), row, m),
                 state);
  }
}

/// What a lane has of 32 columns of a row: of a block of 8 it has 2, of rows
/// l / 4 (`half` 0) and l / 4 + 8.
template <class Sum, i32 R>
FUSEC_DEVICE void gemmPick(Sum (&v)[8], const Sum (&acc)[R], i32 chunk,
                           i32 half) {
  FUSEC_UNROLL
  for (i32 j = 0; j < 4; ++j) {
    v[2 * j] = acc[16 * chunk + 4 * j + 2 * half];
    v[2 * j + 1] = acc[16 * chunk + 4 * j + 2 * half + 1];
  }
}

/// gemmHandOver where columns are reduced: both rows of a chunk after each
/// other, so that few states wait for the other row. There is no place for a
/// branch for all that a row reads, so its loads have a condition each, where
/// the hole can.
template <class Config, class Holes, class Sum, i32 R>
FUSEC_DEVICE void gemmHandOverChunks(const Holes &holes, const Sum (&acc)[R],
                                     GemmTile tile, i32 row, i32 m, i32 n,
                                     GemmColumn<Holes> (&columns)[R / 16]) {
  GemmRow<Holes> state[2];
  state[0] = state[1] = gemmNone<GemmRow<Holes>>(holes);
  FUSEC_UNROLL
  for (i32 c = 0; c < R / 16; ++c) {
    GemmColumn<Holes> both[8];
    FUSEC_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      Sum v[8];
      gemmPick(v, acc, c, half);
      if constexpr (kExchanges<Holes>)
        gemmExchange<Holes::kColumns == 8>(v, lane() & 3);
      GemmColumn<Holes> made[8];
      state[half] =
          gemmFinish(holes, v, tile.batch, row + 8 * half, tile.n0 + 32 * c, m,
                     n, n % Config::kTileN == 0, state[half], made);
      FUSEC_UNROLL
      for (i32 e = 0; e < 8; ++e)
        both[e] = half ? gemmJoin(holes, both[e], made[e]) : made[e];
    }
    columns[c] = gemmSpreadColumns(holes, both);
  }
  FUSEC_UNROLL
  for (i32 half = 0; half < 2; ++half)
    gemmKeepRow<Config, 2 * R>(holes, tile, row + 8 * half, state[half], m, n);
}

/// gemmHandOver where no columns are reduced. No branches between chunks, so
/// that what one reads is under way while another one is computed.
template <class Config, class Holes, class Sum, i32 R>
FUSEC_DEVICE void gemmHandOverRows(const Holes &holes, const Sum (&acc)[R],
                                   GemmTile tile, i32 row, i32 m, i32 n) {
  // A branch keeps apart what rows read if all of it would not fit registers.
  constexpr i32 kReads = R / 2 / Holes::kColumns * Holes::kReadBytes;
  constexpr bool kAtOnce = Holes::kMasks && kReads <= 224;
  // Lanes exchange before a branch, for all chunks where what these read is to
  // be under way together.
  constexpr bool kTogether = Holes::kMasks || Holes::kPrefetches;
  GemmColumn<Holes> none[8];
  FUSEC_UNROLL
  for (i32 half = 0; half < 2; ++half) {
    Sum v[R / 16][8];
    FUSEC_UNROLL
    for (i32 c = 0; c < R / 16; ++c) {
      gemmPick(v[c], acc, c, half);
      if constexpr (kTogether && kExchanges<Holes>)
        gemmExchange<Holes::kColumns == 8>(v[c], lane() & 3);
    }
    GemmRow<Holes> state = gemmNone<GemmRow<Holes>>(holes);
    if (!kTogether || kAtOnce || row + 8 * half < m)
      FUSEC_UNROLL
    for (i32 c = 0; c < R / 16; ++c) {
      if constexpr (!kTogether && kExchanges<Holes>)
        gemmExchange<Holes::kColumns == 8>(v[c], lane() & 3);
      state =
          gemmFinish(holes, v[c], tile.batch, row + 8 * half, tile.n0 + 32 * c,
                     m, n, n % Config::kTileN == 0, state, none);
    }
    gemmKeepRow<Config, 2 * R>(holes, tile, row + 8 * half, state, m, n);
  }
}

/// Hands the accumulators to the epilogue hole. Four lanes exchange four blocks
/// of 8 columns, two do so where the hole takes 4 columns, and none if B came
/// in the order that makes it unnecessary. `columns` are their states, one of
/// each 32 columns.
template <class Config, class Holes, class Sum, i32 R>
FUSEC_DEVICE void gemmHandOver(const Holes &holes, const Sum (&acc)[R],
                               GemmTile tile, i32 row, i32 m, i32 n,
                               GemmColumn<Holes> (&columns)[R / 16]) {
  if constexpr (GemmBoxed<Holes>::kExists)
    gemmHandOverBoxes<Config>(holes, acc, tile, row, m, n);
  else if constexpr (GemmTurns<Holes>::kExists)
    gemmHandOverTurned<Config>(holes, acc, tile, row, m, n);
  else if constexpr (GemmColumnOf<Holes>::kExists)
    gemmHandOverChunks<Config>(holes, acc, tile, row, m, n, columns);
  else
    gemmHandOverRows<Config>(holes, acc, tile, row, m, n);
}

/// Keeps the states of 32 * Chunks columns of the 64 rows at `tile`, of which
/// each warp of the warpgroup has 16. A lane has one column of a chunk.
template <class Config, i32 Chunks, class Holes>
FUSEC_DEVICE void gemmMeetColumns(const Holes &holes,
                                  const GemmColumn<Holes> (&columns)[Chunks],
                                  GemmTile tile, i32 m, i32 n) {
  if constexpr (GemmColumnOf<Holes>::kExists) {
    constexpr i32 kColumns = 32 * Chunks;
    FUSEC_SHARED(GemmColumn<Holes>, slab,
                 (Config::kThreads / 128 - 1) * 4 * kColumns);
    if (tile.m0 >= m)
      return;
    i32 group = warp() / 4 - 1;
    i32 base = group * (4 * kColumns);
    // What was stored here for the tile before has been read.
    bar_named(2 + group, 128);
    FUSEC_UNROLL
    for (i32 c = 0; c < Chunks; ++c)
      sts(slab,
          base + warp() % 4 * kColumns + 32 * c +
              gemmColumnOf<Holes>(lane() >> 2),
          columns[c]);
    bar_named(2 + group, 128);
    gemmKeepColumns<64, kColumns, 4>(holes, slab, base, tile, warp() % 4, m, n);
  }
}

/// Asks for what the epilogue of a warpgroup's Rows x Columns results will
/// read. Called while products are under way.
template <i32 Rows, i32 Columns, class Holes>
FUSEC_DEVICE void gemmPrefetch(const Holes &holes, GemmTile tile, i32 m,
                               i32 n) {
  if constexpr (Holes::kPrefetches) {
    constexpr i32 kParts = Columns / 32;
    for (i32 i = tid() % 128; i < Rows * kParts; i += 128) {
      i32 row = tile.m0 + i / kParts;
      i32 column = tile.n0 + i % kParts * 32;
      if (row < m && column + 32 <= n)
        holes.prefetch(tile.batch, row, column);
    }
  }
}

/// Barriers that a CTA has made are there for the others of its cluster.
template <class Config>
FUSEC_DEVICE void gemmMeet() {
  if constexpr (Config::kCluster > 1)
    cluster_sync();
  else
    bar();
}

/// What fetches a tensor map ahead.
FUSEC_DEVICE void gemmPrefetchMap(const GemmNoMap &) {}
FUSEC_DEVICE void gemmPrefetchMap(FUSEC_TENSOR_MAP_REF(map)) {
  tma_prefetch_map(map);
}
FUSEC_DEVICE void gemmPrefetchMap(const GemmTwoMaps &maps) {
  tma_prefetch_map(maps.first);
  tma_prefetch_map(maps.second);
}

/// Gives a slot back to the producers that fill it.
template <class Config>
FUSEC_DEVICE void gemmRelease(FUSEC_SHARED_PTR(FusecMbarrier) empty, i32 slot) {
  if constexpr (Config::kSharers > 1) {
    if (lane() < Config::kSharers)
      mbar_arrive_remote(empty, slot, gemmFirstSharer<Config>() + lane());
  } else if (lane() == 0) {
    mbar_arrive(empty, slot);
  }
}

/// Gives the slots of a step back: A's to the own block, B's to all.
template <class Config>
FUSEC_DEVICE void gemmReleaseBoth(FUSEC_SHARED_PTR(FusecMbarrier) empty,
                                  i32 slotA, i32 slotB) {
  if (lane() == 0)
    mbar_arrive(empty, slotA);
  if constexpr (Config::kCluster > 1) {
    if (lane() < Config::kCluster)
      mbar_arrive_remote(empty, slotB, lane());
  } else if (lane() == 0) {
    mbar_arrive(empty, slotB);
  }
}

/// Issues product `i` of the four of 64 rows of a step.
template <class Config, class Holes, class Sum, i32 R>
FUSEC_DEVICE void gemmIssue(Sum (&sums)[R], u64 a, u64 b, i32 i,
                            bool accumulate) {
  using Types = typename Config::Types;
  using A = GemmDescriptor<Config, Holes::kOrderA>;
  using B = GemmDescriptor<Config, Holes::kOrderB>;
  wgmma<typename Types::A, typename Types::B, !A::kAlongK, !B::kAlongK>(
      sums, wgmma_advance(a, i * A::kStep), wgmma_advance(b, i * B::kStep),
      accumulate);
}

/// Where k is divided: what fills the ring, and what becomes of a warpgroup's
/// sums (gemm_split.cuh).
template <class Config, class Holes, class Ring, class MapA, class MapB>
FUSEC_DEVICE void gemmSplitProduce(const Holes &holes, const MapA &mapA,
                                   const MapB &mapB, Ring ring,
                                   FUSEC_SHARED_PTR(FusecMbarrier) full,
                                   FUSEC_SHARED_PTR(FusecMbarrier) empty,
                                   const GemmWork<Config> &work);
template <class Config, class Holes, class Sum, i32 R>
FUSEC_DEVICE void gemmCombine(const Holes &holes, const Sum (&acc)[R],
                              GemmTile tile, i32 group,
                              const GemmWork<Config> &work);

/// Hands the sums of `tile` over, which are 64 rows, number `group`.
template <class Config, class Holes, class Sum, i32 R>
FUSEC_DEVICE void gemmDeliver(const Holes &holes, const Sum (&acc)[R],
                              GemmTile tile, i32 group,
                              const GemmWork<Config> &work) {
  if constexpr (Config::kRanks > 1) {
    gemmCombine<Config>(holes, acc, tile, group, work);
  } else {
    i32 row = tile.m0 + warp() % 4 * 16 + (lane() >> 2);
    GemmColumn<Holes> columns[R / 16];
    gemmHandOver<Config>(holes, acc, tile, row, work.m, work.n, columns);
    gemmMeetColumns<Config>(holes, columns, tile, work.m, work.n);
  }
}

/// The number of this multiplying warpgroup. It comes through a shuffle, by
/// which the compiler sees that it is one number for the whole warp: what
/// follows from it, descriptors above all, is then computed once for a warp, in
/// uniform registers, where wgmma wants it.
FUSEC_DEVICE i32 gemmConsumer() { return shfl_idx(warp() / 4 - 1, 0); }

template <class Config, class Holes, class Ring>
FUSEC_DEVICE void gemmPromote(const Holes &holes, Ring ring,
                              FUSEC_SHARED_PTR(FusecMbarrier) full,
                              FUSEC_SHARED_PTR(FusecMbarrier) empty,
                              const GemmWork<Config> &work, i32 group);

/// Two products' sums (gemm_pair.cuh).
template <class Sum>
struct GemmTwo;
template <class Sum, i32 R>
FUSEC_DEVICE void gemmJoinProducts(const Sum (&acc)[2 * R],
                                   GemmTwo<Sum> (&both)[R]);

/// Multiplies what the producer brings; `group` is the warpgroup's 64 rows.
template <class Config, class Holes, class Ring>
FUSEC_DEVICE void gemmConsume(const Holes &holes, Ring ring,
                              FUSEC_SHARED_PTR(FusecMbarrier) full,
                              FUSEC_SHARED_PTR(FusecMbarrier) empty,
                              FUSEC_SHARED_PTR(FusecMbarrier) ahead,
                              const GemmWork<Config> &work, i32 group) {
  using Types = typename Config::Types;
  using A = GemmDescriptor<Config, Holes::kOrderA>;
  using B = GemmDescriptor<Config, Holes::kOrderB>;
  static_assert(sizeof(typename Config::Element) == 2 ||
                    (A::kAlongK && B::kAlongK),
                "wgmma takes 16-bit elements alone in either order");
  GemmTurn<Config::kStages> turn{0, 0};
  GemmLater<Config, Holes, 1, Config::kTileN> later;
  later.begin();
  GemmStagger<Config, Holes> stagger;
  stagger.begin(ahead, group, work.steps);
  for (i32 t = work.first(); t < work.tiles; t += work.stride()) {
    GemmTile tile = work.tile(t);
    GemmTile part = tile;
    part.m0 += group * 64;
    typename Config::Sum acc[Config::kProducts * Config::kTileN / 2];
    i32 last = 0;
    FUSEC_NO_UNROLL
    for (i32 s = 0; s < work.steps; ++s) {
      if (stagger.holds(s)) {
        // Never the first step.
        wgmma_wait<0>();
        gemmRelease<Config>(empty, last);
        stagger.wait();
      }
      mbar_wait(full, turn.slot, turn.parity);
      i32 base = turn.slot * Config::kSlot;
      u64 a = A::make(ring, base + group * (64 * Config::kTileK));
      u64 b = B::make(ring, base + Config::kSlotA);
      wgmma_fence();
      FUSEC_UNROLL
      for (i32 i = 0; i < 4; ++i)
        gemmIssue<Config, Holes>(acc, a, b, i, s > 0 || i > 0);
      wgmma_commit();
      if (s == 0)
        gemmPrefetch<64, Config::kTileN>(holes, part, work.m, work.n);
      if (s == work.countAt())
        later.count(holes, work.m, work.n);
      wgmma_wait<1>();
      if (s > 0 && !stagger.holds(s))
        gemmRelease<Config>(empty, last);
      last = turn.slot;
      turn.next();
    }
    wgmma_wait<0>(acc);
    stagger.pass();
    gemmRelease<Config>(empty, last);
    if constexpr (Config::kProducts == 1) {
      gemmDeliver<Config>(holes, acc, part, group, work);
    } else {
      GemmTwo<typename Config::Sum> both[Config::kTileN / 2];
      gemmJoinProducts(acc, both);
      gemmDeliver<Config>(holes, both, part, group, work);
    }
    later.put(part);
  }
  later.count(holes, work.m, work.n);
}

/// Zeros for the rows of A's tiles that no box brings.
template <class Config, i32 Rows, class Ring>
FUSEC_DEVICE void gemmClear(Ring ring) {
  constexpr i32 kGroup = Config::kGroup;
  constexpr i32 kGroups = (Config::kTileM - Rows) * Config::kTileK / kGroup;
  const typename Config::Element zeros[kGroup] = {};
  for (i32 i = tid(); i < Config::kStages * kGroups; i += Config::kThreads)
    sts<kGroup>(ring,
                i / kGroups * Config::kSlot + Rows * Config::kTileK +
                    i % kGroups * kGroup,
                zeros, 0);
  fence_proxy_async();
}

template <class Config, class Holes, class MapA, class MapB>
FUSEC_DEVICE void gemmApart(const Holes &holes, const MapA &mapA,
                            const MapB &mapB, i32 m, i32 n, i32 k, i32 batch);

template <class Config, class Holes, class MapA, class MapB>
FUSEC_DEVICE void gemmAlternate(const Holes &holes, const MapA &mapA,
                                const MapB &mapB, i32 m, i32 n, i32 k,
                                i32 batch);

template <class Config, class Holes, class MapA, class MapB>
FUSEC_DEVICE void gemmHeld(const Holes &holes, const MapA &mapA,
                           const MapB &mapB, i32 m, i32 n, i32 k, i32 batch);

/// As gemm_wgmma says, by consumers that share a ring.
template <class Config, class Holes, class MapA, class MapB>
FUSEC_DEVICE void gemmTogether(const Holes &holes, const MapA &mapA,
                               const MapB &mapB, i32 m, i32 n, i32 k,
                               i32 batch) {
  using Element = typename Config::Element;
  using Feeds = GemmFeeds<Config, Holes>;
  FUSEC_SHARED_DYN(Element, ring);
  FUSEC_MBARRIERS(full, Config::kStages);
  FUSEC_MBARRIERS(empty, Config::kStages);
  FUSEC_MBARRIERS(ahead, 1);
  if (tid() == 0) {
    for (i32 s = 0; s < Config::kStages; ++s) {
      mbar_init(full, s, Feeds::kArrivals);
      mbar_init(empty, s, 4 * Config::kConsumers * Config::kSharers);
    }
    mbar_init(ahead, 0, GemmStagger<Config, Holes>::kArrivals);
    mbar_init_fence();
    gemmPrefetchMap(mapA);
    gemmPrefetchMap(mapB);
  }
  gemmMeet<Config>();
  GemmWork<Config> work;
  work.begin(m, n, k, batch);
  // Blocks of the next launch come in as those of this one end. Where blocks
  // have several tiles that was slower, as they are out of step then.
  if (work.tiles <= work.stride())
    grid_next();
  if constexpr (Holes::BoxA::kRows > 0) {
    gemmClear<Config, Holes::BoxA::kRows>(ring);
    bar();
  }
  grid_wait();
  if (warp() < 4) {
    if constexpr (Config::kMoveRegisters)
      setmaxnreg_dec<Feeds::kTensors ? 56 : 72>();
    if constexpr (Config::kRanks > 1)
      gemmSplitProduce<Config>(holes, mapA, mapB, ring, full, empty, work);
    else if (!Feeds::kTensors || tid() == 0)
      gemmProduce<Config>(holes, mapA, mapB, ring, full, empty, work);
  } else {
    if constexpr (Config::kMoveRegisters)
      setmaxnreg_inc<Feeds::kTensors ? 224 : 216>();
    if constexpr (Config::kParts > 0)
      gemmPromote<Config>(holes, ring, full, empty, work, gemmConsumer());
    else
      gemmConsume<Config>(holes, ring, full, empty, ahead, work,
                          gemmConsumer());
  }
  // A block stays while others may still copy to it or give slots back. Where
  // k is divided all have met behind that.
  if constexpr (Config::kCluster > 1 && Config::kRanks == 1)
    cluster_sync();
}

/// The CTA's part of the contraction; meaning as for gemm_mma. A Tensor operand
/// has a tensor map (dimensions: the contiguous one of outer and k, the other
/// one, then those of its box), others GemmNoMap.
/// Launch: Config::kThreads threads, Config::kSharedBytes dynamic shared bytes,
/// any number of clusters in x; as many as the GPU holds is best, and none if
/// there are no results.
template <class Config, class Holes, class MapA, class MapB>
FUSEC_DEVICE void gemm_wgmma(const Holes &holes, const MapA &mapA,
                             const MapB &mapB, i32 m, i32 n, i32 k, i32 batch) {
  if constexpr (Config::kRoles == GemmRoles::Alternate)
    gemmAlternate<Config>(holes, mapA, mapB, m, n, k, batch);
  else if constexpr (Config::kRoles == GemmRoles::Held)
    gemmHeld<Config>(holes, mapA, mapB, m, n, k, batch);
  else if constexpr (Config::kRoles == GemmRoles::Apart)
    gemmApart<Config>(holes, mapA, mapB, m, n, k, batch);
  else
    gemmTogether<Config>(holes, mapA, mapB, m, n, k, batch);
}

#endif // FUSEC_SM90
#endif // FUSEC_GEMM_WGMMA_CUH
