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

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

LogicalResult RowSchedule::runKept() {
  int64_t groups = llvm::divideCeil(rows, tiling.rows());
  kb.begin(tiling.threads(), {groups, 1, 1}, {rows / rowUnit});
  if (tiling.cluster > 1)
    kb.kernel.setCluster(tiling.cluster);
  setUpRows(kb.carrierType({tiling.rows(), chunk}, layout));
  auto pass = [&](ArrayRef<Unit> units) {
    finishAll(units, reducePart(units, allColumns(), /*storesFull=*/false));
  };
  unsigned levels = 0;
  for (const analysis::RegionStage &stage : form.stages)
    levels = std::max(levels, stage.level + 1);
  if (tiling.onePass)
    pass(units());
  for (unsigned level = 0; level < levels && !tiling.onePass; ++level) {
    SmallVector<Unit> ofLevel;
    for (const analysis::RegionStage &stage : form.stages)
      if (stage.level == level)
        ofLevel.push_back({&stage});
    computeUniform(level);
    pass(ofLevel);
  }
  // First what needs the row once more: a store would make it load again.
  if (hasFull())
    storeLooped(allColumns());
  storeUniform();
  // One iteration: equal loads become one, in registers.
  if (tiling.keptBytes && body > step)
    keepLoads(kb.kernel, full, tiling.keptBytes);
  return success();
}
