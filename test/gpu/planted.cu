//===- planted.cu - a fault for each tool of compute-sanitizer -*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sanitize.py runs it first: a tool that does not see its fault here says
// nothing by silence elsewhere. The argument is the name of the tool;
// with a second one the fault is in a child, as those of `fusec fuzz` are.
//===----------------------------------------------------------------------===//
#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void out_of_bounds(float *out) { out[threadIdx.x + 1] = 1; }

__global__ void race(float *out) {
  __shared__ float shared[64];
  shared[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = shared[63 - threadIdx.x];
}

__global__ void uninitialised(const float *in, float *out) {
  out[threadIdx.x] = in[threadIdx.x] + 1;
}

__global__ void divergent(float *out) {
  if (threadIdx.x % 2)
    __syncthreads();
  out[threadIdx.x] = 1;
}

int main(int argc, char **argv) {
  const char *tool = argc > 1 ? argv[1] : "";
  int child = argc > 2 ? fork() : 0;
  if (child > 0) {
    waitpid(child, nullptr, 0);
    return 0;
  }
  float *a = nullptr, *b = nullptr;
  cudaMalloc(&a, 64 * sizeof(float));
  cudaMalloc(&b, 64 * sizeof(float));
  if (!strcmp(tool, "memcheck"))
    out_of_bounds<<<1, 64>>>(a);
  else if (!strcmp(tool, "racecheck"))
    race<<<1, 64>>>(a);
  else if (!strcmp(tool, "initcheck"))
    uninitialised<<<1, 64>>>(b, a);
  else if (!strcmp(tool, "synccheck"))
    divergent<<<1, 64>>>(a);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
