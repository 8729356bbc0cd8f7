//===- StatisticHoles.h - the holes of reductions ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The members of a hole struct that docs/skeleton-contraction.md lists under
// "Reductions of rows and columns".
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_CUDA_STATISTICHOLES_H
#define FUSEC_LIB_TARGET_CUDA_STATISTICHOLES_H

#include "Emitter.h"
#include "fusec/Dialect/Common/StatisticHoles.h"

namespace fusec::cuda {

/// Writes those of one axis to `os`. `function` makes an emitter for a function
/// body that knows the struct's members, `bind` names an i32 parameter as a
/// value of type index.
mlir::LogicalResult writeStatisticHoles(
    const StatisticHoles &axis, llvm::raw_ostream &os,
    llvm::function_ref<Emitter()> function,
    llvm::function_ref<void(Emitter &, mlir::Value, const char *)> bind);

/// What the epilogue hole returns, and what follows its parameters, for
/// `columns` results at once.
std::string statisticResult(llvm::ArrayRef<StatisticHoles> axes);
std::string statisticParameter(llvm::ArrayRef<StatisticHoles> axes,
                               int64_t columns);
/// Ends an epilogue that yields states.
void writeStatistics(Emitter &emitter, llvm::ArrayRef<StatisticHoles> axes,
                     int64_t columns);

} // namespace fusec::cuda

#endif // FUSEC_LIB_TARGET_CUDA_STATISTICHOLES_H
