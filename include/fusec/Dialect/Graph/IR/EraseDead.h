//===- EraseDead.h - what nobody reads any more -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_ERASEDEAD_H
#define FUSEC_DIALECT_GRAPH_IR_ERASEDEAD_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fusec::graph {

/// Erases `op` if nobody reads its results, and then, over and over, what only
/// erased ops read. Ops for which `keep` holds stay. `op` may be null.
void eraseDead(
    mlir::Operation *op, llvm::function_ref<bool(mlir::Operation *)> keep =
                             [](mlir::Operation *) { return false; });

} // namespace fusec::graph

#endif // FUSEC_DIALECT_GRAPH_IR_ERASEDEAD_H
