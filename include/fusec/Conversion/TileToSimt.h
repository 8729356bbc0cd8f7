//===- TileToSimt.h - from block programs to thread programs ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_CONVERSION_TILETOSIMT_H
#define FUSEC_CONVERSION_TILETOSIMT_H

#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Dialect/Tile/IR/Tile.h"

namespace fusec {

/// Builds the thread program of `kernel` before it and returns it. Index
/// arithmetic is 32 bits wide unless `wideOffsets`. Fails with a diagnostic on
/// tile code that no schedule makes (an op that is neither elementwise nor of
/// the tile dialect).
mlir::FailureOr<simt::KernelOp> lowerTileKernel(tile::KernelOp kernel,
                                                bool wideOffsets);

} // namespace fusec

#endif // FUSEC_CONVERSION_TILETOSIMT_H
