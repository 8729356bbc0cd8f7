//===- Measure.cpp - what measurements on a device need -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Measure.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <unistd.h>

using namespace fusec::runtime;

/// Sets of buffers together are this many times as large as the cache: with
/// one alone, a set would just fit beside its successor.
static constexpr uint64_t kCacheFactor = 3;
static constexpr uint64_t kMaxSets = 256;
/// Of the device's memory, and of the host's.
static constexpr uint64_t kMemoryShare = 4, kMaxHostBytes = uint64_t(1) << 30;
/// Filling them takes about 0.1 ms.
static constexpr uint64_t kScratchBytes = uint64_t(128) << 20;
static constexpr unsigned kScratchFills = 3;

uint64_t fusec::runtime::lastLevelCacheBytes(const Device &device) {
  if (!device.info().hostMemory)
    return device.info().l2Bytes;
  long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? uint64_t(bytes) : 0;
}

uint64_t fusec::runtime::rotatingSets(uint64_t setBytes, const Device &device) {
  uint64_t cache = lastLevelCacheBytes(device);
  if (!setBytes || !cache)
    return 1;
  const DeviceInfo &info = device.info();
  uint64_t memory =
      info.hostMemory ? kMaxHostBytes : info.memoryBytes / kMemoryShare;
  uint64_t wanted = llvm::divideCeil(kCacheFactor * cache, setBytes) + 1;
  return std::clamp<uint64_t>(memory / setBytes, 1, std::min(wanted, kMaxSets));
}

llvm::Expected<Occupier> Occupier::create(std::shared_ptr<Device> device) {
  Occupier result(device);
  if (!device->info().hostMemory) {
    llvm::Expected<Buffer> scratch = Buffer::allocate(device, kScratchBytes);
    if (!scratch)
      return scratch.takeError();
    result.scratch = std::move(*scratch);
  }
  return result;
}

llvm::Error Occupier::occupy() {
  if (!scratch.data())
    return llvm::Error::success();
  for (unsigned i = 0; i < kScratchFills; ++i)
    if (llvm::Error error =
            device->fill(scratch.data(), 0, scratch.size(), nullptr))
      return error;
  return llvm::Error::success();
}
