//===- RowColumns.cpp - rows whose columns are summed, too ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions over rows beside reductions over columns of the same elements
// (the backward pass of a norm). As many blocks as run at the same time take
// groups of rows in turn, the next group's loads ahead; what is reduced along a
// row is shared by the block, the columns' states stay in the registers of the
// threads that have the columns. Then each block stores its states, all meet at
// a barrier of the grid, and each combines the states of a slice of columns, in
// the order of blocks.
//===----------------------------------------------------------------------===//
#include "LoadAhead.h"
#include "RowSchedule.h"
#include "fusec/Analysis/ColumnTiling.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using tile::Digit;

// Columns of a lane that a block finishes at a time: so many that every block
// finishes once, but not more than this.
static constexpr int64_t kMostOfLane = 4;
// States of a column that a thread combines at a time, where a multiprocessor
// has so many threads; with fewer each has the registers for more.
static constexpr uint64_t kMostParts = 12, kPartThreads = 1024;
// Bytes of one access.
static constexpr int64_t kAccessBytes = 16;

namespace {
class ColumnSchedule : public RowSchedule {
public:
  ColumnSchedule(KernelBuilder &kb, const analysis::ColumnTiling &columnTiling)
      : RowSchedule(kb, columnTiling.row), columnTiling(columnTiling) {}
  LogicalResult run();

private:
  using Stages = SmallVector<const analysis::RegionStage *>;
  /// Stages of `level`.
  Stages rowStages(unsigned level) const;
  Stages columnStages() const;
  void begin();
  SmallVector<Value> identitiesOf(ArrayRef<const analysis::RegionStage *> of);
  /// Combines the states of all of `stages` along `axis` at once.
  SmallVector<Value> reduce(ArrayRef<const analysis::RegionStage *> stages,
                            ValueRange states, RankedTensorType result,
                            int64_t axis);
  SmallVector<Value> combine(ArrayRef<const analysis::RegionStage *> stages,
                             ValueRange lhs, ValueRange rhs);
  Value clampRows(RankedTensorType carrier, Value linear);
  void enterRows(Value group);
  void reduceRows();
  SmallVector<Value> addToColumns(ValueRange states);
  void storeRows();
  SmallVector<Value> walkRows();
  void storeStates(ValueRange states);
  void finishColumns();
  SmallVector<Value> loadStates(Value part, Value place, Value mask,
                                ValueRange identity);
  /// Columns that a block finishes at a time.
  int64_t sliceColumns() const {
    uint64_t once = 32 * columnTiling.mostBlocks(kb.options.target);
    return 32 * std::min<int64_t>(
                    kMostOfLane,
                    llvm::PowerOf2Ceil(llvm::divideCeil(columns, once)));
  }
  /// Columns of a thread whose states are one access.
  int64_t stateRun() const;
  Value placeOf(Value column);
  Value columnAt(Value place);
  void finishSlice(Value slice);
  void storeColumns(RankedTensorType carrier, Value column, Value mask);
  Value gridSize() {
    return tile::GridSizeOp::create(kb.builder, kb.loc,
                                    kb.builder.getIndexType());
  }
  /// Whether steps take several rows, of which the last may not be there.
  bool hasPartialSteps() const { return tiling.rows() > 1; }

  analysis::ColumnTiling columnTiling;
  scf::ForOp rowLoop;
  /// Masks of rows that are there; null: all.
  Value liveFull, liveRow;
  /// Results of column stages while columns are finished.
  DenseMap<Value, Value> finished;
};
} // namespace

ColumnSchedule::Stages ColumnSchedule::rowStages(unsigned level) const {
  Stages result;
  for (const analysis::RegionStage &stage : form.stages)
    if (stage.level == level)
      result.push_back(&stage);
  return result;
}

ColumnSchedule::Stages ColumnSchedule::columnStages() const {
  Stages result;
  for (const analysis::RegionStage &stage : form.columns)
    result.push_back(&stage);
  return result;
}

static SmallVector<Type> stateTypes(const analysis::RegionStage &stage) {
  return cast<graph::ReductionOpInterface>(stage.op).getStateTypes();
}

