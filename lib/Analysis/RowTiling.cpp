//===- RowTiling.cpp - how a row region is cut into blocks ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/RowTiling.h"
#include "RowKeeping.h"
#include "RowMeeting.h"
#include "RowPasses.h"
#include "RowRun.h"
#include "RowSkew.h"
#include "RowTurn.h"
#include "Sizes.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

// Elements of a row that a thread keeps in registers. 32 f32 and the work on
// them fit the 64 registers that 1024 threads a block leave each; long rows
// take more threads first and are walked in chunks beyond that.
static constexpr int64_t kMaxElements = 32;
static constexpr int64_t kWantedElements = 16;
// Where nothing is stored for each element, the steps that follow the elements
// are most of the work, and fewer threads take fewer of them.
static constexpr int64_t kWantedReduced = 32;
static constexpr int64_t kMaxThreads = 1024;
// Of a block that has the ends of rows apart, while rows fit their registers:
// 1024 threads have two registers more than two blocks leave them.
static constexpr int64_t kShiftedThreads = 512;
// Of a part of a launch, where it is no row.
static constexpr int64_t kPartThreads = 256;
// Elements of a thread that are neighbours.
static constexpr int64_t kMaxVector = 8;
// Half of the widest vector: that of all lanes is two lines.
static constexpr int64_t kHalfVectorBytes = 8;
// Lanes that read a whole line or half of one of a row together.
static constexpr int64_t kLeastLanes = 4;
// Rows of fewer vectors are mostly ends.
static constexpr int64_t kLeastVectors = 4;
// Warps of a multiprocessor that fill it. A warp that keeps a sorted list of a
// row inserts the fewer the longer its part is, so that rows take one each
// while there are enough.
static constexpr int64_t kFullWarps = 32;
// Of a row that is walked in chunks: each is an accumulator, too.
static constexpr int64_t kChunkElements = 16;
// States of an element from which on it has a list of them. A thread takes one
// element at a time then: each more is one more list in its registers, and one
// more meeting of two lists in the text.
static constexpr int64_t kListStates = 4;

// Split columns: four blocks of 256 threads on a multiprocessor, each thread
// with 64 bytes on their way: 64 KB, and 48 saturate its share of the memory.
// One wave, so that all end together. A block should stream 64 KB at least:
// less is mostly start and end.
static constexpr int64_t kSplitWarps = 8;
static constexpr int64_t kSplitBlocks = 4;
static constexpr int64_t kSplitThreadBytes = 64;
static constexpr int64_t kSplitBytes = 64 * 1024;
static constexpr int64_t kMaxUnroll = 8;
// Instructions of an element from which on copies run ahead of them, shared
// memory of a multiprocessor for that (states of reductions are beside it), and
// what the hardware copies in the background at least, in bytes.
static constexpr int64_t kMuchWork = 16;
static constexpr int64_t kRingBytes = 144 * 1024;
static constexpr int64_t kMostStages = 3;
static constexpr int64_t kLeastCopy = 4;
// Where elements are stored, too, a thread has one vector of each input on its
// way: GELU's backward pass takes 384 us so, 425 with two and with a place more
// in the ring.
static constexpr int64_t kStoredStages = 2;
// What the last block should have to combine; larger blocks leave less.
static constexpr int64_t kPartValues = 16 * 1024;
// Registers of their threads that hold states.
static constexpr int64_t kStreamStates = 16;
// What the L2 of an H200 (50 MB) keeps of rows that are read again.
static constexpr int64_t kSecondReadBytes = 36 << 20;
// What the memory moves fastest.
static constexpr int64_t kLineBytes = 128;
// Static shared memory of a block, and what states may take of it.
static constexpr int64_t kSharedBytes = 48 * 1024;
static constexpr int64_t kStateBytes = 47 * 1024;
// Runs of a row in memory that are short, and how many bytes have to be in such
// runs for a barrier of the grid to cost less than reading them.
static constexpr int64_t kShortRunBytes = 64;
static constexpr int64_t kShortRunsBytes = 4 << 20;

//===----------------------------------------------------------------------===//
// Digits
//===----------------------------------------------------------------------===//

