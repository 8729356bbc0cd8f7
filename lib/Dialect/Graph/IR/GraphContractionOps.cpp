//===- GraphContractionOps.cpp - contract and convolution -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of products. The state is one accumulator: f32 (f64 if a type is f64)
// for floats, the result type for integers, whose operands are converted to it
// before they are multiplied.
//===----------------------------------------------------------------------===//
#include "GraphCombine.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;
using ops::WindowDim;

//===----------------------------------------------------------------------===//
// Products and accumulators, for both ops
//===----------------------------------------------------------------------===//

/// The tensor element type in which products are summed.
static Type accumulatorElement(Operation *op) {
  Type result = ops::elementOf(op->getResult(0));
  if (!isa<FloatType>(result))
    return result;
  bool isDouble = result.isF64() || ops::elementOf(op->getOperand(0)).isF64() ||
                  ops::elementOf(op->getOperand(1)).isF64();
  return isDouble ? Type(Float64Type::get(op->getContext()))
                  : Type(Float32Type::get(op->getContext()));
}

static SmallVector<Type> accumulatorState(Operation *op) {
  return {ElementBuilder::computeType(accumulatorElement(op))};
}

/// A sum in the compute type of the result. Rounding it further is the
/// caller's business.
static Value finishSum(Operation *op, ElementBuilder &eb, Value sum) {
  Type from = accumulatorElement(op), to = ops::elementOf(op->getResult(0));
  return from == ElementBuilder::computeType(to)
             ? sum
             : ops::fromRunning(eb, sum, from, to);
}

using Factors = std::pair<Value, Value>;

/// Operand elements in the accumulator type.
static Factors widen(Operation *op, ElementBuilder &eb, Value lhs, Value rhs) {
  Type accumulator = accumulatorElement(op);
  return {eb.convert(lhs, ops::elementOf(op->getOperand(0)), accumulator),
          eb.convert(rhs, ops::elementOf(op->getOperand(1)), accumulator)};
}

static SmallVector<Value> multiply(ElementBuilder &eb, Factors factors) {
  auto [lhs, rhs] = factors;
  if (isa<FloatType>(getElementTypeOrSelf(lhs.getType())))
    return {eb.make<arith::MulFOp>(lhs, rhs)};
  return {eb.make<arith::MulIOp>(lhs, rhs)};
}

static SmallVector<Value> multiplyAdd(ElementBuilder &eb, Factors factors,
                                      Value sum) {
  auto [lhs, rhs] = factors;
  if (isa<FloatType>(getElementTypeOrSelf(lhs.getType())))
    return {eb.make<math::FmaOp>(lhs, rhs, sum)};
  return {eb.make<arith::AddIOp>(sum, eb.make<arith::MulIOp>(lhs, rhs))};
}

static SmallVector<Value> addStates(Operation *op, ElementBuilder &eb,
                                    ValueRange lhs, ValueRange rhs) {
  return {ops::buildCombine(eb, ReduceKind::sum, accumulatorElement(op), lhs[0],
                            rhs[0])};
}

static LogicalResult verifyElements(Operation *op) {
  Type result = ops::elementOf(op->getResult(0));
  for (Value operand : op->getOperands())
    if (isa<FloatType>(ops::elementOf(operand)) != isa<FloatType>(result))
      return op->emitOpError()
             << "expected operands and result to be all floats or "
                "all integers, found "
             << ops::elementOf(operand) << " and " << result;
  return success();
}

//===----------------------------------------------------------------------===//
// ContractOp
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> joined(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> both(a);
  both.append(b.begin(), b.end());
  return both;
}

SmallVector<int64_t> ContractOp::getLhsFree() {
  return ops::otherDims(ops::tensorOf(getLhs()).getRank(),
                        joined(getLhsBatch(), getLhsContract()));
}

SmallVector<int64_t> ContractOp::getRhsFree() {
  return ops::otherDims(ops::tensorOf(getRhs()).getRank(),
                        joined(getRhsBatch(), getRhsContract()));
}

static LogicalResult verifyPairs(ContractOp op, StringRef what,
                                 ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  if (lhs.size() != rhs.size())
    return op.emitOpError() << "expected as many " << what
                            << " dimensions of lhs as of rhs, found "
                            << lhs.size() << " and " << rhs.size();
  auto lhsType = ops::tensorOf(op.getLhs()),
       rhsType = ops::tensorOf(op.getRhs());
  for (auto [l, r] : llvm::zip(lhs, rhs))
    if (!shapes::sizesAgree(lhsType.getDimSize(l), rhsType.getDimSize(r)))
      return op.emitOpError()
             << what << " dimensions " << l << " of lhs and " << r
             << " of rhs differ in size: " << lhsType.getDimSize(l) << " and "
             << rhsType.getDimSize(r);
  return success();
}