void ColumnSchedule::begin() {
  const TargetInfo &target = kb.options.target;
  int64_t most = columnTiling.mostBlocks(target);
  SmallVector<KernelBuilder::Scratch> scratch;
  for (const analysis::RegionStage &stage : form.columns)
    for (Type type : stateTypes(stage))
      scratch.push_back({type, most * columns});
  scratch.push_back({kb.builder.getI32Type(), 1});
  kb.begin(tiling.threads(), {columnTiling.blocks(rows, target), 1, 1}, {rows},
           scratch, /*kept=*/1);
  full = kb.carrierType({tiling.rows(), chunk}, layout);
  row = kb.carrierType({tiling.rows(), 1}, layout.reduced({1}));
  kb.emitter.staged = [this](Value value, ValueRange index) {
    auto known = finished.find(value);
    return known != finished.end() ? known->second : lookup(value, index);
  };
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

SmallVector<Value>
ColumnSchedule::identitiesOf(ArrayRef<const analysis::RegionStage *> stages) {
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> result;
  for (const analysis::RegionStage *stage : stages)
    llvm::append_range(
        result, cast<graph::ReductionOpInterface>(stage->op).buildIdentity(eb));
  return result;
}

static SmallVector<Value>
combineAll(graph::ElementBuilder &eb,
           ArrayRef<const analysis::RegionStage *> stages, ValueRange lhs,
           ValueRange rhs) {
  SmallVector<Value> result;
  for (const analysis::RegionStage *stage : stages) {
    size_t count = stateTypes(*stage).size();
    llvm::append_range(
        result, cast<graph::ReductionOpInterface>(stage->op).buildCombine(
                    eb, lhs.take_front(count), rhs.take_front(count)));
    lhs = lhs.drop_front(count);
    rhs = rhs.drop_front(count);
  }
  return result;
}

SmallVector<Value>
ColumnSchedule::combine(ArrayRef<const analysis::RegionStage *> stages,
                        ValueRange lhs, ValueRange rhs) {
  graph::ElementBuilder eb = kb.emitter.elements();
  return combineAll(eb, stages, lhs, rhs);
}

SmallVector<Value>
ColumnSchedule::reduce(ArrayRef<const analysis::RegionStage *> stages,
                       ValueRange states, RankedTensorType result,
                       int64_t axis) {
  SmallVector<Type> types;
  for (Value state : states)
    types.push_back(RankedTensorType::get(
        result.getShape(), getElementTypeOrSelf(state), result.getEncoding()));
  auto op = tile::ReduceOp::create(kb.builder, kb.loc, types, states,
                                   ArrayRef<int64_t>{axis});
  kb.emitter.buildCombine(
      op, [&](graph::ElementBuilder &eb, ValueRange lhs, ValueRange rhs) {
        return combineAll(eb, stages, lhs, rhs);
      });
  return llvm::to_vector_of<Value>(op.getResults());
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Rows past the last are the last once more: no load needs a mask for them.
Value ColumnSchedule::clampRows(RankedTensorType carrier, Value linear) {
  if (!hasPartialSteps())
    return linear;
  Value last = kb.addIndex(rowBound(), kb.index(-1));
  Value tile = tile::SplatOp::create(kb.builder, kb.loc, carrier, last);
  return arith::MinSIOp::create(kb.builder, kb.loc, linear, tile);
}

void ColumnSchedule::enterRows(Value group) {
  rowStart = kb.mulIndex(group, tiling.rows());
  kb.emitter.setCarrier(row);
  Value linear = kb.axisTile(row, 0, rowStart);
  liveRow = hasPartialSteps() ? kb.below(row, linear, rowBound()) : Value();
  rowMask = {};
  spineRow = kb.split(clampRows(row, linear), form.parallel);
  graph::ElementBuilder eb = kb.emitter.elements();
  spineRow.append(form.reduced.size(), eb.index(0));

  kb.emitter.setCarrier(full);
  Value rowLinear = kb.axisTile(full, 0, rowStart);
  liveFull =
      hasPartialSteps() ? kb.below(full, rowLinear, rowBound()) : Value();
  Value columnLinear = kb.axisTile(full, 1, kb.index(0));
  columnMask = {};
  if (columns % chunk)
    columnMask = kb.below(full, columnLinear, kb.index(columns));
  else
    kb.emitter.setBounds(columnLinear, {0, columns - 1});
  fullMask = columnMask;
  kb.emitter.setMask(fullMask);
  spineFull = kb.split(clampRows(full, rowLinear), form.parallel);
  llvm::append_range(spineFull, kb.split(columnLinear, form.reduced));
}

void ColumnSchedule::reduceRows() {
  unsigned levels = 0;
  for (const analysis::RegionStage &stage : form.stages)
    levels = std::max(levels, stage.level + 1);
  for (unsigned level = 0; level < levels; ++level) {
    Stages stages = rowStages(level);
    SmallVector<Value> lifted;
    for (const analysis::RegionStage *stage : stages)
      llvm::append_range(lifted, lift(*stage));
    SmallVector<Value> states = reduce(stages, lifted, row, 1);
    ValueRange rest = states;
    for (const analysis::RegionStage *stage : stages) {
      size_t count = stateTypes(*stage).size();
      finish(*stage, rest.take_front(count));
      rest = rest.drop_front(count);
    }
  }
}

SmallVector<Value> ColumnSchedule::addToColumns(ValueRange states) {
  SmallVector<Value> lifted;
  for (const analysis::RegionStage *stage : columnStages())
    llvm::append_range(lifted, lift(*stage));
  if (liveFull) {
    graph::ElementBuilder eb = kb.emitter.elements();
    for (auto [state, neutral] :
         llvm::zip(lifted, identitiesOf(columnStages())))
      state = eb.select(liveFull, state, neutral);
  }
  return combine(columnStages(), states, lifted);
}

void ColumnSchedule::storeRows() {
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> values = fullValues();
  for (const analysis::RegionOutput &output : form.outputs)
    if (output.isUniform)
      uniformValue(output.value); // with the mask of loads
  if (liveFull)
    kb.emitter.setMask(columnMask ? eb.logicalAnd(columnMask, liveFull)
                                  : liveFull);
  storeFull(values);
  rowMask = liveRow;
  storeUniform();
}

/// The columns' states of all rows that this block has, in the full carrier.
SmallVector<Value> ColumnSchedule::walkRows() {
  kb.emitter.setCarrier(full);
  SmallVector<Value> inits = identitiesOf(columnStages());
  Value groups = kb.extent(0);
  if (hasPartialSteps())
    groups = arith::DivUIOp::create(
        kb.builder, kb.loc, kb.addIndex(groups, kb.index(tiling.rows() - 1)),
        kb.index(tiling.rows()));
  rowLoop = scf::ForOp::create(kb.builder, kb.loc, kb.blockId(0), groups,
                               gridSize(), inits);
  OpBuilder::InsertionGuard guard(kb.builder);
  kb.enterBody(rowLoop);
  enterRows(rowLoop.getInductionVar());
  reduceRows();
  SmallVector<Value> states = addToColumns(rowLoop.getRegionIterArgs());
  storeRows();
  scf::YieldOp::create(kb.builder, kb.loc, states);
  return llvm::to_vector_of<Value>(rowLoop.getResults());
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

int64_t ColumnSchedule::stateRun() const {
  int64_t bytes = 4;
  for (const analysis::RegionStage &stage : form.columns)
    for (Type type : stateTypes(stage))
      bytes = std::max<int64_t>(
          bytes, llvm::divideCeil(type.getIntOrFloatBitWidth(), 8));
  return std::min(tiling.vector, kAccessBytes / bytes);
}

/// Where a block's states of `column` are. A thread has a vector of columns
/// whose states are several accesses: the first ones of all threads, then the
/// second ones, so that those of a warp are neighbours in memory and fill
/// sectors (half of a sector takes the L2 as long as all of it).
Value ColumnSchedule::placeOf(Value column) {
  int64_t run = stateRun(), runs = tiling.vector / run;
  if (runs == 1)
    return column;
  graph::ElementBuilder eb = kb.emitter.elements();
  Value which = eb.remIndex(eb.divIndex(column, run), runs);
  Value own = eb.mulIndex(eb.divIndex(column, tiling.vector), run);
  return eb.addIndex(eb.addIndex(eb.mulIndex(which, columns / runs), own),
                     eb.remIndex(column, run));
}

/// The inverse of `placeOf`.
Value ColumnSchedule::columnAt(Value place) {
  int64_t run = stateRun(), runs = tiling.vector / run;
  if (runs == 1)
    return place;
  graph::ElementBuilder eb = kb.emitter.elements();
  Value which = eb.mulIndex(eb.divIndex(place, columns / runs), run);
  Value own = eb.divIndex(eb.remIndex(place, columns / runs), run);
  return eb.addIndex(eb.addIndex(eb.mulIndex(own, tiling.vector), which),
                     eb.remIndex(place, run));
}

/// One state a column and block.
void ColumnSchedule::storeStates(ValueRange states) {
  SmallVector<Value> reduced(states);
  RankedTensorType carrier = full;
  if (hasPartialSteps()) {
    carrier = kb.carrierType({1, chunk}, layout.reduced({0}));
    reduced = reduce(columnStages(), states, carrier, 0);
  }
  kb.emitter.setCarrier(carrier);
  Value column = kb.axisTile(carrier, 1, kb.index(0)), mask;
  if (columns % chunk)
    mask = kb.below(carrier, column, kb.index(columns));
  Value first = kb.mulIndex(kb.blockId(0), columns);
  Value offsets = arith::AddIOp::create(
      kb.builder, kb.loc,
      tile::SplatOp::create(kb.builder, kb.loc, carrier, first),
      placeOf(column));
  for (auto [i, state] : llvm::enumerate(reduced))
    tile::StoreOp::create(kb.builder, kb.loc, state, kb.scratch(i), offsets,
                          mask, /*vector=*/1);
}

SmallVector<Value> ColumnSchedule::loadStates(Value part, Value place,
                                              Value mask, ValueRange identity) {
  Value size = tile::SplatOp::create(kb.builder, kb.loc, part.getType(),
                                     kb.index(columns));
  Value offsets = arith::AddIOp::create(
      kb.builder, kb.loc, arith::MulIOp::create(kb.builder, kb.loc, part, size),
      place);
  SmallVector<Value> result;
  for (auto [i, other] : llvm::enumerate(identity))
    result.push_back(tile::LoadOp::create(kb.builder, kb.loc, other.getType(),
                                          kb.scratch(i), offsets, mask, other,
                                          /*vector=*/1));
  return result;
}

/// Combines the states of all blocks for a slice of columns: neighbours in the
/// order of `placeOf`.
void ColumnSchedule::finishSlice(Value slice) {
  int64_t warps = tiling.threads() / 32;
  uint64_t each = llvm::divideCeil(columnTiling.mostBlocks(kb.options.target),
                                   uint64_t(warps));
  int64_t width = sliceColumns() / 32;
  uint64_t most = kMostParts * kPartThreads /
                  (tiling.threads() * columnTiling.resident * width);
  int64_t parts = llvm::divideCeil(each, llvm::divideCeil(each, most));
  SmallVector<Digit> registers = {Digit{parts, warps, 0}};
  if (width > 1)
    registers.insert(registers.begin(), Digit{width, 1, 1});
  auto partsLayout =
      tile::LayoutAttr::get(kb.builder.getContext(), registers,
                            {Digit{32, width, 1}}, {Digit{warps, 1, 0}});
  RankedTensorType carrier =
      kb.carrierType({warps * parts, sliceColumns()}, partsLayout);
  kb.emitter.setCarrier(carrier);
  Value start = kb.mulIndex(slice, sliceColumns());
  Value place = kb.axisTile(carrier, 1, start);
  Value isColumn = kb.below(carrier, place, kb.index(columns));
  SmallVector<Value> identity = identitiesOf(columnStages());
  auto loop = scf::ForOp::create(kb.builder, kb.loc, kb.index(0), gridSize(),
                                 kb.index(warps * parts), identity);
  {
    OpBuilder::InsertionGuard guard(kb.builder);
    kb.enterBody(loop);
    Value part = kb.axisTile(carrier, 0, loop.getInductionVar());
    Value mask = kb.emitter.elements().logicalAnd(
        isColumn, kb.below(carrier, part, gridSize()));
    SmallVector<Value> loaded = loadStates(part, place, mask, identity);
    scf::YieldOp::create(
        kb.builder, kb.loc,
        combine(columnStages(), loop.getRegionIterArgs(), loaded));
  }
  RankedTensorType one =
      kb.carrierType({1, sliceColumns()}, partsLayout.reduced({0}));
  SmallVector<Value> states = reduce(columnStages(), loop.getResults(), one, 0);
  kb.emitter.setCarrier(one);
  ValueRange rest = states;
  for (const analysis::RegionStage *stage : columnStages()) {
    auto op = cast<graph::ReductionOpInterface>(stage->op);
    size_t count = stateTypes(*stage).size();
    graph::ElementBuilder eb = kb.emitter.elements();
    for (OpResult result : stage->op->getResults())
      finished[result] =
          op.buildFinish(eb, rest.take_front(count), result.getResultNumber());
    rest = rest.drop_front(count);
  }
  Value last = kb.axisTile(one, 1, start);
  storeColumns(one, columnAt(last), kb.below(one, last, kb.index(columns)));
  finished.clear();
}

void ColumnSchedule::storeColumns(RankedTensorType carrier, Value column,
                                  Value mask) {
  kb.emitter.setCarrier(carrier);
  kb.emitter.setMask(mask);
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> spine(form.parallel.size(), eb.index(0));
  llvm::append_range(spine, kb.split(column, form.reduced));
  for (auto [i, output] : llvm::enumerate(form.outputs)) {
    if (!output.isColumn)
      continue;
    SmallVector<Value> index = eb.apply(output.index, spine);
    kb.emitter.store(kb.emitter.emit(output.value, index), kb.outputBuffer(i),
                     cast<RankedTensorType>(output.value.getType()), index,
                     mask);
  }
}

void ColumnSchedule::finishColumns() {
  uint64_t slices = llvm::divideCeil(columns, uint64_t(sliceColumns()));
  auto loop = scf::ForOp::create(kb.builder, kb.loc, kb.blockId(0),
                                 kb.index(slices), gridSize(), ValueRange());
  OpBuilder::InsertionGuard guard(kb.builder);
  kb.builder.setInsertionPointToStart(loop.getBody());
  finishSlice(loop.getInductionVar());
}

LogicalResult ColumnSchedule::run() {
  begin();
  SmallVector<Value> states = walkRows();
  storeStates(states);
  tile::GridBarrierOp::create(kb.builder, kb.loc,
                              kb.scratch(kb.kernel.getScratch()->size() - 1),
                              columnTiling.resident);
  finishColumns();
  // When nothing refers to values of the loop's body any more.
  hoistFromLoop(rowLoop);
  // What is one value a row is cheaper carried.
  if (columnTiling.stages)
    rowLoop = copyAhead(
        rowLoop, {full, tiling.threads(), columnTiling.stages,
                  [&](BlockArgument buffer) { return isMatrix(buffer); }});
  if (columnTiling.loadsAhead)
    loadAhead(rowLoop);
  return success();
}

FailureOr<tile::KernelOp> graph_to_tile::scheduleColumns(KernelBuilder &kb) {
  if (kb.options.threads)
    return kb.fusion.emitOpError(
        "sums rows and columns in a launch of its own");
  for (const analysis::RegionForm *sizes : {&kb.form, &kb.counted})
    if (sizes->reduced != kb.pattern.reduced ||
        sizes->columns.size() != kb.pattern.columns.size())
      return kb.fusion.emitOpError("reduces other sizes than its pattern");
  analysis::FactTable facts;
  std::optional<analysis::ColumnTiling> tiling =
      analysis::tileColumns(facts, kb.pattern);
  if (!tiling)
    return kb.fusion.emitOpError("has columns that no block holds");
  if (failed(ColumnSchedule(kb, *tiling).run()))
    return failure();
  return kb.kernel;
}
