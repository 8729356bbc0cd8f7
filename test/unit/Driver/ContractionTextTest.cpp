//===- ContractionTextTest.cpp - what contraction kernels look like -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which form each operand takes: the results are the same for all of them, so
// only the text shows that the fast one is used.
//===----------------------------------------------------------------------===//
#include "fusec/Driver/Compile.h"
#include "fusec/Embedded/GemmSkeleton.h"
#include "fusec/Embedded/PreludeCuda.h"
#include "fusec/Runtime/Cuda/Nvrtc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;

namespace {

/// The only kernel of `text`.
runtime::Kernel kernelOf(llvm::StringRef text) {
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return {};
  auto compiled = driver::compile(*module);
  if (!compiled) {
    ADD_FAILURE() << llvm::toString(compiled.takeError());
    return {};
  }
  EXPECT_EQ(compiled->program.kernels.size(), 1u);
  EXPECT_EQ(compiled->program.steps.size(), 1u);
  return compiled->program.kernels.front();
}

bool has(const runtime::Kernel &kernel, const char *text) {
  return kernel.source.find(text) != std::string::npos;
}

// Graphs of one kernel each.
constexpr char kGemmBiasGelu[] =
    R"(func.func @f(%a: tensor<512x256xf16>, %b: tensor<256x1024xf16>, %v: tensor<1024xf16>) -> tensor<512x1024xf16> {
    %0 = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<512x256xf16>, tensor<256x1024xf16> -> tensor<512x1024xf16>
    %1 = graph.broadcast %v [1] : tensor<1024xf16> -> tensor<512x1024xf16>
    %2 = graph.add %0, %1 : tensor<512x1024xf16>
    %3 = graph.gelu erf %2 : tensor<512x1024xf16>
    return %3 : tensor<512x1024xf16>
  })";
constexpr char kConvolutionNhwcIsAsync[] =
    R"(func.func @f(%x: tensor<4x56x56x64xf16>, %w: tensor<128x3x3x64xf16>, %v: tensor<128xf16>) -> tensor<4x56x56x128xf16> {
    %0 = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 3, 1, 2] x [0, 3, 1, 2] -> [0, 3, 1, 2] groups = 1 : tensor<4x56x56x64xf16>, tensor<128x3x3x64xf16> -> tensor<4x56x56x128xf16>
    %1 = graph.broadcast %v [3] : tensor<128xf16> -> tensor<4x56x56x128xf16>
    %2 = graph.add %0, %1 : tensor<4x56x56x128xf16>
    %3 = graph.relu %2 : tensor<4x56x56x128xf16>
    return %3 : tensor<4x56x56x128xf16>
  })";
constexpr char kConvolutionNchwStoresAlongPixels[] =
    R"(func.func @f(%x: tensor<4x64x56x56xf16>, %w: tensor<128x64x3x3xf16>, %v: tensor<128xf16>) -> tensor<4x128x56x56xf16> {
    %0 = graph.convolution %x, %w strides [1, 1] dilations [1, 1] low [1, 1] high [1, 1] dims [0, 1, 2, 3] x [0, 1, 2, 3] -> [0, 1, 2, 3] groups = 1 : tensor<4x64x56x56xf16>, tensor<128x64x3x3xf16> -> tensor<4x128x56x56xf16>
    %1 = graph.broadcast %v [1] : tensor<128xf16> -> tensor<4x128x56x56xf16>
    %2 = graph.add %0, %1 : tensor<4x128x56x56xf16>
    %3 = graph.relu %2 : tensor<4x128x56x56xf16>
    return %3 : tensor<4x128x56x56xf16>
  })";
constexpr char kPrologueReadsVectors[] =
    R"(func.func @f(%a: tensor<512x256xf16>, %b: tensor<1024x256xf16>) -> tensor<512x1024xf16> {
    %0 = graph.relu %a : tensor<512x256xf16>
    %1 = graph.contract %0, %b batch [] x [] contract [1] x [1] : tensor<512x256xf16>, tensor<1024x256xf16> -> tensor<512x1024xf16>
    return %1 : tensor<512x1024xf16>
  })";

