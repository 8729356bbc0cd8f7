//===- CompileTest.cpp - graphs as kernels against the reference ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Differential.h"
#include "llvm/Support/FormatVariadic.h"

using namespace fusec::test;

// exp, erf and friends: 2 ulp of f32 each; sums of n terms: n * 2^-24 of the
// sum of magnitudes, which these inputs keep within 4x of the result.
static constexpr double kEps = 0x1p-24;

TEST(Compile, ElementwiseDag) {
  checkGraph(
      R"(func.func @f(%a: tensor<8x33xf32>, %b: tensor<8x33xf32>) -> tensor<8x33xf32> {
    %0 = graph.add %a, %b : tensor<8x33xf32>
    %1 = graph.mul %0, %a : tensor<8x33xf32>
    %2 = graph.max %1, %b : tensor<8x33xf32>
    return %2 : tensor<8x33xf32>
  })",
      {{4 * kEps, 0}, true, 1, 1});
}

TEST(Compile, BroadcastBiasVectorised) {
  checkGraph(
      R"(func.func @f(%x: tensor<64x128xf16>, %b: tensor<128xf16>) -> tensor<64x128xf16> {
    %0 = graph.broadcast %b [1] : tensor<128xf16> -> tensor<64x128xf16>
    %1 = graph.add %x, %0 : tensor<64x128xf16>
    return %1 : tensor<64x128xf16>
  })",
      {{0, 0}, true, 1, 1});
}

TEST(Compile, TransposeReshapeSlice) {
  checkGraph(R"(func.func @f(%x: tensor<6x10x4xf32>) -> tensor<12x10xf32> {
    %0 = graph.transpose %x [0, 2, 1] : tensor<6x10x4xf32> -> tensor<6x4x10xf32>
    %1 = graph.reshape %0 : tensor<6x4x10xf32> -> tensor<24x10xf32>
    %2 = graph.slice %1 offsets [23, 0] strides [-2, 1] : tensor<24x10xf32> -> tensor<12x10xf32>
    %3 = graph.neg %2 : tensor<12x10xf32>
    return %3 : tensor<12x10xf32>
  })",
             {{0, 0}, true, 1, 1});
}

TEST(Compile, PadConcatGather) {
  checkGraph(
      R"(func.func @f(%x: tensor<5x7xf32>, %y: tensor<5x3xf32>, %v: tensor<f32>, %i: tensor<4xi64>) -> tensor<4x13xf32> {
    %0 = graph.pad %x, %v low [0, 1] high [0, 2] : tensor<5x7xf32>, tensor<f32> -> tensor<5x10xf32>
    %1 = graph.concat %0, %y axis = 1 : tensor<5x10xf32>, tensor<5x3xf32> -> tensor<5x13xf32>
    %2 = graph.gather %1, %i axis = 0 : tensor<5x13xf32>, tensor<4xi64> -> tensor<4x13xf32>
    return %2 : tensor<4x13xf32>
  })",
      {{0, 0}, true, 1, 1, 5});
}

TEST(Compile, EveryElementTypeCopies) {
  for (const char *type :
       {"f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i64", "i32", "i16",
        "i8", "ui64", "ui32", "ui16", "ui8", "i1"})
    checkGraph(
        llvm::formatv(R"(func.func @f(%x: tensor<5x9x{0}>) -> tensor<9x5x{0}> {{
      %0 = graph.transpose %x [1, 0] : tensor<5x9x{0}> -> tensor<9x5x{0}>
      return %0 : tensor<9x5x{0}>
    })",
                      type)
            .str(),
        {{0, 0}, false, 1, 1});
}

// Integer division is not speculatable, yet has thread code: it is total.
TEST(Compile, IntegerDivisionByZero) {
  for (const char *type : {"i8", "ui8", "i32", "ui32", "i64"})
    checkGraph(
        llvm::formatv(
            R"(func.func @f(%x: tensor<40x{0}>, %y: tensor<40x{0}>) -> (tensor<40x{0}>, tensor<40x{0}>) {{
      %0 = graph.div %x, %y : tensor<40x{0}>
      %1 = graph.rem %x, %y : tensor<40x{0}>
      return %0, %1 : tensor<40x{0}>, tensor<40x{0}>
    })",
            type)
            .str(),
        {{0, 0}, false, 1, 1, 4});
}

// Offsets are 32 bits wide, indices are not: they clamp before they narrow.
TEST(Compile, LargeIndicesClamp) {
  checkGraph(R"(func.func @f(%x: tensor<5x3xf32>) -> tensor<4x3xf32> {
    %i = graph.constant dense<[4294967299, -4294967299, 4, -5]> : tensor<4xi64>
    %0 = graph.gather %x, %i axis = 0 : tensor<5x3xf32>, tensor<4xi64> -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  })",
             {{0, 0}, false, 1, 1});
}

