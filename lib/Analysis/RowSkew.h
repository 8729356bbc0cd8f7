//===- RowSkew.h - across rows that start anywhere in a vector --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_ANALYSIS_ROWSKEW_H
#define FUSEC_LIB_ANALYSIS_ROWSKEW_H

#include "fusec/Analysis/RowTiling.h"

namespace fusec::analysis {

/// `split`, a tiling across rows in vectors, which columns do not start at,
/// such that each thread takes the vectors of its columns. Nothing where the
/// columns of a thread start at different places of a vector, where something
/// is stored for each element, or where something is read that is one value a
/// row.
std::optional<RowTiling> skewRows(const RegionForm &form,
                                  const AccessFacts &access, RowTiling split);

} // namespace fusec::analysis

#endif // FUSEC_LIB_ANALYSIS_ROWSKEW_H
