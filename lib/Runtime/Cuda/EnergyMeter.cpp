//===- EnergyMeter.cpp - what a GPU has used ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Cuda/EnergyMeter.h"
#include "SharedLibrary.h"

#include <cstdlib>

using namespace fusec::runtime;
using llvm::Error;
using llvm::Expected;

struct EnergyMeter::Library {
  SharedLibrary library;
  int (*init)();
  const char *(*errorString)(int);
  int (*handleByBus)(const char *, void **);
  int (*energy)(void *, unsigned long long *millijoules);

  Error check(int code, const char *function) const {
    if (code == 0)
      return Error::success();
    return llvm::createStringError("%s failed: %s", function,
                                   errorString(code));
  }
  static Expected<std::shared_ptr<const Library>> open();
};

Expected<std::shared_ptr<const EnergyMeter::Library>>
EnergyMeter::Library::open() {
  const char *forced = std::getenv("FUSEC_NVML");
  Expected<SharedLibrary> opened =
      SharedLibrary::open(forced && *forced ? forced : "libnvidia-ml.so.1");
  if (!opened)
    return llvm::createStringError("cannot open NVML: %s",
                                   llvm::toString(opened.takeError()).c_str());
  auto result = std::make_shared<Library>();
  result->library = *opened;
  if (!result->library.find(result->init, {"nvmlInit_v2"}) ||
      !result->library.find(result->errorString, {"nvmlErrorString"}) ||
      !result->library.find(result->handleByBus,
                            {"nvmlDeviceGetHandleByPciBusId_v2"}) ||
      !result->library.find(result->energy,
                            {"nvmlDeviceGetTotalEnergyConsumption"}))
    return llvm::createStringError("NVML lacks a function for energy");
  if (Error error = result->check(result->init(), "nvmlInit_v2"))
    return std::move(error);
  return result;
}

Expected<EnergyMeter> EnergyMeter::open(const std::string &pciBus) {
  if (pciBus.empty())
    return llvm::createStringError("the driver does not say which GPU it is");
  auto library = Library::open();
  if (!library)
    return library.takeError();
  void *device = nullptr;
  if (Error error =
          (*library)->check((*library)->handleByBus(pciBus.c_str(), &device),
                            "nvmlDeviceGetHandleByPciBusId_v2"))
    return std::move(error);
  EnergyMeter meter(*library, device);
  if (Expected<double> first = meter.joules(); !first)
    return first.takeError();
  return meter;
}

Expected<double> EnergyMeter::joules() const {
  unsigned long long millijoules = 0;
  if (Error error = library->check(library->energy(device, &millijoules),
                                   "nvmlDeviceGetTotalEnergyConsumption"))
    return std::move(error);
  return double(millijoules) * 1e-3;
}
