//===- TextbookTest.cpp - element-wise and windowed examples --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Textbook.h"

using namespace fusec::test;

static const char kConvBiasRelu[] =
    R"(func.func @f(%x: tensor<$Ax$Bx$Cx$Dx$T>, %w: tensor<$Ex$Bx3x3x$T>, %b: tensor<$Ex$T>) -> tensor<$Ax$Ex$Cx$Dx$T> {
  %y = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1 : tensor<$Ax$Bx$Cx$Dx$T>, tensor<$Ex$Bx3x3x$T> -> tensor<$Ax$Ex$Cx$Dx$T>
  %bb = graph.broadcast %b [1] : tensor<$Ex$T> -> tensor<$Ax$Ex$Cx$Dx$T>
  %s = graph.add %y, %bb : tensor<$Ax$Ex$Cx$Dx$T>
  %r = graph.relu %s : tensor<$Ax$Ex$Cx$Dx$T>
  return %r : tensor<$Ax$Ex$Cx$Dx$T>
})";

// Batch, input channels, height, width, output channels.
TEST(Textbook, ConvBiasReluOnTensorCores) {
  runAll({kConvBiasRelu, 4, 4, 1, 37 * 9}, {{2, 32, 8, 16, 16},
                                            {1, 37, 7, 5, 31},
                                            {1, 33, 1, 1, 3},
                                            {0, 32, 8, 8, 16}});
}
TEST(Textbook, ConvBiasReluAsStencil) {
  runAll({kConvBiasRelu, 4, 4, 1, 3 * 9}, {{1, 3, 16, 16, 4},
                                           {1, 3, 13, 31, 2},
                                           {1, 2, 33, 67, 1},
                                           {1, 3, 0, 8, 4}});
}

// Batch, channels, pixels, pixels.
TEST(Textbook, NormAndDropout) {
  runAll(
      {R"(func.func @f(%x: tensor<$Ax$Bx$Cx$T>, %scale: tensor<$Bx$T>, %bias: tensor<$Bx$T>, %mean: tensor<$Bx$T>, %deviation: tensor<$Bx$T>, %seed: tensor<ui64>, %offset: tensor<ui64>) -> (tensor<$Ax$Bx$Cx$T>, tensor<$Ax$Bx$Cx$T>) {
  %variance = graph.mul %deviation, %deviation : tensor<$Bx$T>
  %y = graph.batch_norm %x, %scale, %bias, %mean, %variance channel = 1 epsilon = 1.0e-2 : tensor<$Ax$Bx$Cx$T>, tensor<$Bx$T>, tensor<$Bx$T>, tensor<$Bx$T>, tensor<$Bx$T>
  %bits = graph.philox %seed, %offset : tensor<ui64> -> tensor<$Ax$Bx$Cxui32>
  %half = graph.constant dense<2147483648> : tensor<$Ax$Bx$Cxui32>
  %keep = graph.compare lt %bits, %half : tensor<$Ax$Bx$Cxui32>
  %two = graph.constant dense<2.0> : tensor<$Ax$Bx$Cx$T>
  %zero = graph.constant dense<0.0> : tensor<$Ax$Bx$Cx$T>
  %scaled = graph.mul %x, %two : tensor<$Ax$Bx$Cx$T>
  %d = graph.select %keep, %scaled, %zero : tensor<$Ax$Bx$Cxi1>, tensor<$Ax$Bx$Cx$T>
  return %y, %d : tensor<$Ax$Bx$Cx$T>, tensor<$Ax$Bx$Cx$T>
})",
       8, 100},
      {{2, 8, 64}, {3, 31, 33}, {1, 1, 1025}, {2, 0, 8}});
}

static const char kConvConv[] =
    R"(func.func @f(%x: tensor<$Ax3x$Bx$Cx$T>, %w: tensor<4x3x3x3x$T>, %v: tensor<2x4x3x3x$T>) -> tensor<$Ax2x$Bx$Cx$T> {
  %y = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1 : tensor<$Ax3x$Bx$Cx$T>, tensor<4x3x3x3x$T> -> tensor<$Ax4x$Bx$Cx$T>
  %z = graph.convolution %y, %v strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1 : tensor<$Ax4x$Bx$Cx$T>, tensor<2x4x3x3x$T> -> tensor<$Ax2x$Bx$Cx$T>
  return %z : tensor<$Ax2x$Bx$Cx$T>
})";

TEST(Textbook, ConvConv) {
  runAll({kConvConv, 4, 2000},
         {{1, 16, 16}, {1, 13, 31}, {2, 33, 67}, {1, 0, 8}});
}

