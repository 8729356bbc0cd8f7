//===- RegionReads.cpp - at which indices ops are evaluated ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Step 3 of analyzeRegion for regions without windows. Walks the ops from last
// to first, so that an op's reads are complete before its operands' are made.
//===----------------------------------------------------------------------===//
#include "RegionBuilder.h"
#include "fusec/Analysis/ColumnTiling.h"
#include "fusec/Analysis/CostModel.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

/// Longest composed index expression; a chain of reshapes by unrelated factors
/// grows without end.
static constexpr unsigned kMaxIndexTerms = 64;

static unsigned countTerms(AffineMap map) {
  unsigned count = 0;
  for (AffineExpr expr : map.getResults())
    expr.walk([&](AffineExpr) { ++count; });
  return count;
}

const RegionStage *RegionBuilder::stageOf(Operation *op) const {
  for (const RegionStage &stage : llvm::concat<const RegionStage>(
           form.stages, form.columns, form.statistics))
    if (stage.op == op)
      return &stage;
  return nullptr;
}

bool RegionBuilder::checkStageRead(const OpFacts *op, AffineMap map) {
  const RegionStage *stage = stageOf(op->op);
  if (map == stage->result)
    return true;
  bool mixes = !map || usesDimIn(map, numParallel, spine.size());
  return refuse({mixes ? RefusalReason::IndexMixesReducedAxes
                       : RefusalReason::ReadsAnotherRow,
                 op->op});
}

bool RegionBuilder::addRead(Value value, AffineMap map) {
  Operation *op = value.getDefiningOp();
  const OpFacts *fact = op ? inside.lookup(op) : nullptr;
  if (!fact)
    return true;
  if (fact->opClass != OpClass::Inlined && !checkStageRead(fact, map))
    return false;
  auto &reads = form.placements[op].reads;
  if (llvm::is_contained(reads, map))
    return true;
  reads.push_back(map);
  if (reads.size() > limits.maxReads)
    return refuse({RefusalReason::RecomputeTooCostly,
                   op,
                   {},
                   {},
                   static_cast<double>(reads.size())});
  if (map)
    if (unsigned terms = countTerms(map); terms > kMaxIndexTerms)
      return refuse({RefusalReason::IndexTooComplex,
                     op,
                     {},
                     {},
                     static_cast<double>(terms)});
  return true;
}

bool RegionBuilder::readOperands(const OpFacts *op, ArrayRef<AffineMap> maps) {
  for (auto [operand, access] :
       llvm::zip(op->op->getOperands(), op->space.operands)) {
    Operation *producer = operand.getDefiningOp();
    if (!producer || !inside.contains(producer))
      continue;
    bool isSame = op->isPlain || gathered.contains(op->op);
    for (AffineMap map : maps) {
      bool known = map && access.map && !access.isIndirect;
      AffineMap read = !known   ? AffineMap()
                       : isSame ? map
                                : composeIndex(access.map, map, spine);
      if (!addRead(operand, read))
        return false;
    }
  }
  return true;
}

void RegionBuilder::assignLevels() {
  for (const OpFacts *fact : facts) {
    if (!fact)
      continue;
    auto it = form.placements.find(fact->op);
    if (it == form.placements.end())
      continue;
    OpPlacement &placement = it->second;
    for (Value operand : fact->op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (const OpFacts *source = inside.lookup(producer)) {
          unsigned level = form.placements.find(producer)->second.level;
          if (source->opClass != OpClass::Inlined)
            ++level;
          placement.level = std::max(placement.level, level);
        }
    placement.isUniform = llvm::all_of(placement.reads, [&](AffineMap map) {
      return map && !usesDimIn(map, numParallel, spine.size());
    });
  }
  for (RegionStage &stage :
       llvm::concat<RegionStage>(form.stages, form.statistics))
    stage.level = form.placements.lookup(stage.op).level;
}

bool RegionBuilder::collectReads() {
  for (const RegionOutput &output : form.outputs)
    if (!addRead(output.value, output.index))
      return false;
  for (const OpFacts *fact : llvm::reverse(facts)) {
    if (!fact)
      continue;
    OpPlacement &placement = form.placements[fact->op];
    if (fact->opClass == OpClass::Inlined) {
      SmallVector<AffineMap, 1> maps = placement.reads;
      if (!readOperands(fact, maps))
        return false;
      continue;
    }
    const RegionStage *stage = stageOf(fact->op);
    if (placement.reads.empty())
      placement.reads.push_back(stage->result);
    if (!readOperands(fact, stage->loops))
      return false;
  }
  assignLevels();
  if (second && !checkPair())
    return false;
  if (!form.statistics.empty())
    return checkStatistics();
  return form.columns.empty() || checkColumns();
}

/// What needs a column's sum is made for each column, when all rows are done.
bool RegionBuilder::checkColumns() {
  auto isColumn = [&](Operation *op) {
    auto placed = form.placements.find(op);
    return placed != form.placements.end() &&
           (placed->second.isColumn ||
            llvm::any_of(form.columns, [&](const RegionStage &stage) {
              return stage.op == op;
            }));
  };
  for (const OpFacts *fact : facts) {
    if (!fact || !form.placements.contains(fact->op))
      continue;
    auto producers = llvm::map_range(fact->op->getOperands(),
                                     [](Value v) { return v.getDefiningOp(); });
    if (!llvm::any_of(producers, isColumn))
      continue;
    if (fact->opClass != OpClass::Inlined)
      return refuse({RefusalReason::ReductionAxesDiffer, fact->op,
                     reducedAxes(*lead), reducedAxes(*fact)});
    form.placements[fact->op].isColumn = true;
  }
  for (RegionOutput &output : form.outputs) {
    Operation *op = output.value.getDefiningOp();
    if (!isColumn(op))
      continue;
    if (!output.index || usesDimIn(output.index, 0, numParallel))
      return refuse(
          {RefusalReason::IndexMixesReducedAxes, form.columns.front().op});
    output.isColumn = true;
    output.isUniform = false;
  }
  if (tileColumns(table, form))
    return true;
  return refuse({RefusalReason::ColumnAccumulators,
                 form.columns.front().op,
                 {},
                 {},
                 pointCount(form.reduced)});
}
