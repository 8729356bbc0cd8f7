//===- gemm_bench.cu - the contraction skeleton beside cuBLAS --*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the skeleton's configurations against sampled float64 dot products
// and times them with bias + erf GELU in the epilogue, next to cuBLAS alone
// and cuBLAS followed by a pointwise pass.
//
//   nvcc -std=c++17 -O3 -fmad=false
//     -gencode=arch=compute_90a,code=sm_90a -I lib/Target/CUDA/device
//     benchmarks/kernels/gemm/gemm_bench.cu -lcublas -o gemm_bench
//   ./gemm_bench            check and time
//   ./gemm_bench --check    small ragged shapes only (for compute-sanitizer)
//
// Inputs are random, outputs are poisoned with NaN before a checked run, times
// are medians over events with L2-cold inputs only where they exceed it.
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// The order matters: device headers include nothing themselves.
// clang-format off
#include "prelude_cuda.cuh"
#include "gemm_config.cuh"
#include "gemm_load.cuh"
#include "gemm_statistics.cuh"
#include "gemm_columns.cuh"
#include "gemm_epilogue.cuh"
#include "gemm_fragment.cuh"
#include "gemm_mma.cuh"
#include "gemm_fma.cuh"
#include "gemm_stream.cuh"
#include "gemm_few_warp.cuh"
#include "gemm_few.cuh"
#include "gemm_direct.cuh"
#include "gemm_turn.cuh"
#include "gemm_boxes.cuh"
#include "gemm_wgmma.cuh"
#include "gemm_promote.cuh"
#include "gemm_split.cuh"
#include "gemm_apart.cuh"
#include "gemm_alternate.cuh"
#include "gemm_held.cuh"
#include "gemm_entry.cuh"
#include "holes.cuh"
// clang-format on

#define CHECK(call)                                                            \
  do {                                                                         \
    auto status = (call);                                                      \
    if (int(status) != 0) {                                                    \
      std::fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call,   \
                   int(status));                                               \
      std::exit(1);                                                            \
    }                                                                          \
  } while (0)

template <class Config, class Holes, i32 Blocks>
__global__ void __launch_bounds__(Config::kThreads, Blocks)
    kernel(Holes holes, i32 m, i32 n, i32 k) {
  gemm<Config>(holes, m, n, k, 1);
}

/// The unfused contender's second kernel: bias and GELU over the product.
template <class T>
__global__ void pointwise(T *out, const T *bias, i64 groups, i32 n) {
  using H = MatrixHoles<T, GemmAccess::Async, false, Post::BiasGelu>;
  for (i64 g = blockIdx.x * i64(blockDim.x) + threadIdx.x; g < groups;
       g += i64(gridDim.x) * blockDim.x) {
    T v[8], addend[8];
    ld<8>(v, 0, out, g * 8);
    ld<8>(addend, 0, bias, g * 8 % n);
    FUSEC_UNROLL
    for (i32 i = 0; i < 8; ++i)
      v[i] = from_f32<T>(H::post(to_f32(v[i]), to_f32(addend[i])));
    st<8>(out, g * 8, v, 0);
  }
}

//===-- Data --------------------------------------------------------------===//

template <class T>
struct Host;
template <>
struct Host<f16> {
  static constexpr cudaDataType_t kType = CUDA_R_16F;
  static double value(f16 x) {
    __half h;
    std::memcpy(&h, &x, 2);
    return __half2float(h);
  }
  static f16 make(float x) {
    __half h = __float2half(x);
    f16 r;
    std::memcpy(&r, &h, 2);
    return r;
  }
};
template <>
struct Host<bf16> {
  static constexpr cudaDataType_t kType = CUDA_R_16BF;
  static double value(bf16 x) {
    __nv_bfloat16 h;
    std::memcpy(&h, &x, 2);
    return __bfloat162float(h);
  }
  static bf16 make(float x) {
    __nv_bfloat16 h = __float2bfloat16(x);
    bf16 r;
    std::memcpy(&r, &h, 2);
    return r;
  }
};
template <>
struct Host<f32> {
  static constexpr cudaDataType_t kType = CUDA_R_32F;
  static double value(f32 x) { return x; }
  static f32 make(float x) { return x; }
};

