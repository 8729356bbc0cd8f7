//===- TransposeSchedule.h - inputs that are turned -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to Transpose.cpp, which has the frame and tiles of whole vectors, and
// TransposeImage.cpp, where vectors start anywhere.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_TRANSPOSESCHEDULE_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_TRANSPOSESCHEDULE_H

#include "KernelBuilder.h"
#include "fusec/Analysis/TransposeTile.h"

namespace fusec::graph_to_tile {

class TransposeSchedule {
public:
  TransposeSchedule(KernelBuilder &kb, const analysis::TransposeTile &tile)
      : kb(kb), tile(tile), warps(tile.warps) {}
  void run();

private:
  /// A point of the tile, as index tiles: along the two groups within the tile,
  /// and on the spine.
  struct Point {
    mlir::Value row, column, mask;
    llvm::SmallVector<mlir::Value> spine;
  };

  // Transpose.cpp
  void findBlock();
  mlir::RankedTensorType carrierAlong(bool rows, int64_t vector);
  Point enter(mlir::RankedTensorType carrier);
  mlir::Value splat(mlir::RankedTensorType carrier, mlir::Value scalar);
  void placeOnSpine(Point &at, mlir::Value row, mlir::Value column,
                    mlir::Value whole);
  mlir::Value sharedOffset(const Point &at, int64_t bytes);
  mlir::Value allocate(mlir::Type storage, int64_t count);
  mlir::Value load(mlir::Type storage, mlir::Value buffer, mlir::Value offset);
  mlir::Value loadInput(const analysis::TurnedRead &read, const Point &at);
  void turn(mlir::Value loaded, int64_t bytes, const Point &at);
  bool isAt(const analysis::TurnedRead &read, mlir::Value value,
            mlir::ValueRange index);
  mlir::Value lookup(mlir::Value value, mlir::ValueRange index);
  void storeOutputs();
  void turnInputs();
  void turnOutputs();

  // TransposeImage.cpp
  mlir::Value startOf(llvm::ArrayRef<int64_t> strides);
  mlir::Value imageColumn(const analysis::TileImage &image, mlir::Value column,
                          mlir::Value residue);
  void copyImage(unsigned position);
  void copyEnd(unsigned position);
  bool hasEnd(unsigned position);
  Point enterShifted(bool isInner);
  void finishImages(bool isInner);
  void turnImages();

  KernelBuilder &kb;
  const analysis::TransposeTile &tile;
  int64_t warps;
  // Where the tile starts; columns may be below 0 by tile.lead.
  mlir::Value rowStart, columnStart;
  llvm::SmallVector<mlir::Value> others;  // scalars, for dims of neither group
  llvm::SmallVector<mlir::Value> buffers; // of turned inputs or outputs
  // Of images: how far their first element is from the start of a vector.
  llvm::SmallVector<mlir::Value> residues;
  llvm::SmallVector<mlir::Value> early; // of straight inputs
  Point point;                          // of the outputs
};

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_TRANSPOSESCHEDULE_H
