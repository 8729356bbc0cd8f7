//===- ShapeUtils.cpp - checked shape arithmetic --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The map of a reshape is found in three steps:
//  1. drop dimensions of size 1, whose index is 0;
//  2. cut both shapes into the shortest pieces of equal product;
//  3. within a piece, cut at the suffix products of both sides. If each divides
//     the next, every index is a mixed-radix number whose digits lie between
//     neighbouring cuts, and each operand index is a sum of digits of result
//     indices. Otherwise (2x3 to 3x2) go through the linear index.
//===----------------------------------------------------------------------===//
#include "ShapeUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fusec::graph;

std::optional<int64_t> shapes::checkedProduct(ArrayRef<int64_t> sizes) {
  if (llvm::is_contained(sizes, 0))
    return 0;
  int64_t product = 1;
  for (int64_t size : sizes) {
    std::optional<int64_t> next = checkedMul(product, size);
    if (!next)
      return std::nullopt;
    product = *next;
  }
  return product;
}

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

namespace {
/// Dimensions [begin, end) of each side hold the same elements.
struct Piece {
  SmallVector<unsigned> operandDims, resultDims;
};

SmallVector<unsigned> nonUnitDims(ArrayRef<int64_t> shape) {
  SmallVector<unsigned> dims;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size != 1)
      dims.push_back(dim);
  return dims;
}

/// Cuts both shapes into the shortest pieces of equal product. A dynamic
/// dimension equals a dynamic one in its place.
std::optional<SmallVector<Piece>> cutIntoPieces(ArrayRef<int64_t> operand,
                                                ArrayRef<int64_t> result) {
  SmallVector<unsigned> lhs = nonUnitDims(operand), rhs = nonUnitDims(result);
  SmallVector<Piece> pieces;
  size_t i = 0, j = 0;
  while (i < lhs.size() && j < rhs.size()) {
    Piece piece;
    piece.operandDims.push_back(lhs[i]);
    piece.resultDims.push_back(rhs[j]);
    int64_t left = operand[lhs[i++]], right = result[rhs[j++]];
    bool isDynamic = ShapedType::isDynamic(left);
    if (isDynamic != ShapedType::isDynamic(right))
      return std::nullopt;
    while (!isDynamic && left != right) {
      bool growLeft = left < right;
      if (growLeft ? i == lhs.size() : j == rhs.size())
        return std::nullopt;
      int64_t size = growLeft ? operand[lhs[i]] : result[rhs[j]];
      int64_t &product = growLeft ? left : right;
      std::optional<int64_t> next = shapes::checkedMul(product, size);
      if (ShapedType::isDynamic(size) || !next)
        return std::nullopt;
      product = *next;
      if (growLeft)
        piece.operandDims.push_back(lhs[i++]);
      else
        piece.resultDims.push_back(rhs[j++]);
    }
    pieces.push_back(std::move(piece));
  }
  if (i != lhs.size() || j != rhs.size())
    return std::nullopt;
  return pieces;
}

/// Row-major strides of the named dimensions.
SmallVector<int64_t> stridesOf(ArrayRef<unsigned> dims,
                               ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[dims[i]];
  }
  return strides;
}

/// Step 3 for one piece; writes the expressions of its operand dimensions.
void mapPiece(const Piece &piece, ArrayRef<int64_t> operand,
              ArrayRef<int64_t> result, MutableArrayRef<AffineExpr> exprs,
              MLIRContext *context) {
  auto dimExpr = [&](size_t i) {
    return getAffineDimExpr(piece.resultDims[i], context);
  };
  if (piece.operandDims.size() == 1 && piece.resultDims.size() == 1) {
    exprs[piece.operandDims[0]] = dimExpr(0);
    return;
  }
  SmallVector<int64_t> from = stridesOf(piece.operandDims, operand);
  SmallVector<int64_t> to = stridesOf(piece.resultDims, result);
  SmallVector<int64_t> cuts(from);
  llvm::append_range(cuts, to);
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  bool isChain = true;
  for (size_t i = 1; i < cuts.size(); ++i)
    isChain &= cuts[i] % cuts[i - 1] == 0;
  if (!isChain) {
    AffineExpr linear = getAffineConstantExpr(0, context);
    for (size_t j = 0; j < to.size(); ++j)
      linear = linear + dimExpr(j) * to[j];
    for (size_t i = 0; i < from.size(); ++i) {
      AffineExpr index = linear.floorDiv(from[i]);
      exprs[piece.operandDims[i]] =
          i == 0 ? index : index % operand[piece.operandDims[i]];
    }
    return;
  }
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t low = from[i], high = low * operand[piece.operandDims[i]];
    AffineExpr index = getAffineConstantExpr(0, context);
    for (size_t j = 0; j < to.size(); ++j) {
      // The digits of result index j that weigh between low and high.
      int64_t resultHigh = to[j] * result[piece.resultDims[j]];
      int64_t digitLow = std::max(low, to[j]),
              digitHigh = std::min(high, resultHigh);
      if (digitLow >= digitHigh)
        continue;
      AffineExpr digit = dimExpr(j).floorDiv(digitLow / to[j]);
      if (digitHigh != resultHigh)
        digit = digit % (digitHigh / digitLow);
      index = index + digit * (digitLow / low);
    }
    exprs[piece.operandDims[i]] = index;
  }
}
} // namespace

std::optional<AffineMap> shapes::reshapeMap(ArrayRef<int64_t> operand,
                                            ArrayRef<int64_t> result,
                                            MLIRContext *context) {
  SmallVector<AffineExpr> exprs(operand.size(),
                                getAffineConstantExpr(0, context));
  // Without elements no index is ever used.
  if (!llvm::is_contained(operand, 0)) {
    auto pieces = cutIntoPieces(operand, result);
    if (!pieces)
      return std::nullopt;
    for (const Piece &piece : *pieces)
      mapPiece(piece, operand, result, exprs, context);
  }
  return AffineMap::get(result.size(), 0, exprs, context);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

LogicalResult
shapes::checkAxis(llvm::function_ref<InFlightDiagnostic()> emitError,
                  int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return emitError() << "axis must be in [0, " << rank << "), found " << axis;
}

LogicalResult shapes::checkElementCount(Operation *op,
                                        RankedTensorType result) {
  SmallVector<int64_t> sizes;
  for (int64_t size : result.getShape())
    sizes.push_back(ShapedType::isDynamic(size) ? 1 : size);
  if (checkedProduct(sizes))
    return success();
  return op->emitOpError() << "result has more elements than 63 bits can count";
}

LogicalResult shapes::checkLength(Operation *op, StringRef name,
                                  ArrayRef<int64_t> values, int64_t rank) {
  if (int64_t(values.size()) == rank)
    return success();
  return op->emitOpError() << name
                           << " must have one entry per dimension, expected "
                           << rank << ", found " << values.size();
}

LogicalResult shapes::checkSameElement(Operation *op, RankedTensorType operand,
                                       RankedTensorType result) {
  if (operand.getElementType() == result.getElementType())
    return success();
  return op->emitOpError()
         << "operand and result must have one element type, found "
         << operand.getElementType() << " and " << result.getElementType();
}

std::string shapes::text(Type type) {
  std::string result;
  llvm::raw_string_ostream(result) << type;
  return result;
}
