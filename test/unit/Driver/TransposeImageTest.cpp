//===- TransposeImageTest.cpp - transposes with odd leading dimensions ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Runtime/Executable.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>

using namespace mlir;
using namespace fusec;
using namespace fusec::test;

namespace {
/// x transposed and added to itself, and to y if `hasStraight`.
std::string transposed(int64_t m, int64_t n, StringRef type, bool hasStraight,
                       StringRef batch = "", StringRef axes = "1, 0") {
  std::string x = llvm::formatv("tensor<{0}{1}x{2}x{3}>", batch, m, n, type);
  std::string y = llvm::formatv("tensor<{0}{1}x{2}x{3}>", batch, n, m, type);
  return llvm::formatv(R"(func.func @f(%x: {0}{5}) -> {1} {{
    %0 = graph.transpose %x [{2}] : {0} -> {1}
    %1 = graph.add %0, {3} : {1}
    {4}
  })",
                       x, y, axes, hasStraight ? "%y" : "%0",
                       "return %1 : " + y, hasStraight ? ", %y: " + y : "");
}
} // namespace

// Sizes beside those of a vector, of the smallest and of the largest tile; the
// last elements of the input are a vector or not, alone in their tile or not.
TEST(TransposeImage, OddSizesGiveTheSame) {
  std::pair<int64_t, int64_t> shapes[] = {{16, 17}, {33, 31},   {35, 67},
                                          {65, 63}, {129, 127}, {264, 301}};
  for (StringRef type : {"bf16", "ui8"})
    for (auto [m, n] : shapes) {
      checkGraph(transposed(m, n, type, true),
                 {.tolerance = {}, .special = true, .kernels = 1});
      checkGraph(transposed(n, m, type, false),
                 {.tolerance = {}, .special = true, .kernels = 1});
    }
}

// A padded input has fewer elements than the spine has points, whichever side
// it lies on.
TEST(TransposeImage, PaddedInputs) {
  for (auto [m, n, more] : {std::array<int64_t, 3>{67, 131, 5},
                            {64, 128, 8},
                            {130, 99, 1},
                            {27, 33, 5}})
    for (StringRef type : {"bf16", "f32"})
      for (StringRef other : {"%b", "%y", "%s"})
        checkGraph(
            llvm::formatv(
                R"(func.func @f(%x: tensor<{0}x{1}x{3}>, %y: tensor<{1}x{2}x{3}>, %v: tensor<{1}x{0}x{3}>) -> tensor<{1}x{2}x{3}> {{
    %z = graph.constant dense<0.0> : tensor<{3}>
    %a = graph.transpose %x [1, 0] : tensor<{0}x{1}x{3}> -> tensor<{1}x{0}x{3}>
    %b = graph.pad %a, %z low [0, 0] high [0, {4}] : tensor<{1}x{0}x{3}>, tensor<{3}> -> tensor<{1}x{2}x{3}>
    %s = graph.pad %v, %z low [0, 0] high [0, {4}] : tensor<{1}x{0}x{3}>, tensor<{3}> -> tensor<{1}x{2}x{3}>
    %c = graph.add %b, {5} : tensor<{1}x{2}x{3}>
    return %c : tensor<{1}x{2}x{3}>
  })",
                m, n, m + more, type, more, other)
                .str(),
            {.tolerance = {}, .special = true, .kernels = 1});
}

TEST(TransposeImage, EveryWidthOfElement) {
  for (StringRef type : {"f64", "f32", "f16", "f8E5M2", "i64", "i32", "i1"}) {
    std::string x = llvm::formatv("tensor<67x133x{0}>", type);
    std::string y = llvm::formatv("tensor<133x67x{0}>", type);
    checkGraph(llvm::formatv(R"(func.func @f(%x: {0}) -> {1} {{
      %0 = graph.transpose %x [1, 0] : {0} -> {1}
      return %0 : {1}
    })",
                             x, y)
                   .str(),
               {.tolerance = {}, .kernels = 1});
  }
}

TEST(TransposeImage, BatchesThatStartAnywhere) {
  for (StringRef type : {"bf16", "f32", "ui8"}) {
    checkGraph(transposed(37, 41, type, true, "3x", "0, 2, 1"),
               {.tolerance = {}, .kernels = 1});
    checkGraph(transposed(37, 41, type, false, "2x3x", "0, 1, 3, 2"),
               {.tolerance = {}, .kernels = 1});
    checkGraph(transposed(40, 41, type, true, "3x", "0, 2, 1"),
               {.tolerance = {}, .kernels = 1});
  }
}

// Two inputs of different width and place, an output of another width, and
// values that are broadcast along either side. A result of f16 is rounded by
// 2^-11, or to its other neighbour where f32 sums in another order lie there:
// 2^-10 in all.
TEST(TransposeImage, InputsOfSeveralWidths) {
  checkGraph(
      R"(func.func @f(%a: tensor<69x3x131xui8>, %b: tensor<3x69x131xbf16>,
      %c: tensor<131xf32>, %d: tensor<69xf32>) -> tensor<3x131x69xf16> {
    %0 = graph.cast %a : tensor<69x3x131xui8> -> tensor<69x3x131xf32>
    %1 = graph.transpose %0 [1, 2, 0] : tensor<69x3x131xf32> -> tensor<3x131x69xf32>
    %2 = graph.cast %b : tensor<3x69x131xbf16> -> tensor<3x69x131xf32>
    %3 = graph.transpose %2 [0, 2, 1] : tensor<3x69x131xf32> -> tensor<3x131x69xf32>
    %4 = graph.broadcast %c [1] : tensor<131xf32> -> tensor<3x131x69xf32>
    %5 = graph.broadcast %d [2] : tensor<69xf32> -> tensor<3x131x69xf32>
    %6 = graph.add %1, %4 : tensor<3x131x69xf32>
    %7 = graph.add %3, %5 : tensor<3x131x69xf32>
    %8 = graph.add %6, %7 : tensor<3x131x69xf32>
    %9 = graph.cast %8 : tensor<3x131x69xf32> -> tensor<3x131x69xf16>
    return %9 : tensor<3x131x69xf16>
  })",
      {.tolerance = {1e-3, 1e-3}, .kernels = 1});
}

// Views of a larger tensor end where its memory does.
TEST(TransposeImage, ViewsThatAreNotAligned) {
  constexpr int kRows = 131, kColumns = 69;
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceString<ModuleOp>(
      transposed(kRows, kColumns, "i32", false), &context);
  driver::CompileOptions options;
  options.target = TargetInfo::h200();
  auto device = runtime::createEmulatorDevice();
  auto loaded = llvm::cantFail(runtime::Executable::create(
      llvm::cantFail(driver::compile(*module, options)).program, device));
  auto run = llvm::cantFail(runtime::ExecutionContext::create(loaded));
  std::vector<int32_t> x(kRows * kColumns);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = int32_t(i);
  for (int shift : {0, 1, 2, 3}) {
    size_t bytes = x.size() * sizeof(int32_t);
    size_t all = bytes + shift * sizeof(int32_t);
    auto in = llvm::cantFail(runtime::Buffer::allocate(device, all));
    auto out = llvm::cantFail(runtime::Buffer::allocate(device, all));
    auto *from = static_cast<int32_t *>(in.data()) + shift;
    auto *to = static_cast<int32_t *>(out.data()) + shift;
    llvm::cantFail(device->copyIn(from, x.data(), bytes, nullptr));
    EXPECT_EQ(llvm::toString(run->run({from}, {to})), "");
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c)
        ASSERT_EQ(to[c * kRows + r], 2 * (r * kColumns + c)) << r << " " << c;
  }
}
