//===- Sm90Test.cpp - Hopper's instructions against plain loops -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every primitive of prelude_sm90.cuh against a plain computation, with
// asynchronous operations that end late, at once and at random.
//===----------------------------------------------------------------------===//
#include "Harness.h"
#include "Numbers.h"

#include <cmath>
#include <random>

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using emulator::test::KernelRun;

namespace {

EmulatorCompileOptions sm90() {
  EmulatorCompileOptions options;
  options.sm90 = true;
  return options;
}

/// Runs with each kind of completion.
template <class Run>
void forEachCompletion(Run run) {
  for (auto [completion, seed] : {std::pair(EmulatorCompletion::Late, 1u),
                                  std::pair(EmulatorCompletion::Issue, 1u),
                                  std::pair(EmulatorCompletion::Random, 1u),
                                  std::pair(EmulatorCompletion::Random, 7u)}) {
    SCOPED_TRACE(testing::Message()
                 << "completion " << int(completion) << ", seed " << seed);
    run(completion, seed);
  }
}

std::vector<float> randomNumbers(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  // Small integers: exact in every type and order.
  for (float &value : values)
    value = float(int(random() % 9) - 4);
  return values;
}
std::vector<uint16_t> encodeAll(const std::vector<float> &values, int format) {
  std::vector<uint16_t> result;
  for (float value : values)
    result.push_back(encodeFloat(format, value, false));
  return result;
}

TensorMapArg map2d(DType dtype, int64_t inner, int64_t outer, uint32_t boxInner,
                   uint32_t boxOuter, uint32_t swizzle) {
  TensorMapArg map;
  map.dtype = dtype;
  map.dims = {inner, outer};
  map.strides = {inner * int64_t(byteSize(dtype))};
  map.box = {boxInner, boxOuter};
  map.swizzle = swizzle;
  return map;
}

// A ring of two stages, a producer warp, a consumer warpgroup: the shape of a
// real main loop. C[m,n] = sum_k A[m,k] B[n,k], m = 64, n = 32, k = 320.
const char *kPipeline = R"(
FUSEC_KERNEL_MIN(k, 160, 1)
(FUSEC_TENSOR_MAP(ma), FUSEC_TENSOR_MAP(mb), FUSEC_TENSOR_MAP(mc), i32 depth) {
  FUSEC_SHARED_TILE(bf16, sa, 2 * 64 * 64);
  FUSEC_SHARED_TILE(bf16, sb, 2 * 32 * 64);
  FUSEC_SHARED_TILE(f32, sc, 64 * 32);
  FUSEC_MBARRIERS(full, 2);
  FUSEC_MBARRIERS(empty, 2);
  if (tid() == 0) {
    for (i32 s = 0; s < 2; ++s) {
      mbar_init(full, s, 1);
      mbar_init(empty, s, 1);
    }
    mbar_init_fence();
  }
  bar();
  const i32 steps = (depth + 63) / 64;
  if (warp() == 4) {
    if (elect_one()) {
      i32 s = 0, phase = 1;
      for (i32 k = 0; k < steps; ++k) {
        mbar_wait(empty, s, phase);
        mbar_arrive_expect(full, s, (64 + 32) * 64 * 2);
        tma_load_2d(sa, s * 4096, ma, full, s, k * 64, 0);
        tma_load_2d(sb, s * 2048, mb, full, s, k * 64, 0);
        if (++s == 2) {
          s = 0;
          phase ^= 1;
        }
      }
    }
    return;
  }
  f32 acc[16];
  i32 s = 0, phase = 0;
  for (i32 k = 0; k < steps; ++k) {
    mbar_wait(full, s, phase);
    const u64 da = wgmma_desc<128>(sa, s * 4096, 16, 1024);
    const u64 db = wgmma_desc<128>(sb, s * 2048, 16, 1024);
    wgmma_fence();
    FUSEC_UNROLL
    for (i32 q = 0; q < 4; ++q)
      wgmma<bf16>(acc, wgmma_advance(da, 32 * q), wgmma_advance(db, 32 * q),
                  k > 0 || q > 0);
    wgmma_commit();
    wgmma_wait<0>(acc);
    if (tid() == 0)
      mbar_arrive(empty, s);
    if (++s == 2) {
      s = 0;
      phase ^= 1;
    }
  }
  for (i32 r = 0; r < 16; ++r)
    sts(sc, (warp() * 16 + lane() / 4 + 8 * (r / 2 % 2)) * 32 + r / 4 * 8 +
                lane() % 4 * 2 + r % 2,
        acc[r]);
  fence_proxy_async();
  bar_named(1, 128);
  if (tid() == 0) {
    tma_store_2d(mc, sc, 0, 0, 0);
    bulk_commit();
    bulk_wait<0>();
  }
}
FUSEC_EXPORT(k))";

TEST(Sm90, PipelineOfTmaAndWgmma) {
  constexpr int m = 64, n = 32, k = 312;
  std::vector<float> a = randomNumbers(m * k, 1), b = randomNumbers(n * k, 2);
  std::vector<uint16_t> ha = encodeAll(a, FusecBF16),
                        hb = encodeAll(b, FusecBF16);
  forEachCompletion([&](EmulatorCompletion completion, uint32_t seed) {
    std::vector<float> c(m * n, -1.0f);
    KernelRun run(kPipeline, sm90());
    run.options.completion = completion;
    run.options.seed = seed;
    run.map(ha, map2d(DType::BF16, k, m, 64, 64, 128))
        .map(hb, map2d(DType::BF16, k, n, 64, 32, 128))
        .map(c, map2d(DType::F32, n, m, 32, 64, 0), true)
        .scalar(k);
    run.good(1, 160);
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int q = 0; q < k; ++q)
          sum += a[i * k + q] * b[j * k + q];
        ASSERT_EQ(c[i * n + j], sum) << i << ", " << j;
      }
  });
}

} // namespace
