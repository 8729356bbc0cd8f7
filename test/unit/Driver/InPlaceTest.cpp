//===- InPlaceTest.cpp - which outputs may be an input --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// And that kernels of layers that differ in their weights only are one.
//===----------------------------------------------------------------------===//
#include "fusec/Driver/Compile.h"
#include "fusec/Runtime/Emulator/EmulatorDevice.h"
#include "fusec/Runtime/Executable.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace fusec;
using runtime::Alias;

namespace {
class InPlaceTest : public testing::Test {
protected:
  InPlaceTest() {
    mlir::DialectRegistry registry;
    driver::registerDialects(registry);
    context.appendDialectRegistry(registry);
  }
  runtime::Program compile(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    return llvm::cantFail(driver::compile(*module)).program;
  }
  mlir::MLIRContext context;
};

using Aliases = std::vector<Alias>;
} // namespace

TEST_F(InPlaceTest, ElementwiseRegionsUpdateAnInput) {
  EXPECT_EQ(compile(R"(func.func @f(%a: tensor<64x33xf32>, %b: tensor<64x33xf32>) -> tensor<64x33xf32> {
    %0 = graph.mul %a, %b : tensor<64x33xf32>
    %1 = graph.add %0, %a : tensor<64x33xf32>
    return %1 : tensor<64x33xf32>
  })")
                .aliases,
            (Aliases{{0, 0}}));
}

// Parts of one launch update inputs of their own; what two of them read stays.
TEST_F(InPlaceTest, PartsOfALaunchUpdateTheirInputs) {
  runtime::Program program = compile(R"(func.func @f(%a: tensor<64xf32>, %b: tensor<99xf32>, %s: tensor<7xf32>, %c: tensor<8x7xf32>, %d: tensor<9x7xf32>) -> (tensor<64xf32>, tensor<99xf32>, tensor<8x7xf32>, tensor<9x7xf32>) {
    %0 = graph.exp %a : tensor<64xf32>
    %1 = graph.exp %b : tensor<99xf32>
    %2 = graph.broadcast %s [1] : tensor<7xf32> -> tensor<8x7xf32>
    %3 = graph.add %c, %2 : tensor<8x7xf32>
    %4 = graph.broadcast %s [1] : tensor<7xf32> -> tensor<9x7xf32>
    %5 = graph.add %d, %4 : tensor<9x7xf32>
    return %0, %1, %3, %5 : tensor<64xf32>, tensor<99xf32>, tensor<8x7xf32>, tensor<9x7xf32>
  })");
  EXPECT_EQ(program.steps.size(), 1u);
  EXPECT_EQ(program.aliases, (Aliases{{0, 0}, {1, 1}, {3, 2}, {4, 3}}));
}

TEST_F(InPlaceTest, OtherReadsForbidIt) {
  // Another element of the input.
  EXPECT_TRUE(compile(R"(func.func @f(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = graph.transpose %a [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
    %1 = graph.relu %0 : tensor<64x64xf32>
    return %1 : tensor<64x64xf32>
  })").aliases.empty());
  // The same and another one.
  EXPECT_TRUE(compile(R"(func.func @f(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = graph.transpose %a [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
    %1 = graph.add %0, %a : tensor<64x64xf32>
    return %1 : tensor<64x64xf32>
  })").aliases.empty());
  // Elements of another size.
  EXPECT_TRUE(compile(R"(func.func @f(%a: tensor<64x64xf32>) -> tensor<64x64xf16> {
    %0 = graph.cast %a : tensor<64x64xf32> -> tensor<64x64xf16>
    return %0 : tensor<64x64xf16>
  })").aliases.empty());
  // Operands of a product: other blocks read them, too.
  EXPECT_TRUE(compile(R"(func.func @f(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    return %0 : tensor<64x64xf32>
  })").aliases.empty());
  // A buffer of another size, read where it is written.
  EXPECT_TRUE(compile(R"(func.func @f(%a: tensor<64xf32>) -> tensor<32xf32> {
    %0 = graph.slice %a offsets [0] strides [1] : tensor<64xf32> -> tensor<32xf32>
    %1 = graph.exp %0 : tensor<32xf32>
    return %1 : tensor<32xf32>
  })").aliases.empty());
  // %a has an element for a whole row; %b is read where it is written.
  EXPECT_EQ(compile(R"(func.func @f(%a: tensor<64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %0 = graph.broadcast %a [0] : tensor<64xf32> -> tensor<64x64xf32>
    %1 = graph.reduce sum %b [1] : tensor<64x64xf32> -> tensor<64xf32>
    %2 = graph.broadcast %1 [0] : tensor<64xf32> -> tensor<64x64xf32>
    %3 = graph.add %0, %2 : tensor<64x64xf32>
    return %3 : tensor<64x64xf32>
  })").aliases,
            (Aliases{{1, 0}}));
}

