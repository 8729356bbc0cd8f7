//===- NumericTest.cpp - tests of exact conversions -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Support/Numeric.h"

#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace fusec;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Narrow {
  DType type;
  unsigned bits;
  uint64_t maxFinite;
  bool hasInf;
};
const Narrow kNarrow[] = {
    {DType::F16, 16, 0x7BFF, true},
    {DType::BF16, 16, 0x7F7F, true},
    {DType::F8E4M3, 8, 0x7E, false},
    {DType::F8E5M2, 8, 0x7B, true},
};

TEST(Numeric, EveryNarrowPatternSurvivesARoundTrip) {
  for (const Narrow &f : kNarrow)
    for (uint64_t bits = 0; bits < (uint64_t(1) << f.bits); ++bits) {
      double value = decodeFloat(f.type, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(roundToFloat(f.type, value)));
        continue;
      }
      ASSERT_EQ(encodeFloat(f.type, value), bits) << name(f.type).str();
      ASSERT_EQ(std::signbit(value), bool(bits >> (f.bits - 1)));
    }
}

TEST(Numeric, NarrowValuesIncreaseAndMidpointsTieToEven) {
  for (const Narrow &f : kNarrow)
    for (uint64_t bits = 0; bits < f.maxFinite; ++bits) {
      double low = decodeFloat(f.type, bits);
      double high = decodeFloat(f.type, bits + 1);
      ASSERT_LT(low, high);
      double middle = (low + high) / 2; // exact in f64
      uint64_t even = bits + (bits & 1);
      ASSERT_EQ(encodeFloat(f.type, middle), even) << name(f.type).str();
      ASSERT_EQ(encodeFloat(f.type, std::nextafter(middle, 0)), bits);
      ASSERT_EQ(encodeFloat(f.type, std::nextafter(middle, kInf)), bits + 1);
    }
}

TEST(Numeric, OverflowFollowsTheFormat) {
  for (const Narrow &f : kNarrow) {
    double top = decodeFloat(f.type, f.maxFinite);
    double below = decodeFloat(f.type, f.maxFinite - 1);
    double half = top + (top - below) / 2;
    // The largest pattern of f8e4m3 is even, so the midpoint stays finite.
    uint64_t atHalf = encodeFloat(f.type, half);
    EXPECT_EQ(atHalf == f.maxFinite, (f.maxFinite & 1) == 0);
    for (double v : {std::nextafter(half, kInf), 1e300, kInf}) {
      double wide = roundToFloat(f.type, v);
      EXPECT_TRUE(f.hasInf ? wide == kInf : std::isnan(wide));
      EXPECT_EQ(roundToFloat(f.type, v, Overflow::Saturate), top);
      EXPECT_EQ(roundToFloat(f.type, -v, Overflow::Saturate), -top);
    }
    EXPECT_TRUE(std::isnan(roundToFloat(f.type, kNaN, Overflow::Saturate)));
  }
}

TEST(Numeric, KnownValues) {
  EXPECT_EQ(decodeFloat(DType::F8E4M3, 0x7E), 448);
  EXPECT_EQ(decodeFloat(DType::F8E4M3, 0x01), std::ldexp(1, -9));
  EXPECT_EQ(decodeFloat(DType::F8E5M2, 0x7B), 57344);
  EXPECT_EQ(decodeFloat(DType::F8E5M2, 0x01), std::ldexp(1, -16));
  EXPECT_EQ(decodeFloat(DType::F16, 0x3555), 0.333251953125);
  EXPECT_EQ(decodeFloat(DType::BF16, 0x4049), 3.140625);
  EXPECT_EQ(encodeFloat(DType::F16, 65519.999), 0x7BFFu);
  EXPECT_EQ(encodeFloat(DType::F16, 65520), 0x7C00u);
  EXPECT_EQ(encodeFloat(DType::F16, -0.0), 0x8000u);
  EXPECT_EQ(encodeFloat(DType::F16, 5e-324), 0u);
}

