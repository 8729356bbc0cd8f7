//===- ImportResize.cpp - interpolation -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes are known, so the source positions of every axis are constants: nearest
// is a gather per axis, linear two gathers and a weighted sum. Positions are
// computed in f64.
//===----------------------------------------------------------------------===//
#include "Operator.h"

#include <cmath>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;

namespace {
/// What a resize does on one axis.
struct AxisPlan {
  int64_t axis, in, out;
  double scale;   // as given, or out / in
  double resized; // in * scale before rounding to out
};

/// The attributes of a resize.
struct Modes {
  std::string mode, coordinate, nearest;
};
} // namespace

/// The source position of output position `i`.
static double sourceOf(const AxisPlan &p, const std::string &mode, int64_t i) {
  double x = static_cast<double>(i);
  double in = static_cast<double>(p.in);
  if (mode == "asymmetric")
    return x / p.scale;
  if (mode == "align_corners")
    return p.resized == 1 ? 0 : x * (in - 1) / (p.resized - 1);
  if (mode == "pytorch_half_pixel" && p.out == 1)
    return 0;
  if (mode == "half_pixel_symmetric") {
    // The result keeps the centre of the input though `out` was rounded.
    double adjustment = static_cast<double>(p.out) / p.resized;
    double offset = in / 2 * (1 - adjustment);
    return offset + (x + 0.5) / p.scale - 0.5;
  }
  return (x + 0.5) / p.scale - 0.5;
}

static int64_t nearestOf(double x, const std::string &mode) {
  if (mode == "floor")
    return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil")
    return static_cast<int64_t>(std::ceil(x));
  double low = std::floor(x);
  if (x - low == 0.5)
    return static_cast<int64_t>(mode == "round_prefer_ceil" ? low + 1 : low);
  return static_cast<int64_t>(std::floor(x + 0.5));
}

static Val resizeNearest(Operator &op, const Val &x, const AxisPlan &p,
                         const Modes &m) {
  if (!op.emit.charge(p.out))
    return {};
  Dims source;
  for (int64_t i = 0; i < p.out; ++i)
    source.push_back(std::clamp<int64_t>(
        nearestOf(sourceOf(p, m.coordinate, i), m.nearest), 0, p.in - 1));
  return op.emit.gather(x, op.emit.vector(source), p.axis);
}

/// a * (1 - w) + b * w with a and b the neighbours; x is f32 or f64.
static Val resizeLinear(Operator &op, const Val &x, const AxisPlan &p,
                        const Modes &m) {
  if (!x)
    return {};
  Dims low, high;
  if (!op.emit.charge(p.out))
    return {};
  auto weights = HostTensor::create(x.dtype, {p.out});
  if (!weights)
    return op.fail(llvm::toString(weights.takeError()));
  for (int64_t i = 0; i < p.out; ++i) {
    double at = sourceOf(p, m.coordinate, i);
    double base = std::floor(at);
    weights->setF64(i, at - base);
    int64_t left = static_cast<int64_t>(base);
    low.push_back(std::clamp<int64_t>(left, 0, p.in - 1));
    high.push_back(std::clamp<int64_t>(left + 1, 0, p.in - 1));
  }
  Emitter &emit = op.emit;
  Dims column(x.rank() - p.axis, 1);
  column[0] = p.out;
  Val w = emit.reshape(emit.fromConstant(std::move(*weights)), column);
  if (!w)
    return {};
  Val one = emit.scalar(x.dtype, 1);
  Val a = emit.gather(x, emit.vector(low), p.axis);
  Val b = emit.gather(x, emit.vector(high), p.axis);
  return emit.add(emit.mul(a, emit.sub(one, w)), emit.mul(b, w));
}

/// Applies the plans axis by axis.
static void resize(Operator &op, Val x, llvm::ArrayRef<AxisPlan> plans,
                   const Modes &m) {
  bool linear = m.mode == "linear";
  if (!op.require(linear || m.mode == "nearest" || m.mode == "cubic",
                  "unknown mode " + quoted(m.mode)) ||
      !op.requireSupport(m.mode != "cubic", "unsupported mode 'cubic'") ||
      !op.requireSupport(!linear || isFloat(x.dtype),
                         "linear interpolation of integers is not supported"))
    return;
  DType dtype = x.dtype;
  if (linear)
    x = op.emit.widen(x);
  for (const AxisPlan &p : plans) {
    if (!x ||
        !op.require((p.in > 0 || p.out == 0) && p.out < (int64_t(1) << 24),
                    "cannot resize axis " + llvm::Twine(p.axis) + " from " +
                        llvm::Twine(p.in) + " to " + llvm::Twine(p.out)))
      return;
    if (p.in == p.out && (p.scale == 1 || p.in == 0))
      continue;
    x = linear ? resizeLinear(op, x, p, m) : resizeNearest(op, x, p, m);
  }
  op.out(op.emit.cast(x, dtype));
}

/// Scales of a float input that must be known; nothing if it is empty.
static std::optional<std::vector<double>> constScales(Operator &op,
                                                      size_t input) {
  Val val = op.in(input);
  if (!val || !op.requireSupport(val.constant && isFloat(val.dtype) &&
                                     val.rank() <= 1 && val.elements() <= 64,
                                 "the scales must be known at import"))
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

static void importResize(Operator &op) {
  Val x = op.in(0);
  if (!x)
    return;
  bool old = op.opset < 11; // two inputs, asymmetric
  Modes m{op.stringAttr("mode", "nearest"),
          op.stringAttr("coordinate_transformation_mode",
                        old ? "asymmetric" : "half_pixel"),
          op.stringAttr("nearest_mode", old ? "floor" : "round_prefer_floor")};
  op.ignore({"cubic_coeff_a", "extrapolation_value", "exclude_outside"});
  static constexpr llvm::StringRef kKnown[] = {
      "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
      "align_corners", "asymmetric"};
  if (!op.requireSupport(llvm::is_contained(kKnown, m.coordinate),
                         "unsupported coordinate mode " +
                             quoted(m.coordinate)) ||
      !op.requireSupport(op.intAttr("antialias", 0) == 0,
                         "antialiasing is not supported"))
    return;
  std::optional<Dims> axes = op.intsAttr("axes");
  axes = op.axes(axes ? *axes : countUp(x.rank()), x.rank());
  if (!axes)
    return;
  llvm::SmallVector<AxisPlan> plans;
  size_t scalesInput = old ? 1 : 2;
  std::vector<double> scales;
  if (op.hasInput(scalesInput))
    if (auto given = constScales(op, scalesInput))
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
  resize(op, x, plans, m);
}

/// The forerunner of Resize: asymmetric, rounding down.
static void importUpsample(Operator &op) {
  Val x = op.in(0);
  Modes m{op.stringAttr("mode", "nearest"), "asymmetric", "floor"};
  std::vector<double> scales;
  if (op.opset < 9) {
    if (auto given = op.floatsAttr("scales"))
      scales.assign(given->begin(), given->end());
  } else if (auto given = constScales(op, 1)) {
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
