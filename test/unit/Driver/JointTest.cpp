//===- JointTest.cpp - independent regions in one launch ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emulator reports races, barriers that not all threads reach and accesses
// out of bounds as errors, so every graph here also says that there are none.
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec;
using namespace fusec::test;
using llvm::formatv;

static constexpr double kEps = 0x1p-24;

namespace {

/// A function of independent pieces.
struct Pieces {
  std::string args, body, returns, types;
  unsigned count = 0;

  std::string text() const {
    return "func.func @f(" + args + ") -> (" + types + ") {\n" + body +
           "  return " + returns + " : " + types + "\n}\n";
  }
  void result(const std::string &value, const std::string &type) {
    returns += (returns.empty() ? "" : ", ") + value;
    types += (types.empty() ? "" : ", ") + type;
  }
  void argument(const std::string &name, const std::string &type) {
    args += (args.empty() ? "" : ", ") + name + ": " + type;
  }

  /// Two inputs, two outputs, element-wise.
  void addPointwise(int64_t size, const char *element) {
    std::string type = formatv("tensor<{0}x{1}>", size, element), n = formatv("{0}", count++);
    argument("%a" + n, type);
    argument("%b" + n, type);
    body += formatv("  %s{0} = graph.add %a{0}, %b{0} : {1}\n"
                    "  %t{0} = graph.mul %s{0}, %b{0} : {1}\n", n, type);
    result("%s" + n, type);
    result("%t" + n, type);
  }

  /// Row maximum and x minus it.
  void addRow(int64_t rows, int64_t columns, const char *element) {
    std::string full = formatv("tensor<{0}x{1}x{2}>", rows, columns, element),
                row = formatv("tensor<{0}x{1}>", rows, element), n = formatv("{0}", count++);
    argument("%a" + n, full);
    body += formatv("  %m{0} = graph.reduce max %a{0} [1] : {1} -> {2}\n"
                    "  %w{0} = graph.broadcast %m{0} [0] : {2} -> {1}\n"
                    "  %d{0} = graph.sub %a{0}, %w{0} : {1}\n", n, full, row);
    result("%m" + n, row);
    result("%d" + n, full);
  }
};

driver::Compilation compileText(const std::string &text) {
  mlir::DialectRegistry registry;
  driver::registerDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(bool(module)) << text;
  auto compiled = driver::compile(*module);
  if (!compiled) {
    ADD_FAILURE() << llvm::toString(compiled.takeError());
    return {};
  }
  // Decisions hold locations of the context, which ends here.
  compiled->decisions = {};
  return std::move(*compiled);
}

} // namespace

TEST(Joint, EqualPartsOfEverySize) {
  Pieces pieces;
  for (int64_t size : {0, 1, 31, 33, 1025, 1024, 4096, 7})
    pieces.addPointwise(size, "f32");
  checkGraph(pieces.text(), {{4 * kEps, 0}, true, 1, 1});
}

TEST(Joint, MixedElementTypes) {
  Pieces pieces;
  for (const char *element : {"f32", "f16", "bf16", "f64", "i32", "i8", "ui16", "i64"})
    for (int64_t size : {33, 64})
      pieces.addPointwise(size, element);
  checkGraph(pieces.text(), {{0x1p-7, 0}, false, 1, 1, 10});
}

// Warp reductions, block reductions with barriers, and rows longer than a block
// holds, each with a grid of its own.
TEST(Joint, RowsAndBarriers) {
  Pieces pieces;
  pieces.addRow(5, 7, "f32");
  pieces.addPointwise(1025, "f32");
  pieces.addRow(3, 1025, "f32");
  pieces.addRow(33, 31, "f16");
  pieces.addRow(1, 5000, "f32");
  pieces.addRow(64, 1, "f32");
  pieces.addPointwise(1, "f32");
  checkGraph(pieces.text(), {{4 * kEps, 0}, true, 1, 1});
}

