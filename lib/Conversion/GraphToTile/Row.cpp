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
//  * one pass (RowOnePass.cpp): looped, with all reductions in one pass; a
//    maximum m and the sum of exp(x - m) are one state.
//  * kept (RowCluster.cpp): looped or one pass, by a block or a cluster that
//    keeps what it read in shared memory.
//  * split (RowOnePass.cpp): few rows. Several blocks take a part of the
//  columns
//    each in one pass and store the states; the last block to finish combines
//    them in order and stores what is one value a row.
//  * skewed (RowSkew.cpp): split, across rows of which there is an odd number.
//  * of odd length (RowEdges.cpp): any of these but the first, with what lies
//    between vectors of memory apart.
//  * a run (RowRun.cpp): persistent, short rows of odd length, which go through
//    shared memory together.
//  * meeting (RowMeeting.cpp): as split, but all blocks wait for each other,
//    and then store what is needed for each element.
//  * with sorted lists as states (RowSelect.cpp): in each of these forms.
//  * turned (RowTurn.cpp): persistent, with outputs that are contiguous across
//    rows.
//  * with column sums (RowColumns.cpp): blocks that stay take rows in turn.
//===----------------------------------------------------------------------===//
#include "RowSchedule.h"
#include "ScheduleOffer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

Value RowSchedule::firstRow() {
  return kb.mulIndex(kb.blockId(0), tiling.ownRows());
}

Value RowSchedule::rowsInside(RankedTensorType carrier, Value linear) {
  return kb.below(carrier, linear, rowBound());
}

SmallVector<Value> RowSchedule::parallelAt(Value linear) {
  return kb.split(linear, form.parallel);
}

SmallVector<Value> RowSchedule::reducedAt(Value, Value linear) {
  return kb.split(linear, form.reduced);
}

void RowSchedule::setUpRows(RankedTensorType carrier) {
  full = carrier;
  rowStart = firstRow();
  setRowCarrier(kb.carrierType({tiling.rows(), 1},
                               tile::getLayout(carrier).reduced({1})));
}

void RowSchedule::setRowCarrier(RankedTensorType carrier) {
  row = carrier;
  uniform.clear();
  kb.emitter.setCarrier(row);
  Value linear = kb.axisTile(row, 0, rowStart);
  boundRows(linear);
  rowMask = rowsInside(row, linear);
  spineRow = parallelAt(linear);
  graph::ElementBuilder eb = kb.emitter.elements();
  for (size_t i = 0; i < form.reduced.size(); ++i)
    spineRow.push_back(eb.index(0)); // uniform values do not look at it
  kb.emitter.staged = [this](Value value, ValueRange index) {
    return lookup(value, index);
  };
}

/// Where blocks hold whole groups of rows.
bool RowSchedule::hasWholeGroups() const {
  // A fact about the outermost size makes the program one for that size: only
  // where there are many rows.
  constexpr int64_t kManyRows = 4096;
  ArrayRef<int64_t> planned = kb.pattern.parallel;
  int64_t group = tiling.rows(), here = KernelBuilder::product(form.parallel);
  bool isWhole =
      KernelBuilder::product(planned.drop_front(!planned.empty())) % group ==
          0 ||
      KernelBuilder::product(planned) >= kManyRows;
  return isWhole && here && here % group == 0 && rows % group == 0;
}

/// Then loads need no mask, and what is one value a row is one load.
void RowSchedule::boundRows(Value linear) {
  if (hasWholeGroups())
    kb.emitter.setBounds(linear,
                         {0, KernelBuilder::product(form.parallel) - 1});
}

void RowSchedule::enterColumns(Value start) {
  kb.emitter.setCarrier(full);
  Value rowLinear = kb.axisTile(full, 0, rowStart);
  Value place = kb.axisTile(full, 1, start);
  boundRows(rowLinear);
  bool isInside = isWhole || coversColumns();
  auto [columnLinear, mask] = columnsAt(rowLinear, place);
  if (isInside)
    kb.emitter.setBounds(columnLinear, {0, columns - 1});
  columnMask = isInside ? Value() : mask;
  enterSpine(rowLinear, columnLinear);
}

void RowSchedule::enterSpine(Value rowLinear, Value columnLinear) {
  columnFull = columnLinear;
  rowMaskFull = rowsInside(full, rowLinear);
  fullMask = rowMaskFull;
  if (columnMask)
    fullMask = fullMask ? kb.emitter.elements().logicalAnd(fullMask, columnMask)
                        : columnMask;
  kb.emitter.setMask(fullMask);
  spineFull = parallelAt(rowLinear);
  llvm::append_range(spineFull, reducedAt(rowLinear, columnLinear));
}

