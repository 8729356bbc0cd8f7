//===- TransposeImage.cpp - turned tiles of vectors that start anywhere ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs and outputs whose leading dimension is odd have each of their rows at
// another place of a 16-byte vector. A block of TransposeSchedule then does:
//
//   every turned input: the vectors of memory that hold the tile's rows of each
//     column -> shared memory, in the background
//   barrier
//   outputs: whole vectors of memory; turned inputs are read from shared memory
//
// In: element (row, column) is at start + column * stride + row in memory and
// at residue + column * pitch + row in shared memory, and pitch = stride and
// residue = start modulo a vector (fusec/Analysis/TransposeTile.h). So vectors
// are copied as they are, one more than the rows fill.
//
// Out: row r of the outputs has its first whole sector behind the tile's start
// at shift(r) = -(start + r * stride) modulo a sector, and the block takes from
// there on as many columns as the tile has. Tiles start a sector early
// (`lead`), so that the first one of a row includes what lies before its first
// sector. Blocks at an edge store single elements.
//===----------------------------------------------------------------------===//
#include "TransposeSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using analysis::TileImage;
using analysis::TurnedRead;
using tile::Digit;

static RankedTensorType typeOf(const TurnedRead &read) {
  return cast<RankedTensorType>(read.input.getType());
}

/// Offset of the block in a tensor, without its rows and columns.
Value TransposeSchedule::startOf(ArrayRef<int64_t> strides) {
  Value start = kb.index(0);
  unsigned next = 0;
  for (unsigned dim = 0; dim < strides.size(); ++dim) {
    if (!tile.isTiled(dim))
      start = kb.addIndex(start, kb.mulIndex(others[next++], strides[dim]));
  }
  return start;
}

/// Where row 0 of a column of the tile lies in shared memory.
Value TransposeSchedule::imageColumn(const TileImage &image, Value column,
                                     Value residue) {
  graph::ElementBuilder eb = kb.emitter.elements();
  Value place = eb.addIndex(eb.mulIndex(column, image.pitch),
                            splat(eb.getCarrier(), residue));
  if (!image.skewEvery)
    return place;
  return eb.addIndex(
      place, eb.mulIndex(eb.divIndex(column, image.skewEvery), image.vector));
}

/// Whole vectors of an input. What lies past the rows comes along; what lies
/// past the input does not.
void TransposeSchedule::copyImage(unsigned position) {
  const TurnedRead &read = tile.turned[position];
  const TileImage &image = tile.images[position];
  RankedTensorType type = typeOf(read);
  int64_t vector = image.vector, stride = read.strides[tile.columns.last - 1];
  int64_t threads = 32 * warps, trips = tile.imageTrips(image);
  allocate(RegionEmitter::storageType(type.getElementType()),
           tile.imageSize(image));
  graph::ElementBuilder scalars(kb.builder, kb.loc);
  Value start = startOf(read.strides);
  int64_t ahead = llvm::mod(-tile.lead * stride, vector);
  residues.push_back(
      scalars.remIndex(kb.addIndex(start, kb.index(ahead)), vector));

  RankedTensorType carrier = kb.carrierType(
      {trips * threads, vector},
      tile::LayoutAttr::get(kb.builder.getContext(),
                            {Digit{vector, 1, 1}, Digit{trips, threads, 0}},
                            {Digit{32, 1, 0}}, {Digit{warps, 32, 0}}));
  kb.emitter.setCarrier(carrier);
  graph::ElementBuilder eb = kb.emitter.elements();
  Value slot = kb.axisTile(carrier, 0, kb.index(0));
  Value element = kb.axisTile(carrier, 1, kb.index(0));
  Value local = eb.divIndex(slot, image.vectors);
  Value which = eb.remIndex(slot, image.vectors);
  Value column = eb.addIndex(splat(carrier, columnStart), local);
  Value first = eb.addIndex(splat(carrier, kb.addIndex(start, rowStart)),
                            eb.mulIndex(column, stride));
  Value number = eb.addIndex(eb.divIndex(first, vector), which);

  auto below = [&](Value lhs, Value rhs) {
    return eb.make<arith::CmpIOp>(arith::CmpIPredicate::slt, lhs, rhs);
  };
  // The column exists, its rows do not end before, nor does the input.
  Value behind = kb.addIndex(kb.index(tile.rows.size + vector - 1),
                             kb.mulIndex(rowStart, -1));
  Value end = eb.divIndex(eb.addIndex(first, splat(carrier, behind)), vector);
  Value mask =
      eb.logicalAnd(eb.inRange(column, tile.columns.size), below(number, end));
  if (hasEnd(position))
    mask = eb.logicalAnd(
        mask, below(number, eb.index(type.getNumElements() / vector)));
  Value place = eb.addIndex(
      eb.divIndex(imageColumn(image, local, residues.back()), vector), which);
  auto atVector = [&](Value number) {
    return eb.addIndex(eb.mulIndex(number, vector), element);
  };
  tile::CopyOp::create(kb.builder, kb.loc,
                       kb.emitter.buffers.lookup(read.input), atVector(number),
                       buffers.back(), atVector(place), mask,
                       /*vector=*/1);
}

