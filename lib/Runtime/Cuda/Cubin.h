//===- Cubin.h - what a cubin says about its kernels ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_CUBIN_H
#define FUSEC_LIB_RUNTIME_CUDA_CUBIN_H

#include "fusec/Runtime/Device.h"
#include "llvm/ADT/StringMap.h"

namespace fusec::runtime {

/// The kernels of a cubin by entry, with registers, static shared memory and
/// stack. Never reads outside `cubin`; fails if it is no 64-bit ELF file whose
/// tables lie inside it.
llvm::Expected<llvm::StringMap<KernelResources>>
readCubin(llvm::ArrayRef<char> cubin);

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CUDA_CUBIN_H
