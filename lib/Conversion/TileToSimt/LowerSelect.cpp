//===- LowerSelect.cpp - the greatest integers along an axis --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For every element of the list that a thread holds: the list is dealt out to
// the lanes, and its registers along the axis are looked at a few at a time.
// Where their coarse numbers say that one of them may get into the list, their
// keys are made and the warp merges them (simt.select). Warps do not meet here:
// each has a list of its own.
//===----------------------------------------------------------------------===//
#include "LowerSelect.h"
#include "Places.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

using namespace mlir;
using namespace fusec;
using namespace fusec::tile_to_simt;
using tile::Digit;

/// Registers that are looked at together where lists are not dealt out to whole
/// warps, so that an insertion takes more instructions: where one of them may
/// get into the list, the keys of all are made. Of whole warps each register is
/// looked at by itself: 128 us for eight of 8192 bf16, 157 by eights.
static constexpr int64_t kGroup = 8;

/// Bits [low, high) of a lane's number that move along `axis`, as powers of
/// two; nothing if there are others between them.
static std::optional<std::pair<int64_t, int64_t>>
lanesAlong(ArrayRef<Digit> lanes, int64_t axis) {
  int64_t below = 1, low = 1, high = 1;
  for (const Digit &digit : lanes) {
    bool isAlong = digit.axis == axis && digit.stride && digit.size > 1;
    if (isAlong && high > low && high != below)
      return std::nullopt;
    if (isAlong && high == low)
      low = below;
    below *= digit.size;
    if (isAlong)
      high = below;
  }
  return std::make_pair(low, high);
}

namespace {
class SelectLowering {
public:
  SelectLowering(tile::SelectOp op, ThreadCode &code, int64_t low, int64_t high)
      : op(op), code(code), loc(op.getLoc()), axis(op.getAxis()), low(low),
        high(high), layout(tile::getLayout(op.getOperand().getType())),
        count(op.getList().size()),
        along(layout.getRegisterCount() / keptCount()),
        group(high / low == 32  ? 1
              : along <= kGroup ? along
                                : std::gcd(along, kGroup)) {}

  void run();

private:
  bool isKept(const Digit &digit) const { return digit.axis != axis; }
  int64_t keptCount() const {
    return tile::placeCount(tile::dropAxes(layout.getReg(), axis));
  }
  Value load(Value array, int64_t place) {
    return memref::LoadOp::create(code.builder, loc, array,
                                  code.constant(loc, place));
  }
  void store(Value value, Value array, Value place) {
    memref::StoreOp::create(code.builder, loc, value, array, place);
  }
  /// Register `reg` along the axis of the list at `place`.
  Value fullRegister(Value place, Value reg) {
    return joinPlaces(
        code, loc, layout.getReg(),
        [&](const Digit &digit) { return isKept(digit); }, place, reg);
  }
  scf::ForOp carryingLoop();
  void makeArrays();
  void deal(llvm::function_ref<Value(unsigned)> entry);
  void collect(llvm::function_ref<Value(unsigned)> array, Value place);
  void selectAll(Value place);
  Value buildMayEnter(Value place, Value first);
  void select(Value place, Value first);

  tile::SelectOp op;
  ThreadCode &code;
  Location loc;
  int64_t axis, low, high;
  tile::LayoutAttr layout;
  int64_t count, along, group;
  Value elements, list, dealt, last;
};
} // namespace

/// Whether one of the group of registers from `first` on may get into a list.
Value SelectLowering::buildMayEnter(Value place, Value first) {
  Type i1 = code.builder.getI1Type();
  Value may = code.makeArray(loc, 1, i1), zero = code.constant(loc, 0);
  Value end = load(last, 0);
  store(arith::ConstantIntOp::create(code.builder, loc, i1, 0), may, zero);
  code.forEachRegister(loc, group, [&](Value reg) {
    Value full = fullRegister(place, code.add(loc, first, reg));
    Value one = code.inlineRegion(op.getMayEnter(),
                                  {code.element(op.getCoarse(), full), end})[0];
    store(arith::OrIOp::create(code.builder, loc, load(may, 0), one), may,
          zero);
  });
  return simt::AnyOp::create(code.builder, loc, load(may, 0));
}