template <class T>
struct Problem {
  i32 m, n, k;
  bool transB;
  std::vector<T> a, b, bias;
  T *da, *db, *dbias, *dout;

  Problem(i32 m, i32 n, i32 k, bool transB)
      : m(m), n(n), k(k), transB(transB), a(size_t(m) * k), b(size_t(k) * n),
        bias(n) {
    uint64_t state = 0x9e3779b97f4a7c15ull + m * 7 + n * 3 + k;
    auto draw = [&] {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      return float(int32_t(state >> 32)) * 0x1p-31f;
    };
    // Results of order one, where GELU is curved.
    float scale = std::sqrt(3.0f / std::max(k, 1));
    for (T &x : a)
      x = Host<T>::make(draw() * 1.7f);
    for (T &x : b)
      x = Host<T>::make(draw() * scale);
    for (T &x : bias)
      x = Host<T>::make(draw());
    da = upload(a), db = upload(b), dbias = upload(bias);
    CHECK(cudaMalloc(&dout, bytesOut() + 256));
  }
  ~Problem() {
    for (T *p : {da, db, dbias, dout})
      cudaFree(p);
  }
  size_t bytesOut() const { return size_t(m) * n * sizeof(T); }
  static T *upload(const std::vector<T> &v) {
    T *p;
    CHECK(cudaMalloc(&p, v.size() * sizeof(T) + 256));
    CHECK(
        cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
  }
  double reference(i32 i, i32 j, bool gelu) const {
    double sum = 0;
    for (i32 x = 0; x < k; ++x)
      sum += Host<T>::value(a[size_t(i) * k + x]) *
             Host<T>::value(b[transB ? size_t(j) * k + x : size_t(x) * n + j]);
    if (!gelu)
      return sum;
    double y = sum + Host<T>::value(bias[j]);
    return 0.5 * y * (1 + std::erf(y * std::sqrt(0.5)));
  }
  /// Relative error by norms over samples (all, when there are few), with a
  /// scan of the whole output for values never written.
  double error(bool gelu) const {
    std::vector<T> out(size_t(m) * n);
    CHECK(cudaMemcpy(out.data(), dout, bytesOut(), cudaMemcpyDeviceToHost));
    for (const T &x : out)
      if (std::isnan(Host<T>::value(x)))
        return NAN;
    std::mt19937_64 random(7);
    size_t total = out.size(), samples = std::min<size_t>(total, 4096);
    double diff = 0, norm = 0;
    for (size_t s = 0; s < samples; ++s) {
      size_t at = total <= 4096 ? s : s < 64 ? total - 1 - s : random() % total;
      double ref = reference(at / n, at % n, gelu);
      double d = Host<T>::value(out[at]) - ref;
      diff += d * d, norm += ref * ref;
    }
    return std::sqrt(diff / norm);
  }
};

template <class F>
double medianMicroseconds(F &&launch, int repeats) {
  std::vector<float> times;
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  for (int i = 0; i < repeats + 3; ++i) {
    CHECK(cudaEventRecord(begin));
    launch();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (i >= 3)
      times.push_back(ms * 1e3f);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

static int failures = 0;
static bool checkOnly = false;
static cublasHandle_t blas;

template <class T>
void report(const char *name, const Problem<T> &p, double us, double error,
            double limit, int ctas) {
  bool bad = !(error < limit);
  failures += bad;
  std::printf("%-34s %5dx%5dx%5d %9.1f us %7.1f TFLOP/s  err %.2e%s", name, p.m,
              p.n, p.k, us, us > 0 ? 2e-6 * p.m * p.n * p.k / us : 0.0, error,
              bad ? " WRONG" : "");
  if (ctas)
    std::printf("  %d CTA/SM", ctas);
  std::printf("\n");
  std::fflush(stdout);
}

/// Checks and times one configuration; `Blocks` CTAs must fit an SM.
template <class Config, GemmAccess Access, bool TransB, Post P, i32 Blocks = 1,
          i32 Vector = 1, class T>
void run(const char *name, const Problem<T> &p, double limit) {
  using Holes = MatrixHoles<T, Access, TransB, P, Vector>;
  auto *entry = kernel<Config, Holes, Blocks>;
  Holes holes{p.da, p.db, p.dbias, p.dout, p.m, p.n, p.k};
  CHECK(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             Config::kSharedBytes));
  int ctas = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &ctas, entry, Config::kThreads, Config::kSharedBytes));
  i32 grid = (p.m + Config::kTileM - 1) / Config::kTileM *
             ((p.n + Config::kTileN - 1) / Config::kTileN);
  auto launch = [&] {
    entry<<<grid, Config::kThreads, Config::kSharedBytes>>>(holes, p.m, p.n,
                                                            p.k);
  };
  CHECK(cudaMemset(p.dout, 0xff, p.bytesOut()));
  launch();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  double error = p.error(P == Post::BiasGelu);
  double us = checkOnly ? 0 : medianMicroseconds(launch, 20);
  CHECK(cudaGetLastError());
  report(name, p, us, error, limit, ctas);
}

