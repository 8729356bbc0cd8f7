//===- GraphArithmeticOps.cpp - binary elementwise ops --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar code of binary ops. Integer code has no undefined case: divisors,
// shift amounts and the overflowing quotient are replaced before the op and
// the defined result selected after it.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"
#include <numbers>

using namespace mlir;
using namespace fusec::graph;

namespace {
bool isUnsignedTensor(Value tensor) {
  return getElementTypeOrSelf(tensor).isUnsignedInteger();
}

bool isFloatValue(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value));
}

Value compareInt(ElementBuilder &eb, arith::CmpIPredicate predicate, Value lhs,
                 Value rhs) {
  return eb.make<arith::CmpIOp>(predicate, lhs, rhs);
}

Value compareFloat(ElementBuilder &eb, arith::CmpFPredicate predicate,
                   Value lhs, Value rhs) {
  return eb.make<arith::CmpFOp>(predicate, lhs, rhs);
}

/// `FloatOp` or the integer op of the signedness, on both operands.
template <typename FloatOp, typename SignedOp, typename UnsignedOp>
Value buildBinary(ElementBuilder &eb, Value tensor, ValueRange args) {
  if (isFloatValue(args[0]))
    return eb.make<FloatOp>(args[0], args[1]);
  if (isUnsignedTensor(tensor))
    return eb.make<UnsignedOp>(args[0], args[1]);
  return eb.make<SignedOp>(args[0], args[1]);
}

/// An integer divisor by which lhs may be divided, and where it was zero.
struct SafeDivisor {
  Value value;
  Value wasZero;
};
SafeDivisor guardDivisor(ElementBuilder &eb, Value lhs, Value rhs,
                         bool isUnsigned) {
  Type scalar = getElementTypeOrSelf(rhs);
  Value one = eb.one(scalar);
  Value wasZero =
      compareInt(eb, arith::CmpIPredicate::eq, rhs, eb.zero(scalar));
  Value bad = wasZero;
  if (!isUnsigned) {
    // least / -1 overflows; least / 1 is the wrapped quotient, least % 1 is 0.
    Value least =
        eb.integer(APInt::getSignedMinValue(scalar.getIntOrFloatBitWidth()));
    Value isLeast = compareInt(eb, arith::CmpIPredicate::eq, lhs, least);
    Value isMinusOne =
        compareInt(eb, arith::CmpIPredicate::eq, rhs, eb.integer(scalar, -1));
    bad = eb.logicalOr(wasZero, eb.logicalAnd(isLeast, isMinusOne));
  }
  return {eb.select(bad, one, rhs), wasZero};
}

Value integerRemainder(ElementBuilder &eb, Value lhs, Value rhs,
                       bool isUnsigned) {
  SafeDivisor divisor = guardDivisor(eb, lhs, rhs, isUnsigned);
  Value remainder = isUnsigned ? eb.make<arith::RemUIOp>(lhs, divisor.value)
                               : eb.make<arith::RemSIOp>(lhs, divisor.value);
  return eb.select(divisor.wasZero, lhs, remainder);
}
} // namespace

Value AddOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  return buildBinary<arith::AddFOp, arith::AddIOp, arith::AddIOp>(
      builder, getResult(), args);
}
Value SubOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  return buildBinary<arith::SubFOp, arith::SubIOp, arith::SubIOp>(
      builder, getResult(), args);
}
Value MulOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  return buildBinary<arith::MulFOp, arith::MulIOp, arith::MulIOp>(
      builder, getResult(), args);
}
Value MaxOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  return buildBinary<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(
      builder, getResult(), args);
}
Value MinOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  return buildBinary<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(
      builder, getResult(), args);
}
Value AndOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  return builder.make<arith::AndIOp>(args[0], args[1]);
}
Value OrOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  return builder.make<arith::OrIOp>(args[0], args[1]);
}
Value XorOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  return builder.make<arith::XOrIOp>(args[0], args[1]);
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

