//===- KernelTest.cpp - whole kernels and the prelude's arithmetic --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"
#include "Numbers.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace fusec::runtime;
using emulator::test::KernelRun;

namespace {

// A row per block; masked tails; a warp reduction, then one over warps.
const char *const kSoftmax = R"(
FUSEC_KERNEL(k, 128)(const f32 *in, bf16 *out, i32 width) {
  FUSEC_SHARED(f32, s0, 4);
  const i64 row = (i64)cta_x() * width;
  f32 a[8];
  f32 top = -as_f32(0x7f800000u);
  FUSEC_UNROLL
  for (i32 r = 0; r < 8; ++r) {
    const i32 i = r * 128 + tid();
    ldm<1>(a, r, in, row + i, i < width, -as_f32(0x7f800000u));
    top = m_max(top, a[r]);
  }
  for (i32 m = 16; m > 0; m /= 2)
    top = m_max(top, shfl_xor(top, m));
  if (lane() == 0)
    sts(s0, warp(), top);
  bar();
  for (i32 w = 0; w < 4; ++w)
    top = m_max(top, lds(s0, w));
  bar();
  f32 sum = 0.0f;
  FUSEC_UNROLL
  for (i32 r = 0; r < 8; ++r) {
    a[r] = m_exp(a[r] - top);
    sum += a[r];
  }
  for (i32 m = 16; m > 0; m /= 2)
    sum += shfl_xor(sum, m);
  if (lane() == 0)
    sts(s0, warp(), sum);
  bar();
  sum = 0.0f;
  for (i32 w = 0; w < 4; ++w)
    sum += lds(s0, w);
  FUSEC_UNROLL
  for (i32 r = 0; r < 8; ++r) {
    const i32 i = r * 128 + tid();
    stm1(out, row + i, from_f32<bf16>(a[r] / sum), i < width);
  }
}
FUSEC_EXPORT(k)
)";

void checkSoftmax(int rows, int width, unsigned osThreads) {
  std::vector<float> in(rows * width);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(int(i * 7919 % 1000) - 500) / 50;
  std::vector<uint16_t> out(rows * width);
  KernelRun run(kSoftmax);
  run.options.osThreads = osThreads;
  run.in(in).out(out).scalar(width).good(rows, 128);
  for (int r = 0; r < rows; ++r) {
    double top = -INFINITY, sum = 0;
    for (int i = 0; i < width; ++i)
      top = std::max(top, double(in[r * width + i]));
    for (int i = 0; i < width; ++i)
      sum += std::exp(in[r * width + i] - top);
    for (int i = 0; i < width; ++i) {
      double expected = std::exp(in[r * width + i] - top) / sum;
      float got =
          emulator::decodeFloat(emulator::FusecBF16, out[r * width + i]);
      // Half a bf16 step and a few f32 roundings.
      ASSERT_NEAR(got, expected, expected * (0x1p-8 + 0x1p-19));
    }
  }
}

TEST(Kernel, SoftmaxWithMaskedTails) {
  checkSoftmax(3, 1, 1);
  checkSoftmax(7, 127, 2);
  checkSoftmax(5, 1009, 0);
  checkSoftmax(300, 1024, 3);
}

// All blocks add into partial sums; the last to draw a ticket finishes. The
// counter is zero again afterwards, so that a second launch works.
TEST(Kernel, TicketFindsTheLastBlock) {
  const int blocks = 37;
  std::vector<float> in(blocks * 64), partial(blocks), out(1);
  std::vector<uint32_t> counter(1, 0);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float(i % 5);
  KernelRun run(
      R"(FUSEC_KERNEL(k, 64)(const f32 *in, f32 *partial, u32 *counter, f32 *out) {
  FUSEC_SHARED(f32, s, 2);
  FUSEC_SHARED(bool, last, 1);
  f32 x = ld1(in, cta_x() * 64 + tid());
  for (i32 m = 16; m > 0; m /= 2)
    x += shfl_xor(x, m);
  if (lane() == 0)
    sts(s, warp(), x);
  bar();
  if (tid() == 0) {
    st1(partial, cta_x(), lds(s, 0) + lds(s, 1));
    fence_gpu();
    sts(last, 0, ticket(counter, 0, (u32)ncta_x()) == (u32)ncta_x() - 1u);
  }
  bar();
  if (!lds(last, 0) || tid() != 0)
    return;
  f32 sum = 0.0f;
  for (i32 b = 0; b < ncta_x(); ++b)
    sum += ld1(partial, b);
  st1(out, 0, sum);
}
FUSEC_EXPORT(k))");
  run.options.osThreads = 4;
  run.in(in).out(partial, "partial").in(counter, "counter").out(out);
  for (int launch = 0; launch < 2; ++launch) {
    out[0] = 0;
    run.good(blocks, 64);
    float expected = 0;
    for (float x : in)
      expected += x;
    EXPECT_EQ(out[0], expected);
    EXPECT_EQ(counter[0], 0u);
  }
}

