//===- EmitArith.cpp - arithmetic as CUDA C++ -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fusec::cuda;

static const char *floatPredicate(arith::CmpFPredicate predicate,
                                  bool &negate) {
  // C++ comparisons are ordered; an unordered one is the negated converse.
  using P = arith::CmpFPredicate;
  negate = false;
  switch (predicate) {
  case P::OEQ:
    return "==";
  case P::OLT:
    return "<";
  case P::OLE:
    return "<=";
  case P::OGT:
    return ">";
  case P::OGE:
    return ">=";
  case P::UNE:
    return "!=";
  case P::ULT:
    negate = true;
    return ">=";
  case P::ULE:
    negate = true;
    return ">";
  case P::UGT:
    negate = true;
    return "<=";
  case P::UGE:
    negate = true;
    return "<";
  default:
    return nullptr;
  }
}

static const char *integerPredicate(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return "==";
  case P::ne:
    return "!=";
  case P::slt:
  case P::ult:
    return "<";
  case P::sle:
  case P::ule:
    return "<=";
  case P::sgt:
  case P::ugt:
    return ">";
  case P::sge:
  case P::uge:
    return ">=";
  }
  return nullptr;
}

static bool isUnsignedPredicate(arith::CmpIPredicate predicate) {
  return predicate >= arith::CmpIPredicate::ult;
}

/// True for arithmetic on what is rounded to 16 bits or fewer afterwards.
static bool isNear(Operation *op) {
  auto arithmetic = dyn_cast<arith::ArithFastMathInterface>(op);
  arith::FastMathFlagsAttr flags =
      arithmetic ? arithmetic.getFastMathFlagsAttr() : nullptr;
  return flags &&
         arith::bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::afn);
}

/// The f32 that `value` clamps to low .. high; null if it does something else.
static Value clampedValue(Value value, float low, float high) {
  auto upper = value.getDefiningOp<arith::MaximumFOp>();
  auto lower =
      upper ? upper.getLhs().getDefiningOp<arith::MinimumFOp>() : nullptr;
  llvm::APFloat least(0.0f), most(0.0f);
  if (!lower || !lower.getType().isF32() ||
      !matchPattern(upper.getRhs(), m_ConstantFloat(&least)) ||
      !matchPattern(lower.getRhs(), m_ConstantFloat(&most)))
    return {};
  bool isRange = least.convertToFloat() == low && most.convertToFloat() == high;
  return isRange ? lower.getLhs() : Value();
}

/// What `trunc` rounds to an 8-bit float after clamping it to the finite range;
/// null if it does something else.
static Value unclamped(arith::TruncFOp trunc) {
  auto type = dyn_cast<FloatType>(trunc.getType());
  if (!type || type.getWidth() != 8)
    return {};
  float largest =
      llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  return clampedValue(trunc.getIn(), -largest, largest);
}

/// Whether `value` is rounded to 8-bit floats that saturate, and nothing else.
static bool isSaturated(Value value) {
  return value.getType().isF32() &&
         llvm::all_of(value.getUsers(), [&](Operation *low) {
           // A clamp has one use, and the rounding behind it, too.
           Operation *high = low->hasOneUse() ? *low->user_begin() : nullptr;
           Operation *last =
               high && high->hasOneUse() ? *high->user_begin() : nullptr;
           auto trunc = dyn_cast_or_null<arith::TruncFOp>(last);
           return trunc && unclamped(trunc) == value;
         });
}

/// What `trunc` makes a byte of: rounded to the nearest integer, NaN to 0, then
/// clamped to the byte's range. Null if it does something else.
static Value roundedByte(arith::TruncIOp trunc) {
  Operation *conversion = trunc.getIn().getDefiningOp();
  if (!trunc.getType().isInteger(8) ||
      !isa_and_nonnull<arith::FPToSIOp, arith::FPToUIOp>(conversion))
    return {};
  bool isSigned = isa<arith::FPToSIOp>(conversion);
  auto select = conversion->getOperand(0).getDefiningOp<arith::SelectOp>();
  auto isNan = select ? select.getCondition().getDefiningOp<arith::CmpFOp>()
                      : arith::CmpFOp();
  if (!isNan || isNan.getPredicate() != arith::CmpFPredicate::UNO ||
      isNan.getLhs() != isNan.getRhs() ||
      !matchPattern(select.getTrueValue(), m_AnyZeroFloat()))
    return {};
  auto rounded = isNan.getLhs().getDefiningOp<math::RoundEvenOp>();
  Value clamped =
      clampedValue(select.getFalseValue(), isSigned ? -128.0f : 0.0f,
                   isSigned ? 127.0f : 255.0f);
  bool isByte =
      rounded && rounded.getType().isF32() && clamped == rounded.getResult();
  return isByte ? rounded.getOperand() : Value();
}

