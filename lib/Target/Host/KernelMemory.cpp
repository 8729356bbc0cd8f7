//===- KernelMemory.cpp - reading and writing buffers ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Offsets are row-major element numbers. A masked read touches no memory
// outside its buffer, whatever the index is where the mask is false.
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::host;

/// Largest step between lanes for which whole vectors are read.
static constexpr int64_t kMostStride = 4;

int64_t KernelBuffer::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Type host::storageType(Type elementType, bool isWide) {
  MLIRContext *context = elementType.getContext();
  if (isWide)
    elementType = graph::ElementBuilder::computeType(elementType);
  if (isa<FloatType>(elementType)) {
    unsigned width = elementType.getIntOrFloatBitWidth();
    if (width == 8 || elementType.isBF16())
      return IntegerType::get(context, width);
    return elementType;
  }
  unsigned width = elementType.getIntOrFloatBitWidth();
  return IntegerType::get(context, std::max(width, 8u));
}

static unsigned storageBytes(Type storage) {
  return storage.getIntOrFloatBitWidth() / 8;
}

Value KernelEmitter::asVector(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  Type vector = VectorType::get(type.getShape(), type.getElementType());
  return UnrealizedConversionCastOp::create(builder, loc, vector, tile)
      .getResult(0);
}

Value KernelEmitter::asTile(Value vector) {
  auto type = cast<VectorType>(vector.getType());
  Type tile = RankedTensorType::get(type.getShape(), type.getElementType());
  return UnrealizedConversionCastOp::create(builder, loc, tile, vector)
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

void KernelEmitter::setLinear(Value linear, ValueRange index,
                              ArrayRef<int64_t> shape) {
  linears.push_back(
      {linear, SmallVector<Value>(index), SmallVector<int64_t>(shape)});
}

Value KernelEmitter::offsetOf(ValueRange index, ArrayRef<int64_t> shape) {
  for (const Linear &known : linears) {
    // The last dimensions may be known, for any dimensions before.
    size_t count = known.index.size();
    if (index.size() < count || index.take_back(count) != known.index ||
        shape.take_back(count) != ArrayRef(known.shape) ||
        !isVisible(known.linear))
      continue;
    if (index.size() == count)
      return known.linear;
    int64_t rest = 1;
    for (int64_t size : known.shape)
      rest *= size;
    graph::ElementBuilder eb = elements();
    Value before = eb.linearize(index.drop_back(count), shape.drop_back(count));
    return eb.addIndex(eb.mulIndex(before, rest), known.linear);
  }
  return elements().linearize(index, shape);
}

Value KernelEmitter::address(const KernelBuffer &buffer, Type storage,
                             Value offset) {
  Value wide =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), offset);
  return LLVM::GEPOp::create(builder, loc, buffer.pointer.getType(), storage,
                             buffer.pointer, ArrayRef<LLVM::GEPArg>{wide});
}

bool KernelEmitter::isInRow(const KernelBuffer &buffer, ValueRange index) {
  for (auto [i, scalar] : llvm::enumerate(row)) {
    if (i >= index.size())
      return false;
    if (buffer.shape[i] == 1)
      continue;
    Value part = index[i];
    if (part == scalar)
      continue;
    auto tile = part.getDefiningOp<tensor::SplatOp>();
    if (!tile || tile.getInput() != scalar)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

Value KernelEmitter::load(const KernelBuffer &buffer, ValueRange index,
                          Value mask) {
  if (buffer.isRowLocal && !isInRow(buffer, index))
    leftRow = true;
  if (buffer.elements() == 0) // Never executed, or masked everywhere.
    return elements().zero(
        graph::ElementBuilder::computeType(buffer.elementType));
  Value offset = offsetOf(index, buffer.shape);
  return fromStorage(loadStorage(buffer, offset, mask), buffer);
}

Value KernelEmitter::loadStorage(const KernelBuffer &buffer, Value offset,
                                 Value mask) {
  Type storage = storageType(buffer.elementType, buffer.isWide);
  unsigned alignment = storageBytes(storage);
  if (lanes == 1) {
    if (mask)
      offset = arith::SelectOp::create(builder, loc, mask, offset, index(0));
    return LLVM::LoadOp::create(builder, loc, storage,
                                address(buffer, storage, offset), alignment);
  }
  LaneForm form = laneForm(offset);
  if (form.isAffine && form.stride == 0) {
    Value place = firstLane(offset);
    if (mask) {
      // All lanes read one place, which is good if any lane is wanted.
      Value inside =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, place,
                                index(buffer.elements()));
      place = arith::SelectOp::create(builder, loc, inside, place, index(0));
    }
    Value scalar = LLVM::LoadOp::create(
        builder, loc, storage, address(buffer, storage, place), alignment);
    return splat(scalar);
  }
  if (form.isAffine && form.stride > 1 && form.stride <= kMostStride && !mask)
    return loadStrided(buffer, storage, firstLane(offset), form.stride);
  if (!form.isAffine || form.stride != 1)
    return gather(buffer, storage, offset, mask);
  auto type = VectorType::get({lanes}, storage);
  Value start = address(buffer, storage, firstLane(offset));
  if (!mask)
    return asTile(LLVM::LoadOp::create(builder, loc, type, start, alignment));
  Value zeros =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return asTile(LLVM::MaskedLoadOp::create(
      builder, loc, type, start, asVector(mask), zeros,
      builder.getI32IntegerAttr(alignment), UnitAttr()));
}

/// Lanes that are `stride` apart: neighbours are read and picked from. The last
/// vector ends at the last lane, so that nothing behind it is read.
Value KernelEmitter::loadStrided(const KernelBuffer &buffer, Type storage,
                                 Value first, int64_t stride) {
  auto type = VectorType::get({lanes}, storage);
  graph::ElementBuilder scalars(builder, loc, {});
  int64_t lastStart = (lanes - 1) * stride + 1 - lanes;
  Value picked;
  for (int64_t part = 0; part < stride; ++part) {
    int64_t start = part + 1 < stride ? part * lanes : lastStart;
    Value place = scalars.addIndex(first, index(start));
    Value loaded = LLVM::LoadOp::create(builder, loc, type,
                                        address(buffer, storage, place),
                                        storageBytes(storage));
    // Lanes of earlier parts stay, those of this one come from `loaded`.
    SmallVector<int64_t> lanesOfPart;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t at = lane * stride - start;
      bool isHere = part + 1 < stride ? at >= 0 && at < lanes
                                      : lane * stride >= part * lanes;
      lanesOfPart.push_back(isHere ? lanes + at : lane);
    }
    picked = vector::ShuffleOp::create(builder, loc, picked ? picked : loaded,
                                       loaded, lanesOfPart);
  }
  return asTile(picked);
}

