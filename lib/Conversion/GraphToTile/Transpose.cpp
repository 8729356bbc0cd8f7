//===- Transpose.cpp - inputs that are turned in shared memory ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Pointwise region of which some inputs are contiguous along `rows` and the
// outputs along `columns` (fusec/Analysis/TransposeTile.h). A block makes a
// tile of rows x columns:
//
//   every turned input: vectors along rows -> shared memory
//   barrier
//   outputs: vectors along columns; turned inputs are read from shared memory
//
// or, if every input of full size is to be turned,
//
//   outputs, computed in vectors along rows -> shared memory
//   barrier
//   shared memory -> outputs in vectors along columns
//
// A column of the tile is consecutive in shared memory. Its 16-byte groups are
// exchanged by the number of the column vector (exclusive or), so that lanes
// that read along columns meet different banks; without vectors a column is
// padded by a word instead. Rows and columns whose vectors start anywhere are
// in TransposeImage.cpp.
//===----------------------------------------------------------------------===//
#include "TransposeSchedule.h"
#include "TurnedColumns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using analysis::TransposeTile;
using analysis::TurnedRead;
using tile::Digit;

/// The tile with vectors along one of its sides, rows being axis 0. A run of
/// interleaved columns has one axis.
RankedTensorType TransposeSchedule::carrierAlong(bool rows, int64_t vector) {
  MLIRContext *context = kb.builder.getContext();
  if (tile.isInterleaved && !rows) {
    int64_t count = tile.rows.tile * tile.columns.tile;
    int64_t span = vector * 32 * warps;
    return kb.carrierType(
        {count},
        tile::LayoutAttr::get(
            context, {Digit{vector, 1, 0}, Digit{count / span, span, 0}},
            {Digit{32, vector, 0}}, {Digit{warps, 32 * vector, 0}}));
  }
  int64_t inner = rows ? 0 : 1, outer = 1 - inner;
  int64_t length = rows ? tile.rows.tile : tile.columns.tile;
  int64_t count = rows ? tile.columns.tile : tile.rows.tile;
  // Eight lanes of a vector are a line of memory; single elements take all.
  int64_t lanes = tile.isInterleaved || vector == 1
                      ? 32
                      : std::min<int64_t>(8, length / vector);
  lanes = std::min(lanes, length / vector);
  int64_t outerLanes = 32 / lanes;
  int64_t outerWarps =
      tile.isInterleaved ? 1 : std::min(warps, count / outerLanes);
  int64_t innerWarps = warps / outerWarps;
  int64_t innerSpan = vector * lanes * innerWarps;
  return kb.carrierType(
      {tile.rows.tile, tile.columns.tile},
      tile::LayoutAttr::get(
          context,
          {Digit{vector, 1, inner},
           Digit{std::max<int64_t>(1, length / innerSpan), innerSpan, inner},
           Digit{count / (outerLanes * outerWarps), outerLanes * outerWarps,
                 outer}},
          {Digit{lanes, vector, inner}, Digit{outerLanes, 1, outer}},
          {Digit{outerWarps, outerLanes, outer},
           Digit{innerWarps, vector * lanes, inner}}));
}

/// Blocks run over columns, then rows, then the other dims.
void TransposeSchedule::findBlock() {
  ArrayRef<int64_t> spine = kb.form.parallel;
  auto tiles = [&](const TransposeTile::Group &group) {
    int64_t lead = &group == &tile.columns ? tile.lead : 0;
    return int64_t(llvm::divideCeil(group.size + lead, uint64_t(group.tile)));
  };
  SmallVector<int64_t> sizes;
  for (auto [dim, size] : llvm::enumerate(spine)) {
    if (!tile.isTiled(dim))
      sizes.push_back(size);
  }
  sizes.push_back(tiles(tile.rows));
  sizes.push_back(tiles(tile.columns));
  kb.begin(32 * warps, {KernelBuilder::product(sizes), 1, 1}, {});
  kb.emitter.setCarrier({});
  graph::ElementBuilder eb = kb.emitter.elements();
  others = eb.delinearize(kb.blockId(0), sizes);
  // One tile starts at 0: reads of broadcast values need no mask then.
  auto start = [&](const TransposeTile::Group &group) {
    Value number = others.pop_back_val();
    return tiles(group) == 1 ? kb.index(0) : kb.mulIndex(number, group.tile);
  };
  columnStart = start(tile.columns);
  if (tile.lead)
    columnStart = kb.addIndex(columnStart, kb.index(-tile.lead));
  rowStart = start(tile.rows);
}

Value TransposeSchedule::splat(RankedTensorType carrier, Value scalar) {
  auto type = RankedTensorType::get(
      carrier.getShape(), kb.builder.getIndexType(), carrier.getEncoding());
  return tile::SplatOp::create(kb.builder, kb.loc, type, scalar);
}