// Reductions over the outer axis run lanes along rows and warps along columns.
TEST(Joint, ColumnReductions) {
  checkGraph(R"(func.func @f(%a: tensor<129x64xf32>, %b: tensor<3x40xf32>, %c: tensor<31xf32>) -> (tensor<64xf32>, tensor<40xf32>, tensor<31xf32>) {
    %0 = graph.reduce max %a [0] : tensor<129x64xf32> -> tensor<64xf32>
    %1 = graph.reduce min %b [0] : tensor<3x40xf32> -> tensor<40xf32>
    %2 = graph.neg %c : tensor<31xf32>
    return %0, %1, %2 : tensor<64xf32>, tensor<40xf32>, tensor<31xf32>
  })", {{0, 0}, true, 1, 1});
}

// Second level: parts of one launch read what parts of the launch before made.
TEST(Joint, PartsReadAnEarlierLaunch) {
  checkGraph(R"(func.func @f(%x: tensor<100x10xf32>, %y: tensor<90x10xf32>) -> (tensor<10xf32>, tensor<10xf32>) {
    %0 = graph.reduce max %x [1] : tensor<100x10xf32> -> tensor<100xf32>
    %2 = graph.reshape %0 : tensor<100xf32> -> tensor<10x10xf32>
    %3 = graph.reduce min %2 [0] : tensor<10x10xf32> -> tensor<10xf32>
    %4 = graph.reduce max %y [1] : tensor<90x10xf32> -> tensor<90xf32>
    %6 = graph.reshape %4 : tensor<90xf32> -> tensor<9x10xf32>
    %7 = graph.reduce min %6 [0] : tensor<9x10xf32> -> tensor<10xf32>
    return %3, %7 : tensor<10xf32>, tensor<10xf32>
  })", {{0, 0}, true, 1, 2});
}

// A few blocks more beside rows that fill the machine, of which the last block
// has one.
TEST(Joint, GuestOfRowsThatFillTheMachine) {
  checkGraph(R"(func.func @f(%x: tensor<4097x384xf32>, %k: tensor<300xi32>) -> (tensor<4097x384xf32>, tensor<300xi32>) {
    %m = graph.reduce max %x [1] : tensor<4097x384xf32> -> tensor<4097xf32>
    %w = graph.broadcast %m [0] : tensor<4097xf32> -> tensor<4097x384xf32>
    %r = graph.sub %x, %w : tensor<4097x384xf32>
    %e = graph.neg %k : tensor<300xi32>
    return %r, %e : tensor<4097x384xf32>, tensor<300xi32>
  })", {{4 * kEps, 0}, true, 1, 1});
}

// A shared scalar is no reason for one text over all tensors.
TEST(Joint, ManyReadersOfAScalar) {
  std::string args = "%rate: tensor<f32>", body, returns, types;
  for (int i = 0; i < 40; ++i) {
    std::string type = formatv("tensor<{0}xf32>", 100 + i % 3 * 17);
    args += formatv(", %x{0}: {1}", i, type);
    body += formatv("  %b{0} = graph.broadcast %rate [] : tensor<f32> -> {1}\n"
                    "  %y{0} = graph.mul %x{0}, %b{0} : {1}\n", i, type);
    returns += formatv("{0}%y{1}", i ? ", " : "", i);
    types += (i ? ", " : "") + type;
  }
  std::string text = "func.func @f(" + args + ") -> (" + types + ") {\n" + body + "  return " + returns + " : " + types + "\n}\n";
  checkGraph(text, {{kEps, 0}, true, 1, 1});
  EXPECT_LT(compileText(text).program.kernels[0].source.size(), 4000u);
}

static size_t textSize(int parts) {
  Pieces pieces;
  for (int i = 0; i < parts; ++i)
    pieces.addPointwise(1000, "f32");
  driver::Compilation result = compileText(pieces.text());
  EXPECT_EQ(result.program.kernels.size(), 1u);
  EXPECT_EQ(result.program.steps.size(), 1u);
  llvm::StringRef source = result.program.kernels[0].source;
  EXPECT_EQ(source.count("FUSEC_KERNEL("), 1u);
  EXPECT_EQ(source.count("FUSEC_DEVICE"), 1u);
  return source.size();
}

TEST(Joint, TextDoesNotGrowWithTheNumberOfEqualParts) {
  EXPECT_EQ(textSize(8), textSize(100));
}

// More buffers than one launch takes: two launches, still one text each.
TEST(Joint, SplitsWhatExceedsTheParameters) {
  Pieces pieces;
  for (int i = 0; i < 600; ++i)
    pieces.addPointwise(64, "f32");
  driver::Compilation result = compileText(pieces.text());
  EXPECT_EQ(result.program.steps.size(), 2u);
  EXPECT_EQ(llvm::toString(runtime::verifyProgram(result.program)), "");
}

