//===- ImportSampling.cpp - GridSample, AffineGrid ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An interpolation is a weighted sum of gathers, one per corner of the cell
// that a sampling position falls into.
//===----------------------------------------------------------------------===//
#include "Build.h"

#include <limits>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ComparePredicate;
using graph::ReduceKind;

static Val times(Operator &op, const Val &x, double factor) {
  return op.emit.binary<graph::MulOp>(x, factor);
}
static Val plus(Operator &op, const Val &x, double term) {
  return op.emit.binary<graph::AddOp>(x, term);
}
static Val clampTo(Operator &op, const Val &x, double low, double high) {
  return op.emit.binary<graph::MinOp>(op.emit.binary<graph::MaxOp>(x, low),
                                      high);
}

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

/// A sampled element is a sum over all corners of its cell, up to 4 a
/// dimension.
static constexpr int64_t kMaxSpatial = 3;

namespace {
enum class Padding { Zeros, Border, Reflection };

/// One dimension of the sampling positions: indices and weights of the elements
/// that are combined there.
struct Taps {
  llvm::SmallVector<Val> indices; // in range, i64
  llvm::SmallVector<Val> weights; // null: 1
};
} // namespace

/// Mirrors x at the borders until it is between them.
static Val reflect(Operator &op, const Val &x, double low, double high) {
  Emitter &emit = op.emit;
  if (high <= low)
    return emit.splat(x.dtype, low < 0 ? 0 : low, x.shape);
  double range = high - low;
  // The distance from the low border, folded into [0, 2 * range).
  Val distance = emit.binary<graph::ModOp>(plus(op, x, -low), 2 * range);
  Val back = emit.sub(emit.scalar(x.dtype, 2 * range), distance);
  return plus(op, emit.binary<graph::MinOp>(distance, back), low);
}

static Val padPosition(Operator &op, const Val &x, int64_t size,
                       Padding padding, bool aligned) {
  double last = static_cast<double>(size - 1);
  if (padding == Padding::Border)
    return clampTo(op, x, 0, last);
  if (padding == Padding::Reflection)
    return reflect(op, x, aligned ? 0 : -0.5, aligned ? last : last + 0.5);
  return x;
}

/// Adds the element at position `at` (whole numbers) with `weight`.
static void addTap(Operator &op, Taps &taps, Val at, Val weight, int64_t size,
                   Padding padding, bool aligned) {
  Emitter &emit = op.emit;
  double last = static_cast<double>(size - 1);
  if (padding == Padding::Zeros) {
    Val inside = emit.binary<graph::AndOp>(
        emit.compare(ComparePredicate::ge, at, emit.scalar(at.dtype, 0)),
        emit.compare(ComparePredicate::le, at, emit.scalar(at.dtype, last)));
    if (!weight)
      weight = emit.splat(at.dtype, 1, at.shape);
    weight = emit.select(inside, weight, emit.scalar(at.dtype, 0));
  } else {
    at = padPosition(op, at, size, padding, aligned);
  }
  at = clampTo(op, at, 0, last);
  taps.indices.push_back(emit.cast(at, DType::I64));
  taps.weights.push_back(weight);
}

/// Keys' cubic with a = -0.75 at distance t + k - 1 for k = 0..3.
static Val cubicWeight(Operator &op, const Val &t, int k) {
  Emitter &emit = op.emit;
  constexpr double a = -0.75;
  Val d = k < 2 ? plus(op, t, 1 - k) : emit.sub(emit.scalar(t.dtype, k - 1), t);
  Val square = emit.mul(d, d);
  if (k == 1 || k == 2)
    return plus(op, emit.mul(plus(op, times(op, d, a + 2), -(a + 3)), square),
                1);
  Val inner = emit.mul(plus(op, times(op, d, a), -5 * a), d);
  return plus(op, emit.mul(plus(op, inner, 8 * a), d), -4 * a);
}

