//===- GraphScatterOps.cpp - scatter as an ordered search -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each result element looks through the updates. The reduced loop has one step
// more than there are candidates: step 0 is the old value from the operand,
// step t is update t - 1 where its index matches and the identity elsewhere.
// `assign` also carries the step and keeps the latest, so that its states, like
// the others', merge in any order.
//===----------------------------------------------------------------------===//
#include "GraphCombine.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

//===----------------------------------------------------------------------===//
// States, for both ops
//===----------------------------------------------------------------------===//

static ReduceKind reduceKind(ScatterKind kind) {
  switch (kind) {
  case ScatterKind::assign:
    break;
  case ScatterKind::add:
    return ReduceKind::sum;
  case ScatterKind::mul:
    return ReduceKind::prod;
  case ScatterKind::max:
    return ReduceKind::max;
  case ScatterKind::min:
    return ReduceKind::min;
  }
  llvm_unreachable("assign does not combine");
}

/// (value), for `assign` (value, step).
static SmallVector<Type> stateTypes(ScatterKind kind, Type elementType,
                                    int64_t steps) {
  SmallVector<Type> types = {ElementBuilder::computeType(elementType)};
  bool isSmall = !ShapedType::isDynamic(steps) && steps <= INT32_MAX;
  if (kind == ScatterKind::assign)
    types.push_back(
        IntegerType::get(elementType.getContext(), isSmall ? 32 : 64));
  return types;
}

/// What a step that does not match contributes. For `add` it is -0: the old
/// value, -0 included, must survive.
static Value neutralValue(ElementBuilder &eb, ScatterKind kind,
                          Type elementType) {
  Type compute = ElementBuilder::computeType(elementType);
  if (kind == ScatterKind::assign)
    return eb.zero(compute);
  if (kind == ScatterKind::add && isa<FloatType>(elementType))
    return eb.real(compute, -0.0);
  return ops::buildIdentity(eb, reduceKind(kind), elementType);
}

static SmallVector<Value> identityState(ElementBuilder &eb, ScatterKind kind,
                                        Type elementType,
                                        ArrayRef<Type> types) {
  SmallVector<Value> state = {neutralValue(eb, kind, elementType)};
  if (kind == ScatterKind::assign)
    state.push_back(eb.integer(types[1], -1));
  return state;
}

static SmallVector<Value> combineStates(ElementBuilder &eb, ScatterKind kind,
                                        Type elementType, ValueRange lhs,
                                        ValueRange rhs) {
  if (kind != ScatterKind::assign)
    return {
        ops::buildCombine(eb, reduceKind(kind), elementType, lhs[0], rhs[0])};
  Value later = ops::compare(eb, arith::CmpIPredicate::sgt, lhs[1], rhs[1]);
  return {eb.select(later, lhs[0], rhs[0]), eb.select(later, lhs[1], rhs[1])};
}

namespace {
/// One step of the search at one result index.
struct Step {
  Value number;    // the loop index
  Value isOld;     // step 0
  Value isUpdate;  // any other
  Value candidate; // number - 1, 0 for step 0

  Step(ElementBuilder &eb, Value number) : number(number) {
    isOld = ops::compare(eb, arith::CmpIPredicate::eq, number, eb.index(0));
    isUpdate = eb.logicalNot(isOld);
    candidate = eb.make<arith::MaxSIOp>(eb.addIndex(number, -1), eb.index(0));
  }
};
} // namespace

/// The state of a step whose update is at `updateIndex` and counts where `hit`.
static SmallVector<Value> stepState(ElementBuilder &eb, ScatterKind kind,
                                    Type elementType, ArrayRef<Type> types,
                                    const Step &step, Value hit,
                                    ValueRange parallel, ValueRange updateIndex,
                                    ElementReader &reader) {
  Value neutral = neutralValue(eb, kind, elementType);
  Value old = reader.readMasked(0, parallel, step.isOld, neutral);
  Value update = reader.readMasked(2, updateIndex, hit, neutral);
  SmallVector<Value> state = {eb.select(step.isOld, old, update)};
  if (kind == ScatterKind::assign) {
    Value counts = eb.logicalOr(step.isOld, hit);
    Value number = eb.fromIndex(step.number, types[1]);
    state.push_back(eb.select(counts, number, eb.integer(types[1], -1)));
  }
  return state;
}

