//===- Row.cpp - several reductions along the same axes -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile axis 0 runs over the parallel spine (rows), axis 1 over the reduced
// spine, both linear. Two carriers: `full` (rows x columns) and `row` (rows x
// 1, the full layout reduced along axis 1) for values that are uniform along a
// row, reduction results among them.
//
//  * persistent: a tile holds whole rows. Each reduction reduces a tile; inputs
//    are loaded once and stay in registers.
//  * looped: a row does not fit. Each level of reductions and the final stores
//    loop over chunks of the row and compute their inputs anew.
//  * split: few rows. Several blocks take a part of the columns each and store
//    the states of their reductions; the last block to finish combines them in
//    order and stores what is one value a row.
//===----------------------------------------------------------------------===//
#include "KernelBuilder.h"
#include "RowLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

namespace {

/// Builds the kernel of a Row region in one of the two forms above: levels of
/// reductions in order, then the outputs. While it runs, the emitter's carrier
/// is `full`, except where a value of the row carrier is made.
class RowSchedule {
public:
  RowSchedule(KernelBuilder &kb, const analysis::RowTiling &tiling)
      : kb(kb), form(kb.form), tiling(tiling),
        layout(layoutOf(kb.builder.getContext(), tiling)),
        chunk(tiling.columns()), rows(KernelBuilder::product(form.parallel)),
        columns(KernelBuilder::product(form.reduced)),
        rowUnit(KernelBuilder::extentUnit(rows)) {}
  LogicalResult run();

private:
  void setUpRows(RankedTensorType carrier);
  /// Index tiles of the spine for columns from `start` on, in the full carrier.
  void enterColumns(Value start);
  Value lookup(Value value, ValueRange index);
  Value uniformValue(Value value);
  void reduceLevel(ArrayRef<const analysis::RegionStage *> stages);
  SmallVector<Value> lift(const analysis::RegionStage &stage);
  SmallVector<Value> reduceTiles(graph::ReductionOpInterface op,
                                 ValueRange states);
  void finish(const analysis::RegionStage &stage, ValueRange state);
  bool isStage(Operation *op) const {
    return llvm::any_of(form.stages, [&](const auto &s) { return s.op == op; });
  }
  void computeUniform(unsigned level);
  void storeUniform();
  void storeFull();
  scf::ForOp columnLoop(ValueRange inits);
  LogicalResult runWhole();

  // The split form.
  LogicalResult runSplit();
  SmallVector<Value> reducePart();
  SmallVector<Value> combineStates(ValueRange states, ValueRange more);
  Value partOffsets(RankedTensorType carrier, Value part);
  void storePart(ValueRange states);
  SmallVector<Value> loadParts(RankedTensorType carrier, int64_t parts);
  void finishRows();
  SmallVector<Type> stateTypes() const;
  /// The number of rows; its divisibility is part of the text.
  Value rowBound() { return kb.mulIndex(kb.extent(0), rowUnit); }
  bool isLooped() const { return columns > chunk; }

  KernelBuilder &kb;
  const analysis::RegionForm &form;
  analysis::RowTiling tiling;
  tile::LayoutAttr layout;
  /// Columns of a tile.
  int64_t chunk;
  int64_t rows, columns, rowUnit;
  RankedTensorType full, row;
  Value rowStart;
  Value rowMaskFull, rowMask, columnMask, fullMask;
  SmallVector<Value> spineFull, spineRow;
  // Uniform values at hand, in the row carrier.
  DenseMap<Value, Value> uniform;
  bool inRowCarrier = false;
};

} // namespace

void RowSchedule::setUpRows(RankedTensorType carrier) {
  full = carrier;
  row =
      kb.carrierType({tiling.rows(), 1}, tile::getLayout(carrier).reduced({1}));
  rowStart = kb.mulIndex(kb.blockId(0), tiling.rows());
  spineRow.clear();
  kb.emitter.setCarrier(row);
  Value linear = kb.axisTile(row, 0, rowStart);
  rowMask = kb.below(row, linear, rowBound());
  spineRow = kb.split(linear, form.parallel);
  graph::ElementBuilder eb = kb.emitter.elements();
  for (size_t i = 0; i < form.reduced.size(); ++i)
    spineRow.push_back(eb.index(0)); // uniform values do not look at it
  kb.emitter.staged = [this](Value value, ValueRange index) {
    return lookup(value, index);
  };
}