/// `x` in elements of an axis of `size`.
static Taps tapsOf(Operator &op, const Val &x, int64_t size,
                   llvm::StringRef mode, Padding padding, bool aligned) {
  Emitter &emit = op.emit;
  Taps taps;
  if (!x)
    return taps;
  if (mode == "nearest") {
    Val at =
        padPosition(op, emit.unary<graph::RoundOp>(x), size, padding, aligned);
    at = emit.unary<graph::TruncOp>(at);
    if (at)
      addTap(op, taps, at, {}, size, padding, aligned);
    return taps;
  }
  Val at = padPosition(op, x, size, padding, aligned);
  Val floor = emit.unary<graph::FloorOp>(at), rest = emit.sub(at, floor);
  if (!rest)
    return taps;
  int taken = mode == "cubic" ? 4 : 2;
  for (int k = 0; k < taken; ++k) {
    Val weight = taken == 4 ? cubicWeight(op, rest, k)
                 : k == 0   ? emit.sub(emit.scalar(x.dtype, 1), rest)
                            : rest;
    Val index = plus(op, floor, taken == 4 ? k - 1 : k);
    addTap(op, taps, index, weight, size, padding, aligned);
  }
  return taps;
}

/// Elements of x [N, spatial..., C] at indices [N, places..., 1] per dimension:
/// [N, places..., C].
static Val gatherAt(Operator &op, const Val &x, llvm::ArrayRef<Val> indices) {
  Emitter &emit = op.emit;
  llvm::SmallVector<Val> columns;
  for (const Val &index : indices) {
    if (!index)
      return {};
    Dims shape = index.shape;
    shape.push_back(1);
    columns.push_back(emit.reshape(index, shape));
  }
  Val vectors = emit.concat(columns, columns[0].rank() - 1);
  if (!vectors || !x)
    return {};
  Dims shape(DimsRef(vectors.shape).drop_back());
  shape.push_back(x.shape.back());
  return emit.make(x.dtype, shape, [&](mlir::RankedTensorType type) {
    return graph::GatherNdOp::create(emit.builder, emit.location(), type,
                                     emit.use(x), emit.use(vectors), 1)
        .getResult();
  });
}

/// The sum over all combinations of taps. `channelsLast` is [N, spatial..., C].
static Val interpolate(Operator &op, const Val &channelsLast,
                       llvm::ArrayRef<Taps> taps) {
  Emitter &emit = op.emit;
  Val sum;
  llvm::SmallVector<size_t> digits(taps.size(), 0);
  for (;;) {
    llvm::SmallVector<Val> indices;
    Val weight;
    for (auto [digit, tap] : llvm::zip(digits, taps)) {
      if (tap.indices.empty())
        return {};
      indices.push_back(tap.indices[digit]);
      if (const Val &factor = tap.weights[digit])
        weight = weight ? emit.mul(weight, factor) : factor;
    }
    Val value = gatherAt(op, channelsLast, indices);
    if (weight && value) {
      Dims shape = weight.shape;
      shape.push_back(1);
      value =
          emit.mul(value, emit.cast(emit.reshape(weight, shape), value.dtype));
    }
    if (!value)
      return {};
    sum = sum ? emit.add(sum, value) : value;
    size_t d = 0;
    while (d < digits.size() && ++digits[d] == taps[d].indices.size())
      digits[d++] = 0;
    if (d == digits.size())
      return sum;
  }
}

static std::optional<Padding> paddingOf(Operator &op) {
  std::string text = op.stringAttr("padding_mode", "zeros");
  if (text == "zeros")
    return Padding::Zeros;
  if (text == "border")
    return Padding::Border;
  if (text == "reflection")
    return Padding::Reflection;
  op.fail("unknown padding_mode " + quoted(text));
  return std::nullopt;
}