TEST(Kernel, AtomicsCombineAllBlocks) {
  std::vector<int32_t> i(4, 0);
  std::vector<float> f(1, 0);
  std::vector<double> d(1, 0);
  std::vector<int64_t> l(3, 0);
  KernelRun run(R"(FUSEC_KERNEL(k, 96)(i32 *i, f32 *f, f64 *d, i64 *l) {
  const i32 me = cta_x() * 96 + tid();
  atom_add(i, 0, me);
  atom_max(i, 1, me);
  atom_min(i, 2, -me);
  atom_add(f, 0, 1.0f);
  atom_add(d, 0, 0.5);
  atom_add(l, 0, (i64)me << 32);
  atom_max(l, 1, (i64)me);
  atom_min(l, 2, -(i64)me);
  u32 old = 0u, seen;
  u32 *word = (u32 *)(i + 3);
  while ((seen = atom_cas(word, 0, old, old + 2u)) != old)
    old = seen;
}
FUSEC_EXPORT(k))");
  run.options.osThreads = 4;
  run.in(i, "i").in(f, "f").in(d, "d").in(l, "l").good(10, 96);
  const int n = 960;
  EXPECT_EQ(i, (std::vector<int32_t>{n * (n - 1) / 2, n - 1, 1 - n, 2 * n}));
  EXPECT_EQ(f[0], float(n));
  EXPECT_EQ(d[0], n / 2.0);
  EXPECT_EQ(
      l, (std::vector<int64_t>{int64_t(n * (n - 1) / 2) << 32, n - 1, 1 - n}));
}

TEST(Kernel, ShufflesAndVotes) {
  std::vector<int64_t> out(64 * 7);
  KernelRun run(R"(FUSEC_KERNEL(k, 64)(i64 *out) {
  i64 v = ((i64)warp() << 40) + lane();
  st1(out, tid(), shfl_xor(v, 5));
  st1(out, 64 + tid(), shfl_idx(v, 7));
  st1(out, 128 + tid(), shfl_down(v, 3));
  st1(out, 192 + tid(), (i64)shfl_up((i8)lane(), 3));
  st1(out, 256 + tid(), (i64)ballot(lane() % 3 == 0));
  st1(out, 320 + tid(), (i64)(any(lane() == 9) ? 1 : 0) + (all(lane() < 31) ? 2 : 0) + (all(warp() < 2) ? 4 : 0));
  st1(out, 384 + tid(), (i64)warp_max(lane() * 7 % 32 - 40 * (1 + warp())));
}
FUSEC_EXPORT(k))");
  run.out(out).good(1, 64);
  uint32_t thirds = 0;
  for (int lane = 0; lane < 32; lane += 3)
    thirds |= 1u << lane;
  for (int64_t t = 0; t < 64; ++t) {
    int64_t w = t / 32 << 40, lane = t % 32;
    EXPECT_EQ(out[t], w + (lane ^ 5));
    EXPECT_EQ(out[64 + t], w + 7);
    EXPECT_EQ(out[128 + t], w + (lane + 3 < 32 ? lane + 3 : lane));
    EXPECT_EQ(out[192 + t], lane < 3 ? lane : lane - 3);
    EXPECT_EQ(out[256 + t], int64_t(thirds));
    EXPECT_EQ(out[320 + t], 5);
    EXPECT_EQ(out[384 + t], 31 - 40 * (1 + t / 32));
  }
}

