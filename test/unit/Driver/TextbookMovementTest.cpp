//===- TextbookMovementTest.cpp - producers and consumers across movement -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A producer, a movement op and a consumer are one kernel: the movement op is
// index arithmetic.
//===----------------------------------------------------------------------===//
#include "Textbook.h"

using namespace fusec::test;

// Every type that has a negation and a product.
static const llvm::StringRef kTypes[] = {"f64", "i8", "i32", "i64"};

TEST(Textbook, AcrossBroadcast) {
  runAll(
      {R"(func.func @f(%x: tensor<$Ax$Bx$T>, %b: tensor<$Bx$T>) -> tensor<$Ax$Bx$T> {
  %p = graph.neg %b : tensor<$Bx$T>
  %m = graph.broadcast %p [1] : tensor<$Bx$T> -> tensor<$Ax$Bx$T>
  %r = graph.mul %x, %m : tensor<$Ax$Bx$T>
  return %r : tensor<$Ax$Bx$T>
})",
       2},
      {{8, 256}, {31, 33}, {1, 1023}, {3, 1}, {0, 8}}, kTypes);
}

// $A * $B == $C * $D.
TEST(Textbook, AcrossReshape) {
  runAll(
      {R"(func.func @f(%x: tensor<$Ax$Bx$T>, %y: tensor<$Cx$Dx$T>) -> tensor<$Cx$Dx$T> {
  %p = graph.neg %x : tensor<$Ax$Bx$T>
  %m = graph.reshape %p : tensor<$Ax$Bx$T> -> tensor<$Cx$Dx$T>
  %r = graph.mul %m, %y : tensor<$Cx$Dx$T>
  return %r : tensor<$Cx$Dx$T>
})",
       2},
      {{64, 30, 32, 60},
       {31, 33, 33, 31},
       {3, 1023, 11, 279},
       {1, 1, 1, 1},
       {0, 8, 5, 0}},
      kTypes);
}

TEST(Textbook, AcrossTranspose) {
  runAll(
      {R"(func.func @f(%x: tensor<$Ax$Bx$T>, %y: tensor<$Bx$Ax$T>) -> tensor<$Bx$Ax$T> {
  %p = graph.neg %x : tensor<$Ax$Bx$T>
  %m = graph.transpose %p [1, 0] : tensor<$Ax$Bx$T> -> tensor<$Bx$Ax$T>
  %r = graph.mul %m, %y : tensor<$Bx$Ax$T>
  return %r : tensor<$Bx$Ax$T>
})",
       2},
      {{32, 64}, {31, 33}, {1023, 1}, {1, 1025}, {0, 8}}, kTypes);
}

// The last $C rows backwards, and every other column: $D = ceil($B / 2).
TEST(Textbook, AcrossSlice) {
  runAll(
      {R"(func.func @f(%x: tensor<$Ax$Bx$T>, %y: tensor<$Cx$Dx$T>) -> tensor<$Cx$Dx$T> {
  %p = graph.neg %x : tensor<$Ax$Bx$T>
  %m = graph.slice %p offsets [$E, 0] strides [-1, 2] : tensor<$Ax$Bx$T> -> tensor<$Cx$Dx$T>
  %r = graph.mul %m, %y : tensor<$Cx$Dx$T>
  return %r : tensor<$Cx$Dx$T>
})",
       2},
      {{64, 64, 16, 32, 63},
       {31, 33, 7, 17, 30},
       {1, 1023, 1, 512, 0},
       {3, 0, 3, 0, 2}},
      kTypes);
}

// Three parts; one of them may be empty. $D = $A + $B + $C.
TEST(Textbook, AcrossConcat) {
  runAll(
      {R"(func.func @f(%x: tensor<5x$Ax$T>, %y: tensor<5x$Bx$T>, %z: tensor<5x$Cx$T>, %w: tensor<5x$Dx$T>) -> tensor<5x$Dx$T> {
  %p = graph.neg %x : tensor<5x$Ax$T>
  %q = graph.abs %y : tensor<5x$Bx$T>
  %m = graph.concat %p, %q, %z axis = 1 : tensor<5x$Ax$T>, tensor<5x$Bx$T>, tensor<5x$Cx$T> -> tensor<5x$Dx$T>
  %r = graph.mul %m, %w : tensor<5x$Dx$T>
  return %r : tensor<5x$Dx$T>
})",
       2},
      {{32, 64, 32, 128}, {31, 1, 33, 65}, {1023, 0, 2, 1025}, {0, 0, 0, 0}},
      kTypes);
}

// $C = $A + 3, $D = $B + 1; the padding is a value of its own.
TEST(Textbook, AcrossPad) {
  runAll(
      {R"(func.func @f(%x: tensor<$Ax$Bx$T>, %v: tensor<$T>, %y: tensor<$Cx$Dx$T>) -> tensor<$Cx$Dx$T> {
  %p = graph.neg %x : tensor<$Ax$Bx$T>
  %m = graph.pad %p, %v low [1, 0] high [2, 1] : tensor<$Ax$Bx$T>, tensor<$T> -> tensor<$Cx$Dx$T>
  %r = graph.mul %m, %y : tensor<$Cx$Dx$T>
  return %r : tensor<$Cx$Dx$T>
})",
       2},
      {{32, 63, 35, 64}, {31, 33, 34, 34}, {1, 1024, 4, 1025}, {0, 7, 3, 8}},
      kTypes);
}

// Indices are computed too, and leave the table at both ends: they count from
// the end or are clamped.
TEST(Textbook, AcrossGather) {
  Example example{
      R"(func.func @f(%x: tensor<$Ax$Bx$T>, %i: tensor<$Cxi64>, %y: tensor<$Cx$Bx$T>) -> tensor<$Cx$Bx$T> {
  %p = graph.neg %x : tensor<$Ax$Bx$T>
  %five = graph.constant dense<5> : tensor<$Cxi64>
  %j = graph.sub %i, %five : tensor<$Cxi64>
  %m = graph.gather %p, %j axis = 0 : tensor<$Ax$Bx$T>, tensor<$Cxi64> -> tensor<$Cx$Bx$T>
  %r = graph.mul %m, %y : tensor<$Cx$Bx$T>
  return %r : tensor<$Cx$Bx$T>
})",
      2};
  example.integerLimit = 48;
  runAll(example,
         {{32, 64, 16}, {31, 33, 17}, {1, 1023, 3}, {5, 8, 0}, {5, 0, 3}},
         kTypes);
}
