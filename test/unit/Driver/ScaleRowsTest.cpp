//===- ScaleRowsTest.cpp - row scales behind a product --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms and other factors of rows before a product, which then reads what they
// scale: against the reference, with special values, and where it must not be.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <cmath>

using namespace fusec;
using namespace fusec::test;
using llvm::formatv;

namespace {

/// A dense constant with `count` elements of 16 bits, of numbers between 1/2
/// and 2 of both signs.
std::string constant(int64_t count, const std::string &type) {
  std::string text = "dense<\"0x";
  for (int64_t i = 0; i < count; ++i) {
    // Sign, exponents of 1/2 and 1, the highest digit.
    unsigned bits = i * 7 % 5 < 2 ? 0x8000 : 0;
    bits |= type == "f16" ? 0x3800u + (i * 13 % 8) * 0x100
                          : 0x3f00u + (i * 13 % 4) * 0x40;
    text += formatv("{0:x-2}{1:x-2}", bits & 0xff, bits >> 8).str();
  }
  return text + "\">";
}

/// RMSNorm of x [m, k], with weights if `weighted`, times a constant [k, n].
std::string norm(int64_t m, int64_t n, int64_t k, const std::string &type,
                 bool weighted) {
  std::string a = formatv("tensor<{0}x{1}x{2}>", m, k, type),
              g = formatv("tensor<{0}x{1}>", k, type),
              w = formatv("tensor<{0}x{1}x{2}>", k, n, type),
              y = formatv("tensor<{0}x{1}x{2}>", m, n, type);
  return formatv(
             "func.func @f(%x: {0}) -> {3} {{\n"
             "  %g = graph.constant {4} : {1}\n"
             "  %w = graph.constant {5} : {2}\n"
             "  %n = graph.rms_norm %x, %g axis = 1 epsilon = 1.0e-5 : "
             "{0}, {1}\n"
             "  %y = graph.contract %n, %w batch [] x [] contract [1] x [0] "
             ": {0}, {2} -> {3}\n  return %y : {3}\n}\n",
             a, g, w, y, weighted ? constant(k, type) : "dense<1.0>",
             constant(k * n, type))
      .str();
}

/// Sums of k products below 8, of operands that are rounded to `type` or not.
Tolerance tolerance(int64_t k, const std::string &type) {
  double unit = type == "f16" ? 0x1p-11 : 0x1p-8;
  return {4 * unit, 12 * unit * std::sqrt(double(k))};
}

} // namespace

TEST(ScaleRows, Norms) {
  for (const char *type : {"bf16", "f16"})
    for (bool weighted : {false, true})
      for (auto [m, n, k] : {std::array<int64_t, 3>{128, 64, 64},
                             {131, 67, 65},
                             {129, 136, 127}}) {
        SCOPED_TRACE(
            formatv("{0} {1}x{2}x{3} {4}", type, m, n, k, weighted).str());
        checkGraph(norm(m, n, k, type, weighted),
                   {tolerance(k, type), false, uint64_t(m + n), 2});
      }
}

// A row with a NaN or an infinity is NaN, before and after; rows of zeros of
// either sign are zeros.
TEST(ScaleRows, SpecialValues) {
  for (const char *type : {"bf16", "f16"})
    checkGraph(norm(160, 64, 72, type, true),
               {tolerance(72, type), true, 5, 2});
}

// Weights whose products leave f16, while the sums do not.
TEST(ScaleRows, ProductsOfWeightsBeyondHalf) {
  Tolerance scaled = tolerance(64, "f16");
  scaled.absolute *= 300 * 300;
  checkGraph(
      R"(func.func @f(%x: tensor<128x64xf16>, %s: tensor<128xf16>) -> tensor<128x64xf32> {
    %i = graph.iota 0 : tensor<64xf16>
    %c = graph.constant dense<300.0> : tensor<64xf16>
    %g = graph.add %i, %c : tensor<64xf16>
    %w = graph.constant dense<300.0> : tensor<64x64xf16>
    %b = graph.broadcast %g [1] : tensor<64xf16> -> tensor<128x64xf16>
    %r = graph.broadcast %s [0] : tensor<128xf16> -> tensor<128x64xf16>
    %m = graph.mul %x, %r : tensor<128x64xf16>
    %n = graph.mul %m, %b : tensor<128x64xf16>
    %y = graph.contract %n, %w batch [] x [] contract [1] x [0] : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    return %y : tensor<128x64xf32>
  })",
      {scaled, false, 7});
}

// Rounded once, in the order as written.
TEST(ScaleRows, NotExact) {
  DifferentialOptions options;
  options.tolerance = tolerance(64, "bf16");
  options.numerics = NumericsMode::Exact;
  checkGraph(norm(128, 64, 64, "bf16", true), options);
}

