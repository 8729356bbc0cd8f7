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
