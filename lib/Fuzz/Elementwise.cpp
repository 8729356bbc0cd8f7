//===- Elementwise.cpp - chains of elementwise ops ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops whose operands and result have one type come from the dialect's
// registry; whether they take an element type is asked of their verifier.
//===----------------------------------------------------------------------===//
#include "Writer.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fuzz;

//===----------------------------------------------------------------------===//
// The registry
//===----------------------------------------------------------------------===//

/// The number of operands of an op that keeps their type and has no
/// attributes; 0 for other ops.
static unsigned sameTypeArity(RegisteredOperationName name) {
  if (!name.hasTrait<OpTrait::SameOperandsAndResultType>() ||
      !name.hasTrait<OpTrait::OneResult>() || !name.getAttributeNames().empty())
    return 0;
  return name.hasTrait<OpTrait::OneOperand>()           ? 1
         : name.hasTrait<OpTrait::NOperands<2>::Impl>() ? 2
         : name.hasTrait<OpTrait::NOperands<3>::Impl>() ? 3
                                                        : 0;
}

static SmallVector<RegisteredOperationName> sameTypeOps(MLIRContext *context) {
  SmallVector<RegisteredOperationName> names;
  // Sorted by name, so in one order on every machine.
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (isa<graph::GraphDialect>(name.getDialect()) && sameTypeArity(name))
      names.push_back(name);
  return names;
}

/// Ops that keep values in a range in which later ops say something.
template <typename... OpTs>
static OperationName pickOf(Writer &w) {
  const OperationName names[] = {
      OperationName(OpTs::getOperationName(), w.context())...};
  return w.rng.pick(names);
}

Value fuzz::sameTypeOp(Writer &w, Value value) {
  using namespace graph;
  for (int attempt = 0; attempt < 6; ++attempt) {
    OperationName name =
        w.rng.chance(1, 2)
            ? pickOf<AddOp, SubOp, MulOp, MulOp, MaxOp, MinOp, NegOp, AbsOp,
                     ReluOp, TanhOp, LogisticOp, DivOp>(w)
            : OperationName(w.rng.pick(ArrayRef(sameTypeOps(w.context()))));
    unsigned arity = sameTypeArity(*name.getRegisteredInfo());
    SmallVector<Value> operands(arity, value);
    for (unsigned i = 0; i < arity; ++i)
      if (arity > 1 && w.rng.chance(4, 5) && i != arity / 2)
        operands[i] = w.fitting(w.shapeOf(value), w.dtypeOf(value));
    if (arity == 2 && w.rng.chance(1, 2))
      std::swap(operands[0], operands[1]);
    if (Value result = w.named(name, operands, value.getType()))
      return result;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Recipes
//===----------------------------------------------------------------------===//

static Value chain(Writer &w) {
  Value value = w.any();
  for (int64_t i = 0, n = w.rng.between(1, 6); value && i < n; ++i)
    if (Value next = sameTypeOp(w, value))
      value = next;
  return value;
}

static Value castChain(Writer &w) {
  Value value = w.any();
  for (int64_t i = 0, n = w.rng.between(1, 3); value && i < n; ++i) {
    value = w.cast(value, w.dtype());
    if (value && w.rng.chance(1, 2))
      if (Value next = sameTypeOp(w, value))
        value = next;
  }
  return value;
}

static Value compareAndSelect(Writer &w) {
  static constexpr graph::ComparePredicate kPredicates[] = {
      graph::ComparePredicate::eq, graph::ComparePredicate::ne,
      graph::ComparePredicate::lt, graph::ComparePredicate::le,
      graph::ComparePredicate::gt, graph::ComparePredicate::ge};
  Value lhs = w.any();
  if (!lhs)
    return {};
  Value rhs = w.fitting(w.shapeOf(lhs), w.dtypeOf(lhs));
  auto predicate = w.rng.pick(kPredicates);
  Value flag = w.op<graph::CompareOp>(w.tensor(w.shapeOf(lhs), DType::Bool),
                                      predicate, lhs, rhs);
  if (!flag || w.rng.chance(1, 4))
    return flag;
  DType dtype = w.rng.chance(2, 3) ? w.dtypeOf(lhs) : w.dtype();
  Value onTrue = w.fitting(w.shapeOf(lhs), dtype);
  Value onFalse = w.fitting(w.shapeOf(lhs), dtype);
  if (!onTrue || !onFalse)
    return flag;
  return w.op<graph::SelectOp>(onTrue.getType(), flag, onTrue, onFalse);
}

static Value predicate(Writer &w) {
  Value value = w.anyReal();
  if (!value)
    return {};
  Type flags = w.tensor(w.shapeOf(value), DType::Bool);
  Value flag = w.named(pickOf<graph::IsNanOp, graph::IsInfOp>(w), value, flags);
  if (!flag || w.rng.chance(1, 2))
    return flag;
  Value other = w.fitting(w.shapeOf(value), w.dtypeOf(value));
  return w.op<graph::SelectOp>(value.getType(), flag, other, value);
}

/// The scale of a quantiser, of the shape of `like`: powers of two and others.
static Value scaleLike(Writer &w, Value like) {
  HostTensor scalar = llvm::cantFail(HostTensor::create(w.dtypeOf(like), {}));
  scalar.setF64(0,
                double(w.rng.between(1, 24)) / (w.rng.chance(1, 2) ? 16 : 7));
  Value value = w.given(std::move(scalar));
  return w.broadcast(value, w.shapeOf(like), {});
}

static Value quantize(Writer &w) {
  static constexpr DType kStored[] = {DType::I8,     DType::U8,    DType::I4,
                                      DType::U4,     DType::I16,   DType::I32,
                                      DType::F8E4M3, DType::F8E5M2};
  static constexpr DType kReal[] = {DType::F32, DType::F32, DType::F16,
                                    DType::BF16, DType::F64};
  Value value = w.anyReal();
  if (!value)
    return {};
  if (llvm::is_contained({DType::F8E4M3, DType::F8E5M2}, w.dtypeOf(value)))
    value = w.cast(value, w.rng.pick(kReal));
  DType stored = w.rng.pick(kStored);
  Value scale = scaleLike(w, value);
  HostTensor zero = llvm::cantFail(HostTensor::create(stored, {}));
  if (!isFloat(stored))
    zero.setI64(0, w.rng.between(isUnsignedInt(stored) ? 0 : -3, 3));
  Value scalar = w.given(std::move(zero));
  Value zeroPoint = w.broadcast(scalar, w.shapeOf(value), {});
  Value quantized = w.op<graph::QuantizeOp>(w.tensor(w.shapeOf(value), stored),
                                            value, scale, zeroPoint);
  if (!quantized || w.rng.chance(1, 3))
    return quantized;
  return w.op<graph::DequantizeOp>(value.getType(), quantized, scale,
                                   zeroPoint);
}

void fuzz::appendElementwiseRecipes(SmallVectorImpl<WeightedRecipe> &recipes) {
  recipes.append({{chain, 24},
                  {castChain, 6},
                  {compareAndSelect, 5},
                  {predicate, 2},
                  {quantize, 3}});
}