Value KernelEmitter::gather(const KernelBuffer &buffer, Type storage,
                            Value offset, Value mask) {
  ++gathers;
  graph::ElementBuilder eb = elements();
  Value wide = arith::IndexCastOp::create(
      builder, loc, eb.type(builder.getI64Type()), offset);
  Type pointers = VectorType::get({lanes}, buffer.pointer.getType());
  Value places =
      LLVM::GEPOp::create(builder, loc, pointers, storage, buffer.pointer,
                          ArrayRef<LLVM::GEPArg>{asVector(wide)});
  auto type = VectorType::get({lanes}, storage);
  Value zeros =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  Value where = asVector(mask ? mask : eb.boolean(true));
  return asTile(LLVM::masked_gather::create(
      builder, loc, type, places, where, ValueRange{zeros},
      builder.getI32IntegerAttr(storageBytes(storage))));
}

Value KernelEmitter::fromStorage(Value stored, const KernelBuffer &buffer) {
  graph::ElementBuilder eb = elements();
  Type element = buffer.elementType;
  Type compute = graph::ElementBuilder::computeType(element);
  Type storage = getElementTypeOrSelf(stored);
  if (storage == compute)
    return stored;
  if (element.isInteger(1))
    return eb.make<arith::CmpIOp>(arith::CmpIPredicate::ne, stored,
                                  eb.zero(storage));
  if (!isa<FloatType>(element))
    return eb.make<arith::TruncIOp>(eb.type(compute), stored);
  if (storage != element)
    stored = eb.make<arith::BitcastOp>(eb.type(element), stored);
  return eb.make<arith::ExtFOp>(eb.type(compute), stored);
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

Value KernelEmitter::toStorage(Value value, const KernelBuffer &buffer) {
  graph::ElementBuilder eb = elements();
  Type element = buffer.elementType;
  Type compute = graph::ElementBuilder::computeType(element);
  Type storage = storageType(element, buffer.isWide);
  if (storage == compute)
    return value;
  if (!isa<FloatType>(element))
    return element.isUnsignedInteger() || element.isInteger(1)
               ? eb.make<arith::ExtUIOp>(eb.type(storage), value)
               : eb.make<arith::ExtSIOp>(eb.type(storage), value);
  // Rounding ends in an extension: store what it extends.
  Value rounded = eb.roundTo(value, element);
  auto widened = rounded.getDefiningOp<arith::ExtFOp>();
  Value narrow = widened && getElementTypeOrSelf(widened.getIn()) == element
                     ? widened.getIn()
                     : eb.make<arith::TruncFOp>(eb.type(element), rounded);
  return storage == element
             ? narrow
             : eb.make<arith::BitcastOp>(eb.type(storage), narrow);
}

void KernelEmitter::store(Value value, const KernelBuffer &buffer,
                          ValueRange index) {
  Type storage = storageType(buffer.elementType, buffer.isWide);
  Value stored = toStorage(value, buffer);
  Value offset = firstLane(offsetOf(index, buffer.shape));
  if (lanes > 1)
    stored = asVector(stored);
  LLVM::StoreOp::create(builder, loc, stored, address(buffer, storage, offset),
                        storageBytes(storage));
}
