//===- Shift.h - where neighbours of a shift lie ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_TILE_IR_SHIFT_H
#define FUSEC_DIALECT_TILE_IR_SHIFT_H

#include "fusec/Dialect/Tile/IR/Tile.h"

namespace fusec::tile {

/// Whether neighbours along the axis of `shift` are in other lanes. If not, a
/// thread has all that there are of them in its registers, and elements beyond
/// its ends are unspecified as those beyond a warp's.
bool crossesLanes(ShiftOp shift);

} // namespace fusec::tile

#endif // FUSEC_DIALECT_TILE_IR_SHIFT_H
