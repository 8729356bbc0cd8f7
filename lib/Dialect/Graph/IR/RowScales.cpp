//===- RowScales.cpp - operands that are rows times factors ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/RowScales.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {
/// Walks from an operand towards the tensor that it scales.
class Walk {
public:
  Walk(Value operand, ArrayRef<int64_t> summed)
      : element(typeOf(operand).getElementType()), summed(summed) {}
  bool run(Value operand);
  RowScales result;

private:
  bool addFactor(Value value, bool isDivisor);
  std::optional<Value> step(Value value);

  Type element;
  ArrayRef<int64_t> summed;
};
} // namespace

/// Sorts a broadcast or uniform `value` under rows or terms.
bool Walk::addFactor(Value value, bool isDivisor) {
  RowScales::Factor factor{value, {}, isDivisor};
  auto spread = value.getDefiningOp<BroadcastOp>();
  if (spread)
    factor.value = spread.getOperand();
  // One number, whatever it is spread over.
  DenseElementsAttr constant;
  bool isUniform =
      matchPattern(factor.value, m_Constant(&constant)) && constant.isSplat();
  if (spread && !isUniform)
    factor.dims = llvm::to_vector(spread.getDimensions());
  else if (!isUniform)
    return false;
  Type type = typeOf(value).getElementType();
  if (!isa<FloatType>(type) || type.isF64())
    return false;
  bool isTerm = false, isRow = false;
  for (auto [i, dim] : llvm::enumerate(factor.dims))
    if (typeOf(factor.value).getDimSize(i) != 1)
      (llvm::is_contained(summed, dim) ? isTerm : isRow) = true;
  if (isTerm && isRow)
    return false;
  (isTerm ? result.terms : result.rows).push_back(factor);
  return true;
}

/// What `value` scales or converts; nothing if it does something else.
std::optional<Value> Walk::step(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto cast = dyn_cast_or_null<CastOp>(op)) {
    Type from = typeOf(cast.getOperand()).getElementType();
    return from == element || from.isF32() ? std::optional(cast.getOperand())
                                           : std::nullopt;
  }
  if (auto quotient = dyn_cast_or_null<DivOp>(op))
    return addFactor(quotient.getRhs(), true) ? std::optional(quotient.getLhs())
                                              : std::nullopt;
  auto product = dyn_cast_or_null<MulOp>(op);
  if (!product)
    return std::nullopt;
  if (addFactor(product.getRhs(), false))
    return product.getLhs();
  if (addFactor(product.getLhs(), false))
    return product.getRhs();
  return std::nullopt;
}

bool Walk::run(Value operand) {
  Value value = operand;
  // What others read, too, is not undone.
  bool isShared = false;
  while (true) {
    bool isElement = typeOf(value).getElementType() == element;
    if (value != operand)
      isShared |= !value.hasOneUse();
    if (isElement && isShared)
      break;
    std::optional<Value> next = step(value);
    if (!next) {
      if (!isElement)
        return false;
      break;
    }
    result.roundings += isElement;
    value = *next;
  }
  result.raw = value;
  return value != operand && !result.rows.empty();
}

std::optional<RowScales> graph::rowScales(ContractOp op, bool isLhs) {
  Value operand = isLhs ? op.getLhs() : op.getRhs();
  ArrayRef<int64_t> summed = isLhs ? op.getLhsContract() : op.getRhsContract();
  Type element = typeOf(operand).getElementType();
  Type result = typeOf(op.getResult()).getElementType();
  if ((!element.isF16() && !element.isBF16()) || !isa<FloatType>(result) ||
      result.isF64())
    return std::nullopt;
  // As it is written; the norm's rows are what is summed here.
  if (auto norm = operand.getDefiningOp<RmsNormOp>()) {
    int64_t rank = typeOf(operand).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      if ((dim >= int64_t(norm.getAxis())) != llvm::is_contained(summed, dim))
        return std::nullopt;
    RowScales scales;
    scales.raw = norm.getOperand();
    scales.terms.push_back({norm.getScale(), llvm::to_vector(summed)});
    scales.roundings = 1;
    return scales;
  }
  Walk walk(operand, summed);
  // Products of two numbers in f16 may leave its range.
  if (!walk.run(operand) || (element.isF16() && !walk.result.terms.empty()))
    return std::nullopt;
  return std::move(walk.result);
}
