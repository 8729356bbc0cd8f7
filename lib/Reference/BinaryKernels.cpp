//===- BinaryKernels.cpp - elementwise ops of two and three operands ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers are 64 bits wide here and wrapped to their width afterwards; only
// division, powers and shifts have to know the width or sign.
//===----------------------------------------------------------------------===//
#include "Kernel.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include <cmath>

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Expected;

using Results = Expected<std::vector<Tensor>>;
using Operands = ArrayRef<const Tensor *>;

/// Applies a function of two doubles, or of two integers, to each element pair.
template <typename RealFn, typename WholeFn>
static Results mapPairs(Operation *op, Operands operands, Context &context,
                        RealFn realFn, WholeFn wholeFn) {
  const Tensor &x = *operands[0], &y = *operands[1];
  if (x.shape != y.shape)
    return llvm::createStringError("operands must have one shape");
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  for (size_t i = 0; i < x.real.size(); ++i)
    result->real[i] = realFn(x.real[i], y.real[i]);
  for (size_t i = 0; i < x.whole.size(); ++i)
    result->whole[i] = wholeFn(x.whole[i], y.whole[i]);
  return single(std::move(*result));
}

/// The same for ops on integers and bools only.
template <typename WholeFn>
static Results mapWhole(Operation *op, Operands operands, Context &context,
                        WholeFn fn) {
  return mapPairs(
      op, operands, context, [](double x, double) { return x; }, fn);
}

static uint64_t bits(int64_t x) { return static_cast<uint64_t>(x); }
static int64_t number(uint64_t x) { return static_cast<int64_t>(x); }

//===----------------------------------------------------------------------===//
// Sums, products, extremes
//===----------------------------------------------------------------------===//

static Results addKernel(Operation *op, Operands operands, Context &context) {
  return mapPairs(
      op, operands, context, [](double x, double y) { return x + y; },
      [](int64_t x, int64_t y) { return number(bits(x) + bits(y)); });
}

static Results subKernel(Operation *op, Operands operands, Context &context) {
  return mapPairs(
      op, operands, context, [](double x, double y) { return x - y; },
      [](int64_t x, int64_t y) { return number(bits(x) - bits(y)); });
}

static Results mulKernel(Operation *op, Operands operands, Context &context) {
  return mapPairs(
      op, operands, context, [](double x, double y) { return x * y; },
      [](int64_t x, int64_t y) { return number(bits(x) * bits(y)); });
}

static double larger(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return std::nan("");
  if (x == y) // zeros of both signs
    return std::signbit(x) ? y : x;
  return x > y ? x : y;
}

static double smaller(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return std::nan("");
  if (x == y)
    return std::signbit(x) ? x : y;
  return x < y ? x : y;
}

/// x < y as numbers of `dtype`.
static bool below(DType dtype, int64_t x, int64_t y) {
  return dtype == DType::U64 ? bits(x) < bits(y) : x < y;
}

static Results maxKernel(Operation *op, Operands operands, Context &context) {
  DType dtype = operands[0]->dtype;
  return mapPairs(op, operands, context, larger, [&](int64_t x, int64_t y) {
    return below(dtype, x, y) ? y : x;
  });
}

static Results minKernel(Operation *op, Operands operands, Context &context) {
  DType dtype = operands[0]->dtype;
  return mapPairs(op, operands, context, smaller, [&](int64_t x, int64_t y) {
    return below(dtype, y, x) ? y : x;
  });
}

static Results clampKernel(Operation *op, Operands operands, Context &context) {
  const Tensor &low = *operands[0], &x = *operands[1], &high = *operands[2];
  if (low.shape != x.shape || high.shape != x.shape)
    return llvm::createStringError("operands must have one shape");
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  for (size_t i = 0; i < x.real.size(); ++i)
    result->real[i] = smaller(larger(x.real[i], low.real[i]), high.real[i]);
  for (size_t i = 0; i < x.whole.size(); ++i) {
    int64_t value =
        below(x.dtype, x.whole[i], low.whole[i]) ? low.whole[i] : x.whole[i];
    result->whole[i] =
        below(x.dtype, high.whole[i], value) ? high.whole[i] : value;
  }
  return single(std::move(*result));
}

