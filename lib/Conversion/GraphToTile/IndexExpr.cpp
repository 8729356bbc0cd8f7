//===- IndexExpr.cpp - simplified addresses -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Offsets are built by nesting what movement ops do to indices: a reshape
// linearises and delinearises, and most of it cancels. `offset` reads the
// arithmetic back as an affine expression of the index tiles that the schedule
// made, simplifies it over their ranges and writes it anew. Parts that depend
// on data stay as they are: they are dimensions of unknown range.
//===----------------------------------------------------------------------===//
#include "RegionEmitter.h"
#include "fusec/Analysis/IndexingMaps.h"
#include "fusec/Dialect/Common/ConstantOf.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using graph::ElementBuilder;

/// `value` as one of `dims`.
static AffineExpr dimOf(Value value, SmallVectorImpl<Value> &dims) {
  auto *known = llvm::find(dims, value);
  unsigned position = known - dims.begin();
  if (known == dims.end())
    dims.push_back(value);
  return getAffineDimExpr(position, value.getContext());
}

AffineExpr RegionEmitter::exprOf(Value value, SmallVectorImpl<Value> &dims) {
  if (std::optional<int64_t> number = constantOf(value))
    return getAffineConstantExpr(*number, builder.getContext());
  return ranges.contains(value) || exactBounds.contains(value)
             ? dimOf(value, dims)
             : exprOfSum(value, dims);
}

/// `value` by what it is computed from, whatever is known of its range.
AffineExpr RegionEmitter::exprOfSum(Value value, SmallVectorImpl<Value> &dims) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return dimOf(value, dims);
  if (isa<tile::SplatOp, tensor::SplatOp>(op))
    return exprOf(op->getOperand(0), dims);
  if (isa<arith::AddIOp>(op))
    return exprOf(op->getOperand(0), dims) + exprOf(op->getOperand(1), dims);
  if (isa<arith::SubIOp>(op))
    return exprOf(op->getOperand(0), dims) - exprOf(op->getOperand(1), dims);
  if (isa<arith::MulIOp, arith::DivUIOp, arith::RemUIOp>(op))
    if (std::optional<int64_t> by = constantOf(op->getOperand(1))) {
      AffineExpr lhs = exprOf(op->getOperand(0), dims);
      if (isa<arith::MulIOp>(op))
        return lhs * *by;
      if (*by > 0)
        return isa<arith::DivUIOp>(op) ? lhs.floorDiv(*by) : lhs % *by;
    }
  return dimOf(value, dims);
}

Value RegionEmitter::fromExpr(AffineExpr expr, ValueRange dims) {
  ElementBuilder eb = elements();
  SmallVector<Value> values(dims);
  if (carrier)
    for (Value &value : values)
      if (value.getType().isIndex())
        value = tile::SplatOp::create(builder, loc,
                                      eb.type(builder.getIndexType()), value);
  AffineMap map = AffineMap::get(dims.size(), 0, expr);
  return eb.apply(map, values).front();
}

AffineExpr RegionEmitter::simplify(AffineExpr expr, ValueRange dims) {
  SmallVector<int64_t> sizes;
  for (Value dim : dims) {
    auto it = ranges.find(dim);
    sizes.push_back(it == ranges.end() ? ShapedType::kDynamic : it->second);
  }
  return analysis::simplifyIndex(expr, sizes);
}

/// `expr` with opened dims written as sums.
AffineExpr RegionEmitter::openDims(AffineExpr expr,
                                   SmallVectorImpl<Value> &dims) {
  if (llvm::none_of(dims, [&](Value dim) { return opened.contains(dim); }))
    return expr;
  SmallVector<Value> inner;
  SmallVector<AffineExpr> sums;
  for (Value dim : dims)
    sums.push_back(opened.contains(dim) ? exprOfSum(dim, inner)
                                        : dimOf(dim, inner));
  dims = inner;
  return simplify(expr.replaceDims(sums), dims);
}

