//===- RowLayout.h - threads of a row schedule ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_ROWLAYOUT_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_ROWLAYOUT_H

#include "KernelBuilder.h"

namespace fusec::graph_to_tile {

/// Who holds the tile of a block: tiling.rows() x tiling.columns() elements.
tile::LayoutAttr layoutOf(mlir::MLIRContext *context,
                          const analysis::RowTiling &tiling);

/// The tile in which the last block of a split row combines `parts` parts at a
/// time, tiling.rows() x `parts` states, until it has all tiling.splits.
struct PartsLayout {
  int64_t parts;
  tile::LayoutAttr layout;
};
/// `states`: how many values a row's state is.
PartsLayout partsLayoutOf(mlir::MLIRContext *context,
                          const analysis::RowTiling &tiling, int64_t states);

/// Digits that were chosen for other sizes cover the columns of those, and
/// their vectors divide the rows' innermost size; else an error at the fusion.
mlir::LogicalResult checkTiling(KernelBuilder &kb,
                                const analysis::RowTiling &tiling);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_ROWLAYOUT_H
