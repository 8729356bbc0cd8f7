//===- March.cpp - windows along a marching row ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp holds a strip of columns and marches down the rows:
//
//   the rows before the first: kept values and sums, nothing is stored
//   for each group of rows:
//     for each row of the group:
//       a row of the arguments that later rows need -> registers
//       for each kept value in order: its newest row, from rows kept so far
//       the row of every output -> memory, or to the rows behind
//         (MarchBehind.cpp)
//
// The first part is made by the same code as the loop; what no later row needs
// of it is not computed. Of large windows it would be too long a text, and the
// loop starts with these rows instead.
//
// A value runs ahead of the output by as many rows as later windows look down.
// Where windows read padding, the newest row gets the padding's value once, so
// that reads need no masks. Neighbouring columns come by shuffles; columns at
// the ends of a strip, whose neighbours the warp does not hold, are margins:
// the next strip computes them again. Where lanes run along channels, a thread
// holds all columns of its strip and has its neighbours in its own registers.
//===----------------------------------------------------------------------===//
#include "MarchSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using tile::Digit;

std::pair<SmallVector<Value>, Value> MarchSchedule::pointOf(int64_t row) {
  graph::ElementBuilder eb = elements();
  SmallVector<Value> point(spine);
  point[march.row] = eb.addIndex(baseRow, row);
  point[march.column] = columns;
  Value isRow = eb.make<arith::CmpIOp>(arith::CmpIPredicate::slt,
                                       point[march.row], stripEnd);
  return {point, isRow};
}

void MarchSchedule::storeOutputs(int64_t row) {
  graph::ElementBuilder eb = elements();
  auto [point, isRow] = pointOf(row);
  if (!march.isApart)
    isRow = eb.logicalAnd(isRow,
                          eb.make<arith::CmpIOp>(arith::CmpIPredicate::sge,
                                                 point[march.row], stripRow));
  Value mask = eb.logicalAnd(isRow, isStored);
  kb.emitter.setMask(mask);
  for (auto [i, output] : llvm::enumerate(form.outputs)) {
    SmallVector<Value> index = eb.apply(output.index, point);
    kb.emitter.store(kb.emitter.emit(output.value, index), kb.outputBuffer(i),
                     cast<RankedTensorType>(output.value.getType()), index,
                     mask);
  }
  kb.emitter.setMask({});
}

void MarchSchedule::allocateHanded() {
  int64_t elements =
      march.handedRows * march.usefulColumns() * march.handedPitch;
  for (Value value : form.handed) {
    auto type = cast<RankedTensorType>(value.getType());
    auto memory = MemRefType::get(
        {elements}, graph::ElementBuilder::computeType(type.getElementType()),
        MemRefLayoutAttrInterface(),
        kb.builder.getI64IntegerAttr(tile::kSharedSpace));
    handed.push_back(
        {value, tile::AllocOp::create(kb.builder, kb.loc, memory)});
  }
}

/// Builds where `condition` holds from now on; null: everywhere.
void MarchSchedule::enterIf(Value condition) {
  if (!condition)
    return;
  auto branch = scf::IfOp::create(kb.builder, kb.loc, condition);
  kb.builder.setInsertionPoint(branch.thenYield());
}

/// Whether the pass makes rows of the strip, and none before them.
Value MarchSchedule::isNoWarmUp() {
  return arith::CmpIOp::create(kb.builder, kb.loc, arith::CmpIPredicate::sge,
                               passRow, kb.index(0));
}

/// The place of row `row` of the pass among the rows that are handed on at a
/// time.
Value MarchSchedule::handedRow(int64_t row) {
  Value at = kb.addIndex(passRow, kb.index(row));
  Value place = arith::RemUIOp::create(kb.builder, kb.loc, at,
                                       kb.index(march.handedRows));
  kb.emitter.setBounds(place, {0, march.handedRows - 1});
  return place;
}