TEST(Joint, SharedMemoryIsTheLargestNeed) {
  Pieces pieces;
  pieces.addRow(3, 1025, "f32");
  pieces.addRow(3, 4097, "f32");
  pieces.addRow(3, 2049, "f64");
  driver::Compilation result = compileText(pieces.text());
  ASSERT_EQ(result.program.kernels.size(), 1u);
  llvm::StringRef source = result.program.kernels[0].source;
  EXPECT_EQ(source.count("FUSEC_SHARED("), 1u);
  EXPECT_GE(source.count("shared_as<"), 3u);
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

/// Rounds of a row sum, a column maximum and element-wise ops on an n x m
/// matrix and its transpose: nothing of two rounds fits one region.
static std::string rounds(int64_t n, int count, const char *element) {
  std::string full = formatv("tensor<{0}x{0}x{1}>", n, element), row = formatv("tensor<{0}x{1}>", n, element);
  std::string text = "func.func @f(%x0: " + full + ", %y: " + full + ") -> " + full + " {\n";
  for (int i = 0; i < count; ++i)
    text += formatv("  %r{0} = graph.reduce max %x{0} [1] : {2} -> {3}\n"
                    "  %c{0} = graph.reduce min %x{0} [0] : {2} -> {3}\n"
                    "  %t{0} = graph.transpose %x{0} [1, 0] : {2} -> {2}\n"
                    "  %p{0} = graph.broadcast %r{0} [0] : {3} -> {2}\n"
                    "  %q{0} = graph.broadcast %c{0} [1] : {3} -> {2}\n"
                    "  %u{0} = graph.max %t{0}, %p{0} : {2}\n"
                    "  %v{0} = graph.min %u{0}, %q{0} : {2}\n"
                    "  %x{1} = graph.max %v{0}, %y : {2}\n", i, i + 1, full, row);
  return text + formatv("  return %x{0} : {1}\n}\n", count, full).str();
}

TEST(Chain, EverySizeIsOneLaunch) {
  for (int64_t size : {1, 2, 31, 32, 33, 64, 67})
    checkGraph(rounds(size, 4, "f32"), {{0, 0}, true, 1, 1});
}

TEST(Chain, EveryElementType) {
  for (const char *element : {"f16", "bf16", "f64", "i8", "ui16", "i32", "i64"})
    checkGraph(rounds(24, 3, element), {{0, 0}, false, 1, 1});
}

TEST(Chain, EmptyTensors) { checkGraph(rounds(0, 3, "i32"), {{0, 0}, true, 1}); }

// Steps in the middle whose values are outputs, and one that nothing reads.
TEST(Chain, ValuesOfAllStepsAreOutputs) {
  checkGraph(R"(func.func @f(%x: tensor<33x12xf32>) -> (tensor<33xf32>, tensor<3xf32>, tensor<11xf32>, tensor<f32>) {
    %0 = graph.reduce max %x [1] : tensor<33x12xf32> -> tensor<33xf32>
    %1 = graph.reshape %0 : tensor<33xf32> -> tensor<11x3xf32>
    %2 = graph.reduce min %1 [0] : tensor<11x3xf32> -> tensor<3xf32>
    %3 = graph.reduce max %1 [1] : tensor<11x3xf32> -> tensor<11xf32>
    %4 = graph.neg %3 : tensor<11xf32>
    %5 = graph.reduce min %2 [0] : tensor<3xf32> -> tensor<f32>
    return %0, %2, %4, %5 : tensor<33xf32>, tensor<3xf32>, tensor<11xf32>, tensor<f32>
  })", {{0, 0}, true, 1, 1});
}

// The text has each body once, whatever the number of steps.
TEST(Chain, TextDoesNotGrowWithTheNumberOfSteps) {
  auto sizeOf = [](int count) {
    driver::Compilation result = compileText(rounds(32, count, "f32"));
    EXPECT_EQ(result.program.steps.size(), 1u);
    EXPECT_EQ(llvm::toString(runtime::verifyProgram(result.program)), "");
    return result.program.kernels[0].source.size();
  };
  EXPECT_EQ(sizeOf(6), sizeOf(20));
}

