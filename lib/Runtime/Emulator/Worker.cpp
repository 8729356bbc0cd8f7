//===- Worker.cpp - runs blocks on one OS thread --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scheduling and fault reports. Barriers are in WorkerBarrier.cpp, memory in
// WorkerMemory.cpp and WorkerAtomic.cpp, warp functions in WorkerWarp.cpp; of
// Hopper's, transaction barriers in WorkerMbarrier.cpp, clusters in
// WorkerCluster.cpp, copies in WorkerBulk.cpp and WorkerTensor.cpp, warpgroup
// products in WorkerWgmma.cpp.
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

// Rounds in which nothing but polling happens, before that is a deadlock.
static constexpr uint32_t kIdleRounds = 100'000;

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

//===-- Groups of blocks --------------------------------------------------===//

llvm::Error Worker::prepare() {
  count = state->launch.threads;
  total = count * static_cast<uint32_t>(state->together);
  if (llvm::Error error = stacks.grow(total))
    return error;
  while (threads.size() < total) {
    threads.push_back(std::make_unique<EmuThread>());
    threads.back()->fiber.setStack(stacks.stack(threads.size() - 1),
                                   StackPool::usableBytes());
  }
  ready.resize(total);
  sharedUsed = (state->launch.dynamicSharedBytes + 127u) & ~127u;
  uint32_t sharedBytes = sharedUsed + kStaticSharedLimit;
  size_t clusterCount = state->together / state->cluster;
  while (clusters.size() < clusterCount)
    clusters.push_back(std::make_unique<Cluster>());
  // A block keeps the clocks of its cluster, so it cannot change it.
  if (blocks.size() < state->together ||
      clusters[0]->blocks.size() != state->cluster) {
    blocks.clear();
    for (auto &cluster : clusters)
      cluster->blocks.clear();
    for (size_t i = 0; i < state->together; ++i) {
      Cluster &cluster = *clusters[i / state->cluster];
      blocks.push_back(std::make_unique<Block>(cluster));
      blocks.back()->rank = static_cast<uint32_t>(cluster.blocks.size());
      cluster.blocks.push_back(blocks.back().get());
    }
  }
  for (auto &block : blocks) {
    block->shared.resize(sharedBytes);
    block->shadow.resize(sharedBytes);
  }
  staticArrays.clear();
  bufferCache.fill(BufferCache());
  completion = state->options.completion;
  random.seed(state->options.seed);
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
  uint64_t all = uint64_t(grid[0]) * grid[1] * grid[2];
  while (!state->stop.load(std::memory_order_relaxed)) {
    uint64_t next = state->nextGroup.fetch_add(1) * state->together;
    if (next >= all)
      break;
    runGroup(next);
  }
  theWorker = outer;
  return llvm::Error::success();
}

void Worker::startThread(EmuThread &thread, Block &block, uint32_t tid) {
  const auto &grid = state->launch.grid;
  auto signedOf = [](uint32_t x) { return static_cast<i32>(x); };
  thread.ids = {
      signedOf(tid),
      signedOf(tid % kWarpSize),
      signedOf(tid / kWarpSize),
      signedOf(count),
      {signedOf(block.at[0]), signedOf(block.at[1]), signedOf(block.at[2])},
      {signedOf(grid[0]), signedOf(grid[1]), signedOf(grid[2])},
      block.shared.data(),
      signedOf(block.rank),
      signedOf(state->cluster)};
  thread.block = &block;
  thread.number = block.firstThread + tid;
  thread.inCluster = block.rank * count + tid;
  thread.done = false;
  thread.wait = Wait::Nothing;
  thread.line = 0;
  thread.mbarrier = thread.unseen = nullptr;
  thread.warpPhase = 0;
  thread.copyGroup = thread.bulkGroup = 0;
  thread.clusterArrived = false;
  thread.mayTouchGlobal = !state->launch.overlaps;
  thread.wgmmaFenced = false;
  thread.wgmmaGroup = 0;
  thread.wgmmaIssued = 0;
  thread.fiber.reset(threadMain);
}

