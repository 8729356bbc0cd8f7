//===- ThreadPool.cpp - threads that share the blocks of a launch ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A job lies on the stack of its caller. Workers take tickets to join it, then
// ranges by an atomic counter; the caller works too, withdraws the tickets that
// nobody took and waits for those who did. No allocation per job.
//===----------------------------------------------------------------------===//
#include "ThreadPool.h"

#include <algorithm>
#include <sched.h>

using namespace fusec::runtime;

// Ranges per thread: few enough to be cheap, enough to even out.
static constexpr int64_t kRangesPerThread = 4;

static unsigned usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

struct ThreadPool::Job {
  int64_t count;
  int64_t range;
  Body body;
  std::atomic<int64_t> next = 0;

  void run() {
    for (;;) {
      int64_t begin = next.fetch_add(range, std::memory_order_relaxed);
      if (begin >= count)
        return;
      body(begin, std::min(count, begin + range));
    }
  }
};

ThreadPool::ThreadPool(unsigned threads) {
  if (threads == 0)
    threads = usableCores();
  for (unsigned i = 1; i < threads; ++i)
    workers.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    wake.wait(lock, [&] { return stopping || tickets > 0; });
    if (stopping)
      return;
    --tickets;
    ++running;
    Job *mine = job;
    lock.unlock();
    mine->run();
    lock.lock();
    if (--running == 0)
      idle.notify_all();
  }
}

void ThreadPool::parallelFor(int64_t count, Body body) {
  if (count <= 0)
    return;
  std::unique_lock<std::mutex> caller(callers, std::try_to_lock);
  if (count == 1 || workers.empty() || !caller) {
    body(0, count);
    return;
  }
  int64_t ranges = int64_t(threadCount()) * kRangesPerThread;
  Job mine{count, std::max<int64_t>(1, count / ranges), body};
  unsigned wanted = std::min<int64_t>(workers.size(), count - 1);
  {
    std::lock_guard<std::mutex> lock(mutex);
    job = &mine;
    tickets = wanted;
  }
  if (wanted == workers.size())
    wake.notify_all();
  else
    for (unsigned i = 0; i < wanted; ++i)
      wake.notify_one();
  mine.run();
  std::unique_lock<std::mutex> lock(mutex);
  tickets = 0;
  idle.wait(lock, [&] { return running == 0; });
  job = nullptr;
}
