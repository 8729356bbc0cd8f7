//===- RowMeeting.cpp - blocks that share rows and meet -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One block of up to 1024 threads a multiprocessor: it has the whole shared
// memory for what it keeps, and fewer blocks leave fewer states to combine.
//===----------------------------------------------------------------------===//
#include "RowMeeting.h"
#include "Sizes.h"

#include <limits>
#include <numeric>

using namespace fusec;
using namespace fusec::analysis;

static constexpr int64_t kMaxThreads = 1024;
static constexpr int64_t kWarps = kMaxThreads / 32;
// Warps across rows, where inner columns keep a batch's rows together.
static constexpr int64_t kMostRowWarps = 16;
// Registers of a thread that hold states.
static constexpr int64_t kStateRegisters = 16;
// Shared memory in which the warps of a block meet, of 48 KB.
static constexpr int64_t kExchangeBytes = 32 * 1024;
// What else lies in shared memory: states of groups, alignment.
static constexpr int64_t kOtherBytes = 8 * 1024;
// On their way to a block together.
static constexpr int64_t kBytesAhead = 48 * 1024;
static constexpr int64_t kMaxUnroll = 12;
// A block reads this much at least: less is mostly start and end.
static constexpr int64_t kLeastBytes = 32 * 1024;
// Of short rows, for tests: warps along columns, chunks of an iteration, and
// how many of them are kept.
static constexpr int64_t kTestedWarps = 2;
static constexpr int64_t kTestedUnroll = 2;
static constexpr int64_t kTestedSteps = 5;

/// Lanes across rows for `groups` vectors: the fewest idle ones, in lines as
/// long as possible.
static int64_t lanesFor(int64_t groups) {
  int64_t best = std::min<int64_t>(32, llvm::PowerOf2Ceil(groups));
  for (int64_t lanes : {16, 8})
    if (lanes < best &&
        ceilDiv(groups, lanes) * lanes < ceilDiv(groups, best) * best)
      best = lanes;
  return best;
}

/// Warps along and across rows; false if a run of inner columns is too long.
static bool chooseWarps(RowTiling &tiling, RowMeeting &meeting,
                        const SharedRows &rows) {
  if (rows.across) {
    int64_t groups = ceilDiv(rows.rowsOfBatch, tiling.vector);
    int64_t lanes = lanesFor(groups);
    tiling.lanes = 32 / lanes;
    if (rows.inner > 1)
      tiling.rowWarps = std::min(kMostRowWarps, ceilDiv(groups, lanes));
    int64_t run = std::lcm(rows.inner, tiling.vector);
    meeting.ownRows = std::min(rows.rowsOfBatch, tiling.rows() / run * run);
    if (!meeting.ownRows)
      return false;
  } else {
    tiling.lanes = 32;
  }
  meeting.rowBlocks = ceilDiv(rows.rowsOfBatch, meeting.ownRows);
  tiling.columnWarps = llvm::bit_floor(uint64_t(kWarps / tiling.rowWarps));
  while (tiling.columnWarps > 1 &&
         tiling.rows() * tiling.columnWarps * rows.stateBytes > kExchangeBytes)
    tiling.columnWarps /= 2;
  return true;
}

/// What a block keeps of its share: whole iterations, then the rest. False if
/// there is no room even for the states that warps exchange.
static bool choosePlaces(RowTiling &tiling, RowMeeting &meeting,
                         const SharedRows &rows, const TargetInfo &target) {
  int64_t chunkBytes =
      tiling.threads() * tiling.vector * tiling.repeats * rows.bytes;
  int64_t most =
      std::clamp<int64_t>(kBytesAhead / chunkBytes, 1,
                          target.rowBlockBytes ? kTestedUnroll : kMaxUnroll);
  int64_t chunk = tiling.columns();
  bool isEven = meeting.share * tiling.splits == meeting.columns;
  int64_t largest = meeting.share + (isEven ? 0 : meeting.unit);
  // As many as have their loads on the way together.
  tiling.unroll =
      std::max<int64_t>(1, fullestUnroll(ceilDiv(meeting.share, chunk), most));
  int64_t step = chunk * tiling.unroll;
  meeting.iterations = meeting.share / step;
  int64_t exchange =
      tiling.rows() * rows.stateBytes * (2 * tiling.columnWarps + 2);
  int64_t room = target.sharedBytesPerBlock - exchange - kOtherBytes;
  if (room < 0)
    return false;
  if (target.rowBlockBytes)
    room = std::min(room, kTestedSteps * chunkBytes);
  int64_t stepBytes = chunkBytes * tiling.unroll;
  bool hasRest = largest > meeting.iterations * step;
  meeting.keptIterations =
      std::clamp<int64_t>(room / stepBytes - hasRest, 0, meeting.iterations);
  meeting.keptBytes = room;
  return true;
}

