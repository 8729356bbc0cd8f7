//===- StencilFormTest.cpp - boxes and halos of window chains -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OpsFixture.h"
#include "fusec/Analysis/StencilMarch.h"
#include "fusec/Analysis/StencilTile.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

namespace {

class StencilForm : public OpsFixture {
protected:
  /// A window of `edge` in all axes with `pad` on every side.
  Value window(Value x, int64_t edge, int64_t stride, int64_t pad,
               int64_t dilation = 1) {
    auto sizes = cast<RankedTensorType>(x.getType()).getShape();
    SmallVector<int64_t> edges(sizes.size(), edge),
        strides(sizes.size(), stride), pads(sizes.size(), pad),
        dilations(sizes.size(), dilation), shape;
    for (int64_t n : sizes)
      shape.push_back((n + 2 * pad - dilation * (edge - 1) - 1) / stride + 1);
    auto op = graph::WindowReduceOp::create(builder, loc, type(shape),
                                            graph::ReduceKind::sum, x, edges,
                                            strides, dilations, pads, pads);
    ops.push_back(op);
    return op.getResult();
  }

  RegionVerdict analyze(Value output) {
    return analyzeRegion(facts, ops, {output});
  }
};

TEST_F(StencilForm, HalosGrowBackwards) {
  Value a = window(input({2048, 2048}), 3, 1, 1);
  Value b = window(a, 3, 1, 1);
  Value c = window(b, 3, 1, 1);
  RegionVerdict form = analyze(c);
  ASSERT_TRUE(bool(form));
  EXPECT_EQ(form->kind, KernelKind::Stencil);
  ASSERT_EQ(form->stages.size(), 3u);
  for (unsigned axis : {0u, 1u}) {
    EXPECT_EQ(form->stages[0].box[axis], (TileExtent{axis, 1, -2, 2}));
    EXPECT_EQ(form->stages[1].box[axis], (TileExtent{axis, 1, -1, 1}));
    EXPECT_EQ(form->stages[2].box[axis], (TileExtent{axis, 1, 0, 0}));
  }
  EXPECT_EQ(form->stages[2].level, 2u);
  EXPECT_GT(form->haloRatio, 1.0);
  EXPECT_LT(form->haloRatio, 1.2);
  EXPECT_LE(form->sharedBytes, RegionLimits().sharedBytes);
}

TEST_F(StencilForm, StridesAndDilationsScaleTheBox) {
  Value a = window(input({1024, 1024}), 3, 1, 1);
  Value b = window(a, 2, 2, 0);    // rows 2i .. 2i+1
  Value c = window(b, 3, 1, 2, 2); // rows i-2, i, i+2
  RegionVerdict form = analyze(c);
  ASSERT_TRUE(bool(form));
  EXPECT_EQ(form->stages[1].box[0], (TileExtent{0u, 1, -2, 2}));
  EXPECT_EQ(form->stages[0].box[0], (TileExtent{0u, 2, -4, 5}));
  EXPECT_EQ(form->stages[0].box[0].extent(8), 24);
}

TEST_F(StencilForm, BoxesOfTwoUsesAreJoined) {
  Value a = window(input({512, 512}), 3, 1, 1);
  Value b = window(a, 5, 1, 2);
  auto sum = graph::SubOp::create(builder, loc, a, b);
  ops.push_back(sum);
  RegionVerdict form = analyze(sum);
  ASSERT_TRUE(bool(form));
  EXPECT_EQ(form->stages[0].box[0], (TileExtent{0u, 1, -2, 2}));
}

TEST_F(StencilForm, LargeHalosAreRefused) {
  Value a = window(input({4096, 4096}), 41, 1, 20);
  Value b = window(a, 41, 1, 20);
  RegionVerdict form = analyze(b);
  ASSERT_FALSE(bool(form));
  EXPECT_EQ(form.refusal().reason, RefusalReason::HaloTooLarge);
  EXPECT_GT(form.refusal().number, 2.0);
}

TEST_F(StencilForm, ALoneWindowStagesNothing) {
  Value a = window(input({64, 64}), 31, 1, 15);
  RegionVerdict form = analyze(a);
  ASSERT_TRUE(bool(form));
  EXPECT_EQ(form->haloRatio, 1.0);
  EXPECT_EQ(form->sharedBytes, 0);
}

// An empty box has threads, too: they hold points past its end.
TEST(StencilThreads, EveryBoxHasRowsAndColumns) {
  for (const std::vector<int64_t> &sizes : std::vector<std::vector<int64_t>>{
           {}, {0}, {1}, {0, 40}, {40, 0}, {7, 0, 3}, {3, 5, 257}}) {
    StencilThreads threads = stencilThreads(sizes);
    int64_t rows = 1;
    for (int64_t size : ArrayRef(sizes).drop_back(!sizes.empty()))
      rows *= size;
    EXPECT_GE(threads.rows(), std::max<int64_t>(rows, 1));
    EXPECT_GE(threads.columns(), sizes.empty() ? 1 : sizes.back());
    EXPECT_EQ(threads.innerWarps * threads.outerWarps, kStencilWarps);
  }
}

// Large tiles for large images; a small image is cut further, so that more
// multiprocessors have a block.
TEST_F(StencilForm, SmallImagesHaveSmallTiles) {
  auto tileOf = [&](int64_t edge) {
    ops.clear();
    Value a = window(input({edge, edge}), 5, 1, 2);
    RegionVerdict form = analyze(window(a, 5, 1, 2));
    return *chooseStencilTile(*form, stagedValues(*form));
  };
  SmallVector<int64_t> large = tileOf(4096), small = tileOf(256);
  EXPECT_GT(large[0], 50);
  EXPECT_GT(large[1], 50);
  EXPECT_LT(small[0], 40);
}

// A window over a buffer slides along its last two axes, or its only one.
TEST_F(StencilForm, TilesOfWindowsOverBuffers) {
  RegionVerdict image = analyze(window(input({4096, 4096}), 3, 1, 1));
  auto tile = *chooseStencilTile(*image, stagedValues(*image));
  EXPECT_GE(tile[0], 8);
  EXPECT_GE(tile[1], 32);
  ops.clear();
  RegionVerdict line = analyze(window(input({1 << 20}), 3, 1, 1));
  tile = *chooseStencilTile(*line, stagedValues(*line));
  ASSERT_EQ(tile.size(), 1u);
  EXPECT_GE(tile[0], 32);
}

// A lane holds four columns where the strips of a warp are mostly used; narrow
// images have narrower strips.
TEST_F(StencilForm, LanesHoldWhatTheWidthNeeds) {
  auto vectorOf = [&](int64_t width) {
    ops.clear();
    Value a = window(input({512, width}), 3, 1, 1);
    RegionVerdict form = analyze(window(a, 3, 1, 1));
    std::optional<MarchForm> march = analyzeMarch(*form);
    return march ? march->vector : 0;
  };
  EXPECT_EQ(vectorOf(23), 0); // nothing marches
  EXPECT_EQ(vectorOf(24), 1);
  EXPECT_EQ(vectorOf(30), 1);
  EXPECT_EQ(vectorOf(48), 2);
  EXPECT_EQ(vectorOf(96), 4);
  EXPECT_EQ(vectorOf(4096), 4);
}

} // namespace
