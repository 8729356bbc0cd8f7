//===- LowerReduce.h - reductions over register, lane and warp --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_TILETOSIMT_LOWERREDUCE_H
#define FUSEC_LIB_CONVERSION_TILETOSIMT_LOWERREDUCE_H

#include "ThreadCode.h"

namespace fusec::tile_to_simt {

/// Emits `op` and makes its results arrays of `code`. Fails with a diagnostic
/// where the blocks of a cluster would not all come to it once.
mlir::LogicalResult lowerReduce(tile::ReduceOp op, ThreadCode &code);

} // namespace fusec::tile_to_simt

#endif // FUSEC_LIB_CONVERSION_TILETOSIMT_LOWERREDUCE_H
