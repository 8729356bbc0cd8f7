//===- rolled.cu - rows that start anywhere in a vector ---------*- CUDA-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not part of the build: a program for a machine with a GPU,
//   nvcc -std=c++17 -fmad=false -arch=native test/gpu/rolled.cu -o rolled
// Copies rows of every element size from every place of a vector to the same
// place, by vectors, masked or not, by elements, in the background and two rows
// at a time. Compares
// every byte of the target, also of those around, with the source. Exits with 1
// if one differs.
//===----------------------------------------------------------------------===//
#define FUSEC_ROLLED 1
#define FUSEC_ROLLED_UNIT 1
#define FUSEC_ALIGNMENT 1
#include "../../lib/Target/CUDA/device/prelude_cuda.cuh"
#include "../../lib/Target/CUDA/device/rolled.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum How { kAll, kMasked, kElements, kBackground, kPairs, kHows };

template <class T, i32 C, i32 U, i32 V>
__global__ void copy(RolledRows<const T, C, U> p, RolledRows<T, C, U> q,
                     i32 count, i32 how) {
  FUSEC_SHARED(T, s0, 256 * V);
  T a[V], b[V];
  const i32 at = (i32)(blockIdx.x * 256 + threadIdx.x) * V;
  const bool on = at < count;
  for (i32 r = 0; how == kElements && on && r < V; ++r) {
    ld<1>(a, r, p, at + r);
    stm<1>(q, (i64)at + r, a, r, true);
  }
  if (how == kElements)
    return;
  if (how == kPairs) {
    const bool isFirst = at < count / 2;
    const i32 first = isFirst ? at / C * 2 * C + at % C : 0;
    ld_pair<V, C>(a, 0, b, 0, p, first);
    stm_pair<V, C>(q, first, a, 0, b, 0, isFirst);
    return;
  }
  if (how == kMasked) {
    ldm<V>(a, 0, p, (i64)at, on, T{});
  } else if (how == kAll) {
    ld<V>(a, 0, p, on ? at : 0);
  } else {
    constexpr i32 E = 16 / (i32)sizeof(T) < V ? 16 / (i32)sizeof(T) : V;
    for (i32 c = 0; c < V; c += E)
      if constexpr (E * sizeof(T) == 16)
        cp_async16(s0, (i32)threadIdx.x * V + c, p, at + c, on);
      else if constexpr (E * sizeof(T) == 8)
        cp_async8(s0, (i32)threadIdx.x * V + c, p, at + c, on);
      else
        cp_async4(s0, (i32)threadIdx.x * V + c, p, at + c, on);
    cp_async_commit();
    cp_async_wait<0>();
    for (i32 r = 0; r < V; ++r)
      lds<V>(a, r, s0, (i32)threadIdx.x * V + r);
  }
  if (how == kAll && on)
    st<V>(q, at, a, 0);
  else
    stm<V>(q, at, a, 0, on);
}

static int wrong, count;

template <class T, i32 C, i32 U, i32 V>
void check(const char *name) {
  const int rows = C > 4096 ? 4 : 38, n = rows * C, margin = 64;
  const size_t bytes = (size_t)n * sizeof(T), size = bytes + 3 * margin;
  std::vector<u8> from(size), found(size), expected(size);
  for (u8 &x : from)
    x = (u8)rand();
  u8 *p, *q;
  if (cudaMalloc(&p, size) || cudaMalloc(&q, size) ||
      cudaMemcpy(p, from.data(), size, cudaMemcpyHostToDevice))
    exit(1);
  for (int place = 0; place < U; ++place)
    for (int how = 0; how < kHows; ++how) {
      const size_t at = margin + place * sizeof(T);
      cudaMemset(q, 0xee, size);
      copy<T, C, U, V><<<(n / V + 255) / 256, 256>>>({(const T *)(p + at)},
                                                     {(T *)(q + at)}, n, how);
      if (cudaMemcpy(found.data(), q, size, cudaMemcpyDeviceToHost))
        exit(1);
      memset(expected.data(), 0xee, size);
      memcpy(&expected[at], &from[at], bytes);
      ++count;
      if (found != expected && ++wrong <= 8)
        printf("wrong: %s, rows of %d, place %d of %d, vectors of %d, way %d\n",
               name, C, place, U, V, how);
    }
  cudaFree(p), cudaFree(q);
}
/// With a branch and without one, in whole vectors and in parts.
template <class T, i32 V>
void checkAll(const char *name) {
  constexpr i32 U = 16 / (i32)sizeof(T);
  check<T, 8 * U, U, V>(name);
  check<T, 48 * 2 * U, 2 * U, V>(name);
  check<T, 640 * U, U, V>(name);
  check<T, 640 * 4 * U, 4 * U, V>(name);
}

int main() {
  checkAll<u8, 16>("u8"), checkAll<u8, 8>("u8"), checkAll<u8, 4>("u8");
  checkAll<u16, 8>("u16"), checkAll<u16, 4>("u16");
  checkAll<f32, 4>("f32"), checkAll<f32, 8>("f32");
  checkAll<f64, 2>("f64");
  printf("%d of %d copies of rows are wrong\n", wrong, count);
  return wrong != 0;
}
