//===- ImportElementwise.cpp - arithmetic, logic, casts -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Operator.h"

#include <limits>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ComparePredicate;

//===----------------------------------------------------------------------===//
// Unary and binary ops that are one graph op
//===----------------------------------------------------------------------===//

/// Input 0, which must be a number.
static Val numberInput(Operator &op) {
  Val x = op.in(0);
  if (x && op.require(x.dtype != DType::Bool,
                      "expected a number tensor, found bool"))
    return x;
  return {};
}

/// Input 0, which must be an integer.
static Val integerInput(Operator &op) {
  Val x = op.in(0);
  if (x && op.require(isSignedInt(x.dtype) || isUnsignedInt(x.dtype),
                      "expected an integer tensor, found " + name(x.dtype)))
    return x;
  return {};
}

template <typename OpT>
static void importUnary(Operator &op) {
  op.out(op.emit.unary<OpT>(numberInput(op)));
}

/// A unary op that the graph dialect has for floats only.
template <typename OpT>
static void importFloatUnary(Operator &op) {
  Val x = op.in(0);
  if (x && op.require(isFloat(x.dtype),
                      "expected a float tensor, found " + name(x.dtype)))
    op.out(op.emit.unary<OpT>(x));
}

template <typename OpT>
static void importBinary(Operator &op) {
  op.out(op.emit.binary<OpT>(numberInput(op), op.in(1)));
}

template <typename OpT>
static void importBitwise(Operator &op) {
  op.out(op.emit.binary<OpT>(integerInput(op), op.in(1)));
}

static void importBitwiseNot(Operator &op) {
  op.out(op.emit.unary<graph::NotOp>(integerInput(op)));
}

/// And, Or, Xor: bool only, unlike their bitwise namesakes.
template <typename OpT>
static void importLogical(Operator &op) {
  Val a = op.in(0);
  if (a && op.require(a.dtype == DType::Bool,
                      "expected a bool tensor, found " + name(a.dtype)))
    op.out(op.emit.binary<OpT>(a, op.in(1)));
}

static void importNot(Operator &op) {
  Val x = op.in(0);
  if (x && op.require(x.dtype == DType::Bool,
                      "expected a bool tensor, found " + name(x.dtype)))
    op.out(op.emit.unary<graph::NotOp>(x));
}

template <typename OpT>
static void importVariadic(Operator &op) {
  llvm::SmallVector<Val> vals = op.allInputs();
  Val result = numberInput(op);
  for (const Val &val : llvm::drop_begin(vals))
    result = op.emit.binary<OpT>(result, val);
  op.out(result);
}

static void importMean(Operator &op) {
  llvm::SmallVector<Val> vals = op.allInputs();
  Val sum = numberInput(op);
  for (const Val &val : llvm::drop_begin(vals))
    sum = op.emit.add(sum, val);
  op.out(op.emit.binary<graph::DivOp>(sum, static_cast<double>(vals.size())));
}

template <ComparePredicate predicate>
static void importCompare(Operator &op) {
  op.out(op.emit.compare(predicate, op.in(0), op.in(1)));
}

static void importReciprocal(Operator &op) {
  Val x = numberInput(op);
  if (x)
    op.out(op.emit.div(op.emit.scalar(x.dtype, 1), x));
}

//===----------------------------------------------------------------------===//
// Ops with attributes or several types
//===----------------------------------------------------------------------===//

static void importMod(Operator &op) {
  bool fmod = op.intAttr("fmod", 0) != 0;
  Val a = numberInput(op), b = op.in(1);
  if (!a ||
      !op.require(fmod || !isFloat(a.dtype), "expected fmod = 1 for floats"))
    return;
  op.out(fmod ? op.emit.binary<graph::RemOp>(a, b)
              : op.emit.binary<graph::ModOp>(a, b));
}

