//===- ulp.cu - how far the prelude's functions are off --------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not part of the build: a program for a machine with a GPU,
//   nvcc -O2 -std=c++17 -fmad=false -arch=native test/gpu/ulp.cu -o ulp &&
//   ./ulp
// Each function of the prelude on numbers of its whole type, f32 against the C
// library in f64, f64 against long double, f16, bf16 and float8 (every number)
// through f32 as kernels do. Prints a table: the largest and the mean error in
// units in the last place of the true value, the largest of the C library that
// the emulator uses, where the largest is, and results of the wrong kind (NaN,
// infinity, sign of zero). Exits with 1 where a function breaks its bound:
// correctly rounded, 4 units beside the rounding (what bounds of random graphs
// take, docs/verification.md), or what the prelude says of functions "near".
//===----------------------------------------------------------------------===//
#include "../../lib/Target/CUDA/device/prelude_cuda.cuh"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

using Real = long double;

static void check(cudaError_t code, const char *what) {
  if (code == cudaSuccess)
    return;
  printf("%s: %s\n", what, cudaGetErrorString(code));
  exit(2);
}

//===-- On the device -----------------------------------------------------===//

template <class F, class T>
__global__ void apply(const T *x, const T *y, T *z, i64 n) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll)
    z[i] = F::run(x[i], y[i]);
}
/// Through f32, as a kernel computes types of 16 bits and fewer.
template <class F, class T>
__global__ void applyNarrow(const f32 *x, const f32 *y, f32 *z, i64 n) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll)
    z[i] = to_f32(from_f32<T>(F::run(x[i], y[i])));
}
template <class T>
__global__ void decodeAll(f32 *x) {
  const u32 bits = blockIdx.x * 256u + threadIdx.x;
  if (bits < 1u << (8 * sizeof(T)))
    x[bits] = to_f32(T{(decltype(T::bits))bits});
}

template <class T>
struct Device {
  explicit Device(size_t count) : count(count) {
    check(cudaMalloc(&data, count * sizeof(T)), "cudaMalloc");
  }
  explicit Device(const std::vector<T> &from) : Device(from.size()) {
    cudaMemcpy(data, from.data(), count * sizeof(T), cudaMemcpyHostToDevice);
  }
  Device(const Device &) = delete;
  ~Device() { cudaFree(data); }
  std::vector<T> get() const {
    std::vector<T> result(count);
    check(cudaMemcpy(result.data(), data, count * sizeof(T),
                     cudaMemcpyDeviceToHost),
          "a kernel");
    return result;
  }
  size_t count;
  T *data = nullptr;
};

//===-- Judging -----------------------------------------------------------===//

/// A binary floating-point type: bits of its significand, least exponent of a
/// normal number, largest finite number.
struct Format {
  const char *name;
  int precision, least;
  Real largest;
};

/// The place of the last bit of numbers as large as `x`.
static Real unitOf(Real x, const Format &format) {
  int exponent = format.least;
  if (x != 0) {
    frexpl(x, &exponent);
    exponent = std::max(exponent - 1, format.least);
  }
  return ldexpl(1, exponent - format.precision + 1);
}

struct Errors {
  Real largest = 0, sum = 0;
  double at[2] = {0, 0};
  long long count = 0, wrongKind = 0;
  double kindAt[2] = {0, 0};

