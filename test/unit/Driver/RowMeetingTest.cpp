//===- RowMeetingTest.cpp - rows that blocks share and that meet ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short rows on a machine without clusters, which would keep them: a share is
// this many bytes at least, so that small tensors have several blocks.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "fusec/Driver/Compile.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace fusec;
using namespace fusec::test;

namespace {

using Sizes = llvm::ArrayRef<int64_t>;

TargetInfo machine(int64_t bytes, unsigned multiprocessors = 20) {
  TargetInfo target = TargetInfo::a100();
  target.multiprocessors = multiprocessors;
  target.rowBlockBytes = bytes;
  return target;
}

std::string type(Sizes shape, llvm::StringRef element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element.str() + ">";
}

std::string list(Sizes values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

/// `body` as one region of %x of `shape`, reduced along `axes`: results %y of
/// full size and %m, one value a row. $T, $R, $A, $K and $N are the types, the
/// axes, the others and the number of elements in a row.
std::string region(Sizes shape, Sizes axes, llvm::StringRef element,
                   llvm::StringRef body) {
  llvm::SmallVector<int64_t> row, kept;
  int64_t count = 1;
  for (auto [i, size] : llvm::enumerate(shape))
    if (llvm::is_contained(axes, int64_t(i))) {
      count *= size;
    } else {
      row.push_back(size);
      kept.push_back(i);
    }
  std::string t = type(shape, element), r = type(row, element), a = list(axes),
              k = list(kept), n = std::to_string(count) + ".0",
              text = body.str();
  for (auto [mark, with] :
       {std::pair("$T", &t), {"$R", &r}, {"$A", &a}, {"$K", &k}, {"$N", &n}})
    for (size_t at; (at = text.find(mark)) != std::string::npos;)
      text.replace(at, 2, *with);
  return llvm::formatv(R"(func.func @f(%a: {0}) -> ({0}, {1}) {{
  %0:2 = graph.fusion(%x = %a) : ({0}) -> ({0}, {1}) {{
{2}
    graph.yield %y, %m : {0}, {1}
  }
  return %0#0, %0#1 : {0}, {1}
})",
                       t, r, text)
      .str();
}

constexpr const char *kNorm = R"(
    %n = graph.constant dense<$N> : $R
    %s = graph.reduce sum %x $A : $T -> $R
    %m = graph.div %s, %n : $R
    %b = graph.broadcast %m $K : $R -> $T
    %d = graph.sub %x, %b : $T
    %q = graph.mul %d, %d : $T
    %v = graph.reduce sum %q $A : $T -> $R
    %w = graph.div %v, %n : $R
    %e = graph.constant dense<1.0e-02> : $R
    %z = graph.add %w, %e : $R
    %t = graph.rsqrt %z : $R
    %c = graph.broadcast %t $K : $R -> $T
    %p = graph.mul %d, %c : $T
    %y = graph.relu %p : $T)";

/// The largest and the least of each row: no pair, two states.
constexpr const char *kRange = R"(
    %m = graph.reduce max %x $A : $T -> $R
    %s = graph.reduce min %x $A : $T -> $R
    %b = graph.broadcast %m $K : $R -> $T
    %c = graph.broadcast %s $K : $R -> $T
    %d = graph.sub %x, %c : $T
    %y = graph.add %d, %b : $T)";

/// Blocks of the one launch of `text` that wait for each other; 0 if they do
/// not.
uint64_t waitingBlocks(const std::string &text, const TargetInfo &target) {
  mlir::DialectRegistry registry;
  driver::registerDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  driver::CompileOptions options;
  options.target = target;
  auto compiled = driver::compile(*module, options);
  if (!compiled) {
    ADD_FAILURE() << llvm::toString(compiled.takeError());
    return 0;
  }
  const runtime::Program &program = compiled->program;
  EXPECT_EQ(program.steps.size(), 1u);
  const auto &launch = std::get<runtime::Launch>(program.steps.front());
  return program.kernels[launch.kernel].cooperative ? launch.grid[0] : 0;
}

void check(const std::string &text, Tolerance tolerance, bool special = false) {
  for (int64_t bytes : {32, 300}) {
    DifferentialOptions options{tolerance, special, uint64_t(bytes),
                                /*kernels=*/1};
    options.target = machine(bytes);
    options.sameBitsApart = true;
    EXPECT_GT(waitingBlocks(text, *options.target), 1u) << text;
    checkGraph(text, options);
  }
}

} // namespace

