//===- BoundsMovement.cpp - bounds of ops that place elements -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moving elements moves their intervals: the op's kernel is run on each end.
// Sums of scatter round once per update that hits a place; a kernel run on
// ones counts them.
//===----------------------------------------------------------------------===//
#include "Box.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Expected;

using Results = Expected<std::vector<Box>>;
using Operands = ArrayRef<const Box *>;

static bool hasUnknown(const Box &box) {
  for (int64_t i = 0, e = box.middle.elements(); i < e; ++i)
    if (box.isUnknown(i))
      return true;
  return false;
}

/// The kernel on all middles and on all ends. Operand `indices` says where
/// elements go and must be known, or nothing of the result is.
static Expected<Box> runOnEnds(Operation *op, Operands operands,
                               BoxContext &context, int indices) {
  SmallVector<const Tensor *> middle, low, high;
  bool exact = true, lost = false;
  for (auto [i, box] : llvm::enumerate(operands)) {
    bool isIndex = int(i) == indices;
    middle.push_back(&box->middle);
    low.push_back(isIndex ? &box->middle : &box->lowest());
    high.push_back(isIndex ? &box->middle : &box->highest());
    exact &= box->isExact();
    lost |= isIndex && hasUnknown(*box);
  }
  auto m = context.runKernel(op, middle);
  if (!m)
    return m.takeError();
  Box box{std::move(m->front()), {}, {}};
  if (lost)
    box.setAllUnknown();
  if (lost || exact)
    return box;
  auto l = context.runKernel(op, low), h = context.runKernel(op, high);
  if (!l)
    return (llvm::consumeError(h.takeError()), l.takeError());
  if (!h)
    return h.takeError();
  box.low = std::move(l->front());
  box.high = std::move(h->front());
  box.hasEnds = true;
  return box;
}

template <int Indices>
static Results movementRule(Operation *op, Operands operands,
                            BoxContext &context) {
  Expected<Box> box = runOnEnds(op, operands, context, Indices);
  if (!box)
    return box.takeError();
  return single(std::move(*box));
}

/// The kernel on operand and updates that `change` has changed.
template <typename Change>
static Expected<Tensor> runChanged(Operation *op, Operands operands,
                                   BoxContext &context, Change change) {
  Tensor base = operands[0]->middle, updates = operands[2]->middle;
  for (int64_t i = 0, e = base.real.size(); i < e; ++i)
    base.real[i] = change(operands[0]->at(i), false);
  for (int64_t i = 0, e = updates.real.size(); i < e; ++i)
    updates.real[i] = change(operands[2]->at(i), true);
  auto results = context.runKernel(op, {&base, &operands[1]->middle, &updates});
  if (!results)
    return results.takeError();
  return std::move(results->front());
}

/// What may be NaN wins over numbers: nothing is known where it arrives.
static llvm::Error spreadUnknown(Operation *op, Operands operands,
                                 BoxContext &context, Box &box) {
  auto spoilt = runChanged(op, operands, context, [](Interval x, bool) {
    return x.isUnknown() ? NAN : 0.0;
  });
  if (!spoilt)
    return spoilt.takeError();
  box.spread();
  for (int64_t i = 0, e = box.middle.elements(); i < e; ++i)
    if (std::isnan(spoilt->real[i]) && !box.at(i).isNan())
      box.setUnknown(i);
  return llvm::Error::success();
}

template <typename OpT>
static Results scatterRule(Operation *op, Operands operands,
                           BoxContext &context) {
  using graph::ScatterKind;
  Expected<Box> result = runOnEnds(op, operands, context, 1);
  if (!result)
    return result.takeError();
  Box box = std::move(*result);
  ScatterKind kind = cast<OpT>(op).getKind();
  bool arithmetic = kind == ScatterKind::add || kind == ScatterKind::mul;
  bool isExtreme = kind == ScatterKind::min || kind == ScatterKind::max;
  if (isExtreme && box.middle.isReal() &&
      (hasUnknown(*operands[0]) || hasUnknown(*operands[2])))
    if (llvm::Error error = spreadUnknown(op, operands, context, box))
      return std::move(error);
  if (!arithmetic || hasUnknown(*operands[1]))
    return single(std::move(box));
  bool inexact = !operands[0]->isExact() || !operands[2]->isExact();
  if (!box.middle.isReal() || (inexact && kind == ScatterKind::mul)) {
    if (inexact)
      box.setAllUnknown();
    return single(std::move(box));
  }
  bool isSum = kind == ScatterKind::add;
  // 1 + 1 + ... counts updates, 2 * 2 * ... takes their power; how far some
  // order of a product goes up and down on its way.
  auto count = runChanged(op, operands, context, [&](Interval, bool update) {
    return isSum ? update : update ? 2.0 : 1.0;
  });
  auto most = runChanged(op, operands, context, [&](Interval x, bool) {
    return isSum ? magnitude(x) : std::max(magnitude(x), 1.0);
  });
  auto least = runChanged(op, operands, context, [&](Interval x, bool) {
    return isSum || magnitude(x) == 0 ? 1 : std::min(magnitude(x), 1.0);
  });
  if (!count || !most || !least)
    return llvm::joinErrors(
        llvm::joinErrors(count.takeError(), most.takeError()),
        least.takeError());
  DType compute = computeType(box.middle.dtype);
  box.spread();
  for (int64_t i = 0, e = box.middle.elements(); i < e; ++i) {
    double n = isSum ? count->real[i] : std::log2(count->real[i]);
    if (n <= 1 || box.at(i).isNan() || box.at(i).isUnknown())
      continue;
    if (!(most->real[i] <= largestFinite(compute)) ||
        (!isSum && !(least->real[i] >= leastNormal(compute))))
      box.setUnknown(i);
    else if (double size = magnitude(box.at(i)); !isSum)
      box.set(i, widened(box.at(i), n * 2 * roundoff(compute) * size));
    else {
      double error = n * 2 * roundoff(compute) * most->real[i];
      Interval x = box.at(i);
      // Where terms cancel, an error may turn the sign.
      box.set(i, most->real[i] > size ? Interval{x.low - error, x.high + error}
                                      : widened(x, error));
    }
  }
  return single(std::move(box));
}

void reference::registerMovementBounds(BoundRegistry &registry) {
  using namespace graph;
  registry.add<ConstantOp, IotaOp, BroadcastOp, ReshapeOp, TransposeOp, SliceOp,
               PadOp, ConcatOp, PhiloxOp>(movementRule<-1>);
  registry.add<GatherOp, GatherElementsOp, GatherNdOp>(movementRule<1>);
  registry.add<ScatterNdOp>(scatterRule<ScatterNdOp>);
  registry.add<ScatterElementsOp>(scatterRule<ScatterElementsOp>);
}
