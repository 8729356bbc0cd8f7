//===- HoistSlices.cpp - values of which a part is read -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//  1. Picking one index of an axis (a gather by a constant) becomes a slice.
//  2. Backwards: of each value the box that its readers need, the hull of what
//     each of them needs. An op that can be made for a part alone, because its
//     operands' axes are its own, needs boxes itself; any other op needs whole
//     operands.
//  3. Forwards: such ops are made again for their boxes, from slices of what
//     they read where that is larger.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Dialect/Graph/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

namespace fusec::graph {
#define GEN_PASS_DEF_HOISTSLICESPASS
#include "fusec/Dialect/Graph/Transforms/Passes.h.inc"
} // namespace fusec::graph

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

/// A part is worth another shape if it is at most one of so many: a little less
/// than all of it may be worse aligned.
static constexpr int64_t kLeastParts = 2;

namespace {

/// [low, high) of an axis.
struct Interval {
  int64_t low, high;
  int64_t size() const { return high - low; }
  bool operator==(const Interval &) const = default;
};
using Box = SmallVector<Interval, 4>;

} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static Box wholeOf(Value value) {
  Box box;
  for (int64_t size : typeOf(value).getShape())
    box.push_back({0, size});
  return box;
}

static bool isEmpty(const Box &box) {
  return llvm::any_of(box, [](Interval i) { return i.size() <= 0; });
}

static int64_t volumeOf(const Box &box) {
  int64_t volume = 1;
  for (const Interval &interval : box)
    volume *= interval.size();
  return volume;
}

/// Pairs of axes of a reshape's operand and result that are one axis: as many
/// elements stand before and behind both.
static SmallVector<std::pair<unsigned, unsigned>> sharedAxes(ReshapeOp op) {
  ArrayRef<int64_t> from = typeOf(op.getOperand()).getShape(),
                    to = op.getType().getShape();
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  unsigned i = 0, j = 0;
  int64_t before = 1, after = 1;
  while (i < from.size() && j < to.size()) {
    if (before == after && from[i] == to[j]) {
      pairs.push_back({i, j});
      before *= from[i++], after *= to[j++];
    } else if (before <= after) {
      before *= from[i++];
    } else {
      after *= to[j++];
    }
  }
  // Axes of size 1 are anywhere.
  llvm::erase_if(pairs, [&](auto pair) { return from[pair.first] == 1; });
  return pairs;
}

/// Whether `op` is made for a part of its result like for all of it: its
/// attributes know nothing of sizes.
static bool hasFreeSizes(Operation *op) {
  if (isa<BroadcastOp, TransposeOp, ReduceOp, ContractOp>(op))
    return true;
  auto fusible = dyn_cast<FusibleOpInterface>(op);
  return fusible && fusible.getFusionRole() == FusionRole::elementwise &&
         op->getNumOperands() > 0;
}

/// Whether `op` may be made for parts of its result.
static bool mayShrink(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         (hasFreeSizes(op) || isa<ReshapeOp, SliceOp>(op));
}

/// What `op` needs of its operand number `i` to make `box` of its result.
static Box neededOf(Operation *op, unsigned i, const Box &box) {
  Box need = wholeOf(op->getOperand(i));
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    for (auto [from, to] : sharedAxes(reshape))
      need[from] = box[to];
    return need;
  }
  if (auto slice = dyn_cast<SliceOp>(op)) {
    if (isEmpty(box))
      return need;
    for (auto [axis, interval] : llvm::enumerate(box)) {
      int64_t offset = slice.getOffsets()[axis],
              stride = slice.getStrides()[axis];
      int64_t first = offset + stride * interval.low,
              last = offset + stride * (interval.high - 1);
      need[axis] = {std::min(first, last), std::max(first, last) + 1};
    }
    return need;
  }
  IterationSpace space = cast<FusibleOpInterface>(op).getIterationSpace();
  AffineMap map = space.operands[i].map;
  if (!map)
    return need;
  for (auto [axis, place] : llvm::enumerate(map.getResults()))
    if (auto loop = dyn_cast<AffineDimExpr>(place);
        loop && loop.getPosition() < box.size())
      need[axis] = box[loop.getPosition()];
  return need;
}

/// The least box around `box` for which `op` can be made, or all of it where
/// that is not worth it.
static Box roundUp(Operation *op, Box box) {
  Box whole = wholeOf(op->getResult(0));
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    llvm::SmallDenseSet<unsigned> shared;
    for (auto [from, to] : sharedAxes(reshape))
      shared.insert(to);
    for (unsigned axis = 0; axis < box.size(); ++axis)
      if (!shared.contains(axis))
        box[axis] = whole[axis];
  }
  return isEmpty(box) || isEmpty(whole) ||
                 volumeOf(box) * kLeastParts > volumeOf(whole)
             ? whole
             : box;
}

namespace {

class Hoister {
public:
  explicit Hoister(Block &block) : block(block) {}
  void run();

private:
  void need(Value value, const Box &box);
  void collect();
  Value part(OpBuilder &builder, Location loc, Value value, const Box &box);
  Value remake(Operation *op, const Box &box);

  Block &block;
  DenseMap<Value, Box> needed;
  /// Values of which only a box is made now, and what makes it.
  DenseMap<Value, Value> made;
};

} // namespace

void Hoister::need(Value value, const Box &box) {
  auto [it, isFirst] = needed.try_emplace(value, box);
  if (isFirst)
    return;
  for (auto [own, other] : llvm::zip(it->second, box))
    own = {std::min(own.low, other.low), std::max(own.high, other.high)};
}