std::optional<RowTiling> analysis::meetRows(const SharedRows &rows,
                                            const TargetInfo &target) {
  RowTiling tiling;
  RowMeeting meeting;
  meeting.batches = rows.batches;
  meeting.rowsOfBatch = rows.rowsOfBatch;
  meeting.inner = rows.inner;
  meeting.outerRows = rows.outerRows;
  meeting.innerColumns = rows.innerColumns;
  tiling.across = rows.across;
  tiling.onePass = true;
  tiling.vector = rows.vector;
  while (tiling.vector > 1 && tiling.vector * rows.states > kStateRegisters)
    tiling.vector /= 2;
  if (!chooseWarps(tiling, meeting, rows))
    return std::nullopt;
  meeting.columns = rows.columns;
  meeting.unit = rows.across ? 1 : tiling.vector;
  if (target.rowBlockBytes)
    tiling.columnWarps = std::min(tiling.columnWarps, kTestedWarps);
  int64_t least = target.rowBlockBytes ? target.rowBlockBytes : kLeastBytes;
  int64_t units = rows.columns / meeting.unit;
  int64_t bytes = meeting.ownRows * rows.columns * rows.bytes;
  tiling.splits =
      std::clamp<int64_t>(int64_t(target.multiprocessors) / meeting.groups(), 1,
                          std::max<int64_t>(1, std::min(units, bytes / least)));
  meeting.share = units / tiling.splits * meeting.unit;
  while (tiling.columnWarps > 1 && tiling.columns() / 2 >= meeting.share)
    tiling.columnWarps /= 2;
  if (!choosePlaces(tiling, meeting, rows, target))
    return std::nullopt;
  tiling.meeting = meeting;
  return tiling;
}

void analysis::setOrder(AccessFacts &facts, const RegionForm &form,
                        mlir::AffineMap map, llvm::ArrayRef<int64_t> shape) {
  facts.outerRows = facts.innerColumns = 0;
  unsigned parallel = form.parallel.size();
  llvm::SmallVector<int64_t> spine = form.spine(), strides(spine.size());
  for (auto [dim, size] : llvm::enumerate(spine))
    strides[dim] = size > 1 ? strideAlong(map, shape, dim) : 0;
  // The least and the largest stride among dims [first, last) of more than one
  // point.
  auto range = [&](unsigned first, unsigned last) {
    std::pair<int64_t, int64_t> result(std::numeric_limits<int64_t>::max(), 0);
    for (unsigned dim = first; dim < last; ++dim)
      if (spine[dim] > 1) {
        result.first = std::min(result.first, strides[dim]);
        result.second = std::max(result.second, strides[dim]);
      }
    return result;
  };
  unsigned outer = 0, inner = spine.size();
  int64_t ofColumns = range(parallel, spine.size()).second;
  while (outer < parallel && (spine[outer] == 1 || strides[outer] > ofColumns))
    ++outer;
  auto [least, largest] = range(outer, parallel);
  while (inner > parallel &&
         (spine[inner - 1] == 1 || strides[inner - 1] < least))
    --inner;
  // All columns inside of all rows: rows are contiguous.
  if (largest == 0) {
    facts.outerRows = outer;
    return;
  }
  if (range(parallel, inner).first <= largest)
    return;
  facts.outerRows = outer;
  facts.innerColumns = spine.size() - inner;
}
