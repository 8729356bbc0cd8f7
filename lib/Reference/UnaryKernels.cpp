//===- UnaryKernels.cpp - elementwise ops of one operand ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats by the C math library in f64; integers in wrapping 64-bit arithmetic.
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

/// Applies a function of doubles, or of integers and their type, to each
/// element.
template <typename RealFn, typename WholeFn>
static Results mapEach(Operation *op, Operands operands, Context &context,
                       RealFn realFn, WholeFn wholeFn) {
  const Tensor &x = *operands[0];
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  for (size_t i = 0; i < x.real.size(); ++i)
    result->real[i] = realFn(x.real[i]);
  for (size_t i = 0; i < x.whole.size(); ++i)
    result->whole[i] = wholeFn(x.whole[i]);
  return single(std::move(*result));
}

/// An op that the math library has.
template <double (*Fn)(double)>
static Results mathKernel(Operation *op, Operands operands, Context &context) {
  return mapEach(op, operands, context, Fn, [](int64_t x) { return x; });
}

static int64_t wrappingNegate(int64_t x) {
  return static_cast<int64_t>(-static_cast<uint64_t>(x));
}

static Results absKernel(Operation *op, Operands operands, Context &context) {
  bool isUnsigned = isUnsignedInt(operands[0]->dtype);
  return mapEach(
      op, operands, context, [](double x) { return std::fabs(x); },
      [&](int64_t x) { return !isUnsigned && x < 0 ? wrappingNegate(x) : x; });
}

static Results negKernel(Operation *op, Operands operands, Context &context) {
  return mapEach(
      op, operands, context, [](double x) { return -x; }, wrappingNegate);
}

static Results signKernel(Operation *op, Operands operands, Context &context) {
  bool isUnsigned = isUnsignedInt(operands[0]->dtype);
  return mapEach(
      op, operands, context,
      [](double x) { return x > 0   ? 1.0
                            : x < 0 ? -1.0
                                    : x; },
      [&](int64_t x) -> int64_t {
        if (x == 0)
          return 0;
        return isUnsigned || x > 0 ? 1 : -1;
      });
}

static Results notKernel(Operation *op, Operands operands, Context &context) {
  bool isBool = operands[0]->dtype == DType::Bool;
  return mapEach(
      op, operands, context, [](double x) { return x; },
      [&](int64_t x) { return isBool ? 1 - x : ~x; });
}

// Functions that the library lacks, and templates in std that need a choice.

static double roundEven(double x) { return std::nearbyint(x); }
static double inverseRoot(double x) { return 1.0 / std::sqrt(x); }
static double logistic(double x) {
  if (x >= 0)
    return 1.0 / (1.0 + std::exp(-x));
  double power = std::exp(x);
  return power / (1.0 + power);
}

/// The predicate of each element as a bool tensor.
template <typename Fn>
static Results predicate(Operation *op, Operands operands, Context &context,
                         Fn fn) {
  Expected<Tensor> result =
      context.create(op->getResult(0), operands[0]->shape);
  if (!result)
    return result.takeError();
  for (size_t i = 0; i < operands[0]->real.size(); ++i)
    result->whole[i] = fn(operands[0]->real[i]);
  return single(std::move(*result));
}

static Results isNanKernel(Operation *op, Operands operands, Context &context) {
  return predicate(op, operands, context,
                   [](double x) { return std::isnan(x); });
}

static Results isInfKernel(Operation *op, Operands operands, Context &context) {
  return predicate(op, operands, context,
                   [](double x) { return std::isinf(x); });
}

void reference::registerUnaryKernels(Registry &registry) {
  registry.add<graph::AbsOp>(absKernel);
  registry.add<graph::NegOp>(negKernel);
  registry.add<graph::SignOp>(signKernel);
  registry.add<graph::NotOp>(notKernel);
  registry.add<graph::FloorOp>(mathKernel<std::floor>);
  registry.add<graph::CeilOp>(mathKernel<std::ceil>);
  registry.add<graph::TruncOp>(mathKernel<std::trunc>);
  registry.add<graph::RoundOp>(mathKernel<roundEven>);
  registry.add<graph::SqrtOp>(mathKernel<std::sqrt>);
  registry.add<graph::RsqrtOp>(mathKernel<inverseRoot>);
  registry.add<graph::CbrtOp>(mathKernel<std::cbrt>);
  registry.add<graph::ExpOp>(mathKernel<std::exp>);
  registry.add<graph::Exp2Op>(mathKernel<std::exp2>);
  registry.add<graph::Expm1Op>(mathKernel<std::expm1>);
  registry.add<graph::LogOp>(mathKernel<std::log>);
  registry.add<graph::Log2Op>(mathKernel<std::log2>);
  registry.add<graph::Log1pOp>(mathKernel<std::log1p>);
  registry.add<graph::SinOp>(mathKernel<std::sin>);
  registry.add<graph::CosOp>(mathKernel<std::cos>);
  registry.add<graph::TanOp>(mathKernel<std::tan>);
  registry.add<graph::AsinOp>(mathKernel<std::asin>);
  registry.add<graph::AcosOp>(mathKernel<std::acos>);
  registry.add<graph::AtanOp>(mathKernel<std::atan>);
  registry.add<graph::SinhOp>(mathKernel<std::sinh>);
  registry.add<graph::CoshOp>(mathKernel<std::cosh>);
  registry.add<graph::TanhOp>(mathKernel<std::tanh>);
  registry.add<graph::AsinhOp>(mathKernel<std::asinh>);
  registry.add<graph::AcoshOp>(mathKernel<std::acosh>);
  registry.add<graph::AtanhOp>(mathKernel<std::atanh>);
  registry.add<graph::ErfOp>(mathKernel<std::erf>);
  registry.add<graph::LogisticOp>(mathKernel<logistic>);
  registry.add<graph::IsNanOp>(isNanKernel);
  registry.add<graph::IsInfOp>(isInfKernel);
}