Value DivOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Value lhs = args[0], rhs = args[1];
  if (isFloatValue(lhs))
    return builder.make<arith::DivFOp>(lhs, rhs);
  bool isUnsigned = isUnsignedTensor(getResult());
  SafeDivisor divisor = guardDivisor(builder, lhs, rhs, isUnsigned);
  Value quotient = isUnsigned
                       ? builder.make<arith::DivUIOp>(lhs, divisor.value)
                       : builder.make<arith::DivSIOp>(lhs, divisor.value);
  return builder.select(divisor.wasZero,
                        builder.zero(getElementTypeOrSelf(lhs)), quotient);
}

Value RemOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  if (isFloatValue(args[0]))
    return builder.make<arith::RemFOp>(args[0], args[1]);
  return integerRemainder(builder, args[0], args[1],
                          isUnsignedTensor(getResult()));
}

/// `remainder` brought to the sign of `rhs` as Python's % has it.
static Value floatModulo(ElementBuilder &eb, Value lhs, Value rhs) {
  Value zero = eb.zero(getElementTypeOrSelf(lhs));
  Value remainder = eb.make<arith::RemFOp>(lhs, rhs);
  Value isZero = compareFloat(eb, arith::CmpFPredicate::OEQ, remainder, zero);
  Value lhsBelow = compareFloat(eb, arith::CmpFPredicate::OLT, remainder, zero);
  Value rhsBelow = compareFloat(eb, arith::CmpFPredicate::OLT, rhs, zero);
  Value signsDiffer = eb.make<arith::XOrIOp>(lhsBelow, rhsBelow);
  Value shifted = eb.make<arith::AddFOp>(remainder, rhs);
  Value signedZero = eb.make<math::CopySignOp>(zero, rhs);
  Value nonZero = eb.select(signsDiffer, shifted, remainder);
  return eb.select(isZero, signedZero, nonZero);
}

Value ModOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Value lhs = args[0], rhs = args[1];
  if (isFloatValue(lhs))
    return floatModulo(builder, lhs, rhs);
  bool isUnsigned = isUnsignedTensor(getResult());
  Value remainder = integerRemainder(builder, lhs, rhs, isUnsigned);
  if (isUnsigned)
    return remainder;
  Value zero = builder.zero(getElementTypeOrSelf(lhs));
  Value mixed = builder.make<arith::XOrIOp>(remainder, rhs);
  Value signsDiffer =
      compareInt(builder, arith::CmpIPredicate::slt, mixed, zero);
  Value nonZero =
      compareInt(builder, arith::CmpIPredicate::ne, remainder, zero);
  // A zero divisor gave the dividend, which has to stay.
  Value divides = compareInt(builder, arith::CmpIPredicate::ne, rhs, zero);
  Value adjust =
      builder.logicalAnd(builder.logicalAnd(signsDiffer, nonZero), divides);
  Value shifted = builder.make<arith::AddIOp>(remainder, rhs);
  return builder.select(adjust, shifted, remainder);
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// base^exponent modulo 2^width, the exponent read as unsigned: square and
/// multiply over the bits of the exponent.
static Value unsignedPower(ElementBuilder &eb, Value base, Value exponent) {
  OpBuilder &builder = eb.getBuilder();
  Location loc = eb.getLoc();
  Type scalar = getElementTypeOrSelf(base);
  Value lower = arith::ConstantIndexOp::create(builder, loc, 0);
  Value upper = arith::ConstantIndexOp::create(builder, loc,
                                               scalar.getIntOrFloatBitWidth());
  Value step = arith::ConstantIndexOp::create(builder, loc, 1);
  Value one = eb.one(scalar), zero = eb.zero(scalar);
  auto loop = scf::ForOp::create(
      builder, loc, lower, upper, step, ValueRange{one, base, exponent},
      [&](OpBuilder &inner, Location innerLoc, Value, ValueRange state) {
        ElementBuilder body(inner, innerLoc, eb.getCarrier());
        Value bit = body.make<arith::AndIOp>(state[2], one);
        Value isSet = compareInt(body, arith::CmpIPredicate::ne, bit, zero);
        Value product = body.make<arith::MulIOp>(state[0], state[1]);
        Value power = body.select(isSet, product, state[0]);
        Value square = body.make<arith::MulIOp>(state[1], state[1]);
        Value rest = body.make<arith::ShRUIOp>(state[2], one);
        scf::YieldOp::create(inner, innerLoc, ValueRange{power, square, rest});
      });
  return loop.getResult(0);
}

