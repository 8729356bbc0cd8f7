//===- PadConvolutions.h - padding as an op of its own ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_HOST_PADCONVOLUTIONS_H
#define FUSEC_LIB_TARGET_HOST_PADCONVOLUTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fusec::host {

/// Gives every padded convolution of `function` an input that a graph.pad has
/// padded with zeros, and no padding of its own: the same numbers.
void padConvolutions(mlir::func::FuncOp function);

} // namespace fusec::host

#endif // FUSEC_LIB_TARGET_HOST_PADCONVOLUTIONS_H
