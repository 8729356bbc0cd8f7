//===- conv_holes.cuh - convolutions as contractions ------------*- CUDA
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two im2col forms. NHWC: rows are output pixels, k is (r, s, c), groups of
// eight channels are copied asynchronously. NCHW: a batch is an image, rows are
// output channels, columns are output pixels (contiguous in the result), k is
// (c, r, s) and input elements are computed one by one.
//===----------------------------------------------------------------------===//

/// Extents of a convolution; weights are r x s, the output p x q.
struct ConvShape {
  i32 images, h, w, c, o, r, s, p, q, stride, pad, dilation;
};

/// An output pixel: its image's first element (negative outside) and the input
/// coordinates of its first tap.
struct ConvPixel {
  i32 base, h, w;
};

/// A row of the weights: its first element, negative outside.
struct ConvFilter {
  i32 offset;
};

/// What both forms share.
struct ConvBase {
  const f16 *x;
  const f16 *weights;
  f32 *y;
  ConvShape v;

  FUSEC_METHOD ConvPixel pixel(i32 image, i32 place, bool inside) const {
    return {inside ? image * v.h * v.w * v.c : -1,
            place / v.q * v.stride - v.pad, place % v.q * v.stride - v.pad};
  }
  FUSEC_METHOD i32 terms() const { return v.c * v.r * v.s; }
  /// Whether tap (r, s) of a pixel lies in the image.
  FUSEC_METHOD bool inside(const ConvPixel &at, i32 r, i32 s) const {
    i32 h = at.h + r * v.dilation;
    i32 w = at.w + s * v.dilation;
    return at.base >= 0 && h >= 0 && h < v.h && w >= 0 && w < v.w;
  }
  FUSEC_METHOD i32 pixelOffset(const ConvPixel &at, i32 r, i32 s) const {
    return (at.h + r * v.dilation) * v.w + at.w + s * v.dilation;
  }
};

/// x [images, h, w, c], weights [o, r, s, c], y [images, p, q, o].
struct ConvNhwc : ConvBase {
  static constexpr GemmAccess kAccessA = GemmAccess::Async;
  static constexpr GemmAccess kAccessB = GemmAccess::Async;
  static constexpr GemmOrder kOrderA = GemmOrder::KContiguous;
  static constexpr GemmOrder kOrderB = GemmOrder::KContiguous;
  using RowA = ConvPixel;
  using RowB = ConvFilter;

  FUSEC_METHOD RowA prepareA(i32 b, i32 m) const {
    i32 pixels = v.p * v.q;
    return pixel(m / pixels, m % pixels, m < v.images * pixels);
  }
  FUSEC_METHOD const f16 *baseA() const { return x; }
  FUSEC_METHOD GemmSource sourceA(const RowA &row, i32 k) const {
    i32 c = k % v.c;
    i32 s = k / v.c % v.s;
    i32 r = k / v.c / v.s;
    return {row.base + i64(pixelOffset(row, r, s)) * v.c + c,
            r < v.r && inside(row, r, s)};
  }
  FUSEC_METHOD RowB prepareB(i32 b, i32 n) const {
    return {n < v.o ? n * terms() : -1};
  }
  FUSEC_METHOD const f16 *baseB() const { return weights; }
  FUSEC_METHOD GemmSource sourceB(const RowB &row, i32 k) const {
    return {row.offset + k, row.offset >= 0 && k < terms()};
  }
  FUSEC_METHOD void epilogue(i32 b, i32 m, i32 n, const f32 (&value)[8],
                             i32 valid) const {
    FUSEC_UNROLL
    for (i32 i = 0; i < 8; ++i)
      stm1(y, i64(m) * v.o + n + i, value[i], i < valid);
  }
};

/// x [images, c, h, w], weights [o, c, r, s], y [images, o, p, q].
struct ConvNchw : ConvBase {
  static constexpr GemmAccess kAccessA = GemmAccess::Computed;
  static constexpr GemmAccess kAccessB = GemmAccess::Computed;
  static constexpr GemmOrder kOrderA = GemmOrder::KContiguous;
  static constexpr GemmOrder kOrderB = GemmOrder::OuterContiguous;
  static constexpr i32 kVectorA = 1;
  static constexpr i32 kVectorB = 1;
  using RowA = ConvFilter;
  using RowB = ConvPixel;

  FUSEC_METHOD RowA prepareA(i32 b, i32 m) const {
    return {m < v.o ? m * terms() : -1};
  }
  template <i32 V>
  FUSEC_METHOD void valuesA(const RowA &row, i32 k, f16 (&value)[V]) const {
    value[0] = ldm1(weights, row.offset + k, row.offset >= 0 && k < terms(),
                    from_f32<f16>(0.0f));
  }
  FUSEC_METHOD RowB prepareB(i32 b, i32 n) const {
    return pixel(b, n, n < v.p * v.q);
  }
  template <i32 V>
  FUSEC_METHOD void valuesB(const RowB &row, i32 k, f16 (&value)[V]) const {
    i32 s = k % v.s;
    i32 r = k / v.s % v.r;
    i32 c = k / v.s / v.r;
    value[0] = ldm1(x, row.base + i64(c) * v.h * v.w + pixelOffset(row, r, s),
                    c < v.c && inside(row, r, s), from_f32<f16>(0.0f));
  }
  FUSEC_METHOD void epilogue(i32 b, i32 m, i32 n, const f32 (&value)[8],
                             i32 valid) const {
    i64 at = (i64(b) * v.o + m) * (v.p * v.q) + n;
    FUSEC_UNROLL
    for (i32 i = 0; i < 8; ++i)
      stm1(y, at + i, value[i], i < valid);
  }
};

using ConvConfig = GemmConfig<GemmKind::F16, 64, 64, 32, 2, 2, 3, 8>;

FUSEC_KERNEL(conv_nhwc, 128)
(const f16 *x, const f16 *weights, f32 *y, ConvShape v) {
  ConvNhwc holes{{x, weights, y, v}};
  gemm<ConvConfig>(holes, v.images * v.p * v.q, v.o, v.c * v.r * v.s, 1);
}
FUSEC_EXPORT(conv_nhwc)

FUSEC_KERNEL(conv_nchw, 128)
(const f16 *x, const f16 *weights, f32 *y, ConvShape v) {
  ConvNchw holes{{x, weights, y, v}};
  gemm<ConvConfig>(holes, v.o, v.p * v.q, v.c * v.r * v.s, v.images);
}
FUSEC_EXPORT(conv_nchw)
