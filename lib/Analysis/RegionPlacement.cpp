//===- RegionPlacement.cpp - where values are made on the spine -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Step 2 of analyzeRegion. From a seed (the lead stage's loops, or the first
// output) placements spread over accesses that have an inverse: to operands of
// a placed op, and to users of a placed value. What stays unplaced is guessed
// where every choice would be right, in this order:
//   1. a user of a row's value whose other loops are open (a broadcast along
//   the
//      reduced axes): they are the reduced dims, regrouped;
//   2. a reduction that shares no value with the others: row-major on the
//   spine;
//   3. an output that shares no value with the rest: likewise.
// Reads are checked afterwards, so a guess can lose a fusion but not make a
// wrong one.
//===----------------------------------------------------------------------===//
#include "RegionBuilder.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

AffineMap RegionBuilder::identity(unsigned numResults, unsigned first) {
  MLIRContext *context = outputs.front().getContext();
  SmallVector<AffineExpr> results;
  for (unsigned i = 0; i < numResults; ++i) {
    unsigned dim = first + i;
    results.push_back(spine[dim] == 1 ? getAffineConstantExpr(0, context)
                                      : getAffineDimExpr(dim, context));
  }
  return AffineMap::get(spine.size(), 0, results, context);
}

bool RegionBuilder::dynamicMatch(const OpFacts *op) {
  return op->role == graph::FusionRole::elementwise ||
         op->role == graph::FusionRole::reduction;
}

void RegionBuilder::collectUses() {
  for (const OpFacts *fact : facts) {
    if (!fact)
      continue;
    for (OpOperand &operand : fact->op->getOpOperands())
      uses[operand.get()].push_back({fact, operand.getOperandNumber()});
  }
}

void RegionBuilder::placeValue(Value value, AffineMap map) {
  if (placed.try_emplace(value, map).second)
    worklist.push_back(value);
}

void RegionBuilder::placeOp(const OpFacts *op, AffineMap loops) {
  AffineMap result = loops;
  if (op->opClass == OpClass::Reduction) {
    if (!stageLoops.try_emplace(op->op, loops).second)
      return;
    result = AffineMap::get(spine.size(), 0,
                            loops.getResults().take_front(op->numParallel()),
                            loops.getContext());
    for (auto [operand, access] :
         llvm::zip(op->op->getOperands(), op->space.operands))
      if (!access.isIndirect && !access.isMasked && access.map)
        placeValue(operand, composeIndex(access.map, loops, spine));
  } else if (op->opClass != OpClass::Inlined) {
    return; // windows and heroes are not iterated by other spines
  }
  for (Value value : op->op->getResults())
    placeValue(value, result);
}

void RegionBuilder::placeForward(Value value, AffineMap map) {
  auto it = uses.find(value);
  if (it == uses.end())
    return;
  for (const Use &use : it->second) {
    const OpFacts *user = use.user;
    if (user->opClass == OpClass::Reduction
            ? stageLoops.contains(user->op)
            : user->opClass != OpClass::Inlined ||
                  placed.contains(user->op->getResult(0)))
      continue;
    if (user->isPlain) {
      placeOp(user, map);
      continue;
    }
    const graph::OperandAccess &access = user->space.operands[use.operand];
    if (access.isIndirect || access.isMasked || !access.map)
      continue;
    auto loops = solveIndex(access.map, user->loops, shapeOf(value), map, spine,
                            dynamicMatch(user));
    if (!loops)
      continue;
    if (llvm::is_contained(*loops, AffineExpr()))
      partials.push_back({user, *loops});
    else
      placeOp(user, AffineMap::get(spine.size(), 0, *loops, map.getContext()));
  }
}

