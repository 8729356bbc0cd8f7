//===- WorkerMemory.cpp - checked global and shared memory ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An access that fails its check is not performed; a read then gives zeros.
//===----------------------------------------------------------------------===//
#include "Worker.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cstring>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using llvm::formatv;

//===-- Global memory -----------------------------------------------------===//

/// The buffer that a pointer argument points into, or one past the end of.
const EmulatorBuffer *Worker::findBuffer(u64 base) {
  for (const BufferCache &cached : bufferCache)
    if (cached.buffer && cached.base == base)
      return cached.buffer;
  llvm::ArrayRef<EmulatorBuffer> buffers = state->buffers;
  auto after =
      std::upper_bound(buffers.begin(), buffers.end(), base,
                       [](u64 address, const EmulatorBuffer &buffer) {
                         return address < reinterpret_cast<u64>(buffer.data);
                       });
  if (after == buffers.begin())
    return nullptr;
  const EmulatorBuffer &found = *std::prev(after);
  if (base - reinterpret_cast<u64>(found.data) > found.bytes)
    return nullptr;
  bufferCache[bufferCacheNext++ % bufferCache.size()] = {base, &found};
  return &found;
}

/// The address of an access that may be performed, or null after a report.
uint8_t *Worker::checkGlobal(const char *what, u64 base, i64 offset, u64 bytes,
                             bool reads, bool writes, int32_t line,
                             uint32_t alignment, bool isAtomic) {
  u64 address = base + static_cast<u64>(offset);
  auto *target = reinterpret_cast<uint8_t *>(address);
  if (!state->checks)
    return target;
  if (!thread().mayTouchGlobal)
    fault(EmulatorFault::NoGridWait, line,
          formatv("{0} of {1} bytes of global memory before grid_wait: the "
                  "launch before may still use it",
                  what, bytes));
  const EmulatorBuffer *buffer = findBuffer(base);
  if (!buffer) {
    fault(EmulatorFault::OutOfBounds, line,
          formatv("{0} of {1} bytes through a pointer to no known buffer", what,
                  bytes));
    return nullptr;
  }
  u64 from = address - reinterpret_cast<u64>(buffer->data);
  if (from > buffer->bytes || buffer->bytes - from < bytes) {
    fault(EmulatorFault::OutOfBounds, line,
          formatv("{0} of {1} bytes at byte {2} of buffer '{3}' of {4} bytes",
                  what, bytes, static_cast<i64>(from), buffer->name,
                  buffer->bytes));
    return nullptr;
  }
  if (alignment == 0)
    alignment = static_cast<uint32_t>(std::min<u64>(bytes, 16));
  if (address % alignment != 0) {
    fault(EmulatorFault::Misaligned, line,
          formatv("{0} of {1} bytes at byte {2} of buffer '{3}': the address "
                  "is not a multiple of {4}",
                  what, bytes, from, buffer->name, alignment));
    return nullptr;
  }
  if (state->global.isOn() && !isAtomic)
    if (auto other = state->global.access(
            static_cast<size_t>(buffer - state->buffers.data()), from, bytes,
            block().unit, writes))
      fault(EmulatorFault::GlobalRace, line,
            formatv("{0} of {1} bytes at byte {2} of buffer '{3}' races with "
                    "{4} {5} of the launch, which touched them too",
                    what, bytes, from, buffer->name,
                    state->cluster > 1 ? "cluster" : "block", *other));
  if (!buffer->written)
    return target;
  uint8_t *written = buffer->written + from;
  if (reads && std::find(written, written + bytes, 0) != written + bytes)
    fault(EmulatorFault::UninitialisedRead, line,
          formatv("{0} of {1} bytes at byte {2} of buffer '{3}', which were "
                  "never written",
                  what, bytes, from, buffer->name));
  if (writes)
    std::memset(written, 1, bytes);
  return target;
}

// Blocks on other OS threads may touch the same memory, as on a GPU: copy in
// relaxed atomic units, never in torn bytes.
template <class T>
static void copyUnit(void *to, const void *from) {
  T value = __atomic_load_n(static_cast<const T *>(from), __ATOMIC_RELAXED);
  __atomic_store_n(static_cast<T *>(to), value, __ATOMIC_RELAXED);
}
static void loadUnits(void *dst, const uint8_t *src, uint32_t bytes) {
  auto *to = static_cast<uint8_t *>(dst);
  // `dst` is a register array and need not be aligned to 8.
  u64 wide[1];
  for (; bytes >= 8; bytes -= 8, src += 8, to += 8) {
    copyUnit<u64>(wide, src);
    std::memcpy(to, wide, 8);
  }
  if (bytes == 4)
    copyUnit<uint32_t>(wide, src);
  else if (bytes == 2)
    copyUnit<uint16_t>(wide, src);
  else if (bytes == 1)
    copyUnit<uint8_t>(wide, src);
  std::memcpy(to, wide, bytes);
}
static void storeUnits(uint8_t *dst, const void *src, uint32_t bytes) {
  auto *from = static_cast<const uint8_t *>(src);
  u64 wide[1];
  for (; bytes >= 8; bytes -= 8, dst += 8, from += 8) {
    std::memcpy(wide, from, 8);
    copyUnit<u64>(dst, wide);
  }
  std::memcpy(wide, from, bytes);
  if (bytes == 4)
    copyUnit<uint32_t>(dst, wide);
  else if (bytes == 2)
    copyUnit<uint16_t>(dst, wide);
  else if (bytes == 1)
    copyUnit<uint8_t>(dst, wide);
}

