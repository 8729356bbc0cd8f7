//===- NearMath.cpp - shorter arithmetic for narrow results ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams of 16-bit elements have about 30 instructions an element before the
// multiprocessors, not the memory, set their speed. What is rounded to 16 bits
// need not be computed to the last of 24.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Dialect/Simt/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fusec::simt {
#define GEN_PASS_DEF_NEARMATHPASS
#include "fusec/Dialect/Simt/Transforms/Passes.h.inc"
} // namespace fusec::simt

using namespace mlir;

static bool isMarked(Operation *op) {
  auto arithmetic = dyn_cast_or_null<arith::ArithFastMathInterface>(op);
  arith::FastMathFlagsAttr flags =
      arithmetic ? arithmetic.getFastMathFlagsAttr() : nullptr;
  return flags && arith::bitEnumContainsAll(flags.getValue(),
                                            arith::FastMathFlags::contract |
                                                arith::FastMathFlags::afn);
}

static bool isOne(Value value) { return matchPattern(value, m_OneFloat()); }

/// The marked op of class `OpT` that makes `value`, or null.
template <typename OpT>
static OpT marked(Value value) {
  auto op = value.getDefiningOp<OpT>();
  return op && isMarked(op) ? op : OpT();
}

/// 1 + erf(x) as erfc(-x).
static bool formErfc(arith::AddFOp sum, OpBuilder &builder) {
  for (auto [value, one] : {std::pair(sum.getLhs(), sum.getRhs()),
                            std::pair(sum.getRhs(), sum.getLhs())}) {
    auto erf = marked<math::ErfOp>(value);
    if (!erf || !isOne(one))
      continue;
    Value minus =
        arith::NegFOp::create(builder, sum.getLoc(), erf.getOperand());
    sum.replaceAllUsesWith(
        math::ErfcOp::create(builder, sum.getLoc(), minus, sum.getFastmath())
            .getResult());
    sum.erase();
    return true;
  }
  return false;
}

namespace {
/// factor * base^degree.
struct Monomial {
  double factor;
  Value base;
  int degree;
};
} // namespace

/// Looks through a few negations and products with constants and of one value.
static Monomial monomialOf(Value value, int depth = 4) {
  Monomial self = {1, value, 1};
  if (!depth--)
    return self;
  if (auto minus = value.getDefiningOp<arith::NegFOp>()) {
    Monomial result = monomialOf(minus.getOperand(), depth);
    return {-result.factor, result.base, result.degree};
  }
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product)
    return self;
  for (unsigned i : {0u, 1u}) {
    FloatAttr factor;
    if (!matchPattern(product->getOperand(i), m_Constant(&factor)))
      continue;
    Monomial result = monomialOf(product->getOperand(1 - i), depth);
    return {result.factor * factor.getValueAsDouble(), result.base,
            result.degree};
  }
  Monomial lhs = monomialOf(product.getLhs(), depth),
           rhs = monomialOf(product.getRhs(), depth);
  if (lhs.base != rhs.base)
    return self;
  return {lhs.factor * rhs.factor, lhs.base, lhs.degree + rhs.degree};
}

/// True for -x^2 where `x` is one, but for the rounding of constants.
static bool isMinusSquare(const Monomial &value, const Monomial &x) {
  double square = x.factor * x.factor;
  return value.base == x.base && value.degree == 2 * x.degree &&
         std::abs(value.factor + square) <= 0x1p-22 * square;
}

/// Moves `op` and what makes its operands before `place`.
static void hoist(Operation *op, Operation *place) {
  if (!op || op->getBlock() != place->getBlock() || op->isBeforeInBlock(place))
    return;
  for (Value operand : op->getOperands())
    hoist(operand.getDefiningOp(), place);
  op->moveBefore(place);
}

