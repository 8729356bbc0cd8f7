//===- GraphJoinOps.cpp - pad, concat, philox -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pad and concat read each operand only under the mask of its own part, so
// reading never leaves an operand. philox makes bits from the element number.
//===----------------------------------------------------------------------===//
#include "ShapeUtils.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec::graph;

/// The map that ignores all `rank` dimensions and reads a scalar.
static AffineMap scalarMap(int64_t rank, MLIRContext *context) {
  return AffineMap::get(rank, 0, {}, context);
}

//===----------------------------------------------------------------------===//
// pad
//===----------------------------------------------------------------------===//

Value PadOp::buildElement(ElementBuilder &builder, unsigned, ValueRange index,
                          ElementReader &reader) {
  Value value = reader.read(1, {});
  Value mask;
  SmallVector<Value> inner;
  RankedTensorType from = getOperand().getType();
  for (auto [i, low, high] : llvm::enumerate(getLow(), getHigh())) {
    inner.push_back(builder.addIndex(index[i], -low));
    if (low == 0 && high == 0)
      continue;
    // Past a dynamic size only the low side can be tested.
    if (from.isDynamicDim(i) && high != 0)
      return Value();
    Value part = builder.inRange(
        inner.back(), from.isDynamicDim(i) ? std::numeric_limits<int64_t>::max()
                                           : from.getDimSize(i));
    mask = mask ? builder.logicalAnd(mask, part) : part;
  }
  return mask ? reader.readMasked(0, inner, mask, value)
              : reader.read(0, inner);
}

IterationSpace PadOp::getIterationSpace() {
  MLIRContext *context = getContext();
  SmallVector<AffineExpr> exprs;
  for (auto [i, low] : llvm::enumerate(getLow()))
    exprs.push_back(getAffineDimExpr(i, context) - low);
  int64_t rank = getType().getRank();
  IterationSpace space;
  space.parallel.assign(getType().getShape().begin(),
                        getType().getShape().end());
  space.operands.push_back(
      {AffineMap::get(rank, 0, exprs, context), true, false});
  space.operands.push_back({scalarMap(rank, context), false, false});
  return space;
}

FusionRole PadOp::getFusionRole() { return FusionRole::movement; }

LogicalResult
PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                        ValueRange operands, DictionaryAttr attributes,
                        OpaqueProperties properties, RegionRange regions,
                        SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto from = cast<RankedTensorType>(adaptor.getOperand().getType());
  ArrayRef<int64_t> low = adaptor.getLow(), high = adaptor.getHigh();
  if (int64_t(low.size()) != from.getRank() ||
      int64_t(high.size()) != from.getRank())
    return emitOptionalError(
        location, "low and high must have one entry per dimension, expected ",
        from.getRank(), ", found ", low.size(), " and ", high.size());
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < from.getRank(); ++i) {
    if (low[i] < 0 || high[i] < 0)
      return emitOptionalError(location,
                               "low and high must not be negative, found ",
                               low[i], " and ", high[i]);
    if (from.isDynamicDim(i) && (low[i] != 0 || high[i] != 0)) {
      shape.push_back(ShapedType::kDynamic);
      continue;
    }
    auto padding = shapes::checkedAdd(low[i], high[i]);
    auto size = padding ? shapes::checkedAdd(*padding, from.getDimSize(i))
                        : std::nullopt;
    if (from.isDynamicDim(i))
      size = ShapedType::kDynamic;
    if (!size)
      return emitOptionalError(location, "padded size of dimension ", i,
                               " overflows");
    shape.push_back(*size);
  }
  types.push_back(RankedTensorType::get(shape, from.getElementType()));
  return success();
}

LogicalResult PadOp::verify() {
  if (getValue().getType().getRank() != 0)
    return emitOpError() << "value must have rank 0, found "
                         << getValue().getType().getRank();
  if (getValue().getType().getElementType() != getType().getElementType())
    return emitOpError()
           << "value must have the element type of the operand, expected "
           << getType().getElementType() << ", found "
           << getValue().getType().getElementType();
  return shapes::checkElementCount(getOperation(), getType());
}

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

Value ConcatOp::buildElement(ElementBuilder &builder, unsigned,
                             ValueRange index, ElementReader &reader) {
  if (getInputs().size() == 1)
    return reader.read(0, index);
  // Each operand is read under its own mask, with what was found so far
  // elsewhere.
  int64_t axis = getAxis(), offset = 0;
  Value value =
      builder.zero(ElementBuilder::computeType(getType().getElementType()));
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(axis);
    bool isLast = i + 1 == getInputs().size();
    if (ShapedType::isDynamic(size) && !isLast)
      return Value();
    if (size == 0)
      continue;
    SmallVector<Value> inner(index);
    inner[axis] = builder.addIndex(index[axis], -offset);
    Value mask =
        builder.inRange(inner[axis], ShapedType::isDynamic(size)
                                         ? std::numeric_limits<int64_t>::max()
                                         : size);
    value = reader.readMasked(i, inner, mask, value);
    offset += size;
  }
  return value;
}

IterationSpace ConcatOp::getIterationSpace() {
  MLIRContext *context = getContext();
  int64_t rank = getType().getRank(), axis = getAxis(), offset = 0;
  IterationSpace space;
  space.parallel.assign(getType().getShape().begin(),
                        getType().getShape().end());
  bool isKnown = true;
  for (Value input : getInputs()) {
    int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(axis);
    SmallVector<AffineExpr> exprs;
    for (int64_t i = 0; i < rank; ++i)
      exprs.push_back(getAffineDimExpr(i, context) - (i == axis ? offset : 0));
    AffineMap map =
        isKnown ? AffineMap::get(rank, 0, exprs, context) : AffineMap();
    space.operands.push_back({map, getInputs().size() > 1, !isKnown});
    isKnown &= !ShapedType::isDynamic(size);
    offset += isKnown ? size : 0;
  }
  return space;
}

