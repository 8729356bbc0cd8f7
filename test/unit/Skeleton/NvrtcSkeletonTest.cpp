//===- NvrtcSkeletonTest.cpp - the skeleton through NVRTC -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVRTC is stricter than nvcc about unannotated functions and puts kernels of
// one batch into one program, where the headers are met more than once.
//===----------------------------------------------------------------------===//
#include "fusec/Embedded/GemmSkeleton.h"
#include "fusec/Embedded/PreludeCuda.h"
#include "fusec/Embedded/SkeletonTestHoles.h"
#include "fusec/Runtime/Cuda/Nvrtc.h"
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

} // namespace
