//===- LinearAccess.cpp - addresses as sums of multiples of loops ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LinearAccess.h"
#include "fusec/Analysis/IndexingMaps.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;

/// Adds `expr` times `factor` to `strides`; false unless it is a sum of
/// multiples of loops. A constant counts for nothing: it must be 0.
static bool addLinear(AffineExpr expr, int64_t factor,
                      MutableArrayRef<int64_t> strides, int64_t &constant) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    strides[dim.getPosition()] += factor;
    return true;
  }
  if (auto number = dyn_cast<AffineConstantExpr>(expr)) {
    constant += factor * number.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, strides, constant) &&
           addLinear(binary.getRHS(), factor, strides, constant);
  auto by = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && by &&
         addLinear(binary.getLHS(), factor * by.getValue(), strides, constant);
}

/// Strides of the buffer of `type` that `map` indexes; nothing if offsets do
/// not start at 0 or are not linear.
static std::optional<SmallVector<int64_t>>
stridesOf(AffineMap map, RankedTensorType type, ArrayRef<int64_t> sizes) {
  AffineExpr linear = getAffineConstantExpr(0, map.getContext());
  for (auto [expr, size] : llvm::zip(map.getResults(), type.getShape()))
    linear = linear * size + expr;
  SmallVector<int64_t> strides(sizes.size(), 0);
  int64_t constant = 0;
  if (!addLinear(analysis::simplifyIndex(linear, sizes), 1, strides,
                 constant) ||
      constant != 0 || llvm::any_of(strides, [](int64_t s) { return s < 0; }))
    return std::nullopt;
  for (auto [stride, size] : llvm::zip(strides, sizes))
    if (size == 1)
      stride = 0;
  return strides;
}

std::optional<LinearAccess> driver::accessOf(uint32_t argument, AffineMap map,
                                             Value value,
                                             ArrayRef<int64_t> sizes) {
  auto type = cast<RankedTensorType>(value.getType());
  std::optional<DType> dtype = graph::toDType(type.getElementType());
  auto strides = stridesOf(map, type, sizes);
  if (!dtype || !strides)
    return std::nullopt;
  return LinearAccess{argument, *dtype, std::move(*strides)};
}

AffineMap driver::movementOf(analysis::FactTable &facts, Operation *op) {
  const analysis::OpFacts *fact = facts.get(op);
  if (!fact || fact->role != graph::FusionRole::movement ||
      op->getNumOperands() != 1 || fact->space.operands.size() != 1)
    return {};
  const graph::OperandAccess &access = fact->space.operands.front();
  return access.isMasked || access.isIndirect ? AffineMap() : access.map;
}

std::optional<LinearAccess> driver::operandAccess(analysis::FactTable &facts,
                                                  Value value, AffineMap at,
                                                  ArrayRef<int64_t> sizes) {
  while (Operation *op = value.getDefiningOp()) {
    AffineMap map = movementOf(facts, op);
    if (!map)
      return std::nullopt;
    at = analysis::composeIndex(map, at, sizes);
    value = op->getOperand(0);
  }
  return accessOf(cast<BlockArgument>(value).getArgNumber(), at, value, sizes);
}