/// Whether `op` converts an integer that comes from at most 16 bits.
static bool isShort(Operation *op) {
  Value in = op->getOperand(0);
  if (auto *extension = in.getDefiningOp();
      isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(extension))
    in = extension->getOperand(0);
  return in.getType().isInteger() && in.getType().getIntOrFloatBitWidth() <= 16;
}

/// Whether `value` is an f32 or a 32-bit integer that is rounded to bf16 for
/// nothing but to be widened again.
static bool isRoundedOnly(Value value) {
  Operation *rounding = value.getDefiningOp();
  if (!isa_and_nonnull<arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp>(
          rounding))
    return false;
  Type from = rounding->getOperand(0).getType();
  return value.getType().isBF16() &&
         (from.isF32() || (from.isInteger(32) && !isShort(rounding))) &&
         llvm::all_of(value.getUsers(), [](Operation *user) {
           return isa<arith::ExtFOp>(user) &&
                  user->getResult(0).getType().isF32();
         });
}

/// The i1 that `op` makes a number of 32 bits or more, 0 or 1; null for others.
static Value truthOf(Operation *op) {
  Value in = op->getOperand(0);
  if (auto ext = in.getDefiningOp<arith::ExtUIOp>())
    in = ext.getIn();
  bool isTruth = in.getType().isInteger(1) &&
                 (isa<arith::UIToFPOp>(op) || in != op->getOperand(0));
  return isTruth && op->getResult(0).getType().getIntOrFloatBitWidth() >= 32
             ? in
             : Value();
}

/// x where `select` takes 2^31 - 1 if x is NaN and the bits of x + 0 otherwise.
static Value plainBitsOf(arith::SelectOp select) {
  auto isNan = select.getCondition().getDefiningOp<arith::CmpFOp>();
  auto bits = select.getFalseValue().getDefiningOp<arith::BitcastOp>();
  auto sum = bits ? bits.getIn().getDefiningOp<arith::AddFOp>() : nullptr;
  llvm::APInt most;
  bool matches = isNan && sum && sum.getType().isF32() &&
                 isNan.getPredicate() == arith::CmpFPredicate::UNO &&
                 isNan.getLhs() == isNan.getRhs() &&
                 isNan.getLhs() == sum.getLhs() &&
                 matchPattern(sum.getRhs(), m_PosZeroFloat()) &&
                 matchPattern(select.getTrueValue(), m_ConstantInt(&most)) &&
                 most == INT32_MAX;
  return matches ? sum.getLhs() : Value();
}

/// The index whose cast to i64 is operand `i` of a test for equality; null if
/// it is something else.
static Value comparedIndex(arith::CmpIOp cmp, unsigned i) {
  if (cmp.getPredicate() != arith::CmpIPredicate::eq ||
      !cmp.getLhs().getType().isInteger(64))
    return {};
  auto cast = cmp->getOperand(i).getDefiningOp<arith::IndexCastOp>();
  return cast && cast.getIn().getType().isIndex() ? cast.getIn() : Value();
}

/// `number` == `index`, both i32, where `index` is a sum: terms that all
/// iterations of the loop around `cmp` share go to the other side, where they
/// are subtracted once, and each iteration compares with its own terms, a
/// literal after unrolling. Exact: both sides are taken modulo 2^32.
static std::string equalsIndex(arith::CmpIOp cmp, std::string number,
                               Value index,
                               llvm::function_ref<std::string(Value)> use) {
  auto loop = dyn_cast<scf::ForOp>(cmp->getParentOp());
  std::string own;
  SmallVector<Value> parts = {index};
  while (!parts.empty()) {
    Value part = parts.pop_back_val();
    if (auto sum = part.getDefiningOp<arith::AddIOp>()) {
      parts.append({sum.getRhs(), sum.getLhs()});
      continue;
    }
    if (matchPattern(part, m_Constant()) ||
        (loop && part == loop.getInductionVar()))
      own += (own.empty() ? "(u32)" : " + (u32)") + use(part);
    else
      number += " - (u32)" + use(part);
  }
  return "((u32)" + number + " == " + (own.empty() ? "0u" : own) + ")";
}