/// Whether the last elements of an input are no whole vector.
bool TransposeSchedule::hasEnd(unsigned position) {
  return typeOf(tile.turned[position]).getNumElements() %
         tile.images[position].vector;
}

/// The last elements of an input, by one thread each, if they are in the tile.
void TransposeSchedule::copyEnd(unsigned position) {
  const TurnedRead &read = tile.turned[position];
  const TileImage &image = tile.images[position];
  int64_t count = typeOf(read).getNumElements();
  int64_t rest = count % image.vector;
  graph::ElementBuilder scalars(kb.builder, kb.loc);
  auto below = [&](Value lhs, int64_t rhs) {
    return scalars.make<arith::CmpIOp>(arith::CmpIPredicate::slt, lhs,
                                       kb.index(rhs));
  };
  auto minus = [&](int64_t value, Value start) {
    return kb.addIndex(kb.index(value), kb.mulIndex(start, -1));
  };
  Value row = minus(tile.rows.size - rest, rowStart);
  Value column = minus(tile.columns.size - 1, columnStart);
  Value holds = scalars.logicalAnd(below(row, tile.rows.tile),
                                   below(column, tile.imageColumns()));
  unsigned next = 0;
  for (auto [dim, size] : llvm::enumerate(kb.form.parallel)) {
    if (!tile.isTiled(dim))
      holds = scalars.logicalAnd(
          holds,
          scalars.make<arith::CmpIOp>(arith::CmpIPredicate::eq, others[next++],
                                      kb.index(size - 1)));
  }
  auto branch = scf::IfOp::create(kb.builder, kb.loc, holds);
  OpBuilder::InsertionGuard guard(kb.builder);
  kb.builder.setInsertionPoint(branch.thenYield());
  RankedTensorType carrier = kb.carrierType(
      {32 * warps},
      tile::LayoutAttr::get(kb.builder.getContext(), {}, {Digit{32, 1, 0}},
                            {Digit{warps, 32, 0}}));
  kb.emitter.setCarrier(carrier);
  graph::ElementBuilder eb = kb.emitter.elements();
  Value element = kb.axisTile(carrier, 0, kb.index(0));
  Value at = eb.addIndex(splat(carrier, row), element);
  Value mask = eb.logicalAnd(eb.make<arith::CmpIOp>(arith::CmpIPredicate::slt,
                                                    element, eb.index(rest)),
                             eb.inRange(at, tile.rows.tile));
  Type storage = RegionEmitter::storageType(typeOf(read).getElementType());
  Value loaded = tile::LoadOp::create(kb.builder, kb.loc, eb.type(storage),
                                      kb.emitter.buffers.lookup(read.input),
                                      eb.addIndex(element, count - rest), mask,
                                      eb.zero(storage), /*vector=*/1);
  Value place = eb.addIndex(
      imageColumn(image, splat(carrier, column), residues[position]), at);
  tile::StoreOp::create(kb.builder, kb.loc, loaded, buffers[position], place,
                        mask, /*vector=*/1);
  tile::BarrierOp::create(kb.builder, kb.loc);
}

