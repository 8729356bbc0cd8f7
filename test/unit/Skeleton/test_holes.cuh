//===- test_holes.cuh - one hole struct for every case ----------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strided operands of every access kind, order and vector width, with an
// epilogue of column bias and erf GELU into one output and a row-scaled f32
// copy into a second one. Used by the emulator tests and by the compile check
// for sm_80 and sm_90a.
//===----------------------------------------------------------------------===//

template <class T>
FUSEC_DEVICE T testZero() {
  if constexpr (sizeof(T) == 1)
    return 0;
  else
    return from_f32<T>(0.0f);
}

/// Element strides of one operand: batch, outer (m or n), k.
struct TestStrides {
  i32 batch, outer, k;
};

/// A row of an operand: its first element's offset, negative outside.
struct TestRow {
  i32 offset;
  i32 outer;
};

/// `Vector` elements a call for Computed operands; Async ones ignore it. Tensor
/// ones of more than 16 come in blocks of 32 rows, Vector - 17 a batch.
template <class T, GemmAccess Access, GemmOrder Order, i32 Vector>
struct TestOperand {
  static constexpr GemmAccess kAccess = Access;
  static constexpr GemmOrder kOrder = Order;
  static constexpr i32 kVector = Vector;
  static constexpr i32 kBlocks =
      Access == GemmAccess::Tensor && Vector > 16 ? Vector - 17 : -1;
  const T *p;
  TestStrides strides;
  i32 outer, k;

  FUSEC_METHOD TestRow prepare(i32 b, i32 o) const {
    return {o < outer ? b * strides.batch + o * strides.outer : -1, o};
  }
  FUSEC_METHOD GemmSource source(const TestRow &row, i32 kk) const {
    return {i64(row.offset) + kk * strides.k, row.offset >= 0 && kk < k};
  }
  template <i32 V>
  FUSEC_METHOD void values(const TestRow &row, i32 kk, T (&v)[V]) const {
    FUSEC_UNROLL
    for (i32 i = 0; i < V; ++i) {
      i32 ki = Order == GemmOrder::KContiguous ? kk + i : kk;
      i32 oi = Order == GemmOrder::KContiguous ? 0 : i;
      v[i] = ldm1(p, row.offset + oi * strides.outer + ki * strides.k,
                  row.offset >= 0 && row.outer + oi < outer && ki < k,
                  testZero<T>());
    }
  }
};

/// The operand holes.
template <class T, class A, class B>
struct TestOperands {
  static constexpr GemmAccess kAccessA = A::kAccess;
  static constexpr GemmAccess kAccessB = B::kAccess;
  static constexpr GemmOrder kOrderA = A::kOrder;
  static constexpr GemmOrder kOrderB = B::kOrder;
  static constexpr i32 kVectorA = A::kVector;
  static constexpr i32 kVectorB = B::kVector;
  using RowA = TestRow;
  using RowB = TestRow;
#ifdef FUSEC_SM90
  static constexpr bool kPrefetches = false;
  static constexpr bool kMasks = false;
  static constexpr i32 kReadBytes = 0;
  /// Tensor ones of B of Vector 2 and 4: what the epilogue takes.
  static constexpr i32 kColumns =
      B::kAccess == GemmAccess::Tensor && B::kVector < 8 ? B::kVector : 8;
  using BoxA = GemmBox<A::kOrder, 1, false, true>;
  using BoxB = GemmBox<B::kOrder, 1, false, true, 0, B::kBlocks>;
#endif
  A a;
  B b;

  FUSEC_METHOD RowA prepareA(i32 batch, i32 row) const {
    return a.prepare(batch, row);
  }
  FUSEC_METHOD const T *baseA() const { return a.p; }
  FUSEC_METHOD GemmSource sourceA(const RowA &row, i32 k) const {
    return a.source(row, k);
  }
  template <i32 V>
  FUSEC_METHOD void valuesA(const RowA &row, i32 k, T (&v)[V]) const {
    a.values(row, k, v);
  }
  FUSEC_METHOD RowB prepareB(i32 batch, i32 column) const {
    return b.prepare(batch, column);
  }
  FUSEC_METHOD const T *baseB() const { return b.p; }
  FUSEC_METHOD GemmSource sourceB(const RowB &row, i32 k) const {
    return b.source(row, k);
  }
  template <i32 V>
  FUSEC_METHOD void valuesB(const RowB &row, i32 k, T (&v)[V]) const {
    b.values(row, k, v);
  }
};

