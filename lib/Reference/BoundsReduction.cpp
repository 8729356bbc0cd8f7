//===- BoundsReduction.cpp - bounds of ops with reduced axes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The op's iteration space says which operand elements make a result element.
// Their intervals are combined, and the rounding of the combining is added: n
// terms in any order, fused multiply-add or not, are off by at most n u sum|x|
// with u the roundoff of the accumulator (Higham, Accuracy and Stability, 4.2).
// A sum that is exact in every order has no error: its terms are multiples of
// one power of two and small enough together.
//
// Where a sum of the magnitudes overflows, some order may: unknown.
//===----------------------------------------------------------------------===//
#include "Box.h"
#include "Combine.h"
#include "fusec/Dialect/Graph/IR/Float8Products.h"
#include "fusec/Dialect/Graph/IR/RowScales.h"
#include "mlir/IR/AffineExpr.h"
#include <array>

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Error;
using llvm::Expected;

using Results = Expected<std::vector<Box>>;
using Operands = ArrayRef<const Box *>;

//===----------------------------------------------------------------------===//
// Which elements
//===----------------------------------------------------------------------===//

static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluate(binary.getLHS(), dims),
          rhs = evaluate(binary.getRHS(), dims);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::Mod:
    return llvm::mod(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(lhs, rhs);
  default:
    return llvm::divideCeilSigned(lhs, rhs);
  }
}

namespace {
/// Finds operand elements for points of an iteration space.
class Access {
public:
  Access(const graph::OperandAccess &access, ArrayRef<int64_t> shape,
         size_t loops)
      : map(access.map), shape(shape), strides(stridesOf(shape)),
        masked(access.isMasked) {
    // How far one step of each loop goes, if the map is linear.
    SmallVector<int64_t> dims(loops, 0);
    base = place(dims);
    linear = !masked && llvm::all_of(map.getResults(), [](AffineExpr expr) {
      return expr.isPureAffine() && !hasDivision(expr);
    });
    for (size_t i = 0; linear && i < loops; ++i) {
      dims[i] = 1;
      steps.push_back(place(dims) - base);
      dims[i] = 0;
    }
  }

  /// The row-major place of the element, or -1 where it is padding.
  int64_t at(ArrayRef<int64_t> dims) const {
    if (!linear)
      return place(dims);
    int64_t result = base;
    for (auto [dim, step] : llvm::zip_equal(dims, steps))
      result += dim * step;
    return result;
  }

private:
  static bool hasDivision(AffineExpr expr) {
    bool found = false;
    expr.walk([&](AffineExpr part) {
      found |= part.getKind() == AffineExprKind::FloorDiv ||
               part.getKind() == AffineExprKind::CeilDiv ||
               part.getKind() == AffineExprKind::Mod;
    });
    return found;
  }
  int64_t place(ArrayRef<int64_t> dims) const {
    int64_t result = 0;
    for (auto [d, expr] : llvm::enumerate(map.getResults())) {
      int64_t index = evaluate(expr, dims);
      if (masked && (index < 0 || index >= shape[d]))
        return -1;
      result += index * strides[d];
    }
    return result;
  }

  AffineMap map;
  SmallVector<int64_t> shape;
  SmallVector<int64_t, 6> strides;
  bool masked, linear = false;
  int64_t base = 0;
  SmallVector<int64_t> steps;
};

/// Calls `body` for all points of a box of loops in row-major order.
template <typename Body>
void forEachPoint(ArrayRef<int64_t> sizes, MutableArrayRef<int64_t> point,
                  Body body) {
  for (int64_t &x : point)
    x = 0;
  if (llvm::is_contained(sizes, 0))
    return;
  while (true) {
    body();
    int64_t d = sizes.size() - 1;
    while (d >= 0 && ++point[d] == sizes[d])
      point[d--] = 0;
    if (d < 0)
      return;
  }
}
} // namespace

//===----------------------------------------------------------------------===//
// Sums, products, extremes
//===----------------------------------------------------------------------===//

/// The exponent of the last bit of x that is set; large for 0.
static int lastBit(double x) {
  if (x == 0)
    return 4096;
  int exponent;
  auto bits =
      static_cast<int64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
  return exponent - 53 + llvm::countr_zero(static_cast<uint64_t>(bits));
}

