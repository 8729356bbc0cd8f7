//===- holes.cuh - hand-written holes of the GEMM benchmark ----*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Holes as the code generator writes them, for row-major matrices: operands
// copied asynchronously or computed element by element, and an epilogue of
// bias and erf GELU (or none) with a 16-byte store path.
//===----------------------------------------------------------------------===//

/// What the epilogue does.
enum class Post : u8 { Store, BiasGelu };

/// A row of an operand: the element offset of its start, negative for a row
/// outside (the benchmark's operands have fewer than 2^31 elements; one
/// register a row is what lets many rows stay in registers).
struct OperandRow {
  i32 offset;
};

/// out = post(A B + bias) for A [m, k]; B [k, n], or [n, k] if `TransB`; all
/// row-major and dense. `Access` is Async where k, n and bases are multiples
/// of 16 bytes.
/// `Vector` elements a call where operands are computed.
template <class T, GemmAccess Access, bool TransB, Post P, i32 Vector = 1>
struct MatrixHoles {
  static constexpr GemmAccess kAccessA = Access;
  static constexpr GemmAccess kAccessB = Access;
  static constexpr GemmOrder kOrderA = GemmOrder::KContiguous;
  static constexpr GemmOrder kOrderB =
      TransB ? GemmOrder::KContiguous : GemmOrder::OuterContiguous;
  static constexpr i32 kVectorA = Vector;
  static constexpr i32 kVectorB = Vector;
  using RowA = OperandRow;
  using RowB = OperandRow;
  static constexpr bool kWide = Access == GemmAccess::Async || Vector == 8;

  const T *pa;
  const T *pb;
  const T *bias;
  T *out;
  i32 m, n, k;

  FUSEC_METHOD RowA prepareA(i32 b, i32 row) const {
    return {row < m ? row * k : -1};
  }
  FUSEC_METHOD const T *baseA() const { return pa; }
  FUSEC_METHOD GemmSource sourceA(const RowA &row, i32 kk) const {
    return {row.offset + kk, row.offset >= 0 && kk < k};
  }
  template <i32 V>
  FUSEC_METHOD void valuesA(const RowA &row, i32 kk, T (&v)[V]) const {
    ldm<V>(v, 0, pa, row.offset + kk, row.offset >= 0 && kk < k, T{});
  }

  FUSEC_METHOD RowB prepareB(i32 b, i32 column) const {
    return {column < n ? (TransB ? column * k : column) : -1};
  }
  FUSEC_METHOD const T *baseB() const { return pb; }
  FUSEC_METHOD i32 offsetB(const RowB &row, i32 kk) const {
    return TransB ? row.offset + kk : row.offset + kk * n;
  }
  FUSEC_METHOD GemmSource sourceB(const RowB &row, i32 kk) const {
    return {offsetB(row, kk), row.offset >= 0 && kk < k};
  }
  template <i32 V>
  FUSEC_METHOD void valuesB(const RowB &row, i32 kk, T (&v)[V]) const {
    ldm<V>(v, 0, pb, offsetB(row, kk), row.offset >= 0 && kk < k, T{});
  }

  FUSEC_DEVICE f32 post(f32 x, f32 addend) {
    if constexpr (P == Post::BiasGelu) {
      f32 y = x + addend;
      return 0.5f * y * (1.0f + m_erf(y * 0.70710678f));
    } else {
      return x;
    }
  }
  FUSEC_METHOD void epilogue(i32 b, i32 row, i32 column, const f32 (&v)[8],
                             i32 valid) const {
    i64 at = i64(row) * n + column;
    if (kWide && valid == 8) {
      T addend[8];
      T result[8];
      if constexpr (P == Post::BiasGelu)
        ld<8>(addend, 0, bias, column);
      FUSEC_UNROLL
      for (i32 i = 0; i < 8; ++i)
        result[i] = from_f32<T>(
            post(v[i], P == Post::BiasGelu ? to_f32(addend[i]) : 0.0f));
      st<8>(out, at, result, 0);
      return;
    }
    FUSEC_UNROLL
    for (i32 i = 0; i < 8; ++i)
      if (i < valid) {
        f32 addend = P == Post::BiasGelu ? to_f32(ld1(bias, column + i)) : 0.0f;
        st1(out, at + i, from_f32<T>(post(v[i], addend)));
      }
  }
};
