//===- MarchSchedule.h - the state of a marching kernel ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parts of the marching schedule share: the kept rows of each value
// and what an iteration hands to the next. Frame and loop are in March.cpp,
// rows and reads of them in MarchRows.cpp, padding in MarchPadding.cpp.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_MARCHSCHEDULE_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_MARCHSCHEDULE_H

#include "March.h"

#include <deque>
#include <functional>
#include <map>

namespace fusec::graph_to_tile {

/// The rows of one value in one pass over some output rows.
struct RingRows {
  /// Rows by their distance from the pass' first output row, and shifted ones
  /// by row and columns.
  std::map<int64_t, mlir::Value> rows;
  std::map<std::pair<int64_t, int64_t>, mlir::Value> shifted;
  /// For arguments: the newest row for an output row, as it is in memory.
  std::map<int64_t, mlir::Value> loaded;
};

/// The kept rows of one value.
struct Ring : RingRows {
  const analysis::MarchedValue *value = nullptr;
  bool isArgument = false;
  /// What every masked read of a window gives outside of the value; null if
  /// reads differ or none is masked.
  mlir::TypedAttr padding;
};

inline mlir::RankedTensorType tensorOf(const Ring &ring) {
  return cast<mlir::RankedTensorType>(ring.value->value.getType());
}

/// A value that is handed to the Row region behind a march, and its place.
struct HandedValue {
  mlir::Value value, buffer;
};

/// Rows that a march hands on: `rows` x `columns` points, whose channels are
/// `pitch` elements apart in shared memory.
struct MarchedRows {
  int64_t rows = 1, columns = 1, pitch = 1;
  /// Spine dims of rows and columns; the first point along each spine dim but
  /// the last, and the strip's end, as scalars.
  unsigned row = 0, column = 0;
  llvm::SmallVector<mlir::Value> start;
  mlir::Value endRow;
  llvm::SmallVector<HandedValue> values;
};

/// Emits the Row region `form` for the points of `marched`, by all threads of a
/// block of `warps`. The emitter has no carrier afterwards.
void emitBehind(KernelBuilder &kb, const analysis::RegionForm &form,
                int64_t warps, const MarchedRows &marched);

/// Builds the kernel of one region; lives for one call of `scheduleMarch`.

class MarchSchedule {
public:
  MarchSchedule(KernelBuilder &kb, const analysis::MarchForm &march)
      : kb(kb), form(kb.form), march(march) {}
  void run();

private:
  /// Strips along each axis for a spine of `sizes`.
  llvm::SmallVector<int64_t> countsFor(llvm::SmallVector<int64_t> sizes) const;
  void setFrame();
  /// Warps that hold lanes of one strip.
  int64_t warpsAlongLanes() const { return march.handedRows ? march.warps : 1; }
  mlir::RankedTensorType carrierOf();
  mlir::Value setLanes();
  mlir::Value laneColumnOf();
  mlir::Value isColumnOf(int64_t width);
  void emitLoop();
  void carryRows(Ring &ring);
  void startLoads(Ring &ring);
  void makeRows(mlir::Value from, int64_t count);
  struct Pass;
  void swapPass(Pass &other);
  struct Carried;
  llvm::SmallVector<Carried *> keptValues(llvm::ArrayRef<mlir::Value> next);
  void makeRow(Ring &ring, int64_t row);
  mlir::Value loadedRow(Ring &ring, int64_t row);
  /// The spine of row `row` of an iteration, and whether the strip has it.
  std::pair<llvm::SmallVector<mlir::Value>, mlir::Value> pointOf(int64_t row);
  void storeOutputs(int64_t row);
  llvm::SmallVector<mlir::Value> findStrip(llvm::ArrayRef<int64_t> counts,
                                           mlir::Value &exists);
  void allocateHanded();
  void handOn(int64_t row);
  void enterIf(mlir::Value condition);
  mlir::Value isNoWarmUp();
  mlir::Value handedRow(int64_t row);
  void emitRowsBehind();
  mlir::Value loadRow(const Ring &ring, mlir::Value row);
  mlir::Value storedPadding(const Ring &ring);
  mlir::Value padded(const Ring &ring, mlir::Value row, mlir::Value value);
  mlir::Value isInsideOf(const Ring &ring, mlir::Value row);
  llvm::SmallVector<mlir::Value>
  indexOf(llvm::ArrayRef<analysis::TileExtent> box, mlir::Value row);
  std::optional<int64_t> rowOf(mlir::ValueRange index,
                               llvm::ArrayRef<analysis::TileExtent> box);
  mlir::Value kept(mlir::Value value, mlir::ValueRange index);
  mlir::Value lookup(mlir::Value value, mlir::ValueRange index);
  mlir::Value lookupMasked(mlir::Value value, mlir::ValueRange index,
                           mlir::Value mask, mlir::Value other);
  mlir::Value unrolled(mlir::OpResult result, mlir::ValueRange index);
  llvm::SmallVector<mlir::Value> sum(const analysis::CarriedSum &sum,
                                     int64_t row, int64_t tap);
  mlir::Value finishedSum(mlir::OpResult result, mlir::ValueRange index);
  std::optional<unsigned> columnOf(mlir::Operation *window) const;
  mlir::Value columnsFirst(mlir::OpResult result, mlir::ValueRange index);
  /// `at(by)`: what the value is, `by` rows further down in the pass at hand.
  using RowsDown = std::function<mlir::Value(int64_t by)>;
  mlir::Value carry(mlir::Type type, RowsDown at);
  mlir::Value shift(Ring &ring, int64_t row, int64_t columns);
  mlir::RankedTensorType typeOf(const Ring &ring);
  graph::ElementBuilder elements() { return kb.emitter.elements(); }
  mlir::Value splat(mlir::Value scalar) {
    return tile::SplatOp::create(kb.builder, kb.loc,
                                 elements().type(scalar.getType()), scalar);
  }

