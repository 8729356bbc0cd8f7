//===- ImportResize.cpp - interpolation -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes are known, so the source positions of every axis are constants: nearest
// is a gather per axis, linear two gathers and a weighted sum, cubic and
// antialiasing a gather of all neighbours and a sum.
//===----------------------------------------------------------------------===//
#include "ResizeWeights.h"

#include <cmath>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ReduceKind;

/// `values` shaped to be broadcast along `axis` of `x`, which has become as
/// many dimensions as there are `lengths`.
static Val alongAxis(Operator &op, const Val &x, int64_t axis, Val values,
                     DimsRef lengths) {
  if (!values)
    return {};
  Dims column(x.rank() - axis - 1, 1);
  column.insert(column.begin(), lengths.begin(), lengths.end());
  return op.emit.reshape(values, column);
}

/// Numbers as a vector of `dtype`.
static Val vectorOf(Operator &op, DType dtype, llvm::ArrayRef<double> numbers) {
  auto tensor =
      HostTensor::create(dtype, {static_cast<int64_t>(numbers.size())});
  if (!tensor)
    return op.fail(llvm::toString(tensor.takeError()));
  for (auto [i, number] : llvm::enumerate(numbers))
    tensor->setF64(i, number);
  return op.emit.fromConstant(std::move(*tensor));
}

/// a * (1 - w) + b * w with a and b the neighbours; x is f32 or f64.
static Val resizeLinear(Operator &op, const Val &x, const AxisPlan &p,
                        const ResizeModes &m) {
  Dims low, high;
  std::vector<double> weights;
  for (int64_t i = 0; i < p.out; ++i) {
    double at = isOutside(p, m, i) ? 0 : sourceOf(p, m, i);
    double base = std::floor(at);
    weights.push_back(at - base);
    int64_t left = static_cast<int64_t>(base);
    low.push_back(std::clamp<int64_t>(left, 0, p.in - 1));
    high.push_back(std::clamp<int64_t>(left + 1, 0, p.in - 1));
  }
  Emitter &emit = op.emit;
  Val w = alongAxis(op, x, p.axis, vectorOf(op, x.dtype, weights), {p.out});
  if (!w)
    return {};
  Val one = emit.scalar(x.dtype, 1);
  Val a = emit.gather(x, emit.vector(low), p.axis);
  Val b = emit.gather(x, emit.vector(high), p.axis);
  return emit.add(emit.mul(a, emit.sub(one, w)), emit.mul(b, w));
}

/// A weighted sum of several neighbours; x is f32 or f64.
static Val resizeFiltered(Operator &op, const Val &x, const AxisPlan &p,
                          const ResizeModes &m) {
  Taps taps = tapsOf(p, m);
  Emitter &emit = op.emit;
  Dims shape = x.shape;
  shape[p.axis] = p.out;
  shape.insert(shape.begin() + p.axis + 1, taps.count);
  Val w = alongAxis(op, x, p.axis, vectorOf(op, x.dtype, taps.weights),
                    {p.out, taps.count});
  Val near =
      emit.reshape(emit.gather(x, emit.vector(taps.sources), p.axis), shape);
  if (!w || !near)
    return {};
  return emit.reduce(ReduceKind::sum, emit.mul(near, w), {p.axis + 1});
}

static Val resizeAxis(Operator &op, const Val &x, const AxisPlan &p,
                      const ResizeModes &m) {
  bool nearest = m.mode == "nearest";
  auto count = nearest ? p.out : checkedMul(p.out, tapCount(p, m));
  if (!op.requireSupport(count.has_value(), "the filter is too wide") ||
      !op.emit.charge(*count))
    return {};
  if (nearest)
    return op.emit.gather(x, op.emit.vector(tapsOf(p, m).sources), p.axis);
  if (m.mode == "linear" && !m.antialias)
    return resizeLinear(op, x, p, m);
  return resizeFiltered(op, x, p, m);
}

