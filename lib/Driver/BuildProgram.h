//===- BuildProgram.h - from regions to a Program ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_BUILDPROGRAM_H
#define FUSEC_LIB_DRIVER_BUILDPROGRAM_H

#include "fusec/Driver/Plan.h"

namespace fusec::driver {

/// Makes kernels of the regions of a planned module, of which `decisions`
/// speak. With `pattern`, of which the module is a copy in other sizes, its
/// decisions are taken, and with `counted`, a copy in yet other sizes, grids
/// and extents are for those: the program cannot run, its launches can.
/// `record`, if not null, gets launches and regions. `observer` must not be
/// empty.
llvm::Expected<Compilation>
buildProgram(mlir::ModuleOp module, const CompileOptions &options,
             fusion::FusionDecisions decisions, const StageObserver &observer,
             const Plan *pattern, Plan *record, mlir::ModuleOp counted = {});

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_BUILDPROGRAM_H
