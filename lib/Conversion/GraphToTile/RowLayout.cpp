//===- RowLayout.cpp - threads of a row schedule --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RowLayout.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using tile::Digit;

/// Registers of a thread that hold states of parts.
static constexpr int64_t kPartRegisters = 32;

tile::LayoutAttr graph_to_tile::layoutOf(MLIRContext *context,
                                         const analysis::RowTiling &t) {
  SmallVector<Digit> cluster;
  if (t.cluster > 1)
    cluster.push_back({t.cluster, t.columns() / t.cluster, 1});
  if (t.across) {
    SmallVector<Digit> lanes = {Digit{32 / t.lanes, t.vector, 0}};
    if (t.lanes > 1)
      lanes.push_back({t.lanes, 1, 1});
    SmallVector<Digit> warps = {Digit{t.columnWarps, t.lanes, 1}};
    if (t.rowWarps > 1)
      warps.push_back({t.rowWarps, t.rows() / t.rowWarps, 0});
    return tile::LayoutAttr::get(
        context,
        {Digit{t.vector, 1, 0}, Digit{t.repeats, t.columnWarps * t.lanes, 1}},
        lanes, warps, cluster);
  }
  int64_t rowsPerWarp = 32 / t.lanes;
  SmallVector<Digit> registers = {
      Digit{t.vector, 1, 1},
      Digit{t.repeats, t.vector * t.lanes * t.columnWarps, 1}};
  if (t.rowRepeats > 1)
    registers.push_back({t.rowRepeats, rowsPerWarp * t.rowWarps, 0});
  return tile::LayoutAttr::get(
      context, registers,
      {Digit{t.lanes, t.vector, 1}, Digit{rowsPerWarp, 1, 0}},
      {Digit{t.columnWarps, t.vector * t.lanes, 1},
       Digit{t.rowWarps, rowsPerWarp, 0}},
      cluster);
}

PartsLayout graph_to_tile::partsLayoutOf(MLIRContext *context,
                                         const analysis::RowTiling &t,
                                         int64_t states) {
  int64_t warps = t.threads() / 32;
  int64_t vector = t.across ? t.vector : t.rows();
  int64_t span = warps * (t.across ? t.lanes : 32);
  int64_t most = std::max<int64_t>(1, kPartRegisters / (vector * states));
  int64_t each = llvm::divideCeil(t.splits, uint64_t(span));
  // Steps of equal size.
  int64_t repeats =
      llvm::divideCeil(each, llvm::divideCeil(each, uint64_t(most)));
  if (!t.across)
    return {span * repeats,
            tile::LayoutAttr::get(
                context, {Digit{vector, 1, 0}, Digit{repeats, span, 1}},
                {Digit{32, 1, 1}}, {Digit{warps, 32, 1}})};
  SmallVector<Digit> lanes = {Digit{32 / t.lanes, t.vector, 0}};
  if (t.lanes > 1)
    lanes.push_back({t.lanes, 1, 1});
  return {span * repeats,
          tile::LayoutAttr::get(context,
                                {Digit{vector, 1, 0}, Digit{repeats, span, 1}},
                                lanes, {Digit{warps, t.lanes, 1}})};
}

LogicalResult graph_to_tile::checkTiling(KernelBuilder &kb,
                                         const analysis::RowTiling &tiling) {
  for (const analysis::RegionForm *sizes : {&kb.form, &kb.counted}) {
    if (sizes->reduced != kb.pattern.reduced)
      return kb.fusion.emitOpError("reduces other sizes than its pattern");
    if (tiling.across && !tiling.skew && !sizes->parallel.empty() &&
        sizes->parallel.back() % tiling.vector)
      return kb.fusion.emitOpError()
             << "has rows of " << sizes->parallel.back()
             << ": expected a multiple of " << tiling.vector;
    int64_t rows = KernelBuilder::product(sizes->parallel),
            columns = KernelBuilder::product(sizes->reduced);
    if (tiling.skew &&
        (rows * tiling.columns() % tiling.skew || rows * columns % tiling.skew))
      return kb.fusion.emitOpError()
             << "has " << rows << " rows: expected whole vectors of "
             << tiling.skew << " in " << tiling.columns() << " columns";
  }
  return success();
}