int64_t analysis::vectorAlong(int64_t inner, int64_t bytes, int64_t limit) {
  int64_t vector = std::max<int64_t>(1, 16 / bytes);
  while (vector > 1 && (inner % vector || vector > limit))
    vector /= 2;
  return vector;
}

namespace {
/// The choice for one region.
class Chooser {
public:
  Chooser(const RegionForm &form, const AccessFacts &access,
          const TargetInfo &target, const TilingOptions &options)
      : form(form), access(access), target(target), threads(options.threads),
        rescale(options.rescale), leaning(options.leaning),
        rows(product(form.parallel)),
        // At least two columns, so that a row and its reduction differ in
        // shape; what a row does not have is masked.
        columns(std::max<int64_t>(product(form.reduced), 2)) {}

  RowTiling run();

private:
  RowTiling choose(int64_t vector, bool across);
  // `streams`: columns are walked in chunks of a vector a thread.
  RowTiling alongRow(int64_t vector, bool streams, bool isTight = false);
  int64_t tightLanes(int64_t groups, int64_t vector) const;
  bool fitsHalfVectors(const RowTiling &tiling) const;
  RowTiling acrossRows(int64_t vector, bool streams);
  RowTiling acrossWholeRows(int64_t vector);
  void addUnroll(RowTiling &tiling);
  void addSplits(RowTiling &tiling);
  void addStages(RowTiling &tiling);
  std::optional<RowTiling> meet(bool across, int64_t vector, bool isFine) const;
  bool hasShortRuns() const;
  /// Loads would wait behind what is done between them.
  bool hasMuchWork() const {
    return access.instructions >= kMuchWork || !centredSums(form).empty();
  }
  /// Copies run ahead of elements that are stored in lines across the rows.
  bool storesAcross(const RowTiling &tiling) const {
    return tiling.across && access.storedBytes && hasMuchWork();
  }
  /// Values that an element's states are in one pass: three more than the sum
  /// where squares of distances to the mean come with it.
  int64_t stateCount() const {
    int64_t count = 2 * centredSums(form).size();
    for (const RegionStage &stage : form.stages)
      count +=
          cast<graph::ReductionOpInterface>(stage.op).getStateTypes().size();
    return count;
  }
  /// Bytes of each state where every reduction is made by itself.
  SmallVector<int64_t> stateBytes() const {
    SmallVector<int64_t> result;
    for (const RegionStage &stage : form.stages)
      for (Type type :
           cast<graph::ReductionOpInterface>(stage.op).getStateTypes())
        result.push_back(type.isIntOrFloat()
                             ? llvm::divideCeil(type.getIntOrFloatBitWidth(), 8)
                             : sizeof(int64_t));
    return result;
  }
  /// Whether the states of a skewed block fit: each has an array in which it is
  /// put in order, and one at most in which warps meet; the last block combines
  /// parts in two more.
  bool hasRoomForStates(const RowTiling &tiling) const {
    int64_t arrays = 2 * stateCount() + 2;
    SmallVector<int64_t> states = stateBytes();
    int64_t bytes = *llvm::max_element(states);
    return arrays * tiling.rows() * tiling.columns() * bytes <= kStateBytes;
  }
  /// Whether the states of a block's threads fit, where warps meet: an array
  /// for each.
  bool hasRoomForWarps(const RowTiling &tiling) const {
    SmallVector<int64_t> states = stateBytes();
    return stateCount() * tiling.threads() * tiling.vector *
               *llvm::max_element(states) <=
           kStateBytes;
  }
  /// A list for each warp is all that is kept of a row that is walked once.
  bool isSelected() const {
    return countPasses(form, false) == 1 &&
           llvm::any_of(form.stages, [](const RegionStage &stage) {
             return cast<graph::ReductionOpInterface>(stage.op).getSelected();
           });
  }
  /// Each element has a list of its own: 64-bit elements, of which a warp
  /// cannot select.
  bool keepsLists() const {
    return !isSelected() &&
           llvm::any_of(form.stages, [](const RegionStage &stage) {
             auto op = cast<graph::ReductionOpInterface>(stage.op);
             return int64_t(op.getStateTypes().size()) >= kListStates;
           });
  }
  /// Elements of a row that a thread has at a time.
  int64_t mostElements() const { return keepsLists() ? 1 : kMaxElements; }
  int64_t widest() const {
    return vectorAlong(0, access.elementBytes, kMaxVector);
  }
  /// Few blocks without a split.
  bool isStarved(const RowTiling &tiling) const {
    return tiling.blocks(rows) < 2 * int64_t(target.multiprocessors);
  }

