//===- RowPasses.cpp - how often rows are read ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction that needs another one's result takes a pass of its own, but for
// pairs that one state can hold: a maximum with a sum of exponentials, a mean
// with a sum of squares.
//===----------------------------------------------------------------------===//
#include "RowPasses.h"
#include "Sizes.h"
#include "fusec/Analysis/RowTiling.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

Value analysis::withoutMovement(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<graph::BroadcastOp, graph::ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

SmallVector<RescaledSum, 1> analysis::rescaledSums(const RegionForm &form) {
  SmallVector<RescaledSum, 1> result;
  for (auto [s, sum] : llvm::enumerate(form.stages)) {
    auto reduce = dyn_cast<graph::ReduceOp>(sum.op);
    if (!reduce || sum.level != 1 || reduce.getKind() != graph::ReduceKind::sum)
      continue;
    auto power = reduce.getOperand().getDefiningOp<graph::ExpOp>();
    auto difference =
        power ? power.getOperand().getDefiningOp<graph::SubOp>() : nullptr;
    if (!difference || !form.placements.contains(power) ||
        !form.placements.contains(difference))
      continue;
    Value least = withoutMovement(difference.getRhs());
    for (auto [m, max] : llvm::enumerate(form.stages)) {
      auto top = dyn_cast<graph::ReduceOp>(max.op);
      if (top && top.getResult() == least && max.level == 0 &&
          top.getKind() == graph::ReduceKind::max &&
          top.getOperand() == difference.getLhs() && max.loops == sum.loops)
        result.push_back({unsigned(m), unsigned(s)});
    }
  }
  return result;
}

/// True for a constant of `count` everywhere.
static bool isCount(Value value, int64_t count) {
  DenseElementsAttr elements;
  Value plain = withoutMovement(value);
  if (!matchPattern(plain, m_Constant(&elements)) || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return false;
  return elements.getSplatValue<APFloat>().convertToDouble() == double(count);
}

SmallVector<CentredSum, 1> analysis::centredSums(const RegionForm &form) {
  SmallVector<CentredSum, 1> result;
  auto sumOf = [](const RegionStage &stage) {
    auto reduce = dyn_cast<graph::ReduceOp>(stage.op);
    return reduce && reduce.getKind() == graph::ReduceKind::sum
               ? reduce
               : graph::ReduceOp();
  };
  for (auto [q, squares] : llvm::enumerate(form.stages)) {
    graph::ReduceOp outer = sumOf(squares);
    if (!outer || squares.level != 1)
      continue;
    auto square = outer.getOperand().getDefiningOp<graph::MulOp>();
    auto centred = square && square.getLhs() == square.getRhs()
                       ? square.getLhs().getDefiningOp<graph::SubOp>()
                       : nullptr;
    auto mean =
        centred
            ? withoutMovement(centred.getRhs()).getDefiningOp<graph::DivOp>()
            : nullptr;
    if (!mean || !form.placements.contains(square) ||
        !form.placements.contains(centred) ||
        !isCount(mean.getRhs(), product(form.reduced)) ||
        !getElementTypeOrSelf(outer.getOperand().getType()).isF32())
      continue;
    for (auto [s, sum] : llvm::enumerate(form.stages)) {
      graph::ReduceOp inner = sumOf(sum);
      if (inner && sum.level == 0 && sum.loops == squares.loops &&
          withoutMovement(mean.getLhs()) == inner.getResult() &&
          inner.getOperand() == centred.getLhs())
        result.push_back({unsigned(s), unsigned(q)});
    }
  }
  return result;
}

bool analysis::isOnePass(const RegionForm &form, bool rescale) {
  SmallVector<unsigned> joined;
  if (rescale) {
    for (const RescaledSum &pair : rescaledSums(form))
      joined.push_back(pair.sum);
    for (const CentredSum &pair : centredSums(form))
      joined.push_back(pair.squares);
  }
  for (auto [i, stage] : llvm::enumerate(form.stages))
    if (stage.level && !llvm::is_contained(joined, i))
      return false;
  return true;
}

unsigned analysis::levelOf(const RegionForm &form, const RegionOutput &output) {
  auto placed = form.placements.find(output.value.getDefiningOp());
  return output.isUniform || placed == form.placements.end()
             ? 0
             : placed->second.level;
}

bool analysis::canSplit(const RegionForm &form, bool rescale) {
  return isOnePass(form, rescale) &&
         llvm::all_of(form.outputs, [&](const RegionOutput &output) {
           return levelOf(form, output) == 0;
         });
}

unsigned analysis::countPasses(const RegionForm &form, bool onePass) {
  unsigned reductions = 1, last = 0;
  for (const RegionStage &stage : form.stages)
    reductions = std::max(reductions, stage.level + 1);
  bool hasFull = false;
  for (const RegionOutput &output : form.outputs) {
    last = std::max(last, levelOf(form, output));
    hasFull |= !output.isUniform;
  }
  if (onePass)
    return last ? 2 : 1;
  return reductions + hasFull;
}