  void add(Real wanted, double got, const Format &format, double x, double y,
           bool flushes) {
    auto wrong = [&] {
      if (wrongKind++ == 0)
        kindAt[0] = x, kindAt[1] = y;
    };
    if (std::isnan(wanted) || std::isnan(got)) {
      if (std::isnan(wanted) != std::isnan(got))
        wrong();
      return;
    }
    if (std::isinf(got) && std::signbit(got) != std::signbit(wanted))
      return wrong();
    if (std::isinf(wanted))
      return std::isinf(got) ? void() : wrong();
    Real unit = unitOf(wanted, format);
    // Results near the end of the range may be infinite or the largest.
    if (fabsl(wanted) > format.largest) {
      if (!std::isinf(got) && fabsl(wanted - got) > 8 * unit &&
          double(format.largest) != std::fabs(got))
        wrong();
      return;
    }
    if (std::isinf(got)) {
      if (fabsl(wanted) <
          format.largest * (1 - 8 * ldexpl(1, -format.precision)))
        wrong();
      return;
    }
    if (wanted == 0 && got == 0) {
      if (std::signbit(wanted) != std::signbit(got))
        wrong();
      return;
    }
    if (flushes && fabsl(wanted) < ldexpl(1, format.least) && got == 0)
      return;
    Real error = fabsl(wanted - got) / unit;
    sum += error;
    ++count;
    if (error > largest) {
      largest = error;
      at[0] = x, at[1] = y;
    }
  }
  void add(const Errors &other) {
    sum += other.sum;
    count += other.count;
    if (other.wrongKind && !wrongKind)
      std::copy(other.kindAt, other.kindAt + 2, kindAt);
    wrongKind += other.wrongKind;
    if (other.largest > largest) {
      largest = other.largest;
      std::copy(other.at, other.at + 2, at);
    }
  }
};

/// Runs body(begin, end, errors) on all cores.
template <class Body>
static Errors onCores(size_t n, Body body) {
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Errors> errors(cores);
  std::vector<std::thread> threads;
  for (unsigned c = 0; c < cores; ++c)
    threads.emplace_back(
        [&, c] { body(n * c / cores, n * (c + 1) / cores, errors[c]); });
  Errors all;
  for (unsigned c = 0; c < cores; ++c) {
    threads[c].join();
    all.add(errors[c]);
  }
  return all;
}

static int failures = 0;

static void print(const std::string &name, const Format &format,
                  const Errors &gpu, const Errors *cpu, double bound) {
  bool fails = !(double(gpu.largest) <= bound) || gpu.wrongKind != 0;
  failures += fails;
  printf("| %s | %s | %.3f | %.4f | ", name.c_str(), format.name,
         double(gpu.largest), double(gpu.sum / std::max(gpu.count, 1ll)));
  if (cpu)
    printf("%.3f", double(cpu->largest));
  printf(" | %.9g", gpu.at[0]);
  if (gpu.at[1] != 0)
    printf(", %.9g", gpu.at[1]);
  printf(" | ");
  if (gpu.wrongKind)
    printf("%lld, first at %.9g, %.9g", gpu.wrongKind, gpu.kindAt[0],
           gpu.kindAt[1]);
  printf(" |%s\n", fails ? " BREAKS ITS BOUND" : "");
  fflush(stdout);
}

//===-- Numbers -----------------------------------------------------------===//

static const Format kF32 = {"f32", 24, -126, std::numeric_limits<float>::max()};
static const Format kF64 = {"f64", 53, -1022,
                            std::numeric_limits<double>::max()};

/// Bit patterns spread over the whole type, and numbers of [-30, 30].
template <class T, class U>
static std::vector<T> numbers(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> result(n);
  for (size_t i = 0; i < n; ++i) {
    U bits = static_cast<U>(random());
    if (i % 2)
      result[i] = T((double(random() >> 11) * 0x1p-53 - 0.5) * 60);
    else
      memcpy(&result[i], &bits, sizeof(T));
  }
  const T special[] = {T(0.0), T(-0.0), T(INFINITY), T(-INFINITY), T(NAN),
                       T(1),   T(-1),   T(0.5),      T(-0.5),      T(2)};
  for (size_t i = 0; i < 10 && i < n; ++i)
    result[i] = special[i];
  return result;
}

struct Range {
  double low = -INFINITY, high = INFINITY;
  double yLow = -INFINITY, yHigh = INFINITY;
};

/// What holds of a function: how it is computed exactly and by the C library.
struct Truth {
  std::function<Real(Real, Real)> real;
  std::function<float(float, float)> f32;
  std::function<double(double, double)> f64;
};

/// Bound in units in the last place; half a unit for what is rounded correctly,
/// with room for the error of long double.
static constexpr double kRounded = 0.5005, kMath = 4.5;

