//===- FakeCudaDriver.cpp - a libcuda.so without a GPU --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built as a shared library that the runtime opens in place of the driver.
// Device memory is host memory; launches are recorded and nothing is run. The
// test reads and steers it through `fakeCuda()`.
//===----------------------------------------------------------------------===//
#include "FakeCudaDriver.h"

#include <cstdlib>
#include <cstring>

#define FAKE extern "C" __attribute__((visibility("default")))

static FakeCuda state;
static int contextObject, deviceCount = 1;

FAKE FakeCuda *fakeCuda() { return &state; }

// The next call of the named function fails.
static int outcome(const char *function) {
  if (state.failing != function)
    return 0;
  state.failing.clear();
  return 719;
}

FAKE int cuInit(unsigned) { return 0; }
FAKE int cuDriverGetVersion(int *version) {
  *version = 99000; // accepts any NVRTC
  return 0;
}
FAKE int cuGetErrorName(int, const char **name) {
  *name = "CUDA_ERROR_FAKE";
  return 0;
}
FAKE int cuGetErrorString(int, const char **text) {
  *text = "fake failure";
  return 0;
}
FAKE int cuDeviceGetCount(int *count) {
  *count = deviceCount;
  return 0;
}
FAKE int cuDeviceGet(int *id, int ordinal) {
  *id = ordinal;
  return ordinal < deviceCount ? 0 : 101;
}
FAKE int cuDeviceGetName(char *name, int length, int) {
  std::strncpy(name, "fake GPU", length);
  return 0;
}
FAKE int cuDeviceGetAttribute(int *value, int attribute, int) {
  switch (attribute) {
  case 1: // threads per block
    *value = 1024;
    break;
  case 75: // compute capability 9.0
    *value = 9;
    break;
  case 97: // shared memory per block
    *value = 232448;
    break;
  case 5: // grid
  case 6:
  case 7:
    *value = 65535;
    break;
  case 120: // clusters
    *value = 1;
    break;
  default:
    *value = 0;
  }
  return 0;
}
FAKE int cuDeviceTotalMem_v2(size_t *bytes, int) {
  *bytes = 1 << 30;
  return 0;
}
FAKE int cuDevicePrimaryCtxRetain(void **context, int) {
  ++state.retained;
  *context = &contextObject;
  return 0;
}
FAKE int cuDevicePrimaryCtxRelease_v2(int) {
  --state.retained;
  return 0;
}
FAKE int cuCtxGetCurrent(void **context) {
  *context = state.contexts.empty() ? nullptr : state.contexts.back();
  return 0;
}
FAKE int cuCtxPushCurrent_v2(void *context) {
  ++state.pushes;
  state.contexts.push_back(context);
  return 0;
}
FAKE int cuCtxPopCurrent_v2(void **context) {
  *context = state.contexts.back();
  state.contexts.pop_back();
  return 0;
}

// Everything below needs our context to be current.
static int checked(const char *function) {
  if (state.contexts.empty() || state.contexts.back() != &contextObject)
    return 201;
  return outcome(function);
}

FAKE int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  if (int code = checked("cuMemAlloc"))
    return code;
  ++state.allocations;
  *address = reinterpret_cast<uint64_t>(
      std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return 0;
}
FAKE int cuMemFree_v2(uint64_t address) {
  --state.allocations;
  std::free(reinterpret_cast<void *>(address));
  return checked("cuMemFree");
}
FAKE int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes,
                              void *) {
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return checked("cuMemcpyHtoDAsync");
}
FAKE int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *) {
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return checked("cuMemcpyDtoHAsync");
}
FAKE int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes,
                              void *) {
  std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from),
              bytes);
  return checked("cuMemcpyDtoDAsync");
}
FAKE int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes,
                         void *) {
  std::memset(reinterpret_cast<void *>(to), value, bytes);
  return checked("cuMemsetD8Async");
}
FAKE int cuModuleLoadData(void **module, const void *image) {
  if (int code = checked("cuModuleLoadData"))
    return code;
  if (std::memcmp(image, "\177ELF", 4) != 0)
    return 200;
  *module = new int(++state.modulesLoaded);
  ++state.modules;
  return 0;
}
FAKE int cuModuleUnload(void *module) {
  delete static_cast<int *>(module);
  --state.modules;
  return checked("cuModuleUnload");
}
FAKE int cuModuleGetFunction(void **function, void *, const char *name) {
  state.functions.push_back(std::make_unique<FakeFunction>());
  state.functions.back()->name = name;
  *function = state.functions.back().get();
  return checked("cuModuleGetFunction");
}
FAKE int cuFuncLoad(void *function) {
  static_cast<FakeFunction *>(function)->loaded = true;
  return checked("cuFuncLoad");
}
FAKE int cuFuncGetAttribute(int *value, int attribute, void *) {
  *value = attribute == 1 ? 400 : attribute == 4 ? 77 : 0;
  return checked("cuFuncGetAttribute");
}
FAKE int cuFuncSetAttribute(void *function, int attribute, int value) {
  static_cast<FakeFunction *>(function)->attributes[attribute] = value;
  return checked("cuFuncSetAttribute");
}

static int record(void *function, const unsigned *grid, unsigned block,
                  unsigned shared, unsigned cluster, void *stream,
                  void **args) {
  FakeLaunch launch{static_cast<FakeFunction *>(function)->name,
                    {grid[0], grid[1], grid[2]},
                    block,
                    shared,
                    cluster,
                    stream,
                    {}};
  for (size_t i = 0; i < state.argCount; ++i)
    launch.args.push_back(*static_cast<uint64_t *>(args[i]));
  state.launches.push_back(launch);
  return checked("cuLaunchKernel");
}
FAKE int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z,
                        unsigned block, unsigned, unsigned, unsigned shared,
                        void *stream, void **args, void **) {
  unsigned grid[3] = {x, y, z};
  return record(function, grid, block, shared, 0, stream, args);
}
FAKE int cuLaunchKernelEx(const fusec::runtime::cuda::LaunchConfig *config,
                          void *function, void **args, void **) {
  bool cluster = config->attributeCount == 1 && config->attributes[0].id == 4;
  return record(function, config->grid, config->block[0], config->sharedBytes,
                cluster ? config->attributes[0].cluster[0] : 0, config->stream,
                args);
}
FAKE int cuStreamCreate(void **stream, unsigned flags) {
  *stream = new unsigned(flags);
  ++state.streams;
  return checked("cuStreamCreate");
}
FAKE int cuStreamDestroy_v2(void *stream) {
  delete static_cast<unsigned *>(stream);
  --state.streams;
  return checked("cuStreamDestroy");
}
FAKE int cuStreamSynchronize(void *) {
  ++state.synchronizations;
  return checked("cuStreamSynchronize");
}
FAKE int cuEventCreate(void **event, unsigned) {
  *event = new int(0);
  return checked("cuEventCreate");
}
FAKE int cuEventDestroy_v2(void *event) {
  delete static_cast<int *>(event);
  return checked("cuEventDestroy");
}
FAKE int cuEventRecord(void *, void *) { return checked("cuEventRecord"); }
FAKE int cuEventSynchronize(void *) { return checked("cuEventSynchronize"); }
FAKE int cuEventElapsedTime(float *milliseconds, void *, void *) {
  *milliseconds = 1.5f;
  return checked("cuEventElapsedTime");
}
