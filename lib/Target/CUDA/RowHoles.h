//===- RowHoles.h - the holes of reductions of rows -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The members of a hole struct that docs/skeleton-contraction.md lists under
// "Reductions of rows".
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_CUDA_ROWHOLES_H
#define FUSEC_LIB_TARGET_CUDA_ROWHOLES_H

#include "Emitter.h"

namespace fusec::cuda {

/// Writes them for `op`, which has states, to `os`. `function` makes an emitter
/// for a function body that knows the struct's members, `bind` names an i32
/// parameter as a value of type index.
mlir::LogicalResult writeRowHoles(
    simt::ContractOp op, llvm::raw_ostream &os,
    llvm::function_ref<Emitter()> function,
    llvm::function_ref<void(Emitter &, mlir::Value, const char *)> bind);

/// Ends an epilogue that yields states.
void writeRowYield(Emitter &emitter, mlir::Block &epilogue);

} // namespace fusec::cuda

#endif // FUSEC_LIB_TARGET_CUDA_ROWHOLES_H
