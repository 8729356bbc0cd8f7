//===- KernelCache.cpp - compiled kernels in memory -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelCache.h"

using namespace fusec::runtime;

static uint64_t bytesOf(const CompiledKernel &kernel) {
  return kernel.module->cubin.size() + kernel.module->ptx.size();
}

std::optional<CompiledKernel> KernelCache::find(const KernelKey &key) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = kernels.find(key);
  return it == kernels.end() ? std::nullopt : std::optional(it->second);
}

void KernelCache::insert(const KernelKey &key, const CompiledKernel &kernel) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!kernels.emplace(key, kernel).second)
    return;
  order.push_back(key);
  bytes += bytesOf(kernel);
  // The newest stays even if it alone is over the limit.
  while (bytes > limit && order.size() > 1) {
    auto oldest = kernels.find(order.front());
    bytes -= bytesOf(oldest->second);
    kernels.erase(oldest);
    order.pop_front();
  }
}

size_t KernelCache::size() const {
  std::lock_guard<std::mutex> lock(mutex);
  return kernels.size();
}
