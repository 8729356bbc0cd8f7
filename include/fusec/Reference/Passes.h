//===- Passes.h - passes that use the evaluator -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_REFERENCE_PASSES_H
#define FUSEC_REFERENCE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace fusec::reference {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "fusec/Reference/Passes.h.inc"

/// What foldConstants did.
struct FoldReport {
  int64_t folded = 0;
  /// Ops on constants that were left because of a limit.
  int64_t overBudget = 0;
};

/// Replaces the graph ops below `root` whose operands are constants, as the
/// pass says.
FoldReport foldConstants(mlir::Operation *root,
                         const FoldConstantsPassOptions &options = {});

/// Replaces `graph.concat` ops of constants by the joined constant, whatever
/// its size; the operands go if nobody else reads them. Ops with other operands,
/// dynamic shapes or elements below a byte are left to foldConstants.
void joinConstants(llvm::ArrayRef<mlir::Operation *> concats);

/// Replaces `products`, each made of constants, by their values, whatever their
/// size; operands go if nobody else reads them. What the evaluator refuses
/// stays. A product comes after those that it reads.
void foldProducts(llvm::ArrayRef<mlir::Operation *> products);

} // namespace fusec::reference

#endif // FUSEC_REFERENCE_PASSES_H
