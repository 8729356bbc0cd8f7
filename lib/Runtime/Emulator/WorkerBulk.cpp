//===- WorkerBulk.cpp - bulk copies ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the copy engine does between shared and global memory. A load reads and
// writes when it ends; from its begin until then its destination is pending. A
// store reads shared memory when bulk_wait_read says that it has, and writes
// global memory when bulk_wait does or the thread ends; until the wait, shared
// memory that it reads must not be written.
//===----------------------------------------------------------------------===//
#include "TensorMap.h"
#include "Worker.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstring>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using llvm::formatv;

// The shadow's elements are at most 16 bytes.
template <class Visit>
static void forEachUnit(uint32_t offset, uint32_t bytes, Visit visit) {
  for (uint32_t at = offset; at < offset + bytes; at += 16)
    visit(at, std::min(16u, offset + bytes - at));
}

//===-- Arrivals ----------------------------------------------------------===//

/// A barrier that the async proxy will use.
Mbarrier *Worker::asyncBarrier(Block &owner, const FusecEmuShared &at,
                               int32_t line) {
  Mbarrier *barrier = findMbarrier(owner, at, line);
  if (barrier && state->checks &&
      !clocks().isFenced(barrier->initThread, barrier->initWhen))
    fault(EmulatorFault::ProxyFence, line,
          formatv("the mbarrier was made in line {0} without mbar_init_fence",
                  barrier->initLine));
  return barrier;
}

/// The blocks of a mask, and the barrier in each of them; those that failed a
/// check are left out.
llvm::SmallVector<Worker::Arrival, 2>
Worker::arrivals(const FusecEmuShared &barrierAt, uint32_t mask, int32_t line) {
  llvm::SmallVector<Arrival, 2> result;
  auto add = [&](Block *to) {
    if (!to)
      return;
    if (Mbarrier *barrier = asyncBarrier(*to, barrierAt, line))
      result.push_back({to, barrier});
  };
  if (mask == 0) {
    add(&block());
    return result;
  }
  mask &= 0x7fffffffu;
  if (mask == 0 || mask >> state->cluster != 0)
    fatal(EmulatorFault::InvalidArgument, line,
          formatv("a multicast to mask {0:x} in a cluster of {1} blocks", mask,
                  state->cluster));
  for (uint32_t rank = 0; rank < state->cluster; ++rank)
    if (mask >> rank & 1)
      add(peer(static_cast<int32_t>(rank), line));
  return result;
}

void Worker::startArrival(const char *what, Block &to, uint32_t offset,
                          uint32_t bytes, int32_t line) {
  if (state->checks)
    forEachUnit(offset, bytes, [&](uint32_t at, uint32_t size) {
      checkConflict(
          to.shadow.startCopy(at, size, thread().inCluster, line, true), what,
          at, to, thread(), line);
    });
  std::memset(&to.shared[offset], 0xff, bytes);
}

/// The data is there: the barrier's agent wrote it.
void Worker::finishArrival(const Arrival &arrival, uint32_t offset,
                           uint32_t bytes, const EmuThread &issuer,
                           int32_t line) {
  if (state->checks)
    forEachUnit(offset, bytes, [&](uint32_t at, uint32_t size) {
      arrival.to->shadow.finishCopy(at, size, arrival.barrier->agent, line);
    });
  completeBytes(*arrival.to, *arrival.barrier, bytes, issuer, line);
}

/// Begins a copy whose data `write` puts into the destination.
void Worker::land(const Arrival &arrival, uint32_t offset, uint32_t bytes,
                  int32_t line, std::function<void(uint8_t *)> write) {
  EmuThread &me = thread();
  startArrival("copy", *arrival.to, offset, bytes, line);
  auto complete = [this, arrival, offset, bytes, line, &me,
                   write = std::move(write)] {
    write(arrival.to->shared.data());
    finishArrival(arrival, offset, bytes, me, line);
  };
  auto drop = [to = arrival.to, offset, bytes] {
    forEachUnit(offset, bytes, [&](uint32_t at, uint32_t size) {
      to->shadow.dropCopy(at, size);
    });
  };
  begin({&me, arrival.to, line, std::move(complete), std::move(drop)});
}

/// Place and size of a bulk copy in shared memory.
bool Worker::checkBulk(const char *what, const FusecEmuShared &at,
                       int64_t bytes, uint32_t alignment, int32_t line) {
  if (bytes < 0 || bytes % 16 != 0) {
    fault(EmulatorFault::InvalidArgument, line,
          formatv("{0} of {1} bytes: expected a multiple of 16", what, bytes));
    return false;
  }
  u64 elements = (u64(bytes) + at.elementBytes - 1) / at.elementBytes;
  return checkShared(what, at, elements, alignment, thread(), line);
}

static uint32_t offsetOf(const FusecEmuShared &at) {
  return at.base + uint32_t(at.index) * at.elementBytes;
}

