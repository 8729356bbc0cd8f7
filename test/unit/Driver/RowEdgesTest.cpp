//===- RowEdgesTest.cpp - rows that start anywhere in a vector ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Driver/Compile.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Runtime/Executable.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace fusec;

namespace {
/// softmax of `rows` x `columns` f32 whose first element is `shift` elements
/// behind an address that is aligned to 16 bytes, on checked memory.
std::vector<float> softmax(int rows, int columns, int shift,
                           const std::vector<float> &x, int64_t rowBlock = 0) {
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry);
  std::string type = "tensor<" + std::to_string(rows) + "x" +
                     std::to_string(columns) + "xf32>";
  auto module = parseSourceString<ModuleOp>(
      "func.func @f(%x: " + type + ") -> " + type +
          " {\n%y = graph.softmax %x [1] : " + type + "\nreturn %y : " + type +
          "\n}",
      &context);
  driver::CompileOptions options;
  options.target = TargetInfo::h200();
  options.target.rowBlockBytes = rowBlock;
  auto device = runtime::createEmulatorDevice();
  auto loaded = llvm::cantFail(runtime::Executable::create(
      llvm::cantFail(driver::compile(*module, options)).program, device));
  auto run = llvm::cantFail(runtime::ExecutionContext::create(loaded));
  size_t bytes = x.size() * sizeof(float), all = bytes + shift * sizeof(float);
  auto in = llvm::cantFail(runtime::Buffer::allocate(device, all));
  auto out = llvm::cantFail(runtime::Buffer::allocate(device, all));
  auto *from = static_cast<float *>(in.data()) + shift;
  auto *to = static_cast<float *>(out.data()) + shift;
  llvm::cantFail(device->copyIn(from, x.data(), bytes, nullptr));
  EXPECT_EQ(llvm::toString(run->run({from}, {to})), "");
  return {to, to + x.size()};
}
} // namespace

// Views of a larger tensor end where its memory does, and infinities and NaN
// stay in their row.
TEST(RowEdges, ViewsThatAreNotAlignedGiveTheSameBits) {
  constexpr int kRows = 6, kColumns = 45;
  std::vector<float> x(kRows * kColumns);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i * 37 % 101) / 16.0f;
  x[0 * kColumns + 44] = std::numeric_limits<float>::quiet_NaN();
  x[2 * kColumns + 1] = std::numeric_limits<float>::infinity();
  for (int c = 0; c < kColumns; ++c)
    x[4 * kColumns + c] = -std::numeric_limits<float>::infinity();
  std::vector<float> aligned = softmax(kRows, kColumns, 0, x);
  for (int row = 0; row < kRows; ++row) {
    double sum = 0, expected = 0;
    float most = -std::numeric_limits<float>::infinity();
    for (int c = 0; c < kColumns; ++c)
      most = std::fmax(most, x[row * kColumns + c]);
    for (int c = 0; c < kColumns; ++c)
      sum += std::exp(double(x[row * kColumns + c]) - most);
    for (int c = 0; c < kColumns; ++c) {
      float found = aligned[row * kColumns + c];
      expected = std::exp(double(x[row * kColumns + c]) - most) / sum;
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(found)) << row << " " << c;
      else
        EXPECT_NEAR(found, expected, 1e-6 * expected) << row << " " << c;
    }
  }
  auto bits = [](const std::vector<float> &values) {
    std::vector<uint32_t> result;
    for (float value : values)
      result.push_back(llvm::bit_cast<uint32_t>(value));
    return result;
  };
  for (int shift : {1, 2, 3})
    EXPECT_EQ(bits(softmax(kRows, kColumns, shift, x)), bits(aligned)) << shift;
}

// So do rows that are copied to shared memory in the background, by clusters
// and by single blocks.
TEST(RowEdges, CopiesOfViewsThatAreNotAligned) {
  for (auto [columns, rowBlock] :
       {std::pair(20000, 64), {20001, 64}, {40001, 170000}}) {
    std::vector<float> x(2 * columns);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i * 37 % 101) / 16.0f;
    std::vector<float> aligned = softmax(2, columns, 0, x, rowBlock);
    EXPECT_EQ(softmax(2, columns, 1, x, rowBlock), aligned) << columns;
    EXPECT_EQ(softmax(2, columns, 2, x, rowBlock), aligned) << columns;
  }
}
