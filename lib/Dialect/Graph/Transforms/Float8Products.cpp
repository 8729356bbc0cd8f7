//===- Float8Products.cpp - products of dequantised 8-bit floats ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of dequantised 8-bit floats is written with operands of 16 or 32
// bits:
//   sum over k of (a sa) (b sb) = sa sb sum over k of a b
// where sa and sb do not depend on k. The right side multiplies 8-bit floats in
// tensor cores and scales their sums in f32, so nothing is rounded before it is
// summed. Which products may become one follows from the graph as written
// (Float8Products.h), so this pass comes before others simplify it.
//
// A factor alone may take the sum P out of f32 where the next one brings it
// back: P sa is infinite and sb is 0. As written a sa and b sb are finite, and
// the result is 0. So
//
//  1. The narrowest factors come first (magnitudes known from types and
//     constants), as long as P times all of them is a normal number or 0. The
//     widest comes last: where that product is out of range, so is the result.
//  2. If the widest but one, s, does not fit either, it becomes near * rest:
//     near in [2^low, 2^high], so that P near is a normal number or 0, and rest
//     follows the last factor t: ((P near) t) rest. For 2^p <= |P| <= 2^q, what
//     came before included, low = -126 - p and high = 127 - q, within f32.
//       in between  near = s, rest = 1: nothing but t can leave the range.
//       |s| < low   near = 2^low, |rest| < 1. P near t does not overflow: it is
//                   below 2^(q - p - 126 + 128). What it loses by underflow,
//                   2^-150, is not enlarged.
//       |s| > high  near = 2^high, |rest| > 1. Where P near t overflows, the
//                   result does, too, and it is normal or 0, as it is at least
//                   2^(127 - (q - p) - 149).
//     Both hold up to q - p = 104; sums of f8E5M2 have 64 + log2(k). near or
//     rest is a power of two, so no rounding is added. rest keeps 0, infinities
//     and NaN of s: infinity times a sum of 0 is NaN, as it is as written,
//     where all terms are infinity * 0 or some cancel.
//  3. With more wide factors the product stays as it is written.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Float8Products.h"
#include "fusec/Dialect/Graph/IR/Magnitudes.h"
#include "fusec/Dialect/Graph/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

