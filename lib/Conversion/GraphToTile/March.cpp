//===- March.cpp - windows along a marching row ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp holds a strip of columns and marches down the rows:
//
//   for each group of rows:
//     rows of the arguments <- registers that the last iteration loaded
//     the next rows of the arguments -> registers
//     for each row of the group:
//       for each kept value in order: its newest row, from rows kept so far
//       the row of every output -> memory
//
// A value runs ahead of the output by as many rows as later windows look down.
// Where windows read padding, the newest row gets the padding's value once, so
// that reads need no masks. Neighbouring columns come by shuffles; columns at
// the ends of a strip, whose neighbours the warp does not hold, are margins:
// the next strip computes them again.
//===----------------------------------------------------------------------===//
#include "March.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <deque>
#include <functional>
#include <map>

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using analysis::MarchedValue;
using tile::Digit;

// Warps of a block; they do not meet, so few is best for the last wave.
static constexpr int64_t kWarps = 4;

namespace {

/// The kept rows of one value.
struct Ring {
  const MarchedValue *value = nullptr;
  bool isArgument = false;
  /// What every masked read of a window gives outside of the value; null if
  /// reads differ or none is masked.
  TypedAttr padding;
  /// Rows by their distance from the iteration's first output row, and shifted
  /// ones by row and columns.
  std::map<int64_t, Value> rows;
  std::map<std::pair<int64_t, int64_t>, Value> shifted;
  /// For arguments: this iteration's newest rows, which the last one loaded.
  SmallVector<Value> loaded;
};

class MarchSchedule {
public:
  MarchSchedule(KernelBuilder &kb, const analysis::MarchForm &march)
      : kb(kb), form(kb.form), march(march) {}
  void run();

private:
  /// Strips along each axis for a spine of `sizes`.
  SmallVector<int64_t> countsFor(SmallVector<int64_t> sizes) const;
  void setFrame();
  void emitLoop();
  void carryRows(Ring &ring);
  void carryLoads(Ring &ring, ArrayRef<Value> inits);
  void emitBody(Value iteration, ArrayRef<SmallVector<Value>> firstRows);
  struct Carried;
  SmallVector<Carried *> keptValues(ArrayRef<Value> next);
  void makeRow(Ring &ring, int64_t row);
  void storeOutputs(int64_t row);
  Value loadRow(const Ring &ring, Value row);
  Value padded(const Ring &ring, Value row, Value value);
  Value isInsideOf(const Ring &ring, Value row);
  SmallVector<Value> indexOf(const Ring &ring, Value row);
  Value lookup(Value value, ValueRange index);
  Value lookupMasked(Value value, ValueRange index, Value mask, Value other);
  Value unrolled(OpResult result, ValueRange index);
  Value carry(Value init, std::function<Value()> next);
  Value shift(Ring &ring, int64_t row, int64_t columns);
  RankedTensorType typeOf(const Ring &ring);
  graph::ElementBuilder elements() { return kb.emitter.elements(); }
  Value splat(Value scalar) {
    return tile::SplatOp::create(kb.builder, kb.loc,
                                 elements().type(scalar.getType()), scalar);
  }

  KernelBuilder &kb;
  const analysis::RegionForm &form;
  const analysis::MarchForm &march;
  RankedTensorType carrier;
  SmallVector<Ring, 4> rings;
  /// Index tiles: of every spine dim but row and column; the strip's first row
  /// and the one after its last; the columns; the first row of the iteration.
  SmallVector<Value> spine;
  Value stripRow, stripEnd, columns, baseRow;
  Value isStored; // column and strip count

  /// What an iteration hands to the next: values before the loop, block
  /// arguments in it, and how to make the next ones at its end.
  struct Carried {
    Value init, now;
    std::function<Value()> next;
  };
  std::deque<Carried> carried;
  Block *body = nullptr;
};

} // namespace

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

namespace {
/// Notes what masked reads of each operand give where the mask is false.
class PaddingReader : public graph::ElementReader {
public:
  PaddingReader(Operation *op, graph::ElementBuilder &eb) : op(op), eb(eb) {}
  Value readMasked(unsigned operand, ValueRange, Value mask,
                   Value other) override {
    if (mask) {
      TypedAttr constant;
      matchPattern(other, m_Constant(&constant));
      paddings[operand].push_back(constant);
    }
    auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
    return eb.zero(graph::ElementBuilder::computeType(type.getElementType()));
  }
  llvm::SmallDenseMap<unsigned, SmallVector<TypedAttr>> paddings;

private:
  Operation *op;
  graph::ElementBuilder &eb;
};
} // namespace

