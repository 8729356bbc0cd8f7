//===- LowerReduce.cpp - reductions over register, lane and warp ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reduction tree follows from the layout:
//  1. each thread combines its registers along the axes, in register order;
//  2. lanes combine by xor shuffles over the lane digits along the axes, so
//     every lane ends with the same value;
//  3. if warp digits move along the axes, one lane of each group writes to
//     shared memory and every thread combines the warps' values in warp order,
//     or, where that is much work, the warps combine two and two;
//  4. if digits of the cluster move along the axes, the blocks combine
//     (LowerCluster.cpp), together with their warps where each has one state.
// Results that each warp has of its own are there after step 2.
// The order depends on the layout alone: equal bits from run to run.
//===----------------------------------------------------------------------===//
#include "LowerReduce.h"
#include "LowerCluster.h"
#include "Places.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::tile_to_simt;
using tile::Digit;

/// Slots of an array up to which a reduction in a loop has two of it in turn:
/// then one barrier an iteration is enough.
static constexpr int64_t kMostAlternating = 64;

namespace {
class ReduceLowering {
public:
  ReduceLowering(tile::ReduceOp op, ThreadCode &code)
      : op(op), code(code), loc(op.getLoc()), axes(op.getAxes()),
        layout(tile::getLayout(op.getOperand(0).getType())) {}

  void run();

private:
  SmallVector<Value> combine(ValueRange lhs, ValueRange rhs);
  SmallVector<Value> loadAll(ArrayRef<Value> arrays, Value at);
  void storeAll(ValueRange values, ArrayRef<Value> arrays, Value at);
  bool isReduced(const Digit &digit) const {
    return digit.stride && digit.size > 1 &&
           llvm::is_contained(axes, digit.axis);
  }
  /// The register with place `kept` among those of one result element and
  /// `reduced` among those that are combined.
  Value fullRegister(Value kept, Value reduced);
  void reduceRegisters();
  void reduceLanes();
  void reduceWarps();
  /// Whether `warps` values of each of `lanes` lanes are too many for every
  /// thread to combine.
  bool isMuch(int64_t warps, int64_t lanes);
  using SlotOf = llvm::function_ref<Value(Value, Value)>;
  void pairWarps(ArrayRef<Value> shared, int64_t warps, Value isWriter,
                 SlotOf slotOf);
  void shuffleWarps(ArrayRef<Value> shared, int64_t warps, SlotOf slotOf);
  Value nextHalf(int64_t slots);
  void finishWarps(bool alternates);
  bool hasStateOfWarp() const;
  void reduceCluster();
  Value sharedSlot(Value warp, Value laneGroup, Value reg, int64_t lanes);
  Value warpWithReducedDigits(Value reducedPlace);

  tile::ReduceOp op;
  ThreadCode &code;
  Location loc;
  ArrayRef<int64_t> axes;
  tile::LayoutAttr layout;
  SmallVector<Value> accs;
  int64_t keptCount = 1;
  /// Of the half in use of buffers that alternate; else null.
  Value firstSlot;
};
} // namespace

SmallVector<Value> ReduceLowering::combine(ValueRange lhs, ValueRange rhs) {
  SmallVector<Value> args(lhs);
  llvm::append_range(args, rhs);
  return code.inlineRegion(op.getCombine(), args);
}

SmallVector<Value> ReduceLowering::loadAll(ArrayRef<Value> arrays, Value at) {
  SmallVector<Value> values;
  for (Value array : arrays)
    values.push_back(memref::LoadOp::create(code.builder, loc, array, at));
  return values;
}

void ReduceLowering::storeAll(ValueRange values, ArrayRef<Value> arrays,
                              Value at) {
  for (auto [value, array] : llvm::zip(values, arrays))
    memref::StoreOp::create(code.builder, loc, value, array, at);
}

Value ReduceLowering::fullRegister(Value kept, Value reduced) {
  return joinPlaces(
      code, loc, layout.getReg(),
      [&](const Digit &digit) { return !llvm::is_contained(axes, digit.axis); },
      kept, reduced);
}

