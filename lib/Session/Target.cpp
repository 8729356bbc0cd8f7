//===- Target.cpp - the targets and their devices -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Session/Target.h"
#include "fusec/Embedded/GemmSkeleton.h"
#include "fusec/Embedded/PreludeCuda.h"
#include "fusec/Embedded/PreludeSm90.h"
#include "fusec/Runtime/Cuda/CudaDevice.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Runtime/Host/HostDevice.h"
#include <algorithm>

using namespace fusec;
using namespace fusec::session;

static constexpr llvm::StringRef kTargetNames[] = {"cuda", "host", "emulator",
                                                   "reference"};
static constexpr char kPreludeName[] = "fusec_prelude.cuh";
static constexpr char kSm90Name[] = "fusec_sm90.cuh";
static constexpr char kSkeletonName[] = "fusec_skeleton.cuh";

llvm::StringRef session::name(TargetKind kind) {
  return kTargetNames[static_cast<size_t>(kind)];
}

llvm::ArrayRef<llvm::StringRef> session::targetNames() { return kTargetNames; }

std::optional<TargetKind> session::parseTargetKind(llvm::StringRef text) {
  for (auto [i, name] : llvm::enumerate(kTargetNames))
    if (text == name)
      return static_cast<TargetKind>(i);
  return std::nullopt;
}

runtime::NvrtcOptions session::nvrtcOptions(const TargetInfo &info) {
  runtime::NvrtcOptions options;
  options.architecture = info.computeCapability;
  options.headers = {{kPreludeName, embedded::kPreludeCuda},
                     {kSm90Name, embedded::kPreludeSm90},
                     {kSkeletonName, embedded::kGemmSkeleton}};
  options.skeletonHeader = kSkeletonName;
  options.sm90Header = kSm90Name;
  options.extraOptions = {std::string("--pre-include=") + kPreludeName};
  return options;
}

llvm::StringRef session::devicePrelude() { return embedded::kPreludeCuda; }

/// `info` with no more multiprocessors, blocks of a cluster and bytes of shared
/// memory than the device says it has; what it does not say stays. Grids whose
/// blocks wait for each other must fit, and a kernel that asks for more than
/// there is would be refused when it is loaded.
static TargetInfo limitedTo(TargetInfo info,
                            const runtime::DeviceInfo &device) {
  if (device.multiprocessors)
    info.multiprocessors =
        std::min(info.multiprocessors, device.multiprocessors);
  if (device.maxClusterBlocks)
    info.maxClusterBlocks =
        std::min(info.maxClusterBlocks, device.maxClusterBlocks);
  if (device.sharedPerBlock)
    info.sharedBytesPerBlock = std::min(
        info.sharedBytesPerBlock, static_cast<int64_t>(device.sharedPerBlock));
  return info;
}

static llvm::Expected<Target> openCuda(const OpenOptions &options) {
  TargetInfo info = options.machine.value_or(TargetInfo::h200());
  runtime::CudaOptions cuda;
  cuda.ordinal = options.ordinal;
  cuda.compile = nvrtcOptions(info);
  cuda.compile.fastCompile = options.fastCompile;
  cuda.cache = options.cache;
  auto device = runtime::createCudaDevice(cuda);
  if (!device)
    return withClass(ErrorClass::NoDevice, device.takeError());
  const runtime::DeviceInfo &found = (*device)->info();
  unsigned capability = found.computeCapability;
  if (capability < 80)
    return sessionError(ErrorClass::NoDevice,
                        "expected a GPU of compute capability 8.0 or newer, "
                        "found " +
                            std::to_string(capability / 10) + "." +
                            std::to_string(capability % 10));
  if (!options.machine && capability < 90)
    info = TargetInfo::a100();
  // Our own presets are stand-ins for GPUs that may have more.
  if (!options.machine && found.multiprocessors)
    info.multiprocessors = found.multiprocessors;
  return Target{TargetKind::Cuda, *device, limitedTo(info, found),
                options.fastCompile};
}

static std::shared_ptr<runtime::Device>
openEmulator(const OpenOptions &options) {
  runtime::EmulatorDeviceOptions emulator;
  if (options.fastCompile)
    emulator.compile.optLevel = 0;
  emulator.run.osThreads = options.threads;
  return runtime::createEmulatorDevice(std::move(emulator));
}

llvm::Expected<Target> session::openTarget(TargetKind kind,
                                           const OpenOptions &options) {
  TargetInfo info = options.machine.value_or(TargetInfo::h200());
  switch (kind) {
  case TargetKind::Cuda:
    return openCuda(options);
  case TargetKind::Host:
    return Target{
        kind, runtime::createHostDevice({options.threads, options.fastCompile}),
        info, options.fastCompile};
  case TargetKind::Emulator:
    return Target{kind, openEmulator(options), info, options.fastCompile};
  case TargetKind::Reference:
    break;
  }
  runtime::HostDeviceOptions oneThread;
  oneThread.threads = 1;
  return Target{kind, runtime::createHostDevice(oneThread), info};
}

llvm::Expected<Target> session::openDefaultTarget(const OpenOptions &options) {
  llvm::Expected<Target> cuda = openCuda(options);
  if (cuda)
    return cuda;
  llvm::Error other = llvm::handleErrors(
      cuda.takeError(),
      [&](std::unique_ptr<SessionError> error) -> llvm::Error {
        if (error->kind != ErrorClass::NoDevice)
          return llvm::Error(std::move(error));
        if (options.onNoGpu)
          options.onNoGpu(error->message);
        return llvm::Error::success();
      });
  if (other)
    return other;
  return openTarget(TargetKind::Host, options);
}
