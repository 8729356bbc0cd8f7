//===- Driver.cpp - opening the CUDA driver -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Driver.h"

#include <cstdlib>

using namespace fusec::runtime;
using namespace fusec::runtime::cuda;
using llvm::Error;
using llvm::Expected;

static void findGraphFunctions(Driver &driver) {
  driver.hasGraphs = true;
  auto want = [&](auto &function, const char *name) {
    function = nullptr;
    driver.hasGraphs &= driver.symbols.find(function, {name});
  };
  want(driver.graphCreate, "cuGraphCreate");
  want(driver.graphDestroy, "cuGraphDestroy");
  want(driver.graphAddKernelNode, "cuGraphAddKernelNode_v2");
  want(driver.graphAddMemsetNode, "cuGraphAddMemsetNode");
  want(driver.graphKernelNodeSetAttribute, "cuGraphKernelNodeSetAttribute");
  want(driver.graphInstantiate, "cuGraphInstantiateWithFlags");
  want(driver.graphExecDestroy, "cuGraphExecDestroy");
  want(driver.graphExecKernelNodeSetParams,
       "cuGraphExecKernelNodeSetParams_v2");
  want(driver.graphLaunch, "cuGraphLaunch");
}

static Error findFunctions(Driver &driver) {
  const char *missing = nullptr;
  auto need = [&](auto &function, const char *name) {
    if (!driver.symbols.find(function, {name}) && !missing)
      missing = name;
  };
  need(driver.init, "cuInit");
  need(driver.driverGetVersion, "cuDriverGetVersion");
  need(driver.getErrorName, "cuGetErrorName");
  need(driver.getErrorString, "cuGetErrorString");
  need(driver.deviceGetCount, "cuDeviceGetCount");
  need(driver.deviceGet, "cuDeviceGet");
  need(driver.deviceGetName, "cuDeviceGetName");
  need(driver.deviceGetAttribute, "cuDeviceGetAttribute");
  need(driver.deviceTotalMem, "cuDeviceTotalMem_v2");
  need(driver.primaryRetain, "cuDevicePrimaryCtxRetain");
  need(driver.primaryRelease, "cuDevicePrimaryCtxRelease_v2");
  need(driver.contextGetCurrent, "cuCtxGetCurrent");
  need(driver.contextPush, "cuCtxPushCurrent_v2");
  need(driver.contextPop, "cuCtxPopCurrent_v2");
  need(driver.memoryAllocate, "cuMemAlloc_v2");
  need(driver.memoryFree, "cuMemFree_v2");
  need(driver.copyHostToDevice, "cuMemcpyHtoDAsync_v2");
  need(driver.copyDeviceToHost, "cuMemcpyDtoHAsync_v2");
  need(driver.copyDeviceToDevice, "cuMemcpyDtoDAsync_v2");
  need(driver.fillBytes, "cuMemsetD8Async");
  need(driver.moduleLoad, "cuModuleLoadData");
  need(driver.moduleUnload, "cuModuleUnload");
  need(driver.moduleGetFunction, "cuModuleGetFunction");
  need(driver.functionGetAttribute, "cuFuncGetAttribute");
  need(driver.functionSetAttribute, "cuFuncSetAttribute");
  need(driver.launchKernel, "cuLaunchKernel");
  need(driver.streamCreate, "cuStreamCreate");
  need(driver.streamIsCapturing, "cuStreamIsCapturing");
  need(driver.streamDestroy, "cuStreamDestroy_v2");
  need(driver.streamSynchronize, "cuStreamSynchronize");
  need(driver.eventCreate, "cuEventCreate");
  need(driver.eventDestroy, "cuEventDestroy_v2");
  need(driver.eventRecord, "cuEventRecord");
  need(driver.eventSynchronize, "cuEventSynchronize");
  need(driver.eventElapsedTime, "cuEventElapsedTime");
  driver.deviceGetPciBus = nullptr;
  driver.symbols.find(driver.deviceGetPciBus, {"cuDeviceGetPCIBusId"});
  driver.functionLoad = nullptr;
  driver.symbols.find(driver.functionLoad, {"cuFuncLoad"});
  driver.launchKernelEx = nullptr;
  driver.symbols.find(driver.launchKernelEx, {"cuLaunchKernelEx"});
  driver.tensorMapEncode = nullptr;
  driver.symbols.find(driver.tensorMapEncode, {"cuTensorMapEncodeTiled"});
  driver.graphAddDependencies = nullptr;
  driver.symbols.find(driver.graphAddDependencies,
                      {"cuGraphAddDependencies_v2"});
  findGraphFunctions(driver);
  if (!missing)
    return Error::success();
  return llvm::createStringError("CUDA driver: function '%s' is missing",
                                 missing);
}

Error Driver::check(Result result, const char *function) const {
  if (result == 0)
    return Error::success();
  const char *name = nullptr, *description = nullptr;
  getErrorName(result, &name);
  getErrorString(result, &description);
  return llvm::createStringError("%s failed: %s (code %d): %s", function,
                                 name ? name : "unknown error", result,
                                 description ? description : "");
}

Expected<Driver> Driver::open(const std::string &name) {
  Expected<SharedLibrary> library = SharedLibrary::open(name);
  if (!library)
    return llvm::createStringError("cannot open the CUDA driver: %s",
                                   llvm::toString(library.takeError()).c_str());
  Driver driver;
  driver.symbols = *library;
  if (Error error = findFunctions(driver))
    return std::move(error);
  if (Error error = driver.check(driver.init(0), "cuInit"))
    return std::move(error);
  return driver;
}

namespace {
// The outcome of the first attempt, kept for the life of the process: a driver
// that is missing does not appear later, and handles must not be made twice.
struct Attempt {
  Attempt() {
    const char *forced = std::getenv("FUSEC_CUDA_DRIVER");
    Expected<Driver> opened =
        forced && *forced ? Driver::open(forced) : Driver::open();
    if (opened)
      driver = *opened;
    else
      error = llvm::toString(opened.takeError());
  }
  Driver driver;
  std::string error;
};
} // namespace

Expected<const Driver *> Driver::get() {
  static const Attempt attempt;
  if (!attempt.error.empty())
    return llvm::createStringError("%s", attempt.error.c_str());
  return &attempt.driver;
}
