//===- DeviceReportText.h - a machine for people ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_DEVICEREPORTTEXT_H
#define FUSEC_LIB_TOOL_DEVICEREPORTTEXT_H

#include "fusec/Runtime/Cuda/CudaDevice.h"

namespace fusec::tool {

/// Driver, NVRTC and GPUs, a line each.
void print(llvm::raw_ostream &os, const runtime::DeviceReport &report);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_DEVICEREPORTTEXT_H
