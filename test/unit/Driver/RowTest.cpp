//===- RowTest.cpp - reductions as kernels against the reference ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec::test;

static std::string softmax(int64_t rows, int64_t columns, const char *type,
                           int64_t axis) {
  return llvm::formatv(
      R"(func.func @f(%x: tensor<{0}x{1}x{2}>) -> tensor<{0}x{1}x{2}> {{
    %0 = graph.softmax %x [{3}] : tensor<{0}x{1}x{2}>
    return %0 : tensor<{0}x{1}x{2}>
  })",
      rows, columns, type, axis);
}

TEST(Row, SoftmaxRowSizes) {
  for (int64_t columns : {1, 2, 31, 32, 33, 64, 1000, 1023, 1024, 1025})
    checkGraph(softmax(3, columns, "f32", 1), {{2e-6, 1e-9}, false, 1, 1});
}

TEST(Row, SoftmaxMiddleAxis) {
  checkGraph(R"(func.func @f(%x: tensor<3x17x40xf32>) -> tensor<3x17x40xf32> {
    %0 = graph.softmax %x [1] : tensor<3x17x40xf32>
    return %0 : tensor<3x17x40xf32>
  })",
             {{2e-6, 1e-9}, false, 1, 1});
}

TEST(Row, SoftmaxLongRowIsLooped) {
  checkGraph(softmax(2, 40000, "f32", 1), {{2e-6, 1e-9}, false, 1});
}

TEST(Row, SoftmaxHalfAndSpecial) {
  // Unfused, x - max is rounded in [2, 4): 2^-10 in the exponent; the three ops
  // after it add 2^-11 each.
  checkGraph(softmax(9, 128, "f16", 1), {{2.5e-3, 1e-7}, false, 1, 1});
  checkGraph(softmax(40, 5, "f32", 1), {{2e-6, 1e-9}, true, 3, 1});
}

TEST(Row, LayerNormTwoOutputs) {
  checkGraph(
      R"(func.func @f(%x: tensor<5x96xf32>, %r: tensor<5x96xf32>, %s: tensor<96xf32>, %b: tensor<96xf32>) -> (tensor<5x96xf32>, tensor<5x96xf32>) {
    %0 = graph.add %x, %r : tensor<5x96xf32>
    %1 = graph.layer_norm %0, %s, %b axis = 1 epsilon = 1.0e-5 : tensor<5x96xf32>, tensor<96xf32>, tensor<96xf32>
    return %0, %1 : tensor<5x96xf32>, tensor<5x96xf32>
  })",
      {{2e-5, 2e-6}, false, 1, 1});
}

TEST(Row, ReduceKindsAndAxes) {
  for (const char *kind : {"sum", "max", "min", "prod"})
    for (const char *dims : {"0", "1", "2", "0, 2", "0, 1, 2"}) {
      llvm::StringRef d(dims);
      std::string result = "tensor<";
      int64_t sizes[] = {4, 33, 6};
      for (int i = 0; i < 3; ++i)
        if (!d.contains(char('0' + i)))
          result += std::to_string(sizes[i]) + "x";
      result += "f32>";
      checkGraph(llvm::formatv(R"(func.func @f(%x: tensor<4x33x6xf32>) -> {0} {{
        %0 = graph.reduce {1} %x [{2}] : tensor<4x33x6xf32> -> {0}
        return %0 : {0}
      })",
                               result, kind, dims)
                     .str(),
                 {{1e-4, 1e-4}, false, 7, 1});
    }
}

TEST(Row, ArgReduceAndIntegers) {
  checkGraph(
      R"(func.func @f(%x: tensor<7x300xi32>) -> (tensor<7xi64>, tensor<7xi32>) {
    %0 = graph.arg_reduce max %x dimension = 1 : tensor<7x300xi32> -> tensor<7xi64>
    %1 = graph.reduce sum %x [1] : tensor<7x300xi32> -> tensor<7xi32>
    return %0, %1 : tensor<7xi64>, tensor<7xi32>
  })",
      {{0, 0}, false, 1});
}

TEST(Row, EmptyTensors) {
  checkGraph(
      R"(func.func @f(%x: tensor<3x0xf32>, %y: tensor<0x4xf32>) -> (tensor<3xf32>, tensor<0x4xf32>) {
    %0 = graph.reduce sum %x [1] : tensor<3x0xf32> -> tensor<3xf32>
    %1 = graph.neg %y : tensor<0x4xf32>
    return %0, %1 : tensor<3xf32>, tensor<0x4xf32>
  })",
      {{0, 0}, false, 1});
}

TEST(Row, ScatterIsOrdered) {
  checkGraph(
      R"(func.func @f(%x: tensor<6x4xf32>, %i: tensor<5x1xi64>, %u: tensor<5x4xf32>) -> tensor<6x4xf32> {
    %0 = graph.scatter_nd assign %x, %i, %u : tensor<6x4xf32>, tensor<5x1xi64>, tensor<5x4xf32>
    return %0 : tensor<6x4xf32>
  })",
      {{0, 0}, false, 1, 1, 6});
}

