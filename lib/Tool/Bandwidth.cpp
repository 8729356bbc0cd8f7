//===- Bandwidth.cpp - the memory speed of a GPU --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Bandwidth.h"
#include "fusec/Runtime/Cuda/CudaDevice.h"
#include "llvm/ADT/STLExtras.h"

using namespace fusec;
using namespace fusec::tool;
using runtime::Buffer;

static constexpr uint64_t kCopyBytes = uint64_t(256) << 20;
static constexpr unsigned kCopies = 10;

/// Microseconds of one copy; negative is no time that an event can give.
static llvm::Expected<double> timeCopy(runtime::Device &device, void *to,
                                       const void *from, uint64_t bytes,
                                       runtime::Event (&events)[2]) {
  if (llvm::Error error = device.recordEvent(events[0], nullptr))
    return error;
  if (llvm::Error error = device.copy(to, from, bytes, nullptr))
    return error;
  if (llvm::Error error = device.recordEvent(events[1], nullptr))
    return error;
  return device.elapsedMicroseconds(events[0], events[1]);
}

static llvm::Expected<double> medianCopy(runtime::Device &device, void *to,
                                         const void *from, uint64_t bytes,
                                         runtime::Event (&events)[2]) {
  std::vector<double> times;
  for (unsigned i = 0; i < 2 + kCopies; ++i) {
    auto time = timeCopy(device, to, from, bytes, events);
    if (!time)
      return time.takeError();
    if (i >= 2) // the first ones raise the clocks
      times.push_back(*time);
  }
  llvm::sort(times);
  return times[times.size() / 2];
}

llvm::Expected<Bandwidth>
fusec::tool::measureBandwidth(std::shared_ptr<runtime::Device> device) {
  uint64_t bytes = kCopyBytes;
  if (uint64_t memory = device->info().memoryBytes)
    bytes = std::min(bytes, memory / 8);
  auto from = Buffer::allocate(device, bytes);
  if (!from)
    return from.takeError();
  auto to = Buffer::allocate(device, bytes);
  if (!to)
    return to.takeError();
  if (llvm::Error error = device->fill(from->data(), 0, bytes, nullptr))
    return error;
  runtime::Event events[2];
  auto first = device->createEvent();
  if (!first)
    return first.takeError();
  auto second = device->createEvent();
  if (!second) {
    device->destroyEvent(*first);
    return second.takeError();
  }
  events[0] = *first;
  events[1] = *second;
  llvm::Expected<double> time =
      medianCopy(*device, to->data(), from->data(), bytes, events);
  for (runtime::Event event : events)
    device->destroyEvent(event);
  if (!time)
    return time.takeError();
  if (llvm::Error error = device->synchronize(nullptr))
    return error;
  return Bandwidth{2 * double(bytes) / std::max(*time, 1e-3) * 1e6,
                   device->info().name};
}

llvm::Expected<Bandwidth>
fusec::tool::measureBandwidth(unsigned computeCapability) {
  runtime::CudaOptions options;
  options.cache = nullptr;
  auto device = runtime::createCudaDevice(options);
  if (!device)
    return device.takeError();
  if ((*device)->info().computeCapability != computeCapability)
    return llvm::createStringError("the GPU is of another kind");
  return measureBandwidth(*device);
}
