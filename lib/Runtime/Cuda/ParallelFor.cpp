//===- ParallelFor.cpp - a few threads over a few tasks -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// POSIX threads rather than std::thread: the latter ends the process, as
// exceptions are off, where a container's limit on threads is reached.
//===----------------------------------------------------------------------===//
#include "ParallelFor.h"

#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <thread>
#include <vector>

using namespace fusec::runtime;

// What the main thread of a process usually has.
static constexpr size_t kStackBytes = size_t(8) << 20;

namespace {
struct Work {
  std::atomic<size_t> next;
  size_t count;
  llvm::function_ref<void(size_t)> body;

  void drain() {
    for (size_t i = next++; i < count; i = next++)
      body(i);
  }
};
} // namespace

static void *drainOnThread(void *work) {
  static_cast<Work *>(work)->drain();
  return nullptr;
}

unsigned fusec::runtime::threadsOrDefault(unsigned threads) {
  return threads ? threads : std::max(1u, std::thread::hardware_concurrency());
}

void fusec::runtime::parallelFor(size_t count, unsigned threads,
                                 llvm::function_ref<void(size_t)> body) {
  Work work{0, count, body};
  size_t helpers = std::min<size_t>(count, std::max(1u, threads));
  std::vector<pthread_t> started;
  pthread_attr_t attributes;
  bool usable = helpers > 1 && pthread_attr_init(&attributes) == 0;
  if (usable) {
    pthread_attr_setstacksize(&attributes, kStackBytes);
    for (size_t i = 1; i < helpers; ++i) {
      pthread_t thread;
      if (pthread_create(&thread, &attributes, drainOnThread, &work) != 0)
        break;
      started.push_back(thread);
    }
    pthread_attr_destroy(&attributes);
  }
  work.drain();
  for (pthread_t thread : started)
    pthread_join(thread, nullptr);
}