namespace fusec::graph {
#define GEN_PASS_DEF_FLOAT8PRODUCTSPASS
#include "fusec/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace fusec::graph

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

/// Sums below this are left alone: scaling them is not free.
static constexpr int64_t kShortSum = 16;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The 8-bit operand in the order of dimensions of the value it stands for.
static Value narrowed(OpBuilder &builder, Location loc,
                      const Float8Source &source) {
  ArrayRef<int64_t> order = source.permutation;
  if (llvm::equal(order, llvm::seq<int64_t>(0, order.size())))
    return source.narrow;
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(typeOf(source.narrow).getDimSize(dim));
  return TransposeOp::create(builder, loc, typeOf(source.narrow).clone(shape),
                             source.narrow, order);
}

/// Where the dimensions of an operand lie in the result; -1: summed.
static SmallVector<int64_t> placesOf(int64_t rank, ArrayRef<int64_t> batch,
                                     ArrayRef<int64_t> free, int64_t first) {
  SmallVector<int64_t> places(rank, -1);
  for (auto [i, dim] : llvm::enumerate(batch))
    places[dim] = i;
  for (auto [i, dim] : llvm::enumerate(free))
    places[dim] = first + i;
  return places;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

namespace {
/// A factor of a sum.
struct Scale {
  const Float8Source::Factor *factor;
  /// Where its operand's dimensions lie in the result.
  ArrayRef<int64_t> places;
  Magnitudes magnitudes;
  /// Exponents of the least and largest number that the sum may be multiplied
  /// by, if the factor has others.
  std::optional<Magnitudes> near = {};
};
} // namespace

/// Above this P near t may underflow, and rest enlarge what is lost.
static constexpr int kWidestSum = 104;

static bool isNormal(Magnitudes magnitudes) {
  return magnitudes.low >= -126 && magnitudes.high <= 127;
}

/// Brings `scales` of a sum of magnitudes `sum` into an order in which no
/// product leaves the range of f32 unless the last does, and says which is
/// divided for that. False if there is none.
static bool arrange(SmallVectorImpl<Scale> &scales, Magnitudes sum) {
  // Of equals a scalar is the one to divide; else they keep their order.
  auto isBefore = [](const Scale &a, const Scale &b) {
    auto key = [](const Scale &scale) {
      bool isScalar = typeOf(scale.factor->value).getNumElements() == 1;
      return std::pair(scale.magnitudes.width(), !isScalar);
    };
    return key(a) < key(b);
  };
  for (Scale *next = scales.begin(); next != scales.end(); ++next)
    std::rotate(std::upper_bound(scales.begin(), next, *next, isBefore), next,
                next + 1);
  for (auto [i, scale] : llvm::enumerate(scales)) {
    if (i + 1 == scales.size())
      break;
    Magnitudes product = sum * scale.magnitudes;
    if (isNormal(product)) {
      sum = product;
      continue;
    }
    if (i + 2 < scales.size() || sum.width() > kWidestSum)
      return false;
    // Powers of two and their reciprocals are numbers of f32.
    scale.near = Magnitudes{std::max(-126, -126 - sum.low),
                            std::min(126, 127 - sum.high)};
  }
  return true;
}

/// `scale`, a tensor of f32, as two factors: one whose magnitude is in `near`,
/// and the rest.
static std::pair<Value, Value> divide(OpBuilder &builder, Location loc,
                                      Value scale, Magnitudes near) {
  RankedTensorType type = typeOf(scale);
  auto power = [&](int exponent) -> Value {
    return ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, std::ldexp(1.0f, exponent)));
  };
  auto compare = [&](ComparePredicate predicate, Value a, Value b) -> Value {
    return CompareOp::create(builder, loc, predicate, a, b);
  };
  auto select = [&](Value pred, Value a, Value b) -> Value {
    return SelectOp::create(builder, loc, pred, a, b);
  };
  Value low = power(near.low), high = power(near.high);
  Value size = AbsOp::create(builder, loc, scale);
  Value isSmall = compare(ComparePredicate::lt, size, low),
        isLarge = compare(ComparePredicate::gt, size, high);
  Value one = select(isSmall, low, select(isLarge, high, scale));
  Value factor = select(isSmall, power(-near.low), power(-near.high));
  Value rest = select(OrOp::create(builder, loc, isSmall, isLarge),
                      MulOp::create(builder, loc, scale, factor), power(0));
  return {one, rest};
}

/// `factor` as a tensor of f32 over dimensions of a result, which are added to
/// `dims` by the places of its operand's dimensions there. Dimensions along k
/// have one element and go.
static Value narrowTo(OpBuilder &builder, Location loc,
                      const Float8Source::Factor &factor,
                      ArrayRef<int64_t> places,
                      SmallVectorImpl<int64_t> &dims) {
  Value value = factor.value;
  SmallVector<int64_t> shape;
  // (place, dimension): the broadcast wants places in ascending order.
  SmallVector<std::pair<int64_t, int64_t>> kept;
  for (auto [i, dim] : llvm::enumerate(factor.dims))
    if (places[dim] >= 0)
      kept.push_back({places[dim], int64_t(i)});
  llvm::sort(kept);
  if (factor.dims.empty() && typeOf(value).getNumElements() != 1) {
    auto splat =
        cast<DenseElementsAttr>(value.getDefiningOp<ConstantOp>().getValue());
    auto scalar = RankedTensorType::get({}, typeOf(value).getElementType());
    value = ConstantOp::create(builder, loc, splat.resizeSplat(scalar));
  }
  SmallVector<int64_t> permutation;
  for (auto [place, i] : kept) {
    dims.push_back(place);
    permutation.push_back(i);
    shape.push_back(typeOf(value).getDimSize(i));
  }
  bool isSorted = llvm::is_sorted(permutation);
  if (static_cast<int64_t>(kept.size()) != typeOf(value).getRank())
    value = ReshapeOp::create(builder, loc, typeOf(value).clone([&] {
      SmallVector<int64_t> rest;
      for (int64_t i = 0; i < typeOf(value).getRank(); ++i)
        if (llvm::is_contained(permutation, i))
          rest.push_back(typeOf(value).getDimSize(i));
      return rest;
    }()),
                              value);
  if (!isSorted) {
    // Numbers of the dimensions that are left.
    SmallVector<int64_t> sorted(permutation);
    llvm::sort(sorted);
    for (int64_t &i : permutation)
      i = llvm::find(sorted, i) - sorted.begin();
    value = TransposeOp::create(builder, loc, typeOf(value).clone(shape), value,
                                permutation);
  }
  if (!typeOf(value).getElementType().isF32())
    value = CastOp::create(builder, loc,
                           typeOf(value).clone(builder.getF32Type()), value);
  return value;
}

