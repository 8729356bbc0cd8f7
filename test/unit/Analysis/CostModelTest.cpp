//===- CostModelTest.cpp - arithmetic of the estimates --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/CostModel.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

namespace {

TEST(CostModel, CountsBytesByElementWidth) {
  MLIRContext context;
  Builder b(&context);
  EXPECT_EQ(tensorBytes(RankedTensorType::get({3, 5}, b.getF16Type())), 30);
  EXPECT_EQ(tensorBytes(RankedTensorType::get({}, b.getF64Type())), 8);
  EXPECT_EQ(tensorBytes(RankedTensorType::get({7}, b.getI1Type())), 7);
  EXPECT_EQ(tensorBytes(RankedTensorType::get({7}, b.getIntegerType(4))), 7);
  EXPECT_EQ(tensorBytes(RankedTensorType::get({0, 9}, b.getF32Type())), 0);
  EXPECT_EQ(tensorBytes(
                RankedTensorType::get({ShapedType::kDynamic}, b.getF32Type())),
            4.0 * kAssumedDynamicSize);
}

TEST(CostModel, MemoryAndArithmeticOverlap) {
  TargetInfo target = TargetInfo::h200();
  CostModel model(target);
  CostEstimate cost = model.fromTotals(2.135e9, 2.135e9, 3e10, 0);
  EXPECT_NEAR(cost.memoryTime, 1000.0, 0.1);
  EXPECT_NEAR(cost.instructionTime, 1000.0, 0.1);
  EXPECT_NEAR(cost.total(), 1002.0, 0.1);
}

TEST(CostModel, AnEmptyKernelCostsItsLaunch) {
  CostModel model(TargetInfo::a100());
  EXPECT_DOUBLE_EQ(model.fromTotals(0, 0, 0, 0).total(), 2.5);
}

TEST(TargetInfo, KnowsItsPresets) {
  EXPECT_EQ(TargetInfo::get("sm_90a")->multiprocessors, 132u);
  EXPECT_EQ(TargetInfo::get("sm_80")->computeCapability, 80u);
  EXPECT_FALSE(TargetInfo::get("sm_10"));
}

} // namespace