void Worker::bulkLoad(FusecEmuShared to, u64 base, i64 offset, int32_t bytes,
                      FusecEmuShared barrier, uint32_t mask, int32_t line) {
  step(line);
  if (!checkBulk("bulk copy", to, bytes, 16, line))
    return;
  const uint8_t *from =
      checkGlobal("bulk copy", base, offset, u64(bytes), true, false, line, 16);
  if (!from)
    return;
  auto size = static_cast<uint32_t>(bytes);
  uint32_t target = offsetOf(to);
  for (const Arrival &arrival : arrivals(barrier, mask, line))
    land(arrival, target, size, line,
         [=](uint8_t *shared) { copyUnits(shared + target, from, size); });
}

void Worker::bulkSend(FusecEmuShared to, int32_t rank, FusecEmuShared from,
                      int32_t bytes, FusecEmuShared barrierAt, int32_t line) {
  step(line);
  if (!checkBulk("bulk copy", to, bytes, 16, line) ||
      !checkBulk("bulk copy", from, bytes, 16, line))
    return;
  Block *other = peer(rank, line);
  if (!other)
    return;
  Mbarrier *barrier = asyncBarrier(*other, barrierAt, line);
  if (!barrier)
    return;
  auto size = static_cast<uint32_t>(bytes);
  uint32_t source = offsetOf(from), target = offsetOf(to);
  startAsyncRead("bulk copy", source, size, line);
  Block *own = &block();
  land({other, barrier}, target, size, line,
       [this, own, source, target, size, line, barrier](uint8_t *shared) {
         std::memcpy(shared + target, &own->shared[source], size);
         // Whoever learns of the arrival knows that the source was read.
         if (state->checks)
           forEachUnit(source, size, [&](uint32_t at, uint32_t unit) {
             own->shadow.finishAsyncRead(at, unit, barrier->agent, line);
           });
       });
}

//===-- Stores ------------------------------------------------------------===//

void Worker::startAsyncRead(const char *what, uint32_t offset, uint32_t bytes,
                            int32_t line) {
  if (!state->checks)
    return;
  Block &owner = block();
  forEachUnit(offset, bytes, [&](uint32_t at, uint32_t size) {
    checkConflict(
        owner.shadow.startAsyncRead(at, size, thread().inCluster, line), what,
        at, owner, thread(), line);
  });
}

void Worker::addStore(BulkStore store) {
  EmuThread &me = thread();
  store.group = me.bulkGroup;
  startAsyncRead("bulk store", store.offset, store.bytes, store.line);
  me.stores.push_back(std::move(store));
  if (completion == EmulatorCompletion::Issue ||
      (completion == EmulatorCompletion::Random && random() % 2))
    readStore(me, me.stores.back());
}

void Worker::bulkStore(u64 base, i64 offset, FusecEmuShared from, int32_t bytes,
                       int32_t line) {
  step(line);
  if (!checkBulk("bulk store", from, bytes, 16, line))
    return;
  uint8_t *to = checkGlobal("bulk store", base, offset, u64(bytes), false, true,
                            line, 16);
  if (!to)
    return;
  BulkStore store;
  store.offset = offsetOf(from);
  store.bytes = static_cast<uint32_t>(bytes);
  store.line = line;
  store.pieces.push_back({to, store.offset, store.bytes});
  addStore(std::move(store));
}

/// Takes the data out of shared memory.
void Worker::readStore(EmuThread &issuer, BulkStore &store) {
  if (!store.data.empty())
    return;
  const std::vector<uint8_t> &shared = issuer.block->shared;
  for (const BulkPiece &piece : store.pieces)
    store.data.insert(store.data.end(), shared.begin() + piece.offset,
                      shared.begin() + piece.offset + piece.bytes);
}

/// The data is in global memory.
void Worker::finishStore(EmuThread &issuer, BulkStore &store) {
  readStore(issuer, store);
  size_t from = 0;
  for (const BulkPiece &piece : store.pieces) {
    copyUnits(piece.to, store.data.data() + from, piece.bytes);
    from += piece.bytes;
  }
}

void Worker::bulkCommit(int32_t line) {
  step(line);
  ++thread().bulkGroup;
}

void Worker::bulkWait(int32_t newest, bool read, int32_t line) {
  step(line);
  EmuThread &me = thread();
  Block &owner = block();
  for (BulkStore &store : me.stores) {
    if (i64(store.group) + newest >= i64(me.bulkGroup))
      break;
    readStore(me, store);
    if (!std::exchange(store.wasRead, true) && state->checks)
      forEachUnit(store.offset, store.bytes, [&](uint32_t at, uint32_t size) {
        owner.shadow.finishAsyncRead(at, size, me.inCluster, store.line);
      });
    if (!read)
      finishStore(me, store);
  }
  if (read)
    return;
  while (!me.stores.empty() &&
         i64(me.stores.front().group) + newest < i64(me.bulkGroup))
    me.stores.pop_front();
}
