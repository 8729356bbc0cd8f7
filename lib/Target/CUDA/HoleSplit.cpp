//===- HoleSplit.cpp - what a hole computes once a row --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "HoleSplit.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec::cuda;

// Values of a row that are worth keeping: 16 rows a thread of 16 bytes each
// are twice what stays in registers (docs/skeleton-contraction.md).
static constexpr size_t kMaxCarried = 4;

/// Calls `visit` for every value that `op` or an op inside of it uses.
static void forEachUse(Operation *op, function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      visit(operand);
  });
}

HoleSplit::HoleSplit(Block &hole) {
  classify(hole);
  collect(hole);
  if (carried.size() <= kMaxCarried)
    return;
  // Too much: keep the coordinates and compute everything at each use.
  carried.clear();
  for (Operation &op : hole.without_terminator())
    late.insert(&op);
  collect(hole);
}

void HoleSplit::classify(Block &hole) {
  Value k = hole.getArgument(2);
  DenseSet<Value> lateArrays;
  auto isLate = [&](Operation &op) {
    bool result = false;
    forEachUse(&op, [&](Value value) {
      Operation *producer = value.getDefiningOp();
      result |= value == k || lateArrays.contains(value) ||
                (producer && late.contains(producer));
    });
    return result;
  };
  // Arrays make a later op's part matter to earlier ones.
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : hole.without_terminator()) {
      if (late.contains(&op))
        continue;
      bool isArray =
          op.getNumResults() == 1 && isa<MemRefType>(op.getResult(0).getType());
      if (!isLate(op) && !(isArray && lateArrays.contains(op.getResult(0))))
        continue;
      late.insert(&op);
      changed = true;
      forEachUse(&op, [&](Value value) {
        if (isa<MemRefType>(value.getType()) && value.getDefiningOp() &&
            value.getParentBlock() == &hole)
          lateArrays.insert(value);
      });
    }
  }
  // Arrays that are yielded are filled where they are yielded.
  Operation *end = hole.getTerminator();
  for (Value value : end->getOperands())
    if (isa<MemRefType>(value.getType()) && !lateArrays.contains(value)) {
      late.insert(value.getDefiningOp());
      for (Operation *user : value.getUsers())
        if (Operation *top = hole.findAncestorOpInBlock(*user); top != end)
          late.insert(top);
    }
}

void HoleSplit::collect(Block &hole) {
  for (Operation &op : hole) {
    if (!late.contains(&op) && !op.hasTrait<OpTrait::IsTerminator>())
      continue;
    forEachUse(&op, [&](Value value) {
      Operation *producer = value.getDefiningOp();
      if (value.getParentBlock() != &hole || value == hole.getArgument(2) ||
          (producer &&
           (late.contains(producer) || isa<arith::ConstantOp>(producer))))
        return;
      carried.insert(value);
    });
  }
}