/// 1 + erf(x) beside exp(-x^2), as the derivative of GELU has it, as one from
/// the other.
static bool formFromPower(arith::AddFOp sum, ArrayRef<math::ExpOp> powers) {
  for (auto [value, one] : {std::pair(sum.getLhs(), sum.getRhs()),
                            std::pair(sum.getRhs(), sum.getLhs())}) {
    auto erf = value.getDefiningOp<math::ErfOp>();
    if (!erf || !isOne(one) || erf.getFastmath() != arith::FastMathFlags::afn)
      continue;
    Monomial x = monomialOf(erf.getOperand());
    for (math::ExpOp power : powers) {
      if (power->getBlock() != sum->getBlock() ||
          power.getType() != sum.getType() ||
          !isMinusSquare(monomialOf(power.getOperand()), x))
        continue;
      hoist(power, sum);
      OpBuilder builder(sum);
      sum.replaceAllUsesWith(fusec::simt::OnePlusErfOp::create(
                                 builder, sum.getLoc(), erf.getOperand(), power)
                                 .getResult());
      sum.erase();
      return true;
    }
  }
  return false;
}

/// Looks through a product with a constant that has no other use: the constant,
/// 1 if there is none.
static double takeFactor(Value &value) {
  auto product = marked<arith::MulFOp>(value);
  if (!product || !product->hasOneUse())
    return 1;
  for (unsigned i : {0u, 1u}) {
    FloatAttr factor;
    if (!matchPattern(product->getOperand(i), m_Constant(&factor)))
      continue;
    value = product->getOperand(1 - i);
    return factor.getValueAsDouble();
  }
  return 1;
}

/// `factor` times `value`. Where that is x + c x^3, its x is taken out, so that
/// the factor goes into constants: x (factor + factor c x^2).
static Value scaled(OpBuilder &builder, Location loc, Value value,
                    double factor, arith::FastMathFlags flags) {
  auto constant = [&](double number) -> Value {
    return arith::ConstantOp::create(
        builder, loc, builder.getFloatAttr(value.getType(), number));
  };
  auto times = [&](Value lhs, Value rhs) -> Value {
    return arith::MulFOp::create(builder, loc, lhs, rhs, flags);
  };
  if (auto sum = marked<arith::AddFOp>(value))
    for (auto [lhs, rhs] : {std::pair(sum.getLhs(), sum.getRhs()),
                            std::pair(sum.getRhs(), sum.getLhs())}) {
      Monomial cube = monomialOf(rhs);
      if (cube.base != lhs || cube.degree != 3)
        continue;
      Value slope =
          math::FmaOp::create(builder, loc, times(lhs, lhs),
                              constant(factor * cube.factor), constant(factor));
      return times(lhs, slope);
    }
  return times(value, constant(factor));
}

/// 1 + tanh(x) as 2 / (1 + 2^(x -2 / ln 2)).
static bool formLogistic(arith::AddFOp sum, OpBuilder &builder) {
  for (auto [value, one] : {std::pair(sum.getLhs(), sum.getRhs()),
                            std::pair(sum.getRhs(), sum.getLhs())}) {
    auto tanh = marked<math::TanhOp>(value);
    if (!tanh || !isOne(one))
      continue;
    Location loc = sum.getLoc();
    auto constant = [&](double number) {
      return arith::ConstantOp::create(
          builder, loc, builder.getFloatAttr(sum.getType(), number));
    };
    arith::FastMathFlags flags = sum.getFastmath();
    // A factor before tanh, and one of what 1 + tanh(x) is multiplied by, are
    // taken in.
    Value operand = tanh.getOperand();
    double before = takeFactor(operand), behind = 1;
    if (auto product = sum->hasOneUse()
                           ? dyn_cast<arith::MulFOp>(*sum->user_begin())
                           : arith::MulFOp();
        product && isMarked(product) && product.getLhs() != product.getRhs()) {
      unsigned other = product.getLhs() == sum.getResult() ? 1 : 0;
      Value factor = product->getOperand(other);
      if (Operation *maker = factor.getDefiningOp();
          maker && maker->getBlock() == product->getBlock()) {
        behind = takeFactor(factor);
        product->setOperand(other, factor);
      }
    }
    constexpr double kLog2E = 1.4426950408889634;
    Value twice = scaled(builder, loc, operand, -2 * kLog2E * before, flags);
    Value power = math::Exp2Op::create(builder, loc, twice, flags);
    Value divisor = arith::AddFOp::create(builder, loc, power, one, flags);
    // At least 1: its reciprocal needs no care.
    Value result =
        arith::DivFOp::create(builder, loc, constant(2 * behind), divisor,
                              flags | arith::FastMathFlags::arcp);
    sum.replaceAllUsesWith(result);
    sum.erase();
    return true;
  }
  return false;
}

