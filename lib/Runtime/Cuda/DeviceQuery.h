//===- DeviceQuery.h - facts about a GPU ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_DEVICEQUERY_H
#define FUSEC_LIB_RUNTIME_CUDA_DEVICEQUERY_H

#include "Driver.h"
#include "fusec/Runtime/Device.h"

namespace fusec::runtime {

/// Asks the driver; makes no context.
llvm::Expected<DeviceInfo> queryDevice(const cuda::Driver &driver,
                                       cuda::DeviceId id);

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CUDA_DEVICEQUERY_H
