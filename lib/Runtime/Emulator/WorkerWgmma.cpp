//===- WorkerWgmma.cpp - products of warpgroups ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads of a warpgroup issue the same products, each at its own time; a
// product is computed when a thread waits for it, from what shared memory then
// holds. Until its wait a thread's accumulators hold a NaN that no conversion
// makes, so that early use shows; afterwards they must still hold it, or the
// thread has written to them.
//===----------------------------------------------------------------------===//
#include "Numbers.h"
#include "TensorMap.h"
#include "Worker.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstring>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using llvm::formatv;

static constexpr uint32_t kPoison = 0x7fc0deadu;
static constexpr uint32_t kRows = 64;

//===-- Operands ----------------------------------------------------------===//

static uint32_t elementBytes(int32_t type) {
  switch (type) {
  case FusecF16:
  case FusecBF16:
    return 2;
  case FusecTF32:
    return 4;
  default:
    return 1;
  }
}

static double decodeElement(int32_t type, const uint8_t *at) {
  uint32_t bits = 0;
  std::memcpy(&bits, at, elementBytes(type));
  switch (type) {
  case FusecS8:
    return static_cast<int8_t>(bits);
  case FusecU8:
    return bits;
  case FusecTF32: {
    bits &= ~0x1fffu; // as the unit does
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  default:
    return decodeFloat(type, static_cast<uint16_t>(bits));
  }
}

namespace {
/// A matrix descriptor, taken apart.
struct Operand {
  uint32_t start, leading, stride, swizzle, size;
  bool mnMajor;

  Operand(u64 desc, bool mnMajor, int32_t type)
      : start(field(desc, 0)), leading(field(desc, 16)),
        stride(field(desc, 32)), size(elementBytes(type)), mnMajor(mnMajor) {
    static constexpr uint32_t kSwizzles[] = {0, 128, 64, 32};
    swizzle = kSwizzles[desc >> 62];
  }
  static uint32_t field(u64 desc, int at) {
    return static_cast<uint32_t>(desc >> at & 0x3fff) << 4;
  }
  /// The address of an element; elements of 16 bytes stay together.
  uint32_t address(uint32_t mn, uint32_t k) const {
    uint32_t per = 16 / size, offset;
    if (!mnMajor) {
      offset = swizzle == 0 ? mn % 8 * 16 + mn / 8 * stride + k % per * size +
                                  k / per * leading
                            : mn % 8 * swizzle + mn / 8 * stride + k * size;
    } else if (swizzle == 0) {
      offset =
          mn % per * size + mn / per * stride + k % 8 * 16 + k / 8 * leading;
    } else {
      uint32_t row = swizzle / size;
      offset = mn % row * size + mn / row * leading + k % 8 * swizzle +
               k / 8 * stride;
    }
    return swizzled(start + offset, swizzle);
  }
  /// The 16-byte units of an operand of mn x k elements.
  std::vector<uint32_t> units(uint32_t mnCount, uint32_t kCount) const {
    uint32_t per = 16 / size;
    std::vector<uint32_t> result;
    for (uint32_t mn = 0; mn < mnCount; mn += mnMajor ? per : 1)
      for (uint32_t k = 0; k < kCount; k += mnMajor ? 1 : per)
        result.push_back(address(mn, k));
    return result;
  }
};
} // namespace

static uint32_t depthOf(const FusecEmuWgmma &what) {
  return 32 / elementBytes(what.typeA);
}

/// Row and column of the product in register r of a thread of the warpgroup.
static uint32_t fragmentRow(uint32_t tid, uint32_t r) {
  return tid / 32 * 16 + tid % 32 / 4 + 8 * (r / 2 % 2);
}
static uint32_t fragmentColumn(uint32_t tid, uint32_t r) {
  return r / 4 * 8 + tid % 4 * 2 + r % 2;
}

/// Element (row, k) of A as the registers of a warpgroup hold it.
static double elementOfRegisters(const WgmmaOp &op, uint32_t row, uint32_t k) {
  uint32_t size = elementBytes(op.what.typeA), per = 4 / size;
  // Four columns of words; the upper half of k is in registers 2 and 3.
  uint32_t half = k / (4 * per), column = k % (4 * per) / per;
  uint32_t thread = row / 16 * 32 + row % 8 * 4 + column;
  uint32_t word = op.registersOfA[thread * 4 + half * 2 + row % 16 / 8];
  uint8_t bytes[4];
  std::memcpy(bytes, &word, 4);
  return decodeElement(op.what.typeA, bytes + k % per * size);
}

/// Finds the operands in shared memory and begins to read them for `thread`.
bool Worker::checkOperands(WgmmaOp &op, const EmuThread &thread) {
  Block &owner = *thread.block;
  const FusecEmuWgmma &what = op.what;
  if (!what.registers)
    op.unitsA =
        Operand(what.a, what.mnA, what.typeA).units(kRows, depthOf(what));
  op.unitsB = Operand(what.b, what.mnB, what.typeB)
                  .units(static_cast<uint32_t>(what.n), depthOf(what));
  for (const auto *units : {&op.unitsA, &op.unitsB})
    for (uint32_t at : *units)
      if (u64(at) + 16 > owner.shared.size() ||
          at + 16 > std::max(sharedUsed, 1u)) {
        fault(EmulatorFault::OutOfBounds, op.line, thread,
              formatv("wgmma reads its {0} at shared byte {1}, but the block "
                      "has {2}",
                      units == &op.unitsA ? "A" : "B", at, sharedUsed));
        return false;
      }
  if (state->checks)
    for (const auto *units : {&op.unitsA, &op.unitsB})
      for (uint32_t at : *units)
        checkConflict(
            owner.shadow.startAsyncRead(at, 16, thread.inCluster, op.line),
            units == &op.unitsA ? "wgmma's read of A" : "wgmma's read of B", at,
            owner, thread, op.line);
  return true;
}

void Worker::computeWgmma(Block &owner, WgmmaOp &op) {
  op.computed = true;
  const FusecEmuWgmma &what = op.what;
  uint32_t depth = depthOf(what), n = static_cast<uint32_t>(what.n);
  std::vector<double> a(kRows * depth), b(depth * n), sums(n);
  Operand descA(what.a, what.mnA, what.typeA),
      descB(what.b, what.mnB, what.typeB);
  const uint8_t *shared = owner.shared.data();
  for (uint32_t row = 0; row < kRows; ++row)
    for (uint32_t k = 0; k < depth; ++k)
      a[row * depth + k] =
          what.registers
              ? elementOfRegisters(op, row, k)
              : decodeElement(what.typeA, shared + descA.address(row, k));
  for (uint32_t column = 0; column < n; ++column)
    for (uint32_t k = 0; k < depth; ++k)
      b[k * n + column] =
          decodeElement(what.typeB, shared + descB.address(column, k));
  // Sums in f64, rounded once: at least as accurate as the unit. Eight columns
  // at a time, whatever the optimiser does; N is a multiple of eight.
  using Eight = double __attribute__((vector_size(64), aligned(8)));
  for (uint32_t row = 0; row < kRows; ++row) {
    double *values = op.values->data() + size_t(row) * n;
    for (uint32_t column = 0; column < n; column += 8) {
      Eight sum = {};
      if (what.accumulate)
        std::memcpy(&sum, &values[column], sizeof(sum));
      for (uint32_t k = 0; k < depth; ++k) {
        Eight line;
        std::memcpy(&line, &b[k * n + column], sizeof(line));
        sum += a[row * depth + k] * line;
      }
      std::memcpy(&sums[column], &sum, sizeof(sum));
    }
    for (uint32_t column = 0; column < n; ++column)
      values[column] =
          what.integer
              ? double(static_cast<int32_t>(static_cast<int64_t>(sums[column])))
              : double(static_cast<float>(sums[column]));
  }
}

//===-- Accumulators ------------------------------------------------------===//

static void loadFragment(const FusecEmuWgmma &what, uint32_t tid,
                         std::vector<double> &values) {
  for (uint32_t r = 0; r < static_cast<uint32_t>(what.n) / 2; ++r) {
    double &value =
        values[size_t(fragmentRow(tid, r)) * what.n + fragmentColumn(tid, r)];
    if (what.integer)
      value = static_cast<const int32_t *>(what.d)[r];
    else
      value = static_cast<const float *>(what.d)[r];
  }
}

static void poison(void *d, int32_t n) {
  std::fill_n(static_cast<uint32_t *>(d), n / 2, kPoison);
}

/// Writes the results; false if a register changed in the meantime.
static bool storeFragment(const WgmmaAccumulator &from, bool integer,
                          uint32_t tid) {
  bool untouched = true;
  auto *words = static_cast<uint32_t *>(from.d);
  for (uint32_t r = 0; r < static_cast<uint32_t>(from.n) / 2; ++r) {
    untouched &= words[r] == kPoison;
    double value = (*from.values)[size_t(fragmentRow(tid, r)) * from.n +
                                  fragmentColumn(tid, r)];
    if (integer) {
      words[r] = static_cast<uint32_t>(static_cast<int32_t>(value));
    } else {
      auto narrow = static_cast<float>(value);
      std::memcpy(&words[r], &narrow, 4);
    }
  }
  return untouched;
}

/// Reports words that come from an accumulator before its wait.
void Worker::checkPoison(const void *src, uint32_t bytes, int32_t line) {
  if (thread().wgmmaIssued == 0 || !state->checks)
    return;
  const auto *from = static_cast<const uint8_t *>(src);
  for (uint32_t at = 0; at + 4 <= bytes; at += 4) {
    uint32_t word;
    std::memcpy(&word, from + at, 4);
    if (word == kPoison)
      return fault(EmulatorFault::WgmmaOrder, line,
                   "a value that was read from an accumulator before the "
                   "wgmma_wait for its product");
  }
}

uint16_t Worker::encode(int32_t format, double value, bool saturate) {
  if (value != value) {
    auto narrow = static_cast<float>(value);
    checkPoison(&narrow, 4, thread().line);
  }
  return encodeFloat(format, value, saturate);
}

//===-- Instructions ------------------------------------------------------===//

void Worker::wgmmaFence(int32_t line) {
  step(line);
  thread().wgmmaFenced = true;
}

static bool isSame(const FusecEmuWgmma &x, const FusecEmuWgmma &y) {
  return x.typeA == y.typeA && x.typeB == y.typeB && x.n == y.n &&
         x.mnA == y.mnA && x.mnB == y.mnB && x.accumulate == y.accumulate &&
         !x.registers == !y.registers && x.a == y.a && x.b == y.b;
}

void Worker::wgmma(const FusecEmuWgmma *what, int32_t line) {
  step(line);
  EmuThread &me = thread();
  Block &owner = block();
  auto tid = static_cast<uint32_t>(me.ids.tid) % kWarpgroupSize;
  uint32_t number = static_cast<uint32_t>(me.ids.tid) / kWarpgroupSize;
  if ((number + 1) * kWarpgroupSize > count)
    fatal(EmulatorFault::InvalidArgument, line,
          "a wgmma in a warpgroup of fewer than 128 threads");
  if (what->integer && what->n > 24 && what->n % 16 != 0)
    fatal(EmulatorFault::InvalidArgument, line,
          formatv("an integer wgmma of N {0}: expected 8, 24 or a multiple of "
                  "16",
                  what->n));
  if (!me.wgmmaFenced && state->checks)
    fault(EmulatorFault::WgmmaOrder, line,
          "a wgmma without a wgmma_fence after its registers were last used");
  Warpgroup &group = owner.warpgroups[number];
  if (!group.hasAgent) {
    group.agent = clocks().addAgent();
    group.hasAgent = true;
  }
  uint64_t index = me.wgmmaIssued++ - group.first;
  bool isFirst = index == group.ops.size();
  if (isFirst) {
    auto made = std::make_shared<WgmmaOp>();
    made->what = *what;
    made->line = line;
    made->group = me.wgmmaGroup;
    if (what->registers)
      made->registersOfA.resize(kWarpgroupSize * 4);
    if (!checkOperands(*made, me))
      abandonGroup();
    group.ops.push_back(std::move(made));
  }
  std::shared_ptr<WgmmaOp> op = group.ops[index];
  if (!isSame(op->what, *what) || op->line != line ||
      op->group != me.wgmmaGroup)
    fatal(EmulatorFault::DivergentBarrier, line,
          formatv("a wgmma, but another thread of the warpgroup issued "
                  "another one, in line {0}",
                  op->line));
  // Each warp needs to know of the operands.
  if (!isFirst && me.ids.lane == 0 && state->checks)
    for (const auto *units : {&op->unitsA, &op->unitsB})
      for (uint32_t at : *units)
        checkConflict(owner.shadow.peek(at, 16, me.inCluster), "wgmma's read",
                      at, owner, me, line);
  if (what->registers)
    std::copy_n(what->registers, 4, &op->registersOfA[tid * 4]);

  auto *entry = llvm::find_if(me.accumulators, [&](const auto &accumulator) {
    return accumulator.d == what->d;
  });
  if (entry == me.accumulators.end()) {
    if (!op->values)
      op->values = std::make_shared<std::vector<double>>(kRows * what->n);
    me.accumulators.push_back({what->d, what->n, op->values, 0});
    entry = &me.accumulators.back();
    loadFragment(*what, tid, *op->values);
    poison(what->d, what->n);
  }
  if (!op->values)
    op->values = entry->values;
  if (entry->values != op->values || entry->n != what->n)
    fatal(EmulatorFault::WgmmaOrder, line,
          "the product accumulates on registers that a product of another "
          "shape, or of other threads, still writes");
  ++entry->pending;
  me.products.push_back({op, what->d});
  if (++op->arrived != kWarpgroupSize)
    return;
  if (completion == EmulatorCompletion::Issue ||
      (completion == EmulatorCompletion::Random && random() % 2))
    for (const auto &earlier : group.ops) {
      if (!earlier->computed)
        computeWgmma(owner, *earlier);
      if (earlier == op)
        break;
    }
  for (EmuThread *waiting : std::exchange(group.waiting, {}))
    makeReady(*waiting);
}

void Worker::wgmmaCommit(int32_t line) {
  step(line);
  ++thread().wgmmaGroup;
}

void Worker::wgmmaWait(int32_t newest, int32_t line) {
  step(line);
  EmuThread &me = thread();
  Block &owner = block();
  auto tid = static_cast<uint32_t>(me.ids.tid) % kWarpgroupSize;
  Warpgroup &group =
      owner.warpgroups[static_cast<uint32_t>(me.ids.tid) / kWarpgroupSize];
  auto isOver = [&](const WgmmaOp &op) {
    return i64(op.group) + newest < i64(me.wgmmaGroup);
  };
  while (!me.products.empty() && isOver(*me.products.front().op)) {
    auto [op, d] = me.products.front();
    while (op->arrived < kWarpgroupSize) {
      group.waiting.push_back(&me);
      waitHere(Wait::Wgmma);
    }
    if (!op->computed)
      computeWgmma(owner, *op);
    if (!std::exchange(op->readsEnded, true)) {
      if (state->checks)
        for (const auto *units : {&op->unitsA, &op->unitsB})
          for (uint32_t at : *units)
            owner.shadow.finishAsyncRead(at, 16, group.agent, op->line);
      op->readUntil = clocks().tick(group.agent);
    }
    clocks().learn(me.inCluster, group.agent, op->readUntil);
    me.products.pop_front();
    auto *entry = llvm::find_if(me.accumulators, [&, d = d](const auto &other) {
      return other.d == d;
    });
    if (--entry->pending == 0) {
      if (!storeFragment(*entry, op->what.integer, tid) && state->checks)
        fault(EmulatorFault::WgmmaOrder, op->line,
              "a register of the accumulator was written before the "
              "wgmma_wait for its product");
      me.accumulators.erase(entry);
    }
    if (++op->waited == kWarpgroupSize) {
      group.ops.pop_front();
      ++group.first;
    }
  }
  if (newest == 0)
    me.wgmmaFenced = false;
}

/// A thread ends.
void Worker::endWgmma() {
  EmuThread &me = thread();
  if (!me.products.empty() && state->checks)
    fault(EmulatorFault::WgmmaOrder, me.products.front().op->line,
          "the thread ends before a wgmma_wait for this product");
}

//===-- Packed numbers ----------------------------------------------------===//

/// x * y + z with one rounding to odd, so that a second one does no harm.
static double fmaToOdd(double x, double y, double z) {
  double product = x * y; // exact: 22 bits at most
  double sum = product + z;
  double back = sum - product;
  double lost = (product - (sum - back)) + (z - back);
  if (lost == 0 || sum != sum || sum - sum != 0)
    return sum;
  u64 bits;
  std::memcpy(&bits, &sum, 8);
  if (bits & 1)
    return sum;
  // The exact value lies between sum and a neighbour, one of which is odd.
  bits += (lost > 0) == (sum > 0) ? 1 : -1;
  std::memcpy(&sum, &bits, 8);
  return sum;
}

static double combinePacked(int32_t op, double x, double y, double z) {
  switch (op) {
  case FusecAdd2:
    return x + y;
  case FusecSub2:
    return x - y;
  case FusecMul2:
    return x * y;
  case FusecFma2:
    return fmaToOdd(x, y, z);
  default:
    break;
  }
  if (x != x || y != y)
    return NAN;
  if (x == y) // of two zeros the positive one is larger
    return std::signbit(x) == (op == FusecMax2) ? y : x;
  return (x > y) == (op == FusecMax2) ? x : y;
}

uint32_t Worker::packed(int32_t op, int32_t format, uint32_t x, uint32_t y,
                        uint32_t z) {
  if (op == FusecPack2) {
    float lo, hi;
    std::memcpy(&lo, &x, 4);
    std::memcpy(&hi, &y, 4);
    return encode(format, lo, false) | uint32_t(encode(format, hi, false))
                                           << 16;
  }
  uint32_t result = 0;
  for (int shift : {0, 16}) {
    auto get = [&](uint32_t word) {
      return double(decodeFloat(format, static_cast<uint16_t>(word >> shift)));
    };
    result |= uint32_t(encodeFloat(
                  format, combinePacked(op, get(x), get(y), get(z)), false))
              << shift;
  }
  return result;
}
