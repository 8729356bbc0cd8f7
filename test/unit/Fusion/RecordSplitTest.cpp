//===- RecordSplitTest.cpp - decisions about a region that was split ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Fusion/FormGroups.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;

// Planned: kernel 0 negates, 1 is exp and sqrt, 2 takes the absolute value.
static const char kText[] = R"(
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = graph.fusion(%p = %x) : (tensor<8xf32>) -> tensor<8xf32> {
    %0 = graph.neg %p : tensor<8xf32>
    graph.yield %0 : tensor<8xf32>
  }
  %b = graph.fusion(%p = %a) : (tensor<8xf32>) -> tensor<8xf32> {
    %0 = graph.exp %p : tensor<8xf32>
    graph.yield %0 : tensor<8xf32>
  }
  %c = graph.fusion(%p = %b) : (tensor<8xf32>) -> tensor<8xf32> {
    %0 = graph.sqrt %p : tensor<8xf32>
    graph.yield %0 : tensor<8xf32>
  }
  %d = graph.fusion(%p = %c) : (tensor<8xf32>) -> tensor<8xf32> {
    %0 = graph.abs %p : tensor<8xf32>
    graph.yield %0 : tensor<8xf32>
  }
  return %d : tensor<8xf32>
})";

TEST(RecordSplit, ShowsWhatRuns) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(kText, &context);
  ASSERT_TRUE(module);
  SmallVector<graph::FusionOp> fusions;
  module->walk([&](graph::FusionOp fusion) { fusions.push_back(fusion); });
  ASSERT_EQ(fusions.size(), 4u);
  auto op = [&](unsigned i) { return &fusions[i].getBody().front().front(); };

  FusionDecisions decisions;
  for (unsigned kernel = 0; kernel < 3; ++kernel)
    decisions.kernels.push_back({fusions[kernel].getLoc()});
  decisions.edges = {{op(0), op(1), false, 0u, 1u, std::nullopt},
                     {op(1), op(2), true, 1u, 1u, std::nullopt},
                     {op(2), op(3), false, 1u, 2u, std::nullopt}};
  analysis::Refusal why{analysis::RefusalReason::NoSchedule};
  recordSplit(decisions, 1, {fusions[1], fusions[2]}, why, TargetInfo::h200());

  ASSERT_EQ(decisions.kernels.size(), 4u);
  for (unsigned kernel = 0; kernel < 4; ++kernel)
    EXPECT_EQ(decisions.kernels[kernel].split.has_value(),
              kernel == 1 || kernel == 2);
  EXPECT_EQ(decisions.kernels[2].numOps, 1u);
  EXPECT_GT(decisions.kernels[2].cost.total(), 0);
  for (unsigned edge = 0; edge < 3; ++edge) {
    EXPECT_FALSE(decisions.edges[edge].fused);
    EXPECT_EQ(decisions.edges[edge].producerKernel, edge);
    EXPECT_EQ(decisions.edges[edge].consumerKernel, edge + 1);
  }
  ASSERT_TRUE(decisions.edges[1].refusal);
  EXPECT_EQ(decisions.edges[1].refusal->reason, why.reason);
  EXPECT_FALSE(decisions.edges[0].refusal);
}
