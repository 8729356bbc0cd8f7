//===- WorkerBarrier.cpp - barriers of a block, and who is stuck ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Worker.h"

#include "llvm/Support/FormatVariadic.h"

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using llvm::formatv;

//===-- Barriers ----------------------------------------------------------===//

/// Checks the arguments of a barrier and adds the thread to it.
NamedBarrier &Worker::enterBarrier(int32_t id, int32_t wanted, bool reduces,
                                   int32_t line) {
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
  NamedBarrier &barrier = block().barriers[id];
  EmuThread &me = thread();
  int32_t expected = named ? wanted : static_cast<int32_t>(count);
  if (barrier.arrived != 0 && barrier.expected != expected)
    fatal(EmulatorFault::DivergentBarrier, line,
          formatv("barrier {0} for {1} threads, but others wait there for {2}",
                  id, expected, barrier.expected));
  if (barrier.arrived != 0 && barrier.reduces != reduces)
    fatal(EmulatorFault::DivergentBarrier, line,
          formatv("barrier {0}: bar_token is undefined beside bar_named and "
                  "bar_named_arrive",
                  id));
  // bar.sync is one instruction for a warp: its threads arrive together.
  int32_t &warpLine = barrier.lineOfWarp[me.ids.warp];
  if (warpLine != 0 && warpLine != line)
    fatal(EmulatorFault::DivergentBarrier, line,
          formatv("barrier {0}, but other threads of the warp wait at the one "
                  "in line {1}",
                  id, warpLine));
  warpLine = line;
  barrier.expected = expected;
  barrier.reduces = reduces;
  ++barrier.arrived;
  me.barrier = id;
  if (named)
    barrier.members.push_back(me.inCluster);
  return barrier;
}

/// The last thread has come: the others go on.
static void wakeAll(NamedBarrier &barrier, uint32_t but,
                    llvm::function_ref<void(uint32_t)> wake) {
  for (uint32_t other : barrier.waiting)
    if (other != but)
      wake(other);
  barrier.clear();
}

void Worker::barrier(int32_t id, int32_t wanted, int32_t line) {
  waitAt(enterBarrier(id, wanted, /*reduces=*/false, line), wanted);
}

void Worker::barrierReduce(int32_t id, int32_t wanted, int32_t line) {
  waitAt(enterBarrier(id, wanted, /*reduces=*/true, line), wanted);
}

void Worker::waitAt(NamedBarrier &barrier, int32_t wanted) {
  EmuThread &me = thread();
  if (static_cast<int32_t>(barrier.arrived) < barrier.expected) {
    barrier.waiting.push_back(me.number);
    waitHere(Wait::Barrier);
    return;
  }
  if (wanted != -1)
    clocks().join(barrier.members);
  else
    clocks().joinBlock(me.block->rank);
  wakeAll(barrier, me.number, [&](uint32_t other) { makeReady(other); });
}

void Worker::barrierArrive(int32_t id, int32_t wanted, int32_t line) {
  if (wanted == -1)
    wanted = 0; // refused below
  NamedBarrier &barrier = enterBarrier(id, wanted, /*reduces=*/false, line);
  if (static_cast<int32_t>(barrier.arrived) < barrier.expected)
    return;
  clocks().join(barrier.members);
  wakeAll(barrier, thread().number, [&](uint32_t other) { makeReady(other); });
}

//===-- Stuck threads -----------------------------------------------------===//