namespace {
/// A sum of intervals in any order.
class Sum {
public:
  /// `isExact` is false for a point that was rounded.
  void add(Interval x, bool isExact = true) {
    ++terms;
    nan |= x.isNan();
    unknown |= x.isUnknown();
    if (nan || unknown)
      return;
    positive |= x.high > 0;
    negative |= x.low < 0;
    bool plus = x.low == HUGE_VAL, minus = x.high == -HUGE_VAL;
    maybe |= !plus && !minus && (std::isinf(x.low) || std::isinf(x.high));
    allPlus |= plus;
    allMinus |= minus;
    if (plus || minus || maybe)
      return;
    low += x.low;
    high += x.high;
    size += magnitude(x);
    points &= x.isPoint() && isExact;
    if (points)
      last = std::min(last, lastBit(x.low));
  }
  /// `slack` is how many roundings a term costs. Inside a composite (`inner`)
  /// some way may compute it by a formula of its own, in f64. `cut` is what
  /// else may be lost of the sum of all magnitudes, where sums of fewer than
  /// `digits` binary digits lose nothing.
  Interval finish(DType compute, double slack, bool inner, double cut = 0,
                  int digits = 53) const {
    if (nan || (allPlus && allMinus && !unknown && !maybe))
      return Interval::point(NAN);
    if (unknown || maybe || size > largestFinite(compute))
      return Interval::unknown();
    if (allPlus || allMinus)
      return Interval::point(allPlus ? HUGE_VAL : -HUGE_VAL);
    digits = std::min(digits, compute == DType::F64 ? 53 : 24);
    bool exact =
        points && size < std::ldexp(1.0, std::min(last + digits, 1020));
    // Bits below the least denormal are lost.
    exact &= std::ldexp(1.0, std::min(last, 0)) >= leastDenormal(compute);
    if (exact || (terms <= 1 && slack <= 1))
      return inner ? widened({low, high}, 4 * terms * 0x1p-53 * size)
                   : Interval{low, high};
    // The ends were added up in f64.
    double unit = slack * roundoff(compute) + 0x1p-53;
    double error = terms * (unit * size * 1.001 + leastDenormal(compute)) +
                   cut * size * 1.001;
    // Where terms cancel, an error may turn the sign.
    return positive && negative ? Interval{low - error, high + error}
                                : widened({low, high}, error);
  }

private:
  friend double float8Cut(const Sum &sum, bool fast);
  int64_t terms = 0;
  double low = 0, high = 0, size = 0;
  int last = 4096;
  bool nan = false, unknown = false, maybe = false, points = true;
  bool allPlus = false, allMinus = false, positive = false, negative = false;
};

/// What tensor cores of sm_90 may lose in a sum of products of 8-bit floats,
/// as a part of the sum of their magnitudes S. An instruction takes 32 products
/// and the accumulator, aligns them to the largest one, of at most S, and cuts
/// each off after 14 binary digits (at most 2^-13 S); so it does with the
/// result. Sums of 128 products, of magnitudes that are S together, are then
/// added in f32; without promotion the accumulator goes through all of them.
double float8Cut(const Sum &sum, bool fast) {
  int64_t chunk = fast ? sum.terms : std::min<int64_t>(sum.terms, 128);
  int64_t instructions = (chunk + 31) / 32;
  // In another order of k a part of an instruction may be padding.
  return 0x1p-13 * double(chunk + 2 * (instructions + 1));
}

/// A product of intervals in any order.
class Product {
public:
  void add(Interval x) {
    ++terms;
    nan |= x.isNan();
    unknown |= x.isUnknown();
    if (nan || unknown)
      return;
    std::array ends = {low * x.low, low * x.high, high * x.low, high * x.high};
    low = high = ends[0];
    for (double end : ends) {
      unknown |= std::isnan(end);
      low = lesser(low, end);
      high = greater(high, end);
    }
    double size = magnitude(x);
    double least =
        x.contains(0) ? 0 : std::min(std::fabs(x.low), std::fabs(x.high));
    largest *= std::max(size, 1.0);
    if (size > 0)
      smallest *= std::min(least, 1.0);
    special |= std::isinf(size);
  }
  Interval finish(DType compute) const {
    if (nan)
      return Interval::point(NAN);
    // Some order may overflow or lose bits on the way.
    bool wild = largest > largestFinite(compute) ||
                smallest < leastNormal(compute) || special;
    if (unknown || (wild && terms > 1))
      return Interval::unknown();
    if (terms <= 1)
      return {low, high};
    double size = magnitude({low, high});
    return widened({low, high}, terms * 2.1 * roundoff(compute) * size);
  }

private:
  int64_t terms = 0;
  double low = 1, high = 1, largest = 1, smallest = 1;
  bool nan = false, unknown = false, special = false;
};

/// The largest or smallest of intervals.
class Extreme {
public:
  explicit Extreme(bool larger)
      : larger(larger), low(larger ? -HUGE_VAL : HUGE_VAL), high(low) {}
  void add(Interval x) {
    nan |= x.isNan();
    unknown |= x.isUnknown();
    low = pickReal(larger, low, x.low);
    high = pickReal(larger, high, x.high);
  }
  Interval finish() const {
    return nan       ? Interval::point(NAN)
           : unknown ? Interval::unknown()
                     : Interval{low, high};
  }

private:
  bool larger, nan = false, unknown = false;
  double low, high;
};
} // namespace

