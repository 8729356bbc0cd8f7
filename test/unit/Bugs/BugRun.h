//===- BugRun.h - one bug report, every way to run it -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_BUGS_BUGRUN_H
#define FUSEC_TEST_UNIT_BUGS_BUGRUN_H

#include "BugCase.h"
#include "fusec/Session/Target.h"

namespace fusec::bugs {

/// One way from a case to numbers.
struct Way {
  session::TargetKind target = session::TargetKind::Host;
  bool fuse = true, exact = false;
  /// Which inputs are constants: 0 none, 1 all, 2 the first, 3 all but the
  /// first.
  unsigned constant = 0;
  /// Every value of the graph is an output.
  bool expose = false;

  /// "host unfused, all inputs constant".
  std::string name() const;
};

/// What the ways of one run found, by output name.
using Results = std::map<std::string, HostTensor>;

/// Imports, compiles and runs `bug`. Also checks `bug.kernels`, where it is
/// set, on the fused program of the emulator.
llvm::Expected<Results> runBug(const BugCase &bug, const Way &way);

/// Runs `bug` on the reference evaluator, on the host and in the emulator,
/// fused and not, exact and not, with inputs and with constants, with all
/// values exposed, and compares with what is expected. Failures are GoogleTest
/// failures.
void checkBug(const BugCase &bug);

/// Compares one output. Failures name `what`.
void expectEqual(const HostTensor &expected, const HostTensor &found,
                 double relative, double absolute, const std::string &what);

} // namespace fusec::bugs

#endif // FUSEC_TEST_UNIT_BUGS_BUGRUN_H
