//===- ParityTest.cpp - one text, both preludes ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// all_names.cuh uses every name of the prelude. It must compile for the CPU,
// and with NVRTC where that is installed (it is opened at run time).
//===----------------------------------------------------------------------===//
#include "Harness.h"

#include "fusec/Embedded/AllNames.h"
#include "fusec/Embedded/AllNamesSm90.h"
#include "fusec/Embedded/PreludeCuda.h"
#include "fusec/Embedded/PreludeSm90.h"
#include "fusec/Embedded/Sm90Kernels.h"

#include <dlfcn.h>

using namespace fusec::runtime;

namespace {

/// Every name of both preludes for Hopper.
std::string sm90Names() {
  return std::string(fusec::embedded::kSm90Kernels) +
         fusec::embedded::kAllNamesSm90;
}

class Compilers : public testing::TestWithParam<const char *> {};

TEST_P(Compilers, TakeEveryName) {
  EmulatorCompileOptions options;
  options.compiler = GetParam();
  for (bool checks : {true, false}) {
    options.checks = checks;
    auto module = EmulatorModule::compile(
        {EmulatorKernel{"k_numbers", fusec::embedded::kAllNames}}, options);
    if (module) {
      EXPECT_EQ((*module)->maxThreads("k_numbers"), 64u);
      continue;
    }
    std::string message = llvm::toString(module.takeError());
    if (message.find("was not found") != std::string::npos)
      GTEST_SKIP() << message;
    ADD_FAILURE() << message;
  }
}

TEST_P(Compilers, TakeEveryNameOfSm90) {
  EmulatorCompileOptions options;
  options.compiler = GetParam();
  options.sm90 = true;
  std::string text = sm90Names();
  for (bool checks : {true, false}) {
    options.checks = checks;
    auto module = EmulatorModule::compile(
        {EmulatorKernel{"k_names_sm90", text}}, options);
    if (module) {
      EXPECT_EQ((*module)->maxThreads("k_names_sm90"), 128u);
      continue;
    }
    std::string message = llvm::toString(module.takeError());
    if (message.find("was not found") != std::string::npos)
      GTEST_SKIP() << message;
    ADD_FAILURE() << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Emulator, Compilers,
                         testing::Values("clang++-22", "g++"));

/// The few NVRTC entry points that a compile needs.
class Nvrtc {
public:
  Nvrtc() {
    for (const char *name : {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                             "/usr/local/cuda/lib64/libnvrtc.so",
                             "/usr/local/cuda/lib/libnvrtc.so"})
      if ((library = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
        break;
  }
  explicit operator bool() const { return library; }

  /// The log of a failed compile; empty on success.
  std::string compile(const std::string &source, const char *architecture) {
    void *program = nullptr;
    if (call<int (*)(void **, const char *, const char *, int,
                     const char *const *, const char *const *)>(
            "nvrtcCreateProgram")(&program, source.c_str(), "all_names.cu", 0,
                                  nullptr, nullptr) != 0)
      return "nvrtcCreateProgram failed";
    const char *options[] = {architecture, "-std=c++17", "-fmad=false"};
    int status = call<int (*)(void *, int, const char *const *)>(
        "nvrtcCompileProgram")(program, 3, options);
    size_t size = 0;
    call<int (*)(void *, size_t *)>("nvrtcGetProgramLogSize")(program, &size);
    std::string log(size, '\0');
    call<int (*)(void *, char *)>("nvrtcGetProgramLog")(program, log.data());
    call<int (*)(void **)>("nvrtcDestroyProgram")(&program);
    return status == 0 ? "" : "failed: " + log;
  }

private:
  template <class F>
  F call(const char *name) {
    return reinterpret_cast<F>(dlsym(library, name));
  }
  void *library = nullptr;
};

TEST(Nvrtc, TakesEveryName) {
  Nvrtc nvrtc;
  if (!nvrtc)
    GTEST_SKIP() << "NVRTC is not installed";
  std::string source =
      std::string(fusec::embedded::kPreludeCuda) + fusec::embedded::kAllNames;
  for (const char *architecture : {"-arch=sm_80", "-arch=sm_90a"})
    EXPECT_EQ(nvrtc.compile(source, architecture), "");
  EXPECT_EQ(
      nvrtc.compile("#define FUSEC_ALIGNMENT 1\n" + source, "-arch=sm_90a"),
      "");
}

TEST(Nvrtc, TakesEveryNameOfSm90) {
  Nvrtc nvrtc;
  if (!nvrtc)
    GTEST_SKIP() << "NVRTC is not installed";
  EXPECT_EQ(nvrtc.compile(std::string(fusec::embedded::kPreludeCuda) +
                              fusec::embedded::kPreludeSm90 + sm90Names(),
                          "-arch=sm_90a"),
            "");
}

} // namespace
