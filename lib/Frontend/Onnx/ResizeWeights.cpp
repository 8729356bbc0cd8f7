//===- ResizeWeights.cpp - where a resize reads from ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ResizeWeights.h"

#include <cmath>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;

double importer::sourceOf(const AxisPlan &p, const ResizeModes &m, int64_t i) {
  double x = static_cast<double>(i);
  double in = static_cast<double>(p.in);
  llvm::StringRef mode = m.coordinate;
  if (m.crops()) {
    double extent = (p.roiEnd - p.roiStart) * (in - 1);
    double at =
        p.out > 1 ? x * extent / static_cast<double>(p.out - 1) : extent / 2;
    return p.roiStart * (in - 1) + at;
  }
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

bool importer::isOutside(const AxisPlan &p, const ResizeModes &m, int64_t i) {
  double at = sourceOf(p, m, i);
  return m.crops() && !(at >= 0 && at <= static_cast<double>(p.in - 1));
}

static int64_t nearestOf(double x, llvm::StringRef mode) {
  if (mode == "floor")
    return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil")
    return static_cast<int64_t>(std::ceil(x));
  double low = std::floor(x);
  if (x - low == 0.5)
    return static_cast<int64_t>(mode == "round_prefer_ceil" ? low + 1 : low);
  return static_cast<int64_t>(std::floor(x + 0.5));
}

/// The filter at distance `x`: a triangle, or Keys' cubic.
static double filter(const ResizeModes &m, double x) {
  x = std::abs(x);
  if (m.mode == "linear")
    return x < 1 ? 1 - x : 0;
  double a = m.cubic;
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// What the filter is stretched by where pixels are joined: the scale, or 1.
static double stretch(const AxisPlan &p, const ResizeModes &m) {
  return m.antialias ? std::clamp(p.scale, 0x1p-40, 1.0) : 1.0;
}

/// The first tap relative to the pixel at or left of the source.
static int64_t firstTap(const AxisPlan &p, const ResizeModes &m) {
  double radius = m.mode == "linear" ? 1 : 2;
  return static_cast<int64_t>(std::floor(-radius / stretch(p, m))) + 1;
}

int64_t importer::tapCount(const AxisPlan &p, const ResizeModes &m) {
  return 2 - 2 * firstTap(p, m);
}

Taps importer::tapsOf(const AxisPlan &p, const ResizeModes &m) {
  Taps taps;
  bool nearest = m.mode == "nearest";
  taps.count = nearest ? 1 : tapCount(p, m);
  int64_t first = nearest ? 0 : firstTap(p, m);
  double scale = stretch(p, m);
  for (int64_t i = 0; i < p.out; ++i) {
    double at = isOutside(p, m, i) ? 0 : sourceOf(p, m, i), sum = 0;
    // The pixel left of the source, of a source on a pixel too: the filter is
    // even, so the taps are the same but for one of weight 0.
    double base = std::ceil(at) - 1;
    for (int64_t t = 0; t < taps.count; ++t) {
      int64_t source = nearest ? nearestOf(at, m.nearest)
                               : static_cast<int64_t>(base) + first + t;
      bool outside = source < 0 || source >= p.in;
      double weight =
          nearest ? 1 : filter(m, (static_cast<double>(source) - at) * scale);
      if (m.excludeOutside && outside && !nearest)
        weight = 0;
      sum += weight;
      taps.sources.push_back(std::clamp<int64_t>(source, 0, p.in - 1));
      taps.weights.push_back(weight);
    }
    for (size_t t = taps.weights.size() - taps.count; t < taps.weights.size();
         ++t)
      taps.weights[t] /= sum;
  }
  return taps;
}
