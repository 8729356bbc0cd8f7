//===- RowRun.h - short rows of odd length ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_ANALYSIS_ROWRUN_H
#define FUSEC_LIB_ANALYSIS_ROWRUN_H

#include "fusec/Analysis/RowTiling.h"

namespace fusec::analysis {

/// `whole`, a tiling in which a block holds whole rows in single elements, with
/// so many rows that they are one run of whole vectors in memory, which goes
/// through shared memory, of which threads take words. Nothing where such a run
/// does not fit the registers and shared memory of a block, where rows do not
/// follow each other, or where such blocks would not fill the machine.
std::optional<RowTiling> runRows(const RegionForm &form,
                                 const AccessFacts &access, RowTiling whole,
                                 const TargetInfo &target);

} // namespace fusec::analysis

#endif // FUSEC_LIB_ANALYSIS_ROWRUN_H
