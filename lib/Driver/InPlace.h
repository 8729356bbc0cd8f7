//===- InPlace.h - outputs that may be an input -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_INPLACE_H
#define FUSEC_LIB_DRIVER_INPLACE_H

#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Dialect/Tile/IR/Tile.h"

namespace fusec::driver {

/// A function argument and a region's result that a launch may keep in one
/// place.
struct InPlaceValue {
  mlir::BlockArgument argument;
  mlir::Value result;
};

/// The pairs for which `fusion`, run by `kernel`, is the argument's only user
/// and every thread reads just the elements that it writes, before it writes
/// them. Each argument and each result is in one pair at most.
llvm::SmallVector<InPlaceValue> findInPlace(graph::FusionOp fusion,
                                            tile::KernelOp kernel);

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_INPLACE_H
