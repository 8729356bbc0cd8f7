//===- StencilSlicesTest.cpp - windows spelt with slices ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time steps as sums of slices of a padded value: marching kernels where sizes
// allow, against the reference.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec::test;

/// Steps of x = (x + its four neighbours) * factor on an m x n image with
/// `padding` (an MLIR constant) around.
static std::string steps(int64_t m, int64_t n, int count, const char *type,
                         const char *padding, const char *factor) {
  std::string t = llvm::formatv("tensor<{0}x{1}x{2}>", m, n, type);
  std::string p = llvm::formatv("tensor<{0}x{1}x{2}>", m + 2, n + 2, type);
  std::string s = llvm::formatv("tensor<{0}>", type);
  std::string text = "func.func @f(%x: " + t + ") -> " + t +
                     " {\n%z = " + "graph.constant dense<" + padding +
                     "> : " + s + "\n%c = graph.constant dense<" + factor +
                     "> : " + t + "\n";
  std::string last = "%x";
  for (int i = 0; i < count; ++i) {
    text += llvm::formatv("%p{0} = graph.pad {1}, %z low [1, 1] high [1, 1] : "
                          "{2}, {3} -> {4}\n",
                          i, last, t, s, p);
    std::string sum;
    int part = 0;
    for (auto [row, column] :
         {std::pair(1, 1), {2, 1}, {0, 1}, {1, 2}, {1, 0}}) {
      std::string slice = llvm::formatv("%s{0}_{1}", i, part);
      text +=
          llvm::formatv("{0} = graph.slice %p{1} offsets [{2}, {3}] strides "
                        "[1, 1] : {4} -> {5}\n",
                        slice, i, row, column, p, t);
      std::string next = llvm::formatv("%t{0}_{1}", i, part++);
      if (!sum.empty())
        text += next + " = graph.add " + sum + ", " + slice + " : " + t + "\n";
      sum = sum.empty() ? slice : next;
    }
    text += llvm::formatv("%x{0} = graph.mul {1}, %c : {2}\n", i, sum, t);
    last = llvm::formatv("%x{0}", i);
  }
  return text + "return " + last + " : " + t + "\n}";
}

TEST(StencilSlices, FourStepsAreOneKernel) {
  for (auto [m, n] :
       {std::pair(8, 24), {9, 119}, {17, 120}, {8, 257}, {131, 61}}) {
    SCOPED_TRACE(llvm::formatv("{0} x {1}", m, n).str());
    checkGraph(steps(m, n, 4, "f32", "0.0", "0.2"),
               {{1e-6, 1e-6}, false, 3, 1});
  }
}

// Too small to march: any kernels, but right.
TEST(StencilSlices, SmallImages) {
  for (auto [m, n] : {std::pair(1, 1), {3, 40}, {40, 3}, {0, 40}}) {
    SCOPED_TRACE(llvm::formatv("{0} x {1}", m, n).str());
    checkGraph(steps(m, n, 2, "f32", "0.0", "0.2"), {{1e-6, 1e-6}, false, 4});
  }
}

TEST(StencilSlices, PaddingsOfAllKinds) {
  for (const char *padding : {"-1.5", "-0.0", "0x7F800000", "0x7FC00000"}) {
    SCOPED_TRACE(padding);
    checkGraph(steps(19, 70, 2, "f32", padding, "0.2"),
               {{1e-6, 1e-6}, false, 5, 1});
  }
}

TEST(StencilSlices, SpecialValues) {
  checkGraph(steps(21, 67, 3, "f32", "0.0", "0.2"), {{1e-6, 1e-6}, true, 6, 1});
}

// Steps keep f32 between them: the bound is the rounding of the reference's
// intermediate results (half an ulp of values below 4).
TEST(StencilSlices, EveryType) {
  checkGraph(steps(12, 50, 2, "f16", "1.0", "0.25"),
             {{0x1p-9, 0x1p-8}, false, 7, 1});
  checkGraph(steps(12, 50, 2, "bf16", "1.0", "0.25"),
             {{0x1p-6, 0x1p-5}, false, 8, 1});
  checkGraph(steps(12, 50, 2, "f64", "1.0", "0.2"),
             {{1e-12, 1e-12}, false, 9, 1});
  for (const char *type : {"i8", "ui8", "i16", "i32", "i64"}) {
    SCOPED_TRACE(type);
    checkGraph(steps(12, 50, 2, type, "3", "2"), {{}, false, 10, 1});
  }
}

