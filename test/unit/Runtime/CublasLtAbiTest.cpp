//===- CublasLtAbiTest.cpp - own declarations against NVIDIA's ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Built where the headers of cuBLAS are installed.
//===----------------------------------------------------------------------===//
#include "CublasLtLibrary.h"
#include "SameShape.h"

#include <cublasLt.h>
#include <gtest/gtest.h>

#include <cstddef>

using namespace fusec::runtime::cublas;

static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(Heuristic, workspaceBytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(Heuristic, state) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));

static_assert(kF32 == CUDA_R_32F && kF16 == CUDA_R_16F && kBF16 == CUDA_R_16BF);
static_assert(kI8 == CUDA_R_8I && kI32 == CUDA_R_32I);
static_assert(kE4M3 == CUDA_R_8F_E4M3 && kE5M2 == CUDA_R_8F_E5M2);
static_assert(kCompute32F == CUBLAS_COMPUTE_32F &&
              kCompute32FPedantic == CUBLAS_COMPUTE_32F_PEDANTIC &&
              kCompute32I == CUBLAS_COMPUTE_32I &&
              kComputeTf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(kPlain == CUBLAS_OP_N && kTransposed == CUBLAS_OP_T);
static_assert(kDescTransA == CUBLASLT_MATMUL_DESC_TRANSA &&
              kDescTransB == CUBLASLT_MATMUL_DESC_TRANSB &&
              kDescEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE &&
              kDescBias == CUBLASLT_MATMUL_DESC_BIAS_POINTER &&
              kDescFastAccum == CUBLASLT_MATMUL_DESC_FAST_ACCUM);
static_assert(kEpilogueNone == CUBLASLT_EPILOGUE_DEFAULT &&
              kEpilogueRelu == CUBLASLT_EPILOGUE_RELU &&
              kEpilogueBias == CUBLASLT_EPILOGUE_BIAS &&
              (kEpilogueRelu | kEpilogueBias) == CUBLASLT_EPILOGUE_RELU_BIAS);
static_assert(kLayoutBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT &&
              kLayoutBatchOffset ==
                  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(kPreferMaxWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
              kPreferReductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
              kPreferAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              kPreferAlignmentB == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES &&
              kPreferAlignmentC == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES &&
              kPreferAlignmentD == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(kReductionNone == CUBLASLT_REDUCTION_SCHEME_NONE &&
              kReductionInWorkspace == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
static_assert(kConfigId == CUBLASLT_ALGO_CONFIG_ID &&
              kConfigTile == CUBLASLT_ALGO_CONFIG_TILE_ID &&
              kConfigSplit == CUBLASLT_ALGO_CONFIG_SPLITK_NUM &&
              kConfigReduction == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME &&
              kConfigSwizzle == CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING &&
              kConfigCustom == CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION &&
              kConfigStages == CUBLASLT_ALGO_CONFIG_STAGES_ID &&
              kConfigInner == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID &&
              kConfigCluster == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);

#define FUSEC_SAME(MEMBER, FUNCTION)                                           \
  static_assert(fusec::runtime::SameShape<decltype(Library::MEMBER),           \
                                          decltype(&FUNCTION)>::value)

TEST(CublasLtAbi, FunctionsTakeWhatTheHeaderSays) {
  FUSEC_SAME(getVersion, cublasLtGetVersion);
  FUSEC_SAME(statusString, cublasLtGetStatusString);
  FUSEC_SAME(create, cublasLtCreate);
  FUSEC_SAME(destroy, cublasLtDestroy);
  FUSEC_SAME(matmul, cublasLtMatmul);
  FUSEC_SAME(operationCreate, cublasLtMatmulDescCreate);
  FUSEC_SAME(operationDestroy, cublasLtMatmulDescDestroy);
  FUSEC_SAME(operationSet, cublasLtMatmulDescSetAttribute);
  FUSEC_SAME(layoutCreate, cublasLtMatrixLayoutCreate);
  FUSEC_SAME(layoutDestroy, cublasLtMatrixLayoutDestroy);
  FUSEC_SAME(layoutSet, cublasLtMatrixLayoutSetAttribute);
  FUSEC_SAME(preferenceCreate, cublasLtMatmulPreferenceCreate);
  FUSEC_SAME(preferenceDestroy, cublasLtMatmulPreferenceDestroy);
  FUSEC_SAME(preferenceSet, cublasLtMatmulPreferenceSetAttribute);
  FUSEC_SAME(heuristic, cublasLtMatmulAlgoGetHeuristic);
  FUSEC_SAME(algorithmCheck, cublasLtMatmulAlgoCheck);
  FUSEC_SAME(algorithmGet, cublasLtMatmulAlgoConfigGetAttribute);
}
