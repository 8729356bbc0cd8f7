//===- KernelCache.h - compiled kernels in memory ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_CUDA_KERNELCACHE_H
#define FUSEC_LIB_RUNTIME_CUDA_KERNELCACHE_H

#include "fusec/Runtime/Cuda/DiskCache.h"

#include <deque>
#include <map>
#include <mutex>

namespace fusec::runtime {

/// Compiled kernels by key. Thread-safe. The oldest entries go once the
/// modules hold more than `limit` bytes; a module shared by several kernels
/// counts for each of them.
class KernelCache {
public:
  explicit KernelCache(uint64_t limit) : limit(limit) {}
  std::optional<CompiledKernel> find(const KernelKey &key) const;
  void insert(const KernelKey &key, const CompiledKernel &kernel);
  size_t size() const;

private:
  uint64_t limit;
  mutable std::mutex mutex;
  uint64_t bytes = 0;
  std::map<KernelKey, CompiledKernel> kernels;
  std::deque<KernelKey> order; // of insertion
};

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_CUDA_KERNELCACHE_H
