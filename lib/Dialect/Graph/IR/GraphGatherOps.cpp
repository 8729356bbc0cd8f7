//===- GraphGatherOps.cpp - gather, gather_elements, gather_nd ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One operand is indexed by elements of the other. An index counts from the
// end if negative and is then clamped to the axis, so reading stays in range
// whatever the data.
//===----------------------------------------------------------------------===//
#include "ShapeUtils.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec::graph;

/// An element of indices as a position on an axis of `size` elements. Computed
/// in 64 bits: `index` may be narrower than the element.
static Value axisPosition(ElementBuilder &eb, Value element, Type elementType,
                          int64_t size) {
  Type wide = eb.getBuilder().getI64Type();
  Value last = eb.integer(wide, std::max<int64_t>(size - 1, 0));
  Value position = eb.convert(element, elementType, wide);
  if (elementType.isUnsignedInteger())
    return eb.toIndex(eb.make<arith::MinUIOp>(position, last), false);
  Value zero = eb.zero(wide);
  Value isNegative =
      eb.make<arith::CmpIOp>(arith::CmpIPredicate::slt, position, zero);
  Value fromEnd = eb.make<arith::AddIOp>(position, eb.integer(wide, size));
  position = eb.select(isNegative, fromEnd, position);
  Value atLeast = eb.make<arith::MaxSIOp>(position, zero);
  return eb.toIndex(eb.make<arith::MinSIOp>(atLeast, last), false);
}

/// The space of a gather: the operand at data-dependent places, indices at
/// `map`.
static IterationSpace gatherSpace(RankedTensorType result, AffineMap map) {
  IterationSpace space;
  space.parallel.assign(result.getShape().begin(), result.getShape().end());
  space.operands.push_back({AffineMap(), false, true});
  space.operands.push_back({map, false, map == AffineMap()});
  return space;
}

static AffineMap dimsMap(int64_t rank, int64_t begin, int64_t end,
                         MLIRContext *context) {
  SmallVector<AffineExpr> exprs;
  for (int64_t i = begin; i < end; ++i)
    exprs.push_back(getAffineDimExpr(i, context));
  return AffineMap::get(rank, 0, exprs, context);
}

/// Fails if an element of the result would have nothing to read.
static LogicalResult checkAxisNotEmpty(Operation *op, RankedTensorType operand,
                                       int64_t axis, RankedTensorType result) {
  if (operand.getDimSize(axis) != 0 || llvm::is_contained(result.getShape(), 0))
    return success();
  return op->emitOpError() << "axis " << axis
                           << " of the operand must not be empty, found size 0";
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

Value GatherOp::buildElement(ElementBuilder &builder, unsigned,
                             ValueRange index, ElementReader &reader) {
  RankedTensorType from = getOperand().getType(),
                   indices = getIndices().getType();
  int64_t axis = getAxis(), count = indices.getRank();
  if (from.isDynamicDim(axis))
    return Value();
  Value element = reader.read(1, index.slice(axis, count));
  SmallVector<Value> inner(index.take_front(axis));
  inner.push_back(axisPosition(builder, element, indices.getElementType(),
                               from.getDimSize(axis)));
  llvm::append_range(inner, index.drop_front(axis + count));
  return reader.read(0, inner);
}

IterationSpace GatherOp::getIterationSpace() {
  int64_t axis = getAxis();
  return gatherSpace(getType(), dimsMap(getType().getRank(), axis,
                                        axis + getIndices().getType().getRank(),
                                        getContext()));
}

FusionRole GatherOp::getFusionRole() { return FusionRole::movement; }

static FailureOr<RankedTensorType> inferGather(GatherOp::Adaptor op,
                                               shapes::Complain complain) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  auto indices = cast<RankedTensorType>(op.getIndices().getType());
  int64_t axis = op.getAxis();
  if (axis < 0 || axis >= from.getRank()) {
    complain("axis must be in [0, " + Twine(from.getRank()) + "), found " +
             Twine(axis));
    return failure();
  }
  SmallVector<int64_t> shape(from.getShape().take_front(axis));
  llvm::append_range(shape, indices.getShape());
  llvm::append_range(shape, from.getShape().drop_front(axis + 1));
  return RankedTensorType::get(shape, from.getElementType());
}

LogicalResult
GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                           ValueRange operands, DictionaryAttr attributes,
                           OpaqueProperties properties, RegionRange regions,
                           SmallVectorImpl<Type> &types) {
  return shapes::inferInto(types, location, [&](shapes::Complain complain) {
    return inferGather(Adaptor(operands, attributes, properties, regions),
                       complain);
  });
}

LogicalResult GatherOp::verify() {
  if (failed(shapes::verifyInferred(
          getOperation(), [&](shapes::Complain complain) {
            return inferGather(Adaptor(*this), complain);
          })))
    return failure();
  return checkAxisNotEmpty(getOperation(), getOperand().getType(), getAxis(),
                           getType());
}

//===----------------------------------------------------------------------===//
// gather_elements
//===----------------------------------------------------------------------===//

Value GatherElementsOp::buildElement(ElementBuilder &builder, unsigned,
                                     ValueRange index, ElementReader &reader) {
  RankedTensorType from = getOperand().getType();
  int64_t axis = getAxis();
  if (from.isDynamicDim(axis))
    return Value();
  SmallVector<Value> inner(index);
  inner[axis] = axisPosition(builder, reader.read(1, index),
                             getIndices().getType().getElementType(),
                             from.getDimSize(axis));
  return reader.read(0, inner);
}

IterationSpace GatherElementsOp::getIterationSpace() {
  int64_t rank = getType().getRank();
  return gatherSpace(getType(), dimsMap(rank, 0, rank, getContext()));
}

