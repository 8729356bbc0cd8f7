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
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using graph::ElementBuilder;

static std::optional<int64_t> constantIndex(Value value) {
  llvm::APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

AffineExpr RegionEmitter::exprOf(Value value, SmallVectorImpl<Value> &dims) {
  MLIRContext *context = builder.getContext();
  if (std::optional<int64_t> number = constantIndex(value))
    return getAffineConstantExpr(*number, context);
  if (!ranges.contains(value))
    if (Operation *op = value.getDefiningOp()) {
      if (isa<arith::AddIOp>(op))
        return exprOf(op->getOperand(0), dims) + exprOf(op->getOperand(1), dims);
      if (isa<arith::SubIOp>(op))
        return exprOf(op->getOperand(0), dims) - exprOf(op->getOperand(1), dims);
      if (isa<arith::MulIOp, arith::DivUIOp, arith::RemUIOp>(op))
        if (std::optional<int64_t> by = constantIndex(op->getOperand(1))) {
          AffineExpr lhs = exprOf(op->getOperand(0), dims);
          if (isa<arith::MulIOp>(op))
            return lhs * *by;
          if (*by > 0)
            return isa<arith::DivUIOp>(op) ? lhs.floorDiv(*by) : lhs % *by;
        }
    }
  auto *known = llvm::find(dims, value);
  unsigned position = known - dims.begin();
  if (known == dims.end())
    dims.push_back(value);
  return getAffineDimExpr(position, context);
}

Value RegionEmitter::fromExpr(AffineExpr expr, ValueRange dims) {
  ElementBuilder eb = elements();
  SmallVector<Value> values(dims);
  AffineMap map = AffineMap::get(dims.size(), 0, expr);
  return eb.apply(map, values).front();
}

Value RegionEmitter::offset(ValueRange index, ArrayRef<int64_t> shape) {
  SmallVector<Value> dims;
  AffineExpr sum = getAffineConstantExpr(0, builder.getContext());
  for (auto [i, size] : llvm::zip(index, shape))
    sum = sum * size + exprOf(i, dims);
  SmallVector<int64_t> sizes;
  for (Value dim : dims) {
    auto it = ranges.find(dim);
    sizes.push_back(it == ranges.end() ? ShapedType::kDynamic : it->second);
  }
  return fromExpr(analysis::simplifyIndex(sum, sizes), dims);
}
