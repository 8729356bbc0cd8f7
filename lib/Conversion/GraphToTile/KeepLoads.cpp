//===- KeepLoads.cpp - loads that loops repeat ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two loads are equal if the expressions of their offsets, masks and fallbacks
// are, with one loop's variable in the place of the other's. A thread reads
// what it wrote itself, so no barrier is needed.
//===----------------------------------------------------------------------===//
#include "KeepLoads.h"
#include "FillSlots.h"
#include "SharedSlots.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

namespace {
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

  tile::KernelOp kernel;
  RankedTensorType carrier;
  int64_t left;
  OpBuilder builder;
  LoopRange range{};
  SmallVector<Kept> kept;
};
} // namespace

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

/// The shared array in which `loop` keeps `load`; null if there is no room.
Value Keeper::bufferOf(scf::ForOp loop, tile::LoadOp load) {
  auto *it = llvm::find_if(kept, [&](Kept &one) { return one.load == load; });
  if (it != kept.end())
    return it->buffer;
  Type element = cast<RankedTensorType>(load.getType()).getElementType();
  int64_t slots = slotsOf(carrier, kernel.getThreads());
  int64_t bytes = slots * range.trips() *
                  llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  if (bytes > left)
    return {};
  left -= bytes;
  builder.setInsertionPointToStart(&kernel.getBody().front());
  Value buffer =
      makeSlots(builder, load.getLoc(), slots, range.trips(), element);
  kept.push_back({loop, load, buffer});
  return buffer;
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
      for (auto [source, load] : pairs)
        if (Value buffer = bufferOf(first, source))
          readSlots(kernel, carrier, {second, load, buffer});
    }
  }
  llvm::sort(kept,
             [](Kept &a, Kept &b) { return a.loop->isBeforeInBlock(b.loop); });
  if (!kept.empty())
    fillSlots(kernel, carrier, kept);
}

void graph_to_tile::keepLoads(tile::KernelOp kernel, RankedTensorType carrier,
                              int64_t bytes) {
  Keeper(kernel, carrier, bytes).run();
}
