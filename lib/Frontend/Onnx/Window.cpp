//===- Window.cpp - windows of pooling and convolution --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Window.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;

// Keeps every sum and product below far inside 63 bits.
static constexpr int64_t kMaxSize = int64_t(1) << 30;

std::optional<Dims> importer::spatialAttr(Operator &op, llvm::StringRef name,
                                          size_t count) {
  Dims values(count, 1);
  if (auto given = op.intsAttr(name))
    values = *given;
  bool valid = values.size() == count;
  for (int64_t v : values)
    valid &= v > 0 && v < kMaxSize;
  if (!op.require(valid, "expected " + llvm::Twine(count) +
                             " positive entries in " + quoted(name) +
                             ", found " + describe(values)))
    return std::nullopt;
  return values;
}

/// The padding of one dimension under auto_pad SAME: the result has
/// ceil(n / stride) elements; the odd element goes behind (UPPER) or in front.
static void samePads(int64_t n, int64_t stride, int64_t extent, bool upper,
                     int64_t &low, int64_t &high) {
  int64_t out = (n + stride - 1) / stride;
  int64_t total = std::max<int64_t>((out - 1) * stride + extent - n, 0);
  low = upper ? total / 2 : total - total / 2;
  high = total - low;
}

static bool readPads(Operator &op, DimsRef input, Window &w) {
  size_t rank = input.size();
  std::string mode = op.stringAttr("auto_pad", "NOTSET");
  std::optional<Dims> pads = op.intsAttr("pads");
  w.low.assign(rank, 0);
  w.high.assign(rank, 0);
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (size_t i = 0; i < rank; ++i)
      samePads(input[i], w.strides[i], w.dilations[i] * (w.kernel[i] - 1) + 1,
               mode == "SAME_UPPER", w.low[i], w.high[i]);
    return true;
  }
  if (mode == "VALID")
    return true;
  if (!op.require(mode == "NOTSET", "unknown auto_pad " + quoted(mode)))
    return false;
  if (!pads)
    return !op.failed();
  bool valid = pads->size() == 2 * rank;
  for (int64_t p : *pads)
    valid &= p >= 0 && p < kMaxSize;
  if (!op.require(valid, "expected " + llvm::Twine(2 * rank) +
                             " non-negative pads, found " + describe(*pads)))
    return false;
  w.low.assign(pads->begin(), pads->begin() + rank);
  w.high.assign(pads->begin() + rank, pads->end());
  return true;
}

std::optional<Window> importer::readWindow(Operator &op, DimsRef input,
                                           std::optional<Dims> kernel,
                                           bool hasCeilMode) {
  Window w;
  size_t rank = input.size();
  if (auto given = op.intsAttr("kernel_shape")) {
    if (!op.require(!kernel || *given == *kernel,
                    "kernel_shape " + describe(*given) +
                        " disagrees with the weights"))
      return std::nullopt;
    kernel = given;
  }
  if (!op.require(kernel.has_value(), "attribute 'kernel_shape' is missing"))
    return std::nullopt;
  w.kernel = *kernel;
  bool valid = w.kernel.size() == rank;
  for (int64_t k : w.kernel)
    valid &= k > 0 && k < kMaxSize;
  auto strides = spatialAttr(op, "strides", rank);
  auto dilations = spatialAttr(op, "dilations", rank);
  if (!strides || !dilations ||
      !op.require(valid, "expected positive kernel sizes, found " +
                             describe(w.kernel)))
    return std::nullopt;
  w.strides = *strides;
  w.dilations = *dilations;
  if (!readPads(op, input, w))
    return std::nullopt;
  bool ceil = hasCeilMode && op.intAttr("ceil_mode", 0) != 0;
  w.highForFloor = w.high;
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = w.dilations[i] * (w.kernel[i] - 1) + 1;
    int64_t room = input[i] + w.low[i] + w.high[i] - extent;
    // A window that is larger than what there is counts as a partial one.
    bool partial = room < 0 && room > -w.strides[i] && ceil;
    if (!op.require(room >= 0 || partial, "the window " + describe(w.kernel) +
                                              " is larger than the padded "
                                              "input " +
                                              describe(input)))
      return std::nullopt;
    int64_t out = partial ? 0 : room / w.strides[i] + 1;
    if (ceil && room % w.strides[i] != 0 &&
        out * w.strides[i] < input[i] + w.low[i]) {
      // A window that would start in the padding behind the data is dropped.
      ++out;
      w.highForFloor[i] =
          (out - 1) * w.strides[i] + extent - input[i] - w.low[i];
    }
    w.out.push_back(out);
  }
  return w;
}
