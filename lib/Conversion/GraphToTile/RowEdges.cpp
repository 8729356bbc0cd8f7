//===- RowEdges.cpp - rows that start anywhere in a vector ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of 4095 bf16 starts at another place of a 16-byte vector than the row
// before. Its columns are
//
//   [0, first)      what lies before the first whole vector of memory,
//   [first, end)    whole vectors, which the tiles of the schedule walk,
//   [end, columns)  what lies behind the last one.
//
// first = -(row * columns) mod vector, the same for every buffer that is read
// or written at the spine's own index, so all of them take vectors; others are
// read element by element, and are right. The two ends, fewer than two vectors
// together, are one more chunk of the same carrier, one element a thread: its
// element i is in register i / threads of thread i mod threads. That no other
// register counts follows from its number, so its code folds away.
//===----------------------------------------------------------------------===//
#include "RowSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

RowSchedule::Body RowSchedule::bodyOf(Value rowLinear) {
  graph::ElementBuilder eb = kb.emitter.elements();
  Value start = eb.mulIndex(rowLinear, columns);
  Value vectors =
      eb.divIndex(eb.addIndex(start, tiling.vector - 1), tiling.vector);
  Value first =
      eb.make<arith::SubIOp>(eb.mulIndex(vectors, tiling.vector), start);
  if (hasEqualBodies())
    return {first, eb.index(body / tiling.vector)};
  Value rest = eb.make<arith::SubIOp>(eb.index(columns), first);
  return {first, eb.divIndex(rest, tiling.vector)};
}

/// The columns at `place` of the walked tiles, and which of them exist.
std::pair<Value, Value> RowSchedule::columnsAt(Value rowLinear, Value place) {
  if (!tiling.edges)
    return {place, kb.below(full, place, columnEnd())};
  graph::ElementBuilder eb = kb.emitter.elements();
  Body whole = bodyOf(rowLinear);
  Value column = eb.addIndex(place, whole.first);
  kb.emitter.open(column);
  if (hasEqualBodies())
    return {column, kb.below(full, place, kb.index(body))};
  Value vector = eb.divIndex(place, tiling.vector);
  return {column, eb.make<arith::CmpIOp>(arith::CmpIPredicate::slt, vector,
                                         whole.vectors)};
}

/// Index tiles of the spine for the ends of rows.
void RowSchedule::enterEdges() {
  kb.emitter.setCarrier(full);
  graph::ElementBuilder eb = kb.emitter.elements();
  auto below = [&](Value lhs, Value rhs) {
    return eb.make<arith::CmpIOp>(arith::CmpIPredicate::slt, lhs, rhs);
  };
  Value rowLinear = kb.axisTile(full, 0, rowStart);
  boundRows(rowLinear);
  Value place = kb.axisTile(full, 1, kb.index(0));
  Value before =
      eb.mulIndex(eb.remIndex(place, tiling.vector), chunk / tiling.vector);
  Value edge = eb.addIndex(eb.divIndex(place, tiling.vector), before);
  Body whole = bodyOf(rowLinear);
  Value all = eb.index(columns);
  Value end = eb.mulIndex(whole.vectors, tiling.vector);
  Value count = eb.make<arith::SubIOp>(all, end);
  columnMask =
      eb.logicalAnd(below(before, eb.index(tiling.edges)), below(edge, count));
  // Reads of shared memory need no mask where others read the last end again.
  if (tiling.isRun)
    edge = eb.make<arith::MinSIOp>(edge,
                                   eb.make<arith::SubIOp>(count, eb.index(1)));
  // Of the blocks that share a row, the first has its ends.
  if (tiling.splits > 1) {
    Value part = tile::SplatOp::create(kb.builder, kb.loc, place.getType(),
                                       kb.blockId(1));
    columnMask = eb.logicalAnd(columnMask, below(part, eb.index(1)));
  }
  // Behind the last vector, and then from the start of the row on.
  Value behind = eb.addIndex(eb.addIndex(whole.first, end), edge);
  Value column = eb.select(below(behind, all), behind,
                           eb.make<arith::SubIOp>(behind, all));
  if (tiling.isRun)
    kb.emitter.setBounds(column, {0, columns - 1});
  enterSpine(rowLinear, column);
}

/// The states of `all` over the ends of rows, with which their bodies begin.
SmallVector<Value> RowSchedule::statesOfEdges(ArrayRef<Unit> all) {
  enterEdges();
  SmallVector<Value> result;
  for (const Unit &unit : all) {
    SmallVector<Value> lifted = liftUnit(unit);
    if (unit.isPair())
      lifted = accumulate(unit, identityOf(unit), {lifted});
    else if (unit.op().getSelected())
      lifted = addTile(unit.op(), startOf(unit.op()), lifted);
    llvm::append_range(result, lifted);
  }
  return result;
}

/// The outputs of the ends of rows, ahead of the stores of the rest, which
/// would make them load again.
RowSchedule::EdgeValues RowSchedule::edgeValues() {
  enterEdges();
  return {spineFull, fullValues(), fullMask};
}

void RowSchedule::storeEdges(const EdgeValues &edges) {
  kb.emitter.setMask(edges.mask);
  spineFull = edges.spine;
  storeFull(edges.values);
}