FusionRole GatherElementsOp::getFusionRole() { return FusionRole::movement; }

static FailureOr<RankedTensorType>
inferGatherElements(GatherElementsOp::Adaptor op, shapes::Complain complain) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  auto indices = cast<RankedTensorType>(op.getIndices().getType());
  int64_t rank = from.getRank(), axis = op.getAxis();
  if (rank != indices.getRank()) {
    complain("operand and indices must have one rank, found " + Twine(rank) +
             " and " + Twine(indices.getRank()));
    return failure();
  }
  if (axis < 0 || axis >= rank) {
    complain("axis must be in [0, " + Twine(rank) + "), found " + Twine(axis));
    return failure();
  }
  for (int64_t i = 0; i < rank; ++i) {
    int64_t size = indices.getDimSize(i), bound = from.getDimSize(i);
    if (i != axis && !ShapedType::isDynamic(size) &&
        !ShapedType::isDynamic(bound) && size > bound) {
      complain("indices must not exceed the operand's size " + Twine(bound) +
               " in dimension " + Twine(i) + ", found " + Twine(size));
      return failure();
    }
  }
  return RankedTensorType::get(indices.getShape(), from.getElementType());
}

LogicalResult GatherElementsOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  return shapes::inferInto(types, location, [&](shapes::Complain complain) {
    return inferGatherElements(
        Adaptor(operands, attributes, properties, regions), complain);
  });
}

LogicalResult GatherElementsOp::verify() {
  if (failed(shapes::verifyInferred(
          getOperation(), [&](shapes::Complain complain) {
            return inferGatherElements(Adaptor(*this), complain);
          })))
    return failure();
  return checkAxisNotEmpty(getOperation(), getOperand().getType(), getAxis(),
                           getType());
}

//===----------------------------------------------------------------------===//
// gather_nd
//===----------------------------------------------------------------------===//

/// Number of operand dimensions that one index vector chooses; nothing if
/// dynamic.
static int64_t vectorLength(GatherNdOp op) {
  return op.getIndices().getType().getShape().back();
}

Value GatherNdOp::buildElement(ElementBuilder &builder, unsigned,
                               ValueRange index, ElementReader &reader) {
  RankedTensorType from = getOperand().getType(),
                   indices = getIndices().getType();
  int64_t batch = getBatchDims(), length = vectorLength(*this);
  int64_t outer = indices.getRank() - 1;
  SmallVector<Value> inner(index.take_front(batch));
  for (int64_t k = 0; k < length; ++k) {
    if (from.isDynamicDim(batch + k))
      return Value();
    SmallVector<Value> where(index.take_front(outer));
    where.push_back(builder.index(k));
    inner.push_back(axisPosition(builder, reader.read(1, where),
                                 indices.getElementType(),
                                 from.getDimSize(batch + k)));
  }
  llvm::append_range(inner, index.drop_front(outer));
  return reader.read(0, inner);
}

IterationSpace GatherNdOp::getIterationSpace() {
  // The last dimension of indices is walked for each element, so there is no
  // single place of indices either.
  return gatherSpace(getType(), AffineMap());
}

FusionRole GatherNdOp::getFusionRole() { return FusionRole::movement; }

static FailureOr<RankedTensorType> inferGatherNd(GatherNdOp::Adaptor op,
                                                 shapes::Complain complain) {
  auto from = cast<RankedTensorType>(op.getOperand().getType());
  auto indices = cast<RankedTensorType>(op.getIndices().getType());
  int64_t batch = op.getBatchDims(), rank = from.getRank();
  if (indices.getRank() == 0) {
    complain("indices must have rank 1 or more, found 0");
    return failure();
  }
  if (batch < 0 || batch >= indices.getRank()) {
    complain("batchDims must be in [0, " + Twine(indices.getRank()) +
             "), found " + Twine(batch));
    return failure();
  }
  int64_t length = indices.getShape().back();
  if (ShapedType::isDynamic(length)) {
    complain("the last dimension of indices must be static");
    return failure();
  }
  if (length > rank || batch > rank - length) {
    complain("batchDims and index vectors must not exceed the operand's rank " +
             Twine(rank) + ", found " + Twine(batch) + " and " + Twine(length));
    return failure();
  }
  for (int64_t i = 0; i < batch; ++i)
    if (!shapes::sizesAgree(from.getDimSize(i), indices.getDimSize(i))) {
      complain("batch dimension " + Twine(i) + " must agree, found " +
               Twine(from.getDimSize(i)) + " and " +
               Twine(indices.getDimSize(i)));
      return failure();
    }
  SmallVector<int64_t> shape(indices.getShape().drop_back());
  llvm::append_range(shape, from.getShape().drop_front(batch + length));
  return RankedTensorType::get(shape, from.getElementType());
}

LogicalResult
GatherNdOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                             ValueRange operands, DictionaryAttr attributes,
                             OpaqueProperties properties, RegionRange regions,
                             SmallVectorImpl<Type> &types) {
  return shapes::inferInto(types, location, [&](shapes::Complain complain) {
    return inferGatherNd(Adaptor(operands, attributes, properties, regions),
                         complain);
  });
}

LogicalResult GatherNdOp::verify() {
  if (failed(shapes::verifyInferred(
          getOperation(), [&](shapes::Complain complain) {
            return inferGatherNd(Adaptor(*this), complain);
          })))
    return failure();
  for (int64_t k = 0, length = vectorLength(*this); k < length; ++k)
    if (failed(checkAxisNotEmpty(getOperation(), getOperand().getType(),
                                 getBatchDims() + k, getType())))
      return failure();
  return success();
}