FusionRole ConcatOp::getFusionRole() { return FusionRole::movement; }

LogicalResult
ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  if (operands.empty())
    return emitOptionalError(location, "expects at least one input");
  auto first = cast<RankedTensorType>(operands[0].getType());
  int64_t axis = adaptor.getAxis();
  if (axis < 0 || axis >= first.getRank())
    return emitOptionalError(location, "axis must be in [0, ", first.getRank(),
                             "), found ", axis);
  SmallVector<int64_t> shape(first.getShape());
  std::optional<int64_t> total = 0;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (type.getElementType() != first.getElementType() ||
        type.getRank() != first.getRank())
      return emitOptionalError(
          location, "inputs must have one rank and element type, found ", first,
          " and ", type);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (dim == axis)
        continue;
      if (!shapes::sizesAgree(shape[dim], type.getDimSize(dim)))
        return emitOptionalError(location, "input ", i, " must have size ",
                                 shape[dim], " in dimension ", dim, ", found ",
                                 type.getDimSize(dim));
      if (ShapedType::isDynamic(shape[dim]))
        shape[dim] = type.getDimSize(dim);
    }
    int64_t size = type.getDimSize(axis);
    if (*total == ShapedType::kDynamic || ShapedType::isDynamic(size))
      total = ShapedType::kDynamic;
    else
      total = shapes::checkedAdd(*total, size);
    if (!total)
      return emitOptionalError(location, "joined size of dimension ", axis,
                               " overflows");
  }
  shape[axis] = *total;
  types.push_back(RankedTensorType::get(shape, first.getElementType()));
  return success();
}

LogicalResult ConcatOp::verify() {
  return shapes::checkElementCount(getOperation(), getType());
}

//===----------------------------------------------------------------------===//
// philox
//===----------------------------------------------------------------------===//

namespace {
/// Philox4x32-10 on i64 values that hold 32-bit words.
struct PhiloxBuilder {
  ElementBuilder &eb;
  Type i64;

  Value constant(uint64_t value) { return eb.integer(i64, int64_t(value)); }
  Value low(Value value) {
    return eb.make<arith::AndIOp>(value, constant(0xffffffff));
  }
  Value high(Value value) {
    return eb.make<arith::ShRUIOp>(value, constant(32));
  }

  SmallVector<Value, 4> run(Value counter, Value key) {
    SmallVector<Value, 4> state = {low(counter), high(counter), constant(0),
                                   constant(0)};
    Value key0 = low(key), key1 = high(key);
    for (int round = 0; round < 10; ++round) {
      if (round > 0) {
        key0 = low(eb.make<arith::AddIOp>(key0, constant(0x9e3779b9)));
        key1 = low(eb.make<arith::AddIOp>(key1, constant(0xbb67ae85)));
      }
      Value product0 = eb.make<arith::MulIOp>(state[0], constant(0xd2511f53));
      Value product1 = eb.make<arith::MulIOp>(state[2], constant(0xcd9e8d57));
      Value mixed0 = eb.make<arith::XOrIOp>(high(product1), state[1]);
      Value mixed2 = eb.make<arith::XOrIOp>(high(product0), state[3]);
      state = {eb.make<arith::XOrIOp>(mixed0, key0), low(product1),
               eb.make<arith::XOrIOp>(mixed2, key1), low(product0)};
    }
    return state;
  }
};
} // namespace

Value PhiloxOp::buildElement(ElementBuilder &builder, unsigned,
                             ValueRange index, ElementReader &reader) {
  for (int64_t size : getType().getShape().drop_front(getType().getRank() > 0))
    if (ShapedType::isDynamic(size))
      return Value();
  Value seed = reader.read(0, {}), offset = reader.read(1, {});
  Type i64 = builder.getBuilder().getI64Type(),
       i32 = builder.getBuilder().getI32Type();
  Value number = builder.make<arith::IndexCastOp>(
      builder.type(i64), builder.linearize(index, getType().getShape()));
  PhiloxBuilder philox{builder, i64};
  Value block = builder.make<arith::ShRUIOp>(number, philox.constant(2));
  Value counter = builder.make<arith::AddIOp>(offset, block);
  SmallVector<Value, 4> words = philox.run(counter, seed);
  Value which = builder.make<arith::AndIOp>(number, philox.constant(3));
  Value word = words[3];
  for (int i = 0; i < 3; ++i) {
    Value isThis = builder.make<arith::CmpIOp>(arith::CmpIPredicate::eq, which,
                                               philox.constant(i));
    word = builder.select(isThis, words[i], word);
  }
  return builder.make<arith::TruncIOp>(builder.type(i32), word);
}

IterationSpace PhiloxOp::getIterationSpace() {
  IterationSpace space;
  space.parallel.assign(getType().getShape().begin(),
                        getType().getShape().end());
  space.operands.assign(
      2, {scalarMap(getType().getRank(), getContext()), false, false});
  return space;
}

FusionRole PhiloxOp::getFusionRole() { return FusionRole::movement; }

LogicalResult PhiloxOp::verify() {
  if (getSeed().getType().getRank() != 0)
    return emitOpError() << "seed and offset must have rank 0, found "
                         << getSeed().getType().getRank();
  return shapes::checkElementCount(getOperation(), getType());
}
