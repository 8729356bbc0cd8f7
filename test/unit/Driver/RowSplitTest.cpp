//===- RowSplitTest.cpp - rows shared by several blocks -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few long rows: blocks reduce parts of the columns and the last one combines
// them. A part is at least 64 KB, so sizes here are just above a multiple.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec;
using namespace fusec::test;

/// The text of the first kernel of a graph.
static std::string textOf(const std::string &graph) {
  mlir::DialectRegistry registry;
  driver::registerDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(graph, &context);
  driver::CompileOptions options;
  options.target = TargetInfo::h200();
  return llvm::cantFail(driver::compile(*module, options))
      .program.kernels.front()
      .source;
}

static std::string reduce(const char *kind, const char *type, int64_t rows,
                          int64_t columns, int axis) {
  return llvm::formatv(
      R"(func.func @f(%x: tensor<{0}x{1}x{2}>) -> tensor<{3}x{2}> {{
    %0 = graph.reduce {4} %x [{5}] : tensor<{0}x{1}x{2}> -> tensor<{3}x{2}>
    return %0 : tensor<{3}x{2}>
  })",
      rows, columns, type, axis ? rows : columns, kind, axis);
}

TEST(RowSplit, LengthsAndTails) {
  // One below, at and above 64 KB a part; primes; not a multiple of a vector.
  for (int64_t columns : {32767, 32768, 32769, 49157, 100003})
    checkGraph(reduce("max", "f32", 1, columns, 1), {{0, 0}, false, 1, 1});
  for (int64_t columns : {65537, 131072})
    for (int64_t rows : {2, 3})
      checkGraph(reduce("sum", "f32", rows, columns, 1),
                 {{1e-4, 2e-3}, false, 2, 1});
}

// Whole chunks, but not whole iterations.
TEST(RowSplit, PartIterations) {
  for (int64_t columns : {33 * 1024, 35 * 1024, 131072 + 2048})
    checkGraph(reduce("max", "f32", 1, columns, 1), {{0, 0}, false, 16, 1});
  checkGraph(reduce("max", "f32", 2056, 32, 0), {{0, 0}, false, 17, 1});
}

TEST(RowSplit, Columns) {
  for (int64_t width : {8, 31, 32, 33, 257})
    checkGraph(reduce("max", "f32", 2053, width, 0), {{0, 0}, false, 3, 1});
  checkGraph(reduce("sum", "bf16", 4099, 64, 0), {{1e-2, 2e-1}, false, 4, 1});
}

TEST(RowSplit, ElementTypes) {
  checkGraph(reduce("sum", "i32", 1, 40001, 1), {{0, 0}, false, 5, 1});
  checkGraph(reduce("max", "i64", 2, 20011, 1), {{0, 0}, false, 6, 1});
  checkGraph(reduce("min", "i8", 1, 140001, 1), {{0, 0}, false, 7, 1});
  checkGraph(reduce("sum", "f64", 1, 20011, 1), {{1e-11, 1e-9}, false, 8, 1});
  checkGraph(reduce("max", "f16", 1, 70001, 1), {{0, 0}, false, 9, 1});
  checkGraph(reduce("all", "i1", 2, 140003, 1), {{0, 0}, false, 10, 1});
}

TEST(RowSplit, SpecialValues) {
  checkGraph(reduce("max", "f32", 3, 33001, 1), {{0, 0}, true, 11, 1});
  checkGraph(reduce("min", "f16", 2, 70001, 1), {{0, 0}, true, 12, 1});
}

TEST(RowSplit, SeveralStatesAndAfterwards) {
  checkGraph(
      R"(func.func @f(%x: tensor<2x40001xf32>) -> (tensor<2xi64>, tensor<2xf32>, tensor<2xf32>) {
    %0 = graph.arg_reduce max %x dimension = 1 : tensor<2x40001xf32> -> tensor<2xi64>
    %1 = graph.mul %x, %x : tensor<2x40001xf32>
    %2 = graph.reduce sum %1 [1] : tensor<2x40001xf32> -> tensor<2xf32>
    %3 = graph.sqrt %2 : tensor<2xf32>
    %4 = graph.reduce max %x [1] : tensor<2x40001xf32> -> tensor<2xf32>
    return %0, %3, %4 : tensor<2xi64>, tensor<2xf32>, tensor<2xf32>
  })",
      {{2e-5, 1e-4}, false, 13, 1});
}

