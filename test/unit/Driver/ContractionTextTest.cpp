//===- ContractionTextTest.cpp - what contraction kernels look like -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which form each operand takes: the results are the same for all of them, so
// only the text shows that the fast one is used.
//===----------------------------------------------------------------------===//
#include "fusec/Driver/Compile.h"
#include "fusec/Embedded/GemmSkeleton.h"
#include "fusec/Embedded/PreludeCuda.h"
#include "fusec/Embedded/PreludeSm90.h"
#include "fusec/Runtime/Cuda/Nvrtc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;

namespace {

/// The only kernel of `text` for `target`.
runtime::Kernel kernelOf(llvm::StringRef text,
                         TargetInfo target = TargetInfo::a100()) {
  DialectRegistry registry;
  driver::registerDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return {};
  driver::CompileOptions options;
  options.target = target;
  auto compiled = driver::compile(*module, options);
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
    R"(func.func @f(%a: tensor<64x256xf16>, %b: tensor<1024x256xf16>) -> tensor<64x1024xf16> {
    %0 = graph.relu %a : tensor<64x256xf16>
    %1 = graph.contract %0, %b batch [] x [] contract [1] x [1] : tensor<64x256xf16>, tensor<1024x256xf16> -> tensor<64x1024xf16>
    return %1 : tensor<64x1024xf16>
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

// One register holds what all elements of an operand are, zeros for example:
// those need no mask where k ends.
TEST(ContractionText, SplatOperand) {
  runtime::Kernel kernel = kernelOf(
      R"(func.func @f(%a: tensor<1x8x1xf16>) -> tensor<1x8x8xf16> {
    %0 = graph.constant dense<0.0> : tensor<1xf16>
    %1 = graph.broadcast %0 [1] : tensor<1xf16> -> tensor<1x1x8xf16>
    %2 = graph.contract %a, %1 batch [0] x [0] contract [2] x [1] : tensor<1x8x1xf16>, tensor<1x1x8xf16> -> tensor<1x8x8xf16>
    return %2 : tensor<1x8x8xf16>
  })");
  EXPECT_TRUE(has(kernel, "f16 a0[1];"));
  EXPECT_TRUE(has(kernel, "out[i] = a0[0];"));
}

TEST(ContractionText, GemmBiasGeluOnHopper) {
  runtime::Kernel kernel = kernelOf(kGemmBiasGelu, TargetInfo::h200());
  EXPECT_TRUE(kernel.usesSm90);
  EXPECT_TRUE(has(kernel, "GemmWgmmaConfig<GemmKind::F16"));
  EXPECT_TRUE(has(kernel, "kAccessA = GemmAccess::Tensor"));
  EXPECT_TRUE(has(kernel, "BoxA = GemmBox<GemmOrder::KContiguous"));
  EXPECT_TRUE(has(kernel, "kAccessB = GemmAccess::Tensor"));
  EXPECT_TRUE(has(kernel, "BoxB = GemmBox<GemmOrder::OuterContiguous"));
  EXPECT_FALSE(has(kernel, "sourceA")) << "boxes need no addresses";
}

TEST(ContractionText, AsksForWhatTheEpilogueReadsEarly) {
  runtime::Kernel kernel = kernelOf(
      R"(func.func @f(%a: tensor<4096x256xf16>, %b: tensor<256x512xf16>, %c: tensor<4096x512xf16>, %d: tensor<512xf16>) -> tensor<4096x512xf16> {
    %0 = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<4096x256xf16>, tensor<256x512xf16> -> tensor<4096x512xf16>
    %1 = graph.broadcast %d [1] : tensor<512xf16> -> tensor<4096x512xf16>
    %2 = graph.add %0, %1 : tensor<4096x512xf16>
    %3 = graph.add %2, %c : tensor<4096x512xf16>
    return %3 : tensor<4096x512xf16>
  })",
      TargetInfo::h200());
  EXPECT_TRUE(has(kernel, "kPrefetches = true"));
  EXPECT_EQ(llvm::StringRef(kernel.source).count("prefetch_l2<32>("), 1u)
      << "the matrix, not the row";
  runtime::Kernel plain = kernelOf(kGemmBiasGelu, TargetInfo::h200());
  EXPECT_TRUE(has(plain, "kPrefetches = false"));
}

