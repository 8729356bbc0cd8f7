//===- StencilShifts.h - windows spelt with slices --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stencil need not be a window op: x[i-1] + x[i] + x[i+1] is three slices of
// a padded value and two sums. What such a region reads at several places is
// found from the boxes of its ops: movement ops are looked through, and a value
// whose readers need more of it than they have points is one that neighbouring
// points share.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_ANALYSIS_STENCILSHIFTS_H
#define FUSEC_LIB_ANALYSIS_STENCILSHIFTS_H

#include "fusec/Analysis/RegionShape.h"

namespace fusec::analysis {

/// A value that is made outside of the region, or by an op of it that computes,
/// and how its readers see it.
struct ShiftedValue {
  mlir::Value value;
  /// Where its elements lie relative to a spine point: the join of all reads.
  llvm::SmallVector<TileExtent> box;
  /// What one reader needs: its own box and the box that it reads.
  struct Read {
    llvm::SmallVector<TileExtent> reader, box;
  };
  llvm::SmallVector<Read> reads;
};

/// What the ops of a region without window ops read, producers first, with
/// `form.placements` holding their boxes. Nothing if a read depends on data or
/// there are too many of them.
std::optional<llvm::SmallVector<ShiftedValue>>
shiftedValues(const RegionForm &form);

/// Whether `form`, a legal pointwise region, evaluates an op at several places:
/// a march may share them.
bool readsNeighbours(const RegionForm &form);

} // namespace fusec::analysis

#endif // FUSEC_LIB_ANALYSIS_STENCILSHIFTS_H
