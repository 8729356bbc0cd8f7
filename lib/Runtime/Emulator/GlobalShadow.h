//===- GlobalShadow.h - which block touched which global word ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of a launch run in any order, so what one of them writes no other may
// touch, unless they synchronise. A launch remembers for each word of its
// buffers the last two units (blocks, or clusters) that wrote it and the last
// two that read it, with the bytes of the word that they touched.
//
// Any atomic operation counts as synchronisation: an access is ordered after
// an earlier one of another unit if since then the other has done one and the
// own unit too. So nothing is reported that is right, but not all that is
// wrong.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_EMULATOR_GLOBALSHADOW_H
#define FUSEC_LIB_RUNTIME_EMULATOR_GLOBALSHADOW_H

#include "fusec/Runtime/Emulator/EmulatorModule.h"

#include <atomic>
#include <cstdlib>
#include <optional>

namespace fusec::runtime::emulator {

/// Shared by the workers of a launch, which use it without a lock.
class GlobalShadow {
public:
  /// Begins to watch the buffers of a launch of `units`, if they are small
  /// enough for it.
  void start(llvm::ArrayRef<EmulatorBuffer> buffers, uint64_t units);
  bool isOn() const { return !shadows.empty(); }

  /// An access to bytes of buffer `index`; a unit that it races with.
  std::optional<uint32_t> access(size_t index, uint64_t offset, uint64_t bytes,
                                 uint32_t unit, bool writes) {
    std::optional<uint32_t> found;
    uint64_t end = offset + bytes;
    for (uint64_t word = offset / 4; word * 4 < end; ++word) {
      uint64_t from = std::max(offset, word * 4) - word * 4;
      uint64_t to = std::min(end, word * 4 + 4) - word * 4;
      auto mask = static_cast<uint32_t>((1u << to) - (1u << from));
      if (auto other = visit(shadows[index][word], mask, unit, writes))
        found = other;
    }
    return found;
  }
  /// The unit does an atomic operation.
  void synchronise(uint32_t unit) {
    if (isOn())
      synchronised[unit].store(++now, std::memory_order_relaxed);
  }

private:
  // Unit + 1 (0 for none), 4 bits of mask, 28 bits of time.
  using Slot = std::atomic<uint64_t>;
  struct Cell {
    Slot writes[2], reads[2];
  };
  struct Free {
    void operator()(Cell *memory) const { std::free(memory); }
  };
  std::optional<uint32_t> visit(Cell &cell, uint32_t mask, uint32_t unit,
                                bool writes);
  std::optional<uint32_t> conflict(const Slot (&slots)[2], uint32_t mask,
                                   uint32_t unit) const;
  void note(Slot (&slots)[2], uint32_t mask, uint32_t unit);

  std::vector<std::unique_ptr<Cell[], Free>> shadows; // zeroed pages
  std::vector<std::atomic<uint32_t>> synchronised;    // by unit
  std::atomic<uint32_t> now = 0;
};

} // namespace fusec::runtime::emulator

#endif // FUSEC_LIB_RUNTIME_EMULATOR_GLOBALSHADOW_H
