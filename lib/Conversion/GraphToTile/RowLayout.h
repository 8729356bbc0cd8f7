//===- RowLayout.h - threads of a row schedule ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_ROWLAYOUT_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_ROWLAYOUT_H

#include "KernelBuilder.h"

namespace fusec::graph_to_tile {

/// The tile of a block: `rows` x `columns` elements and who holds them. A row
/// longer than `columns` is walked in chunks.
struct RowLayout {
  int64_t threads = 256;
  int64_t rows = 1, columns = 1;
  tile::LayoutAttr full;
};

/// Chooses by the direction in which memory is contiguous:
///  * along the row: lanes and vectors run along columns; several short rows
///    share a warp, one long row takes the whole block;
///  * across rows (a reduction over an outer axis): lanes and vectors run over
///    rows, warps and registers along columns.
/// `threads`: as in TileOptions.
RowLayout chooseRowLayout(mlir::MLIRContext *context, int64_t rows,
                          int64_t columns, const analysis::RegionForm &form,
                          const AccessFacts &access, const TargetInfo &target,
                          int64_t threads = 0);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_ROWLAYOUT_H
