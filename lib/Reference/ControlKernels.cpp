//===- ControlKernels.cpp - ops with regions ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Kernel.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Error;
using llvm::Expected;

using Results = Expected<std::vector<Tensor>>;
using Operands = ArrayRef<const Tensor *>;

static std::vector<Tensor> copies(Operands operands) {
  std::vector<Tensor> tensors;
  for (const Tensor *operand : operands)
    tensors.push_back(*operand);
  return tensors;
}

static Results fusionKernel(Operation *op, Operands operands,
                            Context &context) {
  return context.runRegion(cast<graph::FusionOp>(op).getBody(),
                           copies(operands));
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

static Results whileKernel(Operation *op, Operands operands, Context &context) {
  auto loop = cast<graph::WhileOp>(op);
  std::vector<Tensor> state = copies(operands);
  int64_t maxTrips = loop.getMaxTrips();
  for (int64_t trip = 0; trip < maxTrips; ++trip) {
    if (Error error = context.charge(1))
      return std::move(error);
    Results more = context.runRegion(loop.getCondition(), state);
    if (!more)
      return more;
    if (!more->front().whole[0])
      break;
    Results next = context.runRegion(loop.getBody(), std::move(state));
    if (!next)
      return next;
    state = std::move(*next);
  }
  return state;
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

/// Slice `i` of the leading axis.
static Expected<Tensor> sliceOf(const Tensor &tensor, int64_t i,
                                Context &context) {
  auto shape = ArrayRef(tensor.shape).drop_front();
  Expected<Tensor> slice =
      Tensor::create(tensor.dtype, shape, context.bytesLeft());
  if (!slice)
    return slice;
  onPayload(tensor, *slice, [&](const auto &source, auto &target) {
    std::copy_n(source.begin() + i * target.size(), target.size(),
                target.begin());
  });
  return slice;
}

/// Copies `slice` to place `i` of the leading axis of `stack`, which is made
/// for `trips` such slices at the first.
static Error store(const Tensor &slice, int64_t i, int64_t trips, bool first,
                   Tensor &stack, Context &context) {
  if (first) {
    SmallVector<int64_t> shape = {trips};
    llvm::append_range(shape, slice.shape);
    Expected<Tensor> made =
        Tensor::create(slice.dtype, shape, context.bytesLeft());
    if (!made)
      return made.takeError();
    stack = std::move(*made);
  }
  if (ArrayRef(stack.shape).drop_front() != ArrayRef(slice.shape))
    return llvm::createStringError("slices differ in shape");
  onPayload(slice, stack, [&](const auto &source, auto &target) {
    std::copy(source.begin(), source.end(), target.begin() + i * source.size());
  });
  return Error::success();
}

/// Runs one step at place `i`: carried values in `state` are replaced, yielded
/// slices stored.
static Error runStep(graph::ScanOp scan, Operands inputs, int64_t i, bool first,
                     std::vector<Tensor> &state, std::vector<Tensor> &stacks,
                     Context &context) {
  size_t carried = state.size();
  for (const Tensor *input : inputs) {
    Expected<Tensor> slice = sliceOf(*input, i, context);
    if (!slice)
      return slice.takeError();
    state.push_back(std::move(*slice));
  }
  Results next = context.runRegion(scan.getBody(), std::move(state));
  if (!next)
    return next.takeError();
  for (auto [stack, slice] :
       llvm::zip_equal(stacks, ArrayRef(*next).drop_front(carried)))
    if (Error error = store(slice, i, scan.getTrips(), first, stack, context))
      return error;
  next->resize(carried);
  state = std::move(*next);
  return Error::success();
}

static Results scanKernel(Operation *op, Operands operands, Context &context) {
  auto scan = cast<graph::ScanOp>(op);
  size_t carried = scan.getInits().size();
  std::vector<Tensor> state = copies(operands.take_front(carried));
  Operands inputs = operands.drop_front(carried);
  int64_t trips = scan.getTrips();
  for (const Tensor *input : inputs)
    if (input->shape[0] != trips)
      return llvm::createStringError(
          "expected inputs of leading size %lld, found %lld",
          static_cast<long long>(trips),
          static_cast<long long>(input->shape[0]));
  std::vector<Tensor> stacks(op->getNumResults() - carried);
  for (int64_t step = 0; step < trips; ++step) {
    if (Error error = context.charge(1))
      return std::move(error);
    int64_t i = scan.getReverse() ? trips - 1 - step : step;
    if (Error error =
            runStep(scan, inputs, i, step == 0, state, stacks, context))
      return std::move(error);
  }
  // Without a step nothing tells the shape but the type.
  for (auto [k, stack] : llvm::enumerate(stacks)) {
    if (trips == 0) {
      Expected<Tensor> empty = context.create(op->getResult(carried + k));
      if (!empty)
        return empty.takeError();
      stack = std::move(*empty);
    }
    state.push_back(std::move(stack));
  }
  return state;
}

void reference::registerControlKernels(Registry &registry) {
  registry.add<graph::FusionOp>(fusionKernel);
  registry.add<graph::WhileOp>(whileKernel);
  registry.add<graph::ScanOp>(scanKernel);
}
