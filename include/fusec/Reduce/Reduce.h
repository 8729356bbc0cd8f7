//===- Reduce.h - the smallest graph that still fails -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_REDUCE_REDUCE_H
#define FUSEC_REDUCE_REDUCE_H

#include "fusec/Fuzz/Generate.h"

namespace fusec::reduce {

/// A graph with inputs.
using fuzz::Case;

/// True if the case still fails in the way that is looked for. May be asked
/// of any valid case; must not change it.
using Check = llvm::function_ref<bool(const Case &)>;

struct Options {
  /// After that many seconds no more is tried; 0 for no limit.
  double seconds = 0;
  /// Told of every smaller case.
  std::function<void(llvm::StringRef what, int64_t ops, int64_t elements)>
      progress = {};
};

struct Report {
  /// Cases that were tried and that still failed.
  int64_t tried = 0, kept = 0;
  /// Ops and elements of inputs, before and after.
  int64_t opsBefore = 0, opsAfter = 0, elementsBefore = 0, elementsAfter = 0;
  /// The time was not enough.
  bool timeOver = false;
};

/// The smallest case found that still fails. Deterministic where `check` is.
/// Tries, over and over until nothing helps: fewer outputs; parts of the graph
/// replaced by inputs that hold what they compute; ops replaced by an operand;
/// constants made inputs; smaller sizes throughout; plainer element types;
/// plainer values. Fails if `original` does not fail.
llvm::Expected<Case> reduce(const Case &original, Check check,
                            const Options &options, Report &report);

} // namespace fusec::reduce

#endif // FUSEC_REDUCE_REDUCE_H
