//===- BoundsElementwise.cpp - bounds of elementwise ops ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most functions are monotone in each operand, so their extremes lie at the
// corners of the operands' intervals: the op's own kernel is run at every
// corner. Functions with an extreme at zero are also run at the point of the
// interval that is nearest to it. What is left: functions with poles, branch
// cuts and steps, which are unknown where an interval crosses one.
//
// Rounding to f32 or f64 is added later (Bounds.cpp); it is the whole error of
// the ops that IEEE 754 rounds correctly. Functions of math libraries may be
// off by kMathUnits more units in the last place: CUDA's manual has at most 4
// for f32, the host and C libraries less (docs/semantics.md).
//===----------------------------------------------------------------------===//
#include "Box.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Expected;

using Results = Expected<std::vector<Box>>;
using Operands = ArrayRef<const Box *>;

static constexpr double kMathUnits = 4;

//===----------------------------------------------------------------------===//
// Corners
//===----------------------------------------------------------------------===//

namespace {
/// The values of an op at points of its operands' boxes.
struct Samples {
  Tensor middle;
  /// Empty if all operands are exact.
  std::vector<Tensor> corners;
};
} // namespace

/// The nearest point to zero in each interval.
static Tensor nearestToZero(const Box &box) {
  Tensor result = box.lowest();
  for (int64_t i = 0, e = result.real.size(); i < e; ++i) {
    Interval x = box.at(i);
    result.real[i] = x.low > 0 || x.isNan() ? x.low : std::min(x.high, 0.0);
  }
  return result;
}

static bool allExact(Operands operands) {
  return llvm::all_of(operands, [](const Box *box) { return box->isExact(); });
}

/// Runs the op's kernel at the middle and at all corners; `atZero` adds the
/// points nearest to zero of the first operand.
static Expected<Samples> sample(Operation *op, Operands operands,
                                BoxContext &context, bool atZero = false) {
  SmallVector<const Tensor *> point;
  auto run = [&]() -> Expected<Tensor> {
    auto results = context.runKernel(op, point);
    if (!results)
      return results.takeError();
    return std::move(results->front());
  };
  for (const Box *box : operands)
    point.push_back(&box->middle);
  Expected<Tensor> middle = run();
  if (!middle)
    return middle.takeError();
  Samples samples{std::move(*middle), {}};
  if (allExact(operands))
    return samples;
  SmallVector<SmallVector<Tensor, 1>> extra(operands.size());
  SmallVector<SmallVector<const Tensor *>> choices;
  for (auto [i, box] : llvm::enumerate(operands)) {
    choices.push_back({&box->lowest()});
    if (box->hasEnds)
      choices.back().push_back(&box->highest());
    if (box->hasEnds && atZero && i == 0) {
      extra[i].push_back(nearestToZero(*box));
      choices.back().push_back(&extra[i].back());
    }
  }
  SmallVector<size_t> at(operands.size(), 0);
  while (true) {
    for (auto [i, choice] : llvm::enumerate(at))
      point[i] = choices[i][choice];
    Expected<Tensor> corner = run();
    if (!corner)
      return corner.takeError();
    samples.corners.push_back(std::move(*corner));
    size_t i = 0;
    while (i < at.size() && ++at[i] == choices[i].size())
      at[i++] = 0;
    if (i == at.size())
      return samples;
  }
}

static bool anyUnknown(Operands operands, int64_t i) {
  return llvm::any_of(operands,
                      [&](const Box *box) { return box->isUnknown(i); });
}

/// The sign of a zero counts.
static bool isOneValue(Interval x) {
  return (x.isPoint() && !x.isZeroOfEitherSign()) || x.isNan();
}

/// The hull of the samples of element `i`; unknown if some are NaN.
static Interval hull(const Samples &samples, int64_t i) {
  double middle = samples.middle.real[i];
  Interval result = Interval::point(middle);
  for (const Tensor &corner : samples.corners) {
    double x = corner.real[i];
    if (std::isnan(x) != std::isnan(middle))
      return Interval::unknown();
    result.low = lesser(result.low, x);
    result.high = greater(result.high, x);
  }
  return result;
}

