//===- CompileTimes.h - what NVRTC costs for each kernel --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TOOL_COMPILETIMES_H
#define FUSEC_LIB_TOOL_COMPILETIMES_H

#include "fusec/Runtime/Cuda/Nvrtc.h"

namespace fusec::tool {

/// For each of `kernels` the µs of user processor time that NVRTC takes to
/// compile it by itself, from text to cubin: the median of three, after NVRTC
/// was set up. Nothing is taken from a cache. Processor time is that of the
/// whole process: other threads should rest.
llvm::Expected<std::vector<double>>
compileTimes(std::shared_ptr<const runtime::Nvrtc> nvrtc,
             const runtime::NvrtcOptions &options,
             llvm::ArrayRef<runtime::Kernel> kernels);

} // namespace fusec::tool

#endif // FUSEC_LIB_TOOL_COMPILETIMES_H