/// Without updates there is only step 0, which needs no reads of the others.
static SmallVector<Value> oldState(ElementBuilder &eb, ScatterKind kind,
                                   ArrayRef<Type> types, ValueRange parallel,
                                   ElementReader &reader) {
  SmallVector<Value> state = {reader.read(0, parallel)};
  if (kind == ScatterKind::assign)
    state.push_back(eb.integer(types[1], 0));
  return state;
}

/// True where the element `index` of an index tensor names `position` of an
/// axis of `size`; negative indices count from the end.
static Value namesPosition(ElementBuilder &eb, Value index, Type indexType,
                           Value position, int64_t size) {
  // In 64 bits: `index` may be narrower than the element.
  bool isUnsigned = indexType.isUnsignedInteger();
  Type wide = eb.getBuilder().getI64Type();
  Value plain = eb.convert(index, indexType, wide);
  Value wanted = eb.make<arith::IndexCastOp>(eb.type(wide), position);
  Value matches = ops::compare(eb, arith::CmpIPredicate::eq, plain, wanted);
  if (isUnsigned)
    return matches;
  assert(!ShapedType::isDynamic(size) &&
         "a scattered axis must be static here");
  Value fromEnd = eb.make<arith::AddIOp>(plain, eb.integer(wide, size));
  return eb.logicalOr(
      matches, ops::compare(eb, arith::CmpIPredicate::eq, fromEnd, wanted));
}

static LogicalResult verifyScatter(Operation *op, ScatterKind kind) {
  Type element = ops::elementOf(op->getOperand(0));
  Type update = ops::elementOf(op->getOperand(2));
  if (update != element)
    return op->emitOpError()
           << "expected updates of " << element << ", found " << update;
  if (kind == ScatterKind::assign)
    return success();
  if (auto problem = ops::checkKind(reduceKind(kind), element))
    return op->emitOpError() << "'" << stringifyScatterKind(kind)
                             << "' needs number elements, found " << element;
  return success();
}

//===----------------------------------------------------------------------===//
// ScatterNdOp
//===----------------------------------------------------------------------===//

/// The leading dimensions of indices: the list of updates.
static ArrayRef<int64_t> updateList(ScatterNdOp op) {
  return ops::tensorOf(op.getIndices()).getShape().drop_back();
}

/// Number of updates, kDynamic if unknown (or beyond int64).
static int64_t countUpdates(ArrayRef<int64_t> shape) {
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t count = 1;
  for (int64_t size : shape)
    if (ShapedType::isDynamic(size) || llvm::MulOverflow(count, size, count))
      return ShapedType::kDynamic;
  return count;
}

static int64_t countSteps(int64_t updates) {
  return ShapedType::isDynamic(updates) ? updates : updates + 1;
}

LogicalResult ScatterNdOp::verify() {
  auto operand = ops::tensorOf(getOperand());
  auto indices = ops::tensorOf(getIndices());
  auto updates = ops::tensorOf(getUpdates());
  if (indices.getRank() < 1 || indices.isDynamicDim(indices.getRank() - 1))
    return emitOpError() << "expected indices whose last dimension is static";
  int64_t depth = indices.getShape().back();
  if (depth > operand.getRank())
    return emitOpError() << "index vectors of length " << depth
                         << " are longer than the rank " << operand.getRank();
  SmallVector<int64_t> shape(updateList(*this));
  llvm::append_range(shape, operand.getShape().drop_front(depth));
  if (!ops::shapesAgree(shape, updates.getShape()))
    return emitOpError() << "expected updates of shape "
                         << ops::shapeText(shape) << ", found "
                         << ops::shapeText(updates.getShape());
  return verifyScatter(*this, getKind());
}

