//===- GraphWindowOps.cpp - sliding windows: pooling, convolution ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops whose reduced dimensions are added to parallel ones. Points in padding
// are masked reads that give the identity.
//===----------------------------------------------------------------------===//
#include "GraphCombine.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;
using ops::WindowDim;

//===----------------------------------------------------------------------===//
// WindowReduceOp
//===----------------------------------------------------------------------===//

static WindowDim windowDim(WindowReduceOp op, int64_t dim) {
  return {op.getWindow()[dim], op.getStrides()[dim], op.getDilations()[dim],
          op.getLow()[dim], op.getHigh()[dim]};
}

LogicalResult WindowReduceOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &results) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto type = dyn_cast<RankedTensorType>(adaptor.getOperand().getType());
  if (!type)
    return emitOptionalError(loc, "expected a ranked tensor operand");
  auto arrays = {adaptor.getWindow(), adaptor.getStrides(),
                 adaptor.getDilations(), adaptor.getLow(), adaptor.getHigh()};
  for (ArrayRef<int64_t> array : arrays)
    if (static_cast<int64_t>(array.size()) != type.getRank())
      return emitOptionalError(loc, "expected ", type.getRank(),
                               " entries in every window array, found ",
                               array.size());
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    auto count = ops::countWindows(
        size, {adaptor.getWindow()[dim], adaptor.getStrides()[dim],
               adaptor.getDilations()[dim], adaptor.getLow()[dim],
               adaptor.getHigh()[dim]});
    if (!count)
      return emitOptionalError(
          loc, "window of dimension ", dim,
          " is out of range: window, strides and dilations "
          "must be positive, padding not negative");
    shape.push_back(*count);
  }
  results.push_back(RankedTensorType::get(shape, type.getElementType()));
  return success();
}

LogicalResult WindowReduceOp::verify() {
  if (auto problem = ops::checkKind(getKind(), ops::elementOf(getOperand())))
    return emitOpError() << *problem;
  return shapes::checkElementCount(*this, ops::tensorOf(getResult()));
}

IterationSpace WindowReduceOp::getIterationSpace() {
  MLIRContext *context = getContext();
  auto result = ops::tensorOf(getResult());
  int64_t rank = result.getRank();
  IterationSpace space;
  space.parallel.assign(result.getShape().begin(), result.getShape().end());
  space.reduced.assign(getWindow().begin(), getWindow().end());
  OperandAccess access;
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < rank; ++dim) {
    WindowDim window = windowDim(*this, dim);
    exprs.push_back(ops::windowExpr(getAffineDimExpr(dim, context),
                                    getAffineDimExpr(rank + dim, context),
                                    window));
    access.isMasked |= window.isPadded();
  }
  access.map = AffineMap::get(2 * rank, 0, exprs, context);
  space.operands.push_back(access);
  return space;
}

SmallVector<Type> WindowReduceOp::getStateTypes() {
  return {ElementBuilder::computeType(ops::elementOf(getOperand()))};
}

SmallVector<Value> WindowReduceOp::buildIdentity(ElementBuilder &eb) {
  return {ops::buildIdentity(eb, getKind(), ops::elementOf(getOperand()))};
}

SmallVector<Value> WindowReduceOp::buildLift(ElementBuilder &eb,
                                             ValueRange parallel,
                                             ValueRange reduced,
                                             ElementReader &reader) {
  SmallVector<Value> dims(parallel);
  dims.append(reduced.begin(), reduced.end());
  SmallVector<Value> index =
      eb.apply(getIterationSpace().operands[0].map, dims);
  auto type = ops::tensorOf(getOperand());
  Value mask;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    mask = ops::windowMask(eb, mask, index[dim], type.getDimSize(dim),
                           windowDim(*this, dim));
  return {
      reader.readMasked(0, index, mask, mask ? buildIdentity(eb)[0] : Value())};
}

SmallVector<Value> WindowReduceOp::buildCombine(ElementBuilder &eb,
                                                ValueRange lhs,
                                                ValueRange rhs) {
  return {ops::buildCombine(eb, getKind(), ops::elementOf(getOperand()), lhs[0],
                            rhs[0])};
}

Value WindowReduceOp::buildFinish(ElementBuilder &, ValueRange state,
                                  unsigned) {
  return state[0];
}
