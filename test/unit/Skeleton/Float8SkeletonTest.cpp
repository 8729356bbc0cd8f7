//===- Float8SkeletonTest.cpp - products of 8-bit floats in the emulator --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements are small integers, so that every sum is exact in f32 with and
// without promotion, and results are equal. Padding is NaN, so that a read past
// an extent shows. Products finish as late as they may.
//===----------------------------------------------------------------------===//
#include "Numbers.h"
#include "SkeletonModule.h"
#include "TensorMap.h"

#include <random>

using namespace fusec;
using namespace fusec::runtime;

namespace {

struct KernelCase {
  const char *name;
  const char *kind;
  int consumers, tileN, stages, cluster, parts;
  /// By the copy engine, or in groups by the producer's threads.
  bool boxesA, boxesB;
  /// Slots of each half of B (gemm_apart.cuh); 0 for the others.
  int halfStages = 0;
  /// Parts of k, of as many times `cluster` blocks (gemm_split.cuh).
  int ranks = 1;

  int tileM() const { return 64 * consumers; }
  bool isWide(bool isA) const {
    llvm::StringRef text = kind;
    return isA ? text.starts_with("E5M2") : text.ends_with("E5M2");
  }
  std::string text() const;
};

void PrintTo(const KernelCase &c, std::ostream *os) { *os << c.name; }

std::string KernelCase::text() const {
  std::string config = std::string("GemmWgmmaConfig<GemmKind::") + kind;
  for (int v : {consumers, tileN, stages, 8, 1, cluster, parts})
    config += ", " + std::to_string(v);
  if (ranks > 1) {
    config = std::string("GemmSplitConfig<GemmKind::") + kind;
    for (int v : {consumers, tileN, stages, 8, cluster, ranks, parts})
      config += ", " + std::to_string(v);
  }
  if (halfStages) {
    config = std::string("GemmApartConfig<GemmKind::") + kind;
    for (int v : {tileN, stages, halfStages, 8, cluster})
      config += ", " + std::to_string(v);
    config += parts ? ", true" : "";
  }
  auto operand = [](bool boxes) {
    return std::string("TestOperand<f8e4m3, ") + (boxes ? "Tensor" : "Async") +
           ", AlongK, 16>";
  };
  std::string c = std::string("Config_") + name,
              h = std::string("Holes_") + name;
  return "using " + c + " = " + config + ">;\nstruct " + h +
         " : TestOperands<f8e4m3, " + operand(boxesA) + ", " + operand(boxesB) +
         R"(> {
  f32 *out;
  i32 m, n;
  FUSEC_METHOD void epilogue(i32 batch, i32 row, i32 column, const f32 (&v)[8],
                             i32 valid) const {
    for (i32 i = 0; i < 8; ++i)
      stm1(out, (i64(batch) * m + row) * n + column + i, v[i], i < valid);
  }
};
FUSEC_KERNEL_CLUSTER()" +
         name + ", " + c + "::kThreads, " + c + "::kBlocks, " + c +
         R"(::kCluster)
(const f8e4m3 *pa, const f8e4m3 *pb, f32 *out, i32 m, i32 n, i32 k, i32 batch,
 TestStrides sa, TestStrides sb, FUSEC_TENSOR_MAP(mapA), FUSEC_TENSOR_MAP(mapB)) {
  )" + h +
         R"( holes{{{pa, sa, m, k}, {pb, sb, n, k}}, out, m, n};
  gemm_wgmma<)" +
         c + ">(holes, mapA, mapB, m, n, k, batch);\n}\nFUSEC_EXPORT(" + name +
         ")\n";
}

const KernelCase kCases[] = {
    {"e4_pair", "E4M3", 2, 192, 3, 2, 1, true, true},
    {"e4_parts", "E4M3", 2, 256, 3, 2, 2, true, true},
    {"e4e5_mixed", "E4M3E5M2", 1, 128, 4, 1, 1, true, false},
    {"e5e4_small", "E5M2E4M3", 1, 64, 6, 1, 1, false, true},
    {"e5_copied", "E5M2", 2, 160, 3, 1, 1, false, false},
    {"e4_fast", "E4M3", 2, 256, 3, 2, 0, true, true},
    {"e4_apart", "E4M3", 2, 192, 4, 1, 1, true, true, 3},
    {"e5_apart", "E5M2", 2, 128, 6, 2, 1, true, true, 4},
    {"e4_apart_fast", "E4M3", 2, 256, 4, 2, 0, true, true, 3},
    {"e4_split", "E4M3", 2, 256, 3, 2, 2, true, true, 0, 2},
    {"e5_split", "E5M2", 1, 128, 4, 1, 1, true, true, 0, 4},
    {"e4_split_fast", "E4M3", 2, 128, 4, 2, 0, true, true, 0, 3},
};

/// An operand [batch, outer, k].
struct Operand {
  int32_t strides[3];
  std::vector<uint8_t> data;
  int32_t format;

