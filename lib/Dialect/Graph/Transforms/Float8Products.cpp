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
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Float8Products.h"
#include "fusec/Dialect/Graph/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"

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

/// `factor` spread over a result of type `to` (f32), by the places of its
/// operand's dimensions there. Dimensions along k have one element and go.
static Value spread(OpBuilder &builder, Location loc,
                    const Float8Source::Factor &factor,
                    ArrayRef<int64_t> places, RankedTensorType to) {
  Value value = factor.value;
  SmallVector<int64_t> shape, order;
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
  SmallVector<int64_t> dims, permutation;
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
  return BroadcastOp::create(builder, loc, to, value, dims);
}

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
  Value value = product;
  SmallVector<int64_t> lhsFree = op.getLhsFree(), rhsFree = op.getRhsFree();
  int64_t batches = op.getLhsBatch().size();
  SmallVector<int64_t> places[] = {placesOf(typeOf(op.getLhs()).getRank(),
                                            op.getLhsBatch(), lhsFree, batches),
                                   placesOf(typeOf(op.getRhs()).getRank(),
                                            op.getRhsBatch(), rhsFree,
                                            batches + lhsFree.size())};
  for (auto [source, place] :
       {std::pair(&*lhs, &places[0]), std::pair(&*rhs, &places[1])})
    for (const Float8Source::Factor &factor : source->factors)
      value = MulOp::create(builder, loc, value,
                            spread(builder, loc, factor, *place, wide));
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
