//===- Numeric.cpp - exact number conversions -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One encoder and one decoder serve all narrow formats: a format is its
// exponent width, mantissa width and the bits of its largest finite value.
// Adding the rounding carry to the packed bits moves it into the exponent by
// itself, in the subnormal range too.
//===----------------------------------------------------------------------===//
#include "fusec/Support/Numeric.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

using namespace fusec;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

namespace {
/// A binary format with subnormals.
struct Format {
  unsigned mantissa; // stored bits
  unsigned width;    // all bits
  int bias;
  uint64_t maxFinite; // packed, sign clear
  uint64_t infinity;  // packed; 0 where the format has none
  uint64_t quietNaN;  // packed, sign clear
};
} // namespace

static Format formatOf(DType type) {
  switch (type) {
  case DType::F16:
    return {10, 16, 15, 0x7BFF, 0x7C00, 0x7E00};
  case DType::BF16:
    return {7, 16, 127, 0x7F7F, 0x7F80, 0x7FC0};
  case DType::F8E4M3:
    return {3, 8, 7, 0x7E, 0, 0x7F};
  case DType::F8E5M2:
    return {2, 8, 15, 0x7B, 0x7C, 0x7E};
  default:
    return {23, 32, 127, 0x7F7FFFFF, 0x7F800000, 0x7FC00000};
  }
}

/// `sig >> shift`, rounded to nearest even; `sig` has at most 53 bits.
static uint64_t shiftRightRounded(uint64_t sig, unsigned shift) {
  if (shift == 0)
    return sig;
  if (shift > 54)
    return 0;
  uint64_t quotient = sig >> shift;
  uint64_t rest = sig & ((uint64_t(1) << shift) - 1);
  uint64_t half = uint64_t(1) << (shift - 1);
  bool up = rest > half || (rest == half && (quotient & 1));
  return quotient + up;
}

uint64_t fusec::encodeFloat(DType type, double value, Overflow overflow) {
  uint64_t raw = std::bit_cast<uint64_t>(value);
  if (type == DType::F64 &&
      (overflow == Overflow::Infinity || !std::isinf(value)))
    return raw;
  if (type == DType::F64)
    return std::bit_cast<uint64_t>(
        std::copysign(std::numeric_limits<double>::max(), value));

  Format f = formatOf(type);
  uint64_t sign = (raw >> 63) << (f.width - 1);
  if (std::isnan(value))
    return sign | f.quietNaN;

  uint64_t beyond = overflow == Overflow::Saturate
                        ? f.maxFinite
                        : (f.infinity ? f.infinity : f.quietNaN);
  if (std::isinf(value))
    return sign | beyond;

  int biased = static_cast<int>((raw >> 52) & 0x7FF);
  uint64_t fraction = raw & ((uint64_t(1) << 52) - 1);
  if (biased == 0) // every f64 subnormal is far below half of any minimum here
    return sign;
  int exponent = biased - 1023;
  uint64_t sig = fraction | (uint64_t(1) << 52);

  int minExponent = 1 - f.bias;
  unsigned shift = 52 - f.mantissa;
  uint64_t bits;
  if (exponent >= minExponent) {
    uint64_t rounded = shiftRightRounded(sig, shift);
    bits =
        (static_cast<uint64_t>(exponent + f.bias - 1) << f.mantissa) + rounded;
  } else {
    bits = shiftRightRounded(sig, shift + (minExponent - exponent));
  }
  return sign | (bits > f.maxFinite ? beyond : bits);
}

double fusec::decodeFloat(DType type, uint64_t bits) {
  if (type == DType::F64)
    return std::bit_cast<double>(bits);
  Format f = formatOf(type);
  uint64_t magnitude = bits & ((uint64_t(1) << (f.width - 1)) - 1);
  bool negative = (bits >> (f.width - 1)) & 1;
  double result;
  if (f.infinity && magnitude == f.infinity) {
    result = std::numeric_limits<double>::infinity();
  } else if (magnitude > f.maxFinite) {
    result = std::numeric_limits<double>::quiet_NaN();
  } else {
    uint64_t fraction = magnitude & ((uint64_t(1) << f.mantissa) - 1);
    int exponent = static_cast<int>(magnitude >> f.mantissa);
    if (exponent == 0)
      exponent = 1;
    else
      fraction |= uint64_t(1) << f.mantissa;
    result = std::ldexp(static_cast<double>(fraction),
                        exponent - f.bias - static_cast<int>(f.mantissa));
  }
  return negative ? -result : result;
}

