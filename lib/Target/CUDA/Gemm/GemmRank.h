//===- GemmRank.h - lists of configurations ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_TARGET_CUDA_GEMM_GEMMRANK_H
#define FUSEC_LIB_TARGET_CUDA_GEMM_GEMMRANK_H

#include "fusec/Target/CUDA/GemmConfig.h"

namespace fusec::cuda {

/// By estimate; equal ones stay in the order in which they were found.
std::vector<GemmRanked> inOrder(std::vector<GemmRanked> ranked);

} // namespace fusec::cuda

#endif // FUSEC_LIB_TARGET_CUDA_GEMM_GEMMRANK_H
