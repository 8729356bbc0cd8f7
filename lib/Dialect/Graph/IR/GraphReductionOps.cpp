//===- GraphReductionOps.cpp - reduce, arg_reduce, cumulative -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Iteration spaces and combine objects of reductions along whole dimensions.
// States merge in any order to the same result: arg_reduce carries the index
// and breaks ties by it.
//===----------------------------------------------------------------------===//
#include "OrderedKey.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

LogicalResult
ReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto type = dyn_cast<RankedTensorType>(adaptor.getOperand().getType());
  if (!type)
    return emitOptionalError(loc, "expected a ranked tensor operand");
  if (auto problem =
          ops::checkSortedDims(adaptor.getDimensions(), type.getRank()))
    return emitOptionalError(loc, *problem);
  SmallVector<int64_t> shape;
  auto kept = ops::otherDims(type.getRank(), adaptor.getDimensions());
  for (int64_t dim : kept)
    shape.push_back(type.getDimSize(dim));
  results.push_back(RankedTensorType::get(shape, type.getElementType(),
                                          projectDims(type, kept)));
  return success();
}

LogicalResult ReduceOp::verify() {
  if (auto problem = ops::checkKind(getKind(), ops::elementOf(getOperand())))
    return emitOpError() << *problem;
  return success();
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  // A float sum starts at +0, which is not neutral for -0.
  bool isNeutral = getKind() != ReduceKind::sum ||
                   !isa<FloatType>(ops::elementOf(getOperand()));
  if (getDimensions().empty() && isNeutral)
    return getOperand();
  return {};
}

IterationSpace ReduceOp::getIterationSpace() {
  auto type = ops::tensorOf(getOperand());
  MLIRContext *context = getContext();
  IterationSpace space;
  unsigned parallel = 0, reduced = type.getRank() - getDimensions().size();
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool isReduced = llvm::is_contained(getDimensions(), dim);
    (isReduced ? space.reduced : space.parallel)
        .push_back(type.getDimSize(dim));
    exprs.push_back(
        getAffineDimExpr(isReduced ? reduced++ : parallel++, context));
  }
  space.operands.push_back({AffineMap::get(type.getRank(), 0, exprs, context)});
  return space;
}

SmallVector<Type> ReduceOp::getStateTypes() {
  return {ElementBuilder::computeType(ops::elementOf(getOperand()))};
}

SmallVector<Value> ReduceOp::buildIdentity(ElementBuilder &eb) {
  return {ops::buildIdentity(eb, getKind(), ops::elementOf(getOperand()))};
}

SmallVector<Value> ReduceOp::buildLift(ElementBuilder &eb, ValueRange parallel,
                                       ValueRange reduced,
                                       ElementReader &reader) {
  SmallVector<Value> index;
  unsigned nextParallel = 0, nextReduced = 0;
  for (int64_t dim = 0, e = ops::tensorOf(getOperand()).getRank(); dim < e;
       ++dim)
    index.push_back(llvm::is_contained(getDimensions(), dim)
                        ? reduced[nextReduced++]
                        : parallel[nextParallel++]);
  return {reader.read(0, index)};
}

SmallVector<Value> ReduceOp::buildCombine(ElementBuilder &eb, ValueRange lhs,
                                          ValueRange rhs) {
  return {ops::buildCombine(eb, getKind(), ops::elementOf(getOperand()), lhs[0],
                            rhs[0])};
}

Value ReduceOp::buildFinish(ElementBuilder &, ValueRange state, unsigned) {
  return state[0];
}

//===----------------------------------------------------------------------===//
// ArgReduceOp
//===----------------------------------------------------------------------===//

