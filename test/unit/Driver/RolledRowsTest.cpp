//===- RolledRowsTest.cpp - rows that start anywhere in a vector ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which regions take rows as they lie in memory, and that views at every place
// of 16 bytes give the bits that aligned buffers give, without touching what
// lies around them.
//===----------------------------------------------------------------------===//
#include "fusec/Driver/Compile.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Runtime/Executable.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

#include <cstring>

using namespace fusec;

namespace {
class RolledRows : public testing::Test {
protected:
  RolledRows() : device(runtime::createEmulatorDevice()) {
    mlir::DialectRegistry registry;
    driver::registerDialects(registry);
    context.appendDialectRegistry(registry);
  }
  runtime::Program compile(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(!!module);
    return llvm::cantFail(driver::compile(*module)).program;
  }
  static const runtime::Launch &launchOf(const runtime::Program &program) {
    return std::get<runtime::Launch>(program.steps.front());
  }
  /// The columns of the rows of `text`, 0 for none.
  int64_t columnsOf(const std::string &text) {
    return launchOf(compile(text)).rolled.columns;
  }
  /// Runs `text` with buffer i starting places[i] of its elements behind 16
  /// bytes; the bytes of all outputs. Checks the bytes around them.
  std::vector<std::vector<char>> run(const runtime::Executable &executable,
                                     llvm::ArrayRef<unsigned> places) {
    const runtime::Program &program = executable.program();
    constexpr size_t around = 192;
    std::vector<runtime::Buffer> memory;
    std::vector<char *> pointers;
    auto place = [&](const runtime::TensorSpec &spec, bool isInput) {
      size_t bytes = spec.bytes(), i = memory.size();
      memory.push_back(
          llvm::cantFail(runtime::Buffer::allocate(device, bytes + around)));
      auto base = reinterpret_cast<uintptr_t>(memory.back().data());
      size_t at =
          llvm::alignTo(base + 1, 64) - base + places[i] * byteSize(spec.dtype);
      std::vector<char> image(bytes + around, char(0xA5));
      // Small integers: every sum is exact.
      for (size_t k = 0; isInput && k < bytes / byteSize(spec.dtype); ++k) {
        int64_t number = int64_t(k * (2 * i + 7) % 13) - 6;
        float real = float(number);
        uint32_t bits;
        std::memcpy(&bits, &real, 4);
        bool isHalf = spec.dtype == DType::BF16;
        if (isHalf)
          bits >>= 16;
        bool isReal = isHalf || spec.dtype == DType::F32;
        std::memcpy(image.data() + at + k * byteSize(spec.dtype),
                    isReal ? static_cast<void *>(&bits) : &number,
                    byteSize(spec.dtype));
      }
      llvm::cantFail(device->copyIn(memory.back().data(), image.data(),
                                    image.size(), nullptr));
      pointers.push_back(static_cast<char *>(memory.back().data()) + at);
    };
    for (const runtime::TensorSpec &spec : program.inputs)
      place(spec, true);
    for (const runtime::TensorSpec &spec : program.outputs)
      place(spec, false);
    auto running = llvm::cantFail(runtime::ExecutionContext::create(
        std::shared_ptr<const runtime::Executable>(
            std::shared_ptr<const runtime::Executable>(), &executable)));
    size_t inputs = program.inputs.size();
    std::vector<const void *> sources(pointers.begin(),
                                      pointers.begin() + inputs);
    std::vector<void *> targets(pointers.begin() + inputs, pointers.end());
    EXPECT_EQ(llvm::toString(running->run(sources, targets)), "");
    std::vector<std::vector<char>> results;
    for (auto [i, spec] : llvm::enumerate(program.outputs)) {
      const char *begin = static_cast<char *>(memory[inputs + i].data());
      const char *from = pointers[inputs + i], *end = from + spec.bytes();
      EXPECT_TRUE(
          std::all_of(begin, from, [](char c) { return c == char(0xA5); }));
      EXPECT_TRUE(std::all_of(end, begin + spec.bytes() + around,
                              [](char c) { return c == char(0xA5); }));
      results.emplace_back(from, end);
    }
    return results;
  }
  std::shared_ptr<runtime::Executable const> load(const std::string &text) {
    return llvm::cantFail(runtime::Executable::create(compile(text), device));
  }
  /// Whether the rolled form of the only kernel was made for rows that start
  /// `first` elements before a vector.
  static bool isRolled(const runtime::Executable &executable,
                       uint32_t alignment, uint32_t first) {
    const runtime::RolledRows &rows = launchOf(executable.program()).rolled;
    return executable.findVariant(
        0, {alignment, false, rows.columns, rows.unit, first});
  }
  /// All places, the same for all buffers, and then different ones.
  void checkPlaces(const std::string &text) {
    auto executable = load(text);
    const runtime::Program &program = executable->program();
    ASSERT_EQ(program.steps.size(), 1u);
    ASSERT_NE(launchOf(program).rolled.columns, 0u);
    size_t count = program.inputs.size() + program.outputs.size();
    auto expected = run(*executable, std::vector<unsigned>(count, 0));
    for (unsigned place = 1; place < 16; ++place)
      EXPECT_EQ(run(*executable, std::vector<unsigned>(count, place)), expected)
          << "all at " << place;
    unsigned least = 16;
    for (const runtime::TensorSpec &spec : program.outputs)
      least = std::min<unsigned>(least, byteSize(spec.dtype));
    for (const runtime::TensorSpec &spec : program.inputs)
      least = std::min<unsigned>(least, byteSize(spec.dtype));
    uint32_t unit = launchOf(program).rolled.unit;
    EXPECT_TRUE(isRolled(*executable, least, unit - 1));
    EXPECT_FALSE(isRolled(*executable, least, 0));
    for (unsigned place = 0; place < 16; ++place) {
      std::vector<unsigned> places(count, place);
      places.front() = (3 * place + 1) % 16;
      EXPECT_EQ(run(*executable, places), expected) << "mixed at " << place;
    }
  }

