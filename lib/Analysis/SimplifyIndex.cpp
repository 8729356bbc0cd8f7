//===- SimplifyIndex.cpp - simplification over a box ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An expression is flattened to a sum  constant + sum coeff * atom  where an
// atom is a dim, a floordiv or a mod. Division and remainder then use the
// ranges of the parts:
//   1. terms that the divisor divides leave the division exactly;
//   2. a rest that fits below the divisor vanishes (div) or stays (mod);
//   3. a rest below a common factor g of divisor and the other terms drops out
//      of the division, and the division shrinks by g;
//   4. c*k*(x floordiv k) + c*(x mod k) is c*x.
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/IndexingMaps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace fusec::analysis;

namespace {

/// A closed interval; `high` is absent where there is no bound.
struct Interval {
  std::optional<int64_t> low, high;
};

struct Term {
  AffineExpr atom;
  int64_t coeff;
};

struct Linear {
  int64_t constant = 0;
  SmallVector<Term, 4> terms;
};

class Simplifier {
public:
  Simplifier(MLIRContext *context, ArrayRef<int64_t> sizes)
      : context(context), sizes(sizes) {}

  Linear flatten(AffineExpr expr);
  AffineExpr build(const Linear &linear);

private:
  MLIRContext *context;
  ArrayRef<int64_t> sizes;

  AffineExpr constant(int64_t value) {
    return getAffineConstantExpr(value, context);
  }
  static void addTerm(Linear &linear, AffineExpr atom, int64_t coeff);
  static void add(Linear &linear, const Linear &other, int64_t factor);
  Linear divide(Linear linear, int64_t divisor);
  Linear remainder(Linear linear, int64_t divisor);
  void recombine(Linear &linear);
  Interval range(AffineExpr atom);
  Interval range(const Linear &linear);
  /// Splits off terms whose sum lies in [0, g), the others having coefficients
  /// divisible by g, for the largest g > 1 that divides `divisor`.
  std::optional<int64_t> splitSmall(const Linear &linear, int64_t divisor,
                                    Linear &big, Linear &small);
};

} // namespace

void Simplifier::addTerm(Linear &linear, AffineExpr atom, int64_t coeff) {
  auto it = llvm::find_if(linear.terms,
                          [&](const Term &term) { return term.atom == atom; });
  if (it == linear.terms.end())
    linear.terms.push_back({atom, coeff});
  else if ((it->coeff += coeff) == 0)
    linear.terms.erase(it);
}

void Simplifier::add(Linear &linear, const Linear &other, int64_t factor) {
  if (factor == 0)
    return;
  linear.constant += other.constant * factor;
  for (const Term &term : other.terms)
    addTerm(linear, term.atom, term.coeff * factor);
}

Interval Simplifier::range(AffineExpr atom) {
  if (auto dim = dyn_cast<AffineDimExpr>(atom)) {
    int64_t size = dim.getPosition() < sizes.size() ? sizes[dim.getPosition()]
                                                    : ShapedType::kDynamic;
    if (ShapedType::isDynamic(size))
      return {0, std::nullopt};
    return {0, std::max<int64_t>(size - 1, 0)};
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(atom);
  if (!binary)
    return {};
  auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!divisor || divisor.getValue() <= 0)
    return {};
  Interval inner = range(flatten(binary.getLHS()));
  if (binary.getKind() == AffineExprKind::Mod) {
    if (inner.low && *inner.low >= 0 && inner.high &&
        *inner.high < divisor.getValue())
      return inner;
    return {0, divisor.getValue() - 1};
  }
  if (binary.getKind() != AffineExprKind::FloorDiv)
    return {};
  Interval result;
  if (inner.low)
    result.low = llvm::divideFloorSigned(*inner.low, divisor.getValue());
  if (inner.high)
    result.high = llvm::divideFloorSigned(*inner.high, divisor.getValue());
  return result;
}