IterationSpace ScatterNdOp::getIterationSpace() {
  auto operand = ops::tensorOf(getOperand());
  int64_t rank = operand.getRank();
  IterationSpace space;
  space.parallel.assign(operand.getShape().begin(), operand.getShape().end());
  space.reduced.push_back(countSteps(countUpdates(updateList(*this))));
  space.operands.push_back(
      {AffineMap::get(
           rank + 1, 0,
           AffineMap::getMultiDimIdentityMap(rank, getContext()).getResults(),
           getContext()),
       /*isMasked=*/true});
  OperandAccess searched;
  searched.isMasked = searched.isIndirect = true;
  space.operands.append(2, searched);
  return space;
}

SmallVector<Type> ScatterNdOp::getStateTypes() {
  return stateTypes(getKind(), ops::elementOf(getOperand()),
                    countSteps(countUpdates(updateList(*this))));
}

SmallVector<Value> ScatterNdOp::buildIdentity(ElementBuilder &eb) {
  return identityState(eb, getKind(), ops::elementOf(getOperand()),
                       getStateTypes());
}

SmallVector<Value> ScatterNdOp::buildLift(ElementBuilder &eb,
                                          ValueRange parallel,
                                          ValueRange reduced,
                                          ElementReader &reader) {
  auto operand = ops::tensorOf(getOperand()),
       indices = ops::tensorOf(getIndices());
  if (countUpdates(updateList(*this)) == 0)
    return oldState(eb, getKind(), getStateTypes(), parallel, reader);
  Type indexType = indices.getElementType();
  Value zero = eb.zero(ElementBuilder::computeType(indexType));
  int64_t depth = indices.getShape().back();
  Step step(eb, reduced[0]);
  SmallVector<Value> entry = eb.delinearize(step.candidate, updateList(*this));
  Value hit = step.isUpdate;
  for (int64_t i = 0; i < depth; ++i) {
    SmallVector<Value> at(entry);
    at.push_back(eb.index(i));
    Value index = reader.readMasked(1, at, step.isUpdate, zero);
    hit = eb.logicalAnd(hit, namesPosition(eb, index, indexType, parallel[i],
                                           operand.getDimSize(i)));
  }
  llvm::append_range(entry, parallel.drop_front(depth));
  return stepState(eb, getKind(), operand.getElementType(), getStateTypes(),
                   step, hit, parallel, entry, reader);
}

SmallVector<Value> ScatterNdOp::buildCombine(ElementBuilder &eb, ValueRange lhs,
                                             ValueRange rhs) {
  return combineStates(eb, getKind(), ops::elementOf(getOperand()), lhs, rhs);
}

Value ScatterNdOp::buildFinish(ElementBuilder &, ValueRange state, unsigned) {
  return state[0];
}

//===----------------------------------------------------------------------===//
// ScatterElementsOp
//===----------------------------------------------------------------------===//

LogicalResult ScatterElementsOp::verify() {
  auto operand = ops::tensorOf(getOperand());
  auto indices = ops::tensorOf(getIndices());
  auto updates = ops::tensorOf(getUpdates());
  int64_t axis = getAxis();
  if (auto problem = ops::checkDistinctDims(axis, operand.getRank()))
    return emitOpError() << *problem;
  if (indices.getRank() != operand.getRank())
    return emitOpError() << "expected indices of rank " << operand.getRank()
                         << ", found " << indices.getRank();
  if (!ops::shapesAgree(indices.getShape(), updates.getShape()))
    return emitOpError() << "expected updates of shape "
                         << ops::shapeText(indices.getShape()) << ", found "
                         << ops::shapeText(updates.getShape());
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    int64_t have = operand.getDimSize(dim), want = indices.getDimSize(dim);
    if (dim != axis && !ShapedType::isDynamic(have) &&
        !ShapedType::isDynamic(want) && want > have)
      return emitOpError() << "indices exceed the operand in dimension " << dim
                           << ": " << want << " > " << have;
  }
  return verifyScatter(*this, getKind());
}

