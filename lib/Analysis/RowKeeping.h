//===- RowKeeping.h - rows that clusters keep -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_ANALYSIS_ROWKEEPING_H
#define FUSEC_LIB_ANALYSIS_ROWKEEPING_H

#include "fusec/Analysis/RowTiling.h"

namespace fusec::analysis {

/// Rows that several passes read.
struct LongRows {
  /// Memory is contiguous across rows.
  bool across;
  /// The widest vector along the contiguous axis.
  int64_t vector;
  int64_t rows, columns;
  /// Of inputs, at each element.
  int64_t bytes;
  /// Bytes of each state that a reduction makes of a row.
  llvm::ArrayRef<int64_t> states;
};

/// The digits of rows that are read once: a block, or a cluster of 2 to 16,
/// keeps its part in shared memory (in registers where one iteration takes it
/// all). Nothing where the target has no clusters or the rows are too long for
/// what the exchanges of the reductions leave of that memory.
std::optional<RowTiling> keepRows(const LongRows &rows,
                                  const TargetInfo &target);

} // namespace fusec::analysis

#endif // FUSEC_LIB_ANALYSIS_ROWKEEPING_H
