//===- OutlineGroups.h - rewriting groups to graph.fusion -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Fusion.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FUSION_OUTLINEGROUPS_H
#define FUSEC_LIB_FUSION_OUTLINEGROUPS_H

#include "PlanGraph.h"

namespace fusec::fusion {

/// A fusion and the group it was made from.
struct OutlinedGroup {
  graph::FusionOp fusion;
  unsigned group;
};

/// Moves each group of `plan` into a `graph.fusion`, in an order where
/// producers come first, and erases the ops of `block` that the plan covers:
///
///     %a = graph.exp %x          %b = graph.fusion(%arg = %x) {
///     %b = graph.neg %a    ->      %0 = graph.exp %arg
///                                  %1 = graph.neg %0
///                                  graph.yield %1
///                                }
///
/// An op in several groups is cloned into each. Groups whose results nobody
/// needs are dropped.
llvm::SmallVector<OutlinedGroup> outlineGroups(mlir::Block &block,
                                               PlanGraph &plan);

} // namespace fusec::fusion

#endif // FUSEC_LIB_FUSION_OUTLINEGROUPS_H
