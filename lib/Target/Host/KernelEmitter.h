//===- KernelEmitter.h - elements of a region as host code ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pulls elements of graph values through the ops' own buildElement, in scalar
// code or in tiles `tensor<W>` that later become vectors. Buffers are LLVM
// pointers; the emitter finds out from the index arithmetic whether the lanes
// of a tile read one place, neighbours, or scattered places.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_HOST_KERNELEMITTER_H
#define FUSEC_LIB_TARGET_HOST_KERNELEMITTER_H

#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Target/Host/CompileForHost.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace fusec::host {

/// A buffer of a kernel.
struct KernelBuffer {
  mlir::Value pointer;
  /// Element type of the tensor that it holds.
  mlir::Type elementType;
  /// Elements are stored in their compute type instead (staged values).
  bool isWide = false;
  /// Written by an earlier loop of the same kernel: only elements of the
  /// current row may be read.
  bool isRowLocal = false;
  llvm::SmallVector<int64_t> shape;

  int64_t elements() const;
};

/// The type of an element in memory: i8 for bool, 4-bit integers and float8,
/// i16 for bf16, signless integers.
mlir::Type storageType(mlir::Type elementType, bool isWide);

/// How the lanes of an index tile differ.
struct LaneForm {
  bool isAffine = false;
  /// Step from lane to lane.
  int64_t stride = 0;
  /// Lane 0 is a multiple of it.
  int64_t divisor = 1;
};

class KernelEmitter {
public:
  KernelEmitter(mlir::OpBuilder &builder, mlir::Location loc,
                const CompileOptions &options)
      : builder(builder), loc(loc), options(options) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const CompileOptions &options;

  /// Values that are in memory.
  llvm::DenseMap<mlir::Value, KernelBuffer> buffers;
  /// Lanes of the loop over the last reduced dimension of reductions met in
  /// scalar code; 1 for none.
  int64_t reductionLanes = 1;

  // What emission found out.
  /// A row-local buffer was read outside the current row: the code is wrong.
  bool leftRow = false;
  /// Reads of scattered places: a measure of bad vector code.
  int64_t gathers = 0;
  /// An op gave no element.
  bool failed = false;
  /// Elements that may still be built; none left means that too much is
  /// computed again and again.
  int64_t budget = 4000;

  /// Tiles of `lanes` elements from now on; 1 means scalars.
  void setLanes(int64_t lanes);
  int64_t getLanes() const { return lanes; }
  graph::ElementBuilder elements() { return {builder, loc, carrier}; }

  /// The leading index values of the current row, as scalars.
  void setRow(mlir::ValueRange index) {
    row.assign(index.begin(), index.end());
  }

  /// scalar, for all lanes.
  mlir::Value splat(mlir::Value scalar);
  /// first + lane, for a scalar `first` that is a multiple of `divisor`.
  mlir::Value laneIndex(mlir::Value first, int64_t divisor);
  /// States that `linear` is the linear index of `shape` whose parts are
  /// `index`.
  void setLinear(mlir::Value linear, mlir::ValueRange index,
                 llvm::ArrayRef<int64_t> shape);

  /// Elements of `value` at `index` in the compute type, rounded to the element
  /// type in exact mode or if `rounded`. Memory is read only where `mask` holds
  /// (null: everywhere).
  mlir::Value emit(mlir::Value value, mlir::ValueRange index, mlir::Value mask,
                   bool rounded);
  /// Stores elements (compute type) at `index`.
  void store(mlir::Value element, const KernelBuffer &buffer,
             mlir::ValueRange index);

  mlir::Value index(int64_t value);
  mlir::Value logicalAnd(mlir::Value lhs, mlir::Value rhs);

private:
  friend class Reader;
  mlir::Value emitUncached(mlir::Value value, mlir::ValueRange index,
                           mlir::Value mask);
  mlir::Value emitReduction(graph::ReductionOpInterface op, unsigned result,
                            mlir::ValueRange index, mlir::Value mask);
  mlir::Value offsetOf(mlir::ValueRange index, llvm::ArrayRef<int64_t> shape);
  mlir::Value load(const KernelBuffer &buffer, mlir::ValueRange index,
                   mlir::Value mask);
  mlir::Value loadStorage(const KernelBuffer &buffer, mlir::Value offset,
                          mlir::Value mask);
  mlir::Value loadStrided(const KernelBuffer &buffer, mlir::Type storage,
                          mlir::Value first, int64_t stride);
  mlir::Value gather(const KernelBuffer &buffer, mlir::Type storage,
                     mlir::Value offset, mlir::Value mask);
  mlir::Value fromStorage(mlir::Value stored, const KernelBuffer &buffer);
  mlir::Value toStorage(mlir::Value element, const KernelBuffer &buffer);
  mlir::Value address(const KernelBuffer &buffer, mlir::Type storage,
                      mlir::Value offset);
  bool isInRow(const KernelBuffer &buffer, mlir::ValueRange index);
  LaneForm laneForm(mlir::Value value);
  mlir::Value firstLane(mlir::Value value);
  bool isVisible(mlir::Value value);
  mlir::Value asVector(mlir::Value tile);
  mlir::Value asTile(mlir::Value vector);

  int64_t lanes = 1;
  mlir::RankedTensorType carrier;
  llvm::SmallVector<mlir::Value> row;
  // (value, mask, rounded, index...) -> element.
  std::map<std::vector<const void *>, mlir::Value> memo;
  llvm::DenseMap<mlir::Value, LaneForm> laneForms;
  // Tile -> its scalar for all lanes, or its lane 0.
  llvm::DenseMap<mlir::Value, mlir::Value> firstLanes;
  struct Linear {
    mlir::Value linear;
    llvm::SmallVector<mlir::Value> index;
    llvm::SmallVector<int64_t> shape;
  };
  std::vector<Linear> linears;
};

} // namespace fusec::host

#endif // FUSEC_LIB_TARGET_HOST_KERNELEMITTER_H