/// Row `row` of what is handed on -> shared memory.
void MarchSchedule::handOn(int64_t row) {
  graph::ElementBuilder eb = elements();
  auto [point, isRow] = pointOf(row);
  Value at = eb.addIndex(
      splat(kb.mulIndex(handedRow(row), march.usefulColumns())), place);
  at = eb.addIndex(eb.mulIndex(at, march.handedPitch), spine[*march.lane]);
  for (const HandedValue &next : handed) {
    kb.emitter.setMask(eb.logicalAnd(isRow, isStored));
    Value value = kb.emitter.emit(next.value, point);
    kb.emitter.setMask({});
    tile::StoreOp::create(kb.builder, kb.loc, value, next.buffer, at, isHanded,
                          /*vector=*/1);
  }
}

/// What follows the `handedRows` rows up to the end of this iteration.
void MarchSchedule::emitRowsBehind() {
  if (march.handedRows > march.unroll)
    enterIf(arith::CmpIOp::create(kb.builder, kb.loc, arith::CmpIPredicate::eq,
                                  handedRow(march.unroll - 1),
                                  kb.index(march.handedRows - 1)));

  MarchedRows marched{march.handedRows,
                      march.usefulColumns(),
                      march.handedPitch,
                      march.row,
                      march.column,
                      {},
                      {},
                      handed};
  int64_t rows = form.parallel[march.row];
  marched.start.assign(strip.begin(), strip.end() - 1);
  Value stripStart = kb.mulIndex(strip[march.row], march.height);
  marched.start[march.row] =
      kb.addIndex(kb.addIndex(stripStart, passRow),
                  kb.index(march.unroll - march.handedRows));
  marched.start[march.column] =
      kb.mulIndex(strip[march.column], march.usefulColumns());
  kb.emitter.setBounds(marched.start[march.row], {0, rows + march.height});
  kb.emitter.setBounds(
      marched.start[march.column],
      {0, form.parallel[march.column] + march.usefulColumns()});
  marched.endRow = arith::MinSIOp::create(
      kb.builder, kb.loc, kb.addIndex(stripStart, kb.index(march.height)),
      kb.index(rows));
  emitBehind(kb, form.behind.front(), march.warps, marched);
  kb.emitter.setCarrier(carrier);
}

SmallVector<int64_t>
MarchSchedule::countsFor(SmallVector<int64_t> sizes) const {
  sizes[march.row] = llvm::divideCeil(sizes[march.row], march.height);
  sizes[march.column] =
      llvm::divideCeil(sizes[march.column], march.usefulColumns());
  if (march.lane)
    sizes[*march.lane] =
        llvm::divideCeil(sizes[*march.lane], 32 * warpsAlongLanes());
  return sizes;
}

/// Strips by columns, by lanes along the channels if those are last.
RankedTensorType MarchSchedule::carrierOf() {
  MLIRContext *context = kb.builder.getContext();
  Digit columns{march.vector, 1, 1}, warps{march.warps, 1, 0};
  if (march.handedRows)
    return kb.carrierType({1, march.columns(), 32 * march.warps},
                          tile::LayoutAttr::get(context, {columns},
                                                {Digit{32, 1, 2}},
                                                {Digit{march.warps, 32, 2}}));
  if (march.lane)
    return kb.carrierType(
        {march.warps, march.columns(), 32},
        tile::LayoutAttr::get(context, {columns}, {Digit{32, 1, 2}}, {warps}));
  return kb.carrierType({march.warps, march.columns()},
                        tile::LayoutAttr::get(context, {columns},
                                              {Digit{32, march.vector, 1}},
                                              {warps}));
}

/// The column, counted from the strip's first, by which a thread's columns are
/// tested: the first of each lane, or each of its own.
Value MarchSchedule::laneColumnOf() {
  graph::ElementBuilder eb = elements();
  Value iota = tile::IotaOp::create(
      kb.builder, kb.loc, eb.type(kb.builder.getIndexType()), /*axis=*/1);
  if (march.lane)
    return iota;
  Value lane = eb.make<arith::DivUIOp>(iota, eb.index(march.vector));
  return eb.mulIndex(lane, march.vector);
}