/// The extrapolation value where any axis is outside of the input.
static Val extrapolate(Operator &op, Val x, llvm::ArrayRef<AxisPlan> plans,
                       const ResizeModes &m) {
  for (const AxisPlan &p : plans) {
    std::vector<double> outside;
    for (int64_t i = 0; i < p.out; ++i)
      outside.push_back(isOutside(p, m, i));
    if (!x || !llvm::is_contained(outside, 1))
      continue;
    Val mask =
        alongAxis(op, x, p.axis, vectorOf(op, x.dtype, outside), {p.out});
    if (!mask)
      return {};
    Emitter &emit = op.emit;
    mask = emit.broadcastTo(emit.cast(mask, DType::Bool), x.shape);
    x = emit.select(mask, emit.splat(x.dtype, m.extrapolation, x.shape), x);
  }
  return x;
}

/// Applies the plans axis by axis.
static void resize(Operator &op, Val x, llvm::ArrayRef<AxisPlan> plans,
                   const ResizeModes &m) {
  bool nearest = m.mode == "nearest";
  if (!op.require(nearest || m.mode == "linear" || m.mode == "cubic",
                  "unknown mode " + quoted(m.mode)) ||
      !op.requireSupport(nearest || isFloat(x.dtype),
                         "interpolation of integers is not supported"))
    return;
  DType dtype = x.dtype;
  if (!nearest)
    x = op.emit.widen(x);
  for (const AxisPlan &p : plans) {
    if (!x ||
        !op.require((p.in > 0 || p.out == 0) && p.out < (int64_t(1) << 24),
                    "cannot resize axis " + llvm::Twine(p.axis) + " from " +
                        llvm::Twine(p.in) + " to " + llvm::Twine(p.out)))
      return;
    if (p.in == p.out && (p.in == 0 || (p.scale == 1 && !m.crops())))
      continue;
    x = resizeAxis(op, x, p, m);
  }
  op.out(op.emit.cast(extrapolate(op, x, plans, m), dtype));
}

/// Numbers of a float input that must be known; nothing if it is empty.
static std::optional<std::vector<double>>
constNumbers(Operator &op, size_t input, llvm::StringRef what) {
  Val val = op.in(input);
  if (!val || !op.requireSupport(val.constant && isFloat(val.dtype) &&
                                     val.rank() <= 1 && val.elements() <= 64,
                                 "the " + what + " must be known at import"))
    return std::nullopt;
  std::vector<double> out;
  for (int64_t i = 0; i < val.elements(); ++i)
    out.push_back(val.constant->getF64(i));
  return out;
}

/// A plan from a scale; the size is floor(in * scale).
static std::optional<AxisPlan> planScale(Operator &op, const Val &x,
                                         int64_t axis, double scale) {
  int64_t in = x.shape[axis];
  double resized = static_cast<double>(in) * scale;
  if (!op.require(
          scale > 0 && resized < 0x1p40,
          "expected a positive scale that leaves a size below 2^40 for axis " +
              llvm::Twine(axis)))
    return std::nullopt;
  return AxisPlan{axis, in, static_cast<int64_t>(std::floor(resized)), scale,
                  resized};
}

/// Plans from sizes under keep_aspect_ratio_policy.
static std::optional<llvm::SmallVector<AxisPlan>>
planSizes(Operator &op, const Val &x, DimsRef axes, DimsRef sizes) {
  std::string policy = op.stringAttr("keep_aspect_ratio_policy", "stretch");
  bool larger = policy == "not_smaller";
  if (!op.require(policy == "stretch" || larger || policy == "not_larger",
                  "unknown policy " + quoted(policy)))
    return std::nullopt;
  double common = larger ? 0 : INFINITY;
  llvm::SmallVector<AxisPlan> plans;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t in = x.shape[axes[i]];
    bool fits = sizes[i] >= 0 && sizes[i] < (int64_t(1) << 40);
    if (!op.require((in > 0 && fits) || sizes[i] == 0,
                    "cannot resize axis " + llvm::Twine(axes[i]) + " from " +
                        llvm::Twine(in) + " to " + llvm::Twine(sizes[i])))
      return std::nullopt;
    double scale =
        in == 0 ? 1 : static_cast<double>(sizes[i]) / static_cast<double>(in);
    common = larger ? std::max(common, scale) : std::min(common, scale);
    plans.push_back(
        {axes[i], in, sizes[i], scale, static_cast<double>(sizes[i])});
  }
  if (policy == "stretch")
    return plans;
  for (AxisPlan &p : plans) {
    p.scale = common;
    p.resized = static_cast<double>(p.in) * common;
    if (!op.require(p.resized < 0x1p40,
                    "axis " + llvm::Twine(p.axis) + " becomes too large"))
      return std::nullopt;
    p.out = static_cast<int64_t>(std::floor(p.resized + 0.5));
  }
  return plans;
}

