//===- SameRegion.h - regions that are equal --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layers of a net are equal regions on other values. They are lowered once.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_SAMEREGION_H
#define FUSEC_LIB_DRIVER_SAMEREGION_H

#include "fusec/Dialect/Graph/IR/Graph.h"
#include "llvm/ADT/DenseMap.h"

namespace fusec::driver {

/// Finds regions whose bodies have the same ops with the same attributes, types
/// and uses of arguments in the same order: whatever is made of one from its
/// body alone serves the other. Locations do not count.
class SameRegions {
public:
  /// The first region equal to `fusion` that was given, which is `fusion`
  /// itself if there was none.
  graph::FusionOp firstOf(graph::FusionOp fusion);
  /// `fusion` is about to be changed or erased.
  void forget(graph::FusionOp fusion);

private:
  llvm::DenseMap<size_t, llvm::SmallVector<graph::FusionOp, 1>> byHash;
};

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_SAMEREGION_H
