//===- Compare.cpp - expected against found -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Compare.h"
#include "Model.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

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

static bool isClose(double expected, double found, const Tolerance &tolerance,
                    Difference &difference) {
  if (std::isnan(expected) || std::isnan(found))
    return std::isnan(expected) && std::isnan(found);
  if (expected == found)
    return true;
  if (std::isinf(expected) || std::isinf(found))
    return false;
  double error = std::fabs(found - expected);
  difference.maxAbsolute = std::max(difference.maxAbsolute, error);
  if (expected != 0)
    difference.maxRelative =
        std::max(difference.maxRelative, error / std::fabs(expected));
  return error <= tolerance.absolute + tolerance.relative * std::fabs(expected);
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
  for (int64_t i = 0; i < result.elements; ++i) {
    bool ok =
        isFloat(expected.dtype)
            ? isClose(expected.getF64(i), found.getF64(i), tolerance, result)
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
  return result;
}
