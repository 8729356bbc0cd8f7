//===- ProductEpilogue.cpp - what follows a product -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the output back to the contraction: movement anywhere, then a cast, an
// activation and sums, each where it is.
//===----------------------------------------------------------------------===//
#include "ProductEpilogue.h"
#include "fusec/Analysis/IndexingMaps.h"
#include "mlir/IR/Matchers.h"

#include <algorithm>

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;
using runtime::VendorActivation;

namespace {
/// Walks from an output to the contraction.
class Walk {
public:
  Walk(analysis::FactTable &facts, const analysis::RegionForm &form)
      : facts(facts), form(form), sizes(form.spine()),
        value(form.outputs.front().value), at(form.outputs.front().index) {}

  std::optional<ProductEpilogue> run();

private:
  void skipMovement();
  bool takeCast();
  bool takeRelu();
  bool takeSum();
  std::optional<LinearAccess> addendOf(Value other);

  analysis::FactTable &facts;
  const analysis::RegionForm &form;
  SmallVector<int64_t> sizes;
  /// What is left to explain, and where it is read.
  Value value;
  AffineMap at;
  ProductEpilogue result;
};
} // namespace

static unsigned bitsOf(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return isa<FloatType>(type) ? type.getIntOrFloatBitWidth() : 0;
}

/// Goes through a cast of floats of `from` to `to` bits.
static Value castOperand(Value value, unsigned from, unsigned to) {
  auto cast = value.getDefiningOp<graph::CastOp>();
  return cast && bitsOf(cast.getOperand()) == from && bitsOf(value) == to
             ? cast.getOperand()
             : Value();
}

/// `value` is +0 everywhere.
static bool isZero(analysis::FactTable &facts, Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (SplatElementsAttr splat; matchPattern(op, m_Constant(&splat))) {
      auto number = dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>());
      return number && number.getValue().isPosZero();
    }
    if (!movementOf(facts, op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

void Walk::skipMovement() {
  while (Operation *op = value.getDefiningOp()) {
    AffineMap map = movementOf(facts, op);
    if (!map)
      return;
    at = analysis::composeIndex(map, at, sizes);
    value = op->getOperand(0);
  }
}

bool Walk::takeCast() {
  skipMovement();
  Value operand = castOperand(value, 32, 16);
  if (operand)
    value = operand;
  return bool(operand);
}

bool Walk::takeRelu() {
  skipMovement();
  auto max = value.getDefiningOp<graph::MaxOp>();
  if (!max)
    return false;
  for (int i : {0, 1})
    if (isZero(facts, max->getOperand(1 - i))) {
      value = max->getOperand(i);
      result.activation = VendorActivation::Relu;
      return true;
    }
  return false;
}

/// An input, perhaps widened, which is exact.
std::optional<LinearAccess> Walk::addendOf(Value other) {
  AffineMap where = at;
  while (Operation *op = other.getDefiningOp()) {
    Value narrow = castOperand(other, 16, 32);
    if (!narrow) {
      AffineMap map = movementOf(facts, op);
      if (!map)
        return std::nullopt;
      where = analysis::composeIndex(map, where, sizes);
    }
    other = op->getOperand(0);
  }
  return accessOf(cast<BlockArgument>(other).getArgNumber(), where, other,
                  sizes);
}

bool Walk::takeSum() {
  skipMovement();
  auto sum = value.getDefiningOp<graph::AddOp>();
  if (!sum || !bitsOf(value))
    return false;
  for (int i : {0, 1})
    if (std::optional<LinearAccess> addend = addendOf(sum->getOperand(1 - i))) {
      result.addends.push_back(std::move(*addend));
      value = sum->getOperand(i);
      return true;
    }
  return false;
}

std::optional<ProductEpilogue> Walk::run() {
  takeCast();
  takeRelu();
  for (int i = 0; i < 2; ++i)
    takeSum();
  // From the last addend to the first.
  std::reverse(result.addends.begin(), result.addends.end());
  skipMovement();
  const analysis::RegionStage &hero = form.stages.front();
  if (value != hero.op->getResult(0))
    return std::nullopt;
  // Each element is made of that of the same loops.
  auto read = accessOf(0, at, value, sizes),
       made = accessOf(0, hero.result, value, sizes);
  if (!read || !made || read->strides != made->strides)
    return std::nullopt;
  return std::move(result);
}

std::optional<ProductEpilogue>
driver::productEpilogue(analysis::FactTable &facts,
                        const analysis::RegionForm &form) {
  return Walk(facts, form).run();
}