/// The box of the samples, wider by `units` in the last place. Elements for
/// which `refuse` holds are unknown.
static Box boxOf(Samples samples, Operands operands, double units,
                 llvm::function_ref<bool(int64_t)> refuse = {}) {
  Box box{std::move(samples.middle), {}, {}};
  if (samples.corners.empty() && units == 0)
    return box;
  box.spread();
  samples.middle = box.middle;
  DType compute = computeType(box.middle.dtype);
  double tiny = leastDenormal(compute);
  for (int64_t i = 0, e = box.middle.elements(); i < e; ++i) {
    bool exact = llvm::all_of(operands, [&](const Box *operand) {
      return operand->isExact() ||
             (operand->middle.isReal() ? isOneValue(operand->at(i))
                                       : !operand->isUnknown(i));
    });
    if (anyUnknown(operands, i) || (!exact && refuse && refuse(i))) {
      box.setUnknown(i);
      continue;
    }
    if (!box.middle.isReal()) {
      for (const Tensor &corner : samples.corners)
        if (corner.whole[i] != box.middle.whole[i])
          box.setUnknown(i);
      continue;
    }
    Interval value =
        exact ? Interval::point(box.middle.real[i]) : hull(samples, i);
    double size = magnitude(value);
    // Special values and zeros are exact.
    if (units > 0 && size > 0 && std::isfinite(size))
      value =
          widened(value, units * std::max(2 * roundoff(compute) * size, tiny));
    box.set(i, value);
  }
  return box;
}

template <int Units, bool AtZero = false>
static Results monotoneRule(Operation *op, Operands operands,
                            BoxContext &context) {
  Expected<Samples> samples = sample(op, operands, context, AtZero);
  if (!samples)
    return samples.takeError();
  return single(boxOf(std::move(*samples), operands, Units * kMathUnits));
}

/// An op that is unknown where `Refuse(intervals)` holds.
template <int Units, bool AtZero, auto Refuse>
static Results guardedRule(Operation *op, Operands operands,
                           BoxContext &context) {
  Expected<Samples> samples = sample(op, operands, context, AtZero);
  if (!samples)
    return samples.takeError();
  auto refuse = [&](int64_t i) {
    if (!operands[0]->middle.isReal())
      return true;
    SmallVector<Interval> at;
    for (const Box *box : operands)
      at.push_back(box->middle.isReal() ? box->at(i) : Interval());
    return Refuse(at);
  };
  return single(
      boxOf(std::move(*samples), operands, Units * kMathUnits, refuse));
}

/// Makes a result of 16 bits or fewer wider by what a GPU may be off in
/// `default` mode (docs/semantics.md): `relative` of it, and by 2^-126 where
/// `vanishes`, but not across zero. Zeros and special values are exact.
static void widenNarrow(Box &box, double relative, bool vanishes) {
  DType dtype = box.middle.dtype;
  if (!box.middle.isReal() || computeType(dtype) == dtype)
    return;
  box.spread();
  for (int64_t i = 0, e = box.middle.elements(); i < e; ++i) {
    Interval x = box.at(i);
    double size = magnitude(x);
    if (!x.isNan() && size > 0 && std::isfinite(size))
      box.set(i, widened(x, relative * size +
                                (vanishes ? leastNormal(DType::F32) : 0.0)));
  }
}

/// The op's rule, and the approximations that stand for exp, erf, square root
/// and division.
template <BoundRule Rule>
static Results nearRule(Operation *op, Operands operands, BoxContext &context) {
  Results results = Rule(op, operands, context);
  // 2^-17 each for the exponential and the quotient of a logistic function.
  if (results)
    widenNarrow(results->front(),
                isa<graph::LogisticOp>(op) ? 0x1p-16 : 0x1p-17, true);
  return results;
}

/// A product may be rounded, or not where it and a sum are one FMA.
static Results productRule(Operation *op, Operands operands,
                           BoxContext &context) {
  Results results = monotoneRule<0>(op, operands, context);
  if (!results)
    return results;
  Box &box = results->front();
  bool exact = box.isExact() && llvm::all_of(box.middle.real, [](double x) {
                 return std::isnan(x) || double(float(x)) == x;
               });
  if (!exact)
    widenNarrow(box, roundoff(DType::F32), false);
  return results;
}

