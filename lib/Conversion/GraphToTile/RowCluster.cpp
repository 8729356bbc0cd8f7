//===- RowCluster.cpp - rows that a cluster reads once --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kept form of the row schedule: a row is longer than the registers of a
// block. It is walked in chunks, each of which all blocks of a cluster share;
// reductions end over the cluster. What one pass has read the next ones find in
// shared memory, or in registers where an iteration takes the whole row.
//===----------------------------------------------------------------------===//
#include "KeepLoads.h"
#include "RowSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

/// The pair of a maximum and a sum of exp if these are all reductions of a row,
/// for which threads that hold parts of it meet; else null.
const RowSchedule::Unit *RowSchedule::pairOfRow(ArrayRef<Unit> all) const {
  bool isPair = kb.options.numerics == NumericsMode::Default &&
                all.size() == 1 && all.front().sum && form.stages.size() == 2;
  // Across rows each thread would combine the pairs of several.
  bool isShared = tiling.columnWarps * tiling.cluster > 1 && !tiling.across;
  return isPair && isShared ? all.begin() : nullptr;
}

/// The type of 16 bits from which the elements that `stage` reduces to an f32
/// were widened; null if there is none.
Type RowSchedule::narrowTypeOf(const analysis::RegionStage &stage) const {
  Value source = stage.op->getOperand(0);
  if (auto cast = source.getDefiningOp<graph::CastOp>())
    source = cast.getOperand();
  Type type = getElementTypeOrSelf(source);
  auto op = cast<graph::ReductionOpInterface>(stage.op);
  bool isNarrow = isa<BlockArgument>(source) && (type.isBF16() || type.isF16());
  return isNarrow && op.getStateTypes().front().isF32() ? type : Type();
}

/// `state`, an exact widening, before it.
Value RowSchedule::narrowed(Value state) {
  auto wide = state.getDefiningOp<arith::ExtFOp>();
  if (wide && getElementTypeOrSelf(wide.getIn()) == narrowState)
    return wide.getIn();
  graph::ElementBuilder eb = kb.emitter.elements();
  return eb.make<arith::TruncFOp>(eb.type(narrowState), state);
}

/// The maximum of what each warp has of a row, and the sum of exp(x - maximum):
/// what is kept is looked at twice, but only then warps and blocks meet.
SmallVector<Value> RowSchedule::pairsOfWarps(const Unit &unit) {
  auto pass = [&](const analysis::RegionStage *stage) {
    return reducePart({{stage}}, allColumns(), /*storesFull=*/false).front();
  };
  Value max;
  {
    llvm::SaveAndRestore narrow(narrowState, narrowTypeOf(*unit.stage));
    max = pass(unit.stage);
  }
  kb.emitter.setCarrier(row);
  graph::ElementBuilder eb = kb.emitter.elements();
  finish(*unit.stage, shiftOf(eb, unit.op().getStateTypes().front(), max));
  computeUniform(unit.sum->level);
  return {max, pass(unit.sum)};
}

/// All reductions of rows that are kept.
void RowSchedule::reduceKept() {
  auto pass = [&](ArrayRef<Unit> units) {
    finishAll(units, reducePart(units, allColumns(), /*storesFull=*/false));
  };
  SmallVector<Unit> all = units();
  if (tiling.onePass)
    return pass(all);
  if (const Unit *pair = pairOfRow(all)) {
    RankedTensorType ofRow = row;
    setRowCarrier(listCarrier());
    SmallVector<Value> states = pairsOfWarps(*pair);
    setRowCarrier(ofRow);
    return finishUnit(*pair, reduceStates(*pair, states, /*isShort=*/true));
  }
  for (unsigned level = 0; level < levels(); ++level) {
    SmallVector<Unit> ofLevel;
    for (const analysis::RegionStage &stage : form.stages)
      if (stage.level == level)
        ofLevel.push_back({&stage});
    computeUniform(level);
    pass(ofLevel);
  }
}

LogicalResult RowSchedule::runKept() {
  int64_t groups = llvm::divideCeil(rows, tiling.rows());
  kb.begin(tiling.threads(), {groups, 1, 1}, {rows / rowUnit});
  if (tiling.cluster > 1)
    kb.kernel.setCluster(tiling.cluster);
  setUpRows(kb.carrierType({tiling.rows(), chunk}, layout));
  reduceKept();
  // First what needs the row once more: a store would make it load again.
  if (hasFull())
    storeLooped(allColumns());
  storeUniform();
  // One iteration: equal loads become one, in registers.
  if (tiling.keptBytes && body > step)
    keepLoads(kb.kernel, full, tiling.keptBytes);
  return success();
}
