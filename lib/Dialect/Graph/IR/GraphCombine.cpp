//===- GraphCombine.cpp - combine objects of the graph ops ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GraphCombine.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;

RankedTensorType ops::tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Type ops::elementOf(Value value) { return tensorOf(value).getElementType(); }

//===----------------------------------------------------------------------===//
// Identity and combine
//===----------------------------------------------------------------------===//

/// The least (or greatest) value of an element type; infinities for floats.
static Value buildExtreme(ElementBuilder &eb, Type elementType, bool least) {
  Type compute = ElementBuilder::computeType(elementType);
  if (isa<FloatType>(elementType))
    return eb.real(compute, least ? -std::numeric_limits<double>::infinity()
                                  : std::numeric_limits<double>::infinity());
  unsigned width = elementType.getIntOrFloatBitWidth();
  bool isUnsigned = elementType.isUnsignedInteger();
  if (least)
    return eb.integer(isUnsigned ? APInt::getMinValue(width)
                                 : APInt::getSignedMinValue(width));
  return eb.integer(isUnsigned ? APInt::getMaxValue(width)
                               : APInt::getSignedMaxValue(width));
}

Value ops::buildIdentity(ElementBuilder &eb, ReduceKind kind,
                         Type elementType) {
  Type compute = ElementBuilder::computeType(elementType);
  switch (kind) {
  case ReduceKind::sum:
    return eb.zero(compute);
  case ReduceKind::prod:
    return eb.one(compute);
  case ReduceKind::max:
    return buildExtreme(eb, elementType, /*least=*/true);
  case ReduceKind::min:
    return buildExtreme(eb, elementType, /*least=*/false);
  case ReduceKind::all:
    return eb.boolean(true);
  case ReduceKind::any:
    return eb.boolean(false);
  }
  llvm_unreachable("unknown reduce kind");
}

static Value combineFloats(ElementBuilder &eb, ReduceKind kind, Value lhs,
                           Value rhs) {
  switch (kind) {
  case ReduceKind::sum:
    return eb.make<arith::AddFOp>(lhs, rhs);
  case ReduceKind::prod:
    return eb.make<arith::MulFOp>(lhs, rhs);
  case ReduceKind::max:
    return eb.make<arith::MaximumFOp>(lhs, rhs);
  case ReduceKind::min:
    return eb.make<arith::MinimumFOp>(lhs, rhs);
  default:
    llvm_unreachable("logical reduction of floats");
  }
}

static Value combineIntegers(ElementBuilder &eb, ReduceKind kind,
                             bool isUnsigned, Value lhs, Value rhs) {
  switch (kind) {
  case ReduceKind::sum:
    return eb.make<arith::AddIOp>(lhs, rhs);
  case ReduceKind::prod:
    return eb.make<arith::MulIOp>(lhs, rhs);
  case ReduceKind::max:
    return isUnsigned ? eb.make<arith::MaxUIOp>(lhs, rhs)
                      : eb.make<arith::MaxSIOp>(lhs, rhs);
  case ReduceKind::min:
    return isUnsigned ? eb.make<arith::MinUIOp>(lhs, rhs)
                      : eb.make<arith::MinSIOp>(lhs, rhs);
  case ReduceKind::all:
    return eb.logicalAnd(lhs, rhs);
  case ReduceKind::any:
    return eb.logicalOr(lhs, rhs);
  }
  llvm_unreachable("unknown reduce kind");
}

Value ops::buildCombine(ElementBuilder &eb, ReduceKind kind, Type elementType,
                        Value lhs, Value rhs) {
  if (isa<FloatType>(elementType))
    return combineFloats(eb, kind, lhs, rhs);
  return combineIntegers(eb, kind, elementType.isUnsignedInteger(), lhs, rhs);
}

Value ops::fromRunning(ElementBuilder &eb, Value value, Type from, Type to) {
  return isa<Float8E5M2Type>(to) ? eb.roundTo(value, to)
                                 : eb.convert(value, from, to);
}

Value ops::compare(ElementBuilder &eb, arith::CmpIPredicate predicate,
                   Value lhs, Value rhs) {
  return eb.make<arith::CmpIOp>(predicate, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

std::optional<std::string> ops::checkKind(ReduceKind kind, Type elementType) {
  bool isLogical = kind == ReduceKind::all || kind == ReduceKind::any;
  if (isLogical == elementType.isInteger(1))
    return std::nullopt;
  return ("'" + stringifyReduceKind(kind) + "' needs " +
          (isLogical ? "bool" : "number") + " elements")
      .str();
}

std::optional<std::string> ops::checkDistinctDims(ArrayRef<int64_t> dims,
                                                  int64_t rank) {
  llvm::SmallBitVector seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return ("dimension " + Twine(dim) + " is outside the rank " + Twine(rank))
          .str();
    if (seen.test(dim))
      return ("dimension " + Twine(dim) + " is named twice").str();
    seen.set(dim);
  }
  return std::nullopt;
}

std::optional<std::string> ops::checkSortedDims(ArrayRef<int64_t> dims,
                                                int64_t rank) {
  if (auto problem = checkDistinctDims(dims, rank))
    return problem;
  if (!llvm::is_sorted(dims))
    return std::string("dimensions must increase");
  return std::nullopt;
}

SmallVector<int64_t> ops::otherDims(int64_t rank, ArrayRef<int64_t> taken) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(taken, dim))
      others.push_back(dim);
  return others;
}

bool ops::shapesAgree(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  return lhs.size() == rhs.size() &&
         llvm::all_of(llvm::zip(lhs, rhs), [](auto pair) {
           return shapes::sizesAgree(std::get<0>(pair), std::get<1>(pair));
         });
}

std::string ops::shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(
      shape, stream,
      [&](int64_t size) {
        ShapedType::isDynamic(size) ? stream << '?' : stream << size;
      },
      "x");
  return text.empty() ? "scalar" : text;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

std::optional<int64_t> ops::countWindows(int64_t size, const WindowDim &dim) {
  if (dim.window < 1 || dim.stride < 1 || dim.dilation < 1 || dim.low < 0 ||
      dim.high < 0)
    return std::nullopt;
  int64_t extent, padded;
  if (llvm::MulOverflow(dim.dilation, dim.window - 1, extent))
    return std::nullopt;
  if (ShapedType::isDynamic(size))
    return ShapedType::kDynamic;
  if (llvm::AddOverflow(size, dim.low, padded) ||
      llvm::AddOverflow(padded, dim.high, padded))
    return std::nullopt;
  int64_t last = padded - extent - 1;
  return last < 0 ? 0 : last / dim.stride + 1;
}

AffineExpr ops::windowExpr(AffineExpr parallel, AffineExpr reduced,
                           const WindowDim &dim) {
  return parallel * dim.stride + reduced * dim.dilation - dim.low;
}

Value ops::windowMask(ElementBuilder &eb, Value mask, Value position,
                      int64_t size, const WindowDim &dim) {
  if (!dim.isPadded())
    return mask;
  assert(!ShapedType::isDynamic(size) &&
         "a padded dimension must be static here");
  Value inside = eb.inRange(position, size);
  return mask ? eb.logicalAnd(mask, inside) : inside;
}
