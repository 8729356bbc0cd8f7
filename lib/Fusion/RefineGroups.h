//===- RefineGroups.h - steps after the greedy choice -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Fusion. Two optional improvements of a chosen partition; each
// keeps it legal and acyclic.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FUSION_REFINEGROUPS_H
#define FUSEC_LIB_FUSION_REFINEGROUPS_H

#include "ChooseGroups.h"

namespace fusec::fusion {

/// Replaces stored values by recomputation where that saves traffic: if every
/// kernel that reads a value can compute it from what its producer reads at no
/// more bytes, the value is not stored at all:
///
///     K1: e = exp(x), sum(e), store e      K1: e = exp(x), sum(e)
///     K2: load e, ...                 ->   K2: load x, e = exp(x), ...
///
/// At most `budget` ops are copied. Returns the number of copies.
unsigned recomputeCheapValues(PlanGraph &plan, GroupChooser &chooser,
                              unsigned budget);

/// Puts small groups that do not depend on each other side by side, so that
/// they share a launch (KernelKind::Multi). Returns the number of merges.
unsigned packSmallGroups(PlanGraph &plan, GroupChooser &chooser,
                         const FormGroupsOptions &options);

} // namespace fusec::fusion

#endif // FUSEC_LIB_FUSION_REFINEGROUPS_H
