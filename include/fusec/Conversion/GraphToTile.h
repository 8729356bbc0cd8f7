//===- GraphToTile.h - from regions to block programs -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_CONVERSION_GRAPHTOTILE_H
#define FUSEC_CONVERSION_GRAPHTOTILE_H

#include "fusec/Analysis/RegionShape.h"
#include "fusec/Conversion/ScheduleChoice.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Dialect/Tile/IR/Tile.h"
#include "fusec/Support/TargetInfo.h"

namespace fusec {

/// Numerics of a region (docs/semantics.md).
enum class NumericsMode : uint8_t {
  /// Every op rounds to its result type, as if it were a kernel of its own.
  /// Float sums may be taken in another order than there.
  Exact,
  /// f32 between ops of a region; rounds before discontinuous ops and stores.
  Default,
};

/// How regions become block programs.
struct TileOptions {
  TargetInfo target;
  NumericsMode numerics = NumericsMode::Default;
  /// Threads of a block (a power of two, at least what the schedule takes by
  /// itself), for a region that shares its launch; 0: the schedule's choice.
  /// Schedules whose tile fixes the number of threads ignore it.
  int64_t threads = 0;
  /// The shape of the same region in other sizes, whose decisions (tiles,
  /// vectors, order of loops) are taken instead of new ones; null: they follow
  /// from the region's own sizes. Fails where one is not legal.
  const analysis::RegionForm *pattern = nullptr;
  /// The shape of the same region in the sizes that extents and grid are for;
  /// null: the region's own. For programs that hold for sizes of which an op
  /// would make too much (1).
  const analysis::RegionForm *counted = nullptr;
  /// Picks among candidates where a schedule offers some; null: the model does.
  const ScheduleChooser *chooser = nullptr;
};

/// Builds the block program of `fusion`, whose shape is `form`, at the end of
/// `module` and returns it. Arguments: the fusion's inputs in order (read
/// only), its results in order, then run-time extents: the size along the
/// outermost axis is in extents and in the grid alone where the schedule can
/// keep it out of the program. Fails with a located diagnostic if no schedule
/// reaches the region.
mlir::FailureOr<tile::KernelOp> lowerRegion(graph::FusionOp fusion,
                                            const analysis::RegionForm &form,
                                            const TileOptions &options,
                                            mlir::ModuleOp module,
                                            llvm::StringRef name);

/// True if offsets into some buffer of `fusion`, or positions on its spine, may
/// not fit 31 bits.
bool needsWideOffsets(graph::FusionOp fusion, const analysis::RegionForm &form);

} // namespace fusec

#endif // FUSEC_CONVERSION_GRAPHTOTILE_H
