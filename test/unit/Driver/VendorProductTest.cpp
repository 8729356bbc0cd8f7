//===- VendorProductTest.cpp - regions that are one product ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "VendorProduct.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using runtime::MatrixProduct;
using Matrix = MatrixProduct::Matrix;

namespace {
/// A region of %a and %b, of types `a` and `b`, and of %c and %d if there are
/// `others`, that makes %y of type `y`.
struct Region {
  std::string a, b, y, body;
  std::vector<std::string> others = {};
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
  auto tensor = [](const std::string &type) { return "tensor<" + type + ">"; };
  std::string y = tensor(region.y), parameters, operands, types;
  int count = 0;
  auto add = [&](const std::string &name, const std::string &type) {
    std::string outer = "%p" + std::to_string(count),
                comma = count++ ? ", " : "";
    parameters += comma + outer + ": " + tensor(type);
    operands += comma + name + " = " + outer;
    types += comma + tensor(type);
  };
  add("%a", region.a);
  add("%b", region.b);
  for (auto [i, type] : llvm::enumerate(region.others))
    add(i ? "%d" : "%c", type);
  auto module = parseSourceString<ModuleOp>(
      "func.func @f(" + parameters + ") -> " + y + " { %r = graph.fusion(" +
          operands + ") : (" + types + ") -> " + y + " { " + region.body +
          " graph.yield %y : " + y + " } return %r : " + y + " }",
      &context);
  EXPECT_TRUE(module) << region.body;
  std::optional<MatrixProduct> result;
  module->walk([&](graph::FusionOp fusion) {
    analysis::FactTable facts;
    analysis::RegionVerdict form = analysis::analyzeFusion(facts, fusion);
    EXPECT_TRUE(bool(form));
    result = driver::vendorProduct(fusion, *form);
  });
  return result;
}
} // namespace

