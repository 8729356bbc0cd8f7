//===- Reference.cpp - a graph as one call of the evaluator ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference evaluator as a Program, so that it runs through the same
// executables and contexts as every other target.
//===----------------------------------------------------------------------===//
#include "fusec/Reference/Evaluate.h"
#include "fusec/Session/Model.h"

#include <cstring>

using namespace fusec;
using namespace fusec::session;
using runtime::BufferRef;
using runtime::Space;

/// Evaluates on buffers: the inputs in order, then the outputs.
static llvm::Error evaluateOn(Model &model, llvm::ArrayRef<void *> buffers) {
  std::vector<HostTensor> arguments;
  for (auto [spec, buffer] : llvm::zip(model.inputs, buffers)) {
    llvm::Expected<HostTensor> argument =
        HostTensor::create(spec.dtype, spec.shape);
    if (!argument)
      return argument.takeError();
    if (!argument->bytes->empty())
      std::memcpy(argument->data(), buffer, argument->bytes->size());
    arguments.push_back(std::move(*argument));
  }
  auto results = reference::evaluate(model.function(), arguments);
  if (!results)
    return results.takeError();
  for (auto [result, buffer] :
       llvm::zip(*results, buffers.drop_front(model.inputs.size())))
    if (!result.bytes->empty())
      std::memcpy(buffer, result.data(), result.bytes->size());
  return llvm::Error::success();
}

llvm::Expected<runtime::Program> session::referenceProgram(Model model) {
  runtime::Program program;
  program.inputs = model.inputs;
  program.outputs = model.outputs;
  runtime::HostCall call;
  call.what = "reference evaluator";
  for (uint32_t i = 0; i < program.inputs.size(); ++i)
    call.args.push_back(BufferRef{Space::Input, i});
  for (uint32_t i = 0; i < program.outputs.size(); ++i)
    call.args.push_back(BufferRef{Space::Output, i});
  auto owner = std::make_shared<Model>(std::move(model));
  call.call = [owner](llvm::ArrayRef<void *> buffers) {
    return evaluateOn(*owner, buffers);
  };
  program.steps.push_back(std::move(call));
  return program;
}
