//===- LoadAhead.cpp - loads of the next iteration ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "LoadAhead.h"
#include "SharedSlots.h"
#include "fusec/Dialect/Tile/IR/Tile.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

void graph_to_tile::hoistFromLoop(scf::ForOp loop) {
  moveLoopInvariantCode(
      loop.getLoopRegions(),
      [&](Value value, Region *region) {
        return !region->isAncestor(value.getParentRegion());
      },
      [&](Operation *op, Region *) {
        auto load = dyn_cast<tile::LoadOp>(op);
        return load ? tile::isReadOnly(load.getBuffer())
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

/// The ops of a slice as they stand in the loop's body.
static SmallVector<Operation *> inOrder(llvm::SetVector<Operation *> slice) {
  SmallVector<Operation *> ops = slice.takeVector();
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops;
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
    if (tile::isReadOnly(load.getBuffer()) && collect(load, loop, needed))
      loads.push_back(load);
  if (loads.empty())
    return;
  SmallVector<Operation *> slice = inOrder(std::move(needed));
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

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
class Copier {
public:
  Copier(scf::ForOp loop, const CopyRing &ring)
      : loop(loop), ring(ring), rewriter(loop), loc(loop.getLoc()) {}
  scf::ForOp run();

private:
  RankedTensorType tileOf(Type element) const {
    return RankedTensorType::get(ring.carrier.getShape(), element,
                                 ring.carrier.getEncoding());
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  Value splat(Value value) {
    return tile::SplatOp::create(rewriter, loc, tileOf(value.getType()), value);
  }
  void findLoads();
  void makeBuffers();
  void copyFor(Value at, Value stage);
  void readCopies(Value stage);

  scf::ForOp loop;
  CopyRing ring;
  IRRewriter rewriter;
  Location loc;
  SmallVector<tile::LoadOp> loads;
  SmallVector<Operation *> slice;
  SmallVector<Value> buffers;
};
} // namespace

void Copier::findLoads() {
  llvm::SetVector<Operation *> needed;
  for (auto load : loop.getBody()->getOps<tile::LoadOp>()) {
    auto type = cast<RankedTensorType>(load.getType());
    if (tile::isReadOnly(load.getBuffer()) &&
        type == tileOf(type.getElementType()) &&
        ring.isCopied(cast<BlockArgument>(load.getBuffer())) &&
        collect(load, loop, needed))
      loads.push_back(load);
  }
  slice = inOrder(std::move(needed));
}

void Copier::makeBuffers() {
  for (tile::LoadOp load : loads)
    buffers.push_back(
        makeSlots(rewriter, loc, slotsOf(ring.carrier, ring.threads),
                  ring.stages, load.getBuffer().getType().getElementType()));
}

/// Starts the copies of iteration `at`, a group of their own.
void Copier::copyFor(Value at, Value stage) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), at);
  for (Operation *op : slice)
    rewriter.clone(*op, mapping);
  Value exists = splat(arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::slt, at, loop.getUpperBound()));
  Value target = placesOf(rewriter, loc, ring.carrier, ring.threads, stage);
  for (auto [load, buffer] : llvm::zip(loads, buffers)) {
    Value mask = exists;
    if (load.getMask())
      mask = arith::AndIOp::create(rewriter, loc, exists,
                                   mapping.lookupOrDefault(load.getMask()));
    tile::CopyOp::create(rewriter, loc, load.getBuffer(),
                         mapping.lookupOrDefault(load.getOffsets()), buffer,
                         target, mask, /*vector=*/1);
  }
  tile::CopyCommitOp::create(rewriter, loc);
}

void Copier::readCopies(Value stage) {
  Value from = placesOf(rewriter, loc, ring.carrier, ring.threads, stage);
  for (auto [load, buffer] : llvm::zip(loads, buffers)) {
    Value copied = tile::LoadOp::create(rewriter, loc, load.getType(), buffer,
                                        from, Value(), Value(), /*vector=*/1);
    if (load.getMask()) {
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPoint(load);
      copied = arith::SelectOp::create(rewriter, loc, load.getMask(), copied,
                                       load.getOther());
    }
    rewriter.replaceOp(load, copied);
  }
}

scf::ForOp Copier::run() {
  findLoads();
  if (loads.empty())
    return loop;
  makeBuffers();
  Value step = loop.getStep();
  for (int64_t i = 0; i + 1 < ring.stages; ++i) {
    Value ahead = arith::MulIOp::create(rewriter, loc, step, index(i));
    copyFor(arith::AddIOp::create(rewriter, loc, loop.getLowerBound(), ahead),
            index(i));
  }
  auto next = [&](Value stage, int64_t by) -> Value {
    // stage + by or, where that is past the last, stage + by - stages.
    Value moved = arith::AddIOp::create(rewriter, loc, stage, index(by));
    Value wraps = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::sge, moved, index(ring.stages));
    Value wrapped =
        arith::AddIOp::create(rewriter, loc, stage, index(by - ring.stages));
    return arith::SelectOp::create(rewriter, loc, wraps, wrapped, moved);
  };
  auto made = loop.replaceWithAdditionalYields(
      rewriter, index(0), /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> stage) {
        rewriter.setInsertionPoint(builder.getInsertionBlock(),
                                   builder.getInsertionPoint());
        return SmallVector<Value>{next(stage.front(), 1)};
      });
  loop = cast<scf::ForOp>(made->getOperation());
  Value stage = loop.getRegionIterArgs().back();
  rewriter.setInsertionPointToStart(loop.getBody());
  tile::CopyWaitOp::create(rewriter, loc, ring.stages - 2);
  Value ahead =
      arith::MulIOp::create(rewriter, loc, step, index(ring.stages - 1));
  Value at =
      arith::AddIOp::create(rewriter, loc, loop.getInductionVar(), ahead);
  // The place of the iteration before, whose values have been used.
  Value free = next(stage, ring.stages - 1);
  Operation *issue = free.getDefiningOp();
  rewriter.setInsertionPointAfter(issue);
  copyFor(at, free);
  rewriter.setInsertionPoint(issue);
  readCopies(stage);
  return loop;
}

scf::ForOp graph_to_tile::copyAhead(scf::ForOp loop, const CopyRing &ring) {
  return Copier(loop, ring).run();
}