// What needs no reduction is stored on the way.
TEST(RowSplit, FullOutputBesides) {
  checkGraph(
      R"(func.func @f(%x: tensor<1031x37xf32>, %y: tensor<1031x37xf32>) -> (tensor<1031x37xf32>, tensor<37xf32>) {
    %0 = graph.mul %x, %y : tensor<1031x37xf32>
    %1 = graph.reduce max %0 [0] : tensor<1031x37xf32> -> tensor<37xf32>
    return %0, %1 : tensor<1031x37xf32>, tensor<37xf32>
  })",
      {{0, 0}, false, 14, 1});
}

// Statistics of a batch: a kernel each, as the blocks of a row meet once.
TEST(RowSplit, DependentReductions) {
  checkGraph(
      R"(func.func @f(%x: tensor<9001x16xf32>) -> (tensor<9001x16xf32>, tensor<16xf32>) {
    %n = graph.constant dense<9001.0> : tensor<16xf32>
    %s = graph.reduce sum %x [0] : tensor<9001x16xf32> -> tensor<16xf32>
    %0 = graph.div %s, %n : tensor<16xf32>
    %1 = graph.broadcast %0 [1] : tensor<16xf32> -> tensor<9001x16xf32>
    %2 = graph.sub %x, %1 : tensor<9001x16xf32>
    %3 = graph.mul %2, %2 : tensor<9001x16xf32>
    %t = graph.reduce sum %3 [0] : tensor<9001x16xf32> -> tensor<16xf32>
    %4 = graph.div %t, %n : tensor<16xf32>
    %5 = graph.broadcast %4 [1] : tensor<16xf32> -> tensor<9001x16xf32>
    %6 = graph.div %2, %5 : tensor<9001x16xf32>
    return %6, %4 : tensor<9001x16xf32>, tensor<16xf32>
  })",
      {{2e-4, 2e-4}, false, 15});
}

static std::string logSumExp(int64_t rows, int64_t columns, const char *type,
                             bool minus) {
  std::string result =
      minus ? llvm::formatv("tensor<{0}x{1}x{2}>", rows, columns, type).str()
            : llvm::formatv("tensor<{0}x{1}>", rows, type);
  return llvm::formatv(
      R"(func.func @f(%x: tensor<{0}x{1}x{2}>) -> {3} {{
    %m = graph.reduce max %x [1] : tensor<{0}x{1}x{2}> -> tensor<{0}x{2}>
    %b = graph.broadcast %m [0] : tensor<{0}x{2}> -> tensor<{0}x{1}x{2}>
    %d = graph.sub %x, %b : tensor<{0}x{1}x{2}>
    %e = graph.exp %d : tensor<{0}x{1}x{2}>
    %s = graph.reduce sum %e [1] : tensor<{0}x{1}x{2}> -> tensor<{0}x{2}>
    %l = graph.log %s : tensor<{0}x{2}>
    %r = graph.add %l, %m : tensor<{0}x{2}>
    {4}
  })",
      rows, columns, type, result,
      minus ? llvm::formatv("%c = graph.broadcast %r [0] : tensor<{0}x{2}> -> "
                            "{3}\n%y = graph.sub %x, %c : {3}\nreturn %y : {3}",
                            rows, columns, type, result)
                  .str()
            : "return %r : " + result);
}

// The maximum and the sum of exp(x - max) in one pass.
TEST(RowOnePass, LogSumExp) {
  for (int64_t columns : {40000, 33793, 65536})
    checkGraph(logSumExp(2, columns, "f32", false),
               {{2e-6, 2e-5}, false, 1, 1});
  checkGraph(logSumExp(2, 70001, "bf16", false), {{1e-2, 1e-2}, false, 2, 1});
  checkGraph(logSumExp(3, 20011, "f64", false), {{1e-11, 1e-9}, false, 3, 1});
}

// NaN, infinities of both signs and rows of nothing but -inf.
TEST(RowOnePass, SpecialValues) {
  checkGraph(logSumExp(3, 40001, "f32", false), {{2e-6, 2e-5}, true, 4, 1});
  std::string text = R"(func.func @f(%x: tensor<3x40001xf32>) -> tensor<3xf32> {
    %0 = graph.constant dense<0xFF800000> : tensor<3x40001xf32>
    %big = graph.constant dense<[[1.5], [3.0], [-3.0]]> : tensor<3x1xf32>
    %c = graph.broadcast %big [0, 1] : tensor<3x1xf32> -> tensor<3x40001xf32>
    %gt = graph.compare gt %x, %c : tensor<3x40001xf32>
    %y = graph.select %gt, %x, %0 : tensor<3x40001xi1>, tensor<3x40001xf32>
    %m = graph.reduce max %y [1] : tensor<3x40001xf32> -> tensor<3xf32>
    %b = graph.broadcast %m [0] : tensor<3xf32> -> tensor<3x40001xf32>
    %d = graph.sub %y, %b : tensor<3x40001xf32>
    %e = graph.exp %d : tensor<3x40001xf32>
    %s = graph.reduce sum %e [1] : tensor<3x40001xf32> -> tensor<3xf32>
    return %s : tensor<3xf32>
  })";
  checkGraph(text, {{2e-5, 2e-5}, false, 5});
}

