//===- ElementConvert.cpp - conversions between element types -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The meaning of `graph.cast` and of rounding to an element type, in arith
// ops that have no undefined case: fptosi only sees numbers in range, and each
// conversion to a float rounds exactly once.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Element.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

using namespace mlir;
using namespace fusec::graph;

namespace {
bool isUnsignedElement(Type type) {
  // Booleans count as the numbers 0 and 1.
  return type.isUnsignedInteger() || type.isInteger(1);
}

double largestFinite(FloatType type) {
  return APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
}

bool isFloat8(Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); }

/// True if every value of `from` is a value of `to`.
bool holdsAll(FloatType from, FloatType to) {
  if (from == to)
    return true;
  const auto &source = from.getFloatSemantics();
  const auto &target = to.getFloatSemantics();
  auto least = [](const llvm::fltSemantics &semantics) {
    return APFloat::semanticsMinExponent(semantics) -
           int(APFloat::semanticsPrecision(semantics));
  };
  return APFloat::semanticsPrecision(source) <=
             APFloat::semanticsPrecision(target) &&
         APFloat::semanticsMaxExponent(source) <=
             APFloat::semanticsMaxExponent(target) &&
         least(source) >= least(target);
}

Value compareFloat(ElementBuilder &eb, arith::CmpFPredicate predicate,
                   Value lhs, Value rhs) {
  return eb.make<arith::CmpFOp>(predicate, lhs, rhs);
}

/// Limits `value` to the finite range of `to`. NaN is kept; so is, if
/// `keepInfinity`, what is infinite in f32, in which float8 is computed.
Value clampToFinite(ElementBuilder &eb, Value value, FloatType to,
                    bool keepInfinity) {
  Type compute = getElementTypeOrSelf(value);
  Value high = eb.real(compute, largestFinite(to));
  Value low = eb.real(compute, -largestFinite(to));
  Value atMost = eb.make<arith::MinimumFOp>(value, high);
  Value clamped = eb.make<arith::MaximumFOp>(atMost, low);
  if (!keepInfinity)
    return clamped;
  // From here on f64 rounds to the infinity of f32.
  Value infinity =
      eb.real(compute, compute.isF64() ? 0x1.ffffffp127 : HUGE_VAL);
  Value isInfinite = compareFloat(eb, arith::CmpFPredicate::OGE,
                                  eb.make<math::AbsFOp>(value), infinity);
  return eb.select(isInfinite, value, clamped);
}

/// Rounds `value` (f32 or f64) once to `to` and returns it in the compute type
/// of `to`.
Value roundFloat(ElementBuilder &eb, Value value, FloatType to) {
  Type compute = ElementBuilder::computeType(to);
  Type given = getElementTypeOrSelf(value);
  if (given == to)
    return value;
  if (to.getWidth() > given.getIntOrFloatBitWidth())
    return eb.make<arith::ExtFOp>(eb.type(to), value);
  Value narrow = eb.make<arith::TruncFOp>(eb.type(to), value);
  return to == compute ? narrow
                       : eb.make<arith::ExtFOp>(eb.type(compute), narrow);
}

Value floatToFloat(ElementBuilder &eb, Value value, FloatType from,
                   FloatType to, bool saturate) {
  Type compute = ElementBuilder::computeType(to);
  if (from == to)
    return value;
  if (holdsAll(from, to)) {
    if (getElementTypeOrSelf(value) == compute)
      return value;
    return eb.make<arith::ExtFOp>(eb.type(compute), value);
  }
  if (isFloat8(to) && saturate)
    value = clampToFinite(eb, value, to, /*keepInfinity=*/false);
  return roundFloat(eb, value, to);
}

