//===- CudaDevice.h - the CUDA driver as a Device ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver is opened at run time (FUSEC_CUDA_DRIVER in the environment names
// another library than libcuda.so.1). A device uses the primary context of its
// GPU, so that pointers and streams of the CUDA runtime, PyTorch or JAX can be
// handed over as they are.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_CUDA_CUDADEVICE_H
#define FUSEC_RUNTIME_CUDA_CUDADEVICE_H

#include "fusec/Runtime/Cuda/DiskCache.h"

namespace fusec::runtime {

/// How to open a CUDA device.
struct CudaOptions {
  int ordinal = 0;
  /// Headers and flags; `architecture` is set to that of the device.
  NvrtcOptions compile = {};
  /// `maxMajor` is set to the driver's version if it is 0.
  NvrtcSearch nvrtc = {};
  /// 0 means one per processor.
  unsigned compileThreads = 0;
  /// Compiled kernels on disk; null for none.
  std::shared_ptr<DiskCache> cache = DiskCache::standard();
};

/// Opens the driver, NVRTC and the device. The error says which of them is
/// missing.
llvm::Expected<std::shared_ptr<Device>>
createCudaDevice(const CudaOptions &options = {});

/// A tensor map in the numbers of cuTensorMapEncodeTiled's enumerations.
struct TensorMapCodes {
  int type = 0, swizzle = 0, promotion = 0, fill = 0;
};
TensorMapCodes tensorMapCodes(const TensorMapArg &map);

/// What is there to run on. Empty strings and zeros where something is
/// missing; the reason is then in `driverError` or `nvrtcError`.
struct DeviceReport {
  /// 13.0 as 13000; 0 without a driver.
  int driverVersion = 0;
  std::string driverError;
  std::string nvrtcPath;
  int nvrtcMajor = 0, nvrtcMinor = 0;
  std::vector<int> nvrtcArchitectures;
  std::string nvrtcError;
  std::vector<DeviceInfo> devices;
};

/// Looks at the machine; never fails and leaves no context behind.
DeviceReport deviceReport(const NvrtcSearch &search = {});

/// The report as one JSON object.
std::string toJSON(const DeviceReport &report);

/// Compiles, loads and runs a small program of all step kinds that run on a
/// GPU and compares the result; for a first look at an unknown machine.
llvm::Error cudaSelfTest(const CudaOptions &options = {});

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_CUDA_CUDADEVICE_H