// In place and not aligned to 16 bytes, on checked memory.
TEST_F(InPlaceTest, GivesTheSameNumbers) {
  auto device = runtime::createEmulatorDevice();
  auto loaded = llvm::cantFail(runtime::Executable::create(
      compile(R"(func.func @f(%a: tensor<40x33xf32>, %b: tensor<40x33xf32>) -> tensor<40x33xf32> {
    %0 = graph.mul %a, %b : tensor<40x33xf32>
    %1 = graph.sub %0, %a : tensor<40x33xf32>
    return %1 : tensor<40x33xf32>
  })"),
      device));
  ASSERT_EQ(loaded->program().aliases, (Aliases{{0, 0}}));
  auto run = llvm::cantFail(runtime::ExecutionContext::create(loaded));
  constexpr int n = 40 * 33;
  std::vector<float> a(n + 4), b(n + 4), expected(n);
  for (int i = 0; i < n; ++i) {
    a[i + 1] = float(i % 7);
    b[i + 3] = float(i % 5);
    expected[i] = a[i + 1] * b[i + 3] - a[i + 1];
  }
  auto memory = llvm::cantFail(runtime::Buffer::allocate(device, 4 * (n + 4)));
  auto other = llvm::cantFail(runtime::Buffer::allocate(device, 4 * (n + 4)));
  llvm::cantFail(device->copyIn(memory.data(), a.data(), 4 * (n + 4), nullptr));
  llvm::cantFail(device->copyIn(other.data(), b.data(), 4 * (n + 4), nullptr));
  auto *x = static_cast<float *>(memory.data()) + 1;
  auto *y = static_cast<float *>(other.data()) + 3;
  ASSERT_EQ(llvm::toString(run->run({x, y}, {x})), "");
  EXPECT_EQ(std::vector<float>(x, x + n), expected);
}

TEST_F(InPlaceTest, LayersOfOtherWeightsShareAKernel) {
  std::string text = "func.func @f(%x0: tensor<16x16xf32>) -> tensor<16x16xf32> "
                     "{\n";
  for (int i = 0; i < 6; ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1), rows;
    for (int k = 0; k < 256; ++k)
      rows += std::string(k % 16 ? ", " : k ? "], [" : "[") +
              std::to_string(k % (i + 3)) + ".0";
    text += "%w" + n + " = graph.constant dense<[" + rows +
            "]]> : tensor<16x16xf32>\n%c" + n + " = graph.contract %x" + n +
            ", %w" + n +
            " batch [] x [] contract [1] x [0] : tensor<16x16xf32>, "
            "tensor<16x16xf32> -> tensor<16x16xf32>\n%x" +
            next + " = graph.relu %c" + n + " : tensor<16x16xf32>\n";
  }
  text += "return %x6 : tensor<16x16xf32>\n}";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(!!module);
  auto program = llvm::cantFail(driver::compile(*module)).program;
  EXPECT_EQ(program.kernels.size(), 1u);
  EXPECT_EQ(program.steps.size(), 6u);
  EXPECT_EQ(program.constants.size(), 6u);
}