/// The result has the type of the base; a float exponent of an integer base is
/// honoured by computing in the exponent's type.
static void importPow(Operator &op) {
  Val base = numberInput(op), exponent = op.in(1);
  if (!base || !exponent)
    return;
  Emitter &emit = op.emit;
  if (!isFloat(base.dtype) && isFloat(exponent.dtype)) {
    Val wide =
        emit.binary<graph::PowOp>(emit.cast(base, exponent.dtype), exponent);
    return op.out(emit.cast(wide, base.dtype));
  }
  op.out(emit.binary<graph::PowOp>(base, emit.cast(exponent, base.dtype)));
}

static void importBitShift(Operator &op) {
  std::string direction = op.stringAttr("direction", "");
  if (direction == "LEFT")
    return importBitwise<graph::ShlOp>(op);
  if (op.require(direction == "RIGHT",
                 "expected direction LEFT or RIGHT, found " +
                     quoted(direction)))
    importBitwise<graph::ShrOp>(op);
}

/// Bounds are attributes before opset 11. With low > high the result is high.
static void importClip(Operator &op) {
  Emitter &emit = op.emit;
  Val x = numberInput(op), low, high;
  if (!x)
    return;
  if (op.opset < 11) {
    if (op.attribute("min"))
      low = emit.scalar(x.dtype, op.floatAttr("min", 0));
    if (op.attribute("max"))
      high = emit.scalar(x.dtype, op.floatAttr("max", 0));
  } else {
    low = op.hasInput(1) ? op.in(1) : Val();
    high = op.hasInput(2) ? op.in(2) : Val();
  }
  if (low && high) {
    if (!op.require(low.dtype == x.dtype && high.dtype == x.dtype,
                    "expected bounds of type " + name(x.dtype)))
      return;
    low = emit.broadcastTo(low, x.shape);
    high = emit.broadcastTo(high, x.shape);
    return op.out(emit.make(x.dtype, x.shape, [&](mlir::RankedTensorType type) {
      return graph::ClampOp::create(emit.builder, emit.location(), type,
                                    emit.use(low), emit.use(x), emit.use(high))
          .getResult();
    }));
  }
  if (low)
    x = emit.binary<graph::MaxOp>(x, low);
  if (high)
    x = emit.binary<graph::MinOp>(x, high);
  op.out(x);
}

static void importCast(Operator &op) {
  bool saturate = op.intAttr("saturate", 1) != 0;
  op.ignore({"round_mode"}); // concerns types that fusec does not have
  if (!op.require(op.attribute("to"), "attribute 'to' is missing"))
    return;
  DType to = op.dtypeAttr("to", DType::F32);
  Val x = op.in(0);
  if (x && !op.failed())
    op.out(op.emit.cast(x, to, saturate));
}

static void importCastLike(Operator &op) {
  bool saturate = op.intAttr("saturate", 1) != 0;
  op.ignore({"round_mode"});
  Val like = op.in(1);
  if (like)
    op.out(op.emit.cast(op.in(0), like.dtype, saturate));
}

static void importIsNan(Operator &op) {
  Val x = op.in(0);
  if (!x || !op.require(isFloat(x.dtype), "expected a float tensor"))
    return;
  op.out(op.emit.make(DType::Bool, x.shape, [&](mlir::RankedTensorType type) {
    return graph::IsNanOp::create(op.emit.builder, op.emit.location(), type,
                                  op.emit.use(x))
        .getResult();
  }));
}

static void importIsInf(Operator &op) {
  bool negative = op.intAttr("detect_negative", 1) != 0;
  bool positive = op.intAttr("detect_positive", 1) != 0;
  Val x = op.in(0);
  if (!x || !op.require(isFloat(x.dtype), "expected a float tensor"))
    return;
  Emitter &emit = op.emit;
  if (!negative && !positive)
    return op.out(emit.splat(DType::Bool, 0, x.shape));
  if (negative && positive)
    return op.out(
        emit.make(DType::Bool, x.shape, [&](mlir::RankedTensorType type) {
          return graph::IsInfOp::create(emit.builder, emit.location(), type,
                                        emit.use(x))
              .getResult();
        }));
  double infinity = std::numeric_limits<double>::infinity();
  op.out(emit.compare(ComparePredicate::eq, x,
                      emit.scalar(x.dtype, negative ? -infinity : infinity)));
}

