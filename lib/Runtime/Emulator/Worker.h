//===- Worker.h - runs blocks on one OS thread ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A worker runs one group of blocks after another: a block, a cluster, or the
// whole grid of a cooperative launch. Their threads are fibres that run until
// they must wait; the last one to arrive at a barrier or warp function wakes
// the others. The order is fixed, so that a fault shows every time. Nothing a
// kernel does can hang a worker: if no thread can go on and nothing
// asynchronous is under way, that is a divergent barrier or a deadlock; if
// threads go on for too long, the watchdog ends the group.
//
// Asynchronous operations end when no thread can go on without them, the latest
// moment that is legal, or earlier (EmulatorCompletion).
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_EMULATOR_WORKER_H
#define FUSEC_LIB_RUNTIME_EMULATOR_WORKER_H

#include "Block.h"
#include "GlobalShadow.h"
#include "fusec/Runtime/Emulator/EmulatorModule.h"

#include <atomic>
#include <mutex>
#include <random>

namespace fusec::runtime::emulator {

/// What CUDA allows for arrays declared in a kernel.
inline constexpr uint32_t kStaticSharedLimit = 48 * 1024;
/// Shared memory of a block on the largest supported GPUs (227 KB).
inline constexpr uint32_t kSharedLimit = 232448;
/// Threads that run together, of a cluster or a cooperative launch.
inline constexpr uint32_t kMaxTogether = 160 * 1024;

/// What all workers of a launch share.
struct LaunchState {
  const EmulatorLaunch &launch;
  const EmulatorRunOptions &options;
  llvm::ArrayRef<EmulatorBuffer> buffers; // sorted by address
  void (*entry)(void **);
  bool checks;
  uint32_t cluster = 1;  // blocks
  uint64_t together = 1; // blocks that run together
  unsigned workers = 1;

  GlobalShadow global = {};
  std::atomic<uint64_t> nextGroup = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex = {}; // guards the two below
  std::vector<EmulatorReport> reports = {};
  uint64_t faults = 0;

  void report(EmulatorReport report);
};

class Worker {
public:
  Worker();
  Worker(const Worker &) = delete;

  /// The worker of the calling OS thread.
  static Worker &current();

  /// Runs blocks of the launch until none is left or the launch stopped.
  llvm::Error run(LaunchState &state);

  // The prelude's functions; see prelude_language.cuh.
  const FusecEmuIds *ids() const { return &thread().ids; }
  void load(void *dst, u64 base, i64 offset, uint32_t bytes, int32_t line);
  void store(u64 base, i64 offset, const void *src, uint32_t bytes,
             int32_t line);
  u64 atomic(int32_t op, int32_t type, u64 base, i64 offset, u64 a, u64 b,
             int32_t line);
  uint32_t sharedArray(const void *key, uint32_t bytes, uint32_t alignment,
                       int32_t line);
  uint32_t sharedDynamic(uint32_t offset, uint32_t elementBytes,
                         uint32_t *count, int32_t line);
  void sharedLoad(void *dst, FusecEmuShared at, uint32_t elements,
                  int32_t line);
  void sharedStore(FusecEmuShared at, const void *src, uint32_t elements,
                   int32_t line);
  void barrier(int32_t id, int32_t threads, int32_t line);
  void barrierWarp(int32_t line);
  u64 shuffle(int32_t kind, u64 value, int32_t arg, int32_t line);
  uint32_t vote(bool predicate, int32_t line);
  void fence(int32_t line) { step(line); }
  void gridWait(int32_t line) {
    step(line);
    thread().mayTouchGlobal = true;
  }
  void mma(int32_t kind, void *d, const uint32_t *a, const uint32_t *b,
           int32_t line);
  void ldmatrix(uint32_t *r, int32_t tiles, bool transposed, FusecEmuShared at,
                int32_t line);
  void copyAsync(FusecEmuShared at, u64 base, i64 offset, uint32_t bytes,
                 bool pred, int32_t line);
  void commitCopies(int32_t line);
  void waitCopies(int32_t newest, int32_t line);

  void poll(int32_t line);

