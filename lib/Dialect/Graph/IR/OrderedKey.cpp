//===- OrderedKey.cpp - elements and their places in one order ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OrderedKey.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;
using ops::OrderedKey;

IterationSpace ops::spaceAlong(RankedTensorType type, int64_t dimension) {
  MLIRContext *context = type.getContext();
  IterationSpace space;
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool isReduced = dim == dimension;
    unsigned position = isReduced ? type.getRank() - 1 : space.parallel.size();
    (isReduced ? space.reduced : space.parallel)
        .push_back(type.getDimSize(dim));
    exprs.push_back(getAffineDimExpr(position, context));
  }
  space.operands.push_back({AffineMap::get(type.getRank(), 0, exprs, context)});
  return space;
}

Type ops::carriedIndexType(MLIRContext *context, int64_t size) {
  bool isSmall = !ShapedType::isDynamic(size) && size <= INT32_MAX;
  return IntegerType::get(context, isSmall ? 32 : 64);
}

std::pair<Value, Value> ops::compareValues(ElementBuilder &eb, bool isMax,
                                           Type elementType, Value lhs,
                                           Value rhs) {
  if (!isa<FloatType>(elementType)) {
    using enum arith::CmpIPredicate;
    auto better = elementType.isUnsignedInteger() ? (isMax ? ugt : ult)
                                                  : (isMax ? sgt : slt);
    return {ops::compare(eb, better, lhs, rhs), ops::compare(eb, eq, lhs, rhs)};
  }
  using enum arith::CmpFPredicate;
  auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) {
    return eb.make<arith::CmpFOp>(predicate, a, b);
  };
  Value lhsNan = compare(UNO, lhs, lhs);
  Value better = eb.logicalOr(compare(isMax ? OGT : OLT, lhs, rhs),
                              eb.logicalAnd(lhsNan, compare(ORD, rhs, rhs)));
  Value tie = eb.logicalOr(compare(OEQ, lhs, rhs),
                           eb.logicalAnd(lhsNan, compare(UNO, rhs, rhs)));
  return {better, tie};
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// An i32 that orders as the f32 `value` does. Of a value of 16 bits or fewer
/// with f32's exponent (`isWide`) the low 16 bits are left clear.
static Value buildFloatScore(ElementBuilder &eb, Value value, bool isMax,
                             bool isWide) {
  Type i32 = eb.getBuilder().getI32Type(), f32 = eb.getBuilder().getF32Type();
  auto constant = [&](int64_t number) { return eb.integer(i32, number); };
  if (!isMax)
    value = eb.make<arith::NegFOp>(value);
  // One zero; NaN is the greatest.
  Value positive = eb.make<arith::AddFOp>(value, eb.zero(f32));
  Value isNan = eb.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, value, value);
  Value bits = eb.select(isNan, constant(0x7fffffff),
                         eb.make<arith::BitcastOp>(eb.type(i32), positive));
  if (isWide)
    bits = eb.make<arith::AndIOp>(bits, constant(-65536));
  Value sign = eb.make<arith::ShRSIOp>(bits, constant(31));
  return eb.make<arith::XOrIOp>(
      bits,
      eb.make<arith::AndIOp>(sign, constant(isWide ? 0x7fff0000 : 0x7fffffff)));
}

/// An i32 that orders as the integer `value` of `element` does.
static Value buildIntegerScore(ElementBuilder &eb, Value value, Type element,
                               bool isMax) {
  Type i32 = eb.getBuilder().getI32Type();
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  if (width < 32)
    value = isUnsigned ? eb.make<arith::ExtUIOp>(eb.type(i32), value)
                       : eb.make<arith::ExtSIOp>(eb.type(i32), value);
  // Unsigned ones of 16 and 32 bits take the place of signed ones.
  if (isUnsigned && width == 16)
    value = eb.make<arith::SubIOp>(value, eb.integer(i32, 32768));
  if (isUnsigned && width == 32)
    value = eb.make<arith::XOrIOp>(value, eb.integer(i32, INT32_MIN));
  return isMax ? value
               : eb.make<arith::XOrIOp>(value, eb.integer(i32, int64_t(-1)));
}

/// An integer in [-2^15, 2^15) that orders as the narrow float `value` does:
/// sign and magnitude, so that both zeros are one; NaN above all else.
static Value buildNarrowScore(ElementBuilder &eb, Value value, FloatType real,
                              bool isMax) {
  Type i32 = eb.getBuilder().getI32Type();
  unsigned width = real.getWidth();
  auto constant = [&](int64_t number) { return eb.integer(i32, number); };
  Type narrow = eb.getBuilder().getIntegerType(width);
  Value bits = eb.make<arith::ExtSIOp>(
      eb.type(i32),
      eb.make<arith::BitcastOp>(
          eb.type(narrow), eb.make<arith::TruncFOp>(eb.type(real), value)));
  Value magnitude =
      eb.make<arith::AndIOp>(bits, constant((int64_t(1) << (width - 1)) - 1));
  const llvm::fltSemantics &semantics = real.getFloatSemantics();
  APFloat last = APFloat::semanticsHasInf(semantics)
                     ? APFloat::getInf(semantics)
                     : APFloat::getLargest(semantics);
  Value isNan = ops::compare(eb, arith::CmpIPredicate::sgt, magnitude,
                             constant(last.bitcastToAPInt().getZExtValue()));
  Value isBelow =
      ops::compare(eb, arith::CmpIPredicate::slt, bits, constant(0));
  Value minus = eb.make<arith::SubIOp>(constant(0), magnitude);
  Value score = isMax ? eb.select(isBelow, minus, magnitude)
                      : eb.select(isBelow, magnitude, minus);
  return eb.select(isNan, constant(32767), score);
}