void RegionBuilder::placeBackward(Value value, AffineMap map) {
  Operation *op = value.getDefiningOp();
  const OpFacts *fact = op ? inside.lookup(op) : nullptr;
  if (!fact || fact->opClass != OpClass::Inlined)
    return;
  if (fact->isPlain) {
    for (Value operand : op->getOperands())
      placeValue(operand, map);
    return;
  }
  for (auto [operand, access] :
       llvm::zip(op->getOperands(), fact->space.operands)) {
    if (access.isIndirect || access.isMasked || !access.map ||
        placed.contains(operand))
      continue;
    AffineMap read = composeIndex(access.map, map, spine);
    // Only a read that visits each element once places the operand.
    AffineMap self = AffineMap::getMultiDimIdentityMap(
        access.map.getNumResults(), map.getContext());
    auto back = solveIndex(access.map, fact->loops, shapeOf(operand), self,
                           shapeOf(operand), dynamicMatch(fact));
    if (back && !llvm::is_contained(*back, AffineExpr()))
      placeValue(operand, read);
  }
}

void RegionBuilder::propagate() {
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    AffineMap map = placed.lookup(value);
    placeBackward(value, map);
    placeForward(value, map);
  }
}

void RegionBuilder::seed() {
  if (form.kind == KernelKind::Row)
    placeOp(lead, identity(spine.size()));
  else if (form.kind == KernelKind::Contraction)
    for (const OpFacts *product : {lead, second}) {
      if (product)
        placeValue(product->op->getResult(0), identity(numParallel));
    }
  else
    placeValue(outputs.front(), identity(numParallel));
}

bool RegionBuilder::guessPartial() {
  if (form.kind != KernelKind::Row)
    return false;
  while (!partials.empty()) {
    Partial partial = partials.pop_back_val();
    if (partial.user->opClass != OpClass::Inlined ||
        placed.contains(partial.user->op->getResult(0)))
      continue;
    SmallVector<int64_t> open;
    for (auto [size, expr] : llvm::zip(partial.user->loops, partial.loops))
      if (!expr)
        open.push_back(size);
    MLIRContext *context = lead->op->getContext();
    SmallVector<AffineExpr> loops = partial.loops;
    AffineMap regroup = reshapeMap(context, form.reduced, open);
    bool usesReduced = llvm::any_of(loops, [&](AffineExpr expr) {
      return expr && usesDimIn(expr, numParallel, spine.size());
    });
    if (!regroup || usesReduced)
      continue;
    AffineMap filled = composeIndex(
        regroup, identity(form.reduced.size(), numParallel), spine);
    unsigned next = 0;
    for (AffineExpr &expr : loops)
      if (!expr)
        expr = filled.getResult(next++);
    placeOp(partial.user, AffineMap::get(spine.size(), 0, loops, context));
    return true;
  }
  return false;
}

bool RegionBuilder::guessStage() {
  if (form.kind != KernelKind::Row)
    return false;
  for (const OpFacts *fact : facts) {
    if (!fact || fact->opClass != OpClass::Reduction ||
        stageLoops.contains(fact->op))
      continue;
    MLIRContext *context = fact->op->getContext();
    AffineMap parallel =
        reshapeMap(context, form.parallel, fact->space.parallel);
    AffineMap reduced = reshapeMap(context, form.reduced, fact->space.reduced);
    if (!parallel || !reduced)
      continue;
    parallel = composeIndex(parallel, identity(numParallel), spine);
    if (AffineMap known = placed.lookup(fact->op->getResult(0)))
      parallel = known;
    reduced = composeIndex(reduced, identity(form.reduced.size(), numParallel),
                           spine);
    SmallVector<AffineExpr> loops(parallel.getResults());
    llvm::append_range(loops, reduced.getResults());
    placeOp(fact, AffineMap::get(spine.size(), 0, loops, context));
    return true;
  }
  return false;
}

bool RegionBuilder::guessOutput() {
  for (Value value : outputs) {
    if (placed.contains(value))
      continue;
    MLIRContext *context = value.getContext();
    AffineMap map = reshapeMap(context, form.parallel, shapeOf(value));
    if (map)
      map = composeIndex(map, identity(numParallel), spine);
    else if (form.kind == KernelKind::Row)
      if ((map = reshapeMap(context, spine, shapeOf(value))))
        map = composeIndex(map, identity(spine.size()), spine);
    if (!map)
      continue;
    placeValue(value, map);
    return true;
  }
  return false;
}

