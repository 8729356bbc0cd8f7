//===- ColumnTiling.h - rows whose columns are summed, too ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axis assignment of a Row region with `columns` (RegionShape.h): blocks
// stay, take rows in turn and keep the columns' states in registers. Legality,
// cost model and generator get it from here.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_ANALYSIS_COLUMNTILING_H
#define FUSEC_ANALYSIS_COLUMNTILING_H

#include "fusec/Analysis/RowTiling.h"

namespace fusec::analysis {

/// The digits.
struct ColumnTiling {
  /// Rows of one step of a block, whole and along the row: neither split nor
  /// walked in chunks.
  RowTiling row;
  /// Blocks that run on a multiprocessor at the same time.
  int64_t resident = 1;
  /// Whether the next rows are loaded while these are worked on.
  bool loadsAhead = true;
  /// Groups of rows that have a place in shared memory, where copies run ahead
  /// of the work; 0: rows are loaded ahead to registers, if at all.
  int64_t stages = 0;
  /// Bytes of the states of one column.
  int64_t stateBytes = 0;

  /// The most blocks of a launch, for any number of rows.
  int64_t mostBlocks(const TargetInfo &target) const {
    return resident * int64_t(target.multiprocessors);
  }
  /// Blocks for `rows` rows: one at least, which has the results for no rows.
  int64_t blocks(int64_t rows, const TargetInfo &target) const {
    return std::clamp<int64_t>(row.blocks(rows), 1, mostBlocks(target));
  }
};

/// Chooses the digits; nothing if rows, or the columns' states beside them, do
/// not fit the registers of a block, or if memory is contiguous across rows.
std::optional<ColumnTiling> tileColumns(FactTable &facts,
                                        const RegionForm &form);

} // namespace fusec::analysis

#endif // FUSEC_ANALYSIS_COLUMNTILING_H