TEST(Numeric, RoundsOnceFromF64) {
  // Rounding to f32 first would land on the f16 midpoint and tie to even.
  double justAbove = 1 + std::ldexp(1, -11) + std::ldexp(1, -40);
  EXPECT_EQ(encodeFloat(DType::F16, justAbove), 0x3C01u);
  EXPECT_EQ(encodeFloat(DType::F16, static_cast<float>(justAbove)), 0x3C00u);
}

TEST(Numeric, F32AgreesWithTheHardware) {
  std::mt19937_64 random(1);
  auto check = [](double value) {
    float expected = static_cast<float>(value);
    uint64_t bits = encodeFloat(DType::F32, value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(std::bit_cast<float>(uint32_t(bits))));
    } else {
      ASSERT_EQ(bits, std::bit_cast<uint32_t>(expected)) << value;
    }
  };
  for (int i = 0; i < 200000; ++i) {
    check(std::bit_cast<double>(random()));
    // Exponents around f32's limits, subnormals included.
    check(std::ldexp(1 + static_cast<double>(random() >> 11) * 0x1p-53,
                     static_cast<int>(random() % 290) - 155));
    uint32_t bits = static_cast<uint32_t>(random());
    float f = std::bit_cast<float>(bits);
    if (!std::isnan(f)) {
      ASSERT_EQ(decodeFloat(DType::F32, bits), f);
    }
  }
  for (double v : {0.0, -0.0, kInf, -kInf, kNaN, 0x1p-149, 0x1p-150, 0x1.8p-150,
                   0x1.fffffefp127, 0x1.ffffffp127})
    check(v);
}

TEST(Numeric, F64IsUnchangedExceptForSaturation) {
  EXPECT_EQ(roundToFloat(DType::F64, 1e308), 1e308);
  EXPECT_EQ(roundToFloat(DType::F64, -kInf), -kInf);
  EXPECT_EQ(roundToFloat(DType::F64, -kInf, Overflow::Saturate),
            -std::numeric_limits<double>::max());
  EXPECT_TRUE(std::isnan(roundToFloat(DType::F64, kNaN, Overflow::Saturate)));
}

TEST(Numeric, LargeIntegersRoundOnceToFloat) {
  // 2^24 + 1 + 2^-something cannot be an integer; use 2^60-sized ones, where
  // f64 would round onto the f32 midpoint.
  int64_t value = (int64_t(1) << 60) + (int64_t(1) << 36) + 1;
  EXPECT_EQ(roundToFloat(DType::F32, toF64RoundToOdd(value)),
            static_cast<double>(static_cast<float>(value)));
  EXPECT_NE(static_cast<double>(static_cast<float>(static_cast<double>(value))),
            static_cast<double>(static_cast<float>(value)));
  std::mt19937_64 random(2);
  for (int i = 0; i < 200000; ++i) {
    uint64_t raw = random() >> (random() % 64);
    int64_t v = static_cast<int64_t>(raw);
    ASSERT_EQ(static_cast<float>(toF64RoundToOdd(v)), static_cast<float>(v));
    ASSERT_EQ(static_cast<float>(toF64RoundToOdd(raw)),
              static_cast<float>(raw));
  }
  EXPECT_EQ(toF64RoundToOdd(std::numeric_limits<int64_t>::min()), -0x1p63);
}

TEST(Numeric, FloatToSignedSaturates) {
  EXPECT_EQ(toSignedSaturating(kNaN, 8), 0);
  EXPECT_EQ(toSignedSaturating(127.99, 8), 127);
  EXPECT_EQ(toSignedSaturating(128, 8), 127);
  EXPECT_EQ(toSignedSaturating(-128.99, 8), -128);
  EXPECT_EQ(toSignedSaturating(-129, 8), -128);
  EXPECT_EQ(toSignedSaturating(-0.9, 8), 0);
  EXPECT_EQ(toSignedSaturating(7.5, 4), 7);
  EXPECT_EQ(toSignedSaturating(-9, 4), -8);
  EXPECT_EQ(toSignedSaturating(0x1p63, 64), INT64_MAX);
  EXPECT_EQ(toSignedSaturating(-0x1p63, 64), INT64_MIN);
  EXPECT_EQ(toSignedSaturating(0x1.fffffffffffffp62, 64), INT64_MAX - 1023);
  EXPECT_EQ(toSignedSaturating(kInf, 64), INT64_MAX);
  EXPECT_EQ(toSignedSaturating(-kInf, 32), INT32_MIN);
}

