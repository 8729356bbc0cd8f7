//===- RowTurn.h - rows whose outputs lie across them -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_ANALYSIS_ROWTURN_H
#define FUSEC_LIB_ANALYSIS_ROWTURN_H

#include "fusec/Analysis/RowTiling.h"

namespace fusec::analysis {

/// `whole`, a tiling in which a block holds whole rows along columns, with as
/// many rows as make lines of memory of the outputs that are contiguous along
/// a parallel dim. Nothing where no output is, or where the tile of such
/// outputs does not fit a block's registers and shared memory.
std::optional<RowTiling> turnRows(const RegionForm &form,
                                  const AccessFacts &access, RowTiling whole,
                                  const TargetInfo &target);

} // namespace fusec::analysis

#endif // FUSEC_LIB_ANALYSIS_ROWTURN_H