//===----------------------------------------------------------------------===//
// Poles, cuts and steps
//===----------------------------------------------------------------------===//

static bool divisorHasZero(ArrayRef<Interval> at) { return at[1].contains(0); }
static bool scaleHasZero(ArrayRef<Interval> at) { return at[1].contains(0); }
/// The sign of a zero decides between the infinities.
static bool hasZero(ArrayRef<Interval> at) { return at[0].contains(0); }
static bool crossesCut(ArrayRef<Interval> at) {
  return at[1].low <= 0 && at[0].contains(0);
}
static bool crossesPole(ArrayRef<Interval> at) {
  auto period = [](double x) { return std::floor(x / M_PI + 0.5); };
  return !(period(at[0].low) == period(at[0].high));
}
/// x^y is monotone in both for x > 0, and for a whole positive y monotone or
/// even in x. 1 to the power of NaN is 1, and so is NaN to the power of 0.
static bool isWildPower(ArrayRef<Interval> at) {
  Interval x = at[0], y = at[1];
  if (y.low == 0 && y.high == 0)
    return false;
  if (x.isNan() || y.isNan())
    return x.contains(1) || y.contains(0);
  return !(x.low > 0) &&
         !(y.isPoint() && y.low > 0 && y.low == std::floor(y.low));
}
/// The quotient is rounded to an integer: the remainder is continuous where
/// that does not change.
template <double (*Round)(double)>
static bool crossesStep(ArrayRef<Interval> at) {
  Interval a = at[0], b = at[1];
  if (b.contains(0) || !std::isfinite(b.low + b.high + a.low + a.high))
    return true;
  // The quotients have an error of their own.
  auto [low, high] = std::minmax(
      {a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  return Round(low - std::fabs(low) * 0x1p-50) !=
         Round(high + std::fabs(high) * 0x1p-50);
}

/// sin, cos: the middle, off by no more than the operand is.
static Results waveRule(Operation *op, Operands operands, BoxContext &context) {
  Samples samples;
  auto middle = context.runKernel(op, {&operands[0]->middle});
  if (!middle)
    return middle.takeError();
  samples.middle = std::move(middle->front());
  Box box = boxOf(std::move(samples), operands, kMathUnits);
  for (int64_t i = 0, e = box.middle.elements(); i < e; ++i) {
    Interval x = operands[0]->at(i);
    if (isOneValue(x) || box.isUnknown(i))
      continue;
    if (x.isZeroOfEitherSign()) {
      if (box.middle.real[i] == 0)
        box.set(i, x);
      continue;
    }
    double m = operands[0]->middle.real[i], y = box.middle.real[i];
    double slack = kMathUnits * 2 * roundoff(computeType(box.middle.dtype));
    double off = std::max(m - x.low, x.high - m) + slack;
    if (!std::isfinite(off) || std::isnan(y))
      box.setUnknown(i);
    else
      box.set(i, {std::max(y - off, -1 - slack), std::min(y + off, 1 + slack)});
  }
  return single(std::move(box));
}

/// Known only where the two intervals are points or apart; `eq` and `ne` need
/// this, the others are monotone.
static Results compareRule(Operation *op, Operands operands,
                           BoxContext &context) {
  auto predicate = cast<graph::CompareOp>(op).getPredicate();
  bool isEquality = predicate == graph::ComparePredicate::eq ||
                    predicate == graph::ComparePredicate::ne;
  Expected<Samples> samples = sample(op, operands, context);
  if (!samples)
    return samples.takeError();
  auto meet = [&](int64_t i) {
    if (!isEquality || !operands[0]->middle.isReal())
      return false;
    Interval a = operands[0]->at(i), b = operands[1]->at(i);
    return a.low <= b.high && b.low <= a.high && !(a.isPoint() && b.isPoint());
  };
  return single(boxOf(std::move(*samples), operands, 0, meet));
}

static Results castRule(Operation *op, Operands operands, BoxContext &context) {
  Expected<Samples> samples = sample(op, operands, context);
  if (!samples)
    return samples.takeError();
  bool toBool = samples->middle.dtype == DType::Bool;
  auto isSplit = [&](int64_t i) {
    return toBool && operands[0]->middle.isReal() &&
           operands[0]->at(i).contains(0) && !operands[0]->at(i).isPoint();
  };
  return single(boxOf(std::move(*samples), operands, 0, isSplit));
}

/// Either branch where the condition is unknown.
static Results selectRule(Operation *op, Operands operands,
                          BoxContext &context) {
  const Box &pred = *operands[0];
  SmallVector<const Tensor *> middle, low, high;
  for (const Box *box : operands) {
    middle.push_back(&box->middle);
    low.push_back(&box->lowest());
    high.push_back(&box->highest());
  }
  low[0] = high[0] = &pred.middle;
  auto m = context.runKernel(op, middle);
  if (!m)
    return m.takeError();
  Box box{std::move(m->front()), {}, {}};
  if (allExact(operands))
    return single(std::move(box));
  auto l = context.runKernel(op, low), h = context.runKernel(op, high);
  if (!l)
    return (llvm::consumeError(h.takeError()), l.takeError());
  if (!h)
    return h.takeError();
  box.low = std::move(l->front());
  box.high = std::move(h->front());
  box.hasEnds = true;
  for (int64_t i = 0, e = box.middle.elements(); i < e; ++i) {
    if (!pred.isUnknown(i))
      continue;
    if (!box.middle.isReal()) {
      box.setUnknown(i);
      continue;
    }
    Interval a = operands[1]->at(i), b = operands[2]->at(i);
    if (a.isNan() && b.isNan())
      box.set(i, a);
    else if (a.isNan() || b.isNan())
      box.setUnknown(i);
    else
      box.set(i, {lesser(a.low, b.low), greater(a.high, b.high)});
  }
  return single(std::move(box));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

void reference::registerElementwiseBounds(BoundRegistry &registry) {
  using namespace graph;
  registry.add<NegOp, SignOp, NotOp, FloorOp, CeilOp, TruncOp, RoundOp, IsNanOp,
               IsInfOp, AddOp, SubOp, MaxOp, MinOp, AndOp, OrOp, XorOp, ShlOp,
               ShrOp, ClampOp>(monotoneRule<0>);
  registry.add<AbsOp>(monotoneRule<0, true>);
  registry.add<MulOp>(productRule);
  registry.add<SqrtOp>(nearRule<monotoneRule<0>>);
  registry.add<ExpOp, ErfOp, LogisticOp>(nearRule<monotoneRule<1>>);
  registry.add<CbrtOp, Exp2Op, Expm1Op, LogOp, Log2Op, Log1pOp, AtanOp, SinhOp,
               TanhOp, AsinhOp, AcoshOp>(monotoneRule<1>);
  // Both ends of an interval may lie outside of what these are defined on, and
  // a part of it within.
  registry.add<CoshOp, AsinOp, AcosOp, AtanhOp>(monotoneRule<1, true>);
  registry.add<SinOp, CosOp>(waveRule);
  registry.add<TanOp>(guardedRule<1, false, crossesPole>);
  registry.add<RsqrtOp>(guardedRule<1, false, hasZero>);
  registry.add<DivOp>(nearRule<guardedRule<0, false, divisorHasZero>>);
  registry.add<RemOp>(guardedRule<0, false, crossesStep<std::trunc>>);
  registry.add<ModOp>(guardedRule<0, false, crossesStep<std::floor>>);
  registry.add<PowOp>(guardedRule<1, true, isWildPower>);
  registry.add<Atan2Op>(guardedRule<1, false, crossesCut>);
  registry.add<CompareOp>(compareRule);
  registry.add<SelectOp>(selectRule);
  registry.add<CastOp>(castRule);
  // Both roundings of dequantise are monotone too and in the kernel.
  registry.add<QuantizeOp, DequantizeOp>(guardedRule<0, false, scaleHasZero>);
}