/// Whether the columns exist in a value of `width` columns. A lane's columns
/// all do or all do not where the width allows it: one test for all of them.
/// Where strips are whole only their margins may lie outside.
Value MarchSchedule::isColumnOf(int64_t width) {
  graph::ElementBuilder eb = elements();
  bool isEach = march.lane || width % march.vector;
  Value inside = eb.inRange(isEach ? columns : laneColumn, width);
  bool isWhole = width == form.parallel[march.column] &&
                 width % march.usefulColumns() == 0;
  return march.lane && isWhole ? eb.logicalOr(isUseful, inside) : inside;
}

/// Begins the kernel; the strip along each spine dim, and whether it exists
/// (null: always).
SmallVector<Value> MarchSchedule::findStrip(ArrayRef<int64_t> counts,
                                            Value &exists) {
  int64_t strips = KernelBuilder::product(counts);
  int64_t counted = KernelBuilder::product(countsFor(kb.counted.parallel));
  carrier = carrierOf();
  if (march.handedRows) {
    // A strip a block.
    kb.begin(32 * march.warps, {counted, 1, 1}, {});
    kb.emitter.setCarrier(carrier);
    strip = graph::ElementBuilder(kb.builder, kb.loc)
                .delinearize(kb.blockId(0), counts);
    return llvm::map_to_vector(strip, [&](Value at) { return splat(at); });
  }
  kb.begin(32 * march.warps,
           {int64_t(llvm::divideCeil(counted, march.warps)), 1, 1}, {counted});
  kb.emitter.setCarrier(carrier);
  graph::ElementBuilder eb = elements();
  Value at = kb.axisTile(carrier, 0, kb.mulIndex(kb.blockId(0), march.warps));
  exists = kb.below(carrier, at, kb.extent(0));
  // Warps without a strip do the last one once more and store nothing.
  at = eb.make<arith::MinUIOp>(at,
                               splat(kb.addIndex(kb.extent(0), kb.index(-1))));
  kb.emitter.setBounds(at, {0, strips - 1});
  return eb.delinearize(at, counts);
}

/// Work out which strip this warp has, and its index tiles.
void MarchSchedule::setFrame() {
  SmallVector<int64_t> counts = countsFor(form.parallel);
  Value exists;
  spine = findStrip(counts, exists);
  graph::ElementBuilder eb = elements();
  auto setStripBounds = [&](ValueRange strips) {
    for (auto [at, count] : llvm::zip(strips, counts))
      kb.emitter.setBounds(at, {0, count - 1});
  };
  setStripBounds(spine);
  setStripBounds(strip);
  int64_t rows = form.parallel[march.row], width = form.parallel[march.column];
  stripRow = eb.mulIndex(spine[march.row], march.height);
  stripEnd = eb.make<arith::MinSIOp>(eb.addIndex(stripRow, march.height),
                                     eb.index(rows));
  Value start =
      eb.addIndex(eb.mulIndex(spine[march.column], march.usefulColumns()),
                  -march.leftMargin);
  Value own = laneColumnOf();
  columns = eb.addIndex(start, kb.axisTile(carrier, 1, kb.index(0)));
  laneColumn = eb.addIndex(start, own);
  for (Value at : {columns, laneColumn})
    kb.emitter.setBounds(
        at, {-march.leftMargin, width + march.columns() + march.leftMargin});
  // Constants for each register of a thread that holds its strip's columns, so
  // that what only margins need is not computed.
  isUseful =
      eb.inRange(eb.addIndex(own, -march.leftMargin), march.usefulColumns());
  auto both = [&](Value a, Value b) { return a ? eb.logicalAnd(a, b) : b; };
  if (march.lane)
    exists = both(exists, setLanes());
  isStored = eb.logicalAnd(both(exists, isColumnOf(width)), isUseful);
  if (!march.handedRows)
    return;
  place = eb.addIndex(own, -march.leftMargin);
  isHanded = eb.logicalAnd(exists, isUseful);
  allocateHanded();
}