LogicalResult Emitter::emitArith(Operation *op) {
  // A 4-bit value lives in a byte whose upper half means nothing: every use
  // takes the low half, sign-extended.
  auto arg = [&](unsigned i) {
    std::string text = use(op->getOperand(i));
    return op->getOperand(i).getType().isInteger(4)
               ? "(i8)((i8)((u8)" + text + " << 4) >> 4)"
               : text;
  };
  Type type = op->getResult(0).getType();
  std::string to = typeName(type);
  Type fromType = op->getNumOperands() ? op->getOperand(0).getType() : type;
  bool isIndex = type.isIndex();
  auto infix = [&](const char *sign) {
    return define(op, arg(0) + " " + sign + " " + arg(1));
  };
  // Index arithmetic does not overflow; integers wrap.
  auto wrap = [&](const char *sign, const char *call) {
    return isIndex ? infix(sign)
                   : define(op, llvm::Twine(call) + "(" + arg(0) + ", " +
                                    arg(1) + ")");
  };
  auto asUnsigned = [&](unsigned i) {
    if (op->getOperand(i).getType().isInteger(4))
      return "(u8)(" + use(op->getOperand(i)) + " & 15)";
    return "(" + unsignedName(op->getOperand(i).getType()) + ")" + arg(i);
  };
  auto call2 = [&](const llvm::Twine &callee) {
    return define(op, callee + "(" + arg(0) + ", " + arg(1) + ")");
  };
  auto unsignedCall2 = [&](const char *callee) {
    return define(op, "(" + to + ")" + callee + "(" + asUnsigned(0) + ", " +
                          asUnsigned(1) + ")");
  };
  auto unsignedInfix = [&](const char *sign, const char *callee) {
    if (!isIndex)
      return unsignedCall2(callee);
    return define(op, "(" + to + ")(" + asUnsigned(0) + " " + sign + " " +
                          asUnsigned(1) + ")");
  };
  auto bitwise = [&](const char *sign) {
    if (type.isInteger(1))
      return define(op, "(" + arg(0) + " " + sign + " " + arg(1) + ") != 0");
    return define(op,
                  "(" + to + ")(" + arg(0) + " " + sign + " " + arg(1) + ")");
  };
  auto extend4 = [&](bool isSigned) { // the low 4 bits of a byte
    return isSigned ? "(i8)((i8)((u8)" + arg(0) + " << 4) >> 4)"
                    : "(" + arg(0) + " & 15)";
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<arith::AddFOp>([&](auto) { return infix("+"); })
      .Case<arith::SubFOp>([&](arith::SubFOp sub) {
        // Of a condition: under it, which takes no value of its own.
        Operation *number = sub.getRhs().getDefiningOp();
        if (isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(number))
          if (Value truth = truthOf(number))
            return define(op, use(truth) + " ? " + arg(0) + " - (" +
                                  typeName(type) + ")1 : " + arg(0));
        return infix("-");
      })
      .Case<arith::MulFOp>([&](auto) { return infix("*"); })
      .Case<arith::DivFOp>([&](arith::DivFOp div) {
        bool isBounded = arith::bitEnumContainsAll(div.getFastmath(),
                                                   arith::FastMathFlags::arcp);
        if (isNear(div))
          return call2(isBounded          ? "m_div_by_sum"
                       : isSaturated(div) ? "m_div_bounded_near"
                                          : "m_div_near");
        return isBounded ? call2("m_div_bounded") : infix("/");
      })
      .Case<arith::RemFOp>([&](auto) { return call2("m_fmod"); })
      .Case<arith::NegFOp>(
          [&](auto) { return define(op, "-(" + arg(0) + ")"); })
      .Case<arith::MaximumFOp>([&](auto) { return call2("m_max"); })
      .Case<arith::MinimumFOp>([&](auto) { return call2("m_min"); })
      .Case<arith::AddIOp>([&](auto) { return wrap("+", "i_add"); })
      .Case<arith::SubIOp>([&](auto) { return wrap("-", "i_sub"); })
      .Case<arith::MulIOp>([&](auto) {
        return type.isInteger(1) ? bitwise("&") : wrap("*", "i_mul");
      })
      .Case<arith::DivSIOp>([&](auto) { return wrap("/", "i_div"); })
      .Case<arith::RemSIOp>([&](auto) { return wrap("%", "i_rem"); })
      .Case<arith::DivUIOp>([&](auto) { return unsignedInfix("/", "i_div"); })
      .Case<arith::RemUIOp>([&](auto) { return unsignedInfix("%", "i_rem"); })
      .Case<arith::MaxSIOp>([&](auto) { return call2("i_max"); })
      .Case<arith::MinSIOp>([&](auto) { return call2("i_min"); })
      .Case<arith::MaxUIOp>([&](auto) { return unsignedCall2("i_max"); })
      .Case<arith::MinUIOp>([&](auto) { return unsignedCall2("i_min"); })
      .Case<arith::AndIOp>([&](auto) { return bitwise("&"); })
      .Case<arith::OrIOp>([&](auto) { return bitwise("|"); })
      .Case<arith::XOrIOp>([&](auto) { return bitwise("^"); })
      .Case<arith::ShLIOp>([&](auto) { return call2("i_shl"); })
      .Case<arith::ShRSIOp>([&](auto) { return call2("i_shr"); })
      .Case<arith::ShRUIOp>([&](auto) { // of the low half, without a sign
        return type.isInteger(4) ? unsignedCall2("i_ushr") : call2("i_ushr");
      })
      .Case<arith::MulUIExtendedOp, arith::MulSIExtendedOp,
            arith::AddUIExtendedOp>(
          [&](auto) { return op->emitOpError("has no CUDA text"); })
      .Case<arith::CmpFOp>([&](arith::CmpFOp cmp) -> LogicalResult {
        if (cmp.getPredicate() == arith::CmpFPredicate::UNO)
          return define(op,
                        "m_isnan(" + arg(0) + ") || m_isnan(" + arg(1) + ")");
        if (cmp.getPredicate() == arith::CmpFPredicate::ORD)
          return define(op,
                        "!m_isnan(" + arg(0) + ") && !m_isnan(" + arg(1) + ")");
        if (cmp.getPredicate() == arith::CmpFPredicate::ONE)
          return define(op, arg(0) + " < " + arg(1) + " || " + arg(0) + " > " +
                                arg(1));
        if (cmp.getPredicate() == arith::CmpFPredicate::UEQ)
          return define(op, "!(" + arg(0) + " < " + arg(1) + " || " + arg(0) +
                                " > " + arg(1) + ")");
        bool negate;
        const char *sign = floatPredicate(cmp.getPredicate(), negate);
        if (!sign)
          return op->emitOpError("has a constant predicate");
        std::string text = arg(0) + " " + sign + " " + arg(1);
        return define(op, negate ? "!(" + text + ")" : text);
      })
      .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) {
        const char *sign = integerPredicate(cmp.getPredicate());
        for (unsigned i : {0u, 1u}) {
          Value index = comparedIndex(cmp, i);
          if (!index || typeName(index.getType()) != "i32")
            continue;
          // In 32 bits, and whether it fits once for many.
          std::string narrow = "(i32)" + arg(1 - i);
          std::string isEqual = equalsIndex(
              cmp, narrow, index, [&](Value part) { return use(part); });
          return define(op, "(" + isEqual + " & ((i64)" + narrow +
                                " == " + arg(1 - i) + ")) != 0");
        }
        if (isUnsignedPredicate(cmp.getPredicate()))
          return define(op, asUnsigned(0) + " " + sign + " " + asUnsigned(1));
        return infix(sign);
      })
      .Case<arith::SelectOp>([&](arith::SelectOp select) {
        if (Value real = plainBitsOf(select))
          return define(op, "m_plain_bits(" + use(real) + ")");
        return define(op, arg(0) + " ? " + arg(1) + " : " + arg(2));
      })
      .Case<arith::ExtFOp>([&](arith::ExtFOp ext) {
        // One conversion is faster than two.
        if (isRoundedOnly(ext.getIn())) {
          PairedRounding rounding = pairedRounding(op);
          return define(op, "rounded<bf16>(" + rounding.before +
                                use(rounding.operand) +
                                (rounding.before.empty() ? ")" : "))"));
        }
        return define(op,
                      (type.isF64() ? "to_f64(" : "to_f32(") + arg(0) + ")");
      })
      .Case<arith::TruncFOp>([&](arith::TruncFOp trunc) {
        if (isRoundedOnly(trunc))
          return success();
        if (fromType.isF64())
          return define(op, "from_f64<" + to + ">(" + arg(0) + ")");
        if (Value wide = unclamped(trunc))
          return define(op, "from_f32_sat<" + to + ">(" + use(wide) + ")");
        // Of a narrow type the widening is exact: rounded once.
        bool isNarrow = fromType.getIntOrFloatBitWidth() < 32;
        std::string wide = isNarrow ? "to_f32(" + arg(0) + ")" : arg(0);
        return define(op, "from_f32<" + to + ">(" + wide + ")");
      })
      .Case<arith::SIToFPOp, arith::UIToFPOp>([&](auto conversion) {
        if (isRoundedOnly(conversion))
          return success();
        bool isSigned = isa<arith::SIToFPOp>(op);
        if (Value truth = truthOf(op))
          return define(op, use(truth) + " ? (" + to + ")1 : (" + to + ")0");
        std::string from = fromType.isInteger(4) ? extend4(isSigned)
                           : isSigned            ? arg(0)
                                                 : asUnsigned(0);
        if (type.getIntOrFloatBitWidth() >= 32)
          return define(op, "(" + to + ")" + from);
        // Narrow types have no conversion of their own.
        if (isShort(op))
          return define(op, "from_f32<" + to + ">((f32)" + from + ")");
        bool isWide =
            fromType.isIndex() || fromType.getIntOrFloatBitWidth() > 32;
        if (!isWide)
          return define(op, "from_f32<" + to + ">(to_f32_odd(" + from + "))");
        return define(op, "from_f64<" + to + ">(to_f64_odd((" +
                              (isSigned ? "i64)" : "u64)") + from + "))");
      })
      .Case<arith::FPToSIOp>([&](auto) {
        return define(op, "cvt_sat<" + to + ">(" + arg(0) + ")");
      })
      .Case<arith::FPToUIOp>([&](auto) {
        return define(op, "(" + to + ")cvt_sat<" + unsignedName(type) + ">(" +
                              arg(0) + ")");
      })
      .Case<arith::ExtSIOp>([&](auto) {
        if (fromType.isInteger(1))
          return define(op, "(" + to + ")(" + arg(0) + " ? -1 : 0)");
        return define(op, "(" + to + ")" +
                              (fromType.isInteger(4) ? extend4(true) : arg(0)));
      })
      .Case<arith::ExtUIOp>([&](auto) {
        if (fromType.isInteger(4))
          return define(op, "(" + to + ")" + extend4(false));
        return define(op, "(" + to + ")" + asUnsigned(0));
      })
      .Case<arith::TruncIOp>([&](arith::TruncIOp trunc) {
        if (type.isInteger(1))
          return define(op, "(" + arg(0) + " & 1) != 0");
        if (Value wide = roundedByte(trunc)) {
          bool isSigned =
              trunc.getIn().getDefiningOp<arith::FPToSIOp>() != nullptr;
          return define(op, std::string(isSigned ? "rint_sat<i8>("
                                                 : "(i8)rint_sat<u8>(") +
                                use(wide) + ")");
        }
        return define(op, "(" + to + ")" + arg(0));
      })
      .Case<arith::IndexCastOp>(
          [&](auto) { return define(op, "(" + to + ")" + arg(0)); })
      .Case<arith::IndexCastUIOp>(
          [&](auto) { return define(op, "(" + to + ")" + asUnsigned(0)); })
      .Case<arith::BitcastOp>([&](auto) {
        return define(op, "from_bits<" + to + ">(to_bits(" + arg(0) + "))");
      })
      .Default([&](auto) { return op->emitOpError("has no CUDA text"); });
}

