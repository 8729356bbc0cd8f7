//===- FakeNvml.cpp - NVML without a GPU ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One GPU at 0000:18:00.0 that uses 1.5 J between two looks at its counter, and
// one at 0000:19:00.0 that has no counter.
//===----------------------------------------------------------------------===//
#include <cstring>

static int first, second;

extern "C" {
int nvmlInit_v2() { return 0; }
const char *nvmlErrorString(int code) {
  return code == 3 ? "Not Supported" : code == 6 ? "Not Found" : "other";
}
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
  if (std::strcmp(bus, "0000:18:00.0") == 0)
    *device = &first;
  else if (std::strcmp(bus, "0000:19:00.0") == 0)
    *device = &second;
  else
    return 6;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *device,
                                        unsigned long long *millijoules) {
  static unsigned long long counter = 1000;
  if (device == &second)
    return 3;
  *millijoules = counter += 1500;
  return 0;
}
}