  Operand(bool isWide, int outer, int k, int batch, std::mt19937 &random)
      : format(isWide ? emulator::FusecF8E5M2 : emulator::FusecF8E4M3) {
    int pitch = (k + 15) / 16 * 16 + 16;
    strides[0] = outer * pitch, strides[1] = pitch, strides[2] = 1;
    data.assign(size_t(batch) * strides[0] + 16, 0x7f);
    for (int b = 0; b < batch; ++b)
      for (int o = 0; o < outer; ++o)
        for (int x = 0; x < k; ++x)
          data[at(b, o, x)] = static_cast<uint8_t>(
              emulator::encodeFloat(format, int(random() % 7) - 3, false));
  }
  size_t at(int b, int o, int x) const {
    return size_t(b) * strides[0] + size_t(o) * strides[1] + size_t(x);
  }
  double get(int b, int o, int x) const {
    return emulator::decodeFloat(format, data[at(b, o, x)]);
  }
};

class Float8Skeleton : public testing::TestWithParam<KernelCase> {
protected:
  /// k, outer, batch.
  static emulator::FusecTensorMap mapOf(Operand &operand, int outer, int k,
                                        int batch, int tile) {
    TensorMapArg map;
    map.dtype = DType::U8;
    map.dims = {k, outer, batch};
    map.strides = {operand.strides[1], operand.strides[0]};
    map.box = {128, uint32_t(tile), 1};
    map.swizzle = 128;
    llvm::Error error = checkTensorMap(map, int64_t(operand.data.size()));
    EXPECT_EQ(llvm::toString(std::move(error)), "");
    return emulator::makeTensorMap(map, operand.data.data());
  }
  void check(int m, int n, int k, int batch);
};

void Float8Skeleton::check(int m, int n, int k, int batch) {
  const KernelCase &c = GetParam();
  k = (k + 15) / 16 * 16;
  std::mt19937 random(7);
  Operand a(c.isWide(true), m, k, batch, random);
  Operand b(c.isWide(false), n, k, batch, random);
  std::vector<float> out(size_t(batch) * m * n);
  const EmulatorModule *loaded = test::skeletonModule(c.name, c.text(), true);
  ASSERT_NE(loaded, nullptr);
  EmulatorMemory memory;
  auto add = [&](void *data, size_t bytes, const char *name, bool output) {
    std::string error = llvm::toString(
        memory.registerBuffer(data, bytes, name,
                              output ? EmulatorMemory::Contents::Uninitialised
                                     : EmulatorMemory::Contents::Initialised));
    ASSERT_EQ(error, "");
  };
  void *pointers[] = {a.data.data(), b.data.data(), out.data()};
  add(pointers[0], a.data.size(), "a", false);
  add(pointers[1], b.data.size(), "b", false);
  add(pointers[2], out.size() * 4, "out", true);
  emulator::FusecTensorMap maps[] = {
      mapOf(a, m, k, batch, c.tileM()),
      mapOf(b, n, k, batch, c.tileN / (c.halfStages ? 2 : c.cluster))};
  EmulatorLaunch launch;
  launch.entry = c.name;
  launch.cluster = c.cluster * c.ranks;
  // Few enough that each takes several tiles.
  launch.grid = {std::max(2u, launch.cluster), 1, 1};
  launch.threads = 128 * (c.consumers + 1);
  launch.dynamicSharedBytes =
      c.halfStages ? 128 * (c.stages * c.tileM() + c.halfStages * c.tileN)
                   : c.stages * (c.tileM() + (c.tileN + 63) / 64 * 64) * 128;
  void *args[] = {&pointers[0], &pointers[1], &pointers[2], &m,
                  &n,           &k,           &batch,       a.strides,
                  b.strides,    &maps[0],     &maps[1]};
  launch.args = args;
  ASSERT_EQ(llvm::toString(loaded->launch(launch, memory.buffers())), "");
  for (int i = 0; i < batch; ++i)
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column) {
        double sum = 0;
        for (int x = 0; x < k; ++x)
          sum += a.get(i, row, x) * b.get(i, column, x);
        ASSERT_EQ(out[(size_t(i) * m + row) * n + column], float(sum))
            << c.name << " " << m << "x" << n << "x" << k << " at " << i << ", "
            << row << ", " << column;
      }
}

TEST_P(Float8Skeleton, IsExact) {
  const KernelCase &c = GetParam();
  check(1, 1, 1, 1);
  check(3, 5, 16, 1);
  check(16, 8, 48, 1);
  // Three turns of the ring and an incomplete step.
  check(19, 23, c.ranks * 3 * c.stages * 128 + 80, 1);
  // As many steps as slots, and one fewer.
  check(9, 11, c.stages * 128, 1);
  check(9, 11, (c.stages - 1) * 128, 1);
  // Several tiles of a block; batches.
  check(2 * c.tileM() + 17, c.tileN + 13, 128 + 48, 2);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Float8Skeleton, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<KernelCase> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
