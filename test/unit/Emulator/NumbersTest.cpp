//===- NumbersTest.cpp - narrow floats, exhaustively ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracle is a search: all finite values of a format, sorted, made from the
// definition of the format in f64; the nearest one, ties to the even code.
//===----------------------------------------------------------------------===//
#include "Numbers.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

using namespace fusec::runtime::emulator;

namespace {

struct Case {
  int format;
  int bits, fraction, bias;
  bool infinity; // the top exponent means infinity and NaN
};

constexpr Case kCases[] = {{FusecF16, 16, 10, 15, true},
                           {FusecBF16, 16, 7, 127, true},
                           {FusecF8E4M3, 8, 3, 7, false},
                           {FusecF8E5M2, 8, 2, 15, true}};

class Numbers : public testing::TestWithParam<Case> {
protected:
  /// The value of a non-negative code by definition; NaN where it is none.
  static double value(const Case &c, int code) {
    int exponent = code >> c.fraction, f = code & ((1 << c.fraction) - 1);
    int top = (1 << (c.bits - 1 - c.fraction)) - 1;
    if (c.infinity && exponent == top)
      return f == 0 ? INFINITY : NAN;
    if (!c.infinity && exponent == top && f == (1 << c.fraction) - 1)
      return NAN;
    double scale = std::pow(2.0, std::max(exponent, 1) - c.bias - c.fraction);
    return (f + (exponent ? 1 << c.fraction : 0)) * scale;
  }
  static int largest(const Case &c) {
    int code = (1 << (c.bits - 1)) - 1;
    while (!std::isfinite(value(c, code)))
      --code;
    return code;
  }
  /// Nearest code of a finite non-negative x; one past `largest` is overflow.
  static int nearest(const Case &c, double x) {
    int high = 0, max = largest(c);
    int step = 1 << (c.bits - 2);
    for (int low = 0; step; step /= 2)
      if (low + step <= max && value(c, low + step) <= x)
        high = low += step;
    int low = high;
    double below = value(c, low);
    double above =
        low < max ? value(c, low + 1) : 2 * value(c, max) - value(c, max - 1);
    if (x - below != above - x)
      return x - below < above - x ? low : low + 1;
    return low % 2 == 0 ? low : low + 1;
  }
  static void check(const Case &c, double x) {
    int sign = std::signbit(x) ? 1 << (c.bits - 1) : 0;
    int max = largest(c);
    int code = std::isinf(x) ? max + 1 : nearest(c, std::fabs(x));
    ASSERT_EQ(encodeFloat(c.format, x, false), sign | std::min(code, max + 1))
        << x;
    ASSERT_EQ(encodeFloat(c.format, x, true), sign | std::min(code, max)) << x;
  }
};

TEST_P(Numbers, DecodesEveryCode) {
  const Case &c = GetParam();
  for (int code = 0; code < 1 << (c.bits - 1); ++code) {
    double expected = value(c, code);
    for (int sign : {0, 1}) {
      float got = decodeFloat(c.format, uint16_t(code | sign << (c.bits - 1)));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got)) << code;
        continue;
      }
      ASSERT_EQ(double(got), sign ? -expected : expected) << code;
      ASSERT_EQ(std::signbit(got), sign == 1) << code;
      ASSERT_EQ(encodeFloat(c.format, got, false), code | sign << (c.bits - 1));
    }
  }
}

// One past the largest finite code is the code of overflow in every format, so
// the sweep covers it as well.
TEST_P(Numbers, RoundsAroundEveryBoundary) {
  const Case &c = GetParam();
  for (int code = 0; code <= largest(c); ++code) {
    double low = value(c, code);
    double high =
        code < largest(c) ? value(c, code + 1) : 2 * low - value(c, code - 1);
    double middle = (low + high) / 2;
    for (double x : {low, std::nextafter(low, INFINITY), middle,
                     std::nextafter(middle, 0), // just below a tie in f64
                     std::nextafter(middle, INFINITY)}) {
      check(c, x);
      check(c, -x);
    }
  }
}

TEST_P(Numbers, RoundsRandomValues) {
  const Case &c = GetParam();
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    uint64_t bits = random();
    double x;
    std::memcpy(&x, &bits, 8);
    if (!std::isnan(x))
      check(c, x);
    uint32_t narrow = uint32_t(random());
    float y;
    std::memcpy(&y, &narrow, 4);
    if (!std::isnan(y))
      check(c, y);
  }
  for (double x : {0.0, -0.0, HUGE_VAL, -HUGE_VAL, 4.9e-324, 1.7e308})
    check(c, x);
}

TEST_P(Numbers, KeepsNaN) {
  const Case &c = GetParam();
  for (bool saturate : {false, true})
    EXPECT_TRUE(std::isnan(
        decodeFloat(c.format, encodeFloat(c.format, NAN, saturate))));
}

INSTANTIATE_TEST_SUITE_P(Formats, Numbers, testing::ValuesIn(kCases));

} // namespace