static std::string describe(const EmuThread &thread) {
  switch (thread.wait) {
  case Wait::Nothing:
    return thread.done ? "exits" : "has not started";
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
  case Wait::Stmatrix:
    return formatv("waits at stmatrix in line {0}", thread.line);
  case Wait::Elect:
    return formatv("waits at elect_one in line {0}", thread.line);
  case Wait::Registers:
    return formatv("waits at setmaxnreg in line {0}", thread.line);
  case Wait::Mbarrier: {
    const Mbarrier &b = *thread.mbarrier;
    return formatv(
        "waits in line {0} for phase {1} of element {2} of the "
        "mbarriers made in line {3}, which lacks {4} of {5} arrivals "
        "and {6} bytes",
        thread.line, b.phase, b.element, b.initLine, b.pending, b.count,
        b.bytes);
  }
  case Wait::Cluster:
    return formatv("waits at cluster_wait in line {0}", thread.line);
  case Wait::Wgmma:
    return formatv("waits at wgmma_wait in line {0} for the other threads of "
                   "its warpgroup",
                   thread.line);
  case Wait::Polling:
    return formatv("polls in line {0}", thread.line);
  }
  llvm_unreachable("all waits are covered");
}

/// Waits in which a thread depends on what others do elsewhere.
static bool isRemote(Wait wait) {
  return wait == Wait::Mbarrier || wait == Wait::Cluster ||
         wait == Wait::Polling;
}

/// No thread can go on: names one that waits and one that does something else.
void Worker::reportStuckThreads() {
  const EmuThread *waiting = nullptr, *other = nullptr;
  for (uint32_t t = 0; t < total; ++t) {
    if (threads[t]->done)
      continue;
    if (isRemote(threads[t]->wait))
      return reportDeadlock();
    if (!waiting)
      waiting = threads[t].get();
  }
  auto differs = [&](const EmuThread &thread) {
    return thread.done || thread.wait != waiting->wait ||
           thread.line != waiting->line || thread.barrier != waiting->barrier;
  };
  // A warp function waits for its own warp only: look there first.
  for (bool sameWarp : {true, false})
    for (uint32_t t = 0; t < count && !other; ++t) {
      const EmuThread &thread = *threads[waiting->block->firstThread + t];
      if ((thread.ids.warp == waiting->ids.warp || !sameWarp) &&
          differs(thread))
        other = &thread;
    }
  std::string detail = "the thread " + describe(*waiting);
  if (other)
    detail +=
        formatv(", but thread {0} {1}", other->ids.tid, describe(*other)).str();
  else
    detail += ", and too few threads reach it";
  fault(EmulatorFault::DivergentBarrier, waiting->line, *waiting,
        std::move(detail));
}

/// Says who waits for what, like threads together.
void Worker::reportDeadlock() {
  constexpr size_t kShown = 8;
  struct Party {
    const EmuThread *first, *last;
    std::string what;
  };
  std::vector<Party> parties;
  size_t more = 0;
  for (uint32_t t = 0; t < total; ++t) {
    const EmuThread &thread = *threads[t];
    if (thread.done)
      continue;
    std::string what = describe(thread);
    if (!parties.empty() && parties.back().last->number + 1 == t &&
        parties.back().last->block == thread.block &&
        parties.back().what == what) {
      parties.back().last = &thread;
    } else if (parties.size() < kShown) {
      parties.push_back({&thread, &thread, std::move(what)});
    } else {
      ++more;
    }
  }
  std::string detail = "deadlock:";
  for (const Party &party : parties) {
    detail += &party == parties.data() ? " " : "; ";
    detail += party.first == party.last
                  ? formatv("thread {0}", party.first->ids.tid).str()
                  : formatv("threads {0}-{1}", party.first->ids.tid,
                            party.last->ids.tid)
                        .str();
    if (state->together > 1)
      detail += formatv(" of block {0}", party.first->block->at[0]).str();
    llvm::StringRef what = party.what;
    // "waits", "polls": of several threads without the s.
    auto [verb, rest] = what.split(' ');
    if (party.first != party.last && verb.consume_back("s"))
      detail += (" " + verb + " " + rest).str();
    else
      detail += (" " + what).str();
  }
  if (more)
    detail += formatv("; and {0} more threads wait", more).str();
  const EmuThread &first = *parties.front().first;
  fault(EmulatorFault::Deadlock, first.line, first, std::move(detail));
}
