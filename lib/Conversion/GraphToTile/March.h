//===- March.h - windows along a marching row -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_MARCH_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_MARCH_H

#include "KernelBuilder.h"
#include "fusec/Analysis/StencilMarch.h"

namespace fusec::graph_to_tile {

/// The kernel of a stencil region that marches as `march` says.
mlir::FailureOr<tile::KernelOp> scheduleMarch(KernelBuilder &kb,
                                              const analysis::MarchForm &march);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_MARCH_H