template <class F, class T, class U>
static void judge(const char *name, const Format &format, const Truth &truth,
                  double bound, Range range = {}, bool flushes = false) {
  size_t n = sizeof(T) == 4 ? 1 << 22 : 1 << 19;
  std::vector<T> x = numbers<T, U>(n, 1), y = numbers<T, U>(n, 2);
  auto inside = [](double v, double low, double high) {
    return v >= low && v <= high;
  };
  for (size_t i = 0; i < n; ++i) {
    if (std::isfinite(range.low + range.high) &&
        !inside(x[i], range.low, range.high))
      x[i] = T(range.low + (range.high - range.low) * double(i) / double(n));
    if (std::isfinite(range.yLow + range.yHigh) &&
        !inside(y[i], range.yLow, range.yHigh))
      y[i] = T(range.yLow +
               (range.yHigh - range.yLow) * double(i * 7919 % n) / double(n));
  }
  Device<T> dx(x), dy(y), dz(n);
  apply<F, T><<<1024, 256>>>(dx.data, dy.data, dz.data, i64(n));
  std::vector<T> z = dz.get();
  auto against = [&](auto value) {
    return onCores(n, [&](size_t begin, size_t end, Errors &errors) {
      for (size_t i = begin; i < end; ++i) {
        Real wanted = sizeof(T) == 4 ? Real(double(truth.real(x[i], y[i])))
                                     : truth.real(x[i], y[i]);
        errors.add(wanted, double(value(i)), format, x[i], y[i], flushes);
      }
    });
  };
  Errors gpu = against([&](size_t i) { return z[i]; });
  if (sizeof(T) == 4 ? !truth.f32 : !truth.f64)
    return print(name, format, gpu, nullptr, bound);
  Errors cpu = against([&](size_t i) {
    return sizeof(T) == 4 ? T(truth.f32(float(x[i]), float(y[i])))
                          : T(truth.f64(double(x[i]), double(y[i])));
  });
  print(name, format, gpu, &cpu, bound);
}

/// Every number of a narrow type, by functions of one operand.
template <class F, class T>
static void judgeNarrow(const char *name, const Format &format,
                        const Truth &truth, double bound, bool flushes) {
  size_t n = size_t(1) << (8 * sizeof(T));
  Device<f32> dx(n), dz(n);
  decodeAll<T><<<unsigned(n / 256 + 1), 256>>>(dx.data);
  applyNarrow<F, T><<<256, 256>>>(dx.data, dx.data, dz.data, i64(n));
  std::vector<f32> x = dx.get(), z = dz.get();
  Errors gpu;
  for (size_t i = 0; i < n; ++i) {
    Real wanted = truth.real(x[i], x[i]);
    // Types differ in what becomes of overflow: not judged here.
    if (fabsl(wanted) < format.largest)
      gpu.add(wanted, z[i], format, x[i], 0, flushes);
  }
  print(name, format, gpu, nullptr, bound);
}

//===-- The functions -----------------------------------------------------===//

#define FUNCTION(name, expression)                                             \
  struct name {                                                                \
    template <class T>                                                         \
    static __device__ T run(T x, T y) {                                        \
      (void)x, (void)y;                                                        \
      return expression;                                                       \
    }                                                                          \
  };
#define TRUTH(expression)                                                      \
  [](auto x, auto y) {                                                         \
    (void)y;                                                                   \
    return decltype(x)(expression);                                            \
  }
#define BOTH(name, expression)                                                 \
  {TRUTH(expression), TRUTH(expression), TRUTH(expression)}