TEST(Numeric, FloatToUnsignedSaturates) {
  EXPECT_EQ(toUnsignedSaturating(kNaN, 8), 0u);
  EXPECT_EQ(toUnsignedSaturating(-1, 8), 0u);
  EXPECT_EQ(toUnsignedSaturating(255.9, 8), 255u);
  EXPECT_EQ(toUnsignedSaturating(256, 8), 255u);
  EXPECT_EQ(toUnsignedSaturating(16, 4), 15u);
  EXPECT_EQ(toUnsignedSaturating(0x1p64, 64), UINT64_MAX);
  EXPECT_EQ(toUnsignedSaturating(0x1p63, 64), uint64_t(1) << 63);
  EXPECT_EQ(toUnsignedSaturating(-kInf, 64), 0u);
}

TEST(Numeric, IntegersWrapToTheirWidth) {
  EXPECT_EQ(wrapSigned(128, 8), -128);
  EXPECT_EQ(wrapSigned(-129, 8), 127);
  EXPECT_EQ(wrapSigned(8, 4), -8);
  EXPECT_EQ(wrapSigned(INT64_MIN, 64), INT64_MIN);
  EXPECT_EQ(wrapUnsigned(256, 8), 0u);
  EXPECT_EQ(wrapUnsigned(uint64_t(-1), 4), 15u);
  EXPECT_EQ(wrapUnsigned(uint64_t(-1), 64), UINT64_MAX);
}

TEST(Numeric, CheckedArithmeticReportsOverflow) {
  EXPECT_EQ(checkedMul(int64_t(1) << 31, int64_t(1) << 31), int64_t(1) << 62);
  EXPECT_FALSE(checkedMul(int64_t(1) << 32, int64_t(1) << 31));
  EXPECT_FALSE(checkedMul(INT64_MIN, -1));
  EXPECT_FALSE(checkedAdd(INT64_MAX, 1));
  EXPECT_EQ(checkedAdd(INT64_MAX, -1), INT64_MAX - 1);
  EXPECT_FALSE(checkedSub(INT64_MIN, 1));
}

TEST(Numeric, ElementCountRefusesHostileShapes) {
  auto count = [](std::vector<int64_t> shape) -> int64_t {
    auto result = elementCount(shape);
    if (!result) {
      llvm::consumeError(result.takeError());
      return -1;
    }
    return *result;
  };
  EXPECT_EQ(count({}), 1);
  EXPECT_EQ(count({0}), 0);
  EXPECT_EQ(count({3, 0, 5}), 0);
  EXPECT_EQ(count({7, 11, 13}), 1001);
  EXPECT_EQ(count({-1}), -1);
  EXPECT_EQ(count({INT64_MIN}), -1);
  EXPECT_EQ(count({int64_t(1) << 32, int64_t(1) << 32}), -1);
  EXPECT_EQ(count({int64_t(1) << 62, 2, 2}), -1);
  EXPECT_EQ(count({0, int64_t(1) << 62, 2, 2}), -1);
  EXPECT_EQ(count({0, -1}), -1);
  EXPECT_EQ(count(std::vector<int64_t>(64, 1)), 1);
  EXPECT_EQ(count(std::vector<int64_t>(65, 1)), -1);
}

TEST(Numeric, ByteCountHonoursItsCap) {
  auto ok = byteCount(DType::F64, {16}, 128);
  ASSERT_TRUE(bool(ok));
  EXPECT_EQ(*ok, 128);
  auto above = byteCount(DType::F64, {17}, 128);
  ASSERT_FALSE(bool(above));
  EXPECT_EQ(llvm::toString(above.takeError()),
            "a tensor of 17 elements of type f64 is above the limit of 128 "
            "bytes");
  auto wraps = byteCount(DType::F64, {int64_t(1) << 61}, INT64_MAX);
  EXPECT_FALSE(bool(wraps));
  llvm::consumeError(wraps.takeError());
}

} // namespace
