//===- RowMeeting.cpp - blocks that share rows and meet -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The meeting form of the row schedule (statistics of channels or of groups of
// channels, and elements that need them). Each block reduces its share of the
// columns and stores its states; all meet at a barrier of the grid; each
// combines the states of its rows, in the order of blocks, and stores the
// elements of its share, the part that it read last first: that is still in the
// L2. What comes first it has kept in shared memory.
//
// Where rows have columns between them in memory (`inner`), tile axis 0 counts
// both, so that lanes and vectors run over contiguous memory. A block joins the
// states of inner columns before it stores them, and gives the results back to
// all of them, through shared memory:
//
//   columns -> states of (row, inner) -> states of rows -> [other blocks]
//           -> results of rows -> results at (row, inner) -> elements
//
// The barrier: every block comes to it once, at the top of the kernel, and the
// launch is cooperative. States are written before it and read behind it, each
// place once a launch, so no launch writes what another block still reads.
//===----------------------------------------------------------------------===//
#include "KeepLoads.h"
#include "MeetingSchedule.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

//===----------------------------------------------------------------------===//
// Where the block is on the spine
//===----------------------------------------------------------------------===//

void MeetingSchedule::boundRows(Value linear) {
  if (isExact())
    kb.emitter.setBounds(linear, {0, meeting.rowsOfBatch - 1});
}

Value MeetingSchedule::rowsInside(RankedTensorType carrier, Value linear) {
  if (isExact())
    return {};
  Value end = kb.index(meeting.rowsOfBatch);
  if (meeting.ownRows != tiling.rows())
    end = arith::MinSIOp::create(
        kb.builder, kb.loc, end,
        kb.addIndex(rowStart, kb.index(meeting.ownRows)));
  return kb.below(carrier, linear, end);
}

SmallVector<Value> MeetingSchedule::parallelAt(Value linear) {
  ArrayRef<int64_t> sizes(form.parallel);
  ArrayRef<int64_t> outer = sizes.take_front(meeting.outerRows);
  SmallVector<Value> result;
  if (!outer.empty()) {
    Value batches =
        tile::SplatOp::create(kb.builder, kb.loc, linear.getType(), batch);
    result = kb.split(batches, outer);
  }
  SmallVector<int64_t> inside(sizes.drop_front(meeting.outerRows));
  if (inside.empty())
    return result;
  inside.push_back(meeting.inner);
  SmallVector<Value> rows =
      hasInner() ? kb.split(linear, inside)
                 : kb.split(linear, ArrayRef(inside).drop_back());
  llvm::append_range(result, ArrayRef(rows).take_front(inside.size() - 1));
  return result;
}

SmallVector<Value> MeetingSchedule::reducedAt(Value rows, Value linear) {
  ArrayRef<int64_t> sizes(form.reduced);
  ArrayRef<int64_t> inner = sizes.take_back(meeting.innerColumns);
  SmallVector<Value> result =
      kb.split(linear, sizes.drop_back(meeting.innerColumns));
  if (inner.empty())
    return result;
  SmallVector<int64_t> split = {meeting.rowsOfBatch / meeting.inner};
  llvm::append_range(split, inner);
  SmallVector<Value> inside = kb.split(rows, split);
  llvm::append_range(result, ArrayRef(inside).drop_front());
  return result;
}

void MeetingSchedule::begin() {
  SmallVector<KernelBuilder::Scratch> scratch;
  int64_t blocks = tiling.blocks(rows);
  if (tiling.splits > 1) {
    int64_t each = hasInner() ? ownGroups() : tiling.rows();
    for (const Unit &unit : all)
      for (Type type : typesOf(unit))
        scratch.push_back({type, blocks * each});
    scratch.push_back({kb.builder.getI32Type(), 1});
  }
  kb.begin(tiling.threads(), {blocks, 1, 1}, {}, scratch,
           /*kept=*/scratch.empty() ? 0 : 1);
  group = kb.blockId(0);
  split = kb.index(0);
  if (tiling.splits > 1) {
    split = scalar(group, tiling.splits, /*isRemainder=*/true);
    group = scalar(group, tiling.splits, /*isRemainder=*/false);
  }
  rowBlock = kb.index(0);
  batch = group;
  if (meeting.rowBlocks > 1) {
    rowBlock = scalar(group, meeting.rowBlocks, /*isRemainder=*/true);
    batch = scalar(group, meeting.rowBlocks, /*isRemainder=*/false);
  }
  findShare();
}

