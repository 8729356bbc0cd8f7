//===- Worker.h - runs blocks on one OS thread ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A worker runs one block after another. The threads of a block are fibres
// that run until they must wait; the last one to arrive at a barrier or warp
// function wakes the others. The order is fixed, so that a fault shows every
// time. Nothing a kernel does can hang a worker: if no thread can go on, that
// is a divergent barrier; if threads go on for too long, the watchdog ends the
// block.
//
// Later: clusters are several blocks on one worker, and asynchronous units
// (bulk copies, warpgroup MMA) are further entries of the ready queue whose
// completion is a release with the clock of the issuing thread.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_EMULATOR_WORKER_H
#define FUSEC_LIB_RUNTIME_EMULATOR_WORKER_H

#include "Api.h"
#include "Fiber.h"
#include "Shadow.h"
#include "fusec/Runtime/Emulator/EmulatorModule.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace fusec::runtime::emulator {

inline constexpr uint32_t kWarpSize = 32;
inline constexpr uint32_t kMaxThreads = 1024;
inline constexpr uint32_t kNamedBarriers = 16;
/// What CUDA allows for arrays declared in a kernel.
inline constexpr uint32_t kStaticSharedLimit = 48 * 1024;
/// Shared memory of a block on the largest supported GPUs (227 KB).
inline constexpr uint32_t kSharedLimit = 232448;

/// What all workers of a launch share.
struct LaunchState {
  const EmulatorLaunch &launch;
  const EmulatorRunOptions &options;
  llvm::ArrayRef<EmulatorBuffer> buffers; // sorted by address
  void (*entry)(void **);
  bool checks;

  std::atomic<uint64_t> nextBlock = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex = {}; // guards the two below
  std::vector<EmulatorReport> reports = {};
  uint64_t faults = 0;

  void report(EmulatorReport report);
};

/// An asynchronous copy that was issued and not yet waited for.
struct PendingCopy {
  uint32_t group;
  uint32_t offset;
  uint32_t bytes;
  uint32_t elementBytes;
  int32_t line;
  uint8_t data[16];
};

/// What a thread of the block waits for; for reports.
enum class Wait : uint8_t {
  Nothing,
  Barrier,
  WarpBarrier,
  Shuffle,
  Vote,
  Mma,
  Ldmatrix
};

struct EmuThread {
  FusecEmuIds ids = {};
  Fiber fiber;
  bool done = false;
  Wait wait = Wait::Nothing;
  int32_t line = 0;
  int32_t barrier = 0;
  uint32_t warpPhase = 0;
  uint32_t copyGroup = 0;
  llvm::SmallVector<PendingCopy, 0> copies;
};

/// What a lane brings to a warp function.
struct LaneData {
  uint64_t value;
  float *d;
  const uint32_t *a, *b;
  uint32_t *r;
  FusecEmuShared at;
};

class Worker {
public:
  Worker();
  Worker(const Worker &) = delete;

  /// The worker of the calling OS thread.
  static Worker &current();

  /// Runs blocks of the launch until none is left or the launch stopped.
  llvm::Error run(LaunchState &state);

