//===- KernelLanes.cpp - what index tiles look like -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index tiles come from a few arith ops. Walking them back tells the step from
// lane to lane and gives lane 0 as scalar code.
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <numeric>

using namespace mlir;
using namespace fusec;
using namespace fusec::host;

void KernelEmitter::setLanes(int64_t count) {
  lanes = count;
  carrier = count == 1 ? RankedTensorType()
                       : RankedTensorType::get({count}, builder.getF32Type());
}

Value KernelEmitter::splat(Value scalar) {
  if (lanes == 1)
    return scalar;
  auto type = RankedTensorType::get({lanes}, scalar.getType());
  Value tile = tensor::SplatOp::create(builder, loc, type, scalar);
  laneForms[tile] = {true, 0, 1};
  firstLanes[tile] = scalar;
  return tile;
}

Value KernelEmitter::laneIndex(Value first, int64_t divisor) {
  auto type = RankedTensorType::get({lanes}, builder.getIndexType());
  SmallVector<Attribute> numbers;
  for (int64_t lane = 0; lane < lanes; ++lane)
    numbers.push_back(builder.getIndexAttr(lane));
  Value steps = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, numbers));
  Value tile = arith::AddIOp::create(builder, loc, splat(first), steps);
  laneForms[tile] = {true, 1, divisor};
  firstLanes[tile] = first;
  return tile;
}

static std::optional<int64_t> splatConstant(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto dense = dyn_cast<SplatElementsAttr>(constant.getValue());
  if (!dense || !dense.getElementType().isIntOrIndex())
    return std::nullopt;
  return dense.getSplatValue<APInt>().getSExtValue();
}

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

LaneForm KernelEmitter::laneForm(Value value) {
  if (auto known = laneForms.find(value); known != laneForms.end())
    return known->second;
  LaneForm form;
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned i) { return laneForm(op->getOperand(i)); };
  if (std::optional<int64_t> number = splatConstant(value)) {
    form = {true, 0, *number == 0 ? int64_t(1) << 32 : std::abs(*number)};
  } else if (isa_and_nonnull<tensor::SplatOp>(op)) {
    form = {true, 0, 1}; // made by the loops of a reduction
  } else if (!op || op->getNumRegions() > 0 || op->getNumResults() != 1 ||
             op->getNumOperands() == 0) {
    form = {};
  } else if (isa<arith::AddIOp>(op)) {
    LaneForm lhs = operand(0), rhs = operand(1);
    form = {lhs.isAffine && rhs.isAffine, lhs.stride + rhs.stride,
            std::gcd(lhs.divisor, rhs.divisor)};
  } else if (isa<arith::MulIOp>(op)) {
    LaneForm lhs = operand(0), rhs = operand(1);
    if (auto factor = splatConstant(op->getOperand(1)))
      form = {lhs.isAffine, lhs.stride * *factor,
              *factor == 0 ? 1
                           : std::min<int64_t>(lhs.divisor, 1 << 20) *
                                 std::min<int64_t>(std::abs(*factor), 1 << 20)};
    else
      form = {lhs.isAffine && rhs.isAffine && lhs.stride == 0 &&
                  rhs.stride == 0,
              0, 1};
    // Only exact divisors may be claimed for large factors.
    if (auto factor = splatConstant(op->getOperand(1));
        factor && (std::abs(*factor) > (1 << 20) || lhs.divisor > (1 << 20)))
      form.divisor = 1;
  } else if (isa<arith::DivUIOp, arith::RemUIOp>(op) &&
             splatConstant(op->getOperand(1))) {
    LaneForm lhs = operand(0);
    int64_t divisor = *splatConstant(op->getOperand(1));
    bool isRem = isa<arith::RemUIOp>(op);
    int64_t common = std::gcd(lhs.divisor, divisor);
    // Lane 0 is a multiple of `common`; if the lanes end before the next
    // multiple, all have one quotient.
    bool oneQuotient =
        lhs.isAffine && lhs.stride >= 0 && lhs.stride * (lanes - 1) < common;
    if (lhs.isAffine && lhs.stride == 0)
      form = {true, 0, isRem ? common : 1};
    else if (oneQuotient)
      form = {true, isRem ? lhs.stride : 0, isRem ? common : 1};
  } else {
    // Any function of equal lanes has equal lanes.
    form = {true, 0, 1};
    for (Value part : op->getOperands())
      if (isTile(part)) {
        LaneForm inner = laneForm(part);
        form.isAffine &= inner.isAffine && inner.stride == 0;
      }
    if (!isa_and_nonnull<arith::ArithDialect>(op->getDialect()))
      form.isAffine = false;
  }
  return laneForms[value] = form;
}

Value KernelEmitter::firstLane(Value value) {
  if (!isTile(value))
    return value;
  if (Value known = firstLanes.lookup(value); known && isVisible(known))
    return known;
  Operation *op = value.getDefiningOp();
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return splat.getInput();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    auto scalar = cast<TypedAttr>(*dense.getValues<Attribute>().begin());
    return arith::ConstantOp::create(builder, loc, scalar);
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(firstLane(operand));
  OperationState state(loc, op->getName());
  state.addOperands(operands);
  state.addTypes(cast<RankedTensorType>(value.getType()).getElementType());
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  Value scalar = builder.create(state)->getResult(0);
  firstLanes[value] = scalar;
  return scalar;
}