/// The first blocks have one unit more each until all columns are taken.
void MeetingSchedule::findShare() {
  int64_t larger =
      columns / meeting.unit - meeting.share / meeting.unit * tiling.splits;
  auto startOf = [&](Value at) {
    Value start = kb.mulIndex(at, meeting.share);
    if (!larger)
      return start;
    Value extra =
        arith::MinSIOp::create(kb.builder, kb.loc, at, kb.index(larger));
    return kb.addIndex(start, kb.mulIndex(extra, meeting.unit));
  };
  shareStart = startOf(split);
  shareEnd = startOf(kb.addIndex(split, kb.index(1)));
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

RowSchedule::Columns MeetingSchedule::part(int64_t first, int64_t iterations) {
  Columns result{kb.index(first * step), kb.index((first + iterations) * step),
                 /*isWhole=*/true};
  result.base = shareStart;
  return result;
}

/// What is kept, what is not, and what is less than an iteration, where there
/// is such a part.
SmallVector<RowSchedule::Columns> MeetingSchedule::parts() {
  int64_t kept = meeting.keptIterations, others = meeting.iterations - kept;
  SmallVector<Columns> result;
  if (kept)
    result.push_back(part(0, kept));
  int64_t done = meeting.iterations * step;
  bool isEven = columns == meeting.share * tiling.splits;
  int64_t rest = meeting.share + (isEven ? 0 : meeting.unit) - done;
  if (rest) {
    Columns last = part(meeting.iterations, 1);
    last.isWhole = false;
    last.left = rest;
    last.sure = meeting.share - done;
    result.push_back(last);
  }
  // Last, so that it is in the L2 when it is read again.
  if (others)
    result.push_back(part(kept, others));
  return result;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// What is one value a row is stored by one block, at one inner column.
void MeetingSchedule::storeResults() {
  unsigned last = 0;
  for (const analysis::RegionStage &stage : form.stages)
    last = std::max(last, stage.level + 1);
  computeUniform(last);
  Value loads = rowMask;
  kb.emitter.setCarrier(row);
  graph::ElementBuilder eb = kb.emitter.elements();
  auto onlyAtFirst = [&](Value place) {
    Value isFirst = kb.below(row, place, kb.index(1));
    rowMask = rowMask ? eb.logicalAnd(rowMask, isFirst) : isFirst;
  };
  if (hasInner())
    onlyAtFirst(remainder(kb.axisTile(row, 0, kb.index(0)), meeting.inner));
  if (tiling.splits > 1)
    onlyAtFirst(tile::SplatOp::create(kb.builder, kb.loc, row, split));
  kb.emitter.setCarrier(full);
  storeUniform();
  rowMask = loads;
}

LogicalResult MeetingSchedule::run() {
  markQuotients();
  all = units();
  begin();
  setUpRows(kb.carrierType({tiling.rows(), chunk}, layout));
  SmallVector<Columns> inOrder = parts();
  SmallVector<Value> states = reducePart(all, inOrder, /*storesFull=*/false);
  if (hasInner())
    states = joinInner(states);
  if (tiling.splits > 1)
    states = meet(states);
  if (hasInner())
    states = spreadInner(states);
  kb.emitter.setCarrier(full);
  kb.emitter.setMask(Value());
  finishAll(all, states);
  storeResults();
  for (Columns &next : llvm::reverse(inOrder)) {
    // What was read last is in the L2.
    next.isBackwards =
        &next == &inOrder.back() && meeting.iterations > meeting.keptIterations;
    storeColumns(next);
  }
  keepLoads(kb.kernel, full, meeting.keptBytes);
  return success();
}

LogicalResult
graph_to_tile::scheduleMeeting(KernelBuilder &kb,
                               const analysis::RowTiling &tiling) {
  analysis::RowTiling counted = tiling;
  analysis::RowMeeting &meeting = *counted.meeting;
  unsigned outer = meeting.outerRows;
  for (const analysis::RegionForm *sizes : {&kb.form, &kb.counted})
    if (sizes->reduced != kb.pattern.reduced ||
        ArrayRef(sizes->parallel).drop_front(outer) !=
            ArrayRef(kb.pattern.parallel).drop_front(outer))
      return kb.fusion.emitOpError("reduces other sizes than its pattern");
  meeting.batches =
      KernelBuilder::product(ArrayRef(kb.counted.parallel).take_front(outer));
  int64_t most = kb.options.target.multiprocessors;
  if (counted.splits > 1 && counted.blocks(0) > most)
    return kb.fusion.emitOpError()
           << "has " << counted.blocks(0)
           << " blocks that wait for each other: expected at most " << most;
  return MeetingSchedule(kb, counted).run();
}
