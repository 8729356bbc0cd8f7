//===- RefineGroups.h - steps after the greedy choice -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Fusion. Improvements of a chosen partition that keep it
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

/// Lets a norm read what a product would: a tensor that the product's kernel
/// adds to its result for a single row kernel goes to that kernel, if the two
/// are estimated to take less time so. The product stores as much as before and
/// no longer waits for the tensor:
///
///     K1: p = x @ w, s = p + r, store s      K1: p = x @ w, store p
///     K2: load s, norm(s)               ->   K2: load p, r, s = p + r, norm(s)
///
/// At most `budget` ops are moved. Returns how many were.
unsigned moveReadsBehindProducts(PlanGraph &plan, GroupChooser &chooser,
                                 unsigned budget);

} // namespace fusec::fusion

#endif // FUSEC_LIB_FUSION_REFINEGROUPS_H
