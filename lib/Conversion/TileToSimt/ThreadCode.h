//===- ThreadCode.h - tile values seen by one thread ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread holds `layout.getRegisterCount()` elements of a tile. Two forms:
//
//  * an array: a memref.alloca that a loop over registers filled;
//  * lazy: the defining op, repeated inside the loop that needs it.
//
// Loads, values with several consumers and values that cross a region are
// arrays; index arithmetic and cheap conversions stay lazy, so that after
// unrolling nothing but the useful values occupy registers.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_TILETOSIMT_THREADCODE_H
#define FUSEC_LIB_CONVERSION_TILETOSIMT_THREADCODE_H

#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Dialect/Tile/IR/Tile.h"
#include "fusec/Dialect/Tile/IR/UniformTiles.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fusec::tile_to_simt {

/// Emits thread code for tile values at the builder's insertion point.
class ThreadCode {
public:
  explicit ThreadCode(mlir::OpBuilder &builder) : builder(builder) {}

  mlir::OpBuilder &builder;
  /// Scalars of the tile program -> scalars of the thread program.
  mlir::IRMapping scalars;
  /// Tiles that are arrays.
  llvm::DenseMap<mlir::Value, mlir::Value> arrays;
  /// Loads whose arrays have an element for that many registers, which hold
  /// equal ones.
  llvm::DenseMap<mlir::Value, int64_t> repeats;

  /// A shared array for a reduction's exchange. While shared memory lasts each
  /// gets its own; then one of equal type that is not `taken` is used again,
  /// behind a barrier.
  mlir::Value exchangeBuffer(mlir::Location loc, mlir::MemRefType type,
                             llvm::ArrayRef<mlir::Value> taken);
  /// Whether one more array leaves others of that size their room.
  bool hasRoom(mlir::MemRefType type) const;
  /// A shared array that nothing else uses.
  mlir::Value ownBuffer(mlir::Location loc, mlir::MemRefType type);
  llvm::SmallVector<mlir::Value> exchanges;
  int64_t exchangeBytes = 0;

  /// A load inside a loop whose next iteration reads the element that the next
  /// register reads in this one: the loop's reads are one array, made before
  /// it. Register r of iteration i is entry
  /// (r div strip) * (strip + trips - 1) + r mod strip + i.
  struct Window {
    mlir::Value array;
    int64_t strip, trips;
    mlir::Value iteration;
  };
  llvm::DenseMap<mlir::Value, Window> windows;

  /// An uninitialised register array of `count` elements.
  mlir::Value makeArray(mlir::Location loc, int64_t count, mlir::Type element);

  /// A loop over every `step`th of `count` registers, which are whole steps;
  /// `body` gets the register number and emits inside. Values emitted inside
  /// are not reused outside.
  void forEachRegister(mlir::Location loc, int64_t count,
                       llvm::function_ref<void(mlir::Value)> body,
                       int64_t step = 1);

  /// Registers from one access of `vector` elements to the next, in loops over
  /// registers.
  static int64_t stepOf(mlir::Operation *access, int64_t vector);

  /// The element of `tile` that register `reg` holds. Elements already emitted
  /// for the same register in an enclosing scope are reused.
  mlir::Value element(mlir::Value tile, mlir::Value reg);

  /// The values that a region of scalars yields for `args`.
  llvm::SmallVector<mlir::Value> inlineRegion(mlir::Region &region,
                                              mlir::ValueRange args);

  /// Makes `tile` an array, now.
  void materialize(mlir::Value tile);

  /// For a load in a hole whose registers hold each element several times
  /// (parts of packed numbers, scales of blocks): how often, if one access
  /// reads all of them. 1 for others.
  int64_t findRepeat(tile::LoadOp load);

  /// True if all registers of a thread hold the same element: nothing that
  /// `tile` is made of depends on the register.
  bool isUniform(mlir::Value tile) { return uniform.contains(tile); }

  /// Coordinate of the element in `reg` along `axis` of the tile.
  mlir::Value coordinate(mlir::Location loc, tile::LayoutAttr layout,
                         int64_t axis, mlir::Value reg);

  /// The element's place as `tile.slot` counts.
  mlir::Value slot(mlir::Location loc, tile::LayoutAttr layout,
                   mlir::Value reg);

  /// What (lane, warp or block) place `place` adds to the coordinate along
  /// `axis`.
  mlir::Value placeCoordinate(mlir::Location loc,
                              llvm::ArrayRef<tile::Digit> digits,
                              mlir::Value place, int64_t axis);

  /// Index arithmetic on scalars; additions of 0 and divisions by 1 vanish.
  mlir::Value constant(mlir::Location loc, int64_t value);
  mlir::Value add(mlir::Location loc, mlir::Value lhs, mlir::Value rhs);
  mlir::Value mul(mlir::Location loc, mlir::Value lhs, int64_t rhs);
  mlir::Value div(mlir::Location loc, mlir::Value lhs, int64_t rhs);
  mlir::Value rem(mlir::Location loc, mlir::Value lhs, int64_t rhs);

  /// Thread ids, emitted once at the kernel's start by the caller; `rank`, the
  /// block's place in its cluster, is null without clusters.
  mlir::Value lane, warp, rank;
  /// Threads of a block.
  int64_t threads = 0;
  /// The blocks of the cluster are known to have begun.
  bool knowsCluster = false;
  /// Says that the block has begun; null if the cluster exchanges nothing.
  simt::ClusterArriveOp arrival;

private:
  tile::UniformTiles uniform;
  mlir::Value emit(mlir::Value tile, mlir::Value reg);
  mlir::Value emitBroadcast(tile::BroadcastOp op, mlir::Value reg);

  // Elements emitted in the scopes that are open, innermost last.
  using Scope =
      llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, mlir::Value>;
  llvm::SmallVector<Scope> scopes;
};

} // namespace fusec::tile_to_simt

#endif // FUSEC_LIB_CONVERSION_TILETOSIMT_THREADCODE_H
