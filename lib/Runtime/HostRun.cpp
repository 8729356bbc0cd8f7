//===- HostRun.cpp - run once with data of the host -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Executable.h"
#include "fusec/Support/Memory.h"

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

static Error checkInputs(const Program &program,
                         llvm::ArrayRef<llvm::ArrayRef<std::byte>> inputs) {
  if (inputs.size() != program.inputs.size())
    return llvm::createStringError("expected %zu inputs, found %zu",
                                   program.inputs.size(), inputs.size());
  for (auto [spec, data] : llvm::zip_equal(program.inputs, inputs))
    if (data.size() != static_cast<uint64_t>(spec.bytes()))
      return llvm::createStringError(
          "input '%s': expected %lld bytes, found %zu", spec.name.c_str(),
          static_cast<long long>(spec.bytes()), data.size());
  return Error::success();
}

// One device buffer per spec and its address.
static Error allocateAll(const std::shared_ptr<Device> &device,
                         llvm::ArrayRef<TensorSpec> specs,
                         std::vector<Buffer> &buffers,
                         std::vector<void *> &pointers) {
  for (const TensorSpec &spec : specs) {
    Expected<Buffer> buffer = Buffer::allocate(device, spec.bytes());
    if (!buffer)
      return buffer.takeError();
    pointers.push_back(buffer->data());
    buffers.push_back(std::move(*buffer));
  }
  return Error::success();
}

Expected<std::vector<std::vector<std::byte>>> fusec::runtime::runWithHostData(
    const std::shared_ptr<const Executable> &executable,
    llvm::ArrayRef<llvm::ArrayRef<std::byte>> inputs,
    const ContextOptions &options) {
  const Program &program = executable->program();
  const std::shared_ptr<Device> &device = executable->device();
  if (Error error = checkInputs(program, inputs))
    return std::move(error);
  auto context = ExecutionContext::create(executable, options);
  if (!context)
    return context.takeError();

  std::vector<Buffer> buffers;
  std::vector<void *> in, out;
  if (Error error = allocateAll(device, program.inputs, buffers, in))
    return std::move(error);
  if (Error error = allocateAll(device, program.outputs, buffers, out))
    return std::move(error);
  for (auto [pointer, data] : llvm::zip_equal(in, inputs))
    if (Error error =
            device->copyIn(pointer, data.data(), data.size(), nullptr))
      return std::move(error);
  Error error = (*context)->run(llvm::ArrayRef<void *>(in), out, nullptr);

  std::vector<std::vector<std::byte>> results;
  for (auto [pointer, spec] : llvm::zip_equal(out, program.outputs)) {
    if (!error)
      error = askForMemory(spec.bytes(), "an output");
    results.emplace_back(error ? 0 : spec.bytes());
    if (!error)
      error = device->copyOut(results.back().data(), pointer, spec.bytes(),
                              nullptr);
  }
  // Also after a failure: nothing may still use the buffers freed here.
  error = llvm::joinErrors(std::move(error), device->synchronize(nullptr));
  if (error)
    return std::move(error);
  return results;
}
