//===- overlap.cu - what a dependent launch costs --------------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   nvcc -std=c++17 -O2 -arch=sm_90 -o overlap overlap.cu && ./overlap
//
// Chains of small kernels that read one of two buffers and write the other, in
// turn: each overwrites what the one before it read. They are launched
//   plain    one after the other,
//   wait     with programmatic serialization; blocks wait, nobody lets go
//   early, after    the same; blocks let the next launch begin after they have
//   waited, before   the same; before they wait,
// into a stream and as a CUDA graph. Prints microseconds a kernel and compares
// each result with that of the plain chain, bit for bit, `runs` times.
//
// "uneven" is a launch of few large blocks and one of many small ones in turn:
// blocks that begin early may crowd on the multiprocessors that are free.
//===----------------------------------------------------------------------===//
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void check(cudaError_t code, const char *what) {
  if (code == cudaSuccess)
    return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  std::exit(1);
}

enum Mode { kPlain, kWait, kAfter, kBefore };
static const char *const kNames[] = {"plain", "wait", "after", "before"};

static __device__ __forceinline__ void gridWait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
static __device__ __forceinline__ void launchNext() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// out[i] is made of in[i] and of in[n - 1 - i], which another multiprocessor
// wrote, by loads through the read-only cache. `rounds` makes it last.
template <Mode M>
__global__ void link(const float *in, float *out, int n, int rounds) {
  if (M == kBefore)
    launchNext();
  if (M != kPlain)
    gridWait();
  if (M == kAfter)
    launchNext();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    float a = __ldg(in + i), b = __ldg(in + (n - 1 - i));
    for (int r = 0; r < rounds; ++r)
      a = a * 0.75f + b * 0.25f + 1.0f;
    out[i] = a;
  }
}

struct Step {
  int blocks, threads, shared, rounds;
};
struct Case {
  const char *name;
  int n, length;
  std::vector<Step> steps; // in turn
};

using Kernel = void (*)(const float *, float *, int, int);
static Kernel kernelOf(Mode mode) {
  return mode == kPlain   ? link<kPlain>
         : mode == kWait  ? link<kWait>
         : mode == kAfter ? link<kAfter>
                          : link<kBefore>;
}

static void enqueue(const Case &c, Mode mode, float *const *buffers,
                    cudaStream_t stream) {
  for (int i = 0; i < c.length; ++i) {
    const Step &step = c.steps[i % c.steps.size()];
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(step.blocks);
    config.blockDim = dim3(step.threads);
    config.dynamicSmemBytes = step.shared;
    config.stream = stream;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = mode != kPlain && i > 0;
    check(cudaLaunchKernelEx(&config, kernelOf(mode),
                             (const float *)buffers[i % 2],
                             buffers[(i + 1) % 2], c.n, step.rounds),
          "launch");
  }
}

int main(int argc, char **argv) {
  int runs = argc > 1 ? std::atoi(argv[1]) : 300;
  const Case cases[] = {
      {"1 block", 256, 100, {{1, 256, 0, 1}}},
      {"16 blocks", 16 * 256, 100, {{16, 256, 0, 1}}},
      {"132 blocks", 132 * 256, 100, {{132, 256, 0, 1}}},
      {"1056 blocks", 1056 * 256, 100, {{1056, 256, 0, 1}}},
      {"132 blocks, 3 us", 132 * 256, 100, {{132, 256, 0, 800}}},
      {"2 MB, 4 waves", 528 * 1024, 60, {{4224, 128, 0, 1}}},
      {"uneven",
       528 * 256,
       60,
       {{64, 1024, 200 * 1024, 40}, {528, 256, 0, 40}}},
      {"uneven, 3 us",
       528 * 256,
       60,
       {{64, 1024, 200 * 1024, 300}, {528, 256, 0, 300}}},
  };
  for (Mode mode : {kPlain, kWait, kAfter, kBefore})
    check(cudaFuncSetAttribute((const void *)kernelOf(mode),
                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                               200 * 1024),
          "cudaFuncSetAttribute");
  cudaStream_t stream;
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  cudaEvent_t from, to;
  check(cudaEventCreate(&from), "cudaEventCreate");
  check(cudaEventCreate(&to), "cudaEventCreate");
  std::printf("%-20s %-8s %12s %12s %8s\n", "chain", "launch", "stream us",
              "graph us", "wrong");
  int failures = 0;
  for (const Case &c : cases) {
    size_t bytes = size_t(c.n) * 4;
    float *buffers[2];
    for (float *&buffer : buffers)
      check(cudaMalloc(&buffer, bytes), "cudaMalloc");
    std::vector<float> in(c.n), expected(c.n), found(c.n);
    for (int i = 0; i < c.n; ++i)
      in[i] = float((i * 2654435761u) >> 20) / 4096;
    for (Mode mode : {kPlain, kWait, kAfter, kBefore}) {
      cudaGraph_t graph;
      cudaGraphExec_t exec;
      check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
            "cudaStreamBeginCapture");
      enqueue(c, mode, buffers, stream);
      check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
      check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
      double best[2] = {1e30, 1e30};
      int wrong = 0;
      for (int run = 0; run < runs; ++run)
        for (int how = 0; how < 2; ++how) {
          for (float *buffer : buffers)
            check(cudaMemsetAsync(buffer, 0xff, bytes, stream), "memset");
          check(cudaMemcpyAsync(buffers[0], in.data(), bytes,
                                cudaMemcpyHostToDevice, stream),
                "copy");
          check(cudaEventRecord(from, stream), "record");
          if (how)
            check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch");
          else
            enqueue(c, mode, buffers, stream);
          check(cudaEventRecord(to, stream), "record");
          check(cudaMemcpyAsync(found.data(), buffers[c.length % 2], bytes,
                                cudaMemcpyDeviceToHost, stream),
                "copy");
          check(cudaStreamSynchronize(stream), "synchronize");
          float ms;
          check(cudaEventElapsedTime(&ms, from, to), "elapsed");
          if (1000 * ms / c.length < best[how])
            best[how] = 1000 * ms / c.length;
          if (mode == kPlain && run == 0 && how == 0)
            expected = found;
          wrong += std::memcmp(found.data(), expected.data(), bytes) != 0;
        }
      failures += wrong;
      std::printf("%-20s %-8s %12.3f %12.3f %8d\n", c.name, kNames[mode],
                  best[0], best[1], wrong);
      std::fflush(stdout);
      cudaGraphExecDestroy(exec);
      cudaGraphDestroy(graph);
    }
    for (float *buffer : buffers)
      cudaFree(buffer);
  }
  return failures != 0;
}
