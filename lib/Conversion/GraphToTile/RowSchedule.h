//===- RowSchedule.h - several reductions along the same axes ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to the row schedule, which Row.cpp describes.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_ROWSCHEDULE_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_ROWSCHEDULE_H

#include "KernelBuilder.h"
#include "RowLayout.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fusec::graph_to_tile {

/// Builds the kernel of a Row region in one of its forms. While it runs, the
/// emitter's carrier is `full`, except where a value of the row carrier is
/// made.
class RowSchedule {
public:
  RowSchedule(KernelBuilder &kb, const analysis::RowTiling &tiling)
      : RowSchedule(kb, kb.form, tiling) {}
  /// `form`: a Row region that is all or a part of the kernel's.
  RowSchedule(KernelBuilder &kb, const analysis::RegionForm &form,
              const analysis::RowTiling &tiling)
      : kb(kb), form(form), tiling(tiling),
        layout(layoutOf(kb.builder.getContext(), tiling)),
        chunk(tiling.columns()), step(chunk * tiling.unroll),
        rows(KernelBuilder::product(kb.counted.parallel)),
        columns(KernelBuilder::product(form.reduced)),
        body(tiling.body(columns)),
        rowUnit(tiling.across && !tiling.skew ? tiling.vector : 1) {}
  virtual ~RowSchedule() = default;
  mlir::LogicalResult run();

protected:
  /// [start, end), in whole iterations.
  struct Columns {
    mlir::Value start, end;
    /// No column is past the last.
    bool isWhole = false;
    /// Columns from `start` on, where that is one iteration, and how many of
    /// them every row has; 0 elsewhere.
    int64_t left = 0, sure = 0;
    /// Added to the columns; null: nothing.
    mlir::Value base = {};
    /// From the last iteration to the first; start and end are constants.
    bool isBackwards = false;
    /// Blocks that take iterations in turn.
    int64_t turns = 1;
  };

  // Row.cpp
  // Where the rows and columns of this block are on the spine.
  /// The first row along tile axis 0.
  virtual mlir::Value firstRow();
  /// Whether no thread is past the last row.
  bool hasWholeGroups() const;
  /// States what is known of the rows `linear` of every thread.
  virtual void boundRows(mlir::Value linear);
  /// Which of the rows `linear` are there; null: all.
  virtual mlir::Value rowsInside(mlir::RankedTensorType carrier,
                                 mlir::Value linear);
  /// No iteration goes past the last column.
  virtual bool coversColumns() {
    return hasEqualBodies() && body && body % step == 0;
  }
  /// Past the last column.
  virtual mlir::Value columnEnd() { return kb.index(columns); }
  /// Index tiles of the parallel spine; `linear` are rows.
  virtual llvm::SmallVector<mlir::Value> parallelAt(mlir::Value linear);
  /// Index tiles of the reduced spine.
  virtual llvm::SmallVector<mlir::Value> reducedAt(mlir::Value rows,
                                                   mlir::Value linear);
  void setUpRows(mlir::RankedTensorType carrier);
  /// Makes `carrier` that of values which are uniform along a row; what is at
  /// hand in another is made again.
  void setRowCarrier(mlir::RankedTensorType carrier);
  /// Index tiles of the spine for columns from `start` on, in the full carrier.
  virtual void enterColumns(mlir::Value start);
  /// The spine and masks of these index tiles in the full carrier; columnMask
  /// says which columns exist.
  void enterSpine(mlir::Value rowLinear, mlir::Value columnLinear);
  /// The columns of chunk `i` of an iteration of `part`, which starts at
  /// `start`. False if none is there.
  bool enterChunk(const Columns &part, mlir::Value start, int64_t i);
  mlir::Value lookup(mlir::Value value, mlir::ValueRange index);
  mlir::Value uniformValue(mlir::Value value);
  unsigned levels() const;
  void reduceLevels(bool storesEarly = false);
  void reduceLevel(llvm::ArrayRef<const analysis::RegionStage *> stages);
  /// The states of rows that a block holds, before threads combine them.
  virtual llvm::SmallVector<mlir::Value>
  statesOfRows(const analysis::RegionStage &stage);
  llvm::SmallVector<mlir::Value> lift(const analysis::RegionStage &stage);
  llvm::SmallVector<mlir::Value> reduceTiles(graph::ReductionOpInterface op,
                                             mlir::ValueRange states);
  void finish(const analysis::RegionStage &stage, mlir::ValueRange state);
  bool isStage(mlir::Operation *op) const {
    return llvm::any_of(form.stages, [&](const auto &s) { return s.op == op; });
  }
  void computeUniform(unsigned level);
  void storeUniform();
  /// Values of the outputs that are stored for each element, and their stores.
  using OutputFilter = llvm::function_ref<bool(const analysis::RegionOutput &)>;
  llvm::SmallVector<mlir::Value> fullValues(OutputFilter which = isFull);
  void storeFull(mlir::ValueRange values, OutputFilter which = isFull);
  void storeOfLevel(unsigned level);
  /// A loop over [start, end) in iterations of `step` columns, of which it has
  /// every one of `turns`, empty so far; the builder is moved into it.
  mlir::scf::ForOp columnLoop(mlir::Value start, mlir::Value end,
                              mlir::ValueRange inits, int64_t turns = 1);
  mlir::Value paddedColumns() {
    return kb.index(llvm::divideCeil(body, step) * step);
  }
  mlir::LogicalResult runWhole();
  void markQuotients();
  void storeLooped(llvm::ArrayRef<Columns> parts);
  void storeColumns(const Columns &part);

