//===- WorkerMbarrier.cpp - transaction barriers --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An arrival leaves what its thread knows at the barrier; who waits for the
// phase acquires it. Bytes that arrive are events of the barrier's agent, so
// that only waiting makes them visible, also to the thread that began the copy.
//===----------------------------------------------------------------------===//
#include "Worker.h"

#include "llvm/Support/FormatVariadic.h"

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using llvm::formatv;

// PTX: 20 bits of arrivals, and as many of bytes on either side of zero.
static constexpr int64_t kMaxCount = (1 << 20) - 1;

void Worker::mbarInit(FusecEmuShared at, int32_t arrivals, int32_t line) {
  step(line);
  Block &owner = block();
  if (!checkShared("init", at, 1, 8, thread(), line))
    return;
  if (arrivals < 1 || arrivals > kMaxCount)
    fatal(EmulatorFault::InvalidArgument, line,
          formatv("an mbarrier of {0} arrivals: expected 1 to {1}", arrivals,
                  kMaxCount));
  uint32_t offset = at.base + uint32_t(at.index) * at.elementBytes;
  std::unique_ptr<Mbarrier> &slot = owner.mbarriers[offset];
  if (slot && !slot->waiting.empty())
    fault(EmulatorFault::MbarrierMisuse, line,
          formatv("init of an mbarrier that thread {0} waits for",
                  slot->waiting.front()->ids.tid));
  checkConflict(owner.shadow.write(offset, 8, thread().inCluster, line), "init",
                offset, owner, thread(), line);
  // Operations under way keep the object.
  Mbarrier fresh;
  fresh.agent = slot ? slot->agent : clocks().addAgent();
  if (!slot)
    slot = std::make_unique<Mbarrier>();
  fresh.element = at.index;
  fresh.count = static_cast<uint32_t>(arrivals);
  fresh.pending = arrivals;
  fresh.initLine = line;
  fresh.initThread = thread().inCluster;
  fresh.initWhen = clocks().now(fresh.initThread);
  *slot = std::move(fresh);
}

/// The barrier, after checking that the thread may know of it.
Mbarrier *Worker::findMbarrier(Block &owner, const FusecEmuShared &at,
                               int32_t line) {
  if (!checkShared("access", at, 1, 8, thread(), line))
    return nullptr;
  uint32_t offset = at.base + uint32_t(at.index) * at.elementBytes;
  auto found = owner.mbarriers.find(offset);
  if (found == owner.mbarriers.end()) {
    fault(EmulatorFault::MbarrierMisuse, line,
          formatv("element {0} is not an initialised mbarrier", at.index));
    return nullptr;
  }
  if (state->checks)
    checkConflict(owner.shadow.read(offset, 8, thread().inCluster, line),
                  "access", offset, owner, thread(), line);
  return found->second.get();
}

/// Ends the phase if nothing is missing.
void Worker::advance(Block &owner, Mbarrier &barrier, int32_t line) {
  if (barrier.pending != 0 || barrier.bytes != 0)
    return;
  for (const EmuThread *woken : barrier.woken)
    if (woken->unseen == &barrier) {
      fault(EmulatorFault::MbarrierMisuse, line,
            formatv("phase {0} of element {1} of the mbarriers made in line "
                    "{2} ends before thread {3}, which waited in line {4} for "
                    "the phase before, can have noticed its end",
                    barrier.phase, barrier.element, barrier.initLine,
                    woken->ids.tid, woken->line));
      break;
    }
  barrier.woken.clear();
  ++barrier.phase;
  barrier.pending = barrier.count;
  barrier.released = Clocks::freeze(barrier.gathered);
  for (EmuThread *waiting : barrier.waiting) {
    owner.cluster->clocks.acquire(waiting->inCluster, barrier.released);
    waiting->unseen = &barrier;
    makeReady(*waiting);
  }
  barrier.woken.swap(barrier.waiting);
}

void Worker::arriveAt(Block &owner, Mbarrier &barrier, int32_t line) {
  if (barrier.pending == 0) {
    fault(EmulatorFault::MbarrierMisuse, line,
          formatv("one arrival too many: element {0} of the mbarriers made in "
                  "line {1} expects {2} a phase, and phase {3} only waits for "
                  "{4} bytes",
                  barrier.element, barrier.initLine, barrier.count,
                  barrier.phase, barrier.bytes));
    return;
  }
  owner.cluster->clocks.release(thread().inCluster, barrier.gathered);
  --barrier.pending;
  advance(owner, barrier, line);
}

