//===- RowTablesTest.cpp - rows that are looked up in tables --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embeddings: rows of tables at computed places, reduced and normalised in one
// kernel. Places leave the table at both ends: they count from the end, or are
// clamped (docs/semantics.md).
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec;
using namespace fusec::test;

/// The sum of rows of a table of 31 and of one of 2, and of a row by place,
/// with `norm` of it.
static std::string embedding(int64_t batch, int64_t length, int64_t columns,
                             const char *index, const char *type,
                             const char *norm) {
  std::string all =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}>", batch, length, columns, type);
  std::string places =
      llvm::formatv("tensor<{0}x{1}x{2}>", batch, length, index);
  std::string row = llvm::formatv("tensor<{0}x{1}>", columns, type);
  return llvm::formatv(
      R"(func.func @f(%i: {0}, %j: {0}, %words: tensor<31x{3}x{4}>, %kinds: tensor<2x{3}x{4}>, %places: tensor<{2}x{3}x{4}>, %g: {5}) -> {1} {{
    %fifty = graph.constant dense<50> : {0}
    %w = graph.sub %i, %fifty : {0}
    %k = graph.sub %j, %fifty : {0}
    %a = graph.gather %words, %w axis = 0 : tensor<31x{3}x{4}>, {0} -> {1}
    %b = graph.gather %kinds, %k axis = 0 : tensor<2x{3}x{4}>, {0} -> {1}
    %c = graph.broadcast %places [1, 2] : tensor<{2}x{3}x{4}> -> {1}
    %d = graph.add %a, %b : {1}
    %e = graph.add %d, %c : {1}
    %r = {6}
    return %r : {1}
  })",
      places, all, length, columns, type, row,
      llvm::formatv(norm, all, row).str());
}

static const char *kLayerNorm =
    "graph.layer_norm %e, %g, %g axis = 2 epsilon = 1.0e-5 : {0}, {1}, {1}";
static const char *kRmsNorm =
    "graph.rms_norm %e, %g axis = 2 epsilon = 1.0e-5 : {0}, {1}";
static const char *kSoftmax = "graph.softmax %e [2] : {0}";

// Sums of three values below 2 lie below 8 and are rounded in between or not: 8
// units of 2^-11 (f16) or 2^-8 apart. Their deviation is 2 and gamma below 2,
// so that is what results differ by, and as much again for their own rounding.
// In f32 it is the sums of up to a thousand terms.
static DifferentialOptions oneKernel(llvm::StringRef type) {
  double unit = type == "f32" ? 1e-4 : type == "f16" ? 0x1p-7 : 0x1p-4;
  DifferentialOptions options{{unit, unit}};
  options.kernels = 1;
  options.host = true;
  return options;
}

TEST(RowTables, Norms) {
  for (const char *norm : {kLayerNorm, kRmsNorm, kSoftmax})
    for (const char *type : {"f16", "bf16", "f32"})
      for (const char *index : {"i64", "i32"})
        checkGraph(embedding(3, 5, 96, index, type, norm), oneKernel(type));
}

// Whole vectors, none, rows beyond the last block, many chunks.
TEST(RowTables, Sizes) {
  for (auto [batch, length, columns] : {std::tuple(1, 1, 1),
                                        {1, 3, 2},
                                        {3, 11, 31},
                                        {3, 11, 32},
                                        {3, 11, 33},
                                        {1, 9, 384},
                                        {1, 9, 1023},
                                        {1, 2, 1024},
                                        {2, 1, 1025}})
    checkGraph(embedding(batch, length, columns, "i64", "f16", kLayerNorm),
               oneKernel("f16"));
}

TEST(RowTables, Empty) {
  checkGraph(embedding(0, 5, 32, "i64", "f16", kLayerNorm));
  checkGraph(embedding(2, 5, 0, "i64", "f16", kSoftmax));
}

// Whole rows that are joined, and reduced beside it.
TEST(RowTables, Joined) {
  checkGraph(
      R"(func.func @f(%i: tensor<9xi32>, %j: tensor<9xi64>, %t: tensor<13x40xbf16>, %u: tensor<7x24xbf16>) -> (tensor<9x64xbf16>, tensor<9xbf16>) {
    %a = graph.gather %t, %i axis = 0 : tensor<13x40xbf16>, tensor<9xi32> -> tensor<9x40xbf16>
    %b = graph.gather %u, %j axis = 0 : tensor<7x24xbf16>, tensor<9xi64> -> tensor<9x24xbf16>
    %c = graph.concat %a, %b axis = 1 : tensor<9x40xbf16>, tensor<9x24xbf16> -> tensor<9x64xbf16>
    %m = graph.reduce max %c [1] : tensor<9x64xbf16> -> tensor<9xbf16>
    return %c, %m : tensor<9x64xbf16>, tensor<9xbf16>
  })",
      oneKernel("bf16"));
}