TEST(VendorProduct, MatricesAreTakenAsTheyLie) {
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

TEST(VendorProduct, AxesOfOneKindBecomeOne) {
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

TEST(VendorProduct, BatchesHaveOnePitch) {
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

TEST(VendorProduct, AxesOfOneElementAreOfAnyKind) {
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

TEST(VendorProduct, TypesAreThoseOfSumsAsHere) {
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
  EXPECT_FALSE(has("f32", "f32", "f32")->allowTf32);
  EXPECT_TRUE(has("f32", "f32", "f32", " {allowTf32 = true}")->allowTf32);
}

TEST(VendorProduct, WhatComputesMoreIsNone) {
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

namespace {
/// 33 x 48 results of `element`, and %z, their product of `sum`.
struct Epilogue {
  std::string element = "f16", sum = "f16", size = "33x48";

  std::string of(const std::string &type, const std::string &shape) const {
    return "tensor<" + shape + "x" + type + ">";
  }
  std::string spread(const std::string &name, const std::string &from,
                     const std::string &shape, const std::string &dims) const {
    return name + " = graph.broadcast " + from + " [" + dims +
           "] : " + of(sum, shape) + " -> " + of(sum, size) + " ";
  }
  std::string op(const std::string &text) const {
    return text + " : " + of(sum, size) + " ";
  }
  std::string zero(const std::string &number = "0.0") const {
    return "%zero = graph.constant dense<" + number + "> : " + of(sum, size) +
           " ";
  }
  std::optional<MatrixProduct>
  product(const std::string &body,
          const std::vector<std::string> &others) const {
    return productOf(
        {"33x40xf16", "40x48xf16", size + "x" + element,
         "%z = graph.contract %a, %b batch [] x [] contract [1] x [0] : "
         "tensor<33x40xf16>, tensor<40x48xf16> -> " +
             of(sum, size) + " " + body,
         others});
  }
};
} // namespace

TEST(VendorProduct, BiasAddendAndReluAreItsEpilogue) {
  Epilogue e;
  std::string bias = e.spread("%bias", "%c", "48", "1");
  auto biased = e.product(bias + e.op("%y = graph.add %bias, %z"), {"48xf16"});
  ASSERT_TRUE(biased);
  EXPECT_EQ(biased->bias, 2u);
  EXPECT_EQ(biased->result.argument, 3u);
  EXPECT_FALSE(biased->addend);
  EXPECT_EQ(biased->activation, runtime::VendorActivation::None);

  auto relu = e.product(bias + e.op("%s = graph.add %z, %bias") + e.zero() +
                            e.op("%y = graph.max %s, %zero"),
                        {"48xf16"});
  ASSERT_TRUE(relu);
  EXPECT_EQ(relu->bias, 2u);
  EXPECT_EQ(relu->activation, runtime::VendorActivation::Relu);

  auto added = e.product(e.op("%y = graph.add %z, %c"), {"33x48xf16"});
  ASSERT_TRUE(added);
  EXPECT_EQ(added->addend, (Matrix{2, DType::F16, false, 48, 0}));
  EXPECT_FALSE(added->bias);

  auto both = e.product(e.op("%s = graph.add %z, %c") +
                            e.spread("%bias", "%d", "48", "1") +
                            e.op("%y = graph.add %s, %bias"),
                        {"33x48xf16", "48xf16"});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->addend->argument, 2u);
  EXPECT_EQ(both->bias, 3u);
}

TEST(VendorProduct, SumsInF32AreRoundedOnce) {
  Epilogue e{"f16", "f32"};
  std::string wide = "%e = graph.cast %c : tensor<48xf16> -> tensor<48xf32> " +
                     e.spread("%bias", "%e", "48", "1");
  std::string narrow =
      "%y = graph.cast %s : tensor<33x48xf32> -> tensor<33x48xf16>";
  auto product =
      e.product(wide + e.op("%s = graph.add %z, %bias") + narrow, {"48xf16"});
  ASSERT_TRUE(product);
  EXPECT_EQ(product->bias, 2u);
  EXPECT_EQ(product->result.dtype, DType::F16);
  // The library has biases of the result's type alone.
  EXPECT_FALSE(e.product(e.spread("%bias", "%c", "48", "1") +
                             e.op("%s = graph.add %z, %bias") + narrow,
                         {"48xf32"}));
  // A sum that is rounded before the bias.
  Epilogue f{"f32", "f16"};
  EXPECT_FALSE(f.product(
      "%s = graph.cast %z : tensor<33x48xf16> -> tensor<33x48xf32> "
      "%bias = graph.broadcast %c [1] : tensor<48xf32> -> tensor<33x48xf32> "
      "%y = graph.add %s, %bias : tensor<33x48xf32>",
      {"48xf32"}));
}

// A bias goes along what the result is contiguous along.
TEST(VendorProduct, BiasesFollowTheResult) {
  Epilogue e;
  std::string rows =
      e.spread("%bias", "%c", "33", "0") + e.op("%s = graph.add %z, %bias");
  EXPECT_FALSE(e.product(e.spread("%bias", "%c", "33", "0") +
                             e.op("%y = graph.add %z, %bias"),
                         {"33xf16"}));
  auto turned = productOf(
      {"33x40xf16",
       "40x48xf16",
       "48x33xf16",
       "%z = graph.contract %a, %b batch [] x [] contract [1] x [0] : "
       "tensor<33x40xf16>, tensor<40x48xf16> -> tensor<33x48xf16> " +
           rows +
           "%y = graph.transpose %s [1, 0] : tensor<33x48xf16> -> "
           "tensor<48x33xf16>",
       {"33xf16"}});
  ASSERT_TRUE(turned);
  EXPECT_EQ(turned->bias, 2u);
  EXPECT_EQ(turned->n, 33);
}

TEST(VendorProduct, OtherOrdersAndFunctionsAreNone) {
  Epilogue e;
  std::string bias = e.spread("%bias", "%c", "48", "1");
  // (z + bias) + d is not (z + d) + bias.
  EXPECT_FALSE(e.product(bias + e.op("%s = graph.add %z, %bias") +
                             e.op("%y = graph.add %s, %d"),
                         {"48xf16", "33x48xf16"}));
  // The residual behind the activation, two biases, a matrix that is turned.
  EXPECT_FALSE(e.product(e.zero() + e.op("%s = graph.max %z, %zero") +
                             e.op("%y = graph.add %s, %c"),
                         {"33x48xf16"}));
  EXPECT_FALSE(e.product(bias + e.op("%s = graph.add %z, %bias") +
                             e.spread("%more", "%d", "48", "1") +
                             e.op("%y = graph.add %s, %more"),
                         {"48xf16", "48xf16"}));
  EXPECT_FALSE(e.product("%t = graph.transpose %c [1, 0] : tensor<48x33xf16> "
                         "-> tensor<33x48xf16> " +
                             e.op("%y = graph.add %z, %t"),
                         {"48x33xf16"}));
  EXPECT_FALSE(e.product(e.zero("1.0") + e.op("%y = graph.max %z, %zero"), {}));
  EXPECT_FALSE(e.product(e.op("%y = graph.add %z, %z"), {}));
  EXPECT_FALSE(e.product(e.op("%y = graph.sub %z, %c"), {"33x48xf16"}));
}
