//===- Patterns.cpp - shapes that the planner knows how to fuse -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Writer.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fuzz;
using graph::ReduceKind;

static Value anyRankedReal(Writer &w) {
  return w.anyOf(
      [](Value v) {
        return Writer::isReal(v) && Writer::typeOf(v).getRank() > 0;
      },
      [&] {
        Shape shape = w.shape(1, 4);
        DType dtype = w.floatType();
        return w.fresh(shape, dtype);
      });
}

namespace {
/// Reductions along one dimension, and back.
struct Axis {
  Writer &w;
  Value x;
  int64_t dim;

  Value reduce(ReduceKind kind, Value value) {
    Shape kept = w.shapeOf(x);
    kept.erase(kept.begin() + dim);
    return value ? w.op<graph::ReduceOp>(w.tensor(kept, w.dtypeOf(value)), kind,
                                         value, ArrayRef<int64_t>(dim))
                 : Value();
  }
  Value spread(Value value) {
    SmallVector<int64_t> dims;
    for (int64_t d = 0; d < w.typeOf(x).getRank(); ++d)
      if (d != dim)
        dims.push_back(d);
    return value ? w.broadcast(value, w.shapeOf(x), dims) : Value();
  }
};
} // namespace

template <typename OpT>
static Value both(Writer &w, Value a, Value b) {
  return a && b ? w.op<OpT>(a, b) : Value();
}
template <typename OpT>
static Value one(Writer &w, Value x) {
  return x ? w.op<OpT>(x) : Value();
}

static Value maybeChange(Writer &w, Value x) {
  if (!x || w.rng.chance(1, 2))
    return x;
  Value next = sameTypeOp(w, x);
  return next ? next : x;
}

static Axis anyAxis(Writer &w) {
  Value x = anyRankedReal(w);
  int64_t dim = 0;
  if (x) {
    int64_t rank = w.typeOf(x).getRank();
    dim = w.rng.chance(2, 3) ? rank - 1 : w.rng.below(rank);
  }
  return {w, x, dim};
}

/// Softmax as many graphs spell it, with something in between.
static Value spelledSoftmax(Writer &w) {
  Axis axis = anyAxis(w);
  if (!axis.x)
    return {};
  Value x = maybeChange(w, axis.x);
  Value peak = axis.spread(axis.reduce(ReduceKind::max, x));
  Value power = one<graph::ExpOp>(w, both<graph::SubOp>(w, x, peak));
  power = maybeChange(w, power);
  Value sum = axis.spread(axis.reduce(ReduceKind::sum, power));
  return both<graph::DivOp>(w, power, sum);
}

/// (x - mean) * rsqrt(mean square + 1/16) * scale + bias, with parts left out.
static Value spelledNorm(Writer &w) {
  Axis axis = anyAxis(w);
  if (!axis.x)
    return {};
  Value x = maybeChange(w, axis.x);
  double n = std::max<int64_t>(w.shapeOf(x)[axis.dim], 1);
  if (w.rng.chance(2, 3)) {
    Value sum = axis.spread(axis.reduce(ReduceKind::sum, x));
    if (!sum)
      return {};
    x = both<graph::SubOp>(w, x, both<graph::DivOp>(w, sum, w.splat(sum, n)));
  }
  Value squares = axis.reduce(ReduceKind::sum, both<graph::MulOp>(w, x, x));
  if (!squares)
    return {};
  Value mean = both<graph::DivOp>(w, squares, w.splat(squares, n));
  Value root = one<graph::RsqrtOp>(
      w, both<graph::AddOp>(w, mean, w.splat(squares, 0.0625)));
  Value y = both<graph::MulOp>(w, x, axis.spread(root));
  if (y && w.rng.chance(1, 2))
    y = both<graph::MulOp>(w, y, w.fitting(w.shapeOf(y), w.dtypeOf(y)));
  if (y && w.rng.chance(1, 2))
    y = both<graph::AddOp>(w, y, w.fitting(w.shapeOf(y), w.dtypeOf(y)));
  return y;
}

/// Two dims contracted: [m, k] x [k, n].
static Value matmul(Writer &w, Value lhs, int64_t n) {
  Shape from = w.shapeOf(lhs);
  int64_t k = from.back();
  bool transposed = w.rng.chance(1, 3);
  Shape other = transposed ? Shape{n, k} : Shape{k, n};
  Value rhs = w.fitting(other, w.dtypeOf(lhs));
  Shape to = from;
  to.back() = n;
  using Array = ArrayRef<int64_t>;
  int64_t lhsDim = from.size() - 1, rhsDim = transposed ? 1 : 0;
  return w.op<graph::ContractOp>(w.tensor(to, w.dtypeOf(lhs)), lhs, rhs,
                                 Array(), Array(), Array(lhsDim), Array(rhsDim),
                                 false);
}

