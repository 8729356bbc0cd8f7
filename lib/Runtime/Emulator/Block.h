//===- Block.h - the state of blocks that run together ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a block, a cluster and a thread of them are while they run on a worker:
// shared memory with its shadow, barriers, and the asynchronous operations that
// threads have begun. Plain data; Worker's methods act on it.
//
// Three numberings of threads: `tid` in its block, `inCluster` as clocks and
// shadows count, `number` among all threads that run together.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_EMULATOR_BLOCK_H
#define FUSEC_LIB_RUNTIME_EMULATOR_BLOCK_H

#include "Api.h"
#include "Clocks.h"
#include "Fiber.h"
#include "Shadow.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>

namespace fusec::runtime::emulator {

inline constexpr uint32_t kWarpSize = 32;
inline constexpr uint32_t kWarpgroupSize = 128;
inline constexpr uint32_t kMaxThreads = 1024;
inline constexpr uint32_t kMaxCluster = 16;
inline constexpr uint32_t kNamedBarriers = 16;

struct Block;
struct EmuThread;

/// What a thread waits for; for reports.
enum class Wait : uint8_t {
  Nothing,
  Barrier,
  WarpBarrier,
  Shuffle,
  Vote,
  Mma,
  Ldmatrix,
  Stmatrix,
  Elect,
  Registers,
  Mbarrier,
  Cluster,
  Wgmma,
  Polling
};

/// A cp.async that was issued and not yet waited for. `data` is filled when
/// the source is read.
struct PendingCopy {
  uint32_t group, offset, bytes, elementBytes;
  int32_t line;
  const uint8_t *source; // null: zeros
  bool done;
  uint8_t data[16];
};

/// A copy of shared memory to global memory by the copy engine, as a list of
/// pieces; or the sending of shared memory to a peer.
struct BulkPiece {
  uint8_t *to;
  uint32_t offset, bytes;
};
struct BulkStore {
  uint32_t group;
  uint32_t offset, bytes; // the range of shared memory, for its shadow
  int32_t line;
  bool wasRead = false;
  std::vector<BulkPiece> pieces;
  std::vector<uint8_t> data;
};

/// A transaction barrier.
struct Mbarrier {
  int64_t element = 0; // in its array, for reports
  uint32_t count = 0;
  int64_t pending = 0; // arrivals still missing in this phase
  int64_t bytes = 0;   // expected and not come
  uint64_t phase = 0;  // phases that are over
  int32_t initLine = 0;
  uint32_t initThread = 0, initWhen = 0;
  uint32_t agent = 0;
  Gathered gathered;
  Knowledge released; // by the last phase
  std::vector<EmuThread *> waiting;
  /// Woken by the last phase, and perhaps not yet running.
  std::vector<EmuThread *> woken;
};

/// One product of a warpgroup.
struct WgmmaOp {
  FusecEmuWgmma what = {}; // of the first thread
  int32_t line = 0;
  uint32_t group = 0;
  uint32_t arrived = 0, waited = 0;
  bool computed = false, readsEnded = false;
  std::shared_ptr<std::vector<double>> values; // 64 x n, shared along a chain
  std::vector<uint32_t> registersOfA;          // 128 x 4
  std::vector<uint32_t> unitsA, unitsB;        // 16-byte units of the operands
  uint64_t readUntil = 0;                      // the agent's clock
};
/// An accumulator of a thread that products in flight will write.
struct WgmmaAccumulator {
  void *d = nullptr;
  int32_t n = 0;
  std::shared_ptr<std::vector<double>> values;
  uint32_t pending = 0;
};
struct WgmmaIssued {
  std::shared_ptr<WgmmaOp> op;
  void *d;
};
struct Warpgroup {
  std::deque<std::shared_ptr<WgmmaOp>> ops; // from number `first` on
  uint64_t first = 0;
  uint32_t agent = 0;
  bool hasAgent = false;
  std::vector<EmuThread *> waiting;
  void clear() {
    ops.clear();
    first = 0;
    hasAgent = false;
    waiting.clear();
  }
};

struct EmuThread {
  FusecEmuIds ids = {};
  Fiber fiber;
  Block *block = nullptr;
  uint32_t number = 0, inCluster = 0;
  bool done = false;
  Wait wait = Wait::Nothing;
  int32_t line = 0;
  int32_t barrier = 0;
  const Mbarrier *mbarrier = nullptr;
  /// A barrier that woke this thread, which has not run since.
  const Mbarrier *unseen = nullptr;
  uint32_t warpPhase = 0;
  uint32_t copyGroup = 0, bulkGroup = 0;
  bool clusterArrived = false;
  uint64_t clusterGeneration = 0;
  /// Has waited for the launches before, or is of a kernel that need not.
  bool mayTouchGlobal = true;
  bool wgmmaFenced = false;
  uint32_t wgmmaGroup = 0;
  uint64_t wgmmaIssued = 0;
  llvm::SmallVector<PendingCopy, 0> copies;
  std::deque<BulkStore> stores;
  std::deque<WgmmaIssued> products;
  llvm::SmallVector<WgmmaAccumulator, 0> accumulators;
};

/// What a lane brings to a warp function.
struct LaneData {
  uint64_t value;
  void *d;
  const uint32_t *a, *b;
  uint32_t *r;
  FusecEmuShared at;
};

struct NamedBarrier {
  int32_t expected = 0;
  /// Those who have arrived take part in a bar.red.
  bool reduces = false;
  uint32_t arrived = 0;
  llvm::SmallVector<uint32_t, 0> waiting; // by `number`
  llvm::SmallVector<uint32_t, 0> members; // by `inCluster`, those that went on
                                          // too
  int32_t lineOfWarp[kMaxThreads / kWarpSize] = {};
  void clear() {
    arrived = 0;
    waiting.clear();
    members.clear();
    std::fill(std::begin(lineOfWarp), std::end(lineOfWarp), 0);
  }
};

struct WarpState {
  uint32_t arrived = 0;
  Wait kind = Wait::Nothing;
  int32_t line = 0;
  LaneData lanes[2][kWarpSize];
};

struct Cluster {
  Clocks clocks;
  std::vector<Block *> blocks;
  // The barrier of the cluster.
  uint32_t arrived = 0, left = 0;
  uint64_t generation = 0;
  Gathered gathered;
  Knowledge released;
  std::vector<EmuThread *> waiting;
};

/// The last access of a thread to the shared memory of a peer; or of a store in
/// the background, an event of the agent of its mbarrier.
struct PeerAccess {
  uint32_t when;
  int32_t line;
  const EmuThread *by;
};

struct Block {
  explicit Block(Cluster &cluster)
      : cluster(&cluster), shadow(cluster.clocks) {}
  Cluster *cluster;
  uint32_t rank = 0;
  uint32_t firstThread = 0; // by `number`
  uint32_t unit = 0;        // its cluster's number in the launch
  std::array<uint32_t, 3> at = {0, 0, 0};
  uint32_t doneCount = 0;
  bool ended = false;
  bool dirty = false; // the shadow holds operations that did not end
  NamedBarrier barriers[kNamedBarriers];
  WarpState warps[kMaxThreads / kWarpSize];
  std::vector<uint8_t> shared;
  Shadow shadow;
  llvm::DenseMap<uint32_t, std::unique_ptr<Mbarrier>> mbarriers;
  Warpgroup warpgroups[kMaxThreads / kWarpgroupSize];
  llvm::DenseMap<uint32_t, PeerAccess> peerAccesses; // by clock
  Gathered exits; // what its threads knew when they ended
};

/// An operation of an asynchronous unit that has begun: it ends in one step.
struct AsyncOp {
  EmuThread *issuer;
  Block *to; // whose shared memory it writes
  int32_t line;
  std::function<void()> complete;
  std::function<void()> drop;
};

} // namespace fusec::runtime::emulator

#endif // FUSEC_LIB_RUNTIME_EMULATOR_BLOCK_H
