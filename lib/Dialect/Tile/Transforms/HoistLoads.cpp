//===- HoistLoads.cpp - move loads out of loops ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
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

static bool isReadOnly(Value buffer) {
  auto arg = dyn_cast<BlockArgument>(buffer);
  auto kernel =
      arg ? dyn_cast<KernelOp>(arg.getOwner()->getParentOp()) : KernelOp();
  return kernel && arg.getArgNumber() < kernel.getReadOnly();
}

/// True if no register digit tells the elements of `tile` apart, as far as its
/// address says.
static bool isUniform(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (!op)
    return false;
  if (auto iota = dyn_cast<IotaOp>(op))
    return llvm::none_of(getLayout(iota.getType()).getReg(),
                         [&](const Digit &digit) {
                           return digit.axis == int64_t(iota.getAxis()) &&
                                  digit.stride && digit.size > 1;
                         });
  if (isa<BroadcastOp, ReduceOp, ShiftOp>(op))
    return false;
  return llvm::all_of(op->getOperands(), [](Value operand) {
    return !getLayout(operand.getType()) || isUniform(operand);
  });
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
    int64_t registers = 0;
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
          int64_t needed =
              isUniform(load.getOffsets()) &&
                      (!load.getMask() || isUniform(load.getMask()))
                  ? 1
                  : getLayout(load.getType()).getRegisterCount();
          if (registers + needed > kMaxRegisters)
            return false;
          registers += needed;
          return true;
        },
        [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
  }
};
} // namespace
