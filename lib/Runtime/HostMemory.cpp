//===- HostMemory.cpp - device memory that is host memory -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each allocation lies between two zones of known bytes. A kernel that writes
// past an end of its buffer changes them, and the next `synchronize` says so.
// A zone is as long as the alignment, so that the payload stays aligned.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Device.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

static constexpr uint64_t kGuard = 256;
static constexpr uint8_t kGuardByte = 0xA5;
// Fresh memory is a NaN in every float type, so that a read before the first
// write shows in the result.
static constexpr uint8_t kFreshByte = 0xFF;

struct HostMemoryDevice::Impl {
  mutable std::mutex mutex;
  std::map<uintptr_t, uint64_t> live; // payload address -> bytes
  uint64_t bytes = 0;
  std::string damage; // of memory freed since the last synchronize
};

HostMemoryDevice::HostMemoryDevice() : impl(std::make_unique<Impl>()) {}

HostMemoryDevice::~HostMemoryDevice() {
  for (auto [address, bytes] : impl->live)
    std::free(reinterpret_cast<uint8_t *>(address) - kGuard);
}

static bool allGuard(const uint8_t *zone) {
  for (uint64_t i = 0; i < kGuard; ++i)
    if (zone[i] != kGuardByte)
      return false;
  return true;
}

// What was damaged around one allocation, or an empty string.
static std::string damageOf(uintptr_t address, uint64_t bytes) {
  const auto *payload = reinterpret_cast<const uint8_t *>(address);
  bool before = !allGuard(payload - kGuard), after = !allGuard(payload + bytes);
  if (!before && !after)
    return "";
  return std::string("bytes written ") +
         (before && after ? "before and after"
          : before        ? "before"
                          : "after") +
         " a buffer of " + std::to_string(bytes) + " bytes";
}

Expected<void *> HostMemoryDevice::allocate(uint64_t bytes) {
  if (bytes == 0)
    return nullptr;
  uint64_t total;
  uint8_t *base = nullptr;
  if (!__builtin_add_overflow(bytes, 3 * kGuard, &total))
    base = static_cast<uint8_t *>(
        std::aligned_alloc(kGuard, total / kGuard * kGuard));
  if (!base)
    return llvm::createStringError(std::errc::not_enough_memory,
                                   "cannot allocate %llu bytes of host memory",
                                   static_cast<unsigned long long>(bytes));
  std::memset(base, kGuardByte, kGuard);
  std::memset(base + kGuard, kFreshByte, bytes);
  std::memset(base + kGuard + bytes, kGuardByte, kGuard);
  std::lock_guard<std::mutex> lock(impl->mutex);
  impl->live.emplace(reinterpret_cast<uintptr_t>(base + kGuard), bytes);
  impl->bytes += bytes;
  return base + kGuard;
}

void HostMemoryDevice::free(void *memory) {
  if (!memory)
    return;
  std::lock_guard<std::mutex> lock(impl->mutex);
  auto it = impl->live.find(reinterpret_cast<uintptr_t>(memory));
  if (it == impl->live.end()) {
    impl->damage = "free of memory that this device did not allocate";
    return;
  }
  if (std::string damage = damageOf(it->first, it->second); !damage.empty())
    impl->damage = std::move(damage);
  impl->bytes -= it->second;
  impl->live.erase(it);
  std::free(static_cast<uint8_t *>(memory) - kGuard);
}

// memcpy and memset want a valid pointer even for no bytes.
static Error copyBytes(void *to, const void *from, uint64_t bytes) {
  if (bytes)
    std::memcpy(to, from, bytes);
  return Error::success();
}

Error HostMemoryDevice::copyIn(void *to, const void *from, uint64_t bytes,
                               Stream) {
  return copyBytes(to, from, bytes);
}
Error HostMemoryDevice::copyOut(void *to, const void *from, uint64_t bytes,
                                Stream) {
  return copyBytes(to, from, bytes);
}
Error HostMemoryDevice::copy(void *to, const void *from, uint64_t bytes,
                             Stream) {
  return copyBytes(to, from, bytes);
}

Error HostMemoryDevice::fill(void *to, uint8_t value, uint64_t bytes, Stream) {
  if (bytes)
    std::memset(to, value, bytes);
  return Error::success();
}

Error HostMemoryDevice::synchronize(Stream) {
  std::lock_guard<std::mutex> lock(impl->mutex);
  std::string damage = std::exchange(impl->damage, "");
  for (auto [address, bytes] : impl->live) {
    if (!damage.empty())
      break;
    damage = damageOf(address, bytes);
  }
  if (damage.empty())
    return Error::success();
  return llvm::createStringError(damage);
}

std::optional<HostExtent>
HostMemoryDevice::findExtent(const void *pointer) const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  auto address = reinterpret_cast<uintptr_t>(pointer);
  auto it = impl->live.upper_bound(address);
  if (it == impl->live.begin())
    return std::nullopt;
  --it;
  if (address - it->first >= it->second)
    return std::nullopt;
  return HostExtent{reinterpret_cast<void *>(it->first), it->second};
}

uint64_t HostMemoryDevice::liveBytes() const {
  std::lock_guard<std::mutex> lock(impl->mutex);
  return impl->bytes;
}
