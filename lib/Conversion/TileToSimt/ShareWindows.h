//===- ShareWindows.h - one read for neighbouring window rows ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_TILETOSIMT_SHAREWINDOWS_H
#define FUSEC_LIB_CONVERSION_TILETOSIMT_SHAREWINDOWS_H

#include "ThreadCode.h"

namespace fusec::tile_to_simt {

/// Makes the window arrays of the loads in `loop` at the insertion point, which
/// is before the lowered loop; the caller sets their `iteration`. Returns the
/// loads.
llvm::SmallVector<tile::LoadOp> shareWindows(mlir::scf::ForOp loop,
                                             ThreadCode &code);

} // namespace fusec::tile_to_simt

#endif // FUSEC_LIB_CONVERSION_TILETOSIMT_SHAREWINDOWS_H