TEST(ContractionText, WarpgroupsOfWideTilesAreApartOrTakeTurns) {
  auto ofColumns = [](llvm::StringRef n) {
    std::string x = "tensor<65536x1280xbf16>";
    std::string w = ("tensor<1280x" + n + "xbf16>").str();
    std::string y = ("tensor<65536x" + n + "xbf16>").str();
    return kernelOf("func.func @f(%a: " + x + ", %b: " + w + ") -> " + y +
                        " {\n  %0 = graph.contract %a, %b batch [] x [] "
                        "contract [1] x [0] : " +
                        x + ", " + w + " -> " + y + "\n  return %0 : " + y +
                        "\n}",
                    TargetInfo::h200());
  };
  runtime::Kernel turns = ofColumns("320"), apart = ofColumns("640");
  EXPECT_TRUE(has(turns, "GemmAlternateConfig<GemmKind::BF16, 160, 5, 5, 8, "
                         "2>"));
  EXPECT_EQ(turns.cluster, 2u);
  EXPECT_TRUE(has(apart, "GemmApartConfig<GemmKind::BF16, 320, 4, 3, 8, 2>"));
  EXPECT_EQ(apart.cluster, 2u);
}

TEST(ContractionText, RowsOfBComeInTheOrderOfAccumulators) {
  auto turned = [](llvm::StringRef batch, llvm::StringRef axes) {
    std::string x = (batch + "256x64xf16").str(), n = "96";
    std::string y = (batch + "256x96xf16").str(),
                w = (batch + "96x64xf16").str();
    int last = batch.empty() ? 1 : 2;
    std::string k = std::to_string(last);
    return "func.func @f(%a: tensor<" + x + ">, %b: tensor<" + w +
           ">) -> tensor<" + y + "> {\n    %0 = graph.contract %a, %b batch " +
           axes.str() + " x " + axes.str() + " contract [" + k + "] x [" + k +
           "] : tensor<" + x + ">, tensor<" + w + "> -> tensor<" + y +
           ">\n    return %0 : tensor<" + y + ">\n  }";
  };
  runtime::Kernel plain = kernelOf(turned("", "[]"), TargetInfo::h200());
  EXPECT_TRUE(has(plain, "BoxB = GemmBox<GemmOrder::KContiguous, 1, false, "
                         "false, 0, 0>"));
  runtime::Kernel batches = kernelOf(turned("5x", "[0]"), TargetInfo::h200());
  EXPECT_TRUE(has(batches, "false, true, 0, 3>")) << "blocks of a batch";
}

TEST(ContractionText, FewRowsComeInShortBoxes) {
  runtime::Kernel kernel = kernelOf(
      R"(func.func @f(%a: tensor<13x4096xf16>, %b: tensor<4096x8192xf16>) -> tensor<13x8192xf16> {
    %0 = graph.contract %a, %b batch [] x [] contract [1] x [0] : tensor<13x4096xf16>, tensor<4096x8192xf16> -> tensor<13x8192xf16>
    return %0 : tensor<13x8192xf16>
  })",
      TargetInfo::h200());
  EXPECT_TRUE(
      has(kernel, "GemmBox<GemmOrder::KContiguous, 1, false, false, 16>"));
}

TEST(ContractionText, WindowsComeInGroupsOnHopper) {
  runtime::Kernel kernel =
      kernelOf(kConvolutionNhwcIsAsync, TargetInfo::h200());
  EXPECT_TRUE(has(kernel, "GemmWgmmaConfig<GemmKind::F16"));
  EXPECT_TRUE(has(kernel, "kAccessA = GemmAccess::Async"));
  EXPECT_TRUE(has(kernel, "kAccessB = GemmAccess::Tensor"));
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
  for (TargetInfo target : {TargetInfo::a100(), TargetInfo::h200()}) {
    std::vector<runtime::Kernel> kernels;
    for (const char *text :
         {kGemmBiasGelu, kConvolutionNhwcIsAsync,
          kConvolutionNchwStoresAlongPixels, kPrologueReadsVectors})
      kernels.push_back(kernelOf(text, target));
    runtime::NvrtcOptions options;
    options.architecture = target.computeCapability;
    options.headers = {{"prelude.cuh", embedded::kPreludeCuda},
                       {"sm90.cuh", embedded::kPreludeSm90},
                       {"skeleton.cuh", embedded::kGemmSkeleton}};
    options.extraOptions = {"--pre-include=prelude.cuh"};
    options.sm90Header = "sm90.cuh";
    options.skeletonHeader = "skeleton.cuh";
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
