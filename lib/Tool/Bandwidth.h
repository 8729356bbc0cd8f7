//===- Bandwidth.h - the memory speed of a GPU ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_BANDWIDTH_H
#define FUSEC_LIB_TOOL_BANDWIDTH_H

#include "fusec/Runtime/Device.h"

namespace fusec::tool {

struct Bandwidth {
  /// Read and written together.
  double bytesPerSecond = 0;
  std::string device;
};

/// The bandwidth of copies within the memory of `device`, much larger than its
/// caches: the median of ten. Takes some milliseconds.
llvm::Expected<Bandwidth>
measureBandwidth(std::shared_ptr<runtime::Device> device);

/// That of the GPU of this machine. Fails where there is none or it has
/// another compute capability (major * 10 + minor).
llvm::Expected<Bandwidth> measureBandwidth(unsigned computeCapability);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_BANDWIDTH_H
