//===- BoundsControl.cpp - bounds of ops with regions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Box.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Error;
using llvm::Expected;

using Results = Expected<std::vector<Box>>;
using Operands = ArrayRef<const Box *>;

static std::vector<Box> copies(Operands operands) {
  std::vector<Box> boxes;
  for (const Box *box : operands)
    boxes.push_back(*box);
  return boxes;
}

static Results fusionRule(Operation *op, Operands operands,
                          BoxContext &context) {
  return context.runBoxes(cast<graph::FusionOp>(op).getBody(),
                          copies(operands));
}

/// A loop whose end is not known gives nothing that is.
static Results whileRule(Operation *op, Operands operands,
                         BoxContext &context) {
  auto loop = cast<graph::WhileOp>(op);
  std::vector<Box> state = copies(operands);
  for (int64_t trip = 0, e = loop.getMaxTrips(); trip < e; ++trip) {
    if (Error error = context.charge(1))
      return std::move(error);
    Results more = context.runBoxes(loop.getCondition(), state);
    if (!more)
      return more;
    if (more->front().isUnknown(0)) {
      for (Box &box : state)
        box.setAllUnknown();
      break;
    }
    if (!more->front().middle.whole[0])
      break;
    Results next = context.runBoxes(loop.getBody(), std::move(state));
    if (!next)
      return next;
    state = std::move(*next);
  }
  return state;
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

/// Calls `body` on each tensor of a box and its place in another.
template <typename Body>
static void onTensors(const Box &source, Box &target, Body body) {
  target.hasEnds = source.hasEnds;
  body(source.middle, target.middle);
  if (!source.hasEnds)
    return;
  body(source.low, target.low);
  body(source.high, target.high);
}

static Box sliceOf(const Box &box, int64_t i) {
  Box slice;
  onTensors(box, slice, [&](const Tensor &source, Tensor &target) {
    target.dtype = source.dtype;
    auto shape = ArrayRef(source.shape).drop_front();
    target.shape.assign(shape.begin(), shape.end());
    int64_t size = Context::steps(shape);
    auto take = [&](const auto &from, auto &to) {
      to.assign(from.begin() + i * size, from.begin() + (i + 1) * size);
    };
    if (source.isReal())
      take(source.real, target.real);
    else
      take(source.whole, target.whole);
  });
  return slice;
}

/// Copies `slice` to place `i` of `stack`, both with ends.
static void store(const Box &slice, int64_t i, Box &stack) {
  auto copy = [&](const Tensor &source, Tensor &target) {
    onPayload(source, target, [&](const auto &from, auto &to) {
      std::copy(from.begin(), from.end(), to.begin() + i * from.size());
    });
  };
  copy(slice.middle, stack.middle);
  copy(slice.lowest(), stack.low);
  copy(slice.highest(), stack.high);
}

static Results scanRule(Operation *op, Operands operands, BoxContext &context) {
  auto scan = cast<graph::ScanOp>(op);
  size_t carried = scan.getInits().size();
  std::vector<Box> state = copies(operands.take_front(carried)), stacks;
  for (Value result : op->getResults().drop_front(carried)) {
    Expected<Tensor> stack = context.create(result);
    if (!stack)
      return stack.takeError();
    stacks.push_back({std::move(*stack), {}, {}});
    stacks.back().spread();
  }
  int64_t trips = scan.getTrips();
  for (int64_t step = 0; step < trips; ++step) {
    if (Error error = context.charge(1))
      return std::move(error);
    int64_t i = scan.getReverse() ? trips - 1 - step : step;
    for (const Box *input : operands.drop_front(carried))
      state.push_back(sliceOf(*input, i));
    Results next = context.runBoxes(scan.getBody(), std::move(state));
    if (!next)
      return next;
    for (auto [stack, slice] :
         llvm::zip(stacks, ArrayRef(*next).drop_front(carried)))
      store(slice, i, stack);
    next->resize(carried);
    state = std::move(*next);
  }
  for (Box &stack : stacks)
    state.push_back(std::move(stack));
  return state;
}

void reference::registerControlBounds(BoundRegistry &registry) {
  registry.add<graph::FusionOp>(fusionRule);
  registry.add<graph::WhileOp>(whileRule);
  registry.add<graph::ScanOp>(scanRule);
}