template <class T>
void runBlas(const Problem<T> &p, cublasComputeType_t compute, double limit) {
  float one = 1, zero = 0;
  auto product = [&] {
    CHECK(cublasGemmEx(
        blas, p.transB ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, p.n, p.m, p.k,
        &one, p.db, Host<T>::kType, p.transB ? p.k : p.n, p.da, Host<T>::kType,
        p.k, &zero, p.dout, Host<T>::kType, p.n, compute, CUBLAS_GEMM_DEFAULT));
  };
  CHECK(cudaMemset(p.dout, 0xff, p.bytesOut()));
  product();
  double error = p.error(false);
  report(compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? "cuBLAS tf32, product only"
                                                 : "cuBLAS, product only",
         p, medianMicroseconds(product, 20), error, limit, 0);
  if (p.n % 8)
    return;
  i64 groups = i64(p.m) * p.n / 8;
  double us = medianMicroseconds(
      [&] {
        product();
        pointwise<T>
            <<<i32(std::min<i64>((groups + 255) / 256, 132 * 8)), 256>>>(
                p.dout, p.dbias, groups, p.n);
      },
      20);
  report("cuBLAS, then bias+GELU pass", p, us, 0, limit, 0);
}

//===-- Configurations ----------------------------------------------------===//

template <GemmKind K>
using Wide = GemmConfig<K, 128, 256, 64, 2, 4, 3, 8>;
template <GemmKind K>
using Square = GemmConfig<K, 128, 128, 64, 2, 2, 3, 8>;
template <GemmKind K>
using Shallow = GemmConfig<K, 128, 128, 32, 2, 2, 4, 8>;
template <GemmKind K>
using Eight = GemmConfig<K, 128, 128, 32, 2, 4, 3, 8>;
template <GemmKind K>
using Medium = GemmConfig<K, 64, 128, 64, 2, 2, 3, 8>;
template <GemmKind K>
using Small = GemmConfig<K, 64, 64, 64, 2, 2, 3, 8>;
template <GemmKind K>
using SmallShallow = GemmConfig<K, 64, 64, 32, 2, 2, 4, 8>;
template <GemmKind K>
using Flat = GemmConfig<K, 32, 64, 32, 2, 2, 4, 8>;
using Tf = GemmConfig<GemmKind::TF32, 128, 128, 32, 2, 2, 3, 8>;
using TfSmall = GemmConfig<GemmKind::TF32, 64, 64, 32, 2, 2, 3, 8>;
using TfGather = GemmConfig<GemmKind::TF32, 128, 128, 16, 2, 4, 4, 8>;
using Fma = GemmConfig<GemmKind::F32, 128, 128, 32, 4, 2, 3, 8>;
using FmaShallow = GemmConfig<GemmKind::F32, 128, 128, 16, 4, 2, 3, 8>;
using FmaSmall = GemmConfig<GemmKind::F32, 64, 64, 16, 2, 1, 3, 8>;

