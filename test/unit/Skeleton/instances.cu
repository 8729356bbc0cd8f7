//===- instances.cu - the skeleton for sm_80 and sm_90a ---------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled, not run: the configurations that chooseGemmConfig returns must
// assemble without register spills for the oldest and the newest architecture.
// The build passes the prelude and the headers by -include.
//===----------------------------------------------------------------------===//
#include "conv_holes.cuh"
#include "statistic_holes.cuh"

#define INSTANCE(name, blocks, config, T, accessA, orderA, vectorA, accessB,   \
                 orderB, vectorB)                                              \
  FUSEC_KERNEL_MIN(name, config::kThreads, blocks)                             \
  (const T *pa, const T *pb, const f32 *bias, const f32 *scale, T *out,        \
   f32 *copy, i32 m, i32 n, i32 k, i32 batch, TestStrides sa,                  \
   TestStrides sb) {                                                           \
    using A = TestOperand<T, accessA, orderA, vectorA>;                        \
    using B = TestOperand<T, accessB, orderB, vectorB>;                        \
    TestHoles<T, A, B> holes{                                                  \
        {{pa, sa, m, k}, {pb, sb, n, k}}, bias, scale, out, copy, m, n};       \
    gemm<config>(holes, m, n, k, batch);                                       \
  }

using Wide = GemmConfig<GemmKind::F16, 128, 256, 64, 2, 4, 3, 8>;
using Square = GemmConfig<GemmKind::BF16, 128, 128, 64, 2, 2, 3, 8>;
using Medium = GemmConfig<GemmKind::F16, 64, 128, 64, 2, 2, 3, 8>;
using Small = GemmConfig<GemmKind::F16, 64, 64, 64, 2, 2, 3, 8>;
using Flat = GemmConfig<GemmKind::BF16, 32, 64, 32, 2, 2, 4, 8>;
using Gather = GemmConfig<GemmKind::F16, 128, 128, 32, 2, 4, 3, 8>;
using GatherSmall = GemmConfig<GemmKind::F16, 64, 64, 32, 2, 2, 4, 8>;
using Tf32 = GemmConfig<GemmKind::TF32, 128, 128, 32, 2, 2, 3, 8>;
using Tf32Gather = GemmConfig<GemmKind::TF32, 128, 128, 16, 2, 4, 4, 8>;
using Fma = GemmConfig<GemmKind::F32, 128, 128, 32, 4, 2, 3, 8>;
using FmaSmall = GemmConfig<GemmKind::F32, 64, 64, 16, 2, 1, 3, 8>;

INSTANCE(wide_kn, 1, Wide, f16, Async, AlongK, 8, Async, AlongOuter, 8)
INSTANCE(wide_nk, 1, Wide, f16, Async, AlongK, 8, Async, AlongK, 8)
INSTANCE(square_kn, 2, Square, bf16, Async, AlongK, 8, Async, AlongOuter, 8)
INSTANCE(square_mn, 2, Square, bf16, Async, AlongOuter, 8, Async, AlongOuter, 8)
INSTANCE(medium_kn, 3, Medium, f16, Async, AlongK, 8, Async, AlongOuter, 8)
INSTANCE(small_nk, 4, Small, f16, Async, AlongK, 8, Async, AlongK, 8)
INSTANCE(flat_kn, 6, Flat, bf16, Async, AlongK, 8, Async, AlongOuter, 8)
INSTANCE(gather_a, 2, Gather, f16, Computed, AlongK, 8, Async, AlongOuter, 8)
INSTANCE(gather_conv, 2, Gather, f16, Computed, AlongOuter, 1, Async, AlongK, 8)
INSTANCE(gather_small, 4, GatherSmall, f16, Computed, AlongK, 1, Computed,
         AlongOuter, 1)
INSTANCE(tf32_kn, 2, Tf32, f32, Async, AlongK, 4, Async, AlongOuter, 4)
INSTANCE(tf32_gather, 1, Tf32Gather, f32, Computed, AlongK, 1, Computed,
         AlongOuter, 1)
INSTANCE(fma_kn, 1, Fma, f32, Async, AlongK, 4, Async, AlongOuter, 4)
INSTANCE(fma_gather, 1, Fma, f32, Computed, AlongK, 1, Computed, AlongOuter, 1)
INSTANCE(fma_small_nk, 4, FmaSmall, f32, Async, AlongK, 4, Async, AlongK, 4)

#define SUMS(name, blocks, config, accessA, orderA, vectorA, accessB, orderB,  \
             vectorB)                                                          \
  FUSEC_KERNEL_MIN(name, config::kThreads, blocks)                             \
  (const i8 *pa, const i8 *pb, i32 *out, i32 m, i32 n, i32 k, i32 batch,       \
   TestStrides sa, TestStrides sb) {                                           \
    using A = TestOperand<i8, accessA, orderA, vectorA>;                       \
    using B = TestOperand<i8, accessB, orderB, vectorB>;                       \
    TestSums<A, B> holes{{{pa, sa, m, k}, {pb, sb, n, k}}, out, m, n};         \
    gemm<config>(holes, m, n, k, batch);                                       \
  }

