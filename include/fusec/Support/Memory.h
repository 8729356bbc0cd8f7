//===- Memory.h - asking before large allocations ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SUPPORT_MEMORY_H
#define FUSEC_SUPPORT_MEMORY_H

#include "llvm/Support/Error.h"

#include <cstdint>

namespace fusec {

/// Fails (std::errc::not_enough_memory) where `bytes` of memory for `what` are
/// refused. A container that is refused memory cannot say so without
/// exceptions, so whoever fills one whose size comes from a file or a caller
/// asks first. Sizes below 16 MiB are not asked for: where those fail, little
/// else works. Another thread may still take the memory in between.
llvm::Error askForMemory(uint64_t bytes, const char *what);

} // namespace fusec

#endif // FUSEC_SUPPORT_MEMORY_H
