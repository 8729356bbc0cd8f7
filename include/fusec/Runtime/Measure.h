//===- Measure.h - what measurements on a device need -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A time is that of data in memory if the buffers have left the last-level
// cache since they were used, and that of the device if no launch waits for the
// host.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_MEASURE_H
#define FUSEC_RUNTIME_MEASURE_H

#include "fusec/Runtime/Device.h"

namespace fusec::runtime {

/// Bytes of the last-level cache; 0 if not known.
uint64_t lastLevelCacheBytes(const Device &device);

/// How many sets of buffers of `setBytes` each, used in turn, are out of the
/// cache when their turn comes again: at most 256, a quarter of a GPU's memory
/// and 1 GB of a host's. At least 1.
uint64_t rotatingSets(uint64_t setBytes, const Device &device);

/// Work that a GPU gets before launches that are timed, for about as long as a
/// host needs to enqueue kOccupiedLaunches of them. Nothing on a host.
class Occupier {
public:
  static llvm::Expected<Occupier> create(std::shared_ptr<Device> device);
  llvm::Error occupy();

private:
  explicit Occupier(std::shared_ptr<Device> device)
      : device(std::move(device)) {}
  std::shared_ptr<Device> device;
  Buffer scratch;
};
inline constexpr size_t kOccupiedLaunches = 16;

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_MEASURE_H
