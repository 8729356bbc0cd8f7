//===- RowOnePass.cpp - rows that are walked once -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one-pass and split forms of the row schedule. A rescaled sum has the
// state (m, s): s is the sum of exp(x - m) of the elements so far, or of exp(x)
// while m is -inf. An element or another state with a larger maximum multiplies
// it by exp(old - new). A sum beside the squares of distances to its mean has
// the state (sum, count, mean, squares), which grows element by element and
// joins as Chan, Golub and LeVeque describe.
//===----------------------------------------------------------------------===//
#include "LoadAhead.h"
#include "RowSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/SaveAndRestore.h"

#include <limits>

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

SmallVector<RowSchedule::Unit> RowSchedule::units() const {
  auto pairs = analysis::rescaledSums(form);
  auto centred = analysis::centredSums(form);
  SmallVector<Unit> result;
  for (auto [i, stage] : llvm::enumerate(form.stages)) {
    auto isSum = [&, i = i](const auto &pair) { return pair.sum == i; };
    if (llvm::any_of(pairs, isSum) ||
        llvm::any_of(centred, [&, i = i](const auto &pair) {
          return pair.squares == i;
        }))
      continue;
    Unit unit{&stage, nullptr};
    const auto *mean = llvm::find_if(centred, isSum);
    if (mean != centred.end())
      unit.squares = &form.stages[mean->squares];
    const auto *pair = llvm::find_if(
        pairs, [&, i = i](const auto &pair) { return pair.max == i; });
    if (pair != pairs.end())
      unit.sum = &form.stages[pair->sum];
    result.push_back(unit);
    // Further sums relative to this maximum have pairs of their own.
    for (const auto &other : pairs)
      if (other.max == i && pair != pairs.end() && other.sum != pair->sum)
        result.push_back({&stage, &form.stages[other.sum]});
  }
  return result;
}

SmallVector<Type> RowSchedule::typesOf(const Unit &unit) {
  SmallVector<Type> types = unit.op().getStateTypes();
  types.append(unit.sum ? 1 : unit.squares ? 3 : 0, types.front());
  return types;
}

SmallVector<Value> RowSchedule::identityOf(const Unit &unit) {
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> result = unit.op().buildIdentity(eb);
  result.resize(typesOf(unit).size(),
                eb.zero(unit.op().getStateTypes().front()));
  return result;
}

SmallVector<Value> RowSchedule::identities(ArrayRef<Unit> units) {
  SmallVector<Value> result;
  for (const Unit &unit : units)
    llvm::append_range(result, identityOf(unit));
  return result;
}

/// States in the full carrier that nothing was added to yet.
SmallVector<Value> RowSchedule::startOf(ArrayRef<Unit> units) {
  SmallVector<Value> result;
  for (const Unit &unit : units)
    llvm::append_range(result,
                       unit.isPair() ? identityOf(unit) : startOf(unit.op()));
  return result;
}

Value RowSchedule::shiftOf(graph::ElementBuilder &eb, Type type, Value max) {
  Value least = eb.real(type, -kInfinity);
  Value none = eb.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, max, least);
  return eb.select(none, eb.zero(type), max);
}

/// exp(x - shift) as a part of a sum that is at least 1: parts below 2^-126 may
/// be 0. Sums that are rounded to 16 bits (`isNarrow`) are content with less.
static Value partOf(graph::ElementBuilder &eb, bool isNarrow, Value x,
                    Value shift) {
  Value exp = eb.make<math::ExpOp>(eb.make<arith::SubFOp>(x, shift));
  Type type = getElementTypeOrSelf(exp);
  if (!type.isF64())
    exp.getDefiningOp<math::ExpOp>().setFastmath(
        isNarrow ? arith::FastMathFlags::afn | arith::FastMathFlags::contract
                 : arith::FastMathFlags::afn);
  return exp;
}

/// What a sum is multiplied by when its shift changes. One after another, so
/// that errors of one sign would add up.
static Value rescaleOf(graph::ElementBuilder &eb, Value before, Value shift) {
  return eb.make<math::ExpOp>(eb.make<arith::SubFOp>(before, shift));
}

/// What `unit` sums, if that is exp(x - max) and rounding is free.
Operation *RowSchedule::summedPower(const Unit &unit) const {
  if (kb.options.numerics != NumericsMode::Default)
    return nullptr;
  for (const analysis::RescaledSum &pair : analysis::rescaledSums(form))
    if (&form.stages[pair.sum] == unit.stage)
      return unit.stage->op->getOperand(0).getDefiningOp();
  return nullptr;
}

