//===- RefineGroups.h - steps after the greedy choice -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Fusion. An improvement of a chosen partition that keeps it
// legal and acyclic.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FUSION_REFINEGROUPS_H
#define FUSEC_LIB_FUSION_REFINEGROUPS_H

#include "ChooseGroups.h"

namespace fusec::fusion {

/// Replaces stored values by recomputation where that saves traffic: if every
/// kernel that reads a value can compute it from what its producer reads at no
/// more bytes and in no more time, the value is not stored at all:
///
///     K1: e = exp(x), sum(e), store e      K1: e = exp(x), sum(e)
///     K2: load e, ...                 ->   K2: load x, e = exp(x), ...
///
/// At most `budget` ops are copied. Returns the number of copies.
unsigned recomputeCheapValues(PlanGraph &plan, GroupChooser &chooser,
                              unsigned budget);

} // namespace fusec::fusion

#endif // FUSEC_LIB_FUSION_REFINEGROUPS_H
