//===- UniformTiles.h - tiles of one element a thread -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_TILE_IR_UNIFORMTILES_H
#define FUSEC_DIALECT_TILE_IR_UNIFORMTILES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace fusec::tile {

/// Finds tiles of which all registers of a thread, or of a warp, hold the same
/// element: nothing that they are made of depends on the register (or lane).
/// Remembers what it found; not thread-safe.
class UniformTiles {
public:
  enum class Of : uint8_t { Thread, Warp };
  explicit UniformTiles(Of of = Of::Thread) : of(of) {}

  /// True for values that are no tiles.
  bool contains(mlir::Value tile);

private:
  bool compute(mlir::Value tile);
  Of of;
  llvm::DenseMap<mlir::Value, bool> known;
};

} // namespace fusec::tile

#endif // FUSEC_DIALECT_TILE_IR_UNIFORMTILES_H
