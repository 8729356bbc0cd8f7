//===- ContractionMatrix.h - operands that are matrices ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy engine moves boxes of strided tensors. Whether an operand is one is
// read from the address arithmetic of its hole, whatever ops it came from.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_CONVERSION_GRAPHTOTILE_CONTRACTIONMATRIX_H
#define FUSEC_LIB_CONVERSION_GRAPHTOTILE_CONTRACTIONMATRIX_H

#include "ContractionShape.h"
#include "fusec/Target/CUDA/GemmConfig.h"

namespace fusec::graph_to_tile {

/// The matrix that the hole of A or B of `op` copies; the hole yields offsets
/// and validity. Nothing if offsets are not linear in the coordinates, start
/// elsewhere than at the base, or if more is masked than what is past the
/// extents.
std::optional<cuda::GemmMatrix>
contractionMatrix(tile::ContractOp op, bool isLhs,
                  const ContractionShape &shape);

} // namespace fusec::graph_to_tile

#endif // FUSEC_LIB_CONVERSION_GRAPHTOTILE_CONTRACTIONMATRIX_H
