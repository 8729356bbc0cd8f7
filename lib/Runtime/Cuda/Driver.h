//===- Driver.h - the CUDA driver's functions -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Runtime/Cuda: own declarations of the part of the driver's C
// interface that fusec uses. Versioned names are asked for, whose meaning
// never changes.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_DRIVER_H
#define FUSEC_LIB_RUNTIME_CUDA_DRIVER_H

#include "SharedLibrary.h"

#include <cstdint>

namespace fusec::runtime::cuda {

using Result = int; // 0 is success
using DeviceId = int;
using Context = void *;
using Module = void *;
using Function = void *;
using StreamHandle = void *;
using Event = void *;
using Graph = void *;
using GraphExec = void *;
using GraphNode = void *;
using DevicePointer = uint64_t;

/// CUdevice_attribute.
enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxGridX = 5,
  kMaxGridY = 6,
  kMaxGridZ = 7,
  kMultiprocessors = 16,
  kL2Bytes = 38,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kSharedPerMultiprocessor = 81,
  kRegistersPerMultiprocessor = 82,
  kSharedPerBlockOptIn = 97,
  kClusterLaunch = 120,
};

/// CUfunction_attribute.
enum FunctionAttribute : int {
  kStaticSharedBytes = 1,
  kLocalBytes = 3,
  kRegisters = 4,
  kMaxDynamicSharedBytes = 8,
  kNonPortableClusterAllowed = 14,
};

/// CUlaunchAttribute: an id, padding, 64 bytes of value.
struct LaunchAttribute {
  static constexpr int kCooperative = 2;
  static constexpr int kClusterDimension = 4;
  static constexpr int kProgrammaticSerialization = 6;
  int id;
  char padding[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int cooperative;
    int programmatic;
  };
};
static_assert(sizeof(LaunchAttribute) == 72);

/// CUlaunchAttributeValue.
union LaunchAttributeValue {
  char bytes[64];
  unsigned cluster[3];
  int cooperative;
};
static_assert(sizeof(LaunchAttributeValue) == 64);

/// CUgraphEdgeData.
struct GraphEdge {
  /// CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC: when all blocks of the kernel have
  /// said so or ended.
  static constexpr unsigned char kPortProgrammatic = 1;
  static constexpr unsigned char kTypeProgrammatic = 1;
  unsigned char fromPort, toPort, type, reserved[5];
};
static_assert(sizeof(GraphEdge) == 8);

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNodeParams {
  Function function;
  unsigned grid[3], block[3];
  unsigned sharedBytes;
  void **args;
  void **extra;
  void *kernel;
  Context context;
};
static_assert(sizeof(KernelNodeParams) == 72);

/// CUDA_MEMSET_NODE_PARAMS.
struct MemsetNodeParams {
  DevicePointer to;
  size_t pitch;
  unsigned value, elementBytes;
  size_t width, height;
};
static_assert(sizeof(MemsetNodeParams) == 40);

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned sharedBytes;
  StreamHandle stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);

/// CUtensorMapDataType, as far as used.
enum TensorMapType : int {
  kTensorU8 = 0,
  kTensorU16 = 1,
  kTensorU32 = 2,
  kTensorI32 = 3,
  kTensorU64 = 4,
  kTensorI64 = 5,
  kTensorF16 = 6,
  kTensorF32 = 7,
  kTensorF64 = 8,
  kTensorBF16 = 9,
  kTensorTF32 = 11,
};

/// The opened driver. Immutable after `open`.
struct Driver {
  /// Opens and initialises the driver; `name` is for tests.
  static llvm::Expected<Driver> open(const std::string &name = "libcuda.so.1");
  /// The driver of this process, opened at the first call: the library that
  /// the environment variable FUSEC_CUDA_DRIVER names, or libcuda.so.1.
  /// Thread-safe.
  static llvm::Expected<const Driver *> get();

  /// Success, or an error with the function's name and the driver's text.
  llvm::Error check(Result result, const char *function) const;

  SharedLibrary symbols;