/// Reads the region of interest: all starts, then all ends.
static bool readRoi(Operator &op, llvm::MutableArrayRef<AxisPlan> plans) {
  auto roi = constNumbers(op, 1, "region");
  if (!roi || !op.require(roi->size() == 2 * plans.size(),
                          "expected " + llvm::Twine(2 * plans.size()) +
                              " numbers in the region, found " +
                              llvm::Twine(roi->size())))
    return false;
  for (auto [i, p] : llvm::enumerate(plans)) {
    p.roiStart = (*roi)[i];
    p.roiEnd = (*roi)[i + plans.size()];
    if (!op.require(std::abs(p.roiStart) < 0x1p20 &&
                        std::abs(p.roiEnd) < 0x1p20,
                    "expected a region within 2^20 times the input"))
      return false;
  }
  return true;
}

static void importResize(Operator &op) {
  Val x = op.in(0);
  if (!x)
    return;
  bool old = op.opset < 11; // two inputs, asymmetric
  ResizeModes m{
      op.stringAttr("mode", "nearest"),
      op.stringAttr("coordinate_transformation_mode",
                    old ? "asymmetric" : "half_pixel"),
      op.stringAttr("nearest_mode", old ? "floor" : "round_prefer_floor"),
      op.floatAttr("cubic_coeff_a", -0.75F),
      op.floatAttr("extrapolation_value", 0),
      op.intAttr("antialias", 0) != 0,
      op.intAttr("exclude_outside", 0) != 0};
  static constexpr llvm::StringRef kKnown[] = {
      "half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
      "align_corners", "asymmetric",           "tf_crop_and_resize"};
  if (!op.requireSupport(llvm::is_contained(kKnown, m.coordinate),
                         "unsupported coordinate mode " + quoted(m.coordinate)))
    return;
  std::optional<Dims> axes = op.intsAttr("axes");
  axes = op.axes(axes ? *axes : countUp(x.rank()), x.rank());
  if (!axes)
    return;
  llvm::SmallVector<AxisPlan> plans;
  size_t scalesInput = old ? 1 : 2;
  std::vector<double> scales;
  if (op.hasInput(scalesInput))
    if (auto given = constNumbers(op, scalesInput, "scales"))
      scales = *given;
  if (op.failed())
    return;
  if (!scales.empty()) {
    op.ignore({"keep_aspect_ratio_policy"});
    if (!op.require(scales.size() == axes->size(),
                    "expected one scale per axis"))
      return;
    for (size_t i = 0; i < axes->size(); ++i) {
      auto plan = planScale(op, x, (*axes)[i], scales[i]);
      if (!plan)
        return;
      plans.push_back(*plan);
    }
  } else {
    auto sizes = op.constInts(3);
    if (!sizes || !op.require(sizes->size() == axes->size(),
                              "expected one size per axis"))
      return;
    auto planned = planSizes(op, x, *axes, *sizes);
    if (!planned)
      return;
    plans = *planned;
  }
  if (m.crops() && !readRoi(op, plans))
    return;
  resize(op, x, plans, m);
}

/// The forerunner of Resize: asymmetric, rounding down.
static void importUpsample(Operator &op) {
  Val x = op.in(0);
  ResizeModes m{op.stringAttr("mode", "nearest"), "asymmetric", "floor"};
  std::vector<double> scales;
  if (op.opset < 9) {
    if (auto given = op.floatsAttr("scales"))
      scales.assign(given->begin(), given->end());
  } else if (auto given = constNumbers(op, 1, "scales")) {
    scales = *given;
  }
  if (!x || !op.require(scales.size() == x.shape.size(),
                        "expected one scale per axis"))
    return;
  llvm::SmallVector<AxisPlan> plans;
  for (int64_t d = 0; d < x.rank(); ++d) {
    auto plan = planScale(op, x, d, scales[d]);
    if (!plan)
      return;
    plans.push_back(*plan);
  }
  resize(op, x, plans, m);
}

void importer::addResize(Registry &registry) {
  registry.add("Resize", importResize);
  registry.add("Upsample", importUpsample);
}
