//===- gpu_parity_sm90.cu - Hopper's prelude on a GPU -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not part of the build: a program for a machine with a Hopper GPU,
//   nvcc -std=c++17 -fmad=false -gencode=arch=compute_90a,code=sm_90a
//     test/unit/Emulator/gpu_parity_sm90.cu lib/Runtime/Emulator/Numbers.cpp
//     -o gpu_parity_sm90
// that runs the cases of sm90_cases.h, as the emulator's tests do, and compares
// every byte. Each case is a process of its own: after a fault the others still
// run. Of a tensor copy that fails it says whether its prefetch, its load or
// its store does; then which copies at and outside of the ends of a tensor are
// legal. Exits with 1 if a case
// differs.
//===----------------------------------------------------------------------===//
#include "../../../lib/Target/CUDA/device/prelude_cuda.cuh"
#include "../../../lib/Target/CUDA/device/prelude_sm90.cuh"

#include "sm90_kernels.cuh"

#include "sm90_cases.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(cudaError_t code, const char *what) {
  if (code == cudaSuccess)
    return;
  printf("%s: %s\n", what, cudaGetErrorString(code));
  exit(2);
}

#define KERNEL(name) {#name, (const void *)name}
static const struct {
  const char *name;
  const void *function;
} kKernels[] = {
    KERNEL(k_mbarrier),  KERNEL(k_cluster),  KERNEL(k_flow),
    KERNEL(k_bulk),      KERNEL(k_tensor1),  KERNEL(k_tensor2),
    KERNEL(k_tensor3),   KERNEL(k_tensor4),  KERNEL(k_tensor5),
    KERNEL(k_multicast), KERNEL(k_stmatrix), KERNEL(k_named),
    KERNEL(k_packed),    KERNEL(k_grid),     KERNEL(k_wgmma0),
    KERNEL(k_wgmma1),    KERNEL(k_wgmma2),   KERNEL(k_wgmma3),
    KERNEL(k_wgmma4),    KERNEL(k_wgmma5),   KERNEL(k_wgmma6),
    KERNEL(k_wgmma7),    KERNEL(k_wgmma8),   KERNEL(k_wgmma9),
    KERNEL(k_wgmma10),   KERNEL(k_wgmma11),  KERNEL(k_wgmma12),
    KERNEL(k_wgmma13),   KERNEL(k_wgmma14),  KERNEL(k_wgmma15),
    KERNEL(k_wgmma16),   KERNEL(k_wgmma17),  KERNEL(k_im2col3),
    KERNEL(k_im2col4),   KERNEL(k_im2col5),  KERNEL(k_im2col_multicast)};

/// cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col.
static void *encoder(const char *name) {
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found;
  check(cudaGetDriverEntryPointByVersion(name, &function, 12000,
                                         cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
  return function;
}

static FusecTensorMap encode(const sm90::Map &map, void *address) {
  using Encode = int (*)(FusecTensorMap *, int, unsigned, void *,
                         const uint64_t *, const uint64_t *, const uint32_t *,
                         const uint32_t *, int, int, int, int);
  using EncodeIm2col =
      int (*)(FusecTensorMap *, int, unsigned, void *, const uint64_t *,
              const uint64_t *, const int32_t *, const int32_t *, uint32_t,
              uint32_t, const uint32_t *, int, int, int, int);
  // CUtensorMapDataType.
  const int types[] = {0, 2, 7, 6, 9, 11};
  std::vector<uint64_t> dims(map.dims.begin(), map.dims.end());
  std::vector<uint64_t> strides(map.strides.begin(), map.strides.end());
  std::vector<uint32_t> steps = map.steps;
  steps.resize(dims.size(), 1);
  strides.push_back(0);
  int swizzle = map.swizzle == 128 ? 3 : (int)(map.swizzle / 32);
  FusecTensorMap result;
  int code =
      map.pixels
          ? ((EncodeIm2col)encoder("cuTensorMapEncodeIm2col"))(
                &result, types[map.type], (unsigned)dims.size(), address,
                dims.data(), strides.data(), map.lower.data(), map.upper.data(),
                map.channels, map.pixels, steps.data(), 0, swizzle, 2, map.nan)
          : ((Encode)encoder("cuTensorMapEncodeTiled"))(
                &result, types[map.type], (unsigned)dims.size(), address,
                dims.data(), strides.data(), map.box.data(), steps.data(), 0,
                swizzle, 2, map.nan);
  if (code != 0) {
    printf("cuTensorMapEncode: code %d\n", code);
    exit(2);
  }
  return result;
}

static bool run(const sm90::Case &test) {
  const void *function = nullptr;
  for (const auto &kernel : kKernels)
    if (test.kernel == kernel.name)
      function = kernel.function;
  std::vector<void *> memory;
  for (const sm90::Buffer &buffer : test.buffers) {
    void *data = nullptr;
    check(cudaMalloc(&data, buffer.bytes.size()), "cudaMalloc");
    check(cudaMemcpy(data, buffer.bytes.data(), buffer.bytes.size(),
                     cudaMemcpyHostToDevice),
          "cudaMemcpy");
    memory.push_back(data);
  }
  std::vector<FusecTensorMap> maps;
  std::vector<int32_t> integers;
  maps.reserve(test.args.size());
  integers.reserve(test.args.size());
  std::vector<void *> args;
  for (const sm90::Arg &arg : test.args) {
    if (arg.kind == sm90::Arg::Tensor) {
      maps.push_back(encode(arg.map, memory[arg.buffer]));
      args.push_back(&maps.back());
    } else if (arg.kind == sm90::Arg::Int) {
      integers.push_back(arg.value);
      args.push_back(&integers.back());
    } else {
      args.push_back(&memory[arg.buffer]);
    }
  }
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attributes[2] = {};
  config.gridDim = dim3(test.blocks);
  config.blockDim = dim3(test.threads);
  config.attrs = attributes;
  if (test.cluster > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {test.cluster, 1, 1};
  }
  if (test.cooperative) {
    attributes[config.numAttrs].id = cudaLaunchAttributeCooperative;
    attributes[config.numAttrs++].val.cooperative = 1;
  }
  check(cudaLaunchKernelExC(&config, function, args.data()), "launch");
  check(cudaDeviceSynchronize(), test.name.c_str());
  bool fine = true;
  for (size_t b = 0; b < memory.size(); ++b) {
    const sm90::Buffer &buffer = test.buffers[b];
    if (buffer.isOutput) {
      sm90::Bytes got(buffer.bytes.size());
      check(
          cudaMemcpy(got.data(), memory[b], got.size(), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
      size_t wrong = 0;
      for (size_t i = 0; i < got.size(); ++i)
        if (got[i] != buffer.expected[i] && ++wrong <= 4)
          printf("  byte %zu: got %d, expected %d\n", i, got[i],
                 buffer.expected[i]);
      if (wrong)
        printf("FAILED %s: %zu of %zu bytes\n", test.name.c_str(), wrong,
               got.size());
      fine &= wrong == 0;
    }
    check(cudaFree(memory[b]), "cudaFree");
  }
  return fine;
}

//===-- In processes of their own -----------------------------------------===//

/// Runs task(i) for i < n in a process of their own, a new one after each that
/// dies: what each returns, or 2 where it dies.
template <class Task>
static std::vector<int> apart(size_t n, Task task) {
  fflush(stdout);
  auto *codes =
      (int *)mmap(nullptr, (n + 1) * sizeof(int), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (size_t done = 0; done < n;) {
    auto *at =
        (volatile size_t *)mmap(nullptr, sizeof(size_t), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *at = done;
    pid_t process = fork();
    if (process == 0) {
      for (size_t i = done; i < n; ++i) {
        *at = i;
        codes[i] = 2;
        alarm(20);
        codes[i] = task(i);
        fflush(stdout);
      }
      _exit(0);
    }
    waitpid(process, nullptr, 0);
    done = *at + 1;
  }
  return std::vector<int>(codes, codes + n);
}

//===-- What tensor copies may do -----------------------------------------===//

/// Prints which parts of tensor copies run, each alone; what they write is not
/// judged.
static void tellParts(std::vector<sm90::Case> cases,
                      const std::vector<sm90::Parts> &parts) {
  for (sm90::Case &test : cases)
    for (sm90::Buffer &buffer : test.buffers)
      buffer.isOutput = false;
  size_t n = parts.size();
  std::vector<int> codes = apart(n * cases.size(), [&](size_t i) {
    sm90::Case test = cases[i / n];
    test.args[sm90::kPartsArgument].value = parts[i % n];
    test.name = "  (" + test.name + ")";
    return run(test) ? 0 : 1;
  });
  for (size_t i = 0; i < cases.size(); ++i) {
    printf("  %s:", cases[i].name.c_str());
    for (size_t part = 0; part < n; ++part)
      printf(" %s %s",
             parts[part] == sm90::kPrefetch ? "prefetch"
             : parts[part] == sm90::kLoad   ? "load"
                                            : "store",
             codes[n * i + part] ? "FAILS" : "runs");
    printf("\n");
  }
}

/// Copies of boxes of 8 x 4 in an image of 40 x 12, at several places.
static void tellPlaces() {
  using sm90::Map;
  std::vector<sm90::Case> cases;
  auto tell = [&](const char *what, const Map &map, std::vector<int32_t> at) {
    std::string name = what;
    for (int32_t x : at)
      name += " " + std::to_string(x);
    cases.push_back(sm90::tensorCase(name.c_str(), map, std::move(at)));
  };
  const Map plain{Map::F32, {40, 12}, {160}, {8, 4}, {}, 0, false};
  for (int32_t x : {0, 1, 2, 4, 36, 37, 40, -4, -1})
    tell("plain", plain, {x, 0});
  for (int32_t y : {1, 10, 12, -1})
    tell("plain", plain, {0, y});
  Map swizzled = plain, nan = plain;
  swizzled.swizzle = 32;
  nan.nan = true;
  for (int32_t x : {1, 2, 4, -4})
    tell("swizzled", swizzled, {x, 0});
  for (int32_t x : {0, 1, 36, -4})
    tell("NaN", nan, {x, 0});
  for (int32_t at : {8, 16, 48, -16})
    tell("bytes of 1 dimension", {Map::U8, {96}, {}, {64}, {}, 0, false}, {at});
  printf("copies at places:\n");
  tellParts(cases, {sm90::kLoad, sm90::kStore});
}

int main() {
  std::vector<sm90::Case> cases = sm90::allCases(), failed;
  std::vector<int> codes =
      apart(cases.size(), [&](size_t i) { return run(cases[i]) ? 0 : 1; });
  int failures = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string &kernel = cases[i].kernel;
    failures += codes[i] != 0;
    if (codes[i] > 1)
      printf("FAILED %s: did not run\n", cases[i].name.c_str());
    if (codes[i] > 1 && kernel != "k_im2col_multicast" &&
        (kernel.rfind("k_tensor", 0) == 0 || kernel.rfind("k_im2col", 0) == 0))
      failed.push_back(cases[i]);
  }
  printf("%zu cases, %d failures\n", cases.size(), failures);
  tellParts(failed, {sm90::kPrefetch, sm90::kLoad, sm90::kStore});
  tellPlaces();
  return failures != 0;
}
