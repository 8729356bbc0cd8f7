//===- TextbookReductionTest.cpp - examples with reductions ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Textbook.h"

using namespace fusec::test;

TEST(Textbook, L2Norm) {
  runAll({R"(func.func @f(%x: tensor<$Ax$Bx$T>) -> tensor<$Ax$T> {
  %q = graph.mul %x, %x : tensor<$Ax$Bx$T>
  %s = graph.reduce sum %q [1] : tensor<$Ax$Bx$T> -> tensor<$Ax$T>
  %r = graph.sqrt %s : tensor<$Ax$T>
  return %r : tensor<$Ax$T>
})",
          8, 1},
         {{8, 256}, {31, 33}, {3, 1023}, {1, 1025}, {1, 1}, {3, 0}, {0, 8}});
}

TEST(Textbook, MapAndReduce) {
  runAll(
      {R"(func.func @f(%x: tensor<$Ax$Bx$T>) -> (tensor<$Ax$Bx$T>, tensor<$Ax$T>) {
  %e = graph.exp %x : tensor<$Ax$Bx$T>
  %s = graph.reduce sum %e [1] : tensor<$Ax$Bx$T> -> tensor<$Ax$T>
  return %e, %s : tensor<$Ax$Bx$T>, tensor<$Ax$T>
})",
       8, 0},
      {{8, 256}, {31, 33}, {3, 1023}, {1, 1025}, {1, 1}, {3, 0}, {0, 8}});
}

// Sums along rows, then along columns.
TEST(Textbook, Fission) {
  runAll({R"(func.func @f(%x: tensor<$Ax$Bx$T>) -> tensor<$Bx$T> {
  %e = graph.exp %x : tensor<$Ax$Bx$T>
  %s = graph.reduce sum %e [1] : tensor<$Ax$Bx$T> -> tensor<$Ax$T>
  %b = graph.broadcast %s [0] : tensor<$Ax$T> -> tensor<$Ax$Bx$T>
  %d = graph.div %e, %b : tensor<$Ax$Bx$T>
  %t = graph.reduce sum %d [0] : tensor<$Ax$Bx$T> -> tensor<$Bx$T>
  return %t : tensor<$Bx$T>
})",
          12, 0, 2},
         {{64, 64}, {31, 33}, {1, 1023}, {1025, 3}, {0, 8}, {8, 0}});
}

static std::string softmax(const char *axis) {
  return std::string(
             R"(func.func @f(%x: tensor<$Ax$Bx$Cx$T>) -> tensor<$Ax$Bx$Cx$T> {
  %r = graph.softmax %x [)") +
         axis + R"(] : tensor<$Ax$Bx$Cx$T>
  return %r : tensor<$Ax$Bx$Cx$T>
})";
}

// Unfused, x - max is rounded in [2, 4): four half units in the exponent.
TEST(Textbook, SoftmaxLastAxis) {
  runAll({softmax("2"), 16, 0.1}, {{2, 4, 256},
                                   {3, 5, 33},
                                   {1, 1, 1023},
                                   {1, 2, 1025},
                                   {1, 3, 1},
                                   {2, 0, 8},
                                   {2, 3, 0}});
}
TEST(Textbook, SoftmaxMiddleAxis) {
  runAll({softmax("1"), 16, 0.1}, {{2, 32, 64},
                                   {3, 33, 31},
                                   {1, 1023, 8},
                                   {1, 1025, 3},
                                   {2, 1, 5},
                                   {2, 0, 8},
                                   {0, 3, 5}});
}
TEST(Textbook, SoftmaxFirstAxis) {
  runAll({softmax("0"), 16, 0.1}, {{32, 4, 64},
                                   {33, 3, 31},
                                   {1023, 1, 8},
                                   {1025, 1, 3},
                                   {1, 3, 5},
                                   {0, 2, 8},
                                   {3, 0, 5}});
}

// Values are of magnitude 4 behind the scale.
TEST(Textbook, LayerNorm) {
  runAll(
      {R"(func.func @f(%x: tensor<$Ax$Bx$T>, %g: tensor<$Bx$T>, %b: tensor<$Bx$T>) -> tensor<$Ax$Bx$T> {
  %r = graph.layer_norm %x, %g, %b axis = 1 epsilon = 1.0e-5 : tensor<$Ax$Bx$T>, tensor<$Bx$T>, tensor<$Bx$T>
  return %r : tensor<$Ax$Bx$T>
})",
       8, 60},
      {{8, 256}, {31, 33}, {3, 1023}, {1, 1025}, {3, 1}, {0, 8}});
}

TEST(Textbook, RmsNorm) {
  runAll(
      {R"(func.func @f(%x: tensor<$Ax$Bx$T>, %g: tensor<$Bx$T>) -> tensor<$Ax$Bx$T> {
  %r = graph.rms_norm %x, %g axis = 1 epsilon = 1.0e-5 : tensor<$Ax$Bx$T>, tensor<$Bx$T>
  return %r : tensor<$Ax$Bx$T>
})",
       12},
      {{8, 256}, {31, 33}, {3, 1023}, {1, 1025}, {3, 1}, {0, 8}});
}
