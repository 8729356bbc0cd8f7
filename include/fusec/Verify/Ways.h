//===- Ways.h - all ways to compute a graph, and one judge ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The differential oracle. A way is a target with compile options; every way
// must give results inside the bounds that follow from the graph and its
// inputs (Reference/Bounds.h). The reference evaluator is one of the ways.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_VERIFY_WAYS_H
#define FUSEC_VERIFY_WAYS_H

#include "fusec/Reference/Bounds.h"
#include "fusec/Session/Build.h"
#include "fusec/Verify/Placement.h"

namespace fusec::verify {

/// One way to compute a graph.
struct Way {
  session::Target target;
  driver::CompileOptions options;
  /// Otherwise every tensor is dense and aligned. Not for the reference.
  std::optional<Placement> placement = std::nullopt;

  /// "host", "emulator, unfused, exact", "cuda without cse".
  std::string name() const;
};

/// The default way of `target`, one kernel per op, both in exact mode, and the
/// default without each optional pass that the target runs. The reference has
/// one way.
std::vector<Way> waysOf(const session::Target &target,
                        const driver::CompileOptions &options);

/// Runs a copy of `model` on `inputs`, one per argument. Errors have a class:
/// Unsupported where the graph does not compile, Failed where it compiles and
/// does not run. `observe` sees what is compiled, `stages` the IR.
llvm::Expected<std::vector<HostTensor>>
runWay(const session::Model &model, const Way &way,
       llvm::ArrayRef<HostTensor> inputs,
       llvm::function_ref<void(const session::Compiled &)> observe = {},
       const driver::StageObserver &stages = {});

/// What became of a way.
enum class Outcome : uint8_t {
  Right,
  /// A result is out of its bounds.
  Wrong,
  /// The graph does not compile for it.
  Unsupported,
  /// It compiles and does not run.
  Failed,
};
/// "right", "wrong", "unsupported", "failed".
llvm::StringRef name(Outcome outcome);

/// The judgement of one way.
struct Judgement {
  Outcome outcome = Outcome::Right;
  /// What is wrong or was refused.
  std::string message;
  /// Over all outputs; reference::Deviation says what they are.
  double worst = 0;
  int64_t elements = 0, wrong = 0, unknown = 0, exact = 0;
};

/// Judges outputs by their bounds; `specs` names them in messages.
Judgement judge(llvm::ArrayRef<runtime::TensorSpec> specs,
                llvm::ArrayRef<reference::Bounds> bounds,
                llvm::ArrayRef<HostTensor> found);
/// The judgement that an error of `runWay` is.
Judgement judge(llvm::Error error);

} // namespace fusec::verify

#endif // FUSEC_VERIFY_WAYS_H
