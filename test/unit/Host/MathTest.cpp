//===- MathTest.cpp - accuracy of host math -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sweeps f32 functions over bit patterns of the whole type against the C
// library in f64, and f64 functions against long double. The bounds are those
// of docs/semantics.md.
//===----------------------------------------------------------------------===//
#include "../Reference/ReferenceTestUtils.h"
#include "HostHarness.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace fusec;
using namespace fusec::host;
using namespace fusec::reference::test;

/// |actual - expected| in units in the last place of f32 or f64 at `expected`;
/// 0 if both round to the same value.
template <typename T>
static long double ulps(T actual, long double expected) {
  if (std::isnan(actual) || std::isnan(expected))
    return std::isnan(actual) && std::isnan(expected) ? 0 : HUGE_VALL;
  if (actual == static_cast<T>(expected))
    return std::signbit(actual) == std::signbit(expected) ? 0 : HUGE_VALL;
  constexpr int digits = std::numeric_limits<T>::digits;
  int exponent = std::max(expected == 0 ? -20000 : std::ilogb(expected),
                          std::numeric_limits<T>::min_exponent - 1);
  return std::fabs(actual - expected) /
         std::ldexp(1.0L, exponent - (digits - 1));
}

/// Result of `graph.<name>` on the inputs.
static HostTensor apply(const std::string &name, DType dtype,
                        const std::vector<HostTensor> &inputs) {
  std::string type = typeText(dtype, inputs[0].shape);
  std::vector<std::string> types(inputs.size(), type);
  Graph graph(types, type,
              "graph." + name + (inputs.size() == 2 ? " %0, %1 : " : " %0 : ") +
                  type);
  auto results = test::runOnHost(
      graph.function()->getParentOfType<mlir::ModuleOp>(), inputs);
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return inputs[0];
  }
  return (*results)[0];
}

/// Bit patterns of the whole type: multiples of an odd number.
static HostTensor patterns(DType dtype, int64_t count, uint64_t step) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(dtype, {count}));
  for (int64_t i = 0; i < count; ++i)
    tensor.setBits(i, dtype == DType::F32 ? uint32_t(i * step) : i * step);
  return tensor;
}

struct Function {
  const char *name;
  double (*reference)(double);
  long double (*wide)(long double);
};

static double rsqrt64(double x) { return 1.0 / std::sqrt(x); }
static long double rsqrtWide(long double x) { return 1.0L / std::sqrt(x); }

static const Function kFunctions[] = {
    {"exp", std::exp, std::exp},       {"exp2", std::exp2, std::exp2},
    {"expm1", std::expm1, std::expm1}, {"log", std::log, std::log},
    {"log2", std::log2, std::log2},    {"log1p", std::log1p, std::log1p},
    {"sin", std::sin, std::sin},       {"cos", std::cos, std::cos},
    {"tan", std::tan, std::tan},       {"asin", std::asin, std::asin},
    {"acos", std::acos, std::acos},    {"atan", std::atan, std::atan},
    {"sinh", std::sinh, std::sinh},    {"cosh", std::cosh, std::cosh},
    {"tanh", std::tanh, std::tanh},    {"asinh", std::asinh, std::asinh},
    {"acosh", std::acosh, std::acosh}, {"atanh", std::atanh, std::atanh},
    {"erf", std::erf, std::erf},       {"cbrt", std::cbrt, std::cbrt},
    {"rsqrt", rsqrt64, rsqrtWide},
};

TEST(HostMath, F32OverAllExponents) {
  HostTensor x = patterns(DType::F32, 200003, 21475);
  for (const Function &function : kFunctions) {
    HostTensor y = apply(function.name, DType::F32, {x});
    long double worst = 0;
    double where = 0;
    for (int64_t i = 0; i < x.elements(); ++i) {
      float actual;
      std::memcpy(&actual, y.data() + 4 * i, 4);
      long double error = ulps(actual, function.reference(x.getF64(i)));
      if (error > worst) {
        worst = error;
        where = x.getF64(i);
      }
    }
    EXPECT_LE(worst, 0.501L) << function.name << " at " << where;
  }
}

TEST(HostMath, F64OverAllExponents) {
  HostTensor x = patterns(DType::F64, 50021, 368787135765301);
  for (const Function &function : kFunctions) {
    HostTensor y = apply(function.name, DType::F64, {x});
    long double worst = 0;
    double where = 0;
    for (int64_t i = 0; i < x.elements(); ++i) {
      long double error = ulps(y.getF64(i), function.wide(x.getF64(i)));
      if (error > worst) {
        worst = error;
        where = x.getF64(i);
      }
    }
    EXPECT_LE(worst, 2.0L) << function.name << " at " << where;
  }
}

TEST(HostMath, BinaryF32) {
  HostTensor x = patterns(DType::F32, 200003, 21475),
             y = patterns(DType::F32, 200003, 2654435761);
  for (auto [name, reference] :
       {std::pair<const char *, double (*)(double, double)>{"pow", std::pow},
        {"atan2", std::atan2},
        {"rem", std::fmod}}) {
    HostTensor z = apply(name, DType::F32, {x, y});
    long double worst = 0;
    for (int64_t i = 0; i < x.elements(); ++i) {
      float actual;
      std::memcpy(&actual, z.data() + 4 * i, 4);
      worst =
          std::max(worst, ulps(actual, reference(x.getF64(i), y.getF64(i))));
    }
    EXPECT_LE(worst, 0.501L) << name;
  }
}
