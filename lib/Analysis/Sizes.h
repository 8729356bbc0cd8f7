//===- Sizes.h - arithmetic on extents --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_ANALYSIS_SIZES_H
#define FUSEC_LIB_ANALYSIS_SIZES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"

namespace fusec::analysis {

inline int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

/// Of two numbers that are not negative.
inline int64_t ceilDiv(int64_t a, int64_t b) {
  return llvm::divideCeil(uint64_t(a), uint64_t(b));
}

/// Chunks of an iteration of a walk over `chunks`: at most `most`, and fewer,
/// down to half, where the last iteration is fuller then.
inline int64_t fullestUnroll(int64_t chunks, int64_t most) {
  if (chunks <= most)
    return chunks;
  int64_t best = most;
  for (int64_t unroll = most; 2 * unroll >= most; --unroll)
    if (ceilDiv(chunks, unroll) * unroll < ceilDiv(chunks, best) * best)
      best = unroll;
  return best;
}

} // namespace fusec::analysis

#endif // FUSEC_LIB_ANALYSIS_SIZES_H
