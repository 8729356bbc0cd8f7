//===- Tile.h - the tile dialect --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_TILE_IR_TILE_H
#define FUSEC_DIALECT_TILE_IR_TILE_H

#include "fusec/Dialect/Tile/IR/Layout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "fusec/Dialect/Tile/IR/TileDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "fusec/Dialect/Tile/IR/TileAttrs.h.inc"
#define GET_OP_CLASSES
#include "fusec/Dialect/Tile/IR/TileOps.h.inc"

namespace fusec::tile {

/// The layout of a tile type, null for any other type.
LayoutAttr getLayout(mlir::Type type);

/// Memory space of shared-memory buffers.
inline constexpr unsigned kSharedSpace = 3;
/// True for a buffer in shared memory.
bool isShared(mlir::Value buffer);
/// True for a buffer of the kernel's that nobody writes while it runs.
bool isReadOnly(mlir::Value buffer);

} // namespace fusec::tile

#endif // FUSEC_DIALECT_TILE_IR_TILE_H
