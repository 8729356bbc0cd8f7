//===- NarrowConstants.h - constants in fewer bytes -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_NARROWCONSTANTS_H
#define FUSEC_LIB_DRIVER_NARROWCONSTANTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fusec::driver {

/// Keeps constants in f32 that row kernels of the planned `function` read, scale
/// and bias of a norm, in the type of 16 bits that the kernels read otherwise,
/// if that holds all their values, and widens them where they are read:
///
///     %g = graph.constant : tensor<768xf32>
///     graph.fusion(%arg = %g) { %0 = graph.broadcast %arg ... }
///  ->
///     %g = graph.constant : tensor<768xf16>
///     graph.fusion(%arg = %g) { %1 = graph.cast %arg
///                               %0 = graph.broadcast %1 ... }
///
/// The values are the same, and so is the plan: nothing here can keep ops from
/// being one kernel.
void narrowConstants(mlir::func::FuncOp function);

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_NARROWCONSTANTS_H
