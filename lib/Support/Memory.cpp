//===- Memory.cpp - asking before large allocations -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Support/Memory.h"

#include <cstdlib>

llvm::Error fusec::askForMemory(uint64_t bytes, const char *what) {
  constexpr uint64_t kSmall = uint64_t(16) << 20;
  if (bytes < kSmall)
    return llvm::Error::success();
  // A compiler may leave out a pair of new and delete, but no volatile pointer.
  void *volatile probe = std::malloc(bytes);
  if (!probe)
    return llvm::createStringError(std::errc::not_enough_memory,
                                   "no memory for %s of %llu bytes", what,
                                   static_cast<unsigned long long>(bytes));
  std::free(probe);
  return llvm::Error::success();
}
