//===- FakeDevice.h - a device that records what it is told -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_RUNTIME_FAKEDEVICE_H
#define FUSEC_TEST_UNIT_RUNTIME_FAKEDEVICE_H

#include "fusec/Runtime/Device.h"

#include <cstring>

namespace fusec::runtime {

/// One recorded launch with the argument values that a kernel would see.
struct RecordedLaunch {
  std::string entry;
  std::array<uint32_t, 3> grid;
  uint32_t shared;
  std::vector<uint64_t> values; // 4-byte scalars by their low half
  std::vector<int64_t> bytes;
  Stream stream;
  /// The first 56 bytes of a table that is argument 0, and the buffers in it.
  std::vector<uint64_t> table = {};
  std::vector<std::pair<uint64_t, int64_t>> tableBuffers = {};
};

/// Host memory, no kernels: `log` has one line per launch, fill, copy, call.
class FakeDevice : public HostMemoryDevice {
public:
  struct Module : LoadedModule {
    std::vector<LoadedKernel> kernels;
    const LoadedKernel &kernel(size_t i) const override { return kernels[i]; }
  };

  const DeviceInfo &info() const override { return deviceInfo; }

  llvm::Expected<std::unique_ptr<LoadedModule>>
  loadModule(llvm::ArrayRef<Kernel> kernels) override {
    ++modules;
    auto module = std::make_unique<Module>();
    for (const Kernel &kernel : kernels) {
      module->kernels.emplace_back();
      module->kernels.back().entry = kernel.entry;
      module->kernels.back().threads = kernel.threads;
      module->kernels.back().resources = resources;
    }
    return module;
  }

  llvm::Error launch(const LaunchRequest &request, Stream stream) override {
    RecordedLaunch launch{request.kernel->entry,
                          request.grid,
                          request.dynamicSharedBytes,
                          {},
                          {},
                          stream};
    for (size_t i = 0; i < request.bufferBytes.size(); ++i) {
      launch.values.push_back(*static_cast<uint64_t *>(request.args[i]));
      launch.bytes.push_back(request.bufferBytes[i]);
    }
    if (!request.tableBuffers.empty()) {
      launch.table.resize(7);
      std::memcpy(launch.table.data(), request.args[0], 56);
    }
    for (const TableBuffer &buffer : request.tableBuffers)
      launch.tableBuffers.push_back(
          {reinterpret_cast<uint64_t>(*buffer.pointer), buffer.bytes});
    launches.push_back(launch);
    log.push_back("launch " + launch.entry);
    if (launch.entry == failingEntry)
      return llvm::createStringError("no luck");
    return llvm::Error::success();
  }

  llvm::Error copy(void *to, const void *from, uint64_t bytes,
                   Stream stream) override {
    log.push_back("copy " + std::to_string(bytes));
    return HostMemoryDevice::copy(to, from, bytes, stream);
  }
  llvm::Error fill(void *to, uint8_t value, uint64_t bytes,
                   Stream stream) override {
    log.push_back("fill " + std::to_string(bytes));
    return HostMemoryDevice::fill(to, value, bytes, stream);
  }
  llvm::Error call(const HostCall &call, llvm::ArrayRef<void *> buffers,
                   Stream stream) override {
    log.push_back("call " + call.what);
    return HostMemoryDevice::call(call, buffers, stream);
  }
  llvm::Expected<void *> allocate(uint64_t bytes) override {
    ++allocations;
    return HostMemoryDevice::allocate(bytes);
  }
  llvm::Error synchronize(Stream stream) override {
    ++synchronizations;
    return HostMemoryDevice::synchronize(stream);
  }
  llvm::Expected<void *> enter() override {
    ++depth;
    return this;
  }
  void leave(void *token) override { depth -= token == this; }

  DeviceInfo deviceInfo{.name = "fake", .hostMemory = true};
  KernelResources resources;
  std::vector<RecordedLaunch> launches;
  std::vector<std::string> log;
  std::string failingEntry;
  int modules = 0, allocations = 0, synchronizations = 0, depth = 0;
};

} // namespace fusec::runtime

#endif // FUSEC_TEST_UNIT_RUNTIME_FAKEDEVICE_H
