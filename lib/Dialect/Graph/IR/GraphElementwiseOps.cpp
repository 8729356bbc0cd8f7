//===- GraphElementwiseOps.cpp - unary ops, compare, select, cast ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar code of elementwise ops on values in compute types. Signedness comes
// from the tensor's element type, since compute types are signless. Binary
// arithmetic is in GraphArithmeticOps.cpp, quantisation in
// GraphQuantizeOps.cpp.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

using namespace mlir;
using namespace fusec::graph;

IterationSpace fusec::graph::detail::elementwiseSpace(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  IterationSpace space;
  space.parallel.assign(type.getShape().begin(), type.getShape().end());
  OperandAccess access{
      AffineMap::getMultiDimIdentityMap(type.getRank(), op->getContext()),
      false, false};
  space.operands.assign(op->getNumOperands(), access);
  return space;
}

//===----------------------------------------------------------------------===//
// One math op
//===----------------------------------------------------------------------===//

#define FUSEC_MATH_UNARY(GraphOp, MathOp)                                      \
  Value GraphOp::buildScalar(ElementBuilder &builder, ValueRange args) {       \
    return builder.make<math::MathOp>(args[0]);                                \
  }
FUSEC_MATH_UNARY(FloorOp, FloorOp)
FUSEC_MATH_UNARY(CeilOp, CeilOp)
FUSEC_MATH_UNARY(TruncOp, TruncOp)
FUSEC_MATH_UNARY(RoundOp, RoundEvenOp)
FUSEC_MATH_UNARY(SqrtOp, SqrtOp)
FUSEC_MATH_UNARY(RsqrtOp, RsqrtOp)
FUSEC_MATH_UNARY(CbrtOp, CbrtOp)
FUSEC_MATH_UNARY(ExpOp, ExpOp)
FUSEC_MATH_UNARY(Exp2Op, Exp2Op)
FUSEC_MATH_UNARY(Expm1Op, ExpM1Op)
FUSEC_MATH_UNARY(LogOp, LogOp)
FUSEC_MATH_UNARY(Log2Op, Log2Op)
FUSEC_MATH_UNARY(Log1pOp, Log1pOp)
FUSEC_MATH_UNARY(SinOp, SinOp)
FUSEC_MATH_UNARY(CosOp, CosOp)
FUSEC_MATH_UNARY(TanOp, TanOp)
FUSEC_MATH_UNARY(AsinOp, AsinOp)
FUSEC_MATH_UNARY(AcosOp, AcosOp)
FUSEC_MATH_UNARY(AtanOp, AtanOp)
FUSEC_MATH_UNARY(SinhOp, SinhOp)
FUSEC_MATH_UNARY(CoshOp, CoshOp)
FUSEC_MATH_UNARY(TanhOp, TanhOp)
FUSEC_MATH_UNARY(AsinhOp, AsinhOp)
FUSEC_MATH_UNARY(AcoshOp, AcoshOp)
FUSEC_MATH_UNARY(AtanhOp, AtanhOp)
FUSEC_MATH_UNARY(ErfOp, ErfOp)
#undef FUSEC_MATH_UNARY

//===----------------------------------------------------------------------===//
// Other unary ops
//===----------------------------------------------------------------------===//

static Value compareFloat(ElementBuilder &eb, arith::CmpFPredicate predicate,
                          Value lhs, Value rhs) {
  return eb.make<arith::CmpFOp>(predicate, lhs, rhs);
}

static Value compareInt(ElementBuilder &eb, arith::CmpIPredicate predicate,
                        Value lhs, Value rhs) {
  return eb.make<arith::CmpIOp>(predicate, lhs, rhs);
}

Value AbsOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Value x = args[0];
  Type scalar = getElementTypeOrSelf(x);
  if (isa<FloatType>(scalar))
    return builder.make<math::AbsFOp>(x);
  if (getType().getElementType().isUnsignedInteger())
    return x;
  Value zero = builder.zero(scalar);
  Value negated = builder.make<arith::SubIOp>(zero, x);
  return builder.select(compareInt(builder, arith::CmpIPredicate::slt, x, zero),
                        negated, x);
}

Value NegOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Type scalar = getElementTypeOrSelf(args[0]);
  if (isa<FloatType>(scalar))
    return builder.make<arith::NegFOp>(args[0]);
  return builder.make<arith::SubIOp>(builder.zero(scalar), args[0]);
}

Value SignOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Value x = args[0];
  Type scalar = getElementTypeOrSelf(x);
  Value zero = builder.zero(scalar), one = builder.one(scalar);
  if (isa<FloatType>(scalar)) {
    // Zeros of both signs and NaN fall through to themselves.
    Value negative = compareFloat(builder, arith::CmpFPredicate::OLT, x, zero);
    Value positive = compareFloat(builder, arith::CmpFPredicate::OGT, x, zero);
    Value rest = builder.select(negative, builder.real(scalar, -1.0), x);
    return builder.select(positive, one, rest);
  }
  Value nonZero = compareInt(builder, arith::CmpIPredicate::ne, x, zero);
  Value positive = builder.select(nonZero, one, zero);
  if (getType().getElementType().isUnsignedInteger())
    return positive;
  Value negative = compareInt(builder, arith::CmpIPredicate::slt, x, zero);
  return builder.select(negative, builder.integer(scalar, -1), positive);
}