// A region that no kernel can be runs as one kernel per op.
TEST(Compile, RegionOfDifferentRowsIsSplit) {
  checkGraph(
      R"(func.func @f(%x: tensor<3x33x31xf32>) -> (tensor<3x33xf32>, tensor<3x31xf32>) {
    %0:2 = graph.fusion(%a = %x) : (tensor<3x33x31xf32>) -> (tensor<3x33xf32>, tensor<3x31xf32>) {
      %e = graph.exp %a : tensor<3x33x31xf32>
      %r = graph.reduce sum %e [2] : tensor<3x33x31xf32> -> tensor<3x33xf32>
      %c = graph.reduce sum %e [1] : tensor<3x33x31xf32> -> tensor<3x31xf32>
      graph.yield %r, %c : tensor<3x33xf32>, tensor<3x31xf32>
    }
    return %0#0, %0#1 : tensor<3x33xf32>, tensor<3x31xf32>
  })",
      {{64 * kEps, 0}, false, 1, 3});
}

// One rounding, also of integers that f32 and f64 do not hold: 2^60 + 2^52 + 1
// lies just above the middle of two bf16 numbers.
TEST(Compile, CastsOfLargeIntegersRoundOnce) {
  for (const char *type : {"f16", "bf16", "f32", "f64"})
    checkGraph(
        llvm::formatv(
            R"(func.func @f(%x: tensor<33xi64>, %u: tensor<33xui64>, %i: tensor<33xi32>) -> (tensor<33x{0}>, tensor<33x{0}>, tensor<33x{0}>) {{
    %c = graph.constant dense<1157425104234217473> : tensor<33xi64>
    %s = graph.sub %c, %x : tensor<33xi64>
    %d = graph.constant dense<1157425104234217473> : tensor<33xui64>
    %t = graph.add %d, %u : tensor<33xui64>
    %e = graph.constant dense<16842752> : tensor<33xi32>
    %v = graph.add %e, %i : tensor<33xi32>
    %0 = graph.cast %s : tensor<33xi64> -> tensor<33x{0}>
    %1 = graph.cast %t : tensor<33xui64> -> tensor<33x{0}>
    %2 = graph.cast %v : tensor<33xi32> -> tensor<33x{0}>
    return %0, %1, %2 : tensor<33x{0}>, tensor<33x{0}>, tensor<33x{0}>
  })",
            type)
            .str(),
        {{}, false, 3, std::nullopt, 3});
}

// Rounded once, from the narrow type's exact value.
TEST(Compile, CastsBetweenNarrowFloats) {
  for (const char *from : {"f16", "bf16"})
    for (const char *to : {"f8E4M3FN", "f8E5M2"})
      checkGraph(
          llvm::formatv(R"(func.func @f(%x: tensor<67x{0}>) -> tensor<67x{1}> {{
    %0 = graph.cast %x : tensor<67x{0}> -> tensor<67x{1}>
    return %0 : tensor<67x{1}>
  })",
                        from, to)
              .str());
}

// Along the second axis the window lies in the padding alone.
TEST(Compile, WindowsOverPaddingAlone) {
  checkGraph(R"(func.func @f(%a: tensor<2x1x3x1xf16>, %b: tensor<1x2xf16>) -> tensor<2x3x2x1x1xf32> {
    %0 = graph.broadcast %a [0, 1, 2, 3] : tensor<2x1x3x1xf16> -> tensor<2x5x3x1x1xf16>
    %1 = graph.broadcast %b [1, 2] : tensor<1x2xf16> -> tensor<3x5x2x3x2xf16>
    %2 = graph.convolution %0, %1 strides [1, 3, 1] dilations [1, 1, 3] low [0, 3, 2] high [0, 1, 1] dims [0, 1, 2, 3, 4] x [0, 1, 2, 3, 4] -> [0, 1, 2, 3, 4] groups = 1 : tensor<2x5x3x1x1xf16>, tensor<3x5x2x3x2xf16> -> tensor<2x3x2x1x1xf32>
    return %2 : tensor<2x3x2x1x1xf32>
  })");
}

// A long row that is split by itself shares a launch, where it is not and has
// fewer threads than it would like.
TEST(Compile, LongRowInASharedLaunch) {
  checkGraph(
      R"(func.func @f(%x: tensor<65x3x64xf64>, %y: tensor<8x4x18x17xf32>) -> (tensor<f64>, tensor<8x4x18x17xf32>) {
    %0 = graph.reduce sum %x [0, 1, 2] : tensor<65x3x64xf64> -> tensor<f64>
    %1 = graph.neg %y : tensor<8x4x18x17xf32>
    return %0, %1 : tensor<f64>, tensor<8x4x18x17xf32>
  })",
      {{0x1p-40, 0x1p-40}});
}

// Four bits in a byte: what does not fit wraps before it is looked at.
TEST(Compile, FourBitIntegersWrap) {
  for (const char *type : {"i4", "ui4"})
    checkGraph(
        llvm::formatv(
            R"(func.func @f(%x: tensor<97x{0}>, %y: tensor<97x{0}>) -> (tensor<97xi32>, tensor<97x{0}>, tensor<97xi1>) {{
    %a = graph.add %x, %y : tensor<97x{0}>
    %wide = graph.cast %a : tensor<97x{0}> -> tensor<97xi32>
    %p = graph.mul %x, %y : tensor<97x{0}>
    %m = graph.max %p, %a : tensor<97x{0}>
    %less = graph.compare lt %p, %a : tensor<97x{0}>
    return %wide, %m, %less : tensor<97xi32>, tensor<97x{0}>, tensor<97xi1>
  })",
            type)
            .str(),
        {{0, 0}, false, 21});
}
