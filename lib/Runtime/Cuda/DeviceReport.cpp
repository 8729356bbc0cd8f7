//===- DeviceReport.cpp - what is there to run on -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "DeviceQuery.h"
#include "Driver.h"
#include "fusec/Runtime/Cuda/CudaDevice.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace fusec::runtime;
using cuda::Driver;
using llvm::Error;
using llvm::Expected;

// The largest cluster that every GPU with cluster launch runs, and the largest
// at all. A cluster needs its multiprocessors in one GPC, and the driver tells
// only for a kernel (cuOccupancyMaxActiveClusters) whether any GPC has 16. So
// 16 are trusted to the full SXM parts of Hopper alone, known by their number
// of multiprocessors; GPUs with another one, and shares of a GPU, have 8.
static constexpr unsigned kPortableCluster = 8;
static constexpr unsigned kMaxCluster = 16;
static constexpr unsigned kMultiprocessorsWithMaxCluster = 132;

static unsigned maxCluster(bool clusters, unsigned multiprocessors) {
  if (!clusters)
    return 1;
  return multiprocessors == kMultiprocessorsWithMaxCluster ? kMaxCluster
                                                           : kPortableCluster;
}

Expected<DeviceInfo> fusec::runtime::queryDevice(const Driver &driver,
                                                 cuda::DeviceId id) {
  DeviceInfo info;
  Error failure = Error::success();
  auto attribute = [&](cuda::DeviceAttribute kind) -> unsigned {
    int value = 0;
    cuda::Result result = driver.deviceGetAttribute(&value, kind, id);
    if (result && !failure)
      failure = driver.check(result, "cuDeviceGetAttribute");
    return static_cast<unsigned>(std::max(value, 0));
  };
  info.computeCapability = attribute(cuda::kComputeCapabilityMajor) * 10 +
                           attribute(cuda::kComputeCapabilityMinor);
  info.splitsAccesses = true;
  info.multiprocessors = attribute(cuda::kMultiprocessors);
  info.maxThreadsPerBlock = attribute(cuda::kMaxThreadsPerBlock);
  info.maxGrid = {attribute(cuda::kMaxGridX), attribute(cuda::kMaxGridY),
                  attribute(cuda::kMaxGridZ)};
  info.sharedPerBlock = attribute(cuda::kSharedPerBlockOptIn);
  info.sharedPerMultiprocessor = attribute(cuda::kSharedPerMultiprocessor);
  info.registersPerMultiprocessor =
      attribute(cuda::kRegistersPerMultiprocessor);
  info.l2Bytes = attribute(cuda::kL2Bytes);
  // Drivers that do not know the attribute know no clusters either.
  int clusters = 0;
  if (!driver.launchKernelEx ||
      driver.deviceGetAttribute(&clusters, cuda::kClusterLaunch, id) != 0)
    clusters = 0;
  info.maxClusterBlocks = maxCluster(clusters, info.multiprocessors);
  if (failure)
    return std::move(failure);

  char name[256] = "";
  if (Error error = driver.check(driver.deviceGetName(name, sizeof(name), id),
                                 "cuDeviceGetName"))
    return std::move(error);
  info.name = name;
  char bus[32] = "";
  if (driver.deviceGetPciBus &&
      driver.deviceGetPciBus(bus, sizeof(bus), id) == 0)
    info.pciBus = bus;
  size_t bytes = 0;
  if (Error error =
          driver.check(driver.deviceTotalMem(&bytes, id), "cuDeviceTotalMem"))
    return std::move(error);
  info.memoryBytes = bytes;
  return info;
}

static Error queryAll(DeviceReport &report) {
  Expected<const Driver *> driver = Driver::get();
  if (!driver)
    return driver.takeError();
  const Driver &api = **driver;
  if (Error error = api.check(api.driverGetVersion(&report.driverVersion),
                              "cuDriverGetVersion"))
    return error;
  int count = 0;
  if (Error error = api.check(api.deviceGetCount(&count), "cuDeviceGetCount"))
    return error;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cuda::DeviceId id = 0;
    if (Error error = api.check(api.deviceGet(&id, ordinal), "cuDeviceGet"))
      return error;
    Expected<DeviceInfo> info = queryDevice(api, id);
    if (!info)
      return info.takeError();
    report.devices.push_back(std::move(*info));
  }
  return Error::success();
}

DeviceReport fusec::runtime::deviceReport(const NvrtcSearch &search) {
  DeviceReport report;
  if (Error error = queryAll(report))
    report.driverError = llvm::toString(std::move(error));
  std::string tried;
  auto nvrtc = Nvrtc::open(search, &tried);
  if (!nvrtc) {
    report.nvrtcError = llvm::toString(nvrtc.takeError());
    if (!tried.empty())
      report.nvrtcError += "; tried:" + tried;
    return report;
  }
  report.nvrtcPath = (*nvrtc)->path();
  report.nvrtcMajor = (*nvrtc)->majorVersion();
  report.nvrtcMinor = (*nvrtc)->minorVersion();
  report.nvrtcArchitectures = (*nvrtc)->architectures().vec();
  return report;
}

// JSON strings are UTF-8; names come from drivers and file systems.
static std::string utf8(const std::string &text) {
  return llvm::json::isUTF8(text) ? text : llvm::json::fixUTF8(text);
}

static llvm::json::Object toObject(const DeviceInfo &info) {
  return llvm::json::Object{
      {"name", utf8(info.name)},
      {"computeCapability",
       llvm::formatv("{0}.{1}", info.computeCapability / 10,
                     info.computeCapability % 10)
           .str()},
      {"multiprocessors", info.multiprocessors},
      {"maxThreadsPerBlock", info.maxThreadsPerBlock},
      {"maxClusterBlocks", info.maxClusterBlocks},
      {"sharedBytesPerBlock", info.sharedPerBlock},
      {"sharedBytesPerMultiprocessor", info.sharedPerMultiprocessor},
      {"registersPerMultiprocessor", info.registersPerMultiprocessor},
      {"l2Bytes", info.l2Bytes},
      {"memoryBytes", info.memoryBytes},
  };
}

static llvm::json::Object driverObject(const DeviceReport &report) {
  if (!report.driverVersion)
    return llvm::json::Object{{"error", utf8(report.driverError)}};
  llvm::json::Object object{
      {"version", llvm::formatv("{0}.{1}", report.driverVersion / 1000,
                                report.driverVersion % 1000 / 10)
                      .str()}};
  if (!report.driverError.empty())
    object["error"] = utf8(report.driverError);
  return object;
}

static llvm::json::Object nvrtcObject(const DeviceReport &report) {
  if (!report.nvrtcError.empty())
    return llvm::json::Object{{"error", utf8(report.nvrtcError)}};
  return llvm::json::Object{
      {"version",
       llvm::formatv("{0}.{1}", report.nvrtcMajor, report.nvrtcMinor).str()},
      {"path", utf8(report.nvrtcPath)},
      {"architectures", llvm::json::Array(report.nvrtcArchitectures)}};
}

std::string fusec::runtime::toJSON(const DeviceReport &report) {
  llvm::json::Array devices;
  for (const DeviceInfo &info : report.devices)
    devices.push_back(toObject(info));
  llvm::json::Value value = llvm::json::Object{
      {"driver", driverObject(report)},
      {"nvrtc", nvrtcObject(report)},
      {"devices", std::move(devices)},
  };
  return llvm::formatv("{0:2}", value).str();
}
