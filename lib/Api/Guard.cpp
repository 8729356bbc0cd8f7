//===- Guard.cpp - no exception leaves the library ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec throws nothing itself, but operator new does when memory is refused.
// This file alone is compiled with exceptions: destructors between the throw
// and here do not run. So what they would have freed leaks, and a graph that
// was locked is unlocked and not used again. Large buffers never come to this:
// askForMemory (Support/Memory.h) makes errors of them where they are made.
//===----------------------------------------------------------------------===//
#include "Status.h"

#include <new>

using namespace fusec;

fusec_error *api::guard(llvm::function_ref<fusec_error *()> body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    abandonLockedGraph();
    return makeError(FUSEC_OUT_OF_MEMORY, "memory was refused");
  } catch (...) {
    abandonLockedGraph();
    return makeError(FUSEC_FAILED, "an exception was thrown");
  }
}
