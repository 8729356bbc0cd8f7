//===- ProductStatisticsTest.cpp - reductions beside a product ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product, an epilogue, and reductions of each row or column of what it
// makes, in one kernel: ragged sizes, all main loops, rows and columns over
// several tiles, what is made of a complete one, and graphs that must stay two
// kernels.
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
/// What is left.
enum class Axis { Rows, Columns, Both };

/// %s<name> of what is left of %w.
std::string reduction(What what, Size s, const std::string &wide, bool columns,
                      const std::string &name) {
  int axis = columns ? 0 : 1;
  std::string full = formatv("tensor<{0}x{1}x{2}>", s.m, s.n, wide);
  std::string left = formatv("tensor<{0}x{1}>", columns ? s.n : s.m, wide);
  auto reduce = [&](const char *kind, const char *from, const std::string &to) {
    return formatv("  %{3} = graph.reduce {0} %{4}{6} [{5}] : {1} -> {2}\n",
                   kind, full, left, to, from, axis,
                   std::string(from) == "q" ? name : std::string())
        .str();
  };
  std::string result = "s" + name;
  auto made = [&](const char *op) {
    return formatv("  %q{0} = graph.{1} : {2}\n", name, op, full).str();
  };
  switch (what) {
  case What::Squares:
    return made("mul %w, %w") + reduce("sum", "q", result);
  case What::Max:
    return reduce("max", "w", result);
  case What::Min:
    return reduce("min", "w", result);
  case What::Amax:
    return made("abs %w") + reduce("max", "q", result);
  case What::Sum:
    return reduce("sum", "w", result);
  case What::Position:
    return formatv("  %i{4} = graph.arg_reduce max %w dimension = {3} : {0} "
                   "-> tensor<{1}xi64>\n  %{5} = graph.cast %i{4} : "
                   "tensor<{1}xi64> -> {2}\n",
                   full, columns ? s.n : s.m, left, axis, name, result)
        .str();
  case What::Two:
    return made("mul %w, %w") + reduce("sum", "q", result + "1") +
           reduce("max", "w", result + "2") +
           formatv("  %{1} = graph.add %{1}1, %{1}2 : {0}\n", left, result)
               .str();
  }
  return "";
}

/// Options of a product.
struct Form {
  Axis axis = Axis::Rows;
  /// Without y.
  bool alone = false;
  /// Operands that are turned.
  bool turnA = false, turnB = false;
  bool special = false;
  /// Multiprocessors that the kernel is for; 0: as many as there are.
  unsigned multiprocessors = 0;
};

/// y = x . w + r and reductions of it.
std::string product(Size s, const std::string &type, What what,
                    const Form &form = {}) {
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
  std::string a = formatv("tensor<{0}x{1}x{2}>", form.turnA ? s.k : s.m,
                          form.turnA ? s.m : s.k, type);
  std::string b = formatv("tensor<{0}x{1}x{2}>", form.turnB ? s.n : s.k,
                          form.turnB ? s.k : s.n, type);
  std::string names, types, text;
  auto add = [&](const std::string &name, const std::string &type) {
    names += (names.empty() ? "%" : ", %") + name;
    types += (types.empty() ? "" : ", ") + type;
  };
  if (!form.alone)
    add("y", full);
  if (form.axis != Axis::Columns) {
    text += reduction(what, s, wide, /*columns=*/false, "r");
    add("sr", formatv("tensor<{0}x{1}>", s.m, wide));
  }
  if (form.axis != Axis::Rows) {
    text += reduction(what, s, wide, /*columns=*/true, "c");
    add("sc", formatv("tensor<{0}x{1}>", s.n, wide));
  }
  return formatv("func.func @f(%a: {0}, %b: {1}, %r: {2}{3}) -> ({4}) {{\n"
                 "  %p = graph.contract %a, %b batch [] x [] contract [{5}] x "
                 "[{6}] : {0}, {1} -> {2}\n"
                 "  %y = graph.add %p, %r : {2}\n",
                 a, b, full, zero, types, form.turnA ? 0 : 1,
                 form.turnB ? 1 : 0)
             .str() +
         cast + text + formatv("  return {0} : {1}\n}\n", names, types).str();
}

/// Results below 4 k + 2, rounded to 8 bits or more, squared and summed.
Tolerance tolerance(Size s, const std::string &type) {
  double unit = type == "f32" ? 0x1p-20 : type == "f16" ? 0x1p-9 : 0x1p-6;
  double most = 4.0 * double(s.k) + 2;
  return {4 * unit, unit * most * most * double(std::max(s.m, s.n))};
}

void check(Size s, const std::string &type, What what, const Form &form = {}) {
  SCOPED_TRACE(formatv("{0}x{1}x{2} {3}", s.m, s.n, s.k, type).str());
  DifferentialOptions options;
  options.tolerance = type == "i8" ? Tolerance() : tolerance(s, type);
  options.kernels = 1;
  options.seed = uint64_t(s.m * 31 + s.n);
  options.special = form.special;
  if (form.multiprocessors) {
    options.target = TargetInfo::h200();
    options.target->multiprocessors = form.multiprocessors;
  }
  checkGraph(product(s, type, what, form), options);
}

} // namespace