/// The padding of `value` in all windows of the region; null if they differ.
static TypedAttr paddingOf(Value value, const analysis::RegionForm &form,
                           OpBuilder builder) {
  Block scratch;
  builder.setInsertionPointToStart(&scratch);
  graph::ElementBuilder eb(builder, value.getLoc());
  std::optional<TypedAttr> common;
  for (const analysis::RegionStage &stage : form.stages) {
    auto window = cast<graph::ReductionOpInterface>(stage.op);
    graph::IterationSpace space =
        cast<graph::FusibleOpInterface>(stage.op).getIterationSpace();
    SmallVector<Value> parallel, reduced;
    for (size_t i = 0; i < space.parallel.size(); ++i)
      parallel.push_back(eb.index(0));
    for (size_t i = 0; i < space.reduced.size(); ++i)
      reduced.push_back(eb.index(0));
    PaddingReader reader(stage.op, eb);
    window.buildLift(eb, parallel, reduced, reader);
    for (OpOperand &operand : stage.op->getOpOperands())
      if (operand.get() == value)
        for (TypedAttr padding : reader.paddings[operand.getOperandNumber()]) {
          if (common && *common != padding)
            return {};
          common = padding;
        }
  }
  return common.value_or(TypedAttr());
}

static bool isPositiveZero(TypedAttr value) {
  if (auto real = dyn_cast<FloatAttr>(value))
    return real.getValue().isPosZero();
  auto integer = dyn_cast<IntegerAttr>(value);
  return integer && integer.getValue().isZero();
}

/// True if `mask` says that `index` is in range of `shape` along some axes and
/// nothing else.
static bool testsOnlyRange(Value mask, ValueRange index,
                           ArrayRef<int64_t> shape) {
  Operation *op = mask.getDefiningOp();
  if (isa_and_nonnull<arith::AndIOp>(op))
    return testsOnlyRange(op->getOperand(0), index, shape) &&
           testsOnlyRange(op->getOperand(1), index, shape);
  auto compare = dyn_cast_or_null<arith::CmpIOp>(op);
  llvm::APInt bound;
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::ult ||
      !matchPattern(compare.getRhs(), m_ConstantInt(&bound)))
    return false;
  auto at = llvm::find(index, compare.getLhs());
  return at != index.end() && bound.getSExtValue() == shape[at - index.begin()];
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static RankedTensorType tensorOf(const Ring &ring) {
  return cast<RankedTensorType>(ring.value->value.getType());
}

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
    Value inside = eb.inRange(isRow ? row : columns, size);
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