/// The interval that `forEachTerm(add)` makes under `kind`.
template <typename ForEachTerm>
static Interval combine(graph::ReduceKind kind, DType compute, bool inner,
                        ForEachTerm forEachTerm) {
  if (kind == graph::ReduceKind::sum) {
    Sum sum;
    forEachTerm([&](Interval x) { sum.add(x); });
    return sum.finish(compute, 1, inner);
  }
  if (kind == graph::ReduceKind::prod) {
    Product product;
    forEachTerm([&](Interval x) { product.add(x); });
    return product.finish(compute);
  }
  Extreme extreme(kind == graph::ReduceKind::max);
  forEachTerm([&](Interval x) { extreme.add(x); });
  return extreme.finish();
}

/// The middle, and true if nothing else can come of the operands.
static Expected<Box> middleOf(Operation *op, Operands operands,
                              BoxContext &context) {
  SmallVector<const Tensor *> tensors;
  for (const Box *box : operands)
    tensors.push_back(&box->middle);
  auto results = context.runKernel(op, tensors);
  if (!results)
    return results.takeError();
  return Box{std::move(results->front()), {}, {}};
}

static bool isReorderable(graph::ReduceKind kind) {
  return kind != graph::ReduceKind::sum && kind != graph::ReduceKind::prod;
}

/// Sets the intervals of `box` from those of the operands: `body(add)` is
/// called for each result element and calls `term(places)` for each point.
static Error forEachResult(
    Operation *op, Operands operands, BoxContext &context, Box &box,
    llvm::function_ref<void(
        int64_t,
        llvm::function_ref<void(llvm::function_ref<void(ArrayRef<int64_t>)>)>)>
        body) {
  auto space = cast<graph::FusibleOpInterface>(op).getIterationSpace();
  size_t parallel = space.parallel.size(), reduced = space.reduced.size();
  if (Error error =
          context.charge(2 * Context::steps({Context::steps(space.parallel),
                                             Context::steps(space.reduced)})))
    return error;
  SmallVector<Access> accesses;
  for (auto [access, operand] : llvm::zip(space.operands, operands))
    accesses.emplace_back(access, operand->middle.shape, parallel + reduced);
  SmallVector<int64_t> dims(parallel + reduced), places(accesses.size());
  auto outer = MutableArrayRef(dims).take_front(parallel);
  auto inner = MutableArrayRef(dims).drop_front(parallel);
  box.spread();
  int64_t i = 0;
  forEachPoint(space.parallel, outer, [&] {
    body(i++, [&](llvm::function_ref<void(ArrayRef<int64_t>)> term) {
      forEachPoint(space.reduced, inner, [&] {
        for (auto [place, access] : llvm::zip(places, accesses))
          place = access.at(dims);
        term(places);
      });
    });
  });
  return Error::success();
}