TEST(ContractionText, GemmBiasGelu) {
  runtime::Kernel kernel = kernelOf(kGemmBiasGelu);
  EXPECT_TRUE(kernel.usesSkeleton);
  EXPECT_TRUE(has(kernel, "kAccessA = GemmAccess::Async"));
  EXPECT_TRUE(has(kernel, "kOrderA = GemmOrder::KContiguous"));
  EXPECT_TRUE(has(kernel, "kAccessB = GemmAccess::Async"));
  EXPECT_TRUE(has(kernel, "kOrderB = GemmOrder::OuterContiguous"));
  EXPECT_TRUE(has(kernel, "ld<8>"));
  EXPECT_TRUE(has(kernel, "st<8>"));
}

TEST(ContractionText, ConvolutionNhwcIsAsync) {
  runtime::Kernel kernel = kernelOf(kConvolutionNhwcIsAsync);
  EXPECT_TRUE(has(kernel, "kAccessA = GemmAccess::Async"));
  EXPECT_TRUE(has(kernel, "kAccessB = GemmAccess::Async"));
  EXPECT_TRUE(has(kernel, "st<8>"));
}

TEST(ContractionText, ConvolutionNchwStoresAlongPixels) {
  runtime::Kernel kernel = kernelOf(kConvolutionNchwStoresAlongPixels);
  // A are the weights, B the image.
  EXPECT_TRUE(has(kernel, "kAccessA = GemmAccess::Async"));
  EXPECT_TRUE(has(kernel, "kAccessB = GemmAccess::Computed"));
  EXPECT_TRUE(has(kernel, "kOrderB = GemmOrder::OuterContiguous"));
  EXPECT_TRUE(has(kernel, "st<8>"));
}

TEST(ContractionText, PrologueReadsVectors) {
  runtime::Kernel kernel = kernelOf(kPrologueReadsVectors);
  EXPECT_TRUE(has(kernel, "kAccessA = GemmAccess::Computed"));
  EXPECT_TRUE(has(kernel, "kVectorA = 8"));
  EXPECT_TRUE(has(kernel, "ldm<8>"));
  EXPECT_TRUE(has(kernel, "kOrderB = GemmOrder::KContiguous"));
}

// Sixteen gathered elements in flight a thread, each with its own k, leave two
// blocks of 256 threads an SM a few registers short.
constexpr uint32_t kGatherSpillBytes = 64;

TEST(ContractionText, NvrtcCompilesWithoutSpills) {
  auto nvrtc = runtime::Nvrtc::open();
  if (!nvrtc)
    GTEST_SKIP() << llvm::toString(nvrtc.takeError());
  std::vector<runtime::Kernel> kernels;
  for (const char *text :
       {kGemmBiasGelu, kConvolutionNhwcIsAsync,
        kConvolutionNchwStoresAlongPixels, kPrologueReadsVectors})
    kernels.push_back(kernelOf(text));
  for (unsigned architecture : {80u, 90u}) {
    runtime::NvrtcOptions options;
    options.architecture = architecture;
    options.headers = {{"device.cuh", std::string(embedded::kPreludeCuda) +
                                          embedded::kGemmSkeleton}};
    options.extraOptions = {"--pre-include=device.cuh"};
    runtime::NvrtcCompiler compiler(*nvrtc, options);
    auto compiled = compiler.compileAll(kernels, /*threads=*/1);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    for (const runtime::CompiledKernel &one : *compiled) {
      EXPECT_EQ(one.module->log, "");
      ASSERT_TRUE(one.resources.spillStoreBytes.has_value());
      bool gathers = one.entry == kernels[2].entry;
      EXPECT_LE(*one.resources.spillStoreBytes,
                gathers ? kGatherSpillBytes : 0u)
          << one.entry;
    }
  }
}

} // namespace
