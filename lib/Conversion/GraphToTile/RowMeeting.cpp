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
#include "RowSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using tile::Digit;

namespace {
class MeetingSchedule : public RowSchedule {
public:
  MeetingSchedule(KernelBuilder &kb, const analysis::RowTiling &rowTiling)
      : RowSchedule(kb, rowTiling), meeting(*rowTiling.meeting) {
    columns = meeting.columns;
  }
  LogicalResult run();

protected:
  Value firstRow() override { return kb.mulIndex(rowBlock, meeting.ownRows); }
  void boundRows(Value linear) override;
  Value rowsInside(RankedTensorType carrier, Value linear) override;
  bool coversColumns() override { return false; }
  Value columnEnd() override { return shareEnd; }
  SmallVector<Value> parallelAt(Value linear) override;
  SmallVector<Value> reducedAt(Value rows, Value linear) override;

private:
  bool hasInner() const { return meeting.inner > 1; }
  /// Rows of a block, without inner columns, and whether tiles hold just these.
  int64_t ownGroups() const { return meeting.ownRows / meeting.inner; }
  bool isExact() const {
    return meeting.rowsOfBatch % meeting.ownRows == 0 &&
           meeting.ownRows == tiling.rows();
  }
  void begin();
  void findShare();
  Columns part(int64_t first, int64_t iterations);
  SmallVector<Columns> parts();
  RankedTensorType groupCarrier(int64_t count);
  SmallVector<Value> reduceAll(ValueRange states);
  SmallVector<Value> storeShared(ValueRange states, Value at, Value mask);
  SmallVector<Value> loadShared(ValueRange buffers, Value at);
  SmallVector<Value> joinInner(ValueRange states);
  SmallVector<Value> spreadInner(ValueRange states);
  SmallVector<Value> meet(ValueRange states);
  Value stateOffsets(RankedTensorType carrier, Value group, Value split);
  void storeResults();

  /// In an index tile of `carrier`.
  Value divide(Value tile, int64_t by) {
    return kb.emitter.elements().make<arith::DivUIOp>(tile, splat(tile, by));
  }
  Value remainder(Value tile, int64_t by) {
    return kb.emitter.elements().make<arith::RemUIOp>(tile, splat(tile, by));
  }
  Value splat(Value like, int64_t value) {
    return tile::SplatOp::create(kb.builder, kb.loc, like.getType(),
                                 kb.index(value));
  }
  Value scalar(Value lhs, int64_t by, bool isRemainder) {
    Value size = kb.index(by);
    return isRemainder ? arith::RemUIOp::create(kb.builder, kb.loc, lhs, size)
                             .getResult()
                       : arith::DivUIOp::create(kb.builder, kb.loc, lhs, size);
  }

  analysis::RowMeeting meeting;
  SmallVector<Unit> all;
  /// Of this block.
  Value split, group, rowBlock, batch, shareStart, shareEnd;
};
} // namespace

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
// States
//===----------------------------------------------------------------------===//

/// Tiles of at least (rows of the block) x `count`, lanes along the latter and
/// warps along the former, so that reducing them needs no shared memory.
RankedTensorType MeetingSchedule::groupCarrier(int64_t count) {
  int64_t warps = tiling.threads() / 32;
  int64_t lanes = std::min<int64_t>(32, llvm::PowerOf2Ceil(count));
  int64_t span = 32 / lanes * warps;
  int64_t repeats = llvm::divideCeil(ownGroups(), uint64_t(span));
  auto groups =
      tile::LayoutAttr::get(kb.builder.getContext(), {Digit{repeats, span, 0}},
                            {Digit{lanes, 1, 1}, Digit{32 / lanes, 1, 0}},
                            {Digit{warps, 32 / lanes, 0}});
  return kb.carrierType({repeats * span, lanes}, groups);
}