bool RowSchedule::enterChunk(const Columns &part, Value start, int64_t i) {
  if (part.left && part.left <= i * chunk)
    return false;
  llvm::SaveAndRestore whole(isWhole,
                             part.isWhole || part.sure >= (i + 1) * chunk);
  if (part.isBackwards)
    start = arith::SubIOp::create(
        kb.builder, kb.loc,
        kb.addIndex(part.start, kb.addIndex(part.end, kb.index(-step))), start);
  if (part.base)
    start = kb.addIndex(part.base, start);
  enterColumns(kb.addIndex(start, kb.index(i * chunk)));
  return true;
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
  if (narrowState)
    states.front() = narrowed(states.front());
  if (!columnMask)
    return states;
  SmallVector<Value> identity = op.buildIdentity(eb);
  if (narrowState)
    identity.front() = narrowed(identity.front());
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

scf::ForOp RowSchedule::columnLoop(Value start, Value end, ValueRange inits,
                                   int64_t turns) {
  auto loop = scf::ForOp::create(kb.builder, kb.loc, start, end,
                                 kb.index(step * turns), inits);
  kb.enterBody(loop);
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

SmallVector<Value>
RowSchedule::statesOfRows(const analysis::RegionStage &stage) {
  auto op = cast<graph::ReductionOpInterface>(stage.op);
  SmallVector<Value> lifted = liftTile(stage);
  return op.getSelected() ? addTile(op, startOf(op), lifted) : lifted;
}

void RowSchedule::reduceLevel(ArrayRef<const analysis::RegionStage *> stages) {
  if (!isLooped()) {
    for (const analysis::RegionStage *stage : stages)
      finish(*stage, reduceTiles(cast<graph::ReductionOpInterface>(stage->op),
                                 statesOfRows(*stage)));
    return;
  }
  OpBuilder::InsertionGuard guard(kb.builder);
  kb.emitter.setCarrier(full);
  SmallVector<Value> inits;
  for (const analysis::RegionStage *stage : stages)
    llvm::append_range(inits,
                       startOf(cast<graph::ReductionOpInterface>(stage->op)));
  computeUniform(stages.front()->level);
  scf::ForOp loop = columnLoop(kb.index(0), paddedColumns(), inits);
  enterColumns(loop.getInductionVar());
  SmallVector<Value> yields;
  ValueRange carried = loop.getRegionIterArgs();
  for (const analysis::RegionStage *stage : stages) {
    auto op = cast<graph::ReductionOpInterface>(stage->op);
    size_t count = op.getStateTypes().size();
    llvm::append_range(
        yields, addTile(op, carried.take_front(count), liftTile(*stage)));
    carried = carried.drop_front(count);
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
    // Of rows without elements there is nothing to store, whatever does not
    // depend on the element.
    auto type = cast<RankedTensorType>(output.value.getType());
    bool isEmpty =
        type.getNumElements() == 0 && KernelBuilder::product(form.parallel) > 0;
    if (!output.isUniform || isEmpty)
      continue;
    auto gather = output.isGathered
                      ? output.value.getDefiningOp<graph::ConcatOp>()
                      : graph::ConcatOp();
    SmallVector<Value> values =
        gather ? llvm::to_vector_of<Value>(gather.getInputs())
               : SmallVector<Value>{output.value};
    for (Value &value : values)
      value = uniformValue(value);
    kb.emitter.setCarrier(row);
    graph::ElementBuilder eb = kb.emitter.elements();
    SmallVector<Value> index = eb.apply(output.index, spineRow);
    for (auto [k, value] : llvm::enumerate(values)) {
      if (gather)
        index[gather.getAxis()] = eb.index(k);
      kb.emitter.store(value, kb.outputBuffer(i), type, index, rowMask);
    }
    kb.emitter.setCarrier(full);
  }
}

SmallVector<Value> RowSchedule::fullValues(OutputFilter which) {
  SmallVector<Value> values;
  for (const analysis::RegionOutput &output : form.outputs)
    if (which(output))
      values.push_back(kb.emitter.emit(
          output.value, kb.emitter.elements().apply(output.index, spineFull)));
  return values;
}

void RowSchedule::storeFull(ValueRange values, OutputFilter which) {
  for (auto [i, output] : llvm::enumerate(form.outputs)) {
    if (!which(output))
      continue;
    SmallVector<Value> index =
        kb.emitter.elements().apply(output.index, spineFull);
    kb.emitter.store(values.front(), kb.outputBuffer(i),
                     cast<RankedTensorType>(output.value.getType()), index,
                     kb.emitter.getMask());
    values = values.drop_front();
  }
}

/// Stores the outputs of each element that need reductions below `level` only.
void RowSchedule::storeOfLevel(unsigned level) {
  auto which = [&](const analysis::RegionOutput &output) {
    auto placed = form.placements.find(output.value.getDefiningOp());
    return isFull(output) &&
           level ==
               (placed == form.placements.end() ? 0u : placed->second.level);
  };
  storeFull(fullValues(which), which);
}

/// The outputs of each element in a pass of their own over the columns.
void RowSchedule::storeLooped(ArrayRef<Columns> parts) {
  unsigned last = 0;
  for (const analysis::RegionStage &stage : form.stages)
    last = std::max(last, stage.level + 1);
  computeUniform(last);
  EdgeValues edges;
  if (tiling.edges)
    edges = edgeValues();
  for (const Columns &part : parts)
    storeColumns(part);
  if (tiling.edges)
    storeEdges(edges);
}

void RowSchedule::storeColumns(const Columns &part) {
  OpBuilder::InsertionGuard guard(kb.builder);
  scf::ForOp loop = columnLoop(part.start, part.end, {});
  struct Chunk {
    SmallVector<Value> values, spine;
    Value mask;
  };
  SmallVector<Chunk> chunks;
  for (int64_t i = 0; i < tiling.unroll; ++i) {
    if (!enterChunk(part, loop.getInductionVar(), i))
      break;
    chunks.push_back({fullValues(), spineFull, kb.emitter.getMask()});
  }
  for (const Chunk &next : chunks) {
    spineFull = next.spine;
    kb.emitter.setMask(next.mask);
    storeFull(next.values);
  }
  scf::YieldOp::create(kb.builder, kb.loc);
}

LogicalResult RowSchedule::runWhole() {
  kb.begin(tiling.threads(), {tiling.blocks(rows), 1, 1}, {rows / rowUnit});
  setUpRows(kb.carrierType({tiling.rows(), chunk}, layout));
  if (!isLooped())
    enterColumns(kb.index(0));
  // Other regions of a launch may wait for what this one stores.
  bool storesEarly = kb.options.threads && !isLooped();
  reduceLevels(storesEarly);
  storeUniform();
  if (!hasFull())
    return success();
  if (isLooped())
    storeLooped({{kb.index(0), paddedColumns(), false}});
  else if (storesEarly)
    storeOfLevel(levels());
  else
    storeFull(fullValues());
  return success();
}

unsigned RowSchedule::levels() const {
  unsigned result = 0;
  for (const analysis::RegionStage &stage : form.stages)
    result = std::max(result, stage.level + 1);
  return result;
}

/// All reductions, level by level, and ahead of each what needs those below it
/// if `storesEarly`.
void RowSchedule::reduceLevels(bool storesEarly) {
  for (unsigned level = 0; level < levels(); ++level) {
    if (storesEarly)
      storeOfLevel(level);
    SmallVector<const analysis::RegionStage *> stages;
    for (const analysis::RegionStage &stage : form.stages)
      if (stage.level == level)
        stages.push_back(&stage);
    reduceLevel(stages);
  }
}

/// Quotients by a sum of exp(x - max(x)), which is at least exp(0).
void RowSchedule::markQuotients() {
  for (const analysis::RescaledSum &pair : analysis::rescaledSums(form)) {
    Value sum = form.stages[pair.sum].op->getResult(0);
    for (Operation *op : form.ops)
      if (auto quotient = dyn_cast<graph::DivOp>(op))
        if (analysis::withoutMovement(quotient.getRhs()) == sum)
          kb.emitter.byOneAtLeast.insert(op);
  }
}

LogicalResult RowSchedule::run() {
  markQuotients();
  if (tiling.splits > 1)
    return runSplit();
  if (tiling.keptBytes || (tiling.edges && !tiling.onePass))
    return runKept();
  return tiling.onePass ? runOnePass() : runWhole();
}

/// The digits that the chooser takes.
static analysis::RowTiling chooseTiling(const KernelBuilder &kb,
                                        const analysis::AccessFacts &access) {
  analysis::TilingOptions options;
  options.threads = kb.options.threads;
  options.rescale = kb.options.numerics == NumericsMode::Default;
  if (!kb.options.chooser)
    return analysis::tileRows(kb.pattern, access, kb.options.target, options);
  std::vector<analysis::RowTiling> candidates =
      analysis::rowCandidates(kb.pattern, access, kb.options.target, options);
  ScheduleOffer offer{"rows " + sizesText(kb.pattern.parallel) + " of " +
                          sizesText(kb.pattern.reduced),
                      {}};
  for (const analysis::RowTiling &tiling : candidates) {
    std::string name = analysis::nameOf(tiling);
    offer.ways.push_back({name, name});
  }
  return candidates[choose(kb, offer)];
}

FailureOr<tile::KernelOp>
graph_to_tile::scheduleRow(KernelBuilder &kb,
                           const analysis::AccessFacts &access) {
  if (!kb.form.columns.empty())
    return scheduleColumns(kb);
  analysis::RowTiling tiling = chooseTiling(kb, access);
  if (tiling.meeting) {
    if (failed(scheduleMeeting(kb, tiling)))
      return failure();
    return kb.kernel;
  }
  if (failed(checkTiling(kb, tiling)))
    return failure();
  if (tiling.turn) {
    scheduleTurn(kb, tiling);
    return kb.kernel;
  }
  if (tiling.isRun) {
    scheduleRun(kb, tiling);
    return kb.kernel;
  }
  if (tiling.skew) {
    if (failed(scheduleSkew(kb, tiling)))
      return failure();
    return kb.kernel;
  }
  if (failed(RowSchedule(kb, tiling).run()))
    return failure();
  return kb.kernel;
}
