//===- Shadow.h - who touched which shared-memory word ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A shadow of shared memory that remembers the last writer and two readers of
// each element, and which asynchronous operations are under way there. Threads
// are those of a cluster (Clocks.h).
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_EMULATOR_SHADOW_H
#define FUSEC_LIB_RUNTIME_EMULATOR_SHADOW_H

#include "Clocks.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace fusec::runtime::emulator {

/// What an access found.
enum class ShadowVerdict : uint8_t {
  Fine,
  Uninitialised,
  Race,
  Pending,    ///< a copy into the element has not been waited for
  BeingRead,  ///< an asynchronous operation still reads the element
  Unfenced,   ///< written by a thread, without a fence before the async proxy
  Unreleased, ///< written in another block, not released to the cluster
};

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
  /// may see before `finishCopy`. `proxy`: by the async proxy.
  ShadowConflict startCopy(uint32_t offset, uint32_t bytes, uint32_t thread,
                           int32_t line, bool proxy);
  /// It ended at the present moment of `thread`, which may be an agent.
  void finishCopy(uint32_t offset, uint32_t bytes, uint32_t thread,
                  int32_t line);
  /// Forgets a copy that was never waited for.
  void dropCopy(uint32_t offset, uint32_t bytes);
  /// The async proxy begins to read for `thread`.
  ShadowConflict startAsyncRead(uint32_t offset, uint32_t bytes,
                                uint32_t thread, int32_t line);
  /// What a read by `thread` would find.
  ShadowConflict peek(uint32_t offset, uint32_t bytes, uint32_t thread);
  /// The end of the read, which then counts as one by `thread` (or agent) at
  /// its present moment.
  void finishAsyncRead(uint32_t offset, uint32_t bytes, uint32_t thread,
                       int32_t line);

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
    uint16_t asyncReads = 0, asyncThread = 0, asyncLine = 0;
  };
  uint32_t granule(uint32_t offset, uint32_t bytes);
  ShadowConflict conflict(const Event &event, bool wrote) const;
  ShadowConflict checkRead(const Cell &cell, uint32_t thread) const;
  void noteRead(Cell &cell, uint32_t thread, int32_t line);
  ShadowConflict checkWrite(const Cell &cell, uint32_t thread) const;
  ShadowConflict checkProxy(const Cell &cell) const;
  template <class Visit>
  ShadowConflict forEach(uint32_t offset, uint32_t bytes, Visit visit);

  Clocks &clocks;
  // One a byte, the first of a granule counts. Zeroed pages until touched.
  struct Free {
    void operator()(Cell *memory) const { std::free(memory); }
  };
  std::unique_ptr<Cell[], Free> cells;
  std::vector<uint8_t> granules; // per 16 bytes: bytes a cell stands for
};

} // namespace fusec::runtime::emulator

#endif // FUSEC_LIB_RUNTIME_EMULATOR_SHADOW_H