void RowSchedule::enterColumns(Value start) {
  kb.emitter.setCarrier(full);
  Value rowLinear = kb.axisTile(full, 0, rowStart);
  Value columnLinear = kb.axisTile(full, 1, start);
  rowMaskFull = kb.below(full, rowLinear, rowBound());
  columnMask = {};
  if (columns % chunk || !columns)
    columnMask = kb.below(full, columnLinear, kb.index(columns));
  Value mask = rowMaskFull;
  if (columnMask)
    mask = kb.emitter.elements().logicalAnd(mask, columnMask);
  fullMask = mask;
  kb.emitter.setMask(mask);
  spineFull = kb.split(rowLinear, form.parallel);
  llvm::append_range(spineFull, kb.split(columnLinear, form.reduced));
}

/// Values that are uniform along the row are computed once a row.
Value RowSchedule::lookup(Value value, ValueRange index) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  auto placed = form.placements.find(op);
  if (placed == form.placements.end() || !placed->second.isUniform)
    return {};
  // One value a row only if there is one index for it, and that in range: not
  // behind a read that masks some of them.
  bool isPlain = placed->second.reads.size() == 1 &&
                 kb.emitter.getMask() == (inRowCarrier ? rowMask : fullMask);
  if (!isPlain && !isStage(op))
    return {};
  if (inRowCarrier) {
    auto it = uniform.find(value);
    return it == uniform.end() ? Value() : it->second;
  }
  Value inRow = uniformValue(value);
  Type element = cast<RankedTensorType>(inRow.getType()).getElementType();
  auto type =
      RankedTensorType::get(full.getShape(), element, full.getEncoding());
  return tile::BroadcastOp::create(kb.builder, kb.loc, type, inRow);
}

