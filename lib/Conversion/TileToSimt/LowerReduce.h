//===- LowerReduce.h - reductions over register, lane and warp --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_TILETOSIMT_LOWERREDUCE_H
#define FUSEC_LIB_CONVERSION_TILETOSIMT_LOWERREDUCE_H

#include "ThreadCode.h"

namespace fusec::tile_to_simt {

/// Emits `op` and makes its results arrays of `code`.
void lowerReduce(tile::ReduceOp op, ThreadCode &code);

} // namespace fusec::tile_to_simt

#endif // FUSEC_LIB_CONVERSION_TILETOSIMT_LOWERREDUCE_H
