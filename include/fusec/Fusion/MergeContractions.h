//===- MergeContractions.h - contractions of one operand --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of one value with several others (query, key and value projections)
// become one product with the others joined, where the planner's own estimate
// of what stands around them says that this is faster. A step before
// formGroups, which then sees one contraction.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FUSION_MERGECONTRACTIONS_H
#define FUSEC_FUSION_MERGECONTRACTIONS_H

#include "fusec/Fusion/FormGroups.h"

namespace fusec::fusion {

/// What mergeContractions did.
struct MergedContractions {
  /// One entry per set of contractions that read the same operand in the same
  /// way, in program order.
  std::vector<SiblingDecision> decisions;
  /// The `graph.concat` ops of constants only that were made: a constant folder
  /// is expected to compute them.
  llvm::SmallVector<mlir::Operation *> constantConcats;
};

/// Merges sibling contractions in the body of `function`, primitive graph ops
/// as formGroups takes them, before any region is formed:
///
///     %q = contract %x, %wq          %w = concat %wq, %wk
///     %k = contract %x, %wk    ->    %m = contract %x, %w
///                                    %q = slice %m [0 ..]
///                                    %k = slice %m [n ..]
///
/// Element-wise ops that follow every member alike (a bias, a cast) are merged
/// with them. Every element is computed from the same elements in the same
/// order as before. Contractions with dynamic or empty dimensions stay.
MergedContractions mergeContractions(mlir::FunctionOpInterface function,
                                     const FormGroupsOptions &options = {});

} // namespace fusec::fusion

#endif // FUSEC_FUSION_MERGECONTRACTIONS_H
