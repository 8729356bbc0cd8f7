//===- KernelEmitter.cpp - elements of a region as host code --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values and reductions. Memory is in KernelMemory.cpp, lanes in
// KernelLanes.cpp.
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::host;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace fusec::host {
/// Reads operands of `op` through the emitter, under the mask that holds where
/// the op's own element is wanted.
class Reader : public graph::ElementReader {
public:
  Reader(KernelEmitter &emitter, Operation *op, Value mask)
      : emitter(emitter), op(op), mask(mask),
        rounded(cast<graph::FusibleOpInterface>(op).readsRounded()) {}

  Value readMasked(unsigned operand, ValueRange index, Value where,
                   Value other) override {
    Value value = op->getOperand(operand);
    if (where && tensorOf(value).hasStaticShape() &&
        tensorOf(value).getNumElements() == 0)
      return other;
    Value both = emitter.logicalAnd(mask, where);
    Value element = emitter.emit(value, index, both, rounded);
    if (!element || !where)
      return element;
    return emitter.elements().select(where, element, other);
  }

private:
  KernelEmitter &emitter;
  Operation *op;
  Value mask;
  bool rounded;
};
} // namespace fusec::host

Value KernelEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value KernelEmitter::logicalAnd(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return arith::AndIOp::create(builder, loc, lhs, rhs);
}

bool KernelEmitter::isVisible(Value value) {
  // Code is always appended, so what is in an enclosing region came before.
  return value.getParentRegion()->isAncestor(
      builder.getInsertionBlock()->getParent());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value KernelEmitter::emit(Value value, ValueRange index, Value mask,
                          bool rounded) {
  std::vector<const void *> key = {value.getAsOpaquePointer(),
                                   mask.getAsOpaquePointer(),
                                   reinterpret_cast<void *>(rounded)};
  for (Value part : index)
    key.push_back(part.getAsOpaquePointer());
  if (index.empty()) // Nothing else tells scalars from tiles.
    key.push_back(carrier.getAsOpaquePointer());
  if (auto found = memo.find(key); found != memo.end())
    if (isVisible(found->second))
      return found->second;
  Value element = --budget >= 0 ? emitUncached(value, index, mask) : Value();
  if (!element) {
    failed |= budget >= 0;
    return elements().zero(
        graph::ElementBuilder::computeType(tensorOf(value).getElementType()));
  }
  bool inMemory = buffers.contains(value) && !buffers.lookup(value).isWide;
  if ((rounded || options.exact) && !inMemory)
    element = elements().roundTo(element, tensorOf(value).getElementType());
  memo[key] = element;
  return element;
}

Value KernelEmitter::emitUncached(Value value, ValueRange index, Value mask) {
  if (auto buffer = buffers.find(value); buffer != buffers.end()) {
    KernelBuffer copy = buffer->second;
    return load(copy, index, mask);
  }
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<graph::ConstantOp>(op)) {
    // Others are in memory.
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat)
      return {};
    graph::ElementBuilder eb = elements();
    Type element = splat.getElementType();
    Type compute = graph::ElementBuilder::computeType(element);
    if (!isa<FloatType>(element))
      return eb.integer(splat.getSplatValue<APInt>());
    return eb.real(compute, splat.getSplatValue<APFloat>().convertToDouble());
  }
  auto fusible = dyn_cast_or_null<graph::FusibleOpInterface>(op);
  if (!fusible)
    return {};
  unsigned result = cast<OpResult>(value).getResultNumber();
  if (auto reduction = dyn_cast<graph::ReductionOpInterface>(op))
    return emitReduction(reduction, result, index, mask);
  Reader reader(*this, op, mask);
  graph::ElementBuilder eb = elements();
  return fusible.buildElement(eb, result, index, reader);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// The loops of one reduction at one parallel index, the last of them with
/// several lanes.
class LanedReduction {
public:
  LanedReduction(KernelEmitter &emitter, graph::ReductionOpInterface op,
                 ValueRange parallel, Value mask)
      : emitter(emitter), op(op), parallel(parallel), mask(mask),
        sizes(op.getIterationSpace().reduced) {}

  /// The final state as scalars.
  SmallVector<Value> build();

private:
  using Body = llvm::function_ref<SmallVector<Value>(Value, ValueRange)>;
  SmallVector<Value> loop(int64_t begin, int64_t end, int64_t step,
                          ValueRange state, Body body);
  SmallVector<Value> nest(unsigned depth, int64_t begin, int64_t end,
                          int64_t step, ValueRange state);
  SmallVector<Value> accumulate(ValueRange state);
  SmallVector<Value> mergeLanes(ValueRange state, int64_t lanes);