/// The outputs' points: whole vectors of memory in every row.
TransposeSchedule::Point TransposeSchedule::enterShifted(bool isInner) {
  RankedTensorType carrier = carrierAlong(/*rows=*/false, tile.columns.vector);
  kb.emitter.setCarrier(carrier);
  graph::ElementBuilder eb = kb.emitter.elements();
  Point at;
  at.row = kb.axisTile(carrier, 0, kb.index(0));
  at.column = kb.axisTile(carrier, 1, kb.index(0));
  Value row = eb.addIndex(splat(carrier, rowStart), at.row);
  if (tile.lead) {
    Value start =
        eb.addIndex(splat(carrier, startOf(tile.outputStrides)),
                    eb.mulIndex(row, tile.outputStrides[tile.rows.last - 1]));
    Value vectors = eb.divIndex(eb.addIndex(start, tile.lead - 1), tile.lead);
    Value shift =
        eb.make<arith::SubIOp>(eb.mulIndex(vectors, tile.lead), start);
    at.column = eb.addIndex(at.column, shift);
  }
  Value column = eb.addIndex(splat(carrier, columnStart), at.column);
  kb.emitter.open(column);
  if (isInner) {
    kb.emitter.setBounds(row, {0, tile.rows.size - 1});
    kb.emitter.setBounds(column, {0, tile.columns.size - 1});
  } else {
    at.mask = eb.logicalAnd(kb.below(carrier, row, kb.index(tile.rows.size)),
                            eb.inRange(column, tile.columns.size));
  }
  kb.emitter.setMask(at.mask);
  placeOnSpine(at, row, column, Value());
  return at;
}

/// What follows the copies: other inputs are asked for before they are awaited.
void TransposeSchedule::finishImages(bool isInner) {
  point = enterShifted(isInner);
  early.clear();
  for (const TurnedRead &read : tile.straight)
    early.push_back(loadInput(read, point));
  RankedTensorType carrier = kb.emitter.elements().getCarrier();
  tile::CopyWaitOp::create(kb.builder, kb.loc, 0);
  tile::BarrierOp::create(kb.builder, kb.loc);
  for (unsigned i = 0; !isInner && i < tile.turned.size(); ++i)
    if (hasEnd(i))
      copyEnd(i);
  kb.emitter.setCarrier(carrier);
  storeOutputs();
}

void TransposeSchedule::turnImages() {
  kb.emitter.setMask({});
  for (unsigned i = 0; i < tile.turned.size(); ++i)
    copyImage(i);
  tile::CopyCommitOp::create(kb.builder, kb.loc);
  // Blocks that hold an input's last elements are not among the inner ones.
  graph::ElementBuilder scalars(kb.builder, kb.loc);
  auto atMost = [&](Value start, int64_t most) {
    return scalars.make<arith::CmpIOp>(arith::CmpIPredicate::sle, start,
                                       kb.index(most));
  };
  int64_t rest = 0;
  for (const TileImage &image : tile.images)
    rest = std::max(rest, image.vector);
  Value isInner = scalars.logicalAnd(
      atMost(rowStart, tile.rows.size - rest - tile.rows.tile),
      atMost(columnStart, tile.columns.size - tile.imageColumns()));
  isInner = scalars.logicalAnd(
      isInner, scalars.make<arith::CmpIOp>(arith::CmpIPredicate::sge,
                                           columnStart, kb.index(0)));
  auto branch = scf::IfOp::create(kb.builder, kb.loc, isInner,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(kb.builder);
  kb.emitter.setCarrier({});
  kb.builder.setInsertionPoint(branch.thenYield());
  finishImages(/*isInner=*/true);
  kb.builder.setInsertionPoint(branch.elseYield());
  finishImages(/*isInner=*/false);
}