Value NotOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Type scalar = getElementTypeOrSelf(args[0]);
  return builder.make<arith::XOrIOp>(args[0], builder.integer(scalar, -1));
}

Value LogisticOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  // exp only sees -|x|, so it never overflows: 1 / (1 + e) for x >= 0 and
  // e / (1 + e) below. NaN takes the second and stays NaN.
  Value x = args[0];
  Type scalar = getElementTypeOrSelf(x);
  Value magnitude = builder.make<math::AbsFOp>(x);
  Value minus = builder.make<arith::NegFOp>(magnitude);
  Value power = builder.make<math::ExpOp>(minus);
  Value one = builder.one(scalar);
  Value atLeastZero =
      compareFloat(builder, arith::CmpFPredicate::OGE, x, builder.zero(scalar));
  Value numerator = builder.select(atLeastZero, one, power);
  Value denominator = builder.make<arith::AddFOp>(one, power);
  return builder.make<arith::DivFOp>(numerator, denominator);
}

Value IsNanOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  return compareFloat(builder, arith::CmpFPredicate::UNO, args[0], args[0]);
}

Value IsInfOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Value infinity = builder.real(getElementTypeOrSelf(args[0]), HUGE_VAL);
  return compareFloat(builder, arith::CmpFPredicate::OEQ,
                      builder.make<math::AbsFOp>(args[0]), infinity);
}

//===----------------------------------------------------------------------===//
// compare, select, clamp, cast
//===----------------------------------------------------------------------===//

static arith::CmpFPredicate floatPredicate(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::eq:
    return arith::CmpFPredicate::OEQ;
  case ComparePredicate::ne:
    return arith::CmpFPredicate::UNE;
  case ComparePredicate::lt:
    return arith::CmpFPredicate::OLT;
  case ComparePredicate::le:
    return arith::CmpFPredicate::OLE;
  case ComparePredicate::gt:
    return arith::CmpFPredicate::OGT;
  case ComparePredicate::ge:
    return arith::CmpFPredicate::OGE;
  }
  llvm_unreachable("a new predicate");
}

static arith::CmpIPredicate intPredicate(ComparePredicate predicate,
                                         bool isUnsigned) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case ComparePredicate::eq:
    return P::eq;
  case ComparePredicate::ne:
    return P::ne;
  case ComparePredicate::lt:
    return isUnsigned ? P::ult : P::slt;
  case ComparePredicate::le:
    return isUnsigned ? P::ule : P::sle;
  case ComparePredicate::gt:
    return isUnsigned ? P::ugt : P::sgt;
  case ComparePredicate::ge:
    return isUnsigned ? P::uge : P::sge;
  }
  llvm_unreachable("a new predicate");
}

Value CompareOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Type element = getLhs().getType().getElementType();
  if (isa<FloatType>(element))
    return compareFloat(builder, floatPredicate(getPredicate()), args[0],
                        args[1]);
  // Booleans are 0 and 1: as signed one-bit numbers true would be below false.
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  return compareInt(builder, intPredicate(getPredicate(), isUnsigned), args[0],
                    args[1]);
}

Value SelectOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  return builder.select(args[0], args[1], args[2]);
}

Value ClampOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Value low = args[0], x = args[1], high = args[2];
  Type element = getType().getElementType();
  if (isa<FloatType>(element)) {
    Value atLeast = builder.make<arith::MaximumFOp>(x, low);
    return builder.make<arith::MinimumFOp>(atLeast, high);
  }
  if (element.isUnsignedInteger()) {
    Value atLeast = builder.make<arith::MaxUIOp>(x, low);
    return builder.make<arith::MinUIOp>(atLeast, high);
  }
  Value atLeast = builder.make<arith::MaxSIOp>(x, low);
  return builder.make<arith::MinSIOp>(atLeast, high);
}

Value CastOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  return builder.convert(args[0], getOperand().getType().getElementType(),
                         getType().getElementType(), getSaturate());
}

//===----------------------------------------------------------------------===//
// Result types of predicates
//===----------------------------------------------------------------------===//

static LogicalResult inferPredicate(MLIRContext *context, ValueRange operands,
                                    SmallVectorImpl<Type> &types) {
  auto operand = dyn_cast<RankedTensorType>(operands[0].getType());
  if (!operand)
    return failure();
  types.push_back(
      RankedTensorType::get(operand.getShape(), IntegerType::get(context, 1)));
  return success();
}

LogicalResult IsNanOp::inferReturnTypes(MLIRContext *context,
                                        std::optional<Location>,
                                        ValueRange operands, DictionaryAttr,
                                        OpaqueProperties, RegionRange,
                                        SmallVectorImpl<Type> &types) {
  return inferPredicate(context, operands, types);
}

LogicalResult IsInfOp::inferReturnTypes(MLIRContext *context,
                                        std::optional<Location>,
                                        ValueRange operands, DictionaryAttr,
                                        OpaqueProperties, RegionRange,
                                        SmallVectorImpl<Type> &types) {
  return inferPredicate(context, operands, types);
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location>,
                                          ValueRange operands, DictionaryAttr,
                                          OpaqueProperties, RegionRange,
                                          SmallVectorImpl<Type> &types) {
  return inferPredicate(context, operands, types);
}
