//===- DriverAbiTest.cpp - own declarations against NVIDIA's --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built where the CUDA headers are installed. Compares constants, layouts,
// versioned names and the shape of every function with the headers', since a
// wrong declaration would show only on a GPU, as memory corruption.
//===----------------------------------------------------------------------===//
#include "Driver.h"
#include "NvrtcLibrary.h"
#include "SameShape.h"

#include <cuda.h>
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <cstddef>
#include <tuple>
#include <type_traits>

using namespace fusec::runtime;
using cuda::Driver;
using cuda::LaunchAttribute;
using cuda::LaunchConfig;

static_assert(int(cuda::kMaxThreadsPerBlock) ==
              CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(int(cuda::kMaxGridX) == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
static_assert(int(cuda::kMaxGridY) == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
static_assert(int(cuda::kMaxGridZ) == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
static_assert(int(cuda::kMultiprocessors) ==
              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(int(cuda::kL2Bytes) == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(int(cuda::kComputeCapabilityMajor) ==
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(int(cuda::kComputeCapabilityMinor) ==
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(int(cuda::kSharedPerMultiprocessor) ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
static_assert(int(cuda::kRegistersPerMultiprocessor) ==
              CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
static_assert(int(cuda::kSharedPerBlockOptIn) ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(int(cuda::kClusterLaunch) == CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);

static_assert(int(cuda::kStaticSharedBytes) ==
              CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
static_assert(int(cuda::kLocalBytes) == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
static_assert(int(cuda::kRegisters) == CU_FUNC_ATTRIBUTE_NUM_REGS);
static_assert(int(cuda::kMaxDynamicSharedBytes) ==
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(int(cuda::kNonPortableClusterAllowed) ==
              CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);

static_assert(LaunchAttribute::kCooperative == CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
static_assert(LaunchAttribute::kProgrammaticSerialization ==
              CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(
    offsetof(CUlaunchAttributeValue, programmaticStreamSerializationAllowed) ==
        0 &&
    sizeof(CUlaunchAttributeValue::programmaticStreamSerializationAllowed) ==
        sizeof(LaunchAttribute::programmatic));
static_assert(int(cuda::kTensorU8) == CU_TENSOR_MAP_DATA_TYPE_UINT8);
static_assert(int(cuda::kTensorU16) == CU_TENSOR_MAP_DATA_TYPE_UINT16);
static_assert(int(cuda::kTensorU32) == CU_TENSOR_MAP_DATA_TYPE_UINT32);
static_assert(int(cuda::kTensorI32) == CU_TENSOR_MAP_DATA_TYPE_INT32);
static_assert(int(cuda::kTensorU64) == CU_TENSOR_MAP_DATA_TYPE_UINT64);
static_assert(int(cuda::kTensorI64) == CU_TENSOR_MAP_DATA_TYPE_INT64);
static_assert(int(cuda::kTensorF16) == CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
static_assert(int(cuda::kTensorF32) == CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
static_assert(int(cuda::kTensorF64) == CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
static_assert(int(cuda::kTensorBF16) == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
static_assert(CU_TENSOR_MAP_SWIZZLE_128B == 3);
static_assert(CU_TENSOR_MAP_L2_PROMOTION_L2_256B == 3);
static_assert(CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA == 1);
static_assert(kTensorMapBytes == sizeof(CUtensorMap));
static_assert(LaunchAttribute::kClusterDimension ==
              CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(LaunchAttribute, cluster) ==
              offsetof(CUlaunchAttribute, value));
static_assert(offsetof(CUlaunchAttributeValue, clusterDim) == 0);
static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
using cuda::KernelNodeParams;
static_assert(sizeof(KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS));
static_assert(offsetof(KernelNodeParams, block) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX));
static_assert(offsetof(KernelNodeParams, sharedBytes) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes));
static_assert(offsetof(KernelNodeParams, args) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams));
static_assert(offsetof(KernelNodeParams, context) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, ctx));
using cuda::GraphEdge;
static_assert(sizeof(GraphEdge) == sizeof(CUgraphEdgeData));
static_assert(offsetof(GraphEdge, fromPort) ==
              offsetof(CUgraphEdgeData, from_port));
static_assert(offsetof(GraphEdge, toPort) ==
              offsetof(CUgraphEdgeData, to_port));
static_assert(offsetof(GraphEdge, type) == offsetof(CUgraphEdgeData, type));
static_assert(GraphEdge::kPortProgrammatic ==
              CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
static_assert(GraphEdge::kTypeProgrammatic ==
              CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
using cuda::MemsetNodeParams;
static_assert(sizeof(MemsetNodeParams) == sizeof(CUDA_MEMSET_NODE_PARAMS));
static_assert(offsetof(MemsetNodeParams, value) ==
              offsetof(CUDA_MEMSET_NODE_PARAMS, value));
static_assert(offsetof(MemsetNodeParams, elementBytes) ==
              offsetof(CUDA_MEMSET_NODE_PARAMS, elementSize));
static_assert(offsetof(MemsetNodeParams, height) ==
              offsetof(CUDA_MEMSET_NODE_PARAMS, height));
static_assert(sizeof(cuda::LaunchAttributeValue) ==
              sizeof(CUkernelNodeAttrValue));
static_assert(CU_STREAM_CAPTURE_STATUS_NONE == 0);
static_assert(offsetof(LaunchConfig, block) ==
              offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(LaunchConfig, sharedBytes) ==
              offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(LaunchConfig, stream) ==
              offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(LaunchConfig, attributes) ==
              offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(LaunchConfig, attributeCount) ==
              offsetof(CUlaunchConfig, numAttrs));

// The name that the header's macros make of a function.
#define FUSEC_TEXT_OF(...) #__VA_ARGS__
#define FUSEC_TEXT(...) FUSEC_TEXT_OF(__VA_ARGS__)

#define FUSEC_CHECK(table, member, function, symbol)                           \
  static_assert(                                                               \
      SameShape<decltype(table::member), decltype(&function)>::value);         \
  EXPECT_STREQ(FUSEC_TEXT(function), symbol)

TEST(DriverAbi, FunctionsHaveTheShapeOfTheHeaders) {
  FUSEC_CHECK(Driver, init, cuInit, "cuInit");
  FUSEC_CHECK(Driver, driverGetVersion, cuDriverGetVersion,
              "cuDriverGetVersion");
  FUSEC_CHECK(Driver, getErrorName, cuGetErrorName, "cuGetErrorName");
  FUSEC_CHECK(Driver, getErrorString, cuGetErrorString, "cuGetErrorString");
  FUSEC_CHECK(Driver, deviceGetCount, cuDeviceGetCount, "cuDeviceGetCount");
  FUSEC_CHECK(Driver, deviceGet, cuDeviceGet, "cuDeviceGet");
  FUSEC_CHECK(Driver, deviceGetName, cuDeviceGetName, "cuDeviceGetName");
  FUSEC_CHECK(Driver, deviceGetAttribute, cuDeviceGetAttribute,
              "cuDeviceGetAttribute");
  FUSEC_CHECK(Driver, deviceTotalMem, cuDeviceTotalMem, "cuDeviceTotalMem_v2");
  FUSEC_CHECK(Driver, primaryRetain, cuDevicePrimaryCtxRetain,
              "cuDevicePrimaryCtxRetain");
  FUSEC_CHECK(Driver, primaryRelease, cuDevicePrimaryCtxRelease,
              "cuDevicePrimaryCtxRelease_v2");
  FUSEC_CHECK(Driver, contextGetCurrent, cuCtxGetCurrent, "cuCtxGetCurrent");
  FUSEC_CHECK(Driver, contextPush, cuCtxPushCurrent, "cuCtxPushCurrent_v2");
  FUSEC_CHECK(Driver, contextPop, cuCtxPopCurrent, "cuCtxPopCurrent_v2");
  FUSEC_CHECK(Driver, memoryAllocate, cuMemAlloc, "cuMemAlloc_v2");
  FUSEC_CHECK(Driver, memoryFree, cuMemFree, "cuMemFree_v2");
  FUSEC_CHECK(Driver, copyHostToDevice, cuMemcpyHtoDAsync,
              "cuMemcpyHtoDAsync_v2");
  FUSEC_CHECK(Driver, copyDeviceToHost, cuMemcpyDtoHAsync,
              "cuMemcpyDtoHAsync_v2");
  FUSEC_CHECK(Driver, copyDeviceToDevice, cuMemcpyDtoDAsync,
              "cuMemcpyDtoDAsync_v2");
  FUSEC_CHECK(Driver, fillBytes, cuMemsetD8Async, "cuMemsetD8Async");
  FUSEC_CHECK(Driver, moduleLoad, cuModuleLoadData, "cuModuleLoadData");
  FUSEC_CHECK(Driver, moduleUnload, cuModuleUnload, "cuModuleUnload");
  FUSEC_CHECK(Driver, moduleGetFunction, cuModuleGetFunction,
              "cuModuleGetFunction");
  FUSEC_CHECK(Driver, deviceGetPciBus, cuDeviceGetPCIBusId,
              "cuDeviceGetPCIBusId");
  FUSEC_CHECK(Driver, functionLoad, cuFuncLoad, "cuFuncLoad");
  FUSEC_CHECK(Driver, functionGetAttribute, cuFuncGetAttribute,
              "cuFuncGetAttribute");
  FUSEC_CHECK(Driver, functionSetAttribute, cuFuncSetAttribute,
              "cuFuncSetAttribute");
  FUSEC_CHECK(Driver, launchKernel, cuLaunchKernel, "cuLaunchKernel");
  FUSEC_CHECK(Driver, launchKernelEx, cuLaunchKernelEx, "cuLaunchKernelEx");
  FUSEC_CHECK(Driver, streamCreate, cuStreamCreate, "cuStreamCreate");
  FUSEC_CHECK(Driver, streamDestroy, cuStreamDestroy, "cuStreamDestroy_v2");
  FUSEC_CHECK(Driver, streamSynchronize, cuStreamSynchronize,
              "cuStreamSynchronize");
  FUSEC_CHECK(Driver, graphCreate, cuGraphCreate, "cuGraphCreate");
  FUSEC_CHECK(Driver, graphDestroy, cuGraphDestroy, "cuGraphDestroy");
  FUSEC_CHECK(Driver, graphAddKernelNode, cuGraphAddKernelNode,
              "cuGraphAddKernelNode_v2");
  FUSEC_CHECK(Driver, graphAddMemsetNode, cuGraphAddMemsetNode,
              "cuGraphAddMemsetNode");
  FUSEC_CHECK(Driver, graphAddDependencies, cuGraphAddDependencies,
              "cuGraphAddDependencies_v2");
  FUSEC_CHECK(Driver, graphKernelNodeSetAttribute,
              cuGraphKernelNodeSetAttribute, "cuGraphKernelNodeSetAttribute");
  FUSEC_CHECK(Driver, graphInstantiate, cuGraphInstantiate,
              "cuGraphInstantiateWithFlags");
  FUSEC_CHECK(Driver, graphExecDestroy, cuGraphExecDestroy,
              "cuGraphExecDestroy");
  FUSEC_CHECK(Driver, graphExecKernelNodeSetParams,
              cuGraphExecKernelNodeSetParams,
              "cuGraphExecKernelNodeSetParams_v2");
  FUSEC_CHECK(Driver, graphLaunch, cuGraphLaunch, "cuGraphLaunch");
  FUSEC_CHECK(Driver, streamIsCapturing, cuStreamIsCapturing,
              "cuStreamIsCapturing");
  FUSEC_CHECK(Driver, eventCreate, cuEventCreate, "cuEventCreate");
  FUSEC_CHECK(Driver, eventDestroy, cuEventDestroy, "cuEventDestroy_v2");
  FUSEC_CHECK(Driver, eventRecord, cuEventRecord, "cuEventRecord");
  FUSEC_CHECK(Driver, eventSynchronize, cuEventSynchronize,
              "cuEventSynchronize");
  // A later version of the header's choice takes the same arguments.
  static_assert(SameShape<decltype(Driver::eventElapsedTime),
                          decltype(&cuEventElapsedTime)>::value);
}

TEST(DriverAbi, NvrtcHasTheShapeOfTheHeader) {
  using Impl = Nvrtc::Impl;
  FUSEC_CHECK(Impl, getErrorString, nvrtcGetErrorString, "nvrtcGetErrorString");
  FUSEC_CHECK(Impl, version, nvrtcVersion, "nvrtcVersion");
  FUSEC_CHECK(Impl, getNumSupportedArchs, nvrtcGetNumSupportedArchs,
              "nvrtcGetNumSupportedArchs");
  FUSEC_CHECK(Impl, getSupportedArchs, nvrtcGetSupportedArchs,
              "nvrtcGetSupportedArchs");
  FUSEC_CHECK(Impl, createProgram, nvrtcCreateProgram, "nvrtcCreateProgram");
  FUSEC_CHECK(Impl, destroyProgram, nvrtcDestroyProgram, "nvrtcDestroyProgram");
  FUSEC_CHECK(Impl, compileProgram, nvrtcCompileProgram, "nvrtcCompileProgram");
  FUSEC_CHECK(Impl, getPTXSize, nvrtcGetPTXSize, "nvrtcGetPTXSize");
  FUSEC_CHECK(Impl, getPTX, nvrtcGetPTX, "nvrtcGetPTX");
  FUSEC_CHECK(Impl, getCUBINSize, nvrtcGetCUBINSize, "nvrtcGetCUBINSize");
  FUSEC_CHECK(Impl, getCUBIN, nvrtcGetCUBIN, "nvrtcGetCUBIN");
  FUSEC_CHECK(Impl, getProgramLogSize, nvrtcGetProgramLogSize,
              "nvrtcGetProgramLogSize");
  FUSEC_CHECK(Impl, getProgramLog, nvrtcGetProgramLog, "nvrtcGetProgramLog");
}