/// Prologue, product, bias, activation, residual, row reduction.
static Value denseLayer(Writer &w) {
  static constexpr DType kTypes[] = {DType::F16, DType::F16, DType::BF16,
                                     DType::F32, DType::F32, DType::F64};
  static constexpr int64_t kSizes[] = {1,  3,  7,  8,  15, 16,  17,  31,  32,
                                       33, 48, 64, 65, 96, 127, 128, 129, 144};
  Value x = w.anyOf(
      [](Value v) {
        auto type = Writer::typeOf(v);
        return Writer::isReal(v) && type.getRank() == 2 &&
               type.getNumElements() <= 144 * 144;
      },
      [&] {
        int64_t m = w.rng.pick(kSizes), k = w.rng.pick(kSizes);
        DType dtype = w.rng.pick(kTypes);
        return w.fresh({m, k}, dtype);
      });
  if (!x)
    return {};
  x = maybeChange(w, x);
  Value y = matmul(w, x, w.rng.pick(kSizes));
  if (!y)
    return {};
  if (w.rng.chance(2, 3)) {
    Value bias = w.fitting({w.shapeOf(y).back()}, w.dtypeOf(y));
    if (bias)
      y = both<graph::AddOp>(w, y, w.broadcast(bias, w.shapeOf(y), {1}));
  }
  for (int64_t i = 0, n = w.rng.below(3); y && i < n; ++i)
    y = maybeChange(w, y);
  if (y && w.rng.chance(1, 4)) {
    Axis axis{w, y, 1};
    Value sum = axis.spread(axis.reduce(ReduceKind::sum, y));
    return both<graph::SubOp>(w, y, sum);
  }
  return y;
}

/// Batched q k^T, mask or scale, softmax, times v.
static Value attention(Writer &w) {
  static constexpr DType kTypes[] = {DType::F16, DType::F32, DType::BF16};
  int64_t heads = w.rng.between(1, 3), rows = w.rng.between(1, 40),
          keys = w.rng.between(1, 40), depth = w.rng.between(1, 32);
  DType dtype = w.rng.pick(kTypes);
  Value q = w.fitting({heads, rows, depth}, dtype);
  Value k = w.fitting({heads, keys, depth}, dtype);
  Value v = w.fitting({heads, keys, depth}, dtype);
  using Array = ArrayRef<int64_t>;
  const int64_t zero = 0, one = 1, two = 2;
  Value scores = w.op<graph::ContractOp>(w.tensor({heads, rows, keys}, dtype),
                                         q, k, Array(zero), Array(zero),
                                         Array(two), Array(two), false);
  if (!scores)
    return {};
  if (w.rng.chance(1, 2))
    scores = both<graph::MulOp>(w, scores, w.splat(scores, 0.25));
  scores = maybeChange(w, scores);
  Value weights = w.op<graph::SoftmaxOp>(scores.getType(), scores, Array(two));
  return w.op<graph::ContractOp>(w.tensor({heads, rows, depth}, dtype), weights,
                                 v, Array(zero), Array(zero), Array(two),
                                 Array(one), false);
}

/// Several consumers of one value, of one shape or of several.
static Value siblings(Writer &w) {
  Value x = w.any();
  if (!x)
    return {};
  SmallVector<Value> made;
  for (int64_t i = 0, n = w.rng.between(2, 4); i < n; ++i)
    if (Value next = sameTypeOp(w, x))
      made.push_back(next);
  if (made.size() < 2)
    return {};
  if (w.dtypeOf(x) == DType::Bool || w.rng.chance(1, 3))
    return made.back();
  return both<graph::AddOp>(w, made[0], made[1]);
}

/// Parts of a value, changed and joined again.
static Value splitAndJoin(Writer &w) {
  Value x = w.anyOf([](Value v) { return Writer::typeOf(v).getRank() > 0; },
                    [&] {
                      Shape shape = w.shape(1, 3);
                      DType dtype = w.dtype();
                      return w.fresh(shape, dtype);
                    });
  if (!x)
    return {};
  Shape shape = w.shapeOf(x);
  int64_t axis = w.rng.below(shape.size()), size = shape[axis], at = 0;
  SmallVector<Value> parts;
  while (at < size && parts.size() < 4) {
    Shape part = shape, offsets(shape.size(), 0), strides(shape.size(), 1);
    part[axis] = parts.size() == 3 ? size - at : w.rng.between(1, size - at);
    offsets[axis] = at;
    at += part[axis];
    Value piece = w.op<graph::SliceOp>(w.tensor(part, w.dtypeOf(x)), x,
                                       ArrayRef<int64_t>(offsets),
                                       ArrayRef<int64_t>(strides));
    piece = maybeChange(w, piece);
    if (!piece)
      return {};
    parts.push_back(piece);
  }
  if (parts.empty())
    return {};
  if (w.rng.chance(1, 2)) // halves swapped, as rotary embeddings do
    std::rotate(parts.begin(), parts.begin() + 1, parts.end());
  shape[axis] = at;
  return w.op<graph::ConcatOp>(w.tensor(shape, w.dtypeOf(x)), parts, axis);
}

void fuzz::appendPatternRecipes(SmallVectorImpl<WeightedRecipe> &recipes) {
  recipes.append({{spelledSoftmax, 4},
                  {spelledNorm, 4},
                  {denseLayer, 6},
                  {attention, 2},
                  {siblings, 4},
                  {splitAndJoin, 4}});
}
