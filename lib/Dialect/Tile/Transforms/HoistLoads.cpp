//===- HoistLoads.cpp - move loads out of loops ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Tile/IR/UniformTiles.h"
#include "fusec/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace fusec::tile {
#define GEN_PASS_DEF_HOISTLOADSPASS
#include "fusec/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fusec::tile

using namespace mlir;
using namespace fusec::tile;

/// Registers of a thread that hoisted values of one loop may occupy.
static constexpr int64_t kMaxRegisters = 64;

static bool runsAtLeastOnce(scf::ForOp loop) {
  llvm::APInt lower, upper;
  return matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) &&
         matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) &&
         lower.slt(upper);
}

namespace {
struct HoistLoadsPass : fusec::tile::impl::HoistLoadsPassBase<HoistLoadsPass> {
  void runOnOperation() override {
    // Inner loops first, so that a load can leave several.
    getOperation().walk([&](scf::ForOp loop) {
      if (runsAtLeastOnce(loop))
        hoist(loop);
    });
  }

  void hoist(scf::ForOp loop) {
    int64_t inLoop = 0, outside = 0;
    UniformTiles uniform;
    // Equal loads become one: CSE had them apart where stores lie between.
    llvm::SmallDenseSet<std::tuple<Value, Value, Value>> hoisted;
    moveLoopInvariantCode(
        loop.getLoopRegions(),
        [&](Value value, Region *region) {
          return !region->isAncestor(value.getParentRegion());
        },
        [&](Operation *op, Region *) {
          auto load = dyn_cast<LoadOp>(op);
          if (!load)
            return isPure(op) && op->getNumRegions() == 0;
          if (!isReadOnly(load.getBuffer()))
            return false;
          auto key =
              std::make_tuple(Value(load.getBuffer()), Value(load.getOffsets()),
                              Value(load.getMask()));
          if (hoisted.contains(key))
            return true;
          bool isUniform =
              uniform.contains(load.getOffsets()) &&
              (!load.getMask() || uniform.contains(load.getMask()));
          int64_t needed =
              isUniform ? 1 : getLayout(load.getType()).getRegisterCount();
          bool stays = llvm::any_of(op->getOperands(), [&](Value operand) {
            return loop->isAncestor(operand.getParentBlock()->getParentOp());
          });
          // Tiles take registers where they stay, too; scalars take few.
          if ((isUniform ? outside : inLoop) + needed > kMaxRegisters)
            return false;
          inLoop += needed;
          if (!stays) {
            outside += needed;
            hoisted.insert(key);
          }
          return true;
        },
        [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
  }
};
} // namespace