/// Gives the spine its index along the lanes; whether it exists. Lanes beyond
/// the axis do its last index once more, so that all they read exists.
Value MarchSchedule::setLanes() {
  graph::ElementBuilder eb = elements();
  int64_t size = form.parallel[*march.lane];
  Value &at = spine[*march.lane];
  Value lane =
      eb.addIndex(eb.mulIndex(at, 32), kb.axisTile(carrier, 2, kb.index(0)));
  kb.emitter.setBounds(lane,
                       {0, int64_t(llvm::alignTo(uint64_t(size), 32)) - 1});
  if (size % 32 == 0) {
    at = lane;
    return eb.inRange(lane, size);
  }
  at = eb.make<arith::MinUIOp>(lane, eb.index(size - 1));
  kb.emitter.setBounds(at, {0, size - 1});
  return eb.inRange(lane, size);
}

/// A value of an iteration that the one before, or the rows before the first,
/// know as `at`. Nobody needs what lies before those.
Value MarchSchedule::carry(Type type, RowsDown at) {
  if (isFirst)
    return elements().zero(getElementTypeOrSelf(type));
  Value now = body->addArgument(type, kb.loc);
  carried.push_back({now, std::move(at)});
  return now;
}

/// The rows that are there when a pass starts.
void MarchSchedule::carryRows(Ring &ring) {
  for (int64_t row = ring.value->firstRow; row < ring.value->lastRow; ++row)
    ring.rows[row] = carry(typeOf(ring), [row, &ring](int64_t by) {
      return ring.rows.at(row + by);
    });
}

/// The rows of an argument that are loaded when a pass starts. They are widened
/// at the end of an iteration, so that the loads have all of it to arrive.
void MarchSchedule::startLoads(Ring &ring) {
  for (int64_t row = 0; row < march.ahead; ++row)
    ring.loaded[row] =
        isFirst ? loadRow(ring, elements().addIndex(baseRow,
                                                    row + ring.value->lastRow))
                : carry(typeOf(ring), [=, this, &ring](int64_t by) {
                    return loadedRow(ring, row + by);
                  });
}

/// Makes `count` rows from `from` on, and stores those of the loop.
void MarchSchedule::makeRows(Value from, int64_t count) {
  graph::ElementBuilder eb = elements();
  passRow = from;
  baseRow = eb.addIndex(stripRow, splat(from));
  kb.emitter.setBounds(
      baseRow, {-march.warmUp - march.unroll,
                form.parallel[march.row] + march.height + march.unroll});
  for (Ring &ring : rings) {
    carryRows(ring);
    if (ring.isArgument)
      startLoads(ring);
  }
  for (int64_t row = 0; row < count; ++row) {
    for (Ring &ring : rings)
      if (ring.isArgument) {
        int64_t next = row + march.ahead;
        ring.loaded[next] =
            loadRow(ring, eb.addIndex(baseRow, next + ring.value->lastRow));
      }
    for (Ring &ring : rings)
      makeRow(ring, row);
    if (isFirst)
      continue;
    if (!march.handedRows) {
      storeOutputs(row);
      continue;
    }
    OpBuilder::InsertionGuard guard(kb.builder);
    enterIf(march.isApart ? Value() : isNoWarmUp());
    handOn(row);
    if (row + 1 == count)
      emitRowsBehind();
  }
}

void MarchSchedule::swapPass(Pass &other) {
  other.rings.resize(rings.size());
  for (auto [ring, rows] : llvm::zip(rings, other.rings))
    std::swap(static_cast<RingRows &>(ring), rows);
  std::swap(sums, other.sums);
  std::swap(baseRow, other.baseRow);
  std::swap(isFirst, other.isFirst);
}

