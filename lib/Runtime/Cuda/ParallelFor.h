//===- ParallelFor.h - a few threads over a few tasks -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_PARALLELFOR_H
#define FUSEC_LIB_RUNTIME_CUDA_PARALLELFOR_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace fusec::runtime {

/// Threads to use where the caller gave 0: one per processor.
unsigned threadsOrDefault(unsigned threads);

/// Calls `body(i)` for each i below `count`, on at most `threads` threads of
/// which the caller is one. Works, with less speed, when the system grants no
/// thread. Their stacks are large enough for NVRTC's parser.
void parallelFor(size_t count, unsigned threads,
                 llvm::function_ref<void(size_t)> body);

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CUDA_PARALLELFOR_H
