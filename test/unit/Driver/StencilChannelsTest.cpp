//===- StencilChannelsTest.cpp - windows over channels-last images --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marches whose lanes run along the channels.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec::test;

/// A depthwise k x k convolution of a channels-last image, padded by k / 2.
static std::string depthwise(int64_t h, int64_t w, int64_t c, int64_t k,
                             const char *type) {
  return llvm::formatv(
      R"(func.func @f(%x: tensor<2x{0}x{1}x{2}x{4}>, %k: tensor<{3}x{3}x1x{2}x{4}>) -> tensor<2x{0}x{1}x{2}x{4}> {
    %0 = graph.convolution %x, %k strides [1, 1] dilations [1, 1] low [{5}, {5}] high [{5}, {5}] dims [0, 3, 1, 2] x [3, 2, 0, 1] -> [0, 3, 1, 2] groups = {2} : tensor<2x{0}x{1}x{2}x{4}>, tensor<{3}x{3}x1x{2}x{4}> -> tensor<2x{0}x{1}x{2}x{4}>
    %1 = graph.relu %0 : tensor<2x{0}x{1}x{2}x{4}>
    return %1 : tensor<2x{0}x{1}x{2}x{4}>
  })",
      h, w, c, k, type, k / 2);
}

TEST(StencilChannels, DepthwiseOfAwkwardSizes) {
  for (auto [h, w, c] :
       {std::tuple(4, 2, 17), {9, 17, 32}, {13, 8, 96}, {37, 5, 33}}) {
    SCOPED_TRACE(llvm::formatv("{0} x {1} x {2}", h, w, c).str());
    checkGraph(depthwise(h, w, c, 3, "f32"), {{1e-5, 1e-5}, false, 1, 1});
    checkGraph(depthwise(h, w, c, 7, "f32"), {{1e-5, 2e-5}, false, 2, 1});
  }
}

TEST(StencilChannels, SixteenBitTypes) {
  checkGraph(depthwise(9, 11, 40, 7, "f16"), {{0x1p-10, 0x1p-9}, false, 3, 1});
  checkGraph(depthwise(9, 11, 40, 7, "bf16"), {{0x1p-7, 0x1p-6}, true, 4, 1});
  checkGraph(depthwise(9, 11, 40, 5, "f64"), {{1e-12, 1e-12}, false, 5, 1});
}

// Two poolings of different reach, a result between them, and a residual.
TEST(StencilChannels, PoolsOfEveryType) {
  for (const char *type : {"f16", "f32", "i8", "ui8", "i32", "i64"}) {
    SCOPED_TRACE(type);
    std::string t = llvm::formatv("tensor<1x11x13x48x{0}>", type);
    checkGraph("func.func @f(%x: " + t + ") -> (" + t + ", " + t + R"() {
      %0 = graph.window_reduce max %x window [1, 3, 3, 1] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] low [0, 1, 1, 0] high [0, 1, 1, 0] : )" +
                   t + " -> " + t + R"(
      %1 = graph.window_reduce min %0 window [1, 2, 3, 1] strides [1, 1, 1, 1] dilations [1, 1, 2, 1] low [0, 1, 4, 0] high [0, 0, 0, 0] : )" +
                   t + " -> " + t + R"(
      %2 = graph.max %1, %x : )" +
                   t + R"(
      return %0, %2 : )" +
                   t + ", " + t + R"(
    })",
               {{}, true, 6, 1});
  }
}

/// A depthwise k x k convolution of a channels-last image and a norm over its
/// channels.
static std::string normed(int64_t h, int64_t w, int64_t c, int64_t k,
                          const char *type) {
  return llvm::formatv(
      R"(func.func @f(%x: tensor<2x{0}x{1}x{2}x{4}>, %k: tensor<{3}x{3}x1x{2}x{4}>, %g: tensor<{2}x{4}>, %b: tensor<{2}x{4}>) -> tensor<2x{0}x{1}x{2}x{4}> {
    %0 = graph.convolution %x, %k strides [1, 1] dilations [1, 1] low [{5}, {5}] high [{5}, {5}] dims [0, 3, 1, 2] x [3, 2, 0, 1] -> [0, 3, 1, 2] groups = {2} : tensor<2x{0}x{1}x{2}x{4}>, tensor<{3}x{3}x1x{2}x{4}> -> tensor<2x{0}x{1}x{2}x{4}>
    %1 = graph.layer_norm %0, %g, %b axis = 3 epsilon = 1.0e-5 : tensor<2x{0}x{1}x{2}x{4}>, tensor<{2}x{4}>, tensor<{2}x{4}>
    return %1 : tensor<2x{0}x{1}x{2}x{4}>
  })",
      h, w, c, k, type, k / 2);
}

