//===- ThreadPool.h - threads that share the blocks of a launch -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_HOST_THREADPOOL_H
#define FUSEC_LIB_RUNTIME_HOST_THREADPOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace fusec::runtime {

/// A fixed set of threads that runs one job at a time. Thread-safe: a second
/// caller runs its job by itself while the first has the threads.
class ThreadPool {
public:
  using Body = llvm::function_ref<void(int64_t begin, int64_t end)>;

  /// `threads` counts the caller too; 0 means one per usable core.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned threadCount() const { return workers.size() + 1; }

  /// Calls `body` on ranges that together are [0, count), on several threads,
  /// and returns when all calls have. `body` must not call the pool.
  void parallelFor(int64_t count, Body body);

private:
  struct Job;
  void work();

  std::vector<std::thread> workers;
  std::mutex callers; // held by the one whose job the threads run
  std::mutex mutex;   // guards what follows
  std::condition_variable wake, idle;
  Job *job = nullptr;
  unsigned tickets = 0; // workers that may still join the job
  unsigned running = 0; // workers in the job
  bool stopping = false;
};

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_HOST_THREADPOOL_H
