//===- RowSkewTest.cpp - across rows that start anywhere in a vector ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::test;

namespace {
std::string typeOf(int64_t columns, int64_t rows, StringRef element) {
  return "tensor<" + std::to_string(columns) + "x" + std::to_string(rows) +
         "x" + element.str() + ">";
}

/// `kind` over axis 0.
std::string reduction(int64_t columns, int64_t rows, StringRef element,
                      StringRef kind) {
  std::string type = typeOf(columns, rows, element),
              wide = typeOf(columns, rows, "f32"),
              result = "tensor<" + std::to_string(rows) + "xf32>";
  std::string cast =
      element == "f32" ? ""
                       : "%w = graph.cast %x : " + type + " -> " + wide + "\n";
  return "func.func @f(%x: " + type + ") -> " + result + " {\n" + cast +
         "%s = graph.reduce " + kind.str() +
         (element == "f32" ? " %x" : " %w") + " [0] : " + wide + " -> " +
         result + "\nreturn %s : " + result + "\n}";
}

std::string textOf(StringRef graph) {
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(graph, &context);
  driver::CompileOptions options;
  options.target = TargetInfo::h200();
  auto compiled = llvm::cantFail(driver::compile(*module, options));
  return compiled.program.kernels.front().source;
}
} // namespace

// Tolerances of sums: a sum of n numbers of up to 1, d of them one after the
// other, is off by up to d n 2^-24, 2e-3 for n = 1024 (d = 32) and 0.08 for
// 9216 (d = 144); less is allowed. Maxima are exact.
TEST(RowSkew, SumsAndTypes) {
  for (auto [columns, rows, element] :
       {std::tuple(1024, 301, "bf16"), {1000, 258, "f16"}, {640, 263, "f32"}}) {
    SCOPED_TRACE(typeOf(columns, rows, element));
    std::string graph = reduction(columns, rows, element, "sum");
    EXPECT_NE(textOf(graph).find(StringRef(element) == "f32" ? "ldm<4>(a1"
                                                             : "ldm<8>(a1"),
              std::string::npos);
    checkGraph(graph, {.tolerance = {1e-4, 1e-4}, .kernels = 1});
  }
}

// What is another row's, or of another column, stays there.
TEST(RowSkew, SpecialValuesStayInTheirRow) {
  checkGraph(reduction(1024, 301, "bf16", "max"),
             {.tolerance = {}, .special = true, .kernels = 1});
}

// States of four, two inputs, and columns that are no whole iterations.
TEST(RowSkew, MeanAndVariance) {
  checkGraph(
      R"(func.func @f(%x: tensor<1032x517xf32>, %y: tensor<1032x517xf32>) -> (tensor<517xf32>, tensor<517xf32>) {
    %p = graph.mul %x, %y : tensor<1032x517xf32>
    %s = graph.reduce sum %p [0] : tensor<1032x517xf32> -> tensor<517xf32>
    %n = graph.constant dense<1032.0> : tensor<517xf32>
    %m = graph.div %s, %n : tensor<517xf32>
    %b = graph.broadcast %m [1] : tensor<517xf32> -> tensor<1032x517xf32>
    %d = graph.sub %p, %b : tensor<1032x517xf32>
    %q = graph.mul %d, %d : tensor<1032x517xf32>
    %v = graph.reduce sum %q [0] : tensor<1032x517xf32> -> tensor<517xf32>
    return %m, %v : tensor<517xf32>, tensor<517xf32>
  })",
      {.tolerance = {1e-4, 1e-4}, .kernels = 1});
}

// Large blocks, which leave less to combine, as far as their states fit.
TEST(RowSkew, LargeBlocks) {
  checkGraph(reduction(9216, 301, "bf16", "sum"),
             {.tolerance = {1e-4, 1e-2}, .kernels = 1});
}

// What is one value a row is not at the places of threads.
TEST(RowSkew, ValuesOfRowsAreNotSkewed) {
  std::string graph =
      R"(func.func @f(%x: tensor<1024x301xf32>, %s: tensor<301xf32>) -> tensor<301xf32> {
    %b = graph.broadcast %s [1] : tensor<301xf32> -> tensor<1024x301xf32>
    %p = graph.mul %x, %b : tensor<1024x301xf32>
    %r = graph.reduce sum %p [0] : tensor<1024x301xf32> -> tensor<301xf32>
    return %r : tensor<301xf32>
  })";
  EXPECT_EQ(textOf(graph).find("ldm<4>(a1"), std::string::npos);
  checkGraph(graph, {.tolerance = {1e-4, 1e-3}, .kernels = 1});
}
