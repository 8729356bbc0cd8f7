//===- Benchmark.cpp - measuring an executable ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Benchmark.h"
#include "fusec/Runtime/Cuda/EnergyMeter.h"
#include "llvm/ADT/STLExtras.h"
#include <chrono>
#include <cmath>

using namespace fusec;
using namespace fusec::tool;
using llvm::Error;
using llvm::Expected;
using runtime::Buffer;
using runtime::Executable;

static constexpr size_t kBatch = runtime::kOccupiedLaunches;

Times Times::of(std::vector<double> samples) {
  llvm::sort(samples);
  auto rank = [&](double p) {
    auto index = int64_t(std::ceil(p * double(samples.size()))) - 1;
    return samples[std::max<int64_t>(index, 0)];
  };
  return {rank(0.5),       rank(0.1),      rank(0.9),
          samples.front(), samples.back(), int64_t(samples.size())};
}

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

struct Benchmark::Set {
  std::vector<Buffer> buffers;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  std::unique_ptr<runtime::ExecutionContext> context;

  Error run() { return context->run(inputs, outputs); }
};

/// Inputs, outputs and workspace; on a GPU constants too, which the host keeps
/// once.
static uint64_t bytesOf(const runtime::Program &program, bool host) {
  uint64_t bytes = program.workspaceBytes;
  for (const auto &specs : {program.inputs, program.outputs})
    for (const runtime::TensorSpec &spec : specs)
      bytes += spec.bytes();
  if (!host)
    for (const runtime::Constant &constant : program.constants)
      bytes += constant.bytes->size();
  return bytes;
}

Error Benchmark::addSet(std::shared_ptr<const Executable> executable,
                        llvm::ArrayRef<HostTensor> inputs) {
  auto set = std::make_unique<Set>();
  const runtime::Program &program = executable->program();
  auto allocate = [&](const runtime::TensorSpec &spec) -> Expected<void *> {
    Expected<Buffer> buffer = Buffer::allocate(device, spec.bytes());
    if (!buffer)
      return buffer.takeError();
    set->buffers.push_back(std::move(*buffer));
    return set->buffers.back().data();
  };
  for (auto [spec, tensor] : llvm::zip(program.inputs, inputs)) {
    Expected<void *> memory = allocate(spec);
    if (!memory)
      return memory.takeError();
    if (spec.bytes())
      if (Error error =
              device->copyIn(*memory, tensor.data(), spec.bytes(), nullptr))
        return error;
    set->inputs.push_back(*memory);
  }
  for (const runtime::TensorSpec &spec : program.outputs) {
    Expected<void *> memory = allocate(spec);
    if (!memory)
      return memory.takeError();
    set->outputs.push_back(*memory);
  }
  auto context = runtime::ExecutionContext::create(std::move(executable));
  if (!context)
    return context.takeError();
  set->context = std::move(*context);
  if (Error error = set->run())
    return error;
  sets.push_back(std::move(set));
  return device->synchronize(nullptr);
}

Expected<std::unique_ptr<Benchmark>>
Benchmark::create(std::shared_ptr<const Executable> executable,
                  llvm::ArrayRef<HostTensor> inputs, bool rotate) {
  std::unique_ptr<Benchmark> result(new Benchmark());
  result->device = executable->device();
  const runtime::DeviceInfo &info = result->device->info();
  result->bytesOfCache = runtime::lastLevelCacheBytes(*result->device);
  result->bytesOfSet = bytesOf(executable->program(), info.hostMemory);
  uint64_t count =
      rotate ? runtime::rotatingSets(result->bytesOfSet, *result->device) : 1;
  for (uint64_t i = 0; i < count; ++i) {
    std::shared_ptr<const Executable> own = executable;
    if (i && !info.hostMemory) {
      auto copy = executable->withOwnConstants();
      if (!copy)
        return copy.takeError();
      own = std::move(*copy);
    }
    if (Error error = result->addSet(std::move(own), inputs))
      return std::move(error);
  }
  for (size_t i = 0; i < 2 * kBatch; ++i) {
    Expected<runtime::Event> event = result->device->createEvent();
    if (!event)
      return event.takeError();
    result->events.push_back(*event);
  }
  auto occupier = runtime::Occupier::create(result->device);
  if (!occupier)
    return occupier.takeError();
  result->occupier.emplace(std::move(*occupier));
  return result;
}

