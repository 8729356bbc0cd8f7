//===- EmulatorDevice.h - the emulator as a Device --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_EMULATOR_EMULATORDEVICE_H
#define FUSEC_RUNTIME_EMULATOR_EMULATORDEVICE_H

#include "fusec/Runtime/Device.h"
#include "fusec/Runtime/Emulator/EmulatorModule.h"

namespace fusec::runtime {

struct EmulatorDeviceOptions {
  EmulatorCompileOptions compile;
  EmulatorRunOptions run;
  /// Reports reads of allocated memory that no kernel, `copyIn`, `copy`, `fill`
  /// or HostCall has written. Switch off if memory is written directly through
  /// its host pointer.
  bool trackInitialised = true;
};

/// A device that runs CUDA kernel text on the CPU with every access checked.
/// Launches are done when they return; their faults are its error. Memory that
/// the device did not allocate counts as initialised.
std::shared_ptr<Device>
createEmulatorDevice(EmulatorDeviceOptions options = {});

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_EMULATOR_EMULATORDEVICE_H
