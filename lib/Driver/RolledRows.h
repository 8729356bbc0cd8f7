//===- RolledRows.h - rows whose columns may come in any order --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_DRIVER_ROLLEDROWS_H
#define FUSEC_LIB_DRIVER_ROLLEDROWS_H

#include "fusec/Analysis/RegionShape.h"
#include "fusec/Target/CUDA/CudaEmitter.h"

namespace fusec::driver {

/// Whether a rolled kernel may have rows of so many columns, whose vectors are
/// `unit` elements: at least eight vectors, as one of each row has two pieces.
bool canRoll(int64_t columns, int64_t unit);

/// The buffers of `fusion`, inputs and then results, that a kernel of it may
/// take as rows (device/rolled.cuh): permuting the columns of all of them in
/// one way permutes those of the results, up to the order of sums. The rows are
/// the longest for which that holds. `columns` is 0 where they cannot be
/// rolled.
cuda::RowBuffers findRolledRows(analysis::FactTable &facts,
                                graph::FusionOp fusion,
                                const analysis::RegionForm &form);

} // namespace fusec::driver

#endif // FUSEC_LIB_DRIVER_ROLLEDROWS_H