Interval Simplifier::range(const Linear &linear) {
  Interval result{linear.constant, linear.constant};
  for (const Term &term : linear.terms) {
    Interval part = range(term.atom);
    if (term.coeff < 0)
      std::swap(part.low, part.high);
    auto accumulate = [&](std::optional<int64_t> &bound,
                          std::optional<int64_t> value) {
      int64_t product = 0, sum = 0;
      if (!bound || !value || llvm::MulOverflow(*value, term.coeff, product) ||
          llvm::AddOverflow(*bound, product, sum))
        bound.reset();
      else
        bound = sum;
    };
    accumulate(result.low, part.low);
    accumulate(result.high, part.high);
  }
  return result;
}

std::optional<int64_t> Simplifier::splitSmall(const Linear &linear,
                                              int64_t divisor, Linear &big,
                                              Linear &small) {
  SmallVector<int64_t, 4> factors;
  for (const Term &term : linear.terms)
    if (int64_t g = std::gcd(term.coeff, divisor); g > 1)
      factors.push_back(g);
  llvm::sort(factors, std::greater<>());
  for (int64_t g : factors) {
    big = {}, small = {};
    small.constant = llvm::mod(linear.constant, g);
    big.constant = linear.constant - small.constant;
    for (const Term &term : linear.terms)
      addTerm(term.coeff % g == 0 ? big : small, term.atom, term.coeff);
    Interval rest = range(small);
    if (rest.low && *rest.low >= 0 && rest.high && *rest.high < g)
      return g;
  }
  return std::nullopt;
}

/// Every coefficient and the constant of `linear` divided by `factor`.
static Linear scaledDown(const Linear &linear, int64_t factor) {
  Linear result;
  result.constant = llvm::divideFloorSigned(linear.constant, factor);
  for (const Term &term : linear.terms)
    result.terms.push_back({term.atom, term.coeff / factor});
  return result;
}

Linear Simplifier::divide(Linear linear, int64_t divisor) {
  if (divisor == 1)
    return linear;
  // Rule 1.
  Linear quotient, rest;
  rest.constant = llvm::mod(linear.constant, divisor);
  quotient.constant = llvm::divideFloorSigned(linear.constant, divisor);
  for (const Term &term : linear.terms) {
    if (term.coeff % divisor == 0)
      addTerm(quotient, term.atom, term.coeff / divisor);
    else
      addTerm(rest, term.atom, term.coeff);
  }
  // Rule 2.
  Interval bounds = range(rest);
  if (bounds.low && bounds.high) {
    int64_t first = llvm::divideFloorSigned(*bounds.low, divisor);
    if (first == llvm::divideFloorSigned(*bounds.high, divisor)) {
      quotient.constant += first;
      return quotient;
    }
  }
  // Rule 3.
  Linear big, small;
  if (std::optional<int64_t> g = splitSmall(rest, divisor, big, small)) {
    add(quotient, divide(scaledDown(big, *g), divisor / *g), 1);
    return quotient;
  }
  // (x floordiv a) floordiv b is x floordiv a*b.
  if (rest.constant == 0 && rest.terms.size() == 1 && rest.terms[0].coeff == 1)
    if (auto inner = dyn_cast<AffineBinaryOpExpr>(rest.terms[0].atom);
        inner && inner.getKind() == AffineExprKind::FloorDiv) {
      int64_t by = cast<AffineConstantExpr>(inner.getRHS()).getValue();
      addTerm(quotient, inner.getLHS().floorDiv(by * divisor), 1);
      return quotient;
    }
  addTerm(quotient, build(rest).floorDiv(divisor), 1);
  return quotient;
}

Linear Simplifier::remainder(Linear linear, int64_t divisor) {
  Linear rest;
  if (divisor == 1)
    return rest;
  rest.constant = llvm::mod(linear.constant, divisor);
  for (const Term &term : linear.terms) {
    if (term.coeff % divisor == 0)
      continue;
    // (x mod a*divisor) mod divisor is x mod divisor.
    auto inner = dyn_cast<AffineBinaryOpExpr>(term.atom);
    if (inner && inner.getKind() == AffineExprKind::Mod &&
        cast<AffineConstantExpr>(inner.getRHS()).getValue() % divisor == 0)
      add(rest, flatten(inner.getLHS()), term.coeff);
    else
      addTerm(rest, term.atom, term.coeff);
  }
  Interval bounds = range(rest);
  if (bounds.low && bounds.high) {
    int64_t first = llvm::divideFloorSigned(*bounds.low, divisor);
    if (first == llvm::divideFloorSigned(*bounds.high, divisor)) {
      rest.constant -= first * divisor;
      return rest;
    }
  }
  Linear big, small;
  if (std::optional<int64_t> g = splitSmall(rest, divisor, big, small)) {
    add(small, remainder(scaledDown(big, *g), divisor / *g), *g);
    return small;
  }
  Linear result;
  addTerm(result, build(rest) % divisor, 1);
  return result;
}

