//===- RowPasses.h - levels of what rows are for ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_ANALYSIS_ROWPASSES_H
#define FUSEC_LIB_ANALYSIS_ROWPASSES_H

#include "fusec/Analysis/RegionShape.h"

namespace fusec::analysis {

/// The level of what makes `output`, if that is stored for each element; else
/// 0.
unsigned levelOf(const RegionForm &form, const RegionOutput &output);

} // namespace fusec::analysis

#endif // FUSEC_LIB_ANALYSIS_ROWPASSES_H
