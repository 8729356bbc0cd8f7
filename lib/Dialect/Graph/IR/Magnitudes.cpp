//===- Magnitudes.cpp - what is known of sizes of numbers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Graph/IR/Magnitudes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;
using llvm::APFloat;

/// From the least denormal to below the power of two after the largest number.
static Magnitudes magnitudesOf(const llvm::fltSemantics &type) {
  return {ilogb(APFloat::getSmallest(type)),
          ilogb(APFloat::getLargest(type)) + 1};
}

Magnitudes graph::magnitudesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Magnitudes all = ::magnitudesOf(
      cast<FloatType>(type.getElementType()).getFloatSemantics());
  DenseElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return all;
  std::optional<Magnitudes> found;
  auto add = [&](const APFloat &x) {
    if (!x.isFiniteNonZero())
      return;
    int exponent = ilogb(x);
    bool isPower = x.getExactLog2Abs() != INT_MIN;
    Magnitudes one = {exponent, exponent + !isPower};
    found = found ? Magnitudes{std::min(found->low, one.low),
                               std::max(found->high, one.high)}
                  : one;
  };
  if (constant.isSplat())
    add(constant.getSplatValue<APFloat>());
  else
    for (const APFloat &x : constant.getValues<APFloat>())
      add(x);
  return found.value_or(Magnitudes());
}
