//===- FillSlots.cpp - what loops load and keep ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where accesses are of 16 bytes, the hardware copies all that is kept in the
// background, ahead of everything, a group of copies an iteration; a loop
// begins when its first group is there. Its iterations end with an empty group
// each, so that the same number of groups is younger than the one that an
// iteration waits for: those that follow it and one for each iteration before.
// A thread reads what it copied itself, so no barrier is needed, and all groups
// have been waited for when the loops end. Elsewhere the loops store what they
// load.
//===----------------------------------------------------------------------===//
#include "FillSlots.h"
#include "SharedSlots.h"
#include "fusec/Dialect/Common/ConstantOf.h"
#include "fusec/Dialect/Tile/Transforms/AxisInfo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

#include <functional>

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

/// Of an access that the hardware copies past the L1.
static constexpr int64_t kCopyBytes = 16;
/// Groups of copies under way at most.
static constexpr int64_t kMostGroups = 16;

static int64_t bytesOf(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

/// Whether all bits of `value` are known to be 0.
static bool isZero(Value value) {
  if (auto splat = value.getDefiningOp<tile::SplatOp>())
    value = splat.getValue();
  return matchPattern(value, m_Zero()) || matchPattern(value, m_PosZeroFloat());
}

namespace {
class Filler {
public:
  Filler(tile::KernelOp kernel, RankedTensorType carrier, ArrayRef<Kept> kept)
      : kernel(kernel), carrier(carrier), kept(kept),
        builder(kernel.getContext()) {}
  void run();

private:
  Value slots(Location loc, Value at, const LoopRange &range) {
    return iterationSlots(builder, loc, carrier, kernel.getThreads(), range,
                          at);
  }
  void store(const Kept &one);
  bool isCopied(const Kept &one);
  bool isMovable(const Kept &one, Value value);
  void copy(ArrayRef<Kept> ofLoop);

  tile::KernelOp kernel;
  RankedTensorType carrier;
  ArrayRef<Kept> kept;
  OpBuilder builder;
  /// Behind the buffers.
  Operation *start = nullptr;
};
} // namespace

std::optional<LoopRange> graph_to_tile::rangeOf(scf::ForOp loop) {
  auto lower = constantOf(loop.getLowerBound()),
       upper = constantOf(loop.getUpperBound()),
       step = constantOf(loop.getStep());
  if (!lower || !upper || !step)
    return std::nullopt;
  return LoopRange{*lower, *upper, *step};
}

Value graph_to_tile::iterationSlots(OpBuilder &builder, Location loc,
                                    RankedTensorType carrier, int64_t threads,
                                    const LoopRange &range, Value at) {
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value past = arith::SubIOp::create(builder, loc, at, index(range.lower));
  Value trip = arith::DivUIOp::create(builder, loc, past, index(range.step));
  return placesOf(builder, loc, carrier, threads, trip);
}

void graph_to_tile::readSlots(tile::KernelOp kernel, RankedTensorType carrier,
                              const Kept &one) {
  tile::LoadOp load = one.load;
  scf::ForOp loop = one.loop;
  OpBuilder builder(load);
  Location loc = load.getLoc();
  Value places = iterationSlots(builder, loc, carrier, kernel.getThreads(),
                                *rangeOf(loop), loop.getInductionVar());
  Value found = tile::LoadOp::create(builder, loc, load.getType(), one.buffer,
                                     places, Value(), Value(), /*vector=*/1);
  load.getResult().replaceAllUsesWith(found);
  load.erase();
}

void Filler::store(const Kept &one) {
  // Behind all loads of the iteration: a store waits for what it stores.
  scf::ForOp loop = one.loop;
  Operation *last = one.load;
  for (Operation &op : *loop.getBody())
    if (isa<tile::LoadOp>(op))
      last = &op;
  builder.setInsertionPointAfter(last);
  Location loc = last->getLoc();
  tile::StoreOp::create(builder, loc, tile::LoadOp(one.load).getResult(),
                        one.buffer,
                        slots(loc, loop.getInductionVar(), *rangeOf(loop)),
                        Value(), /*vector=*/1);
}

/// Whether `value` can be computed at the start of the kernel, but for the
/// variable of its loop.
bool Filler::isMovable(const Kept &one, Value value) {
  scf::ForOp loop = one.loop;
  Operation *op = value.getDefiningOp();
  if (!op)
    return value == loop.getInductionVar() ||
           value.getParentBlock() == &kernel.getBody().front();
  return isPure(op) && !op->getNumRegions() &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isMovable(one, operand); });
}