LogicalResult ArgReduceOp::verify() {
  if (getKind() != ReduceKind::max && getKind() != ReduceKind::min)
    return emitOpError() << "expected kind max or min, found "
                         << stringifyReduceKind(getKind());
  auto type = ops::tensorOf(getOperand()), result = ops::tensorOf(getResult());
  int64_t dimension = getDimension();
  if (auto problem = ops::checkDistinctDims(dimension, type.getRank()))
    return emitOpError() << *problem;
  SmallVector<int64_t> shape(type.getShape());
  int64_t size = shape[dimension];
  shape.erase(shape.begin() + dimension);
  if (!ops::shapesAgree(shape, result.getShape()))
    return emitOpError() << "expected result shape " << ops::shapeText(shape)
                         << ", found " << ops::shapeText(result.getShape());
  if (size == 0 && !llvm::is_contained(shape, 0))
    return emitOpError() << "dimension " << dimension << " has no elements";
  auto indexType = cast<IntegerType>(result.getElementType());
  unsigned bits = indexType.getWidth() - (indexType.isUnsigned() ? 0 : 1);
  if (!ShapedType::isDynamic(size) && size > 0 && bits < 63 &&
      size - 1 > (int64_t(1) << bits) - 1)
    return emitOpError() << "indices below " << size << " do not fit in "
                         << indexType;
  return success();
}

IterationSpace ArgReduceOp::getIterationSpace() {
  return ops::spaceAlong(ops::tensorOf(getOperand()), getDimension());
}

/// The number of 32 bits that a value and its index share.
static ops::OrderedKey keyOf(ArgReduceOp op) {
  return {ops::tensorOf(op.getOperand()), int64_t(op.getDimension()),
          op.getKind() == ReduceKind::max, op.getSelectLast()};
}

/// True where an element then costs one comparison.
static bool isPacked(ArgReduceOp op) { return keyOf(op).getBits() == 32; }

/// (best value, its index), or both in one number.
SmallVector<Type> ArgReduceOp::getStateTypes() {
  auto type = ops::tensorOf(getOperand());
  if (isPacked(*this))
    return {IntegerType::get(getContext(), 32)};
  return {ElementBuilder::computeType(type.getElementType()),
          ops::carriedIndexType(getContext(), type.getDimSize(getDimension()))};
}

/// The identity has the worst value and the index that loses every tie.
SmallVector<Value> ArgReduceOp::buildIdentity(ElementBuilder &eb) {
  if (isPacked(*this))
    return {eb.integer(APInt::getSignedMinValue(32))};
  unsigned bits = getStateTypes()[1].getIntOrFloatBitWidth();
  APInt index =
      getSelectLast() ? APInt::getZero(bits) : APInt::getSignedMaxValue(bits);
  return {ops::buildIdentity(eb, getKind(), ops::elementOf(getOperand())),
          eb.integer(index)};
}

SmallVector<Value> ArgReduceOp::buildLift(ElementBuilder &eb,
                                          ValueRange parallel,
                                          ValueRange reduced,
                                          ElementReader &reader) {
  SmallVector<Value> index(parallel);
  index.insert(index.begin() + getDimension(), reduced[0]);
  if (isPacked(*this))
    return {keyOf(*this).build(eb, reader.read(0, index), reduced[0])};
  return {reader.read(0, index), eb.fromIndex(reduced[0], getStateTypes()[1])};
}

SmallVector<Value> ArgReduceOp::buildCombine(ElementBuilder &eb, ValueRange lhs,
                                             ValueRange rhs) {
  if (isPacked(*this))
    return {eb.make<arith::MaxSIOp>(lhs[0], rhs[0])};
  auto [better, tie] =
      ops::compareValues(eb, getKind() == ReduceKind::max,
                         ops::elementOf(getOperand()), lhs[0], rhs[0]);
  auto wins =
      getSelectLast() ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt;
  Value byIndex = eb.logicalAnd(tie, ops::compare(eb, wins, lhs[1], rhs[1]));
  Value take = eb.logicalOr(better, byIndex);
  return {eb.select(take, lhs[0], rhs[0]), eb.select(take, lhs[1], rhs[1])};
}

Value ArgReduceOp::buildFinish(ElementBuilder &eb, ValueRange state, unsigned) {
  if (isPacked(*this))
    return keyOf(*this).buildIndex(eb, state[0], ops::elementOf(getResult()));
  return eb.convert(state[1], getStateTypes()[1], ops::elementOf(getResult()));
}

//===----------------------------------------------------------------------===//
// CumulativeOp: every result element looks through the whole axis.
//===----------------------------------------------------------------------===//