void Worker::startGroup(u64 first) {
  const auto &grid = state->launch.grid;
  for (size_t c = 0; c * state->cluster < state->together; ++c) {
    Cluster &cluster = *clusters[c];
    bool restarted = cluster.clocks.start(state->cluster, count);
    cluster.arrived = cluster.left = 0;
    cluster.gathered = Gathered();
    cluster.released = nullptr;
    cluster.waiting.clear();
    for (Block *block : cluster.blocks)
      if (restarted || block->dirty)
        block->shadow.clear();
  }
  for (uint32_t b = 0; b < state->together; ++b) {
    Block &block = *blocks[b];
    u64 linear = first + b;
    block.at = {static_cast<uint32_t>(linear % grid[0]),
                static_cast<uint32_t>(linear / grid[0] % grid[1]),
                static_cast<uint32_t>(linear / grid[0] / grid[1])};
    block.firstThread = b * count;
    block.unit = static_cast<uint32_t>(linear / state->cluster);
    block.doneCount = 0;
    block.ended = block.dirty = false;
    // All ones is NaN in every float type: a value used by mistake shows.
    std::fill(block.shared.begin(), block.shared.end(), 0xff);
    for (NamedBarrier &barrier : block.barriers)
      barrier.clear();
    for (WarpState &warp : block.warps)
      warp.arrived = 0;
    for (Warpgroup &group : block.warpgroups)
      group.clear();
    block.mbarriers.clear();
    block.peerAccesses.clear();
    block.exits = Gathered();
    for (uint32_t t = 0; t < count; ++t)
      startThread(*threads[block.firstThread + t], block, t);
  }
  for (uint32_t t = 0; t < total; ++t)
    ready[t] = t;
  readyFirst = 0;
  readyCount = total;
  pollers.clear();
  idleRounds = 0;
  doneCount = 0;
  quantum = kQuantum;
  steps = 0;
  abandoned = false;
}

void Worker::runGroup(u64 first) {
  startGroup(first);
  while (!abandoned && goOn()) {
    running = threads[ready[readyFirst]].get();
    readyFirst = readyFirst + 1 == total ? 0 : readyFirst + 1;
    --readyCount;
    main.switchTo(running->fiber);
  }
  if (!abandoned && doneCount != total)
    reportStuckThreads();
  finishGroup();
}

/// Makes a thread ready if none is; false when nothing can go on.
bool Worker::goOn() {
  while (readyCount == 0) {
    if (doneCount == total)
      return false;
    if (completeOne()) {
      idleRounds = 0;
      continue;
    }
    if (pollers.empty())
      return false;
    // On other OS threads something may still happen.
    if (++idleRounds > kIdleRounds && state->workers == 1)
      return false;
    for (uint32_t number : std::exchange(pollers, {}))
      makeReady(number);
  }
  return true;
}

void Worker::finishGroup() {
  operations.clear();
  for (uint32_t t = 0; t < total; ++t) {
    EmuThread &thread = *threads[t];
    if (!thread.copies.empty() || !thread.stores.empty() ||
        !thread.products.empty() || abandoned || !thread.done)
      thread.block->dirty = true;
    thread.copies.clear();
    thread.stores.clear();
    thread.products.clear();
    thread.accumulators.clear();
  }
}

void Worker::threadMain() {
  Worker &worker = *theWorker;
  worker.state->entry(worker.state->launch.args);
  worker.endThread();
  worker.reschedule(/*last=*/true);
}

