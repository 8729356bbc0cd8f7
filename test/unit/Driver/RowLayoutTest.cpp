//===- RowLayoutTest.cpp - who holds the parts of a split row -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RowLayout.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

/// How many places of `layout` hold each element of a tile of `shape`, row by
/// row; empty if a place is outside.
static std::vector<int> holders(tile::LayoutAttr layout,
                                std::array<int64_t, 2> shape) {
  std::vector<int> count(shape[0] * shape[1]);
  for (int64_t reg = 0; reg < layout.getRegisterCount(); ++reg)
    for (int64_t lane = 0; lane < layout.getLaneCount(); ++lane)
      for (int64_t warp = 0; warp < layout.getWarpCount(); ++warp) {
        int64_t at[2] = {0, 0};
        tile::addCoordinates(layout.getReg(), reg, at);
        tile::addCoordinates(layout.getLane(), lane, at);
        tile::addCoordinates(layout.getWarp(), warp, at);
        if (at[0] >= shape[0] || at[1] >= shape[1])
          return {};
        ++count[at[0] * shape[1] + at[1]];
      }
  return count;
}

/// Blocks of `warps` whose rows are split.
static analysis::RowTiling tilingOf(bool across, int64_t lanes, int64_t warps,
                                    int64_t splits) {
  analysis::RowTiling tiling;
  tiling.across = across;
  tiling.lanes = lanes;
  tiling.vector = 2;
  tiling.rowWarps = across || warps == 1 ? 1 : 2;
  tiling.columnWarps = warps / tiling.rowWarps;
  tiling.splits = splits;
  return tiling;
}

// A part that two threads held would be added twice.
TEST(RowLayout, EveryPartIsHeldOnce) {
  MLIRContext context;
  context.loadDialect<tile::TileDialect>();
  for (auto [across, lanes] : {std::pair(false, 32), {true, 1}, {true, 4}})
    for (int64_t warps : {1, 4, 8, 32})
      for (int64_t splits : {2, 31, 40, 128, 129, 300})
        for (int64_t states : {1, 4}) {
          analysis::RowTiling tiling = tilingOf(across, lanes, warps, splits);
          PartsLayout parts = partsLayoutOf(&context, tiling, states);
          EXPECT_EQ(parts.layout.getLaneCount() * parts.layout.getWarpCount(),
                    tiling.threads());
          std::vector<int> once(tiling.rows() * parts.parts, 1);
          EXPECT_EQ(holders(parts.layout, {tiling.rows(), parts.parts}), once)
              << across << " " << lanes << " " << warps << " " << splits;
        }
}