  // Hopper's; see prelude_sm90.cuh.
  void mbarInit(FusecEmuShared at, int32_t count, int32_t line);
  void mbarArrive(int32_t kind, FusecEmuShared at, int32_t rank, int32_t bytes,
                  int32_t line);
  bool mbarWait(int32_t how, FusecEmuShared at, int32_t parity, int32_t line);
  void clusterBarrier(int32_t what, int32_t line);
  void peerLoad(void *dst, FusecEmuShared at, uint32_t elements, int32_t rank,
                int32_t line);
  void peerStore(FusecEmuShared at, const void *src, uint32_t elements,
                 int32_t rank, int32_t line);
  void storeAsync(FusecEmuShared at, const void *src, uint32_t elements,
                  int32_t rank, FusecEmuShared barrier, int32_t line);
  void proxyFence(int32_t line);
  /// Also for peers behind a barrier of the cluster that orders nothing itself.
  void mbarInitFence(int32_t line);
  void bulkLoad(FusecEmuShared to, u64 base, i64 offset, int32_t bytes,
                FusecEmuShared barrier, uint32_t mask, int32_t line);
  void bulkStore(u64 base, i64 offset, FusecEmuShared from, int32_t bytes,
                 int32_t line);
  void bulkSend(FusecEmuShared to, int32_t rank, FusecEmuShared from,
                int32_t bytes, FusecEmuShared barrier, int32_t line);
  void tmaLoad(FusecEmuShared to, const FusecTensorMap *map,
               const int32_t *coordinates, int32_t rank, FusecEmuShared barrier,
               uint32_t mask, int32_t line);
  void tmaPrefetch(const FusecTensorMap *map, const int32_t *coordinates,
                   int32_t rank, int32_t line);
  void tmaStore(const FusecTensorMap *map, FusecEmuShared from,
                const int32_t *coordinates, int32_t rank, int32_t line);
  void im2colLoad(FusecEmuShared to, const FusecTensorMap *map,
                  const int32_t *coordinates, const int32_t *offsets,
                  int32_t rank, FusecEmuShared barrier, uint32_t mask,
                  int32_t line);
  void im2colStore(const FusecTensorMap *map, FusecEmuShared from,
                   const int32_t *coordinates, int32_t rank, int32_t line);
  void bulkCommit(int32_t line);
  void bulkWait(int32_t newest, bool read, int32_t line);
  void registers(int32_t count, bool more, int32_t line);
  bool elect(int32_t line);
  void barrierArrive(int32_t id, int32_t threads, int32_t line);
  void barrierReduce(int32_t id, int32_t threads, int32_t line);
  void stmatrix(FusecEmuShared at, const uint32_t *r, int32_t tiles,
                bool transposed, int32_t line);
  void wgmmaFence(int32_t line);
  void wgmma(const FusecEmuWgmma *what, int32_t line);
  void wgmmaCommit(int32_t line);
  void wgmmaWait(int32_t newest, int32_t line);
  uint32_t packed(int32_t op, int32_t format, uint32_t x, uint32_t y,
                  uint32_t z);
  uint16_t encode(int32_t format, double value, bool saturate);

private:
  struct StaticArray {
    const void *key;
    uint32_t offset, bytes;
  };

  EmuThread &thread() const { return *running; }
  Block &block() const { return *running->block; }
  Clocks &clocks() const { return running->block->cluster->clocks; }

  // Scheduling (Worker.cpp).
  static void threadMain();
  llvm::Error prepare();
  void runGroup(u64 first);
  void startGroup(u64 first);
  void startThread(EmuThread &thread, Block &block, uint32_t tid);
  void finishGroup();
  void endThread();
  void endBlock(Block &block);
  void makeReady(uint32_t number);
  void makeReady(EmuThread &thread) { makeReady(thread.number); }
  void waitHere(Wait kind) {
    running->wait = kind;
    reschedule();
  }
  void reschedule(bool last = false);
  bool goOn();
  [[noreturn]] void abandonGroup();
  void step(int32_t line) {
    thread().line = line;
    if (--quantum == 0)
      endQuantum();
  }
  void endQuantum();

  // Barriers (WorkerBarrier.cpp).
  NamedBarrier &enterBarrier(int32_t id, int32_t wanted, bool reduces,
                             int32_t line);
  void waitAt(NamedBarrier &barrier, int32_t wanted);
  void reportStuckThreads();
  void reportDeadlock();

  // Asynchronous units (WorkerAsync.cpp).
  void begin(AsyncOp op);
  bool completeOne();
  void completeAtRandom();
  void dropOperations(Block &block);

  // Faults (Worker.cpp).
  void fault(EmulatorFault kind, int32_t line, const EmuThread &thread,
             std::string detail);
  void fault(EmulatorFault kind, int32_t line, std::string detail) {
    fault(kind, line, thread(), std::move(detail));
  }
  [[noreturn]] void fatal(EmulatorFault kind, int32_t line, std::string detail);
  std::string nameOf(const Cluster &cluster, uint32_t inCluster) const;

  // Memory (WorkerMemory.cpp).
  const EmulatorBuffer *findBuffer(u64 base);
  uint8_t *checkGlobal(const char *what, u64 base, i64 offset, u64 bytes,
                       bool reads, bool writes, int32_t line,
                       uint32_t alignment = 0, bool isAtomic = false);
  bool checkShared(const char *what, const FusecEmuShared &at, u64 elements,
                   uint32_t alignment, const EmuThread &thread, int32_t line);
  void checkConflict(const ShadowConflict &found, const char *what,
                     uint32_t offset, const Block &owner,
                     const EmuThread &thread, int32_t line);
  bool readShared(void *dst, Block &owner, const FusecEmuShared &at,
                  uint32_t elements, const EmuThread &thread, int32_t line);
  void writeShared(Block &owner, const FusecEmuShared &at, const void *src,
                   uint32_t elements, const EmuThread &thread, int32_t line);
  void checkPoison(const void *src, uint32_t bytes, int32_t line);

