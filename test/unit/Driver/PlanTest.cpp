//===- PlanTest.cpp - graphs in other sizes -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Driver/Plan.h"
#include "fusec/Dialect/Graph/Transforms/Resize.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace fusec;

namespace {

class PlanTest : public ::testing::Test {
protected:
  PlanTest() {
    mlir::DialectRegistry registry;
    driver::registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  mlir::OwningOpRef<mlir::ModuleOp> parse(std::string text, int64_t batch) {
    for (size_t at; (at = text.find("BATCH")) != std::string::npos;)
      text.replace(at, 5, std::to_string(batch));
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }
  /// The report of compiling `text` for `batch` as for 8.
  driver::FollowReport follow(const std::string &text, int64_t batch) {
    auto base = parse(text, 8), other = parse(text, batch);
    driver::Plan plan;
    auto first = driver::compile(*base, {}, {}, &plan);
    EXPECT_TRUE(bool(first));
    driver::FollowReport report;
    auto second = driver::compileLike(plan, *other, report);
    EXPECT_TRUE(bool(second)) << llvm::toString(second.takeError());
    if (second)
      EXPECT_EQ(llvm::toString(runtime::verifyProgram(second->program)), "");
    return report;
  }
  /// The program of `text` as for `planned`.
  runtime::Program programLike(const std::string &planned,
                               const std::string &text,
                               driver::FollowReport &report) {
    auto base = parse(planned, 0), other = parse(text, 0);
    driver::Plan plan;
    EXPECT_TRUE(bool(driver::compile(*base, {}, {}, &plan)));
    auto second = driver::compileLike(plan, *other, report);
    EXPECT_TRUE(bool(second)) << llvm::toString(second.takeError());
    return second ? std::move(second->program) : runtime::Program();
  }
  std::string resized(const std::string &text,
                      llvm::SmallVector<llvm::SmallVector<int64_t>> shapes) {
    auto module = parse(text, 8);
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    if (llvm::Error error = graph::resize(function, shapes))
      return llvm::toString(std::move(error));
    std::string result;
    llvm::raw_string_ostream(result) << function.getFunctionType();
    return result;
  }
  mlir::MLIRContext context;
};

} // namespace

// Products of heads and what a softmax begins with.
static const char *const kHeads =
    R"(func.func @f(%x: tensor<BATCHx16x32xf32>, %w: tensor<32x32xf32>) -> tensor<BATCHx4x16x8xf32> {
  %0 = graph.contract %x, %w batch [] x [] contract [2] x [0] : tensor<BATCHx16x32xf32>, tensor<32x32xf32> -> tensor<BATCHx16x32xf32>
  %1 = graph.reshape %0 : tensor<BATCHx16x32xf32> -> tensor<BATCHx16x4x8xf32>
  %2 = graph.transpose %1 [0, 2, 1, 3] : tensor<BATCHx16x4x8xf32> -> tensor<BATCHx4x16x8xf32>
  %3 = graph.reduce max %2 [3] : tensor<BATCHx4x16x8xf32> -> tensor<BATCHx4x16xf32>
  %4 = graph.broadcast %3 [0, 1, 2] : tensor<BATCHx4x16xf32> -> tensor<BATCHx4x16x8xf32>
  %5 = graph.sub %2, %4 : tensor<BATCHx4x16x8xf32>
  %6 = graph.exp %5 : tensor<BATCHx4x16x8xf32>
  return %6 : tensor<BATCHx4x16x8xf32>
})";

TEST_F(PlanTest, EveryBatchHasTheSameTexts) {
  for (int64_t batch : {0, 1, 2, 7, 8, 32, 33, 129}) {
    driver::FollowReport report = follow(kHeads, batch);
    EXPECT_EQ(report.reason, "") << batch;
    EXPECT_EQ(report.newKernels, 0u) << batch;
    EXPECT_GT(report.sharedKernels, 0u) << batch;
  }
}

// Which steps of a chain every block does is decided for the first batch.
TEST_F(PlanTest, ChainsHaveTheSameTexts) {
  std::string full = "tensor<BATCHx24x40xf32>", body, x = "%x";
  for (int i = 0; i < 5; ++i) {
    std::string n = std::to_string(i), next = "%x" + n;
    bool outer = i % 2 == 0;
    std::string row = outer ? "tensor<BATCHx40xf32>" : "tensor<BATCHx24xf32>";
    body += "  %m" + n + " = graph.reduce max " + x +
            (outer ? " [1]" : " [2]") + " : " + full + " -> " + row + "\n  %p" +
            n + " = graph.broadcast %m" + n + (outer ? " [0, 2]" : " [0, 1]") +
            " : " + row + " -> " + full + "\n  " + next + " = graph.sub " + x +
            ", %p" + n + " : " + full + "\n";
    x = next;
  }
  std::string text = "func.func @f(%x: " + full + ") -> " + full + " {\n" +
                     body + "  return " + x + " : " + full + "\n}";
  for (int64_t batch : {2, 3, 7, 8, 13}) {
    driver::FollowReport report = follow(text, batch);
    EXPECT_EQ(report.reason, "") << batch;
    EXPECT_EQ(report.newKernels, 0u) << batch;
    EXPECT_EQ(report.sharedKernels, 1u) << batch;
  }
}

