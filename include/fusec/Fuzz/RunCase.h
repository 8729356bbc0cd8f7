//===- RunCase.h - one random graph, several ways ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FUZZ_RUNCASE_H
#define FUSEC_FUZZ_RUNCASE_H

#include "fusec/Fuzz/Generate.h"
#include "fusec/Verify/Ways.h"
#include <set>

namespace fusec::fuzz {

/// What a case reached: names such as "op:graph.add f32", "kernel:row",
/// "refusal:NoSchedule", "simt:scf.for>memref.load".
using Features = std::set<std::string>;

/// Adds which paths of lowering made the kernels of `program`: "path:tickets".
void addPaths(const runtime::Program &program, Features &features);
/// The kinds of kernels ("kernel:"), the planner's reasons ("refusal:", also
/// for what Features have as "split:" and "alone:") and the paths of lowering
/// that there are: what a long run should reach.
std::vector<std::string> decisionsAndPaths();

/// The outcome of one way of one case.
struct WayReport {
  /// As Way::name, with " after MOVES" for a changed graph.
  std::string way;
  verify::Judgement judgement;
};

/// The outcome of one case.
struct CaseReport {
  std::vector<WayReport> ways;
  Features features;
  /// The case is of no use: the generator or the bounds failed.
  std::string failure;
};

/// Runs case `seed` on the reference evaluator and on each of `targets`: its
/// default way, and now and then another way, a changed graph, or tensors in
/// awkward places. `entering` is
/// told of each way before it runs, so that a crash can be named.
CaseReport runCase(uint64_t seed, llvm::ArrayRef<session::Target> targets,
                   llvm::function_ref<void(llvm::StringRef)> entering);

} // namespace fusec::fuzz

#endif // FUSEC_FUZZ_RUNCASE_H
