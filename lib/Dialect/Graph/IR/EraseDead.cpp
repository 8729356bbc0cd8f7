//===- EraseDead.cpp - what nobody reads any more -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/EraseDead.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

void fusec::graph::eraseDead(Operation *op,
                             llvm::function_ref<bool(Operation *)> keep) {
  llvm::SetVector<Operation *> open;
  auto add = [&](Operation *next) {
    if (next && next->use_empty() && !keep(next))
      open.insert(next);
  };
  add(op);
  while (!open.empty()) {
    Operation *next = open.pop_back_val();
    SmallVector<Value> operands(next->getOperands());
    next->erase();
    for (Value operand : operands)
      add(operand.getDefiningOp());
  }
}