/// reduce, window_reduce: padding is skipped.
template <typename OpT>
static Results reduceRule(Operation *op, Operands operands,
                          BoxContext &context) {
  auto kind = cast<OpT>(op).getKind();
  const Box &x = *operands[0];
  Expected<Box> box = middleOf(op, operands, context);
  if (!box)
    return box.takeError();
  bool isReal = x.middle.isReal();
  if (x.isExact() && (!isReal || isReorderable(kind)))
    return single(std::move(*box));
  DType compute = computeType(x.middle.dtype);
  Error error = forEachResult(
      op, operands, context, *box, [&](int64_t i, auto forEachPlace) {
        if (!isReal) {
          forEachPlace([&](ArrayRef<int64_t> places) {
            if (places[0] >= 0 && x.isUnknown(places[0]))
              box->setUnknown(i);
          });
          return;
        }
        box->set(i, combine(kind, compute, context.inner, [&](auto add) {
                   forEachPlace([&](ArrayRef<int64_t> places) {
                     if (places[0] >= 0)
                       add(x.at(places[0]));
                   });
                 }));
      });
  if (error)
    return std::move(error);
  return single(std::move(*box));
}

//===----------------------------------------------------------------------===//
// Products of two operands
//===----------------------------------------------------------------------===//

static Interval times(Interval a, Interval b) {
  if (a.isNan() || b.isNan())
    return Interval::point(NAN);
  // A product that overflows f64 alone need not in a fused multiply-add.
  auto isFinite = [](Interval x) { return std::isfinite(magnitude(x)); };
  if (isFinite(a) && isFinite(b) && !std::isfinite(magnitude(a) * magnitude(b)))
    return Interval::unknown();
  if (a.isPoint() && b.isPoint())
    return Interval::point(a.low * b.low);
  auto corners = {a.low * b.low, a.low * b.high, a.high * b.low,
                  a.high * b.high};
  if (a.isUnknown() || b.isUnknown() ||
      llvm::any_of(corners, [](double x) { return std::isnan(x); }))
    return Interval::unknown();
  auto [low, high] = std::minmax(corners);
  return {low, high};
}

/// Whether f64 holds a * b.
static bool isExactProduct(double a, double b) {
  double product = a * b;
  if (a == 0 || b == 0)
    return true;
  return lastBit(a) + lastBit(b) >= -1074 && std::fma(a, b, -product) == 0;
}

/// A value as tensor cores read it in TF32, or as it is; denormals lose 13
/// bits. From half a unit above the largest number of TF32 on the copy engine
/// gives infinity.
static Interval asTf32(Interval x) {
  double size = magnitude(x);
  if (x.isPoint() && !std::isfinite(size))
    return x;
  if (std::isfinite(size) && size >= (2 - 0x1p-11) * 0x1p127)
    return Interval::unknown();
  return widened(x, 0x1p-11 * magnitude(x) + 0x1p-137);
}

/// How far operands of `op` may be from what they are, relatively, where the
/// rows of one may be scaled behind the sum; zeros where not.
static std::pair<double, double> rowSlack(graph::ContractOp op) {
  std::pair<double, double> slack = {0, 0};
  for (bool isLhs : {true, false}) {
    std::optional<graph::RowScales> scales =
        op ? graph::rowScales(op, isLhs) : std::nullopt;
    if (!scales)
      continue;
    Type element =
        cast<RankedTensorType>(op.getLhs().getType()).getElementType();
    double unit = element.isF16() ? 0x1p-11 : 0x1p-8;
    double own = unit * scales->roundings,
           other = unit * double(scales->terms.size());
    slack.first += isLhs ? own : other;
    slack.second += isLhs ? other : own;
  }
  return slack;
}