  mlir::MLIRContext context;
  std::shared_ptr<runtime::Device> device;
};
} // namespace

/// Streams of so many f32 each, independent of each other.
static std::string streams(llvm::ArrayRef<int64_t> counts) {
  std::string arguments, types, body, results;
  for (auto [i, count] : llvm::enumerate(counts)) {
    std::string n = std::to_string(i),
                type = "tensor<" + std::to_string(count) + "xf32>";
    std::string comma = i ? ", " : "";
    arguments += comma + "%x" + n + ": " + type;
    types += comma + type;
    results += comma + "%y" + n;
    body += "  %y" + n + " = graph.neg %x" + n + " : " + type + "\n";
  }
  return "func.func @f(" + arguments + ") -> (" + types + ") {\n" + body +
         "  return " + results + " : " + types + "\n}";
}

TEST_F(RolledRows, PartsOfALaunchHaveOneFormOrNone) {
  for (const std::vector<int64_t> &counts : std::vector<std::vector<int64_t>>{
           {8000, 4099}, {4099, 8000}, {8000, 36, 4000}}) {
    auto executable = load(streams(counts));
    ASSERT_EQ(executable->program().steps.size(), 1u);
    EXPECT_EQ(launchOf(executable->program()).rolled.columns, 0u);
    size_t count = 2 * counts.size();
    EXPECT_EQ(run(*executable, std::vector<unsigned>(count, 1)),
              run(*executable, std::vector<unsigned>(count, 0)));
  }
  auto executable = load(streams({8000, 4000}));
  ASSERT_EQ(executable->program().steps.size(), 1u);
  EXPECT_EQ(launchOf(executable->program()).rolled.columns, 4000u);
  EXPECT_EQ(run(*executable, {1, 1, 1, 1}), run(*executable, {0, 0, 0, 0}));
}

TEST_F(RolledRows, LongRowsFindOutWhereTheyStart) {
  auto executable = load(streams({4 * 65537}));
  EXPECT_EQ(run(*executable, {1, 1}), run(*executable, {0, 0}));
  EXPECT_TRUE(isRolled(*executable, 4, 0));
  EXPECT_FALSE(isRolled(*executable, 4, 3));
}

