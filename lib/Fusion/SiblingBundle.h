//===- SiblingBundle.h - contractions that can be one -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Fusion. Legality and rewrite of MergeContractions: which
// contractions of a block can be one with the operands that differ joined, and
// which ops behind them can follow.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FUSION_SIBLINGBUNDLE_H
#define FUSEC_LIB_FUSION_SIBLINGBUNDLE_H

#include "fusec/Analysis/Refusal.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/IR/IRMapping.h"

namespace fusec::fusion {

/// Contractions that read one operand in the same way and another that differs
/// in size along one free dimension at most.
struct SiblingBundle {
  /// In program order; none depends on another.
  llvm::SmallVector<graph::ContractOp> members;
  /// The operand that differs, 0 or 1, and the dimension along which it is
  /// joined.
  unsigned joined = 1, joinedAxis = 0;
  /// The dimension of the results along which members lie side by side.
  unsigned resultAxis = 0;
  /// Steps behind the members that all of them take: steps[k][i] is the only
  /// user of what member i has become, element-wise and alike for all i.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> steps;

  /// What member `i` is after the steps.
  mlir::Value end(unsigned i);
  /// The bundle of the clones that `mapping` names.
  SiblingBundle mapped(const mlir::IRMapping &mapping) const;
};

/// Sets of contractions in `block` that read one operand alike, in program
/// order, not yet checked for dependences. Linear in the block.
llvm::SmallVector<SiblingBundle> findSiblings(mlir::Block &block);

/// Drops members that depend on earlier ones and adds the steps that all
/// others take. Ops must stand after what they read. Returns why fewer than two
/// are left.
std::optional<analysis::Refusal> checkBundle(SiblingBundle &bundle);

/// Replaces a checked bundle by one contraction and puts the block in order
/// again. Returns the `graph.concat` ops that were made.
llvm::SmallVector<mlir::Operation *> rewriteBundle(SiblingBundle &bundle);

} // namespace fusec::fusion

#endif // FUSEC_LIB_FUSION_SIBLINGBUNDLE_H
