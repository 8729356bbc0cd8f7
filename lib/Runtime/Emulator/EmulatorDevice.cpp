//===- EmulatorDevice.cpp - the emulator as a Device ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory, copies and guard bytes come from HostMemoryDevice. This adds, for
// each allocation, a shadow that says which bytes were written.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "TensorMap.h"
#include "fusec/Embedded/GemmSkeleton.h"
#include "fusec/Runtime/StridedCopy.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>
#include <map>
#include <mutex>

using namespace fusec;
using namespace fusec::runtime;

namespace {

/// Which bytes of the allocations were written. Thread-safe; the bytes of a
/// shadow are written by launches without a lock, as the memory itself is.
class WrittenBytes {
public:
  void add(void *memory, uint64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    shadows[address(memory)] = std::make_unique<Shadow>(bytes);
  }
  void remove(const void *memory) {
    std::lock_guard<std::mutex> lock(mutex);
    shadows.erase(address(memory));
  }
  /// The shadow of [memory, memory + bytes), or null if it is not all within
  /// one allocation.
  uint8_t *find(const void *memory, uint64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    auto after = shadows.upper_bound(address(memory));
    if (after == shadows.begin())
      return nullptr;
    auto &[start, shadow] = *std::prev(after);
    uint64_t from = address(memory) - start;
    if (from > shadow->bytes || shadow->bytes - from < bytes)
      return nullptr;
    return shadow->written.get() + from;
  }
  void mark(const void *memory, uint64_t bytes) {
    if (uint8_t *written = find(memory, bytes))
      std::memset(written, 1, bytes);
  }
  /// Everything from `memory` to the end of its allocation.
  void markRest(const void *memory) {
    std::lock_guard<std::mutex> lock(mutex);
    auto after = shadows.upper_bound(address(memory));
    if (after == shadows.begin())
      return;
    auto &[start, shadow] = *std::prev(after);
    uint64_t from = address(memory) - start;
    if (from < shadow->bytes)
      std::memset(shadow->written.get() + from, 1, shadow->bytes - from);
  }

private:
  struct Shadow {
    explicit Shadow(uint64_t bytes)
        : bytes(bytes), written(std::make_unique<uint8_t[]>(bytes)) {}
    uint64_t bytes;
    std::unique_ptr<uint8_t[]> written;
  };
  static uint64_t address(const void *memory) {
    return reinterpret_cast<uint64_t>(memory);
  }
  std::mutex mutex;
  std::map<uint64_t, std::unique_ptr<Shadow>> shadows;
};

struct EmulatedKernel : LoadedKernel {
  const EmulatorModule *module = nullptr;
  bool overlaps = false;
};

class EmulatedModule : public LoadedModule {
public:
  EmulatedModule(std::unique_ptr<EmulatorModule> module,
                 llvm::ArrayRef<Kernel> list)
      : module(std::move(module)), kernels(list.size()) {
    for (size_t i = 0; i < list.size(); ++i) {
      kernels[i].entry = list[i].entry;
      kernels[i].threads = list[i].threads;
      kernels[i].cluster = list[i].cluster;
      kernels[i].cooperative = list[i].cooperative;
      kernels[i].module = this->module.get();
      kernels[i].overlaps = list[i].overlaps;
    }
  }
  const LoadedKernel &kernel(size_t index) const override {
    return kernels[index];
  }

private:
  std::unique_ptr<EmulatorModule> module;
  std::vector<EmulatedKernel> kernels;
};

class EmulatorDevice : public HostMemoryDevice {
public:
  explicit EmulatorDevice(EmulatorDeviceOptions given)
      : options(std::move(given)) {
    // What the emulator can stand for: the largest supported GPU.
    description.name = "emulator";
    description.computeCapability = 90;
    description.multiprocessors = 132;
    description.maxThreadsPerBlock = 1024;
    description.maxClusterBlocks = 16;
    description.maxGrid = {2147483647, 65535, 65535};
    description.sharedPerBlock = 232448;
    description.sharedPerMultiprocessor = 233472;
    description.registersPerMultiprocessor = 65536;
    description.hostMemory = true;
    description.splitsAccesses = true;
  }

  const DeviceInfo &info() const override { return description; }

