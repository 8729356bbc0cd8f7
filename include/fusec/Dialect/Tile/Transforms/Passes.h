//===- Passes.h - passes on block programs ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_TILE_TRANSFORMS_PASSES_H
#define FUSEC_DIALECT_TILE_TRANSFORMS_PASSES_H

#include "fusec/Dialect/Tile/IR/Tile.h"
#include "mlir/Pass/Pass.h"

namespace fusec::tile {
#define GEN_PASS_DECL
#include "fusec/Dialect/Tile/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "fusec/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fusec::tile

#endif // FUSEC_DIALECT_TILE_TRANSFORMS_PASSES_H
