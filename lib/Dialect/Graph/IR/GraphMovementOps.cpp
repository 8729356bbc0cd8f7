//===- GraphMovementOps.cpp - ops that only move elements -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// constant, iota, broadcast, reshape, transpose, slice: each result element is
// one operand element at an affine index, so the map says everything. Ops that
// choose among operands or by data are in GraphJoinOps.cpp and
// GraphGatherOps.cpp.
//===----------------------------------------------------------------------===//
#include "ShapeUtils.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec::graph;

/// The space of an op whose only operand is read at `map`.
static IterationSpace mappedSpace(RankedTensorType result, AffineMap map) {
  IterationSpace space;
  space.parallel.assign(result.getShape().begin(), result.getShape().end());
  space.operands.push_back({map, false, false});
  return space;
}

//===----------------------------------------------------------------------===//
// constant, iota
//===----------------------------------------------------------------------===//

Value IotaOp::buildElement(ElementBuilder &builder, unsigned, ValueRange index,
                           ElementReader &) {
  return builder.fromIndex(index[getDimension()], getType().getElementType());
}

IterationSpace IotaOp::getIterationSpace() {
  IterationSpace space;
  space.parallel.assign(getType().getShape().begin(),
                        getType().getShape().end());
  return space;
}

FusionRole IotaOp::getFusionRole() { return FusionRole::movement; }

LogicalResult IotaOp::verify() {
  if (failed(shapes::checkAxis([&] { return emitOpError(); }, getDimension(),
                               getType().getRank())))
    return failure();
  return shapes::checkElementCount(getOperation(), getType());
}

//===----------------------------------------------------------------------===//
// broadcast
//===----------------------------------------------------------------------===//

static AffineMap broadcastMap(BroadcastOp op) {
  MLIRContext *context = op.getContext();
  SmallVector<AffineExpr> exprs;
  ArrayRef<int64_t> shape = op.getOperand().getType().getShape();
  for (auto [size, dim] : llvm::zip_equal(shape, op.getDimensions()))
    exprs.push_back(size == 1 ? getAffineConstantExpr(0, context)
                              : getAffineDimExpr(dim, context));
  return AffineMap::get(op.getType().getRank(), 0, exprs, context);
}

Value BroadcastOp::buildElement(ElementBuilder &builder, unsigned,
                                ValueRange index, ElementReader &reader) {
  return reader.read(0, builder.apply(broadcastMap(*this), index));
}

IterationSpace BroadcastOp::getIterationSpace() {
  return mappedSpace(getType(), broadcastMap(*this));
}

FusionRole BroadcastOp::getFusionRole() { return FusionRole::movement; }

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  ArrayRef<int64_t> dimensions = getDimensions();
  if (failed(shapes::checkSameElement(getOperation(), from, to)) ||
      failed(shapes::checkLength(getOperation(), "dimensions", dimensions,
                                 from.getRank())))
    return failure();
  int64_t previous = -1;
  for (auto [i, dim] : llvm::enumerate(dimensions)) {
    if (dim <= previous || dim >= to.getRank())
      return emitOpError() << "dimensions must be strictly increasing in [0, "
                           << to.getRank() << "), found " << dim << " at " << i;
    int64_t size = from.getDimSize(i);
    if (size != 1 && !shapes::sizesAgree(size, to.getDimSize(dim)))
      return emitOpError() << "dimension " << i
                           << " of the operand must have size 1 or "
                           << to.getDimSize(dim) << ", found " << size;
    previous = dim;
  }
  return shapes::checkElementCount(getOperation(), to);
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

/// The map of a reshape; null if its dynamic dimensions cannot be matched.
static AffineMap mapOf(ReshapeOp op) {
  auto map = shapes::reshapeMap(op.getOperand().getType().getShape(),
                                op.getType().getShape(), op.getContext());
  return map ? *map : AffineMap();
}

Value ReshapeOp::buildElement(ElementBuilder &builder, unsigned,
                              ValueRange index, ElementReader &reader) {
  AffineMap map = mapOf(*this);
  return map ? reader.read(0, builder.apply(map, index)) : Value();
}

IterationSpace ReshapeOp::getIterationSpace() {
  AffineMap map = mapOf(*this);
  IterationSpace space = mappedSpace(getType(), map);
  space.operands[0].isIndirect = !map;
  return space;
}

FusionRole ReshapeOp::getFusionRole() { return FusionRole::movement; }

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (failed(shapes::checkSameElement(getOperation(), from, to)) ||
      failed(shapes::checkElementCount(getOperation(), from)) ||
      failed(shapes::checkElementCount(getOperation(), to)))
    return failure();
  if (!from.hasStaticShape() || !to.hasStaticShape())
    return success();
  if (from.getNumElements() != to.getNumElements())
    return emitOpError() << "must keep the number of elements, found "
                         << from.getNumElements() << " and "
                         << to.getNumElements();
  return success();
}

