//===- RowRunTest.cpp - short rows of odd length --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "fusec/Driver/Compile.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::test;

namespace {
/// A machine that few rows fill.
DifferentialOptions options(StringRef element, bool special = false) {
  DifferentialOptions result;
  // Results of norms and softmax are at most a few. Up to five roundings of
  // them (2^-11 for f16, 2^-8 for bf16: inputs, their sum, the result), or 300
  // of f32.
  result.tolerance = element == "f32"   ? Tolerance{2e-5, 2e-6}
                     : element == "f16" ? Tolerance{2.5e-3, 1e-7}
                                        : Tolerance{1e-2, 2e-2};
  result.special = special;
  result.target = TargetInfo::h200();
  result.target->multiprocessors = 1;
  result.kernels = 1;
  return result;
}

std::string typeOf(int64_t rows, int64_t columns, StringRef element) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
         "x" + element.str() + ">";
}

std::string softmax(int64_t rows, int64_t columns, StringRef element) {
  std::string type = typeOf(rows, columns, element);
  return "func.func @f(%x: " + type + ") -> " + type +
         " {\n%y = graph.softmax %x [1] : " + type + "\nreturn %y : " + type +
         "\n}";
}

/// Two outputs that take the places of two inputs.
std::string addNorm(int64_t rows, int64_t columns, StringRef element) {
  std::string type = typeOf(rows, columns, element);
  std::string row =
      "tensor<" + std::to_string(columns) + "x" + element.str() + ">";
  return "func.func @f(%x: " + type + ", %r: " + type + ", %g: " + row +
         ", %b: " + row + ") -> (" + type + ", " + type +
         ") {\n%s = graph.add %x, %r : " + type +
         "\n%y = graph.layer_norm %s, %g, %b axis = 1 epsilon = 1.0e-5 : " +
         type + ", " + row + ", " + row + "\nreturn %s, %y : " + type + ", " +
         type + "\n}";
}

std::string textOf(StringRef graph, const TargetInfo &target) {
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(graph, &context);
  driver::CompileOptions options;
  options.target = target;
  auto compiled = llvm::cantFail(driver::compile(*module, options));
  return compiled.program.kernels.front().source;
}
} // namespace

// The last group of rows ends within a vector, or is whole.
TEST(RowRun, SizesAndTypes) {
  for (auto [rows, columns] : {std::pair(70, 3),
                               {33, 31},
                               {32, 33},
                               {19, 127},
                               {35, 129},
                               {16, 130},
                               {17, 257},
                               {9, 383}})
    for (StringRef element : {"bf16", "f32"}) {
      SCOPED_TRACE(typeOf(rows, columns, element));
      checkGraph(softmax(rows, columns, element), options(element));
      checkGraph(addNorm(rows, columns, element), options(element));
    }
}

TEST(RowRun, SpecialValuesStayInTheirRow) {
  checkGraph(softmax(37, 65, "f16"), options("f16", /*special=*/true));
  checkGraph(softmax(33, 127, "f32"), options("f32", /*special=*/true));
}

// Inputs and outputs of several widths; a place of its own for what has no
// input's type.
TEST(RowRun, MixedTypes) {
  checkGraph("func.func @f(%x: tensor<67x45xf32>, %w: tensor<67x45xi8>) -> "
             "(tensor<67x45xbf16>, tensor<67x45xf32>, tensor<67xf32>) {\n"
             "%c = graph.cast %w : tensor<67x45xi8> -> tensor<67x45xf32>\n"
             "%s = graph.mul %x, %c : tensor<67x45xf32>\n"
             "%t = graph.reduce sum %s [1] : tensor<67x45xf32> -> "
             "tensor<67xf32>\n"
             "%b = graph.broadcast %t [0] : tensor<67xf32> -> "
             "tensor<67x45xf32>\n"
             "%d = graph.sub %s, %b : tensor<67x45xf32>\n"
             "%h = graph.cast %d : tensor<67x45xf32> -> tensor<67x45xbf16>\n"
             "return %h, %d, %t : tensor<67x45xbf16>, tensor<67x45xf32>, "
             "tensor<67xf32>\n}",
             options("bf16"));
}

// Words of the narrowest type, and up to six elements at the ends of a row.
TEST(RowRun, WordsOfBytes) {
  for (int64_t columns : {131, 133, 134, 135, 258}) {
    std::string wide = typeOf(35, columns, "f32"),
                narrow = typeOf(35, columns, "i8");
    checkGraph("func.func @f(%x: " + wide + ", %w: " + narrow + ") -> (" +
                   narrow + ", " + wide +
                   ") {\n%c = graph.cast %w : " + narrow + " -> " + wide +
                   "\n%s = graph.add %x, %c : " + wide +
                   "\n%y = graph.softmax %s [1] : " + wide +
                   "\n%z = graph.add %w, %w : " + narrow +
                   "\nreturn %z, %y : " + narrow + ", " + wide + "\n}",
               options("f32"));
  }
}

// Rows that start within a word have one element apart.
TEST(RowRun, TakesWords) {
  std::string text = textOf(addNorm(131072, 129, "bf16"), TargetInfo::h200());
  EXPECT_NE(text.find("lds<2>("), std::string::npos) << text;
  EXPECT_NE(text.find("sts<2>(s0"), std::string::npos) << text;
  EXPECT_NE(text.find("sts<1>(s0"), std::string::npos) << text;
  // Four words would be no fewer than 127 elements of 32 lanes.
  text = textOf(addNorm(131072, 127, "bf16"), TargetInfo::h200());
  EXPECT_EQ(text.find("lds<2>("), std::string::npos) << text;
}

// Copies and stores take vectors, and the places of inputs are used again.
TEST(RowRun, GoesThroughSharedMemory) {
  std::string text = textOf(addNorm(131072, 127, "bf16"), TargetInfo::h200());
  EXPECT_NE(text.find("cp_async16(s0"), std::string::npos) << text;
  EXPECT_NE(text.find("stm<8>(p5"), std::string::npos) << text;
  EXPECT_EQ(text.find("FUSEC_SHARED(bf16, s2"), std::string::npos) << text;
  // Nothing is cut where groups of rows are whole.
  EXPECT_EQ(text.find("else {"), std::string::npos) << text;
}

// Each buffer has room for whole rounds of copies. Those of 16 rows here are
// more than a block has.
TEST(RowRun, ManyBuffers) {
  std::string type = typeOf(33, 138, "f32"), narrow = typeOf(33, 138, "bf16");
  std::string graph = "func.func @f(%a: " + type + ", %b: " + type +
                      ", %c: " + type + ", %d: " + type + ") -> " + narrow +
                      " {\n%p = graph.add %a, %b : " + type +
                      "\n%q = graph.add %c, %d : " + type +
                      "\n%s = graph.add %p, %q : " + type +
                      "\n%y = graph.softmax %s [1] : " + type +
                      "\n%z = graph.cast %y : " + type + " -> " + narrow +
                      "\nreturn %z : " + narrow + "\n}";
  EXPECT_NE(textOf(graph, *options("bf16").target).find("cp_async16(s3"),
            std::string::npos);
  checkGraph(graph, options("bf16"));
}