void SelectLowering::select(Value place, Value first) {
  auto branch =
      scf::IfOp::create(code.builder, loc, buildMayEnter(place, first), false);
  OpBuilder::InsertionGuard guard(code.builder);
  code.builder.setInsertionPointToStart(branch.thenBlock());
  code.forEachRegister(loc, group, [&](Value reg) {
    Value full = fullRegister(place, code.add(loc, first, reg));
    store(code.element(op.getOperand(), full), elements, reg);
  });
  simt::SelectOp::create(code.builder, loc, elements, dealt, last, count, low,
                         high);
}

/// The loop that carries the list, where it serves nothing else: then it stays
/// dealt out from iteration to iteration.
scf::ForOp SelectLowering::carryingLoop() {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!loop || keptCount() != 1)
    return {};
  OperandRange yielded = loop.getBody()->getTerminator()->getOperands();
  for (auto [entry, result] : llvm::zip(op.getList(), op.getResults())) {
    auto arg = dyn_cast<BlockArgument>(entry);
    if (!arg || arg.getOwner() != loop.getBody() || !arg.getArgNumber() ||
        !arg.hasOneUse() || yielded[arg.getArgNumber() - 1] != result)
      return {};
  }
  return loop;
}

void SelectLowering::makeArrays() {
  Type type =
      cast<RankedTensorType>(op.getOperand().getType()).getElementType();
  elements = code.makeArray(loc, group, type);
  last = code.makeArray(loc, 1, type);
  dealt = code.makeArray(loc, llvm::divideCeil(count, high / low), type);
  list = code.makeArray(loc, count, type);
}

void SelectLowering::deal(llvm::function_ref<Value(unsigned)> entry) {
  for (int64_t k = 0; k < count; ++k)
    store(entry(k), list, code.constant(loc, k));
  store(load(list, count - 1), last, code.constant(loc, 0));
  simt::DealOp::create(code.builder, loc, list, dealt, low, high);
}

void SelectLowering::collect(llvm::function_ref<Value(unsigned)> array,
                             Value place) {
  simt::CollectOp::create(code.builder, loc, dealt, list, low, high);
  for (int64_t k = 0; k < count; ++k)
    store(load(list, k), array(k), place);
}

void SelectLowering::selectAll(Value place) {
  code.forEachRegister(loc, along / group, [&](Value number) {
    select(place, code.mul(loc, number, group));
  });
}

void SelectLowering::run() {
  if (carryingLoop()) {
    Operation *loop = code.builder.getInsertionBlock()->getParentOp();
    auto array = [&](unsigned k) {
      return code.arrays.lookup(op.getList()[k]);
    };
    {
      OpBuilder::InsertionGuard guard(code.builder);
      code.builder.setInsertionPoint(loop);
      makeArrays();
      deal([&](unsigned k) { return load(array(k), 0); });
      code.builder.setInsertionPointAfter(loop);
      collect(array, code.constant(loc, 0));
    }
    for (auto [k, result] : llvm::enumerate(op.getResults()))
      code.arrays[result] = array(k);
    selectAll(code.constant(loc, 0));
    return;
  }
  int64_t kept = keptCount();
  for (Value result : op.getResults())
    code.arrays[result] = code.makeArray(
        loc, kept, cast<RankedTensorType>(result.getType()).getElementType());
  makeArrays();
  code.forEachRegister(loc, kept, [&](Value place) {
    deal([&](unsigned k) { return code.element(op.getList()[k], place); });
    selectAll(place);
    collect([&](unsigned k) { return code.arrays.lookup(op.getResults()[k]); },
            place);
  });
}

LogicalResult fusec::tile_to_simt::lowerSelect(tile::SelectOp op,
                                               ThreadCode &code) {
  tile::LayoutAttr layout = tile::getLayout(op.getOperand().getType());
  auto lanes = lanesAlong(layout.getLane(), op.getAxis());
  if (!lanes)
    return op.emitOpError("expected neighbouring lanes along its axis");
  SelectLowering(op, code, lanes->first, lanes->second).run();
  return success();
}
