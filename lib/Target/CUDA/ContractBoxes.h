//===- ContractBoxes.h - operands that the copy engine brings ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_CUDA_CONTRACTBOXES_H
#define FUSEC_LIB_TARGET_CUDA_CONTRACTBOXES_H

#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Target/CUDA/GemmConfig.h"

#include <optional>

namespace fusec::cuda {

/// The matrix of A or B of `op` if its boxes come by tensor map: the Warpgroup
/// loop, and strides that the copy engine can do.
std::optional<GemmMatrix> boxedMatrix(simt::ContractOp op, bool isLhs);

/// Rows of A's boxes where the problem has fewer than a tile, else 0.
int64_t shortRows(simt::ContractOp op);

/// Where the rows of B's boxes come in the order of accumulators (`Blocks` of
/// GemmBox): blocks of 32 rows that a batch has, or 0 where there is one.
std::optional<int64_t> rowBlocks(simt::ContractOp op);

/// The results of `op`, row by row, if they go out by boxes (gemm_boxes.cuh):
/// the Warpgroup loop, one result of 16 bits for each row and column that would
/// else turn in shared memory, and room for boxes there. `outer` are the rows,
/// `k` the columns.
std::optional<GemmMatrix> storedMatrix(simt::ContractOp op);

/// Names of the kernel parameters that are the tensor maps of A, B, the B of a
/// second product, and the results.
inline constexpr const char *kMapNames[] = {"mapA", "mapB", "mapB2", "mapC"};

} // namespace fusec::cuda

#endif // FUSEC_LIB_TARGET_CUDA_CONTRACTBOXES_H
