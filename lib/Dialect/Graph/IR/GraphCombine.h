//===- GraphCombine.h - combine objects of the graph ops --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the reduction ops share: identity and combining function of each
// ReduceKind on scalars or tiles, and checks of dimension lists.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DIALECT_GRAPH_IR_GRAPHCOMBINE_H
#define FUSEC_LIB_DIALECT_GRAPH_IR_GRAPHCOMBINE_H

#include "ShapeUtils.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fusec::graph::ops {

/// The element type of a tensor value.
mlir::Type elementOf(mlir::Value value);
mlir::RankedTensorType tensorOf(mlir::Value value);

/// The identity of `kind` on elements of `elementType`, in the compute type.
mlir::Value buildIdentity(ElementBuilder &builder, ReduceKind kind,
                          mlir::Type elementType);
/// `lhs` combined with `rhs`, both in the compute type of `elementType`. NaN
/// wins over numbers; max takes +0 over -0; integers wrap.
mlir::Value buildCombine(ElementBuilder &builder, ReduceKind kind,
                         mlir::Type elementType, mlir::Value lhs,
                         mlir::Value rhs);

/// A number that an op has carried in type `from` as an element of `to`, both
/// in their compute types. As `ElementBuilder::convert`, but an infinity stays
/// one where float8 has it: it is a result, not the operand of a cast.
mlir::Value fromRunning(ElementBuilder &builder, mlir::Value value,
                        mlir::Type from, mlir::Type to);

/// Integer comparison for `index`, signed or unsigned operands.
mlir::Value compare(ElementBuilder &builder,
                    mlir::arith::CmpIPredicate predicate, mlir::Value lhs,
                    mlir::Value rhs);

/// Nothing, or what is wrong with `kind` on `elementType`.
std::optional<std::string> checkKind(ReduceKind kind, mlir::Type elementType);
/// Nothing, or what is wrong with `dims` as strictly increasing dimension
/// numbers below `rank`.
std::optional<std::string> checkSortedDims(llvm::ArrayRef<int64_t> dims,
                                           int64_t rank);
/// Nothing, or what is wrong with `dims` as distinct dimension numbers below
/// `rank`.
std::optional<std::string> checkDistinctDims(llvm::ArrayRef<int64_t> dims,
                                             int64_t rank);
/// The dimension numbers below `rank` that are in none of `taken`.
llvm::SmallVector<int64_t> otherDims(int64_t rank,
                                     llvm::ArrayRef<int64_t> taken);

/// True for equal ranks whose sizes are pairwise equal or dynamic.
bool shapesAgree(llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs);
/// "8x?x3", for messages.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// One dimension of a sliding window.
struct WindowDim {
  int64_t window, stride, dilation, low, high;
  bool isPadded() const { return low != 0 || high != 0; }
};
/// Number of window positions over `size` elements, kDynamic for kDynamic;
/// nothing if a field is out of range or the arithmetic overflows.
std::optional<int64_t> countWindows(int64_t size, const WindowDim &dim);
/// Indices `parallel * stride + reduced * dilation - low`.
mlir::AffineExpr windowExpr(mlir::AffineExpr parallel, mlir::AffineExpr reduced,
                            const WindowDim &dim);
/// Where `position` is inside `size` elements: null where no mask is needed,
/// else `mask` (may be null) and the range test. A padded dimension must be
/// static.
mlir::Value windowMask(ElementBuilder &builder, mlir::Value mask,
                       mlir::Value position, int64_t size,
                       const WindowDim &dim);

} // namespace fusec::graph::ops

#endif // FUSEC_LIB_DIALECT_GRAPH_IR_GRAPHCOMBINE_H