  // Transaction barriers (WorkerMbarrier.cpp).
  Mbarrier *findMbarrier(Block &owner, const FusecEmuShared &at, int32_t line);
  void completeBytes(Block &owner, Mbarrier &barrier, uint32_t bytes,
                     const EmuThread &issuer, int32_t line);
  void arriveAt(Block &owner, Mbarrier &barrier, int32_t line);
  void advance(Block &owner, Mbarrier &barrier, int32_t line);

  // Clusters (WorkerCluster.cpp).
  Block *findPeer(int32_t rank, int32_t line);
  Block *peer(int32_t rank, int32_t line);
  void finishClusterBarrier(Cluster &cluster);

  // Bulk copies and tensor maps (WorkerBulk.cpp, WorkerTensor.cpp,
  // WorkerIm2col.cpp).
  /// Where a copy lands: one block for each bit of the mask.
  struct Arrival {
    Block *to;
    Mbarrier *barrier;
  };
  llvm::SmallVector<Arrival, 2> arrivals(const FusecEmuShared &barrierAt,
                                         uint32_t mask, int32_t line);
  Mbarrier *asyncBarrier(Block &owner, const FusecEmuShared &at, int32_t line);
  void startArrival(const char *what, Block &to, uint32_t offset,
                    uint32_t bytes, int32_t line);
  void finishArrival(const Arrival &arrival, uint32_t offset, uint32_t bytes,
                     const EmuThread &issuer, int32_t line);
  void land(const Arrival &arrival, uint32_t offset, uint32_t bytes,
            int32_t line, std::function<void(uint8_t *)> write);
  bool checkBulk(const char *what, const FusecEmuShared &at, int64_t bytes,
                 uint32_t alignment, int32_t line);
  void startAsyncRead(const char *what, uint32_t offset, uint32_t bytes,
                      int32_t line);
  void addStore(BulkStore store);
  void readStore(EmuThread &issuer, BulkStore &store);
  void finishStore(EmuThread &issuer, BulkStore &store);
  bool checkMap(const FusecTensorMap *map, int32_t rank, bool im2col,
                int32_t line);
  /// Whether hardware copies a box from these coordinates: the innermost one
  /// stands at whole units of 16 bytes, and no store begins before the tensor.
  bool checkPlace(const FusecTensorMap *map, const int32_t *coordinates,
                  bool isStore, int32_t line);
  bool checkPixels(const FusecTensorMap *map, const int32_t *coordinates,
                   const int32_t *offsets, int32_t rank, int32_t line);

  // Warpgroups (WorkerWgmma.cpp).
  bool checkOperands(WgmmaOp &op, const EmuThread &thread);
  void computeWgmma(Block &owner, WgmmaOp &op);
  void endWgmma();

  // Warps (WorkerWarp.cpp).
  template <class Complete>
  const LaneData *meet(Wait kind, const LaneData &mine, int32_t line,
                       Complete complete);
  uint32_t warpLanes(uint32_t warp) const;
  void wantFullWarp(const char *what, int32_t line);

  LaunchState *state = nullptr;
  EmuThread *running = nullptr;
  Fiber main;
  StackPool stacks;
  std::vector<std::unique_ptr<EmuThread>> threads;
  std::vector<std::unique_ptr<Cluster>> clusters;
  std::vector<std::unique_ptr<Block>> blocks;
  uint32_t count = 0;          // threads of a block
  uint32_t total = 0;          // threads that run together
  std::vector<uint32_t> ready; // a ring of `total` thread numbers
  uint32_t readyFirst = 0, readyCount = 0;
  std::vector<uint32_t> pollers;
  uint32_t idleRounds = 0;
  uint32_t doneCount = 0;
  uint32_t quantum = 0;
  u64 steps = 0;
  bool abandoned = false;
  std::deque<AsyncOp> operations;
  EmulatorCompletion completion = EmulatorCompletion::Late;
  std::minstd_rand random;

  uint32_t sharedUsed = 0;
  llvm::SmallVector<StaticArray, 8> staticArrays;

  struct BufferCache {
    u64 base = 0;
    const EmulatorBuffer *buffer = nullptr;
  };
  std::array<BufferCache, 8> bufferCache;
  uint32_t bufferCacheNext = 0;
};

} // namespace fusec::runtime::emulator

#endif // FUSEC_LIB_RUNTIME_EMULATOR_WORKER_H