constexpr GemmKind F16 = GemmKind::F16;
constexpr GemmKind BF16 = GemmKind::BF16;
constexpr GemmKind TF32 = GemmKind::TF32;
constexpr GemmAccess Async = GemmAccess::Async;
constexpr GemmAccess Computed = GemmAccess::Computed;
constexpr Post Gelu = Post::BiasGelu;
constexpr Post Plain = Post::Store;

// Bounds by norms: output rounding dominates for 16-bit outputs.
constexpr double kLimit16 = 1e-3, kLimitB16 = 4e-3, kLimitTf = 1e-3,
                 kLimit32 = 1e-5;

static void checkSmall(i32 m, i32 n, i32 k) {
  bool aligned = n % 8 == 0 && k % 8 == 0;
  {
    Problem<f16> p(m, n, k, false);
    Problem<bf16> q(m, n, k, false);
    Problem<f32> r(m, n, k, false);
    run<Eight<F16>, Computed, false, Gelu, 2>("f16 128x128x32 computed", p,
                                              kLimit16);
    run<Flat<BF16>, Computed, false, Gelu, 4>("bf16 32x64x32 computed", q,
                                              kLimitB16);
    run<TfGather, Computed, false, Gelu>("tf32 128x128x16 computed", r,
                                         kLimitTf);
    run<Fma, Computed, false, Gelu>("f32 128x128x32 computed", r, kLimit32);
    if (aligned) {
      run<Wide<F16>, Async, false, Gelu>("f16 128x256x64", p, kLimit16);
      run<Square<F16>, Async, false, Gelu, 2>("f16 128x128x64", p, kLimit16);
      run<Tf, Async, false, Gelu, 2>("tf32 128x128x32", r, kLimitTf);
      run<Fma, Async, false, Gelu>("f32 128x128x32", r, kLimit32);
    }
  }
  Problem<f16> p(m, n, k, true);
  Problem<bf16> q(m, n, k, true);
  Problem<f32> r(m, n, k, true);
  run<Eight<F16>, Computed, true, Gelu, 2>("f16 128x128x32 computed, B^T", p,
                                           kLimit16);
  if (aligned) {
    run<Square<F16>, Async, true, Gelu, 2>("f16 128x128x64, B^T", p, kLimit16);
    run<Flat<BF16>, Async, true, Gelu, 6>("bf16 32x64x32, B^T", q, kLimitB16);
    run<Tf, Async, true, Gelu, 2>("tf32 128x128x32, B^T", r, kLimitTf);
    run<FmaSmall, Async, true, Gelu, 4>("f32 64x64x16, B^T", r, kLimit32);
  }
}

static void timeF16(i32 m, i32 n, i32 k) {
  Problem<f16> p(m, n, k, false);
  run<Wide<F16>, Async, false, Gelu>("f16 128x256x64/3 8w", p, kLimit16);
  run<Square<F16>, Async, false, Gelu, 2>("f16 128x128x64/3 4w", p, kLimit16);
  run<Shallow<F16>, Async, false, Gelu, 2>("f16 128x128x32/4 4w", p, kLimit16);
  run<Medium<F16>, Async, false, Gelu, 3>("f16 64x128x64/3 4w", p, kLimit16);
  run<Small<F16>, Async, false, Gelu, 4>("f16 64x64x64/3 4w", p, kLimit16);
  run<SmallShallow<F16>, Async, false, Gelu, 4>("f16 64x64x32/4 4w", p,
                                                kLimit16);
  run<Flat<F16>, Async, false, Gelu, 6>("f16 32x64x32/4 4w", p, kLimit16);
  run<Wide<F16>, Async, false, Plain>("f16 128x256x64/3 8w, product only", p,
                                      kLimit16);
  run<Square<F16>, Async, false, Plain, 2>("f16 128x128x64/3 4w, product only",
                                           p, kLimit16);
  runBlas(p, CUBLAS_COMPUTE_32F, kLimit16);
}

