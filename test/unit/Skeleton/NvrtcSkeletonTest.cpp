//===- NvrtcSkeletonTest.cpp - the skeleton through NVRTC -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVRTC is stricter than nvcc about unannotated functions and puts kernels of
// one batch into one program, where the headers are met more than once.
//===----------------------------------------------------------------------===//
#include "fusec/Embedded/GemmSkeleton.h"
#include "fusec/Embedded/PreludeCuda.h"
#include "fusec/Embedded/PreludeSm90.h"
#include "fusec/Embedded/SkeletonTestHoles.h"
#include "fusec/Runtime/Cuda/Nvrtc.h"
#include "fusec/Target/CUDA/GemmConfig.h"
#include "gtest/gtest.h"

using namespace fusec;
using namespace fusec::runtime;

namespace {

Kernel kernel(const std::string &name, const std::string &config,
              const std::string &operands, uint32_t threads) {
  Kernel result;
  result.entry = name;
  result.threads = threads;
  result.source = "#include \"gemm.cuh\"\n#include \"holes.cuh\"\nusing " +
                  name + "Config = GemmConfig<GemmKind::" + config +
                  ">;\nTEST_KERNEL(" + name + ", " + name + "Config, " +
                  operands + ")\n";
  return result;
}

TEST(NvrtcSkeleton, CompilesInOneProgramWithoutSpills) {
  auto nvrtc = Nvrtc::open();
  if (!nvrtc)
    GTEST_SKIP() << llvm::toString(nvrtc.takeError());
  for (unsigned architecture : {80u, 90u}) {
    NvrtcOptions options;
    options.architecture = architecture;
    options.headers = {
        {"gemm.cuh", std::string("#ifndef GEMM_ALL\n#define GEMM_ALL\n") +
                         embedded::kPreludeCuda + embedded::kGemmSkeleton +
                         "#endif\n"},
        {"holes.cuh", std::string("#ifndef HOLES\n#define HOLES\n") +
                          embedded::kSkeletonTestHoles + "#endif\n"}};
    NvrtcCompiler compiler(*nvrtc, options);
    Kernel kernels[] = {
        kernel("half", "F16, 128, 128, 64, 2, 2, 3, 8",
               "f16, Async, AlongK, 8, Async, AlongOuter, 8", 128),
        kernel("single", "F32, 64, 64, 16, 2, 1, 3, 8",
               "f32, Computed, AlongK, 1, Async, AlongK, 4", 64)};
    auto compiled = compiler.compileAll(kernels, /*threads=*/1);
    ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
    EXPECT_EQ(compiler.statistics().programs, 1u);
    for (const CompiledKernel &one : *compiled) {
      EXPECT_EQ(one.module->log, "");
      ASSERT_TRUE(one.resources.spillStoreBytes.has_value());
      EXPECT_EQ(*one.resources.spillStoreBytes, 0u) << one.entry;
    }
  }
}

/// A kernel of the Warpgroup loop with the epilogue of the tests.
Kernel warpgroups(const std::string &name, const cuda::GemmConfig &config,
                  const std::string &operands) {
  Kernel result;
  result.entry = name;
  result.threads = static_cast<uint32_t>(config.threads());
  result.cluster = static_cast<uint32_t>(config.cluster);
  result.usesSm90 = true;
  result.source = "#include \"gemm.cuh\"\n#include \"holes.cuh\"\nusing " +
                  name + "Config = " + config.deviceType() +
                  ";\nTEST_KERNEL_SM90(" + name + ", " + name + "Config, " +
                  operands + ")\n";
  return result;
}

/// Compiles `kernels` for sm_90a and expects that a thread spills no more than
/// `most` bytes.
void expectNoSpills(std::shared_ptr<const Nvrtc> nvrtc,
                    llvm::ArrayRef<Kernel> kernels, uint32_t most = 0) {
  NvrtcOptions options;
  options.architecture = 90;
  options.headers = {
      {"gemm.cuh", std::string("#ifndef GEMM_ALL\n#define GEMM_ALL\n") +
                       embedded::kPreludeCuda + embedded::kPreludeSm90 +
                       embedded::kGemmSkeleton + "#endif\n"},
      {"holes.cuh", std::string("#ifndef HOLES\n#define HOLES\n") +
                        embedded::kSkeletonTestHoles + "#endif\n"}};
  NvrtcCompiler compiler(std::move(nvrtc), options);
  auto compiled = compiler.compileAll(kernels, /*threads=*/1);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  for (const CompiledKernel &one : *compiled) {
    EXPECT_EQ(one.module->log, "");
    ASSERT_TRUE(one.resources.spillStoreBytes.has_value());
    EXPECT_LE(*one.resources.spillStoreBytes, most) << one.entry;
  }
}

TEST(NvrtcSkeleton, DividesSumsWithoutSpills) {
  auto nvrtc = Nvrtc::open();
  if (!nvrtc)
    GTEST_SKIP() << llvm::toString(nvrtc.takeError());
  std::vector<Kernel> kernels;
  auto add = [&](cuda::GemmKind kind, int64_t tileM, int64_t tileN,
                 int64_t sharers, int64_t ranks, const char *operands) {
    cuda::GemmConfig config;
    config.kind = kind, config.loop = cuda::GemmLoop::Warpgroup;
    config.tileM = tileM, config.tileN = tileN;
    config.tileK = 128 / config.elementBytes();
    config.warpsM = tileM / 16, config.warpsN = 1, config.stages = 4;
    config.cluster = sharers * ranks, config.ranks = ranks;
    config.parts = cuda::isFloat8(kind) ? cuda::partsOf(tileN) : 0;
    kernels.push_back(
        warpgroups("split" + std::to_string(kernels.size()), config, operands));
  };
  using cuda::GemmKind;
  const char *half = "f16, Tensor, AlongK, 8, Tensor, AlongK, 8";
  add(GemmKind::F16, 128, 256, 2, 4, half);
  add(GemmKind::F16, 128, 256, 1, 8, half);
  add(GemmKind::F16, 128, 128, 1, 2, half);
  add(GemmKind::F16, 64, 64, 1, 8, half);
  add(GemmKind::BF16, 64, 128, 2, 3,
      "bf16, Tensor, AlongOuter, 8, Tensor, AlongOuter, 4");
  add(GemmKind::TF32, 128, 256, 2, 2,
      "f32, Tensor, AlongK, 4, Tensor, AlongK, 8");
  add(GemmKind::E4M3, 128, 256, 1, 8,
      "f8e4m3, Tensor, AlongK, 16, Tensor, AlongK, 16");
  expectNoSpills(*nvrtc, kernels);
}

TEST(NvrtcSkeleton, TakesTurnsWithFewSpills) {
  auto nvrtc = Nvrtc::open();
  if (!nvrtc)
    GTEST_SKIP() << llvm::toString(nvrtc.takeError());
  std::vector<Kernel> kernels;
  for (const char *operands :
       {"bf16, Tensor, AlongK, 8, Tensor, AlongOuter, 2",
        "bf16, Tensor, AlongOuter, 8, Tensor, AlongK, 8"}) {
    cuda::GemmConfig config;
    config.kind = cuda::GemmKind::BF16;
    config.loop = cuda::GemmLoop::Warpgroup;
    config.tileM = 128, config.tileN = 128, config.tileK = 64;
    config.warpsM = 8, config.warpsN = 1, config.cluster = 2;
    config.stages = 4, config.alternate = 8;
    kernels.push_back(
        warpgroups("turns" + std::to_string(kernels.size()), config, operands));
  }
  cuda::GemmConfig held;
  held.kind = cuda::GemmKind::BF16, held.loop = cuda::GemmLoop::Warpgroup;
  held.tileM = 128, held.tileN = 256, held.tileK = 64;
  held.warpsM = 8, held.warpsN = 1, held.stages = 4, held.held = 4;
  kernels.push_back(warpgroups(
      "held", held, "bf16, Tensor, AlongK, 8, Tensor, AlongOuter, 2"));
  // Three words, for the erf GELU of the first.
  expectNoSpills(*nvrtc, kernels, /*most=*/12);
}

} // namespace
