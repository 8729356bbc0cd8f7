//===- Guard.cpp - no exception leaves the library ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fusec throws nothing itself, but operator new does when memory is refused.
// This file alone is compiled with exceptions.
//===----------------------------------------------------------------------===//
#include "Status.h"

#include <new>

using namespace fusec;

fusec_error *api::guard(llvm::function_ref<fusec_error *()> body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return makeError(FUSEC_OUT_OF_MEMORY, "memory was refused");
  } catch (...) {
    return makeError(FUSEC_FAILED, "an exception was thrown");
  }
}