TransposeSchedule::Point TransposeSchedule::enter(RankedTensorType carrier) {
  kb.emitter.setCarrier(carrier);
  kb.emitter.setMask({});
  graph::ElementBuilder eb = kb.emitter.elements();
  Point at;
  Value whole; // of interleaved rows and columns
  auto type = RankedTensorType::get(
      carrier.getShape(), kb.builder.getIndexType(), carrier.getEncoding());
  if (carrier.getRank() == 1) {
    Value linear = tile::IotaOp::create(kb.builder, kb.loc, type, 0);
    kb.emitter.setRange(linear, carrier.getNumElements());
    at.row = eb.divIndex(linear, tile.columns.size);
    at.column = eb.remIndex(linear, tile.columns.size);
    whole = eb.addIndex(
        splat(carrier, kb.mulIndex(rowStart, tile.columns.size)), linear);
    // Vectors straddle rows: the bound counts elements.
    if (tile.rows.size % tile.rows.tile)
      at.mask = kb.below(carrier, whole,
                         kb.index(tile.rows.size * tile.columns.size));
  } else {
    at.row = tile::IotaOp::create(kb.builder, kb.loc, type, 0);
    at.column = tile::IotaOp::create(kb.builder, kb.loc, type, 1);
  }
  Value row, column;
  auto limit = [&](Value value, const TransposeTile::Group &group) {
    if (group.size % group.tile == 0) {
      kb.emitter.setBounds(value, {0, group.size - 1});
      return;
    }
    Value isInside = kb.below(carrier, value, kb.index(group.size));
    at.mask = at.mask ? eb.logicalAnd(at.mask, isInside) : isInside;
  };
  if (!whole) {
    row = eb.addIndex(splat(carrier, rowStart), at.row);
    column = eb.addIndex(splat(carrier, columnStart), at.column);
    limit(row, tile.rows);
    limit(column, tile.columns);
  }
  kb.emitter.setMask(at.mask);
  placeOnSpine(at, row, column, whole);
  return at;
}

/// The spine's index at a row and a column, or at both as one number.
void TransposeSchedule::placeOnSpine(Point &at, Value row, Value column,
                                     Value whole) {
  ArrayRef<int64_t> spine = kb.form.parallel;
  RankedTensorType carrier = kb.emitter.elements().getCarrier();
  unsigned nextOther = 0;
  for (unsigned dim = 0; dim < spine.size();) {
    auto append = [&](Value value, unsigned last) {
      llvm::append_range(at.spine,
                         kb.split(value, spine.slice(dim, last - dim)));
      dim = last;
    };
    if (whole && dim == tile.rows.first)
      append(whole, tile.columns.last);
    else if (dim == tile.rows.first)
      append(row, tile.rows.last);
    else if (dim == tile.columns.first)
      append(column, tile.columns.last);
    else
      at.spine.push_back(splat(carrier, others[nextOther++])), ++dim;
  }
}

/// column * pitch + row, the row's group of 16 bytes exchanged.
Value TransposeSchedule::sharedOffset(const Point &at, int64_t bytes) {
  graph::ElementBuilder eb = kb.emitter.elements();
  TurnedColumns columns{tile.rows.tile, bytes, tile.pitch(bytes),
                        tile.isSwizzled()};
  return columns.offset(eb, at.row, at.column,
                        eb.divIndex(at.column, tile.columns.vector));
}

Value TransposeSchedule::allocate(Type storage, int64_t count) {
  auto memory =
      MemRefType::get({count}, storage, MemRefLayoutAttrInterface(),
                      kb.builder.getI64IntegerAttr(tile::kSharedSpace));
  buffers.push_back(tile::AllocOp::create(kb.builder, kb.loc, memory));
  return buffers.back();
}

/// A tile of shared memory.
Value TransposeSchedule::load(Type storage, Value buffer, Value offset) {
  graph::ElementBuilder eb = kb.emitter.elements();
  return tile::LoadOp::create(kb.builder, kb.loc, eb.type(storage), buffer,
                              offset, Value(), Value(), /*vector=*/1);
}

/// Loads an input at a point, as it is stored; 0 beyond the tensor.
Value TransposeSchedule::loadInput(const TurnedRead &read, const Point &at) {
  auto type = cast<RankedTensorType>(read.input.getType());
  Type storage = RegionEmitter::storageType(type.getElementType());
  graph::ElementBuilder eb = kb.emitter.elements();
  return tile::LoadOp::create(
      kb.builder, kb.loc, eb.type(storage),
      kb.emitter.buffers.lookup(read.input),
      kb.emitter.offset(eb.apply(read.map, at.spine), type.getShape()), at.mask,
      at.mask ? eb.zero(storage) : Value(), /*vector=*/1);
}

