//===- RowGatherTest.cpp - several values of a row side by side -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec;
using namespace fusec::test;

/// The three first of each of `rows` rows of 77 elements, values and places,
/// and how the first compares with the sum, joined along `axis`.
static std::string bestOf(int64_t rows, int axis, const char *type) {
  std::string column = axis ? llvm::formatv("{0}x1", rows).str()
                            : llvm::formatv("1x{0}", rows).str();
  std::string all = axis ? llvm::formatv("{0}x3", rows).str()
                         : llvm::formatv("3x{0}", rows).str();
  std::string text, values, places, ofValue, ofPlace;
  for (int i = 0; i < 3; ++i) {
    text += llvm::formatv(R"(
    %r{0} = graph.reshape %i#{0} : tensor<{1}xi64> -> tensor<{1}x1xi64>
    %g{0} = graph.gather_elements %x, %r{0} axis = 1 : tensor<{1}x77x{2}>, tensor<{1}x1xi64> -> tensor<{1}x1x{2}>
    %v{0} = graph.reshape %g{0} : tensor<{1}x1x{2}> -> tensor<{3}x{2}>
    %p{0} = graph.reshape %i#{0} : tensor<{1}xi64> -> tensor<{3}xi64>)",
                          i, rows, type, column);
    llvm::StringRef comma = i ? ", " : "";
    values += llvm::formatv("{0}%v{1}", comma, i);
    places += llvm::formatv("{0}%p{1}", comma, i);
    ofValue += llvm::formatv("{0}tensor<{1}x{2}>", comma, column, type);
    ofPlace += llvm::formatv("{0}tensor<{1}xi64>", comma, column);
  }
  return llvm::formatv(
      R"(func.func @f(%x: tensor<{0}x77x{1}>) -> (tensor<{2}x{1}>, tensor<{2}xi64>) {{
    %i:3 = graph.top_k max %x dimension = 1 : tensor<{0}x77x{1}> -> tensor<{0}xi64>, tensor<{0}xi64>, tensor<{0}xi64>{3}
    %v = graph.concat {4} axis = {8} : {6} -> tensor<{2}x{1}>
    %p = graph.concat {5} axis = {8} : {7} -> tensor<{2}xi64>
    return %v, %p : tensor<{2}x{1}>, tensor<{2}xi64>
  })",
      rows, type, all, text, values, places, ofValue, ofPlace, axis);
}

static DifferentialOptions oneKernel(Tolerance tolerance = {},
                                     bool special = false) {
  DifferentialOptions options;
  options.tolerance = tolerance;
  options.special = special;
  options.kernels = 1;
  options.host = true;
  return options;
}

TEST(RowGather, ValuesAndPlaces) {
  for (const char *type : {"bf16", "f32", "i8"})
    for (int64_t rows : {1, 9, 33})
      for (int axis : {0, 1})
        checkGraph(bestOf(rows, axis, type), oneKernel({}, /*special=*/true));
}

/// Statistics of rows of `columns` f32; `others` are operands of another kind.
static std::string statistics(int64_t rows, int64_t columns,
                              const char *others = "", int64_t count = 2) {
  return llvm::formatv(
      R"(func.func @f(%x: tensor<{0}x{1}xf32>) -> (tensor<{0}x{3}xf32>, tensor<{0}x{1}xf32>) {{
    %a = graph.reduce max %x [1] : tensor<{0}x{1}xf32> -> tensor<{0}xf32>
    %b = graph.reduce min %x [1] : tensor<{0}x{1}xf32> -> tensor<{0}xf32>
    %c = graph.reshape %a : tensor<{0}xf32> -> tensor<{0}x1xf32>
    %d = graph.reshape %b : tensor<{0}xf32> -> tensor<{0}x1xf32>
    %two = graph.slice %x offsets [0, 0] strides [1, 1] : tensor<{0}x{1}xf32> -> tensor<{0}x2xf32>
    %e = graph.broadcast %a [0] : tensor<{0}xf32> -> tensor<{0}x{1}xf32>
    %f = graph.sub %x, %e : tensor<{0}x{1}xf32>
    %y = graph.concat %c, %d{2} axis = 1 : tensor<{0}x1xf32>, tensor<{0}x1xf32>{4} -> tensor<{0}x{3}xf32>
    return %y, %f : tensor<{0}x{3}xf32>, tensor<{0}x{1}xf32>
  })",
      rows, columns, others, count,
      *others ? llvm::formatv(", tensor<{0}x2xf32>", rows).str() : "");
}

// In registers, as one run, in chunks, by several blocks.
TEST(RowGather, FormsOfRows) {
  for (auto [rows, columns] :
       {std::pair(7, 64), {70, 129}, {3, 4096}, {2, 40001}, {1, 2}, {1, 5}})
    checkGraph(statistics(rows, columns), oneKernel());
  checkGraph(statistics(0, 5));
}

// What is more than one value a row stays apart.
TEST(RowGather, LongerPieces) {
  checkGraph(statistics(9, 64, ", %two", 4), {{0, 0}, false, 3});
}