  const RegionForm &form;
  const AccessFacts &access;
  const TargetInfo &target;
  int64_t threads;
  bool rescale;
  RowLeaning leaning;
  int64_t rows, columns;
  // Rows start anywhere in a vector.
  bool isShifted = false;
};
} // namespace

/// `count` times 2^`power`, at least 1.
static int64_t leaned(int64_t count, int power) {
  return power < 0 ? std::max<int64_t>(1, count >> -power) : count << power;
}

/// Vectors of a thread in one chunk of a row of `count` vectors a thread: at
/// most `most` and not fewer than half of it, so that the last chunk is full. A
/// chunk costs a quarter of a vector by itself.
static int64_t repeatsOfChunk(int64_t count, int64_t most) {
  most = std::max<int64_t>(1, most);
  int64_t best = most;
  auto cost = [&](int64_t repeats) {
    return int64_t(llvm::divideCeil(count, uint64_t(repeats))) *
           (4 * repeats + 1);
  };
  for (int64_t repeats = most; 2 * repeats >= most; --repeats)
    if (cost(repeats) < cost(best))
      best = repeats;
  return best;
}

/// Lanes of a row of `groups` vectors. Where it fills no power of two of them,
/// fewer lanes with more vectors each may all be full: no masks, fewer steps
/// for a row, as long as there are rows for all warps.
int64_t Chooser::tightLanes(int64_t groups, int64_t vector) const {
  int64_t all = std::min<int64_t>(32, llvm::PowerOf2Ceil(groups)), best = all;
  auto padded = [&](int64_t lanes) {
    return int64_t(llvm::alignTo(groups, uint64_t(lanes)));
  };
  for (int64_t lanes = all / 2; lanes >= kLeastLanes; lanes /= 2)
    if (padded(lanes) < padded(best) &&
        padded(lanes) / lanes * vector <= kMaxElements &&
        rows * lanes / 32 >= kFullWarps * int64_t(target.multiprocessors))
      best = lanes;
  return best;
}

/// Whether vectors of half the size fill all lanes of a warp where whole ones
/// leave some without, or a thread with more than it should hold: 32 lanes of
/// three by four of 384 elements, not 16 of three by eight.
bool Chooser::fitsHalfVectors(const RowTiling &tiling) const {
  int64_t half = tiling.vector / 2;
  bool isUneven = columns % (tiling.lanes * tiling.vector) ||
                  columns > tiling.lanes * kWantedElements;
  return isUneven && half * access.elementBytes == kHalfVectorBytes &&
         columns % (32 * half) == 0 && columns <= 32 * kWantedElements;
}

