//===- PlanChoice.h - how a graph is cut into regions -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_PLANCHOICE_H
#define FUSEC_LIB_DRIVER_PLANCHOICE_H

#include "fusec/Driver/Compile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fusec::driver {

/// What the planner's estimates decide, and a search may decide otherwise.
struct PlanWay {
  /// Long sums of few results become two kernels (fusion::splitSums).
  bool dividesSums = true;
  fusion::ProductStatistics statistics = fusion::ProductStatistics::WherePaying;
};

/// The way that `options.chooser` takes for `function`, whose ops are primitive
/// and not yet in regions; the default without a chooser and where there is no
/// other.
PlanWay choosePlan(mlir::func::FuncOp function, const CompileOptions &options);

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_PLANCHOICE_H
