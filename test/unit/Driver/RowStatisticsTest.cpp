//===- RowStatisticsTest.cpp - reductions of a product's rows -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product, an epilogue, and reductions of each row of what it makes, in one
// kernel: ragged sizes, all main loops, rows over several tiles, what is made
// of a complete row, and graphs that must stay two kernels.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Runtime/Executable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::test;
using llvm::formatv;

namespace {

struct Size {
  int64_t m, n, k;
};

/// What is reduced, of the product's result %y in `wide` (f32, or i32).
enum class What { Squares, Max, Min, Amax, Sum, Position, Two };

std::string reduction(What what, Size s, const std::string &wide) {
  std::string full = formatv("tensor<{0}x{1}x{2}>", s.m, s.n, wide);
  std::string row = formatv("tensor<{0}x{1}>", s.m, wide);
  auto reduce = [&](const char *kind, const char *from, const char *to) {
    return formatv("  {3} = graph.reduce {0} {4} [1] : {1} -> {2}\n", kind,
                   full, row, to, from)
        .str();
  };
  switch (what) {
  case What::Squares:
    return formatv("  %q = graph.mul %w, %w : {0}\n", full).str() +
           reduce("sum", "%q", "%s");
  case What::Max:
    return reduce("max", "%w", "%s");
  case What::Min:
    return reduce("min", "%w", "%s");
  case What::Amax:
    return formatv("  %q = graph.abs %w : {0}\n", full).str() +
           reduce("max", "%q", "%s");
  case What::Sum:
    return reduce("sum", "%w", "%s");
  case What::Position:
    return formatv("  %s0 = graph.arg_reduce max %w dimension = 1 : {0} -> "
                   "tensor<{1}xi64>\n  %s = graph.cast %s0 : tensor<{1}xi64> "
                   "-> {2}\n",
                   full, s.m, row)
        .str();
  case What::Two:
    return formatv("  %q = graph.mul %w, %w : {0}\n", full).str() +
           reduce("sum", "%q", "%s1") + reduce("max", "%w", "%s2") +
           formatv("  %s = graph.add %s1, %s2 : {0}\n", row).str();
  }
  return "";
}

/// y = x . w + r and a reduction of its rows; without y with `alone`. Either
/// operand may be turned.
std::string product(Size s, const std::string &type, What what,
                    bool alone = false, bool turnA = false,
                    bool turnB = false) {
  bool isInteger = type == "i8";
  std::string result = isInteger ? "i32" : type,
              wide = isInteger ? "i32" : "f32";
  std::string full = formatv("tensor<{0}x{1}x{2}>", s.m, s.n, result);
  std::string cast =
      result == wide
          ? formatv("  %w = graph.add %y, %z : {0}\n", full).str()
          : formatv("  %w = graph.cast %y : {0} -> tensor<{1}x{2}x{3}>\n", full,
                    s.m, s.n, wide)
                .str();
  std::string zero =
      result == wide ? formatv(", %z: {0}", full).str() : std::string();
  std::string a = formatv("tensor<{0}x{1}x{2}>", turnA ? s.k : s.m,
                          turnA ? s.m : s.k, type);
  std::string b = formatv("tensor<{0}x{1}x{2}>", turnB ? s.n : s.k,
                          turnB ? s.k : s.n, type);
  std::string row = formatv("tensor<{0}x{1}>", s.m, wide);
  std::string outputs = alone ? row : full + ", " + row;
  return formatv("func.func @f(%a: {0}, %b: {1}, %r: {2}{3}) -> ({4}) {{\n"
                 "  %p = graph.contract %a, %b batch [] x [] contract [{5}] x "
                 "[{6}] : {0}, {1} -> {2}\n"
                 "  %y = graph.add %p, %r : {2}\n",
                 a, b, full, zero, outputs, turnA ? 0 : 1, turnB ? 1 : 0)
             .str() +
         cast + reduction(what, s, wide) +
         formatv("  return {0}%s : {1}\n}\n", alone ? "" : "%y, ", outputs)
             .str();
}

/// Results below 4 k + 2, rounded to 8 bits or more, squared and summed.
Tolerance tolerance(Size s, const std::string &type) {
  double unit = type == "f32" ? 0x1p-20 : type == "f16" ? 0x1p-9 : 0x1p-6;
  double most = 4.0 * double(s.k) + 2;
  return {4 * unit, unit * most * most * double(s.n)};
}

void check(Size s, const std::string &type, What what, bool alone = false,
           bool turnA = false, bool turnB = false, bool special = false) {
  SCOPED_TRACE(formatv("{0}x{1}x{2} {3}", s.m, s.n, s.k, type).str());
  DifferentialOptions options;
  options.tolerance = type == "i8" ? Tolerance() : tolerance(s, type);
  options.kernels = 1;
  options.seed = uint64_t(s.m * 31 + s.n);
  options.special = special;
  checkGraph(product(s, type, what, alone, turnA, turnB), options);
}

} // namespace

// The Warpgroup loop: tiles that end anywhere, several of them each way.
TEST(RowStatistics, RaggedHalves) {
  for (Size s : {Size{9, 8, 1},
                 {31, 40, 32},
                 {33, 128, 31},
                 {67, 136, 96},
                 {127, 127, 33},
                 {129, 257, 65},
                 {193, 513, 24}})
    for (const char *type : {"bf16", "f16"})
      check(s, type, What::Squares);
}

// Copied by the copy engine, in either order, with halves of a tile that are
// past the columns, and more tiles than a block has.
TEST(RowStatistics, Boxes) {
  for (auto [turnA, turnB] :
       {std::pair(false, false), {true, false}, {false, true}})
    for (Size s : {Size{128, 256, 64}, {264, 328, 128}, {200, 960, 40}})
      check(s, "bf16", What::Squares, false, turnA, turnB);
}

