//===- BoxExtent.h - extents of operands around a spine tile ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_ANALYSIS_BOXEXTENT_H
#define FUSEC_LIB_ANALYSIS_BOXEXTENT_H

#include "fusec/Analysis/RegionShape.h"

namespace fusec::analysis {

/// All of an axis of `size` points.
TileExtent wholeAxis(int64_t size);

/// The smallest extent of an axis of `size` points that covers both.
TileExtent join(const TileExtent &a, const TileExtent &b, int64_t size);

/// The extent of one operand axis of `size` points read at `expr` by loops with
/// the box `loops` (one extent per loop); the whole axis where `expr` is no sum
/// of multiples of loops, or of several tile dims.
TileExtent extentOf(mlir::AffineExpr expr, llvm::ArrayRef<TileExtent> loops,
                    int64_t size);

} // namespace fusec::analysis

#endif // FUSEC_LIB_ANALYSIS_BOXEXTENT_H
