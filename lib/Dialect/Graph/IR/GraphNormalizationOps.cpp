//===- GraphNormalizationOps.cpp - definitions of layer/rms/batch norm ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Narrow floats are cast to f32 once at the start and back once at the end;
// between the casts everything is f32.
//===----------------------------------------------------------------------===//
#include "GraphCompose.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;
using ops::Compose;

//===----------------------------------------------------------------------===//
// Layer and RMS normalisation
//===----------------------------------------------------------------------===//

/// Checks `axis`, that the normalised sizes are static (the mean needs their
/// number) and the shape of a parameter.
static LogicalResult verifyNorm(Operation *op, Value operand, int64_t axis,
                                ValueRange parameters) {
  auto type = ops::tensorOf(operand);
  if (auto problem = ops::checkDistinctDims(axis, type.getRank()))
    return op->emitOpError() << "axis: " << *problem;
  ArrayRef<int64_t> shape = type.getShape().drop_front(axis);
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return op->emitOpError() << "expected static normalised dimensions, found "
                             << ops::shapeText(shape);
  for (Value parameter : parameters)
    if (parameter && ops::tensorOf(parameter).getShape() != shape)
      return op->emitOpError()
             << "expected parameters of shape " << ops::shapeText(shape)
             << ", found "
             << ops::shapeText(ops::tensorOf(parameter).getShape());
  return success();
}

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, getOperand(), getAxis(), {getScale(), getBias()});
}

LogicalResult RmsNormOp::verify() {
  return verifyNorm(*this, getOperand(), getAxis(), {getScale()});
}

/// 1 / sqrt(mean(x^2) + epsilon) over `dims`, of the shape of `x`.
static Value inverseRms(Compose &c, Value x, ArrayRef<int64_t> dims,
                        ArrayRef<int64_t> kept, double epsilon) {
  Value square = c.mean(c.mul(x, x), dims);
  Value inverse =
      c.make<RsqrtOp>(c.add(square, c.constantLike(square, epsilon)));
  return c.broadcast(inverse, x, kept);
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  Compose c(builder, getLoc());
  auto type = ops::tensorOf(getOperand());
  Type wide = ops::statisticsType(type.getElementType());
  auto kept = llvm::to_vector(llvm::seq<int64_t>(0, getAxis()));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(getAxis(), type.getRank()));
  Value x = c.cast(getOperand(), wide);
  Value centred = c.sub(x, c.broadcast(c.mean(x, dims), x, kept));
  Value unit = c.mul(centred, inverseRms(c, centred, dims, kept,
                                         getEpsilon().convertToDouble()));
  Value y = c.mul(unit, c.broadcast(c.cast(getScale(), wide), x, dims));
  if (getBias())
    y = c.add(y, c.broadcast(c.cast(getBias(), wide), x, dims));
  return {c.cast(y, type.getElementType())};
}

SmallVector<Value> RmsNormOp::decompose(OpBuilder &builder) {
  Compose c(builder, getLoc());
  auto type = ops::tensorOf(getOperand());
  Type wide = ops::statisticsType(type.getElementType());
  auto kept = llvm::to_vector(llvm::seq<int64_t>(0, getAxis()));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(getAxis(), type.getRank()));
  Value x = c.cast(getOperand(), wide);
  Value unit =
      c.mul(x, inverseRms(c, x, dims, kept, getEpsilon().convertToDouble()));
  Value y = c.mul(unit, c.broadcast(c.cast(getScale(), wide), x, dims));
  return {c.cast(y, type.getElementType())};
}

//===----------------------------------------------------------------------===//
// Batch normalisation
//===----------------------------------------------------------------------===//

LogicalResult BatchNormOp::verify() {
  auto type = ops::tensorOf(getOperand());
  int64_t channel = getChannel();
  if (auto problem = ops::checkDistinctDims(channel, type.getRank()))
    return emitOpError() << "channel: " << *problem;
  for (Value parameter : {getScale(), getBias(), getMean(), getVariance()}) {
    auto found = ops::tensorOf(parameter);
    if (!ops::shapesAgree(type.getDimSize(channel), found.getShape()))
      return emitOpError() << "expected parameters of shape "
                           << ops::shapeText(type.getDimSize(channel))
                           << ", found " << ops::shapeText(found.getShape());
  }
  return success();
}

SmallVector<Value> BatchNormOp::decompose(OpBuilder &builder) {
  Compose c(builder, getLoc());
  Type element = ops::elementOf(getOperand());
  Type wide = ops::statisticsType(element);
  int64_t channel = getChannel();
  auto spread = [&](Value value, Value like) {
    return c.broadcast(value, like, channel);
  };
  Value x = c.cast(getOperand(), wide);
  Value variance = c.cast(getVariance(), wide);
  Value epsilon = c.constantLike(variance, getEpsilon().convertToDouble());
  Value factor =
      c.div(c.cast(getScale(), wide), c.make<SqrtOp>(c.add(variance, epsilon)));
  Value centred = c.sub(x, spread(c.cast(getMean(), wide), x));
  Value y = c.add(c.mul(centred, spread(factor, x)),
                  spread(c.cast(getBias(), wide), x));
  return {c.cast(y, element)};
}
