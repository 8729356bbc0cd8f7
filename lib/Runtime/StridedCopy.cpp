//===- StridedCopy.cpp - strided inputs made dense ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/StridedCopy.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace fusec::runtime;

llvm::Expected<StridedLayout>
StridedLayout::get(llvm::ArrayRef<int64_t> shape,
                   llvm::ArrayRef<int64_t> strides) {
  StridedLayout layout;
  layout.sizes.fill(1);
  layout.strides.fill(0);
  for (auto [size, stride] : llvm::zip_equal(shape, strides)) {
    layout.elements *= size;
    if (size == 1)
      continue;
    unsigned last = layout.rank - 1;
    if (layout.rank && layout.strides[last] == stride * size) {
      layout.sizes[last] *= size;
      layout.strides[last] = stride;
      continue;
    }
    if (layout.rank == kMaxRank)
      return llvm::createStringError(
          "expected strides that make at most %u dimensions", kMaxRank);
    layout.sizes[layout.rank] = size;
    layout.strides[layout.rank++] = stride;
  }
  return layout;
}

void fusec::runtime::copyStridedOnHost(void *to, const void *from,
                                       const StridedLayout &layout,
                                       unsigned elementBytes) {
  auto *out = static_cast<std::byte *>(to);
  const auto *in = static_cast<const std::byte *>(from);
  for (int64_t i = 0; i < layout.elements; ++i) {
    int64_t rest = i, offset = 0;
    for (unsigned dim = layout.rank; dim-- > 0;) {
      offset += rest % layout.sizes[dim] * layout.strides[dim];
      rest /= layout.sizes[dim];
    }
    std::memcpy(out + i * elementBytes, in + offset * elementBytes,
                elementBytes);
  }
}

// What the text needs where no prelude came before it.
static const char kWithoutPrelude[] = R"(#ifndef FUSEC_KERNEL
#define FUSEC_KERNEL(name, threads) \
  extern "C" __global__ void __launch_bounds__(threads) name
#define FUSEC_EXPORT(name)
typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
static __device__ i32 tid() { return threadIdx.x; }
static __device__ i32 cta_x() { return blockIdx.x; }
static __device__ i32 ncta_x() { return gridDim.x; }
template <class T, class I> static __device__ T ld1(const T *p, I i) { return p[i]; }
template <class T, class I> static __device__ void st1(T *p, I i, T v) { p[i] = v; }
#endif
)";

static const char kText[] =
    R"(FUSEC_KERNEL(ENTRY, 256)(const TYPE *from, TYPE *to, i64 n, i32 rank,
    i64 d0, i64 d1, i64 d2, i64 d3, i64 d4, i64 d5, i64 d6, i64 d7,
    i64 s0, i64 s1, i64 s2, i64 s3, i64 s4, i64 s5, i64 s6, i64 s7) {
  const i64 step = (i64)ncta_x() * 256;
  const i64 sizes[8] = {d0, d1, d2, d3, d4, d5, d6, d7};
  const i64 strides[8] = {s0, s1, s2, s3, s4, s5, s6, s7};
  for (i64 i = (i64)cta_x() * 256 + tid(); i < n; i += step) {
    i64 rest = i, offset = 0;
    // One division in the text: unrolled, compiling takes seconds.
#pragma unroll 1
    for (i32 k = rank - 1; k > 0; --k) {
      const i64 quotient = rest / sizes[k];
      offset += (rest - quotient * sizes[k]) * strides[k];
      rest = quotient;
    }
    offset += rest * strides[0];
    st1(to, i, ld1(from, offset));
  }
}
FUSEC_EXPORT(ENTRY)
)";

Kernel fusec::runtime::stridedCopyKernel(unsigned elementBytes) {
  Kernel kernel;
  kernel.entry = "fusec_strided_copy_" + std::to_string(elementBytes);
  kernel.source = std::string(kWithoutPrelude) + kText;
  kernel.threads = 256;
  auto replace = [&](const std::string &what, const std::string &by) {
    for (size_t at; (at = kernel.source.find(what)) != std::string::npos;)
      kernel.source.replace(at, what.size(), by);
  };
  replace("ENTRY", kernel.entry);
  replace("TYPE", "u" + std::to_string(8 * elementBytes));
  return kernel;
}