double fusec::roundToFloat(DType type, double value, Overflow overflow) {
  return decodeFloat(type, encodeFloat(type, value, overflow));
}

//===----------------------------------------------------------------------===//
// Floats and integers
//===----------------------------------------------------------------------===//

/// Drops bits beyond the 53 that f64 holds, keeping "something was lost" in
/// the lowest kept bit.
static uint64_t keepOdd(uint64_t magnitude) {
  int extra = 11 - std::countl_zero(magnitude);
  if (magnitude == 0 || extra <= 0)
    return magnitude;
  uint64_t mask = (uint64_t(1) << extra) - 1;
  uint64_t kept = magnitude & ~mask;
  return (magnitude & mask) ? kept | (uint64_t(1) << extra) : kept;
}

double fusec::toF64RoundToOdd(uint64_t value) {
  return static_cast<double>(keepOdd(value));
}

double fusec::toF64RoundToOdd(int64_t value) {
  if (value >= 0)
    return toF64RoundToOdd(static_cast<uint64_t>(value));
  return -toF64RoundToOdd(uint64_t(0) - static_cast<uint64_t>(value));
}

int64_t fusec::toSignedSaturating(double value, unsigned bits) {
  if (std::isnan(value))
    return 0;
  double bound = std::ldexp(1.0, static_cast<int>(bits) - 1);
  uint64_t top = uint64_t(1) << (bits - 1);
  double truncated = std::trunc(value);
  if (truncated >= bound)
    return static_cast<int64_t>(top - 1);
  if (truncated < -bound)
    return wrapSigned(static_cast<int64_t>(top), bits);
  return static_cast<int64_t>(truncated);
}

uint64_t fusec::toUnsignedSaturating(double value, unsigned bits) {
  if (std::isnan(value) || value <= 0)
    return 0;
  if (std::trunc(value) >= std::ldexp(1.0, static_cast<int>(bits)))
    return wrapUnsigned(~uint64_t(0), bits);
  return static_cast<uint64_t>(value);
}

int64_t fusec::wrapSigned(int64_t value, unsigned bits) {
  unsigned shift = 64 - bits;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}

uint64_t fusec::wrapUnsigned(uint64_t value, unsigned bits) {
  unsigned shift = 64 - bits;
  return (value << shift) >> shift;
}

//===----------------------------------------------------------------------===//
// Checked arithmetic
//===----------------------------------------------------------------------===//

std::optional<int64_t> fusec::checkedMul(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

std::optional<int64_t> fusec::checkedAdd(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

std::optional<int64_t> fusec::checkedSub(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_sub_overflow(a, b, &result))
    return std::nullopt;
  return result;
}

Expected<int64_t> fusec::elementCount(llvm::ArrayRef<int64_t> shape) {
  if (shape.size() > kMaxRank)
    return llvm::createStringError("rank %zu is above the limit of %zu",
                                   shape.size(), kMaxRank);
  int64_t product = 1;
  bool empty = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0)
      return llvm::createStringError("dimension %zu is negative (%lld)", i,
                                     static_cast<long long>(shape[i]));
    empty |= shape[i] == 0;
    auto next = checkedMul(product, std::max<int64_t>(shape[i], 1));
    if (!next)
      return llvm::createStringError(
          "the number of elements does not fit 63 bits");
    product = *next;
  }
  return empty ? 0 : product;
}

Expected<int64_t> fusec::byteCount(DType type, llvm::ArrayRef<int64_t> shape,
                                   int64_t maxBytes) {
  Expected<int64_t> elements = elementCount(shape);
  if (!elements)
    return elements.takeError();
  auto bytes = checkedMul(*elements, byteSize(type));
  if (!bytes || *bytes > maxBytes)
    return llvm::createStringError(
        "a tensor of %lld elements of type %s is above the limit of %lld bytes",
        static_cast<long long>(*elements), name(type).str().c_str(),
        static_cast<long long>(maxBytes));
  return *bytes;
}