void ReduceLowering::reduceRegisters() {
  keptCount = tile::placeCount(tile::dropAxes(layout.getReg(), axes));
  int64_t reducedCount = layout.getRegisterCount() / keptCount;
  for (Value result : op.getResults())
    accs.push_back(code.makeArray(
        loc, keptCount,
        cast<RankedTensorType>(result.getType()).getElementType()));
  auto elements = [&](Value reg) {
    SmallVector<Value> values;
    for (Value operand : op.getOperands())
      values.push_back(code.element(operand, reg));
    return values;
  };
  code.forEachRegister(loc, keptCount, [&](Value kept) {
    storeAll(elements(fullRegister(kept, code.constant(loc, 0))), accs, kept);
  });
  if (reducedCount == 1)
    return;
  // Register 0 is in the accumulators; the rest follows in order.
  code.forEachRegister(loc, reducedCount - 1, [&](Value step) {
    Value reduced = code.add(loc, step, code.constant(loc, 1));
    code.forEachRegister(loc, keptCount, [&](Value kept) {
      storeAll(
          combine(loadAll(accs, kept), elements(fullRegister(kept, reduced))),
          accs, kept);
    });
  });
}

void ReduceLowering::reduceLanes() {
  int64_t below = 1;
  for (const Digit &digit : layout.getLane()) {
    for (int64_t bit = 1; isReduced(digit) && bit < digit.size; bit *= 2)
      code.forEachRegister(loc, keptCount, [&](Value kept) {
        SmallVector<Value> mine = loadAll(accs, kept), others;
        for (Value value : mine)
          others.push_back(simt::ShuffleXorOp::create(code.builder, loc, value,
                                                      below * bit));
        storeAll(combine(mine, others), accs, kept);
      });
    below *= digit.size;
  }
}

Value ReduceLowering::sharedSlot(Value warp, Value laneGroup, Value reg,
                                 int64_t lanes) {
  Value slot = code.add(loc, code.mul(loc, warp, lanes), laneGroup);
  slot = code.add(loc, code.mul(loc, slot, keptCount), reg);
  return firstSlot ? code.add(loc, firstSlot, slot) : slot;
}

Value ReduceLowering::warpWithReducedDigits(Value reducedPlace) {
  auto isKept = [&](const Digit &digit) { return !isReduced(digit); };
  ArrayRef<Digit> digits = layout.getWarp();
  return joinPlaces(code, loc, digits, isKept,
                    narrowPlace(code, loc, digits, isKept, code.warp),
                    reducedPlace);
}

bool ReduceLowering::isMuch(int64_t warps, int64_t lanes) {
  // In order every thread does all of it; in pairs most wait at barriers.
  constexpr int64_t kMostInOrder = 512;
  // Reads of shared memory by warps, one a cycle of the multiprocessor, as far
  // as lanes read different words. Five barriers take about 500 cycles.
  constexpr int64_t kMostReads = 1024;
  auto ops = op.getCombine().front().without_terminator();
  int64_t reads = lanes == 1 ? 0
                             : layout.getWarpCount() * warps * keptCount *
                                   int64_t(accs.size());
  return llvm::isPowerOf2_64(warps) &&
         (reads > kMostReads ||
          warps * keptCount * std::distance(ops.begin(), ops.end()) >
              kMostInOrder);
}

/// Leaves the result of all warps in the place of the first: of 2 `apart`
/// neighbours the first adds what the middle one has.
void ReduceLowering::pairWarps(ArrayRef<Value> shared, int64_t warps,
                               Value isWriter, SlotOf slotOf) {
  Value place = narrowPlace(
      code, loc, layout.getWarp(),
      [&](const Digit &digit) { return isReduced(digit); }, code.warp);
  for (int64_t apart = 1; apart < warps; apart *= 2) {
    Value isFirst = arith::CmpIOp::create(
        code.builder, loc, arith::CmpIPredicate::eq,
        code.rem(loc, place, 2 * apart), code.constant(loc, 0));
    if (isWriter)
      isFirst = arith::AndIOp::create(code.builder, loc, isFirst, isWriter);
    auto branch = scf::IfOp::create(code.builder, loc, isFirst);
    {
      OpBuilder::InsertionGuard guard(code.builder);
      code.builder.setInsertionPoint(branch.thenYield());
      Value other = code.add(loc, place, code.constant(loc, apart));
      code.forEachRegister(loc, keptCount, [&](Value kept) {
        storeAll(
            combine(loadAll(accs, kept), loadAll(shared, slotOf(other, kept))),
            accs, kept);
      });
      code.forEachRegister(loc, keptCount, [&](Value kept) {
        storeAll(loadAll(accs, kept), shared, slotOf(place, kept));
      });
    }
    simt::BarrierOp::create(code.builder, loc);
  }
}

