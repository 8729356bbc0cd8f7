//===- KeepLoads.cpp - loads that loops repeat ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two loads are equal if the expressions of their offsets, masks and fallbacks
// are, with one loop's variable in the place of the other's. A thread reads
// what it wrote itself, so no barrier is needed.
//===----------------------------------------------------------------------===//
#include "KeepLoads.h"
#include "SharedSlots.h"
#include "fusec/Dialect/Common/ConstantOf.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

namespace {
/// A loop whose range is known.
struct LoopRange {
  int64_t lower, upper, step;
  friend bool operator==(const LoopRange &, const LoopRange &) = default;
  int64_t trips() const {
    return upper <= lower ? 0 : llvm::divideCeil(upper - lower, step);
  }
};

/// Compares what two loops compute from their variables.
class Comparison {
public:
  Comparison(scf::ForOp first, scf::ForOp second)
      : first(first), second(second) {}
  bool isSame(Value a, Value b) {
    if (a == b)
      return true;
    auto [it, isNew] = known.try_emplace({a, b}, false);
    if (isNew) {
      bool same = compare(a, b);
      return known[{a, b}] = same;
    }
    return it->second;
  }

private:
  bool compare(Value a, Value b);

  scf::ForOp first, second;
  DenseMap<std::pair<Value, Value>, bool> known;
};

class Keeper {
public:
  Keeper(tile::KernelOp kernel, RankedTensorType carrier, int64_t bytes)
      : kernel(kernel), carrier(carrier), left(bytes),
        builder(kernel.getContext()) {}
  void run();

private:
  bool mayKeep(tile::LoadOp load);
  Value bufferOf(scf::ForOp loop, tile::LoadOp load);
  Value offsets(scf::ForOp loop);
  void read(scf::ForOp loop, tile::LoadOp load, Value buffer);

  tile::KernelOp kernel;
  RankedTensorType carrier;
  int64_t left;
  OpBuilder builder;
  LoopRange range{};
  DenseMap<Operation *, Value> buffers;
};
} // namespace

static std::optional<LoopRange> rangeOf(scf::ForOp loop) {
  auto lower = constantOf(loop.getLowerBound()),
       upper = constantOf(loop.getUpperBound()),
       step = constantOf(loop.getStep());
  if (!lower || !upper || !step)
    return std::nullopt;
  return LoopRange{*lower, *upper, *step};
}

/// Reads what does not change while the kernel runs.
static bool isFixedLoad(Operation *op) {
  auto load = dyn_cast<tile::LoadOp>(op);
  return load && tile::isReadOnly(load.getBuffer());
}

bool Comparison::compare(Value a, Value b) {
  if (a == first.getInductionVar() && b == second.getInductionVar())
    return true;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y || x->getName() != y->getName() || x->getNumRegions() ||
      a.getType() != b.getType() ||
      cast<OpResult>(a).getResultNumber() !=
          cast<OpResult>(b).getResultNumber() ||
      x->getNumOperands() != y->getNumOperands() ||
      x->getAttrDictionary() != y->getAttrDictionary() ||
      !(isMemoryEffectFree(x) || isFixedLoad(x)))
    return false;
  return llvm::all_of(
      llvm::zip(x->getOperands(), y->getOperands()),
      [&](auto pair) { return isSame(std::get<0>(pair), std::get<1>(pair)); });
}

bool Keeper::mayKeep(tile::LoadOp load) {
  auto type = cast<RankedTensorType>(load.getType());
  return isFixedLoad(load) && type.getShape() == carrier.getShape() &&
         type.getEncoding() == carrier.getEncoding();
}

/// The elements of this iteration: a slot for each that the thread holds.
Value Keeper::offsets(scf::ForOp loop) {
  Location loc = loop.getLoc();
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value past = arith::SubIOp::create(builder, loc, loop.getInductionVar(),
                                     index(range.lower));
  Value trip = arith::DivUIOp::create(builder, loc, past, index(range.step));
  return placesOf(builder, loc, carrier, kernel.getThreads(), trip);
}

/// The shared array in which `loop` keeps `load`; null if there is no room.
Value Keeper::bufferOf(scf::ForOp loop, tile::LoadOp load) {
  auto it = buffers.find(load);
  if (it != buffers.end())
    return it->second;
  Type element = cast<RankedTensorType>(load.getType()).getElementType();
  int64_t slots = slotsOf(carrier, kernel.getThreads());
  int64_t bytes = slots * range.trips() *
                  llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  if (bytes > left)
    return {};
  left -= bytes;
  Location loc = load.getLoc();
  builder.setInsertionPoint(loop);
  Value buffer = makeSlots(builder, loc, slots, range.trips(), element);
  // Behind all loads of the iteration: a store waits for what it stores.
  Operation *last = load;
  for (Operation &op : *loop.getBody())
    if (isa<tile::LoadOp>(op))
      last = &op;
  builder.setInsertionPointAfter(last);
  tile::StoreOp::create(builder, loc, load.getResult(), buffer, offsets(loop),
                        Value(), /*vector=*/1);
  return buffers[load] = buffer;
}

void Keeper::read(scf::ForOp loop, tile::LoadOp load, Value buffer) {
  builder.setInsertionPoint(load);
  Value kept = tile::LoadOp::create(builder, load.getLoc(), load.getType(),
                                    buffer, offsets(loop), Value(), Value(),
                                    /*vector=*/1);
  load.getResult().replaceAllUsesWith(kept);
  load.erase();
}

void Keeper::run() {
  SmallVector<scf::ForOp> loops(kernel.getBody().front().getOps<scf::ForOp>());
  for (auto [i, second] : llvm::enumerate(loops)) {
    std::optional<LoopRange> own = rangeOf(second);
    if (!own)
      continue;
    for (scf::ForOp first : ArrayRef(loops).take_front(i)) {
      if (rangeOf(first) != own)
        continue;
      range = *own;
      Comparison comparison(first, second);
      SmallVector<std::pair<tile::LoadOp, tile::LoadOp>> pairs;
      for (auto load : second.getBody()->getOps<tile::LoadOp>()) {
        auto candidates = first.getBody()->getOps<tile::LoadOp>();
        auto it = llvm::find_if(candidates, [&](tile::LoadOp other) {
          return mayKeep(load) && mayKeep(other) &&
                 comparison.isSame(other.getResult(), load.getResult());
        });
        if (it != candidates.end())
          pairs.push_back({*it, load});
      }
      for (auto [kept, load] : pairs)
        if (Value buffer = bufferOf(first, kept))
          read(second, load, buffer);
    }
  }
}

void graph_to_tile::keepLoads(tile::KernelOp kernel, RankedTensorType carrier,
                              int64_t bytes) {
  Keeper(kernel, carrier, bytes).run();
}
