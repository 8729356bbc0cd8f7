//===- RegionStatistics.cpp - reductions of a contraction's rows ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The last step of analyzeRegion where reductions stand behind a contraction.
// A block of the skeleton has all rows of a tile, and other blocks have the
// other columns; so a reduction over all columns is a state a row and tile,
// which the last block of a row of tiles combines. What needs the result must
// then be one value a row, too: nobody comes back to the elements.
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
      int64_t size = hero.space.parallel[dim];
      bool isColumn = uses(columns) && !uses(1 - columns);
      bool isRow = uses(1 - columns) && !uses(columns);
      isColumnDim.push_back(isColumn);
      (isColumn ? n : isRow ? m : batch) *= double(size);
    }
  }
  /// Whether `expr` depends on a column.
  bool usesColumns(AffineExpr expr) const { return uses(expr, true); }
  bool usesColumns(AffineMap map) const {
    return llvm::any_of(map.getResults(),
                        [&](AffineExpr expr) { return usesColumns(expr); });
  }
  /// Whether `expr` depends on a row or batch.
  bool usesRows(AffineExpr expr) const { return uses(expr, false); }
  bool isColumn(unsigned dim) const { return isColumnDim[dim]; }

  double batch = 1, m = 1, n = 1;

private:
  bool uses(AffineExpr expr, bool column) const {
    for (auto [dim, isColumn] : llvm::enumerate(isColumnDim))
      if (isColumn == column && usesDimIn(expr, dim, dim + 1))
        return true;
    return false;
  }
  SmallVector<bool> isColumnDim;
};
} // namespace

/// Which operand has the loops that `stage` reduces, and no others; -1 if none
/// has.
static int columnsOf(const OpFacts &hero, const RegionStage &stage) {
  auto parallel = stage.result.getResults();
  auto reduced = stage.loops.getResults().drop_front(parallel.size());
  for (unsigned operand : {1u, 0u}) {
    RowsAndColumns sides(hero, operand);
    auto usesColumns = [&](AffineExpr e) { return sides.usesColumns(e); };
    auto usesRows = [&](AffineExpr e) { return sides.usesRows(e); };
    if (llvm::any_of(reduced, usesColumns) &&
        llvm::none_of(reduced, usesRows) &&
        llvm::none_of(parallel, usesColumns))
      return int(operand);
  }
  return -1;
}

bool RegionBuilder::checkStatistics() {
  Operation *first = form.statistics.front().op;
  auto refuseStatistic = [&](Operation *op) {
    return refuse({RefusalReason::ReductionBesideContraction, op});
  };
  Operation *hero = lead->op;
  if (lead->space.operands.size() != 2 || !lead->space.operands[0].map ||
      !lead->space.operands[1].map || !hasMainLoop(hero) ||
      llvm::any_of(spine, ShapedType::isDynamic))
    return refuseStatistic(first);
  int columns = columnsOf(*lead, form.statistics.front());
  size_t states = 0;
  for (const RegionStage &stage : form.statistics) {
    auto reduction = dyn_cast<graph::ReductionOpInterface>(stage.op);
    if (columns < 0 || columnsOf(*lead, stage) != columns || stage.level > 1 ||
        !reduction)
      return refuseStatistic(stage.op);
    states += reduction.getStateTypes().size();
  }
  RowsAndColumns sides(*lead, unsigned(columns));
  bool isForFewRows = sides.m <= kMostFewRows &&
                      sides.n * pointCount(form.reduced) >= kManyWeights;
  // The outermost loop's size may be left open in the text.
  if (states > kMostStates || isForFewRows || sides.m < kFewRows ||
      sides.n < kFewRows || sides.isColumn(0))
    return refuseStatistic(first);

  for (const OpFacts *fact : facts) {
    auto placement =
        fact ? form.placements.find(fact->op) : form.placements.end();
    if (placement == form.placements.end() || placement->second.level < 2)
      continue;
    for (AffineMap map : placement->second.reads)
      if (!map || sides.usesColumns(map))
        return refuseStatistic(first);
  }
  for (RegionOutput &output : form.outputs) {
    output.isStatistic = !sides.usesColumns(output.index);
    if (output.isStatistic)
      continue;
    // Threads have neighbouring columns, so these are to be neighbours in
    // memory.
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(output.value.getType()).getShape();
    bool isAlongColumns = false;
    for (unsigned dim = 0; dim < numParallel; ++dim)
      isAlongColumns |= sides.isColumn(dim) && spine[dim] > 1 &&
                        strideAlong(output.index, shape, dim) == 1;
    if (!isAlongColumns)
      return refuseStatistic(first);
  }
  return true;
}