TEST(Kernel, IntegerArithmeticIsTotal) {
  std::vector<int32_t> out(17);
  std::vector<int8_t> bytes(4);
  KernelRun run(R"(FUSEC_KERNEL(k, 1)(i32 *out, i8 *bytes) {
  const i32 low = (i32)0x80000000u, high = 0x7fffffff;
  st1(out, 0, i_add(high, 1));
  st1(out, 1, i_sub(low, 1));
  st1(out, 2, i_mul(high, high));
  st1(out, 3, i_div(7, 0));
  st1(out, 4, i_rem(7, 0));
  st1(out, 5, i_div(low, -1));
  st1(out, 6, i_rem(low, -1));
  st1(out, 7, i_div(-7, 2));
  st1(out, 8, i_rem(-7, 2));
  st1(out, 9, i_shl(1, 32));
  st1(out, 10, i_shl(1, 31));
  st1(out, 11, i_shr(-1, 40));
  st1(out, 12, i_shr(low, 31));
  st1(out, 13, i_ushr(-1, 31));
  st1(out, 14, i_ushr(-1, -1));
  st1(out, 15, i_abs(low));
  st1(out, 16, (i32)i_mulhi(0xffffffffu, 0xffffffffu));
  st1(bytes, 0, i_add((i8)127, 1));
  st1(bytes, 1, i_div((i8)-128, -1));
  st1(bytes, 2, i_shl((i8)1, 7));
  st1(bytes, 3, i_ushr((i8)-128, 7));
}
FUSEC_EXPORT(k))");
  run.out(out).out(bytes, "bytes").good(1, 1);
  const int32_t low = INT32_MIN;
  EXPECT_EQ(out, (std::vector<int32_t>{low, INT32_MAX, 1, 0, 7, low, 0, -3, -1,
                                       0, low, -1, -1, 1, 0, low, -2}));
  EXPECT_EQ(bytes, (std::vector<int8_t>{-128, -128, -128, 1}));
}

TEST(Kernel, FloatToIntegerSaturates) {
  std::vector<double> in = {NAN,          INFINITY, -INFINITY, 1e30,
                            -1e30,        0.99,     -0.99,     127.9,
                            -128.9,       128.0,    255.5,     256.0,
                            2147483647.5, 9.3e18,   -9.3e18,   1.9e19};
  const int n = int(in.size());
  std::vector<int64_t> out(n * 6);
  KernelRun run(R"(FUSEC_KERNEL(k, 32)(const f64 *in, i64 *out, i32 n) {
  if (tid() >= n)
    return;
  const f64 x = ld1(in, tid());
  st1(out, tid(), (i64)cvt_sat<i8>(x));
  st1(out, n + tid(), (i64)cvt_sat<u8>((f32)x));
  st1(out, 2 * n + tid(), (i64)cvt_sat<i32>(x));
  st1(out, 3 * n + tid(), (i64)cvt_sat<u32>(x));
  st1(out, 4 * n + tid(), cvt_sat<i64>(x));
  st1(out, 5 * n + tid(), (i64)cvt_sat<u64>(x));
}
FUSEC_EXPORT(k))");
  run.in(in).out(out).scalar(n).good(1, 32);
  auto clamp = [](double x, double low, double high) {
    return std::isnan(x) ? 0.0 : std::trunc(std::min(std::max(x, low), high));
  };
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(out[i], int64_t(clamp(in[i], -128, 127)));
    EXPECT_EQ(out[n + i], int64_t(clamp(in[i], 0, 255)));
    EXPECT_EQ(out[2 * n + i], int64_t(clamp(in[i], INT32_MIN, INT32_MAX)));
    EXPECT_EQ(out[3 * n + i], int64_t(clamp(in[i], 0, UINT32_MAX)));
    EXPECT_EQ(out[4 * n + i], std::isnan(in[i]) ? 0
                              : in[i] >= 0x1p63 ? INT64_MAX
                              : in[i] < -0x1p63 ? INT64_MIN
                                                : int64_t(in[i]));
    EXPECT_EQ(uint64_t(out[5 * n + i]), !(in[i] > 0)      ? 0
                                        : in[i] >= 0x1p64 ? UINT64_MAX
                                                          : uint64_t(in[i]));
  }
}