TEST_F(RolledRows, Streams) {
  checkPlaces(
      R"(func.func @f(%x: tensor<24x96xbf16>, %b: tensor<96xbf16>, %s: tensor<24xf32>) -> tensor<24x96xbf16> {
    %0 = graph.broadcast %b [1] : tensor<96xbf16> -> tensor<24x96xbf16>
    %1 = graph.add %x, %0 : tensor<24x96xbf16>
    %2 = graph.cast %1 : tensor<24x96xbf16> -> tensor<24x96xf32>
    %3 = graph.broadcast %s [0] : tensor<24xf32> -> tensor<24x96xf32>
    %4 = graph.mul %2, %3 : tensor<24x96xf32>
    %5 = graph.cast %4 : tensor<24x96xf32> -> tensor<24x96xbf16>
    return %5 : tensor<24x96xbf16>
  })");
}

TEST_F(RolledRows, StreamsOfSeveralTypes) {
  checkPlaces(
      R"(func.func @f(%x: tensor<5x256xbf16>, %y: tensor<5x256xf32>) -> tensor<5x256xi8> {
    %0 = graph.cast %x : tensor<5x256xbf16> -> tensor<5x256xf32>
    %1 = graph.mul %0, %y : tensor<5x256xf32>
    %2 = graph.cast %1 : tensor<5x256xf32> -> tensor<5x256xi8>
    return %2 : tensor<5x256xi8>
  })");
}

TEST_F(RolledRows, RowsThatAreReduced) {
  checkPlaces(
      R"(func.func @f(%x: tensor<19x264xbf16>, %g: tensor<264xbf16>) -> (tensor<19x264xbf16>, tensor<19xf32>) {
    %0 = graph.cast %x : tensor<19x264xbf16> -> tensor<19x264xf32>
    %1 = graph.reduce sum %0 [1] : tensor<19x264xf32> -> tensor<19xf32>
    %2 = graph.broadcast %1 [0] : tensor<19xf32> -> tensor<19x264xf32>
    %3 = graph.sub %0, %2 : tensor<19x264xf32>
    %4 = graph.cast %3 : tensor<19x264xf32> -> tensor<19x264xbf16>
    %5 = graph.broadcast %g [1] : tensor<264xbf16> -> tensor<19x264xbf16>
    %6 = graph.add %4, %5 : tensor<19x264xbf16>
    return %6, %1 : tensor<19x264xbf16>, tensor<19xf32>
  })");
}

// Halves that change places, as in rotary embeddings.
TEST_F(RolledRows, PiecesOfRows) {
  std::string text =
      R"(func.func @f(%x: tensor<9x128xbf16>, %c: tensor<9x64xf32>) -> tensor<9x128xbf16> {
    %0 = graph.slice %x offsets [0, 0] strides [1, 1] : tensor<9x128xbf16> -> tensor<9x64xbf16>
    %1 = graph.slice %x offsets [0, 64] strides [1, 1] : tensor<9x128xbf16> -> tensor<9x64xbf16>
    %2 = graph.cast %0 : tensor<9x64xbf16> -> tensor<9x64xf32>
    %3 = graph.cast %1 : tensor<9x64xbf16> -> tensor<9x64xf32>
    %4 = graph.mul %2, %c : tensor<9x64xf32>
    %5 = graph.sub %3, %c : tensor<9x64xf32>
    %6 = graph.concat %5, %4 axis = 1 : tensor<9x64xf32>, tensor<9x64xf32> -> tensor<9x128xf32>
    %7 = graph.cast %6 : tensor<9x128xf32> -> tensor<9x128xbf16>
    return %7 : tensor<9x128xbf16>
  })";
  EXPECT_EQ(columnsOf(text), 64);
  checkPlaces(text);
}

// Without masks their accesses are pairs.
TEST_F(RolledRows, PiecesOfRowsInPairs) {
  std::string text =
      R"(func.func @f(%x: tensor<64x128xbf16>, %c: tensor<64x64xf32>) -> tensor<64x128xbf16> {
    %0 = graph.slice %x offsets [0, 0] strides [1, 1] : tensor<64x128xbf16> -> tensor<64x64xbf16>
    %1 = graph.slice %x offsets [0, 64] strides [1, 1] : tensor<64x128xbf16> -> tensor<64x64xbf16>
    %2 = graph.cast %0 : tensor<64x64xbf16> -> tensor<64x64xf32>
    %3 = graph.cast %1 : tensor<64x64xbf16> -> tensor<64x64xf32>
    %4 = graph.mul %2, %c : tensor<64x64xf32>
    %5 = graph.mul %3, %c : tensor<64x64xf32>
    %6 = graph.sub %4, %3 : tensor<64x64xf32>
    %7 = graph.add %5, %2 : tensor<64x64xf32>
    %8 = graph.concat %6, %7 axis = 1 : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x128xf32>
    %9 = graph.cast %8 : tensor<64x128xf32> -> tensor<64x128xbf16>
    return %9 : tensor<64x128xbf16>
  })";
  runtime::Program program = compile(text);
  EXPECT_EQ(launchOf(program).rolled.columns, 64u);
  const std::string &source = program.kernels.front().source;
  EXPECT_NE(source.find("ld_pair<8, 64>"), std::string::npos);
  EXPECT_NE(source.find("_pair<8, 64>(p2"), std::string::npos);
  checkPlaces(text);
}

