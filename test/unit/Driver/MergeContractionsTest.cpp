//===- MergeContractionsTest.cpp - sibling contractions, run --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is merged where is checked by test/Fusion/merge-contractions.mlir; here
// the merged kernels run, over element types, sizes and constants, and must
// give the bits of separate ones.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec;
using namespace fusec::test;
using llvm::formatv;

namespace {

/// %a and %b, products of %x [rows, depth] with weights of `left` and `right`
/// columns and biases, and the product of both along rows.
struct Siblings {
  std::string element = "f32";
  int64_t rows = 16, depth = 24, left = 32, right = 16;
  /// Weights and biases are constants.
  bool constant = false;

  std::string side(const char *name, int64_t columns, std::string &args) const {
    std::string weight =
        formatv("tensor<{0}x{1}x{2}>", depth, columns, element);
    std::string bias = formatv("tensor<{0}x{1}>", columns, element);
    std::string out = formatv("tensor<{0}x{1}x{2}>", rows, columns, element);
    std::string text;
    if (constant) {
      text += formatv("  %w{0} = graph.constant dense<{1}> : {2}\n", name,
                      literal(depth * columns, columns), weight);
      text += formatv("  %c{0} = graph.constant dense<{1}> : {2}\n", name,
                      list(columns), bias);
    } else {
      args += formatv(", %w{0}: {1}, %c{0}: {2}", name, weight, bias);
    }
    text += formatv("  %p{0} = graph.contract %x, %w{0} batch [] x [] contract "
                    "[1] x [0] : tensor<{1}x{2}x{3}>, {4} -> {5}\n",
                    name, rows, depth, element, weight, out);
    text += formatv("  %d{0} = graph.broadcast %c{0} [1] : {1} -> {2}\n", name,
                    bias, out);
    text += formatv("  %{0} = graph.add %p{0}, %d{0} : {1}\n", name, out);
    return text;
  }

  std::string text() const {
    std::string args = formatv("%x: tensor<{0}x{1}x{2}>", rows, depth, element);
    std::string body = side("a", left, args) + side("b", right, args);
    std::string a = formatv("tensor<{0}x{1}x{2}>", rows, left, element),
                b = formatv("tensor<{0}x{1}x{2}>", rows, right, element),
                r = formatv("tensor<{0}x{1}x{2}>", left, right, element);
    body += formatv("  %r = graph.contract %a, %b batch [] x [] contract [0] x "
                    "[0] : {0}, {1} -> {2}\n",
                    a, b, r);
    return "func.func @f(" + args + ") -> " + r + " {\n" + body +
           "  return %r : " + r + "\n}\n";
  }

private:
  std::string number(int64_t i) const {
    bool isFloat = element.find('f') != std::string::npos;
    return std::to_string(i % 7) + (isFloat ? (i % 2 ? ".5" : ".0") : "");
  }
  std::string list(int64_t count) const {
    std::string text = "[";
    for (int64_t i = 0; i < count; ++i)
      text += (i ? ", " : "") + number(i + 3);
    return text + "]";
  }
  std::string literal(int64_t count, int64_t columns) const {
    std::string text = "[";
    for (int64_t i = 0; i < count; ++i)
      text += (i == 0        ? "["
               : i % columns ? ", "
                             : "], [") +
              number(i * 5 + i / columns);
    return text + "]]";
  }
};

/// Merged and separate kernels must agree in every bit (`sameBitsApart`). The
/// evaluator, which sums in f64, is the coarse check that no column is another
/// one's, which would be off by whole units: `relative` of a value, and 200
/// times that where large terms cancel.
DifferentialOptions exactly(double relative) {
  DifferentialOptions options;
  options.tolerance = {relative, relative * 200};
  options.numerics = NumericsMode::Exact;
  options.sameBitsApart = true;
  options.host = true;
  options.integerLimit = 10;
  // The product of both and the product behind it.
  options.kernels = 2;
  return options;
}

} // namespace

TEST(MergeContractions, EveryElementType) {
  const std::pair<const char *, double> types[] = {
      {"f32", 0x1p-18}, {"f16", 0x1p-7}, {"bf16", 0x1p-4}, {"f64", 0x1p-40},
      {"i32", 0},       {"i64", 0},      {"i8", 0},        {"ui8", 0},
      {"i16", 0},       {"ui32", 0}};
  for (auto [element, bound] : types)
    for (bool constant : {false, true})
      checkGraph(Siblings{element, 16, 24, 32, 16, constant}.text(),
                 exactly(bound));
}

TEST(MergeContractions, SizesThatFitNoTile) {
  for (auto [rows, depth, left, right] : {std::array<int64_t, 4>{1, 7, 9, 11},
                                          {2, 1, 8, 8},
                                          {17, 33, 13, 1},
                                          {65, 31, 64, 67},
                                          {8, 128, 9, 130},
                                          {1, 128, 16, 17},
                                          {3, 200, 24, 8}})
    for (bool constant : {false, true}) {
      DifferentialOptions options = exactly(0x1p-17);
      // Which plan is best depends on the size.
      options.kernels = std::nullopt;
      checkGraph(Siblings{"f32", rows, depth, left, right, constant}.text(),
                 options);
    }
}

TEST(MergeContractions, SpecialValuesStayInTheirColumns) {
  DifferentialOptions options = exactly(0x1p-17);
  options.special = true;
  checkGraph(Siblings{"f32", 16, 24, 32, 16, true}.text(), options);
}

// The first product is read by another than its sibling's reader, and a reader
// stands between the members.
TEST(MergeContractions, ReadersBetweenMembers) {
  DifferentialOptions options = exactly(0x1p-17);
  options.kernels = std::nullopt;
  checkGraph(
      R"(func.func @f(%x: tensor<16x32xf32>, %v: tensor<32x32xf32>, %w: tensor<32x16xf32>, %u: tensor<32x16xf32>) -> (tensor<16xf32>, tensor<16x16xf32>) {
    %a = graph.contract %x, %v batch [] x [] contract [1] x [0] : tensor<16x32xf32>, tensor<32x32xf32> -> tensor<16x32xf32>
    %t = graph.tanh %a : tensor<16x32xf32>
    %s = graph.reduce sum %t [1] : tensor<16x32xf32> -> tensor<16xf32>
    %b = graph.contract %x, %w batch [] x [] contract [1] x [0] : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
    %c = graph.contract %x, %u batch [] x [] contract [1] x [0] : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
    %r = graph.contract %b, %c batch [] x [] contract [0] x [0] : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    return %s, %r : tensor<16xf32>, tensor<16x16xf32>
  })",
      options);
}
