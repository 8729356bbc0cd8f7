//===- LowerSelect.h - the greatest integers along an axis ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_TILETOSIMT_LOWERSELECT_H
#define FUSEC_LIB_CONVERSION_TILETOSIMT_LOWERSELECT_H

#include "ThreadCode.h"

namespace fusec::tile_to_simt {

/// Emits `op`; its results become register arrays. Fails with a diagnostic
/// where the lanes along its axis are not neighbouring bits of their number.
mlir::LogicalResult lowerSelect(tile::SelectOp op, ThreadCode &code);

} // namespace fusec::tile_to_simt

#endif // FUSEC_LIB_CONVERSION_TILETOSIMT_LOWERSELECT_H
