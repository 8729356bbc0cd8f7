//===- gemm_load.cuh - operand tiles into shared memory ---------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills one ring slot's A or B tile from the operand holes. An Async operand
// is copied in 16-byte groups by cp.async; a Computed operand is read into
// registers when its step begins (`fetch`) and stored to shared memory when
// the step's arithmetic has been issued (`commit`), so that its latency hides
// behind the products. What depends on the outer coordinate alone is prepared
// once a thread (`RowA`, `RowB`).
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_LOAD_CUH
#define FUSEC_GEMM_LOAD_CUH

/// The A side of a hole struct under the names that GemmLoader uses.
template <class Holes>
struct GemmSideA {
  using Row = typename Holes::RowA;
  static constexpr GemmAccess kAccess = Holes::kAccessA;
  static constexpr GemmOrder kOrder = Holes::kOrderA;
  /// Elements that one call moves. `copy` with Line asks for whole lines.
  FUSEC_DEVICE constexpr i32 vector(i32 group) {
    if constexpr (kAccess == GemmAccess::Async)
      return group;
    else
      return Holes::kVectorA;
  }
  FUSEC_DEVICE Row prepare(const Holes &holes, i32 b, i32 outer) {
    return holes.prepareA(b, outer);
  }
  template <bool Line = false, class Shared>
  FUSEC_DEVICE void copy(const Holes &holes, const Row &row, i32 k, Shared ring,
                         i32 index) {
    GemmSource source = holes.sourceA(row, k);
    if constexpr (Line)
      cp_line16(ring, index, holes.baseA(), source.offset, source.valid);
    else
      cp_async16(ring, index, holes.baseA(), source.offset, source.valid);
  }
  /// One element of 4 bytes.
  template <class Shared>
  FUSEC_DEVICE void copyOne(const Holes &holes, const Row &row, i32 k,
                            Shared ring, i32 index) {
    GemmSource source = holes.sourceA(row, k);
    cp_async4(ring, index, holes.baseA(), source.offset, source.valid);
  }
  template <class Element, i32 V>
  FUSEC_DEVICE void values(const Holes &holes, const Row &row, i32 k,
                           Element (&v)[V]) {
    holes.valuesA(row, k, v);
  }
};

/// The B side.
template <class Holes>
struct GemmSideB {
  using Row = typename Holes::RowB;
  static constexpr GemmAccess kAccess = Holes::kAccessB;
  static constexpr GemmOrder kOrder = Holes::kOrderB;
  FUSEC_DEVICE constexpr i32 vector(i32 group) {
    if constexpr (kAccess == GemmAccess::Async)
      return group;
    else
      return Holes::kVectorB;
  }
  FUSEC_DEVICE Row prepare(const Holes &holes, i32 b, i32 outer) {
    return holes.prepareB(b, outer);
  }
  template <bool Line = false, class Shared>
  FUSEC_DEVICE void copy(const Holes &holes, const Row &row, i32 k, Shared ring,
                         i32 index) {
    GemmSource source = holes.sourceB(row, k);
    if constexpr (Line)
      cp_line16(ring, index, holes.baseB(), source.offset, source.valid);
    else
      cp_async16(ring, index, holes.baseB(), source.offset, source.valid);
  }
  /// One element of 4 bytes.
  template <class Shared>
  FUSEC_DEVICE void copyOne(const Holes &holes, const Row &row, i32 k,
                            Shared ring, i32 index) {
    GemmSource source = holes.sourceB(row, k);
    cp_async4(ring, index, holes.baseB(), source.offset, source.valid);
  }
  template <class Element, i32 V>
  FUSEC_DEVICE void values(const Holes &holes, const Row &row, i32 k,
                           Element (&v)[V]) {
    holes.valuesB(row, k, v);
  }
};

/// Moves Tile x TileK elements of one operand a step.
template <class Config, class Holes, class Side, i32 Tile>
struct GemmLoader {
  using Element = typename Config::Element;
  using Row = typename Side::Row;
  static constexpr bool kAsync = Side::kAccess == GemmAccess::Async;
  static constexpr bool kAlongK = Side::kOrder == GemmOrder::KContiguous;
  /// Elements of a shared-memory line and number of lines.
  static constexpr i32 kSpan = kAlongK ? Config::kTileK : Tile;
  static constexpr i32 kLines = kAlongK ? Tile : Config::kTileK;
  /// 8-bit elements along the outer dimension are stored along k all the same.
  static constexpr bool kTurned = sizeof(Element) == 1 && !kAlongK;
  using Layout =
      typename Config::template Layout<kTurned ? GemmOrder::KContiguous
                                               : Side::kOrder,
                                       kTurned ? Config::kTileK : kSpan>;

