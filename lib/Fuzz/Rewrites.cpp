//===- Rewrites.cpp - other ops that compute the same ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each must stay inside the bounds of the op that it stands for, stored and
// rounded between its ops or not.
//===----------------------------------------------------------------------===//
#include "Writer.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fuzz;

/// a - b as a + (-b).
static Value subtractAsAdd(OpBuilder &b, graph::SubOp op) {
  Value negated = graph::NegOp::create(b, op.getLoc(), op->getOperand(1));
  return graph::AddOp::create(b, op.getLoc(), op->getOperand(0), negated);
}

/// A product with its operands in the other order, transposed back.
static Value swapProduct(OpBuilder &b, graph::ContractOp op) {
  int64_t batch = op.getLhsBatch().size();
  int64_t lhsFree = Writer::typeOf(op.getLhs()).getRank() - batch -
                    op.getLhsContract().size();
  auto type = Writer::typeOf(op.getResult());
  int64_t rhsFree = type.getRank() - batch - lhsFree;
  // Result: batch, free of the left, free of the right.
  SmallVector<int64_t> shape(type.getShape()), back;
  std::rotate(shape.begin() + batch, shape.begin() + batch + lhsFree,
              shape.end());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    back.push_back(dim < batch             ? dim
                   : dim < batch + lhsFree ? dim + rhsFree
                                           : dim - lhsFree);
  Value swapped = graph::ContractOp::create(
      b, op.getLoc(), type.clone(shape), op.getRhs(), op.getLhs(),
      op.getRhsBatch(), op.getLhsBatch(), op.getRhsContract(),
      op.getLhsContract(), op.getAllowTf32());
  return graph::TransposeOp::create(b, op.getLoc(), type, swapped, back);
}

/// A reduction of several dimensions as two. Sums and products of narrow
/// floats would be rounded between them.
static Value splitReduction(OpBuilder &b, graph::ReduceOp op, Rng &rng) {
  DType dtype = Writer::dtypeOf(op.getOperand());
  bool rounds = op.getKind() == graph::ReduceKind::sum ||
                op.getKind() == graph::ReduceKind::prod;
  ArrayRef<int64_t> dims = op.getDimensions();
  if (dims.size() < 2 || (rounds && isFloat(dtype) && byteSize(dtype) < 4))
    return {};
  int64_t first = rng.pick(dims);
  auto type = Writer::typeOf(op.getOperand());
  SmallVector<int64_t> shape(type.getShape()), rest;
  shape.erase(shape.begin() + first);
  for (int64_t dim : dims)
    if (dim != first)
      rest.push_back(dim - (dim > first));
  Value part =
      graph::ReduceOp::create(b, op.getLoc(), type.clone(shape), op.getKind(),
                              op.getOperand(), ArrayRef<int64_t>(first));
  return graph::ReduceOp::create(b, op.getLoc(), op.getType(), op.getKind(),
                                 part, rest);
}

Value fuzz::rewritten(OpBuilder &b, Operation *op, Rng &rng) {
  if (auto sub = dyn_cast<graph::SubOp>(op))
    return subtractAsAdd(b, sub);
  if (auto contract = dyn_cast<graph::ContractOp>(op))
    return swapProduct(b, contract);
  if (auto reduce = dyn_cast<graph::ReduceOp>(op))
    return splitReduction(b, reduce, rng);
  if (op->hasTrait<OpTrait::IsCommutative>() && op->getNumOperands() == 2 &&
      op->getNumRegions() == 0) {
    Operation *swapped = b.clone(*op);
    swapped->setOperands({op->getOperand(1), op->getOperand(0)});
    return swapped->getResult(0);
  }
  return {};
}