  // The prelude's functions; see prelude_cuda.cuh.
  const FusecEmuIds *ids() const { return &thread().ids; }
  void load(void *dst, u64 base, i64 offset, uint32_t bytes, int32_t line);
  void store(u64 base, i64 offset, const void *src, uint32_t bytes,
             int32_t line);
  u64 atomic(int32_t op, int32_t type, u64 base, i64 offset, u64 a, u64 b,
             int32_t line);
  uint32_t sharedArray(const void *key, uint32_t bytes, int32_t line);
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
  void mma(int32_t kind, float *d, const uint32_t *a, const uint32_t *b,
           int32_t line);
  void ldmatrix(uint32_t *r, int32_t tiles, bool transposed, FusecEmuShared at,
                int32_t line);
  void copyAsync(FusecEmuShared at, u64 base, i64 offset, uint32_t bytes,
                 bool pred, int32_t line);
  void commitCopies(int32_t line);
  void waitCopies(int32_t newest, int32_t line);

private:
  struct Barrier {
    int32_t expected = 0;
    llvm::SmallVector<uint32_t, 0> waiting;
    int32_t lineOfWarp[kMaxThreads / kWarpSize] = {};
    void clear() {
      waiting.clear();
      std::fill(std::begin(lineOfWarp), std::end(lineOfWarp), 0);
    }
  };
  struct WarpState {
    uint32_t arrived = 0;
    Wait kind = Wait::Nothing;
    int32_t line = 0;
    LaneData lanes[2][kWarpSize];
  };
  struct StaticArray {
    const void *key;
    uint32_t offset, bytes;
  };

  EmuThread &thread() const { return *running; }

  // Scheduling (Worker.cpp).
  static void threadMain();
  llvm::Error prepare();
  void runBlock(u64 linear);
  void startBlock(u64 linear);
  void finishBlock();
  void makeReady(uint32_t thread);
  void reschedule(bool last = false);
  [[noreturn]] void abandonBlock();
  void step(int32_t line) {
    thread().line = line;
    if (--quantum == 0)
      endQuantum();
  }
  void endQuantum();
  void reportStuckThreads();

  // Faults (Worker.cpp).
  void fault(EmulatorFault kind, int32_t line, uint32_t thread,
             std::string detail);
  void fault(EmulatorFault kind, int32_t line, std::string detail) {
    fault(kind, line, static_cast<uint32_t>(thread().ids.tid),
          std::move(detail));
  }
  [[noreturn]] void fatal(EmulatorFault kind, int32_t line, std::string detail);

  // Memory (WorkerMemory.cpp).
  const EmulatorBuffer *findBuffer(u64 base);
  uint8_t *checkGlobal(const char *what, u64 base, i64 offset, uint32_t bytes,
                       bool reads, bool writes, int32_t line);
  bool checkShared(const char *what, const FusecEmuShared &at, u64 elements,
                   uint32_t alignment, uint32_t thread, int32_t line);
  void checkConflict(const ShadowConflict &found, const char *what,
                     uint32_t offset, uint32_t thread, int32_t line);
  bool readShared(void *dst, const FusecEmuShared &at, uint32_t elements,
                  uint32_t thread, int32_t line);

  // Warps (WorkerWarp.cpp).
  template <class Complete>
  const LaneData *meet(Wait kind, const LaneData &mine, int32_t line,
                       Complete complete);
  uint32_t warpLanes(uint32_t warp) const;

  LaunchState *state = nullptr;
  EmuThread *running = nullptr;
  Fiber main;
  StackPool stacks;
  std::vector<std::unique_ptr<EmuThread>> threads;
  uint32_t count = 0;          // threads of a block
  std::vector<uint32_t> ready; // a ring of `count` thread numbers
  uint32_t readyFirst = 0, readyCount = 0;
  uint32_t doneCount = 0;
  uint32_t quantum = 0;
  u64 steps = 0;
  bool abandoned = false;
  std::array<uint32_t, 3> block = {0, 0, 0};

  Barrier barriers[kNamedBarriers];
  WarpState warps[kMaxThreads / kWarpSize];

  std::vector<uint8_t> shared;
  uint32_t sharedUsed = 0;
  llvm::SmallVector<StaticArray, 8> staticArrays;
  Clocks clocks;
  Shadow shadow{clocks};

  struct BufferCache {
    u64 base = 0;
    const EmulatorBuffer *buffer = nullptr;
  };
  std::array<BufferCache, 8> bufferCache;
  uint32_t bufferCacheNext = 0;
};

} // namespace fusec::runtime::emulator

#endif // FUSEC_LIB_RUNTIME_EMULATOR_WORKER_H
