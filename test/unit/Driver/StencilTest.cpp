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

// Boxes of one row: several warps of a block would have the same addresses.
TEST(Stencil, WindowsAlongOneAxis) {
  for (int64_t size : {1, 31, 33, 240, 1023, 5000}) {
    std::string t = llvm::formatv("tensor<{0}xf32>", size);
    std::string window =
        " window [3] strides [1] dilations [1] low [1] high [1] : " + t +
        " -> " + t + "\n";
    checkGraph("func.func @f(%x: " + t + ") -> " + t +
                   " {\n%a = graph.window_reduce sum %x" + window +
                   "%b = graph.window_reduce max %a" + window +
                   "%c = graph.window_reduce min %b" + window +
                   "return %c : " + t + "\n}",
               {{1e-6, 1e-6}, true, 7, 1});
  }
}

TEST(Stencil, OneRowOfALongerImage) {
  checkGraph(R"(func.func @f(%x: tensor<3x1x1000xf32>) -> tensor<3x1x1000xf32> {
    %0 = graph.window_reduce sum %x window [1, 3, 3] strides [1, 1, 1] dilations [1, 1, 1] low [0, 1, 1] high [0, 1, 1] : tensor<3x1x1000xf32> -> tensor<3x1x1000xf32>
    %1 = graph.window_reduce max %0 window [1, 3, 2] strides [1, 1, 1] dilations [1, 1, 1] low [0, 1, 0] high [0, 1, 1] : tensor<3x1x1000xf32> -> tensor<3x1x1000xf32>
    return %1 : tensor<3x1x1000xf32>
  })",
             {{1e-6, 1e-6}, true, 8, 1});
}

// A window over a scalar has no axis to slide along.
TEST(Stencil, WindowsOverScalars) {
  std::string window =
      " window [] strides [] dilations [] low [] high [] : tensor<f32> -> "
      "tensor<f32>\n";
  std::string scalars = "%e = graph.exp %x : tensor<f32>\n"
                        "%a = graph.window_reduce sum %e" +
                        window + "%b = graph.window_reduce max %a" + window;
  checkGraph("func.func @f(%x: tensor<f32>) -> tensor<f32> {\n" + scalars +
                 "return %b : tensor<f32>\n}",
             {{1e-6, 1e-6}, true, 9, 1});
  checkGraph("func.func @f(%x: tensor<f32>, %y: tensor<3x20xf32>) -> "
             "tensor<3x20xf32> {\n" +
                 scalars +
                 R"(%c = graph.broadcast %b [] : tensor<f32> -> tensor<3x20xf32>
    %z = graph.add %c, %y : tensor<3x20xf32>
    %w = graph.window_reduce sum %z window [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] : tensor<3x20xf32> -> tensor<3x20xf32>
    return %w : tensor<3x20xf32>
  })",
             {{1e-5, 1e-5}, true, 10});
}

TEST(Stencil, EmptyImages) {
  checkGraph(depthwiseChain(2, 0, 16, "f32", 2), {kThreeStages, false, 1});
  checkGraph(depthwiseChain(2, 16, 0, "f32", 2), {kThreeStages, false, 1});
}

//===----------------------------------------------------------------------===//
// Marching strips: widths around a warp's useful columns (120, 60), heights
// around a strip's rows.
//===----------------------------------------------------------------------===//

TEST(StencilMarch, DepthwiseChainOfAwkwardSizes) {
  for (auto [h, w] : {std::pair(8, 24),
                      {9, 119},
                      {16, 120},
                      {17, 121},
                      {131, 61},
                      {8, 257}}) {
    SCOPED_TRACE(llvm::formatv("{0} x {1}", h, w).str());
    checkGraph(depthwiseChain(2, h, w, "f32", 3), {kThreeStages, false, 7, 1});
  }
}

// Between stages f32 is kept: more precise than rounding to the type, so the
// bound is the rounding of the reference's two intermediate results (half an
// ulp of 2^-11 or 2^-8, each multiplied by at most nine weights below 2) and of
// the last one.
TEST(StencilMarch, SixteenBitTypes) {
  checkGraph(depthwiseChain(3, 11, 124, "f16", 2),
             {{0x1p-10, 9 * 2 * 36 * 0x1p-11}, false, 8, 1});
  checkGraph(depthwiseChain(3, 11, 124, "bf16", 2),
             {{0x1p-7, 9 * 2 * 36 * 0x1p-8}, false, 9, 1});
}

TEST(StencilMarch, PoolsOfEveryType) {
  for (const char *type : {"f16", "f32", "f64", "i8", "ui8", "i32", "i64"}) {
    SCOPED_TRACE(type);
    std::string t = llvm::formatv("tensor<2x2x15x43x{0}>", type);
    checkGraph("func.func @f(%x: " + t + ") -> " + t + R"( {
      %0 = graph.window_reduce max %x window [1, 1, 3, 3] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1] : )" +
                   t + " -> " + t + R"(
      %1 = graph.window_reduce min %0 window [1, 1, 5, 3] strides [1, 1, 1, 1] dilations [1, 1, 1, 2] low [0, 0, 4, 1] high [0, 0, 0, 3] : )" +
                   t + " -> " + t + R"(
      return %1 : )" +
                   t + R"(
    })",
               {{}, true, 10, 1});
  }
}

// The first result is stored and read by the second window; the residual is
// read beside it.
TEST(StencilMarch, TwoOutputsAndAResidual) {
  checkGraph(
      R"(func.func @f(%x: tensor<1x2x19x70xf32>, %y: tensor<1x2x19x70xf32>) -> (tensor<1x2x19x70xf32>, tensor<1x2x19x70xf32>) {
    %0 = graph.window_reduce sum %x window [1, 1, 3, 1] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] low [0, 0, 1, 0] high [0, 0, 1, 0] : tensor<1x2x19x70xf32> -> tensor<1x2x19x70xf32>
    %1 = graph.mul %0, %y : tensor<1x2x19x70xf32>
    %2 = graph.window_reduce sum %1 window [1, 1, 1, 3] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] low [0, 0, 0, 0] high [0, 0, 0, 2] : tensor<1x2x19x70xf32> -> tensor<1x2x19x70xf32>
    %3 = graph.add %2, %x : tensor<1x2x19x70xf32>
    return %1, %3 : tensor<1x2x19x70xf32>, tensor<1x2x19x70xf32>
  })",
      {{1e-6, 1e-5}, false, 11, 1});
}

// Padding of two kinds over one value: reads keep their masks.
TEST(StencilMarch, DifferentPaddings) {
  checkGraph(
      R"(func.func @f(%x: tensor<1x1x9x31xf32>) -> tensor<1x1x9x31xf32> {
    %0 = graph.window_reduce max %x window [1, 1, 3, 3] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<1x1x9x31xf32> -> tensor<1x1x9x31xf32>
    %1 = graph.window_reduce sum %x window [1, 1, 3, 3] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<1x1x9x31xf32> -> tensor<1x1x9x31xf32>
    %2 = graph.sub %0, %1 : tensor<1x1x9x31xf32>
    %3 = graph.window_reduce max %2 window [1, 1, 3, 3] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<1x1x9x31xf32> -> tensor<1x1x9x31xf32>
    return %3 : tensor<1x1x9x31xf32>
  })",
      {{1e-6, 1e-5}, false, 12, 1});
}
