//===- CostModelTest.cpp - arithmetic of the estimates --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/CostModel.h"
#include "OpsFixture.h"
#include "fusec/Analysis/RegionShape.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

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

/// Estimates of whole functions on an H200.
class FunctionCost : public OpsFixture {
protected:
  /// The estimate of `text`, a function that is one kernel.
  double estimate(StringRef text) {
    context.loadDialect<func::FuncDialect>();
    facts = FactTable(); // ops of the module before may have had these places
    module = parseSourceString<ModuleOp>(text, &context);
    auto function = *module->getOps<func::FuncOp>().begin();
    Operation *end = function.front().getTerminator();
    SmallVector<Operation *> inside;
    for (Operation &op : function.front().without_terminator())
      inside.push_back(&op);
    RegionVerdict form =
        analyzeRegion(facts, inside, llvm::to_vector(end->getOperands()));
    EXPECT_TRUE(bool(form));
    return form ? CostModel(TargetInfo::h200()).estimate(facts, *form).total()
                : 0;
  }
};

// Times of an H200 (benchmarks/results/2026-11-30-all.md, three layers in
// 2026-12-01-shares.md; the convolution with
// channels last by its profiler).
TEST_F(FunctionCost, MarchingConvolutionsTakeTheirInstructions) {
  EXPECT_NEAR(estimate(R"(
func.func @f(%x: tensor<8x16x1024x1024xf16>, %a: tensor<16x1x3x3xf16>,
             %b: tensor<16x1x3x3xf16>, %c: tensor<16x1x3x3xf16>)
    -> tensor<8x16x1024x1024xf16> {
  %0 = graph.convolution %x, %a strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 16 : tensor<8x16x1024x1024xf16>, tensor<16x1x3x3xf16> -> tensor<8x16x1024x1024xf16>
  %1 = graph.abs %0 : tensor<8x16x1024x1024xf16>
  %2 = graph.convolution %1, %b strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 16 : tensor<8x16x1024x1024xf16>, tensor<16x1x3x3xf16> -> tensor<8x16x1024x1024xf16>
  %3 = graph.abs %2 : tensor<8x16x1024x1024xf16>
  %4 = graph.convolution %3, %c strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 16 : tensor<8x16x1024x1024xf16>, tensor<16x1x3x3xf16> -> tensor<8x16x1024x1024xf16>
  %5 = graph.abs %4 : tensor<8x16x1024x1024xf16>
  return %5 : tensor<8x16x1024x1024xf16>
})"),
              211, 0.15 * 211);
  EXPECT_NEAR(estimate(R"(
func.func @f(%x: tensor<128x56x56x96xbf16>, %k: tensor<7x7x1x96xbf16>)
    -> tensor<128x56x56x96xbf16> {
  %0 = graph.convolution %x, %k strides [1, 1] dilations [1, 1] low [3, 3] high [3, 3] dims [0, 3, 1, 2] x [3, 2, 0, 1] -> [0, 3, 1, 2] groups = 96 : tensor<128x56x56x96xbf16>, tensor<7x7x1x96xbf16> -> tensor<128x56x56x96xbf16>
  return %0 : tensor<128x56x56x96xbf16>
})"),
              172, 0.25 * 172);
}

TEST_F(FunctionCost, PoolingsTakeTheirBytes) {
  EXPECT_NEAR(estimate(R"(
func.func @f(%x: tensor<64x96x112x112xf16>) -> tensor<64x96x112x112xf16> {
  %0 = graph.window_reduce max %x window [1, 1, 3, 3] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<64x96x112x112xf16> -> tensor<64x96x112x112xf16>
  %1 = graph.window_reduce sum %0 window [1, 1, 3, 3] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<64x96x112x112xf16> -> tensor<64x96x112x112xf16>
  return %1 : tensor<64x96x112x112xf16>
})"),
              88, 0.2 * 88);
}

TEST_F(FunctionCost, ProductsInF32TakeThePlainCores) {
  auto product = [](StringRef flag) {
    return (Twine(R"(
func.func @f(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>)
    -> tensor<4096x4096xf32> {
  %0 = graph.contract %x, %w batch [] x [] contract [1] x [1])") +
            flag +
            R"( : tensor<4096x4096xf32>, tensor<4096x4096xf32> -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
})")
        .str();
  };
  EXPECT_NEAR(estimate(product("")), 3046, 0.1 * 3046);
  EXPECT_LT(estimate(product(" {allowTf32 = true}")), 500);
}

/// Products of `rows` x `columns` x `depth` bf16, the second operand along k.
class ProductCost : public FunctionCost {
protected:
  double product(int64_t rows, int64_t columns, int64_t depth) {
    auto matrix = [](int64_t a, int64_t b) {
      return "tensor<" + std::to_string(a) + "x" + std::to_string(b) + "xbf16>";
    };
    std::string lhs = matrix(rows, depth), rhs = matrix(columns, depth),
                result = matrix(rows, columns);
    return estimate(
        "func.func @f(%x: " + lhs + ", %w: " + rhs + ") -> " + result +
        " {\n%0 = graph.contract %x, %w batch [] x [] contract [1] "
        "x [1] : " +
        lhs + ", " + rhs + " -> " + result + "\nreturn %0 : " + result + "\n}");
  }
};

TEST_F(ProductCost, ResultsInPiecesTakeTheirStores) {
  // Kernels of an H200, us: whole vectors, 8, 4 and 2 bytes a store.
  EXPECT_NEAR(product(8192, 4096, 1024), 97, 0.1 * 97);
  EXPECT_NEAR(product(8192, 4100, 1024), 132, 0.1 * 132);
  EXPECT_NEAR(product(8192, 4098, 1024), 165, 0.1 * 165);
  EXPECT_NEAR(product(8192, 4099, 1024), 304, 0.1 * 304);
  EXPECT_NEAR(product(4096, 4099, 4096), 311, 0.1 * 311);
  EXPECT_NEAR(product(8191, 4099, 1032), 323, 0.1 * 323);
}

TEST(TargetInfo, KnowsItsPresets) {
  EXPECT_EQ(TargetInfo::get("sm_90a")->multiprocessors, 132u);
  EXPECT_EQ(TargetInfo::get("sm_80")->computeCapability, 80u);
  EXPECT_FALSE(TargetInfo::get("sm_10"));
}

} // namespace
