//===- CompositeKernels.cpp - activations and normalisations --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Straight from the ops' formulas, in f64 with one rounding at the end.
//===----------------------------------------------------------------------===//
#include "Combine.h"
#include "Kernel.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::reference;
using llvm::Expected;

using Results = Expected<std::vector<Tensor>>;
using Operands = ArrayRef<const Tensor *>;

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// Applies `fn` to each float.
template <typename Fn>
static Results mapReals(Operation *op, const Tensor &x, Context &context,
                        Fn fn) {
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  std::transform(x.real.begin(), x.real.end(), result->real.begin(), fn);
  return single(std::move(*result));
}

static Results reluKernel(Operation *op, Operands operands, Context &context) {
  const Tensor &x = *operands[0];
  if (x.isReal())
    return mapReals(op, x, context,
                    [](double v) { return pickReal(true, v, 0); });
  Tensor result = x;
  for (int64_t &value : result.whole)
    value = isLess(x.dtype, value, 0) ? 0 : value;
  return single(std::move(result));
}

static Results leakyReluKernel(Operation *op, Operands operands,
                               Context &context) {
  double alpha = cast<graph::LeakyReluOp>(op).getAlpha().convertToDouble();
  return mapReals(op, *operands[0], context,
                  [=](double v) { return v >= 0 ? v : alpha * v; });
}

static Results geluKernel(Operation *op, Operands operands, Context &context) {
  if (cast<graph::GeluOp>(op).getKind() == graph::GeluKind::erf)
    return mapReals(op, *operands[0], context, [](double v) {
      return 0.5 * v * (1 + std::erf(v * std::sqrt(0.5)));
    });
  double scale = std::sqrt(2 / 3.14159265358979323846);
  return mapReals(op, *operands[0], context, [=](double v) {
    return 0.5 * v * (1 + std::tanh(scale * (v + 0.044715 * v * v * v)));
  });
}

static Results siluKernel(Operation *op, Operands operands, Context &context) {
  // exp of a large positive number would overflow where the result does not
  // vanish yet.
  return mapReals(op, *operands[0], context, [](double v) {
    double power = std::exp(-std::fabs(v));
    return v * ((v >= 0 ? 1 : power) / (1 + power));
  });
}

static Results softplusKernel(Operation *op, Operands operands,
                              Context &context) {
  return mapReals(op, *operands[0], context, [](double v) {
    return pickReal(true, v, 0) + std::log1p(std::exp(-std::fabs(v)));
  });
}

static Results eluKernel(Operation *op, Operands operands, Context &context) {
  double alpha = cast<graph::EluOp>(op).getAlpha().convertToDouble();
  return mapReals(op, *operands[0], context,
                  [=](double v) { return v > 0 ? v : alpha * std::expm1(v); });
}

