//===- gemm_entry.cuh - entry of the contraction skeleton -------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the main loop for the configuration's element kind.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_GEMM_ENTRY_CUH
#define FUSEC_GEMM_ENTRY_CUH

/// One CTA of the contraction; see gemm_mma for launch and meaning.
template <class Config, class Holes>
FUSEC_DEVICE void gemm(const Holes &holes, i32 m, i32 n, i32 k, i32 batch) {
  if constexpr (Config::kKind == GemmKind::F32)
    gemm_fma<Config>(holes, m, n, k, batch);
  else
    gemm_mma<Config>(holes, m, n, k, batch);
}

#endif // FUSEC_GEMM_ENTRY_CUH
