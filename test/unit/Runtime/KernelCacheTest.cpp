//===- KernelCacheTest.cpp - what stays in memory -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "KernelCache.h"
#include "ParallelFor.h"

#include <atomic>
#include <gtest/gtest.h>

using namespace fusec::runtime;

static CompiledKernel kernelOfBytes(size_t bytes) {
  auto module = std::make_shared<CompiledModule>();
  module->cubin.resize(bytes);
  return {module, "k", {}};
}

TEST(KernelCache, DropsTheOldestBeyondItsLimit) {
  KernelCache cache(100);
  for (uint8_t i = 0; i < 5; ++i)
    cache.insert(KernelKey{i}, kernelOfBytes(40));
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_FALSE(cache.find(KernelKey{2}));
  EXPECT_TRUE(cache.find(KernelKey{3}));
  EXPECT_TRUE(cache.find(KernelKey{4}));
  cache.insert(KernelKey{9}, kernelOfBytes(1000));
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_TRUE(cache.find(KernelKey{9}));
}

TEST(KernelCache, PtxCountsAsMuchAsTheCubin) {
  auto module = std::make_shared<CompiledModule>();
  module->cubin.resize(60);
  module->ptx.assign(30, ' ');
  KernelCache cache(100);
  for (uint8_t i = 0; i < 2; ++i)
    cache.insert(KernelKey{i}, {module, "k", {}});
  EXPECT_EQ(cache.size(), 1u);
}

TEST(KernelCache, KeepsTheFirstOfEqualKeys) {
  KernelCache cache(100);
  CompiledKernel first = kernelOfBytes(10);
  cache.insert(KernelKey{1}, first);
  cache.insert(KernelKey{1}, kernelOfBytes(10));
  EXPECT_EQ(cache.find(KernelKey{1})->module, first.module);
}

TEST(ParallelFor, CallsEachIndexOnce) {
  for (unsigned threads : {0u, 1u, 2u, 7u, 100u})
    for (size_t count : {0u, 1u, 13u, 1000u}) {
      std::vector<std::atomic<int>> calls(count);
      parallelFor(count, threads, [&](size_t i) { ++calls[i]; });
      for (const auto &n : calls)
        EXPECT_EQ(n, 1);
    }
}
