//===- Fiber.h - cooperative threads of a block -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One fibre per emulated thread. The own context switch of x86-64 takes some
// nanoseconds; other machines use ucontext. A fibre stays on the OS thread
// that first ran it. AddressSanitizer and ThreadSanitizer are told of every
// switch when this is built with them.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_EMULATOR_FIBER_H
#define FUSEC_LIB_RUNTIME_EMULATOR_FIBER_H

#include "llvm/Support/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#if !defined(__x86_64__) && !defined(FUSEC_EMU_UCONTEXT)
#define FUSEC_EMU_UCONTEXT
#endif
#ifdef FUSEC_EMU_UCONTEXT
#include <ucontext.h>
#endif

namespace fusec::runtime::emulator {

/// A stack and the place where it stopped. The default-constructed one stands
/// for the OS thread's own stack.
class Fiber {
public:
  Fiber() = default;
  Fiber(const Fiber &) = delete;
  Fiber &operator=(const Fiber &) = delete;
  ~Fiber();

  /// Makes this the running fibre of the calling OS thread, on its own stack.
  void adoptThread();
  /// Gives the fibre its stack. Kept by the caller.
  void setStack(char *low, size_t bytes);
  /// Makes the next switch to this fibre call `entry` on an empty stack; what
  /// the fibre did before is forgotten. `entry` never returns: it ends with a
  /// switch to another fibre.
  void reset(void (*entry)());
  /// Stops this fibre, which is the running one, and continues `to`. With
  /// `last`, this fibre is not continued before another `reset`.
  void switchTo(Fiber &to, bool last = false);

private:
  friend void startFiber();
  void enter(Fiber *from);

#ifdef FUSEC_EMU_UCONTEXT
  ucontext_t context = {};
#else
  void *stackPointer = nullptr;
#endif
  void (*entry)() = nullptr;
  char *stackLow = nullptr;
  size_t stackBytes = 0;
  [[maybe_unused]] void *fakeStack = nullptr; // AddressSanitizer's
  [[maybe_unused]] void *tsanFiber = nullptr; // ThreadSanitizer's
};

/// Stacks for many fibres, with a guard page below each of the first kGuarded:
/// a process has a limited number of mappings. Memory is committed when it is
/// touched.
class StackPool {
public:
  /// Enough for register arrays of unoptimised kernels; a deeper one hits the
  /// guard page.
  static constexpr size_t kStackBytes = 256 * 1024;
  static constexpr size_t kGuarded = 1024;
  StackPool() = default;
  StackPool(const StackPool &) = delete;
  ~StackPool();
  /// Makes at least `count` stacks exist.
  llvm::Error grow(size_t count);
  /// The lowest usable byte of stack `index`.
  char *stack(size_t index) const { return stacks[index]; }
  static size_t usableBytes();

private:
  std::vector<char *> stacks;
  std::vector<std::pair<void *, size_t>> maps;
};

} // namespace fusec::runtime::emulator

#endif // FUSEC_LIB_RUNTIME_EMULATOR_FIBER_H
