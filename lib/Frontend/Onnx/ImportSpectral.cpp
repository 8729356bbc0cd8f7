//===- ImportSpectral.cpp - window functions and Fourier transforms -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transform is a contraction with a matrix of cosines and sines: n^2 work,
// but the same kernels as any other product.
//===----------------------------------------------------------------------===//
#include "Build.h"

#include <cmath>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;

/// Longest transform.
static constexpr int64_t kMaxLength = 8192;
static constexpr double kTwoPi = 6.283185307179586476925286766559;

//===----------------------------------------------------------------------===//
// Window functions
//===----------------------------------------------------------------------===//

/// A constant that `value` gives for each position, in f64 rounded once.
static Val tabulate(Operator &op, DType dtype, DimsRef shape,
                    llvm::function_ref<double(int64_t)> value) {
  // A few thousand in each dimension: the product fits.
  int64_t elements = 1;
  for (int64_t dim : shape)
    elements *= dim;
  if (!op.emit.charge(elements))
    return {};
  auto bytes = HostTensor::create(dtype, shape);
  if (!bytes)
    return op.fail(llvm::toString(bytes.takeError()));
  for (int64_t i = 0, e = bytes->elements(); i < e; ++i)
    bytes->setF64(i, value(i));
  return op.emit.fromConstant(std::move(*bytes));
}

/// a - b cos(2 pi i / n) + c cos(4 pi i / n); n is one less if not periodic.
static void importWindow(Operator &op, double a, double b, double c) {
  bool periodic = op.intAttr("periodic", 1) != 0;
  DType dtype = op.dtypeAttr("output_datatype", DType::F32);
  auto size = op.constInt(0);
  if (!size || !op.require(*size >= 0 && *size <= (int64_t(1) << 24),
                           "unexpected size of the window"))
    return;
  double n = static_cast<double>(periodic ? *size : *size - 1);
  op.out(tabulate(op, dtype, {*size}, [&](int64_t i) {
    double turn = n == 0 ? 0 : kTwoPi * static_cast<double>(i) / n;
    return a - b * std::cos(turn) + c * std::cos(2 * turn);
  }));
}

static void importHann(Operator &op) { importWindow(op, 0.5, 0.5, 0); }
static void importHamming(Operator &op) {
  importWindow(op, 25.0 / 46, 21.0 / 46, 0);
}
static void importBlackman(Operator &op) { importWindow(op, 0.42, 0.5, 0.08); }

//===----------------------------------------------------------------------===//
// Transforms
//===----------------------------------------------------------------------===//

/// [n, bins] of cos or sin of 2 pi i k / length.
static Val waves(Operator &op, DType dtype, int64_t n, int64_t bins,
                 int64_t length, bool sine) {
  return tabulate(op, dtype, {n, bins}, [&](int64_t at) {
    // The product is reduced before it loses bits.
    int64_t turns = at / bins * (at % bins) % length;
    double angle =
        kTwoPi * static_cast<double>(turns) / static_cast<double>(length);
    return sine ? std::sin(angle) : std::cos(angle);
  });
}

/// [..., n, parts] with parts 1 (real) or 2 as [..., bins, 2], transformed over
/// `length` samples: those beyond n are zero, those of x beyond it are cut.
static Val transform(Operator &op, Val x, int64_t length, int64_t bins,
                     bool inverse) {
  if (!x)
    return {};
  Emitter &emit = op.emit;
  int64_t axis = x.rank() - 2;
  int64_t n = std::min(x.shape[axis], length);
  if (!op.require(length > 0 && n > 0, "unexpected length " +
                                           llvm::Twine(length) +
                                           " of a transform") ||
      !op.requireSupport(length <= kMaxLength, "more than " +
                                                   llvm::Twine(kMaxLength) +
                                                   " points of a transform"))
    return {};
  x = emit.sliceAxis(x, axis, 0, n);
  Val cos = waves(op, x.dtype, n, bins, length, false);
  Val sin = waves(op, x.dtype, n, bins, length, true);
  auto part = [&](int64_t i) {
    return emit.reshape(emit.sliceAxis(x, axis + 1, i, 1),
                        DimsRef(x.shape).drop_back());
  };
  auto times = [&](const Val &v, const Val &wave) {
    return matmul(op, v, wave);
  };
  // exp(-i t) = cos t - i sin t; the inverse has the other sign.
  Val re = part(0), real = times(re, cos), imaginary = times(re, sin);
  if (!inverse)
    imaginary = emit.unary<graph::NegOp>(imaginary);
  if (x.shape[axis + 1] == 2) {
    Val im = part(1), crossed = times(im, sin);
    real = inverse ? emit.sub(real, crossed) : emit.add(real, crossed);
    imaginary = emit.add(imaginary, times(im, cos));
  }
  if (!real || !imaginary)
    return {};
  Dims shape = real.shape;
  shape.push_back(1);
  Val both = emit.concat(
      {emit.reshape(real, shape), emit.reshape(imaginary, shape)}, real.rank());
  if (inverse && both)
    both = emit.binary<graph::DivOp>(both, static_cast<double>(length));
  return both;
}