/// (weight, element) of a sum with squares, else the lifted state.
SmallVector<Value> RowSchedule::liftUnit(const Unit &unit) {
  llvm::SaveAndRestore power(kb.emitter.summedPower, summedPower(unit));
  SmallVector<Value> states = liftTile(*unit.stage);
  if (!unit.squares)
    return states;
  graph::ElementBuilder eb = kb.emitter.elements();
  Type type = unit.op().getStateTypes().front();
  Value weight = eb.one(type);
  if (columnMask)
    weight = eb.select(columnMask, weight, eb.zero(type));
  return {weight, states.front()};
}

/// part / whole, of counts: whole is 1 at least where part is not 0.
static Value shareOf(graph::ElementBuilder &eb, Type type, Value part,
                     Value whole) {
  Value divisor = eb.make<arith::MaximumFOp>(whole, eb.one(type));
  Value share = eb.make<arith::DivFOp>(part, divisor);
  // A mean that is off by a rounding moves by as much in the next step.
  share.getDefiningOp<arith::DivFOp>().setFastmath(arith::FastMathFlags::afn |
                                                   arith::FastMathFlags::arcp);
  return share;
}

/// States (count, mean, squares) of two disjoint sets.
static SmallVector<Value> combineCentred(graph::ElementBuilder &eb, Type type,
                                         ValueRange lhs, ValueRange rhs) {
  Value count = eb.make<arith::AddFOp>(lhs[0], rhs[0]);
  Value share = shareOf(eb, type, rhs[0], count);
  Value distance = eb.make<arith::SubFOp>(rhs[1], lhs[1]);
  Value mean = eb.make<math::FmaOp>(distance, share, lhs[1]);
  // In this order an empty set adds 0 however large the other's mean is.
  Value weight = eb.make<arith::MulFOp>(lhs[0], share);
  Value between = eb.make<arith::MulFOp>(
      distance, eb.make<arith::MulFOp>(distance, weight));
  Value within = eb.make<arith::AddFOp>(lhs[2], rhs[2]);
  return {count, mean, eb.make<arith::AddFOp>(within, between)};
}

/// `state` (count, mean, squares) and an element x of weight 0 or 1.
static SmallVector<Value> addCentred(graph::ElementBuilder &eb, Type type,
                                     ValueRange state, Value weight, Value x) {
  Value count = eb.make<arith::AddFOp>(state[0], weight);
  Value share = shareOf(eb, type, weight, count);
  Value before = eb.make<arith::SubFOp>(x, state[1]);
  Value mean = eb.make<math::FmaOp>(before, share, state[1]);
  Value after = eb.make<arith::SubFOp>(x, mean);
  Value weighted = eb.make<arith::MulFOp>(before, weight);
  return {count, mean, eb.make<math::FmaOp>(weighted, after, state[2])};
}

SmallVector<Value> RowSchedule::combinePair(graph::ElementBuilder &eb,
                                            const Unit &unit, ValueRange lhs,
                                            ValueRange rhs, bool isShort) {
  Type type = unit.op().getStateTypes().front();
  if (unit.squares) {
    SmallVector<Value> result =
        unit.op().buildCombine(eb, lhs.take_front(1), rhs.take_front(1));
    llvm::append_range(
        result, combineCentred(eb, type, lhs.drop_front(1), rhs.drop_front(1)));
    return result;
  }
  Value max =
      unit.op().buildCombine(eb, lhs.take_front(1), rhs.take_front(1)).front();
  Value shift = shiftOf(eb, type, max);
  auto scaled = [&](ValueRange state) {
    Value by = isShort ? partOf(eb, /*isNarrow=*/false, state[0], shift)
                       : rescaleOf(eb, state[0], shift);
    return eb.make<arith::MulFOp>(state[1], by);
  };
  Value left = scaled(lhs), right = scaled(rhs);
  return {max, eb.make<arith::AddFOp>(left, right)};
}