// Rows come through shared memory, in the background.
TEST_F(RolledRows, RowsBesideColumns) {
  checkPlaces(
      R"(func.func @f(%x: tensor<70x520xbf16>, %y: tensor<70x520xbf16>) -> (tensor<70x520xbf16>, tensor<520xf32>) {
    %0 = graph.cast %x : tensor<70x520xbf16> -> tensor<70x520xf32>
    %1 = graph.cast %y : tensor<70x520xbf16> -> tensor<70x520xf32>
    %2 = graph.mul %0, %1 : tensor<70x520xf32>
    %3 = graph.reduce sum %2 [1] : tensor<70x520xf32> -> tensor<70xf32>
    %4 = graph.broadcast %3 [0] : tensor<70xf32> -> tensor<70x520xf32>
    %5 = graph.sub %0, %4 : tensor<70x520xf32>
    %6 = graph.cast %5 : tensor<70x520xf32> -> tensor<70x520xbf16>
    %7 = graph.reduce sum %2 [0] : tensor<70x520xf32> -> tensor<520xf32>
    return %6, %7 : tensor<70x520xbf16>, tensor<520xf32>
  })");
}

TEST_F(RolledRows, WhatDependsOnColumnsIsNotRolled) {
  // Each is x + something in one kernel.
  auto with = [&](const std::string &what, const char *shape = "8x128") {
    std::string type = std::string("tensor<") + shape + "xf32>";
    return columnsOf("func.func @f(%x: " + type + ") -> " + type + " {\n" +
                     what + "%r = graph.add %x, %v : " + type +
                     "\n return %r : " + type + "\n}");
  };
  EXPECT_EQ(with("%v = graph.exp %x : tensor<8x128xf32>\n"), 8 * 128);
  // A stream is one row.
  EXPECT_EQ(with("%v = graph.exp %x : tensor<8x129xf32>\n", "8x129"), 8 * 129);
  EXPECT_EQ(with("%v = graph.exp %x : tensor<7x5xf32>\n", "7x5"), 0);
  const char *sum = "%s = graph.reduce sum %x [1] : tensor<8x@xf32> -> "
                    "tensor<8xf32>\n%v = graph.broadcast %s [0] : "
                    "tensor<8xf32> -> tensor<8x@xf32>\n";
  for (auto [size, columns] :
       {std::pair("128", 128), {"129", 0}, {"16", 0}, {"32", 32}}) {
    std::string text = sum;
    for (size_t at; (at = text.find('@')) != std::string::npos;)
      text.replace(at, 1, size);
    EXPECT_EQ(with(text, (std::string("8x") + size).c_str()), columns);
  }
  EXPECT_EQ(with("%v = graph.iota 1 : tensor<2048x1024xf32>\n", "2048x1024"),
            0);
  EXPECT_EQ(with("%v = graph.slice %x offsets [0, 127] strides [1, -1] : "
                 "tensor<8x128xf32> -> tensor<8x128xf32>\n"),
            0);
  EXPECT_EQ(with("%v = graph.transpose %x [1, 0] : tensor<128x128xf32> -> "
                 "tensor<128x128xf32>\n",
                 "128x128"),
            0);
  EXPECT_EQ(with("%w = graph.constant dense<1.0> : tensor<f32>\n"
                 "%s = graph.slice %x offsets [0, 1] strides [1, 1] : "
                 "tensor<8x128xf32> -> tensor<8x127xf32>\n"
                 "%v = graph.pad %s, %w low [0, 1] high [0, 0] "
                 ": tensor<8x127xf32>, tensor<f32> -> tensor<8x128xf32>\n"),
            0);
}