/// contract, convolution: padding multiplies by zero.
template <typename OpT>
static Results productRule(Operation *op, Operands operands,
                           BoxContext &context) {
  Expected<Box> box = middleOf(op, operands, context);
  if (!box)
    return box.takeError();
  const Box &lhs = *operands[0], &rhs = *operands[1];
  DType l = lhs.middle.dtype, r = rhs.middle.dtype;
  bool isReal = lhs.middle.isReal();
  if (!isReal && lhs.isExact() && rhs.isExact())
    return single(std::move(*box));
  bool isDouble =
      l == DType::F64 || r == DType::F64 || box->middle.dtype == DType::F64;
  box->fromDouble = isDouble;
  bool tf32 = cast<OpT>(op).getAllowTf32() && l == DType::F32 && r == l;
  // Tensor cores cut off where others round.
  double slack = tf32 || (l != DType::F32 && !isDouble) ? 2 : 1;
  auto contract = dyn_cast<graph::ContractOp>(op);
  bool mayFloat8 = contract && graph::mayUseFloat8(contract);
  bool float8 = mayFloat8 && context.float8Sums;
  bool fast = float8 && graph::hasFastAccumulation(op);
  // Factors of 8-bit floats are applied to the sum: infinite ones give an
  // infinity where a product with zero, or a sum of both signs, gives NaN.
  bool scaled = mayFloat8 && byteSize(l) + byteSize(r) > 2;
  // Factors of rows may be applied to the sum, too: the scaled operand is then
  // not rounded, and the other one is, with the factors along what is summed.
  auto [lhsSlack, rhsSlack] = rowSlack(contract);
  scaled |= lhsSlack > 0;
  Error error = forEachResult(
      op, operands, context, *box, [&](int64_t i, auto forEachPlace) {
        Sum sum;
        bool wild = false;
        forEachPlace([&](ArrayRef<int64_t> places) {
          if (!isReal) {
            if ((places[0] >= 0 && lhs.isUnknown(places[0])) ||
                rhs.isUnknown(places[1]))
              box->setUnknown(i);
            return;
          }
          Interval a = places[0] < 0 ? Interval() : lhs.at(places[0]);
          Interval b = rhs.at(places[1]);
          if (lhsSlack > 0)
            a = widened(a, lhsSlack * magnitude(a));
          if (rhsSlack > 0)
            b = widened(b, rhsSlack * magnitude(b));
          wild |= scaled &&
                  !(std::isfinite(magnitude(a)) && std::isfinite(magnitude(b)));
          if (tf32)
            sum.add(times(asTf32(a), asTf32(b)));
          else // Products of f64 are rounded, or not where fused with the sum.
            sum.add(times(a, b), !isDouble || isExactProduct(a.low, b.low));
        });
        if (isReal)
          box->set(i, wild ? Interval::unknown()
                           : sum.finish(isDouble ? DType::F64 : DType::F32,
                                        slack, context.inner,
                                        float8 ? float8Cut(sum, fast) : 0,
                                        float8 ? 14 : 53));
      });
  if (error)
    return std::move(error);
  return single(std::move(*box));
}

//===----------------------------------------------------------------------===//
// One axis
//===----------------------------------------------------------------------===//

namespace {
/// Rows along one axis: element j of row k is at `place(k, j)`.
struct Rows {
  int64_t count, length, inner;
  Rows(ArrayRef<int64_t> shape, int64_t axis) : length(shape[axis]) {
    inner = Context::steps(shape.drop_front(axis + 1));
    count = Context::steps(shape.take_front(axis)) * inner;
  }
  int64_t place(int64_t row, int64_t j) const {
    return (row / inner * length + j) * inner + row % inner;
  }
};
} // namespace

/// Known where no other element can win.
static Results argReduceRule(Operation *op, Operands operands,
                             BoxContext &context) {
  auto reduce = cast<graph::ArgReduceOp>(op);
  Expected<Box> box = middleOf(op, operands, context);
  if (!box)
    return box.takeError();
  const Box &x = *operands[0];
  if (x.isExact())
    return single(std::move(*box));
  bool isMax = reduce.getKind() == graph::ReduceKind::max;
  Rows rows(x.middle.shape, reduce.getDimension());
  box->spread();
  auto loses = [&](Interval other, Interval best) {
    return isMax ? other.high < best.low : other.low > best.high;
  };
  for (int64_t row = 0; row < rows.count; ++row) {
    int64_t best = box->middle.whole[row];
    bool known = !x.isUnknown(rows.place(row, best)), points = true;
    for (int64_t j = 0; j < rows.length; ++j) {
      int64_t p = rows.place(row, j);
      bool point = !x.isUnknown(p) &&
                   (!x.middle.isReal() || x.at(p).isPoint() || x.at(p).isNan());
      points &= point;
      if (j != best)
        known &= x.middle.isReal() && !x.isUnknown(p) &&
                 loses(x.at(p), x.at(rows.place(row, best)));
    }
    if (!known && !points)
      box->setUnknown(row);
  }
  return single(std::move(*box));
}