/// The states of all units, combined along axis 1 at once.
SmallVector<Value> MeetingSchedule::reduceAll(ValueRange states) {
  SmallVector<Type> types;
  for (Value state : states) {
    auto type = cast<RankedTensorType>(state.getType());
    types.push_back(RankedTensorType::get({type.getDimSize(0), 1},
                                          type.getElementType(),
                                          tile::getLayout(type).reduced({1})));
  }
  auto op = tile::ReduceOp::create(kb.builder, kb.loc, types, states,
                                   ArrayRef<int64_t>{1});
  kb.emitter.buildCombine(
      op, [&](graph::ElementBuilder &eb, ValueRange lhs, ValueRange rhs) {
        return combineParts(eb, lhs, rhs);
      });
  return llvm::to_vector_of<Value>(op.getResults());
}

/// Arrays of the block's shared memory with `states` at places `at`, where
/// `mask` (null: everywhere) holds.
SmallVector<Value> MeetingSchedule::storeShared(ValueRange states, Value at,
                                                Value mask) {
  SmallVector<Value> buffers;
  for (Value state : states) {
    auto type =
        MemRefType::get({tiling.rows()}, getElementTypeOrSelf(state),
                        MemRefLayoutAttrInterface(),
                        kb.builder.getI64IntegerAttr(tile::kSharedSpace));
    buffers.push_back(
        tile::AllocOp::create(kb.builder, kb.loc, type, /*dynamic=*/true));
    tile::StoreOp::create(kb.builder, kb.loc, state, buffers.back(), at, mask,
                          /*vector=*/1);
  }
  tile::BarrierOp::create(kb.builder, kb.loc);
  return buffers;
}

/// States at places `at` of `buffers`, in the emitter's carrier and under its
/// mask.
SmallVector<Value> MeetingSchedule::loadShared(ValueRange buffers, Value at) {
  SmallVector<Value> result;
  for (auto [buffer, neutral] : llvm::zip(buffers, identities(all)))
    result.push_back(tile::LoadOp::create(
        kb.builder, kb.loc, neutral.getType(), buffer, at, kb.emitter.getMask(),
        kb.emitter.getMask() ? neutral : Value(), /*vector=*/1));
  return result;
}

/// States of rows from those of their inner columns.
SmallVector<Value> MeetingSchedule::joinInner(ValueRange states) {
  SmallVector<Value> buffers =
      storeShared(states, kb.axisTile(row, 0, kb.index(0)), Value());
  RankedTensorType carrier = groupCarrier(meeting.inner);
  int64_t lanes = carrier.getDimSize(1);
  kb.emitter.setCarrier(carrier);
  SmallVector<Value> joined;
  // Inner columns are few: as many steps as lanes need.
  for (int64_t first = 0; first < meeting.inner; first += lanes) {
    Value at = kb.axisTile(carrier, 0, kb.index(0));
    Value inner = kb.axisTile(carrier, 1, kb.index(first));
    graph::ElementBuilder eb = kb.emitter.elements();
    kb.emitter.setMask(
        eb.logicalAnd(kb.below(carrier, at, kb.index(ownGroups())),
                      kb.below(carrier, inner, kb.index(meeting.inner))));
    Value to = eb.make<arith::AddIOp>(
        eb.make<arith::MulIOp>(at, splat(at, meeting.inner)), inner);
    SmallVector<Value> next = loadShared(buffers, to);
    joined = joined.empty() ? next : combineParts(eb, joined, next);
  }
  return reduceAll(joined);
}

/// States of rows at all of their inner columns, in the row carrier.
SmallVector<Value> MeetingSchedule::spreadInner(ValueRange states) {
  RankedTensorType carrier = cast<RankedTensorType>(states[0].getType());
  RankedTensorType indices =
      kb.carrierType(carrier.getShape(), tile::getLayout(carrier));
  kb.emitter.setCarrier(indices);
  Value from = kb.axisTile(indices, 0, kb.index(0));
  SmallVector<Value> buffers =
      storeShared(states, from, kb.below(indices, from, kb.index(ownGroups())));
  kb.emitter.setCarrier(row);
  Value at = kb.axisTile(row, 0, kb.index(0));
  kb.emitter.setMask(meeting.ownRows == tiling.rows()
                         ? Value()
                         : kb.below(row, at, kb.index(meeting.ownRows)));
  return loadShared(buffers, divide(at, meeting.inner));
}