  llvm::Expected<void *> allocate(uint64_t bytes) override {
    llvm::Expected<void *> memory = HostMemoryDevice::allocate(bytes);
    if (memory && *memory && options.trackInitialised)
      written.add(*memory, bytes);
    return memory;
  }
  void free(void *memory) override {
    written.remove(memory);
    HostMemoryDevice::free(memory);
  }
  llvm::Error copyIn(void *to, const void *from, uint64_t bytes,
                     Stream stream) override {
    written.mark(to, bytes);
    return HostMemoryDevice::copyIn(to, from, bytes, stream);
  }
  llvm::Error copy(void *to, const void *from, uint64_t bytes,
                   Stream stream) override {
    uint8_t *target = written.find(to, bytes);
    const uint8_t *source = written.find(from, bytes);
    if (target && source && bytes)
      std::memcpy(target, source, bytes);
    else
      written.mark(to, bytes);
    return HostMemoryDevice::copy(to, from, bytes, stream);
  }
  llvm::Error fill(void *to, uint8_t value, uint64_t bytes,
                   Stream stream) override {
    written.mark(to, bytes);
    return HostMemoryDevice::fill(to, value, bytes, stream);
  }
  llvm::Error copyStrided(void *to, const void *from,
                          const StridedLayout &layout, unsigned elementBytes,
                          Stream stream) override {
    written.mark(to, layout.elements * elementBytes);
    return HostMemoryDevice::copyStrided(to, from, layout, elementBytes,
                                         stream);
  }
  llvm::Error call(const HostCall &call, llvm::ArrayRef<void *> buffers,
                   Stream stream) override {
    for (const void *buffer : buffers)
      written.markRest(buffer);
    return HostMemoryDevice::call(call, buffers, stream);
  }

  llvm::Expected<std::unique_ptr<LoadedModule>>
  loadModule(llvm::ArrayRef<Kernel> kernels) override;
  llvm::Error launch(const LaunchRequest &request, Stream stream) override;
  llvm::Error encodeTensorMap(const TensorMapArg &map, void *base,
                              void *to) const override {
    emulator::FusecTensorMap made = emulator::makeTensorMap(map, base);
    std::memcpy(to, &made, sizeof(made));
    return llvm::Error::success();
  }

private:
  EmulatorDeviceOptions options;
  DeviceInfo description;
  WrittenBytes written;
};

} // namespace

llvm::Expected<std::unique_ptr<LoadedModule>>
EmulatorDevice::loadModule(llvm::ArrayRef<Kernel> kernels) {
  std::vector<EmulatorKernel> texts;
  EmulatorCompileOptions compile = options.compile;
  for (const Kernel &kernel : kernels) {
    texts.push_back({kernel.entry, kernel.source});
    compile.alignment = std::min(compile.alignment, kernel.alignment);
    compile.rolledColumns = kernel.rolledColumns;
    compile.rolledUnit = kernel.rolledUnit;
    compile.rolledFirst = kernel.rolledFirst;
    compile.sm90 |= kernel.usesSm90;
  }
  if (llvm::any_of(kernels, [](const Kernel &k) { return k.usesSkeleton; }))
    compile.preamble += embedded::kGemmSkeleton;
  llvm::Expected<std::unique_ptr<EmulatorModule>> module =
      EmulatorModule::compile(texts, compile);
  if (!module)
    return module.takeError();
  return std::make_unique<EmulatedModule>(std::move(*module), kernels);
}

llvm::Error EmulatorDevice::launch(const LaunchRequest &request, Stream) {
  const auto &kernel = static_cast<const EmulatedKernel &>(*request.kernel);
  std::vector<EmulatorBuffer> buffers;
  for (size_t i = 0; i < request.bufferBytes.size(); ++i) {
    int64_t bytes = request.bufferBytes[i];
    if (bytes < 0)
      continue;
    void *data = *static_cast<void **>(request.args[i]);
    buffers.push_back({data, static_cast<uint64_t>(bytes),
                       "argument " + std::to_string(i),
                       written.find(data, static_cast<uint64_t>(bytes))});
  }
  for (auto [i, buffer] : llvm::enumerate(request.tableBuffers)) {
    void *data = *buffer.pointer;
    auto bytes = static_cast<uint64_t>(buffer.bytes);
    buffers.push_back({data, bytes, "table entry " + std::to_string(i),
                       written.find(data, bytes)});
  }
  EmulatorLaunch launch;
  launch.entry = kernel.entry;
  launch.grid = request.grid;
  launch.threads = kernel.threads;
  launch.dynamicSharedBytes = request.dynamicSharedBytes;
  launch.args = request.args;
  launch.cluster = kernel.cluster;
  launch.cooperative = kernel.cooperative;
  launch.overlaps = kernel.overlaps;
  return kernel.module->launch(launch, buffers, options.run);
}

std::shared_ptr<Device>
fusec::runtime::createEmulatorDevice(EmulatorDeviceOptions options) {
  return std::make_shared<EmulatorDevice>(std::move(options));
}