/// `state` and the elements of `more`. Several have a mean and squares of their
/// own first: one division for all of them.
SmallVector<Value>
RowSchedule::accumulateCentred(graph::ElementBuilder &eb, const Unit &unit,
                               ValueRange state,
                               ArrayRef<SmallVector<Value>> more) {
  Type type = unit.op().getStateTypes().front();
  SmallVector<Value> result;
  if (more.size() == 1) {
    result = unit.op().buildCombine(eb, state.take_front(1), more[0][1]);
    llvm::append_range(result, addCentred(eb, type, state.drop_front(1),
                                          more[0][0], more[0][1]));
    return result;
  }
  Value count = more.front()[0], sum = more.front()[1];
  for (const SmallVector<Value> &next : more.drop_front()) {
    count = eb.make<arith::AddFOp>(count, next[0]);
    sum = eb.make<arith::AddFOp>(sum, next[1]);
  }
  Value mean =
      columnMask
          ? eb.make<arith::MulFOp>(sum, shareOf(eb, type, eb.one(type), count))
          : eb.make<arith::MulFOp>(sum,
                                   eb.real(type, 1.0 / double(more.size())));
  Value squares;
  for (const SmallVector<Value> &next : more) {
    Value distance = eb.make<arith::SubFOp>(next[1], mean);
    Value weighted =
        columnMask ? eb.make<arith::MulFOp>(distance, next[0]) : distance;
    squares = squares ? eb.make<math::FmaOp>(weighted, distance, squares)
                      : eb.make<arith::MulFOp>(weighted, distance);
  }
  result = unit.op().buildCombine(eb, state.take_front(1), sum);
  llvm::append_range(result, combineCentred(eb, type, state.drop_front(1),
                                            {count, mean, squares}));
  return result;
}

/// `state` and then the lifted elements of `more`, in order.
SmallVector<Value> RowSchedule::accumulate(const Unit &unit, ValueRange state,
                                           ArrayRef<SmallVector<Value>> more) {
  graph::ElementBuilder eb = kb.emitter.elements();
  if (unit.squares)
    return accumulateCentred(eb, unit, state, more);
  if (!unit.sum) {
    SmallVector<Value> result(state);
    for (const SmallVector<Value> &next : more)
      result = addTile(unit.op(), result, next);
    return result;
  }
  Type type = unit.op().getStateTypes().front();
  SmallVector<Value> max(state.take_front(1));
  for (const SmallVector<Value> &next : more)
    max = unit.op().buildCombine(eb, max, next);
  Value shift = shiftOf(eb, type, max.front());
  bool isNarrow = cast<RankedTensorType>(unit.sum->op->getResult(0).getType())
                      .getElementTypeBitWidth() <= 16;
  Value sum = eb.make<arith::MulFOp>(state[1], rescaleOf(eb, state[0], shift));
  for (const SmallVector<Value> &next : more)
    sum =
        eb.make<arith::AddFOp>(sum, partOf(eb, isNarrow, next.front(), shift));
  return {max.front(), sum};
}

/// Tiles of states to one state a row.
SmallVector<Value> RowSchedule::reduceStates(const Unit &unit,
                                             ValueRange states, bool isShort) {
  if (!unit.isPair())
    return reduceTiles(unit.op(), states);
  SmallVector<Type> types;
  for (Type type : typesOf(unit))
    types.push_back(
        RankedTensorType::get(row.getShape(), type, row.getEncoding()));
  auto reduce = tile::ReduceOp::create(kb.builder, kb.loc, types, states,
                                       ArrayRef<int64_t>{1});
  kb.emitter.buildCombine(
      reduce, [&](graph::ElementBuilder &eb, ValueRange lhs, ValueRange rhs) {
        return combinePair(eb, unit, lhs, rhs, isShort);
      });
  return llvm::to_vector_of<Value>(reduce.getResults());
}

void RowSchedule::finishUnit(const Unit &unit, ValueRange state) {
  finish(*unit.stage, unit.isPair() ? state.take_front(1) : state);
  if (unit.squares)
    finish(*unit.squares, state.take_back(1));
  if (!unit.sum)
    return;
  // Where nothing is above -inf, x - max is NaN.
  SmallVector<Value> sum(state.drop_front(1));
  if (columns) {
    kb.emitter.setCarrier(row);
    graph::ElementBuilder eb = kb.emitter.elements();
    Type type = unit.op().getStateTypes().front();
    Value none = eb.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, state[0],
                                        eb.real(type, -kInfinity));
    sum.front() =
        eb.select(none, eb.real(type, std::numeric_limits<double>::quiet_NaN()),
                  sum.front());
    kb.emitter.setCarrier(full);
  }
  finish(*unit.sum, sum);
}

/// `states` of `units`: tiles in the row carrier.
void RowSchedule::finishAll(ArrayRef<Unit> units, ValueRange states) {
  for (const Unit &unit : units) {
    size_t count = typesOf(unit).size();
    finishUnit(unit, states.take_front(count));
    states = states.drop_front(count);
  }
}

//===----------------------------------------------------------------------===//
// One pass
//===----------------------------------------------------------------------===//

