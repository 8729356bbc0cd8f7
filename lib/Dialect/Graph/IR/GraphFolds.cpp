//===- GraphFolds.cpp - folders that compute nothing ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folds to an operand or to an attribute at hand, exact for every value that
// floats have: x * 0, x - x and x / x are left alone (NaN and infinity), and
// x + 0.0 too (-0.0). Numeric folding is the reference evaluator's work.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fusec::graph;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

/// The one value of a splat constant; null otherwise.
static Attribute splatOf(Attribute constant) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(constant);
  return elements && elements.isSplat() ? elements.getSplatValue<Attribute>()
                                        : Attribute();
}

static bool isIntegerSplat(Attribute constant, int64_t value) {
  auto splat = dyn_cast_or_null<IntegerAttr>(splatOf(constant));
  if (!splat)
    return false;
  const APInt &found = splat.getValue();
  return found == APInt(64, static_cast<uint64_t>(value))
                      .sextOrTrunc(found.getBitWidth());
}

static bool isFloatZeroSplat(Attribute constant, bool isNegative) {
  auto splat = dyn_cast_or_null<FloatAttr>(splatOf(constant));
  return splat && splat.getValue().isZero() &&
         splat.getValue().isNegative() == isNegative;
}

static bool isOneSplat(Attribute constant) {
  if (auto splat = dyn_cast_or_null<FloatAttr>(splatOf(constant)))
    return splat.getValue().isExactlyValue(1.0);
  return isIntegerSplat(constant, 1);
}

/// The operand of `value` if an `OpT` makes it.
template <typename OpT>
static Value operandOf(Value value) {
  auto op = value.getDefiningOp<OpT>();
  return op ? op.getOperand() : Value();
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult NegOp::fold(FoldAdaptor) { return operandOf<NegOp>(getOperand()); }

OpFoldResult NotOp::fold(FoldAdaptor) { return operandOf<NotOp>(getOperand()); }

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  // Commutative: constants come second.
  if (isIntegerSplat(adaptor.getRhs(), 0) ||
      isFloatZeroSplat(adaptor.getRhs(), true))
    return getLhs();
  return {};
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  if (isIntegerSplat(adaptor.getRhs(), 0) ||
      isFloatZeroSplat(adaptor.getRhs(), false))
    return getLhs();
  return {};
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  return isOneSplat(adaptor.getRhs()) ? getLhs() : Value();
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  return isOneSplat(adaptor.getRhs()) ? getLhs() : Value();
}

OpFoldResult MaxOp::fold(FoldAdaptor) {
  return getLhs() == getRhs() ? getLhs() : Value();
}

OpFoldResult MinOp::fold(FoldAdaptor) {
  return getLhs() == getRhs() ? getLhs() : Value();
}

OpFoldResult AndOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || isIntegerSplat(adaptor.getRhs(), -1))
    return getLhs();
  return isIntegerSplat(adaptor.getRhs(), 0) ? getRhs() : Value();
}

OpFoldResult OrOp::fold(FoldAdaptor adaptor) {
  if (getLhs() == getRhs() || isIntegerSplat(adaptor.getRhs(), 0))
    return getLhs();
  return isIntegerSplat(adaptor.getRhs(), -1) ? getRhs() : Value();
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getOnTrue() == getOnFalse())
    return getOnTrue();
  if (isIntegerSplat(adaptor.getPred(), 1))
    return getOnTrue();
  return isIntegerSplat(adaptor.getPred(), 0) ? getOnFalse() : Value();
}

//===----------------------------------------------------------------------===//
// cast
//===----------------------------------------------------------------------===//

static bool isUnsignedElement(Type type) {
  return type.isUnsignedInteger() || type.isInteger(1);
}

/// Bits of magnitude that an integer type needs.
static unsigned magnitudeBits(IntegerType type) {
  return type.getWidth() - (isUnsignedElement(type) ? 0 : 1);
}

