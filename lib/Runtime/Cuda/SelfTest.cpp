//===- SelfTest.cpp - a first program on an unknown GPU -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// out = 2 * (x + weight), with a temporary that is cleared and added
// to, so that launches, scalars of both sizes, constants, fills, copies,
// dynamic shared memory and the workspace all take part.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Cuda/CudaDevice.h"
#include "fusec/Runtime/Executable.h"

#include <cstring>

using namespace fusec::runtime;
using llvm::Error;

// No multiple of a block, so that the guard in the kernels matters.
static constexpr int64_t kElements = 100003;
static constexpr uint32_t kThreads = 256;
// More than a block may have without asking.
static constexpr uint32_t kSharedBytes = 64 * 1024;

static const char *const kAddText = R"(
extern "C" __global__ void __launch_bounds__(256)
fusec_selftest_add(const float *x, const float *weight, float *sum,
                   long long n) {
  long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n)
    sum[i] += x[i] + weight[i];
}
)";

static const char *const kScaleText = R"(
extern "C" __global__ void __launch_bounds__(256)
fusec_selftest_scale(const float *sum, float *out, int factor, long long n) {
  extern __shared__ float staged[];
  float *own = staged + 16128;
  long long i = blockIdx.x * 256LL + threadIdx.x;
  own[threadIdx.x] = i < n ? sum[i] : 0.0f;
  __syncthreads();
  if (i < n)
    out[i] = own[threadIdx.x] * factor;
}
)";

static std::vector<std::byte> toBytes(const std::vector<float> &values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

static Program selfTestProgram(const std::vector<float> &weight) {
  BufferRef x{Space::Input, 0}, out{Space::Output, 0}, copied{Space::Output, 1};
  BufferRef constant{Space::Constant, 0}, sum{Space::Temporary, 0};
  fusec::DType f32 = fusec::DType::F32;
  Program program;
  program.inputs = {{"x", f32, {kElements}}};
  program.outputs = {{"out", f32, {kElements}}, {"copied", f32, {kElements}}};
  program.constants = {{{"weight", f32, {kElements}},
                        std::make_shared<fusec::Bytes>(toBytes(weight))}};
  program.temporaries = {{4 * kElements, -1}};
  program.kernels = {{"fusec_selftest_add", kAddText, kThreads, 1},
                     {"fusec_selftest_scale", kScaleText, kThreads, 1}};
  uint32_t blocks = (kElements + kThreads - 1) / kThreads;
  program.steps = {
      Fill{sum},
      Launch{0, {blocks, 1, 1}, 0, {x, constant, sum, ScalarArg{kElements, 8}}},
      Launch{1,
             {blocks, 1, 1},
             kSharedBytes,
             {sum, out, ScalarArg{2, 4}, ScalarArg{kElements, 8}}},
      Launch{1, {0, 1, 1}, 0, {sum, out, ScalarArg{9, 4}, ScalarArg{0, 8}}},
      Copy{out, copied}};
  return program;
}

static Error compare(const std::vector<std::byte> &found, const char *name,
                     llvm::ArrayRef<float> expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    float value;
    std::memcpy(&value, found.data() + i * sizeof(float), sizeof(float));
    if (value != expected[i])
      return llvm::createStringError(
          "self test: output '%s': element %zu: expected %g, found %g", name, i,
          static_cast<double>(expected[i]), static_cast<double>(value));
  }
  return Error::success();
}

Error fusec::runtime::cudaSelfTest(const CudaOptions &options) {
  auto device = createCudaDevice(options);
  if (!device)
    return device.takeError();
  std::vector<float> x, weight, expected;
  for (int64_t i = 0; i < kElements; ++i) {
    // Small integers, so that every sum is exact.
    x.push_back(static_cast<float>(i % 1001));
    weight.push_back(static_cast<float>(i % 13) - 6.0f);
    expected.push_back(2.0f * (x.back() + weight.back()));
  }
  Program program = selfTestProgram(weight);
  if (Error error = planWorkspace(program))
    return error;
  auto executable = Executable::create(std::move(program), *device);
  if (!executable)
    return executable.takeError();
  std::vector<std::byte> input = toBytes(x);
  auto results = runWithHostData(*executable, {llvm::ArrayRef(input)});
  if (!results)
    return results.takeError();
  if (Error error = compare((*results)[0], "out", expected))
    return error;
  return compare((*results)[1], "copied", expected);
}