LogicalResult ContractOp::verify() {
  auto lhs = ops::tensorOf(getLhs()), rhs = ops::tensorOf(getRhs());
  if (auto problem = ops::checkDistinctDims(
          joined(getLhsBatch(), getLhsContract()), lhs.getRank()))
    return emitOpError() << "lhs: " << *problem;
  if (auto problem = ops::checkDistinctDims(
          joined(getRhsBatch(), getRhsContract()), rhs.getRank()))
    return emitOpError() << "rhs: " << *problem;
  if (failed(verifyPairs(*this, "batch", getLhsBatch(), getRhsBatch())) ||
      failed(verifyPairs(*this, "contracted", getLhsContract(),
                         getRhsContract())) ||
      failed(verifyElements(*this)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : joined(getLhsBatch(), getLhsFree()))
    shape.push_back(lhs.getDimSize(dim));
  for (int64_t dim : getRhsFree())
    shape.push_back(rhs.getDimSize(dim));
  auto result = ops::tensorOf(getResult());
  if (!ops::shapesAgree(shape, result.getShape()))
    return emitOpError() << "expected result shape " << ops::shapeText(shape)
                         << ", found " << ops::shapeText(result.getShape());
  return shapes::checkElementCount(*this, result);
}

/// The map of one operand: `batch`, `free` and `contract` list its dimensions,
/// which are the loops from 0, `firstFree` and `firstReduced` on.
static AffineMap operandMap(MLIRContext *context, unsigned loops,
                            ArrayRef<int64_t> batch, ArrayRef<int64_t> free,
                            ArrayRef<int64_t> contract, unsigned firstFree,
                            unsigned firstReduced) {
  SmallVector<AffineExpr> exprs(batch.size() + free.size() + contract.size());
  auto assign = [&](ArrayRef<int64_t> dims, unsigned first) {
    for (auto [i, dim] : llvm::enumerate(dims))
      exprs[dim] = getAffineDimExpr(first + i, context);
  };
  assign(batch, 0);
  assign(free, firstFree);
  assign(contract, firstReduced);
  return AffineMap::get(loops, 0, exprs, context);
}

IterationSpace ContractOp::getIterationSpace() {
  IterationSpace space;
  auto lhs = ops::tensorOf(getLhs());
  auto result = ops::tensorOf(getResult());
  space.parallel.assign(result.getShape().begin(), result.getShape().end());
  for (auto [l, r] : llvm::zip(getLhsContract(), getRhsContract())) {
    int64_t size = lhs.getDimSize(l);
    space.reduced.push_back(ShapedType::isDynamic(size)
                                ? ops::tensorOf(getRhs()).getDimSize(r)
                                : size);
  }
  auto lhsFree = getLhsFree(), rhsFree = getRhsFree();
  unsigned batches = getLhsBatch().size(), reduced = result.getRank();
  unsigned loops = reduced + space.reduced.size();
  space.operands.push_back(
      {operandMap(getContext(), loops, getLhsBatch(), lhsFree, getLhsContract(),
                  batches, reduced)});
  space.operands.push_back(
      {operandMap(getContext(), loops, getRhsBatch(), rhsFree, getRhsContract(),
                  batches + lhsFree.size(), reduced)});
  return space;
}

static Factors readFactors(ContractOp op, ElementBuilder &eb,
                           ValueRange parallel, ValueRange reduced,
                           ElementReader &reader) {
  IterationSpace space = op.getIterationSpace();
  SmallVector<Value> dims(parallel);
  dims.append(reduced.begin(), reduced.end());
  Value lhs = reader.read(0, eb.apply(space.operands[0].map, dims));
  Value rhs = reader.read(1, eb.apply(space.operands[1].map, dims));
  return widen(op, eb, lhs, rhs);
}

SmallVector<Type> ContractOp::getStateTypes() {
  return accumulatorState(*this);
}

SmallVector<Value> ContractOp::buildIdentity(ElementBuilder &eb) {
  return {eb.zero(getStateTypes()[0])};
}

SmallVector<Value> ContractOp::buildLift(ElementBuilder &eb,
                                         ValueRange parallel,
                                         ValueRange reduced,
                                         ElementReader &reader) {
  return multiply(eb, readFactors(*this, eb, parallel, reduced, reader));
}

SmallVector<Value> ContractOp::buildAccumulate(ElementBuilder &eb,
                                               ValueRange state,
                                               ValueRange parallel,
                                               ValueRange reduced,
                                               ElementReader &reader) {
  return multiplyAdd(eb, readFactors(*this, eb, parallel, reduced, reader),
                     state[0]);
}

SmallVector<Value> ContractOp::buildCombine(ElementBuilder &eb, ValueRange lhs,
                                            ValueRange rhs) {
  return addStates(*this, eb, lhs, rhs);
}

Value ContractOp::buildFinish(ElementBuilder &eb, ValueRange state, unsigned) {
  return finishSum(*this, eb, state[0]);
}

//===----------------------------------------------------------------------===//
// ConvolutionOp
//===----------------------------------------------------------------------===//

static WindowDim windowDim(ConvolutionOp op, int64_t spatial) {
  int64_t window =
      ops::tensorOf(op.getKernel()).getDimSize(op.getKernelDims()[2 + spatial]);
  return {window, op.getStrides()[spatial], op.getDilations()[spatial],
          op.getLow()[spatial], op.getHigh()[spatial]};
}

/// Checks the three dimension lists and the window arrays.
static LogicalResult verifyLayout(ConvolutionOp op) {
  int64_t rank = ops::tensorOf(op.getInput()).getRank();
  if (rank < 2 || ops::tensorOf(op.getKernel()).getRank() != rank ||
      ops::tensorOf(op.getResult()).getRank() != rank)
    return op.emitOpError()
           << "expected input, kernel and result of one rank >= 2";
  for (ArrayRef<int64_t> dims :
       {op.getInputDims(), op.getKernelDims(), op.getResultDims()}) {
    if (static_cast<int64_t>(dims.size()) != rank)
      return op.emitOpError() << "expected " << rank
                              << " dimension numbers, found " << dims.size();
    if (auto problem = ops::checkDistinctDims(dims, rank))
      return op.emitOpError() << *problem;
  }
  for (ArrayRef<int64_t> array :
       {op.getStrides(), op.getDilations(), op.getLow(), op.getHigh()})
    if (static_cast<int64_t>(array.size()) != rank - 2)
      return op.emitOpError()
             << "expected " << rank - 2
             << " entries in every window array, found " << array.size();
  return success();
}

/// Checks group count and channel sizes; channels must be static.
static LogicalResult verifyChannels(ConvolutionOp op) {
  auto input = ops::tensorOf(op.getInput()),
       kernel = ops::tensorOf(op.getKernel());
  int64_t groups = op.getGroups();
  int64_t inputChannels = input.getDimSize(op.getInputDims()[1]);
  int64_t perGroup = kernel.getDimSize(op.getKernelDims()[1]);
  int64_t outputs = kernel.getDimSize(op.getKernelDims()[0]);
  if (!kernel.hasStaticShape() || ShapedType::isDynamic(inputChannels))
    return op.emitOpError() << "expected a static kernel and static channels";
  if (groups < 1 || outputs % groups != 0)
    return op.emitOpError() << "expected groups to divide the " << outputs
                            << " output channels, found " << groups;
  if (inputChannels % groups != 0 || inputChannels / groups != perGroup)
    return op.emitOpError()
           << "expected " << perGroup << " input channels for each of "
           << groups << " groups, found " << inputChannels;
  return success();
}

LogicalResult ConvolutionOp::verify() {
  if (failed(verifyLayout(*this)) || failed(verifyChannels(*this)) ||
      failed(verifyElements(*this)))
    return failure();
  auto input = ops::tensorOf(getInput()), kernel = ops::tensorOf(getKernel());
  SmallVector<int64_t> shape(input.getRank());
  shape[getResultDims()[0]] = input.getDimSize(getInputDims()[0]);
  shape[getResultDims()[1]] = kernel.getDimSize(getKernelDims()[0]);
  for (int64_t i = 0, e = getStrides().size(); i < e; ++i) {
    auto count = ops::countWindows(input.getDimSize(getInputDims()[2 + i]),
                                   windowDim(*this, i));
    if (!count)
      return emitOpError()
             << "window of spatial dimension " << i
             << " is out of range: kernel size, strides and dilations "
                "must be positive, padding not negative";
    shape[getResultDims()[2 + i]] = *count;
  }
  auto result = ops::tensorOf(getResult());
  if (!ops::shapesAgree(shape, result.getShape()))
    return emitOpError() << "expected result shape " << ops::shapeText(shape)
                         << ", found " << ops::shapeText(result.getShape());
  return shapes::checkElementCount(*this, result);
}

/// Input channel of `inGroup` for the output channel `output`.
static AffineExpr inputChannel(ConvolutionOp op, AffineExpr output,
                               AffineExpr inGroup) {
  if (op.getGroups() == 1)
    return inGroup;
  auto kernel = ops::tensorOf(op.getKernel());
  int64_t outputs = kernel.getDimSize(op.getKernelDims()[0]);
  int64_t perGroup = kernel.getDimSize(op.getKernelDims()[1]);
  // No output channels: the space is empty, but the map must be well formed.
  int64_t outputsPerGroup = std::max<int64_t>(outputs / op.getGroups(), 1);
  return output.floorDiv(outputsPerGroup) * perGroup + inGroup;
}

/// Loops: result dimensions | input channel in group, kernel spatial.
IterationSpace ConvolutionOp::getIterationSpace() {
  auto kernel = ops::tensorOf(getKernel()), result = ops::tensorOf(getResult());
  unsigned rank = result.getRank(), loops = 2 * rank - 1;
  auto loop = [&](unsigned i) { return getAffineDimExpr(i, getContext()); };
  IterationSpace space;
  space.parallel.assign(result.getShape().begin(), result.getShape().end());
  space.reduced.push_back(kernel.getDimSize(getKernelDims()[1]));
  SmallVector<AffineExpr> input(rank), weight(rank);
  AffineExpr output = loop(getResultDims()[1]);
  input[getInputDims()[0]] = loop(getResultDims()[0]);
  input[getInputDims()[1]] = inputChannel(*this, output, loop(rank));
  weight[getKernelDims()[0]] = output;
  weight[getKernelDims()[1]] = loop(rank);
  bool isPadded = false;
  for (unsigned i = 0; i + 2 < rank; ++i) {
    WindowDim window = windowDim(*this, i);
    AffineExpr reduced = loop(rank + 1 + i);
    space.reduced.push_back(window.window);
    input[getInputDims()[2 + i]] =
        ops::windowExpr(loop(getResultDims()[2 + i]), reduced, window);
    weight[getKernelDims()[2 + i]] = reduced;
    isPadded |= window.isPadded();
  }
  space.operands.push_back(
      {AffineMap::get(loops, 0, input, getContext()), isPadded});
  space.operands.push_back({AffineMap::get(loops, 0, weight, getContext())});
  return space;
}

/// Padding reads 0 from the input.
static Factors readFactors(ConvolutionOp op, ElementBuilder &eb,
                           ValueRange parallel, ValueRange reduced,
                           ElementReader &reader) {
  IterationSpace space = op.getIterationSpace();
  SmallVector<Value> dims(parallel);
  dims.append(reduced.begin(), reduced.end());
  SmallVector<Value> index = eb.apply(space.operands[0].map, dims);
  auto type = ops::tensorOf(op.getInput());
  Value mask;
  for (int64_t i = 0; i + 2 < type.getRank(); ++i) {
    int64_t dim = op.getInputDims()[2 + i];
    mask = ops::windowMask(eb, mask, index[dim], type.getDimSize(dim),
                           windowDim(op, i));
  }
  Value zero = mask
                   ? eb.zero(ElementBuilder::computeType(type.getElementType()))
                   : Value();
  Value input = reader.readMasked(0, index, mask, zero);
  Value weight = reader.read(1, eb.apply(space.operands[1].map, dims));
  return widen(op, eb, input, weight);
}

SmallVector<Type> ConvolutionOp::getStateTypes() {
  return accumulatorState(*this);
}

SmallVector<Value> ConvolutionOp::buildIdentity(ElementBuilder &eb) {
  return {eb.zero(getStateTypes()[0])};
}

SmallVector<Value> ConvolutionOp::buildLift(ElementBuilder &eb,
                                            ValueRange parallel,
                                            ValueRange reduced,
                                            ElementReader &reader) {
  return multiply(eb, readFactors(*this, eb, parallel, reduced, reader));
}

SmallVector<Value> ConvolutionOp::buildAccumulate(ElementBuilder &eb,
                                                  ValueRange state,
                                                  ValueRange parallel,
                                                  ValueRange reduced,
                                                  ElementReader &reader) {
  return multiplyAdd(eb, readFactors(*this, eb, parallel, reduced, reader),
                     state[0]);
}

SmallVector<Value> ConvolutionOp::buildCombine(ElementBuilder &eb,
                                               ValueRange lhs, ValueRange rhs) {
  return addStates(*this, eb, lhs, rhs);
}

Value ConvolutionOp::buildFinish(ElementBuilder &eb, ValueRange state,
                                 unsigned) {
  return finishSum(*this, eb, state[0]);
}