// Clusters that divide k: a piece of 32 columns is a part of a row.
TEST(RowStatistics, DividedSums) {
  check({136, 136, 2048}, "bf16", What::Squares, false, false, true);
  check({72, 264, 4096}, "f16", What::Two);
}

TEST(RowStatistics, Singles) {
  for (Size s : {Size{8, 8, 3}, {31, 33, 7}, {65, 100, 17}, {130, 129, 20}})
    for (What what : {What::Squares, What::Amax})
      check(s, "f32", what);
}

TEST(RowStatistics, Bytes) {
  for (Size s : {Size{32, 48, 64}, {33, 127, 31}, {70, 260, 16}})
    for (What what : {What::Sum, What::Max})
      check(s, "i8", what);
}

TEST(RowStatistics, EveryReduction) {
  for (What what : {What::Max, What::Min, What::Amax, What::Sum, What::Two})
    check({67, 300, 24}, "f16", what);
  check({67, 300, 24}, "f32", What::Position);
}

TEST(RowStatistics, WithoutTheResult) {
  for (const char *type : {"bf16", "f32"})
    check({67, 136, 96}, type, What::Squares, /*alone=*/true);
}

TEST(RowStatistics, NoTerms) { check({33, 40, 0}, "f16", What::Squares); }

// NaN, infinities and zeros of both signs meet in every row; a maximum is
// exact.
TEST(RowStatistics, SpecialValues) {
  for (const char *type : {"bf16", "f32"})
    for (What what : {What::Max, What::Amax, What::Sum})
      check({35, 72, 2}, type, what, false, false, false, /*special=*/true);
}

// Batches, a row vector that follows from the result, stored by the last block.
TEST(RowStatistics, NormFactor) {
  std::string text =
      R"(func.func @f(%a: tensor<3x40x48xbf16>, %b: tensor<3x48x296xbf16>) -> (tensor<3x40x296xbf16>, tensor<3x40xf32>) {
    %e = graph.constant dense<1.0e-5> : tensor<3x40xf32>
    %n = graph.constant dense<296.0> : tensor<3x40xf32>
    %p = graph.contract %a, %b batch [0] x [0] contract [2] x [1] : tensor<3x40x48xbf16>, tensor<3x48x296xbf16> -> tensor<3x40x296xbf16>
    %w = graph.cast %p : tensor<3x40x296xbf16> -> tensor<3x40x296xf32>
    %q = graph.mul %w, %w : tensor<3x40x296xf32>
    %s = graph.reduce sum %q [2] : tensor<3x40x296xf32> -> tensor<3x40xf32>
    %m = graph.div %s, %n : tensor<3x40xf32>
    %v = graph.add %m, %e : tensor<3x40xf32>
    %r = graph.rsqrt %v : tensor<3x40xf32>
    return %p, %r : tensor<3x40x296xbf16>, tensor<3x40xf32>
  })";
  checkGraph(text, {{0x1p-6, 0x1p-3}, false, 3, 1});
}

// A norm of the result reads it again anyway: the reduction stays with it.
TEST(RowStatistics, NormStaysApart) {
  std::string text =
      R"(func.func @f(%a: tensor<40x48xbf16>, %b: tensor<48x96xbf16>, %g: tensor<96xbf16>) -> tensor<40x96xbf16> {
    %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<40x48xbf16>, tensor<48x96xbf16> -> tensor<40x96xbf16>
    %r = graph.rms_norm %p, %g axis = 1 epsilon = 1.0e-5 : tensor<40x96xbf16>, tensor<96xbf16>
    return %r : tensor<40x96xbf16>
  })";
  checkGraph(text, {{0x1p-5, 0x1p-5}, false, 4, 2});
}

// Column sums would need another order of the blocks.
TEST(RowStatistics, ColumnsStayApart) {
  std::string text =
      R"(func.func @f(%a: tensor<40x48xf16>, %b: tensor<48x96xf16>) -> (tensor<40x96xf16>, tensor<96xf16>) {
    %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<40x48xf16>, tensor<48x96xf16> -> tensor<40x96xf16>
    %r = graph.reduce sum %p [0] : tensor<40x96xf16> -> tensor<96xf16>
    return %p, %r : tensor<40x96xf16>, tensor<96xf16>
  })";
  checkGraph(text, {{0x1p-8, 0.5}, false, 5, 2});
}

// Counters return to zero by themselves, and no order depends on time.
TEST(RowStatistics, SameBitsAgain) {
  std::string text = product({100, 520, 16}, "f32", What::Squares);
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  auto compiled = driver::compile(*module, {});
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  auto loaded = runtime::Executable::create(std::move(compiled->program),
                                            runtime::createEmulatorDevice());
  ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
  std::vector<HostTensor> tensors;
  std::vector<llvm::ArrayRef<std::byte>> bytes;
  auto function = *module->getOps<func::FuncOp>().begin();
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    tensors.push_back(randomTensor(cast<RankedTensorType>(type), {}, i));
  for (const HostTensor &tensor : tensors)
    bytes.push_back({tensor.data(), tensor.bytes->size()});
  std::vector<std::vector<std::byte>> first;
  for (int run = 0; run < 3; ++run) {
    auto outputs = runtime::runWithHostData(*loaded, bytes);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    if (run == 0)
      first.assign(outputs->begin(), outputs->end());
    for (auto [one, other] : llvm::zip(first, *outputs))
      EXPECT_TRUE(llvm::equal(one, other));
  }
}