// clang-format off
/// 2 + erf(x): units of 2^-23 and 2^-22 for all x.
FUNCTION(TwoPlusErf, 1 + m_one_plus_erf(x, m_exp_part(-(x * x))))
FUNCTION(Exp, m_exp(x))
FUNCTION(Exp2, m_exp2(x))
FUNCTION(Expm1, m_expm1(x))
FUNCTION(Log, m_log(x))
FUNCTION(Log2, m_log2(x))
FUNCTION(Log1p, m_log1p(x))
FUNCTION(Sqrt, m_sqrt(x))
FUNCTION(Rsqrt, m_rsqrt(x))
FUNCTION(Sin, m_sin(x))
FUNCTION(Cos, m_cos(x))
FUNCTION(Tan, m_tan(x))
FUNCTION(Asin, m_asin(x))
FUNCTION(Acos, m_acos(x))
FUNCTION(Atan, m_atan(x))
FUNCTION(Sinh, m_sinh(x))
FUNCTION(Cosh, m_cosh(x))
FUNCTION(Tanh, m_tanh(x))
FUNCTION(Asinh, m_asinh(x))
FUNCTION(Acosh, m_acosh(x))
FUNCTION(Atanh, m_atanh(x))
FUNCTION(Erf, m_erf(x))
FUNCTION(Erfc, m_erfc(x))
FUNCTION(Cbrt, m_cbrt(x))
FUNCTION(Floor, m_floor(x))
FUNCTION(Ceil, m_ceil(x))
FUNCTION(Trunc, m_trunc(x))
FUNCTION(Rint, m_rint(x))
FUNCTION(Abs, m_abs(x))
FUNCTION(Atan2, m_atan2(x, y))
FUNCTION(Pow, m_pow(x, y))
FUNCTION(Fmod, m_fmod(x, y))
FUNCTION(Copysign, m_copysign(x, y))
FUNCTION(Add, x + y)
FUNCTION(Mul, x * y)
FUNCTION(Div, x / y)
FUNCTION(Max, m_max(x, y))
FUNCTION(Min, m_min(x, y))
FUNCTION(ExpNear, m_exp_near(x))
FUNCTION(SqrtNear, m_sqrt_near(x))
FUNCTION(DivNear, m_div_near(x, y))
FUNCTION(ExpPart, m_exp_part(x))
FUNCTION(DivBySum, m_div_by_sum(x, y))
FUNCTION(ErfcNear, m_erfc_near(x))
FUNCTION(DivBounded, m_div_bounded(x, y))
// clang-format on

template <class F>
static void both(const char *name, const Truth &truth, double bound) {
  judge<F, f32, u32>(name, kF32, truth, bound);
  judge<F, f64, u64>(name, kF64, truth, bound);
}

/// Also in the narrow types: half a unit of theirs and what f32 was off.
template <class F>
static void narrow(const char *name, const Truth &truth, double bound,
                   bool flushes = false) {
  static const Format kF16 = {"f16", 11, -14, 65504};
  static const Format kBf16 = {"bf16", 8, -126, 0x1.fep127L};
  static const Format kE4M3 = {"f8e4m3", 4, -6, 448};
  static const Format kE5M2 = {"f8e5m2", 3, -14, 57344};
  judgeNarrow<F, f16>(name, kF16, truth, bound, flushes);
  judgeNarrow<F, bf16>(name, kBf16, truth, bound, flushes);
  judgeNarrow<F, f8e4m3>(name, kE4M3, truth, bound, flushes);
  judgeNarrow<F, f8e5m2>(name, kE5M2, truth, bound, flushes);
}

