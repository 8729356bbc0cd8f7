//===- UniformTiles.cpp - tiles of one element a thread -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Tile/IR/UniformTiles.h"
#include "fusec/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace fusec::tile;

bool UniformTiles::contains(Value tile) {
  auto it = known.find(tile);
  if (it != known.end())
    return it->second;
  return known[tile] = compute(tile);
}

bool UniformTiles::compute(Value tile) {
  LayoutAttr layout = getLayout(tile.getType());
  Operation *op = tile.getDefiningOp();
  if (!layout || layout.getRegisterCount() == 1)
    return true;
  if (!op)
    return false; // carried by a loop: an array with a register each
  if (auto iota = dyn_cast<IotaOp>(op))
    return llvm::none_of(layout.getReg(), [&](const Digit &digit) {
      return digit.axis == int64_t(iota.getAxis()) && digit.stride &&
             digit.size > 1;
    });
  // Registers are mixed, or what a region yields is not looked at.
  if (isa<BroadcastOp, ShiftOp, SlotOp>(op) || op->getNumRegions())
    return false;
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return contains(operand); });
}