// Strips, rows that are handed on, points of a pass and channels end within
// the image; one warp, several, and lanes without channels.
TEST(StencilChannels, NormBehindAWindow) {
  for (auto [h, w, c] : {std::tuple(4, 2, 17),
                         {9, 17, 32},
                         {13, 8, 96},
                         {11, 5, 130},
                         {31, 9, 33}}) {
    SCOPED_TRACE(llvm::formatv("{0} x {1} x {2}", h, w, c).str());
    checkGraph(normed(h, w, c, 3, "f32"), {{1e-4, 1e-4}, false, 1, 1});
    checkGraph(normed(h, w, c, 7, "f32"), {{1e-4, 1e-4}, false, 2, 1});
  }
}

TEST(StencilChannels, NormOfSixteenBits) {
  checkGraph(normed(9, 11, 40, 7, "f16"), {{0x1p-8, 0x1p-8}, false, 3, 1});
  checkGraph(normed(9, 11, 96, 7, "bf16"), {{0x1p-5, 0x1p-5}, true, 4, 1});
  checkGraph(normed(9, 11, 40, 5, "f64"), {{1e-11, 1e-11}, false, 5, 1});
}

// A block cannot hold all channels: two kernels.
TEST(StencilChannels, NormOfManyChannels) {
  checkGraph(normed(4, 3, 400, 3, "f32"), {{1e-4, 1e-4}, false, 6, 2});
}

// Two windows and an op between them; behind them the residual is read and a
// value between the windows, a softmax and the place of the greatest channel
// are taken, and one value a point is stored.
TEST(StencilChannels, SeveralReductionsBehindWindows) {
  checkGraph(
      R"(func.func @f(%x: tensor<2x9x13x48xf32>, %r: tensor<2x9x13x48xf32>, %k: tensor<3x3x1x48xf32>) -> (tensor<2x9x13x48xf32>, tensor<2x9x13xi64>, tensor<2x9x13xf32>) {
    %0 = graph.convolution %x, %k strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 3, 1, 2] x [3, 2, 0, 1] -> [0, 3, 1, 2] groups = 48 : tensor<2x9x13x48xf32>, tensor<3x3x1x48xf32> -> tensor<2x9x13x48xf32>
    %1 = graph.relu %0 : tensor<2x9x13x48xf32>
    %2 = graph.convolution %1, %k strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 3, 1, 2] x [3, 2, 0, 1] -> [0, 3, 1, 2] groups = 48 : tensor<2x9x13x48xf32>, tensor<3x3x1x48xf32> -> tensor<2x9x13x48xf32>
    %3 = graph.add %2, %r : tensor<2x9x13x48xf32>
    %4 = graph.add %3, %1 : tensor<2x9x13x48xf32>
    %5 = graph.softmax %4 [3] : tensor<2x9x13x48xf32>
    %6 = graph.arg_reduce max %4 dimension = 3 : tensor<2x9x13x48xf32> -> tensor<2x9x13xi64>
    %7 = graph.reduce max %4 [3] : tensor<2x9x13x48xf32> -> tensor<2x9x13xf32>
    return %5, %6, %7 : tensor<2x9x13x48xf32>, tensor<2x9x13xi64>, tensor<2x9x13xf32>
  })",
      {{1e-5, 1e-5}, false, 7, 1});
}

// Reductions of other axes, before the window, or of another place of it.
TEST(StencilChannels, ReductionsThatStayApart) {
  auto graph = [](const char *body) {
    return std::string("func.func @f(%x: tensor<1x9x8x32xf32>, %k: "
                       "tensor<3x3x1x32xf32>) -> ") +
           body;
  };
  const char *conv =
      " strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 3, 1, "
      "2] x [3, 2, 0, 1] -> [0, 3, 1, 2] groups = 32 : tensor<1x9x8x32xf32>, "
      "tensor<3x3x1x32xf32> -> tensor<1x9x8x32xf32>\n";
  checkGraph(graph("tensor<1x32xf32> {\n %0 = graph.convolution %x, %k") +
                 conv +
                 " %1 = graph.reduce sum %0 [1, 2] : tensor<1x9x8x32xf32> -> "
                 "tensor<1x32xf32>\n return %1 : tensor<1x32xf32>\n}",
             {{1e-4, 1e-4}, false, 8, 2});
  checkGraph(graph("tensor<1x9x8x32xf32> {\n %0 = graph.softmax %x [3] : "
                   "tensor<1x9x8x32xf32>\n %1 = graph.convolution %0, %k") +
                 conv + " return %1 : tensor<1x9x8x32xf32>\n}",
             {{1e-5, 1e-5}, false, 9, 2});
}