/// Where the states of `split` for `group` of this block's rows are: the
/// states of rows with inner columns are neighbours along blocks, others along
/// rows.
Value MeetingSchedule::stateOffsets(RankedTensorType carrier, Value at,
                                    Value splits) {
  kb.emitter.setCarrier(carrier);
  graph::ElementBuilder eb = kb.emitter.elements();
  int64_t each = hasInner() ? ownGroups() : tiling.rows();
  Value base = tile::SplatOp::create(kb.builder, kb.loc, at.getType(),
                                     kb.mulIndex(group, each * tiling.splits));
  Value scaled =
      hasInner()
          ? eb.make<arith::AddIOp>(
                eb.make<arith::MulIOp>(at, splat(at, tiling.splits)), splits)
          : eb.make<arith::AddIOp>(
                eb.make<arith::MulIOp>(splits, splat(splits, each)), at);
  return eb.make<arith::AddIOp>(base, scaled);
}

/// The states of all blocks that share these rows, from those of this one.
SmallVector<Value> MeetingSchedule::meet(ValueRange states) {
  auto own = cast<RankedTensorType>(states[0].getType());
  RankedTensorType mine = kb.carrierType(own.getShape(), tile::getLayout(own));
  auto inside = [&](RankedTensorType carrier, Value at) -> Value {
    return hasInner() ? kb.below(carrier, at, kb.index(ownGroups())) : Value();
  };
  Value at = kb.axisTile(mine, 0, kb.index(0));
  Value here = tile::SplatOp::create(kb.builder, kb.loc, mine, split);
  Value offsets = stateOffsets(mine, at, here), mask = inside(mine, at);
  for (auto [i, state] : llvm::enumerate(states))
    tile::StoreOp::create(kb.builder, kb.loc, state, kb.scratch(i), offsets,
                          mask, /*vector=*/1);
  tile::GridBarrierOp::create(kb.builder, kb.loc, kb.scratch(states.size()),
                              /*resident=*/1);
  RankedTensorType carrier = hasInner() ? groupCarrier(tiling.splits) : full;
  kb.emitter.setCarrier(carrier);
  SmallVector<Value> identity = identities(all);
  auto loop = scf::ForOp::create(kb.builder, kb.loc, kb.index(0),
                                 kb.index(tiling.splits),
                                 kb.index(carrier.getDimSize(1)), identity);
  {
    OpBuilder::InsertionGuard guard(kb.builder);
    Block *body = loop.getBody();
    if (!body->empty() && body->back().hasTrait<OpTrait::IsTerminator>())
      body->back().erase();
    kb.builder.setInsertionPointToEnd(body);
    Value rowOf = kb.axisTile(carrier, 0, kb.index(0));
    Value part = kb.axisTile(carrier, 1, loop.getInductionVar());
    Value from = stateOffsets(carrier, rowOf, part);
    graph::ElementBuilder eb = kb.emitter.elements();
    Value exists = kb.below(carrier, part, kb.index(tiling.splits));
    if (Value isRow = inside(carrier, rowOf))
      exists = eb.logicalAnd(exists, isRow);
    SmallVector<Value> next;
    for (auto [i, neutral] : llvm::enumerate(identity))
      next.push_back(tile::LoadOp::create(kb.builder, kb.loc, neutral.getType(),
                                          kb.scratch(i), from, exists, neutral,
                                          /*vector=*/1));
    scf::YieldOp::create(kb.builder, kb.loc,
                         combineParts(eb, loop.getRegionIterArgs(), next));
  }
  return reduceAll(loop.getResults());
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