// Rows enough to fill the machine: not split, walked twice.
TEST(RowOnePass, FullOutput) {
  checkGraph(logSumExp(300, 33001, "f32", true), {{2e-6, 2e-5}, false, 6, 1});
}

// Columns that fit the registers of 1024 threads, between strided rows.
TEST(RowOnePass, ResidentColumns) {
  for (int64_t middle : {300, 1023, 1024})
    checkGraph(
        llvm::formatv(
            R"(func.func @f(%x: tensor<2x{0}x33xf32>) -> tensor<2x{0}x33xf32> {{
    %0 = graph.softmax %x [1] : tensor<2x{0}x33xf32>
    return %0 : tensor<2x{0}x33xf32>
  })",
            middle)
            .str(),
        {{2e-6, 1e-9}, false, 7});
}

/// The squares of what x + `what` differs from its mean by, in two rows.
static std::string varianceOf(llvm::StringRef what, int64_t columns) {
  return llvm::formatv(
             R"(func.func @f(%x: tensor<2x{0}xf32>) -> tensor<2xf32> {{
    %i = {1} : tensor<2x{0}xf32>
    %n = graph.constant dense<{0}.0> : tensor<2xf32>
    %y = graph.add %x, %i : tensor<2x{0}xf32>
    %s = graph.reduce sum %y [1] : tensor<2x{0}xf32> -> tensor<2xf32>
    %m = graph.div %s, %n : tensor<2xf32>
    %mb = graph.broadcast %m [0] : tensor<2xf32> -> tensor<2x{0}xf32>
    %d = graph.sub %y, %mb : tensor<2x{0}xf32>
    %q = graph.mul %d, %d : tensor<2x{0}xf32>
    %v = graph.reduce sum %q [1] : tensor<2x{0}xf32> -> tensor<2xf32>
    return %v : tensor<2xf32>
  })",
             columns, what)
      .str();
}

// The warps of a block meet in an array for each state: larger blocks leave the
// last one less to combine, but not more than its static shared memory holds.
TEST(RowSplit, StatesFitSharedMemory) {
  for (const char *type : {"bf16", "f32"})
    for (int64_t columns : {32, 64, 304, 600, 1024}) {
      std::string graph =
          llvm::formatv(
              R"(func.func @f(%x: tensor<262144x{0}x{1}>) -> (tensor<{0}xf32>, tensor<{0}xf32>) {{
    %w = graph.cast %x : tensor<262144x{0}x{1}> -> tensor<262144x{0}xf32>
    %s = graph.reduce sum %w [0] : tensor<262144x{0}xf32> -> tensor<{0}xf32>
    %n = graph.constant dense<262144.0> : tensor<{0}xf32>
    %m = graph.div %s, %n : tensor<{0}xf32>
    %b = graph.broadcast %m [1] : tensor<{0}xf32> -> tensor<262144x{0}xf32>
    %d = graph.sub %w, %b : tensor<262144x{0}xf32>
    %q = graph.mul %d, %d : tensor<262144x{0}xf32>
    %v = graph.reduce sum %q [0] : tensor<262144x{0}xf32> -> tensor<{0}xf32>
    return %m, %v : tensor<{0}xf32>, tensor<{0}xf32>
  })",
              columns, type)
              .str();
      std::string text = textOf(graph);
      llvm::StringRef rest = text, macro = "FUSEC_SHARED(f32, ";
      int64_t bytes = 0, count = 0;
      while (rest.contains(macro)) {
        rest = rest.split(macro).second;
        ASSERT_FALSE(rest.split(", ").second.consumeInteger(10, count));
        bytes += 4 * count;
      }
      EXPECT_GT(bytes, 0) << text;
      EXPECT_LE(bytes, 48 * 1024) << type << " " << columns;
    }
}

// Parts without elements join with a mean whose square overflows.
TEST(RowSplit, VarianceOfLargeMeans) {
  for (int64_t columns : {40001, 200001})
    checkGraph(varianceOf("graph.constant dense<1.0e20>", columns),
               {{0, 1e36}, false, 17});
}

// Means of the parts that lie apart are the largest share of the squares.
TEST(RowSplit, VarianceOfATrend) {
  for (int64_t columns : {40001, 70001})
    checkGraph(varianceOf("graph.iota 1", columns), {{2e-5, 0}, false, 18});
}
