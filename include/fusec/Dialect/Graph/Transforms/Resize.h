//===- Resize.h - the same graph for other sizes ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_TRANSFORMS_RESIZE_H
#define FUSEC_DIALECT_GRAPH_TRANSFORMS_RESIZE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

namespace fusec::graph {

/// Gives the arguments of `function` (primitive graph ops, in fusions or not,
/// static shapes) the shapes `shapes`, one for each, and every value the sizes
/// that follow: a size follows another one if the index maps of an op say that
/// they are one loop, and a reshape hands a changed factor on, outermost factor
/// first. Ops, attributes and constants stay; constants of one value repeat it
/// as often as is needed.
///
/// Fails, and leaves types half changed, where sizes contradict each other, an
/// op is no longer valid, a changed size is 1 before (what is broadcast cannot
/// be told from what has one element), a constant of several values has a
/// changed size, or an op with a body that is no fusion is met.
///
/// What the graph computes is what its ops say at the new sizes: a number that
/// was derived from a size before (a count to divide by) keeps its value.
llvm::Error resize(mlir::func::FuncOp function,
                   llvm::ArrayRef<llvm::SmallVector<int64_t>> shapes);

/// Gives the outermost dimension of the first result that has one (the batch)
/// the size `size`, and every value the sizes that follow, those of arguments
/// included; `function` as above. A size of 1 may change, too: a reshape hands
/// it on to the first dimension. Fails as `resize`, and where there are no
/// elements.
llvm::Error resizeOutermost(mlir::func::FuncOp function, int64_t size);

} // namespace fusec::graph

#endif // FUSEC_DIALECT_GRAPH_TRANSFORMS_RESIZE_H