Value PowOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Value base = args[0], exponent = args[1];
  if (isFloatValue(base))
    return builder.make<math::PowFOp>(base, exponent);
  Value power = unsignedPower(builder, base, exponent);
  if (isUnsignedTensor(getResult()))
    return power;
  // 1 / base^n truncates to 0 unless base is 1 or -1, whose powers repeat with
  // period 2: the unsigned reading of a negative exponent has the same parity.
  Type scalar = getElementTypeOrSelf(base);
  Value zero = builder.zero(scalar);
  Value isOne =
      compareInt(builder, arith::CmpIPredicate::eq, base, builder.one(scalar));
  Value isMinusOne = compareInt(builder, arith::CmpIPredicate::eq, base,
                                builder.integer(scalar, -1));
  Value isUnit = builder.logicalOr(isOne, isMinusOne);
  Value isNegative =
      compareInt(builder, arith::CmpIPredicate::slt, exponent, zero);
  Value vanishes = builder.logicalAnd(isNegative, builder.logicalNot(isUnit));
  return builder.select(vanishes, zero, power);
}

//===----------------------------------------------------------------------===//
// atan2, shifts
//===----------------------------------------------------------------------===//

Value Atan2Op::buildScalar(ElementBuilder &builder, ValueRange args) {
  // Both coordinates zero is settled here: the constant folder of math.atan2
  // makes NaN of it.
  Value y = args[0], x = args[1];
  Type scalar = getElementTypeOrSelf(y);
  Value zero = builder.zero(scalar);
  Value yIsZero = compareFloat(builder, arith::CmpFPredicate::OEQ, y, zero);
  Value xIsZero = compareFloat(builder, arith::CmpFPredicate::OEQ, x, zero);
  Value atOrigin = builder.logicalAnd(yIsZero, xIsZero);
  Value xSign = builder.make<math::CopySignOp>(builder.one(scalar), x);
  Value xBelow = compareFloat(builder, arith::CmpFPredicate::OLT, xSign, zero);
  Value pi =
      builder.make<math::CopySignOp>(builder.real(scalar, std::numbers::pi), y);
  Value origin = builder.select(xBelow, pi, y);
  Value safeX = builder.select(atOrigin, builder.one(scalar), x);
  Value angle = builder.make<math::Atan2Op>(y, safeX);
  return builder.select(atOrigin, origin, angle);
}

/// True where a shift amount lies in [0, width).
static Value amountFits(ElementBuilder &eb, Value amount) {
  Type scalar = getElementTypeOrSelf(amount);
  Value width = eb.integer(scalar, scalar.getIntOrFloatBitWidth());
  return compareInt(eb, arith::CmpIPredicate::ult, amount, width);
}

Value ShlOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Value zero = builder.zero(getElementTypeOrSelf(args[0]));
  Value fits = amountFits(builder, args[1]);
  Value amount = builder.select(fits, args[1], zero);
  Value shifted = builder.make<arith::ShLIOp>(args[0], amount);
  return builder.select(fits, shifted, zero);
}

Value ShrOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Type scalar = getElementTypeOrSelf(args[0]);
  Value fits = amountFits(builder, args[1]);
  if (isUnsignedTensor(getResult())) {
    Value zero = builder.zero(scalar);
    Value amount = builder.select(fits, args[1], zero);
    Value shifted = builder.make<arith::ShRUIOp>(args[0], amount);
    return builder.select(fits, shifted, zero);
  }
  // The largest legal amount leaves nothing but the sign.
  Value most = builder.integer(scalar, scalar.getIntOrFloatBitWidth() - 1);
  Value amount = builder.select(fits, args[1], most);
  return builder.make<arith::ShRSIOp>(args[0], amount);
}
