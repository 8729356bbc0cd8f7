//===- Occupancy.h - how many blocks fit a multiprocessor -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SESSION_OCCUPANCY_H
#define FUSEC_SESSION_OCCUPANCY_H

#include "fusec/Support/TargetInfo.h"

namespace fusec::session {

/// Blocks that a multiprocessor holds at once.
struct Occupancy {
  uint32_t blocks = 0;
  /// Warps over the most that a multiprocessor holds, in [0, 1].
  double fraction = 0;
  /// What runs out first: "threads", "registers", "shared memory" or "blocks".
  llvm::StringRef limit;
};

/// The occupancy of blocks of `threads` (at least 1) with `registers` per
/// thread and `sharedBytes` of static and dynamic shared memory together.
Occupancy occupancy(const TargetInfo &target, uint32_t threads,
                    uint32_t registers, uint64_t sharedBytes);

} // namespace fusec::session

#endif // FUSEC_SESSION_OCCUPANCY_H
