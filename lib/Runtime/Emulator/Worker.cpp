//===- Worker.cpp - runs blocks on one OS thread --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scheduling, barriers and fault reports. Memory is in WorkerMemory.cpp and
// WorkerAtomic.cpp, warp
// functions in WorkerWarp.cpp.
//===----------------------------------------------------------------------===//
#include "Worker.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using llvm::formatv;

__attribute__((
    tls_model("initial-exec"))) static thread_local Worker *theWorker;

// Prelude calls between two looks at the watchdog; also how long a spinning
// thread may keep the others from running.
static constexpr uint32_t kQuantum = 4096;

// A kernel that is wrong everywhere ends early instead of describing itself.
static constexpr uint64_t kFaultLimit = 100'000;

void LaunchState::report(EmulatorReport report) {
  std::lock_guard<std::mutex> lock(mutex);
  if (++faults >= kFaultLimit)
    stop = true;
  if (reports.size() >= options.reportLimit)
    return;
  // One line usually fails in many threads: keep the first of each kind.
  for (const EmulatorReport &other : reports)
    if (other.fault == report.fault && other.line == report.line)
      return;
  reports.push_back(std::move(report));
}

Worker::Worker() = default;

Worker &Worker::current() { return *theWorker; }

//===-- Blocks ------------------------------------------------------------===//

llvm::Error Worker::prepare() {
  count = state->launch.threads;
  if (llvm::Error error = stacks.grow(count))
    return error;
  while (threads.size() < count) {
    threads.push_back(std::make_unique<EmuThread>());
    threads.back()->fiber.setStack(stacks.stack(threads.size() - 1),
                                   StackPool::usableBytes());
  }
  ready.resize(count);
  sharedUsed = (state->launch.dynamicSharedBytes + 127u) & ~127u;
  shared.resize(sharedUsed + kStaticSharedLimit);
  shadow.resize(static_cast<uint32_t>(shared.size()));
  staticArrays.clear();
  bufferCache.fill(BufferCache());
  return llvm::Error::success();
}

llvm::Error Worker::run(LaunchState &launchState) {
  state = &launchState;
  if (llvm::Error error = prepare())
    return error;
  Worker *outer = theWorker;
  theWorker = this;
  main.adoptThread();
  const auto &grid = state->launch.grid;
  uint64_t blocks = uint64_t(grid[0]) * grid[1] * grid[2];
  while (!state->stop.load(std::memory_order_relaxed)) {
    uint64_t next = state->nextBlock.fetch_add(1);
    if (next >= blocks)
      break;
    runBlock(next);
  }
  theWorker = outer;
  return llvm::Error::success();
}

void Worker::startBlock(u64 linear) {
  const auto &grid = state->launch.grid;
  block = {static_cast<uint32_t>(linear % grid[0]),
           static_cast<uint32_t>(linear / grid[0] % grid[1]),
           static_cast<uint32_t>(linear / grid[0] / grid[1])};
  if (clocks.startBlock(count))
    shadow.clear();
  // All ones is NaN in every float type: a value used by mistake shows.
  std::fill(shared.begin(), shared.end(), 0xff);
  for (uint32_t t = 0; t < count; ++t) {
    EmuThread &thread = *threads[t];
    thread.ids = {static_cast<i32>(t),
                  static_cast<i32>(t % kWarpSize),
                  static_cast<i32>(t / kWarpSize),
                  static_cast<i32>(count),
                  {static_cast<i32>(block[0]), static_cast<i32>(block[1]),
                   static_cast<i32>(block[2])},
                  {static_cast<i32>(grid[0]), static_cast<i32>(grid[1]),
                   static_cast<i32>(grid[2])},
                  shared.data()};
    thread.done = false;
    thread.wait = Wait::Nothing;
    thread.line = 0;
    thread.warpPhase = 0;
    thread.copyGroup = 0;
    thread.fiber.reset(threadMain);
    ready[t] = t;
  }
  readyFirst = 0;
  readyCount = count;
  doneCount = 0;
  quantum = kQuantum;
  steps = 0;
  abandoned = false;
  for (Barrier &barrier : barriers)
    barrier.clear();
  for (WarpState &warp : warps)
    warp.arrived = 0;
}

void Worker::runBlock(u64 linear) {
  startBlock(linear);
  uint32_t first = ready[0];
  readyFirst = 1 % count;
  --readyCount;
  running = threads[first].get();
  main.switchTo(running->fiber);
  if (!abandoned && doneCount != count)
    reportStuckThreads();
  finishBlock();
}

void Worker::finishBlock() {
  for (uint32_t t = 0; t < count; ++t) {
    for (const PendingCopy &copy : threads[t]->copies)
      shadow.dropCopy(copy.offset, copy.bytes);
    threads[t]->copies.clear();
  }
}

void Worker::threadMain() {
  Worker &worker = *theWorker;
  worker.state->entry(worker.state->launch.args);
  worker.thread().done = true;
  ++worker.doneCount;
  worker.reschedule(/*last=*/true);
}

//===-- Scheduling --------------------------------------------------------===//

void Worker::makeReady(uint32_t thread) {
  threads[thread]->wait = Wait::Nothing;
  uint32_t slot = readyFirst + readyCount++;
  ready[slot >= count ? slot - count : slot] = thread;
}

