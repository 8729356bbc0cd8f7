//===- Shadow.h - who touched which shared-memory word ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Happens-before for the threads of a block, and a shadow of shared memory
// that remembers the last writer and two readers of each element.
//
// Each thread has a clock that advances at its barriers. An event (thread u,
// clock c) happened before what thread t does now if a barrier of the whole
// block came after it (c <= everyone[u]) or t learnt of it through barriers of
// warps and named groups (c <= known[t][u]). Clocks go on from block to block,
// so nothing is cleared between blocks.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_EMULATOR_SHADOW_H
#define FUSEC_LIB_RUNTIME_EMULATOR_SHADOW_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace fusec::runtime::emulator {

/// The order of events in a block.
class Clocks {
public:
  /// Starts a block of `threads` threads: everything earlier is known to all.
  /// True if the clocks restarted from zero, so that shadows must be cleared.
  bool startBlock(uint32_t threads);
  uint32_t now(uint32_t thread) const { return clock[thread]; }
  /// True if an event of this block (not an earlier one).
  bool inBlock(uint32_t when) const { return when > base; }
  bool before(uint32_t thread, uint32_t when, uint32_t observer) const {
    return thread == observer || when <= everyone[thread] ||
           (usesKnown && when <= known[observer * size_t(count) + thread]);
  }
  /// All threads of the block meet.
  void joinBlock();
  /// Some threads meet.
  void join(llvm::ArrayRef<uint32_t> threads);

private:
  uint32_t count = 0, base = 0;
  bool usesKnown = false;
  std::vector<uint32_t> clock, everyone, known, merged;
};

/// What an access found.
enum class ShadowVerdict : uint8_t { Fine, Uninitialised, Race, Pending };

/// The other side of a race.
struct ShadowConflict {
  ShadowVerdict verdict = ShadowVerdict::Fine;
  bool otherWrote = false;
  uint32_t otherThread = 0;
  int32_t otherLine = 0;
};

/// The shadow of a block's shared memory. Offsets are bytes; an element is 1,
/// 2, 4, 8 or 16 bytes and aligned to its size.
class Shadow {
public:
  explicit Shadow(Clocks &clocks) : clocks(clocks) {}
  /// Makes room for `bytes` of shared memory.
  void resize(uint32_t bytes);
  void clear();

  ShadowConflict read(uint32_t offset, uint32_t bytes, uint32_t thread,
                      int32_t line);
  ShadowConflict write(uint32_t offset, uint32_t bytes, uint32_t thread,
                       int32_t line);
  /// An asynchronous copy into the element begins: a write whose value nobody
  /// may see before `finishCopy`.
  ShadowConflict startCopy(uint32_t offset, uint32_t bytes, uint32_t thread,
                           int32_t line);
  void finishCopy(uint32_t offset, uint32_t bytes, uint32_t thread,
                  int32_t line);
  /// Forgets a copy that was never waited for.
  void dropCopy(uint32_t offset, uint32_t bytes);

private:
  /// The clock of a write that is still under way.
  static constexpr uint32_t kPending = ~0u;
  static constexpr uint32_t kLine = 16;
  struct Event {
    uint32_t when = 0;
    uint16_t thread = 0;
    uint16_t line = 0;
  };
  struct Cell {
    Event write, reads[2];
  };
  uint32_t granule(uint32_t offset, uint32_t bytes);
  ShadowConflict conflict(const Event &event, bool wrote) const;
  ShadowConflict readCell(Cell &cell, uint32_t thread, int32_t line);
  ShadowConflict checkWrite(const Cell &cell, uint32_t thread) const;
  template <class Visit>
  ShadowConflict forEach(uint32_t offset, uint32_t bytes, Visit visit);

  Clocks &clocks;
  std::vector<Cell> cells;       // one a byte; the first of a granule counts
  std::vector<uint8_t> granules; // per 16 bytes: bytes a cell stands for
};

} // namespace fusec::runtime::emulator

#endif // FUSEC_LIB_RUNTIME_EMULATOR_SHADOW_H