/// A place is known where every other element is certainly before or behind.
static Results topKRule(Operation *op, Operands operands, BoxContext &context) {
  auto top = cast<graph::TopKOp>(op);
  auto middles = context.runKernel(op, {&operands[0]->middle});
  if (!middles)
    return middles.takeError();
  const Box &x = *operands[0];
  Rows rows(x.middle.shape, top.getDimension());
  if (Error error = context.charge(
          Context::steps({rows.count, rows.length, int64_t(middles->size())})))
    return std::move(error);
  auto apart = [&](Interval a, Interval b) {
    return a.high < b.low || b.high < a.low;
  };
  auto isPoint = [&](int64_t p) {
    return !x.isUnknown(p) &&
           (!x.middle.isReal() || x.at(p).isPoint() || x.at(p).isNan());
  };
  std::vector<Box> boxes;
  for (Tensor &middle : *middles) {
    Box box;
    box.middle = std::move(middle);
    if (!x.isExact())
      box.spread();
    for (int64_t row = 0; row < rows.count && !x.isExact(); ++row) {
      int64_t at = rows.place(row, box.middle.whole[row]);
      bool known = true;
      for (int64_t j = 0; j < rows.length && known; ++j) {
        int64_t p = rows.place(row, j);
        if (p != at && !(isPoint(p) && isPoint(at)))
          known = x.middle.isReal() && !x.isUnknown(p) && !x.isUnknown(at) &&
                  apart(x.at(p), x.at(at));
      }
      if (!known)
        box.setUnknown(row);
    }
    boxes.push_back(std::move(box));
  }
  return boxes;
}

static Results cumulativeRule(Operation *op, Operands operands,
                              BoxContext &context) {
  auto cumulative = cast<graph::CumulativeOp>(op);
  Expected<Box> box = middleOf(op, operands, context);
  if (!box)
    return box.takeError();
  const Box &x = *operands[0];
  auto kind = cumulative.getKind();
  if (x.isExact() && (!x.middle.isReal() || isReorderable(kind)))
    return single(std::move(*box));
  Rows rows(x.middle.shape, cumulative.getDimension());
  if (Error error = context.charge(
          Context::steps({rows.count, rows.length, rows.length})))
    return std::move(error);
  DType compute = computeType(x.middle.dtype);
  bool exclusive = cumulative.getExclusive(), reverse = cumulative.getReverse();
  box->spread();
  for (int64_t row = 0; row < rows.count; ++row)
    for (int64_t j = 0; j < rows.length; ++j) {
      int64_t p = rows.place(row, j);
      int64_t first = reverse ? j + exclusive : 0;
      int64_t end = reverse ? rows.length : j + !exclusive;
      bool lost = false;
      auto forEachTerm = [&](auto add) {
        for (int64_t k = first; k < end; ++k)
          add(x.at(rows.place(row, k)));
      };
      if (x.middle.isReal()) {
        box->set(p, combine(kind, compute, context.inner, forEachTerm));
        continue;
      }
      for (int64_t k = first; k < end; ++k)
        lost |= x.isUnknown(rows.place(row, k));
      if (lost)
        box->setUnknown(p);
    }
  return single(std::move(*box));
}

void reference::registerReductionBounds(BoundRegistry &registry) {
  registry.add<graph::ReduceOp>(reduceRule<graph::ReduceOp>);
  registry.add<graph::WindowReduceOp>(reduceRule<graph::WindowReduceOp>);
  registry.add<graph::ContractOp>(productRule<graph::ContractOp>);
  registry.add<graph::ConvolutionOp>(productRule<graph::ConvolutionOp>);
  registry.add<graph::ArgReduceOp>(argReduceRule);
  registry.add<graph::TopKOp>(topKRule);
  registry.add<graph::CumulativeOp>(cumulativeRule);
}