int main() {
  printf("| function | type | largest | mean | largest of the emulator | at | "
         "wrong kind |\n|--|--|--|--|--|--|--|\n");
  const Truth exp = BOTH(exp, std::exp(x)), log = BOTH(log, std::log(x)),
              sqrt = BOTH(sqrt, std::sqrt(x)), erfc = BOTH(erfc, std::erfc(x)),
              tanh = BOTH(tanh, std::tanh(x)), sin = BOTH(sin, std::sin(x)),
              div = BOTH(div, x / y);
  // Rounded correctly.
  both<Add>("x + y", BOTH(add, x + y), kRounded);
  both<Mul>("x * y", BOTH(mul, x * y), kRounded);
  both<Div>("x / y", div, kRounded);
  both<Sqrt>("sqrt", sqrt, kRounded);
  both<Fmod>("fmod", BOTH(fmod, std::fmod(x, y)), 0);
  both<Floor>("floor", BOTH(floor, std::floor(x)), 0);
  both<Ceil>("ceil", BOTH(ceil, std::ceil(x)), 0);
  both<Trunc>("trunc", BOTH(trunc, std::trunc(x)), 0);
  both<Rint>("rint", BOTH(rint, std::rint(x)), 0);
  both<Abs>("abs", BOTH(abs, std::fabs(x)), 0);
  both<Copysign>("copysign", BOTH(copysign, std::copysign(x, y)), 0);
  const Truth max = BOTH(max, x != x || y != y ? x + y
                              : x == y         ? (std::signbit(x) ? y : x)
                              : x > y          ? x
                                               : y);
  const Truth min = BOTH(min, x != x || y != y ? x + y
                              : x == y         ? (std::signbit(x) ? x : y)
                              : x < y          ? x
                                               : y);
  both<Max>("max", max, 0);
  both<Min>("min", min, 0);
  // Of CUDA's math library.
  both<Exp>("exp", exp, kMath);
  both<Exp2>("exp2", BOTH(exp2, std::exp2(x)), kMath);
  both<Expm1>("expm1", BOTH(expm1, std::expm1(x)), kMath);
  both<Log>("log", log, kMath);
  both<Log2>("log2", BOTH(log2, std::log2(x)), kMath);
  both<Log1p>("log1p", BOTH(log1p, std::log1p(x)), kMath);
  both<Rsqrt>("rsqrt", BOTH(rsqrt, 1 / std::sqrt(x)), kMath);
  both<Cbrt>("cbrt", BOTH(cbrt, std::cbrt(x)), kMath);
  both<Sin>("sin", sin, kMath);
  both<Cos>("cos", BOTH(cos, std::cos(x)), kMath);
  both<Tan>("tan", BOTH(tan, std::tan(x)), kMath);
  both<Asin>("asin", BOTH(asin, std::asin(x)), kMath);
  both<Acos>("acos", BOTH(acos, std::acos(x)), kMath);
  both<Atan>("atan", BOTH(atan, std::atan(x)), kMath);
  both<Sinh>("sinh", BOTH(sinh, std::sinh(x)), kMath);
  both<Cosh>("cosh", BOTH(cosh, std::cosh(x)), kMath);
  both<Tanh>("tanh", tanh, kMath);
  both<Asinh>("asinh", BOTH(asinh, std::asinh(x)), kMath);
  both<Acosh>("acosh", BOTH(acosh, std::acosh(x)), kMath);
  both<Atanh>("atanh", BOTH(atanh, std::atanh(x)), kMath);
  both<Erf>("erf", BOTH(erf, std::erf(x)), kMath);
  both<Erfc>("erfc", erfc, kMath);
  both<Atan2>("atan2", BOTH(atan2, std::atan2(x, y)), kMath);
  both<Pow>("pow", BOTH(pow, std::pow(x, y)), kMath);
  // Of the prelude, of values that are rounded to 16 bits or fewer: 2^-17 is
  // 64 to 128 units. Or of parts of a sum of at least 1: (|x| + 4) 2^-24.
  auto near = [](auto function, const char *name, const Truth &truth,
                 double bound, Range range) {
    using F = decltype(function);
    judge<F, f32, u32>(name, kF32, {truth.real, {}, {}}, bound, range, true);
  };
  near(ExpNear(), "exp_near", exp, 128, {-87, 88});
  near(SqrtNear(), "sqrt_near", sqrt, 128, {0, 1e30});
  near(DivNear(), "div_near", div, 128, {-1e30, 1e30, 1e-5, 1e5});
  near(ErfcNear(), "erfc_near", erfc, 128, {0, 4.5});
  near(ErfcNear(), "erfc_near far", erfc, 1 << 13, {4.5, 5});
  near(ExpPart(), "exp_part", exp, 4 + 4, {-4, 0});
  near(ExpPart(), "exp_part far", exp, 87 + 4, {-87, 0});
  // 2^-21 is four units of 2^-23, and the sum with 1 is rounded.
  near(TwoPlusErf(), "1 + one_plus_erf", BOTH(erf, 2 + std::erf(x)), 4.5,
       {-20, 20});
  near(DivBySum(), "div_by_sum", div, 4, {-1e6, 1e6, 1, 1e30});
  near(DivBounded(), "div_bounded", div, kRounded, {1e-3, 1e3, 1e-3, 1e3});
  // What kernels of narrow types give.
  narrow<Exp>("exp", exp, 0.51);
  narrow<ExpNear>("exp_near", exp, 0.51, true);
  narrow<Log>("log", log, 0.51);
  narrow<Sqrt>("sqrt", sqrt, kRounded);
  narrow<SqrtNear>("sqrt_near", sqrt, 0.51, true);
  narrow<Tanh>("tanh", tanh, 0.51);
  narrow<Sin>("sin", sin, 0.51);
  printf("%d break their bound\n", failures);
  return failures != 0;
}