/// Sums of 8-bit integers as they are.
template <class A, class B>
struct TestSums : TestOperands<i8, A, B> {
  i32 *out; // [batch, m, n]
  i32 m, n;
  FUSEC_METHOD void epilogue(i32 batch, i32 row, i32 column, const i32 (&v)[8],
                             i32 valid) const {
    FUSEC_UNROLL
    for (i32 i = 0; i < 8; ++i)
      stm1(out, (i64(batch) * m + row) * n + column + i, v[i], i < valid);
  }
};

template <class T, class A, class B>
struct TestHoles : TestOperands<T, A, B> {
  const f32 *bias;  // [n]
  const f32 *scale; // [m]
  T *out;           // [batch, m, n]: gelu(x + bias)
  f32 *copy;        // [batch, m, n]: x * scale
  i32 m, n;

  template <i32 Columns>
  FUSEC_METHOD void epilogue(i32 batch, i32 row, i32 column,
                             const f32 (&v)[Columns], i32 valid) const {
    i64 at = (i64(batch) * m + row) * n + column;
    f32 factor = ld1(scale, row);
    T result[Columns];
    f32 scaled[Columns];
    FUSEC_UNROLL
    for (i32 i = 0; i < Columns; ++i) {
      f32 x = v[i] + ldm1(bias, column + i, i < valid, 0.0f);
      result[i] = from_f32<T>(0.5f * x * (1.0f + m_erf(x * 0.70710678f)));
      scaled[i] = v[i] * factor;
    }
    if (valid == Columns && n % Columns == 0) {
      st<Columns>(out, at, result, 0);
      st<Columns>(copy, at, scaled, 0);
    } else {
      FUSEC_UNROLL
      for (i32 i = 0; i < Columns; ++i) {
        stm1(out, at + i, result[i], i < valid);
        stm1(copy, at + i, scaled[i], i < valid);
      }
    }
  }
};

/// The first output alone, which turns in shared memory.
template <class T, class A, class B>
struct TestTurned : TestOperands<T, A, B> {
  using Result = T;
  const f32 *bias;
  const f32 *scale;
  T *out;
  f32 *copy;
  i32 m, n;

  template <class Sink>
  FUSEC_METHOD void epilogue(i32 batch, i32 row, i32 column, const f32 (&v)[2],
                             i32 valid, Sink &sink) const {
    T result[2];
    FUSEC_UNROLL
    for (i32 i = 0; i < 2; ++i) {
      f32 x = v[i] + ld1(bias, column + i);
      result[i] = from_f32<T>(0.5f * x * (1.0f + m_erf(x * 0.70710678f)));
    }
    i64 at = (i64(batch) * m + row) * n + column;
    FUSEC_UNROLL
    for (i32 i = 0; i < 2; ++i)
      sink.template put<2>(out, at + i, result, i, valid > 0);
  }
};

/// The holes of a case.
template <class T, class A, class B,
          bool Turns = (B::kVector == 2 && B::kAccess == GemmAccess::Tensor)>
struct TestHolesOf {
  using Type = TestHoles<T, A, B>;
};
template <class T, class A, class B>
struct TestHolesOf<T, A, B, true> {
  using Type = TestTurned<T, A, B>;
};

constexpr GemmAccess Async = GemmAccess::Async;
constexpr GemmAccess Computed = GemmAccess::Computed;
constexpr GemmAccess Tensor = GemmAccess::Tensor;
constexpr GemmOrder AlongK = GemmOrder::KContiguous;
constexpr GemmOrder AlongOuter = GemmOrder::OuterContiguous;

