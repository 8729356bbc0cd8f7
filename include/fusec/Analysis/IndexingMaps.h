//===- IndexingMaps.h - index maps over box domains -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index maps say where a value is read as a function of loop indices. MLIR's
// own simplification knows nothing about the sizes of the loops, so a reshape
// there and back does not cancel. The functions here simplify over a box
// domain 0 <= d_i < sizes[i] and solve for the index of a consumer.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_ANALYSIS_INDEXINGMAPS_H
#define FUSEC_ANALYSIS_INDEXINGMAPS_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace fusec::analysis {

/// `expr` (dims and constants only) simplified over the box 0 <= d_i <
/// sizes[i]. ShapedType::kDynamic means no upper bound. Two expressions that
/// simplify to one form are equal on the box; the converse does not hold.
mlir::AffineExpr simplifyIndex(mlir::AffineExpr expr,
                               llvm::ArrayRef<int64_t> sizes);

/// Every result of `map` simplified over the box of its dims.
mlir::AffineMap simplifyIndexMap(mlir::AffineMap map,
                                 llvm::ArrayRef<int64_t> sizes);

/// outer(inner(d)), simplified over the box `sizes` of inner's dims.
mlir::AffineMap composeIndex(mlir::AffineMap outer, mlir::AffineMap inner,
                             llvm::ArrayRef<int64_t> sizes);

/// The map from an index in a tensor of shape `from` to the index of the same
/// row-major element in shape `to`. Null unless both shapes are static and
/// have equally many elements.
mlir::AffineMap reshapeMap(mlir::MLIRContext *context,
                           llvm::ArrayRef<int64_t> from,
                           llvm::ArrayRef<int64_t> to);

/// Number of elements of `shape`; nothing if it is dynamic or overflows.
std::optional<int64_t> numElements(llvm::ArrayRef<int64_t> shape);

/// Solves access(g(d)) = target(d) for g, the consumer's loop index at which
/// it reads element target(d) of an operand. One expression per loop; null
/// where the read does not depend on that loop (a broadcast). Nothing if the
/// access is neither a projected permutation of whole axes nor a row-major
/// reshape, so that it has no inverse here.
///
/// `loops` are the sizes of the consumer's loops, `operand` the operand's
/// shape, `sizes` the box of target's dims. Dynamic sizes count as equal only
/// if `dynamicMatch` says that the op guarantees it.
std::optional<llvm::SmallVector<mlir::AffineExpr>>
solveIndex(mlir::AffineMap access, llvm::ArrayRef<int64_t> loops,
           llvm::ArrayRef<int64_t> operand, mlir::AffineMap target,
           llvm::ArrayRef<int64_t> sizes, bool dynamicMatch);

/// True if `expr` uses a dim at position >= first and < last.
bool usesDimIn(mlir::AffineExpr expr, unsigned first, unsigned last);
bool usesDimIn(mlir::AffineMap map, unsigned first, unsigned last);

} // namespace fusec::analysis

#endif // FUSEC_ANALYSIS_INDEXINGMAPS_H
