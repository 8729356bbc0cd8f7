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
  void buildEpilogue(tile::ContractOp op);

private:
  /// What a trial hole showed.
  struct Trial {
    /// Elements that one access covers, and consecutive ones if it were
    /// aligned.
    int64_t width = 1, run = 1;
    /// The elements are those of a buffer, unchanged.
    bool isCopy = false;
  };
  enum class Yield { Elements, Source };

  Trial tryOperand(tile::ContractOp op, bool isLhs, bool isOuter);
  /// Fills the hole; returns the load if it is a plain copy.
  tile::LoadOp fillOperand(tile::ContractOp op, bool isLhs, Yield yield);
  /// The hero's operand at spine index `spine`, as the hero reads it.
  mlir::Value heroOperand(RegionEmitter &emitter, unsigned operand,
                          mlir::ValueRange spine);
  /// Index tiles of the spine for linear tiles of loops; others are 0.
  llvm::SmallVector<mlir::Value> spineIndex(
      RegionEmitter &emitter,
      llvm::ArrayRef<std::pair<llvm::ArrayRef<unsigned>, mlir::Value>> linear);
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