// Differences without padding: every result is smaller than what it reads, and
// an argument is read at its own place and at others.
TEST(StencilSlices, NoPadding) {
  checkGraph(
      R"(func.func @f(%x: tensor<2x21x70xf32>, %y: tensor<2x19x66xf32>) -> tensor<2x19x66xf32> {
    %a = graph.slice %x offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x21x70xf32> -> tensor<2x20x68xf32>
    %b = graph.slice %x offsets [0, 1, 1] strides [1, 1, 1] : tensor<2x21x70xf32> -> tensor<2x20x68xf32>
    %c = graph.slice %x offsets [0, 1, 2] strides [1, 1, 1] : tensor<2x21x70xf32> -> tensor<2x20x68xf32>
    %d = graph.sub %a, %b : tensor<2x20x68xf32>
    %e = graph.mul %d, %c : tensor<2x20x68xf32>
    %f = graph.slice %e offsets [0, 0, 0] strides [1, 1, 1] : tensor<2x20x68xf32> -> tensor<2x19x66xf32>
    %g = graph.slice %e offsets [0, 1, 1] strides [1, 1, 1] : tensor<2x20x68xf32> -> tensor<2x19x66xf32>
    %h = graph.slice %e offsets [0, 1, 2] strides [1, 1, 1] : tensor<2x20x68xf32> -> tensor<2x19x66xf32>
    %i = graph.add %f, %g : tensor<2x19x66xf32>
    %j = graph.mul %i, %h : tensor<2x19x66xf32>
    %k = graph.add %j, %y : tensor<2x19x66xf32>
    return %k : tensor<2x19x66xf32>
  })",
      {{1e-6, 1e-5}, false, 11, 1});
}

// The padding is an argument, so reads keep their masks; a factor of the row
// and a result of its own beside it.
TEST(StencilSlices, PaddingThatIsNoConstant) {
  checkGraph(
      R"(func.func @f(%x: tensor<15x43xf32>, %z: tensor<f32>, %w: tensor<15xf32>) -> (tensor<15x43xf32>, tensor<15x43xf32>) {
    %f = graph.broadcast %w [0] : tensor<15xf32> -> tensor<15x43xf32>
    %0 = graph.mul %x, %f : tensor<15x43xf32>
    %p = graph.pad %0, %z low [2, 1] high [0, 1] : tensor<15x43xf32>, tensor<f32> -> tensor<17x45xf32>
    %a = graph.slice %p offsets [0, 0] strides [1, 1] : tensor<17x45xf32> -> tensor<15x43xf32>
    %b = graph.slice %p offsets [1, 1] strides [1, 1] : tensor<17x45xf32> -> tensor<15x43xf32>
    %c = graph.slice %p offsets [2, 2] strides [1, 1] : tensor<17x45xf32> -> tensor<15x43xf32>
    %d = graph.max %a, %b : tensor<15x43xf32>
    %e = graph.sub %d, %c : tensor<15x43xf32>
    return %e, %0 : tensor<15x43xf32>, tensor<15x43xf32>
  })",
      {{1e-6, 1e-6}, false, 12, 1});
}

// What one op reads of a value two rows ahead, and another at its own place.
TEST(StencilSlices, ReadersAtDifferentRows) {
  checkGraph(
      R"(func.func @f(%x: tensor<17x51xf32>) -> tensor<17x51xf32> {
    %z = graph.constant dense<0.0> : tensor<f32>
    %e = graph.exp %x : tensor<17x51xf32>
    %p = graph.pad %e, %z low [0, 0] high [2, 2] : tensor<17x51xf32>, tensor<f32> -> tensor<19x53xf32>
    %a = graph.slice %p offsets [2, 0] strides [1, 1] : tensor<19x53xf32> -> tensor<17x51xf32>
    %b = graph.slice %p offsets [0, 2] strides [1, 1] : tensor<19x53xf32> -> tensor<17x51xf32>
    %c = graph.sub %a, %b : tensor<17x51xf32>
    %q = graph.pad %c, %z low [1, 1] high [1, 1] : tensor<17x51xf32>, tensor<f32> -> tensor<19x53xf32>
    %d = graph.slice %q offsets [0, 1] strides [1, 1] : tensor<19x53xf32> -> tensor<17x51xf32>
    %g = graph.slice %q offsets [2, 1] strides [1, 1] : tensor<19x53xf32> -> tensor<17x51xf32>
    %h = graph.slice %q offsets [1, 0] strides [1, 1] : tensor<19x53xf32> -> tensor<17x51xf32>
    %i = graph.add %d, %g : tensor<17x51xf32>
    %j = graph.add %i, %h : tensor<17x51xf32>
    %k = graph.mul %j, %e : tensor<17x51xf32>
    return %k : tensor<17x51xf32>
  })",
      {{1e-5, 1e-5}, false, 13, 1});
}