/// `states` of `all` in the full carrier, and the columns of `part`. What is
/// stored for each element is stored on the way, if `storesFull`.
SmallVector<Value> RowSchedule::walkColumns(ArrayRef<Unit> all,
                                            const Columns &part,
                                            ValueRange inits, bool storesFull) {
  scf::ForOp loop;
  {
    OpBuilder::InsertionGuard guard(kb.builder);
    loop = columnLoop(part.start, part.end, inits, part.turns);
    // All loads of an iteration first, then the arithmetic, then the stores.
    struct Chunk {
      SmallVector<Value> spine;
      Value mask;
    };
    SmallVector<Chunk> chunks;
    SmallVector<SmallVector<SmallVector<Value>>> lifted(all.size());
    for (int64_t i = 0; i < tiling.unroll; ++i) {
      if (!enterChunk(part, loop.getInductionVar(), i))
        break;
      for (auto [u, unit] : llvm::enumerate(all))
        lifted[u].push_back(liftUnit(unit));
      chunks.push_back({spineFull, kb.emitter.getMask()});
    }
    SmallVector<Value> states;
    ValueRange carried = loop.getRegionIterArgs();
    for (auto [u, unit] : llvm::enumerate(all)) {
      size_t count = typesOf(unit).size();
      llvm::append_range(
          states, accumulate(unit, carried.take_front(count), lifted[u]));
      carried = carried.drop_front(count);
    }
    for (const Chunk &next : chunks) {
      if (!storesFull)
        break;
      spineFull = next.spine;
      fullMask = next.mask;
      kb.emitter.setMask(next.mask);
      storeFull(fullValues());
    }
    scf::YieldOp::create(kb.builder, kb.loc, states);
  }
  if (tiling.stages)
    loop = copyAhead(loop,
                     {full, tiling.threads(), tiling.stages,
                      [&](BlockArgument buffer) { return isMatrix(buffer); }});
  return loop.getResults();
}

/// Whether a read-only buffer has a value for each element.
bool RowSchedule::isMatrix(BlockArgument buffer) {
  auto type = cast<RankedTensorType>(
      kb.fusion.getOperand(buffer.getArgNumber()).getType());
  return type.getNumElements() >= KernelBuilder::product(form.parallel) *
                                      KernelBuilder::product(form.reduced);
}

/// All columns: iterations without masks, and the last with them.
SmallVector<RowSchedule::Columns> RowSchedule::allColumns() {
  int64_t sure = tiling.leastBody(columns), inside = sure / step * step;
  SmallVector<Columns> parts;
  if (inside)
    parts.push_back({kb.index(0), kb.index(inside), true});
  if (inside < body)
    parts.push_back({kb.index(inside), paddedColumns(), false, body - inside,
                     sure - inside});
  return parts;
}

/// The states of `all` over `parts` of the columns, in the row carrier.
SmallVector<Value> RowSchedule::reducePart(ArrayRef<Unit> all,
                                           ArrayRef<Columns> parts,
                                           bool storesFull) {
  kb.emitter.setCarrier(full);
  SmallVector<Value> states = tiling.edges ? statesOfEdges(all) : startOf(all);
  for (const Columns &part : parts)
    states = walkColumns(all, part, states, storesFull);
  if (narrowState) {
    graph::ElementBuilder eb = kb.emitter.elements();
    states.front() = eb.make<arith::ExtFOp>(
        eb.type(all.front().op().getStateTypes().front()), states.front());
  }
  states = inOrder(all, states);
  SmallVector<Value> result;
  ValueRange carried = states;
  for (const Unit &unit : all) {
    size_t count = typesOf(unit).size();
    llvm::append_range(result, reduceStates(unit, carried.take_front(count)));
    carried = carried.drop_front(count);
  }
  if (tiling.edges && storesFull)
    storeEdges(edgeValues());
  return result;
}

/// Iterations from which on masks in each cost more than a copy of the loop's
/// body for the last one does.
static constexpr int64_t kManyIterations = 4;

LogicalResult RowSchedule::runOnePass() {
  kb.begin(tiling.threads(), {tiling.blocks(rows), 1, 1}, {rows / rowUnit});
  setUpRows(kb.carrierType({tiling.rows(), chunk}, layout));
  SmallVector<Unit> all = units();
  SmallVector<Columns> parts = {{kb.index(0), paddedColumns(), false}};
  if (tiling.edges || columns >= kManyIterations * step)
    parts = allColumns();
  finishAll(all, reducePart(all, parts, /*storesFull=*/false));
  storeUniform();
  if (hasFull())
    storeLooped(parts);
  return success();
}

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

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