Value RowSchedule::uniformValue(Value value) {
  auto it = uniform.find(value);
  if (it != uniform.end())
    return it->second;
  Value mask = kb.emitter.getMask();
  kb.emitter.setCarrier(row);
  kb.emitter.setMask(rowMask);
  inRowCarrier = true;
  graph::ElementBuilder eb = kb.emitter.elements();
  AffineMap at =
      form.placements.find(value.getDefiningOp())->second.reads.front();
  Value result = kb.emitter.emit(value, eb.apply(at, spineRow));
  inRowCarrier = false;
  kb.emitter.setCarrier(full);
  kb.emitter.setMask(mask);
  return result;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

SmallVector<Value> RowSchedule::lift(const analysis::RegionStage &stage) {
  auto op = cast<graph::ReductionOpInterface>(stage.op);
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> loops = eb.apply(stage.loops, spineFull);
  unsigned parallel = stage.result.getNumResults();
  std::unique_ptr<graph::ElementReader> reader = kb.emitter.reader(stage.op);
  ValueRange all(loops);
  SmallVector<Value> states = op.buildLift(eb, all.take_front(parallel),
                                           all.drop_front(parallel), *reader);
  if (!columnMask)
    return states;
  SmallVector<Value> identity = op.buildIdentity(eb);
  for (auto [state, neutral] : llvm::zip(states, identity))
    state = eb.select(columnMask, state, neutral);
  return states;
}

SmallVector<Value> RowSchedule::reduceTiles(graph::ReductionOpInterface op,
                                            ValueRange states) {
  SmallVector<Type> types;
  for (Value state : states)
    types.push_back(RankedTensorType::get(
        row.getShape(),
        cast<RankedTensorType>(state.getType()).getElementType(),
        row.getEncoding()));
  auto reduce = tile::ReduceOp::create(kb.builder, kb.loc, types, states,
                                       ArrayRef<int64_t>{1});
  kb.emitter.buildCombine(op, reduce);
  return llvm::to_vector_of<Value>(reduce.getResults());
}

void RowSchedule::finish(const analysis::RegionStage &stage, ValueRange state) {
  auto op = cast<graph::ReductionOpInterface>(stage.op);
  kb.emitter.setCarrier(row);
  graph::ElementBuilder eb = kb.emitter.elements();
  for (OpResult result : stage.op->getResults())
    uniform[result] = op.buildFinish(eb, state, result.getResultNumber());
  kb.emitter.setCarrier(full);
}

scf::ForOp RowSchedule::columnLoop(ValueRange inits) {
  int64_t chunks = llvm::divideCeil(columns, chunk);
  auto loop =
      scf::ForOp::create(kb.builder, kb.loc, kb.index(0),
                         kb.index(chunks * chunk), kb.index(chunk), inits);
  Block *body = loop.getBody();
  if (!body->empty() && body->back().hasTrait<OpTrait::IsTerminator>())
    body->back().erase();
  kb.builder.setInsertionPointToEnd(body);
  enterColumns(loop.getInductionVar());
  return loop;
}

/// Computes what is one value a row and needs reductions below `level` only,
/// ahead of a loop over columns.
void RowSchedule::computeUniform(unsigned level) {
  for (Operation *op : form.ops) {
    auto placed = form.placements.find(op);
    if (placed == form.placements.end() || !placed->second.isUniform ||
        placed->second.reads.size() != 1 || placed->second.level > level ||
        isStage(op))
      continue;
    for (Value result : op->getResults())
      if (!uniform.contains(result))
        uniform[result] = uniformValue(result);
  }
}

void RowSchedule::reduceLevel(ArrayRef<const analysis::RegionStage *> stages) {
  if (!isLooped()) {
    for (const analysis::RegionStage *stage : stages) {
      auto op = cast<graph::ReductionOpInterface>(stage->op);
      finish(*stage, reduceTiles(op, lift(*stage)));
    }
    return;
  }
  OpBuilder::InsertionGuard guard(kb.builder);
  kb.emitter.setCarrier(full);
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> inits;
  for (const analysis::RegionStage *stage : stages)
    llvm::append_range(
        inits, cast<graph::ReductionOpInterface>(stage->op).buildIdentity(eb));
  computeUniform(stages.front()->level);
  scf::ForOp loop = columnLoop(inits);
  SmallVector<Value> yields;
  ValueRange carried = loop.getRegionIterArgs();
  for (const analysis::RegionStage *stage : stages) {
    auto op = cast<graph::ReductionOpInterface>(stage->op);
    SmallVector<Value> lifted = lift(*stage);
    graph::ElementBuilder inLoop = kb.emitter.elements();
    llvm::append_range(
        yields,
        op.buildCombine(inLoop, carried.take_front(lifted.size()), lifted));
    carried = carried.drop_front(lifted.size());
  }
  scf::YieldOp::create(kb.builder, kb.loc, yields);
  kb.builder.setInsertionPointAfter(loop);
  ValueRange results = loop.getResults();
  for (const analysis::RegionStage *stage : stages) {
    auto op = cast<graph::ReductionOpInterface>(stage->op);
    size_t count = op.getStateTypes().size();
    finish(*stage, reduceTiles(op, results.take_front(count)));
    results = results.drop_front(count);
  }
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

void RowSchedule::storeUniform() {
  for (auto [i, output] : llvm::enumerate(form.outputs)) {
    if (!output.isUniform)
      continue;
    Value value = uniformValue(output.value);
    kb.emitter.setCarrier(row);
    SmallVector<Value> index =
        kb.emitter.elements().apply(output.index, spineRow);
    kb.emitter.store(value, kb.outputBuffer(i),
                     cast<RankedTensorType>(output.value.getType()), index,
                     rowMask);
    kb.emitter.setCarrier(full);
  }
}

void RowSchedule::storeFull() {
  for (auto [i, output] : llvm::enumerate(form.outputs)) {
    if (output.isUniform)
      continue;
    SmallVector<Value> index =
        kb.emitter.elements().apply(output.index, spineFull);
    kb.emitter.store(kb.emitter.emit(output.value, index), kb.outputBuffer(i),
                     cast<RankedTensorType>(output.value.getType()), index,
                     kb.emitter.getMask());
  }
}

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

SmallVector<Type> RowSchedule::stateTypes() const {
  SmallVector<Type> types;
  for (const analysis::RegionStage &stage : form.stages)
    llvm::append_range(
        types, cast<graph::ReductionOpInterface>(stage.op).getStateTypes());
  return types;
}

/// Combines the states of all stages, elementwise.
SmallVector<Value> RowSchedule::combineStates(ValueRange states,
                                              ValueRange more) {
  SmallVector<Value> result;
  graph::ElementBuilder eb = kb.emitter.elements();
  for (const analysis::RegionStage &stage : form.stages) {
    auto op = cast<graph::ReductionOpInterface>(stage.op);
    size_t count = op.getStateTypes().size();
    llvm::append_range(result, op.buildCombine(eb, states.take_front(count),
                                               more.take_front(count)));
    states = states.drop_front(count);
    more = more.drop_front(count);
  }
  return result;
}

/// The states of this block's part of the columns, in the row carrier. What is
/// stored for each element is stored on the way.
SmallVector<Value> RowSchedule::reducePart() {
  kb.emitter.setCarrier(full);
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> inits;
  for (const analysis::RegionStage &stage : form.stages)
    llvm::append_range(
        inits, cast<graph::ReductionOpInterface>(stage.op).buildIdentity(eb));
  int64_t step = chunk * tiling.unroll;
  Value start = kb.mulIndex(kb.blockId(1), tiling.columnsPerSplit);
  Value end = arith::MinSIOp::create(
      kb.builder, kb.loc, kb.addIndex(start, kb.index(tiling.columnsPerSplit)),
      kb.index(llvm::divideCeil(columns, step) * step));
  auto loop =
      scf::ForOp::create(kb.builder, kb.loc, start, end, kb.index(step), inits);
  OpBuilder::InsertionGuard guard(kb.builder);
  Block *body = loop.getBody();
  if (!body->empty() && body->back().hasTrait<OpTrait::IsTerminator>())
    body->back().erase();
  kb.builder.setInsertionPointToEnd(body);
  // All loads of an iteration first, then the arithmetic, then the stores.
  struct Chunk {
    SmallVector<Value> lifted, spine;
    Value mask;
  };
  SmallVector<Chunk> chunks;
  for (int64_t i = 0; i < tiling.unroll; ++i) {
    enterColumns(kb.addIndex(loop.getInductionVar(), kb.index(i * chunk)));
    Chunk next;
    for (const analysis::RegionStage &stage : form.stages)
      llvm::append_range(next.lifted, lift(stage));
    next.spine = spineFull;
    next.mask = kb.emitter.getMask();
    chunks.push_back(std::move(next));
  }
  SmallVector<Value> states(loop.getRegionIterArgs());
  for (const Chunk &next : chunks)
    states = combineStates(states, next.lifted);
  for (const Chunk &next : chunks) {
    spineFull = next.spine;
    fullMask = next.mask;
    kb.emitter.setMask(next.mask);
    storeFull();
  }
  scf::YieldOp::create(kb.builder, kb.loc, states);
  kb.builder.setInsertionPointAfter(loop);
  SmallVector<Value> result;
  ValueRange carried = loop.getResults();
  for (const analysis::RegionStage &stage : form.stages) {
    auto op = cast<graph::ReductionOpInterface>(stage.op);
    size_t count = op.getStateTypes().size();
    llvm::append_range(result, reduceTiles(op, carried.take_front(count)));
    carried = carried.drop_front(count);
  }
  return result;
}

/// Where the states of `part` (an index tile in `carrier`) of this block's rows
/// are: all parts of a group of rows are neighbours.
Value RowSchedule::partOffsets(RankedTensorType carrier, Value part) {
  auto type = cast<RankedTensorType>(part.getType());
  Value first = kb.mulIndex(kb.blockId(0), tiling.splits * tiling.rows());
  Value base = kb.axisTile(carrier, 0, first);
  Value size =
      tile::SplatOp::create(kb.builder, kb.loc, type, kb.index(tiling.rows()));
  Value past = arith::MulIOp::create(kb.builder, kb.loc, part, size);
  return arith::AddIOp::create(kb.builder, kb.loc, base, past);
}

void RowSchedule::storePart(ValueRange states) {
  Value part = tile::SplatOp::create(kb.builder, kb.loc, row, kb.blockId(1));
  Value offsets = partOffsets(row, part);
  for (auto [i, state] : llvm::enumerate(states))
    tile::StoreOp::create(kb.builder, kb.loc, state, kb.scratch(i), offsets,
                          Value(), /*vector=*/1);
}

/// The states of all parts, the identity past the last.
SmallVector<Value> RowSchedule::loadParts(RankedTensorType carrier,
                                          int64_t parts) {
  kb.emitter.setCarrier(carrier);
  graph::ElementBuilder eb = kb.emitter.elements();
  Value part = kb.axisTile(carrier, 1, kb.index(0));
  Value mask;
  if (parts != tiling.splits)
    mask = kb.below(carrier, part, kb.index(tiling.splits));
  Value offsets = partOffsets(carrier, part);
  SmallVector<Value> identity;
  for (const analysis::RegionStage &stage : form.stages)
    llvm::append_range(
        identity,
        cast<graph::ReductionOpInterface>(stage.op).buildIdentity(eb));
  SmallVector<Value> result;
  for (auto [i, type] : llvm::enumerate(stateTypes()))
    result.push_back(tile::LoadOp::create(
        kb.builder, kb.loc, eb.type(type), kb.scratch(i), offsets, mask,
        mask ? identity[i] : Value(), /*vector=*/1));
  return result;
}

/// In the last block of a group of rows.
void RowSchedule::finishRows() {
  PartsLayout parts = partsLayoutOf(kb.builder.getContext(), tiling);
  RankedTensorType carrier =
      kb.carrierType({tiling.rows(), parts.parts}, parts.layout);
  setUpRows(carrier);
  SmallVector<Value> loaded = loadParts(carrier, parts.parts);
  ValueRange states = loaded;
  for (const analysis::RegionStage &stage : form.stages) {
    auto op = cast<graph::ReductionOpInterface>(stage.op);
    size_t count = op.getStateTypes().size();
    finish(stage, reduceTiles(op, states.take_front(count)));
    states = states.drop_front(count);
  }
  storeUniform();
}

LogicalResult RowSchedule::runSplit() {
  int64_t groups = llvm::divideCeil(rows, tiling.rows());
  SmallVector<KernelBuilder::Scratch> scratch;
  for (Type type : stateTypes())
    scratch.push_back({type, groups * tiling.splits * tiling.rows()});
  scratch.push_back({kb.builder.getI32Type(), groups});
  kb.begin(tiling.threads(), {groups, tiling.splits, 1}, {rows / rowUnit},
           scratch, /*kept=*/1);
  setUpRows(kb.carrierType({tiling.rows(), chunk}, layout));
  storePart(reducePart());
  Value isLast = tile::TicketOp::create(
      kb.builder, kb.loc, kb.builder.getI1Type(),
      kb.scratch(scratch.size() - 1), kb.blockId(0), tiling.splits);
  auto branch = scf::IfOp::create(kb.builder, kb.loc, isLast);
  OpBuilder::InsertionGuard guard(kb.builder);
  kb.builder.setInsertionPoint(branch.thenYield());
  finishRows();
  return success();
}

//===----------------------------------------------------------------------===//
// Whole rows
//===----------------------------------------------------------------------===//

LogicalResult RowSchedule::run() {
  return tiling.splits > 1 ? runSplit() : runWhole();
}

LogicalResult RowSchedule::runWhole() {
  kb.begin(tiling.threads(), {tiling.blocks(rows), 1, 1}, {rows / rowUnit});
  setUpRows(kb.carrierType({tiling.rows(), chunk}, layout));
  if (!isLooped())
    enterColumns(kb.index(0));
  unsigned levels = 0;
  for (const analysis::RegionStage &stage : form.stages)
    levels = std::max(levels, stage.level + 1);
  for (unsigned level = 0; level < levels; ++level) {
    SmallVector<const analysis::RegionStage *> stages;
    for (const analysis::RegionStage &stage : form.stages)
      if (stage.level == level)
        stages.push_back(&stage);
    reduceLevel(stages);
  }
  storeUniform();
  bool hasFull = llvm::any_of(
      form.outputs, [](const auto &output) { return !output.isUniform; });
  if (!hasFull)
    return success();
  if (!isLooped()) {
    storeFull();
    return success();
  }
  OpBuilder::InsertionGuard guard(kb.builder);
  computeUniform(levels);
  columnLoop({});
  storeFull();
  scf::YieldOp::create(kb.builder, kb.loc);
  return success();
}

FailureOr<tile::KernelOp>
graph_to_tile::scheduleRow(KernelBuilder &kb,
                           const analysis::AccessFacts &access) {
  analysis::RowTiling tiling = analysis::tileRows(
      kb.form, access, kb.options.target, kb.options.threads);
  if (failed(RowSchedule(kb, tiling).run()))
    return failure();
  return kb.kernel;
}
