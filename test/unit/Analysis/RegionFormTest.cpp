//===- RegionFormTest.cpp - limits of regions without windows -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OpsFixture.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

namespace {

/// A window over [0, reduced) for each of `channels` points.
graph::IterationSpace windowSpace(MLIRContext &context, int64_t channels,
                                  int64_t reduced) {
  AffineExpr d[3];
  bindDims(&context, d[0], d[1], d[2]);
  graph::IterationSpace space;
  space.parallel = {channels, 32};
  space.reduced = {reduced};
  space.operands.resize(2);
  space.operands[0].map = AffineMap::get(3, 0, {d[1] + d[2]}, &context);
  space.operands[1].map = AffineMap::get(3, 0, {d[0], d[2]}, &context);
  return space;
}

TEST(StencilWindow, FewChannelsOfAShortSum) {
  MLIRContext context;
  EXPECT_TRUE(isStencilWindow(windowSpace(context, 16, 32), 2));
  EXPECT_FALSE(isStencilWindow(windowSpace(context, 17, 32), 2));
  EXPECT_TRUE(isStencilWindow(windowSpace(context, 64, 8), 2));
  EXPECT_FALSE(isStencilWindow(windowSpace(context, 65, 1), 2));
  EXPECT_TRUE(isStencilWindow(windowSpace(context, 1, 256), 2));
  EXPECT_FALSE(isStencilWindow(windowSpace(context, 1, 257), 2));
}

// Without a map nobody knows which elements a tile would have to stage.
TEST(StencilWindow, NeedsMapsOfBothOperands) {
  MLIRContext context;
  for (unsigned side : {0u, 1u}) {
    graph::IterationSpace space = windowSpace(context, 4, 4);
    ASSERT_TRUE(isStencilWindow(space, 2));
    space.operands[side].map = AffineMap();
    EXPECT_FALSE(isStencilWindow(space, 2));
  }
}

class RegionForms : public OpsFixture {
protected:
  template <typename Op, typename... Args>
  Value make(Args &&...args) {
    auto op = Op::create(builder, loc, std::forward<Args>(args)...);
    ops.push_back(op);
    return op->getResult(0);
  }
};

// An op that is evaluated at more indices than the limit is refused, also
// where it is a reduction whose operand reaches the limit.
TEST_F(RegionForms, OperandsOfReductionsCountAsReads) {
  Value x = input({32, 32});
  Value e = make<graph::ExpOp>(x);
  Value rows = make<graph::ReduceOp>(type({32}), graph::ReduceKind::sum, e,
                                     ArrayRef<int64_t>{1});
  Value turned = make<graph::SliceOp>(
      type({32, 32}), e, ArrayRef<int64_t>{0, 31}, ArrayRef<int64_t>{1, -1});
  Value backwards = make<graph::ReduceOp>(type({32}), graph::ReduceKind::max,
                                          turned, ArrayRef<int64_t>{1});
  RegionLimits limits;
  limits.maxReads = 2;
  RegionVerdict both = analyzeRegion(facts, ops, {rows, backwards}, limits);
  ASSERT_TRUE(bool(both)) << both.refusal().sentence();
  EXPECT_EQ(both->placements.lookup(e.getDefiningOp()).reads.size(), 2u);
  limits.maxReads = 1;
  RegionVerdict none = analyzeRegion(facts, ops, {rows, backwards}, limits);
  ASSERT_FALSE(bool(none));
  EXPECT_EQ(none.refusal().reason, RefusalReason::RecomputeTooCostly);
  EXPECT_EQ(none.refusal().op.name, e.getDefiningOp()->getName());
}

} // namespace
