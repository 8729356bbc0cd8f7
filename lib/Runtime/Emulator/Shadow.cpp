//===- Shadow.cpp - who touched which shared-memory word ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Shadow.h"

#include "llvm/Support/MemAlloc.h"

#include <algorithm>

using namespace fusec::runtime::emulator;

void Shadow::resize(uint32_t bytes) {
  uint32_t lines = (bytes + kLine - 1) / kLine;
  if (granules.size() >= lines)
    return;
  granules.resize(lines, 0);
  clear();
}

void Shadow::clear() {
  static_assert(std::is_trivially_destructible_v<Cell>);
  cells.reset(static_cast<Cell *>(
      llvm::safe_calloc(granules.size() * kLine, sizeof(Cell))));
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

ShadowConflict Shadow::checkRead(const Cell &cell, uint32_t thread) const {
  const Event &write = cell.write;
  if (write.when == kPending)
    return conflict(write, true);
  if (!clocks.inBlock(write.when))
    return {ShadowVerdict::Uninitialised, false, 0, 0};
  if (!clocks.before(write.thread, write.when, thread))
    return conflict(write, true);
  if (!clocks.isAgent(write.thread) && !clocks.isAgent(thread) &&
      clocks.blockOf(write.thread) != clocks.blockOf(thread) &&
      !clocks.isReleased(write.thread, write.when))
    return {ShadowVerdict::Unreleased, true, write.thread, write.line};
  return {};
}

void Shadow::noteRead(Cell &cell, uint32_t thread, int32_t line) {
  // Two readers suffice: a later writer is unordered with at least one of any
  // two different threads unless it is ordered after both.
  Event now{clocks.now(thread), static_cast<uint16_t>(thread),
            static_cast<uint16_t>(line)};
  Event &first = cell.reads[0], &second = cell.reads[1];
  if (first.thread == thread || !clocks.inBlock(first.when) ||
      (!clocks.isAgent(thread) &&
       clocks.before(first.thread, first.when, thread)))
    first = now;
  else
    second = now;
}

ShadowConflict Shadow::checkWrite(const Cell &cell, uint32_t thread) const {
  const Event &write = cell.write;
  if (write.when == kPending)
    return conflict(write, true);
  if (cell.asyncReads != 0)
    return {ShadowVerdict::BeingRead, false, cell.asyncThread, cell.asyncLine};
  if (clocks.inBlock(write.when) &&
      !clocks.before(write.thread, write.when, thread))
    return conflict(write, true);
  for (const Event &read : cell.reads)
    if (clocks.inBlock(read.when) &&
        !clocks.before(read.thread, read.when, thread))
      return conflict(read, false);
  return {};
}

/// Whether the last writer was a thread that has not fenced.
ShadowConflict Shadow::checkProxy(const Cell &cell) const {
  const Event &write = cell.write;
  if (!clocks.inBlock(write.when) || write.when == kPending ||
      clocks.isAgent(write.thread) || clocks.isFenced(write.thread, write.when))
    return {};
  return {ShadowVerdict::Unfenced, true, write.thread, write.line};
}

ShadowConflict Shadow::read(uint32_t offset, uint32_t bytes, uint32_t thread,
                            int32_t line) {
  return forEach(offset, bytes, [&](Cell &cell) {
    ShadowConflict found = checkRead(cell, thread);
    if (found.verdict == ShadowVerdict::Fine)
      noteRead(cell, thread, line);
    return found;
  });
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
                                 uint32_t thread, int32_t line, bool proxy) {
  return forEach(offset, bytes, [&](Cell &cell) {
    ShadowConflict found = checkWrite(cell, thread);
    if (proxy && found.verdict == ShadowVerdict::Fine)
      found = checkProxy(cell);
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

ShadowConflict Shadow::startAsyncRead(uint32_t offset, uint32_t bytes,
                                      uint32_t thread, int32_t line) {
  return forEach(offset, bytes, [&](Cell &cell) {
    ShadowConflict found = checkRead(cell, thread);
    if (found.verdict == ShadowVerdict::Fine)
      found = checkProxy(cell);
    ++cell.asyncReads;
    cell.asyncThread = static_cast<uint16_t>(thread);
    cell.asyncLine = static_cast<uint16_t>(line);
    return found;
  });
}

void Shadow::finishAsyncRead(uint32_t offset, uint32_t bytes, uint32_t thread,
                             int32_t line) {
  forEach(offset, bytes, [&](Cell &cell) {
    if (cell.asyncReads != 0)
      --cell.asyncReads;
    noteRead(cell, thread, line);
    return ShadowConflict();
  });
}

ShadowConflict Shadow::peek(uint32_t offset, uint32_t bytes, uint32_t thread) {
  return forEach(offset, bytes,
                 [&](Cell &cell) { return checkRead(cell, thread); });
}
