//===- LoadEarly.cpp - loads ahead of reductions --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction of a row ends in shuffles, barriers and, for a mean, a division
// with a branch, across which the compiler of the text moves no load up. What
// is loaded behind it (scale and bias of a norm) then arrives when all warps
// have waited for their sums. So loads that need no reduction go to where the
// row itself is loaded:
//
//  1. what a thread holds across the reductions of a block is counted: tiles
//     that are read again behind them, in registers of 32 bits;
//  2. loads behind the first reduction, in order, go ahead of it while both
//     together stay within kMaxHeld. Loops, stores and barriers are not passed.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Tile/IR/Tile.h"
#include "fusec/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace fusec::tile {
#define GEN_PASS_DEF_LOADEARLYPASS
#include "fusec/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fusec::tile

using namespace mlir;
using namespace fusec::tile;

/// Registers of a thread that values held across reductions may take. With
/// addresses and sums that is 64, of which four blocks of 256 threads run: a
/// LayerNorm of 768 f16 with its scale and bias, a row a warp, takes 62.
static constexpr int64_t kMaxHeld = 48;

/// What has to be kept for `value`: what it is widened or repeated from.
static Value origin(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, BroadcastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Registers of a thread for a tile that is held: arithmetic has one for each
/// element. None for what is made again where it is needed, addresses and masks
/// among it.
static int64_t registersHeld(Value value) {
  LayoutAttr layout = getLayout(value.getType());
  Type element = getElementTypeOrSelf(value);
  if (!layout || !element.isIntOrFloat() || element.isInteger(1) ||
      value.getDefiningOp<SplatOp>() ||
      value.getDefiningOp<arith::ConstantOp>())
    return 0;
  return layout.getRegisterCount() *
         llvm::divideCeil(element.getIntOrFloatBitWidth(), 32);
}

/// Registers of a thread for what is loaded; nothing where narrow elements are
/// loaded one by one, each to a register of its own.
static std::optional<int64_t> registersLoaded(LoadOp load) {
  int64_t count = getLayout(load.getType()).getRegisterCount();
  int64_t bits = getElementTypeOrSelf(load.getResult()).getIntOrFloatBitWidth();
  if (count > 1 && int64_t(load.getVector()) * bits < 32)
    return std::nullopt;
  return llvm::divideCeil(count * bits, 32);
}

/// Registers for values that are made before `reduce` and read behind it.
static int64_t heldAcross(ReduceOp reduce) {
  Block *block = reduce->getBlock();
  llvm::SmallDenseSet<Value> held;
  for (Operation &op : *block) {
    if (&op == reduce)
      break;
    for (Value result : op.getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            Operation *here = block->findAncestorOpInBlock(*user);
            return here && reduce->isBeforeInBlock(here);
          }))
        held.insert(origin(result));
  }
  int64_t registers = 0;
  for (Value value : held)
    registers += registersHeld(value);
  return registers;
}

/// The ops of the block of `load` behind `start` that make its operands, in
/// their order; nothing if they are more than arithmetic.
static std::optional<SmallVector<Operation *>>
operandsBehind(LoadOp load, Operation *start) {
  llvm::SetVector<Operation *> found;
  SmallVector<Operation *> pending = {load};
  while (!pending.empty())
    for (Value operand : pending.pop_back_val()->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (!op || op->getBlock() != load->getBlock() ||
          !start->isBeforeInBlock(op))
        continue;
      if (!isPure(op) || op->getNumRegions())
        return std::nullopt;
      if (found.insert(op))
        pending.push_back(op);
    }
  SmallVector<Operation *> ops = found.takeVector();
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops;
}

namespace {
struct LoadEarlyPass : fusec::tile::impl::LoadEarlyPassBase<LoadEarlyPass> {
  void runOnOperation() override {
    getOperation().walk([&](Block *block) { loadEarly(*block); });
  }

  void loadEarly(Block &block) {
    auto reductions = block.getOps<ReduceOp>();
    if (reductions.empty())
      return;
    ReduceOp first = *reductions.begin();
    // Behind the last load that the reduction may wait for.
    Operation *place = nullptr;
    SmallVector<LoadOp> behind;
    for (Operation &op : block) {
      auto load = dyn_cast<LoadOp>(op);
      if (load && op.isBeforeInBlock(first))
        place = load;
      else if (load && isReadOnly(load.getBuffer()))
        behind.push_back(load);
      else if (!load && !isPure(&op) && first->isBeforeInBlock(&op))
        break;
    }
    if (!place || behind.empty())
      return;
    int64_t held = 0;
    for (ReduceOp reduce : reductions)
      held = std::max(held, heldAcross(reduce));
    for (LoadOp load : behind) {
      std::optional<int64_t> needed = registersLoaded(load);
      auto operands = operandsBehind(load, place);
      if (!needed || !operands || held + *needed > kMaxHeld)
        continue;
      held += *needed;
      for (Operation *op : *operands) {
        op->moveAfter(place);
        place = op;
      }
      load->moveAfter(place);
      place = load;
    }
  }
};
} // namespace