//===----------------------------------------------------------------------===//
// Division and powers
//===----------------------------------------------------------------------===//

static int64_t quotient(DType dtype, int64_t x, int64_t y) {
  if (y == 0)
    return 0;
  if (isUnsignedInt(dtype))
    return number(bits(x) / bits(y));
  return y == -1 ? number(-bits(x)) : x / y;
}

static int64_t remainderOf(DType dtype, int64_t x, int64_t y) {
  if (y == 0)
    return x;
  if (isUnsignedInt(dtype))
    return number(bits(x) % bits(y));
  return y == -1 ? 0 : x % y;
}

static int64_t modulo(DType dtype, int64_t x, int64_t y) {
  int64_t rest = remainderOf(dtype, x, y);
  if (y == 0 || rest == 0 || isUnsignedInt(dtype))
    return rest;
  return (rest < 0) != (y < 0) ? rest + y : rest;
}

static double modulo(double x, double y) {
  double rest = std::fmod(x, y);
  if (rest == 0)
    return std::copysign(0.0, y);
  return (rest < 0) != (y < 0) && !std::isnan(rest) ? rest + y : rest;
}

static int64_t power(DType dtype, int64_t base, int64_t exponent) {
  if (isSignedInt(dtype) && exponent < 0) {
    if (base == 1)
      return 1;
    if (base == -1)
      return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1, square = bits(base);
  for (uint64_t rest = bits(exponent); rest; rest >>= 1) {
    if (rest & 1)
      result *= square;
    square *= square;
  }
  return number(result);
}

static Results divKernel(Operation *op, Operands operands, Context &context) {
  DType dtype = operands[0]->dtype;
  return mapPairs(
      op, operands, context, [](double x, double y) { return x / y; },
      [&](int64_t x, int64_t y) { return quotient(dtype, x, y); });
}

static Results remKernel(Operation *op, Operands operands, Context &context) {
  DType dtype = operands[0]->dtype;
  return mapPairs(
      op, operands, context, [](double x, double y) { return std::fmod(x, y); },
      [&](int64_t x, int64_t y) { return remainderOf(dtype, x, y); });
}

static Results modKernel(Operation *op, Operands operands, Context &context) {
  DType dtype = operands[0]->dtype;
  return mapPairs(
      op, operands, context, [](double x, double y) { return modulo(x, y); },
      [&](int64_t x, int64_t y) { return modulo(dtype, x, y); });
}

static Results powKernel(Operation *op, Operands operands, Context &context) {
  DType dtype = operands[0]->dtype;
  return mapPairs(
      op, operands, context, [](double x, double y) { return std::pow(x, y); },
      [&](int64_t x, int64_t y) { return power(dtype, x, y); });
}

static Results atan2Kernel(Operation *op, Operands operands, Context &context) {
  return mapPairs(
      op, operands, context,
      [](double y, double x) { return std::atan2(y, x); },
      [](int64_t x, int64_t) { return x; });
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static Results andKernel(Operation *op, Operands operands, Context &context) {
  return mapWhole(op, operands, context,
                  [](int64_t x, int64_t y) { return x & y; });
}

static Results orKernel(Operation *op, Operands operands, Context &context) {
  return mapWhole(op, operands, context,
                  [](int64_t x, int64_t y) { return x | y; });
}

static Results xorKernel(Operation *op, Operands operands, Context &context) {
  return mapWhole(op, operands, context,
                  [](int64_t x, int64_t y) { return x ^ y; });
}

/// True for a shift amount in [0, width); a negative one is a huge unsigned.
static bool isShift(DType dtype, int64_t amount) {
  return bits(amount) < integerBits(dtype);
}

static Results shlKernel(Operation *op, Operands operands, Context &context) {
  DType dtype = operands[0]->dtype;
  return mapWhole(op, operands, context, [&](int64_t x, int64_t amount) {
    return isShift(dtype, amount) ? number(bits(x) << amount) : 0;
  });
}

static Results shrKernel(Operation *op, Operands operands, Context &context) {
  DType dtype = operands[0]->dtype;
  return mapWhole(op, operands, context,
                  [&](int64_t x, int64_t amount) -> int64_t {
                    bool isUnsigned = isUnsignedInt(dtype);
                    if (!isShift(dtype, amount))
                      return !isUnsigned && x < 0 ? -1 : 0;
                    return isUnsigned ? number(bits(x) >> amount) : x >> amount;
                  });
}

//===----------------------------------------------------------------------===//
// compare, select
//===----------------------------------------------------------------------===//

template <typename T>
static bool holds(graph::ComparePredicate predicate, T x, T y) {
  switch (predicate) {
  case graph::ComparePredicate::eq:
    return x == y;
  case graph::ComparePredicate::ne:
    return x != y;
  case graph::ComparePredicate::lt:
    return x < y;
  case graph::ComparePredicate::le:
    return x <= y;
  case graph::ComparePredicate::gt:
    return x > y;
  case graph::ComparePredicate::ge:
    return x >= y;
  }
  llvm_unreachable("a new predicate");
}

static Results compareKernel(Operation *op, Operands operands,
                             Context &context) {
  const Tensor &x = *operands[0], &y = *operands[1];
  if (x.shape != y.shape)
    return llvm::createStringError("operands must have one shape");
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  auto predicate = cast<graph::CompareOp>(op).getPredicate();
  for (size_t i = 0; i < x.real.size(); ++i)
    result->whole[i] = holds(predicate, x.real[i], y.real[i]);
  for (size_t i = 0; i < x.whole.size(); ++i)
    result->whole[i] =
        x.dtype == DType::U64
            ? holds(predicate, bits(x.whole[i]), bits(y.whole[i]))
            : holds(predicate, x.whole[i], y.whole[i]);
  return single(std::move(*result));
}

static Results selectKernel(Operation *op, Operands operands,
                            Context &context) {
  const Tensor &pred = *operands[0], &x = *operands[1], &y = *operands[2];
  if (pred.shape != x.shape || y.shape != x.shape)
    return llvm::createStringError("operands must have one shape");
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  for (size_t i = 0; i < x.real.size(); ++i)
    result->real[i] = pred.whole[i] ? x.real[i] : y.real[i];
  for (size_t i = 0; i < x.whole.size(); ++i)
    result->whole[i] = pred.whole[i] ? x.whole[i] : y.whole[i];
  return single(std::move(*result));
}

void reference::registerBinaryKernels(Registry &registry) {
  registry.add<graph::AddOp>(addKernel);
  registry.add<graph::SubOp>(subKernel);
  registry.add<graph::MulOp>(mulKernel);
  registry.add<graph::DivOp>(divKernel);
  registry.add<graph::RemOp>(remKernel);
  registry.add<graph::ModOp>(modKernel);
  registry.add<graph::PowOp>(powKernel);
  registry.add<graph::MaxOp>(maxKernel);
  registry.add<graph::MinOp>(minKernel);
  registry.add<graph::Atan2Op>(atan2Kernel);
  registry.add<graph::AndOp>(andKernel);
  registry.add<graph::OrOp>(orKernel);
  registry.add<graph::XorOp>(xorKernel);
  registry.add<graph::ShlOp>(shlKernel);
  registry.add<graph::ShrOp>(shrKernel);
  registry.add<graph::CompareOp>(compareKernel);
  registry.add<graph::SelectOp>(selectKernel);
  registry.add<graph::ClampOp>(clampKernel);
}
