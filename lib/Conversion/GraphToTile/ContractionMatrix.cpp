//===- ContractionMatrix.cpp - operands that are matrices -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ContractionMatrix.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

namespace {

/// A sum of multiples of the hole's coordinates. The batch may come whole, or
/// as remainder and quotient of one divisor.
struct Linear {
  int64_t constant = 0, batch = 0, outer = 0, k = 0;
  int64_t divisor = 0, remainder = 0, quotient = 0;

  Linear scaled(int64_t factor) const {
    return {constant * factor, batch * factor,     outer * factor,   k * factor,
            divisor,           remainder * factor, quotient * factor};
  }
  bool isBatch() const {
    return batch == 1 && !constant && !outer && !k && !divisor;
  }
};

} // namespace

static std::optional<Linear> sum(const Linear &a, const Linear &b) {
  if (a.divisor && b.divisor && a.divisor != b.divisor)
    return std::nullopt;
  return Linear{a.constant + b.constant,
                a.batch + b.batch,
                a.outer + b.outer,
                a.k + b.k,
                std::max(a.divisor, b.divisor),
                a.remainder + b.remainder,
                a.quotient + b.quotient};
}

static std::optional<int64_t> constantOf(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  return std::nullopt;
}

/// `value` (a scalar or a tile of one element) in terms of the arguments of
/// `hole`: batch, outer and k.
static std::optional<Linear> linearOf(Value value, Block &hole) {
  if (std::optional<int64_t> number = constantOf(value))
    return Linear{*number};
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != &hole)
      return std::nullopt;
    Linear result;
    (argument.getArgNumber() == 0   ? result.batch
     : argument.getArgNumber() == 1 ? result.outer
                                    : result.k) = 1;
    return result;
  }
  Operation *op = value.getDefiningOp();
  if (auto splat = dyn_cast<tile::SplatOp>(op))
    return linearOf(splat->getOperand(0), hole);
  if (!isa<arith::AddIOp, arith::MulIOp, arith::RemUIOp, arith::DivUIOp>(op))
    return std::nullopt;
  std::optional<Linear> left = linearOf(op->getOperand(0), hole);
  if (!left)
    return std::nullopt;
  if (isa<arith::AddIOp>(op)) {
    std::optional<Linear> right = linearOf(op->getOperand(1), hole);
    return right ? sum(*left, *right) : std::nullopt;
  }
  std::optional<int64_t> factor = constantOf(op->getOperand(1));
  if (!factor)
    return std::nullopt;
  if (isa<arith::MulIOp>(op))
    return left->scaled(*factor);
  if (!left->isBatch() || *factor < 1)
    return std::nullopt;
  Linear result;
  result.divisor = *factor;
  (isa<arith::RemUIOp>(op) ? result.remainder : result.quotient) = 1;
  return result;
}

/// Whether `condition` is that argument `number` of `hole` is below `extent`.
static bool isBound(Value condition, Block &hole, unsigned number,
                    Value extent) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::slt)
    return false;
  auto left = compare.getLhs().getDefiningOp<tile::SplatOp>();
  auto right = compare.getRhs().getDefiningOp<tile::SplatOp>();
  if (!left || !right || left->getOperand(0) != hole.getArgument(number))
    return false;
  Value limit = right->getOperand(0);
  std::optional<int64_t> number1 = constantOf(limit),
                         number2 = constantOf(extent);
  return limit == extent || (number1 && number1 == number2);
}

std::optional<cuda::GemmMatrix>
graph_to_tile::contractionMatrix(tile::ContractOp op, bool isLhs,
                                 const ContractionShape &shape) {
  Block &hole = (isLhs ? op.getLhs() : op.getRhs()).front();
  Operation *end = hole.getTerminator();
  auto mask = end->getOperand(1).getDefiningOp<arith::AndIOp>();
  if (!mask ||
      !isBound(mask.getLhs(), hole, 1, isLhs ? op.getM() : op.getN()) ||
      !isBound(mask.getRhs(), hole, 2, op.getK()))
    return std::nullopt;
  std::optional<Linear> offset = linearOf(end->getOperand(0), hole);
  if (!offset || offset->constant)
    return std::nullopt;
  if (offset->divisor && offset->batch)
    return std::nullopt;
  cuda::GemmMatrix matrix;
  matrix.outer = shape.extent(isLhs ? shape.m : shape.n);
  matrix.k = shape.extent(shape.k);
  matrix.outerStride = offset->outer;
  matrix.kStride = offset->k;
  matrix.split = std::max<int64_t>(offset->divisor, 1);
  matrix.high = llvm::divideCeil(shape.extent(shape.batch), matrix.split);
  matrix.lowStride = offset->remainder;
  matrix.highStride = offset->divisor ? offset->quotient : offset->batch;
  return matrix;
}