IterationSpace ScatterElementsOp::getIterationSpace() {
  auto operand = ops::tensorOf(getOperand());
  int64_t rank = operand.getRank();
  MLIRContext *context = getContext();
  IterationSpace space;
  space.parallel.assign(operand.getShape().begin(), operand.getShape().end());
  space.reduced.push_back(
      countSteps(ops::tensorOf(getUpdates()).getDimSize(getAxis())));
  SmallVector<AffineExpr> old, candidate;
  for (int64_t dim = 0; dim < rank; ++dim)
    old.push_back(getAffineDimExpr(dim, context));
  candidate = old;
  candidate[getAxis()] = getAffineDimExpr(rank, context) - 1;
  space.operands.push_back(
      {AffineMap::get(rank + 1, 0, old, context), /*isMasked=*/true});
  OperandAccess searched{AffineMap::get(rank + 1, 0, candidate, context),
                         /*isMasked=*/true};
  space.operands.append(2, searched);
  return space;
}

SmallVector<Type> ScatterElementsOp::getStateTypes() {
  return stateTypes(
      getKind(), ops::elementOf(getOperand()),
      countSteps(ops::tensorOf(getUpdates()).getDimSize(getAxis())));
}

SmallVector<Value> ScatterElementsOp::buildIdentity(ElementBuilder &eb) {
  return identityState(eb, getKind(), ops::elementOf(getOperand()),
                       getStateTypes());
}

/// Updates may be smaller than the operand apart from the axis: true where the
/// result index is inside them.
static Value insideUpdates(ScatterElementsOp op, ElementBuilder &eb, Value mask,
                           ValueRange parallel) {
  auto operand = ops::tensorOf(op.getOperand());
  auto updates = ops::tensorOf(op.getUpdates());
  for (int64_t dim = 0; dim < operand.getRank(); ++dim)
    if (dim != static_cast<int64_t>(op.getAxis()) &&
        updates.getDimSize(dim) != operand.getDimSize(dim))
      mask = eb.logicalAnd(mask,
                           eb.inRange(parallel[dim], updates.getDimSize(dim)));
  return mask;
}

SmallVector<Value> ScatterElementsOp::buildLift(ElementBuilder &eb,
                                                ValueRange parallel,
                                                ValueRange reduced,
                                                ElementReader &reader) {
  auto operand = ops::tensorOf(getOperand()),
       indices = ops::tensorOf(getIndices());
  if (indices.getDimSize(getAxis()) == 0)
    return oldState(eb, getKind(), getStateTypes(), parallel, reader);
  Type indexType = indices.getElementType();
  Value zero = eb.zero(ElementBuilder::computeType(indexType));
  Step step(eb, reduced[0]);
  SmallVector<Value> at(parallel);
  at[getAxis()] = step.candidate;
  Value mask = insideUpdates(*this, eb, step.isUpdate, parallel);
  Value index = reader.readMasked(1, at, mask, zero);
  Value hit = eb.logicalAnd(mask, namesPosition(eb, index, indexType,
                                                parallel[getAxis()],
                                                operand.getDimSize(getAxis())));
  return stepState(eb, getKind(), operand.getElementType(), getStateTypes(),
                   step, hit, parallel, at, reader);
}

SmallVector<Value> ScatterElementsOp::buildCombine(ElementBuilder &eb,
                                                   ValueRange lhs,
                                                   ValueRange rhs) {
  return combineStates(eb, getKind(), ops::elementOf(getOperand()), lhs, rhs);
}

Value ScatterElementsOp::buildFinish(ElementBuilder &, ValueRange state,
                                     unsigned) {
  return state[0];
}