LogicalResult CumulativeOp::verify() {
  auto type = ops::tensorOf(getOperand());
  int64_t dimension = getDimension();
  if (auto problem = ops::checkDistinctDims(dimension, type.getRank()))
    return emitOpError() << *problem;
  if (auto problem = ops::checkKind(getKind(), type.getElementType()))
    return emitOpError() << *problem;
  return success();
}

IterationSpace CumulativeOp::getIterationSpace() {
  auto type = ops::tensorOf(getOperand());
  MLIRContext *context = getContext();
  IterationSpace space;
  space.parallel.assign(type.getShape().begin(), type.getShape().end());
  space.reduced = {type.getDimSize(getDimension())};
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    exprs.push_back(getAffineDimExpr(dim, context));
  // Element after element from the end that the prefixes grow from: what
  // overflows on the way depends on it.
  AffineExpr step = getAffineDimExpr(type.getRank(), context);
  int64_t size = space.reduced[0];
  exprs[getDimension()] =
      getReverse() && !ShapedType::isDynamic(size) ? size - 1 - step : step;
  space.operands.push_back(
      {AffineMap::get(type.getRank() + 1, 0, exprs, context),
       /*isMasked=*/true});
  return space;
}

/// The element type of the running value: float sums and products of many
/// elements are kept in f64, as errors of f32 would grow with their number.
static Type runningElement(CumulativeOp op) {
  Type element = ops::elementOf(op.getOperand());
  bool isRounded =
      op.getKind() == ReduceKind::sum || op.getKind() == ReduceKind::prod;
  return isRounded && isa<FloatType>(element)
             ? Float64Type::get(op.getContext())
             : element;
}

/// `value`, a running f64, or infinity where f32 has no such number: what
/// overflows must not come back.
static Value limitToF32(ElementBuilder &eb, Value value) {
  Type f32 = eb.getBuilder().getF32Type(), f64 = eb.getBuilder().getF64Type();
  Value narrow = eb.convert(eb.convert(value, f64, f32), f32, f64);
  Value size = eb.make<math::AbsFOp>(narrow);
  Value infinity = eb.real(f64, std::numeric_limits<double>::infinity());
  Value overflows =
      eb.make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, size, infinity);
  return eb.select(overflows, narrow, value);
}

SmallVector<Type> CumulativeOp::getStateTypes() {
  return {ElementBuilder::computeType(runningElement(*this))};
}

SmallVector<Value> CumulativeOp::buildIdentity(ElementBuilder &eb) {
  return {ops::buildIdentity(eb, getKind(), runningElement(*this))};
}

SmallVector<Value> CumulativeOp::buildLift(ElementBuilder &eb,
                                           ValueRange parallel,
                                           ValueRange reduced,
                                           ElementReader &reader) {
  using enum arith::CmpIPredicate;
  auto includes = getReverse() ? (getExclusive() ? sgt : sge)
                               : (getExclusive() ? slt : sle);
  SmallVector<Value> dims(parallel);
  llvm::append_range(dims, reduced);
  SmallVector<Value> index =
      eb.apply(getIterationSpace().operands[0].map, dims);
  Value mask = ops::compare(eb, includes, index[getDimension()],
                            parallel[getDimension()]);
  Type element = ops::elementOf(getOperand());
  Value outside = ops::buildIdentity(eb, getKind(), element);
  return {eb.convert(reader.readMasked(0, index, mask, outside), element,
                     runningElement(*this))};
}

SmallVector<Value> CumulativeOp::buildCombine(ElementBuilder &eb,
                                              ValueRange lhs, ValueRange rhs) {
  Type running = runningElement(*this);
  Value next = ops::buildCombine(eb, getKind(), running, lhs[0], rhs[0]);
  if (running != ops::elementOf(getOperand()))
    next = limitToF32(eb, next);
  return {next};
}

Value CumulativeOp::buildFinish(ElementBuilder &eb, ValueRange state,
                                unsigned) {
  return ops::fromRunning(eb, state[0], runningElement(*this),
                          ops::elementOf(getResult()));
}