RowTiling Chooser::alongRow(int64_t vector, bool streams, bool isTight) {
  RowTiling result;
  result.vector = vector;
  int64_t groups = llvm::divideCeil(columns, vector);
  result.lanes = isTight ? tightLanes(groups, vector)
                         : std::min<int64_t>(32, llvm::PowerOf2Ceil(groups));
  if (isTight && fitsHalfVectors(result)) {
    result.vector = vector /= 2;
    result.lanes = 32;
  }
  int64_t rowsPerWarp = 32 / result.lanes;
  // One accumulator per element: a row that streams keeps a vector of them.
  int64_t most = streams ? vector : mostElements();
  if (streams) {
    result.columnWarps = kSplitWarps;
  } else if (result.lanes == 32) {
    bool isReduced = llvm::all_of(form.outputs, [](const RegionOutput &output) {
      return output.isUniform;
    });
    int64_t wanted =
        leaned(isReduced ? kWantedReduced : kWantedElements, -leaning.threads);
    // A launch that is shared may have fewer threads than this region alone.
    // Nor does a row take more where whole vectors would not fit as well.
    auto padded = [&](int64_t warps) {
      int64_t span = vector * 32 * warps;
      return llvm::divideCeil(columns, uint64_t(span)) * span;
    };
    bool isFew = isShifted && columns <= kShiftedThreads * kMaxElements;
    int64_t limit = isFew ? kShiftedThreads : kMaxThreads;
    while (
        result.columnWarps * 32 < (threads ? threads : limit) &&
        columns > result.columnWarps * 32 * wanted &&
        !(isSelected() && rows * result.columnWarps >=
                              kFullWarps * int64_t(target.multiprocessors)) &&
        (columns > result.columnWarps * 32 * kMaxElements ||
         padded(result.columnWarps * 2) == padded(result.columnWarps)))
      result.columnWarps *= 2;
  }
  int64_t span = vector * result.lanes * result.columnWarps;
  result.repeats = std::min(llvm::divideCeil(columns, uint64_t(span)),
                            uint64_t(std::max<int64_t>(1, most / vector)));
  if (!streams && columns > span * result.repeats)
    result.repeats = repeatsOfChunk(llvm::divideCeil(columns, uint64_t(span)),
                                    (isSelected()   ? kMaxElements
                                     : keepsLists() ? 1
                                                    : kChunkElements) /
                                        vector);
  // Short rows: several warps a block, while blocks still fill the machine.
  // Rows of several warps would wait at each other's barriers: 65.1 us with one
  // such row a block, 66.8 with four (32768 x 1024 f32).
  while (result.columnWarps == 1 &&
         result.rowWarps * 2 <= leaned(8, leaning.rows) &&
         rows / (rowsPerWarp * result.rowWarps * 2) >=
             int64_t(target.multiprocessors))
    result.rowWarps *= 2;
  if (threads)
    result.rowWarps = threads / (32 * result.columnWarps);
  return result;
}

RowTiling Chooser::acrossRows(int64_t vector, bool streams) {
  RowTiling result;
  result.across = true;
  result.vector = vector;
  // Narrower vectors while there are too few blocks.
  while (!streams && result.vector > 1 &&
         rows / (32 * result.vector) < int64_t(target.multiprocessors))
    result.vector /= 2;
  if (streams) {
    while (result.vector > 1 && result.vector * stateCount() > kStreamStates)
      result.vector /= 2;
    // Few rows: the other lanes take columns.
    uint64_t groups = llvm::divideCeil(rows, uint64_t(result.vector));
    result.lanes = 32 / std::min<int64_t>(32, llvm::PowerOf2Ceil(groups));
  }
  result.columnWarps =
      threads
          ? threads / 32
          : std::min<int64_t>(leaned(8, leaning.threads),
                              llvm::PowerOf2Ceil(llvm::divideCeil(columns, 4)));
  // States of a block's warps meet in arrays, each place of a sorted list in
  // one of its own.
  int64_t bytesOfStates = 0;
  for (int64_t bytes : stateBytes())
    bytesOfStates += bytes;
  while (!threads && result.columnWarps > 1 &&
         32 * result.columnWarps * result.vector * bytesOfStates > kSharedBytes)
    result.columnWarps /= 2;
  int64_t most = streams ? result.vector : mostElements();
  result.repeats =
      std::min(llvm::divideCeil(columns, uint64_t(result.columnWarps)),
               uint64_t(std::max<int64_t>(1, most / result.vector)));
  return result;
}

/// As many threads as hold whole columns in their registers: 512 in lines of 64
/// bytes, of which two blocks take turns at the memory, or 1024.
RowTiling Chooser::acrossWholeRows(int64_t vector) {
  RowTiling result;
  result.across = true;
  result.lanes = access.elementBytes >= 4 ? 2 : 1;
  result.columnWarps = kMaxThreads / 32 / result.lanes;
  auto fit = [&] {
    result.repeats =
        llvm::divideCeil(columns, uint64_t(result.columnWarps * result.lanes));
    result.vector = vector;
    while (result.vector > 1 &&
           (result.vector * result.repeats > kMaxElements ||
            rows / result.rows() < 2 * int64_t(target.multiprocessors)))
      result.vector /= 2;
  };
  fit();
  return result;
}