Value RegionEmitter::offset(ValueRange index, ArrayRef<int64_t> shape) {
  SmallVector<Value> dims;
  AffineExpr sum = getAffineConstantExpr(0, builder.getContext());
  for (auto [i, size] : llvm::zip(index, shape))
    sum = sum * size + exprOf(i, dims);
  AffineExpr simple = openDims(simplify(sum, dims), dims);
  return fromExpr(simple, dims);
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

std::optional<RegionEmitter::Interval>
RegionEmitter::boundsOf(AffineExpr expr, ValueRange dims) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Interval{constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    Value value = dims[dim.getPosition()];
    auto it = exactBounds.find(value);
    if (it != exactBounds.end())
      return it->second;
    if (auto iota = value.getDefiningOp<tile::IotaOp>())
      return Interval{
          0, cast<RankedTensorType>(iota.getType()).getDimSize(iota.getAxis()) -
                 1};
    auto arg = dyn_cast<BlockArgument>(value);
    auto loop = arg ? dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp())
                    : scf::ForOp();
    if (!loop || loop.getInductionVar() != value)
      return std::nullopt;
    std::optional<int64_t> lower = constantOf(loop.getLowerBound());
    std::optional<int64_t> upper = constantOf(loop.getUpperBound());
    if (!lower || !upper || *upper <= *lower)
      return std::nullopt;
    return Interval{*lower, *upper - 1};
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<Interval> lhs = boundsOf(binary.getLHS(), dims);
  std::optional<Interval> rhs = boundsOf(binary.getRHS(), dims);
  if (!lhs || !rhs)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add)
    return Interval{lhs->low + rhs->low, lhs->high + rhs->high};
  if (rhs->low != rhs->high)
    return std::nullopt;
  int64_t by = rhs->low;
  if (binary.getKind() == AffineExprKind::Mul)
    return Interval{std::min(lhs->low * by, lhs->high * by),
                    std::max(lhs->low * by, lhs->high * by)};
  if (lhs->low < 0)
    return std::nullopt; // exprOf divides by what is above 0
  if (binary.getKind() == AffineExprKind::FloorDiv)
    return Interval{lhs->low / by, lhs->high / by};
  if (binary.getKind() == AffineExprKind::Mod)
    return lhs->high < by ? *lhs : Interval{0, by - 1};
  return std::nullopt;
}

std::optional<RegionEmitter::Interval> RegionEmitter::bounds(Value value) {
  SmallVector<Value> dims;
  AffineExpr expr = exprOf(value, dims);
  // Terms that cancel (a tile's start) must not count twice.
  return boundsOf(simplifyAffineExpr(expr, dims.size(), 0), dims);
}

std::optional<int64_t> RegionEmitter::distance(Value a, Value b) {
  SmallVector<Value> dims;
  AffineExpr lhs = exprOf(a, dims), rhs = exprOf(b, dims);
  auto constant = dyn_cast<AffineConstantExpr>(
      simplifyAffineExpr(lhs - rhs, dims.size(), 0));
  return constant ? std::optional(constant.getValue()) : std::nullopt;
}

bool RegionEmitter::isInside(ValueRange index, ArrayRef<int64_t> shape) {
  for (auto [at, size] : llvm::zip(index, shape)) {
    std::optional<Interval> known = bounds(at);
    if (!known || known->low < 0 || known->high >= size)
      return false;
  }
  return true;
}

bool RegionEmitter::isProven(Value condition) {
  Operation *op = condition.getDefiningOp();
  if (!op)
    return false;
  if (isa<arith::AndIOp>(op))
    return isProven(op->getOperand(0)) && isProven(op->getOperand(1));
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || !isa<IndexType>(getElementTypeOrSelf(compare.getLhs())))
    return false;
  std::optional<Interval> lhs = bounds(compare.getLhs());
  std::optional<Interval> rhs = bounds(compare.getRhs());
  if (!lhs || !rhs)
    return false;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::ult:
    return lhs->low >= 0 && lhs->high < rhs->low;
  case arith::CmpIPredicate::slt:
    return lhs->high < rhs->low;
  case arith::CmpIPredicate::sge:
    return lhs->low >= rhs->high;
  default:
    return false;
  }
}

bool RegionEmitter::isRefuted(Value condition) {
  Operation *op = condition.getDefiningOp();
  if (!op)
    return false;
  if (isa<arith::AndIOp>(op))
    return isRefuted(op->getOperand(0)) || isRefuted(op->getOperand(1));
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || !isa<IndexType>(getElementTypeOrSelf(compare.getLhs())) ||
      compare.getPredicate() != arith::CmpIPredicate::ult)
    return false;
  std::optional<Interval> lhs = bounds(compare.getLhs());
  std::optional<Interval> rhs = bounds(compare.getRhs());
  // A negative number is greater than any bound.
  return lhs && rhs && rhs->low >= 0 &&
         (lhs->high < 0 || lhs->low >= rhs->high);
}
