//===- Im2colMap.cpp - what a map of convolution windows may say ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of cuTensorMapEncodeIm2col without interleaving. What it shares
// with tiled maps is checked as a tiled map of one pixel.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Im2colMap.h"

using namespace fusec;
using namespace fusec::runtime;
using llvm::Error;

static constexpr uint32_t kMaxPixels = 1024, kMaxChannels = 256;

template <typename... Args>
static Error fail(const char *format, Args... args) {
  return llvm::createStringError(
      (llvm::Twine("im2col map: ") + format).str().c_str(), args...);
}

/// Corners have 16, 8 or 5 bits in maps of 1, 2 or 3 dimensions of space.
static int64_t cornerLimit(size_t space) {
  return space == 1 ? 1 << 15 : space == 2 ? 1 << 7 : 1 << 4;
}

static Error checkBox(const Im2colMapArg &map, size_t i) {
  int64_t limit = cornerLimit(map.lower.size());
  for (int64_t corner : {map.lower[i], map.upper[i]})
    if (corner < -limit || corner >= limit)
      return fail("dimension %zu: expected corners from %lld to %lld, found "
                  "%lld",
                  i + 1, static_cast<long long>(-limit),
                  static_cast<long long>(limit - 1),
                  static_cast<long long>(corner));
  int64_t end = map.tensor.dims[i + 1] + map.upper[i];
  if (end <= map.lower[i])
    return fail("dimension %zu: expected a box that is not empty, found [%d, "
                "%lld)",
                i + 1, map.lower[i], static_cast<long long>(end));
  return Error::success();
}

Error runtime::checkIm2colMap(const Im2colMapArg &map, int64_t bufferBytes) {
  size_t rank = map.tensor.dims.size();
  if (rank < 3 || rank > 5)
    return fail("expected 3 to 5 dimensions, found %zu", rank);
  if (map.lower.size() != rank - 2 || map.upper.size() != rank - 2)
    return fail("expected corners of %zu dimensions, found %zu and %zu",
                rank - 2, map.lower.size(), map.upper.size());
  if (map.pixels < 1 || map.pixels > kMaxPixels)
    return fail("expected 1 to %u pixels, found %u", kMaxPixels, map.pixels);
  if (map.channels < 1 || map.channels > kMaxChannels)
    return fail("expected 1 to %u channels, found %u", kMaxChannels,
                map.channels);
  TensorMapArg pixel = map.tensor;
  pixel.box.assign(rank, 1);
  pixel.box[0] = map.channels;
  if (Error error = checkTensorMap(pixel, bufferBytes))
    return error;
  if (!pixel.steps.empty() && pixel.steps.back() != 1)
    return fail("expected a step of 1 from image to image, found %u",
                pixel.steps.back());
  for (size_t i = 0; i < rank - 2; ++i)
    if (Error error = checkBox(map, i))
      return error;
  return Error::success();
}
