//===- IsolateOps.h - one region per op -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_ISOLATEOPS_H
#define FUSEC_LIB_DRIVER_ISOLATEOPS_H

#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fusec::driver {

/// Puts every fusible op of `function` in a region of its own: the graph as
/// written, one kernel per op.
void isolateOps(mlir::func::FuncOp function);

/// Replaces `fusion` by one region per op of it, in its place and order, and
/// returns them. Erases `fusion`.
llvm::SmallVector<graph::FusionOp> splitRegion(graph::FusionOp fusion);

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_ISOLATEOPS_H
