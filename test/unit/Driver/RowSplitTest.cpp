//===- RowSplitTest.cpp - rows shared by several blocks -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few long rows: blocks reduce parts of the columns and the last one combines
// them. A part is at least 64 KB, so sizes here are just above a multiple.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec;
using namespace fusec::test;

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