  /// Elements of a call, calls of a line, of a tile and of a thread.
  static constexpr i32 kVector = Side::vector(Config::kGroup);
  static constexpr i32 kPerLine = kSpan / kVector;
  static constexpr i32 kCalls = kPerLine * kLines;
  static constexpr i32 kPasses =
      (kCalls + Config::kLoadThreads - 1) / Config::kLoadThreads;
  static constexpr bool kPartial = kCalls % Config::kLoadThreads != 0;
  static_assert(!(kTurned && kAsync), "copies do not turn elements");
  static_assert(kVector >= 1 && Config::kGroup % kVector == 0 &&
                    kSpan % Config::kGroup == 0,
                "a call moves a divisor of a 16-byte group");

  /// When a pass covers whole lines, every call of a thread has the same place
  /// within its line; when it covers a multiple of the swizzle's period, also
  /// the same permutation, and the passes differ by constants only.
  static constexpr bool kWholeLines = Config::kLoadThreads % kPerLine == 0;
  /// Neither threads nor lines divide each other (tiles of 160, 192, 224).
  static constexpr bool kUneven =
      !kWholeLines && kPerLine % Config::kLoadThreads != 0;
  static constexpr i32 kLineStep = Config::kLoadThreads / kPerLine;
  static constexpr bool kSamePhase =
      kWholeLines && kLineStep % Layout::kPeriod == 0;

  /// Distinct outer coordinates of a thread; they stay in registers unless
  /// there are too many of them (then they are prepared where they are used).
  static constexpr i32 kRows = kAlongK || kUneven ? kPasses
                               : kWholeLines ? 1
                                             : kPerLine / Config::kLoadThreads;
  static constexpr i32 kMaxRowBytes = 128;
  static constexpr bool kKeepRows = kRows * i32(sizeof(Row)) <= kMaxRowBytes;

  Row rows[kKeepRows ? kRows : 1];
  Element held[kAsync ? 1 : kPasses * kVector];
  i32 batch;
  i32 outer0;
  i32 line0;
  i32 along0;
  i32 place0;

  FUSEC_METHOD i32 line(i32 pass) const {
    if constexpr (kUneven)
      return (pass * Config::kLoadThreads + tid()) / kPerLine;
    return kWholeLines ? line0 + pass * kLineStep
                       : pass / (kPerLine / Config::kLoadThreads);
  }
  FUSEC_METHOD i32 along(i32 pass) const {
    if constexpr (kUneven)
      return (pass * Config::kLoadThreads + tid()) % kPerLine * kVector;
    return kWholeLines ? along0
                       : along0 + pass % (kPerLine / Config::kLoadThreads) *
                                      Config::kLoadThreads * kVector;
  }
  /// Where a call's elements lie in the tile.
  FUSEC_METHOD i32 place(i32 pass) const {
    return kSamePhase ? place0 + pass * kLineStep * Layout::kPitch
                      : Layout::index(line(pass), along(pass));
  }
  FUSEC_METHOD i32 outerOf(i32 pass) const {
    return kAlongK ? line(pass) : along(pass);
  }
  FUSEC_METHOD i32 kOf(i32 pass) const {
    return kAlongK ? along(pass) : line(pass);
  }
  FUSEC_DEVICE bool inside(i32 pass) {
    return !kPartial || pass * Config::kLoadThreads + tid() < kCalls;
  }

  /// Prepares for the tile whose first outer coordinate is `outer`.
  FUSEC_METHOD void begin(const Holes &holes, i32 b, i32 outer) {
    batch = b;
    outer0 = outer;
    line0 = kWholeLines ? i32(u32(tid()) / u32(kPerLine)) : 0;
    along0 = i32(u32(tid()) % u32(kPerLine)) * kVector;
    place0 = kTurned ? 0 : Layout::index(line0, along0);
    if constexpr (kKeepRows) {
      FUSEC_UNROLL
      for (i32 r = 0; r < kRows; ++r)
        rows[r] = Side::prepare(holes, b, outer + outerOf(r));
    }
  }

