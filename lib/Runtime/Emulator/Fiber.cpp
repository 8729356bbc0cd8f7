//===- Fiber.cpp - cooperative threads of a block -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Fiber.h"

#include <cerrno>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FUSEC_EMU_ASAN
#endif
#if __has_feature(thread_sanitizer)
#define FUSEC_EMU_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define FUSEC_EMU_ASAN
#endif
#if defined(__SANITIZE_THREAD__)
#define FUSEC_EMU_TSAN
#endif

#ifdef FUSEC_EMU_ASAN
extern "C" void __sanitizer_start_switch_fiber(void **, const void *, size_t);
extern "C" void __sanitizer_finish_switch_fiber(void *, const void **,
                                                size_t *);
extern "C" void __asan_unpoison_memory_region(const volatile void *, size_t);
#endif
#ifdef FUSEC_EMU_TSAN
extern "C" void *__tsan_get_current_fiber();
extern "C" void *__tsan_create_fiber(unsigned);
extern "C" void __tsan_destroy_fiber(void *);
extern "C" void __tsan_switch_to_fiber(void *, unsigned);
#endif

using namespace fusec::runtime::emulator;

// Who switched, and to whom. Initial-exec: one load, also inside a shared
// library, and no call that could be cached across a switch.
__attribute__((
    tls_model("initial-exec"))) static thread_local Fiber *switchedFrom;
__attribute__((
    tls_model("initial-exec"))) static thread_local Fiber *switchedTo;

#ifndef FUSEC_EMU_UCONTEXT
// void fusec_emu_switch(void **save, void *load): keeps the registers that a
// call must keep, changes the stack, restores them.
asm(R"(
  .text
  .hidden fusec_emu_switch
  .globl fusec_emu_switch
  .type fusec_emu_switch, @function
fusec_emu_switch:
  .cfi_startproc
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
  .size fusec_emu_switch, . - fusec_emu_switch
)");
extern "C" void fusec_emu_switch(void **save, void *load);
#endif

namespace fusec::runtime::emulator {
/// The first function of every fibre.
void startFiber() {
  switchedTo->enter(switchedFrom);
  switchedTo->entry();
}
} // namespace fusec::runtime::emulator

Fiber::~Fiber() {
#ifdef FUSEC_EMU_TSAN
  if (tsanFiber && stackLow)
    __tsan_destroy_fiber(tsanFiber);
#endif
}

void Fiber::adoptThread() {
  // A worker may have run on another OS thread before.
  stackLow = nullptr;
  stackBytes = 0;
  fakeStack = tsanFiber = nullptr;
}

void Fiber::setStack(char *low, size_t bytes) {
  stackLow = low;
  stackBytes = bytes;
}

void Fiber::reset(void (*newEntry)()) {
  entry = newEntry;
  fakeStack = nullptr;
#ifdef FUSEC_EMU_ASAN
  // A fibre given up in mid-run left its red zones behind.
  __asan_unpoison_memory_region(stackLow, stackBytes);
#endif
#ifdef FUSEC_EMU_TSAN
  if (!tsanFiber)
    tsanFiber = __tsan_create_fiber(0);
#endif
#ifdef FUSEC_EMU_UCONTEXT
  getcontext(&context);
  context.uc_stack.ss_sp = stackLow;
  context.uc_stack.ss_size = stackBytes;
  context.uc_link = nullptr;
  makecontext(&context, startFiber, 0);
#else
  // Six saved registers, then the return address in a slot that is 0 mod 16:
  // a function starts with its stack pointer at 8 mod 16.
  auto top =
      reinterpret_cast<uintptr_t>(stackLow + stackBytes) & ~uintptr_t(15);
  auto **slot = reinterpret_cast<void **>(top - 16);
  slot[0] = reinterpret_cast<void *>(startFiber);
  slot[1] = nullptr;
  for (int i = 1; i <= 6; ++i)
    slot[-i] = nullptr;
  stackPointer = slot - 6;
#endif
}

void Fiber::enter(Fiber *from) {
#ifdef FUSEC_EMU_ASAN
  const void *low = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(fakeStack, &low, &bytes);
  // The OS thread's own stack becomes known when it is left.
  if (from && !from->stackLow) {
    from->stackLow = static_cast<char *>(const_cast<void *>(low));
    from->stackBytes = bytes;
  }
#endif
  (void)from;
}

void Fiber::switchTo(Fiber &to, bool last) {
  switchedFrom = this;
  switchedTo = &to;
#ifdef FUSEC_EMU_ASAN
  __sanitizer_start_switch_fiber(last ? nullptr : &fakeStack, to.stackLow,
                                 to.stackBytes);
#endif
#ifdef FUSEC_EMU_TSAN
  if (!tsanFiber)
    tsanFiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.tsanFiber, 0);
#endif
#ifdef FUSEC_EMU_UCONTEXT
  swapcontext(&context, &to.context);
#else
  fusec_emu_switch(&stackPointer, to.stackPointer);
#endif
  (void)last;
  enter(switchedFrom);
}

size_t StackPool::usableBytes() {
  return kStackBytes - static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

llvm::Error StackPool::grow(size_t count) {
  if (stacks.size() >= count)
    return llvm::Error::success();
  size_t missing = count - stacks.size();
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void *memory =
      mmap(nullptr, missing * kStackBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED)
    return llvm::createStringError(
        std::error_code(errno, std::generic_category()),
        "cannot map stacks for %zu emulated threads", missing);
  maps.emplace_back(memory, missing * kStackBytes);
  bool canGuard = true;
  for (size_t i = 0; i < missing; ++i) {
    char *low = static_cast<char *>(memory) + i * kStackBytes;
    // Other pools have used the system's maps up, too: a guard finds deep
    // recursion, which kernels have not.
    canGuard = canGuard && stacks.size() < kGuarded &&
               mprotect(low, page, PROT_NONE) == 0;
    stacks.push_back(low + page);
  }
  return llvm::Error::success();
}

StackPool::~StackPool() {
  for (auto [memory, bytes] : maps)
    munmap(memory, bytes);
}