//===----------------------------------------------------------------------===//
// transpose
//===----------------------------------------------------------------------===//

static AffineMap transposeMap(TransposeOp op) {
  MLIRContext *context = op.getContext();
  SmallVector<AffineExpr> exprs(op.getType().getRank());
  for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
    exprs[dim] = getAffineDimExpr(i, context);
  return AffineMap::get(exprs.size(), 0, exprs, context);
}

Value TransposeOp::buildElement(ElementBuilder &builder, unsigned,
                                ValueRange index, ElementReader &reader) {
  return reader.read(0, builder.apply(transposeMap(*this), index));
}

IterationSpace TransposeOp::getIterationSpace() {
  return mappedSpace(getType(), transposeMap(*this));
}

FusionRole TransposeOp::getFusionRole() { return FusionRole::movement; }

static FailureOr<RankedTensorType> inferTranspose(TransposeOp::Adaptor op,
                                                  shapes::Complain complain) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  ArrayRef<int64_t> permutation = op.getPermutation();
  SmallVector<bool> seen(from.getRank(), false);
  SmallVector<int64_t> shape;
  bool isPermutation = int64_t(permutation.size()) == from.getRank();
  for (int64_t dim : permutation) {
    isPermutation &= dim >= 0 && dim < from.getRank() && !seen[dim];
    if (!isPermutation)
      break;
    seen[dim] = true;
    shape.push_back(from.getDimSize(dim));
  }
  if (!isPermutation) {
    complain("permutation must hold each of the operand's " +
             Twine(from.getRank()) + " dimensions once");
    return failure();
  }
  return RankedTensorType::get(shape, from.getElementType());
}

LogicalResult
TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                              ValueRange operands, DictionaryAttr attributes,
                              OpaqueProperties properties, RegionRange regions,
                              SmallVectorImpl<Type> &types) {
  return shapes::inferInto(types, location, [&](shapes::Complain complain) {
    return inferTranspose(Adaptor(operands, attributes, properties, regions),
                          complain);
  });
}

LogicalResult TransposeOp::verify() {
  if (failed(shapes::verifyInferred(
          getOperation(), [&](shapes::Complain complain) {
            return inferTranspose(Adaptor(*this), complain);
          })))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// slice
//===----------------------------------------------------------------------===//

static AffineMap sliceMap(SliceOp op) {
  MLIRContext *context = op.getContext();
  SmallVector<AffineExpr> exprs;
  for (auto [i, offset, stride] :
       llvm::enumerate(op.getOffsets(), op.getStrides())) {
    // A dimension of one element keeps its stride out of the arithmetic.
    AffineExpr dim = op.getType().getDimSize(i) == 1
                         ? getAffineConstantExpr(0, context)
                         : getAffineDimExpr(i, context);
    exprs.push_back(dim * stride + offset);
  }
  return AffineMap::get(exprs.size(), 0, exprs, context);
}

Value SliceOp::buildElement(ElementBuilder &builder, unsigned, ValueRange index,
                            ElementReader &reader) {
  return reader.read(0, builder.apply(sliceMap(*this), index));
}

IterationSpace SliceOp::getIterationSpace() {
  return mappedSpace(getType(), sliceMap(*this));
}

FusionRole SliceOp::getFusionRole() { return FusionRole::movement; }

LogicalResult SliceOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (failed(shapes::checkSameElement(getOperation(), from, to)))
    return failure();
  if (from.getRank() != to.getRank())
    return emitOpError() << "must keep the rank, found " << from.getRank()
                         << " and " << to.getRank();
  if (failed(shapes::checkLength(getOperation(), "offsets", getOffsets(),
                                 from.getRank())) ||
      failed(shapes::checkLength(getOperation(), "strides", getStrides(),
                                 from.getRank())))
    return failure();
  for (int64_t i = 0; i < to.getRank(); ++i) {
    int64_t size = to.getDimSize(i), bound = from.getDimSize(i),
            first = getOffsets()[i];
    if (ShapedType::isDynamic(size) || size == 0)
      continue;
    auto span = shapes::checkedMul(size - 1, getStrides()[i]);
    auto last = span ? shapes::checkedAdd(first, *span) : std::nullopt;
    bool isBounded = !ShapedType::isDynamic(bound);
    if (!last || first < 0 || *last < 0 ||
        (isBounded && (first >= bound || *last >= bound)))
      return emitOpError() << "dimension " << i << " reads " << size
                           << " elements from " << first << " by "
                           << getStrides()[i] << ", outside the operand's size";
  }
  return shapes::checkElementCount(getOperation(), to);
}
