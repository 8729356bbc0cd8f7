//===- Explanation.cpp - what the machine adds to a plan ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Explanation.h"
#include "Bandwidth.h"
#include "CompileTimes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace fusec;
using namespace fusec::tool;

std::string fusec::tool::opList(llvm::ArrayRef<OpEntry> ops) {
  llvm::MapVector<llvm::StringRef, unsigned> counts;
  for (const OpEntry &entry : ops)
    ++counts[entry.op];
  std::string text;
  for (auto [op, count] : counts)
    text += (text.empty() ? "" : " ") + op.str() +
            (count > 1 ? "*" + std::to_string(count) : "");
  return text;
}

/// The plan of a graph that does not compile.
static llvm::Expected<Explanation>
explainPlan(const ModelFile &file, const Bindings &bindings,
            const driver::CompileOptions &options) {
  llvm::Expected<Model> model = file.load(bindings);
  if (!model)
    return model.takeError();
  if (llvm::Error error = driver::simplifyGraph(*model->module, options))
    return withCode(ExitCode::Unsupported, std::move(error));
  auto decisions = driver::planGraph(*model->module, options);
  if (!decisions)
    return withCode(ExitCode::Unsupported, decisions.takeError());
  return session::explain(*decisions, options.target);
}

/// Compiles the kernels to cubins and reads what they need.
static llvm::Error addResources(Explanation &result,
                                const driver::Compilation &compilation,
                                const ExplainOptions &options) {
  auto nvrtc = runtime::Nvrtc::open();
  if (!nvrtc)
    return nvrtc.takeError();
  const TargetInfo &target = options.compile.target;
  runtime::NvrtcCompiler compiler(*nvrtc, nvrtcOptions(target), options.cache);
  auto kernels = compiler.compileAll(compilation.program.kernels);
  if (!kernels)
    return kernels.takeError();
  for (auto [entry, summary] : llvm::zip(result.kernels, compilation.kernels)) {
    KernelCode &code = *entry.code;
    code.resources = (*kernels)[summary.kernel].resources;
    if (code.resources->registers)
      code.occupancy =
          session::occupancy(target, code.threads, *code.resources->registers,
                             code.dynamicSharedBytes +
                                 code.resources->staticSharedBytes.value_or(0));
  }
  if (!options.compileTimes)
    return llvm::Error::success();
  auto times =
      compileTimes(*nvrtc, nvrtcOptions(target), compilation.program.kernels);
  if (!times)
    return times.takeError();
  for (auto [entry, summary] : llvm::zip(result.kernels, compilation.kernels))
    entry.code->compileMicroseconds = (*times)[summary.kernel];
  return llvm::Error::success();
}

/// Floors at the bandwidth of a GPU of the kind that was planned for, if one is
/// here.
static void measureFloors(Explanation &result, const TargetInfo &target) {
  if (auto measured = measureBandwidth(target.computeCapability))
    session::setFloors(result, measured->bytesPerSecond, /*measured=*/true,
                       "measured by copies on " + measured->device);
  else
    llvm::consumeError(measured.takeError());
}

llvm::Expected<Explanation>
fusec::tool::explainModel(const ModelFile &file, const Bindings &bindings,
                          const ExplainOptions &options) {
  auto progress = [&](llvm::StringRef text) {
    if (options.progress)
      options.progress(text);
  };
  progress("planning");
  llvm::Expected<Model> model = file.load(bindings);
  if (!model)
    return model.takeError();
  Explanation result;
  llvm::Expected<Compiled> compiled = compileModel(*model, options.compile, {});
  if (!compiled) {
    std::string failure = llvm::toString(compiled.takeError());
    auto plan = explainPlan(file, bindings, options.compile);
    if (!plan)
      return plan.takeError();
    result = std::move(*plan);
    result.failure = std::move(failure);
    result.noResources = "there is no code";
  } else {
    result = session::explain(*compiled, options.compile.target);
    progress("compiling " +
             std::to_string(compiled->compilation.program.kernels.size()) +
             " kernels");
    if (options.planOnly)
      result.noResources = "--plan-only was given";
    else if (llvm::Error error =
                 addResources(result, compiled->compilation, options)) {
      if (options.compileTimes)
        return withCode(ExitCode::NoDevice, std::move(error),
                        "without --compile-times the plan is shown");
      result.noResources = llvm::toString(std::move(error));
    }
  }
  if (!options.planOnly)
    measureFloors(result, options.compile.target);
  return result;
}
