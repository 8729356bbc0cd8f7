//===- SameRegionTest.cpp - regions that are equal ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "SameRegion.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;

// A region that was forgotten may be gone: it is given out no more.
TEST(SameRegions, ForgottenOnesAreNotFound) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>)
        -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
      %a = graph.fusion(%p = %x) : (tensor<4xf32>) -> tensor<4xf32> {
        %r = graph.exp %p : tensor<4xf32>
        graph.yield %r : tensor<4xf32>
      }
      %b = graph.fusion(%p = %y) : (tensor<4xf32>) -> tensor<4xf32> {
        %r = graph.exp %p : tensor<4xf32>
        graph.yield %r : tensor<4xf32>
      }
      %c = graph.fusion(%p = %y) : (tensor<4xf32>) -> tensor<4xf32> {
        %r = graph.tanh %p : tensor<4xf32>
        graph.yield %r : tensor<4xf32>
      }
      return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
    })",
                                            &context);
  ASSERT_TRUE(module);
  SmallVector<graph::FusionOp> fusions;
  module->walk([&](graph::FusionOp fusion) { fusions.push_back(fusion); });
  ASSERT_EQ(fusions.size(), 3u);
  driver::SameRegions regions;
  EXPECT_EQ(regions.firstOf(fusions[0]), fusions[0]);
  EXPECT_EQ(regions.firstOf(fusions[1]), fusions[0]);
  EXPECT_EQ(regions.firstOf(fusions[2]), fusions[2]);
  regions.forget(fusions[0]);
  EXPECT_EQ(regions.firstOf(fusions[1]), fusions[1]);
  EXPECT_EQ(regions.firstOf(fusions[0]), fusions[1]);
}
