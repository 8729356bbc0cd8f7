//===- CostModel.h - how long a kernel takes --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A static estimate of a region's time in µs from bytes, instructions, tensor
// FLOP and launches. It decides profit only; whether a region is legal is
// RegionShape.h's business.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_ANALYSIS_COSTMODEL_H
#define FUSEC_ANALYSIS_COSTMODEL_H

#include "fusec/Analysis/RegionShape.h"
#include "fusec/Support/TargetInfo.h"

namespace fusec::analysis {

/// Where a kernel's time goes. Times are µs.
struct CostEstimate {
  double readBytes = 0, writtenBytes = 0;
  double instructions = 0, tensorFlops = 0;
  unsigned launches = 1;
  double memoryTime = 0, instructionTime = 0, tensorTime = 0, launchTime = 0;

  /// Memory and arithmetic overlap, launches do not.
  double total() const;
};

/// Estimates for one machine. Cheap to copy.
class CostModel {
public:
  explicit CostModel(const TargetInfo &target) : target(target) {}

  /// The kernel of `form` by itself, all inputs and outputs in device memory.
  CostEstimate estimate(FactTable &facts, const RegionForm &form) const;
  /// The kernel `alone` as a step of a chain, whose `kChainBlocks` blocks do all
  /// of it: without a launch, but with a barrier and a trip to the cache.
  CostEstimate asStep(const CostEstimate &alone) const;
  /// A chain of the kernels `alone`.
  CostEstimate chainOf(llvm::ArrayRef<CostEstimate> alone) const;
  /// The kernel with the given traffic and work.
  CostEstimate fromTotals(double readBytes, double writtenBytes,
                          double instructions, double tensorFlops) const;
  /// Time to move `bytes` to or from device memory, µs.
  double memoryTime(double bytes) const;
  const TargetInfo &getTarget() const { return target; }

private:
  TargetInfo target;
};

/// Blocks that run a chain, each on a multiprocessor of its own: the largest
/// cluster that every GPU with clusters has room for.
inline constexpr unsigned kChainBlocks = 8;

/// Bytes of a tensor in device memory. An unknown axis counts as
/// `kAssumedDynamicSize` elements.
double tensorBytes(mlir::Type type);
/// Elements of a box, unknown axes as in tensorBytes.
double pointCount(llvm::ArrayRef<int64_t> sizes);
/// Size assumed of a dynamic axis: large enough that traffic counts.
inline constexpr int64_t kAssumedDynamicSize = 256;

} // namespace fusec::analysis

#endif // FUSEC_ANALYSIS_COSTMODEL_H
