//===- GraphDigest.h - whether graphs compute the same ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_GRAPHDIGEST_H
#define FUSEC_LIB_DRIVER_GRAPHDIGEST_H

#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace fusec::driver {

/// 128 bits of what the results of a function of graph ops are made of: ops
/// with their attributes and types, contents of constants, and which reads
/// which. Neither order, names, locations nor the context matter.
std::string graphDigest(mlir::func::FuncOp function);

/// The same, whatever constants of more than one value hold.
std::string planDigest(mlir::func::FuncOp function);

/// The same of what the results of a region are made of its arguments.
std::string regionDigest(graph::FusionOp fusion);

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_GRAPHDIGEST_H
