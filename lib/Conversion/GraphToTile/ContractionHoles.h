//===- ContractionHoles.h - the holes of a contraction ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the regions of a tile.contract from the ops around the hero. An
// operand hole is tried in both memory orders with 16-byte groups; what the
// address arithmetic turns out to be decides between an asynchronous copy and
// elements, and how many of them a call makes.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_CONTRACTIONHOLES_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_CONTRACTIONHOLES_H

#include "ContractionShape.h"
#include "fusec/Dialect/Common/StatisticHoles.h"

namespace fusec::graph_to_tile {

class HoleBuilder {
public:
  /// `m` and `n` are the numbers of rows and columns.
  HoleBuilder(KernelBuilder &kb, const ContractionShape &shape,
              mlir::Type element, mlir::Value m, mlir::Value n)
      : kb(kb), shape(shape), element(element), m(m), n(n) {}

  /// Builds the hole of A or B of `op` and sets its attributes and base. With
  /// `alongK` it is not built along the outer dimension.
  void buildOperand(tile::ContractOp op, bool isLhs, bool alongK = false);
  /// Sets the base of the second product's B, whose matrix is that of B.
  void buildPair(tile::ContractOp op);
  /// `columns` of a row at once: 8, 4 or 2.
  void buildEpilogue(tile::ContractOp op, int64_t columns);
  /// The holes that deal with states of rows and columns
  /// (ContractionStatistics.cpp).
  void buildStatistics(tile::ContractOp op);
  /// State values of the region's statistics of columns, or of rows.
  static llvm::SmallVector<mlir::Type>
  stateTypes(const analysis::RegionForm &form, bool areColumns);

  /// How B's hole reads in pieces of `span` elements along k.
  struct Stream {
    int64_t span = 0;
    /// Reads of a piece that are one copy of 4 to 16 bytes.
    int64_t staged = 0;
    /// Bytes of memory for an element.
    double bytes = 0;
  };
  /// The widest pieces of at most `most` elements of 16 bits that B is read
  /// in by accesses that do not depend on each other; nothing if there are
  /// none. Leaves the hole as it was.
  std::optional<Stream> findStream(tile::ContractOp op, int64_t most);
  /// Builds B's hole anew, for calls of `span` elements: it yields them as f32,
  /// for the skeleton to round, and finite numbers past the end of k.
  void buildStream(tile::ContractOp op, int64_t span);

private:
  /// What a trial hole showed.
  struct Trial {
    /// Elements that one access covers, and consecutive ones if it were
    /// aligned.
    int64_t width = 1, run = 1;
    /// The elements are those of a buffer, unchanged.
    bool isCopy = false;
  };
  enum class Yield { Elements, Source, Wide };

  Trial tryOperand(tile::ContractOp op, bool isLhs, bool isOuter);
  /// How the hole of B, filled for calls of `span`, is read, if as findStream
  /// says.
  std::optional<Stream> streamOf(tile::ContractOp op, int64_t span);
  /// Fills the hole; returns the load if it is a plain copy.
  tile::LoadOp fillOperand(tile::ContractOp op, bool isLhs, Yield yield);
  /// The hero's operand at spine index `spine`, as the hero reads it.
  mlir::Value heroOperand(RegionEmitter &emitter, unsigned operand,
                          mlir::ValueRange spine);
  /// Index tiles of the spine for linear tiles of loops; others are 0.
  llvm::SmallVector<mlir::Value> spineIndex(
      RegionEmitter &emitter,
      llvm::ArrayRef<std::pair<llvm::ArrayRef<unsigned>, mlir::Value>> linear);
  /// The hole that stores what is one value a row or column.
  void buildFinish(mlir::Region &hole, bool areColumns);
  /// The states of what an epilogue has at `spine`: of rows, joined where
  /// `mask` holds, one element each, then of columns.
  llvm::SmallVector<mlir::Value> liftStatistics(RegionEmitter &emitter,
                                                mlir::ValueRange spine,
                                                mlir::Value mask);
  mlir::Value narrow(graph::ElementBuilder &eb, mlir::Value value);
  mlir::Value finish(graph::ElementBuilder &eb,
                     graph::ReductionOpInterface hero, mlir::Value sum);
  mlir::Value splat(mlir::RankedTensorType carrier, mlir::Value scalar);
  mlir::RankedTensorType registers(int64_t count);

  KernelBuilder &kb;
  const ContractionShape &shape;
  mlir::Type element;
  mlir::Value m, n;
};

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_CONTRACTIONHOLES_H
