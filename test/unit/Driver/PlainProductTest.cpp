//===- PlainProductTest.cpp - regions that are one product ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "PlainProduct.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using runtime::MatrixProduct;
using Matrix = MatrixProduct::Matrix;

namespace {
/// A region of %a and %b, of types `a` and `b`, that makes %y of type `y`.
struct Region {
  std::string a, b, y, body;
};

/// A contraction by itself.
Region contraction(const std::string &a, const std::string &b,
                   const std::string &y, const std::string &dims) {
  return {a, b, y,
          "%y = graph.contract %a, %b " + dims + " : tensor<" + a +
              ">, tensor<" + b + "> -> tensor<" + y + ">"};
}

std::optional<MatrixProduct> productOf(const Region &region) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, graph::GraphDialect>();
  std::string a = "tensor<" + region.a + ">", b = "tensor<" + region.b + ">",
              y = "tensor<" + region.y + ">";
  auto module = parseSourceString<ModuleOp>(
      "func.func @f(%x: " + a + ", %w: " + b + ") -> " + y +
          " { %r = graph.fusion(%a = %x, %b = %w) : (" + a + ", " + b +
          ") -> " + y + " { " + region.body + " graph.yield %y : " + y +
          " } return %r : " + y + " }",
      &context);
  EXPECT_TRUE(module) << region.body;
  std::optional<MatrixProduct> result;
  module->walk([&](graph::FusionOp fusion) {
    analysis::FactTable facts;
    analysis::RegionVerdict form = analysis::analyzeFusion(facts, fusion);
    EXPECT_TRUE(bool(form));
    result = driver::plainProduct(fusion, *form);
  });
  return result;
}
} // namespace

TEST(PlainProduct, MatricesAreTakenAsTheyLie) {
  EXPECT_EQ(productOf(contraction("33x40xf16", "40x48xf16", "33x48xf16",
                                  "batch [] x [] contract [1] x [0]")),
            (MatrixProduct{1, 33, 48, 40, Matrix{0, DType::F16, true, 40, 0},
                           Matrix{1, DType::F16, false, 48, 0},
                           Matrix{2, DType::F16, false, 48, 0}}));
  EXPECT_EQ(productOf(contraction("40x33xbf16", "48x40xbf16", "33x48xf32",
                                  "batch [] x [] contract [0] x [1]")),
            (MatrixProduct{1, 33, 48, 40, Matrix{0, DType::BF16, false, 33, 0},
                           Matrix{1, DType::BF16, true, 40, 0},
                           Matrix{2, DType::F32, false, 48, 0}}));
  // Half of each row; and a result that is turned, so that what was n is m.
  EXPECT_EQ(productOf({"33x64xf16", "40x48xf16", "48x33xf16",
                       "%s = graph.slice %a offsets [0, 0] strides [1, 1] : "
                       "tensor<33x64xf16> -> tensor<33x40xf16> "
                       "%z = graph.contract %s, %b batch [] x [] contract [1] "
                       "x [0] : tensor<33x40xf16>, tensor<40x48xf16> -> "
                       "tensor<33x48xf16> "
                       "%y = graph.transpose %z [1, 0] : tensor<33x48xf16> -> "
                       "tensor<48x33xf16>"}),
            (MatrixProduct{1, 48, 33, 40, Matrix{1, DType::F16, false, 48, 0},
                           Matrix{0, DType::F16, true, 64, 0},
                           Matrix{2, DType::F16, false, 33, 0}}));
}

TEST(PlainProduct, AxesOfOneKindBecomeOne) {
  EXPECT_EQ(productOf(contraction("3x33x4x10xf16", "4x10x48xf16", "3x33x48xf16",
                                  "batch [] x [] contract [2, 3] x [0, 1]")),
            (MatrixProduct{1, 99, 48, 40, Matrix{0, DType::F16, true, 40, 0},
                           Matrix{1, DType::F16, false, 48, 0},
                           Matrix{2, DType::F16, false, 48, 0}}));
  // Where they lie in different orders there is no matrix.
  EXPECT_FALSE(
      productOf(contraction("33x4x10xf16", "10x4x48xf16", "33x48xf16",
                            "batch [] x [] contract [1, 2] x [1, 0]")));
}

