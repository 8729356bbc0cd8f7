//===- IntegerSkeletonTest.cpp - 8-bit products in the emulator -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As SkeletonTest.cpp, for sums of products of 8-bit integers: every one must
// be equal modulo 2^32. Padding is 85, so that a read past an extent shows.
//===----------------------------------------------------------------------===//
#include "SkeletonModule.h"
#include "TensorMap.h"

#include <random>

using namespace fusec;
using namespace fusec::runtime;

namespace {

enum class Access { Async, Computed, Tensor };

struct Side {
  Access access;
  bool alongK;
  int vector;
  std::string text() const {
    static const char *const names[] = {"Async", "Computed", "Tensor"};
    return std::string(names[int(access)]) +
           (alongK ? ", AlongK, " : ", AlongOuter, ") + std::to_string(vector);
  }
};

constexpr Side copied{Access::Async, true, 16};
constexpr Side boxes{Access::Tensor, true, 16};

struct KernelCase {
  const char *name;
  const char *kind;
  int tileM, tileN, tileK, warpsM, warpsN, stages;
  Side a, b;
  /// Of the Warpgroup loop; 0 for the others.
  int cluster = 0;
  /// Parts of k, of as many times `cluster` blocks (gemm_split.cuh).
  int ranks = 1;

  bool isWarpgroup() const { return cluster > 0; }
  bool isUnsigned(bool isA) const {
    llvm::StringRef text = kind;
    return isA ? text.starts_with("U8") : text.ends_with("U8");
  }
  std::string text() const;
};

void PrintTo(const KernelCase &c, std::ostream *os) { *os << c.name; }

std::string KernelCase::text() const {
  std::string config =
      isWarpgroup() ? "GemmWgmmaConfig<GemmKind::" : "GemmConfig<GemmKind::";
  config += kind;
  auto add = [&](std::initializer_list<int> numbers) {
    for (int v : numbers)
      config += ", " + std::to_string(v);
  };
  if (ranks > 1) {
    config = std::string("GemmSplitConfig<GemmKind::") + kind;
    add({warpsM / 4, tileN, stages, 8, cluster, ranks});
  } else if (isWarpgroup())
    add({warpsM / 4, tileN, stages, 8, 1, cluster});
  else
    add({tileM, tileN, tileK, warpsM, warpsN, stages, 8});
  std::string name = this->name;
  return "using Config_" + name + " = " + config + ">;\nTEST_SUMS" +
         (isWarpgroup() ? "_SM90(" : "(") + name + ", Config_" + name + ", " +
         a.text() + ", " + b.text() + ")\n";
}

const KernelCase kCases[] = {
    {"wg_i8", "I8", 128, 256, 128, 8, 1, 3, boxes, boxes, 2},
    {"wg_u8i8", "U8I8", 64, 128, 128, 4, 1, 4, boxes, copied, 1},
    {"split_i8", "I8", 128, 128, 128, 8, 1, 3, boxes, boxes, 2, 4},
    {"split_u8i8", "U8I8", 64, 64, 128, 4, 1, 4, boxes, boxes, 1, 2},
    {"wg_u8", "U8", 128, 64, 128, 8, 1, 3, copied, copied, 1},
    {"i8_square", "I8", 128, 128, 128, 2, 2, 3, copied, copied},
    {"i8u8_flat", "I8U8", 32, 64, 64, 2, 2, 4, copied, copied},
    {"u8_small", "U8", 64, 64, 64, 2, 2, 2, copied, copied},
    {"u8i8_turned",
     "U8I8",
     64,
     64,
     64,
     2,
     2,
     3,
     copied,
     {Access::Computed, false, 16}},
    {"i8_turned",
     "I8",
     128,
     128,
     64,
     2,
     4,
     3,
     {Access::Computed, false, 4},
     {Access::Computed, false, 1}},
    {"u8_gather",
     "U8",
     32,
     64,
     64,
     2,
     2,
     3,
     {Access::Computed, true, 1},
     {Access::Computed, true, 8}},
};

/// An operand [batch, outer, k] in the order of its side.
struct Operand {
  int32_t strides[3];
  std::vector<uint8_t> data;
  bool isUnsigned;

