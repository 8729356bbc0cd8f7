//===- GraphQuantizeOps.cpp - quantize and dequantize ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar code and verifiers of quantisation. The quotient and its rounding are
// in f32 (f64 if an operand is f64), the sum with the zero point in a float
// that holds it exactly.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fusec::graph;

static bool isFloat8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

/// The wider of two compute types of floats.
static Type widerFloat(Type lhs, Type rhs) { return lhs.isF64() ? lhs : rhs; }

static Value widen(ElementBuilder &eb, Value value, Type to) {
  if (getElementTypeOrSelf(value) == to)
    return value;
  return eb.make<arith::ExtFOp>(eb.type(to), value);
}

/// True for a constant 0, or a tile of it.
static bool isZero(Value value) { return matchPattern(value, m_Zero()); }

Value QuantizeOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Type element = getType().getElementType();
  Type zeroPointType = getZeroPoint().getType().getElementType();
  Type compute =
      widerFloat(getElementTypeOrSelf(args[0]), getElementTypeOrSelf(args[1]));
  Value quotient = builder.make<arith::DivFOp>(
      widen(builder, args[0], compute), widen(builder, args[1], compute));
  if (isFloat8(element))
    return builder.convert(quotient, compute, element);
  // NaN counts as 0, which is what its conversion to an integer gives.
  if (isZero(args[2]))
    return builder.convert(builder.make<math::RoundEvenOp>(quotient), compute,
                           element);
  // With a zero point it becomes that.
  Value isNan = builder.make<arith::CmpFOp>(arith::CmpFPredicate::UNO, quotient,
                                            quotient);
  Value number = builder.select(isNan, builder.zero(compute), quotient);
  Value rounded = builder.make<math::RoundEvenOp>(number);
  // Results above 16 bits need f64 for the sum to be exact near the limits.
  Type sumType = compute;
  if (element.getIntOrFloatBitWidth() > 16)
    sumType = builder.getBuilder().getF64Type();
  Value zeroPoint = builder.convert(args[2], zeroPointType, sumType);
  Value sum =
      builder.make<arith::AddFOp>(widen(builder, rounded, sumType), zeroPoint);
  return builder.convert(sum, sumType, element);
}

Value DequantizeOp::buildScalar(ElementBuilder &builder, ValueRange args) {
  Type element = getOperand().getType().getElementType();
  Type compute =
      widerFloat(ElementBuilder::computeType(getType().getElementType()),
                 getElementTypeOrSelf(args[1]));
  Value centred;
  if (isa<FloatType>(element)) {
    Value difference = builder.make<arith::SubFOp>(args[0], args[2]);
    centred = widen(builder, difference, compute);
  } else {
    // The difference of two numbers of at most 32 bits is exact in i64.
    unsigned width = element.getIntOrFloatBitWidth() <= 16 ? 32 : 64;
    Type wide = builder.getBuilder().getIntegerType(width);
    Value difference =
        builder.make<arith::SubIOp>(builder.convert(args[0], element, wide),
                                    builder.convert(args[2], element, wide));
    centred = builder.convert(difference, wide, compute);
  }
  Value product =
      builder.make<arith::MulFOp>(centred, widen(builder, args[1], compute));
  Type result = ElementBuilder::computeType(getType().getElementType());
  if (result == compute)
    return product;
  return builder.make<arith::TruncFOp>(builder.type(result), product);
}

/// Checks the storage type of a quantised tensor.
static LogicalResult verifyQuantized(Operation *op, StringRef what, Type stored,
                                     Type zeroPoint) {
  auto integer = dyn_cast<IntegerType>(stored);
  bool isStorable = integer ? integer.getWidth() > 1 && integer.getWidth() <= 32
                            : isFloat8(stored);
  if (!isStorable)
    return op->emitOpError()
           << what
           << " must have float8 or integer elements of 4 to 32 bits, found "
           << stored;
  if (zeroPoint != stored)
    return op->emitOpError()
           << "zero point must have the element type of the " << what
           << ", expected " << stored << ", found " << zeroPoint;
  return success();
}

LogicalResult QuantizeOp::verify() {
  return verifyQuantized(getOperation(), "result", getType().getElementType(),
                         getZeroPoint().getType().getElementType());
}

LogicalResult DequantizeOp::verify() {
  return verifyQuantized(getOperation(), "operand",
                         getOperand().getType().getElementType(),
                         getZeroPoint().getType().getElementType());
}
