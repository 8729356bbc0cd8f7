//===- Session.h - a model ready to run on a target -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_SESSION_H
#define FUSEC_LIB_TOOL_SESSION_H

#include "Benchmark.h"
#include "Model.h"
#include "Options.h"
#include "Target.h"
#include "fusec/Runtime/Executable.h"
#include "fusec/Session/Build.h"

namespace fusec::tool {

using session::Compiled;
using session::compileForHost;
using session::compileModel;
using session::FusionSummary;

/// The remedy for a graph that does not compile.
inline constexpr char kCompileHelp[] =
    "--target=reference runs every graph; 'fusec explain' shows the plan";

/// A model on a target.
class Session {
public:
  /// Compiles and loads `model` (not for the reference evaluator, which runs
  /// the graph as it is); with `like`, as that was compiled, which is for GPU
  /// kernels only.
  static llvm::Expected<std::unique_ptr<Session>>
  create(Model model, const Target &target,
         const driver::CompileOptions &options,
         std::shared_ptr<session::PlannedModel> like = nullptr);

  /// Runs once; one tensor per input of the model, checked.
  llvm::Expected<std::vector<HostTensor>>
  run(llvm::ArrayRef<HostTensor> inputs);

  /// What measures runs with `inputs`; Benchmark.h says what `rotate` is. Fails
  /// on the reference evaluator, which has no device.
  llvm::Expected<std::unique_ptr<Benchmark>>
  benchmark(llvm::ArrayRef<HostTensor> inputs, bool rotate) const;

  const Model &model() const { return graph; }
  const Target &target() const { return where; }
  /// Null on the reference evaluator.
  const Compiled *compiled() const { return code ? &*code : nullptr; }
  /// The vendor's algorithm that runs in place of the kernel of step `index`;
  /// empty where there is none.
  std::string vendorOf(size_t index) const;
  /// Why kernels run where the vendor's library was chosen, if they do.
  std::string vendorProblem() const {
    return executable ? executable->vendorProblem() : "";
  }

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