TEST(Kernel, FloatToByteRoundsAndSaturates) {
  std::vector<float> in = {NAN,  INFINITY, -INFINITY, 1e30f,  0.5f,     1.5f,
                           2.5f, -0.5f,    -1.5f,     126.5f, 127.5f,   -128.5f,
                           -129, 254.5f,   255.5f,    -0.4f,  0x1p-140f};
  const int n = int(in.size());
  std::vector<int32_t> out(n * 2);
  KernelRun run(R"(FUSEC_KERNEL(k, 32)(const f32 *in, i32 *out, i32 n) {
  if (tid() >= n)
    return;
  st1(out, tid(), (i32)rint_sat<i8>(ld1(in, tid())));
  st1(out, n + tid(), (i32)rint_sat<u8>(ld1(in, tid())));
}
FUSEC_EXPORT(k))");
  run.in(in).out(out).scalar(n).good(1, 32);
  auto clamp = [](float x, float low, float high) {
    return std::isnan(x) ? 0 : int(std::clamp(std::nearbyint(x), low, high));
  };
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(out[i], clamp(in[i], -128, 127)) << in[i];
    EXPECT_EQ(out[n + i], clamp(in[i], 0, 255)) << in[i];
  }
}

// A second rounding is as if done at once: beside the middle between two bf16,
// and where digits beyond f32's tell on which side a number is.
TEST(Kernel, IntegersRoundOnceToNarrowFloats) {
  std::vector<int32_t> in = {0, INT32_MAX, INT32_MIN};
  for (int bits = 8; bits < 31; ++bits)
    for (int64_t middle : {0x101ll << (bits - 8), 0x1ffll << (bits - 8)})
      for (int64_t beside : {-128, -65, -1, 0, 1, 63, 64, 127, 128, 129})
        for (int sign : {-1, 1})
          if (int64_t x = sign * (middle + beside);
              x == int32_t(x) && middle + beside > 0)
            in.push_back(int32_t(x));
  const int n = int(in.size());
  std::vector<float> out(n * 2);
  KernelRun run(R"(FUSEC_KERNEL(k, 32)(const i32 *in, f32 *out, i32 n) {
  for (i32 i = tid(); i < n; i += 32) {
    const i32 x = ld1(in, i);
    st1(out, i, to_f32(from_f32<bf16>(to_f32_odd(x))));
    st1(out, n + i, to_f32(from_f32<bf16>(to_f32_odd((u32)x))));
  }
}
FUSEC_EXPORT(k))");
  run.in(in).out(out).scalar(n).good(1, 32);
  auto once = [](double x) { // to 8 digits, ties to even
    int exponent;
    std::frexp(x, &exponent);
    return float(
        std::ldexp(std::nearbyint(std::ldexp(x, 8 - exponent)), exponent - 8));
  };
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(out[i], once(in[i])) << in[i];
    EXPECT_EQ(out[n + i], once(uint32_t(in[i]))) << uint32_t(in[i]);
  }
}

TEST(Kernel, MaxAndMinOrderZerosAndKeepNaN) {
  std::vector<float> out(8);
  std::vector<double> wide(4);
  KernelRun run(R"(FUSEC_KERNEL(k, 1)(f32 *out, f64 *wide) {
  const f32 nan = as_f32(0x7fc00000u);
  st1(out, 0, m_max(-0.0f, 0.0f));
  st1(out, 1, m_max(0.0f, -0.0f));
  st1(out, 2, m_min(-0.0f, 0.0f));
  st1(out, 3, m_min(0.0f, -0.0f));
  st1(out, 4, m_max(nan, 1.0f));
  st1(out, 5, m_max(1.0f, nan));
  st1(out, 6, m_min(nan, 1.0f));
  st1(out, 7, m_max(-3.0f, -2.0f));
  st1(wide, 0, m_max(-0.0, 0.0));
  st1(wide, 1, m_min(0.0, -0.0));
  st1(wide, 2, m_max(1.0, (f64)nan));
  st1(wide, 3, m_min(-3.0, -2.0));
}
FUSEC_EXPORT(k))");
  run.out(out).out(wide, "wide").good(1, 1);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(std::signbit(out[i]), i >= 2) << i;
  for (int i = 4; i < 7; ++i)
    EXPECT_TRUE(std::isnan(out[i])) << i;
  EXPECT_EQ(out[7], -2.0f);
  EXPECT_FALSE(std::signbit(wide[0]));
  EXPECT_TRUE(std::signbit(wide[1]));
  EXPECT_TRUE(std::isnan(wide[2]));
  EXPECT_EQ(wide[3], -3.0);
}