void Chooser::addUnroll(RowTiling &tiling) {
  int64_t bytes = tiling.vector * tiling.repeats *
                  std::max(access.elementBytes, access.inputBytes);
  int64_t most = keepsLists() ? 1 : kMaxUnroll;
  tiling.unroll = std::clamp<int64_t>(kSplitThreadBytes / bytes, 1, most);
}

/// Cuts the columns into equal runs of whole chunks.
void Chooser::addSplits(RowTiling &tiling) {
  tiling.splits = 1;
  int64_t rowBlocks = tiling.blocks(rows);
  // A block more than fit would make a second wave.
  int64_t resident = std::min(kSplitBlocks, kMaxThreads / tiling.threads());
  int64_t wanted =
      leaned(std::max<int64_t>(1, resident * int64_t(target.multiprocessors) /
                                      rowBlocks),
             leaning.blocks);
  int64_t chunk = tiling.columns() * tiling.unroll;
  int64_t chunkBytes = tiling.rows() * chunk * access.elementBytes;
  int64_t chunks = llvm::divideCeil(columns, uint64_t(chunk));
  int64_t perBlock = std::max<int64_t>(
      {1, int64_t(llvm::divideCeil(kSplitBytes, uint64_t(chunkBytes))),
       int64_t(llvm::divideCeil(chunks, uint64_t(wanted)))});
  tiling.splits = llvm::divideCeil(chunks, uint64_t(perBlock));
  tiling.columnsPerSplit = perBlock * chunk;
}

/// Where there is much to do between loads, they would wait behind the work.
void Chooser::addStages(RowTiling &tiling) {
  int64_t bytes = tiling.threads() * tiling.vector * tiling.repeats *
                  tiling.unroll * access.inputBytes;
  if (!hasMuchWork() || !bytes ||
      tiling.vector * access.elementBytes < kLeastCopy)
    return;
  int64_t resident = std::min(kSplitBlocks, kMaxThreads / tiling.threads());
  int64_t most = storesAcross(tiling) ? kStoredStages : kMostStages;
  int64_t stages = std::min(most, kRingBytes / (resident * bytes));
  tiling.stages = stages < 2 ? 0 : stages;
}

/// Whether runs of a row are much shorter than a line, which is read for each,
/// of so much memory that waiting for all blocks once costs less.
bool Chooser::hasShortRuns() const {
  if (!access.innerColumns)
    return false;
  int64_t inner =
      product(ArrayRef(form.reduced).take_back(access.innerColumns));
  if (inner * access.elementBytes >= kShortRunBytes)
    return false;
  // Short rows, for tests.
  if (target.rowBlockBytes)
    return columns * access.inputBytes > target.rowBlockBytes;
  return rows * columns * access.inputBytes >= kShortRunsBytes;
}

/// Blocks that share rows and meet before elements are stored, where one pass
/// makes all reductions. `isFine`: inner columns are rows of their own.
std::optional<RowTiling> Chooser::meet(bool across, int64_t vector,
                                       bool isFine) const {
  bool hasLater = llvm::any_of(form.outputs, [&](const RegionOutput &output) {
    return levelOf(form, output) > 0;
  });
  // What nobody reads costs nothing to make again.
  if (!hasLater || !access.inputBytes || !isOnePass(form, rescale))
    return std::nullopt;
  ArrayRef<int64_t> parallel(form.parallel), reduced(form.reduced);
  unsigned innerColumns = isFine ? access.innerColumns : 0;
  SharedRows shared{};
  shared.across = isFine || across;
  shared.vector = vector;
  shared.outerRows = access.outerRows;
  shared.innerColumns = innerColumns;
  shared.batches = product(parallel.take_front(access.outerRows));
  shared.inner = product(reduced.take_back(innerColumns));
  shared.columns = product(reduced.drop_back(innerColumns));
  shared.rowsOfBatch =
      product(parallel.drop_front(access.outerRows)) * shared.inner;
  if (isFine)
    shared.vector = vectorAlong(shared.rowsOfBatch, access.elementBytes, 8);
  shared.bytes = access.inputBytes;
  shared.states = stateCount();
  shared.stateBytes = 2 * sizeof(float) * centredSums(form).size();
  for (int64_t bytes : stateBytes())
    shared.stateBytes += bytes;
  std::optional<RowTiling> tiling = meetRows(shared, target);
  // Without others to share it, a block had better keep what it can.
  return tiling && (isFine || tiling->splits > 1) ? tiling : std::nullopt;
}

