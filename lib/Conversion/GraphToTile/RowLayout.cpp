//===- RowLayout.cpp - threads of a row schedule --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RowLayout.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using tile::Digit;

tile::LayoutAttr graph_to_tile::layoutOf(MLIRContext *context,
                                         const analysis::RowTiling &t) {
  SmallVector<Digit> cluster;
  if (t.cluster > 1)
    cluster.push_back({t.cluster, t.columns() / t.cluster, 1});
  if (t.across) {
    SmallVector<Digit> lanes = {Digit{32 / t.lanes, t.vector, 0}};
    if (t.lanes > 1)
      lanes.push_back({t.lanes, 1, 1});
    return tile::LayoutAttr::get(
        context,
        {Digit{t.vector, 1, 0}, Digit{t.repeats, t.columnWarps * t.lanes, 1}},
        lanes, {Digit{t.columnWarps, t.lanes, 1}}, cluster);
  }
  int64_t rowsPerWarp = 32 / t.lanes;
  return tile::LayoutAttr::get(
      context,
      {Digit{t.vector, 1, 1},
       Digit{t.repeats, t.vector * t.lanes * t.columnWarps, 1}},
      {Digit{t.lanes, t.vector, 1}, Digit{rowsPerWarp, 1, 0}},
      {Digit{t.columnWarps, t.vector * t.lanes, 1},
       Digit{t.rowWarps, rowsPerWarp, 0}},
      cluster);
}

PartsLayout graph_to_tile::partsLayoutOf(MLIRContext *context,
                                         const analysis::RowTiling &t) {
  int64_t warps = t.threads() / 32;
  if (t.across) {
    int64_t repeats = llvm::divideCeil(t.splits, uint64_t(warps));
    return {warps * repeats,
            tile::LayoutAttr::get(
                context, {Digit{t.vector, 1, 0}, Digit{repeats, warps, 1}},
                {Digit{32, t.vector, 0}}, {Digit{warps, 1, 1}})};
  }
  int64_t span = 32 * warps;
  int64_t repeats = llvm::divideCeil(t.splits, uint64_t(span));
  return {span * repeats,
          tile::LayoutAttr::get(
              context, {Digit{t.rows(), 1, 0}, Digit{repeats, span, 1}},
              {Digit{32, 1, 1}}, {Digit{warps, 32, 1}})};
}
