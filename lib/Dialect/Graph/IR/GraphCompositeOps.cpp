//===- GraphCompositeOps.cpp - definitions of activations, softmax --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each composite means, spelt in primitive ops with explicit broadcasts.
// Constants are rounded to the element type.
//===----------------------------------------------------------------------===//
#include "GraphCompose.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;
using ops::Compose;

//===----------------------------------------------------------------------===//
// Compose
//===----------------------------------------------------------------------===//

static TypedAttr splatElement(Type element, double value) {
  if (isa<FloatType>(element))
    return FloatAttr::get(element, value);
  return IntegerAttr::get(element, static_cast<int64_t>(value));
}

Value Compose::constant(Type type, double value) {
  auto tensor = mlir::cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  // The constant itself is plain: facts about sizes belong to computed values.
  auto plain = RankedTensorType::get(
      tensor.hasStaticShape() ? tensor.getShape() : ArrayRef<int64_t>(),
      element);
  Value scalar = make<ConstantOp>(
      DenseElementsAttr::get(plain, splatElement(element, value)));
  if (scalar.getType() == type)
    return scalar;
  return make<BroadcastOp>(
      type, scalar, llvm::to_vector(llvm::seq<int64_t>(0, plain.getRank())));
}

Value Compose::cast(Value value, Type element) {
  auto type = ops::tensorOf(value);
  if (type.getElementType() == element)
    return value;
  return make<CastOp>(
      RankedTensorType::get(type.getShape(), element, type.getEncoding()),
      value);
}

Value Compose::mean(Value value, ArrayRef<int64_t> dims) {
  double count = 1;
  for (int64_t dim : dims)
    count *= ops::tensorOf(value).getDimSize(dim);
  Value sum = reduce(ReduceKind::sum, value, dims);
  return div(sum, constantLike(sum, count));
}

Value Compose::broadcast(Value value, Value like, ArrayRef<int64_t> dims) {
  auto type = ops::tensorOf(like);
  auto result = RankedTensorType::get(type.getShape(), ops::elementOf(value),
                                      type.getEncoding());
  return make<BroadcastOp>(result, value, dims);
}

Type ops::statisticsType(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

SmallVector<Value> ReluOp::decompose(OpBuilder &builder) {
  Compose c(builder, getLoc());
  return {c.make<MaxOp>(getOperand(), c.constantLike(getOperand(), 0))};
}

SmallVector<Value> LeakyReluOp::decompose(OpBuilder &builder) {
  Compose c(builder, getLoc());
  Value x = getOperand();
  Value scaled = c.mul(c.constantLike(x, getAlpha().convertToDouble()), x);
  Value keeps = c.compare(ComparePredicate::ge, x, c.constantLike(x, 0));
  return {c.select(keeps, x, scaled)};
}

/// erf: 0.5 x (1 + erf(x / sqrt 2)).
static Value geluByErf(Compose &c, Value x) {
  Value scaled = c.mul(x, c.constantLike(x, 0.70710678118654752440));
  Value phi = c.add(c.constantLike(x, 1), c.make<ErfOp>(scaled));
  return c.mul(c.mul(c.constantLike(x, 0.5), x), phi);
}

/// tanh: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
static Value geluByTanh(Compose &c, Value x) {
  Value cube = c.mul(c.mul(x, x), x);
  Value inner = c.add(x, c.mul(c.constantLike(x, 0.044715), cube));
  Value scaled = c.mul(c.constantLike(x, 0.79788456080286535588), inner);
  Value phi = c.add(c.constantLike(x, 1), c.make<TanhOp>(scaled));
  return c.mul(c.mul(c.constantLike(x, 0.5), x), phi);
}

SmallVector<Value> GeluOp::decompose(OpBuilder &builder) {
  Compose c(builder, getLoc());
  return {getKind() == GeluKind::erf ? geluByErf(c, getOperand())
                                     : geluByTanh(c, getOperand())};
}

SmallVector<Value> SiluOp::decompose(OpBuilder &builder) {
  Compose c(builder, getLoc());
  return {c.mul(getOperand(), c.make<LogisticOp>(getOperand()))};
}

SmallVector<Value> SoftplusOp::decompose(OpBuilder &builder) {
  Compose c(builder, getLoc());
  Value x = getOperand();
  Value decay = c.make<ExpOp>(c.make<NegOp>(c.make<AbsOp>(x)));
  return {
      c.add(c.make<MaxOp>(x, c.constantLike(x, 0)), c.make<Log1pOp>(decay))};
}

SmallVector<Value> EluOp::decompose(OpBuilder &builder) {
  Compose c(builder, getLoc());
  Value x = getOperand();
  Value below = c.mul(c.constantLike(x, getAlpha().convertToDouble()),
                      c.make<Expm1Op>(x));
  return {c.select(c.compare(ComparePredicate::gt, x, c.constantLike(x, 0)), x,
                   below)};
}

SmallVector<Value> HardSigmoidOp::decompose(OpBuilder &builder) {
  Compose c(builder, getLoc());
  Value x = getOperand();
  Value line = c.add(c.mul(c.constantLike(x, getAlpha().convertToDouble()), x),
                     c.constantLike(x, getBeta().convertToDouble()));
  return {c.make<ClampOp>(c.constantLike(x, 0), line, c.constantLike(x, 1))};
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

static LogicalResult verifyAxes(Operation *op, Value operand,
                                ArrayRef<int64_t> dims) {
  if (dims.empty())
    return op->emitOpError() << "expected at least one dimension";
  if (auto problem =
          ops::checkSortedDims(dims, ops::tensorOf(operand).getRank()))
    return op->emitOpError() << *problem;
  return success();
}

LogicalResult SoftmaxOp::verify() {
  return verifyAxes(*this, getOperand(), getDimensions());
}

LogicalResult LogSoftmaxOp::verify() {
  return verifyAxes(*this, getOperand(), getDimensions());
}

/// x - max(x) and sum(exp(x - max(x))), both of the shape of x, and the
/// exponentials.
namespace {
struct SoftmaxParts {
  Value shifted, exponentials, sum;
};
} // namespace

static SoftmaxParts softmaxParts(Compose &c, Value x, ArrayRef<int64_t> dims) {
  auto kept = ops::otherDims(ops::tensorOf(x).getRank(), dims);
  Value max = c.reduce(ReduceKind::max, x, dims);
  Value shifted = c.sub(x, c.broadcast(max, x, kept));
  Value exponentials = c.make<ExpOp>(shifted);
  return {shifted, exponentials, c.reduce(ReduceKind::sum, exponentials, dims)};
}

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  Compose c(builder, getLoc());
  Value x = getOperand();
  auto kept = ops::otherDims(ops::tensorOf(x).getRank(), getDimensions());
  SoftmaxParts parts = softmaxParts(c, x, getDimensions());
  return {c.div(parts.exponentials, c.broadcast(parts.sum, x, kept))};
}

SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &builder) {
  Compose c(builder, getLoc());
  Value x = getOperand();
  auto kept = ops::otherDims(ops::tensorOf(x).getRank(), getDimensions());
  SoftmaxParts parts = softmaxParts(c, x, getDimensions());
  return {c.sub(parts.shifted, c.broadcast(c.make<LogOp>(parts.sum), x, kept))};
}