  KernelEmitter &emitter;
  graph::ReductionOpInterface op;
  ValueRange parallel;
  Value mask;
  SmallVector<int64_t> sizes;
  SmallVector<Value> reduced; // scalars
};
} // namespace

SmallVector<Value> LanedReduction::loop(int64_t begin, int64_t end,
                                        int64_t step, ValueRange state,
                                        Body body) {
  OpBuilder &builder = emitter.builder;
  Value lower = emitter.index(begin), upper = emitter.index(end);
  auto loop = scf::ForOp::create(builder, emitter.loc, lower, upper,
                                 emitter.index(step), state);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(builder, emitter.loc, next);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> LanedReduction::accumulate(ValueRange state) {
  SmallVector<Value> at, outer;
  for (Value part : parallel)
    at.push_back(emitter.splat(part));
  for (Value part : ArrayRef<Value>(reduced).drop_back())
    outer.push_back(emitter.splat(part));
  outer.push_back(emitter.getLanes() == 1
                      ? reduced.back()
                      : emitter.laneIndex(reduced.back(), emitter.getLanes()));
  Reader reader(emitter, op, mask ? emitter.splat(mask) : Value());
  graph::ElementBuilder eb = emitter.elements();
  return op.buildAccumulate(eb, state, at, outer, reader);
}

SmallVector<Value> LanedReduction::nest(unsigned depth, int64_t begin,
                                        int64_t end, int64_t step,
                                        ValueRange state) {
  bool isLast = depth + 1 == sizes.size();
  return loop(isLast ? begin : 0, isLast ? end : sizes[depth],
              isLast ? step : 1, state, [&](Value at, ValueRange inner) {
                reduced.push_back(at);
                SmallVector<Value> next =
                    isLast ? accumulate(inner)
                           : nest(depth + 1, begin, end, step, inner);
                reduced.pop_back();
                return next;
              });
}

SmallVector<Value> LanedReduction::mergeLanes(ValueRange state, int64_t lanes) {
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  auto cast = [&](Value value, Type type) -> Value {
    return UnrealizedConversionCastOp::create(builder, loc, type, value)
        .getResult(0);
  };
  SmallVector<Value> current(state);
  // Halves: a fixed order, whatever the machine.
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    SmallVector<Value> low, high;
    for (Value value : current) {
      Type element = tensorOf(value).getElementType();
      Value whole = cast(value, VectorType::get({2 * half}, element));
      for (auto *part : {&low, &high}) {
        int64_t offset = part == &low ? 0 : half;
        auto lanesOfHalf = llvm::to_vector(llvm::seq(offset, offset + half));
        Value piece =
            half == 1
                ? Value(vector::ExtractOp::create(builder, loc, whole, offset))
                : Value(vector::ShuffleOp::create(builder, loc, whole, whole,
                                                  lanesOfHalf));
        part->push_back(
            half == 1 ? piece
                      : cast(piece, RankedTensorType::get({half}, element)));
      }
    }
    emitter.setLanes(half);
    graph::ElementBuilder eb = emitter.elements();
    current = op.buildCombine(eb, low, high);
  }
  emitter.setLanes(1);
  return current;
}

SmallVector<Value> LanedReduction::build() {
  int64_t last = sizes.back(), lanes = emitter.reductionLanes;
  while (lanes > last)
    lanes /= 2;
  int64_t main = lanes > 1 ? last / lanes * lanes : 0;
  graph::ElementBuilder scalars = emitter.elements();
  SmallVector<Value> state = op.buildIdentity(scalars);
  if (main > 0) {
    emitter.setLanes(lanes);
    graph::ElementBuilder tiles = emitter.elements();
    SmallVector<Value> wide = nest(0, 0, main, lanes, op.buildIdentity(tiles));
    state = mergeLanes(wide, lanes);
  }
  if (main < last)
    state = nest(0, main, last, 1, state);
  return state;
}

Value KernelEmitter::emitReduction(graph::ReductionOpInterface op,
                                   unsigned result, ValueRange index,
                                   Value mask) {
  Reader reader(*this, op, mask);
  graph::ElementBuilder eb = elements();
  graph::IterationSpace space = op.getIterationSpace();
  bool isStatic = !llvm::any_of(space.reduced, ShapedType::isDynamic);
  if (lanes > 1 || reductionLanes == 1 || !isStatic || space.reduced.empty() ||
      llvm::is_contained(space.reduced, 0))
    return op.buildElement(eb, result, index, reader);
  SmallVector<Value> state = LanedReduction(*this, op, index, mask).build();
  graph::ElementBuilder scalars = elements();
  return op.buildFinish(scalars, state, result);
}
