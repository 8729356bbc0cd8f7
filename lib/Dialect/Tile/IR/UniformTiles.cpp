//===- UniformTiles.cpp - tiles of one element a thread -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Tile/IR/UniformTiles.h"
#include "fusec/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec::tile;

/// Whether the coordinates along `axis` of a thread's registers all have the
/// same quotient by `by`: its registers are one aligned run of them.
static bool isRunWithin(LayoutAttr layout, int64_t axis, int64_t by) {
  for (const Digit &digit : layout.getReg())
    if (digit.axis == axis && digit.stride && digit.size > 1 &&
        by % (digit.stride * digit.size))
      return false;
  auto isAligned = [&](const Digit &digit) {
    return digit.axis != axis || digit.stride % by == 0;
  };
  return llvm::all_of(layout.getLane(), isAligned) &&
         llvm::all_of(layout.getWarp(), isAligned) &&
         llvm::all_of(layout.getCluster(), isAligned);
}

bool UniformTiles::contains(Value tile) {
  auto it = known.find(tile);
  if (it != known.end())
    return it->second;
  return known[tile] = compute(tile);
}

bool UniformTiles::compute(Value tile) {
  LayoutAttr layout = getLayout(tile.getType());
  Operation *op = tile.getDefiningOp();
  if (!layout || (of == Of::Thread && layout.getRegisterCount() == 1))
    return true;
  if (!op)
    return false; // carried by a loop: an array with a register each
  if (auto iota = dyn_cast<IotaOp>(op)) {
    auto counts = [&](const Digit &digit) {
      return digit.axis == int64_t(iota.getAxis()) && digit.stride &&
             digit.size > 1;
    };
    return llvm::none_of(layout.getReg(), counts) &&
           (of == Of::Thread || llvm::none_of(layout.getLane(), counts));
  }
  if (auto quotient = dyn_cast<arith::DivUIOp>(op);
      quotient && of == Of::Thread) {
    auto iota = quotient.getLhs().getDefiningOp<IotaOp>();
    llvm::APInt by;
    if (iota && matchPattern(quotient.getRhs(), m_ConstantInt(&by)) &&
        !by.isZero() &&
        isRunWithin(layout, int64_t(iota.getAxis()), by.getSExtValue()))
      return true;
  }
  // Registers are mixed, or what a region yields is not looked at.
  if (isa<BroadcastOp, ShiftOp, SlotOp>(op) || op->getNumRegions())
    return false;
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return contains(operand); });
}