void Simplifier::recombine(Linear &linear) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Term &term : linear.terms) {
      auto inner = dyn_cast<AffineBinaryOpExpr>(term.atom);
      if (!inner || inner.getKind() != AffineExprKind::Mod)
        continue;
      int64_t by = cast<AffineConstantExpr>(inner.getRHS()).getValue();
      Linear whole = flatten(inner.getLHS());
      Linear quotient = divide(whole, by);
      if (quotient.constant != 0 || quotient.terms.size() != 1)
        continue;
      Term expected{quotient.terms[0].atom,
                    quotient.terms[0].coeff * by * term.coeff};
      bool found = llvm::any_of(linear.terms, [&](const Term &other) {
        return other.atom == expected.atom && other.coeff == expected.coeff;
      });
      if (!found)
        continue;
      Term old = term;
      addTerm(linear, expected.atom, -expected.coeff);
      addTerm(linear, old.atom, -old.coeff);
      add(linear, whole, old.coeff);
      changed = true;
      break;
    }
  }
}

Linear Simplifier::flatten(AffineExpr expr) {
  Linear result;
  if (auto value = dyn_cast<AffineConstantExpr>(expr)) {
    result.constant = value.getValue();
    return result;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    if (dim.getPosition() >= sizes.size() || sizes[dim.getPosition()] != 1)
      addTerm(result, expr, 1);
    return result;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary) {
    addTerm(result, expr, 1);
    return result;
  }
  auto rhs = dyn_cast<AffineConstantExpr>(binary.getRHS());
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    result = flatten(binary.getLHS());
    add(result, flatten(binary.getRHS()), 1);
    recombine(result);
    return result;
  case AffineExprKind::Mul:
    if (!rhs)
      break;
    add(result, flatten(binary.getLHS()), rhs.getValue());
    return result;
  case AffineExprKind::FloorDiv:
    if (!rhs || rhs.getValue() <= 0)
      break;
    return divide(flatten(binary.getLHS()), rhs.getValue());
  case AffineExprKind::Mod:
    if (!rhs || rhs.getValue() <= 0)
      break;
    return remainder(flatten(binary.getLHS()), rhs.getValue());
  default:
    break;
  }
  addTerm(result, expr, 1);
  return result;
}

AffineExpr Simplifier::build(const Linear &linear) {
  auto firstDim = [](AffineExpr atom) {
    unsigned first = ~0u;
    atom.walk([&](AffineExpr part) {
      if (auto dim = dyn_cast<AffineDimExpr>(part))
        first = std::min(first, dim.getPosition());
    });
    return first;
  };
  // One order for equal sums, so that pointers compare.
  SmallVector<std::tuple<unsigned, AffineExprKind, int64_t, unsigned>> keys;
  for (auto [i, term] : llvm::enumerate(linear.terms))
    keys.push_back({firstDim(term.atom), term.atom.getKind(), -term.coeff, i});
  llvm::sort(keys);
  AffineExpr result = constant(0);
  for (const auto &key : keys) {
    const Term &term = linear.terms[std::get<3>(key)];
    result = result + term.atom * term.coeff;
  }
  return result + linear.constant;
}

AffineExpr fusec::analysis::simplifyIndex(AffineExpr expr,
                                          ArrayRef<int64_t> sizes) {
  if (isa<AffineConstantExpr>(expr))
    return expr;
  Simplifier simplifier(expr.getContext(), sizes);
  return simplifier.build(simplifier.flatten(expr));
}