/// `sum` times `scales` in their order.
static Value multiply(OpBuilder &builder, Location loc, Value sum,
                      ArrayRef<Scale> scales) {
  auto times = [&](Value product, Value factor, ArrayRef<int64_t> dims) {
    return MulOp::create(
        builder, loc, product,
        BroadcastOp::create(builder, loc, typeOf(sum), factor, dims));
  };
  Value product = sum, rest;
  SmallVector<int64_t> restDims;
  for (const Scale &scale : scales) {
    SmallVector<int64_t> dims;
    Value factor = narrowTo(builder, loc, *scale.factor, scale.places, dims);
    if (scale.near) {
      std::tie(factor, rest) = divide(builder, loc, factor, *scale.near);
      restDims = dims;
    }
    product = times(product, factor, dims);
  }
  return rest ? times(product, rest, restDims) : product;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Rewrites one product; false if it is none of 8-bit floats.
static bool narrow(ContractOp op) {
  auto isNarrow = [](Value value) {
    return isFloat8(typeOf(value).getElementType());
  };
  if (!typeOf(op.getResult()).hasStaticShape() || !mayUseFloat8(op) ||
      (isNarrow(op.getLhs()) && isNarrow(op.getRhs())))
    return false;
  int64_t length = 1;
  for (int64_t dim : op.getLhsContract())
    length *= typeOf(op.getLhs()).getDimSize(dim);
  std::optional<Float8Source> lhs = float8Source(op.getLhs()),
                              rhs = float8Source(op.getRhs());
  if (length < kShortSum || !lhs || !rhs)
    return false;
  SmallVector<int64_t> lhsFree = op.getLhsFree(), rhsFree = op.getRhsFree();
  int64_t batches = op.getLhsBatch().size();
  SmallVector<int64_t> lhsPlaces = placesOf(typeOf(op.getLhs()).getRank(),
                                            op.getLhsBatch(), lhsFree, batches),
                       rhsPlaces = placesOf(typeOf(op.getRhs()).getRank(),
                                            op.getRhsBatch(), rhsFree,
                                            batches + lhsFree.size());
  SmallVector<Scale> scales;
  for (const Float8Source::Factor &factor : lhs->factors)
    scales.push_back({&factor, lhsPlaces, magnitudesOf(factor.value)});
  for (const Float8Source::Factor &factor : rhs->factors)
    scales.push_back({&factor, rhsPlaces, magnitudesOf(factor.value)});
  Magnitudes sum = magnitudesOf(lhs->narrow) * magnitudesOf(rhs->narrow);
  sum.high += llvm::Log2_64_Ceil(length);
  if (!arrange(scales, sum))
    return false;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto wide = cast<RankedTensorType>(
      typeOf(op.getResult()).clone(builder.getF32Type()));
  auto product = ContractOp::create(
      builder, loc, wide, narrowed(builder, loc, *lhs),
      narrowed(builder, loc, *rhs), op.getLhsBatch(), op.getRhsBatch(),
      op.getLhsContract(), op.getRhsContract());
  if (hasFastAccumulation(op))
    product->setAttr(kFastAccumulation, builder.getUnitAttr());
  Value value = multiply(builder, loc, product, scales);
  if (value.getType() != op.getType())
    value = CastOp::create(builder, loc, op.getType(), value,
                           /*saturate=*/true);
  op.replaceAllUsesWith(value);
  op.erase();
  return true;
}

namespace {
struct Float8ProductsPass
    : graph::impl::Float8ProductsPassBase<Float8ProductsPass> {
  void runOnOperation() override {
    SmallVector<ContractOp> products;
    getOperation()->walk([&](ContractOp op) { products.push_back(op); });
    for (ContractOp op : products)
      numNarrowed += narrow(op);
  }
};
} // namespace
