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

static FailureOr<RankedTensorType> inferPad(PadOp::Adaptor op,
                                            shapes::Complain complain) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  ArrayRef<int64_t> low = op.getLow(), high = op.getHigh();
  int64_t rank = from.getRank();
  if (int64_t(low.size()) != rank || int64_t(high.size()) != rank) {
    complain("low and high must have one entry per dimension, expected " +
             Twine(rank) + ", found " + Twine(low.size()) + " and " +
             Twine(high.size()));
    return failure();
  }
  SmallVector<int64_t> shape;
  for (int64_t i = 0; i < rank; ++i) {
    if (low[i] < 0 || high[i] < 0) {
      complain("low and high must not be negative, found " + Twine(low[i]) +
               " and " + Twine(high[i]));
      return failure();
    }
    int64_t size = from.isDynamicDim(i) ? 0 : from.getDimSize(i);
    auto padding = shapes::checkedAdd(low[i], high[i]);
    auto padded = padding ? shapes::checkedAdd(*padding, size) : std::nullopt;
    if (!padded) {
      complain("padded size of dimension " + Twine(i) + " overflows");
      return failure();
    }
    shape.push_back(from.isDynamicDim(i) ? ShapedType::kDynamic : *padded);
  }
  return RankedTensorType::get(shape, from.getElementType());
}

LogicalResult
PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                        ValueRange operands, DictionaryAttr attributes,
                        OpaqueProperties properties, RegionRange regions,
                        SmallVectorImpl<Type> &types) {
  return shapes::inferInto(types, location, [&](shapes::Complain complain) {
    return inferPad(Adaptor(operands, attributes, properties, regions),
                    complain);
  });
}

LogicalResult PadOp::verify() {
  if (failed(shapes::verifyInferred(getOperation(),
                                    [&](shapes::Complain complain) {
                                      return inferPad(Adaptor(*this), complain);
                                    })))
    return failure();
  RankedTensorType value = getValue().getType();
  if (value.getRank() != 0)
    return emitOpError() << "value must have rank 0, found " << value.getRank();
  if (value.getElementType() != getType().getElementType())
    return emitOpError()
           << "value must have the element type of the operand, expected "
           << getType().getElementType() << ", found "
           << value.getElementType();
  return success();
}

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

/// The tensor that `value` is made of element by element, looking through ops
/// that have no other operand but constants.
static Value soleSource(Value value) {
  constexpr unsigned kMostSteps = 8;
  for (unsigned step = 0; step < kMostSteps; ++step) {
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<FusibleOpInterface>(op) ||
        isa<ReductionOpInterface>(op))
      return value;
    Value source;
    for (Value operand : op->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (auto broadcast = dyn_cast_or_null<BroadcastOp>(maker))
        maker = broadcast.getOperand().getDefiningOp();
      if (isa_and_nonnull<ConstantOp>(maker))
        continue;
      if (source)
        return value;
      source = operand;
    }
    if (!source)
      return value;
    value = source;
  }
  return value;
}

/// Whether single slices are joined that are made of the same elements: the
/// parts of packed numbers. All of them are then read for each element, which
/// takes one access and no mask.
static bool joinsParts(ConcatOp op) {
  constexpr unsigned kMostParts = 8;
  if (op.getInputs().size() > kMostParts)
    return false;
  Value source = soleSource(op.getInputs().front());
  return llvm::all_of(op.getInputs(), [&](Value input) {
    return cast<RankedTensorType>(input.getType()).getDimSize(op.getAxis()) ==
               1 &&
           soleSource(input) == source;
  });
}

Value ConcatOp::buildElement(ElementBuilder &builder, unsigned,
                             ValueRange index, ElementReader &reader) {
  if (getInputs().size() == 1)
    return reader.read(0, index);
  if (joinsParts(*this)) {
    SmallVector<Value> inner(index);
    inner[getAxis()] = builder.index(0);
    Value value;
    for (unsigned i = 0; i < getInputs().size(); ++i) {
      Value part = reader.read(i, inner);
      if (!value) {
        value = part;
        continue;
      }
      Value isHere = builder.make<arith::CmpIOp>(
          arith::CmpIPredicate::eq, index[getAxis()], builder.index(i));
      value = builder.select(isHere, part, value);
    }
    return value;
  }
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

/// Joins what two sizes of one dimension say; nothing if they differ.
static std::optional<int64_t> refineSize(int64_t lhs, int64_t rhs) {
  if (!shapes::sizesAgree(lhs, rhs))
    return std::nullopt;
  return ShapedType::isDynamic(lhs) ? rhs : lhs;
}

static FailureOr<RankedTensorType> inferConcat(ConcatOp::Adaptor op,
                                               shapes::Complain complain) {
  if (op.getInputs().empty()) {
    complain("expects at least one input");
    return failure();
  }
  auto first = cast<RankedTensorType>(op.getInputs()[0].getType());
  int64_t axis = op.getAxis(), rank = first.getRank();
  if (axis < 0 || axis >= rank) {
    complain("axis must be in [0, " + Twine(rank) + "), found " + Twine(axis));
    return failure();
  }
  SmallVector<int64_t> shape(first.getShape());
  std::optional<int64_t> total = 0;
  bool isDynamic = false;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getElementType() != first.getElementType() ||
        type.getRank() != rank) {
      complain("inputs must have one rank and element type, found " +
               shapes::text(first) + " and " + shapes::text(type));
      return failure();
    }
    for (int64_t dim = 0; dim < rank; ++dim) {
      if (dim == axis)
        continue;
      auto size = refineSize(shape[dim], type.getDimSize(dim));
      if (!size) {
        complain("input " + Twine(i) + " must have size " + Twine(shape[dim]) +
                 " in dimension " + Twine(dim) + ", found " +
                 Twine(type.getDimSize(dim)));
        return failure();
      }
      shape[dim] = *size;
    }
    isDynamic |= type.isDynamicDim(axis);
    if (!type.isDynamicDim(axis))
      total = shapes::checkedAdd(*total, type.getDimSize(axis));
    if (!total) {
      complain("joined size of dimension " + Twine(axis) + " overflows");
      return failure();
    }
  }
  shape[axis] = isDynamic ? ShapedType::kDynamic : *total;
  return RankedTensorType::get(shape, first.getElementType());
}

LogicalResult
ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  return shapes::inferInto(types, location, [&](shapes::Complain complain) {
    return inferConcat(Adaptor(operands, attributes, properties, regions),
                       complain);
  });
}

LogicalResult ConcatOp::verify() {
  if (failed(shapes::verifyInferred(
          getOperation(), [&](shapes::Complain complain) {
            return inferConcat(Adaptor(*this), complain);
          })))
    return failure();
  return success();
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
  // Four numbers are one block: index arithmetic, so that a thread that makes
  // all of them is seen to make it once.
  Value number = builder.linearize(index, getType().getShape());
  auto asInteger = [&](Value value) {
    return builder.make<arith::IndexCastOp>(builder.type(i64), value);
  };
  PhiloxBuilder philox{builder, i64};
  Value block = asInteger(builder.divIndex(number, 4));
  Value counter = builder.make<arith::AddIOp>(offset, block);
  SmallVector<Value, 4> words = philox.run(counter, seed);
  Value which = asInteger(builder.remIndex(number, 4));
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