Value MarchSchedule::lookup(Value value, ValueRange index) {
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

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

void MarchSchedule::storeOutputs(int64_t row) {
  graph::ElementBuilder eb = elements();
  SmallVector<Value> point(spine);
  point[march.row] = eb.addIndex(baseRow, row);
  point[march.column] = columns;
  auto compare = [&](arith::CmpIPredicate predicate, Value bound) {
    return eb.make<arith::CmpIOp>(predicate, point[march.row], bound);
  };
  Value mask =
      eb.logicalAnd(eb.logicalAnd(compare(arith::CmpIPredicate::sge, stripRow),
                                  compare(arith::CmpIPredicate::slt, stripEnd)),
                    isStored);
  kb.emitter.setMask(mask);
  for (auto [i, output] : llvm::enumerate(form.outputs)) {
    SmallVector<Value> index = eb.apply(output.index, point);
    kb.emitter.store(kb.emitter.emit(output.value, index), kb.outputBuffer(i),
                     cast<RankedTensorType>(output.value.getType()), index,
                     mask);
  }
  kb.emitter.setMask({});
}

SmallVector<int64_t>
MarchSchedule::countsFor(SmallVector<int64_t> sizes) const {
  sizes[march.row] = llvm::divideCeil(sizes[march.row], march.height);
  sizes[march.column] =
      llvm::divideCeil(sizes[march.column], march.usefulColumns());
  return sizes;
}

/// Work out which strip this warp has, and its index tiles.
void MarchSchedule::setFrame() {
  SmallVector<int64_t> counts = countsFor(form.parallel);
  int64_t strips = KernelBuilder::product(counts);
  int64_t counted = KernelBuilder::product(countsFor(kb.counted.parallel));
  kb.begin(32 * kWarps, {int64_t(llvm::divideCeil(counted, kWarps)), 1, 1},
           {counted});
  auto layout = tile::LayoutAttr::get(
      kb.builder.getContext(), {Digit{march.vector, 1, 1}},
      {Digit{32, march.vector, 1}}, {Digit{kWarps, 1, 0}});
  carrier = kb.carrierType({kWarps, march.columns()}, layout);
  kb.emitter.setCarrier(carrier);
  graph::ElementBuilder eb = elements();
  Value strip = kb.axisTile(carrier, 0, kb.mulIndex(kb.blockId(0), kWarps));
  Value exists = kb.below(carrier, strip, kb.extent(0));
  // Warps without a strip do the last one once more and store nothing.
  strip = eb.make<arith::MinUIOp>(
      strip, splat(kb.addIndex(kb.extent(0), kb.index(-1))));
  kb.emitter.setBounds(strip, {0, strips - 1});
  spine = eb.delinearize(strip, counts);
  for (auto [at, count] : llvm::zip(spine, counts))
    kb.emitter.setBounds(at, {0, count - 1});
  int64_t rows = form.parallel[march.row], width = form.parallel[march.column];
  stripRow = eb.mulIndex(spine[march.row], march.height);
  stripEnd = eb.make<arith::MinSIOp>(eb.addIndex(stripRow, march.height),
                                     eb.index(rows));
  Value first = eb.mulIndex(spine[march.column], march.usefulColumns());
  Value end = eb.addIndex(first, march.usefulColumns());
  columns = eb.addIndex(eb.addIndex(first, -march.leftMargin),
                        kb.axisTile(carrier, 1, kb.index(0)));
  kb.emitter.setBounds(
      columns, {-march.leftMargin, width + march.columns() + march.leftMargin});
  auto compare = [&](arith::CmpIPredicate predicate, Value bound) {
    return eb.make<arith::CmpIOp>(predicate, columns, bound);
  };
  isStored =
      eb.logicalAnd(eb.logicalAnd(exists, eb.inRange(columns, width)),
                    eb.logicalAnd(compare(arith::CmpIPredicate::sge, first),
                                  compare(arith::CmpIPredicate::slt, end)));
}

/// A value that starts as `init` and is `next()`, made at the end of an
/// iteration, in the following one.
Value MarchSchedule::carry(Value init, std::function<Value()> next) {
  Value now = body->addArgument(init.getType(), kb.loc);
  carried.push_back({init, now, std::move(next)});
  return now;
}

/// The rows that are there when an iteration starts.
void MarchSchedule::carryRows(Ring &ring) {
  Value zero = elements().zero(typeOf(ring).getElementType());
  for (int64_t row = ring.value->firstRow; row < ring.value->lastRow; ++row)
    ring.rows[row] = carry(
        zero, [=, this, &ring] { return ring.rows.at(row + march.unroll); });
}

/// Loads the argument's rows an iteration ahead. They are widened at the end of
/// the iteration, so that the loads have all of it to arrive.
void MarchSchedule::carryLoads(Ring &ring, ArrayRef<Value> inits) {
  Type element = tensorOf(ring).getElementType();
  for (int64_t row = 0; row < march.unroll; ++row) {
    int64_t next = march.unroll + row + ring.value->lastRow;
    Value stored = loadRow(ring, elements().addIndex(baseRow, next));
    ring.loaded.push_back(carry(inits[row], [=, this] {
      return kb.emitter.fromStorage(stored, element);
    }));
  }
}

void MarchSchedule::emitBody(Value iteration,
                             ArrayRef<SmallVector<Value>> firstRows) {
  graph::ElementBuilder eb = elements();
  Value step = kb.addIndex(kb.mulIndex(iteration, march.unroll),
                           kb.index(-march.warmUp));
  baseRow = eb.addIndex(stripRow, splat(step));
  kb.emitter.setBounds(
      baseRow,
      {-march.warmUp, form.parallel[march.row] + march.height + march.unroll});
  for (auto [ring, inits] : llvm::zip(rings, firstRows)) {
    carryRows(ring);
    if (ring.isArgument)
      carryLoads(ring, inits);
  }
  for (int64_t row = 0; row < march.unroll; ++row) {
    for (Ring &ring : rings)
      makeRow(ring, row);
    storeOutputs(row);
  }
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
  graph::ElementBuilder eb = elements();
  SmallVector<SmallVector<Value>> firstRows;
  for (const Ring &ring : rings) {
    firstRows.emplace_back();
    for (int64_t row = 0; ring.isArgument && row < march.unroll; ++row) {
      int64_t first = row + ring.value->lastRow - march.warmUp;
      firstRows.back().push_back(
          kb.emitter.fromStorage(loadRow(ring, eb.addIndex(stripRow, first)),
                                 tensorOf(ring).getElementType()));
    }
  }
  // What is carried becomes known while the body is made: it is made in a loop
  // that carries nothing, and moved.
  int64_t trips = llvm::divideCeil(march.height + march.warmUp, march.unroll);
  Value lower = kb.index(0), upper = kb.index(trips), step = kb.index(1);
  auto draft = scf::ForOp::create(kb.builder, kb.loc, lower, upper, step);
  body = draft.getBody();
  SmallVector<Value> next;
  {
    OpBuilder::InsertionGuard guard(kb.builder);
    kb.builder.setInsertionPointToStart(body);
    emitBody(draft.getInductionVar(), firstRows);
    for (size_t i = 0; i < carried.size(); ++i) // grows
      next.push_back(carried[i].next());
  }
  SmallVector<Carried *> kept = keptValues(next);
  SmallVector<Value> inits, yields;
  for (Carried *value : kept) {
    // A constant that was made with the body is needed before it.
    Operation *made = value->init.getDefiningOp();
    if (made && made->getBlock() == body)
      made->moveBefore(draft);
    inits.push_back(value->init);
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
  for (const MarchedValue &value : march.values) {
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