TEST_F(PlanTest, ANumberThatDependsOnTheBatchMakesAnotherGraph) {
  // A mean over the batch, as an exporter spells it.
  driver::FollowReport report = follow(
      R"(func.func @f(%x: tensor<BATCHx64xf32>) -> tensor<64xf32> {
  %n = graph.constant dense<BATCH.0> : tensor<64xf32>
  %0 = graph.reduce sum %x [0] : tensor<BATCHx64xf32> -> tensor<64xf32>
  %1 = graph.div %0, %n : tensor<64xf32>
  return %1 : tensor<64xf32>
})",
      32);
  EXPECT_NE(report.reason.find("another graph"), std::string::npos)
      << report.reason;
}

// So does a constant of several values that are others.
TEST_F(PlanTest, OtherWeightsMakeAnotherGraph) {
  auto text = [](const char *weights) {
    return std::string(
               "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %w = "
               "graph.constant dense<") +
           weights +
           "> : tensor<4xf32>\n  %0 = graph.add %x, %w : tensor<4xf32>\n  "
           "return %0 : tensor<4xf32>\n}";
  };
  driver::FollowReport same, other;
  programLike(text("[1.0, 2.0, 3.0, 4.0]"), text("[1.0, 2.0, 3.0, 4.0]"),
              same);
  EXPECT_EQ(same.reason, "");
  programLike(text("[1.0, 2.0, 3.0, 4.0]"), text("[1.0, 2.0, 3.0, 5.0]"),
              other);
  EXPECT_NE(other.reason.find("another graph"), std::string::npos)
      << other.reason;
}

TEST_F(PlanTest, SizesFollow) {
  EXPECT_EQ(
      resized(
          R"(func.func @f(%x: tensor<8x16xf32>, %y: tensor<16xf32>) -> tensor<4x32xf32> {
  %0 = graph.broadcast %y [1] : tensor<16xf32> -> tensor<8x16xf32>
  %1 = graph.add %x, %0 : tensor<8x16xf32>
  %2 = graph.reshape %1 : tensor<8x16xf32> -> tensor<128xf32>
  %3 = graph.reshape %2 : tensor<128xf32> -> tensor<8x2x8xf32>
  %4 = graph.reduce sum %3 [2] : tensor<8x2x8xf32> -> tensor<8x2xf32>
  %5 = graph.reshape %1 : tensor<8x16xf32> -> tensor<4x32xf32>
  return %5 : tensor<4x32xf32>
})",
          {{24, 16}, {16}}),
      "a changed size is cut by a reshape to a dimension of 4 at "
      "loc(\"-\":7:8)");
  EXPECT_EQ(resized(kHeads, {{3, 16, 32}, {32, 32}}),
            "(tensor<3x16x32xf32>, tensor<32x32xf32>) -> "
            "tensor<3x4x16x8xf32>");
}

TEST_F(PlanTest, AConstantOfTheBatchIsRefused) {
  EXPECT_NE(resized(R"(func.func @f(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %c = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = graph.add %x, %c : tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
})",
                    {{3, 2}})
                .find("a constant of several values"),
            std::string::npos);
}

TEST_F(PlanTest, OneIsNoSizeToStartFrom) {
  EXPECT_NE(resized(R"(func.func @f(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %0 = graph.exp %x : tensor<1x2xf32>
  return %0 : tensor<1x2xf32>
})",
                    {{3, 2}})
                .find("expected a size above 1"),
            std::string::npos);
}

// 255 * 255 * 34816 is above 2^31.
TEST_F(PlanTest, SumsThatOverflowInOtherSizesAreMadeAnew) {
  auto text = [](int64_t k) {
    std::string a = "tensor<64x" + std::to_string(k) + "xui8>";
    return "func.func @f(%a: " + a + ", %b: " + a +
           ") -> tensor<64x64xi64> {\n%c = graph.contract %a, %b batch [] x [] "
           "contract [1] x [1] : " +
           a + ", " + a +
           " -> tensor<64x64xi64>\nreturn %c : " + "tensor<64x64xi64>\n}";
  };
  driver::FollowReport report;
  runtime::Program program = programLike(text(1024), text(34816), report);
  ASSERT_EQ(program.kernels.size(), 1u);
  EXPECT_EQ(report.newKernels, 1u);
  EXPECT_EQ(program.kernels[0].source.find("GemmKind"), std::string::npos);
}

// The rows are the product of two sizes that changed.
TEST_F(PlanTest, TensorMapsOfTwoSizesThatBecomeOne) {
  auto text = [](int64_t batch, int64_t length) {
    std::string b = std::to_string(batch), s = std::to_string(length),
                rows = std::to_string(batch * length);
    std::string x = "tensor<" + b + "x" + s + "x256xf16>",
                flat = "tensor<" + rows + "x256xf16>",
                w = "tensor<256x256xf16>";
    return "func.func @f(%x: " + x + ", %w: " + w + ") -> " + flat +
           " {\n%0 = graph.reshape %x : " + x + " -> " + flat +
           "\n%1 = graph.contract %0, %w batch [] x [] contract [1] x [0] : " +
           flat + ", " + w + " -> " + flat + "\nreturn %1 : " + flat + "\n}";
  };
  for (auto [batch, length] : {std::pair(1, 1), {1, 5}, {5, 1}, {2, 3}}) {
    driver::FollowReport report;
    runtime::Program program =
        programLike(text(64, 64), text(batch, length), report);
    for (const runtime::Step &step : program.steps)
      if (const auto *launch = std::get_if<runtime::Launch>(&step))
        for (const auto &arg : launch->args)
          if (const auto *map = std::get_if<runtime::TensorMapArg>(&arg))
            for (int64_t dim : map->dims)
              EXPECT_TRUE(dim == 256 || dim == batch * length) << dim;
  }
}