// Every vector width of every element size moves the elements in order.
TEST(Kernel, VectorAccesses) {
  for (const char *type : {"u8", "u16", "u32", "u64"}) {
    std::vector<uint64_t> in(64), out(64);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = i * 0x0123456789abcdefull + 1;
    std::string text = "using T = " + std::string(type) + R"(;
template <i32 V> FUSEC_DEVICE void move(const T *in, T *out) {
  FUSEC_SHARED(T, s, 16);
  T a[16], b[16];
  for (i32 r = 0; r < 16; ++r)
    ldm<V>(a, r, in, (i64)(16 * cta_x() + r), true, (T)0);
  for (i32 r = 0; r < 16; ++r)
    sts<V>(s, r, a, r);
  for (i32 r = 0; r < 16; ++r)
    lds<V>(b, r, s, r);
  for (i32 r = 0; r < 16; ++r)
    st<V>(out, 16 * cta_x() + r, b, r);
}
FUSEC_KERNEL(k, 1)(const T *in, T *out) {
  if (cta_x() == 0) move<1>(in, out);
  if (cta_x() == 1) move<2>(in, out);
  if (cta_x() == 2) move<8>(in, out);
  if (cta_x() == 3) move<16>(in, out);
}
FUSEC_EXPORT(k))";
    KernelRun run(text);
    run.options.osThreads = 1;
    run.in(in).in(out).good(4, 1);
    size_t bytes = type[1] == '8'   ? 1
                   : type[1] == '1' ? 2
                   : type[1] == '3' ? 4
                                    : 8;
    EXPECT_EQ(std::memcmp(in.data(), out.data(), 64 * bytes), 0) << type;
  }
}

// 1024 threads, several kernels of one batch, a partial last warp.
TEST(Kernel, BatchesAndOddBlockSizes) {
  const char *first = R"(FUSEC_KERNEL(k_a, 1024)(i32 *out) {
  FUSEC_SHARED(i32, s, 1024);
  sts(s, tid(), tid());
  bar();
  st1(out, tid(), lds(s, nthreads() - 1 - tid()));
}
FUSEC_EXPORT(k_a))";
  const char *second = R"(FUSEC_KERNEL(k_b, 45)(i32 *out) {
  st1(out, tid(), shfl_xor(tid(), 1));
}
FUSEC_EXPORT(k_b))";
  auto module = EmulatorModule::compile({{"k_a", first}, {"k_b", second}});
  ASSERT_TRUE(static_cast<bool>(module));
  EXPECT_EQ((*module)->maxThreads("k_b"), 45u);
  std::vector<int32_t> out(1024);
  EmulatorBuffer buffer{out.data(), 4096, "out", nullptr};
  void *pointer = out.data(), *args[] = {&pointer};
  for (uint32_t threads : {1024u, 1u, 45u}) {
    EmulatorLaunch launch;
    launch.entry = "k_a";
    launch.threads = threads;
    launch.args = args;
    llvm::Error error = (*module)->launch(launch, buffer);
    ASSERT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    for (uint32_t t = 0; t < threads; ++t)
      ASSERT_EQ(out[t], int32_t(threads - 1 - t));
  }
  EmulatorLaunch launch;
  launch.entry = "k_b";
  launch.threads = 45;
  launch.args = args;
  llvm::Error error = (*module)->launch(launch, buffer);
  ASSERT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  for (int t = 0; t < 45; ++t)
    ASSERT_EQ(out[t], t == 44 ? 44 : t ^ 1);
}

} // namespace