static Results hardSigmoidKernel(Operation *op, Operands operands,
                                 Context &context) {
  auto hard = cast<graph::HardSigmoidOp>(op);
  double alpha = hard.getAlpha().convertToDouble(),
         beta = hard.getBeta().convertToDouble();
  return mapReals(op, *operands[0], context, [=](double v) {
    return pickReal(false, pickReal(true, alpha * v + beta, 0), 1);
  });
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Calls `finish(x - max, sum of exp(x - max))` for each element; the groups
/// run along `dims`.
template <typename Fn>
static Results softmax(Operation *op, const Tensor &x, ArrayRef<int64_t> dims,
                       Context &context, Fn finish) {
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  auto strides = keptStrides(x.shape, dims);
  int64_t groups = 1;
  for (auto [dim, size] : llvm::enumerate(x.shape))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      groups *= size;
  std::vector<double> max(groups, -HUGE_VAL), sum(groups, 0);
  walkStrided(x.shape, strides, 0, [&](int64_t i, int64_t g) {
    max[g] = pickReal(true, max[g], x.real[i]);
  });
  walkStrided(x.shape, strides, 0, [&](int64_t i, int64_t g) {
    sum[g] += std::exp(x.real[i] - max[g]);
  });
  walkStrided(x.shape, strides, 0, [&](int64_t i, int64_t g) {
    result->real[i] = finish(x.real[i] - max[g], sum[g]);
  });
  return single(std::move(*result));
}

static Results softmaxKernel(Operation *op, Operands operands,
                             Context &context) {
  return softmax(
      op, *operands[0], cast<graph::SoftmaxOp>(op).getDimensions(), context,
      [](double shifted, double sum) { return std::exp(shifted) / sum; });
}

static Results logSoftmaxKernel(Operation *op, Operands operands,
                                Context &context) {
  return softmax(
      op, *operands[0], cast<graph::LogSoftmaxOp>(op).getDimensions(), context,
      [](double shifted, double sum) { return shifted - std::log(sum); });
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

/// Normalises rows of `count` elements: (x - mean) / sqrt(var + epsilon), the
/// mean taken as 0 if not `centre`; then scale and bias (which may be null).
static Results normalizeRows(Operation *op, Operands operands, int64_t axis,
                             double epsilon, bool centre, const Tensor *bias,
                             Context &context) {
  const Tensor &x = *operands[0], &scale = *operands[1];
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  int64_t count = Context::steps(ArrayRef(x.shape).drop_front(axis));
  for (int64_t start = 0; start < x.elements(); start += count) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; centre && i < count; ++i)
      mean += x.real[start + i];
    mean /= count;
    for (int64_t i = 0; i < count; ++i)
      variance += std::pow(x.real[start + i] - mean, 2) / count;
    for (int64_t i = 0; i < count; ++i)
      result->real[start + i] = (x.real[start + i] - mean) /
                                    std::sqrt(variance + epsilon) *
                                    scale.real[i] +
                                (bias ? bias->real[i] : -0.0);
  }
  return single(std::move(*result));
}

static Results layerNormKernel(Operation *op, Operands operands,
                               Context &context) {
  auto norm = cast<graph::LayerNormOp>(op);
  return normalizeRows(op, operands, norm.getAxis(),
                       norm.getEpsilon().convertToDouble(), /*centre=*/true,
                       operands.size() > 2 ? operands[2] : nullptr, context);
}

static Results rmsNormKernel(Operation *op, Operands operands,
                             Context &context) {
  auto norm = cast<graph::RmsNormOp>(op);
  return normalizeRows(op, operands, norm.getAxis(),
                       norm.getEpsilon().convertToDouble(), /*centre=*/false,
                       nullptr, context);
}

static Results batchNormKernel(Operation *op, Operands operands,
                               Context &context) {
  auto norm = cast<graph::BatchNormOp>(op);
  const Tensor &x = *operands[0], &scale = *operands[1], &bias = *operands[2],
               &mean = *operands[3], &variance = *operands[4];
  int64_t channel = norm.getChannel(), size = x.shape[channel];
  for (const Tensor *parameter : operands.drop_front())
    if (parameter->shape[0] != size)
      return llvm::createStringError("a parameter has the wrong size");
  Expected<Tensor> result = context.create(op->getResult(0), x.shape);
  if (!result)
    return result.takeError();
  double epsilon = norm.getEpsilon().convertToDouble();
  int64_t inner = Context::steps(ArrayRef(x.shape).drop_front(channel + 1));
  for (int64_t i = 0; i < x.elements(); ++i) {
    int64_t c = i / inner % size;
    double factor = scale.real[c] / std::sqrt(variance.real[c] + epsilon);
    result->real[i] = (x.real[i] - mean.real[c]) * factor + bias.real[c];
  }
  return single(std::move(*result));
}

void reference::registerCompositeKernels(Registry &registry) {
  registry.add<graph::ReluOp>(reluKernel);
  registry.add<graph::LeakyReluOp>(leakyReluKernel);
  registry.add<graph::GeluOp>(geluKernel);
  registry.add<graph::SiluOp>(siluKernel);
  registry.add<graph::SoftplusOp>(softplusKernel);
  registry.add<graph::EluOp>(eluKernel);
  registry.add<graph::HardSigmoidOp>(hardSigmoidKernel);
  registry.add<graph::SoftmaxOp>(softmaxKernel);
  registry.add<graph::LogSoftmaxOp>(logSoftmaxKernel);
  registry.add<graph::LayerNormOp>(layerNormKernel);
  registry.add<graph::RmsNormOp>(rmsNormKernel);
  registry.add<graph::BatchNormOp>(batchNormKernel);
}
