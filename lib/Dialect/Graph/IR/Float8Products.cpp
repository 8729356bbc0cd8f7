//===- Float8Products.cpp - products of 8-bit floats ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Float8Products.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool graph::isFloat8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

bool graph::hasFastAccumulation(Operation *op) {
  return op->hasAttr(kFastAccumulation);
}

/// `value` as a factor: a broadcast tensor, or one number.
static std::optional<Float8Source::Factor> factorOf(Value value) {
  Type element = typeOf(value).getElementType();
  if (!isa<FloatType>(element) || element.isF64() || isFloat8(element))
    return std::nullopt;
  if (auto spread = value.getDefiningOp<BroadcastOp>())
    return Float8Source::Factor{spread.getOperand(),
                                llvm::to_vector(spread.getDimensions())};
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat())
    return Float8Source::Factor{value, {}};
  return std::nullopt;
}

static bool isZero(Value value) {
  if (auto spread = value.getDefiningOp<BroadcastOp>())
    value = spread.getOperand();
  return matchPattern(value, m_AnyZeroFloat());
}

/// The same through a transpose whose result dimension i is dimension
/// permutation[i] of what `source` stands for.
static Float8Source transposed(Float8Source source,
                               ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> place(permutation.size()), composed;
  for (auto [i, dim] : llvm::enumerate(permutation)) {
    place[dim] = i;
    composed.push_back(source.permutation[dim]);
  }
  source.permutation = composed;
  for (Float8Source::Factor &factor : source.factors)
    for (int64_t &dim : factor.dims)
      dim = place[dim];
  return source;
}

std::optional<Float8Source> graph::float8Source(Value value) {
  Type element = typeOf(value).getElementType();
  if (isFloat8(element))
    return Float8Source{
        value, llvm::to_vector(llvm::seq(typeOf(value).getRank())), {}};
  if (!isa<FloatType>(element) || element.isF64())
    return std::nullopt;
  Operation *op = value.getDefiningOp();
  if (auto cast = dyn_cast_or_null<CastOp>(op))
    return isFloat8(typeOf(cast.getOperand()).getElementType())
               ? float8Source(cast.getOperand())
               : std::nullopt;
  if (auto transpose = dyn_cast_or_null<TransposeOp>(op)) {
    std::optional<Float8Source> source = float8Source(transpose.getOperand());
    if (source)
      source = transposed(std::move(*source), transpose.getPermutation());
    return source;
  }
  if (auto dequantize = dyn_cast_or_null<DequantizeOp>(op)) {
    std::optional<Float8Source::Factor> scale = factorOf(dequantize.getScale());
    if (!isFloat8(typeOf(dequantize.getOperand()).getElementType()) || !scale ||
        !isZero(dequantize.getZeroPoint()))
      return std::nullopt;
    std::optional<Float8Source> source = float8Source(dequantize.getOperand());
    source->factors.push_back(*scale);
    return source;
  }
  auto product = dyn_cast_or_null<MulOp>(op);
  if (!product)
    return std::nullopt;
  for (auto [one, other] : {std::pair(product.getLhs(), product.getRhs()),
                            std::pair(product.getRhs(), product.getLhs())})
    if (std::optional<Float8Source::Factor> factor = factorOf(other))
      if (std::optional<Float8Source> source = float8Source(one)) {
        source->factors.push_back(*factor);
        return source;
      }
  return std::nullopt;
}

/// Whether no factor of `value` depends on the dimensions `summed`.
static bool areConstantAlong(const Float8Source &source,
                             ArrayRef<int64_t> summed) {
  return llvm::all_of(source.factors, [&](const Float8Source::Factor &factor) {
    for (auto [i, dim] : llvm::enumerate(factor.dims))
      if (typeOf(factor.value).getDimSize(i) != 1 &&
          llvm::is_contained(summed, dim))
        return false;
    return true;
  });
}

bool graph::mayUseFloat8(ContractOp op) {
  Type lhsElement = typeOf(op.getLhs()).getElementType(),
       rhsElement = typeOf(op.getRhs()).getElementType();
  Type result = typeOf(op.getResult()).getElementType();
  if (!isa<FloatType>(result) || result.isF64())
    return false;
  if (isFloat8(lhsElement) && isFloat8(rhsElement))
    return true;
  // Sums of f32 operands are as good as f32 unless something else is said.
  bool isWide = lhsElement.isF32() || rhsElement.isF32();
  if (isWide && !op.getAllowTf32() && !hasFastAccumulation(op))
    return false;
  std::optional<Float8Source> lhs = float8Source(op.getLhs()),
                              rhs = float8Source(op.getRhs());
  return lhs && rhs && areConstantAlong(*lhs, op.getLhsContract()) &&
         areConstantAlong(*rhs, op.getRhsContract());
}
