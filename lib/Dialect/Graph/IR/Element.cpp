//===- Element.cpp - building scalar and tile arithmetic ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants, index arithmetic and logic of ElementBuilder. Every op made here
// is on `type(scalar)`, so that the same calls serve scalars and tiles.
// Conversions between element types are in ElementConvert.cpp.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Element.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fusec::graph;

Type ElementBuilder::computeType(Type elementType) {
  if (auto real = dyn_cast<FloatType>(elementType))
    return real.getWidth() < 32 ? Float32Type::get(elementType.getContext())
                                : elementType;
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(elementType.getContext(), integer.getWidth());
  return elementType;
}

Type ElementBuilder::type(Type scalar) const {
  if (!carrier)
    return scalar;
  return RankedTensorType::get(carrier.getShape(), scalar,
                               carrier.getEncoding());
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// A constant of `scalar` in the builder's carrier: a dense splat for tiles.
static Value constant(ElementBuilder &eb, TypedAttr scalar) {
  TypedAttr value = scalar;
  if (eb.getCarrier()) {
    auto tile = cast<ShapedType>(eb.type(scalar.getType()));
    value = DenseElementsAttr::get(tile, ArrayRef<Attribute>(scalar));
  }
  return eb.make<arith::ConstantOp>(value);
}

Value ElementBuilder::index(int64_t value) {
  return constant(*this, builder.getIndexAttr(value));
}

Value ElementBuilder::boolean(bool value) {
  return constant(*this, builder.getBoolAttr(value));
}

Value ElementBuilder::real(Type scalar, double value) {
  return constant(*this, builder.getFloatAttr(scalar, value));
}

Value ElementBuilder::integer(Type scalar, int64_t value) {
  unsigned width = scalar.getIntOrFloatBitWidth();
  APInt wide(64, static_cast<uint64_t>(value));
  return integer(wide.sextOrTrunc(width));
}

Value ElementBuilder::integer(const APInt &value) {
  Type scalar = builder.getIntegerType(value.getBitWidth());
  return constant(*this, builder.getIntegerAttr(scalar, value));
}

Value ElementBuilder::zero(Type scalar) {
  return isa<FloatType>(scalar) ? real(scalar, 0.0) : integer(scalar, 0);
}

Value ElementBuilder::one(Type scalar) {
  return isa<FloatType>(scalar) ? real(scalar, 1.0) : integer(scalar, 1);
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Value ElementBuilder::addIndex(Value lhs, Value rhs) {
  return make<arith::AddIOp>(lhs, rhs);
}

Value ElementBuilder::addIndex(Value lhs, int64_t rhs) {
  return rhs == 0 ? lhs : addIndex(lhs, index(rhs));
}

Value ElementBuilder::mulIndex(Value lhs, int64_t rhs) {
  if (rhs == 1)
    return lhs;
  return rhs == 0 ? index(0) : make<arith::MulIOp>(lhs, index(rhs));
}

Value ElementBuilder::divIndex(Value lhs, int64_t rhs) {
  assert(rhs > 0 && "division by a non-positive constant");
  return rhs == 1 ? lhs : make<arith::DivUIOp>(lhs, index(rhs));
}

Value ElementBuilder::remIndex(Value lhs, int64_t rhs) {
  assert(rhs > 0 && "remainder by a non-positive constant");
  return rhs == 1 ? index(0) : make<arith::RemUIOp>(lhs, index(rhs));
}

Value ElementBuilder::inRange(Value value, int64_t bound) {
  // A negative value is a huge unsigned one.
  return make<arith::CmpIOp>(arith::CmpIPredicate::ult, value, index(bound));
}

Value ElementBuilder::toIndex(Value integer, bool isUnsigned) {
  Type wanted = type(builder.getIndexType());
  // An i1 is extended as the number 1, never -1.
  if (isUnsigned || getElementTypeOrSelf(integer).isInteger(1))
    return make<arith::IndexCastUIOp>(wanted, integer);
  return make<arith::IndexCastOp>(wanted, integer);
}

Value ElementBuilder::fromIndex(Value index, Type elementType) {
  Type wide = builder.getI64Type();
  Value value = make<arith::IndexCastOp>(type(wide), index);
  return convert(value, wide, elementType);
}

/// Whether `expr` has a part that can make it less than 0, dims being none.
static bool mayBeNegative(AffineExpr expr) {
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return value.getValue() < 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || binary.getKind() == AffineExprKind::Mod)
    return false;
  return mayBeNegative(binary.getLHS()) || mayBeNegative(binary.getRHS());
}

/// `lhs` floordiv or mod `rhs`. Where `lhs` may be negative the division, which
/// knows no signs, is that of -1 - lhs: floor(x / d) is -1 - floor((-1 - x) /
/// d) and x mod d is d - 1 - (-1 - x) mod d.
static Value divide(ElementBuilder &eb, bool isFloor, Value lhs, int64_t rhs,
                    bool isSigned) {
  auto unsignedOf = [&](Value value) {
    return isFloor ? eb.divIndex(value, rhs) : eb.remIndex(value, rhs);
  };
  if (!isSigned || rhs == 1)
    return unsignedOf(lhs);
  Value isNegative =
      eb.make<arith::CmpIOp>(arith::CmpIPredicate::slt, lhs, eb.index(0));
  auto mirrored = [&](int64_t from, Value value) -> Value {
    return eb.make<arith::SelectOp>(
        isNegative, eb.make<arith::SubIOp>(eb.index(from), value), value);
  };
  return mirrored(isFloor ? -1 : rhs - 1, unsignedOf(mirrored(-1, lhs)));
}

static Value applyExpr(ElementBuilder &eb, AffineExpr expr, ValueRange dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return eb.index(value.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = applyExpr(eb, binary.getLHS(), dims);
  auto rhs = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() == AffineExprKind::Add)
    return rhs ? eb.addIndex(lhs, rhs.getValue())
               : eb.addIndex(lhs, applyExpr(eb, binary.getRHS(), dims));
  assert(rhs && "affine maps of graph ops multiply and divide by constants");
  switch (binary.getKind()) {
  case AffineExprKind::Mul:
    return eb.mulIndex(lhs, rhs.getValue());
  case AffineExprKind::FloorDiv:
  case AffineExprKind::Mod:
    return divide(eb, binary.getKind() == AffineExprKind::FloorDiv, lhs,
                  rhs.getValue(), mayBeNegative(binary.getLHS()));
  default:
    llvm_unreachable("no ceildiv in affine maps of graph ops");
  }
}

SmallVector<Value> ElementBuilder::apply(AffineMap map, ValueRange dims) {
  SmallVector<Value> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(applyExpr(*this, expr, dims));
  return results;
}

Value ElementBuilder::linearize(ValueRange index, ArrayRef<int64_t> shape) {
  Value linear;
  for (auto [value, size] : llvm::zip_equal(index, shape))
    linear = linear ? addIndex(mulIndex(linear, size), value) : value;
  return linear ? linear : this->index(0);
}

SmallVector<Value> ElementBuilder::delinearize(Value linear,
                                               ArrayRef<int64_t> shape) {
  SmallVector<Value> result(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    // The leading index is what is left: its size is not needed.
    result[i] = i == 0 ? linear : remIndex(linear, shape[i]);
    if (i > 0)
      linear = divIndex(linear, shape[i]);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Logic
//===----------------------------------------------------------------------===//

Value ElementBuilder::logicalAnd(Value lhs, Value rhs) {
  return make<arith::AndIOp>(lhs, rhs);
}

Value ElementBuilder::logicalOr(Value lhs, Value rhs) {
  return make<arith::OrIOp>(lhs, rhs);
}

Value ElementBuilder::logicalNot(Value value) {
  return make<arith::XOrIOp>(value, boolean(true));
}

Value ElementBuilder::select(Value condition, Value ifTrue, Value ifFalse) {
  return make<arith::SelectOp>(condition, ifTrue, ifFalse);
}