void Worker::load(void *dst, u64 base, i64 offset, uint32_t bytes,
                  int32_t line) {
  step(line);
  if (const uint8_t *src =
          checkGlobal("read", base, offset, bytes, true, false, line))
    loadUnits(dst, src, bytes);
  else
    std::memset(dst, 0, bytes);
}

void Worker::store(u64 base, i64 offset, const void *src, uint32_t bytes,
                   int32_t line) {
  step(line);
  checkPoison(src, bytes, line);
  if (uint8_t *dst =
          checkGlobal("write", base, offset, bytes, false, true, line))
    storeUnits(dst, src, bytes);
}

//===-- Shared memory -----------------------------------------------------===//

uint32_t Worker::sharedArray(const void *key, uint32_t bytes,
                             uint32_t alignment, int32_t line) {
  for (const StaticArray &array : staticArrays)
    if (array.key == key)
      return array.offset;
  uint32_t offset = (sharedUsed + alignment - 1) & ~(alignment - 1);
  if (u64(offset) + bytes > block().shared.size())
    fatal(EmulatorFault::InvalidArgument, line,
          formatv("an array of {0} bytes: more than {1} bytes of static shared "
                  "memory",
                  bytes, kStaticSharedLimit));
  if (offset + bytes > kSharedLimit)
    fatal(EmulatorFault::InvalidArgument, line,
          formatv("an array of {0} bytes: the block then has {1} bytes of "
                  "shared memory, but at most {2} exist",
                  bytes, offset + bytes, kSharedLimit));
  sharedUsed = offset + bytes;
  staticArrays.push_back({key, offset, bytes});
  return offset;
}

uint32_t Worker::sharedDynamic(uint32_t offset, uint32_t elementBytes,
                               uint32_t *elements, int32_t line) {
  uint32_t size = state->launch.dynamicSharedBytes;
  if (offset % 16 != 0 || offset > size)
    fatal(EmulatorFault::InvalidArgument, line,
          formatv("dynamic shared memory from byte {0} of {1}: expected a "
                  "multiple of 16 within it",
                  offset, size));
  *elements = (size - offset) / elementBytes;
  return offset;
}

bool Worker::checkShared(const char *what, const FusecEmuShared &at,
                         u64 elements, uint32_t alignment,
                         const EmuThread &thread, int32_t line) {
  if (at.index < 0 || at.index > i64(at.count) ||
      u64(at.count) - u64(at.index) < elements) {
    fault(EmulatorFault::OutOfBounds, line, thread,
          formatv("{0} of {1} elements at element {2} of a shared array of {3}",
                  what, elements, at.index, at.count));
    return false;
  }
  u64 offset = at.base + u64(at.index) * at.elementBytes;
  if (offset % alignment != 0) {
    fault(EmulatorFault::Misaligned, line, thread,
          formatv("{0} of {1} elements at element {2} of a shared array: the "
                  "address is not a multiple of {3}",
                  what, elements, at.index, alignment));
    return false;
  }
  return true;
}

void Worker::checkConflict(const ShadowConflict &found, const char *what,
                           uint32_t offset, const Block &owner,
                           const EmuThread &thread, int32_t line) {
  auto other = [&] { return nameOf(*owner.cluster, found.otherThread); };
  switch (found.verdict) {
  case ShadowVerdict::Fine:
    return;
  case ShadowVerdict::Uninitialised:
    return fault(EmulatorFault::UninitialisedRead, line, thread,
                 formatv("{0} of shared byte {1}, which this block has not "
                         "written",
                         what, offset));
  case ShadowVerdict::Race:
    return fault(EmulatorFault::SharedRace, line, thread,
                 formatv("{0} of shared byte {1} races with the {2} by {3} in "
                         "line {4}",
                         what, offset, found.otherWrote ? "write" : "read",
                         other(), found.otherLine));
  case ShadowVerdict::Pending:
    return fault(EmulatorFault::PendingCopy, line, thread,
                 formatv("{0} of shared byte {1} before the wait for the copy "
                         "that {2} began in line {3}",
                         what, offset, other(), found.otherLine));
  case ShadowVerdict::BeingRead:
    return fault(EmulatorFault::PendingRead, line, thread,
                 formatv("{0} of shared byte {1} while the operation that {2} "
                         "began in line {3} still reads it",
                         what, offset, other(), found.otherLine));
  case ShadowVerdict::Unfenced:
    return fault(EmulatorFault::ProxyFence, line, thread,
                 formatv("{0} of shared byte {1} by the async proxy: {2} wrote "
                         "it in line {3} and did not call fence_proxy_async",
                         what, offset, other(), found.otherLine));
  case ShadowVerdict::Unreleased:
    return fault(EmulatorFault::SharedRace, line, thread,
                 formatv("{0} of shared byte {1}: {2} wrote it in line {3} and "
                         "did not release it to the cluster",
                         what, offset, other(), found.otherLine));
  }
}

