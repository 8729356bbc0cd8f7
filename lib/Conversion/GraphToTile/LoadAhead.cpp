//===- LoadAhead.cpp - loads of the next iteration ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LoadAhead.h"
#include "fusec/Dialect/Tile/IR/Tile.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace fusec;

static bool isReadOnly(Value buffer) {
  auto arg = dyn_cast<BlockArgument>(buffer);
  auto kernel = arg ? dyn_cast<tile::KernelOp>(arg.getOwner()->getParentOp())
                    : tile::KernelOp();
  return kernel && arg.getArgNumber() < kernel.getReadOnly();
}

void graph_to_tile::hoistFromLoop(scf::ForOp loop) {
  moveLoopInvariantCode(
      loop.getLoopRegions(),
      [&](Value value, Region *region) {
        return !region->isAncestor(value.getParentRegion());
      },
      [&](Operation *op, Region *) {
        auto load = dyn_cast<tile::LoadOp>(op);
        return load ? isReadOnly(load.getBuffer())
                    : isPure(op) && op->getNumRegions() == 0;
      },
      [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
}

/// Adds what `load` needs of the loop's body to `slice`, in order; false if
/// that is more than arithmetic on the loop's variable.
static bool collect(tile::LoadOp load, scf::ForOp loop,
                    llvm::SetVector<Operation *> &slice) {
  SmallVector<Operation *> pending = {load};
  llvm::SetVector<Operation *> found;
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    for (Value operand : op->getOperands()) {
      if (operand == loop.getInductionVar() ||
          loop.isDefinedOutsideOfLoop(operand))
        continue;
      Operation *producer = operand.getDefiningOp();
      if (!producer || producer->getBlock() != loop.getBody() ||
          !isPure(producer) || producer->getNumRegions())
        return false;
      if (found.insert(producer))
        pending.push_back(producer);
    }
  }
  slice.insert_range(found);
  return true;
}

/// Copies `slice` and `loads` at the builder's place for iteration `at`.
static SmallVector<Value> copyFor(OpBuilder &builder, scf::ForOp loop,
                                  ArrayRef<Operation *> slice,
                                  ArrayRef<tile::LoadOp> loads, Value at) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), at);
  for (Operation *op : slice)
    builder.clone(*op, mapping);
  SmallVector<Value> result;
  for (tile::LoadOp load : loads)
    result.push_back(builder.clone(*load, mapping)->getResult(0));
  return result;
}

void graph_to_tile::loadAhead(scf::ForOp loop) {
  SmallVector<tile::LoadOp> loads;
  llvm::SetVector<Operation *> needed;
  for (auto load : loop.getBody()->getOps<tile::LoadOp>())
    if (isReadOnly(load.getBuffer()) && collect(load, loop, needed))
      loads.push_back(load);
  if (loads.empty())
    return;
  SmallVector<Operation *> slice = needed.takeVector();
  llvm::sort(slice,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  IRRewriter rewriter(loop);
  Location loc = loop.getLoc();
  SmallVector<Value> inits =
      copyFor(rewriter, loop, slice, loads, loop.getLowerBound());
  // Behind the last iteration its own loads once more: without a condition
  // nothing has to wait for them.
  Value last =
      arith::AddIOp::create(rewriter, loc, loop.getUpperBound(),
                            arith::ConstantIndexOp::create(rewriter, loc, -1));
  rewriter.setInsertionPointToStart(loop.getBody());
  Value next = arith::AddIOp::create(rewriter, loc, loop.getInductionVar(),
                                     loop.getStep());
  next = arith::MinSIOp::create(rewriter, loc, next, last);
  SmallVector<Value> ahead = copyFor(rewriter, loop, slice, loads, next);
  rewriter.setInsertionPoint(loop);
  auto made = loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument>) { return ahead; });
  scf::ForOp carrying = cast<scf::ForOp>(made->getOperation());
  ValueRange carried = carrying.getRegionIterArgs().take_back(loads.size());
  for (auto [load, value] : llvm::zip(loads, carried))
    rewriter.replaceOp(load, value);
}
