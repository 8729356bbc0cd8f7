//===- MathCode.cpp - inline code of f32 math functions -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f64 has 29 bits more than f32 and a far larger range, so one polynomial of
// relative error 1e-11 or less, evaluated in f64, gives an f32 result that is
// correctly rounded but for about one in 10^4 near ties; overflow, underflow
// and denormals come right by the final rounding.
//
// Polynomials interpolate at Chebyshev nodes; the stated errors were measured
// against 40-digit arithmetic.
//===----------------------------------------------------------------------===//
#include "MathCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace fusec;
using namespace fusec::host;

// expm1(r) / r for |r| <= ln(2) / 2, relative error 9e-14.
static constexpr double kExpm1[] = {1.0,
                                    0.49999999999797773,
                                    0.1666666666664829,
                                    0.0416666668910917,
                                    0.008333333353729397,
                                    0.001388882165071769,
                                    0.00019841208732536384,
                                    2.4876178959085513e-05,
                                    2.762511557828763e-06};
// log((1 + s) / (1 - s)) / s in s^2 for |s| <= (sqrt(2) - 1) / (sqrt(2) + 1),
// relative error 3e-16.
static constexpr double kLog[] = {2.0000000000000004,  0.6666666666655285,
                                  0.40000000061773056, 0.2857141601597565,
                                  0.22223434921408206, 0.18121922003893642,
                                  0.16837813568898644};
// erf(x) / x in x^2 for |x| <= 1, relative error 2e-14.
static constexpr double kErfSmall[] = {
    1.128379167095494,      -0.37612638902808615,    0.11283791658548713,
    -0.026866169050599326,  0.0052239671935439,      -0.0008547933736519633,
    0.00012046261269779797, -1.4795031400662045e-05, 1.5306373163641084e-06,
    -1.0469110332151208e-07};
// -log(erfc(x)) for 1 <= x <= 4, error of erfc 1e-11.
static constexpr double kErfLarge[] = {
    -5.1718111249494306e-05, 1.1287147503153754,     0.6356434308213991,
    0.10444645407300959,     -0.020985591939115724,  0.0011464253087465433,
    0.0011013277438251712,   -0.0005233060846233995, 0.0001338132458793665,
    -2.2362888676272304e-05, 2.4418213125514962e-06, -1.5914486101492174e-07,
    4.712489658642959e-09};

namespace {
/// f64 arithmetic on scalars or vectors of one shape.
class Coder {
public:
  Coder(Operation *op)
      : builder(op), loc(op->getLoc()),
        vector(dyn_cast<VectorType>(op->getResult(0).getType())) {}

