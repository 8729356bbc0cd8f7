//===- ExactSums.cpp - data on which the order of a sum is nothing --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each value a grid: its elements are multiples of `unit`, a power of two,
// of magnitude `most` at most. Sums of products of two grids are multiples of
// the product of the units, so exact in f32 while they are below 2^24 of them.
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/ExactSums.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

// Numbers of an f32, and of what TF32 and the narrowest 16-bit type keep.
static constexpr double kSumNumbers = 1 << 24;
static constexpr double kOperandNumbers = 1 << 11;
// Far from the subnormals of every type.
static constexpr double kLeastUnit = 0x1p-8;

namespace {
struct Grid {
  double unit = 1, most = 0;
};
using MaybeGrid = std::optional<Grid>;

class Grids {
public:
  MaybeGrid of(Value value);

private:
  MaybeGrid compute(Value value);
  /// Of values each of which is one of the operands'.
  MaybeGrid anyOf(ValueRange values);

  llvm::DenseMap<Value, MaybeGrid> known;
};
} // namespace

static MaybeGrid ifUsable(Grid grid) {
  if (grid.unit < kLeastUnit || grid.most > kSumNumbers * grid.unit)
    return std::nullopt;
  return grid;
}

static MaybeGrid gridOfNumber(double number) {
  double unit = 1;
  while (unit >= kLeastUnit && std::trunc(number / unit) * unit != number)
    unit /= 2;
  return ifUsable({unit, std::fabs(number)});
}

/// Of all numbers that an integer type of at most 8 bits has.
static MaybeGrid gridOfType(Type type) {
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
  if (!integer || integer.getWidth() > 8)
    return std::nullopt;
  return Grid{1, double(1 << integer.getWidth())};
}

static MaybeGrid gridOfConstant(Operation *op) {
  SplatElementsAttr splat;
  if (!matchPattern(op, m_Constant(&splat)))
    return std::nullopt;
  if (auto number = dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>()))
    return gridOfNumber(number.getValueAsDouble());
  return gridOfType(splat.getType());
}

MaybeGrid Grids::anyOf(ValueRange values) {
  MaybeGrid result;
  for (Value value : values) {
    MaybeGrid grid = of(value);
    if (!grid)
      return std::nullopt;
    result = result ? Grid{std::min(result->unit, grid->unit),
                           std::max(result->most, grid->most)}
                    : *grid;
  }
  return result;
}

static MaybeGrid sumOf(MaybeGrid a, MaybeGrid b) {
  if (!a || !b)
    return std::nullopt;
  return ifUsable({std::min(a->unit, b->unit), a->most + b->most});
}

static MaybeGrid productOf(MaybeGrid a, MaybeGrid b) {
  if (!a || !b)
    return std::nullopt;
  return ifUsable({a->unit * b->unit, a->most * b->most});
}

MaybeGrid Grids::of(Value value) {
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  MaybeGrid grid = compute(value);
  // Results of wrapping arithmetic are still numbers of their type.
  if (!grid || isa<IntegerType>(getElementTypeOrSelf(value.getType())))
    if (MaybeGrid ofType = gridOfType(value.getType()))
      grid = ofType;
  return known[value] = grid;
}

MaybeGrid Grids::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return isa<FloatType>(getElementTypeOrSelf(value.getType()))
               ? Grid{0.5, 1}
               : Grid{1, double(kSimpleIntegers)};
  // Wider integers wrap where their sums are no longer small.
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value.getType()));
  auto keep = [&](MaybeGrid grid) {
    return type && grid && grid->most >= std::ldexp(1, int(type.getWidth()) - 1)
               ? std::nullopt
               : grid;
  };
  return llvm::TypeSwitch<Operation *, MaybeGrid>(op)
      .Case<graph::ConstantOp>([&](auto) { return gridOfConstant(op); })
      .Case<graph::ReshapeOp, graph::TransposeOp, graph::BroadcastOp,
            graph::SliceOp, graph::ConcatOp, graph::PadOp, graph::NegOp,
            graph::AbsOp, graph::MaxOp, graph::MinOp, graph::ClampOp>(
          [&](auto) { return anyOf(op->getOperands()); })
      .Case<graph::CastOp>([&](auto) {
        MaybeGrid grid = of(op->getOperand(0));
        // Where it rounds it may round up.
        return grid ? keep(ifUsable({grid->unit, 2 * grid->most})) : grid;
      })
      .Case<graph::SelectOp>(
          [&](auto) { return anyOf(op->getOperands().drop_front()); })
      .Case<graph::AddOp, graph::SubOp>([&](auto) {
        return keep(sumOf(of(op->getOperand(0)), of(op->getOperand(1))));
      })
      .Case<graph::MulOp>([&](auto) {
        return keep(productOf(of(op->getOperand(0)), of(op->getOperand(1))));
      })
      .Case<graph::DequantizeOp>([&](graph::DequantizeOp dequantize) {
        return productOf(
            sumOf(of(dequantize.getOperand()), of(dequantize.getZeroPoint())),
            of(dequantize.getScale()));
      })
      .Default([](auto) { return MaybeGrid(); });
}

bool analysis::isExactOnSimpleData(FactTable &facts, Operation *hero) {
  const OpFacts *fact = facts.get(hero);
  if (!fact || hero->getNumOperands() != 2)
    return false;
  double terms = 1;
  for (int64_t size : ArrayRef(fact->loops).drop_front(fact->numParallel()))
    terms *= double(std::max<int64_t>(size, 1));
  Grids grids;
  MaybeGrid lhs = grids.of(hero->getOperand(0)),
            rhs = grids.of(hero->getOperand(1));
  if (!lhs || !rhs)
    return false;
  for (MaybeGrid operand : {lhs, rhs})
    if (operand->most > kOperandNumbers * operand->unit)
      return false;
  return terms * lhs->most * rhs->most <= kSumNumbers * lhs->unit * rhs->unit;
}
