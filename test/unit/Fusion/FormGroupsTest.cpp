//===- FormGroupsTest.cpp - limits that the planner keeps -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Fusion/FormGroups.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;

namespace {

class FormGroups : public ::testing::Test {
protected:
  FusionDecisions plan(const std::string &text, FormGroupsOptions options) {
    context.loadDialect<func::FuncDialect, graph::GraphDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    auto function = *module->getOps<func::FuncOp>().begin();
    FusionDecisions decisions = formGroups(function, options);
    EXPECT_TRUE(succeeded(verifyGroups(function)));
    return decisions;
  }

  /// One kernel a launch.
  FusionDecisions planApart(const std::string &text) {
    FormGroupsOptions options;
    options.horizontal = false;
    return plan(text, options);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// `count` cheap ops in a row, read by reductions of different axes, which are
/// different kernels; with `isSpread` one of the operands is a broadcast.
std::string chainReadBy(unsigned count, unsigned readers, bool isSpread) {
  const char *axes[] = {"0", "1", "2", "0, 1", "0, 2", "1, 2"},
             *rest[] = {"32x16", "8x16", "8x32", "16", "32", "8"};
  const char *type = "tensor<8x32x16xf32>";
  std::string text = llvm::formatv(
      "  %v0 = graph.cast %x : tensor<8x32x16xf16> -> {0}\n", type);
  if (isSpread)
    text += llvm::formatv("  %w = graph.broadcast %y [2] : tensor<16xf32> -> "
                          "{0}\n",
                          type);
  for (unsigned i = 1; i < count; ++i)
    text += llvm::formatv("  %v{0} = graph.add %v{1}, %{2} : {3}\n", i, i - 1,
                          isSpread ? "w" : "v0", type);
  std::string names, types;
  for (unsigned i = 0; i < readers; ++i) {
    std::string result = llvm::formatv("tensor<{0}xf32>", rest[i]);
    text += llvm::formatv("  %r{0} = graph.reduce sum %v{1} [{2}] : {3} -> "
                          "{4}\n",
                          i, count - 1, axes[i], type, result);
    names += (i ? ", %r" : "%r") + std::to_string(i);
    types += (i ? ", " : "") + result;
  }
  return llvm::formatv("func.func @f(%x: tensor<8x32x16xf16>, %y: "
                       "tensor<16xf32>) -> ({0}) {{\n{1}  return {2} : "
                       "{0}\n}\n",
                       types, text, names);
}

/// Reductions of rows of the given lengths, nothing between them.
std::string rowsOf(ArrayRef<int64_t> lengths) {
  std::string arguments, text, names, types;
  for (auto [i, length] : llvm::enumerate(lengths)) {
    const char *comma = i ? ", " : "";
    arguments += llvm::formatv("{0}%x{1}: tensor<4x{2}xf32>", comma, i, length);
    text += llvm::formatv("  %r{0} = graph.reduce sum %x{0} [1] : "
                          "tensor<4x{1}xf32> -> tensor<4xf32>\n",
                          i, length);
    names += llvm::formatv("{0}%r{1}", comma, i);
    types += llvm::formatv("{0}tensor<4xf32>", comma);
  }
  return llvm::formatv("func.func @f({0}) -> ({1}) {{\n{2}  return {3} : "
                       "{1}\n}\n",
                       arguments, types, text, names);
}

/// A product with a residual in f32, and a norm behind the sum.
std::string layer() {
  return R"(
func.func @f(%a: tensor<4096x768xf16>, %b: tensor<768x768xf16>,
             %r: tensor<4096x768xf32>) -> tensor<4096x768xf32> {
  %p = graph.contract %a, %b batch [] x [] contract [1] x [0] :
    tensor<4096x768xf16>, tensor<768x768xf16> -> tensor<4096x768xf16>
  %w = graph.cast %p : tensor<4096x768xf16> -> tensor<4096x768xf32>
  %s = graph.add %r, %w : tensor<4096x768xf32>
  %m = graph.reduce max %s [1] : tensor<4096x768xf32> -> tensor<4096xf32>
  %g = graph.broadcast %m [0] : tensor<4096xf32> -> tensor<4096x768xf32>
  %y = graph.sub %s, %g : tensor<4096x768xf32>
  return %y : tensor<4096x768xf32>
})";
}

/// Whether the first kernel, the product's, has `Op`; each is in one kernel.
template <class Op>
bool isInFirst(ModuleOp module) {
  SmallVector<bool> found;
  auto function = *module.getOps<func::FuncOp>().begin();
  for (auto [i, fusion] : llvm::enumerate(function.getOps<graph::FusionOp>()))
    for ([[maybe_unused]] Op op : fusion.getBody().getOps<Op>())
      found.push_back(i == 0);
  EXPECT_EQ(found.size(), 1u);
  return found.size() == 1 && found.front();
}

TEST_F(FormGroups, MovedReadsTakeWhatWidensTheProductWithThem) {
  FusionDecisions decisions = planApart(layer());
  ASSERT_EQ(decisions.kernels.size(), 2u);
  EXPECT_TRUE(isInFirst<graph::ContractOp>(*module));
  EXPECT_FALSE(isInFirst<graph::CastOp>(*module));
  EXPECT_FALSE(isInFirst<graph::AddOp>(*module));
  EXPECT_EQ(decisions.clonedOps, 0u);
  // Each edge says where its ops are now.
  for (const EdgeDecision &edge : decisions.edges)
    EXPECT_EQ(edge.fused, edge.producer.name->getStringRef() !=
                              graph::ContractOp::getOperationName());
}

} // namespace

// What a kernel can compute for itself it neither reads nor makes another one
// write.
TEST_F(FormGroups, CheapValuesAreComputedByEachReader) {
  FusionDecisions decisions = planApart(chainReadBy(7, 2, false));
  EXPECT_EQ(decisions.clonedOps, 7u);
  ASSERT_EQ(decisions.kernels.size(), 2u);
  for (const KernelDecision &kernel : decisions.kernels) {
    EXPECT_EQ(kernel.numInputs, 1u);
    EXPECT_EQ(kernel.numOutputs, 1u);
    EXPECT_EQ(kernel.numOps, 8u);
  }
  for (const EdgeDecision &edge : decisions.edges)
    EXPECT_TRUE(edge.fused) << edge.producer.name->getStringRef().str();
  // Nine ops are as dear as a load and a store.
  EXPECT_EQ(planApart(chainReadBy(9, 2, false)).clonedOps, 0u);
}

// A graph at most doubles.
TEST_F(FormGroups, CopiesAreNoMoreThanOps) {
  EXPECT_EQ(planApart(chainReadBy(6, 3, false)).clonedOps, 0u)
      << "12 copies of 9 ops";
  EXPECT_EQ(planApart(chainReadBy(2, 4, false)).clonedOps, 6u)
      << "6 copies of 6 ops";
}

// Ops that had a copy per user from the start count, whether or not the copies
// ended in one kernel.
TEST_F(FormGroups, CopiesOfBothKindsHaveOneBudget) {
  EXPECT_EQ(planApart(chainReadBy(6, 2, true)).clonedOps, 0u)
      << "4 copies for users and 7 for a reader of 9 ops";
  EXPECT_EQ(planApart(chainReadBy(2, 2, true)).clonedOps, 3u)
      << "3 copies for a reader of 5 ops";
}

// Equal texts count once against the ops of a launch; kernels of rows of
// another length are other texts.
TEST_F(FormGroups, ALaunchHoldsSoManyDifferentOps) {
  FormGroupsOptions options;
  options.horizontal = true;
  options.maxOps = 3;
  FusionDecisions equal = plan(rowsOf({100, 100, 100, 100, 100, 100}), options);
  ASSERT_EQ(equal.kernels.size(), 1u);
  EXPECT_EQ(equal.kernels[0].parts.size(), 6u);
  FusionDecisions different = plan(rowsOf({100, 90, 80, 70, 60, 50}), options);
  ASSERT_EQ(different.kernels.size(), 2u);
  EXPECT_EQ(different.kernels[0].parts.size(), 3u);
}