static void importDft(Operator &op) {
  Emitter &emit = op.emit;
  bool inverse = op.intAttr("inverse", 0) != 0;
  bool onesided = op.intAttr("onesided", 0) != 0;
  Val x = op.in(0);
  if (!x || !op.require(isFloat(x.dtype) && x.rank() >= 2 &&
                            (x.shape.back() == 1 || x.shape.back() == 2),
                        "expected real or complex floats"))
    return;
  int64_t given = op.opset < 20 ? op.intAttr("axis", 1) : -2;
  if (op.opset >= 20 && op.hasInput(2)) {
    auto axis = op.constInt(2);
    if (!axis)
      return;
    given = *axis;
  }
  auto axis = op.axis(given, x.rank());
  if (!axis || !op.require(*axis != x.rank() - 1, "the axis holds the parts"))
    return;
  int64_t length = x.shape[*axis];
  // From half of a spectrum the whole signal follows.
  bool mirrors = inverse && onesided;
  if (mirrors)
    length = 2 * (length - 1);
  if (op.hasInput(1)) {
    auto asked = op.constInt(1);
    if (!asked)
      return;
    length = *asked;
  }
  if (!op.requireSupport(!mirrors, "a one-sided inverse is not supported"))
    return;
  Dims order;
  for (int64_t d = 0; d < x.rank() - 1; ++d)
    if (d != *axis)
      order.push_back(d);
  order.append({*axis, x.rank() - 1});
  Dims back(x.rank());
  for (size_t i = 0; i < order.size(); ++i)
    back[order[i]] = static_cast<int64_t>(i);
  int64_t bins = onesided ? length / 2 + 1 : length;
  op.out(emit.transpose(
      transform(op, emit.transpose(x, order), length, bins, inverse), back));
}

/// Windowed transforms of frames of a signal [batch, length, parts].
static void importStft(Operator &op) {
  Emitter &emit = op.emit;
  bool onesided = op.intAttr("onesided", 1) != 0;
  Val x = op.in(0);
  auto step = op.constInt(1);
  if (!x || !step || !op.require(*step > 0, "expected a positive step"))
    return;
  if (x.rank() == 2)
    x = emit.reshape(x, {x.shape[0], x.shape[1], 1});
  Val window = op.hasInput(2) ? op.in(2) : Val();
  int64_t length = window ? window.elements() : 0;
  if (op.hasInput(3)) {
    auto asked = op.constInt(3);
    if (!asked)
      return;
    length = *asked;
  }
  if (!x || !op.require(x.rank() == 3 && isFloat(x.dtype) && length > 0 &&
                            length <= x.shape[1] && length <= kMaxLength &&
                            (!window || window.elements() == length),
                        "the frame does not fit the signal or the window"))
    return;
  onesided &= x.shape[2] == 1;
  int64_t frames = (x.shape[1] - length) / *step + 1;
  // Frame f takes the samples from f * step on.
  Val at = emit.add(
      emit.binary<graph::MulOp>(emit.iota(DType::I64, {frames, length}, 0),
                                emit.scalarInt(DType::I64, *step)),
      emit.iota(DType::I64, {frames, length}, 1));
  Val framed = emit.gather(x, at, 1); // [batch, frames, length, parts]
  if (window)
    framed = emit.mul(framed, emit.reshape(window, {length, 1}));
  op.out(transform(op, framed, length, onesided ? length / 2 + 1 : length,
                   /*inverse=*/false));
}

void importer::addSpectral(Registry &registry) {
  registry.add("HannWindow", importHann);
  registry.add("HammingWindow", importHamming);
  registry.add("BlackmanWindow", importBlackman);
  registry.add("DFT", importDft);
  registry.add("STFT", importStft);
}
