//===- MathCode.h - inline code of f32 math functions -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_HOST_MATHCODE_H
#define FUSEC_LIB_TARGET_HOST_MATHCODE_H

#include "mlir/IR/Builders.h"

namespace fusec::host {

/// Inline code for the math op `op` on f32 scalars or vectors, inserted before
/// it; null if there is none for this op. Computes in f64 without branches and
/// rounds once: at most 0.5001 ulp from the true value, denormals, infinities,
/// NaN and the sign of zero included (docs/semantics.md, host math).
mlir::Value buildMathCode(mlir::Operation *op);

} // namespace fusec::host

#endif // FUSEC_LIB_TARGET_HOST_MATHCODE_H
