//===- ExactSumsTest.cpp - data on which orders do not matter -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/ExactSums.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;

namespace {
/// Whether it is so for x . w over `k`, where `prologue` makes %a of %x.
bool isExact(llvm::StringRef prologue, int64_t k, llvm::StringRef x = "f16",
             llvm::StringRef a = "f16") {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  std::string size = std::to_string(k);
  auto typeOf = [&](llvm::StringRef element) {
    return "tensor<8x" + size + "x" + element.str() + ">";
  };
  std::string text =
      "!x = " + typeOf(x) + "\n!a = " + typeOf(a) + "\n!w = tensor<" + size +
      "x8x" + a.str() + ">\nfunc.func @f(%x: !x, %s: !a, %w: !w) -> " +
      "tensor<8x8xf32> {\n" + prologue.str() +
      "\n%y = graph.contract %a, %w batch [] x [] contract [1] x [0] : !a, !w "
      "-> tensor<8x8xf32>\nreturn %y : tensor<8x8xf32>\n}";
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  bool result = false;
  analysis::FactTable facts;
  if (module)
    module->walk([&](graph::ContractOp op) {
      result = analysis::isExactOnSimpleData(facts, op);
    });
  return result;
}
} // namespace

TEST(ExactSums, OfPlainOperandsUpToTheAccumulator) {
  // Products are multiples of 1/4 up to 1: 2^22 of them.
  EXPECT_TRUE(isExact("%a = graph.neg %x : !x", 1));
  EXPECT_TRUE(isExact("%a = graph.neg %x : !x", 0));
  EXPECT_TRUE(isExact("%a = graph.neg %x : !x", 1 << 22));
  EXPECT_FALSE(isExact("%a = graph.neg %x : !x", (1 << 22) + 1));
}

TEST(ExactSums, OfWhatStaysOnAGrid) {
  EXPECT_TRUE(isExact("%a = graph.mul %x, %s : !x", 4096));
  EXPECT_TRUE(isExact("%a = graph.add %x, %s : !x", 4096));
  EXPECT_TRUE(isExact("%a = graph.cast %x : !x -> !a", 4096, "i8"));
  EXPECT_TRUE(isExact("%c = graph.cast %x : !x -> !a\n"
                      "%a = graph.mul %c, %s : !a",
                      4096, "i8"))
      << "dequantised weights";
  EXPECT_TRUE(isExact("%c = graph.shr %x, %x : !x\n"
                      "%a = graph.cast %c : !x -> !a",
                      4096, "ui8"))
      << "any byte";
  EXPECT_TRUE(isExact("%c = graph.constant dense<0.25> : !a\n"
                      "%a = graph.mul %x, %c : !a",
                      4096));
}

TEST(ExactSums, NotOfWhatLeavesIt) {
  EXPECT_FALSE(isExact("%a = graph.exp %x : !x", 16));
  EXPECT_FALSE(isExact("%a = graph.div %x, %s : !x", 16));
  EXPECT_FALSE(isExact("%c = graph.constant dense<0.1> : !a\n"
                       "%a = graph.mul %x, %c : !a",
                       16));
  // Five products of numbers up to 8 have more digits than an operand.
  EXPECT_FALSE(isExact("%c = graph.cast %x : !x -> !a\n"
                       "%d = graph.mul %c, %c : !a\n"
                       "%a = graph.mul %d, %d : !a",
                       16, "i8"));
  EXPECT_FALSE(isExact("%c = graph.mul %x, %x : !x\n"
                       "%d = graph.mul %c, %c : !x\n"
                       "%e = graph.mul %d, %d : !x\n"
                       "%f = graph.mul %e, %e : !x\n"
                       "%a = graph.cast %f : !x -> !a",
                       16, "i32"));
}
