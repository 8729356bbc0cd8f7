//===- Compare.cpp - expected against found -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Compare.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Attributes.h"
#include "fusec/Support/Closeness.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <limits>

using namespace fusec;
using namespace fusec::tool;

/// "[1, 0, 3]" for a row-major position.
static std::string position(llvm::ArrayRef<int64_t> shape, int64_t index) {
  std::vector<int64_t> digits(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d])
    digits[d] = index % shape[d];
  std::string text = "[";
  for (auto [i, digit] : llvm::enumerate(digits))
    text += (i ? ", " : "") + std::to_string(digit);
  return text + "]";
}

/// error / scale, kept finite: reports are JSON.
static double ratio(double error, double scale) {
  if (scale == 0)
    return 0;
  return std::min(error / scale, std::numeric_limits<double>::max());
}

static bool isClose(double expected, double found, double scale,
                    const Tolerance &tolerance, Difference &difference) {
  if (std::isnan(expected) || std::isnan(found))
    return std::isnan(expected) && std::isnan(found);
  if (expected == found)
    return true;
  if (std::isinf(expected) || std::isinf(found))
    return false;
  // The difference of two finite numbers may overflow.
  double error = ratio(std::fabs(found - expected), 1);
  difference.maxAbsolute = std::max(difference.maxAbsolute, error);
  difference.maxRelative =
      std::max(difference.maxRelative, ratio(error, std::fabs(expected)));
  difference.maxScaled = std::max(difference.maxScaled, ratio(error, scale));
  return error <= tolerance.absolute +
                      tolerance.relative * std::fabs(expected) +
                      tolerance.scaled * scale;
}

static std::string element(const HostTensor &tensor, int64_t index) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (isFloat(tensor.dtype))
    os << llvm::format("%.9g", tensor.getF64(index));
  else if (tensor.dtype == DType::U64)
    os << static_cast<uint64_t>(tensor.getI64(index));
  else
    os << tensor.getI64(index);
  return text;
}

/// The row in which the largest element is not where it is expected; -1 if
/// there is none. Rows with NaN are left to the other checks.
static int64_t otherTop(const HostTensor &expected, const HostTensor &found) {
  int64_t length = expected.shape.empty() ? 1 : expected.shape.back();
  for (int64_t begin = 0; begin < expected.elements(); begin += length) {
    int64_t want = begin, have = begin;
    for (int64_t i = begin; i < begin + length; ++i) {
      want = expected.getF64(i) > expected.getF64(want) ? i : want;
      have = found.getF64(i) > found.getF64(have) ? i : have;
    }
    if (expected.getF64(have) < expected.getF64(want))
      return begin / length;
  }
  return -1;
}

Difference fusec::tool::compare(const HostTensor &expected,
                                const HostTensor &found,
                                const Tolerance &tolerance) {
  Difference result;
  if (expected.dtype != found.dtype || expected.shape != found.shape) {
    result.first = "expected " + describe(expected.dtype, expected.shape) +
                   ", found " + describe(found.dtype, found.shape);
    return result;
  }
  result.elements = expected.elements();
  bool isReal = isFloat(expected.dtype);
  double scale = isReal ? largestFinite(expected) : 0;
  for (int64_t i = 0; i < result.elements; ++i) {
    bool ok = isReal ? isClose(expected.getF64(i), found.getF64(i), scale,
                               tolerance, result)
                     : expected.getBits(i) == found.getBits(i);
    if (ok)
      continue;
    if (!result.wrong++)
      result.first = "element " + position(expected.shape, i) + ": expected " +
                     element(expected, i) + ", found " + element(found, i);
  }
  if (result.wrong)
    result.first += " (" + std::to_string(result.wrong) + " of " +
                    std::to_string(result.elements) + " elements differ)";
  else if (isReal && tolerance.sameTop)
    if (int64_t row = otherTop(expected, found); row >= 0)
      result.first = "row " + std::to_string(row) +
                     ": the largest element is not where it is expected";
  return result;
}

//===----------------------------------------------------------------------===//
// Tolerances
//===----------------------------------------------------------------------===//