/// Whether `loops` uses every spine axis with more than one point. A placement
/// is injective by construction; with all axes used it also covers no more
/// points than the spine has. Without this, a reduction of a row's one value
/// would run once per point of the row.
static bool usesWholeSpine(AffineMap loops, ArrayRef<int64_t> spine) {
  for (auto [i, size] : llvm::enumerate(spine))
    if (size != 1 && !usesDimIn(loops, i, i + 1))
      return false;
  return true;
}

bool RegionBuilder::checkStages() {
  for (const OpFacts *fact : facts) {
    if (!fact || fact->opClass != OpClass::Reduction)
      continue;
    Refusal differ{RefusalReason::ReductionAxesDiffer, fact->op,
                   reducedAxes(*lead), reducedAxes(*fact)};
    auto it = stageLoops.find(fact->op);
    bool isStatistic = form.kind == KernelKind::Contraction;
    ArrayRef<int64_t> box = spine;
    if (isStatistic && it == stageLoops.end())
      return refuse({RefusalReason::ReductionBesideContraction, fact->op});
    if (isStatistic)
      box = box.take_front(numParallel);
    if (it == stageLoops.end() || !usesWholeSpine(it->second, box))
      return refuse(differ);
    ArrayRef<AffineExpr> loops = it->second.getResults();
    auto use = [](ArrayRef<AffineExpr> exprs, unsigned first, unsigned last) {
      return llvm::any_of(
          exprs, [&](AffineExpr expr) { return usesDimIn(expr, first, last); });
    };
    ArrayRef<AffineExpr> parallel = loops.take_front(fact->numParallel()),
                         reduced = loops.drop_front(fact->numParallel());
    AffineMap result =
        AffineMap::get(spine.size(), 0, parallel, it->second.getContext());
    RegionStage stage{fact->op, it->second, result, 0, {}};
    if (isStatistic)
      form.statistics.push_back(std::move(stage));
    else if (!use(parallel, numParallel, spine.size()) &&
             !use(reduced, 0, numParallel))
      form.stages.push_back(std::move(stage));
    else if (form.kind == KernelKind::Row && mayCross(*lead, *fact) &&
             !use(parallel, 0, numParallel) &&
             !use(reduced, numParallel, spine.size()))
      form.columns.push_back(std::move(stage));
    else
      return refuse(differ);
  }
  if (form.kind == KernelKind::Contraction)
    for (const OpFacts *product : {lead, second})
      if (product)
        form.stages.push_back({product->op,
                               identity(spine.size()),
                               identity(numParallel),
                               0,
                               {}});
  return true;
}

/// Where on the spine the operands of `value` are, if it is a concatenation of
/// values that are one a row; else null. What the region makes of such a value
/// would be read for each of its elements, of which a row has several.
AffineMap RegionBuilder::gatheredRows(Value value) const {
  auto concat = value.getDefiningOp<graph::ConcatOp>();
  if (!concat || form.kind != KernelKind::Row || !form.columns.empty() ||
      uses.contains(value))
    return {};
  AffineMap map = placed.lookup(concat.getInputs().front());
  bool areRows = llvm::all_of(concat.getInputs(), [&](Value input) {
    return inside.lookup(input.getDefiningOp()) &&
           shapeOf(input)[concat.getAxis()] == 1 && placed.lookup(input) == map;
  });
  return map && areRows && !usesDimIn(map, numParallel, spine.size())
             ? map
             : AffineMap();
}

bool RegionBuilder::collectOutputs() {
  for (Value value : outputs) {
    AffineMap map = placed.lookup(value);
    if (!map && (map = gatheredRows(value))) {
      gathered.insert(value.getDefiningOp());
      form.outputs.push_back({value, map, true});
      form.outputs.back().isGathered = true;
      continue;
    }
    bool uniform = map && !usesDimIn(map, numParallel, spine.size());
    if (!map || (form.kind == KernelKind::Contraction && !uniform))
      return refuse({RefusalReason::OutputShapesDiffer, value.getDefiningOp(),
                     spine, llvm::to_vector(shapeOf(value))});
    form.outputs.push_back({value, map, uniform});
  }
  return true;
}

bool RegionBuilder::placeAll() {
  collectUses();
  seed();
  do {
    propagate();
  } while (guessPartial() || guessStage() || guessOutput());
  return checkStages() && collectOutputs();
}