void Worker::mbarArrive(int32_t kind, FusecEmuShared at, int32_t rank,
                        int32_t bytes, int32_t line) {
  step(line);
  bool remote = kind == FusecArriveRemote || kind == FusecArriveRemoteRelease;
  Block *owner = remote ? peer(rank, line) : &block();
  if (!owner)
    return;
  Mbarrier *barrier = findMbarrier(*owner, at, line);
  if (!barrier)
    return;
  if (kind == FusecArriveExpect || kind == FusecExpect) {
    if (bytes < 0 || barrier->bytes + bytes > kMaxCount) {
      fault(EmulatorFault::MbarrierMisuse, line,
            formatv("expecting {0} more bytes in a phase that expects {1}: at "
                    "most {2} in all",
                    bytes, barrier->bytes, kMaxCount));
      return;
    }
    barrier->bytes += bytes;
  }
  if (kind == FusecExpect)
    return;
  if (kind == FusecArriveRemoteRelease)
    clocks().releaseToCluster(thread().inCluster);
  arriveAt(*owner, *barrier, line);
}

bool Worker::mbarWait(int32_t how, FusecEmuShared at, int32_t parity,
                      int32_t line) {
  step(line);
  Block &owner = block();
  Mbarrier *barrier = findMbarrier(owner, at, line);
  if (!barrier)
    abandonGroup(); // was reported; waiting or going on makes no sense
  if (parity != 0 && parity != 1)
    fatal(EmulatorFault::InvalidArgument, line,
          formatv("a wait for parity {0}: expected 0 or 1", parity));
  EmuThread &me = thread();
  if (int32_t(barrier->phase & 1) != parity) {
    clocks().acquire(me.inCluster, barrier->released);
    return true;
  }
  if (how == FusecTest) {
    pollers.push_back(me.number);
    me.mbarrier = barrier;
    waitHere(Wait::Polling);
    if (int32_t(barrier->phase & 1) == parity)
      return false;
    clocks().acquire(me.inCluster, barrier->released);
    return true;
  }
  barrier->waiting.push_back(&me);
  me.mbarrier = barrier;
  waitHere(Wait::Mbarrier);
  return true;
}

/// Bytes of an asynchronous operation have come.
void Worker::completeBytes(Block &owner, Mbarrier &barrier, uint32_t bytes,
                           const EmuThread &issuer, int32_t line) {
  owner.cluster->clocks.releaseAgent(barrier.agent, barrier.gathered);
  barrier.bytes -= bytes;
  if (barrier.bytes < -kMaxCount)
    fault(EmulatorFault::MbarrierMisuse, line, issuer,
          formatv("element {0} of the mbarriers made in line {1} got {2} bytes "
                  "more than it expects",
                  barrier.element, barrier.initLine, -barrier.bytes));
  advance(owner, barrier, line);
}

//===-- Asynchronous operations -------------------------------------------===//

void Worker::begin(AsyncOp op) {
  if (completion == EmulatorCompletion::Issue)
    return op.complete();
  operations.push_back(std::move(op));
}

/// Ends the oldest operation; false if there is none.
bool Worker::completeOne() {
  if (operations.empty())
    return false;
  size_t which = completion == EmulatorCompletion::Random
                     ? random() % operations.size()
                     : 0;
  AsyncOp op = std::move(operations[which]);
  operations.erase(operations.begin() + which);
  op.complete();
  return true;
}

void Worker::completeAtRandom() {
  while (!operations.empty() && random() % 4 == 0)
    completeOne();
}

/// A block ends: nothing may write its shared memory any more.
void Worker::dropOperations(Block &block) {
  for (AsyncOp &op : operations)
    if (op.to == &block) {
      fault(EmulatorFault::PendingCopy, op.line, *op.issuer,
            formatv("the copy has not come when the block{0} ends: nobody "
                    "waits for it",
                    op.issuer->block == &block ? "" : " it goes to"));
      op.drop();
    }
  llvm::erase_if(operations,
                 [&](const AsyncOp &op) { return op.to == &block; });
}
