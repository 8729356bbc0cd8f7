//===- statistic_holes.cuh - holes that reduce rows and columns -*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_STATISTIC_HOLES_CUH
#define FUSEC_STATISTIC_HOLES_CUH

#include "test_holes.cuh"

/// Reductions of rows and columns as emitted kernels have them: squares of each
/// row, sums and maxima of each column, of results that are stored.
template <class T, class A, class B>
struct TestStatistics : TestOperands<T, A, B> {
  T *out;                     // [batch, m, n]
  f32 *squares, *sums, *most; // [batch, m], [batch, n] twice
  f32 *rowParts, *sumParts, *mostParts;
  u32 *rowTickets, *columnTickets;
  i32 m, n;

  struct Row {
    f32 s0;
  };
  FUSEC_METHOD Row none(Row) const { return {0.0f}; }
  FUSEC_METHOD Row join(const Row &x, const Row &y) const {
    return {x.s0 + y.s0};
  }
  FUSEC_METHOD Row exchange(const Row &x, i32 by) const {
    return {shfl_xor(x.s0, by)};
  }
  FUSEC_METHOD void keep(i64 at, const Row &x) const {
    st1(rowParts, at, x.s0);
  }
  FUSEC_METHOD Row kept(i64 at, Row) const { return {ld1(rowParts, at)}; }
  FUSEC_METHOD i32 draw(i32 at, i32 count, Row) const {
    return (i32)ticket(rowTickets, at, (u32)count);
  }
  FUSEC_METHOD void finish(i32 b, i32 at, const Row &x) const {
    st1(squares, i64(b) * m + at, x.s0);
  }

  struct Column {
    f32 s0, s1;
  };
  FUSEC_METHOD Column none(Column) const { return {0.0f, 0.0f}; }
  FUSEC_METHOD Column join(const Column &x, const Column &y) const {
    return {x.s0 + y.s0, x.s1 > y.s1 ? x.s1 : y.s1};
  }
  FUSEC_METHOD Column exchange(const Column &x, i32 by) const {
    return {shfl_xor(x.s0, by), shfl_xor(x.s1, by)};
  }
  FUSEC_METHOD void keep(i64 at, const Column &x) const {
    st1(sumParts, at, x.s0);
    st1(mostParts, at, x.s1);
  }
  FUSEC_METHOD Column kept(i64 at, Column) const {
    return {ld1(sumParts, at), ld1(mostParts, at)};
  }
  FUSEC_METHOD i32 draw(i32 at, i32 count, Column) const {
    return (i32)ticket(columnTickets, at, (u32)count);
  }
  FUSEC_METHOD void finish(i32 b, i32 at, const Column &x) const {
    st1(sums, i64(b) * n + at, x.s0);
    st1(most, i64(b) * n + at, x.s1);
  }

  template <i32 Columns>
  FUSEC_METHOD Row epilogue(i32 batch, i32 row, i32 column,
                            const f32 (&v)[Columns], i32 valid,
                            Column (&columns)[Columns]) const {
    i64 at = (i64(batch) * m + row) * n + column;
    Row state = {0.0f};
    FUSEC_UNROLL
    for (i32 i = 0; i < Columns; ++i) {
      f32 x = i < valid ? v[i] : 0.0f;
      state.s0 += x * x;
      columns[i] = {x, x < 0.0f ? -x : x};
      stm1(out, at + i, from_f32<T>(v[i]), i < valid);
    }
    return state;
  }
};

#define STATISTIC_PARAMETERS(T)                                                \
  const T *pa, const T *pb, T *out, f32 *squares, f32 *sums, f32 *most,        \
      f32 *rowParts, f32 *sumParts, f32 *mostParts, u32 *rowTickets,           \
      u32 *columnTickets, i32 m, i32 n, i32 k, i32 batch, TestStrides sa,      \
      TestStrides sb
#define STATISTIC_HOLES(T)                                                     \
  TestStatistics<T, A, B> holes {                                              \
    {{pa, sa, m, k}, {pb, sb, n, k}}, out, squares, sums, most, rowParts,      \
        sumParts, mostParts, rowTickets, columnTickets, m, n                   \
  }

/// Defines a kernel with both operands copied, A along k.
#define STATISTICS(name, blocks, config, T, vector, orderB)                    \
  FUSEC_KERNEL_MIN(name, config::kThreads, blocks)(STATISTIC_PARAMETERS(T)) {  \
    using A = TestOperand<T, Async, AlongK, vector>;                           \
    using B = TestOperand<T, Async, orderB, vector>;                           \
    STATISTIC_HOLES(T);                                                        \
    gemm<config>(holes, m, n, k, batch);                                       \
  }

/// The same on warpgroups.
#define STATISTICS_SM90(name, config, T, vector, access, orderB)               \
  FUSEC_KERNEL_CLUSTER(name, config::kThreads, config::kBlocks,                \
                       config::kCluster)                                       \
  (STATISTIC_PARAMETERS(T), FUSEC_TENSOR_MAP(mapA), FUSEC_TENSOR_MAP(mapB)) {  \
    using A = TestOperand<T, access, AlongK, vector>;                          \
    using B = TestOperand<T, access, orderB, vector>;                          \
    STATISTIC_HOLES(T);                                                        \
    gemm_wgmma<config>(holes, mapA, mapB, m, n, k, batch);                     \
  }

#endif // FUSEC_STATISTIC_HOLES_CUH
