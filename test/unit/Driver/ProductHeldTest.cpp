//===- ProductHeldTest.cpp - products of short sums -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products whose columns of B stay in shared memory, and whose results go out
// by boxes where they can.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "fusec/Driver/Compile.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::test;

namespace {
struct Size {
  int64_t m, n, k;
  int64_t batch = 0;
};

/// What follows the product.
enum class After { Nothing, Bias, Residual };

/// Few multiprocessors, so that each has many tiles.
TargetInfo machine(unsigned multiprocessors) {
  TargetInfo target = TargetInfo::h200();
  target.multiprocessors = multiprocessors;
  return target;
}

std::string typeOf(const Size &s, int64_t rows, int64_t columns,
                   const std::string &element) {
  return "tensor<" + (s.batch ? std::to_string(s.batch) + "x" : "") +
         std::to_string(rows) + "x" + std::to_string(columns) + "x" + element +
         ">";
}

std::string product(const Size &s, const std::string &element,
                    After after = After::Nothing) {
  std::string x = typeOf(s, s.m, s.k, element),
              w = typeOf(s, s.k, s.n, element),
              y = typeOf(s, s.m, s.n, element);
  std::string bias = "tensor<" + std::to_string(s.n) + "x" + element + ">";
  std::string text = "%p = graph.contract %x, %w batch " +
                     std::string(s.batch ? "[0] x [0] contract [2] x [1]"
                                         : "[] x [] contract [1] x [0]") +
                     " : " + x + ", " + w + " -> " + y + "\n";
  std::string more, last = "%p";
  switch (after) {
  case After::Nothing:
    break;
  case After::Bias:
    more = ", %b: " + bias;
    text += "%c = graph.broadcast %b [" + std::string(s.batch ? "2" : "1") +
            "] : " + bias + " -> " + y + "\n%r = graph.add %p, %c : " + y +
            "\n";
    last = "%r";
    break;
  case After::Residual:
    more = ", %b: " + y;
    text += "%r = graph.add %p, %b : " + y + "\n";
    last = "%r";
    break;
  }
  return "func.func @f(%x: " + x + ", %w: " + w + more + ") -> " + y + " {\n" +
         text + "return " + last + " : " + y + "\n}";
}

std::string textOf(const std::string &graph, unsigned multiprocessors) {
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(graph, &context);
  driver::CompileOptions options;
  options.target = machine(multiprocessors);
  auto compiled = llvm::cantFail(driver::compile(*module, options));
  return compiled.program.kernels.front().source;
}

bool has(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}

void check(const Size &s, const std::string &element, After after,
           unsigned multiprocessors, bool special = false) {
  SCOPED_TRACE(std::to_string(s.m) + "x" + std::to_string(s.n) + "x" +
               std::to_string(s.k));
  std::string graph = product(s, element, after);
  EXPECT_TRUE(has(textOf(graph, multiprocessors), "GemmHeldConfig<"));
  DifferentialOptions options;
  // At most two roundings to the type. And sums of k products below 4 in f32:
  // tensor cores add 16 at once, k / 16 <= 16 roundings of 2^-24 of at most 4k.
  double unit = element == "f16" ? 0x1p-10 : 0x1p-7;
  options.tolerance = {2 * unit, 0x1p-20 * 4 * double(s.k) + unit};
  options.kernels = 1;
  options.special = special;
  options.target = machine(multiprocessors);
  checkGraph(graph, options);
}
} // namespace

// Rows and columns that end anywhere, blocks that go on with other columns.
TEST(ProductHeld, EndsAnywhere) {
  check({520, 504, 72}, "bf16", After::Nothing, 1);
  check({641, 696, 256}, "f16", After::Nothing, 1);
  check({1025, 248, 200}, "bf16", After::Bias, 1);
  check({200, 1016, 64}, "f16", After::Bias, 1);
}

TEST(ProductHeld, Batches) {
  check({130, 248, 40, 3}, "f16", After::Nothing, 1);
  check({257, 504, 136, 2}, "bf16", After::Bias, 1);
}

TEST(ProductHeld, SpecialValues) {
  check({520, 504, 72}, "bf16", After::Bias, 1, /*special=*/true);
  check({520, 504, 72}, "f16", After::Nothing, 1, /*special=*/true);
}

// Only a matrix for each batch goes out by boxes, where vectors alone are read.
TEST(ProductHeld, StoresBoxesOfMatrices) {
  Size s{1024, 512, 128};
  std::string plain = textOf(product(s, "bf16"), 1);
  EXPECT_TRUE(has(plain, "using BoxC = GemmBox<GemmOrder::KContiguous, 1, "
                         "false, false>"));
  EXPECT_TRUE(has(plain, "FUSEC_TENSOR_MAP(mapC)"));
  EXPECT_TRUE(has(textOf(product({1024, 512, 128, 2}, "bf16"), 1),
                  "using BoxC = GemmBox<GemmOrder::KContiguous, 1, false, "
                  "true>"));
  EXPECT_FALSE(has(textOf(product(s, "bf16", After::Residual), 1), "mapC"));
  EXPECT_FALSE(has(textOf(product({1024, 512, 512}, "bf16"), 1), "mapC"))
      << "columns do not stay";
}

TEST(ProductHeld, OtherEpilogues) {
  check({520, 504, 72}, "bf16", After::Residual, 1);
}
