//===- HostMath.cpp - functions that host kernels may call ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f32 functions compute in f64 by the C library and round once, so their error
// is at most 0.5 ulp plus the f64 error (about 1e-9 ulp). f64 functions are the
// C library's. The frequent f32 ones are inline code of kernels instead.
//===----------------------------------------------------------------------===//
#include "HostMath.h"
#include "fusec/Support/Numeric.h"

#include <cmath>
#include <cstring>

using namespace fusec;
using namespace fusec::runtime;

static double rsqrtOf(double x) { return 1.0 / std::sqrt(x); }
// The C library's own is off by up to 3 ulp in f64.
static double cbrtOf(double x) {
  return static_cast<double>(std::cbrt(static_cast<long double>(x)));
}

#define FUSEC_UNARY(X)                                                         \
  X(exp, std::exp)                                                             \
  X(exp2, std::exp2)                                                           \
  X(expm1, std::expm1)                                                         \
  X(log, std::log)                                                             \
  X(log2, std::log2)                                                           \
  X(log10, std::log10)                                                         \
  X(log1p, std::log1p)                                                         \
  X(sin, std::sin)                                                             \
  X(cos, std::cos)                                                             \
  X(tan, std::tan)                                                             \
  X(asin, std::asin)                                                           \
  X(acos, std::acos)                                                           \
  X(atan, std::atan)                                                           \
  X(sinh, std::sinh)                                                           \
  X(cosh, std::cosh)                                                           \
  X(tanh, std::tanh)                                                           \
  X(asinh, std::asinh)                                                         \
  X(acosh, std::acosh)                                                         \
  X(atanh, std::atanh)                                                         \
  X(erf, std::erf)                                                             \
  X(cbrt, cbrtOf)                                                              \
  X(rsqrt, rsqrtOf)
#define FUSEC_BINARY(X)                                                        \
  X(pow, std::pow)                                                             \
  X(atan2, std::atan2)

#define FUSEC_DEFINE_UNARY(NAME, FN)                                           \
  static double NAME##F64(double x) { return FN(x); }                          \
  static float NAME##F32(float x) {                                            \
    return static_cast<float>(FN(static_cast<double>(x)));                     \
  }
FUSEC_UNARY(FUSEC_DEFINE_UNARY)
#define FUSEC_DEFINE_BINARY(NAME, FN)                                          \
  static double NAME##F64(double x, double y) { return FN(x, y); }             \
  static float NAME##F32(float x, float y) {                                   \
    return static_cast<float>(                                                 \
        FN(static_cast<double>(x), static_cast<double>(y)));                   \
  }
FUSEC_BINARY(FUSEC_DEFINE_BINARY)

// What the code generator calls on machines without half conversions. The
// argument or result is in the integer or vector register that the compiler's
// own type gives it.
static float halfToFloat(_Float16 x) {
  uint16_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return static_cast<float>(decodeFloat(DType::F16, bits));
}
static _Float16 toHalf(double x) {
  auto bits = static_cast<uint16_t>(encodeFloat(DType::F16, x));
  _Float16 result;
  std::memcpy(&result, &bits, sizeof(bits));
  return result;
}
static _Float16 floatToHalf(float x) { return toHalf(x); }

template <typename Fn>
static void *address(Fn *function) {
  return reinterpret_cast<void *>(function);
}

llvm::ArrayRef<HostSymbol> fusec::runtime::hostSymbols() {
  using Unary64 = double(double);
  using Unary32 = float(float);
  using Ternary64 = double(double, double, double);
  using Ternary32 = float(float, float, float);
#define FUSEC_SYMBOL(NAME, FN)                                                 \
  {"fusec_" #NAME "_f64", address(NAME##F64)},                                 \
      {"fusec_" #NAME "_f32", address(NAME##F32)},
#define FUSEC_LIBM(NAME)                                                       \
  {#NAME, address<Unary64>(NAME)}, {#NAME "f", address<Unary32>(NAME##f)},
  static const HostSymbol symbols[] = {
      FUSEC_UNARY(FUSEC_SYMBOL) FUSEC_BINARY(FUSEC_SYMBOL)
      // Exact functions that have no instruction on every machine.
      FUSEC_LIBM(floor) FUSEC_LIBM(ceil) FUSEC_LIBM(trunc) FUSEC_LIBM(roundeven)
          FUSEC_LIBM(sqrt){"fma", address<Ternary64>(fma)},
      {"fmaf", address<Ternary32>(fmaf)},
      {"fmod", address<double(double, double)>(fmod)},
      {"fmodf", address<float(float, float)>(fmodf)},
      {"memcpy", address(memcpy)},
      {"memmove", address(memmove)},
      {"memset", address(memset)},
      {"__extendhfsf2", address(halfToFloat)},
      {"__truncsfhf2", address(floatToHalf)},
      {"__truncdfhf2", address(toHalf)},
  };
  return symbols;
}
