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

/// The index of a value with `box` at this lane's columns.
SmallVector<Value> MarchSchedule::indexOf(ArrayRef<analysis::TileExtent> box,
                                          Value row) {
  SmallVector<Value> index;
  for (const analysis::TileExtent &extent : box) {
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
      kb.emitter.offset(indexOf(ring.value->box, row), type.getShape()), mask,
      storedPadding(ring), /*vector=*/1);
}

/// What loads of the argument give outside of it, as memory has it: the
/// windows' padding if that has a value there, else 0.
Value MarchSchedule::storedPadding(const Ring &ring) {
  graph::ElementBuilder eb = elements();
  Type storage = RegionEmitter::storageType(tensorOf(ring).getElementType());
  TypedAttr padding = paddingInMemory(ring);
  if (!padding)
    return eb.zero(storage);
  auto type = cast<ShapedType>(eb.type(storage));
  return arith::ConstantOp::create(kb.builder, kb.loc,
                                   DenseElementsAttr::get(type, padding));
}

/// `value`, a row of the ring, with its padding outside.
Value MarchSchedule::padded(const Ring &ring, Value row, Value value) {
  if (!ring.padding || (ring.isArgument && paddingInMemory(ring)))
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
  if (row < ring.value->lastRow) // shifted in an earlier pass
    result = carry(typeOf(ring), [=, this, &ring](int64_t by) {
      return shift(ring, row + by, columns);
    });
  else
    result = tile::ShiftOp::create(kb.builder, kb.loc, value.getType(), value,
                                   columns, /*axis=*/1);
  ring.shifted[{row, columns}] = result;
  return result;
}

/// The newest row of an argument for output row `row`, in its compute type.
Value MarchSchedule::loadedRow(Ring &ring, int64_t row) {
  Value &value = ring.loaded.at(row);
  if (value.getType() != typeOf(ring))
    value = kb.emitter.fromStorage(value, tensorOf(ring).getElementType());
  return value;
}