TEST(PlainProduct, BatchesHaveOnePitch) {
  EXPECT_EQ(
      productOf(contraction("3x33x40xf16", "3x40x48xf16", "3x33x48xf16",
                            "batch [0] x [0] contract [2] x [1]")),
      (MatrixProduct{3, 33, 48, 40, Matrix{0, DType::F16, true, 40, 33 * 40},
                     Matrix{1, DType::F16, false, 48, 40 * 48},
                     Matrix{2, DType::F16, false, 48, 33 * 48}}));
  // One matrix for all; the heads of an attention, and of several.
  EXPECT_EQ(productOf({"33x40xf16", "3x40x48xf16", "3x33x48xf16",
                       "%z = graph.contract %a, %b batch [] x [] contract [1] "
                       "x [1] : tensor<33x40xf16>, tensor<3x40x48xf16> -> "
                       "tensor<33x3x48xf16> "
                       "%y = graph.transpose %z [1, 0, 2] : "
                       "tensor<33x3x48xf16> -> tensor<3x33x48xf16>"}),
            (MatrixProduct{3, 33, 48, 40, Matrix{0, DType::F16, true, 40, 0},
                           Matrix{1, DType::F16, false, 48, 40 * 48},
                           Matrix{2, DType::F16, false, 48, 33 * 48}}));
  EXPECT_EQ(productOf({"32x4x16xf16", "32x4x16xf16", "4x32x32xf16",
                       "%p = graph.transpose %a [1, 0, 2] : "
                       "tensor<32x4x16xf16> -> tensor<4x32x16xf16> "
                       "%q = graph.transpose %b [1, 2, 0] : "
                       "tensor<32x4x16xf16> -> tensor<4x16x32xf16> "
                       "%y = graph.contract %p, %q batch [0] x [0] contract "
                       "[2] x [1] : tensor<4x32x16xf16>, tensor<4x16x32xf16> "
                       "-> tensor<4x32x32xf16>"}),
            (MatrixProduct{4, 32, 32, 16, Matrix{0, DType::F16, true, 64, 16},
                           Matrix{1, DType::F16, true, 64, 16},
                           Matrix{2, DType::F16, false, 32, 1024}}));
  EXPECT_FALSE(productOf(
      {"2x32x4x16xf16", "2x4x16x32xf16", "2x4x32x32xf16",
       "%p = graph.transpose %a [0, 2, 1, 3] : tensor<2x32x4x16xf16> -> "
       "tensor<2x4x32x16xf16> "
       "%y = graph.contract %p, %b batch [0, 1] x [0, 1] contract [3] x [2] : "
       "tensor<2x4x32x16xf16>, tensor<2x4x16x32xf16> -> "
       "tensor<2x4x32x32xf16>"}));
}

TEST(PlainProduct, AxesOfOneElementAreOfAnyKind) {
  std::string dims = "batch [] x [] contract [1] x [0]";
  auto row = productOf(contraction("1x64xf16", "64x32xf16", "1x32xf16", dims));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->lhs.pitch, 64);
  EXPECT_EQ(row->result.pitch, 32);
  // The result is contiguous along what was m.
  auto column =
      productOf(contraction("32x64xf16", "64x1xf16", "32x1xf16", dims));
  ASSERT_TRUE(column);
  EXPECT_EQ(column->m, 1);
  EXPECT_EQ(column->n, 32);
  EXPECT_EQ(column->rhs.argument, 0u);
  auto outer =
      productOf(contraction("32x1xf16", "1x16xf16", "32x16xf16", dims));
  ASSERT_TRUE(outer);
  EXPECT_EQ(outer->k, 1);
  EXPECT_EQ(outer->lhsReach(), 32);
  EXPECT_EQ(outer->rhsReach(), 16);
  EXPECT_FALSE(
      productOf(contraction("0x64xf16", "64x32xf16", "0x32xf16", dims)));
}

TEST(PlainProduct, TypesAreThoseOfSumsAsHere) {
  std::string dims = "batch [] x [] contract [1] x [1]";
  auto has = [&](const std::string &a, const std::string &b,
                 const std::string &y, const std::string &more = "") {
    return productOf(
        contraction("64x64x" + a, "64x64x" + b, "64x64x" + y, dims + more));
  };
  EXPECT_TRUE(has("i8", "i8", "i32"));
  EXPECT_TRUE(has("f32", "f32", "f32"));
  EXPECT_TRUE(has("f16", "f16", "f32"));
  auto fast = has("f8E4M3FN", "f8E5M2", "bf16", " {graph.fast_accumulation}");
  ASSERT_TRUE(fast);
  EXPECT_TRUE(fast->fastAccumulation);
  EXPECT_FALSE(has("f8E4M3FN", "f8E4M3FN", "f32")->fastAccumulation);
  EXPECT_FALSE(has("ui8", "i8", "i32"));
  EXPECT_FALSE(has("i8", "i8", "i64"));
  EXPECT_FALSE(has("f16", "bf16", "f32"));
  EXPECT_FALSE(has("f64", "f64", "f64"));
  // Nobody says how its operands are rounded.
  EXPECT_FALSE(has("f32", "f32", "f32", " {allowTf32 = true}"));
}

TEST(PlainProduct, WhatComputesMoreIsNone) {
  std::string types = " : tensor<33x40xf16>, tensor<40x48xf16> -> "
                      "tensor<33x48xf16> ",
              product = " batch [] x [] contract [1] x [0]" + types;
  EXPECT_FALSE(productOf({"33x40xf16", "40x48xf16", "33x48xf16",
                          "%z = graph.contract %a, %b" + product +
                              "%y = graph.abs %z : tensor<33x48xf16>"}));
  EXPECT_FALSE(productOf({"33x40xf16", "40x48xf16", "33x48xf16",
                          "%p = graph.abs %a : tensor<33x40xf16> "
                          "%y = graph.contract %p, %b" +
                              product}));
  // A part that does not begin where the buffer does.
  EXPECT_FALSE(productOf({"34x40xf16", "40x48xf16", "33x48xf16",
                          "%p = graph.slice %a offsets [1, 0] strides [1, 1] : "
                          "tensor<34x40xf16> -> tensor<33x40xf16> "
                          "%y = graph.contract %p, %b" +
                              product}));
}