/// Where nothing is read, a copy leaves zeros.
bool Filler::isCopied(const Kept &one) {
  tile::LoadOp load = one.load;
  Type element = load.getBuffer().getType().getElementType();
  tile::AxisAnalysis analysis(
      tile::vectorAxis(cast<tile::LayoutAttr>(carrier.getEncoding())));
  int64_t width =
      tile::accessWidth(analysis, element, load.getOffsets(), load.getMask());
  return width * bytesOf(element) == kCopyBytes &&
         isMovable(one, load.getOffsets()) &&
         (!load.getMask() ||
          (isMovable(one, load.getMask()) && isZero(load.getOther())));
}

/// At the start of the kernel, ahead of whatever has to wait: copies of what
/// `ofLoop`, all of one loop, keep.
void Filler::copy(ArrayRef<Kept> ofLoop) {
  scf::ForOp loop = ofLoop.front().loop;
  Location loc = loop.getLoc();
  LoopRange range = *rangeOf(loop);
  builder.setInsertionPoint(start);
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto all = scf::ForOp::create(builder, loc, index(range.lower),
                                index(range.upper), index(range.step));
  builder.setInsertionPointToStart(all.getBody());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), all.getInductionVar());
  std::function<Value(Value)> moved = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (mapping.contains(value) || !op)
      return mapping.lookupOrDefault(value);
    for (Value operand : op->getOperands())
      moved(operand);
    builder.clone(*op, mapping);
    return mapping.lookup(value);
  };
  Value places = slots(loc, all.getInductionVar(), range);
  for (const Kept &one : ofLoop) {
    tile::LoadOp load = one.load;
    Value from = moved(load.getOffsets());
    Value mask = load.getMask() ? moved(load.getMask()) : Value();
    tile::CopyOp::create(builder, loc, load.getBuffer(), from, one.buffer,
                         places, mask, /*vector=*/1);
  }
  tile::CopyCommitOp::create(builder, loc);
}

void Filler::run() {
  llvm::MapVector<Operation *, SmallVector<Kept>> copies;
  int64_t groups = 0;
  for (const Kept &one : kept)
    if (isCopied(one))
      copies[one.loop].push_back(one);
  for (auto &[loop, ofLoop] : copies)
    groups += rangeOf(cast<scf::ForOp>(loop))->trips();
  if (groups > kMostGroups)
    copies.clear();
  for (start = &kernel.getBody().front().front(); isa<tile::AllocOp>(start);)
    start = start->getNextNode();
  // In the order in which the loops wait for them.
  for (auto &[loop, ofLoop] : copies)
    copy(ofLoop);
  for (const Kept &one : kept) {
    auto it = copies.find(one.loop);
    if (it != copies.end() && llvm::any_of(it->second, [&](Kept &other) {
          return other.load == one.load;
        }))
      readSlots(kernel, carrier, one);
    else
      store(one);
  }
  for (auto &[op, ofLoop] : copies) {
    auto loop = cast<scf::ForOp>(op);
    builder.setInsertionPointToStart(loop.getBody());
    tile::CopyWaitOp::create(builder, loop.getLoc(), groups - 1);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    tile::CopyCommitOp::create(builder, loop.getLoc());
  }
}

void graph_to_tile::fillSlots(tile::KernelOp kernel, RankedTensorType carrier,
                              ArrayRef<Kept> kept) {
  Filler(kernel, carrier, kept).run();
}