// The second operand scaled, by a quotient, with 16-bit arithmetic, in batches;
// two products of what is scaled; a factor that depends on both.
TEST(ScaleRows, Spellings) {
  std::string text =
      R"(func.func @f(%x: tensor<2x96x136xf16>, %s: tensor<2x136xf16>, %w: tensor<2x72x96xf16>) -> tensor<2x72x136xf16> {
    %one = graph.constant dense<1.0> : tensor<2x136xf16>
    %a = graph.abs %s : tensor<2x136xf16>
    %d = graph.add %a, %one : tensor<2x136xf16>
    %e = graph.broadcast %d [0, 2] : tensor<2x136xf16> -> tensor<2x96x136xf16>
    %q = graph.div %x, %e : tensor<2x96x136xf16>
    %y = graph.contract %w, %q batch [0] x [0] contract [2] x [1] : tensor<2x72x96xf16>, tensor<2x96x136xf16> -> tensor<2x72x136xf16>
    return %y : tensor<2x72x136xf16>
  })";
  checkGraph(text, {{0x1p-9, 0x1p-6}, false, 7, 1});
  text =
      R"(func.func @f(%x: tensor<130x72xbf16>, %s: tensor<130xf32>, %w: tensor<72x64xbf16>, %v: tensor<72x64xbf16>) -> (tensor<130x64xf32>, tensor<130x64xbf16>) {
    %b = graph.broadcast %s [0] : tensor<130xf32> -> tensor<130x72xf32>
    %c = graph.cast %x : tensor<130x72xbf16> -> tensor<130x72xf32>
    %m = graph.mul %b, %c : tensor<130x72xf32>
    %a = graph.cast %m : tensor<130x72xf32> -> tensor<130x72xbf16>
    %y = graph.contract %a, %w batch [] x [] contract [1] x [0] : tensor<130x72xbf16>, tensor<72x64xbf16> -> tensor<130x64xf32>
    %z = graph.contract %a, %v batch [] x [] contract [1] x [0] : tensor<130x72xbf16>, tensor<72x64xbf16> -> tensor<130x64xbf16>
    return %y, %z : tensor<130x64xf32>, tensor<130x64xbf16>
  })";
  checkGraph(text, {{0x1p-6, 0.5}, false, 8});
  text =
      R"(func.func @f(%x: tensor<130x72xbf16>, %s: tensor<130x1xbf16>, %t: tensor<130x72xbf16>, %w: tensor<72x64xbf16>) -> (tensor<130x64xbf16>, tensor<130x72xbf16>) {
    %b = graph.broadcast %s [0, 1] : tensor<130x1xbf16> -> tensor<130x72xbf16>
    %m = graph.mul %x, %b : tensor<130x72xbf16>
    %a = graph.mul %m, %t : tensor<130x72xbf16>
    %y = graph.contract %a, %w batch [] x [] contract [1] x [0] : tensor<130x72xbf16>, tensor<72x64xbf16> -> tensor<130x64xbf16>
    return %y, %a : tensor<130x64xbf16>, tensor<130x72xbf16>
  })";
  checkGraph(text, {{0x1p-5, 1}, false, 9});
}

// Product, residual, norm, product.
TEST(ScaleRows, NormBetweenProducts) {
  std::string w = constant(96 * 72, "bf16"), v = constant(72 * 96, "bf16");
  std::string text =
      formatv(
          R"(func.func @f(%x: tensor<130x72xbf16>, %r: tensor<130x96xbf16>) -> (tensor<130x96xbf16>, tensor<130x72xbf16>) {{
    %v = graph.constant {0} : tensor<72x96xbf16>
    %w = graph.constant {1} : tensor<96x72xbf16>
    %g = graph.constant {2} : tensor<96xbf16>
    %p = graph.contract %x, %v batch [] x [] contract [1] x [0] : tensor<130x72xbf16>, tensor<72x96xbf16> -> tensor<130x96xbf16>
    %h = graph.add %p, %r : tensor<130x96xbf16>
    %n = graph.rms_norm %h, %g axis = 1 epsilon = 1.0e-5 : tensor<130x96xbf16>, tensor<96xbf16>
    %y = graph.contract %n, %w batch [] x [] contract [1] x [0] : tensor<130x96xbf16>, tensor<96x72xbf16> -> tensor<130x72xbf16>
    return %h, %y : tensor<130x96xbf16>, tensor<130x72xbf16>
  })",
          v, w, constant(96, "bf16"))
          .str();
  checkGraph(text, {{0x1p-6, 0.6}, false, 6, 2});
}
