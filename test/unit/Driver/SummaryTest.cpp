//===- SummaryTest.cpp - what a compilation reports -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Driver/Plan.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace fusec;
using driver::Stage;

namespace {
class SummaryTest : public testing::Test {
protected:
  SummaryTest() {
    mlir::DialectRegistry registry;
    driver::registerDialects(registry);
    context.appendDialectRegistry(registry);
  }
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }
  /// The only launch of `text`.
  driver::KernelSummary launch(const std::string &text) {
    auto module = parse(text);
    auto result = llvm::cantFail(driver::compile(*module));
    EXPECT_EQ(result.kernels.size(), 1u);
    return result.kernels.at(0);
  }
  mlir::MLIRContext context;
  std::vector<Stage> stages;
  driver::StageObserver observer = [this](Stage stage, mlir::Operation *) {
    stages.push_back(stage);
  };
};
} // namespace

// A contraction reads the left operand once per tile of 128 columns of the
// result, the right one once per tile of rows.
TEST_F(SummaryTest, ContractionsReadOperandsOncePerTile) {
  driver::KernelSummary summary = launch(
      R"(func.func @f(%x: tensor<512x256xf32>, %w: tensor<256x300xf32>) -> tensor<512x300xf32> {
    %0 = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<512x256xf32>, tensor<256x300xf32> -> tensor<512x300xf32>
    return %0 : tensor<512x300xf32>
  })");
  double lhs = 512 * 256 * 4, rhs = 256 * 300 * 4, result = 512 * 300 * 4;
  EXPECT_EQ(summary.bytes, lhs + rhs + result);
  EXPECT_EQ(summary.requestedBytes, 3 * lhs + 4 * rhs + result);
}

TEST_F(SummaryTest, OtherKernelsReadInputsOnce) {
  driver::KernelSummary summary = launch(
      R"(func.func @f(%x: tensor<1000xf32>) -> tensor<1000xf16> {
    %0 = graph.exp %x : tensor<1000xf32>
    %1 = graph.cast %0 : tensor<1000xf32> -> tensor<1000xf16>
    return %1 : tensor<1000xf16>
  })");
  EXPECT_EQ(summary.bytes, 6000);
  EXPECT_EQ(summary.requestedBytes, 6000);
}

// Parts of one launch do together what each does alone.
TEST_F(SummaryTest, PartsOfALaunchAdd) {
  const char *a = "%0 = graph.exp %a : tensor<64xf32>\n",
             *b = "%1 = graph.cast %b : tensor<999xf32> -> tensor<999xf16>\n"
                  "%2 = graph.add %1, %1 : tensor<999xf16>\n";
  auto both =
      launch(std::string("func.func @f(%a: tensor<64xf32>, %b: "
                         "tensor<999xf32>) -> (tensor<64xf32>, "
                         "tensor<999xf16>) {\n") +
             a + b + "return %0, %2 : tensor<64xf32>, tensor<999xf16>\n}");
  auto first = launch(std::string("func.func @f(%a: tensor<64xf32>) -> "
                                  "tensor<64xf32> {\n") +
                      a + "return %0 : tensor<64xf32>\n}");
  auto second = launch(std::string("func.func @f(%b: tensor<999xf32>) -> "
                                   "tensor<999xf16> {\n") +
                       b + "return %2 : tensor<999xf16>\n}");
  EXPECT_EQ(both.parts, 2u);
  EXPECT_EQ(both.inputs, first.inputs + second.inputs);
  EXPECT_EQ(both.outputs, first.outputs + second.outputs);
  EXPECT_EQ(both.ops.size(), first.ops.size() + second.ops.size());
  EXPECT_EQ(both.bytes, first.bytes + second.bytes);
  EXPECT_EQ(both.requestedBytes, first.requestedBytes + second.requestedBytes);
  EXPECT_EQ(both.cost.readBytes, first.cost.readBytes + second.cost.readBytes);
  EXPECT_EQ(both.cost.writtenBytes,
            first.cost.writtenBytes + second.cost.writtenBytes);
  EXPECT_EQ(both.cost.instructions,
            first.cost.instructions + second.cost.instructions);
  EXPECT_EQ(both.cost.launchTime, first.cost.launchTime);
}

static const char *const kRelu =
    R"(func.func @f(%x: tensor<8x100xf32>) -> tensor<8x100xf32> {
    %0 = graph.relu %x : tensor<8x100xf32>
    return %0 : tensor<8x100xf32>
  })";

TEST_F(SummaryTest, StagesAreSeenInOrder) {
  auto module = parse(kRelu);
  llvm::cantFail(driver::compile(*module, {}, observer));
  EXPECT_EQ(stages, (std::vector{Stage::Graph, Stage::Fused, Stage::Tile,
                                 Stage::Simt}));
}

// Also of a graph that is compiled as another one was; sizes of its own may
// take regions to be built for others, too, but the graph comes first and once.
TEST_F(SummaryTest, StagesOfAFollowerAreSeenInOrder) {
  auto base = parse(kRelu), other = parse(kRelu);
  driver::Plan plan;
  llvm::cantFail(driver::compile(*base, {}, {}, &plan));
  driver::FollowReport report;
  llvm::cantFail(driver::compileLike(plan, *other, report, observer));
  EXPECT_EQ(report.reason, "");
  ASSERT_EQ(stages.size() % 3, 1u);
  EXPECT_EQ(stages[0], Stage::Graph);
  for (size_t i = 1; i < stages.size(); i += 3)
    EXPECT_EQ((std::vector(stages.begin() + i, stages.begin() + i + 3)),
              (std::vector{Stage::Fused, Stage::Tile, Stage::Simt}));
}
