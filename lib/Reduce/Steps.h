//===- Steps.h - ways to make a case smaller --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_REDUCE_STEPS_H
#define FUSEC_LIB_REDUCE_STEPS_H

#include "fusec/Reduce/Reduce.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fusec::reduce {

/// Makes a change to a copy of the case at hand; false if there is nothing to
/// change.
using Change = llvm::function_ref<bool(Case &)>;
/// Tries a change: keeps the changed case and returns true if it still fails.
/// Returns false as well when the time is over.
using Try = llvm::function_ref<bool(llvm::StringRef what, Change change)>;

// Each looks at `current`, which `attempt` replaces when a change is kept, and
// returns true if one was.
bool dropOutputs(const Case &current, Try attempt);
bool cutOps(const Case &current, Try attempt);
bool bypassOps(const Case &current, Try attempt);
bool freeConstants(const Case &current, Try attempt);
bool shrinkSizes(const Case &current, Try attempt);
bool plainTypes(const Case &current, Try attempt);
bool plainValues(const Case &current, Try attempt);

/// The function's only block, and its ops but the last.
mlir::Block &bodyOf(const Case &subject);
llvm::SmallVector<mlir::Operation *> opsOf(const Case &subject);

/// Removes what no output needs and renews types and names; false if the graph
/// is not valid then.
bool tidy(Case &subject);

} // namespace fusec::reduce

#endif // FUSEC_LIB_REDUCE_STEPS_H