/// The text of the only kernel of a graph.
static std::string onlyText(const std::string &graph) {
  driver::Compilation result = compileText(graph);
  EXPECT_EQ(result.program.kernels.size(), 1u);
  EXPECT_EQ(llvm::toString(runtime::verifyProgram(result.program)), "");
  return result.program.kernels.front().source;
}

// Values between steps lie in the shared memory of all blocks, and nothing of
// them in memory: the launch has the graph's inputs and output as buffers.
TEST(Chain, ValuesAreKeptByTheBlocks) {
  driver::Compilation result = compileText(rounds(64, 6, "f32"));
  const auto &launch = std::get<runtime::Launch>(result.program.steps.front());
  for (const auto &field : std::get<runtime::TableArg>(launch.args.front()).fields)
    if (const auto *buffer = std::get_if<runtime::BufferRef>(&field))
      EXPECT_NE(buffer->space, runtime::Space::Temporary);
  EXPECT_EQ(result.program.workspaceBytes, 0u);
  EXPECT_GE(launch.dynamicSharedBytes, 5u * 64 * 64 * 4);
  EXPECT_NE(result.program.kernels.front().source.find("Sent<f32, 8>"), std::string::npos);
}

// A turned step of few elements has small tiles: no thread has 32 of them.
TEST(Chain, TurnedStepsHaveSmallTiles) {
  std::string text = onlyText(rounds(60, 6, "f32"));
  EXPECT_NE(text.find(" a0[8]"), std::string::npos) << text;
  EXPECT_EQ(text.find(" a0[32]"), std::string::npos) << text;
}

// Sends have whole words: values of 16 bits stay in memory.
TEST(Chain, ShortElementsStayInMemory) {
  EXPECT_EQ(onlyText(rounds(32, 4, "f16")).find("Kept<"), std::string::npos);
}

// 30 rounds of 16 KB are more than a block has room for: places are used again
// once all blocks have met.
TEST(Chain, RoomIsUsedAgain) {
  std::string graph = rounds(64, 30, "f32");
  EXPECT_NE(onlyText(graph).find("meet<true>"), std::string::npos);
  EXPECT_NE(onlyText(rounds(64, 8, "f32")).find("meet<false>"), std::string::npos);
  checkGraph(graph, {{0, 0}, true, 1, 1});
}

// Two values of 111 KB at a time do not fit a block: all stay in memory.
TEST(Chain, LargeValuesStayInMemory) {
  std::string graph = rounds(118, 3, "f64");
  EXPECT_EQ(onlyText(graph).find("Kept<"), std::string::npos);
  checkGraph(graph, {{0, 0}, false, 1, 1});
}

// Values that are read much later than others of their meeting, and by steps
// that every block does.
TEST(Chain, ValuesAreReadLater) {
  checkGraph(R"(func.func @f(%x: tensor<24x40xf32>, %y: tensor<40x24xf32>) -> (tensor<24x40xf32>, tensor<24xf32>) {
    %a = graph.reduce max %x [1] : tensor<24x40xf32> -> tensor<24xf32>
    %b = graph.broadcast %a [1] : tensor<24xf32> -> tensor<40x24xf32>
    %c = graph.max %b, %y : tensor<40x24xf32>
    %d = graph.reduce min %c [0] : tensor<40x24xf32> -> tensor<24xf32>
    %e = graph.transpose %c [1, 0] : tensor<40x24xf32> -> tensor<24x40xf32>
    %f = graph.broadcast %d [0] : tensor<24xf32> -> tensor<24x40xf32>
    %g = graph.min %e, %f : tensor<24x40xf32>
    %h = graph.reduce max %g [0] : tensor<24x40xf32> -> tensor<40xf32>
    %i = graph.broadcast %h [1] : tensor<40xf32> -> tensor<24x40xf32>
    %j = graph.max %i, %e : tensor<24x40xf32>
    %k = graph.reduce min %j [1] : tensor<24x40xf32> -> tensor<24xf32>
    %l = graph.max %k, %a : tensor<24xf32>
    return %j, %l : tensor<24x40xf32>, tensor<24xf32>
  })", {{0, 0}, true, 1});
}