RowTiling Chooser::run() {
  int64_t innerColumns = form.reduced.empty() ? 1 : form.reduced.back();
  int64_t innerRows = form.parallel.empty() ? 1 : form.parallel.back();
  bool across =
      access.parallelContiguous > access.reducedContiguous && innerRows >= 8;
  int64_t vector = vectorAlong(across ? innerRows : innerColumns,
                               access.elementBytes, kMaxVector);
  if (!across && !threads && rows)
    if (auto turned =
            turnRows(form, access, alongRow(vector, /*streams=*/false), target))
      return *turned;
  bool isOdd = !across && !keepsLists() && access.isDense &&
               columns % widest() && columns >= kLeastVectors * widest();
  bool isShort = !across && columns % widest() && !threads && rows;
  if (isShort && !isSelected() && !keepsLists() && !leaning.runs)
    if (auto run =
            runRows(form, access, alongRow(1, /*streams=*/false), target))
      return *run;
  if (!isOdd || threads || !rows)
    return choose(leaned(vector, leaning.vector), across);
  int64_t all = std::exchange(columns, columns / widest() * widest());
  isShifted = true;
  RowTiling result = choose(widest(), across);
  // Blocks that share rows take what lies between vectors element by element.
  if (result.meeting) {
    columns = all;
    isShifted = false;
    return choose(vector, across);
  }
  // Chunks of one vector a thread, of which the last alone needs a mask.
  result.edges = 2 * widest();
  result.unroll *= std::exchange(result.repeats, 1);
  return result;
}

RowTiling Chooser::choose(int64_t vector, bool across) {
  if (keepsLists())
    vector = 1;
  auto make = [&](bool streams) {
    bool isTight = !streams && !isShifted && vector == widest();
    return across ? acrossRows(vector, streams)
                  : alongRow(vector, streams, isTight);
  };
  RowTiling whole = make(false);
  whole.columnsPerSplit = columns;
  if (threads || !rows)
    return whole;
  if (isStarved(whole) && canSplit(form, rescale)) {
    RowTiling split = make(true);
    if (across && 2 * vector < widest())
      if (auto skewed = skewRows(form, access, acrossRows(widest(), true));
          skewed && hasRoomForStates(*skewed))
        split = *skewed;
    if (!storesAcross(split))
      addUnroll(split);
    addSplits(split);
    while (across && split.threads() < kMaxThreads &&
           split.splits * split.rows() * stateCount() > kPartValues) {
      RowTiling larger = split;
      larger.columnWarps *= 2;
      if (split.skew ? !hasRoomForStates(larger) : !hasRoomForWarps(larger))
        break;
      split = larger;
      addSplits(split);
    }
    addStages(split);
    split.onePass = true;
    // Reads and writes all over the memory disturb each other.
    split.inTurn = storesAcross(split);
    if (split.splits > 1 && split.blocks(rows) > whole.blocks(rows))
      return split;
  }
  if (hasShortRuns())
    if (auto meeting = meet(across, vector, /*isFine=*/true))
      return *meeting;
  // A row that is read once may be walked; one that is read several times had
  // better stay where it is, or be read less often.
  bool isTested = target.rowBlockBytes &&
                  columns * access.inputBytes > target.rowBlockBytes;
  if ((columns <= whole.columns() && !isTested) ||
      countPasses(form, false) == 1)
    return whole;
  // In the registers of a block if these are whole lines; half lines only where
  // no cluster keeps whole ones or these are too few to fill the machine.
  std::optional<RowTiling> halfLines;
  if (across && !isTested) {
    RowTiling resident = acrossWholeRows(vector);
    int64_t run = resident.rows() * access.elementBytes;
    bool fits = resident.vector * resident.repeats <= kMaxElements &&
                2 * run >= kLineBytes;
    bool isFew = rows * access.elementBytes <
                 2 * kLineBytes * int64_t(target.multiprocessors);
    if (fits && (run >= kLineBytes || isFew))
      return resident;
    if (fits)
      halfLines = resident;
  }
  bool onePass = isOnePass(form, rescale);
  SmallVector<int64_t> states = stateBytes();
  if (!onePass || countPasses(form, true) > 1)
    if (auto kept = keepRows(
            {across, vector, rows, columns, access.inputBytes, states}, target))
      return *kept;
  if (halfLines)
    return *halfLines;
  bool hasPairs = !rescaledSums(form).empty() || !centredSums(form).empty();
  if (auto meeting = meet(across, vector, /*isFine=*/false))
    return *meeting;
  if (!hasPairs || !onePass)
    return whole;
  RowTiling online = make(true);
  // What is read twice comes from the L2 the second time if the rows under way
  // fit there: one block a multiprocessor.
  bool isTwice = countPasses(form, true) > 1;
  if (!across && isTwice &&
      columns * access.elementBytes * target.multiprocessors <=
          kSecondReadBytes)
    online.columnWarps = kMaxThreads / 32;
  addUnroll(online);
  int64_t step = online.columns() * online.unroll;
  online.columnsPerSplit = llvm::divideCeil(columns, uint64_t(step)) * step;
  online.onePass = true;
  return online;
}

