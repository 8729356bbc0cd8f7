//===- RegionEmitter.h - elements of a region as tiles ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pulls tiles of graph values: `emit(value, index)` is the tile of `value`'s
// elements at the index tiles, made from loads and the ops' own buildElement.
// A schedule decides the carrier, the index tiles and which values are staged.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_REGIONEMITTER_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_REGIONEMITTER_H

#include "fusec/Conversion/GraphToTile.h"
#include "fusec/Dialect/Graph/IR/Element.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <functional>
#include <map>

namespace fusec::graph_to_tile {

/// Emits tiles (or scalars, without a carrier) of a region's values into the
/// kernel under construction. A value is made once for an index, mask and
/// carrier and used again where it is visible. Reads outside of a tensor never
/// happen for elements where the mask holds; the others read nothing.
class RegionEmitter : private mlir::OpBuilder::Listener {
public:
  /// `buffers` maps fusion block arguments to kernel buffers.
  RegionEmitter(mlir::OpBuilder &builder, mlir::Location loc,
                const TileOptions &options)
      : builder(builder), loc(loc), options(options),
        outerListener(builder.getListener()) {
    builder.setListener(this);
  }
  ~RegionEmitter() override { builder.setListener(outerListener); }
  RegionEmitter(const RegionEmitter &) = delete;
  RegionEmitter &operator=(const RegionEmitter &) = delete;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const TileOptions &options;
  /// Fusion block arguments -> kernel buffers.
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  /// Consulted before a value is computed; may be empty. Returns the tile of
  /// the value at the index, or null to let the emitter compute it.
  std::function<mlir::Value(mlir::Value, mlir::ValueRange)> staged;
  /// Quotients by what is at least 1 (or NaN), and below 2^126.
  llvm::DenseSet<mlir::Operation *> byOneAtLeast;
  /// exp(x - max) that is being summed and nothing else; may be null.
  mlir::Operation *summedPower = nullptr;
  /// Consulted before a masked read: the value and index, the mask, and what
  /// the read gives where it is false. Returns the result of the whole read, or
  /// null. May be empty.
  std::function<mlir::Value(mlir::Value, mlir::ValueRange, mlir::Value,
                            mlir::Value)>
      stagedMasked;

  /// The carrier of tiles made from now on (null: scalars).
  void setCarrier(mlir::RankedTensorType type) { carrier = type; }
  /// A builder of element arithmetic in the carrier.
  graph::ElementBuilder elements() { return {builder, loc, carrier}; }

  /// Only elements where `mask` holds are read from memory; null: all.
  void setMask(mlir::Value value) { mask = value; }
  mlir::Value getMask() const { return mask; }

  /// The elements of `value` at `index`, in the compute type of its element
  /// type; rounded to the element type in exact mode, or if `rounded`.
  mlir::Value emit(mlir::Value value, mlir::ValueRange index,
                   bool rounded = false);

  /// A reader of the operands of `op` for buildElement and buildLift.
  std::unique_ptr<graph::ElementReader> reader(mlir::Operation *op);

  /// Stores `value` (compute type) to element `index` of output `buffer` of
  /// tensor type `type` where `storeMask` holds.
  void store(mlir::Value value, mlir::Value buffer, mlir::RankedTensorType type,
             mlir::ValueRange index, mlir::Value storeMask);

  /// Row-major offset of `index`, simplified as far as the ranges of the index
  /// tiles named by `setRange` allow.
  mlir::Value offset(mlir::ValueRange index, llvm::ArrayRef<int64_t> shape);
  /// States that 0 <= value < bound for the elements of an index tile that
  /// count; offsets are simplified on this ground, masks are not dropped.
  void setRange(mlir::Value value, int64_t bound) { ranges[value] = bound; }

  /// Offsets that were simplified over the range of `value` are then written in
  /// terms of what it is the sum of, where that cancels other parts of them: an
  /// index that starts at an aligned address.
  void open(mlir::Value value) { opened.insert(value); }