void MarchSchedule::makeRow(Ring &ring, int64_t row) {
  int64_t newest = row + ring.value->lastRow;
  Value at = elements().addIndex(baseRow, newest);
  Value value;
  if (ring.isArgument) {
    value = loadedRow(ring, row);
  } else {
    kb.emitter.setMask(isInsideOf(ring, at));
    value = kb.emitter.emit(ring.value->value, indexOf(ring.value->box, at));
    kb.emitter.setMask({});
  }
  ring.rows[newest] = padded(ring, at, value);
  for (const analysis::CarriedSum &carried : march.sums)
    for (int64_t tap = carried.taps; carried.value == ring.value->value && tap;)
      --tap, sum(carried, newest - carried.first - tap * carried.step, tap);
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

/// The kept row of `value` at `index`; null if none is kept there.
Value MarchSchedule::kept(Value value, ValueRange index) {
  for (Ring &ring : rings) {
    if (ring.value->value != value)
      continue;
    SmallVector<Value> own = indexOf(ring.value->box, baseRow);
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
    if (!ring.rows.count(row) || (column && (column < ring.value->firstColumn ||
                                             column > ring.value->lastColumn)))
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

/// The points of `sizes`, the last dimension fastest.
static SmallVector<SmallVector<Value>> pointsOf(ArrayRef<int64_t> sizes,
                                                graph::ElementBuilder &eb) {
  SmallVector<SmallVector<Value>> points;
  for (int64_t point = 0, count = KernelBuilder::product(sizes); point < count;
       ++point) {
    SmallVector<Value> at(sizes.size());
    int64_t rest = point;
    for (size_t i = sizes.size(); i-- > 0; rest /= sizes[i])
      at[i] = eb.index(rest % sizes[i]);
    points.push_back(std::move(at));
  }
  return points;
}

/// The dimension of `window`'s result that is the march's columns.
std::optional<unsigned> MarchSchedule::columnOf(Operation *window) const {
  for (auto [dim, extent] : llvm::enumerate(form.placements.lookup(window).box))
    if (extent.dim == march.column)
      return dim;
  return std::nullopt;
}

/// A pooling window of several rows and columns: its rows are combined once for
/// each column, then neighbouring columns. Null for other windows, whose points
/// do not all count alike, and for products, whose order is not free.
Value MarchSchedule::columnsFirst(OpResult result, ValueRange index) {
  auto pool = dyn_cast<graph::WindowReduceOp>(result.getOwner());
  std::optional<unsigned> column = columnOf(result.getOwner());
  if (!pool || !column || pool.getKind() == graph::ReduceKind::prod)
    return {};
  SmallVector<int64_t> sizes(pool.getWindow());
  int64_t columns = std::exchange(sizes[*column], 1);
  if (columns == 1 || KernelBuilder::product(sizes) == 1)
    return {};
  graph::ElementBuilder eb = elements();
  std::unique_ptr<graph::ElementReader> reader = kb.emitter.reader(pool);
  SmallVector<Value> own(index);
  own[*column] = eb.addIndex(own[*column], pool.getLow()[*column]);
  Value rows;
  for (const SmallVector<Value> &at : pointsOf(sizes, eb)) {
    Value lifted = pool.buildLift(eb, own, at, *reader)[0];
    rows = rows ? pool.buildCombine(eb, rows, lifted)[0] : lifted;
  }
  Value state = pool.buildIdentity(eb)[0];
  for (int64_t i = 0; i < columns; ++i) {
    int64_t by = i * pool.getDilations()[*column] - pool.getLow()[*column];
    Value moved = rows;
    if (by)
      moved = tile::ShiftOp::create(kb.builder, kb.loc, rows.getType(), rows,
                                    by, /*axis=*/1);
    state = pool.buildCombine(eb, state, moved)[0];
  }
  return pool.buildFinish(eb, state, result.getResultNumber());
}

/// The distance of `index`, of a value with `box`, from the pass' first row;
/// none if it lies elsewhere along the other axes.
std::optional<int64_t>
MarchSchedule::rowOf(ValueRange index, ArrayRef<analysis::TileExtent> box) {
  std::optional<int64_t> row;
  for (auto [at, base, extent] : llvm::zip(index, indexOf(box, baseRow), box)) {
    std::optional<int64_t> distance = kb.emitter.distance(at, base);
    if (extent.dim == march.row)
      row = distance;
    else if (distance != 0)
      return std::nullopt;
  }
  return row;
}

/// The states of row `row` of a window's result after the window's rows up to
/// `tap`.
SmallVector<Value> MarchSchedule::sum(const analysis::CarriedSum &carried,
                                      int64_t row, int64_t tap) {
  auto window = cast<graph::ReductionOpInterface>(carried.window);
  graph::ElementBuilder eb = elements();
  if (tap < 0)
    return window.buildIdentity(eb);
  auto known = sums.find({carried.window, row, tap});
  if (known != sums.end())
    return known->second;
  const Ring *ring = llvm::find_if(rings, [&](const Ring &candidate) {
    return candidate.value->value == carried.value;
  });
  SmallVector<Value> states;
  if (row + carried.first + tap * carried.step < ring->value->lastRow) {
    // Added in an earlier pass.
    for (auto [i, state] : llvm::enumerate(window.buildIdentity(eb)))
      states.push_back(carry(state.getType(), [=, this, &carried](int64_t by) {
        return sum(carried, row + by, tap)[i];
      }));
  } else {
    states = sum(carried, row, tap - 1);
    std::unique_ptr<graph::ElementReader> reader =
        kb.emitter.reader(carried.window);
    SmallVector<int64_t> sizes(cast<graph::FusibleOpInterface>(carried.window)
                                   .getIterationSpace()
                                   .reduced);
    sizes[carried.tapDim] = 1;
    SmallVector<Value> index = indexOf(
        form.placements.lookup(carried.window).box, eb.addIndex(baseRow, row));
    for (SmallVector<Value> &at : pointsOf(sizes, eb)) {
      at[carried.tapDim] = eb.index(tap);
      states = window.buildAccumulate(eb, states, index, at, *reader);
    }
  }
  sums[{carried.window, row, tap}] = states;
  return states;
}

/// The result of a window whose sums are carried; null for others.
Value MarchSchedule::finishedSum(OpResult result, ValueRange index) {
  const auto *carried =
      llvm::find_if(march.sums, [&](const analysis::CarriedSum &candidate) {
        return candidate.window == result.getOwner();
      });
  if (carried == march.sums.end())
    return {};
  std::optional<int64_t> row =
      rowOf(index, form.placements.lookup(carried->window).box);
  if (!row)
    return {};
  graph::ElementBuilder eb = elements();
  return cast<graph::ReductionOpInterface>(carried->window)
      .buildFinish(eb, sum(*carried, *row, carried->taps - 1),
                   result.getResultNumber());
}

/// A window with all its points written out.
Value MarchSchedule::unrolled(OpResult result, ValueRange index) {
  if (Value value = finishedSum(result, index))
    return value;
  if (Value value = columnsFirst(result, index))
    return value;
  Operation *op = result.getOwner();
  auto window = cast<graph::ReductionOpInterface>(op);
  graph::ElementBuilder eb = elements();
  std::unique_ptr<graph::ElementReader> reader = kb.emitter.reader(op);
  graph::IterationSpace space =
      cast<graph::FusibleOpInterface>(op).getIterationSpace();
  SmallVector<Value> state = window.buildIdentity(eb);
  for (const SmallVector<Value> &at : pointsOf(space.reduced, eb))
    state = window.buildAccumulate(eb, state, index, at, *reader);
  return window.buildFinish(eb, state, result.getResultNumber());
}
