//===- ResizeWeights.h - where a resize reads from --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes are known at import, so positions and weights of every axis are plain
// numbers, in f64.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FRONTEND_ONNX_RESIZEWEIGHTS_H
#define FUSEC_LIB_FRONTEND_ONNX_RESIZEWEIGHTS_H

#include "Operator.h"

namespace fusec::onnx::importer {

/// What a resize does on one axis.
struct AxisPlan {
  int64_t axis, in, out;
  double scale;   // as given, or out / in
  double resized; // in * scale before rounding to out
  /// The part of the input that tf_crop_and_resize takes, 0 to 1.
  double roiStart = 0, roiEnd = 1;
};

/// The attributes of a resize.
struct ResizeModes {
  std::string mode, coordinate, nearest;
  /// The cubic's coefficient, and what stands where a crop is outside.
  double cubic = -0.75, extrapolation = 0;
  bool antialias = false, excludeOutside = false;

  bool crops() const { return coordinate == "tf_crop_and_resize"; }
};

/// The elements that make one output position each, with weights whose sum
/// is 1.
struct Taps {
  /// How many a position has.
  int64_t count = 1;
  /// out * count entries, those of a position together. Sources are inside.
  Dims sources;
  std::vector<double> weights;
};

/// The source position of output position `i`.
double sourceOf(const AxisPlan &p, const ResizeModes &m, int64_t i);

/// Whether output position `i` is outside of the input (tf_crop_and_resize).
bool isOutside(const AxisPlan &p, const ResizeModes &m, int64_t i);

/// How many taps a position has in mode linear or cubic.
int64_t tapCount(const AxisPlan &p, const ResizeModes &m);

/// All taps of an axis with in > 0: mode nearest, linear or cubic.
Taps tapsOf(const AxisPlan &p, const ResizeModes &m);

} // namespace fusec::onnx::importer

#endif // FUSEC_LIB_FRONTEND_ONNX_RESIZEWEIGHTS_H
