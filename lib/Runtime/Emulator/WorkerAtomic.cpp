//===- WorkerAtomic.cpp - atomic operations on global memory --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks on other OS threads take part, so these are atomics of the host, with
// acquire and release: at least as strong as what a kernel asked for.
//===----------------------------------------------------------------------===//
#include "Worker.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;

template <class T>
static T fromBits(u64 bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
static T combine(int32_t op, T old, u64 a, u64 b) {
  T x = fromBits<T>(a);
  switch (op) {
  case FusecAdd:
    // Integers wrap.
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(u64(old) + u64(x));
    else
      return old + x;
  case FusecMax:
    return std::max(old, x);
  case FusecMin:
    return std::min(old, x);
  case FusecCas:
    return old == fromBits<T>(b) ? x : old;
  case FusecTicket:
    // Starts again at zero after ticket a - 1.
    return old >= x - 1 ? T(0) : old + 1;
  case FusecExchange:
    return x;
  default:
    return old;
  }
}

template <class T>
static u64 update(uint8_t *at, int32_t op, u64 a, u64 b) {
  using Bits = std::conditional_t<sizeof(T) == 8, u64, uint32_t>;
  auto *word = reinterpret_cast<Bits *>(at);
  Bits old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  Bits next;
  do {
    T value = combine<T>(op, fromBits<T>(old), a, b);
    next = 0;
    std::memcpy(&next, &value, sizeof(T));
  } while (!__atomic_compare_exchange_n(word, &old, next, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  return old;
}

u64 Worker::atomic(int32_t op, int32_t type, u64 base, i64 offset, u64 a, u64 b,
                   int32_t line) {
  step(line);
  bool wide = type == FusecI64 || type == FusecU64 || type == FusecF64;
  uint8_t *at = checkGlobal("atomic", base, offset, wide ? 8 : 4, true, true,
                            line, 0, true);
  if (!at)
    return 0;
  // Before, so that who comes later sees what this block did; and after, as
  // another block may have come between the two.
  state->global.synchronise(block().unit);
  u64 old = 0;
  switch (type) {
  case FusecI32:
    old = update<int32_t>(at, op, a, b);
    break;
  case FusecU32:
    old = update<uint32_t>(at, op, a, b);
    break;
  case FusecI64:
    old = update<i64>(at, op, a, b);
    break;
  case FusecU64:
    old = update<u64>(at, op, a, b);
    break;
  case FusecF32:
    old = update<float>(at, op, a, b);
    break;
  default:
    old = update<double>(at, op, a, b);
  }
  state->global.synchronise(block().unit);
  return old;
}