// A value that is uniform along a row, read at two rows: two values.
TEST(Row, UniformValueAtTwoIndices) {
  checkGraph(
      R"(func.func @f(%x: tensor<9x64xf32>, %b: tensor<9xf32>) -> tensor<8x64xf32> {
    %u = graph.exp %b : tensor<9xf32>
    %ub = graph.broadcast %u [0] : tensor<9xf32> -> tensor<9x64xf32>
    %w = graph.mul %x, %ub : tensor<9x64xf32>
    %lo = graph.slice %w offsets [0, 0] strides [1, 1] : tensor<9x64xf32> -> tensor<8x64xf32>
    %hi = graph.slice %w offsets [1, 0] strides [1, 1] : tensor<9x64xf32> -> tensor<8x64xf32>
    %d = graph.sub %hi, %lo : tensor<8x64xf32>
    %s = graph.reduce sum %d [1] : tensor<8x64xf32> -> tensor<8xf32>
    %sb = graph.broadcast %s [0] : tensor<8xf32> -> tensor<8x64xf32>
    %r = graph.sub %d, %sb : tensor<8x64xf32>
    return %r : tensor<8x64xf32>
  })",
      {{1e-4, 1e-3}, false, 1});
}

// Rows that a pad makes up must not be read.
TEST(Row, UniformValueBehindPad) {
  checkGraph(
      R"(func.func @f(%x: tensor<9x64xf32>, %b: tensor<8xf32>, %z: tensor<f32>) -> tensor<9x64xf32> {
    %u = graph.exp %b : tensor<8xf32>
    %ub = graph.broadcast %u [0] : tensor<8xf32> -> tensor<8x64xf32>
    %w = graph.pad %ub, %z low [1, 0] high [0, 0] : tensor<8x64xf32>, tensor<f32> -> tensor<9x64xf32>
    %d = graph.sub %x, %w : tensor<9x64xf32>
    %s = graph.reduce sum %d [1] : tensor<9x64xf32> -> tensor<9xf32>
    %sb = graph.broadcast %s [0] : tensor<9xf32> -> tensor<9x64xf32>
    %r = graph.sub %d, %sb : tensor<9x64xf32>
    return %r : tensor<9x64xf32>
  })",
      {{1e-4, 1e-3}, false, 1});
}

// Eight column sums in one kernel share the memory in which warps meet.
TEST(Row, ManyColumnSums) {
  std::string text = "func.func @f(%x: tensor<300x2048xf16>) -> (", results,
              body;
  for (int i = 0; i < 8; ++i) {
    std::string n = std::to_string(i),
                last = i ? "%y" + std::to_string(i - 1) : "%x";
    text += std::string(i ? ", " : "") + "tensor<2048xf16>";
    body += "%y" + n + " = graph.neg " + last + " : tensor<300x2048xf16>\n%s" +
            n + " = graph.reduce max %y" + n +
            " [0] : tensor<300x2048xf16> -> tensor<2048xf16>\n";
    results += std::string(i ? ", " : "") + "%s" + n;
  }
  text += ") {\n" + body + "return " + results + " : ";
  for (int i = 0; i < 8; ++i)
    text += std::string(i ? ", " : "") + "tensor<2048xf16>";
  checkGraph(text + "\n}", {{0, 0}, false, 1});
}

// What is one value a row has no place in rows without elements.
TEST(Row, ValuesOfEmptyRows) {
  checkGraph(R"(func.func @f(%x: tensor<97x0xf32>) -> (tensor<97x0xf32>, tensor<97xf32>, tensor<97x0xf32>) {
    %s = graph.reduce sum %x [1] : tensor<97x0xf32> -> tensor<97xf32>
    %e = graph.exp %s : tensor<97xf32>
    %b = graph.broadcast %e [0] : tensor<97xf32> -> tensor<97x0xf32>
    %y = graph.mul %x, %b : tensor<97x0xf32>
    return %b, %e, %y : tensor<97x0xf32>, tensor<97xf32>, tensor<97x0xf32>
  })",
             {{1e-6, 0}, false, 1});
}

// Indices of reshaped empty tensors fold to 0: nothing may be read there.
TEST(Row, ReshapedEmptyRows) {
  checkGraph(R"(func.func @f(%x: tensor<0x24xf32>) -> (tensor<0xf32>, tensor<f32>) {
    %n = graph.neg %x : tensor<0x24xf32>
    %r = graph.reshape %n : tensor<0x24xf32> -> tensor<0xf32>
    %m = graph.reduce max %r [0] : tensor<0xf32> -> tensor<f32>
    return %r, %m : tensor<0xf32>, tensor<f32>
  })",
             {{0, 0}, false, 1});
}

// Zeros of both signs are equal: the first, or the last, is chosen.
TEST(Row, ArgMaxOfZeros) {
  for (const char *type : {"bf16", "f16"})
    for (const char *kind : {"max", "min"})
      checkGraph(
          llvm::formatv(
              R"(func.func @f(%x: tensor<9x40x{0}>) -> (tensor<9xi32>, tensor<9xi32>) {{
    %zero = graph.constant dense<0.0> : tensor<9x40x{0}>
    %z = graph.mul %x, %zero : tensor<9x40x{0}>
    %0 = graph.arg_reduce {1} %z dimension = 1 : tensor<9x40x{0}> -> tensor<9xi32>
    %1 = graph.arg_reduce {1} %z dimension = 1 {{selectLast = true} : tensor<9x40x{0}> -> tensor<9xi32>
    return %0, %1 : tensor<9xi32>, tensor<9xi32>
  })",
              type, kind)
              .str(),
          {{0, 0}, false, 3});
}
