//===- LaunchParts.h - regions that share a launch --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to lib/Fusion. What packSiblings and packChains have in common.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FUSION_LAUNCHPARTS_H
#define FUSEC_LIB_FUSION_LAUNCHPARTS_H

#include "fusec/Dialect/Graph/IR/Graph.h"

namespace fusec::fusion {

/// Bytes of a launch's parameters (32 764 on sm_70 and later), with room for
/// alignment.
inline constexpr unsigned kMaxTableBytes = 32000;

/// Bytes that `part` takes of them, at most: its buffers, three numbers of a
/// chain or one of siblings, two extents and two sizes of its grid.
unsigned tableBytesOf(graph::FusionOp part);

/// Moves `parts`, which may read each other in their order, into one fusion at
/// the insertion point of `builder`, behind all of them and what they read. Its
/// results are the values that are used outside of `parts`; readers that stand
/// before it are the caller's to move.
graph::FusionOp mergeParts(mlir::OpBuilder &builder,
                           llvm::ArrayRef<graph::FusionOp> parts);

} // namespace fusec::fusion

#endif // FUSEC_LIB_FUSION_LAUNCHPARTS_H
