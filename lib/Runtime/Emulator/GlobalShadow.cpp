//===- GlobalShadow.cpp - which block touched which global word -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GlobalShadow.h"

#include "llvm/Support/MemAlloc.h"

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;

// A shadow is eight times as large as what it watches.
static constexpr uint64_t kMaxBytes = 8u << 20;
static constexpr uint64_t kMaxUnits = 1u << 20;
static constexpr uint32_t kTimeMask = (1u << 28) - 1;

void GlobalShadow::start(llvm::ArrayRef<EmulatorBuffer> buffers,
                         uint64_t units) {
  uint64_t total = 0;
  for (const EmulatorBuffer &buffer : buffers)
    if (__builtin_add_overflow(total, buffer.bytes, &total))
      return;
  if (units < 2 || units > kMaxUnits || total > kMaxBytes)
    return;
  for (const EmulatorBuffer &buffer : buffers)
    shadows.emplace_back(static_cast<Cell *>(
        llvm::safe_calloc(buffer.bytes / 4 + 1, sizeof(Cell))));
  synchronised = std::vector<std::atomic<uint32_t>>(units);
}

static uint32_t unitOf(uint64_t slot) {
  return static_cast<uint32_t>(slot) - 1;
}
static uint32_t maskOf(uint64_t slot) { return slot >> 32 & 15; }
static uint32_t timeOf(uint64_t slot) {
  return static_cast<uint32_t>(slot >> 36);
}

/// Another unit in the slots that touched some of these bytes, not ordered.
std::optional<uint32_t> GlobalShadow::conflict(const Slot (&slots)[2],
                                               uint32_t mask,
                                               uint32_t unit) const {
  for (const Slot &slot : slots) {
    uint64_t found = slot.load(std::memory_order_relaxed);
    if (found == 0 || unitOf(found) == unit || !(maskOf(found) & mask))
      continue;
    uint32_t when = timeOf(found);
    auto since = [&](uint32_t which) {
      return (synchronised[which].load(std::memory_order_relaxed) & kTimeMask) >
             when;
    };
    if (!since(unitOf(found)) || !since(unit))
      return unitOf(found);
  }
  return std::nullopt;
}

void GlobalShadow::note(Slot (&slots)[2], uint32_t mask, uint32_t unit) {
  uint64_t time = now.load(std::memory_order_relaxed) & kTimeMask;
  uint64_t first = slots[0].load(std::memory_order_relaxed);
  if (first != 0 && unitOf(first) == unit)
    mask |= maskOf(first);
  else if (first != 0)
    slots[1].store(first, std::memory_order_relaxed);
  uint64_t next = (uint64_t(unit) + 1) | uint64_t(mask) << 32 | time << 36;
  if (next != first)
    slots[0].store(next, std::memory_order_relaxed);
}

std::optional<uint32_t> GlobalShadow::visit(Cell &cell, uint32_t mask,
                                            uint32_t unit, bool writes) {
  std::optional<uint32_t> found = conflict(cell.writes, mask, unit);
  if (writes && !found)
    found = conflict(cell.reads, mask, unit);
  note(writes ? cell.writes : cell.reads, mask, unit);
  return found;
}