/// The values of `carried` that something reads, in this iteration or through
/// the next one.
SmallVector<MarchSchedule::Carried *>
MarchSchedule::keptValues(ArrayRef<Value> next) {
  llvm::SmallPtrSet<void *, 16> needed;
  bool hasChanged = true;
  auto isNeeded = [&](const Carried &value) {
    return !value.now.use_empty() ||
           needed.contains(value.now.getAsOpaquePointer());
  };
  while (std::exchange(hasChanged, false))
    for (auto [value, after] : llvm::zip(carried, next))
      if (isNeeded(value))
        hasChanged |= needed.insert(after.getAsOpaquePointer()).second;
  SmallVector<Carried *> kept;
  for (Carried &value : carried)
    if (isNeeded(value))
      kept.push_back(&value);
  return kept;
}

void MarchSchedule::emitLoop() {
  isFirst = true;
  // Rows of the strip start with an iteration.
  int64_t before =
      march.isApart
          ? march.warmUp
          : int64_t(llvm::alignTo(uint64_t(march.warmUp), march.unroll));
  int64_t apart = march.isApart ? before : 0;
  makeRows(kb.index(-before), apart);
  Pass first;
  swapPass(first);
  // What is carried becomes known while the body is made: it is made in a loop
  // that carries nothing, and moved.
  int64_t trips = llvm::divideCeil(march.height + before - apart, march.unroll);
  Value lower = kb.index(0), upper = kb.index(trips), step = kb.index(1);
  auto draft = scf::ForOp::create(kb.builder, kb.loc, lower, upper, step);
  body = draft.getBody();
  SmallVector<Value> next;
  {
    OpBuilder::InsertionGuard guard(kb.builder);
    kb.builder.setInsertionPointToStart(body);
    Value from = kb.mulIndex(draft.getInductionVar(), march.unroll);
    makeRows(kb.addIndex(from, kb.index(apart - before)), march.unroll);
    for (size_t i = 0; i < carried.size(); ++i) // grows
      next.push_back(carried[i].at(march.unroll));
  }
  SmallVector<Carried *> kept = keptValues(next);
  SmallVector<Value> inits, yields;
  swapPass(first);
  {
    OpBuilder::InsertionGuard guard(kb.builder);
    kb.builder.setInsertionPoint(draft);
    for (Carried *value : kept)
      inits.push_back(value->at(apart));
  }
  auto loop = scf::ForOp::create(kb.builder, kb.loc, lower, upper, step, inits);
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  draft.getInductionVar().replaceAllUsesWith(loop.getInductionVar());
  for (auto [value, after] : llvm::zip(carried, next))
    if (llvm::is_contained(kept, &value))
      yields.push_back(after);
  for (auto [value, arg] : llvm::zip(kept, loop.getRegionIterArgs())) {
    llvm::replace(yields, value->now, Value(arg));
    value->now.replaceAllUsesWith(arg);
  }
  body->back().erase(); // its yield
  loop.getBody()->getOperations().splice(loop.getBody()->end(),
                                         body->getOperations());
  OpBuilder end = OpBuilder::atBlockEnd(loop.getBody());
  scf::YieldOp::create(end, kb.loc, yields);
  draft.erase();
}

void MarchSchedule::run() {
  for (const analysis::MarchedValue &value : march.values) {
    Ring ring;
    ring.value = &value;
    ring.isArgument = isa<BlockArgument>(value.value);
    ring.padding = paddingOf(value.value, form, kb.builder);
    rings.push_back(std::move(ring));
  }
  setFrame();
  kb.emitter.staged = [this](Value value, ValueRange index) {
    return lookup(value, index);
  };
  kb.emitter.stagedMasked = [this](Value value, ValueRange index, Value mask,
                                   Value other) {
    return lookupMasked(value, index, mask, other);
  };
  emitLoop();
}

FailureOr<tile::KernelOp>
graph_to_tile::scheduleMarch(KernelBuilder &kb,
                             const analysis::MarchForm &march) {
  MarchSchedule(kb, march).run();
  return kb.kernel;
}