/// The states of `count` parts from `first` on, the identity past the last.
SmallVector<Value> RowSchedule::loadParts(RankedTensorType carrier, Value first,
                                          int64_t count) {
  kb.emitter.setCarrier(carrier);
  graph::ElementBuilder eb = kb.emitter.elements();
  Value part = kb.axisTile(carrier, 1, first);
  Value mask;
  if (tiling.splits % count)
    mask = kb.below(carrier, part, kb.index(tiling.splits));
  Value offsets = partOffsets(carrier, part);
  SmallVector<Value> identity = identities(units()), result;
  unsigned i = 0;
  for (const Unit &unit : units())
    for (Type type : typesOf(unit)) {
      result.push_back(tile::LoadOp::create(
          kb.builder, kb.loc, eb.type(type), kb.scratch(i), offsets, mask,
          mask ? identity[i] : Value(), /*vector=*/1));
      ++i;
    }
  return result;
}

/// States of all units, combined element by element.
SmallVector<Value> RowSchedule::combineParts(graph::ElementBuilder &eb,
                                             ValueRange lhs, ValueRange rhs) {
  SmallVector<Value> result;
  for (const Unit &unit : units()) {
    size_t count = typesOf(unit).size();
    ValueRange left = lhs.take_front(count), right = rhs.take_front(count);
    llvm::append_range(result, unit.isPair()
                                   ? combinePair(eb, unit, left, right)
                                   : unit.op().buildCombine(eb, left, right));
    lhs = lhs.drop_front(count);
    rhs = rhs.drop_front(count);
  }
  return result;
}

/// In the last block of a group of rows.
void RowSchedule::finishParts() {
  int64_t values = 0;
  for (const Unit &unit : units())
    values += typesOf(unit).size();
  PartsLayout parts = partsLayoutOf(kb.builder.getContext(), tiling, values);
  RankedTensorType carrier =
      kb.carrierType({tiling.rows(), parts.parts}, parts.layout);
  setUpRows(carrier);
  SmallVector<Value> loaded, states;
  if (parts.parts >= tiling.splits) {
    loaded = loadParts(carrier, kb.index(0), parts.parts);
  } else {
    kb.emitter.setCarrier(carrier);
    auto loop = scf::ForOp::create(kb.builder, kb.loc, kb.index(0),
                                   kb.index(tiling.splits),
                                   kb.index(parts.parts), identities(units()));
    OpBuilder::InsertionGuard guard(kb.builder);
    kb.enterBody(loop);
    SmallVector<Value> next =
        loadParts(carrier, loop.getInductionVar(), parts.parts);
    graph::ElementBuilder eb = kb.emitter.elements();
    scf::YieldOp::create(kb.builder, kb.loc,
                         combineParts(eb, loop.getRegionIterArgs(), next));
    loaded = llvm::to_vector_of<Value>(loop.getResults());
  }
  ValueRange rest = loaded;
  for (const Unit &unit : units()) {
    size_t count = typesOf(unit).size();
    llvm::append_range(states, reduceStates(unit, rest.take_front(count)));
    rest = rest.drop_front(count);
  }
  finishAll(units(), states);
  storeUniform();
}

LogicalResult RowSchedule::runSplit() {
  int64_t groups = llvm::divideCeil(rows, tiling.ownRows());
  SmallVector<KernelBuilder::Scratch> scratch;
  for (const Unit &unit : units())
    for (Type type : typesOf(unit))
      scratch.push_back({type, groups * tiling.splits * tiling.rows()});
  scratch.push_back({kb.builder.getI32Type(), groups});
  kb.begin(tiling.threads(), {groups, tiling.splits, 1}, {rows / rowUnit},
           scratch, /*kept=*/1);
  setUpRows(kb.carrierType({tiling.rows(), chunk}, layout));
  Columns part = {
      kb.mulIndex(kb.blockId(1), tiling.inTurn ? step : tiling.columnsPerSplit),
      paddedColumns()};
  if (tiling.inTurn)
    part.turns = tiling.splits;
  else
    part.end = arith::MinSIOp::create(
        kb.builder, kb.loc,
        kb.addIndex(part.start, kb.index(tiling.columnsPerSplit)), part.end);
  storePart(reducePart(units(), {part}, hasFull()));
  Value isLast = tile::TicketOp::create(
      kb.builder, kb.loc, kb.builder.getI1Type(),
      kb.scratch(scratch.size() - 1), kb.blockId(0), tiling.splits);
  auto branch = scf::IfOp::create(kb.builder, kb.loc, isLast);
  OpBuilder::InsertionGuard guard(kb.builder);
  kb.builder.setInsertionPoint(branch.thenYield());
  finishParts();
  return success();
}