class ProductStatistics : public testing::TestWithParam<Axis> {};
INSTANTIATE_TEST_SUITE_P(Of, ProductStatistics,
                         testing::Values(Axis::Rows, Axis::Columns, Axis::Both),
                         [](const auto &info) {
                           return info.param == Axis::Rows      ? "Rows"
                                  : info.param == Axis::Columns ? "Columns"
                                                                : "Both";
                         });

// The Warpgroup loop: tiles that end anywhere, several of them each way.
TEST_P(ProductStatistics, RaggedHalves) {
  for (Size s : {Size{9, 8, 1},
                 {31, 40, 32},
                 {33, 128, 31},
                 {67, 136, 96},
                 {127, 127, 33},
                 {129, 257, 65},
                 {193, 513, 24}})
    for (const char *type : {"bf16", "f16"})
      check(s, type, What::Squares, {GetParam()});
}

// Copied by the copy engine, in either order, with halves of a tile that are
// past the columns, and more tiles than a block has.
TEST_P(ProductStatistics, Boxes) {
  for (auto [turnA, turnB] :
       {std::pair(false, false), {true, false}, {false, true}})
    for (Size s : {Size{128, 256, 64}, {264, 328, 128}, {200, 960, 40}})
      check(s, "bf16", What::Squares, {GetParam(), false, turnA, turnB});
}

// Blocks that have many tiles, alone and in clusters of two.
TEST_P(ProductStatistics, ManyTilesABlock) {
  for (unsigned multiprocessors : {1u, 4u})
    for (Size s : {Size{392, 712, 136}, {700, 264, 64}})
      check(s, "bf16", What::Squares,
            {GetParam(), false, false, true, false, multiprocessors});
}

// Clusters that divide k: a piece of 32 columns is a part of a row.
TEST_P(ProductStatistics, DividedSums) {
  check({136, 136, 2048}, "bf16", What::Squares,
        {GetParam(), false, false, true});
  check({72, 264, 4096}, "f16", What::Two, {GetParam()});
}

TEST_P(ProductStatistics, Singles) {
  for (Size s : {Size{8, 8, 3}, {31, 33, 7}, {65, 100, 17}, {130, 129, 20}})
    for (What what : {What::Squares, What::Amax})
      check(s, "f32", what, {GetParam()});
}

TEST_P(ProductStatistics, Bytes) {
  for (Size s : {Size{32, 48, 64}, {33, 127, 31}, {70, 260, 16}})
    for (What what : {What::Sum, What::Max})
      check(s, "i8", what, {GetParam()});
}

TEST_P(ProductStatistics, EveryReduction) {
  for (What what : {What::Max, What::Min, What::Amax, What::Sum, What::Two})
    check({67, 300, 24}, "f16", what, {GetParam()});
  check({67, 300, 24}, "f32", What::Position, {GetParam()});
}

TEST_P(ProductStatistics, WithoutTheResult) {
  for (const char *type : {"bf16", "f32"})
    check({67, 136, 96}, type, What::Squares, {GetParam(), /*alone=*/true});
}

TEST_P(ProductStatistics, NoTerms) {
  check({33, 40, 0}, "f16", What::Squares, {GetParam()});
}

// NaN, infinities and zeros of both signs meet in every row and column; a
// maximum is exact.
TEST_P(ProductStatistics, SpecialValues) {
  for (const char *type : {"bf16", "f32"})
    for (What what : {What::Max, What::Amax, What::Sum})
      check({35, 72, 2}, type, what,
            {GetParam(), false, false, false, /*special=*/true});
}

// Batches, a row vector that follows from the result, stored by the last block.
TEST(ProductStatisticsOf, NormFactor) {
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
TEST(ProductStatisticsOf, NormStaysApart) {
  std::string text =
      R"(func.func @f(%a: tensor<40x48xbf16>, %b: tensor<48x96xbf16>, %g: tensor<96xbf16>) -> tensor<40x96xbf16> {
    %p = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<40x48xbf16>, tensor<48x96xbf16> -> tensor<40x96xbf16>
    %r = graph.rms_norm %p, %g axis = 1 epsilon = 1.0e-5 : tensor<40x96xbf16>, tensor<96xbf16>
    return %r : tensor<40x96xbf16>
  })";
  checkGraph(text, {{0x1p-5, 0x1p-5}, false, 4, 2});
}