  // RowOnePass.cpp
  /// Reductions that share a state: one, a maximum with a sum that is
  /// rescaled, or a sum with the squares of distances to its mean.
  struct Unit {
    const analysis::RegionStage *stage = nullptr, *sum = nullptr,
                                *squares = nullptr;
    bool isPair() const { return sum || squares; }
    graph::ReductionOpInterface op() const {
      return llvm::cast<graph::ReductionOpInterface>(stage->op);
    }
  };
  llvm::SmallVector<Unit> units() const;
  static llvm::SmallVector<mlir::Type> typesOf(const Unit &unit);
  llvm::SmallVector<mlir::Value> identityOf(const Unit &unit);
  llvm::SmallVector<mlir::Value> identities(llvm::ArrayRef<Unit> units);
  llvm::SmallVector<mlir::Value> startOf(llvm::ArrayRef<Unit> units);
  /// What is subtracted from elements whose maximum is `max`: 0 for -inf, so
  /// that exp gives 0 and not NaN.
  static mlir::Value shiftOf(graph::ElementBuilder &eb, mlir::Type type,
                             mlir::Value max);
  mlir::Operation *summedPower(const Unit &unit) const;
  llvm::SmallVector<mlir::Value> liftUnit(const Unit &unit);
  llvm::SmallVector<mlir::Value>
  accumulate(const Unit &unit, mlir::ValueRange state,
             llvm::ArrayRef<llvm::SmallVector<mlir::Value>> more);
  llvm::SmallVector<mlir::Value>
  accumulateCentred(graph::ElementBuilder &eb, const Unit &unit,
                    mlir::ValueRange state,
                    llvm::ArrayRef<llvm::SmallVector<mlir::Value>> more);
  static llvm::SmallVector<mlir::Value>
  combinePair(graph::ElementBuilder &eb, const Unit &unit, mlir::ValueRange lhs,
              mlir::ValueRange rhs, bool isShort = false);
  /// `isShort`: so few states that errors of what sums are rescaled by do not
  /// add up.
  llvm::SmallVector<mlir::Value>
  reduceStates(const Unit &unit, mlir::ValueRange states, bool isShort = false);
  void finishUnit(const Unit &unit, mlir::ValueRange state);
  void finishAll(llvm::ArrayRef<Unit> units, mlir::ValueRange states);
  llvm::SmallVector<Columns> allColumns();
  llvm::SmallVector<mlir::Value> walkColumns(llvm::ArrayRef<Unit> all,
                                             const Columns &part,
                                             mlir::ValueRange inits,
                                             bool storesFull);
  /// `states` of `all` in the full carrier, before threads combine them.
  virtual llvm::SmallVector<mlir::Value> inOrder(llvm::ArrayRef<Unit> all,
                                                 mlir::ValueRange states) {
    return llvm::to_vector_of<mlir::Value>(states);
  }
  llvm::SmallVector<mlir::Value> reducePart(llvm::ArrayRef<Unit> all,
                                            llvm::ArrayRef<Columns> parts,
                                            bool storesFull);
  mlir::Value partOffsets(mlir::RankedTensorType carrier, mlir::Value part);
  void storePart(mlir::ValueRange states);
  llvm::SmallVector<mlir::Value> loadParts(mlir::RankedTensorType carrier,
                                           mlir::Value first, int64_t count);
  llvm::SmallVector<mlir::Value> combineParts(graph::ElementBuilder &eb,
                                              mlir::ValueRange lhs,
                                              mlir::ValueRange rhs);
  void finishParts();
  bool isMatrix(mlir::BlockArgument buffer);
  mlir::LogicalResult runSplit();
  mlir::LogicalResult runOnePass();