void ReduceLowering::reduceWarps() {
  int64_t reducedWarps = 1;
  for (const Digit &digit : layout.getWarp())
    reducedWarps *= isReduced(digit) ? digit.size : 1;
  if (reducedWarps == 1)
    return;
  // Lanes that hold different elements after step 2 get slots of their own.
  ArrayRef<Digit> laneDigits = layout.getLane();
  auto isAlike = [&](const Digit &digit) {
    return isReduced(digit) || !digit.stride;
  };
  int64_t keptLanes = 1;
  for (const Digit &digit : laneDigits)
    keptLanes *= isAlike(digit) ? 1 : digit.size;
  Value laneGroup = narrowPlace(
      code, loc, laneDigits,
      [&](const Digit &digit) { return !isAlike(digit); }, code.lane);
  Value isWriter = areZero(code, loc, laneDigits, isAlike, code.lane);
  int64_t slots = layout.getWarpCount() * keptLanes * keptCount;
  bool isRepeated = bool(op->getParentOfType<scf::ForOp>());
  auto arrayFor = [&](Value acc, int64_t count) {
    return MemRefType::get({count},
                           cast<MemRefType>(acc.getType()).getElementType(),
                           MemRefLayoutAttrInterface(),
                           code.builder.getI64IntegerAttr(tile::kSharedSpace));
  };
  bool alternates = isRepeated && slots <= kMostAlternating &&
                    llvm::all_of(accs, [&](Value acc) {
                      return code.hasRoom(arrayFor(acc, 2 * slots));
                    });
  SmallVector<Value> shared;
  for (Value acc : accs) {
    MemRefType type = arrayFor(acc, alternates ? 2 * slots : slots);
    shared.push_back(alternates ? code.ownBuffer(loc, type)
                                : code.exchangeBuffer(loc, type, shared));
  }
  if (alternates)
    firstSlot = nextHalf(slots);
  auto write = [&] {
    code.forEachRegister(loc, keptCount, [&](Value kept) {
      storeAll(loadAll(accs, kept), shared,
               sharedSlot(code.warp, laneGroup, kept, keptLanes));
    });
  };
  if (isWriter) {
    auto branch = scf::IfOp::create(code.builder, loc, isWriter);
    OpBuilder::InsertionGuard guard(code.builder);
    code.builder.setInsertionPoint(branch.thenYield());
    write();
  } else {
    write();
  }
  simt::BarrierOp::create(code.builder, loc);
  auto slotOf = [&](Value reducedPlace, Value kept) {
    return sharedSlot(warpWithReducedDigits(reducedPlace), laneGroup, kept,
                      keptLanes);
  };
  auto loadFirst = [&] {
    code.forEachRegister(loc, keptCount, [&](Value kept) {
      storeAll(loadAll(shared, slotOf(code.constant(loc, 0), kept)), accs,
               kept);
    });
  };
  if (isMuch(reducedWarps, keptLanes)) {
    pairWarps(shared, reducedWarps, isWriter, slotOf);
    loadFirst();
    return finishWarps(alternates);
  }
  // Of such work log2 steps cost less than one a warp.
  constexpr int64_t kDear = 64;
  auto ops = op.getCombine().front().without_terminator();
  bool isDear = reducedWarps * std::distance(ops.begin(), ops.end()) > kDear;
  if ((alternates || isDear) && keptLanes == 1 && keptCount == 1 &&
      reducedWarps >= 8 && reducedWarps <= 32 &&
      llvm::isPowerOf2_64(reducedWarps)) {
    shuffleWarps(shared, reducedWarps, slotOf);
    return finishWarps(alternates);
  }
  loadFirst();
  code.forEachRegister(loc, reducedWarps - 1, [&](Value step) {
    Value reduced = code.add(loc, step, code.constant(loc, 1));
    code.forEachRegister(loc, keptCount, [&](Value kept) {
      storeAll(
          combine(loadAll(accs, kept), loadAll(shared, slotOf(reduced, kept))),
          accs, kept);
    });
  });
  finishWarps(alternates);
}

