//===- RegionPair.cpp - two products side by side
//--------------------------===//
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
  return llvm::all_of(a.op->getOperands(), isBoxable);
}

bool RegionBuilder::checkPair() {
  Operation *second = form.second();
  Refusal why{RefusalReason::SecondContraction, second};
  unsigned own = 1 - *sharedOperand(form.hero(), second);
  // Operands come from memory as they are, and results go there along columns,
  // one for both products.
  for (Operation *op : {form.hero(), second})
    for (Value operand : op->getOperands())
      if (inside.contains(operand.getDefiningOp()))
        return refuse(why);
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
