//===- LastUses.h - when values of a block can be freed ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_REFERENCE_LASTUSES_H
#define FUSEC_LIB_REFERENCE_LASTUSES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace fusec::reference {

/// For each op of `block`, the values of the block that nothing after it needs.
inline llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>>
lastUses(mlir::Block &block) {
  llvm::DenseMap<mlir::Value, mlir::Operation *> last;
  for (mlir::Operation &op : block) {
    for (mlir::Value result : op.getResults())
      last[result] = &op;
    op.walk([&](mlir::Operation *nested) {
      for (mlir::Value operand : nested->getOperands())
        if (operand.getParentBlock() == &block)
          last[operand] = &op;
    });
  }
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> dying;
  for (auto [value, op] : last)
    dying[op].push_back(value);
  return dying;
}

} // namespace fusec::reference

#endif // FUSEC_LIB_REFERENCE_LASTUSES_H
