//===- WarpFactors.h - factors that a warp shares ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_TILETOSIMT_WARPFACTORS_H
#define FUSEC_LIB_CONVERSION_TILETOSIMT_WARPFACTORS_H

#include "fusec/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/DenseSet.h"

namespace fusec::tile_to_simt {

/// The f32 tiles of `kernel` that are worth a uniform register: weights of
/// windows, which are made outside of loops, hold one element for a whole warp
/// and are multiplied with tiles of several registers. Said to be lane 0's,
/// they take uniform registers, which multiply-adds read, and leave the
/// thread's own to others: a chain of three depthwise 3x3 has 72 for 96 so.
/// Empty where the kernel has only a few.
llvm::DenseSet<mlir::Value> findWarpFactors(tile::KernelOp kernel);

} // namespace fusec::tile_to_simt

#endif // FUSEC_LIB_CONVERSION_TILETOSIMT_WARPFACTORS_H
