//===- Shadow.cpp - who touched which shared-memory word ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shadow.h"

#include <algorithm>

using namespace fusec::runtime::emulator;

//===-- Clocks ------------------------------------------------------------===//

bool Clocks::startBlock(uint32_t threads) {
  uint32_t latest = base;
  for (uint32_t when : clock)
    latest = std::max(latest, when);
  bool restart = latest > 0x7fffffffu;
  base = restart ? 0 : latest;
  count = threads;
  clock.assign(threads, base + 1);
  everyone.assign(threads, base);
  usesKnown = false;
  return restart;
}

void Clocks::joinBlock() {
  for (uint32_t t = 0; t < count; ++t)
    everyone[t] = clock[t]++;
}

void Clocks::join(llvm::ArrayRef<uint32_t> threads) {
  if (!usesKnown) {
    known.assign(size_t(count) * count, 0);
    usesKnown = true;
  }
  merged.assign(count, 0);
  for (uint32_t t : threads) {
    const uint32_t *row = &known[size_t(t) * count];
    for (uint32_t u = 0; u < count; ++u)
      merged[u] = std::max(merged[u], row[u]);
  }
  for (uint32_t t : threads)
    merged[t] = clock[t]++;
  for (uint32_t t : threads)
    std::copy(merged.begin(), merged.end(), &known[size_t(t) * count]);
}

//===-- Shadow ------------------------------------------------------------===//

void Shadow::resize(uint32_t bytes) {
  uint32_t lines = (bytes + kLine - 1) / kLine;
  if (granules.size() >= lines)
    return;
  cells.resize(size_t(lines) * kLine);
  granules.resize(lines, 0);
}

void Shadow::clear() {
  std::fill(cells.begin(), cells.end(), Cell());
  std::fill(granules.begin(), granules.end(), 0);
}

/// The bytes per cell at `offset`, after splitting cells that are wider than
/// the element. A 16-byte line takes the element size of its first use.
uint32_t Shadow::granule(uint32_t offset, uint32_t bytes) {
  uint8_t &size = granules[offset / kLine];
  if (size == 0)
    size = static_cast<uint8_t>(bytes);
  if (size > bytes) {
    Cell *line = &cells[offset / kLine * kLine];
    for (uint32_t from = 0; from < kLine; from += size)
      for (uint32_t to = from + bytes; to < from + size; to += bytes)
        line[to] = line[from];
    size = static_cast<uint8_t>(bytes);
  }
  return size;
}

template <class Visit>
ShadowConflict Shadow::forEach(uint32_t offset, uint32_t bytes, Visit visit) {
  uint32_t step = granule(offset, std::min(bytes, kLine));
  ShadowConflict first;
  for (uint32_t at = offset; at < offset + bytes; at += step) {
    ShadowConflict found = visit(cells[at]);
    if (first.verdict == ShadowVerdict::Fine)
      first = found;
  }
  return first;
}

ShadowConflict Shadow::conflict(const Event &event, bool wrote) const {
  return {event.when == kPending ? ShadowVerdict::Pending : ShadowVerdict::Race,
          wrote, event.thread, event.line};
}

ShadowConflict Shadow::readCell(Cell &cell, uint32_t thread, int32_t line) {
  const Event &write = cell.write;
  if (write.when == kPending)
    return conflict(write, true);
  if (!clocks.inBlock(write.when))
    return {ShadowVerdict::Uninitialised, false, 0, 0};
  if (!clocks.before(write.thread, write.when, thread))
    return conflict(write, true);
  // Two readers suffice: a later writer is unordered with at least one of any
  // two different threads unless it is ordered after both.
  Event now{clocks.now(thread), static_cast<uint16_t>(thread),
            static_cast<uint16_t>(line)};
  Event &first = cell.reads[0], &second = cell.reads[1];
  if (first.thread == thread || !clocks.inBlock(first.when) ||
      clocks.before(first.thread, first.when, thread))
    first = now;
  else
    second = now;
  return {};
}

ShadowConflict Shadow::checkWrite(const Cell &cell, uint32_t thread) const {
  const Event &write = cell.write;
  if (write.when == kPending)
    return conflict(write, true);
  if (clocks.inBlock(write.when) &&
      !clocks.before(write.thread, write.when, thread))
    return conflict(write, true);
  for (const Event &read : cell.reads)
    if (clocks.inBlock(read.when) &&
        !clocks.before(read.thread, read.when, thread))
      return conflict(read, false);
  return {};
}

ShadowConflict Shadow::read(uint32_t offset, uint32_t bytes, uint32_t thread,
                            int32_t line) {
  return forEach(offset, bytes,
                 [&](Cell &cell) { return readCell(cell, thread, line); });
}

ShadowConflict Shadow::write(uint32_t offset, uint32_t bytes, uint32_t thread,
                             int32_t line) {
  return forEach(offset, bytes, [&](Cell &cell) {
    ShadowConflict found = checkWrite(cell, thread);
    // A pending copy stays pending: its data will overwrite this.
    if (cell.write.when != kPending)
      cell.write = {clocks.now(thread), static_cast<uint16_t>(thread),
                    static_cast<uint16_t>(line)};
    return found;
  });
}

ShadowConflict Shadow::startCopy(uint32_t offset, uint32_t bytes,
                                 uint32_t thread, int32_t line) {
  return forEach(offset, bytes, [&](Cell &cell) {
    ShadowConflict found = checkWrite(cell, thread);
    cell.write = {kPending, static_cast<uint16_t>(thread),
                  static_cast<uint16_t>(line)};
    return found;
  });
}

void Shadow::finishCopy(uint32_t offset, uint32_t bytes, uint32_t thread,
                        int32_t line) {
  forEach(offset, bytes, [&](Cell &cell) {
    cell.write = {clocks.now(thread), static_cast<uint16_t>(thread),
                  static_cast<uint16_t>(line)};
    return ShadowConflict();
  });
}

void Shadow::dropCopy(uint32_t offset, uint32_t bytes) {
  forEach(offset, bytes, [&](Cell &cell) {
    cell.write = Event();
    return ShadowConflict();
  });
}
