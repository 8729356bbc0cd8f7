//===- RowMeeting.h - blocks that share rows and meet -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_ANALYSIS_ROWMEETING_H
#define FUSEC_LIB_ANALYSIS_ROWMEETING_H

#include "fusec/Analysis/RowTiling.h"

namespace fusec::analysis {

/// Rows that are read once for their reductions and once for their elements.
struct SharedRows {
  /// Lanes and vectors run across rows (inner columns included).
  bool across;
  /// The widest vector along the contiguous axis.
  int64_t vector;
  /// As in RowMeeting.
  int64_t batches, rowsOfBatch, inner, columns;
  unsigned outerRows, innerColumns;
  /// Of inputs, at each element.
  int64_t bytes;
  /// Values and bytes of the states that all reductions make of a row together.
  int64_t states, stateBytes;
};

/// The digits of blocks that share rows and meet: at most as many as run at the
/// same time, one on a multiprocessor. Where batches alone are more, each has a
/// block of its own and none waits (`splits` is 1). Nothing where a block
/// cannot hold a run of inner columns.
std::optional<RowTiling> meetRows(const SharedRows &rows,
                                  const TargetInfo &target);

/// Sets how a tensor of `shape` that the spine of `form` reads at `map` lies in
/// memory: AccessFacts::outerRows and innerColumns, 0 if rows and columns are
/// mixed in another way.
void setOrder(AccessFacts &facts, const RegionForm &form, mlir::AffineMap map,
              llvm::ArrayRef<int64_t> shape);

} // namespace fusec::analysis

#endif // FUSEC_LIB_ANALYSIS_ROWMEETING_H
