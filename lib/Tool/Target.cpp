//===- Target.cpp - what --target and --arch name -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Target.h"
#include "Arguments.h"
#include "fusec/Embedded/GemmSkeleton.h"
#include "fusec/Embedded/PreludeCuda.h"
#include "fusec/Runtime/Cuda/CudaDevice.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Runtime/Host/HostDevice.h"
#include "llvm/Support/raw_ostream.h"

using namespace fusec;
using namespace fusec::tool;

static constexpr llvm::StringRef kTargetNames[] = {"cuda", "host", "emulator",
                                                   "reference"};
static constexpr char kPreludeName[] = "fusec_prelude.cuh";
static constexpr char kSkeletonName[] = "fusec_skeleton.cuh";

llvm::StringRef fusec::tool::name(TargetKind kind) {
  return kTargetNames[static_cast<size_t>(kind)];
}

static llvm::Expected<TargetKind> parseTarget(llvm::StringRef text) {
  for (auto [i, name] : llvm::enumerate(kTargetNames))
    if (text == name)
      return static_cast<TargetKind>(i);
  std::string remedy;
  if (auto name = nearest(text, kTargetNames))
    remedy = ("did you mean --target=" + *name + "?").str();
  return toolError(ExitCode::Usage,
                   "unknown target " + quoted(text) +
                       ": expected cuda, host, emulator or reference",
                   remedy);
}

llvm::Expected<TargetInfo> fusec::tool::targetInfo(llvm::StringRef arch) {
  if (arch.empty())
    return TargetInfo::h200();
  if (std::optional<TargetInfo> info = TargetInfo::get(arch))
    return *info;
  return toolError(ExitCode::Usage, "unknown architecture " + quoted(arch) +
                                        ": expected sm_90a or sm_80");
}

runtime::NvrtcOptions fusec::tool::nvrtcOptions(const TargetInfo &info) {
  runtime::NvrtcOptions options;
  options.architecture = info.computeCapability;
  options.headers = {{kPreludeName, embedded::kPreludeCuda},
                     {kSkeletonName, embedded::kGemmSkeleton}};
  options.skeletonHeader = kSkeletonName;
  options.extraOptions = {std::string("--pre-include=") + kPreludeName};
  return options;
}

llvm::StringRef fusec::tool::devicePrelude() { return embedded::kPreludeCuda; }

/// Opens the GPU; its own preset where --arch does not name one.
static llvm::Expected<Target>
openCuda(llvm::StringRef arch, std::shared_ptr<runtime::DiskCache> cache) {
  llvm::Expected<TargetInfo> info = targetInfo(arch);
  if (!info)
    return info.takeError();
  runtime::CudaOptions options;
  options.compile = nvrtcOptions(*info);
  options.cache = std::move(cache);
  auto device = runtime::createCudaDevice(options);
  if (!device)
    return toolError(ExitCode::NoDevice, llvm::toString(device.takeError()),
                     "'fusec devices' shows what is there; "
                     "--target=host, emulator and reference need no GPU");
  if (arch.empty() && (*device)->info().computeCapability < 90)
    info = TargetInfo::a100();
  return Target{TargetKind::Cuda, *device, *info};
}

llvm::Expected<Target>
fusec::tool::openTarget(llvm::StringRef name, llvm::StringRef arch,
                        std::shared_ptr<runtime::DiskCache> cache) {
  if (name.empty()) {
    llvm::Expected<Target> cuda = openCuda(arch, cache);
    if (cuda)
      return cuda;
    llvm::Error other = llvm::handleErrors(
        cuda.takeError(), [&](std::unique_ptr<ToolError> error) -> llvm::Error {
          if (error->code != ExitCode::NoDevice)
            return llvm::Error(std::move(error));
          llvm::errs() << "fusec: note: no GPU (" << error->message
                       << "); running on the host\n";
          return llvm::Error::success();
        });
    if (other)
      return other;
    return openTarget("host", arch, nullptr);
  }
  llvm::Expected<TargetKind> kind = parseTarget(name);
  if (!kind)
    return kind.takeError();
  llvm::Expected<TargetInfo> info = targetInfo(arch);
  if (!info)
    return info.takeError();
  switch (*kind) {
  case TargetKind::Cuda:
    return openCuda(arch, std::move(cache));
  case TargetKind::Host:
    return Target{*kind, runtime::createHostDevice(), *info};
  case TargetKind::Emulator:
    return Target{*kind, runtime::createEmulatorDevice(), *info};
  case TargetKind::Reference:
    break;
  }
  return Target{*kind, nullptr, *info};
}
