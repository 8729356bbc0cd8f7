//===- Device.cpp - defaults and buffers ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Default behaviour of the Device interface, and owned device memory.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/StridedCopy.h"

#include <chrono>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

LoadedKernel::~LoadedKernel() = default;
LoadedModule::~LoadedModule() = default;
LoadedProduct::~LoadedProduct() = default;
LaunchGraph::~LaunchGraph() = default;
Device::~Device() = default;

Expected<std::unique_ptr<LaunchGraph>>
Device::makeGraph(llvm::ArrayRef<GraphStep>) {
  return nullptr;
}
Error Device::updateGraph(LaunchGraph &, size_t, const LaunchRequest &) {
  return llvm::createStringError("device '%s' has no graphs",
                                 info().name.c_str());
}
Error Device::launchGraph(LaunchGraph &, Stream) {
  return llvm::createStringError("device '%s' has no graphs",
                                 info().name.c_str());
}
Expected<bool> Device::isCapturing(Stream) { return false; }

static Error noVendor(const DeviceInfo &info) {
  return llvm::createStringError("device '%s' has no vendor's library",
                                 info.name.c_str());
}
Expected<std::vector<VendorAlgorithm>>
Device::vendorAlgorithms(const MatrixProduct &, size_t) {
  return noVendor(info());
}
Expected<std::unique_ptr<LoadedProduct>>
Device::loadProduct(const MatrixProduct &, const VendorAlgorithm &) {
  return noVendor(info());
}
Error Device::multiply(const ProductRequest &, Stream) {
  return noVendor(info());
}

Error Device::encodeTensorMap(const TensorMapArg &, void *, void *) const {
  return llvm::createStringError("device '%s' has no tensor maps",
                                 info().name.c_str());
}

Error Device::copyStrided(void *to, const void *from,
                          const StridedLayout &layout, unsigned elementBytes,
                          Stream stream) {
  if (Error error = prepareCopyStrided(elementBytes))
    return error;
  copyStridedOnHost(to, from, layout, elementBytes);
  return Error::success();
}
bool Device::canCopyStrided(unsigned) const { return info().hostMemory; }
Error Device::prepareCopyStrided(unsigned) {
  if (info().hostMemory)
    return Error::success();
  return llvm::createStringError("device '%s' cannot copy strided tensors",
                                 info().name.c_str());
}

Error Device::call(const HostCall &call, llvm::ArrayRef<void *> buffers,
                   Stream stream) {
  if (!info().hostMemory)
    return llvm::createStringError("device '%s' cannot run host call '%s'",
                                   info().name.c_str(), call.what.c_str());
  return call.call(buffers);
}

Expected<Stream> Device::createStream() { return nullptr; }
void Device::destroyStream(Stream) {}
using Clock = std::chrono::steady_clock;

Expected<Event> Device::createEvent() { return new Clock::time_point(); }
void Device::destroyEvent(Event event) {
  delete static_cast<Clock::time_point *>(event);
}
Error Device::recordEvent(Event event, Stream) {
  *static_cast<Clock::time_point *>(event) = Clock::now();
  return Error::success();
}
Expected<double> Device::elapsedMicroseconds(Event begin, Event end) {
  return std::chrono::duration<double, std::micro>(
             *static_cast<Clock::time_point *>(end) -
             *static_cast<Clock::time_point *>(begin))
      .count();
}

Expected<void *> Device::enter() { return nullptr; }
void Device::leave(void *) {}

Expected<Buffer> Buffer::allocate(std::shared_ptr<Device> device,
                                  uint64_t bytes) {
  Expected<void *> memory = device->allocate(bytes);
  if (!memory)
    return memory.takeError();
  Buffer buffer;
  buffer.device = std::move(device);
  buffer.memory = *memory;
  buffer.bytes = bytes;
  return buffer;
}

Buffer::Buffer(Buffer &&other) noexcept { *this = std::move(other); }

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  std::swap(device, other.device);
  std::swap(memory, other.memory);
  std::swap(bytes, other.bytes);
  return *this;
}

Buffer::~Buffer() {
  if (memory)
    device->free(memory);
}