using Bytes = GemmConfig<GemmKind::I8, 128, 128, 128, 2, 2, 3, 8>;
using BytesSmall = GemmConfig<GemmKind::U8, 64, 64, 64, 2, 2, 4, 8>;
using BytesGather = GemmConfig<GemmKind::U8I8, 128, 128, 64, 2, 4, 3, 8>;
using BytesGatherSmall = GemmConfig<GemmKind::I8U8, 64, 64, 64, 2, 2, 3, 8>;
SUMS(bytes_kk, 2, Bytes, Async, AlongK, 16, Async, AlongK, 16)
SUMS(bytes_small, 4, BytesSmall, Async, AlongK, 16, Async, AlongK, 16)
SUMS(bytes_turned, 1, BytesGather, Async, AlongK, 16, Computed, AlongOuter, 16)
SUMS(bytes_gather, 2, BytesGatherSmall, Computed, AlongK, 1, Computed,
     AlongOuter, 1)

STATISTICS(square_statistics, 2, Square, bf16, 8, AlongOuter)
STATISTICS(flat_statistics, 6, Flat, bf16, 8, AlongOuter)
STATISTICS(fma_statistics, 4, FmaSmall, f32, 4, AlongK)

#ifdef FUSEC_SM90
using GroupBytes = GemmWgmmaConfig<GemmKind::I8, 2, 256, 4, 8, 1, 2>;
TEST_SUMS_SM90(group_bytes, GroupBytes, Tensor, AlongK, 16, Tensor, AlongK, 16)
using GroupSingle = GemmWgmmaConfig<GemmKind::TF32, 2, 256, 4, 8, 1, 2>;
TEST_KERNEL_SM90(group_single, GroupSingle, f32, Tensor, AlongK, 4, Tensor,
                 AlongK, 4)
using GroupPromoted = GemmWgmmaConfig<GemmKind::E4M3, 2, 192, 5, 8, 1, 2, 1>;
using GroupParts = GemmWgmmaConfig<GemmKind::E5M2, 2, 256, 4, 8, 1, 1, 2>;
using GroupSmall = GemmWgmmaConfig<GemmKind::E4M3E5M2, 1, 64, 6, 8, 2, 1, 1>;
using GroupFast = GemmWgmmaConfig<GemmKind::E5M2E4M3, 2, 256, 4, 8, 1, 2>;
TEST_KERNEL_SM90(group_promoted, GroupPromoted, f8e4m3, Tensor, AlongK, 16,
                 Tensor, AlongK, 16)
TEST_KERNEL_SM90(group_parts, GroupParts, f8e4m3, Async, AlongK, 16, Tensor,
                 AlongK, 16)
TEST_KERNEL_SM90(group_small, GroupSmall, f8e4m3, Async, AlongK, 16, Async,
                 AlongK, 16)
TEST_KERNEL_SM90(group_fast, GroupFast, f8e4m3, Tensor, AlongK, 16, Tensor,
                 AlongK, 16)
using GroupSplit = GemmSplitConfig<GemmKind::F16, 2, 128, 7, 8, 1, 2>;
using GroupSplitWide = GemmSplitConfig<GemmKind::F16, 2, 256, 4, 8, 2, 4>;
using GroupSplitTall = GemmSplitConfig<GemmKind::BF16, 1, 256, 5, 8, 1, 2>;
TEST_KERNEL_SM90(group_split_tall, GroupSplitTall, bf16, Tensor, AlongK, 8,
                 Tensor, AlongOuter, 2)
TEST_KERNEL_SM90(group_split, GroupSplit, f16, Tensor, AlongK, 8, Tensor,
                 AlongOuter, 8)
TEST_KERNEL_SM90(group_split_wide, GroupSplitWide, f16, Tensor, AlongK, 8,
                 Tensor, AlongK, 8)
using GroupPair = GemmPairConfig<GemmKind::BF16, 2, 128, 4, 8, 1, 2>;
using GroupPairSmall = GemmPairConfig<GemmKind::F16, 1, 64, 4, 8, 2, 1>;
TEST_KERNEL_PAIR(group_pair, GroupPair, bf16, Tensor, AlongK, 8, Tensor,
                 AlongOuter, 4)
TEST_KERNEL_PAIR(group_pair_small, GroupPairSmall, f16, Tensor, AlongK, 8,
                 Tensor, AlongK, 8)
using GroupWide = GemmWgmmaConfig<GemmKind::F16, 2, 256, 4, 8, 1, 2>;
using GroupSquare = GemmWgmmaConfig<GemmKind::BF16, 2, 128, 6, 8, 1, 1>;
using GroupFlat = GemmWgmmaConfig<GemmKind::BF16, 1, 128, 4, 8, 2, 1>;
TEST_KERNEL_SM90(group_wide, GroupWide, f16, Tensor, AlongK, 8, Tensor,
                 AlongOuter, 8)
TEST_KERNEL_SM90(group_square, GroupSquare, bf16, Async, AlongK, 8, Tensor,
                 AlongK, 8)
TEST_KERNEL_SM90(group_flat, GroupFlat, bf16, Async, AlongOuter, 8, Async,
                 AlongOuter, 8)
STATISTICS_SM90(group_wide_statistics, GroupWide, f16, 8, Tensor, AlongK)
STATISTICS_SM90(group_square_statistics, GroupSquare, bf16, 8, Async,
                AlongOuter)
STATISTICS_SM90(group_split_statistics, GroupSplitWide, f16, 8, Tensor, AlongK)
STATISTICS_SM90(group_parts_statistics, GroupParts, f8e4m3, 16, Tensor, AlongK)
#endif
