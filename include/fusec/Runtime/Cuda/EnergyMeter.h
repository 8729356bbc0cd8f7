//===- EnergyMeter.h - what a GPU has used ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVML's energy counter. The library is opened at run time: libnvidia-ml.so.1,
// or what FUSEC_NVML in the environment names.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_CUDA_ENERGYMETER_H
#define FUSEC_RUNTIME_CUDA_ENERGYMETER_H

#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace fusec::runtime {

/// The energy counter of one GPU. Thread-safe. NVML stays open for the life of
/// the process.
class EnergyMeter {
public:
  /// Opens the counter of the GPU at `pciBus` ("0000:18:00.0"). Fails where
  /// there is no NVML or no such GPU, and where the GPU has no counter (before
  /// Volta, in a MIG slice).
  static llvm::Expected<EnergyMeter> open(const std::string &pciBus);

  /// Joules since the driver was loaded: all that the board uses, whoever
  /// causes it. The driver updates it some tens of times a second.
  llvm::Expected<double> joules() const;

private:
  struct Library;
  EnergyMeter(std::shared_ptr<const Library> library, void *device)
      : library(std::move(library)), device(device) {}
  std::shared_ptr<const Library> library;
  void *device;
};

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_CUDA_ENERGYMETER_H