/// Reads on behalf of a thread; elements may be wider in `dst` than one access.
bool Worker::readShared(void *dst, Block &owner, const FusecEmuShared &at,
                        uint32_t elements, const EmuThread &thread,
                        int32_t line) {
  uint32_t bytes = elements * at.elementBytes;
  if (!checkShared("read", at, elements, std::min(bytes, 16u), thread, line)) {
    std::memset(dst, 0, bytes);
    return false;
  }
  uint32_t offset = at.base + uint32_t(at.index) * at.elementBytes;
  if (state->checks)
    for (uint32_t e = 0; e < bytes; e += at.elementBytes)
      checkConflict(owner.shadow.read(offset + e, at.elementBytes,
                                      thread.inCluster, line),
                    "read", offset + e, owner, thread, line);
  std::memcpy(dst, &owner.shared[offset], bytes);
  return true;
}

void Worker::writeShared(Block &owner, const FusecEmuShared &at,
                         const void *src, uint32_t elements,
                         const EmuThread &thread, int32_t line) {
  uint32_t bytes = elements * at.elementBytes;
  if (!checkShared("write", at, elements, std::min(bytes, 16u), thread, line))
    return;
  uint32_t offset = at.base + uint32_t(at.index) * at.elementBytes;
  if (state->checks)
    for (uint32_t e = 0; e < bytes; e += at.elementBytes)
      checkConflict(owner.shadow.write(offset + e, at.elementBytes,
                                       thread.inCluster, line),
                    "write", offset + e, owner, thread, line);
  std::memcpy(&owner.shared[offset], src, bytes);
}

void Worker::sharedLoad(void *dst, FusecEmuShared at, uint32_t elements,
                        int32_t line) {
  step(line);
  readShared(dst, block(), at, elements, thread(), line);
}

void Worker::sharedStore(FusecEmuShared at, const void *src, uint32_t elements,
                         int32_t line) {
  step(line);
  checkPoison(src, elements * at.elementBytes, line);
  writeShared(block(), at, src, elements, thread(), line);
}

//===-- cp.async ----------------------------------------------------------===//
// Source and destination are touched when the copy is waited for, or earlier
// (EmulatorCompletion); until then the destination is poisoned.

static void runCopy(PendingCopy &copy, Block &block) {
  if (std::exchange(copy.done, true))
    return;
  if (copy.source)
    loadUnits(copy.data, copy.source, copy.bytes);
  std::memcpy(&block.shared[copy.offset], copy.data, copy.bytes);
}

void Worker::copyAsync(FusecEmuShared at, u64 base, i64 offset, uint32_t bytes,
                       bool pred, int32_t line) {
  step(line);
  EmuThread &me = thread();
  PendingCopy copy = {me.copyGroup, 0,       bytes, at.elementBytes,
                      line,         nullptr, false, {}};
  if (pred)
    copy.source = checkGlobal("copy", base, offset, bytes, true, false, line);
  if (!checkShared("copy", at, bytes / at.elementBytes, bytes, me, line))
    return;
  copy.offset = at.base + uint32_t(at.index) * at.elementBytes;
  Block &owner = block();
  if (state->checks)
    for (uint32_t e = 0; e < bytes; e += at.elementBytes)
      checkConflict(owner.shadow.startCopy(copy.offset + e, at.elementBytes,
                                           me.inCluster, line, false),
                    "copy", copy.offset + e, owner, me, line);
  std::memset(&owner.shared[copy.offset], 0xff, bytes);
  if (completion == EmulatorCompletion::Issue ||
      (completion == EmulatorCompletion::Random && random() % 2))
    runCopy(copy, owner);
  me.copies.push_back(copy);
}

void Worker::commitCopies(int32_t line) {
  step(line);
  ++thread().copyGroup;
}

void Worker::waitCopies(int32_t newest, int32_t line) {
  step(line);
  EmuThread &me = thread();
  Block &owner = block();
  auto finish = [&](PendingCopy &copy) {
    if (i64(copy.group) + newest >= i64(me.copyGroup))
      return false;
    runCopy(copy, owner);
    if (state->checks)
      for (uint32_t e = 0; e < copy.bytes; e += copy.elementBytes)
        owner.shadow.finishCopy(copy.offset + e, copy.elementBytes,
                                me.inCluster, copy.line);
    return true;
  };
  llvm::erase_if(me.copies, finish);
}