  Operand(const Side &side, bool isUnsigned, int outer, int k, int batch,
          std::mt19937 &random)
      : isUnsigned(isUnsigned) {
    int pitch = ((side.alongK ? k : outer) + 15) / 16 * 16 + 16;
    strides[1] = side.alongK ? pitch : 1;
    strides[2] = side.alongK ? 1 : pitch;
    strides[0] = (side.alongK ? outer : k) * pitch;
    data.assign(size_t(batch) * strides[0] + 16, 85);
    // Extremes are frequent.
    const uint8_t extremes[] = {0x80, 0x7f, 0xff, 0};
    for (int b = 0; b < batch; ++b)
      for (int o = 0; o < outer; ++o)
        for (int x = 0; x < k; ++x)
          data[at(b, o, x)] =
              random() % 4 ? uint8_t(random()) : extremes[random() % 4];
  }
  size_t at(int b, int o, int x) const {
    return size_t(b) * strides[0] + size_t(o) * strides[1] +
           size_t(x) * strides[2];
  }
  int get(int b, int o, int x) const {
    uint8_t bits = data[at(b, o, x)];
    return isUnsigned ? int(bits) : int(int8_t(bits));
  }
};

class IntegerSkeleton : public testing::TestWithParam<KernelCase> {
protected:
  /// The map of an operand of boxes: k, outer, batch.
  static emulator::FusecTensorMap mapOf(Operand &operand, const Side &side,
                                        int outer, int k, int batch, int tile) {
    if (side.access != Access::Tensor)
      return {};
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

void IntegerSkeleton::check(int m, int n, int k, int batch) {
  const KernelCase &c = GetParam();
  auto fit = [&](const Side &side, int &outer) {
    int &extent = side.alongK ? k : outer;
    if (side.access != Access::Computed)
      extent = (extent + 15) / 16 * 16;
  };
  fit(c.a, m), fit(c.b, n);
  std::mt19937 random(5);
  Operand a(c.a, c.isUnsigned(true), m, k, batch, random);
  Operand b(c.b, c.isUnsigned(false), n, k, batch, random);
  std::vector<int32_t> out(size_t(batch) * m * n);
  const EmulatorModule *loaded =
      test::skeletonModule(c.name, c.text(), c.isWarpgroup());
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
      mapOf(a, c.a, m, k, batch, c.tileM),
      mapOf(b, c.b, n, k, batch, c.tileN / std::max(c.cluster, 1))};
  EmulatorLaunch launch;
  launch.entry = c.name;
  launch.cluster = std::max(c.cluster, 1) * c.ranks;
  launch.grid = {uint32_t((m + c.tileM - 1) / c.tileM *
                          ((n + c.tileN - 1) / c.tileN) * batch),
                 1, 1};
  // Few enough that each takes several tiles.
  if (c.isWarpgroup())
    launch.grid[0] = std::max(2u, launch.cluster);
  launch.threads = 32 * (c.warpsM * c.warpsN + (c.isWarpgroup() ? 4 : 0));
  launch.dynamicSharedBytes =
      std::max(c.stages * (c.tileM + c.tileN) * c.tileK,
               c.isWarpgroup() ? 0 : c.tileM * c.tileN * 4);
  void *args[] = {&pointers[0], &pointers[1], &pointers[2], &m,
                  &n,           &k,           &batch,       a.strides,
                  b.strides,    &maps[0],     &maps[1]};
  launch.args = args;
  ASSERT_EQ(llvm::toString(loaded->launch(launch, memory.buffers())), "");
  for (int i = 0; i < batch; ++i)
    for (int row = 0; row < m; ++row)
      for (int column = 0; column < n; ++column) {
        int64_t sum = 0;
        for (int x = 0; x < k; ++x)
          sum += a.get(i, row, x) * b.get(i, column, x);
        ASSERT_EQ(out[(size_t(i) * m + row) * n + column], int32_t(sum))
            << c.name << " " << m << "x" << n << "x" << k << " at " << i << ", "
            << row << ", " << column;
      }
}

TEST_P(IntegerSkeleton, IsExact) {
  const KernelCase &c = GetParam();
  check(1, 1, 1, 1);
  check(3, 5, 7, 1);
  check(16, 8, 33, 1);
  // Three turns of the ring and an incomplete step.
  check(19, 23, 3 * c.stages * c.tileK + c.tileK / 2 + 1, 1);
  // As many steps as slots, and one fewer.
  check(9, 11, c.stages * c.tileK, 1);
  check(9, 11, (c.stages - 1) * c.tileK, 1);
  // Several tiles of a block; batches.
  check(2 * c.tileM + 17, c.tileN + 13, c.tileK + 37, 2);
}

INSTANTIATE_TEST_SUITE_P(Kernels, IntegerSkeleton, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<KernelCase> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