Benchmark::~Benchmark() {
  for (runtime::Event event : events)
    device->destroyEvent(event);
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

Expected<double> Benchmark::elapsed(size_t first) {
  return device->elapsedMicroseconds(events[first], events[first + 1]);
}

Expected<CallTimes>
Benchmark::timeCalls(int64_t repeats, int64_t warmups,
                     const std::function<void(int64_t)> &progress) {
  std::vector<double> deviceTimes, callTimes;
  for (int64_t i = -warmups; i < repeats; ++i) {
    Set &set = *sets[size_t(i + warmups) % sets.size()];
    auto begin = std::chrono::steady_clock::now();
    Error error = device->recordEvent(events[0], nullptr);
    if (!error)
      error = set.run();
    if (!error)
      error = device->recordEvent(events[1], nullptr);
    // A host has done all by now; waiting checks guard bytes, which takes long.
    bool host = device->info().hostMemory;
    auto end = std::chrono::steady_clock::now();
    if (!error)
      error = device->synchronize(nullptr);
    if (error)
      return std::move(error);
    if (!host)
      end = std::chrono::steady_clock::now();
    Expected<double> time = elapsed(0);
    if (!time)
      return time.takeError();
    progress(i + warmups + 1);
    if (i < 0)
      continue;
    deviceTimes.push_back(*time);
    callTimes.push_back(
        std::chrono::duration<double, std::micro>(end - begin).count());
  }
  return CallTimes{Times::of(std::move(deviceTimes)),
                   Times::of(std::move(callTimes))};
}

/// One step on every set.
Error Benchmark::timeStep(size_t step, std::vector<double> &times) {
  for (size_t first = 0; first < sets.size(); first += kBatch) {
    size_t count = std::min(kBatch, sets.size() - first);
    if (Error error = occupier->occupy())
      return error;
    for (size_t i = 0; i < count; ++i) {
      Set &set = *sets[first + i];
      if (Error error = device->recordEvent(events[2 * i], nullptr))
        return error;
      if (Error error = set.context->runStep(step, set.inputs, set.outputs))
        return error;
      if (Error error = device->recordEvent(events[2 * i + 1], nullptr))
        return error;
    }
    if (Error error = device->synchronize(nullptr))
      return error;
    for (size_t i = 0; i < count; ++i) {
      Expected<double> time = elapsed(2 * i);
      if (!time)
        return time.takeError();
      times.push_back(*time);
    }
  }
  return Error::success();
}

static bool doesNothing(const runtime::Step &step) {
  const auto *launch = std::get_if<runtime::Launch>(&step);
  return launch && llvm::is_contained(launch->grid, 0u);
}

Expected<std::vector<std::optional<Times>>>
Benchmark::timeSteps(int64_t repeats,
                     const std::function<void(int64_t)> &progress) {
  const auto &steps = sets.front()->context->executable().program().steps;
  std::vector<std::vector<double>> samples(steps.size());
  for (int64_t done = 0; done < repeats; done += int64_t(sets.size())) {
    for (size_t step = 0; step < steps.size(); ++step) {
      if (doesNothing(steps[step]))
        continue;
      if (Error error = timeStep(step, samples[step]))
        return std::move(error);
    }
    progress(done);
  }
  std::vector<std::optional<Times>> result;
  for (std::vector<double> &times : samples)
    result.push_back(times.empty()
                         ? std::nullopt
                         : std::optional(Times::of(std::move(times))));
  return result;
}

Expected<double> Benchmark::energyPerCall(double seconds) {
  if (device->info().hostMemory)
    return llvm::createStringError("only a GPU counts its energy");
  auto meter = runtime::EnergyMeter::open(device->info().pciBus);
  if (!meter)
    return meter.takeError();
  Expected<double> before = meter->joules();
  if (!before)
    return before.takeError();
  auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> limit(seconds);
  int64_t calls = 0;
  while (std::chrono::steady_clock::now() - begin < limit) {
    for (auto &set : sets)
      if (Error error = set->run())
        return std::move(error);
    calls += int64_t(sets.size());
    if (Error error = device->synchronize(nullptr))
      return std::move(error);
  }
  Expected<double> after = meter->joules();
  if (!after)
    return after.takeError();
  return (*after - *before) / double(calls);
}