static void importGridSample(Operator &op) {
  Emitter &emit = op.emit;
  std::string mode =
      op.stringAttr("mode", op.opset < 20 ? "bilinear" : "linear");
  if (mode == "bilinear" || mode == "bicubic")
    mode = mode.substr(2); // the names before opset 20
  bool aligned = op.intAttr("align_corners", 0) != 0;
  auto padding = paddingOf(op);
  Val x = op.in(0), grid = op.in(1);
  if (!x || !grid || !padding ||
      !op.require(mode == "linear" || mode == "nearest" || mode == "cubic",
                  "unknown mode " + quoted(mode)) ||
      !op.require(x.rank() >= 3 && grid.rank() == x.rank() &&
                      grid.shape[0] == x.shape[0] &&
                      grid.shape.back() == x.rank() - 2 && isFloat(x.dtype) &&
                      isFloat(grid.dtype),
                  "input " + describe(x.shape) + " and grid " +
                      describe(grid.shape) + " do not fit"))
    return;
  int64_t spatial = x.rank() - 2;
  if (!op.requireSupport(spatial <= kMaxSpatial, "more than " +
                                                     llvm::Twine(kMaxSpatial) +
                                                     " spatial dimensions"))
    return;
  for (int64_t d = 0; d < spatial; ++d)
    if (!op.require(x.shape[2 + d] > 0, "an empty spatial dimension"))
      return;
  grid = emit.widen(grid);
  llvm::SmallVector<Taps> taps;
  for (int64_t d = 0; d < spatial; ++d) {
    // The grid names the last dimension first.
    Val at =
        emit.reshape(emit.sliceAxis(grid, grid.rank() - 1, spatial - 1 - d, 1),
                     DimsRef(grid.shape).drop_back());
    double size = static_cast<double>(x.shape[2 + d]);
    at = plus(op, at, 1);
    at = aligned ? times(op, times(op, at, 0.5), size - 1)
                 : times(op, plus(op, times(op, at, size), -1), 0.5);
    taps.push_back(tapsOf(op, at, x.shape[2 + d], mode, *padding, aligned));
  }
  Dims last = {0}, first = {0, x.rank() - 1};
  last.append(countUp(spatial, 2));
  last.push_back(1);
  first.append(countUp(spatial, 1));
  Val wide = emit.widen(emit.transpose(x, last));
  Val y = interpolate(op, wide, taps);
  op.out(emit.cast(emit.transpose(y, first), x.dtype));
}

//===----------------------------------------------------------------------===//
// AffineGrid
//===----------------------------------------------------------------------===//

/// theta [N, d, d + 1] applied to the normalised positions of `size`.
static void importAffineGrid(Operator &op) {
  Emitter &emit = op.emit;
  bool aligned = op.intAttr("align_corners", 0) != 0;
  Val theta = op.in(0);
  auto size = op.constInts(1);
  if (!theta || !size ||
      !op.require(isFloat(theta.dtype) && size->size() >= 3 &&
                      theta.shape == Dims{(*size)[0], int64_t(size->size()) - 2,
                                          int64_t(size->size()) - 1},
                  "theta " + describe(theta.shape) + " and size do not fit"))
    return;
  Dims places(DimsRef(*size).drop_front(2)), column = places;
  int64_t d = static_cast<int64_t>(places.size());
  column.push_back(1);
  llvm::SmallVector<Val> parts;
  for (int64_t i = d - 1; i >= 0; --i) {
    double n = static_cast<double>(places[i]);
    Val at = emit.iota(theta.dtype, column, i);
    // (2 i + 1) / n - 1, or 2 i / (n - 1) - 1 between the corners' centres.
    if (aligned)
      at = plus(op, times(op, at, n > 1 ? 2 / (n - 1) : 0), -1);
    else
      at = plus(op, emit.binary<graph::DivOp>(plus(op, times(op, at, 2), 1), n),
                -1);
    parts.push_back(at);
  }
  parts.push_back(emit.splat(theta.dtype, 1, column));
  Val positions = emit.concat(parts, d); // [places..., d + 1]
  // [places..., N, d] with N moved to the front.
  Val y = contract(op, positions, theta, {{}, {}, {d}, {2}});
  Dims order = {d};
  order.append(countUp(d));
  order.push_back(d + 1);
  op.out(emit.transpose(y, order));
}

void importer::addSampling(Registry &registry) {
  registry.add("GridSample", importGridSample);
  registry.add("AffineGrid", importAffineGrid);
}