  Result (*init)(unsigned flags);
  Result (*driverGetVersion)(int *);
  Result (*getErrorName)(Result, const char **);
  Result (*getErrorString)(Result, const char **);
  Result (*deviceGetCount)(int *);
  Result (*deviceGet)(DeviceId *, int ordinal);
  Result (*deviceGetName)(char *, int length, DeviceId);
  Result (*deviceGetAttribute)(int *, DeviceAttribute, DeviceId);
  Result (*deviceTotalMem)(size_t *, DeviceId);
  /// Null where the driver lacks it.
  Result (*deviceGetPciBus)(char *, int length, DeviceId);
  Result (*primaryRetain)(Context *, DeviceId);
  Result (*primaryRelease)(DeviceId);
  Result (*contextGetCurrent)(Context *);
  Result (*contextPush)(Context);
  Result (*contextPop)(Context *);
  Result (*memoryAllocate)(DevicePointer *, size_t);
  Result (*memoryFree)(DevicePointer);
  Result (*copyHostToDevice)(DevicePointer, const void *, size_t, StreamHandle);
  Result (*copyDeviceToHost)(void *, DevicePointer, size_t, StreamHandle);
  Result (*copyDeviceToDevice)(DevicePointer, DevicePointer, size_t,
                               StreamHandle);
  Result (*fillBytes)(DevicePointer, unsigned char, size_t, StreamHandle);
  Result (*moduleLoad)(Module *, const void *image);
  Result (*moduleUnload)(Module);
  Result (*moduleGetFunction)(Function *, Module, const char *name);
  /// Null in drivers before 12.4. Loads now what would else be loaded at the
  /// first launch.
  Result (*functionLoad)(Function);
  Result (*functionGetAttribute)(int *, FunctionAttribute, Function);
  Result (*functionSetAttribute)(Function, FunctionAttribute, int);
  Result (*launchKernel)(Function, unsigned gridX, unsigned gridY,
                         unsigned gridZ, unsigned blockX, unsigned blockY,
                         unsigned blockZ, unsigned sharedBytes, StreamHandle,
                         void **args, void **extra);
  /// Null in drivers before 11.8, which know no clusters.
  Result (*launchKernelEx)(const LaunchConfig *, Function, void **args,
                           void **extra);
  /// cuTensorMapEncodeTiled; null in drivers before 12.0. The enumerations at
  /// the end are interleave, swizzle, L2 promotion and fill.
  Result (*tensorMapEncode)(void *map, TensorMapType, uint32_t rank,
                            void *address, const uint64_t *dims,
                            const uint64_t *strides, const uint32_t *box,
                            const uint32_t *steps, int, int, int, int);
  /// Whether all functions of graphs are there: drivers from 12.0 on.
  bool hasGraphs;
  Result (*graphCreate)(Graph *, unsigned flags);
  Result (*graphDestroy)(Graph);
  Result (*graphAddKernelNode)(GraphNode *, Graph, const GraphNode *before,
                               size_t beforeCount, const KernelNodeParams *);
  Result (*graphAddMemsetNode)(GraphNode *, Graph, const GraphNode *before,
                               size_t beforeCount, const MemsetNodeParams *,
                               Context);
  /// Null in drivers before 12.3, which know no programmatic edges; those
  /// neither capture launches that overlap.
  Result (*graphAddDependencies)(Graph, const GraphNode *from,
                                 const GraphNode *to, const GraphEdge *,
                                 size_t count);
  Result (*graphKernelNodeSetAttribute)(GraphNode, int id,
                                        const LaunchAttributeValue *);
  Result (*graphInstantiate)(GraphExec *, Graph, unsigned long long flags);
  Result (*graphExecDestroy)(GraphExec);
  Result (*graphExecKernelNodeSetParams)(GraphExec, GraphNode,
                                         const KernelNodeParams *);
  Result (*graphLaunch)(GraphExec, StreamHandle);
  /// CUstreamCaptureStatus: 0 for none.
  Result (*streamIsCapturing)(StreamHandle, int *status);
  Result (*streamCreate)(StreamHandle *, unsigned flags);
  Result (*streamDestroy)(StreamHandle);
  Result (*streamSynchronize)(StreamHandle);
  Result (*eventCreate)(Event *, unsigned flags);
  Result (*eventDestroy)(Event);
  Result (*eventRecord)(Event, StreamHandle);
  Result (*eventSynchronize)(Event);
  Result (*eventElapsedTime)(float *milliseconds, Event, Event);
};

} // namespace fusec::runtime::cuda

#endif // FUSEC_LIB_RUNTIME_CUDA_DRIVER_H
