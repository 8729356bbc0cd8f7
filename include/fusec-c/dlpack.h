/*===- dlpack.h - DLPack's structs -----------------------------------*- C -*-===*\
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                      *|
|*                                                                              *|
|* DLPack is an ABI by which array libraries hand tensors to each other. These  *|
|* are its structs as the published ABI (major version 1) lays them out.        *|
|*                                                                              *|
|* A program that has a dlpack.h of its own includes it before this file, or    *|
|* defines FUSEC_USE_SYSTEM_DLPACK, and these declarations stand back.          *|
\*===------------------------------------------------------------------------===*/
#ifndef FUSEC_C_DLPACK_H
#define FUSEC_C_DLPACK_H

#include <stdint.h>

#if defined(FUSEC_USE_SYSTEM_DLPACK)
#include <dlpack/dlpack.h>
#elif !defined(DLPACK_DLPACK_H_)
/* The usual guard, so that a dlpack.h that comes later stands back too. */
#define DLPACK_DLPACK_H_
#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 0

#ifdef __cplusplus
extern "C" {
#endif

/** The version of a versioned tensor's producer. */
typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

/** Where memory is. The underlying type is int32_t in C++. */
#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17
} DLDeviceType;

/** A device by kind and ordinal. */
typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

/** What the bits of an element mean. */
typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLOpaqueHandle = 3U,
  kDLBfloat = 4U,
  kDLComplex = 5U,
  kDLBool = 6U,
  kDLFloat8_e3m4 = 7U,
  kDLFloat8_e4m3 = 8U,
  kDLFloat8_e4m3b11fnuz = 9U,
  kDLFloat8_e4m3fn = 10U,
  kDLFloat8_e4m3fnuz = 11U,
  kDLFloat8_e5m2 = 12U,
  kDLFloat8_e5m2fnuz = 13U,
  kDLFloat8_e8m0fnu = 14U
} DLDataTypeCode;

/** An element type: a code, the bits of a lane and the number of lanes. */
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

/** A borrowed tensor. Strides count elements; null means row-major. The first
    element is `byte_offset` bytes behind `data`. */
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

/** An owned tensor; the consumer calls `deleter` on it once. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)

/** An owned tensor that says which version of the ABI it follows. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

#ifdef __cplusplus
}
#endif

#endif /* DLPACK_DLPACK_H_ */

#endif /* FUSEC_C_DLPACK_H */