// What closenessOf allows, for graphs in f64: as many units in the last place.
static constexpr double kDoubleUnits = 0x1p-29;
// ONNX's own, for the one of --rtol and --atol that is not given.
static constexpr double kOnnxRelative = 1e-3, kOnnxAbsolute = 1e-7;

Tolerance ToleranceOptions::of(DType dtype, const OutputFacts &facts) const {
  Closeness closeness = closenessOf(dtype);
  Tolerance result = {closeness.relative, 0, closeness.scaled};
  if (facts.isDouble) {
    result.relative *= kDoubleUnits;
    result.scaled *= kDoubleUnits;
  }
  if (given)
    result = *given;
  if (steps > 0 && facts.step > 0) {
    result.absolute += steps * facts.step;
    result.sameTop = true;
  }
  return result;
}

std::vector<OptionSpec> fusec::tool::toleranceOptionSpecs() {
  return {{"rtol", "X",
           "with --atol: floats within atol + rtol * |expected| instead "
           "of the\ndefault (1e-3 if only --atol is given)"},
          {"atol", "X", "(1e-7 if only --rtol is given)"},
          {"steps", "N",
           "outputs of a dequantise may differ by N of its steps; their "
           "largest\nelement along the last dimension must stay the largest"}};
}

llvm::Expected<ToleranceOptions>
fusec::tool::parseTolerance(const Arguments &arguments) {
  ToleranceOptions options;
  llvm::Expected<double> relative = arguments.number("rtol", kOnnxRelative);
  if (!relative)
    return relative.takeError();
  llvm::Expected<double> absolute = arguments.number("atol", kOnnxAbsolute);
  if (!absolute)
    return absolute.takeError();
  if (arguments.has("rtol") || arguments.has("atol"))
    options.given = Tolerance{*relative, *absolute};
  llvm::Expected<int64_t> steps = arguments.integer("steps", 0, 0, 255);
  if (!steps)
    return steps.takeError();
  options.steps = *steps;
  return options;
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

/// What `value` is a copy of: through ops that only move elements.
static mlir::Value sourceOf(mlir::Value value) {
  while (mlir::Operation *op = value.getDefiningOp()) {
    auto fusible = mlir::dyn_cast<graph::FusibleOpInterface>(op);
    if (!fusible || mlir::isa<graph::ConstantOp>(op) ||
        fusible.getFusionRole() != graph::FusionRole::movement ||
        op->getNumOperands() != 1)
      return value;
    value = op->getOperand(0);
  }
  return value;
}

static double stepOf(mlir::Value output) {
  auto op = sourceOf(output).getDefiningOp<graph::DequantizeOp>();
  if (!op)
    return 0;
  auto constant = sourceOf(op.getScale()).getDefiningOp<graph::ConstantOp>();
  if (!constant)
    return 0;
  llvm::Expected<HostTensor> scale =
      reference::toHostTensor(constant.getValue());
  if (!scale) {
    llvm::consumeError(scale.takeError());
    return 0;
  }
  for (int64_t i = 1, e = scale->elements(); i < e; ++i)
    if (scale->getF64(i) != scale->getF64(0))
      return 0;
  return scale->elements() ? std::fabs(scale->getF64(0)) : 0;
}

std::vector<OutputFacts> fusec::tool::outputFacts(Model &model) {
  OutputFacts all;
  all.isDouble = true;
  auto look = [&](mlir::TypeRange types) {
    for (mlir::Type type : types)
      if (mlir::Type element = mlir::getElementTypeOrSelf(type);
          mlir::isa<mlir::FloatType>(element))
        all.isDouble &= element.isF64();
  };
  model.function().walk([&](mlir::Operation *op) {
    look(op->getOperandTypes());
    look(op->getResultTypes());
  });
  std::vector<OutputFacts> result;
  mlir::Block &body = model.function().getBody().front();
  for (mlir::Value output : body.getTerminator()->getOperands()) {
    result.push_back(all);
    result.back().step = stepOf(output);
  }
  return result;
}
