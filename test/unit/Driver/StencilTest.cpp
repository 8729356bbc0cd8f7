//===- StencilTest.cpp - windows as kernels against the reference ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec::test;

// Nine products of magnitude <= 4 accumulated in f32, three stages.
static constexpr Tolerance kThreeStages{1e-5, 2e-4};

static std::string depthwiseChain(int64_t c, int64_t h, int64_t w,
                                  const char *type, int stages) {
  std::string t = llvm::formatv("tensor<1x{0}x{1}x{2}x{3}>", c, h, w, type);
  std::string k = llvm::formatv("tensor<{0}x1x3x3x{1}>", c, type);
  std::string text =
      "func.func @f(%x: " + t + ", %k: " + k + ") -> " + t + " {\n";
  std::string last = "%x";
  for (int i = 0; i < stages; ++i) {
    std::string a = "%a" + std::to_string(i), b = "%b" + std::to_string(i);
    text += a + " = graph.convolution " + last +
            ", %k strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims "
            "[0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = " +
            std::to_string(c) + " : " + t + ", " + k + " -> " + t + "\n";
    text += b + " = graph.relu " + a + " : " + t + "\n";
    last = b;
  }
  return text + "return " + last + " : " + t + "\n}";
}

TEST(Stencil, DepthwiseChainIsOneKernel) {
  checkGraph(depthwiseChain(3, 20, 37, "f32", 3), {kThreeStages, false, 1, 1});
}

TEST(Stencil, DepthwiseChainAcrossTiles) {
  checkGraph(depthwiseChain(1, 70, 131, "f32", 2), {kThreeStages, false, 2, 1});
}

// Large enough that most tiles touch no border and run without masks.
TEST(Stencil, InnerTilesRunWithoutMasks) {
  checkGraph(depthwiseChain(1, 300, 290, "f32", 3),
             {kThreeStages, false, 5, 1});
}

TEST(Stencil, MaxThenAveragePool) {
  checkGraph(
      R"(func.func @f(%x: tensor<2x3x17x33xf32>) -> tensor<2x3x9x17xf32> {
    %0 = graph.window_reduce max %x window [1, 1, 3, 3] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<2x3x17x33xf32> -> tensor<2x3x17x33xf32>
    %1 = graph.window_reduce sum %0 window [1, 1, 3, 3] strides [1, 1, 2, 2] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<2x3x17x33xf32> -> tensor<2x3x9x17xf32>
    return %1 : tensor<2x3x9x17xf32>
  })",
      {{1e-6, 1e-6}, true, 3, 1});
}

TEST(Stencil, ConvThenConvFewChannels) {
  checkGraph(
      R"(func.func @f(%x: tensor<1x3x14x18xf32>, %a: tensor<4x3x3x3xf32>, %b: tensor<2x4x3x3xf32>) -> tensor<1x2x14x18xf32> {
    %0 = graph.convolution %x, %a strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1 : tensor<1x3x14x18xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x14x18xf32>
    %1 = graph.convolution %0, %b strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1 : tensor<1x4x14x18xf32>, tensor<2x4x3x3xf32> -> tensor<1x2x14x18xf32>
    return %1 : tensor<1x2x14x18xf32>
  })",
      {{1e-5, 2e-3}, false, 4, 1});
}

TEST(Stencil, EmptyImages) {
  checkGraph(depthwiseChain(2, 0, 16, "f32", 2), {kThreeStages, false, 1});
  checkGraph(depthwiseChain(2, 16, 0, "f32", 2), {kThreeStages, false, 1});
}
