//===- KeepLoads.h - loads that loops repeat --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_KEEPLOADS_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_KEEPLOADS_H

#include "fusec/Dialect/Tile/IR/Tile.h"

namespace fusec::graph_to_tile {

/// Loads of tiles with the shape and layout of `carrier` from read-only buffers
/// that a loop at the top of `kernel` repeats after an earlier one over the
/// same range, at the same offsets: the first loop keeps them in shared memory,
/// each thread its own elements, and the others read them there. Loads beyond
/// `bytes` of a block in all stay as they are.
void keepLoads(tile::KernelOp kernel, mlir::RankedTensorType carrier,
               int64_t bytes);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_KEEPLOADS_H
