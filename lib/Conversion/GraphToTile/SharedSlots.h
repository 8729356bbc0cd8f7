//===- SharedSlots.h - tiles of threads in shared memory --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rounds of tiles of one shape and layout in an array of shared memory, where
// each thread reads what it wrote itself: element by element as `tile.slot`
// counts, round after round.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_SHAREDSLOTS_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_SHAREDSLOTS_H

#include "fusec/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/Builders.h"

namespace fusec::graph_to_tile {

/// Elements that a block of `threads` threads has of a tile like `carrier`.
int64_t slotsOf(mlir::RankedTensorType carrier, int64_t threads);

/// An array for `rounds` rounds of `slots` elements.
mlir::Value makeSlots(mlir::OpBuilder &builder, mlir::Location loc,
                      int64_t slots, int64_t rounds, mlir::Type element);

/// The places of round `round`, an index, as a tile like `carrier`.
mlir::Value placesOf(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::RankedTensorType carrier, int64_t threads,
                     mlir::Value round);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_SHAREDSLOTS_H