  KernelBuilder &kb;
  const analysis::RegionForm &form;
  const analysis::MarchForm &march;
  mlir::RankedTensorType carrier;
  llvm::SmallVector<Ring, 4> rings;
  /// Sums of windows by result row and the last row that was added.
  using Sums = std::map<std::tuple<mlir::Operation *, int64_t, int64_t>,
                        llvm::SmallVector<mlir::Value>>;
  Sums sums;
  /// Index tiles: of every spine dim but row and column; the strip's first row
  /// and the one after its last; the columns, those that tests look at; the
  /// first row of the pass.
  llvm::SmallVector<mlir::Value> spine;
  mlir::Value stripRow, stripEnd, columns, laneColumn, baseRow;
  mlir::Value isUseful; // column is none of the margins
  mlir::Value isStored; // column and strip count
  /// With a Row region behind: the strip along each spine dim and the pass'
  /// first row as scalars; where a thread's columns lie in the strip, and which
  /// of its elements are handed on; what is handed on.
  llvm::SmallVector<mlir::Value> strip;
  mlir::Value passRow, place, isHanded;
  llvm::SmallVector<HandedValue> handed;

  /// What is known in one pass over some rows: the iteration, or the rows that
  /// fill the registers before the first.
  struct Pass {
    llvm::SmallVector<RingRows, 4> rings;
    Sums sums;
    mlir::Value baseRow;
    bool isFirst = false;
  };
  bool isFirst = false;

  /// What an iteration hands to the next: the block argument in the loop, and
  /// how to make its value from a pass.
  struct Carried {
    mlir::Value now;
    RowsDown at;
  };
  std::deque<Carried> carried;
  mlir::Block *body = nullptr;
};

/// The padding of `value` in all windows of the region; null if they differ.
mlir::TypedAttr paddingOf(mlir::Value value, const analysis::RegionForm &form,
                          mlir::OpBuilder builder);

/// The padding of `ring`, of an argument, as an element in memory; null if it
/// has none or memory cannot hold it.
mlir::TypedAttr paddingInMemory(const Ring &ring);

/// True if `mask` says that `index` is in range of `shape` along some axes and
/// nothing else.
bool testsOnlyRange(mlir::Value mask, mlir::ValueRange index,
                    llvm::ArrayRef<int64_t> shape);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_MARCHSCHEDULE_H