void Hoister::collect() {
  for (Operation &op : llvm::reverse(block)) {
    bool shrinks = mayShrink(&op) && needed.contains(op.getResult(0));
    if (shrinks)
      needed[op.getResult(0)] = roundUp(&op, needed[op.getResult(0)]);
    op.walk([&](Operation *inner) {
      for (auto [i, operand] : llvm::enumerate(inner->getOperands()))
        if (isa<RankedTensorType>(operand.getType()))
          need(operand, shrinks ? neededOf(&op, i, needed[op.getResult(0)])
                                : wholeOf(operand));
    });
  }
}

/// The box of `value`, which is a part of what is made of it.
Value Hoister::part(OpBuilder &builder, Location loc, Value value,
                    const Box &box) {
  Value source = value;
  Box own = wholeOf(value);
  if (Value smaller = made.lookup(value))
    source = smaller, own = needed[value];
  if (own == box)
    return source;
  SmallVector<int64_t> offsets, strides(box.size(), 1), shape;
  for (auto [interval, from] : llvm::zip(box, own)) {
    offsets.push_back(interval.low - from.low);
    shape.push_back(interval.size());
  }
  return SliceOp::create(builder, loc, typeOf(value).clone(shape), source,
                         offsets, strides);
}

Value Hoister::remake(Operation *op, const Box &box) {
  OpBuilder builder(op);
  Value result = op->getResult(0);
  if (auto slice = dyn_cast<SliceOp>(op)) {
    Value value = slice.getOperand();
    Value source = made.contains(value) ? made[value] : value;
    Box own = made.contains(value) ? needed[value] : wholeOf(value);
    SmallVector<int64_t> offsets, shape;
    for (auto [axis, interval] : llvm::enumerate(box)) {
      offsets.push_back(slice.getOffsets()[axis] +
                        slice.getStrides()[axis] * interval.low -
                        own[axis].low);
      shape.push_back(interval.size());
    }
    return SliceOp::create(builder, op->getLoc(), typeOf(result).clone(shape),
                           source, offsets, slice.getStrides());
  }
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    operands.push_back(
        part(builder, op->getLoc(), operand, neededOf(op, i, box)));
  SmallVector<int64_t> shape;
  for (const Interval &interval : box)
    shape.push_back(interval.size());
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(typeOf(result).clone(shape));
  return copy->getResult(0);
}

void Hoister::run() {
  collect();
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!mayShrink(&op) || !needed.contains(op.getResult(0)))
      continue;
    Value result = op.getResult(0);
    const Box box = needed[result];
    bool shrinks = box != wholeOf(result);
    bool readsPart = llvm::any_of(op.getOperands(), [&](Value operand) {
      return made.contains(operand);
    });
    if (!shrinks && !readsPart)
      continue;
    Value smaller = remake(&op, box);
    if (shrinks) {
      made[result] = smaller;
      continue;
    }
    result.replaceAllUsesWith(smaller);
    op.erase();
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.getNumResults() == 1 && made.contains(op.getResult(0)) &&
        op.use_empty())
      op.erase();
}

/// The index that `op` picks, if it picks one that is known.
static std::optional<int64_t> pickedIndex(GatherOp op) {
  DenseIntElementsAttr index;
  RankedTensorType type = typeOf(op.getOperand());
  if (!matchPattern(op.getIndices(), m_Constant(&index)) ||
      index.getNumElements() != 1 || !type.hasStaticShape())
    return std::nullopt;
  int64_t size = type.getDimSize(int64_t(op.getAxis()));
  if (size == 0)
    return std::nullopt;
  int64_t at = (*index.begin()).getSExtValue();
  return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size - 1);
}

static bool sliceInstead(GatherOp op) {
  std::optional<int64_t> index = pickedIndex(op);
  if (!index)
    return false;
  OpBuilder builder(op);
  RankedTensorType type = typeOf(op.getOperand());
  SmallVector<int64_t> offsets(type.getRank(), 0), strides(type.getRank(), 1),
      shape(type.getShape());
  offsets[op.getAxis()] = *index;
  shape[op.getAxis()] = 1;
  Value row = SliceOp::create(builder, op.getLoc(), type.clone(shape),
                              op.getOperand(), offsets, strides);
  if (row.getType() != op.getType())
    row = ReshapeOp::create(builder, op.getLoc(), op.getType(), row);
  op.replaceAllUsesWith(row);
  op.erase();
  return true;
}

namespace {
struct HoistSlicesPass
    : fusec::graph::impl::HoistSlicesPassBase<HoistSlicesPass> {
  void runOnOperation() override {
    getOperation()->walk([&](func::FuncOp function) {
      if (function.isExternal() || !function.getBody().hasOneBlock() ||
          !hasStaticSizes(function))
        return;
      Block &block = function.getBody().front();
      for (auto gather : llvm::make_early_inc_range(block.getOps<GatherOp>()))
        sliceInstead(gather);
      if (!block.getOps<SliceOp>().empty())
        Hoister(block).run();
    });
  }

  static bool hasStaticSizes(func::FuncOp function) {
    auto isStatic = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return !tensor || tensor.hasStaticShape();
    };
    WalkResult result = function.walk([&](Operation *op) {
      return llvm::all_of(op->getOperandTypes(), isStatic) &&
                     llvm::all_of(op->getResultTypes(), isStatic)
                 ? WalkResult::advance()
                 : WalkResult::interrupt();
    });
    return !result.wasInterrupted();
  }
};
} // namespace