  Type type(Type scalar) const {
    return vector ? Type(VectorType::get(vector.getShape(), scalar)) : scalar;
  }
  Value splat(TypedAttr value) {
    if (vector)
      value = DenseElementsAttr::get(cast<ShapedType>(type(value.getType())),
                                     Attribute(value));
    return arith::ConstantOp::create(builder, loc, value);
  }
  Value real(double value) { return splat(builder.getF64FloatAttr(value)); }
  Value integer(uint64_t value) {
    return splat(builder.getI64IntegerAttr(static_cast<int64_t>(value)));
  }
  template <typename OpT, typename... Args>
  Value make(Args &&...args) {
    return OpT::create(builder, loc, std::forward<Args>(args)...);
  }
  Value add(Value a, Value b) { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return make<arith::DivFOp>(a, b); }
  Value fma(Value a, Value b, Value c) { return make<math::FmaOp>(a, b, c); }
  Value abs(Value a) { return make<math::AbsFOp>(a); }
  Value copySign(Value a, Value sign) {
    return make<math::CopySignOp>(a, sign);
  }
  Value select(Value condition, Value a, Value b) {
    return make<arith::SelectOp>(condition, a, b);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return make<arith::CmpFOp>(predicate, a, b);
  }
  Value bits(Value a) {
    return make<arith::BitcastOp>(type(builder.getI64Type()), a);
  }
  Value fromBits(Value a) {
    return make<arith::BitcastOp>(type(builder.getF64Type()), a);
  }
  Value polynomial(ArrayRef<double> coefficients, Value x) {
    Value result = real(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      result = fma(result, x, real(coefficient));
    return result;
  }
  /// `x` limited to [low, high]; NaN stays.
  Value clamp(Value x, double low, double high) {
    Value atMost = select(compare(arith::CmpFPredicate::OGT, x, real(high)),
                          real(high), x);
    return select(compare(arith::CmpFPredicate::OLT, atMost, real(low)),
                  real(low), atMost);
  }

  OpBuilder builder;
  Location loc;
  VectorType vector;
};
} // namespace

// Adding it rounds to an integer, which is then in the low bits of the
// mantissa.
static constexpr double kRound = 0x1.8p52;

namespace {
/// x = n ln(2) + r.
struct Reduced {
  Value power; // 2^n
  Value expm1; // expm1(r)
};
} // namespace

/// Splits base^x, given x / log(base, 2) as `exponent`; |exponent| < 1000.
static Reduced reduceExp(Coder &code, Value x, Value exponent, double unit) {
  Value shifted = code.add(exponent, code.real(kRound));
  Value n = code.sub(shifted, code.real(kRound));
  Value r = code.fma(n, code.real(-unit), x);
  if (unit == 1.0)
    r = code.mul(r, code.real(std::numbers::ln2));
  // The low bits of `shifted` are n: move them to the exponent.
  Value exponentBits =
      code.make<arith::ShLIOp>(code.bits(shifted), code.integer(52));
  Value power = code.fromBits(code.make<arith::AddIOp>(
      exponentBits, code.integer(uint64_t(1023) << 52)));
  return {power, code.mul(r, code.polynomial(kExpm1, r))};
}

// Beyond +-128 every result in use here has over- or underflowed in f32.
static Reduced reduceE(Coder &code, Value x) {
  Value limited = code.clamp(x, -128, 128);
  Value exponent = code.mul(limited, code.real(std::numbers::log2e));
  return reduceExp(code, limited, exponent, std::numbers::ln2);
}

static Value buildExp(Coder &code, Value x) {
  Reduced parts = reduceE(code, x);
  return code.fma(parts.power, parts.expm1, parts.power);
}

static Value buildExp2(Coder &code, Value x) {
  Value limited = code.clamp(x, -180, 180);
  Reduced parts = reduceExp(code, limited, limited, 1.0);
  return code.fma(parts.power, parts.expm1, parts.power);
}

/// Keeps its relative accuracy near 0, where n = 0.
static Value buildExpm1(Coder &code, Value x) {
  Reduced parts = reduceE(code, x);
  Value result =
      code.fma(parts.power, parts.expm1, code.sub(parts.power, code.real(1)));
  return code.copySign(result, x);
}

static Value buildTanh(Coder &code, Value x) {
  // tanh(x) = e / (e + 2) with e = expm1(2 |x|); 1 in f32 from 10 on.
  Value twice = code.clamp(code.mul(code.abs(x), code.real(2)), 0, 40);
  Value e = buildExpm1(code, twice);
  return code.copySign(code.div(e, code.add(e, code.real(2))), x);
}

static Value buildSinh(Coder &code, Value x) {
  Value e = buildExpm1(code, code.abs(x));
  Value sum = code.add(e, code.div(e, code.add(e, code.real(1))));
  return code.copySign(code.mul(sum, code.real(0.5)), x);
}

static Value buildCosh(Coder &code, Value x) {
  Value e = buildExp(code, code.abs(x));
  return code.mul(code.add(e, code.div(code.real(1), e)), code.real(0.5));
}

static Value buildErf(Coder &code, Value x) {
  Value magnitude = code.clamp(code.abs(x), 0, 4);
  Value small = code.mul(
      magnitude, code.polynomial(kErfSmall, code.mul(magnitude, magnitude)));
  Value exponent = code.polynomial(kErfLarge, magnitude);
  Value large =
      code.sub(code.real(1), buildExp(code, code.mul(exponent, code.real(-1))));
  Value isSmall =
      code.compare(arith::CmpFPredicate::OLE, magnitude, code.real(1));
  return code.copySign(code.select(isSmall, small, large), x);
}

namespace {
/// log(x) = exponent ln(2) + log(mantissa), for positive normal x.
struct LogParts {
  Value exponent, mantissaLog;
};
} // namespace

static LogParts splitLog(Coder &code, Value x) {
  // The exponent counts from sqrt(1/2), so that the mantissa is around 1.
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  Value offset =
      code.make<arith::SubIOp>(code.bits(x), code.integer(kSqrtHalf));
  Value n = code.make<arith::ShRSIOp>(offset, code.integer(52));
  Value exponentBits = code.make<arith::ShLIOp>(n, code.integer(52));
  Value m = code.fromBits(code.make<arith::SubIOp>(code.bits(x), exponentBits));
  uint64_t round = llvm::bit_cast<uint64_t>(kRound);
  Value exponent =
      code.sub(code.fromBits(code.make<arith::AddIOp>(n, code.integer(round))),
               code.real(kRound));
  Value s = code.div(code.sub(m, code.real(1)), code.add(m, code.real(1)));
  return {exponent, code.mul(s, code.polynomial(kLog, code.mul(s, s)))};
}

/// `result` where x is positive and finite, the logarithm's limits elsewhere.
static Value fixLog(Coder &code, Value x, Value result) {
  using enum arith::CmpFPredicate;
  Value zero = code.real(0);
  Value isInfinite = code.compare(OEQ, x, code.real(HUGE_VAL));
  Value isZero = code.compare(OEQ, x, zero);
  Value isBad = code.compare(ULT, x, zero);
  result = code.select(isInfinite, x, result);
  result = code.select(isZero, code.real(-HUGE_VAL), result);
  return code.select(isBad, code.real(std::nan("")), result);
}

static Value buildLog(Coder &code, Value x) {
  LogParts parts = splitLog(code, x);
  Value result =
      code.fma(parts.exponent, code.real(std::numbers::ln2), parts.mantissaLog);
  return fixLog(code, x, result);
}

static Value buildLog2(Coder &code, Value x) {
  LogParts parts = splitLog(code, x);
  Value result = code.fma(parts.mantissaLog, code.real(std::numbers::log2e),
                          parts.exponent);
  return fixLog(code, x, result);
}

static Value buildLog1p(Coder &code, Value x) {
  // What 1 + x loses comes back to first order.
  Value u = code.add(x, code.real(1));
  Value lost = code.sub(x, code.sub(u, code.real(1)));
  LogParts parts = splitLog(code, u);
  Value result =
      code.fma(parts.exponent, code.real(std::numbers::ln2), parts.mantissaLog);
  result = code.add(result, code.div(lost, u));
  Value isZero = code.compare(arith::CmpFPredicate::OEQ, x, code.real(0));
  return code.select(isZero, x, fixLog(code, u, result));
}

static Value buildRsqrt(Coder &code, Value x) {
  return code.div(code.real(1), code.make<math::SqrtOp>(x));
}

using BuildFn = Value (*)(Coder &, Value);

static BuildFn builderOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, BuildFn>(op)
      .Case<math::ExpOp>([](auto) { return buildExp; })
      .Case<math::Exp2Op>([](auto) { return buildExp2; })
      .Case<math::ExpM1Op>([](auto) { return buildExpm1; })
      .Case<math::TanhOp>([](auto) { return buildTanh; })
      .Case<math::SinhOp>([](auto) { return buildSinh; })
      .Case<math::CoshOp>([](auto) { return buildCosh; })
      .Case<math::ErfOp>([](auto) { return buildErf; })
      .Case<math::LogOp>([](auto) { return buildLog; })
      .Case<math::Log2Op>([](auto) { return buildLog2; })
      .Case<math::Log1pOp>([](auto) { return buildLog1p; })
      .Case<math::RsqrtOp>([](auto) { return buildRsqrt; })
      .Default([](auto) { return nullptr; });
}

Value host::buildMathCode(Operation *op) {
  BuildFn build = builderOf(op);
  if (!build || !getElementTypeOrSelf(op->getResult(0)).isF32())
    return {};
  Coder code(op);
  Value x = code.make<arith::ExtFOp>(code.type(code.builder.getF64Type()),
                                     op->getOperand(0));
  return code.make<arith::TruncFOp>(op->getResult(0).getType(), build(code, x));
}