RowTiling analysis::tileRows(const RegionForm &form, const AccessFacts &access,
                             const TargetInfo &target,
                             const TilingOptions &options) {
  return Chooser(form, access, target, options).run();
}

bool analysis::blocksMeet(FactTable &facts, const RegionForm &form,
                          const TargetInfo &target) {
  if (!form.columns.empty())
    return true;
  if (form.kind != KernelKind::Row ||
      llvm::any_of(form.spine(), ShapedType::isDynamic))
    return false;
  RowTiling tiling = tileRows(form, accessFacts(facts, form), target);
  return tiling.meeting && tiling.splits > 1;
}

bool analysis::rowsMayShare(FactTable &facts, const RegionForm &form,
                            const TargetInfo &target) {
  if (form.kind != KernelKind::Row || !form.columns.empty() ||
      !form.behind.empty() || form.outputs.size() != 1 ||
      llvm::any_of(form.spine(), ShapedType::isDynamic))
    return false;
  AccessFacts access = accessFacts(facts, form);
  RowTiling alone = tileRows(form, access, target);
  TilingOptions shared;
  shared.threads = alone.threads();
  return alone.isHeld(product(form.reduced)) && !alone.isRun && !alone.turn &&
         !alone.meeting && alone.splits == 1 &&
         alone.threads() >= kPartThreads &&
         nameOf(tileRows(form, access, target, shared)) == nameOf(alone);
}

std::string analysis::describeRows(const RegionForm &form, FactTable &facts,
                                   const TargetInfo &target) {
  if (form.kind != KernelKind::Row ||
      llvm::any_of(form.spine(), ShapedType::isDynamic))
    return {};
  RowTiling tiling = tileRows(form, accessFacts(facts, form), target);
  std::string rows =
      "rows of " + std::to_string(product(form.reduced)) + " elements: ";
  auto blocks = [](const char *what, int64_t count) {
    return std::string(what) + " of " + std::to_string(count) + " blocks";
  };
  if (tiling.meeting)
    return rows + blocks("parts", tiling.splits) +
           (tiling.splits > 1 ? ", which meet before elements are stored"
                              : ", in turn") +
           (tiling.meeting->keptIterations ? ", kept as far as they fit" : "");
  if (tiling.splits > 1)
    return rows + blocks("parts", tiling.splits) + ", the last combines";
  if (tiling.keptBytes)
    return rows +
           (tiling.cluster > 1 ? blocks("kept by clusters", tiling.cluster)
                               : "kept by a block") +
           ", read once";
  if (tiling.turn)
    return rows + "outputs turned in shared memory, " +
           std::to_string(tiling.turn->along) + " rows at a time";
  if (tiling.isHeld(product(form.reduced)))
    return {};
  unsigned passes = countPasses(form, tiling.onePass);
  return rows + "walked in " + std::to_string(passes) +
         (passes == 1 ? " pass" : " passes");
}
