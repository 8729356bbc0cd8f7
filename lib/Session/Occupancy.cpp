//===- Occupancy.cpp - how many blocks fit a multiprocessor ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Source of the numbers: the "Compute Capabilities" tables of the CUDA C++
// programming guide; they are the same for 8.0 and 9.0.
//===----------------------------------------------------------------------===//
#include "fusec/Session/Occupancy.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace fusec;
using namespace fusec::session;

static constexpr uint64_t kWarp = 32, kMaxWarps = 64, kMaxBlocks = 32;
/// Registers are given to warps in such units.
static constexpr uint64_t kRegisterUnit = 256;
/// Shared memory: the unit, and what the system takes of it per block.
static constexpr uint64_t kSharedUnit = 128, kSharedReserved = 1024;

Occupancy fusec::session::occupancy(const TargetInfo &target, uint32_t threads,
                                 uint32_t registers, uint64_t sharedBytes) {
  uint64_t warps = llvm::divideCeil(std::max(threads, 1u), kWarp);
  uint64_t registersOfWarp =
      llvm::alignTo(std::max(registers, 1u) * kWarp, kRegisterUnit);
  uint64_t shared = llvm::alignTo(sharedBytes + kSharedReserved, kSharedUnit);
  // A block may use all but what the system takes for it.
  uint64_t sharedInAll = target.sharedBytesPerBlock + kSharedReserved;
  std::pair<uint64_t, llvm::StringRef> limits[] = {
      {kMaxWarps / warps, "threads"},
      {target.registersPerMultiprocessor / registersOfWarp / warps,
       "registers"},
      {sharedInAll / shared, "shared memory"},
      {kMaxBlocks, "blocks"}};
  auto least = *std::min_element(
      std::begin(limits), std::end(limits),
      [](const auto &a, const auto &b) { return a.first < b.first; });
  return {uint32_t(least.first), double(least.first * warps) / kMaxWarps,
          least.second};
}
