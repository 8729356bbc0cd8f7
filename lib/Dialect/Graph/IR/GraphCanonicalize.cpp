//===- GraphCanonicalize.cpp - canonical forms of movement ops ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains of one kind of movement become one op, so that a graph means the same
// to the planner however an exporter spelled it.
//===----------------------------------------------------------------------===//
#include "ShapeUtils.h"
#include "fusec/Dialect/Graph/IR/Graph.h"

using namespace mlir;
using namespace fusec::graph;

static bool isStatic(Value value) {
  return cast<RankedTensorType>(value.getType()).hasStaticShape();
}

/// reshape(reshape(x)) -> reshape(x).
static LogicalResult mergeReshapes(ReshapeOp op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<ReshapeOp>();
  if (!inner || !isStatic(inner.getOperand()) || !isStatic(op))
    return rewriter.notifyMatchFailure(op, "no static reshape of a reshape");
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getOperand());
  return success();
}

/// reshape(broadcast(x)) -> reshape(x) where the broadcast repeats nothing.
/// With it broadcasts that only add dimensions of size 1 are reshapes.
static LogicalResult broadcastToReshape(BroadcastOp op,
                                        PatternRewriter &rewriter) {
  if (!isStatic(op.getOperand()) || !isStatic(op) ||
      op.getOperand().getType().getNumElements() !=
          op.getType().getNumElements() ||
      op.getType().getNumElements() == 0)
    return rewriter.notifyMatchFailure(op, "repeats elements");
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
  return success();
}

/// broadcast(broadcast(x)) -> broadcast(x).
static LogicalResult mergeBroadcasts(BroadcastOp op,
                                     PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<BroadcastOp>();
  if (!inner)
    return rewriter.notifyMatchFailure(op, "no broadcast of a broadcast");
  SmallVector<int64_t> dimensions;
  for (int64_t dim : inner.getDimensions())
    dimensions.push_back(op.getDimensions()[dim]);
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getOperand(),
                                           dimensions);
  return success();
}

/// broadcast(reshape(x)) -> broadcast(x) where the reshape only adds
/// dimensions of size 1.
static LogicalResult broadcastOfUnitReshape(BroadcastOp op,
                                            PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<ReshapeOp>();
  if (!inner || !isStatic(inner.getOperand()))
    return rewriter.notifyMatchFailure(op, "no broadcast of a static reshape");
  ArrayRef<int64_t> from = inner.getOperand().getType().getShape();
  SmallVector<int64_t> dimensions;
  for (auto [size, dim] :
       llvm::zip_equal(inner.getType().getShape(), op.getDimensions()))
    if (dimensions.size() < from.size() && from[dimensions.size()] == size)
      dimensions.push_back(dim);
    else if (size != 1)
      return rewriter.notifyMatchFailure(
          op, "the reshape does more than add dimensions");
  if (dimensions.size() != from.size())
    return rewriter.notifyMatchFailure(op, "the reshape drops dimensions");
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getOperand(),
                                           dimensions);
  return success();
}

/// transpose(transpose(x)) -> transpose(x).
static LogicalResult mergeTransposes(TransposeOp op,
                                     PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<TransposeOp>();
  if (!inner)
    return rewriter.notifyMatchFailure(op, "no transpose of a transpose");
  SmallVector<int64_t> permutation;
  for (int64_t dim : op.getPermutation())
    permutation.push_back(inner.getPermutation()[dim]);
  rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getOperand(),
                                           permutation);
  return success();
}

/// slice(slice(x)) -> slice(x).
static LogicalResult mergeSlices(SliceOp op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<SliceOp>();
  if (!inner || llvm::is_contained(op.getType().getShape(), 0))
    return rewriter.notifyMatchFailure(op, "no slice of a slice with elements");
  SmallVector<int64_t> offsets, strides;
  for (size_t i = 0; i < op.getOffsets().size(); ++i) {
    int64_t innerStride = inner.getStrides()[i];
    auto scaled = shapes::checkedMul(op.getOffsets()[i], innerStride);
    auto offset = scaled ? shapes::checkedAdd(*scaled, inner.getOffsets()[i])
                         : std::nullopt;
    auto stride = shapes::checkedMul(op.getStrides()[i], innerStride);
    if (!offset || !stride)
      return rewriter.notifyMatchFailure(op, "a stride overflows");
    offsets.push_back(*offset);
    strides.push_back(*stride);
  }
  rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), inner.getOperand(),
                                       offsets, strides);
  return success();
}

/// concat(a, concat(b, c), d) -> concat(a, b, c, d) on one axis; inputs of
/// size 0 on it are dropped.
static LogicalResult flattenConcat(ConcatOp op, PatternRewriter &rewriter) {
  SmallVector<Value> inputs;
  bool changed = false;
  for (Value input : op.getInputs()) {
    auto inner = input.getDefiningOp<ConcatOp>();
    bool isSame = inner && inner.getAxis() == op.getAxis();
    bool isEmpty =
        cast<RankedTensorType>(input.getType()).getDimSize(op.getAxis()) == 0;
    if (isSame)
      llvm::append_range(inputs, inner.getInputs());
    else if (!isEmpty)
      inputs.push_back(input);
    changed |= isSame || isEmpty;
  }
  if (inputs.empty())
    inputs.push_back(op.getInputs().front());
  // Dropping an empty input may lose what it said about a dynamic size.
  if (!changed || llvm::equal(inputs, op.getInputs()) || !isStatic(op))
    return rewriter.notifyMatchFailure(op, "nothing to flatten");
  rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), inputs, op.getAxis());
  return success();
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *) {
  patterns.add(mergeReshapes);
}

void BroadcastOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *) {
  patterns.add(broadcastToReshape);
  patterns.add(mergeBroadcasts);
  patterns.add(broadcastOfUnitReshape);
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *) {
  patterns.add(mergeTransposes);
}

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *) {
  patterns.add(mergeSlices);
}

void ConcatOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *) {
  patterns.add(flattenConcat);
}
