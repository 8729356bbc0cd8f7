//===- NetBounds.cpp - bounds for deep graphs -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intervals grow by the same factor in every layer, right results do not. How
// far a right result of a deep graph lies from the middle is measured instead:
// the evaluator that rounds after every op, and operands to TF32 where it may
// be, against f64. One sample may be small by luck, also where there are few
// elements; so there are several, and the largest error of an output counts for
// all of its elements.
//===----------------------------------------------------------------------===//
#include "fusec/Verify/NetBounds.h"
#include "fusec/Dialect/Graph/IR/Float8Products.h"

using namespace fusec;
using namespace fusec::verify;
using reference::Bounds;

static constexpr int kSamples = 3;
/// A right result beyond 8 times the largest of three samples of an error with
/// a normal distribution is rarer than one in 10^6 even where the three are
/// half of what they are on average.
static constexpr double kFactor = 8;

/// Half the spacing near 1 of f16 and bf16; 0 for the types whose error the
/// constants of docs/semantics.md cover.
static double unitRoundoff(DType dtype) {
  return dtype == DType::F16 ? 0x1p-11 : dtype == DType::BF16 ? 0x1p-8 : 0;
}

/// A tensor whose floats differ in the last place, up or down by a hash.
static HostTensor nudged(const HostTensor &tensor, uint64_t seed) {
  if (!isFloat(tensor.dtype) || seed == 0)
    return tensor;
  HostTensor result = tensor.clone();
  double unit = std::ldexp(1.0, 1 - int(precisionBits(tensor.dtype)));
  for (int64_t i = 0, e = result.elements(); i < e; ++i) {
    uint64_t hash =
        (uint64_t(i) * 0x9e3779b97f4a7c15u + seed) * 0xbf58476d1ce4e5b9u;
    double sign = hash >> 63 ? 1 : -1, x = result.getF64(i);
    if (std::isfinite(x * (1 + sign * unit)))
      result.setF64(i, x * (1 + sign * unit));
  }
  return result;
}

/// The largest finite difference of each output.
static llvm::Error measure(session::Model &model,
                           llvm::ArrayRef<HostTensor> inputs,
                           std::vector<double> &errors) {
  reference::EvaluateOptions wide, narrow;
  wide.wide = narrow.tf32 = true;
  auto rounded = reference::evaluate(model.function(), inputs, narrow);
  if (!rounded)
    return rounded.takeError();
  auto exact = reference::evaluate(model.function(), inputs, wide);
  if (!exact)
    return exact.takeError();
  for (auto [error, a, b] : llvm::zip(errors, *rounded, *exact))
    for (int64_t i = 0, e = isFloat(a.dtype) ? a.elements() : 0; i < e; ++i)
      if (double off = std::fabs(a.getF64(i) - b.getF64(i)); std::isfinite(off))
        error = std::max(error, off);
  return llvm::Error::success();
}

/// Whether an op may round f32 operands to the 11 digits of TF32: samples whose
/// inputs differ in the last place mostly round to the same ones, so three may
/// all be small by luck.
static bool allowsTf32(mlir::Operation *function) {
  return function
      ->walk([](mlir::Operation *op) {
        auto contract = mlir::dyn_cast<graph::ContractOp>(op);
        auto convolution = mlir::dyn_cast<graph::ConvolutionOp>(op);
        return (contract && contract.getAllowTf32()) ||
                       (convolution && convolution.getAllowTf32())
                   ? mlir::WalkResult::interrupt()
                   : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether sums of 8-bit floats may be those of tensor cores, which the
/// evaluator never makes.
static bool mayUseFloat8(mlir::Operation *function) {
  return function
      ->walk([](graph::ContractOp op) {
        return graph::mayUseFloat8(op) ? mlir::WalkResult::interrupt()
                                       : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// Below this all digits of a sum may be roundings of denormals; there the
/// interval counts.
static double denormalNoise(DType dtype) {
  double least = dtype == DType::F64    ? 0x1p-1074
                 : dtype == DType::F16  ? 0x1p-24
                 : dtype == DType::BF16 ? 0x1p-133
                                        : 0x1p-149;
  return dtype == DType::F16 ? least : 1024 * least;
}

/// `least` is the least roundoff that counts.
static void cutDown(Bounds &bounds, double error, double least) {
  const HostTensor &middle = bounds.middle;
  bool isByte = middle.dtype == DType::F8E4M3 || middle.dtype == DType::F8E5M2;
  if (!isFloat(middle.dtype) || isByte)
    return;
  double unit = std::max(unitRoundoff(middle.dtype), least), largest = 0;
  double scale = middle.dtype == DType::F64 ? 0x1p-29 : 1;
  for (int64_t i = 0, e = middle.elements(); i < e; ++i)
    if (double x = std::fabs(middle.getF64(i)); std::isfinite(x))
      largest = std::max(largest, x);
  for (int64_t i = 0, e = middle.elements(); i < e; ++i) {
    double x = middle.getF64(i);
    if (bounds.isUnknown(i) || !std::isfinite(x))
      continue;
    double room =
        scale * ((1e-4 + 2 * unit) * std::fabs(x) + (1e-5 + unit) * largest) +
        kFactor * error + denormalNoise(middle.dtype);
    bounds.low[i] = std::max(bounds.low[i], x - room);
    bounds.high[i] = std::min(bounds.high[i], x + room);
  }
}

llvm::Expected<std::vector<Bounds>>
verify::boundsOfNet(session::Model &model, llvm::ArrayRef<HostTensor> inputs,
                    bool float8Sums) {
  auto bounds =
      reference::evaluateBounds(model.function(), inputs, {}, float8Sums);
  // What such sums lose is not measured: the intervals count.
  if (!bounds || (float8Sums && mayUseFloat8(model.function())))
    return bounds;
  std::vector<double> errors(bounds->size(), 0);
  for (int sample = 0; sample < kSamples; ++sample) {
    std::vector<HostTensor> near;
    for (auto [i, input] : llvm::enumerate(inputs))
      near.push_back(nudged(input, sample ? 1000 * sample + i : 0));
    if (llvm::Error error = measure(model, near, errors))
      return std::move(error);
  }
  double least = allowsTf32(model.function()) ? 0x1p-11 : 0;
  for (auto [one, error] : llvm::zip(*bounds, errors))
    cutDown(one, error, least);
  return bounds;
}
