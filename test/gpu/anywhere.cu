//===- anywhere.cu - accesses of 16 bytes to any address -------*- CUDA -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not part of the build: a program for a machine with a GPU,
//   nvcc -std=c++17 -fmad=false -arch=native -DFUSEC_ALIGNMENT=2
//   test/gpu/anywhere.cu -o anywhere && ./anywhere
// and the same for 1, 4 and 8. Every place of a source in 16 bytes with every
// place of a target: masked, unmasked and background copies by lanes that
// follow each other, lie backwards or have gaps, all of them or some. Compares
// every byte of the target, also of those around. Exits with 1 if one differs.
//===----------------------------------------------------------------------===//
#include "../../lib/Target/CUDA/device/prelude_cuda.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum Pattern { kFollowing, kBackwards, kGaps, kGroupsOfFour, kPatterns };
enum How { kMasked, kBackground, kAll, kHows };

__host__ __device__ int place(int pattern, int thread) {
  switch (pattern) {
  case kFollowing:
    return thread * 16;
  case kBackwards:
    return (255 - thread) * 16;
  case kGaps:
    return thread * 48;
  default:
    return thread * 16 + thread / 4 * 32;
  }
}

FUSEC_KERNEL(copy, 256)
(const u8 *p, u8 *q, i32 pattern, u32 mask, i32 how) {
  FUSEC_SHARED(u8, s0, 4096);
  u8 a[16];
  const i32 own = tid() * 16, at = place(pattern, tid());
  const bool on = mask >> lane() & 1;
  if (how == kMasked) {
    FUSEC_UNROLL
    for (i32 r = 0; r < 16; ++r)
      ldm<16>(a, r, p, at + r, on, (u8)7);
    FUSEC_UNROLL
    for (i32 r = 0; r < 16; ++r)
      stm<16>(q, at + r, a, r, on);
  } else if (how == kBackground) {
    cp_async16(s0, own, p, at, on);
    cp_async_commit();
    cp_async_wait<0>();
    bar();
    FUSEC_UNROLL
    for (i32 r = 0; r < 16; ++r)
      lds<16>(a, r, s0, own + r);
    FUSEC_UNROLL
    for (i32 r = 0; r < 16; ++r)
      st_if<16>(q, at + r, a, r, on);
  } else {
    FUSEC_UNROLL
    for (i32 r = 0; r < 16; ++r)
      ld<16>(a, r, p, at + r);
    FUSEC_UNROLL
    for (i32 r = 0; r < 16; ++r)
      st<16>(q, at + r, a, r);
  }
}

int main() {
  const int size = 16384, margin = 32;
  std::vector<u8> from(size), found(size), expected(size);
  for (u8 &x : from)
    x = (u8)rand();
  u8 *p, *q;
  if (cudaMalloc(&p, size) || cudaMalloc(&q, size) ||
      cudaMemcpy(p, from.data(), size, cudaMemcpyHostToDevice))
    return 1;
  int wrong = 0, count = 0;
  for (int in = 0; in < 16; in += FUSEC_ALIGNMENT)
    for (int out = 0; out < 16; out += FUSEC_ALIGNMENT)
      for (int pattern = 0; pattern < kPatterns; ++pattern)
        for (u32 mask :
             {0xffffffffu, 0x0ff0u, 0x7fffffffu, 0xa5c3f00fu, 0u, 0x80000001u})
          for (int how = 0; how < kHows; ++how) {
            if (how == kAll && ~mask)
              continue;
            cudaMemset(q, 0xee, size);
            copy<<<1, 256>>>(p + in, q + margin + out, pattern, mask, how);
            if (cudaMemcpy(found.data(), q, size, cudaMemcpyDeviceToHost))
              return 1;
            memset(expected.data(), 0xee, size);
            for (int thread = 0; thread < 256; ++thread)
              if (mask >> (thread & 31) & 1)
                memcpy(&expected[margin + out + place(pattern, thread)],
                       &from[in + place(pattern, thread)], 16);
            ++count;
            if (found != expected && ++wrong <= 4)
              printf("wrong: from %d to %d, pattern %d, mask %x, way %d\n", in,
                     out, pattern, mask, how);
          }
  printf("alignment %d: %d of %d copies are wrong\n", FUSEC_ALIGNMENT, wrong,
         count);
  return wrong != 0;
}