TEST(RowMeeting, ChannelsLast) {
  for (auto [pixels, channels] :
       {std::pair<int64_t, int64_t>{131, 64}, {257, 37}, {1000, 8}, {4099, 12}})
    check(region({pixels, channels}, {0}, "f32", kNorm), {1e-4, 2e-5});
  check(region({3, 67, 24}, {0, 1}, "f16", kRange), {5e-3, 5e-3});
}

TEST(RowMeeting, ImagesByThemselves) {
  check(region({2, 511, 24}, {1}, "f32", kNorm), {1e-4, 2e-5});
}

// Channels of a group between rows.
TEST(RowMeeting, GroupsOfChannels) {
  struct Case {
    int64_t pixels, groups, each;
  };
  for (Case c : {Case{131, 32, 10}, {61, 5, 3}, {300, 2, 2}, {29, 3, 15}})
    check(region({2, c.pixels, c.groups, c.each}, {1, 3}, "f32", kNorm),
          {1e-4, 2e-5});
}

// Rows contiguous, whole or in runs of at least 64 bytes.
TEST(RowMeeting, ChannelsFirst) {
  check(region({4, 3, 401}, {0, 2}, "f32", kNorm), {1e-4, 2e-5});
  check(region({3, 5, 256}, {0, 2}, "bf16", kRange), {0.05, 0.05});
  check(region({1, 5003}, {1}, "f32", kNorm), {1e-4, 2e-5});
}

TEST(RowMeeting, ElementTypes) {
  for (const char *element : {"f64", "i8", "i64"})
    check(region({301, 12}, {0}, element, kRange), {0.02, 0.02});
  for (const char *element : {"f16", "bf16", "f64", "ui8", "i16", "ui32"})
    check(region({2, 150, 3, 4}, {1, 3}, element, kRange), {0.02, 0.02});
}

TEST(RowMeeting, SpecialValues) {
  check(region({301, 12}, {0}, "f32", kNorm), {1e-4, 2e-5}, /*special=*/true);
  check(region({2, 150, 4, 6}, {1, 3}, "f32", kNorm), {1e-4, 2e-5}, true);
  check(region({2, 150, 4, 6}, {1, 3}, "f16", kRange), {1e-3, 1e-3}, true);
}

// Nothing to share, or less than there are blocks.
TEST(RowMeeting, SizesOfOneAndZero) {
  for (const auto &shape :
       std::vector<std::vector<int64_t>>{{0, 5}, {5, 0}, {1, 5}, {2, 300}}) {
    DifferentialOptions options{{1e-4, 1e-4}};
    options.target = machine(16);
    checkGraph(region(shape, {0}, "f32", kNorm), options);
  }
  for (const auto &shape : std::vector<std::vector<int64_t>>{
           {0, 7, 3, 4}, {2, 1, 3, 4}, {2, 7, 1, 4}, {2, 7, 3, 1}}) {
    DifferentialOptions options{{1e-4, 1e-4}};
    options.target = machine(16);
    checkGraph(region(shape, {1, 3}, "f32", kNorm), options);
  }
}

// More batches than blocks: one block each, which waits for none.
TEST(RowMeeting, ManyBatchesDoNotMeet) {
  std::string text = region({30, 40, 4, 5}, {1, 3}, "f32", kNorm);
  EXPECT_EQ(waitingBlocks(text, machine(64)), 0u);
  DifferentialOptions options{{1e-4, 2e-5}, false, 3, /*kernels=*/1};
  options.target = machine(64);
  checkGraph(text, options);
}

TEST(RowMeeting, BlocksFitTheMachine) {
  std::string text = region({5, 4096, 32, 10}, {1, 3}, "f32", kNorm);
  for (unsigned multiprocessors : {11u, 20u, 108u, 132u}) {
    TargetInfo target = TargetInfo::h200();
    target.multiprocessors = multiprocessors;
    uint64_t blocks = waitingBlocks(text, target);
    EXPECT_EQ(blocks, multiprocessors / 5 * 5) << multiprocessors;
  }
}
