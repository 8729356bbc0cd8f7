//===- RowSkew.cpp - across rows that start anywhere in a vector ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sum of each of 4095 columns of a matrix (here: rows are across, 4095
// beside each other, column after column): each column starts at another place
// of a 16-byte vector than the one before, but every eighth at the same. Warps
// take the columns in turn, eight of them, so all columns of a thread start at
// the same place, and its registers are the rows of one vector of each:
//
//   row(place, column) = first + place - column * rows mod vector,
//
// where first is the block's, a multiple of vector. When a thread has walked
// its columns, its states go to shared memory by row and come back by place;
// from there on this is the split form. Blocks are `vector` rows apart less
// than their places, so that what is shifted out of one is in the next.
//===----------------------------------------------------------------------===//
#include "RowSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

namespace {
class SkewSchedule : public RowSchedule {
public:
  using RowSchedule::RowSchedule;

protected:
  void boundRows(Value) override {}
  Value rowsInside(RankedTensorType carrier, Value linear) override;
  void enterColumns(Value start) override;
  SmallVector<Value> inOrder(ArrayRef<Unit> all, ValueRange states) override;

private:
  /// From the first row of `column` to the start of its vector: not above 0.
  Value toVector(Value column);
  Value placeOf(RankedTensorType carrier) {
    return kb.axisTile(carrier, 0, kb.index(0));
  }
};
} // namespace

/// The rows that the block is for.
Value SkewSchedule::rowsInside(RankedTensorType carrier, Value linear) {
  kb.emitter.setCarrier(carrier);
  return kb.emitter.elements().logicalAnd(
      kb.below(carrier, linear, rowBound()),
      kb.below(carrier, placeOf(carrier), kb.index(tiling.ownRows())));
}

Value SkewSchedule::toVector(Value column) {
  graph::ElementBuilder eb = kb.emitter.elements();
  Value start = eb.mulIndex(column, rows);
  Value vectors = eb.mulIndex(eb.divIndex(start, tiling.vector), tiling.vector);
  return eb.make<arith::SubIOp>(vectors, start);
}

void SkewSchedule::enterColumns(Value start) {
  kb.emitter.setCarrier(full);
  graph::ElementBuilder eb = kb.emitter.elements();
  Value column = kb.axisTile(full, 1, start);
  bool isInside = isWhole || coversColumns();
  columnMask = isInside ? Value() : kb.below(full, column, columnEnd());
  if (isInside)
    kb.emitter.setBounds(column, {0, columns - 1});
  Value place = kb.axisTile(full, 0, rowStart);
  Value row = eb.addIndex(place, toVector(column));
  kb.emitter.open(row);
  // Vectors with a row of the column: the first of a vector is one, or the
  // column starts behind it.
  Value origin = eb.mulIndex(column, rows);
  Value vector = eb.addIndex(eb.divIndex(origin, tiling.vector),
                             eb.divIndex(place, tiling.vector));
  Value end =
      eb.divIndex(eb.addIndex(origin, rows + tiling.vector - 1), tiling.vector);
  rowMaskFull = eb.make<arith::CmpIOp>(arith::CmpIPredicate::slt, vector, end);
  fullMask = rowMaskFull;
  if (columnMask)
    fullMask = eb.logicalAnd(fullMask, columnMask);
  kb.emitter.setMask(fullMask);
  spineFull = parallelAt(row);
  llvm::append_range(spineFull, reducedAt(row, column));
}

SmallVector<Value> SkewSchedule::inOrder(ArrayRef<Unit> all,
                                         ValueRange states) {
  kb.emitter.setCarrier(full);
  graph::ElementBuilder eb = kb.emitter.elements();
  Value place = placeOf(full), column = kb.axisTile(full, 1, kb.index(0));
  // All columns of a thread have the same skew.
  Value row = eb.addIndex(place, toVector(column));
  Value zero = eb.index(0);
  Value isHere = eb.make<arith::CmpIOp>(arith::CmpIPredicate::sge, row, zero);
  Value isOwn = kb.below(full, place, kb.index(tiling.ownRows()));
  Value slot = eb.mulIndex(column, tiling.rows());
  SmallVector<Value> identity = identities(all), buffers, result;
  // Loops that copy ahead carry more.
  states = states.take_front(identity.size());
  for (Value state : states) {
    auto memory = MemRefType::get(
        {tiling.rows() * chunk}, getElementTypeOrSelf(state.getType()),
        MemRefLayoutAttrInterface(),
        kb.builder.getI64IntegerAttr(tile::kSharedSpace));
    buffers.push_back(tile::AllocOp::create(kb.builder, kb.loc, memory));
    tile::StoreOp::create(kb.builder, kb.loc, state, buffers.back(),
                          eb.addIndex(slot, row), isHere, /*vector=*/1);
  }
  tile::BarrierOp::create(kb.builder, kb.loc);
  for (auto [state, buffer, other] : llvm::zip(states, buffers, identity))
    result.push_back(tile::LoadOp::create(kb.builder, kb.loc, state.getType(),
                                          buffer, eb.addIndex(slot, place),
                                          isOwn, other, /*vector=*/1));
  return result;
}

LogicalResult graph_to_tile::scheduleSkew(KernelBuilder &kb,
                                          const analysis::RowTiling &tiling) {
  return SkewSchedule(kb, tiling).run();
}
