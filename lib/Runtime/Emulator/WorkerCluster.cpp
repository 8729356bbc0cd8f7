//===- WorkerCluster.cpp - clusters and the memory of peers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Numbers.h"
#include "Worker.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstring>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using llvm::formatv;

/// A block of the cluster, which has not ended. Null after a report.
Block *Worker::findPeer(int32_t rank, int32_t line) {
  Cluster &cluster = *block().cluster;
  if (rank < 0 || rank >= static_cast<int32_t>(cluster.blocks.size()))
    fatal(EmulatorFault::InvalidArgument, line,
          formatv("rank {0} in a cluster of {1} blocks", rank,
                  cluster.blocks.size()));
  Block *other = cluster.blocks[rank];
  if (other == &block())
    return other;
  if (other->ended) {
    fault(EmulatorFault::ClusterExit, line,
          formatv("an access to the shared memory of block {0} of the cluster, "
                  "which has ended",
                  rank));
    return nullptr;
  }
  return other;
}

/// A block of the cluster whose shared memory the thread is about to access.
/// Null after a report.
Block *Worker::peer(int32_t rank, int32_t line) {
  Block *other = findPeer(rank, line);
  if (!other || other == &block())
    return other;
  // The end of that block must come after this moment.
  EmuThread &me = thread();
  other->peerAccesses[me.inCluster] = {clocks().now(me.inCluster), line, &me};
  return other;
}

void Worker::peerLoad(void *dst, FusecEmuShared at, uint32_t elements,
                      int32_t rank, int32_t line) {
  step(line);
  if (Block *owner = peer(rank, line))
    readShared(dst, *owner, at, elements, thread(), line);
  else
    std::memset(dst, 0, elements * at.elementBytes);
}

void Worker::peerStore(FusecEmuShared at, const void *src, uint32_t elements,
                       int32_t rank, int32_t line) {
  step(line);
  checkPoison(src, elements * at.elementBytes, line);
  if (Block *owner = peer(rank, line))
    writeShared(*owner, at, src, elements, thread(), line);
}

//===-- The barrier of the cluster ----------------------------------------===//

/// Ends the phase if all threads that have not ended arrived.
void Worker::finishClusterBarrier(Cluster &cluster) {
  uint32_t all = cluster.clocks.threads();
  if (cluster.arrived + cluster.left < all)
    return;
  cluster.arrived = 0;
  ++cluster.generation;
  cluster.released = Clocks::freeze(cluster.gathered);
  for (EmuThread *waiting : cluster.waiting) {
    cluster.clocks.acquire(waiting->inCluster, cluster.released);
    waiting->clusterArrived = false;
    makeReady(*waiting);
  }
  cluster.waiting.clear();
}

void Worker::clusterBarrier(int32_t what, int32_t line) {
  step(line);
  EmuThread &me = thread();
  Cluster &cluster = *block().cluster;
  if (what != FusecClusterWait) {
    if (me.clusterArrived)
      fatal(EmulatorFault::DivergentBarrier, line,
            "a second arrival at the cluster's barrier without a wait");
    me.clusterArrived = true;
    me.clusterGeneration = cluster.generation;
    if (what == FusecClusterArrive)
      cluster.clocks.releaseToCluster(me.inCluster);
    cluster.clocks.release(me.inCluster, cluster.gathered);
    ++cluster.arrived;
    finishClusterBarrier(cluster);
    return;
  }
  if (!me.clusterArrived)
    fatal(EmulatorFault::DivergentBarrier, line,
          "a cluster_wait without an arrival before it");
  if (cluster.generation == me.clusterGeneration) {
    cluster.waiting.push_back(&me);
    waitHere(Wait::Cluster);
    return;
  }
  cluster.clocks.acquire(me.inCluster, cluster.released);
  me.clusterArrived = false;
}

//===-- Background stores -------------------------------------------------===//

void Worker::storeAsync(FusecEmuShared at, const void *src, uint32_t elements,
                        int32_t rank, FusecEmuShared barrierAt, int32_t line) {
  step(line);
  Block *owner = findPeer(rank, line);
  if (!owner)
    return;
  EmuThread &me = thread();
  uint32_t bytes = elements * at.elementBytes;
  checkPoison(src, bytes, line);
  Mbarrier *barrier = findMbarrier(*owner, barrierAt, line);
  if (!barrier || !checkShared("st_async", at, elements, bytes, me, line))
    return;
  uint32_t offset = at.base + uint32_t(at.index) * at.elementBytes;
  if (state->checks)
    checkConflict(
        owner->shadow.startCopy(offset, bytes, me.inCluster, line, true),
        "st_async", offset, *owner, me, line);
  std::array<uint8_t, 16> data;
  std::memcpy(data.data(), src, bytes);
  auto complete = [this, owner, barrier, offset, bytes, data, line, &me] {
    std::memcpy(&owner->shared[offset], data.data(), bytes);
    if (state->checks)
      owner->shadow.finishCopy(offset, bytes, barrier->agent, line);
    // Whoever waits for the bytes knows that the store is over.
    if (owner != me.block)
      owner->peerAccesses[barrier->agent] = {
          owner->cluster->clocks.now(barrier->agent), line, &me};
    completeBytes(*owner, *barrier, bytes, me, line);
  };
  auto drop = [owner, offset, bytes] { owner->shadow.dropCopy(offset, bytes); };
  begin({&me, owner, line, complete, drop});
}

//===-- Fences ------------------------------------------------------------===//

void Worker::proxyFence(int32_t line) {
  step(line);
  clocks().fenceProxy(thread().inCluster);
}

void Worker::mbarInitFence(int32_t line) {
  proxyFence(line);
  if (Cluster *cluster = block().cluster)
    cluster->clocks.releaseToCluster(thread().inCluster);
}
