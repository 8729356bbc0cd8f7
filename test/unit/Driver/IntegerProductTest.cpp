//===- IntegerProductTest.cpp - products of quantised elements ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers are exact, so every element must be equal, whatever the signs, the
// layouts, the widths of the casts around and the zero points.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec;
using namespace fusec::test;

static void check(const std::string &text, uint64_t seed,
                  std::optional<size_t> kernels = 1) {
  // Half of the signed ones are negative.
  checkGraph(text, {{0, 0}, false, seed, kernels, /*integerLimit=*/256});
}

/// a[m, k] . b[k, n] in `sum`, each through `wide` if that is another type.
static std::string product(int m, int n, int k, const char *a, const char *b,
                           const char *wide, const char *sum, bool turned) {
  std::string bShape = turned ? llvm::formatv("{0}x{1}", n, k).str()
                              : llvm::formatv("{0}x{1}", k, n).str();
  return llvm::formatv(
      R"(func.func @f(%a: tensor<{0}x{2}x{3}>, %b: tensor<{7}x{4}>) -> tensor<{0}x{1}x{6}> {{
    %0 = graph.cast %a : tensor<{0}x{2}x{3}> -> tensor<{0}x{2}x{5}>
    %1 = graph.cast %b : tensor<{7}x{4}> -> tensor<{7}x{5}>
    %2 = graph.contract %0, %1 batch [] x [] contract [1] x [{8}]
        : tensor<{0}x{2}x{5}>, tensor<{7}x{5}> -> tensor<{0}x{1}x{6}>
    return %2 : tensor<{0}x{1}x{6}>
  })",
      m, n, k, a, b, wide, sum, bShape, int(turned));
}

TEST(IntegerProduct, SignsAndLayouts) {
  for (const char *a : {"i8", "ui8"})
    for (const char *b : {"i8", "ui8"})
      for (bool turned : {false, true}) {
        check(product(33, 40, 48, a, b, "i32", "i32", turned), 1);
        check(product(17, 31, 67, a, b, "i32", "i32", turned), 2);
      }
}

TEST(IntegerProduct, Widths) {
  check(product(16, 24, 130, "i8", "i8", "i16", "i32", true), 3);
  check(product(16, 24, 130, "ui8", "i8", "i64", "i64", true), 4);
  check(product(16, 24, 130, "i8", "ui8", "i32", "i16", false), 5);
  check(product(16, 24, 130, "ui8", "ui8", "ui32", "ui32", true), 6);
  // The unsigned type does not have -1.
  check(product(16, 24, 130, "i8", "i8", "ui16", "i32", true), 7);
  check(product(16, 24, 130, "i8", "i8", "ui32", "i64", true), 8);
}

TEST(IntegerProduct, ZeroPoints) {
  for (bool turned : {false, true}) {
    std::string b = turned ? "24x80" : "80x24";
    check(
        llvm::formatv(
            R"(func.func @f(%a: tensor<3x20x80xui8>, %b: tensor<3x{0}xi8>, %za: tensor<ui8>, %zb: tensor<1xi8>) -> tensor<3x20x24xi32> {{
    %a32 = graph.cast %a : tensor<3x20x80xui8> -> tensor<3x20x80xi32>
    %b32 = graph.cast %b : tensor<3x{0}xi8> -> tensor<3x{0}xi32>
    %za32 = graph.cast %za : tensor<ui8> -> tensor<i32>
    %zb32 = graph.cast %zb : tensor<1xi8> -> tensor<1xi32>
    %zas = graph.broadcast %za32 [] : tensor<i32> -> tensor<3x20x80xi32>
    %zbs = graph.broadcast %zb32 [2] : tensor<1xi32> -> tensor<3x{0}xi32>
    %ac = graph.sub %a32, %zas : tensor<3x20x80xi32>
    %bc = graph.sub %b32, %zbs : tensor<3x{0}xi32>
    %r = graph.contract %ac, %bc batch [0] x [0] contract [2] x [{1}]
        : tensor<3x20x80xi32>, tensor<3x{0}xi32> -> tensor<3x20x24xi32>
    return %r : tensor<3x20x24xi32>
  })",
            b, turned ? 2 : 1)
            .str(),
        9, /*kernels=*/std::nullopt);
  }
}

TEST(IntegerProduct, ConstantWeightsAndRequantisation) {
  std::string row = "[";
  for (int i = 0; i < 24; ++i)
    row += std::to_string(i * 37 % 256 - 128) + (i < 23 ? ", " : "]");
  std::string rows = row;
  for (int i = 1; i < 32; ++i)
    rows += ", " + row;
  check("func.func @f(%a: tensor<19x32xui8>, %s: tensor<24xf32>) -> "
        "tensor<19x24xi8> {\n%w = graph.constant dense<[" +
            rows + R"(]> : tensor<32x24xi8>
    %q = graph.constant dense<250.0> : tensor<f32>
    %zero = graph.constant dense<3> : tensor<i8>
    %za = graph.constant dense<117> : tensor<19x32xi32>
    %a32 = graph.cast %a : tensor<19x32xui8> -> tensor<19x32xi32>
    %w32 = graph.cast %w : tensor<32x24xi8> -> tensor<32x24xi32>
    %ac = graph.sub %a32, %za : tensor<19x32xi32>
    %c = graph.contract %ac, %w32 batch [] x [] contract [1] x [0]
        : tensor<19x32xi32>, tensor<32x24xi32> -> tensor<19x24xi32>
    %f = graph.cast %c : tensor<19x24xi32> -> tensor<19x24xf32>
    %qs = graph.broadcast %q [] : tensor<f32> -> tensor<19x24xf32>
    %zs = graph.broadcast %zero [] : tensor<i8> -> tensor<19x24xi8>
    %r = graph.quantize %f, %qs, %zs : tensor<19x24xf32>, tensor<19x24xf32>, tensor<19x24xi8> -> tensor<19x24xi8>
    return %r : tensor<19x24xi8>
  })",
        10);
}
