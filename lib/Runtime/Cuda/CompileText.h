//===- CompileText.h - one NVRTC program ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Runtime/Cuda: what `compileText` does, with the assembler's
// report and the options in full.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_COMPILETEXT_H
#define FUSEC_LIB_RUNTIME_CUDA_COMPILETEXT_H

#include "fusec/Runtime/Cuda/Nvrtc.h"
#include "llvm/ADT/StringMap.h"

namespace fusec::runtime {

/// Bytes per thread that the register allocator stores and loads.
struct SpillBytes {
  uint32_t stores = 0, loads = 0;
};

struct TextResult {
  std::shared_ptr<const CompiledModule> module;
  /// By function; empty if this NVRTC does not report them.
  llvm::StringMap<SpillBytes> spills;
};

/// The options handed to NVRTC, in order.
std::vector<std::string> commandLine(const Nvrtc &nvrtc,
                                     const NvrtcOptions &options);

llvm::Expected<TextResult> compileWithReport(const Nvrtc &nvrtc,
                                             llvm::StringRef name,
                                             llvm::StringRef text,
                                             const NvrtcOptions &options);

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CUDA_COMPILETEXT_H
