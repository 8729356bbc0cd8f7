//===- RowColumnsTest.cpp - sums of rows and columns in one kernel --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "fusec/Driver/Compile.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace fusec;
using namespace fusec::test;

namespace {

std::string type(llvm::ArrayRef<int64_t> shape, llvm::StringRef element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element.str() + ">";
}

/// `body` as one region: %x, a matrix, and %w, a value a column, to %y of
/// full size, %r a row and %c, %d a column. M, R and C are types.
std::string region(int64_t rows, int64_t columns, llvm::StringRef element,
                   llvm::StringRef body) {
  std::string m = type({rows, columns}, element), r = type({rows}, element),
              c = type({columns}, element), text = body.str();
  std::string results = m + ", " + r + ", " + c + ", " + c;
  for (auto [mark, with] : {std::pair("$M", &m), {"$R", &r}, {"$C", &c}})
    for (size_t at; (at = text.find(mark)) != std::string::npos;)
      text.replace(at, 2, *with);
  return llvm::formatv(R"(func.func @f(%a0: {0}, %a1: {1}) -> ({2}) {{
  %0:4 = graph.fusion(%x = %a0, %w = %a1) : ({0}, {1}) -> ({2}) {{
{3}
    graph.yield %y, %r, %c, %d : {2}
  }
  return %0#0, %0#1, %0#2, %0#3 : {2}
})",
                       m, c, results, text)
      .str();
}

/// What a norm's backward pass does: rows and columns of one product.
constexpr const char *kBackward = R"(
    %b = graph.broadcast %w [1] : $C -> $M
    %g = graph.mul %x, %b : $M
    %r = graph.reduce sum %g [1] : $M -> $R
    %s = graph.broadcast %r [0] : $R -> $M
    %y = graph.sub %g, %s : $M
    %k = graph.reduce sum %g [0] : $M -> $C
    %c = graph.add %k, %w : $C
    %d = graph.reduce max %y [0] : $M -> $C)";

} // namespace

TEST(RowColumns, AllSizes) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{2, 2},
                               {2, 8192},
                               {3, 8191},
                               {7, 5},
                               {31, 33},
                               {64, 64},
                               {127, 64},
                               {129, 127},
                               {300, 8},
                               {1025, 3},
                               {40, 1000},
                               {133, 1024},
                               {135, 4104},
                               {135, 8000}})
    for (const char *element : {"f32", "bf16"})
      checkGraph(
          region(rows, columns, element, kBackward),
          {{element[0] == 'b' ? 0.02 : 1e-5, element[0] == 'b' ? 0.5 : 2e-3},
           false,
           uint64_t(rows),
           /*kernels=*/1});
}

TEST(RowColumns, ElementTypes) {
  for (const char *element : {"f16", "f64", "i8", "ui16", "i32", "i64"})
    checkGraph(
        region(37, 65, element, kBackward),
        {{element[1] == '1' ? 0.02 : 1e-12, element[1] == '1' ? 0.5 : 1e-9},
         false,
         2,
         /*kernels=*/1});
}

TEST(RowColumns, SpecialValues) {
  checkGraph(region(37, 65, "f32", kBackward),
             {{1e-5, 1e-4}, /*special=*/true, 3, /*kernels=*/1});
}

// Columns' sums of what needs the rows' sums, and columns alone.
TEST(RowColumns, ColumnsAfterRows) {
  constexpr const char *body = R"(
    %r = graph.reduce max %x [1] : $M -> $R
    %s = graph.broadcast %r [0] : $R -> $M
    %z = graph.sub %x, %s : $M
    %q = graph.reduce min %z [1] : $M -> $R
    %t = graph.broadcast %q [0] : $R -> $M
    %y = graph.sub %z, %t : $M
    %c = graph.reduce sum %y [0] : $M -> $C
    %d = graph.reduce min %x [0] : $M -> $C)";
  checkGraph(region(50, 130, "f32", body),
             {{1e-5, 1e-4}, false, 4, /*kernels=*/1});
}

// No rows or columns: nothing to sum beside, so one kernel an op.
TEST(RowColumns, SizesOfOneAndZeroAreSplit) {
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{0, 5}, {5, 0}, {1, 5}, {5, 1}})
    checkGraph(region(rows, columns, "f32", kBackward), {{1e-5, 1e-4}});
}

/// Threads of the launch of `text` whose blocks wait for each other, on a
/// machine of so many multiprocessors; 0 if there is none.
static uint64_t waitingThreads(const std::string &text,
                               unsigned multiprocessors) {
  mlir::DialectRegistry registry;
  driver::registerDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  driver::CompileOptions options;
  options.target.multiprocessors = multiprocessors;
  auto compiled = driver::compile(*module, options);
  if (!compiled) {
    ADD_FAILURE() << llvm::toString(compiled.takeError());
    return 0;
  }
  const runtime::Program &program = compiled->program;
  for (const runtime::Step &step : program.steps)
    if (auto *launch = std::get_if<runtime::Launch>(&step))
      if (const runtime::Kernel &kernel = program.kernels[launch->kernel];
          kernel.cooperative)
        return uint64_t(launch->grid[0]) * launch->grid[1] * launch->grid[2] *
               kernel.threads;
  return 0;
}

TEST(RowColumns, BlocksThatWaitFitTheMachine) {
  std::string text = region(16384, 1024, "f32", kBackward);
  uint64_t most = 0;
  for (unsigned multiprocessors : {20u, 114u, 132u}) {
    uint64_t threads = waitingThreads(text, multiprocessors);
    EXPECT_GT(threads, most) << multiprocessors;
    EXPECT_LE(threads, multiprocessors * uint64_t(2048)) << multiprocessors;
    most = threads;
  }
}
