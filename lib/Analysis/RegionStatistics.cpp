//===- RegionStatistics.cpp - reductions beside a contraction -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last step of analyzeRegion where reductions stand behind a contraction.
// A block of the skeleton has a tile of the result, and other blocks have the
// other tiles of its rows and of its columns; so a reduction over all columns,
// or over all rows, is a state a row, or column, and tile, which the last block
// of a row, or column, of tiles combines. What needs the result must then be
// one value a row, or column, too: nobody comes back to the elements.
//===----------------------------------------------------------------------===//
#include "RegionBuilder.h"
#include "fusec/Analysis/CostModel.h"
#include "fusec/Analysis/RowTiling.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

/// Fewer rows or columns than a tile of the skeleton needs.
static constexpr double kFewRows = 8;
/// Rows up to which the loop for few rows, whose warps have parts of k and not
/// rows, is worth more than the read that is saved, where there are as many
/// weights.
static constexpr double kMostFewRows = 64;
static constexpr double kManyWeights = 1 << 18;
/// State values of a row that a thread keeps beside its accumulators.
static constexpr size_t kMostStates = 4;

/// Whether the skeleton multiplies elements of these types whatever they are
/// computed from.
static bool hasMainLoop(Operation *hero) {
  auto elementOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType();
  };
  Type types[] = {elementOf(hero->getOperand(0)),
                  elementOf(hero->getOperand(1)),
                  elementOf(hero->getResult(0))};
  bool areFloats = llvm::all_of(
      types, [](Type type) { return isa<FloatType>(type) && !type.isF64(); });
  bool areBytes =
      types[0].isInteger(8) && types[1].isInteger(8) && types[2].isInteger(32);
  return areFloats || areBytes;
}

namespace {
/// The parallel dims of a contraction by the operand that they belong to.
class RowsAndColumns {
public:
  /// `columns`: the operand (0 or 1) whose own dims are columns.
  RowsAndColumns(const OpFacts &hero, unsigned columns) {
    for (unsigned dim = 0; dim < hero.numParallel(); ++dim) {
      auto uses = [&](unsigned operand) {
        AffineMap map = hero.space.operands[operand].map;
        return usesDimIn(map, dim, dim + 1);
      };
      bool ofColumns = uses(columns), ofRows = uses(1 - columns);
      sides.push_back(ofColumns == ofRows ? Batch : ofColumns ? Column : Row);
      (isColumn(dim)           ? n
       : sides.back() == Batch ? batch
                               : m) *= double(hero.space.parallel[dim]);
    }
  }
  bool usesColumns(AffineExpr expr) const { return uses(expr, Column); }
  bool usesRows(AffineExpr expr) const { return uses(expr, Row); }
  bool usesBatches(AffineExpr expr) const { return uses(expr, Batch); }
  bool usesColumns(AffineMap map) const { return uses(map, Column); }
  bool usesRows(AffineMap map) const { return uses(map, Row); }
  bool isColumn(unsigned dim) const { return sides[dim] == Column; }

  double batch = 1, m = 1, n = 1;

private:
  enum Side : uint8_t { Batch, Row, Column };
  bool uses(AffineExpr expr, Side side) const {
    for (auto [dim, own] : llvm::enumerate(sides))
      if (own == side && usesDimIn(expr, dim, dim + 1))
        return true;
    return false;
  }
  bool uses(AffineMap map, Side side) const {
    return llvm::any_of(map.getResults(),
                        [&](AffineExpr expr) { return uses(expr, side); });
  }
  SmallVector<Side> sides;
};
} // namespace

/// Which operand has the loops that `stage` reduces, and no others; -1 if none
/// has.
static int reducedBy(const OpFacts &hero, const RegionStage &stage) {
  auto parallel = stage.result.getResults();
  auto reduced = stage.loops.getResults().drop_front(parallel.size());
  for (unsigned operand : {1u, 0u}) {
    RowsAndColumns sides(hero, operand);
    auto usesColumns = [&](AffineExpr e) { return sides.usesColumns(e); };
    auto usesOthers = [&](AffineExpr e) {
      return sides.usesRows(e) || sides.usesBatches(e);
    };
    if (llvm::any_of(reduced, usesColumns) &&
        llvm::none_of(reduced, usesOthers) &&
        llvm::none_of(parallel, usesColumns))
      return int(operand);
  }
  return -1;
}

/// Whether neighbouring columns of `output` are neighbours in memory, as those
/// of threads are.
static bool isAlongColumns(const RegionOutput &output,
                           const RowsAndColumns &sides,
                           ArrayRef<int64_t> sizes) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(output.value.getType()).getShape();
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (sides.isColumn(dim) && size > 1 &&
        strideAlong(output.index, shape, dim) == 1)
      return true;
  return false;
}

bool RegionBuilder::checkStatistics() {
  Operation *first = form.statistics.front().op;
  auto refuseStatistic = [&](Operation *op) {
    return refuse({RefusalReason::ReductionBesideContraction, op});
  };
  if (lead->space.operands.size() != 2 || !lead->space.operands[0].map ||
      !lead->space.operands[1].map || !hasMainLoop(lead->op) ||
      llvm::any_of(spine, ShapedType::isDynamic))
    return refuseStatistic(first);
  for (const RegionStage &stage : form.statistics)
    if (reducedBy(*lead, stage) < 0 || stage.level > 1 ||
        !isa<graph::ReductionOpInterface>(stage.op))
      return refuseStatistic(stage.op);
  // Rows or columns of the result, whichever way it is stored. Without stored
  // elements the first reduction is one of rows, which takes fewer shuffles.
  int last = reducedBy(*lead, form.statistics.front());
  return placeStatistics(unsigned(last)) ||
         placeStatistics(unsigned(1 - last)) || refuseStatistic(first);
}

bool RegionBuilder::placeStatistics(unsigned columns) {
  RowsAndColumns sides(*lead, columns);
  bool hasRows = false, hasColumns = false;
  size_t states = 0;
  for (RegionStage &stage : form.statistics) {
    stage.isColumn = reducedBy(*lead, stage) != int(columns);
    (stage.isColumn ? hasColumns : hasRows) = true;
    states +=
        cast<graph::ReductionOpInterface>(stage.op).getStateTypes().size();
  }
  bool isForFewRows = sides.m <= kMostFewRows &&
                      sides.n * pointCount(form.reduced) >= kManyWeights;
  // The outermost loop's size may be left open in the text.
  if (states > kMostStates || isForFewRows || sides.m < kFewRows ||
      sides.n < kFewRows || sides.isColumn(0))
    return false;

  for (const OpFacts *fact : facts) {
    auto placement =
        fact ? form.placements.find(fact->op) : form.placements.end();
    if (placement == form.placements.end() || placement->second.level < 2)
      continue;
    for (AffineMap map : placement->second.reads)
      if (!map || (sides.usesColumns(map) && sides.usesRows(map)))
        return false;
  }
  ArrayRef<int64_t> sizes = ArrayRef<int64_t>(spine).take_front(numParallel);
  for (RegionOutput &output : form.outputs) {
    bool isRow = hasRows && !sides.usesColumns(output.index);
    output.isColumn = !isRow && hasColumns && !sides.usesRows(output.index);
    output.isStatistic = isRow || output.isColumn;
    if (!output.isStatistic && !isAlongColumns(output, sides, sizes))
      return false;
  }
  return true;
}
