//===- DeviceBench.cpp - candidates on a device ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Tune/DeviceBench.h"
#include "Inputs.h"
#include "llvm/ADT/STLExtras.h"

#include <chrono>

using namespace fusec;
using namespace fusec::tune;
using llvm::Error;
using llvm::Expected;
using runtime::Buffer;

/// What is in outputs before a run: an element that neither candidate writes
/// is not equal.
static constexpr uint8_t kPoisonOfModel = 0xff, kPoisonOfOthers = 0x5a;

/// Inputs and outputs of one launch.
struct DeviceBench::Set {
  std::vector<Buffer> buffers;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
};

DeviceBench::DeviceBench(std::shared_ptr<runtime::Device> device)
    : device(std::move(device)) {}

Expected<std::unique_ptr<DeviceBench>>
DeviceBench::create(std::shared_ptr<runtime::Device> device) {
  std::unique_ptr<DeviceBench> bench(new DeviceBench(std::move(device)));
  if (Error error = bench->begin())
    return std::move(error);
  return bench;
}

Error DeviceBench::begin() {
  auto made = runtime::Occupier::create(device);
  if (!made)
    return made.takeError();
  occupier.emplace(std::move(*made));
  for (size_t i = 0; i < 2 * runtime::kOccupiedLaunches; ++i) {
    Expected<runtime::Event> event = device->createEvent();
    if (!event)
      return event.takeError();
    events.push_back(*event);
  }
  return Error::success();
}

DeviceBench::~DeviceBench() {
  // Nothing may be freed under work that failed to be waited for.
  llvm::consumeError(device->synchronize(nullptr));
  for (runtime::Event event : events)
    device->destroyEvent(event);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<DeviceBench::Set>>
DeviceBench::makeSet(const runtime::Program &program, Data data) {
  auto set = std::make_unique<Set>();
  auto allocate = [&](const runtime::TensorSpec &spec) -> Expected<void *> {
    Expected<Buffer> buffer = Buffer::allocate(device, spec.bytes());
    if (!buffer)
      return buffer.takeError();
    set->buffers.push_back(std::move(*buffer));
    return set->buffers.back().data();
  };
  for (auto [i, spec] : llvm::enumerate(program.inputs)) {
    Expected<void *> memory = allocate(spec);
    if (!memory)
      return memory.takeError();
    if (Error error = fillInput(*device, *memory, spec, data, i))
      return std::move(error);
    set->inputs.push_back(*memory);
  }
  for (const runtime::TensorSpec &spec : program.outputs) {
    Expected<void *> memory = allocate(spec);
    if (!memory)
      return memory.takeError();
    set->outputs.push_back(*memory);
  }
  return set;
}

static uint64_t bytesOf(const runtime::Program &program) {
  uint64_t bytes = 0;
  for (const auto &specs : {program.inputs, program.outputs})
    for (const runtime::TensorSpec &spec : specs)
      bytes += spec.bytes();
  return bytes;
}

Expected<std::vector<std::string>> DeviceBench::load(const Candidates &task) {
  contexts.clear();
  sets.clear();
  others.clear();
  next = 0;
  // All kernels at once first: they are compiled in parallel, and stay loaded
  // until each candidate has its own. What fails here fails again below.
  std::vector<runtime::Kernel> kernels;
  for (const Candidate &candidate : task.candidates)
    llvm::append_range(kernels, candidate.program.kernels);
  auto together = device->loadModule(kernels);
  if (!together)
    llvm::consumeError(together.takeError());
  std::vector<std::string> failures;
  for (const Candidate &candidate : task.candidates) {
    failures.emplace_back();
    contexts.emplace_back();
    auto executable = runtime::Executable::create(candidate.program, device);
    if (!executable) {
      failures.back() = llvm::toString(executable.takeError());
      continue;
    }
    // Its kernel would run instead.
    failures.back() = (*executable)->vendorProblem();
    if (!failures.back().empty())
      continue;
    auto context = runtime::ExecutionContext::create(std::move(*executable));
    if (context)
      contexts.back() = std::move(*context);
    else
      failures.back() = llvm::toString(context.takeError());
  }
  const runtime::Program &program = task.candidates.front().program;
  uint64_t bytes = bytesOf(program);
  // What an emulator's cache holds is nobody's question.
  uint64_t count =
      device->info().hostMemory ? 1 : runtime::rotatingSets(bytes, *device);
  for (uint64_t i = 0; i < count; ++i) {
    Expected<std::unique_ptr<Set>> set = makeSet(program, Data::Random);
    if (!set) {
      if (sets.empty())
        return set.takeError();
      // Fewer do, where memory is short.
      llvm::consumeError(set.takeError());
      break;
    }
    sets.push_back(std::move(*set));
  }
  return failures;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

Error DeviceBench::launch(size_t candidate, Set &set) {
  return contexts[candidate]->run(set.inputs, set.outputs);
}

Expected<std::vector<HostTensor>> DeviceBench::run(size_t candidate,
                                                   Data data) {
  const runtime::Program &program = contexts[candidate]->executable().program();
  if (data != Data::Random && !others.count(data)) {
    auto set = makeSet(program, data);
    if (!set)
      return set.takeError();
    others[data] = std::move(*set);
  }
  Set &set = data == Data::Random ? *sets.front() : *others[data];
  for (auto [memory, spec] : llvm::zip(set.outputs, program.outputs))
    if (spec.bytes())
      if (Error error =
              device->fill(memory, candidate ? kPoisonOfOthers : kPoisonOfModel,
                           spec.bytes(), nullptr))
        return std::move(error);
  if (Error error = launch(candidate, set))
    return std::move(error);
  std::vector<HostTensor> outputs;
  for (auto [memory, spec] : llvm::zip(set.outputs, program.outputs)) {
    Expected<HostTensor> tensor = HostTensor::create(spec.dtype, spec.shape);
    if (!tensor)
      return tensor.takeError();
    if (spec.bytes())
      if (Error error =
              device->copyOut(tensor->data(), memory, spec.bytes(), nullptr))
        return std::move(error);
    outputs.push_back(std::move(*tensor));
  }
  if (Error error = device->synchronize(nullptr))
    return std::move(error);
  return outputs;
}

Expected<double> DeviceBench::time(size_t candidate) {
  if (Error error = occupier->occupy())
    return std::move(error);
  size_t count = std::min(sets.size(), runtime::kOccupiedLaunches);
  for (size_t i = 0; i < count; ++i) {
    Set &set = *sets[next++ % sets.size()];
    Error error = device->recordEvent(events[2 * i], nullptr);
    if (!error)
      error = launch(candidate, set);
    if (!error)
      error = device->recordEvent(events[2 * i + 1], nullptr);
    if (error)
      return std::move(error);
  }
  if (Error error = device->synchronize(nullptr))
    return std::move(error);
  std::vector<double> times;
  for (size_t i = 0; i < count; ++i) {
    Expected<double> time =
        device->elapsedMicroseconds(events[2 * i], events[2 * i + 1]);
    if (!time)
      return time.takeError();
    times.push_back(*time);
  }
  llvm::sort(times);
  return times[(times.size() - 1) / 2];
}

Expected<std::vector<runtime::VendorAlgorithm>>
DeviceBench::vendorAlgorithms(const runtime::MatrixProduct &product,
                              size_t most) {
  return device->vendorAlgorithms(product, most);
}

double DeviceBench::now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
