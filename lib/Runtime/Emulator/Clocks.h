//===- Clocks.h - the order of events in a cluster --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Happens-before for the threads of a cluster of blocks. Each thread has a
// clock that advances when it synchronises. An event (thread u, clock c)
// happened before what thread t does now if a barrier of the whole block came
// after it (c <= everyone[u], same block) or t learnt of it in another way:
// t's knowledge holds, for each u, the latest clock of u that it knows.
//
// Knowledge is immutable and shared: the threads that met at a barrier have one
// copy. What asynchronous units do has the clock of an agent, one for each
// mbarrier and warpgroup, which threads learn of only by waiting.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_EMULATOR_CLOCKS_H
#define FUSEC_LIB_RUNTIME_EMULATOR_CLOCKS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace fusec::runtime::emulator {

/// The latest known clock of each thread and agent; those past the end are
/// unknown. Null knows nothing.
using Knowledge = std::shared_ptr<const std::vector<uint32_t>>;

/// Knowledge that threads leave at a barrier, one after the other.
struct Gathered {
  std::vector<uint32_t> known;
  Knowledge last;                   // the one merged last: often the next too
  std::vector<uint32_t> everyoneOf; // by block: the version that was merged
};

class Clocks {
public:
  /// Starts a cluster: everything earlier is known to all. True if the clocks
  /// restarted from zero, so that shadows must be cleared.
  bool start(uint32_t blocks, uint32_t threadsOfBlock);
  /// A new agent; numbered after the threads.
  uint32_t addAgent();
  uint32_t threads() const { return threadCount; }
  bool isAgent(uint32_t thread) const { return thread >= threadCount; }
  uint32_t blockOf(uint32_t thread) const { return thread / perBlock; }
  uint32_t now(uint32_t thread) const { return clock[thread]; }
  /// Ends the present moment of a thread and returns it.
  uint32_t tick(uint32_t thread) { return clock[thread]++; }
  /// True if an event of this cluster (not an earlier one).
  bool inBlock(uint32_t when) const { return when > base; }
  bool before(uint32_t thread, uint32_t when, uint32_t observer) const {
    if (thread == observer)
      return true;
    if (when <= everyone[thread] &&
        (blockCount == 1 || blockOf(thread) == blockOf(observer)))
      return true;
    return usesKnowledge && knows(knowledge[observer], thread, when);
  }
  /// All threads of a block meet.
  void joinBlock(uint32_t block);
  /// Some threads meet.
  void join(llvm::ArrayRef<uint32_t> threads);

  /// The thread leaves what it knows, itself included.
  void release(uint32_t thread, Gathered &into);
  /// An agent's event becomes known to whoever acquires `into`.
  void releaseAgent(uint32_t agent, Gathered &into);
  static Knowledge freeze(const Gathered &from) {
    return std::make_shared<const std::vector<uint32_t>>(from.known);
  }
  void acquire(uint32_t thread, const Knowledge &from);
  /// One clock of an agent becomes known to a thread.
  void learn(uint32_t thread, uint32_t agent, uint32_t when);
  const Knowledge &knowledgeOf(uint32_t thread) const {
    return knowledge[thread];
  }
  static bool knows(const Knowledge &row, uint32_t thread, uint32_t when) {
    return row && thread < row->size() && (*row)[thread] >= when;
  }

  /// The thread fences its earlier writes against the async proxy.
  void fenceProxy(uint32_t thread) { fenced[thread] = tick(thread); }
  bool isFenced(uint32_t thread, uint32_t when) const {
    return when <= fenced[thread];
  }
  /// The thread releases what it knows of its block to the cluster.
  void releaseToCluster(uint32_t thread);
  bool isReleased(uint32_t thread, uint32_t when) const {
    return when <= released[thread];
  }

private:
  void mergeThread(uint32_t thread, std::vector<uint32_t> &into,
                   Knowledge &last) const;

  uint32_t blockCount = 1, perBlock = 1, threadCount = 0, base = 0;
  bool usesKnowledge = false;
  // By thread, then agent.
  std::vector<uint32_t> clock, everyone;
  // By thread.
  std::vector<Knowledge> knowledge;
  std::vector<uint32_t> fenced, released;
  // By block: counts the barriers of the whole block.
  std::vector<uint32_t> everyoneVersion;
  // The last merge of two: threads of a warpgroup often repeat it.
  Knowledge mergedA, mergedB, mergedResult;
};

} // namespace fusec::runtime::emulator

#endif // FUSEC_LIB_RUNTIME_EMULATOR_CLOCKS_H