/// Defines and exports a kernel over TestHoles.
#define TEST_KERNEL(name, config, T, accessA, orderA, vectorA, accessB,        \
                    orderB, vectorB)                                           \
  FUSEC_KERNEL(name, config::kThreads)                                         \
  (const T *pa, const T *pb, const f32 *bias, const f32 *scale, T *out,        \
   f32 *copy, i32 m, i32 n, i32 k, i32 batch, TestStrides sa,                  \
   TestStrides sb) {                                                           \
    using A = TestOperand<T, accessA, orderA, vectorA>;                        \
    using B = TestOperand<T, accessB, orderB, vectorB>;                        \
    TestHoles<T, A, B> holes{                                                  \
        {{pa, sa, m, k}, {pb, sb, n, k}}, bias, scale, out, copy, m, n};       \
    gemm<config>(holes, m, n, k, batch);                                       \
  }                                                                            \
  FUSEC_EXPORT(name)

/// The same by a loop for few rows.
#define TEST_KERNEL_FEW(...) TEST_KERNEL_BY(gemm_few, __VA_ARGS__)
#define TEST_KERNEL_DIRECT(...) TEST_KERNEL_BY(gemm_direct, __VA_ARGS__)
#define TEST_KERNEL_BY(loop, name, config, T, accessA, orderA, vectorA,        \
                       accessB, orderB, vectorB)                               \
  TEST_FEW_ENTRY(name, config)                                                 \
  (const T *pa, const T *pb, const f32 *bias, const f32 *scale, T *out,        \
   f32 *copy, i32 m, i32 n, i32 k, i32 batch, TestStrides sa,                  \
   TestStrides sb) {                                                           \
    using A = TestOperand<T, accessA, orderA, vectorA>;                        \
    using B = TestOperand<T, accessB, orderB, vectorB>;                        \
    TestHoles<T, A, B> holes{                                                  \
        {{pa, sa, m, k}, {pb, sb, n, k}}, bias, scale, out, copy, m, n};       \
    loop<config>(holes, m, n, k, batch);                                       \
  }                                                                            \
  FUSEC_EXPORT(name)
#ifdef FUSEC_SM90
#define TEST_FEW_ENTRY(name, config)                                           \
  FUSEC_KERNEL_CLUSTER(name, config::kThreads, 1, config::kCluster)
#else
#define TEST_FEW_ENTRY(name, config) FUSEC_KERNEL(name, config::kThreads)
#endif

/// The same on warpgroups; the maps of operands that are not Tensor ones are
/// not looked at.
#define TEST_KERNEL_SM90(name, config, T, accessA, orderA, vectorA, accessB,   \
                         orderB, vectorB)                                      \
  FUSEC_KERNEL_CLUSTER(name, config::kThreads, config::kBlocks,                \
                       config::kCluster)                                       \
  (const T *pa, const T *pb, const f32 *bias, const f32 *scale, T *out,        \
   f32 *copy, i32 m, i32 n, i32 k, i32 batch, TestStrides sa, TestStrides sb,  \
   FUSEC_TENSOR_MAP(mapA), FUSEC_TENSOR_MAP(mapB)) {                           \
    using A = TestOperand<T, accessA, orderA, vectorA>;                        \
    using B = TestOperand<T, accessB, orderB, vectorB>;                        \
    typename TestHolesOf<T, A, B>::Type holes{                                 \
        {{pa, sa, m, k}, {pb, sb, n, k}}, bias, scale, out, copy, m, n};       \
    gemm_wgmma<config>(holes, mapA, mapB, m, n, k, batch);                     \
  }                                                                            \
  FUSEC_EXPORT(name)

#ifdef FUSEC_SM90
/// Two products whose results are the halves of what TestHoles would store.
template <class T, class A, class B>
struct TestPair : TestHoles<T, A, B> {
  template <i32 Columns>
  FUSEC_METHOD void epilogue(i32 batch, i32 row, i32 column,
                             const GemmTwo<f32> (&sums)[Columns],
                             i32 valid) const {
    FUSEC_UNROLL
    for (i32 half = 0; half < 2; ++half) {
      f32 v[Columns];
      FUSEC_UNROLL
      for (i32 i = 0; i < Columns; ++i)
        v[i] = half ? sums[i].second : sums[i].first;
      TestHoles<T, A, B>::epilogue(batch, row, column + half * (this->n / 2), v,
                                   valid);
    }
  }
};

