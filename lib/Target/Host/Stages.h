//===- Stages.h - which values of a region go to memory ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_HOST_STAGES_H
#define FUSEC_LIB_TARGET_HOST_STAGES_H

#include "fusec/Dialect/Graph/IR/Graph.h"

namespace fusec::host {

/// One loop nest: values of one shape that are written to memory.
struct Stage {
  llvm::SmallVector<mlir::Value> roots;
  llvm::SmallVector<int64_t> shape;
};

/// The ops of one region: the body of a graph.fusion, or a single op.
struct RegionBody {
  /// In order; without terminator.
  llvm::SmallVector<mlir::Operation *> ops;
  /// Values from outside (block arguments or operands), each once.
  llvm::SmallVector<mlir::Value> inputs;
  /// Yielded values.
  llvm::SmallVector<mlir::Value> outputs;
};

/// Loop nests in an order in which each reads only what earlier ones wrote.
/// Values that many elements would compute again (reductions below broadcasts,
/// operands of contractions and windows) get a stage of their own; outputs of
/// one shape share the last ones. With `everyOp`, every op gets a stage.
llvm::SmallVector<Stage> planStages(const RegionBody &region, bool everyOp);

} // namespace fusec::host

#endif // FUSEC_LIB_TARGET_HOST_STAGES_H