/// The f32 that `buildFloatScore` has `score` for; NaN for the least integer.
static Value buildFromFloatScore(ElementBuilder &eb, Value score, bool isMax,
                                 bool isWide) {
  Type i32 = eb.getBuilder().getI32Type(), f32 = eb.getBuilder().getF32Type();
  Value sign = eb.make<arith::ShRSIOp>(score, eb.integer(i32, 31));
  Value flipped = eb.make<arith::AndIOp>(
      sign, eb.integer(i32, isWide ? 0x7fff0000 : 0x7fffffff));
  Value value = eb.make<arith::BitcastOp>(
      eb.type(f32), eb.make<arith::XOrIOp>(score, flipped));
  return isMax ? value : eb.make<arith::NegFOp>(value);
}

/// The number (f32) that `buildNarrowScore` has `score` for; NaN for -2^15.
static Value buildFromNarrowScore(ElementBuilder &eb, Value score,
                                  FloatType real, bool isMax) {
  Type i32 = eb.getBuilder().getI32Type(), f32 = eb.getBuilder().getF32Type();
  unsigned width = real.getWidth();
  auto constant = [&](int64_t number) { return eb.integer(i32, number); };
  Value zero = constant(0);
  Value isBelow = ops::compare(eb, arith::CmpIPredicate::slt, score, zero);
  Value minus = eb.make<arith::SubIOp>(zero, score);
  Value magnitude = eb.select(isBelow, minus, score);
  Value sign = constant(int64_t(1) << (width - 1));
  Value bits =
      eb.make<arith::OrIOp>(magnitude, isMax ? eb.select(isBelow, sign, zero)
                                             : eb.select(isBelow, zero, sign));
  Type narrow = eb.getBuilder().getIntegerType(width);
  Value value = eb.make<arith::ExtFOp>(
      eb.type(f32),
      eb.make<arith::BitcastOp>(
          eb.type(real), eb.make<arith::TruncIOp>(eb.type(narrow), bits)));
  Value isLeast =
      ops::compare(eb, arith::CmpIPredicate::eq, score, constant(-32768));
  return eb.select(isLeast, eb.real(f32, std::nan("")), value);
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

unsigned OrderedKey::getBits() const {
  unsigned width = element.getIntOrFloatBitWidth();
  if (ShapedType::isDynamic(size) || width > 32 || size > UINT32_MAX)
    return 0;
  return (width == 8 || width == 16) && size <= 65536 ? 32 : 64;
}

Type OrderedKey::getType(MLIRContext *context) const {
  return IntegerType::get(context, getBits());
}

/// The bits of the place.
Value OrderedKey::placeMask(ElementBuilder &eb) const {
  Type type = getType(eb.getBuilder().getContext());
  return eb.integer(type, getBits() == 32 ? 65535 : int64_t(UINT32_MAX));
}

Value OrderedKey::build(ElementBuilder &eb, Value value, Value place) const {
  Type type = getType(eb.getBuilder().getContext());
  Type i32 = eb.getBuilder().getI32Type();
  auto real = dyn_cast<FloatType>(element);
  bool isShort = getBits() == 32;
  Value score = !real ? buildIntegerScore(eb, value, element, isMax)
                : isShort && !isWide()
                    ? buildNarrowScore(eb, value, real, isMax)
                    : buildFloatScore(eb, value, isMax, isWide());
  if (!isShort)
    score = eb.make<arith::ShLIOp>(
        eb.make<arith::ExtSIOp>(eb.type(type), score), eb.integer(type, 32));
  else if (!isWide())
    score = eb.make<arith::MulIOp>(score, eb.integer(i32, 65536));
  Value low = eb.make<arith::IndexCastOp>(eb.type(type), place);
  if (!last)
    low = eb.make<arith::SubIOp>(placeMask(eb), low);
  return eb.make<arith::AddIOp>(score, low);
}

Value OrderedKey::buildScore(ElementBuilder &eb, Value key) const {
  Type i32 = eb.getBuilder().getI32Type();
  if (isWide())
    return eb.make<arith::AndIOp>(key, eb.integer(i32, -65536));
  if (getBits() == 32)
    return eb.make<arith::ShRSIOp>(key, eb.integer(i32, 16));
  Type type = getType(eb.getBuilder().getContext());
  return eb.make<arith::TruncIOp>(
      eb.type(i32), eb.make<arith::ShRSIOp>(key, eb.integer(type, 32)));
}

Value OrderedKey::buildCoarse(ElementBuilder &eb, Value value) const {
  return isa<FloatType>(element) ? value
                                 : buildIntegerScore(eb, value, element, isMax);
}

Value OrderedKey::buildMayExceed(ElementBuilder &eb, Value coarse,
                                 Value key) const {
  Value score = buildScore(eb, key);
  auto real = dyn_cast<FloatType>(element);
  // The least integer has the least score.
  if (!real)
    return ops::compare(eb, arith::CmpIPredicate::sge, coarse, score);
  Value bound = getBits() == 32 && !isWide()
                    ? buildFromNarrowScore(eb, score, real, isMax)
                    : buildFromFloatScore(eb, score, isMax, isWide());
  // NaN may be anywhere, and what stands for the least integer is NaN.
  return eb.make<arith::CmpFOp>(isMax ? arith::CmpFPredicate::UGE
                                      : arith::CmpFPredicate::ULE,
                                coarse, bound);
}

Value OrderedKey::buildIndex(ElementBuilder &eb, Value key, Type result) const {
  Type type = getType(eb.getBuilder().getContext());
  Value mask = placeMask(eb);
  Value place = eb.make<arith::AndIOp>(key, mask);
  if (!last)
    place = eb.make<arith::SubIOp>(mask, place);
  return eb.convert(place, type, result);
}