/// Truncates towards zero, saturates, and gives 0 for NaN.
Value floatToInteger(ElementBuilder &eb, Value value, IntegerType to) {
  unsigned width = to.getWidth();
  bool isUnsigned = to.isUnsigned();
  Type compute = getElementTypeOrSelf(value);
  APInt least =
      isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  APInt most =
      isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  Type step = eb.getBuilder().getIntegerType(std::max(width, 32u));
  // Bounds of up to 16 bits are exact: clamp, and NaN to 0. Narrow integers go
  // through i32, so that targets need no i4 or i8 form.
  if (width <= 16) {
    double bottom = isUnsigned ? 0.0 : -std::ldexp(1.0, width - 1);
    double top = std::ldexp(1.0, isUnsigned ? width : width - 1) - 1;
    Value isNan = compareFloat(eb, arith::CmpFPredicate::UNO, value, value);
    Value atMost = eb.make<arith::MinimumFOp>(value, eb.real(compute, top));
    Value clamped =
        eb.make<arith::MaximumFOp>(atMost, eb.real(compute, bottom));
    Value safe = eb.select(isNan, eb.zero(compute), clamped);
    return eb.make<arith::TruncIOp>(
        eb.type(ElementBuilder::computeType(to)),
        eb.make<arith::FPToSIOp>(eb.type(step), safe));
  }
  // Both bounds are powers of two or zero, so exact in f32.
  Value low = eb.real(compute, isUnsigned ? 0.0 : -std::ldexp(1.0, width - 1));
  Value high =
      eb.real(compute, std::ldexp(1.0, isUnsigned ? width : width - 1));
  Value tooSmall = compareFloat(eb, arith::CmpFPredicate::OLT, value, low);
  Value tooLarge = compareFloat(eb, arith::CmpFPredicate::OGE, value, high);
  Value inRange =
      eb.logicalAnd(compareFloat(eb, arith::CmpFPredicate::OGE, value, low),
                    compareFloat(eb, arith::CmpFPredicate::OLT, value, high));
  Value safe = eb.select(inRange, value, eb.zero(compute));
  Value whole = isUnsigned && width >= 32
                    ? eb.make<arith::FPToUIOp>(eb.type(step), safe)
                    : eb.make<arith::FPToSIOp>(eb.type(step), safe);
  if (width < 32)
    whole = eb.make<arith::TruncIOp>(eb.type(ElementBuilder::computeType(to)),
                                     whole);
  whole = eb.select(tooSmall, eb.integer(least), whole);
  return eb.select(tooLarge, eb.integer(most), whole);
}

Value resizeInteger(ElementBuilder &eb, Value value, unsigned width,
                    bool isUnsigned) {
  unsigned given = getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  Type wanted = eb.type(eb.getBuilder().getIntegerType(width));
  if (given == width)
    return value;
  if (given > width)
    return eb.make<arith::TruncIOp>(wanted, value);
  return isUnsigned ? eb.make<arith::ExtUIOp>(wanted, value)
                    : eb.make<arith::ExtSIOp>(wanted, value);
}

Value plainToFloat(ElementBuilder &eb, Value value, Type to, bool isUnsigned) {
  return isUnsigned ? eb.make<arith::UIToFPOp>(eb.type(to), value)
                    : eb.make<arith::SIToFPOp>(eb.type(to), value);
}

/// Limits an integer to [-2^bits, 2^bits].
Value clampInteger(ElementBuilder &eb, Value value, unsigned bits,
                   bool isUnsigned) {
  Type type = getElementTypeOrSelf(value);
  Value high = eb.integer(type, int64_t(1) << bits);
  if (isUnsigned)
    return eb.make<arith::MinUIOp>(value, high);
  Value low = eb.integer(type, -(int64_t(1) << bits));
  Value atMost = eb.make<arith::MinSIOp>(value, high);
  return eb.make<arith::MaxSIOp>(atMost, low);
}

