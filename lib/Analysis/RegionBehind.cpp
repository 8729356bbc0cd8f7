//===- RegionBehind.cpp - rows of what windows made -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows and reductions in one kernel: a depthwise convolution over an image
// with channels last and a norm over its channels. What windows need is a
// Stencil region, what follows is a Row region, and each is analysed by itself;
// here they are put together where a block that marches holds whole rows.
//===----------------------------------------------------------------------===//
#include "RegionBuilder.h"
#include "fusec/Analysis/StencilMarch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

namespace {
/// A region in two: windows with what they read, and what is left.
struct TwoParts {
  SmallVector<Operation *> windows, behind;
  /// Values of the first that the second reads.
  llvm::SetVector<Value> handed;
};
} // namespace

/// `sorted`: producers first.
static TwoParts split(FactTable &table, ArrayRef<Operation *> sorted) {
  TwoParts parts;
  llvm::SmallPtrSet<Operation *, 16> first;
  llvm::SmallPtrSet<Operation *, 16> inside(sorted.begin(), sorted.end());
  for (Operation *op : llvm::reverse(sorted)) {
    const OpFacts *fact = table.get(op);
    if (fact && (fact->opClass == OpClass::Window || first.contains(op))) {
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          first.insert(producer);
      first.insert(op);
    }
  }
  for (Operation *op : sorted) {
    bool isConstant = !table.get(op);
    if (isConstant || first.contains(op))
      parts.windows.push_back(op);
    if (!isConstant && first.contains(op))
      continue;
    parts.behind.push_back(op);
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && inside.contains(producer) && table.get(producer) &&
          first.contains(producer))
        parts.handed.insert(operand);
    }
  }
  return parts;
}

/// Whether `form` reads `handed` at its spine's own points only.
static bool readsOwnPoints(FactTable &table, const RegionForm &form,
                           const llvm::SetVector<Value> &handed) {
  SmallVector<int64_t> spine = form.spine();
  auto readsAt = [&](const OpFacts &fact, ArrayRef<AffineMap> maps) {
    for (auto [operand, access] :
         llvm::zip(fact.op->getOperands(), fact.space.operands))
      if (handed.contains(operand))
        for (AffineMap map : maps)
          if (!map || !access.map || access.isIndirect ||
              !composeIndex(access.map, map, spine).isIdentity())
            return false;
    return true;
  };
  for (const RegionStage &stage : form.stages)
    if (!readsAt(*table.get(stage.op), stage.loops))
      return false;
  for (auto &[op, placement] : form.placements) {
    const OpFacts *fact = table.get(op);
    if (fact && fact->opClass == OpClass::Inlined &&
        !readsAt(*fact, placement.reads))
      return false;
  }
  return true;
}

/// Whether `rows` has the spine of `windows` with the last dim reduced.
static bool haveOneSpine(const RegionForm &windows, const RegionForm &rows) {
  ArrayRef<int64_t> spine = windows.parallel;
  auto isWhole = [](const RegionOutput &output) {
    return output.index.isIdentity();
  };
  return windows.kind == KernelKind::Stencil && !spine.empty() &&
         rows.kind == KernelKind::Row && rows.columns.empty() &&
         ArrayRef(rows.parallel) == spine.drop_back() &&
         ArrayRef(rows.reduced) == spine.take_back() &&
         llvm::all_of(windows.outputs, isWhole) &&
         llvm::none_of(rows.stages, [](const RegionStage &stage) {
           return cast<graph::ReductionOpInterface>(stage.op).getSelected();
         });
}

RegionVerdict analysis::analyzeBehind(FactTable &table,
                                      ArrayRef<Operation *> ops,
                                      ArrayRef<Value> outputs,
                                      const RegionLimits &limits,
                                      Refusal refusal) {
  SmallVector<Operation *> sorted(ops);
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  TwoParts parts = split(table, sorted);
  auto isBehind = [&](Value output) {
    return llvm::is_contained(parts.behind, output.getDefiningOp());
  };
  if (parts.handed.empty() || !llvm::all_of(outputs, isBehind))
    return refusal;
  RegionVerdict windows =
      RegionBuilder(table, parts.windows, parts.handed.getArrayRef(), limits)
          .run();
  if (!windows)
    return refusal;
  RegionVerdict rows =
      RegionBuilder(table, parts.behind, outputs, limits).run();
  if (!rows || !haveOneSpine(*windows, *rows) ||
      !readsOwnPoints(table, *rows, parts.handed))
    return refusal;
  RegionForm form = std::move(*windows);
  form.handed = parts.handed.takeVector();
  form.ops = std::move(sorted);
  form.outputs = rows->outputs;
  for (auto &[op, placement] : rows->placements)
    form.placements[op] = placement;
  form.behind.push_back(std::move(*rows));
  std::optional<MarchForm> march = analyzeMarch(form);
  if (!march)
    return refusal;
  form.haloRatio = march->repeated();
  form.sharedBytes = march->handedBytes;
  return form;
}
