//===- TopKTest.cpp - sorted lists as states of rows ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec::test;

/// The indices of the `k` first elements along `dim` of a tensor of `shape`
/// (with x between the sizes) and element type `type`, as outputs of their own.
static std::string topK(const char *kind, int k, llvm::StringRef shape,
                        unsigned dim, const char *type) {
  llvm::SmallVector<llvm::StringRef> sizes;
  shape.split(sizes, 'x');
  sizes.erase(sizes.begin() + dim);
  std::string kept;
  for (llvm::StringRef size : sizes)
    kept += (size + "x").str();
  std::string result = "tensor<" + kept + "i64>", types, names;
  for (int i = 0; i < k; ++i) {
    types += (i ? ", " : "") + result;
    names += (i ? ", %i#" : "%i#") + std::to_string(i);
  }
  std::string many = k > 1 ? ":" + std::to_string(k) : "";
  return llvm::formatv(
      R"(func.func @f(%x: tensor<{0}x{1}>) -> ({2}) {{
    %i{3} = graph.top_k {4} %x dimension = {5} : tensor<{0}x{1}> -> {2}
    return {6} : {2}
  })",
      shape, type, types, many, kind, dim, k > 1 ? names : "%i");
}

/// Integers below `limit`, floats with NaN, infinities and zeros of both signs
/// among them; no tolerance for places.
static DifferentialOptions valuesBelow(int64_t limit = 100, bool host = false) {
  DifferentialOptions options;
  options.special = true;
  options.integerLimit = limit;
  options.host = host;
  return options;
}

TEST(TopK, AllTypes) {
  for (const char *type :
       {"f32", "f64", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i8", "ui8", "i16",
        "ui16", "i32", "ui32", "i64", "ui64"})
    for (const char *kind : {"max", "min"})
      checkGraph(topK(kind, 5, "9x77", 1, type), valuesBelow(100, true));
}

TEST(TopK, Counts) {
  for (int k : {1, 2, 3, 4, 8, 15, 16, 33, 64})
    checkGraph(topK("max", k, "3x65", 1, "bf16"), valuesBelow());
  checkGraph(topK("min", 7, "5x7", 1, "f16"), valuesBelow());
  checkGraph(topK("max", 1, "5x1", 1, "f32"), valuesBelow(100, true));
}

TEST(TopK, Ties) {
  // Integers below 3 repeat: places decide.
  for (const char *kind : {"max", "min"})
    checkGraph(topK(kind, 8, "7x1025", 1, "i8"), valuesBelow(3));
  checkGraph(topK("max", 8, "2x40000", 1, "i32"), valuesBelow(1));
}

TEST(TopK, RowSizes) {
  for (const char *shape : {"5x33", "3x257", "2x1023", "2x1025", "67x97",
                            "2x8192", "1x8193", "300x512"})
    checkGraph(topK("max", 8, shape, 1, "bf16"), valuesBelow());
}

TEST(TopK, LongRows) {
  // Split over blocks, with places of more than 16 bits; a warp a row.
  checkGraph(topK("max", 8, "1x200001", 1, "bf16"));
  checkGraph(topK("min", 3, "4300x1030", 1, "ui8"), valuesBelow(250));
}

TEST(TopK, OtherAxes) {
  checkGraph(topK("max", 4, "37x5x8", 0, "f32"), valuesBelow());
  checkGraph(topK("max", 4, "2x300x64", 1, "bf16"), valuesBelow());
  checkGraph(topK("min", 2, "3x9x7", 1, "i16"));
  // Long lists of wide places leave room for fewer warps.
  checkGraph(topK("max", 25, "40x70", 0, "f64"));
}

TEST(TopK, WideElements) {
  // A thread has one list: rows of chunks, of odd length, split over blocks.
  checkGraph(topK("max", 16, "3x1025", 1, "f64"), valuesBelow());
  checkGraph(topK("max", 3, "2x8193", 1, "i64"), valuesBelow());
  checkGraph(topK("min", 4, "1x200001", 1, "ui64"), valuesBelow());
  checkGraph(topK("min", 5, "3x300x64", 1, "f64"), valuesBelow());
}

TEST(TopK, NoRows) { checkGraph(topK("max", 2, "0x9", 1, "f32")); }

TEST(TopK, WithOtherReductions) {
  // Routing: the three largest of a softmax.
  checkGraph(
      R"(func.func @f(%x: tensor<41x160xf32>) -> (tensor<41x160xf32>, tensor<41xi32>, tensor<41xi32>, tensor<41xi32>) {
    %p = graph.softmax %x [1] : tensor<41x160xf32>
    %i:3 = graph.top_k max %x dimension = 1 : tensor<41x160xf32> -> tensor<41xi32>, tensor<41xi32>, tensor<41xi32>
    return %p, %i#0, %i#1, %i#2 : tensor<41x160xf32>, tensor<41xi32>, tensor<41xi32>, tensor<41xi32>
  })",
      {{2e-6, 1e-9}, false, 1, 1});
}

// Kernels of one program: each needs the function that sorts.
TEST(TopK, OneOfTheOther) {
  checkGraph(
      R"(func.func @f(%x: tensor<40x70xf32>) -> (tensor<40xi64>, tensor<i64>) {
    %i:2 = graph.top_k max %x dimension = 1 : tensor<40x70xf32> -> tensor<40xi64>, tensor<40xi64>
    %c = graph.cast %i#1 : tensor<40xi64> -> tensor<40xf32>
    %j:2 = graph.top_k min %c dimension = 0 : tensor<40xf32> -> tensor<i64>, tensor<i64>
    return %i#0, %j#1 : tensor<40xi64>, tensor<i64>
  })",
      valuesBelow(100, true));
}