/// Lets the next ready thread run; returns when the calling thread, made ready
/// by another, runs again. Without a ready thread the block is at an end.
void Worker::reschedule(bool last) {
  EmuThread *from = running;
  if (readyCount == 0) {
    from->fiber.switchTo(main, last);
    return;
  }
  EmuThread *to = threads[ready[readyFirst]].get();
  readyFirst = readyFirst + 1 == count ? 0 : readyFirst + 1;
  --readyCount;
  if (to == from)
    return;
  running = to;
  from->fiber.switchTo(to->fiber, last);
}

void Worker::abandonBlock() {
  abandoned = true;
  running->fiber.switchTo(main, /*last=*/true);
  llvm_unreachable("a thread of an abandoned block was continued");
}

void Worker::endQuantum() {
  steps += kQuantum;
  quantum = kQuantum;
  if (state->stop.load(std::memory_order_relaxed))
    abandonBlock();
  if (steps > state->options.stepLimit) {
    state->stop = true;
    fatal(EmulatorFault::StepLimit, thread().line,
          formatv("the block still runs after {0} steps", steps));
  }
  makeReady(static_cast<uint32_t>(thread().ids.tid));
  reschedule();
}

//===-- Faults ------------------------------------------------------------===//

void Worker::fault(EmulatorFault kind, int32_t line, uint32_t thread,
                   std::string detail) {
  state->report({kind, state->launch.entry.str(), line, block, thread,
                 std::move(detail)});
}

void Worker::fatal(EmulatorFault kind, int32_t line, std::string detail) {
  fault(kind, line, std::move(detail));
  // The string was moved; nothing on this stack needs destruction.
  abandonBlock();
}

static std::string describe(const EmuThread &thread) {
  switch (thread.wait) {
  case Wait::Nothing:
    return "exits";
  case Wait::Barrier:
    return formatv("waits at barrier {0} in line {1}", thread.barrier,
                   thread.line);
  case Wait::WarpBarrier:
    return formatv("waits at bar_warp in line {0}", thread.line);
  case Wait::Shuffle:
    return formatv("waits at a shuffle in line {0}", thread.line);
  case Wait::Vote:
    return formatv("waits at a vote in line {0}", thread.line);
  case Wait::Mma:
    return formatv("waits at an mma in line {0}", thread.line);
  case Wait::Ldmatrix:
    return formatv("waits at ldmatrix in line {0}", thread.line);
  }
  llvm_unreachable("all waits are covered");
}

/// No thread can go on: names one that waits and one that does something else.
void Worker::reportStuckThreads() {
  const EmuThread *waiting = nullptr, *other = nullptr;
  for (uint32_t t = 0; t < count && !waiting; ++t)
    if (!threads[t]->done)
      waiting = threads[t].get();
  auto differs = [&](const EmuThread &thread) {
    return thread.done || thread.wait != waiting->wait ||
           thread.line != waiting->line || thread.barrier != waiting->barrier;
  };
  // A warp function waits for its own warp only: look there first.
  for (bool sameWarp : {true, false})
    for (uint32_t t = 0; t < count && !other; ++t)
      if ((threads[t]->ids.warp == waiting->ids.warp || !sameWarp) &&
          differs(*threads[t]))
        other = threads[t].get();
  std::string detail = "the thread " + describe(*waiting);
  if (other)
    detail +=
        formatv(", but thread {0} {1}", other->ids.tid, describe(*other)).str();
  else
    detail += ", and too few threads reach it";
  fault(EmulatorFault::DivergentBarrier, waiting->line,
        static_cast<uint32_t>(waiting->ids.tid), std::move(detail));
}

//===-- Barriers ----------------------------------------------------------===//

void Worker::barrier(int32_t id, int32_t wanted, int32_t line) {
  step(line);
  bool named = wanted != -1;
  if (named && (id < 1 || id >= static_cast<int32_t>(kNamedBarriers)))
    fatal(EmulatorFault::InvalidArgument, line,
          formatv("barrier id {0} is not in 1..15", id));
  if (named && (wanted <= 0 || wanted % static_cast<int32_t>(kWarpSize) != 0 ||
                wanted > static_cast<int32_t>(count)))
    fatal(EmulatorFault::InvalidArgument, line,
          formatv("barrier {0} for {1} threads: expected a multiple of 32 up "
                  "to {2}",
                  id, wanted, count));
  Barrier &barrier = barriers[id];
  EmuThread &me = thread();
  uint32_t tid = static_cast<uint32_t>(me.ids.tid);
  int32_t expected = named ? wanted : static_cast<int32_t>(count);
  if (!barrier.waiting.empty() && barrier.expected != expected)
    fatal(EmulatorFault::DivergentBarrier, line,
          formatv("barrier {0} for {1} threads, but others wait there for {2}",
                  id, expected, barrier.expected));
  // bar.sync is one instruction for a warp: its threads arrive together.
  int32_t &warpLine = barrier.lineOfWarp[tid / kWarpSize];
  if (warpLine != 0 && warpLine != line)
    fatal(EmulatorFault::DivergentBarrier, line,
          formatv("barrier {0}, but other threads of the warp wait at the one "
                  "in line {1}",
                  id, warpLine));
  warpLine = line;
  barrier.expected = expected;
  barrier.waiting.push_back(tid);
  if (static_cast<int32_t>(barrier.waiting.size()) < expected) {
    me.wait = Wait::Barrier;
    me.barrier = id;
    reschedule();
    return;
  }
  if (named)
    clocks.join(barrier.waiting);
  else
    clocks.joinBlock();
  for (uint32_t other : barrier.waiting)
    if (other != tid)
      makeReady(other);
  barrier.clear();
}
