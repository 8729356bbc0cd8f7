//===- Numbers.cpp - narrow floats as the GPU rounds them -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoding scales the value so that one unit is one step of the target format
// at that magnitude and lets the f64 unit round to an integer: exact, because
// every format here has far fewer bits than f64.
//===----------------------------------------------------------------------===//
#include "Numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;

namespace {
struct Format {
  int fractionBits;
  int bias;
  int bits;
  uint16_t maxFinite;
  uint16_t overflow;
  uint16_t nan; // the one that conversions on sm_90 make, without a sign
};
} // namespace

// In the order of FusecEmuFormat.
static constexpr std::array<Format, 4> kFormats = {{
    {10, 15, 16, 0x7bff, 0x7c00, 0x7fff},
    {7, 127, 16, 0x7f7f, 0x7f80, 0x7fff},
    {3, 7, 8, 0x7e, 0x7f, 0x7f},
    {2, 15, 8, 0x7b, 0x7c, 0x7f},
}};

uint16_t emulator::encodeFloat(int32_t which, double value, bool saturate) {
  const Format &format = kFormats[which];
  uint16_t sign = std::signbit(value) ? 1u << (format.bits - 1) : 0;
  if (std::isnan(value))
    return format.nan;
  uint16_t tooLarge = saturate ? format.maxFinite : format.overflow;
  double magnitude = std::fabs(value);
  if (std::isinf(magnitude))
    return sign | tooLarge;
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias);
  // Past any format's range: keep the code arithmetic below in range.
  if (exponent > 200)
    return sign | tooLarge;
  double steps =
      std::nearbyint(std::ldexp(magnitude, format.fractionBits - exponent));
  // The codes of one sign are consecutive integers, so a carry out of the
  // fraction, or from the denormals into the normals, needs no extra case.
  int64_t code = (int64_t(exponent + format.bias - 1) << format.fractionBits) +
                 int64_t(steps);
  return sign | (code > format.maxFinite ? tooLarge : uint16_t(code));
}

static float decode(const Format &format, uint16_t bits) {
  int fraction = bits & ((1 << format.fractionBits) - 1);
  int top = (1 << (format.bits - 1 - format.fractionBits)) - 1;
  int exponent = (bits >> format.fractionBits) & top;
  bool negative = bits >> (format.bits - 1) & 1;
  uint16_t magnitude = bits & ((1 << (format.bits - 1)) - 1);
  double value;
  if (magnitude > format.maxFinite)
    // Where overflow is not NaN its code is infinity.
    value = magnitude == format.overflow && format.overflow != format.nan
                ? INFINITY
                : NAN;
  else if (exponent == 0)
    value = std::ldexp(fraction, 1 - format.bias - format.fractionBits);
  else
    value = std::ldexp(fraction + (1 << format.fractionBits),
                       exponent - format.bias - format.fractionBits);
  return static_cast<float>(negative ? -value : value);
}

float emulator::decodeFloat(int32_t which, uint16_t bits) {
  // bf16 is a shift; the others are looked up, decoding f16 being frequent.
  if (which == FusecBF16) {
    uint32_t wide = uint32_t(bits) << 16;
    float result;
    std::memcpy(&result, &wide, 4);
    return result;
  }
  static const std::array<std::vector<float>, 4> tables = [] {
    std::array<std::vector<float>, 4> made;
    for (int format : {FusecF16, FusecF8E4M3, FusecF8E5M2}) {
      uint32_t codes = 1u << kFormats[format].bits;
      for (uint32_t code = 0; code < codes; ++code)
        made[format].push_back(decode(kFormats[format], code));
    }
    return made;
  }();
  return tables[which][bits];
}