// Columns of batches, what is made of each, and a result that is stored
// turned, whose columns are the product's rows.
TEST(ProductStatisticsOf, ColumnsOfBatches) {
  std::string text =
      R"(func.func @f(%a: tensor<3x40x48xbf16>, %b: tensor<3x48x296xbf16>) -> (tensor<3x40x296xbf16>, tensor<3x296xbf16>) {
    %k = graph.constant dense<0.025> : tensor<3x296xf32>
    %p = graph.contract %a, %b batch [0] x [0] contract [2] x [1] : tensor<3x40x48xbf16>, tensor<3x48x296xbf16> -> tensor<3x40x296xbf16>
    %w = graph.cast %p : tensor<3x40x296xbf16> -> tensor<3x40x296xf32>
    %s = graph.reduce sum %w [1] : tensor<3x40x296xf32> -> tensor<3x296xf32>
    %m = graph.mul %s, %k : tensor<3x296xf32>
    %r = graph.cast %m : tensor<3x296xf32> -> tensor<3x296xbf16>
    return %p, %r : tensor<3x40x296xbf16>, tensor<3x296xbf16>
  })";
  checkGraph(text, {{0x1p-6, 0x1p-3}, false, 3, 1});
  text =
      R"(func.func @f(%a: tensor<2x72x48xbf16>, %b: tensor<2x48x296xbf16>) -> (tensor<2x296x72xbf16>, tensor<2x72xf32>) {
    %p = graph.contract %a, %b batch [0] x [0] contract [2] x [1] : tensor<2x72x48xbf16>, tensor<2x48x296xbf16> -> tensor<2x72x296xbf16>
    %t = graph.transpose %p [0, 2, 1] : tensor<2x72x296xbf16> -> tensor<2x296x72xbf16>
    %w = graph.cast %p : tensor<2x72x296xbf16> -> tensor<2x72x296xf32>
    %s = graph.reduce sum %w [2] : tensor<2x72x296xf32> -> tensor<2x72xf32>
    return %t, %s : tensor<2x296x72xbf16>, tensor<2x72xf32>
  })";
  checkGraph(text, {{0x1p-6, 2}, false, 4, 1});
}

// The gradient of a bias before GELU: rows of several axes are reduced, two
// results are stored, and the last is of a value that is not.
TEST(ProductStatisticsOf, BiasGradient) {
  std::string text =
      R"(func.func @f(%dy: tensor<2x67x40xbf16>, %w: tensor<136x40xbf16>, %x: tensor<2x67x136xbf16>) -> (tensor<2x67x136xbf16>, tensor<2x67x136xbf16>, tensor<136xf32>) {
    %one = graph.constant dense<1.0> : tensor<2x67x136xf32>
    %p = graph.contract %dy, %w batch [] x [] contract [2] x [1] : tensor<2x67x40xbf16>, tensor<136x40xbf16> -> tensor<2x67x136xbf16>
    %g = graph.cast %p : tensor<2x67x136xbf16> -> tensor<2x67x136xf32>
    %v = graph.cast %x : tensor<2x67x136xbf16> -> tensor<2x67x136xf32>
    %l = graph.logistic %v : tensor<2x67x136xf32>
    %m = graph.sub %one, %l : tensor<2x67x136xf32>
    %n = graph.mul %v, %m : tensor<2x67x136xf32>
    %o = graph.add %one, %n : tensor<2x67x136xf32>
    %q = graph.mul %l, %o : tensor<2x67x136xf32>
    %d = graph.mul %g, %q : tensor<2x67x136xf32>
    %e = graph.cast %d : tensor<2x67x136xf32> -> tensor<2x67x136xbf16>
    %s = graph.reduce sum %d [0, 1] : tensor<2x67x136xf32> -> tensor<136xf32>
    return %p, %e, %s : tensor<2x67x136xbf16>, tensor<2x67x136xbf16>, tensor<136xf32>
  })";
  checkGraph(text, {{0x1p-5, 8}, false, 5, 1});
}

// Sums over rows and batches: blocks of a column do not have them.
TEST(ProductStatisticsOf, BatchesStayApart) {
  std::string text =
      R"(func.func @f(%a: tensor<2x40x48xf16>, %b: tensor<2x48x96xf16>) -> (tensor<2x40x96xf16>, tensor<96xf16>) {
    %p = graph.contract %a, %b batch [0] x [0] contract [2] x [1] : tensor<2x40x48xf16>, tensor<2x48x96xf16> -> tensor<2x40x96xf16>
    %r = graph.reduce sum %p [0, 1] : tensor<2x40x96xf16> -> tensor<96xf16>
    return %p, %r : tensor<2x40x96xf16>, tensor<96xf16>
  })";
  checkGraph(text, {{0x1p-8, 0.5}, false, 5, 2});
}

// Counters return to zero by themselves, and no order depends on time.
static void runAgain(const std::string &text) {
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

TEST(ProductStatisticsOf, SameBitsAgain) {
  runAgain(product({100, 520, 16}, "f32", What::Squares, {Axis::Both}));
  runAgain(product({264, 520, 64}, "bf16", What::Squares, {Axis::Both}));
}