  // RowSelect.cpp
  /// One element for each warp and block that hold a part of a row.
  mlir::RankedTensorType listCarrier();
  /// The state of nothing: for each element, or a list for each warp.
  llvm::SmallVector<mlir::Value> startOf(graph::ReductionOpInterface op);
  /// What `addTile` takes in: lifted elements, or the keys and coarse numbers
  /// of those that are selected.
  llvm::SmallVector<mlir::Value> liftTile(const analysis::RegionStage &stage);
  /// `state`, such as `startOf` gives, and a tile of `liftTile`.
  llvm::SmallVector<mlir::Value> addTile(graph::ReductionOpInterface op,
                                         mlir::ValueRange state,
                                         mlir::ValueRange lifted);

  // RowCluster.cpp
  mlir::Type narrowTypeOf(const analysis::RegionStage &stage) const;
  mlir::Value narrowed(mlir::Value state);
  const Unit *pairOfRow(llvm::ArrayRef<Unit> all) const;
  llvm::SmallVector<mlir::Value> pairsOfWarps(const Unit &unit);
  void reduceKept();
  mlir::LogicalResult runKept();

  // RowEdges.cpp
  /// The whole vectors of memory in rows: how many, and the first one's column.
  struct Body {
    mlir::Value first, vectors;
  };
  virtual Body bodyOf(mlir::Value rowLinear);
  /// Whether all rows have as many whole vectors and the text says so: not
  /// where they are walked, which took 69.0 us so and 67.8 without (16384 x
  /// 4095 bf16).
  bool hasEqualBodies() const {
    return !tiling.edges ||
           (tiling.isRun && tiling.leastBody(columns) == body);
  }
  std::pair<mlir::Value, mlir::Value> columnsAt(mlir::Value rowLinear,
                                                mlir::Value place);
  void enterEdges();
  llvm::SmallVector<mlir::Value> statesOfEdges(llvm::ArrayRef<Unit> all);
  /// What storeEdges stores.
  struct EdgeValues {
    llvm::SmallVector<mlir::Value> spine, values;
    mlir::Value mask;
  };
  EdgeValues edgeValues();
  void storeEdges(const EdgeValues &edges);

  /// The number of rows: in vectors where these run across rows.
  mlir::Value rowBound() { return kb.mulIndex(kb.extent(0), rowUnit); }
  bool isLooped() const { return body > chunk; }
  /// Stored for each element.
  static bool isFull(const analysis::RegionOutput &output) {
    return !output.isUniform && !output.isColumn;
  }
  bool hasFull() const { return llvm::any_of(form.outputs, isFull); }

  KernelBuilder &kb;
  const analysis::RegionForm &form;
  analysis::RowTiling tiling;
  tile::LayoutAttr layout;
  /// Columns of a tile, and of an iteration.
  int64_t chunk, step;
  int64_t rows, columns;
  /// Columns that tiles walk: all, or those in whole vectors at most.
  int64_t body;
  int64_t rowUnit;
  mlir::RankedTensorType full, row;
  mlir::Value rowStart;
  /// The columns entered next are all there.
  bool isWhole = false;
  mlir::Value rowMaskFull, rowMask, columnMask, fullMask;
  /// The columns of the full carrier.
  mlir::Value columnFull;
  llvm::SmallVector<mlir::Value> spineFull, spineRow;
  /// Uniform values at hand, in the row carrier.
  llvm::DenseMap<mlir::Value, mlir::Value> uniform;
  bool inRowCarrier = false;
  /// The type of 16 bits in which a maximum of what was widened from it is
  /// taken; null: that of its states.
  mlir::Type narrowState;
};

/// Builds the kernel of a Row region whose blocks share rows and meet
/// (RowMeeting.cpp).
mlir::LogicalResult scheduleMeeting(KernelBuilder &kb,
                                    const analysis::RowTiling &tiling);

/// Builds the kernel of a Row region across rows that start anywhere in a
/// vector (RowSkew.cpp).
mlir::LogicalResult scheduleSkew(KernelBuilder &kb,
                                 const analysis::RowTiling &tiling);

/// Builds the kernel of a Row region whose rows are a run of memory
/// (RowRun.cpp).
void scheduleRun(KernelBuilder &kb, const analysis::RowTiling &tiling);

/// Builds the kernel of a Row region of which outputs are turned (RowTurn.cpp).
void scheduleTurn(KernelBuilder &kb, const analysis::RowTiling &tiling);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_ROWSCHEDULE_H
