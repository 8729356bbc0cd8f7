//===- MmaTest.cpp - tensor-core kernels against f64 ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Harness.h"
#include "Numbers.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using emulator::test::KernelRun;

namespace {

// One warp a block makes a 16 x 16 tile of c = a * b. Both operands come
// through cp.async in two stages; a is [m, k] and b is [k, n], so b needs the
// transposing ldmatrix.
const char *const kGemm = R"(
FUSEC_KERNEL(k, 32)(const T *a, const T *b, f32 *c, i32 m, i32 n, i32 k) {
  FUSEC_SHARED(T, sa, 2 * 16 * 24);
  FUSEC_SHARED_DYN(T, sb);
  const i32 row0 = 16 * cta_x() / n * 16, col0 = 16 * cta_x() % n;
  const i32 r = lane() / 2, h = lane() % 2 * 8;
  auto fetch = [&](i32 stage, i32 k0) {
    cp_async16(sa, stage * 384 + r * 24 + h, a, (row0 + r) * k + k0 + h,
               row0 + r < m);
    cp_async16(sb, stage * 384 + r * 24 + h, b, (k0 + r) * n + col0 + h, true);
    cp_async_commit();
  };
  f32 acc[2][4];
  for (i32 j = 0; j < 8; ++j)
    acc[j / 4][j % 4] = 0.0f;
  fetch(0, 0);
  for (i32 k0 = 0; k0 < k; k0 += 16) {
    const i32 stage = k0 / 16 % 2;
    if (k0 + 16 < k) {
      fetch(1 - stage, k0 + 16);
      cp_async_wait<1>();
    } else {
      cp_async_wait<0>();
    }
    bar();
    u32 fa[4], fb[4];
    ldmatrix_x4(fa, sa, stage * 384 + lane() % 16 * 24 + lane() / 16 * 8);
    ldmatrix_x4_trans(fb, sb, stage * 384 + lane() % 16 * 24 + lane() / 16 * 8);
    FUSEC_UNROLL
    for (i32 j = 0; j < 2; ++j) {
      u32 pair[2] = {fb[2 * j], fb[2 * j + 1]};
      MMA(acc[j], fa, pair);
    }
    bar();
  }
  FUSEC_UNROLL
  for (i32 j = 0; j < 2; ++j) {
    const i32 row = row0 + lane() / 4, col = col0 + 8 * j + lane() % 4 * 2;
    stm<2>(c, row * n + col, acc[j], 0, row < m);
    stm<2>(c, (row + 8) * n + col, acc[j], 2, row + 8 < m);
  }
}
FUSEC_EXPORT(k)
)";

void checkGemm(int format, const char *type, const char *mma) {
  const int m = 23, n = 32, k = 80; // m leaves a masked tail
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<uint16_t> a(m * k), b(k * n);
  for (auto *v : {&a, &b})
    for (uint16_t &x : *v)
      x = encodeFloat(format, uniform(random), false);
  std::vector<float> c(m * n);
  std::string text =
      llvm::formatv("using T = {0};\n#define MMA {1}\n", type, mma).str() +
      kGemm + "#undef MMA\n";
  KernelRun run(text);
  run.in(a, "a").in(b, "b").out(c, "c").scalar(m).scalar(n).scalar(k);
  run.good(2 * n / 16, 32, 2 * 16 * 24 * 2);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int x = 0; x < k; ++x) {
        double product = double(decodeFloat(format, a[i * k + x])) *
                         decodeFloat(format, b[x * n + j]);
        sum += product;
        size += std::fabs(product);
      }
      // One f32 rounding for each of the k / 16 accumulations.
      ASSERT_NEAR(c[i * n + j], sum, k / 16 * size * 0x1p-24);
    }
}

TEST(Mma, GemmF16) { checkGemm(FusecF16, "f16", "mma_f16"); }
TEST(Mma, GemmBF16) { checkGemm(FusecBF16, "bf16", "mma_bf16"); }

TEST(Mma, TF32TileByFragments) {
  const char *text = R"(
FUSEC_KERNEL(k, 32)(const f32 *a, const f32 *b, f32 *c) {
  const i32 g = lane() / 4, t = lane() % 4;
  u32 fa[4], fb[2];
  FUSEC_UNROLL
  for (i32 r = 0; r < 4; ++r)
    fa[r] = to_tf32(ld1(a, (g + r % 2 * 8) * 8 + t + r / 2 * 4));
  FUSEC_UNROLL
  for (i32 r = 0; r < 2; ++r)
    fb[r] = to_tf32(ld1(b, (t + r * 4) * 8 + g));
  f32 d[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  mma_tf32(d, fa, fb);
  st<2>(c, g * 8 + t * 2, d, 0);
  st<2>(c, (g + 8) * 8 + t * 2, d, 2);
}
FUSEC_EXPORT(k)
)";
  // Integers up to 2^10 are exact in tf32.
  std::vector<float> a(16 * 8), b(8 * 8), c(16 * 8);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i * 37 % 101) - 50;
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = float(i * 53 % 97) - 48;
  KernelRun run(text);
  run.in(a).in(b).out(c).good(1, 32);
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      float sum = 1;
      for (int x = 0; x < 8; ++x)
        sum += a[i * 8 + x] * b[x * 8 + j];
      ASSERT_EQ(c[i * 8 + j], sum);
    }
}

} // namespace

TEST(Mma, TF32OfEveryKindOfNumber) {
  const char *text = R"(
FUSEC_KERNEL(k, 32)(const u32 *a, u32 *b) {
  st1(b, lane(), to_tf32(as_f32(ld1(a, lane()))));
}
FUSEC_EXPORT(k)
)";
  // To nearest, ties away; finite numbers stay finite, NaN stays one.
  const std::pair<uint32_t, uint32_t> cases[] = {
      {0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f802000},
      {0xbf803000, 0xbf804000}, {0x7f7fefff, 0x7f7fe000},
      {0x7f7ff000, 0x7f7fe000}, {0x7f7fffff, 0x7f7fe000},
      {0xff7fffff, 0xff7fe000}, {0x7f800000, 0x7f800000},
      {0xff800000, 0xff800000}, {0x7f800001, 0x7fffe000},
      {0x80000000, 0x80000000}, {0x00000fff, 0x00000000},
      {0x00001000, 0x00002000}, {0x807fffff, 0x80800000}};
  std::vector<uint32_t> a(32), b(32);
  for (size_t i = 0; i < std::size(cases); ++i)
    a[i] = cases[i].first;
  KernelRun run(text);
  run.in(a).out(b).good(1, 32);
  // Tensor cores ignore the low 13 bits.
  for (size_t i = 0; i < std::size(cases); ++i)
    EXPECT_EQ(b[i] & ~0x1fffu, cases[i].second) << std::hex << a[i];
}
