//===- Session.h - a model ready to run on a target -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_SESSION_H
#define FUSEC_LIB_TOOL_SESSION_H

#include "Model.h"
#include "Options.h"
#include "Target.h"
#include "fusec/Driver/Compile.h"
#include "fusec/Runtime/Executable.h"

namespace fusec::tool {

/// What fusion changes. Bytes count each kernel's inputs and outputs once.
struct FusionSummary {
  /// One kernel per op.
  int64_t opsBefore = 0, bytesBefore = 0;
  /// As compiled; equal kernels are compiled once and launched often.
  int64_t kernels = 0, launches = 0, bytesAfter = 0, workspaceBytes = 0;
};

/// A compiled model with its summary.
struct Compiled {
  driver::Compilation compilation;
  FusionSummary summary;
};

/// Compiles `model`, which changes, for GPU kernel text. `observer` may be
/// empty.
llvm::Expected<Compiled> compileModel(Model &model,
                                      const driver::CompileOptions &options,
                                      const driver::StageObserver &observer);

/// Compiles `model`, which changes, to LLVM IR for the CPU.
llvm::Expected<Compiled> compileForHost(Model &model,
                                        const driver::CompileOptions &options);

/// A model on a target.
class Session {
public:
  /// Compiles and loads `model` (not for the reference evaluator, which runs
  /// the graph as it is).
  static llvm::Expected<std::unique_ptr<Session>>
  create(Model model, const Target &target,
         const driver::CompileOptions &options);

  /// Runs once; one tensor per input of the model, checked.
  llvm::Expected<std::vector<HostTensor>>
  run(llvm::ArrayRef<HostTensor> inputs);

  /// Device time of each of `repeats` runs, µs, after `warmups` runs. Fails on
  /// the reference evaluator, which has no device.
  llvm::Expected<std::vector<double>> time(llvm::ArrayRef<HostTensor> inputs,
                                           int64_t repeats, int64_t warmups);

  const Model &model() const { return graph; }
  const Target &target() const { return where; }
  /// Null on the reference evaluator.
  const Compiled *compiled() const { return code ? &*code : nullptr; }

private:
  Session(Model model, Target target)
      : graph(std::move(model)), where(std::move(target)) {}

  Model graph;
  Target where;
  std::optional<Compiled> code;
  std::shared_ptr<const runtime::Executable> executable;
};

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_SESSION_H