  /// Bounds, both inclusive.
  struct Interval {
    int64_t low, high;
  };
  /// States the bounds of an index value for every thread, those of masked-out
  /// elements included: masks that follow from them are dropped.
  void setBounds(mlir::Value value, Interval bounds) {
    exactBounds[value] = bounds;
  }
  /// What is known of an index value for every thread.
  std::optional<Interval> bounds(mlir::Value value);
  /// a - b where it is the same for all elements, whatever the indices that the
  /// schedule made.
  std::optional<int64_t> distance(mlir::Value a, mlir::Value b);
  /// True if `condition` is known to hold, or not to hold, in every thread.
  bool isProven(mlir::Value condition);
  bool isRefuted(mlir::Value condition);

  /// The element type of the buffer that stores `elementType`.
  static mlir::Type storageType(mlir::Type elementType);

  /// A stored element in the compute type.
  mlir::Value fromStorage(mlir::Value stored, mlir::Type elementType);

  /// A computed element of `elementType`, rounded, as it is stored.
  mlir::Value toStorage(mlir::Value value, mlir::Type elementType);

  /// Joins two states, scalars one after the other.
  using CombineBuilder = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      graph::ElementBuilder &, mlir::ValueRange, mlir::ValueRange)>;
  /// Builds the combine region of `reduce`.
  void buildCombine(tile::ReduceOp reduce, CombineBuilder combine);
  /// The same from `reduction`.
  void buildCombine(graph::ReductionOpInterface reduction,
                    tile::ReduceOp reduce);

  friend class Reader;

private:
  /// Marks arithmetic of values that are rounded to 16 bits or fewer: it may
  /// be contracted and approximated (docs/semantics.md).
  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint) override;
  mlir::Value emitUncached(mlir::Value value, mlir::ValueRange index);
  mlir::Value load(mlir::Value argument, mlir::ValueRange index,
                   mlir::Value other);
  mlir::Value constant(graph::ConstantOp op, mlir::ValueRange index);
  mlir::Value readOperand(mlir::Operation *op, unsigned operand,
                          mlir::ValueRange index, mlir::Value readMask,
                          mlir::Value other);
  bool isVisible(mlir::Value value);
  mlir::AffineExpr exprOf(mlir::Value value,
                          llvm::SmallVectorImpl<mlir::Value> &dims);
  mlir::AffineExpr exprOfSum(mlir::Value value,
                             llvm::SmallVectorImpl<mlir::Value> &dims);
  mlir::AffineExpr openDims(mlir::AffineExpr expr,
                            llvm::SmallVectorImpl<mlir::Value> &dims);
  mlir::AffineExpr simplify(mlir::AffineExpr expr, mlir::ValueRange dims);
  mlir::Value fromExpr(mlir::AffineExpr expr, mlir::ValueRange dims);
  std::optional<Interval> boundsOf(mlir::AffineExpr expr,
                                   mlir::ValueRange dims);
  bool isInside(mlir::ValueRange index, llvm::ArrayRef<int64_t> shape);

  mlir::RankedTensorType carrier;
  mlir::Value mask;
  mlir::OpBuilder::Listener *outerListener;
  // What is being built is a value of at most 16 bits, in default mode.
  bool isNarrow = false;
  // What is being built is rounded to at most 16 bits in the end, in default
  // mode, and at most summed besides; or a part of a sum of at least 1.
  bool isRoundedLater = false, isPart = false;
  // What is being built is an operand of a cast to at most 16 bits, or a factor
  // of that.
  bool isCast = false;
  // Quotients are rounded to few bits and saturated.
  bool isSaturated = false;
  // What is being divided by is known to be at least 1.
  bool isByOne = false;
  // (value, mask, carrier, rounded, index...) -> tile.
  std::map<std::vector<void *>, mlir::Value> memo;
  llvm::DenseMap<mlir::Value, int64_t> ranges;
  llvm::DenseSet<mlir::Value> opened;
  llvm::DenseMap<mlir::Value, Interval> exactBounds;
};

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_REGIONEMITTER_H