  FUSEC_METHOD Row row(const Holes &holes, i32 pass) const {
    if constexpr (kKeepRows)
      return rows[pass % kRows];
    else
      return Side::prepare(holes, batch, outer0 + outerOf(pass));
  }

  /// Starts moving the tile at `k0` into `ring` from element `tile` on.
  template <class Shared>
  FUSEC_METHOD void fetch(const Holes &holes, i32 k0, Shared ring, i32 tile) {
    FUSEC_UNROLL
    for (i32 p = 0; p < kPasses; ++p) {
      if constexpr (kAsync) {
        if (inside(p))
          Side::copy(holes, row(holes, p), k0 + kOf(p), ring, tile + place(p));
      } else {
        if (inside(p)) {
          Element v[kVector];
          Side::values(holes, row(holes, p), k0 + kOf(p), v);
          FUSEC_UNROLL
          for (i32 i = 0; i < kVector; ++i)
            held[p * kVector + i] = v[i];
        }
      }
    }
  }

  /// Stores what `fetch` left in registers; nothing for an Async operand.
  template <class Shared>
  FUSEC_METHOD void commit(Shared ring, i32 tile) const {
    if constexpr (!kAsync) {
      FUSEC_UNROLL
      for (i32 p = 0; p < kPasses; ++p)
        if (inside(p)) {
          if constexpr (kTurned) {
            FUSEC_UNROLL
            for (i32 i = 0; i < kVector; ++i)
              sts(ring, tile + Layout::index(along(p) + i, line(p)),
                  held[p * kVector + i]);
          } else {
            sts<kVector>(ring, tile + place(p), held, p * kVector);
          }
        }
    }
  }
};

/// The loaders of both operands and the walk over the ring.
template <class Config, class Holes,
          template <class, class, class, i32> class Loader = GemmLoader>
struct GemmPipeline {
  using LoaderA = Loader<Config, Holes, GemmSideA<Holes>, Config::kTileM>;
  using LoaderB = Loader<Config, Holes, GemmSideB<Holes>, Config::kTileN>;
  LoaderA a;
  LoaderB b;

  FUSEC_METHOD void begin(const Holes &holes, i32 batch, i32 m0, i32 n0) {
    a.begin(holes, batch, m0);
    b.begin(holes, batch, n0);
  }

  /// Starts the step at k coordinate `k0` into `slot` and closes its group.
  template <class Shared>
  FUSEC_METHOD void fetch(const Holes &holes, i32 k0, Shared ring, i32 slot) {
    i32 base = slot * Config::kSlot;
    a.fetch(holes, k0, ring, base);
    b.fetch(holes, k0, ring, base + Config::kSlotA);
    cp_async_commit();
  }

  template <class Shared>
  FUSEC_METHOD void commit(Shared ring, i32 slot) const {
    i32 base = slot * Config::kSlot;
    a.commit(ring, base);
    b.commit(ring, base + Config::kSlotA);
  }

  /// Fills all slots but one.
  template <class Shared>
  FUSEC_METHOD void fill(const Holes &holes, Shared ring) {
    FUSEC_UNROLL
    for (i32 s = 0; s < Config::kStages - 1; ++s) {
      fetch(holes, s * Config::kTileK, ring, s);
      commit(ring, s);
    }
  }
};

/// The output tile of a CTA.
struct GemmTile {
  i32 batch;
  i32 m0;
  i32 n0;
};

/// Maps a tile number to a tile: batches outermost, then groups of GroupM row
/// tiles, then column tiles, then the rows of the group.
template <class Config>
FUSEC_DEVICE GemmTile gemmTile(i32 number, i32 m, i32 n) {
  i32 tilesM = (m + Config::kTileM - 1) / Config::kTileM;
  i32 tilesN = (n + Config::kTileN - 1) / Config::kTileN;
  i32 perBatch = tilesM * tilesN;
  i32 batch = number / perBatch;
  i32 id = number % perBatch;
  i32 perGroup = Config::kGroupM * tilesN;
  i32 first = id / perGroup * Config::kGroupM;
  i32 rows =
      tilesM - first < Config::kGroupM ? tilesM - first : Config::kGroupM;
  i32 rest = id % perGroup;
  return {batch, (first + rest % rows) * Config::kTileM,
          rest / rows * Config::kTileN};
}

#endif // FUSEC_GEMM_LOAD_CUH
