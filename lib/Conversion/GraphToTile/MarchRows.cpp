//===- MarchRows.cpp - rows that a march keeps and reads ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "MarchSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

RankedTensorType MarchSchedule::typeOf(const Ring &ring) {
  Type element =
      graph::ElementBuilder::computeType(tensorOf(ring).getElementType());
  return cast<RankedTensorType>(elements().type(element));
}

SmallVector<Value> MarchSchedule::indexOf(const Ring &ring, Value row) {
  SmallVector<Value> index;
  for (const analysis::TileExtent &extent : ring.value->box) {
    if (!extent.dim)
      index.push_back(elements().index(extent.low));
    else if (*extent.dim == march.row)
      index.push_back(row);
    else if (*extent.dim == march.column)
      index.push_back(columns);
    else
      index.push_back(spine[*extent.dim]);
  }
  return index;
}

/// Whether row `row` of the value and the columns of this strip exist.
Value MarchSchedule::isInsideOf(const Ring &ring, Value row) {
  graph::ElementBuilder eb = elements();
  Value mask;
  for (auto [extent, size] :
       llvm::zip(ring.value->box, tensorOf(ring).getShape())) {
    bool isRow = extent.dim == march.row;
    if (!isRow && extent.dim != march.column)
      continue;
    Value inside = isRow ? eb.inRange(row, size) : isColumnOf(size);
    mask = mask ? eb.logicalAnd(mask, inside) : inside;
  }
  return mask;
}

Value MarchSchedule::loadRow(const Ring &ring, Value row) {
  graph::ElementBuilder eb = elements();
  RankedTensorType type = tensorOf(ring);
  // No rows below those that the strip's last output needs.
  Value limit = eb.addIndex(stripEnd, ring.value->lastRow);
  Value mask = eb.logicalAnd(
      isInsideOf(ring, row),
      eb.make<arith::CmpIOp>(arith::CmpIPredicate::slt, row, limit));
  Type storage = RegionEmitter::storageType(type.getElementType());
  return tile::LoadOp::create(
      kb.builder, kb.loc, eb.type(storage),
      kb.emitter.buffers.lookup(ring.value->value),
      kb.emitter.offset(indexOf(ring, row), type.getShape()), mask,
      eb.zero(storage), /*vector=*/1);
}

/// `value`, a row of the ring, with its padding outside.
Value MarchSchedule::padded(const Ring &ring, Value row, Value value) {
  if (!ring.padding || (ring.isArgument && isPositiveZero(ring.padding)))
    return value;
  graph::ElementBuilder eb = elements();
  Value padding;
  if (auto real = dyn_cast<FloatAttr>(ring.padding))
    padding = eb.real(real.getType(), real.getValueAsDouble());
  else
    padding = eb.integer(cast<IntegerAttr>(ring.padding).getValue());
  return eb.select(isInsideOf(ring, row), value, padding);
}

Value MarchSchedule::shift(Ring &ring, int64_t row, int64_t columns) {
  if (columns == 0)
    return ring.rows.at(row);
  auto known = ring.shifted.find({row, columns});
  if (known != ring.shifted.end())
    return known->second;
  Value value = ring.rows.at(row), result;
  if (row < ring.value->lastRow) // shifted in an earlier iteration
    result =
        carry(elements().zero(typeOf(ring).getElementType()), [=, this, &ring] {
          return shift(ring, row + march.unroll, columns);
        });
  else
    result = tile::ShiftOp::create(kb.builder, kb.loc, value.getType(), value,
                                   columns, /*axis=*/1);
  ring.shifted[{row, columns}] = result;
  return result;
}

void MarchSchedule::makeRow(Ring &ring, int64_t row) {
  int64_t newest = row + ring.value->lastRow;
  Value at = elements().addIndex(baseRow, newest);
  Value value;
  if (ring.isArgument) {
    value = ring.loaded[row];
  } else {
    kb.emitter.setMask(isInsideOf(ring, at));
    value = kb.emitter.emit(ring.value->value, indexOf(ring, at));
    kb.emitter.setMask({});
  }
  ring.rows[newest] = padded(ring, at, value);
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

/// The kept row of `value` at `index`; null if none is kept there.
Value MarchSchedule::kept(Value value, ValueRange index) {
  for (Ring &ring : rings) {
    if (ring.value->value != value)
      continue;
    SmallVector<Value> own = indexOf(ring, baseRow);
    int64_t row = 0, column = 0;
    for (auto [at, base, extent] : llvm::zip(index, own, ring.value->box)) {
      std::optional<int64_t> distance = kb.emitter.distance(at, base);
      if (!distance)
        return {};
      if (extent.dim == march.row)
        row = *distance;
      else if (extent.dim == march.column)
        column = *distance;
      else if (*distance)
        return {};
    }
    if (!ring.rows.count(row) || column < ring.value->firstColumn ||
        column > ring.value->lastColumn)
      return {};
    return shift(ring, row, column);
  }
  return {};
}

Value MarchSchedule::lookup(Value value, ValueRange index) {
  if (Value known = kept(value, index))
    return known;
  // The newest row of a kept window is made here, too.
  auto result = dyn_cast<OpResult>(value);
  if (result && llvm::any_of(form.stages, [&](const auto &stage) {
        return stage.op == result.getOwner();
      }))
    return unrolled(result, index);
  return {};
}

Value MarchSchedule::lookupMasked(Value value, ValueRange index, Value mask,
                                  Value other) {
  for (Ring &ring : rings) {
    if (ring.value->value != value || !ring.padding)
      continue;
    TypedAttr constant;
    if (auto splat = other.getDefiningOp<arith::ConstantOp>())
      if (auto dense = dyn_cast<DenseElementsAttr>(splat.getValue()))
        constant =
            dense.isSplat() ? dense.getSplatValue<TypedAttr>() : TypedAttr();
    if (constant == ring.padding &&
        testsOnlyRange(mask, index, tensorOf(ring).getShape()))
      return lookup(value, index);
  }
  return {};
}

/// A window with all its points written out.
Value MarchSchedule::unrolled(OpResult result, ValueRange index) {
  Operation *op = result.getOwner();
  auto window = cast<graph::ReductionOpInterface>(op);
  graph::ElementBuilder eb = elements();
  std::unique_ptr<graph::ElementReader> reader = kb.emitter.reader(op);
  graph::IterationSpace space =
      cast<graph::FusibleOpInterface>(op).getIterationSpace();
  SmallVector<Value> state = window.buildIdentity(eb);
  int64_t points = KernelBuilder::product(space.reduced);
  for (int64_t point = 0; point < points; ++point) {
    SmallVector<Value> at(space.reduced.size());
    int64_t rest = point;
    for (size_t i = space.reduced.size(); i-- > 0; rest /= space.reduced[i])
      at[i] = eb.index(rest % space.reduced[i]);
    state = window.buildAccumulate(eb, state, index, at, *reader);
  }
  return window.buildFinish(eb, state, result.getResultNumber());
}