static void importWhere(Operator &op) {
  op.out(op.emit.select(op.in(0), op.in(1), op.in(2)));
}

void importer::addElementwise(Registry &registry) {
  registry.add("Abs", importUnary<graph::AbsOp>);
  registry.add("Neg", importUnary<graph::NegOp>);
  registry.add("Sign", importUnary<graph::SignOp>);
  registry.add("BitwiseNot", importBitwiseNot);
  registry.add("Not", importNot);
  registry.add("Floor", importFloatUnary<graph::FloorOp>);
  registry.add("Ceil", importFloatUnary<graph::CeilOp>);
  registry.add("Round", importFloatUnary<graph::RoundOp>);
  registry.add("Sqrt", importFloatUnary<graph::SqrtOp>);
  registry.add("Exp", importFloatUnary<graph::ExpOp>);
  registry.add("Log", importFloatUnary<graph::LogOp>);
  registry.add("Sin", importFloatUnary<graph::SinOp>);
  registry.add("Cos", importFloatUnary<graph::CosOp>);
  registry.add("Tan", importFloatUnary<graph::TanOp>);
  registry.add("Asin", importFloatUnary<graph::AsinOp>);
  registry.add("Acos", importFloatUnary<graph::AcosOp>);
  registry.add("Atan", importFloatUnary<graph::AtanOp>);
  registry.add("Sinh", importFloatUnary<graph::SinhOp>);
  registry.add("Cosh", importFloatUnary<graph::CoshOp>);
  registry.add("Tanh", importFloatUnary<graph::TanhOp>);
  registry.add("Asinh", importFloatUnary<graph::AsinhOp>);
  registry.add("Acosh", importFloatUnary<graph::AcoshOp>);
  registry.add("Atanh", importFloatUnary<graph::AtanhOp>);
  registry.add("Erf", importFloatUnary<graph::ErfOp>);
  registry.add("Sigmoid", importFloatUnary<graph::LogisticOp>);
  registry.add("Reciprocal", importReciprocal);
  registry.add("Add", importBinary<graph::AddOp>);
  registry.add("Sub", importBinary<graph::SubOp>);
  registry.add("Mul", importBinary<graph::MulOp>);
  registry.add("Div", importBinary<graph::DivOp>);
  registry.add("Mod", importMod);
  registry.add("Pow", importPow);
  registry.add("And", importLogical<graph::AndOp>);
  registry.add("Or", importLogical<graph::OrOp>);
  registry.add("Xor", importLogical<graph::XorOp>);
  registry.add("BitwiseAnd", importBitwise<graph::AndOp>);
  registry.add("BitwiseOr", importBitwise<graph::OrOp>);
  registry.add("BitwiseXor", importBitwise<graph::XorOp>);
  registry.add("BitShift", importBitShift);
  registry.add("Max", importVariadic<graph::MaxOp>);
  registry.add("Min", importVariadic<graph::MinOp>);
  registry.add("Sum", importVariadic<graph::AddOp>);
  registry.add("Mean", importMean);
  registry.add("Equal", importCompare<ComparePredicate::eq>);
  registry.add("Less", importCompare<ComparePredicate::lt>);
  registry.add("LessOrEqual", importCompare<ComparePredicate::le>);
  registry.add("Greater", importCompare<ComparePredicate::gt>);
  registry.add("GreaterOrEqual", importCompare<ComparePredicate::ge>);
  registry.add("Where", importWhere);
  registry.add("Clip", importClip);
  registry.add("Cast", importCast);
  registry.add("CastLike", importCastLike);
  registry.add("IsNaN", importIsNan);
  registry.add("IsInf", importIsInf);
}