static void timeB16Transposed() {
  Problem<bf16> p(4096, 4096, 4096, true);
  run<Wide<BF16>, Async, true, Gelu>("bf16 128x256x64/3 8w, B^T", p, kLimitB16);
  run<Square<BF16>, Async, true, Gelu, 2>("bf16 128x128x64/3 4w, B^T", p,
                                          kLimitB16);
  run<Shallow<BF16>, Async, true, Gelu, 2>("bf16 128x128x32/4 4w, B^T", p,
                                           kLimitB16);
  runBlas(p, CUBLAS_COMPUTE_32F, kLimitB16);
}

static void timeComputed(i32 m, i32 n, i32 k) {
  Problem<f16> p(m, n, k, false);
  if (n % 8 == 0 && k % 8 == 0)
    run<Eight<F16>, Computed, false, Gelu, 2, 8>(
        "f16 128x128x32/3 8w computed x8", p, kLimit16);
  run<Eight<F16>, Computed, false, Gelu, 2>("f16 128x128x32/3 8w computed", p,
                                            kLimit16);
  run<SmallShallow<F16>, Computed, false, Gelu, 4>("f16 64x64x32/4 4w computed",
                                                   p, kLimit16);
  run<Flat<F16>, Computed, false, Gelu, 4>("f16 32x64x32/4 4w computed", p,
                                           kLimit16);
  runBlas(p, CUBLAS_COMPUTE_32F, kLimit16);
}

static void timeF32(bool transB) {
  Problem<f32> p(4096, 4096, 4096, transB);
  if (transB) {
    run<Tf, Async, true, Gelu, 2>("tf32 128x128x32/3 4w, B^T", p, kLimitTf);
    run<Fma, Async, true, Gelu>("f32 128x128x32/3, B^T", p, kLimit32);
    run<FmaSmall, Async, true, Gelu, 4>("f32 64x64x16/3, B^T", p, kLimit32);
  } else {
    run<Tf, Async, false, Gelu, 2>("tf32 128x128x32/3 4w", p, kLimitTf);
    run<TfSmall, Async, false, Gelu, 4>("tf32 64x64x32/3 4w", p, kLimitTf);
    run<TfGather, Computed, false, Gelu>("tf32 128x128x16/4 8w computed", p,
                                         kLimitTf);
    run<Fma, Async, false, Gelu>("f32 128x128x32/3", p, kLimit32);
    run<FmaShallow, Async, false, Gelu>("f32 128x128x16/3", p, kLimit32);
    run<FmaSmall, Async, false, Gelu, 4>("f32 64x64x16/3", p, kLimit32);
    run<Fma, Computed, false, Gelu>("f32 128x128x32/3 computed", p, kLimit32);
  }
  runBlas(p, CUBLAS_COMPUTE_32F_FAST_TF32, kLimitTf);
  runBlas(p, CUBLAS_COMPUTE_32F_PEDANTIC, kLimit32);
}

int main(int argc, char **argv) {
  checkOnly = argc > 1 && !std::strcmp(argv[1], "--check");
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("%s, %d SMs\n", device.name, device.multiProcessorCount);
  if (checkOnly) {
    checkSmall(200, 264, 136);
    checkSmall(131, 77, 45);
  } else {
    CHECK(cublasCreate(&blas));
    timeF16(4096, 4096, 4096);
    timeF16(4096, 1024, 1024);
    timeF16(8192, 8192, 4096);
    timeB16Transposed();
    timeComputed(4096, 1024, 1024);
    timeComputed(4095, 1025, 1027);
    timeF32(false);
    timeF32(true);
  }
  std::printf("%d wrong\n", failures);
  return failures != 0;
}
