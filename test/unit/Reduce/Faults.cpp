//===- Faults.cpp - wrong lowerings, planted ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Faults.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Verify/Ways.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;
using fusec::test::Fault;

/// Every op of one kind becomes another with the same operands and attributes.
template <typename From, typename To>
static void exchange(func::FuncOp function) {
  SmallVector<From> ops;
  function.walk([&](From op) { ops.push_back(op); });
  for (From op : ops) {
    OpBuilder builder(op);
    OperationState state(op.getLoc(), To::getOperationName());
    state.addOperands(op->getOperands());
    state.addTypes(op->getResultTypes());
    state.addAttributes(op->getAttrs());
    op->replaceAllUsesWith(builder.create(state));
    op->erase();
  }
}

template <typename OpT, typename Change>
static void onEach(func::FuncOp function, Change change) {
  SmallVector<OpT> ops;
  function.walk([&](OpT op) { ops.push_back(op); });
  for (OpT op : ops)
    change(op);
}

template <typename OpT>
static void swapOperands(func::FuncOp function) {
  onEach<OpT>(function, [](OpT op) {
    Value first = op->getOperand(0);
    op->setOperand(0, op->getOperand(1));
    op->setOperand(1, first);
  });
}

template <typename OpT>
static void forwardOperand(func::FuncOp function) {
  onEach<OpT>(function, [](OpT op) {
    if (op->getOperand(0).getType() == op->getResult(0).getType())
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  });
}

template <typename OpT, ReduceKind FromKind, ReduceKind ToKind>
static void changeKind(func::FuncOp function) {
  onEach<OpT>(function, [](OpT op) {
    if (op.getKind() == FromKind)
      op.setKind(ToKind);
  });
}

template <ComparePredicate From, ComparePredicate To>
static void changePredicate(func::FuncOp function) {
  onEach<CompareOp>(function, [](CompareOp op) {
    if (op.getPredicate() == From)
      op.setPredicate(To);
  });
}

/// A slice that starts at 0 always.
static void dropOffsets(func::FuncOp function) {
  onEach<SliceOp>(function, [](SliceOp op) {
    SmallVector<int64_t> offsets(op.getOffsets());
    for (auto [offset, stride] : llvm::zip(offsets, op.getStrides()))
      if (stride > 0)
        offset = 0;
    op.setOffsets(offsets);
  });
}

/// Padding in front where it belongs behind.
static void turnPadding(func::FuncOp function) {
  onEach<PadOp>(function, [](PadOp op) {
    SmallVector<int64_t> low(op.getLow()), high(op.getHigh());
    op.setLow(high);
    op.setHigh(low);
  });
}

static void dropSelectLast(func::FuncOp function) {
  onEach<ArgReduceOp>(function,
                      [](ArgReduceOp op) { op.setSelectLast(false); });
}
static void dropReverse(func::FuncOp function) {
  onEach<CumulativeOp>(function, [](CumulativeOp op) { op.setReverse(false); });
}

/// A float sum that also adds one half unit of f16 of itself, as one that was
/// kept in f16 would.
static void accumulateInHalf(func::FuncOp function) {
  onEach<ReduceOp>(function, [](ReduceOp op) {
    auto type = cast<RankedTensorType>(op.getType());
    if (op.getKind() != ReduceKind::sum || !type.getElementType().isF32())
      return;
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    Type half = type.clone(builder.getF16Type());
    Value narrow = CastOp::create(builder, op.getLoc(), half, op, true);
    Value wide = CastOp::create(builder, op.getLoc(), type, narrow, true);
    op.getResult().replaceUsesWithIf(wide, [&](OpOperand &use) {
      return use.getOwner() != narrow.getDefiningOp();
    });
  });
}

/// bf16 results that were not rounded before they became f32.
static void keepBf16Wide(func::FuncOp function) {
  onEach<CastOp>(function, [](CastOp op) {
    auto inner = op.getOperand().getDefiningOp<CastOp>();
    if (inner && inner.getOperand().getType() == op.getType())
      op.getResult().replaceAllUsesWith(inner.getOperand());
  });
}

llvm::ArrayRef<Fault> test::allFaults() {
  static constexpr Fault kFaults[] = {
      {"add for sub", exchange<SubOp, AddOp>},
      {"min for max", exchange<MaxOp, MinOp>},
      {"trunc for floor", exchange<FloorOp, TruncOp>},
      {"floor for round", exchange<RoundOp, FloorOp>},
      {"rem for mod", exchange<ModOp, RemOp>},
      {"and for or", exchange<OrOp, AndOp>},
      {"swapped sub", swapOperands<SubOp>},
      {"swapped div", swapOperands<DivOp>},
      {"swapped atan2", swapOperands<Atan2Op>},
      {"lost neg", forwardOperand<NegOp>},
      {"lost abs", forwardOperand<AbsOp>},
      {"lost scatter", forwardOperand<ScatterNdOp>},
      {"lost prefix sum", forwardOperand<CumulativeOp>},
      {"square transpose lost", forwardOperand<TransposeOp>},
      {"sum for prod", changeKind<ReduceOp, ReduceKind::prod, ReduceKind::sum>},
      {"min for max reduce",
       changeKind<ReduceOp, ReduceKind::max, ReduceKind::min>},
      {"sum for max window",
       changeKind<WindowReduceOp, ReduceKind::max, ReduceKind::sum>},
      {"le for lt",
       changePredicate<ComparePredicate::lt, ComparePredicate::le>},
      {"eq for ge",
       changePredicate<ComparePredicate::ge, ComparePredicate::eq>},
      {"slice offset dropped", dropOffsets},
      {"padding turned", turnPadding},
      {"first for last", dropSelectLast},
      {"forward for reverse", dropReverse},
      {"f16 accumulator", accumulateInHalf},
      {"cast pair elided", keepBf16Wide},
  };
  return kFaults;
}

std::vector<reference::Bounds> test::boundsOf(const fuzz::Case &subject) {
  auto bounds = reference::evaluateBounds(
      const_cast<session::Model &>(subject.model).function(), subject.inputs);
  if (bounds)
    return std::move(*bounds);
  llvm::consumeError(bounds.takeError());
  return {};
}

bool test::isSeen(const fuzz::Case &subject,
                  llvm::ArrayRef<reference::Bounds> bounds,
                  const Fault &fault) {
  auto copy = fuzz::clone(subject);
  if (!copy)
    return (llvm::consumeError(copy.takeError()), false);
  fault.plant(copy->model.function());
  auto found = reference::evaluate(copy->model.function(), copy->inputs);
  if (!found)
    return (llvm::consumeError(found.takeError()), false);
  return verify::judge(subject.model.outputs, bounds, *found).outcome ==
         verify::Outcome::Wrong;
}

bool test::isSeen(const fuzz::Case &subject, const Fault &fault) {
  return isSeen(subject, boundsOf(subject), fault);
}