/// A product that feeds nothing but a sum.
static arith::MulFOp onlyFactor(Value value) {
  auto product = marked<arith::MulFOp>(value);
  return product && product->hasOneUse() ? product : arith::MulFOp();
}

/// a * b + c, a * b - c and c - a * b in one op.
static void formFma(Operation *sum, OpBuilder &builder) {
  Value lhs = sum->getOperand(0), rhs = sum->getOperand(1);
  bool isDifference = isa<arith::SubFOp>(sum);
  arith::MulFOp product = onlyFactor(lhs);
  Value other = rhs;
  if (!product) {
    product = onlyFactor(rhs);
    other = lhs;
  }
  if (!product)
    return;
  Location loc = sum->getLoc();
  Value factor = product.getLhs();
  if (isDifference) {
    Value &negated = other == lhs ? factor : other;
    negated = arith::NegFOp::create(builder, loc, negated);
  }
  Value fma =
      math::FmaOp::create(builder, loc, factor, product.getRhs(), other);
  sum->getResult(0).replaceAllUsesWith(fma);
  sum->erase();
  product.erase();
}

/// True for 1 + exp(-|x|).
static bool isNearOne(Value value) {
  auto sum = value.getDefiningOp<arith::AddFOp>();
  if (!sum || !(isOne(sum.getLhs()) || isOne(sum.getRhs())))
    return false;
  Value power = isOne(sum.getLhs()) ? sum.getRhs() : sum.getLhs();
  auto exp = power.getDefiningOp<math::ExpOp>();
  auto minus = exp ? exp.getOperand().getDefiningOp<arith::NegFOp>() : nullptr;
  return minus && minus.getOperand().getDefiningOp<math::AbsFOp>();
}

namespace {
struct NearMath : fusec::simt::impl::NearMathPassBase<NearMath> {
  void runOnOperation() override {
    SmallVector<Operation *> found;
    SmallVector<math::ExpOp> powers;
    SmallVector<arith::AddFOp> sums;
    getOperation()->walk([&](Operation *op) {
      if (isMarked(op))
        found.push_back(op);
      if (auto power = dyn_cast<math::ExpOp>(op))
        powers.push_back(power);
      if (auto sum = dyn_cast<arith::AddFOp>(op); sum && !isMarked(op))
        sums.push_back(sum);
    });
    for (arith::AddFOp sum : sums)
      formFromPower(sum, powers);
    for (Operation *op : found)
      if (auto div = dyn_cast<arith::DivFOp>(op))
        if (isNearOne(div.getRhs()))
          div.setFastmath(div.getFastmath() | arith::FastMathFlags::arcp);
    llvm::SmallPtrSet<Operation *, 8> gone;
    for (Operation *op : found) {
      OpBuilder builder(op);
      if (auto sum = dyn_cast<arith::AddFOp>(op))
        if (formErfc(sum, builder) || formLogistic(sum, builder))
          gone.insert(op);
    }
    for (Operation *op : found) {
      if (gone.contains(op))
        continue;
      OpBuilder builder(op);
      // Products stand before the sums that take them in, so that none of
      // them is looked at again.
      if (isa<arith::AddFOp, arith::SubFOp>(op))
        formFma(op, builder);
    }
    // What stood before 1 + erf(x) and 1 + tanh(x) has no use any more.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>(
        [](Operation *op) {
          if (isOpTriviallyDead(op))
            op->erase();
        });
  }
};
} // namespace
