//===- ImportPooling.cpp - pooling ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Window.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ReduceKind;

/// `spatial` with entries for batch and channel in front.
static Dims withBatch(DimsRef spatial, int64_t entry) {
  Dims out(2, entry);
  out.append(spatial.begin(), spatial.end());
  return out;
}

static Val reduceWindows(Operator &op, ReduceKind kind, const Val &x,
                         const Window &w) {
  if (!x)
    return {};
  Emitter &emit = op.emit;
  Dims shape(DimsRef(x.shape).take_front(2));
  shape.append(w.out.begin(), w.out.end());
  return emit.make(x.dtype, shape, [&](mlir::RankedTensorType type) {
    return graph::WindowReduceOp::create(
               emit.builder, emit.location(), type, kind, emit.use(x),
               withBatch(w.kernel, 1), withBatch(w.strides, 1),
               withBatch(w.dilations, 1), withBatch(w.low, 0),
               withBatch(w.highForFloor, 0))
        .getResult();
  });
}

/// A pooling's input and window.
static std::optional<Window> readPooling(Operator &op, Val &x) {
  x = op.in(0);
  if (!x || !op.require(x.rank() >= 3,
                        "expected rank 3 or more, found " + describe(x.shape)))
    return std::nullopt;
  return readWindow(op, DimsRef(x.shape).drop_front(2), std::nullopt,
                    /*hasCeilMode=*/true);
}

static void importMaxPool(Operator &op) {
  op.ignore({"storage_order"}); // concerns the second output only
  Val x;
  if (auto w = readPooling(op, x))
    op.out(reduceWindows(op, ReduceKind::max, x, *w));
}

/// How many elements a window at each position of one dimension averages.
static Dims windowCounts(int64_t n, const Window &w, size_t d,
                         bool countPadding) {
  int64_t low = countPadding ? -w.low[d] : 0;
  int64_t high = countPadding ? n + w.high[d] : n;
  Dims counts;
  for (int64_t o = 0; o < w.out[d]; ++o) {
    // Positions at + j * dilation for j in [0, kernel), those in [low, high).
    int64_t at = o * w.strides[d] - w.low[d], step = w.dilations[d];
    int64_t first = at >= low ? 0 : (low - at + step - 1) / step;
    int64_t end = at >= high ? 0 : (high - at + step - 1) / step;
    counts.push_back(std::max<int64_t>(
        std::min(end, w.kernel[d]) - std::min(first, w.kernel[d]), 0));
  }
  return counts;
}

/// The counts of all windows, with sizes of 1 where they are equal.
static Val windowSizes(Operator &op, const Val &x, const Window &w,
                       bool countPadding) {
  Emitter &emit = op.emit;
  Val product = emit.scalar(x.dtype, 1);
  for (size_t d = 0; d < w.out.size(); ++d) {
    Dims counts = windowCounts(x.shape[d + 2], w, d, countPadding);
    if (!counts.empty() && llvm::all_equal(counts))
      counts.resize(1);
    Dims shape(w.out.size() - d, 1);
    shape[0] = static_cast<int64_t>(counts.size());
    Val column = emit.cast(emit.vector(counts), x.dtype);
    product = emit.mul(product, emit.reshape(column, shape));
  }
  return product;
}

static void importAveragePool(Operator &op) {
  bool countPadding = op.intAttr("count_include_pad", 0) != 0;
  Val x;
  auto w = readPooling(op, x);
  if (!w)
    return;
  Val wide = op.emit.widen(x);
  if (!wide || !op.require(isFloat(x.dtype), "expected a float tensor"))
    return;
  Val sum = reduceWindows(op, ReduceKind::sum, wide, *w);
  Val mean = op.emit.div(sum, windowSizes(op, wide, *w, countPadding));
  op.out(op.emit.cast(mean, x.dtype));
}

/// (sum |x|^p)^(1/p).
static Val lpFinish(Operator &op, const Val &sum, double p, DType dtype) {
  Emitter &emit = op.emit;
  Val root = p == 1   ? sum
             : p == 2 ? emit.unary<graph::SqrtOp>(sum)
                      : emit.binary<graph::PowOp>(sum, 1 / p);
  return emit.cast(root, dtype);
}

static Val lpPower(Operator &op, const Val &x, double p) {
  Emitter &emit = op.emit;
  Val wide = emit.widen(x);
  if (p == 2)
    return emit.mul(wide, wide);
  Val magnitude = emit.unary<graph::AbsOp>(wide);
  return p == 1 ? magnitude : emit.binary<graph::PowOp>(magnitude, p);
}

/// The exponent of an Lp pooling.
static std::optional<double> lpExponent(Operator &op, const Val &x) {
  int64_t p = op.intAttr("p", 2);
  if (!x || !op.requireSupport(p >= 1 && p < 1024, "unsupported p") ||
      !op.require(isFloat(x.dtype), "expected a float tensor"))
    return std::nullopt;
  return static_cast<double>(p);
}

static void importLpPool(Operator &op) {
  Val x;
  auto w = readPooling(op, x);
  auto p = lpExponent(op, x);
  if (w && p)
    op.out(lpFinish(op,
                    reduceWindows(op, ReduceKind::sum, lpPower(op, x, *p), *w),
                    *p, x.dtype));
}

//===----------------------------------------------------------------------===//
// Global pooling
//===----------------------------------------------------------------------===//

/// The input of a global pooling and its spatial dimensions.
static std::optional<Dims> spatialDims(Operator &op, Val &x) {
  x = op.in(0);
  if (!x || !op.require(x.rank() >= 3,
                        "expected rank 3 or more, found " + describe(x.shape)))
    return std::nullopt;
  return countUp(x.rank() - 2, 2);
}

static void importGlobalMaxPool(Operator &op) {
  Val x;
  if (auto dims = spatialDims(op, x))
    op.out(op.emit.reduce(ReduceKind::max, x, *dims, /*keepDims=*/true));
}

static void importGlobalAveragePool(Operator &op) {
  Val x;
  auto dims = spatialDims(op, x);
  if (!dims)
    return;
  double count = 1;
  for (int64_t d : *dims)
    count *= static_cast<double>(x.shape[d]);
  Val sum = op.emit.reduce(ReduceKind::sum, op.emit.widen(x), *dims, true);
  op.out(op.emit.cast(op.emit.binary<graph::DivOp>(sum, count), x.dtype));
}

static void importGlobalLpPool(Operator &op) {
  Val x;
  auto dims = spatialDims(op, x);
  auto p = lpExponent(op, x);
  if (dims && p)
    op.out(lpFinish(
        op, op.emit.reduce(ReduceKind::sum, lpPower(op, x, *p), *dims, true),
        *p, x.dtype));
}

void importer::addPooling(Registry &registry) {
  registry.add("MaxPool", importMaxPool);
  registry.add("AveragePool", importAveragePool);
  registry.add("LpPool", importLpPool);
  registry.add("GlobalMaxPool", importGlobalMaxPool);
  registry.add("GlobalAveragePool", importGlobalAveragePool);
  registry.add("GlobalLpPool", importGlobalLpPool);
}