/// `loaded` to shared memory, also what is masked: others read whole tiles.
void TransposeSchedule::turn(Value loaded, int64_t bytes, const Point &at) {
  Value buffer =
      allocate(cast<RankedTensorType>(loaded.getType()).getElementType(),
               tile.pitch(bytes) * tile.columns.tile);
  tile::StoreOp::create(kb.builder, kb.loc, loaded, buffer,
                        sharedOffset(at, bytes), Value(), /*vector=*/1);
}

bool TransposeSchedule::isAt(const TurnedRead &read, Value value,
                             ValueRange index) {
  if (read.input != value)
    return false;
  SmallVector<Value> known = kb.emitter.elements().apply(read.map, point.spine);
  return llvm::all_of(llvm::zip(known, index), [&](auto pair) {
    auto [a, b] = pair;
    return kb.emitter.distance(a, b) == 0;
  });
}

Value TransposeSchedule::lookup(Value value, ValueRange index) {
  if (!isa<BlockArgument>(value))
    return {};
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  Type storage = RegionEmitter::storageType(element);
  for (auto [i, read] : llvm::enumerate(tile.turned)) {
    if (!isAt(read, value, index))
      continue;
    Value offset =
        tile.images.empty()
            ? sharedOffset(point, read.bytes)
            : kb.emitter.elements().addIndex(
                  imageColumn(tile.images[i], point.column, residues[i]),
                  point.row);
    return kb.emitter.fromStorage(load(storage, buffers[i], offset), element);
  }
  for (auto [read, loaded] : llvm::zip(tile.straight, early))
    if (isAt(read, value, index))
      return kb.emitter.fromStorage(loaded, element);
  return {};
}

static int64_t bytesOf(RankedTensorType type) {
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8u);
}

/// The outputs at `point`, from turned inputs in shared memory.
void TransposeSchedule::storeOutputs() {
  kb.emitter.staged = [this](Value value, ValueRange index) {
    return lookup(value, index);
  };
  graph::ElementBuilder eb = kb.emitter.elements();
  for (auto [i, output] : llvm::enumerate(kb.form.outputs)) {
    SmallVector<Value> index = eb.apply(output.index, point.spine);
    kb.emitter.store(kb.emitter.emit(output.value, index), kb.outputBuffer(i),
                     cast<RankedTensorType>(output.value.getType()), index,
                     point.mask);
  }
  kb.emitter.staged = nullptr;
}

void TransposeSchedule::turnInputs() {
  Point source = enter(carrierAlong(/*rows=*/true, tile.rows.vector));
  SmallVector<Value> loaded;
  for (const TurnedRead &read : tile.turned)
    loaded.push_back(loadInput(read, source));
  RankedTensorType rows = kb.emitter.elements().getCarrier();
  // Ahead of the barrier, so that all loads are on their way together.
  point = enter(carrierAlong(/*rows=*/false, tile.columns.vector));
  for (const TurnedRead &read : tile.straight)
    early.push_back(loadInput(read, point));
  RankedTensorType columns = kb.emitter.elements().getCarrier();
  kb.emitter.setCarrier(rows);
  for (auto [read, tile] : llvm::zip(tile.turned, loaded))
    turn(tile, read.bytes, source);
  tile::BarrierOp::create(kb.builder, kb.loc);
  kb.emitter.setCarrier(columns);
  storeOutputs();
}

void TransposeSchedule::turnOutputs() {
  Point source = enter(carrierAlong(/*rows=*/true, tile.rows.vector));
  graph::ElementBuilder eb = kb.emitter.elements();
  for (const analysis::RegionOutput &output : kb.form.outputs) {
    auto type = cast<RankedTensorType>(output.value.getType());
    Value value =
        kb.emitter.emit(output.value, eb.apply(output.index, source.spine));
    turn(kb.emitter.toStorage(value, type.getElementType()), bytesOf(type),
         source);
  }
  tile::BarrierOp::create(kb.builder, kb.loc);
  point = enter(carrierAlong(/*rows=*/false, tile.columns.vector));
  graph::ElementBuilder columns = kb.emitter.elements();
  for (auto [i, output] : llvm::enumerate(kb.form.outputs)) {
    auto type = cast<RankedTensorType>(output.value.getType());
    Value loaded = load(RegionEmitter::storageType(type.getElementType()),
                        buffers[i], sharedOffset(point, bytesOf(type)));
    tile::StoreOp::create(
        kb.builder, kb.loc, loaded, kb.outputBuffer(i),
        kb.emitter.offset(columns.apply(output.index, point.spine),
                          type.getShape()),
        point.mask, /*vector=*/1);
  }
}

void TransposeSchedule::run() {
  findBlock();
  if (!tile.images.empty())
    turnImages();
  else if (tile.turnsOutputs)
    turnOutputs();
  else
    turnInputs();
}

FailureOr<tile::KernelOp>
graph_to_tile::scheduleTranspose(KernelBuilder &kb, const TransposeTile &tile) {
  TransposeSchedule(kb, tile).run();
  return kb.kernel;
}
