//===- RegionPair.cpp - two products side by side -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gated units (SwiGLU, GEGLU) combine two products of one operand, element by
// element. A tile of the skeleton then has columns of both (docs/fusion.md).
//===----------------------------------------------------------------------===//
#include "RegionBuilder.h"
#include "fusec/Analysis/RowTiling.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Whether the copy engine can bring boxes of `value`, a whole tensor of 16-bit
/// floats.
static bool isBoxable(Value value) {
  RankedTensorType type = typeOf(value);
  Type element = type.getElementType();
  return type.hasStaticShape() && type.getNumElements() > 0 &&
         (element.isF16() || element.isBF16()) &&
         type.getShape().back() % 8 == 0;
}

/// The operand that both have; nothing if it is not one of the two.
static std::optional<unsigned> sharedOperand(Operation *a, Operation *b) {
  for (unsigned i : {0u, 1u})
    if (a->getOperand(i) == b->getOperand(i) &&
        a->getOperand(1 - i) != b->getOperand(1 - i))
      return i;
  return std::nullopt;
}

bool analysis::mayPair(const OpFacts &a, const OpFacts &b) {
  if (!isa<graph::ContractOp>(a.op) || !isa<graph::ContractOp>(b.op) ||
      a.op->getAttrDictionary() != b.op->getAttrDictionary() ||
      a.op->getResultTypes() != b.op->getResultTypes() ||
      a.space.reduced.size() != 1 || a.space.operands.size() != 2)
    return false;
  std::optional<unsigned> shared = sharedOperand(a.op, b.op);
  if (!shared || typeOf(a.op->getOperand(1 - *shared)) !=
                     typeOf(b.op->getOperand(1 - *shared)))
    return false;
  for (unsigned dim = 0; dim < a.numParallel(); ++dim) {
    auto uses = [&](unsigned operand) {
      AffineMap map = a.space.operands[operand].map;
      return map && usesDimIn(map, dim, dim + 1);
    };
    // Batches would be tiles of their own; nothing has asked for them.
    if (uses(0) == uses(1))
      return false;
  }
  return llvm::all_of(a.op->getOperands(), [](Value operand) {
    Type element = typeOf(operand).getElementType();
    return element.isF16() || element.isBF16();
  });
}

bool RegionBuilder::checkPair() {
  Operation *first = form.hero(), *second = form.second();
  Refusal why{RefusalReason::SecondContraction, second};
  unsigned shared = *sharedOperand(first, second), own = 1 - shared;
  // Operands come from memory as they are, or turned, both of them alike.
  auto turned = [&](Value operand) {
    Operation *producer = operand.getDefiningOp();
    return inside.contains(producer) ? dyn_cast<graph::TransposeOp>(producer)
                                     : graph::TransposeOp();
  };
  auto isInside = [&](Value value) {
    return inside.contains(value.getDefiningOp());
  };
  graph::TransposeOp turns[] = {turned(first->getOperand(own)),
                                turned(second->getOperand(own))};
  if (bool(turns[0]) != bool(turns[1]) ||
      (turns[0] && turns[0].getPermutation() != turns[1].getPermutation()))
    return refuse(why);
  for (Operation *op : {first, second})
    for (Value operand : op->getOperands()) {
      graph::TransposeOp turn = turned(operand);
      Value source = turn ? turn.getOperand() : operand;
      if (isInside(source) || !isBoxable(source))
        return refuse(why);
    }
  // Results go to memory along columns, one for both products.
  if (!form.statistics.empty() || form.outputs.size() != 1)
    return refuse(why);
  const RegionOutput &output = form.outputs.front();
  AffineMap columns = lead->space.operands[own].map;
  ArrayRef<int64_t> shape = typeOf(output.value).getShape();
  for (unsigned dim = 0; dim < numParallel; ++dim)
    if (usesDimIn(columns, dim, dim + 1) && spine[dim] > 1 &&
        strideAlong(output.index, shape, dim) == 1)
      return true;
  return refuse(why);
}
