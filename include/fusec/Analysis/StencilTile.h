//===- StencilTile.h - the tile of a stencil kernel -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which part of the output a block of a stencil kernel makes, what it stages in
// shared memory for it, and which thread holds what. Planner and generator ask
// here, so that a region which is planned as one kernel can be built.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_ANALYSIS_STENCILTILE_H
#define FUSEC_ANALYSIS_STENCILTILE_H

#include "fusec/Analysis/RegionShape.h"

namespace fusec::analysis {

/// Warps of a block of a stencil kernel.
inline constexpr int64_t kStencilWarps = 8;
/// Rows and columns beyond a staged box that threads may read.
inline constexpr int64_t kStencilReach = 8;

/// Who holds a box: lanes run along its innermost axis, a thread holds strips
/// of consecutive rows (all other axes taken as one).
struct StencilThreads {
  int64_t strip = 1;
  int64_t innerWarps = 1, innerRepeats = 1;
  int64_t outerWarps = 1, outerRepeats = 1;

  int64_t rows() const { return strip * outerWarps * outerRepeats; }
  int64_t columns() const { return 32 * innerWarps * innerRepeats; }
};

/// The threads of a box of `sizes`; no sizes are one point.
StencilThreads stencilThreads(llvm::ArrayRef<int64_t> sizes);

/// A value that a window of the region reads and an op of the region makes.
struct StagedValue {
  mlir::Value value;
  /// What a spine tile needs of it.
  llvm::SmallVector<TileExtent> box;

  /// The sizes of the box for `tile`.
  llvm::SmallVector<int64_t> sizes(llvm::ArrayRef<int64_t> tile) const;
  /// Shared memory for it, bytes.
  int64_t bytes(llvm::ArrayRef<int64_t> tile) const;
};

/// What is staged in a Stencil region whose placements have boxes, producers
/// first.
llvm::SmallVector<StagedValue> stagedValues(const RegionForm &form);

/// The tile per spine dim with the least work of a multiprocessor, halo
/// included: large tiles repeat less, small ones fill the machine. It covers
/// whole the axes which some staged value does not depend on, its extended edge
/// along sliding axes is at most 64, and its boxes fit in registers and in
/// static shared memory. Nothing if there is none. Static sizes only.
std::optional<llvm::SmallVector<int64_t>>
chooseStencilTile(const RegionForm &form, llvm::ArrayRef<StagedValue> staged);

} // namespace fusec::analysis

#endif // FUSEC_ANALYSIS_STENCILTILE_H
