//===- HostDevice.h - the machine's own cores as a device -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_HOST_HOSTDEVICE_H
#define FUSEC_RUNTIME_HOST_HOSTDEVICE_H

#include "fusec/Runtime/Device.h"

namespace fusec::runtime {

struct HostDeviceOptions {
  /// Threads that run a kernel, the caller's among them; 0 means one per core
  /// that this process may use.
  unsigned threads = 0;
  /// Compiles kernels without optimising them: several times faster to compile,
  /// slower to run; for tests.
  bool fastCompile = false;
};

/// A device that compiles kernels of LLVM IR text for this machine and splits
/// each launch over a pool of threads.
///
/// The entry of a kernel is `void entry(void **args, int64_t begin, int64_t
/// end)`: it runs the blocks [begin, end) of a grid of one dimension, where
/// args[i] points at the value of argument i. A block never depends on another,
/// so results do not depend on the number of threads. A launch is done when it
/// returns; launches by several threads at once are safe. Kernels run in the
/// default floating-point environment (denormals kept, round to nearest)
/// whatever the caller's is.
std::shared_ptr<Device> createHostDevice(const HostDeviceOptions &options = {});

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_HOST_HOSTDEVICE_H
