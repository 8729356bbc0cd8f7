//===- Rng.h - the same random choices on every machine ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_FUZZ_RNG_H
#define FUSEC_FUZZ_RNG_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace fusec::fuzz {

/// SplitMix64. The distributions of the C++ library differ between libraries;
/// these do not. Their bias is below 2^-32.
class Rng {
public:
  explicit Rng(uint64_t seed) : state(seed * 0xd1b54a32d192ed03u + 1) {}

  uint64_t bits() {
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  /// In [0, n); n > 0.
  int64_t below(int64_t n) { return int64_t(bits() >> 1) % n; }
  /// In [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }
  /// True in `n` of `of` cases.
  bool chance(int64_t n, int64_t of) { return below(of) < n; }
  template <typename T>
  const T &pick(llvm::ArrayRef<T> from) {
    return from[below(from.size())];
  }
  template <typename T, size_t N>
  const T &pick(const T (&from)[N]) {
    return from[below(N)];
  }
  template <typename Range>
  void shuffle(Range &range) {
    for (size_t i = range.size(); i > 1; --i)
      std::swap(range[i - 1], range[below(i)]);
  }

private:
  uint64_t state;
};

} // namespace fusec::fuzz

#endif // FUSEC_FUZZ_RNG_H