#define TEST_KERNEL_PAIR(name, config, T, accessA, orderA, vectorA, accessB,   \
                         orderB, vectorB)                                      \
  FUSEC_KERNEL_CLUSTER(name, config::kThreads, config::kBlocks,                \
                       config::kCluster)                                       \
  (const T *pa, const T *pb, const f32 *bias, const f32 *scale, T *out,        \
   f32 *copy, i32 m, i32 n, i32 k, i32 batch, TestStrides sa, TestStrides sb,  \
   FUSEC_TENSOR_MAP(mapA), FUSEC_TENSOR_MAP(mapB), FUSEC_TENSOR_MAP(mapB2)) {  \
    using A = TestOperand<T, accessA, orderA, vectorA>;                        \
    using B = TestOperand<T, accessB, orderB, vectorB>;                        \
    TestPair<T, A, B> holes;                                                   \
    holes.bias = bias, holes.scale = scale, holes.out = out;                   \
    holes.copy = copy, holes.m = m, holes.n = n;                               \
    gemm_wgmma<config>(holes, mapA, GemmTwoMaps{mapB, mapB2}, m, n / 2, k,     \
                       batch);                                                 \
  }                                                                            \
  FUSEC_EXPORT(name)
#endif

/// 8-bit integers with an i32 result.
#define TEST_SUMS(name, config, accessA, orderA, vectorA, accessB, orderB,     \
                  vectorB)                                                     \
  FUSEC_KERNEL(name, config::kThreads)                                         \
  (const i8 *pa, const i8 *pb, i32 *out, i32 m, i32 n, i32 k, i32 batch,       \
   TestStrides sa, TestStrides sb) {                                           \
    using A = TestOperand<i8, accessA, orderA, vectorA>;                       \
    using B = TestOperand<i8, accessB, orderB, vectorB>;                       \
    TestSums<A, B> holes{{{pa, sa, m, k}, {pb, sb, n, k}}, out, m, n};         \
    gemm<config>(holes, m, n, k, batch);                                       \
  }                                                                            \
  FUSEC_EXPORT(name)

#define TEST_SUMS_FEW(name, config, accessA, orderA, vectorA, accessB, orderB, \
                      vectorB)                                                 \
  TEST_FEW_ENTRY(name, config)                                                 \
  (const i8 *pa, const i8 *pb, i32 *out, i32 m, i32 n, i32 k, i32 batch,       \
   TestStrides sa, TestStrides sb) {                                           \
    using A = TestOperand<i8, accessA, orderA, vectorA>;                       \
    using B = TestOperand<i8, accessB, orderB, vectorB>;                       \
    TestSums<A, B> holes{{{pa, sa, m, k}, {pb, sb, n, k}}, out, m, n};         \
    gemm_few<config>(holes, m, n, k, batch);                                   \
  }                                                                            \
  FUSEC_EXPORT(name)

#define TEST_SUMS_SM90(name, config, accessA, orderA, vectorA, accessB,        \
                       orderB, vectorB)                                        \
  FUSEC_KERNEL_CLUSTER(name, config::kThreads, config::kBlocks,                \
                       config::kCluster)                                       \
  (const i8 *pa, const i8 *pb, i32 *out, i32 m, i32 n, i32 k, i32 batch,       \
   TestStrides sa, TestStrides sb, FUSEC_TENSOR_MAP(mapA),                     \
   FUSEC_TENSOR_MAP(mapB)) {                                                   \
    using A = TestOperand<i8, accessA, orderA, vectorA>;                       \
    using B = TestOperand<i8, accessB, orderB, vectorB>;                       \
    TestSums<A, B> holes{{{pa, sa, m, k}, {pb, sb, n, k}}, out, m, n};         \
    gemm_wgmma<config>(holes, mapA, mapB, m, n, k, batch);                     \
  }                                                                            \
  FUSEC_EXPORT(name)