Emitter::PairedRounding Emitter::pairedRounding(Operation *op) {
  if (auto ext = dyn_cast<arith::ExtFOp>(op);
      ext && isRoundedOnly(ext.getIn())) {
    Operation *rounding = ext.getIn().getDefiningOp();
    std::string before;
    if (!isa<arith::TruncFOp>(rounding))
      before = std::string("to_f32_odd(") +
               (isa<arith::UIToFPOp>(rounding) ? "(u32)" : "");
    return {"rounded_bf16_pair", rounding->getOperand(0), before};
  }
  if (auto trunc = dyn_cast<arith::TruncFOp>(op))
    if (Value wide = unclamped(trunc))
      return {"from_f32_sat_pair", wide, {}};
  if (auto trunc = dyn_cast<arith::TruncIOp>(op);
      trunc && trunc.getIn().getDefiningOp<arith::FPToSIOp>())
    if (Value wide = roundedByte(trunc))
      return {"rint_sat_pair", wide, {}};
  return {};
}

LogicalResult Emitter::emitMath(Operation *op) {
  auto arg = [&](unsigned i) { return use(op->getOperand(i)); };
  auto call = [&](const char *name) {
    std::string text = std::string(name) + "(";
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      text += (i ? ", " : "") + arg(i);
    return define(op, text + ")");
  };
  auto nearly = [&](const char *name) {
    return call((std::string(name) + (isNear(op) ? "_near" : "")).c_str());
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<math::AbsFOp>([&](auto) { return call("m_abs"); })
      .Case<math::AbsIOp>([&](auto) { return call("i_abs"); })
      .Case<math::FloorOp>([&](auto) { return call("m_floor"); })
      .Case<math::CeilOp>([&](auto) { return call("m_ceil"); })
      .Case<math::TruncOp>([&](auto) { return call("m_trunc"); })
      .Case<math::RoundEvenOp>([&](auto) { return call("m_rint"); })
      .Case<math::SqrtOp>([&](auto) { return nearly("m_sqrt"); })
      .Case<math::RsqrtOp>([&](auto) { return call("m_rsqrt"); })
      .Case<math::CbrtOp>([&](auto) { return call("m_cbrt"); })
      .Case<math::ExpOp>([&](math::ExpOp exp) {
        // Approximated without being narrow: a part of a sum.
        bool isPart = isNear(exp) &&
                      !arith::bitEnumContainsAll(
                          exp.getFastmath(), arith::FastMathFlags::contract);
        return isPart ? call("m_exp_part") : nearly("m_exp");
      })
      .Case<math::Exp2Op>([&](auto) { return nearly("m_exp2"); })
      .Case<math::ExpM1Op>([&](auto) { return call("m_expm1"); })
      .Case<math::LogOp>([&](auto) { return call("m_log"); })
      .Case<math::Log2Op>([&](auto) { return call("m_log2"); })
      .Case<math::Log1pOp>([&](auto) { return call("m_log1p"); })
      .Case<math::SinOp>([&](auto) { return call("m_sin"); })
      .Case<math::CosOp>([&](auto) { return call("m_cos"); })
      .Case<math::TanOp>([&](auto) { return call("m_tan"); })
      .Case<math::AsinOp>([&](auto) { return call("m_asin"); })
      .Case<math::AcosOp>([&](auto) { return call("m_acos"); })
      .Case<math::AtanOp>([&](auto) { return call("m_atan"); })
      .Case<math::Atan2Op>([&](auto) { return call("m_atan2"); })
      .Case<math::SinhOp>([&](auto) { return call("m_sinh"); })
      .Case<math::CoshOp>([&](auto) { return call("m_cosh"); })
      .Case<math::TanhOp>([&](auto) { return call("m_tanh"); })
      .Case<math::AsinhOp>([&](auto) { return call("m_asinh"); })
      .Case<math::AcoshOp>([&](auto) { return call("m_acosh"); })
      .Case<math::AtanhOp>([&](auto) { return call("m_atanh"); })
      .Case<math::ErfOp>([&](auto) { return call("m_erf"); })
      .Case<math::ErfcOp>([&](auto) { return nearly("m_erfc"); })
      .Case<math::PowFOp>([&](auto) { return call("m_pow"); })
      .Case<math::CopySignOp>([&](auto) { return call("m_copysign"); })
      .Case<math::FmaOp>([&](auto) { return call("m_fma"); })
      .Case<math::IsNaNOp>([&](auto) { return call("m_isnan"); })
      .Default([&](auto) { return op->emitOpError("has no CUDA text"); });
}
