//===- Liveness.h - when temporaries live -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Runtime: the steps during which each temporary is alive.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_RUNTIME_LIVENESS_H
#define FUSEC_LIB_RUNTIME_LIVENESS_H

#include "fusec/Runtime/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fusec::runtime {

/// First and last step that name a temporary; `first` > `last` if none does.
struct Interval {
  size_t first = SIZE_MAX;
  size_t last = 0;
  bool used() const { return first <= last; }
  bool meets(const Interval &other) const {
    return first <= other.last && other.first <= last;
  }
};

/// Calls `visit` for every buffer that a step names, in argument order.
void forEachBuffer(const Step &step, llvm::function_ref<void(BufferRef)> visit);

/// One interval per temporary. References out of range are ignored.
std::vector<Interval> temporaryIntervals(const Program &program);

} // namespace fusec::runtime

#endif // FUSEC_LIB_RUNTIME_LIVENESS_H