void Worker::endThread() {
  EmuThread &me = thread();
  Block &block = *me.block;
  endWgmma();
  for (BulkStore &store : me.stores) {
    if (!store.wasRead && state->checks)
      fault(EmulatorFault::PendingCopy, store.line,
            "the thread ends before bulk_wait_read has made sure that this "
            "copy no longer reads shared memory");
    finishStore(me, store);
  }
  me.stores.clear();
  if (!me.mayTouchGlobal && state->checks)
    fault(EmulatorFault::NoGridWait, me.line,
          "the thread ends without grid_wait, as others must not");
  me.done = true;
  ++doneCount;
  ++block.doneCount;
  Cluster &cluster = *block.cluster;
  if (state->cluster > 1) {
    cluster.clocks.release(me.inCluster, block.exits);
    // A thread that has ended counts as arrived.
    if (!me.clusterArrived)
      ++cluster.left;
    if (cluster.arrived != 0)
      finishClusterBarrier(cluster);
  }
  if (block.doneCount == count)
    endBlock(block);
}

/// Its shared memory goes away: nobody may be about to touch it.
void Worker::endBlock(Block &block) {
  block.ended = true;
  dropOperations(block);
  for (auto [other, access] : block.peerAccesses) {
    if (other < block.exits.known.size() &&
        block.exits.known[other] >= access.when)
      continue;
    fault(EmulatorFault::ClusterExit, access.line, *access.by,
          formatv("an access to the shared memory of block {0} of the cluster, "
                  "which may have ended: nothing makes it wait",
                  block.rank));
  }
}

//===-- Scheduling --------------------------------------------------------===//

void Worker::makeReady(uint32_t number) {
  threads[number]->wait = Wait::Nothing;
  uint32_t slot = readyFirst + readyCount++;
  ready[slot >= total ? slot - total : slot] = number;
}

/// Lets the next ready thread run; returns when the calling thread, made ready
/// by another, runs again.
void Worker::reschedule(bool last) {
  EmuThread *from = running;
  if (completion == EmulatorCompletion::Random)
    completeAtRandom();
  if (readyCount == 0) {
    from->fiber.switchTo(main, last);
  } else {
    EmuThread *to = threads[ready[readyFirst]].get();
    readyFirst = readyFirst + 1 == total ? 0 : readyFirst + 1;
    --readyCount;
    if (to != from) {
      running = to;
      from->fiber.switchTo(to->fiber, last);
    }
  }
  running->unseen = nullptr;
}

void Worker::abandonGroup() {
  abandoned = true;
  running->fiber.switchTo(main, /*last=*/true);
  llvm_unreachable("a thread of an abandoned group was continued");
}

void Worker::endQuantum() {
  steps += kQuantum;
  quantum = kQuantum;
  if (state->stop.load(std::memory_order_relaxed))
    abandonGroup();
  if (steps > state->options.stepLimit) {
    state->stop = true;
    fatal(EmulatorFault::StepLimit, thread().line,
          formatv("the block still runs after {0} steps", steps));
  }
  makeReady(thread());
  reschedule();
}

void Worker::poll(int32_t line) {
  step(line);
  pollers.push_back(thread().number);
  waitHere(Wait::Polling);
}

//===-- Faults ------------------------------------------------------------===//

void Worker::fault(EmulatorFault kind, int32_t line, const EmuThread &thread,
                   std::string detail) {
  state->report({kind, state->launch.entry.str(), line, thread.block->at,
                 static_cast<uint32_t>(thread.ids.tid), std::move(detail)});
}

void Worker::fatal(EmulatorFault kind, int32_t line, std::string detail) {
  fault(kind, line, std::move(detail));
  // The string was moved; nothing on this stack needs destruction.
  abandonGroup();
}

/// "thread 5", "thread 5 of block 2 of the cluster", or what stands for an
/// asynchronous unit.
std::string Worker::nameOf(const Cluster &cluster, uint32_t inCluster) const {
  if (cluster.clocks.isAgent(inCluster))
    return "an asynchronous operation";
  if (state->cluster == 1)
    return formatv("thread {0}", inCluster);
  return formatv("thread {0} of block {1} of the cluster", inCluster % count,
                 inCluster / count);
}