static bool floatHoldsFloat(FloatType from, FloatType to) {
  const auto &source = from.getFloatSemantics();
  const auto &target = to.getFloatSemantics();
  auto leastExponent = [](const llvm::fltSemantics &semantics) {
    return APFloat::semanticsMinExponent(semantics) -
           int(APFloat::semanticsPrecision(semantics));
  };
  bool keepsInfinity =
      !APFloat::semanticsHasInf(source) || APFloat::semanticsHasInf(target);
  return keepsInfinity &&
         APFloat::semanticsPrecision(source) <=
             APFloat::semanticsPrecision(target) &&
         APFloat::semanticsMaxExponent(source) <=
             APFloat::semanticsMaxExponent(target) &&
         leastExponent(source) >= leastExponent(target);
}

/// True if every value of `from` is a value of `to`, which a cast keeps.
static bool isLossless(Type from, Type to) {
  if (from == to)
    return true;
  auto fromFloat = dyn_cast<FloatType>(from);
  auto toFloat = dyn_cast<FloatType>(to);
  if (fromFloat)
    return toFloat && floatHoldsFloat(fromFloat, toFloat);
  auto fromInt = cast<IntegerType>(from);
  if (toFloat)
    return magnitudeBits(fromInt) <=
               APFloat::semanticsPrecision(toFloat.getFloatSemantics()) &&
           int(magnitudeBits(fromInt)) <=
               APFloat::semanticsMaxExponent(toFloat.getFloatSemantics());
  auto toInt = cast<IntegerType>(to);
  if (toInt.isInteger(1))
    return false;
  return magnitudeBits(fromInt) <= magnitudeBits(toInt) &&
         (isUnsignedElement(from) || !isUnsignedElement(to));
}

/// True if cast(cast(x: from): middle): to equals cast(x): to.
static bool skipsMiddle(Type from, Type middle, Type to) {
  if (!isLossless(from, middle))
    return false;
  // A float saturates on its way to an integer where an integer wraps.
  if (isa<IntegerType>(from) && isa<FloatType>(middle) && isa<IntegerType>(to))
    return to.isInteger(1) || isLossless(from, to);
  // The infinity of float8 saturates on its way back, and the identity keeps
  // it.
  return !isa<Float8E5M2Type>(from) || from != to;
}

/// Whether a cast of `value` to its own type changes nothing whatever the mode:
/// in `default` results of narrow floats may stay in f32, and a cast rounds.
static bool isRounded(Value value) {
  auto type = dyn_cast<FloatType>(
      cast<RankedTensorType>(value.getType()).getElementType());
  Operation *op = value.getDefiningOp();
  return !type || type.getWidth() >= 32 || !op || isa<CastOp, ConstantOp>(op);
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  Value operand = getOperand();
  if (operand.getType() == getType())
    return isRounded(operand) ? operand : Value();
  auto inner = operand.getDefiningOp<CastOp>();
  if (!inner)
    return {};
  Type from = inner.getOperand().getType().getElementType();
  if (!skipsMiddle(from, inner.getType().getElementType(),
                   getType().getElementType()))
    return {};
  if (inner.getOperand().getType() == getType())
    return isRounded(inner.getOperand()) ? inner.getOperand() : Value();
  getOperandMutable().assign(inner.getOperand());
  return getResult();
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// `operand` if the op changes nothing about it.
static Value ifSameType(Value operand, Type result, bool isIdentity) {
  bool isStatic = cast<RankedTensorType>(result).hasStaticShape();
  return isIdentity && isStatic && operand.getType() == result ? operand
                                                               : Value();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  // Strictly increasing dimensions of equal rank are 0, 1, 2, ...
  return ifSameType(getOperand(), getType(), true);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  return ifSameType(getOperand(), getType(), true);
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [i, dim] : llvm::enumerate(getPermutation()))
    if (dim != int64_t(i))
      return {};
  return getOperand();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  // Equal sizes within range leave offset 0 and stride 1, or one element.
  bool isIdentity = true;
  for (auto [i, stride] : llvm::enumerate(getStrides()))
    isIdentity &= stride == 1 || getType().getDimSize(i) <= 1;
  return ifSameType(getOperand(), getType(), isIdentity);
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  auto isZero = [](int64_t amount) { return amount == 0; };
  return llvm::all_of(getLow(), isZero) && llvm::all_of(getHigh(), isZero)
             ? getOperand()
             : Value();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? getInputs().front() : Value();
}
