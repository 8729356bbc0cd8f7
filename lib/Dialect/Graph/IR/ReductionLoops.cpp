//===- ReductionLoops.cpp - the plain schedule of a reduction -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One scf.for per reduced dimension with the state as iteration arguments, in
// row-major order. State values and induction variables have the builder's
// carrier, so the loops serve scalar and tile code alike.
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

namespace {
/// Emits the nest around one `buildAccumulate`.
class LoopNest {
public:
  LoopNest(ReductionOpInterface op, ElementBuilder &eb, ValueRange parallel,
           ElementReader &reader)
      : op(op), eb(eb), parallel(parallel), reader(reader) {}

  SmallVector<Value> build(ArrayRef<int64_t> sizes, ValueRange state);

private:
  SmallVector<Value> buildLoop(ArrayRef<int64_t> sizes, ValueRange state);
  /// A loop's induction variable as a value of the carrier.
  Value splat(Value scalar);

  ReductionOpInterface op;
  ElementBuilder &eb;
  ValueRange parallel;
  ElementReader &reader;
  SmallVector<Value> reduced;
};
} // namespace

Value LoopNest::splat(Value scalar) {
  if (!eb.getCarrier())
    return scalar;
  auto type = cast<RankedTensorType>(eb.type(scalar.getType()));
  return tensor::SplatOp::create(eb.getBuilder(), eb.getLoc(), type, scalar);
}

SmallVector<Value> LoopNest::build(ArrayRef<int64_t> sizes, ValueRange state) {
  if (sizes.empty())
    return op.buildAccumulate(eb, state, parallel, reduced, reader);
  if (sizes.front() != 1)
    return buildLoop(sizes, state);
  reduced.push_back(eb.index(0));
  SmallVector<Value> next = build(sizes.drop_front(), state);
  reduced.pop_back();
  return next;
}

SmallVector<Value> LoopNest::buildLoop(ArrayRef<int64_t> sizes,
                                       ValueRange state) {
  OpBuilder &builder = eb.getBuilder();
  Location loc = eb.getLoc();
  auto bound = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value lower = bound(0), upper = bound(sizes.front()), step = bound(1);
  auto loop = scf::ForOp::create(builder, loc, lower, upper, step, state);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  reduced.push_back(splat(loop.getInductionVar()));
  SmallVector<Value> next = build(sizes.drop_front(), loop.getRegionIterArgs());
  reduced.pop_back();
  scf::YieldOp::create(builder, loc, next);
  return SmallVector<Value>(loop.getResults());
}

/// True if the loops or the masks of reads need a size that is not static.
static bool needsDynamicSize(Operation *op, const IterationSpace &space) {
  if (llvm::any_of(space.reduced, ShapedType::isDynamic))
    return true;
  for (auto [access, operand] : llvm::zip(space.operands, op->getOperands()))
    if ((access.isMasked || access.isIndirect) &&
        !cast<RankedTensorType>(operand.getType()).hasStaticShape())
      return true;
  return false;
}

Value graph::buildReductionLoops(Operation *op, ElementBuilder &eb,
                                 unsigned result, ValueRange index,
                                 ElementReader &reader) {
  auto reduction = cast<ReductionOpInterface>(op);
  IterationSpace space = reduction.getIterationSpace();
  if (needsDynamicSize(op, space))
    return {};
  SmallVector<Value> state = reduction.buildIdentity(eb);
  if (!llvm::is_contained(space.reduced, 0))
    state = LoopNest(reduction, eb, index, reader).build(space.reduced, state);
  return reduction.buildFinish(eb, state, result);
}