/// Each lane takes the value of one warp, and lanes combine by shuffles.
void ReduceLowering::shuffleWarps(ArrayRef<Value> shared, int64_t warps,
                                  SlotOf slotOf) {
  Value zero = code.constant(loc, 0);
  Value mine = warps == 32 ? code.lane : code.rem(loc, code.lane, warps);
  SmallVector<Value> values = loadAll(shared, slotOf(mine, zero));
  for (int64_t bit = 1; bit < warps; bit *= 2) {
    SmallVector<Value> others;
    for (Value value : values)
      others.push_back(
          simt::ShuffleXorOp::create(code.builder, loc, value, bit));
    values = combine(values, others);
  }
  storeAll(values, accs, zero);
}

/// The first slot of the half of a buffer that this iteration writes. A thread
/// that writes a half again has met all others behind their reads of it.
Value ReduceLowering::nextHalf(int64_t slots) {
  Value zero = code.constant(loc, 0), phase;
  {
    OpBuilder::InsertionGuard guard(code.builder);
    code.builder.setInsertionPointAfter(code.warp.getDefiningOp());
    phase = code.makeArray(loc, 1, code.builder.getIndexType());
    Value first = code.constant(loc, 0);
    memref::StoreOp::create(code.builder, loc, first, phase, first);
  }
  Value half = memref::LoadOp::create(code.builder, loc, phase, zero);
  Value other =
      arith::SubIOp::create(code.builder, loc, code.constant(loc, slots), half);
  memref::StoreOp::create(code.builder, loc, other, phase, zero);
  return half;
}

void ReduceLowering::finishWarps(bool alternates) {
  // The buffer is written again in the next iteration of a surrounding loop.
  if (!alternates && op->getParentOfType<scf::ForOp>())
    simt::BarrierOp::create(code.builder, loc);
}

void ReduceLowering::reduceCluster() {
  auto isReducedDigit = [&](const Digit &digit) { return isReduced(digit); };
  auto combineStates = [&](ValueRange lhs, ValueRange rhs) {
    return combine(lhs, rhs);
  };
  BlockStates states{layout, accs, keptCount, isReducedDigit, combineStates};
  if (hasStateOfWarp()) {
    combineWarpsOfCluster(loc, states, code);
    return;
  }
  reduceWarps();
  combineOverCluster(loc, states, code);
}

/// Whether a warp is left with one state behind step 2, which is that of no
/// other warp.
bool ReduceLowering::hasStateOfWarp() const {
  auto isOwn = [&](const Digit &digit) {
    return digit.size == 1 || isReduced(digit);
  };
  return keptCount == 1 && llvm::all_of(layout.getWarp(), isOwn) &&
         llvm::all_of(layout.getCluster(), isOwn) &&
         llvm::all_of(layout.getLane(),
                      [&](const Digit &digit) {
                        return isOwn(digit) || !digit.stride;
                      }) &&
         llvm::isPowerOf2_64(layout.getWarpCount()) &&
         llvm::isPowerOf2_64(layout.getClusterCount());
}

void ReduceLowering::run() {
  reduceRegisters();
  reduceLanes();
  if (spansCluster(op))
    reduceCluster();
  else if (!op.endsInWarps())
    reduceWarps();
  for (auto [result, acc] : llvm::zip(op.getResults(), accs))
    code.arrays[result] = acc;
}

LogicalResult fusec::tile_to_simt::lowerReduce(tile::ReduceOp op,
                                               ThreadCode &code) {
  if (spansCluster(op)) {
    if (!isa<tile::KernelOp>(op->getParentOp()))
      return op.emitOpError("over the blocks of a cluster is expected at the "
                            "top of its kernel");
    if (!code.rank)
      return op.emitOpError("over the blocks of a cluster is expected in a "
                            "kernel of clusters");
  }
  ReduceLowering(op, code).run();
  return success();
}
