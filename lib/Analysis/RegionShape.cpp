//===- RegionShape.cpp - kind and spine of a region -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Step 1 of analyzeRegion and its driver; the steps are listed in
// RegionBuilder.h.
//===----------------------------------------------------------------------===//
#include "RegionBuilder.h"
#include "StencilShifts.h"
#include "fusec/Analysis/CostModel.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

llvm::StringRef analysis::name(KernelKind kind) {
  switch (kind) {
  case KernelKind::Pointwise:
    return "pointwise";
  case KernelKind::Row:
    return "row";
  case KernelKind::Stencil:
    return "stencil";
  case KernelKind::Contraction:
    return "contraction";
  case KernelKind::Naive:
    return "naive";
  case KernelKind::Multi:
    return "multi";
  case KernelKind::Chain:
    return "chain";
  }
  llvm_unreachable("covered switch");
}

SmallVector<int64_t> RegionForm::spine() const {
  SmallVector<int64_t> sizes(parallel);
  llvm::append_range(sizes, reduced);
  return sizes;
}

/// The result shape of `value`.
static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

void RegionBuilder::chooseSpine(const OpFacts *first) {
  lead = first;
  if (first) {
    form.parallel = first->space.parallel;
    form.reduced = first->space.reduced;
  } else {
    form.parallel.assign(shapeOf(outputs.front()).begin(),
                         shapeOf(outputs.front()).end());
  }
  spine = form.spine();
  numParallel = form.parallel.size();
}

bool RegionBuilder::classify() {
  llvm::sort(form.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  const OpFacts *hero = nullptr, *window = nullptr, *reduction = nullptr;
  for (Operation *op : form.ops) {
    const OpFacts *fact = table.get(op);
    facts.push_back(fact);
    if (!fact) {
      if (!op->hasTrait<OpTrait::ConstantLike>())
        return refuse({RefusalReason::OpaqueOp, op});
      continue;
    }
    inside[op] = fact;
    switch (fact->opClass) {
    case OpClass::Inlined:
      break;
    case OpClass::Reduction:
      // The longest one leads: a reduction over unit axes has no row to share.
      if (!reduction || fact == leading ||
          (reduction != leading &&
           pointCount(fact->loops) > pointCount(reduction->loops)))
        reduction = fact;
      break;
    case OpClass::Window:
      window = window ? window : fact;
      break;
    case OpClass::Hero:
      if (hero && (second || !limits.pairs || !mayPair(*hero, *fact)))
        return refuse({RefusalReason::SecondContraction, op});
      (hero ? second : hero) = fact;
      break;
    case OpClass::Search:
      if (form.ops.size() > 1)
        return refuse({RefusalReason::OpaqueOp, op});
      form.kind = KernelKind::Naive;
      chooseSpine(nullptr);
      return true;
    }
  }
  if (window && (hero || reduction))
    return refuse({RefusalReason::WindowBesideReduction, window->op});
  if (hero && reduction && !limits.statistics)
    return refuse({RefusalReason::ReductionBesideContraction, reduction->op});
  form.kind = hero               ? KernelKind::Contraction
              : reduction        ? KernelKind::Row
              : window || shifts ? KernelKind::Stencil
                                 : KernelKind::Pointwise;
  chooseSpine(hero ? hero : reduction);
  return true;
}

RegionVerdict RegionBuilder::run() {
  if (outputs.empty() || !classify())
    return refusal ? *refusal : Refusal{RefusalReason::OpaqueOp};
  bool ok;
  if (form.kind == KernelKind::Naive) {
    Value output = outputs.front();
    AffineMap index = identity(numParallel);
    for (Value value : outputs)
      form.outputs.push_back({value, index, true});
    form.placements[output.getDefiningOp()].reads.push_back(index);
    ok = true;
  } else if (plainShortcut()) {
    ok = true;
  } else {
    ok = placeAll() &&
         (form.kind == KernelKind::Stencil ? collectBoxes() : collectReads());
  }
  if (!ok)
    return std::move(*refusal);
  return std::move(form);
}

bool RegionBuilder::plainShortcut() {
  if (form.kind != KernelKind::Pointwise)
    return false;
  for (const OpFacts *fact : facts)
    if (fact && (!fact->isPlain || fact->space.parallel != form.parallel))
      return false;
  AffineMap index = identity(numParallel);
  for (Value value : outputs)
    form.outputs.push_back({value, index, true});
  for (const OpFacts *fact : facts)
    if (fact)
      form.placements[fact->op] = {{index}, 0, true};
  return true;
}

const OpFacts *RegionBuilder::crossing() const {
  if (form.kind != KernelKind::Row)
    return nullptr;
  for (const OpFacts *fact : facts)
    if (fact && fact->opClass == OpClass::Reduction && mayCross(*lead, *fact))
      return fact;
  return nullptr;
}

bool RegionBuilder::mayShift(RegionVerdict &verdict) const {
  if (form.kind != KernelKind::Pointwise || numParallel < 2 ||
      llvm::any_of(spine, ShapedType::isDynamic))
    return false;
  return verdict
             ? readsNeighbours(*verdict)
             : verdict.refusal().reason == RefusalReason::RecomputeTooCostly;
}

RegionVerdict analysis::analyzeRegion(FactTable &facts,
                                      ArrayRef<Operation *> ops,
                                      ArrayRef<Value> outputs,
                                      const RegionLimits &limits) {
  RegionBuilder builder(facts, ops, outputs, limits);
  RegionVerdict verdict = builder.run();
  if (builder.mayShift(verdict))
    if (RegionVerdict shifted =
            RegionBuilder(facts, ops, outputs, limits, nullptr, /*shifts=*/true)
                .run())
      return shifted;
  if (verdict)
    return verdict;
  if (verdict.refusal().reason == RefusalReason::WindowBesideReduction)
    return analyzeBehind(facts, ops, outputs, limits, verdict.refusal());
  // Columns may be what are rows, and the converse.
  const OpFacts *other = builder.crossing();
  if (!other)
    return verdict;
  RegionVerdict crossed =
      RegionBuilder(facts, ops, outputs, limits, other).run();
  // Rows that are too long say more than columns that are none.
  auto rowLength = [](const RegionVerdict &refused) {
    const Refusal &why = refused.refusal();
    return why.reason == RefusalReason::ColumnAccumulators ? why.number : 0;
  };
  if (crossed || rowLength(crossed) > rowLength(verdict))
    return crossed;
  return verdict;
}

/// The regions of one launch.
static RegionVerdict analyzeParts(FactTable &facts, KernelKind kind,
                                  ArrayRef<graph::FusionOp> parts,
                                  const RegionLimits &limits) {
  RegionForm multi;
  multi.kind = kind;
  for (graph::FusionOp part : parts) {
    RegionVerdict verdict = analyzeFusion(facts, part, limits);
    if (!verdict)
      return verdict;
    llvm::append_range(multi.ops, verdict->ops);
    llvm::append_range(multi.outputs, verdict->outputs);
    multi.parts.push_back(std::move(*verdict));
  }
  return multi;
}

RegionVerdict analysis::analyzeFusion(FactTable &facts, graph::FusionOp fusion,
                                      const RegionLimits &limits) {
  if (SmallVector<graph::FusionOp, 0> parts = fusion.getParts(); !parts.empty())
    return analyzeParts(
        facts, fusion.isChain() ? KernelKind::Chain : KernelKind::Multi, parts,
        limits);
  Block &body = fusion.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  llvm::SetVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    if (value.getDefiningOp())
      results.insert(value);
  return analyzeRegion(facts, ops, results.getArrayRef(), limits);
}