/// Replaces the low 11 bits of an i64 by one bit that says if any was set, in
/// place of bit 11: the value fits in f64 and still rounds as the whole did to
/// any type of at most 51 bits.
Value stickyInteger(ElementBuilder &eb, Value value) {
  Type type = getElementTypeOrSelf(value);
  Value low = eb.make<arith::AndIOp>(value, eb.integer(type, 0x7ff));
  Value inexact =
      eb.make<arith::CmpIOp>(arith::CmpIPredicate::ne, low, eb.zero(type));
  Value high = eb.make<arith::AndIOp>(value, eb.integer(type, ~int64_t(0x7ff)));
  Value odd = eb.make<arith::OrIOp>(high, eb.integer(type, 0x800));
  return eb.select(inexact, odd, high);
}

Value integerToFloat(ElementBuilder &eb, Value value, IntegerType from,
                     FloatType to, bool saturate) {
  bool isUnsigned = isUnsignedElement(from);
  value = resizeInteger(eb, value, std::max(from.getWidth(), 32u), isUnsigned);
  Type f32 = eb.getBuilder().getF32Type(), f64 = eb.getBuilder().getF64Type();
  if (to.getWidth() >= 32)
    return plainToFloat(eb, value, to, isUnsigned);
  // Make the value exact in f32 or f64 first; then one rounding to `to`.
  Value exact;
  if (from.getWidth() <= 16) {
    exact = plainToFloat(eb, value, f32, isUnsigned);
    // Numbers of 8 bits are numbers of both 16-bit types.
    if (from.getWidth() <= 8 && to.getWidth() == 16)
      return exact;
  } else if (!isa<BFloat16Type>(to)) {
    // 2^17 overflows f16 and float8 and is exact in f32.
    exact = plainToFloat(eb, clampInteger(eb, value, 17, isUnsigned), f32,
                         isUnsigned);
  } else {
    // Values below 2^53 are exact already, and bf16 never sees the sticky bit
    // of small ones because it is only made where bits would be lost.
    if (from.getWidth() == 64) {
      Value magnitudeFits = eb.make<arith::CmpIOp>(
          arith::CmpIPredicate::eq, clampInteger(eb, value, 52, isUnsigned),
          value);
      value = eb.select(magnitudeFits, value, stickyInteger(eb, value));
    }
    exact = plainToFloat(eb, value, f64, isUnsigned);
  }
  if (isFloat8(to) && saturate)
    exact = clampToFinite(eb, exact, to, /*keepInfinity=*/false);
  return roundFloat(eb, exact, to);
}

Value toBool(ElementBuilder &eb, Value value) {
  Type type = getElementTypeOrSelf(value);
  if (isa<FloatType>(type)) // NaN != 0 holds.
    return compareFloat(eb, arith::CmpFPredicate::UNE, value, eb.zero(type));
  return eb.make<arith::CmpIOp>(arith::CmpIPredicate::ne, value, eb.zero(type));
}
} // namespace

Value ElementBuilder::convert(Value value, Type from, Type to, bool saturate) {
  if (from == to)
    return value;
  if (to.isInteger(1))
    return toBool(*this, value);
  auto fromFloat = dyn_cast<FloatType>(from);
  auto toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat)
    return floatToFloat(*this, value, fromFloat, toFloat, saturate);
  if (fromFloat)
    return floatToInteger(*this, value, cast<IntegerType>(to));
  if (toFloat)
    return integerToFloat(*this, value, cast<IntegerType>(from), toFloat,
                          saturate);
  return resizeInteger(*this, value, to.getIntOrFloatBitWidth(),
                       isUnsignedElement(from));
}

Value ElementBuilder::roundTo(Value value, Type elementType) {
  auto to = dyn_cast<FloatType>(elementType);
  if (!to || to == computeType(to))
    return value;
  // An infinity that the type has is a value of it, not an overflow: moving
  // one through a kernel must not change it.
  if (isFloat8(to))
    value = clampToFinite(*this, value, to,
                          APFloat::semanticsHasInf(to.getFloatSemantics()));
  return roundFloat(*this, value, to);
}