TEST(Textbook, ThreeStencils) {
  runAll({R"(func.func @f(%x: tensor<$Ax$Bx$T>) -> tensor<$Ax$Bx$T> {
  %c = graph.constant dense<0.125> : tensor<$Ax$Bx$T>
  %a = graph.window_reduce sum %x window [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] : tensor<$Ax$Bx$T> -> tensor<$Ax$Bx$T>
  %a1 = graph.mul %a, %c : tensor<$Ax$Bx$T>
  %b = graph.window_reduce sum %a1 window [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] : tensor<$Ax$Bx$T> -> tensor<$Ax$Bx$T>
  %b1 = graph.mul %b, %c : tensor<$Ax$Bx$T>
  %d = graph.window_reduce max %b1 window [3, 3] strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] : tensor<$Ax$Bx$T> -> tensor<$Ax$Bx$T>
  return %d : tensor<$Ax$Bx$T>
})",
          6, 60},
         {{64, 64}, {31, 33}, {1, 1}, {67, 131}, {0, 8}});
}

TEST(Textbook, SharedSum) {
  runAll(
      {R"(func.func @f(%a: tensor<$Ax$T>, %b: tensor<$Ax$T>, %c: tensor<$Ax$T>, %d: tensor<$Ax$T>) -> tensor<$Ax$T> {
  %s = graph.add %a, %b : tensor<$Ax$T>
  %p = graph.mul %s, %c : tensor<$Ax$T>
  %t = graph.add %a, %b : tensor<$Ax$T>
  %q = graph.mul %t, %d : tensor<$Ax$T>
  %r = graph.add %p, %q : tensor<$Ax$T>
  return %r : tensor<$Ax$T>
})",
       4, 40},
      {{1024}, {1023}, {1}, {1025}, {0}}, {"f64", "i8", "i32", "ui64"});
}

TEST(Textbook, Threshold) {
  runAll(
      {R"(func.func @f(%x: tensor<$Ax$T>, %l: tensor<$Ax$T>, %y: tensor<$Ax$T>) -> tensor<$Ax$T> {
  %c = graph.compare gt %x, %l : tensor<$Ax$T>
  %r = graph.select %c, %x, %y : tensor<$Axi1>, tensor<$Ax$T>
  return %r : tensor<$Ax$T>
})",
       0},
      {{1000}, {1023}, {1}, {33}, {0}}, {"f64", "i8", "ui16", "i64"});
}

TEST(Textbook, FortyOps) {
  std::string text = "func.func @f(%a: tensor<$Ax$T>, %b: tensor<$Ax$T>, %c: "
                     "tensor<$Ax$T>) -> tensor<$Ax$T> {\n";
  const char *binary[] = {"mul", "add", "max", "sub", "min"};
  const char *unary[] = {"tanh", "neg", "abs", "logistic"};
  std::vector<std::string> names = {"%c", "%a", "%b"};
  for (int i = 0; i < 40; ++i) {
    std::string name = "%v" + std::to_string(i), last = names.back();
    std::string other =
        i % 2 ? names[names.size() - 3] : names[names.size() / 2 - 1];
    text += i % 5 == 4 ? name + " = graph." + unary[i / 5 % 4] + " " + last
                       : name + " = graph." + binary[i % 5] + " " + last +
                             ", " + other;
    text += " : tensor<$Ax$T>\n";
    names.push_back(name);
  }
  text += "return " + names.back() + " : tensor<$Ax$T>\n}";
  runAll({text, 100, 100}, {{1024}, {1023}, {1}, {0}});
}

// Rows, inputs, hidden, outputs.
TEST(Textbook, MlpGelu) {
  runAll(
      {R"(func.func @f(%x: tensor<$Ax$Bx$T>, %w: tensor<$Bx$Cx$T>, %b: tensor<$Cx$T>, %v: tensor<$Cx$Dx$T>, %c: tensor<$Dx$T>) -> tensor<$Ax$Dx$T> {
  %h = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<$Ax$Bx$T>, tensor<$Bx$Cx$T> -> tensor<$Ax$Cx$T>
  %bb = graph.broadcast %b [1] : tensor<$Cx$T> -> tensor<$Ax$Cx$T>
  %hb = graph.add %h, %bb : tensor<$Ax$Cx$T>
  %g = graph.gelu erf %hb : tensor<$Ax$Cx$T>
  %o = graph.contract %g, %v batch [] x [] contract [1] x [0] : tensor<$Ax$Cx$T>, tensor<$Cx$Dx$T> -> tensor<$Ax$Dx$T>
  %cb = graph.broadcast %c [1] : tensor<$Dx$T> -> tensor<$Ax$Dx$T>
  %r = graph.add %o, %cb : tensor<$Ax$Dx$T>
  return %r : tensor<$Ax$Dx$T>
})",
       8, 3000, 2},
      {{32, 64, 64, 32}, {31, 33, 67, 5}, {1, 1, 1, 1}, {0, 16, 16, 16}});
}
