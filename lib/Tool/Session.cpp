//===- Session.cpp - a model ready to run on a target ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Session.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Evaluate.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tool;

llvm::Expected<std::unique_ptr<Session>>
Session::create(Model model, const Target &target,
                const driver::CompileOptions &options,
                std::shared_ptr<session::PlannedModel> like) {
  bool hasKernels =
      target.kind == TargetKind::Cuda || target.kind == TargetKind::Emulator;
  if (like && !hasKernels)
    return toolError(ExitCode::Usage,
                     "--like is for the kernels of a GPU, which " +
                         llvm::Twine(name(target.kind)) + " does not run",
                     "--target=cuda or --target=emulator");
  std::unique_ptr<Session> session(new Session(std::move(model), target));
  if (target.kind == TargetKind::Reference)
    return session;
  llvm::Expected<Compiled> compiled =
      target.kind == TargetKind::Host ? compileForHost(session->graph, options)
      : like ? session::compileModelLike(session->graph, std::move(like), {})
             : compileModel(session->graph, options, {});
  if (!compiled)
    return withCode(ExitCode::Unsupported, compiled.takeError(), kCompileHelp);
  session->code = std::move(*compiled);
  auto executable = runtime::Executable::create(
      session->code->compilation.program, target.device);
  if (!executable)
    return withCode(ExitCode::Failed, executable.takeError());
  session->executable = std::move(*executable);
  return session;
}

llvm::Expected<std::vector<HostTensor>>
Session::run(llvm::ArrayRef<HostTensor> inputs) {
  if (!executable) {
    auto results = reference::evaluate(graph.function(), inputs);
    if (!results)
      return withCode(ExitCode::Unsupported, results.takeError());
    return results;
  }
  std::vector<llvm::ArrayRef<std::byte>> bytes;
  for (const HostTensor &input : inputs)
    bytes.emplace_back(*input.bytes);
  auto results = runtime::runWithHostData(executable, bytes);
  if (!results)
    return withCode(ExitCode::Failed, results.takeError());
  std::vector<HostTensor> tensors;
  for (auto [spec, data] : llvm::zip(graph.outputs, *results))
    tensors.push_back(
        {spec.dtype, spec.shape, std::make_shared<Bytes>(std::move(data))});
  return tensors;
}

std::string Session::vendorOf(size_t index) const {
  if (!executable || !executable->product(index))
    return "";
  const runtime::Step &step = executable->program().steps[index];
  return std::get<runtime::Launch>(step).vendor->algorithm.name;
}

llvm::Expected<std::unique_ptr<Benchmark>>
Session::benchmark(llvm::ArrayRef<HostTensor> inputs, bool rotate) const {
  if (!executable)
    return toolError(ExitCode::Usage,
                     "the reference evaluator has no device time",
                     "--target=host, emulator or cuda has");
  auto result = Benchmark::create(executable, inputs, rotate);
  if (!result)
    return withCode(ExitCode::Failed, result.takeError());
  return result;
}
