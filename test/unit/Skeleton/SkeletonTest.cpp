//===- SkeletonTest.cpp - the contraction skeleton in the emulator --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the device headers on the CPU with every access checked and compares
// with float64. Operands lie in padded storage whose padding is NaN, so a read
// past an extent shows; outputs count as unwritten until the kernel writes
// them.
//===----------------------------------------------------------------------===//
#include "SkeletonModule.h"
#include "TensorMap.h"
#include "fusec/Support/Numeric.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace fusec;
using namespace fusec::runtime;

namespace {

//===-- Kernels -----------------------------------------------------------===//

enum class Access { Async, Computed, Tensor };
enum class Order { AlongK, AlongOuter };

struct Side {
  Access access;
  Order order;
  int vector;
};

constexpr Side asyncK{Access::Async, Order::AlongK, 8};
constexpr Side asyncOuter{Access::Async, Order::AlongOuter, 8};
constexpr Side computedK(int v) { return {Access::Computed, Order::AlongK, v}; }
constexpr Side computedOuter(int v) {
  return {Access::Computed, Order::AlongOuter, v};
}

/// One kernel of the batch: parameters of GemmConfig, operand kinds.
struct KernelCase {
  const char *name;
  const char *kind;
  DType type;
  int tileM, tileN, tileK, warpsM, warpsN, stages, groupM;
  Side a, b;
  int warpsK = 1;
  /// Of the Warpgroup loop; 0 for the others. warpsM multiply there.
  int cluster = 0;
  /// The loop for few rows.
  bool few = false;
  /// Slots of each half of B (gemm_apart.cuh); 0 for the others.
  int halfStages = 0;
  /// Parts of k, of as many times `cluster` blocks (gemm_split.cuh).
  int ranks = 1;
  /// k in shared memory (gemm_direct.cuh); 0 for the others.
  int depth = 0;
  /// Products that a tile has tileN columns of (gemm_pair.cuh): B has twice the
  /// columns, and a half is one product's.
  int products = 1;
  /// Slots of B where warpgroups take tiles in turns (gemm_alternate.cuh); 0
  /// for the others.
  int alternate = 0;
  /// Steps of k of B that stay in shared memory (gemm_held.cuh); 0 for the
  /// others.
  int held = 0;

  std::string text() const;
  uint32_t blocksOfCluster() const { return std::max(cluster, 1) * ranks; }
  bool isWarpgroup() const { return cluster > 0 && !few; }
  uint32_t threads() const {
    return 32 * (warpsM * warpsN * warpsK + (isWarpgroup() ? 4 : 0));
  }
  uint32_t sharedBytes() const {
    if (depth)
      return 4 * warpsK * tileM * (tileN + 4) + 2 * tileM * depth;
    if (few)
      return warpsK *
             std::max(stages * (tileM + tileN) * 64, tileM * (tileN + 4) * 4);
    if (alternate)
      return 128 * (stages * tileM + alternate * ((tileN + 63) / 64 * 64));
    if (held)
      return 128 * (2 * stages * 64 + held * tileN);
    if (halfStages)
      return 128 *
             (stages * tileM +
              halfStages * (tileK == 64 ? (tileN + 127) / 128 * 128 : tileN));
    if (isWarpgroup())
      return stages * (tileM + products * ((tileN + 63) / 64 * 64)) * tileK *
             byteSize(type);
    int gaps = llvm::StringRef(kind) == "F32" ? 8 : 0;
    return std::max<uint32_t>(stages * (tileM + tileN + gaps) * tileK *
                                  byteSize(type),
                              warpsK * tileM * tileN * 4);
  }
};

void PrintTo(const KernelCase &c, std::ostream *os) { *os << c.name; }

std::string sideText(const Side &side) {
  static const char *const names[] = {"Async", "Computed", "Tensor"};
  return std::string(names[int(side.access)]) +
         (side.order == Order::AlongK ? ", AlongK, " : ", AlongOuter, ") +
         std::to_string(side.vector);
}

std::string KernelCase::text() const {
  std::string operands =
      fusec::name(type).str() + ", " + sideText(a) + ", " + sideText(b) + ")\n";
  std::string name = this->name;
  if (depth) {
    std::string config = "GemmDirectConfig<GemmKind::" + std::string(kind);
    for (int v : {tileM, warpsN, warpsK, tileN / (16 * warpsN), stages,
                  tileK / 4, depth})
      config += ", " + std::to_string(v);
    return "using Config_" + name + " = " + config + ">;\nTEST_KERNEL_DIRECT(" +
           name + ", Config_" + name + ", " + operands;
  }
  if (halfStages) {
    std::string config = "GemmApartConfig<GemmKind::" + std::string(kind);
    for (int v : {tileN, stages, halfStages, groupM, cluster})
      config += ", " + std::to_string(v);
    return "using Config_" + name + " = " + config + ">;\nTEST_KERNEL_SM90(" +
           name + ", Config_" + name + ", " + operands;
  }
  if (alternate) {
    std::string config = "GemmAlternateConfig<GemmKind::" + std::string(kind);
    for (int v : {tileN, stages, alternate, groupM, cluster})
      config += ", " + std::to_string(v);
    return "using Config_" + name + " = " + config + ">;\nTEST_KERNEL_SM90(" +
           name + ", Config_" + name + ", " + operands;
  }
  if (held) {
    std::string config = "GemmHeldConfig<GemmKind::" + std::string(kind);
    for (int v : {tileN, held, stages})
      config += ", " + std::to_string(v);
    return "using Config_" + name + " = " + config + ">;\nTEST_KERNEL_SM90(" +
           name + ", Config_" + name + ", " + operands;
  }
  if (ranks > 1) {
    std::string config = "GemmSplitConfig<GemmKind::" + std::string(kind);
    for (int v : {warpsM / 4, tileN, stages, groupM, cluster, ranks})
      config += ", " + std::to_string(v);
    return "using Config_" + name + " = " + config + ">;\nTEST_KERNEL_SM90(" +
           name + ", Config_" + name + ", " + operands;
  }
  if (isWarpgroup()) {
    bool isPair = products > 1;
    std::string config = isPair ? "GemmPairConfig" : "GemmWgmmaConfig";
    config += "<GemmKind::" + std::string(kind);
    for (int v : {warpsM / 4, tileN, stages, groupM, 1, cluster})
      config += ", " + std::to_string(v);
    return "using Config_" + name + " = " + config + ">;\nTEST_KERNEL_" +
           (isPair ? "PAIR(" : "SM90(") + name + ", Config_" + name + ", " +
           operands;
  }
  if (few) {
    std::string config = "GemmFewConfig<GemmKind::" + std::string(kind);
    for (int v : {tileM, tileN, warpsK, stages, cluster})
      config += ", " + std::to_string(v);
    return "using Config_" + name + " = " + config + ">;\nTEST_KERNEL_FEW(" +
           name + ", Config_" + name + ", " + operands;
  }
  std::string config = "GemmConfig<GemmKind::" + std::string(kind);
  for (int v : {tileM, tileN, tileK, warpsM, warpsN, stages, groupM, warpsK})
    config += ", " + std::to_string(v);
  return "using Config_" + name + " = " + config + ">;\nTEST_KERNEL(" + name +
         ", Config_" + name + ", " + operands;
}

constexpr Side tensorK = {Access::Tensor, Order::AlongK, 8};
constexpr Side tensorOuter = {Access::Tensor, Order::AlongOuter, 8};
/// The epilogue takes 4 columns at once.
constexpr Side tensorOuter4 = {Access::Tensor, Order::AlongOuter, 4};
/// The result turns in shared memory; there is no copy then.
constexpr Side tensorOuter2 = {Access::Tensor, Order::AlongOuter, 2};
constexpr Side tensorK2 = {Access::Tensor, Order::AlongK, 2};
constexpr Side tensorK4 = {Access::Tensor, Order::AlongK, 4};
/// In the order of accumulators: one batch of any number of blocks of 32, or
/// so many in each.
constexpr Side tensorEights(int blocks = 0) {
  return {Access::Tensor, Order::AlongK, 17 + blocks};
}

const KernelCase kCases[] = {
    // Few rows: as many parts of k as warps and blocks of a cluster.
    {"few_kk", "F16", DType::F16, 16, 64, 32, 1, 1, 3, 1, asyncK, asyncK, 4, 1,
     true},
    {"few_kn", "BF16", DType::BF16, 8, 64, 32, 1, 1, 4, 1, asyncK, asyncOuter,
     3, 1, true},
    {"few_cluster", "BF16", DType::BF16, 16, 64, 32, 1, 1, 3, 1, asyncK,
     asyncOuter, 2, 4, true},
    {"few_rows", "F16", DType::F16, 64, 64, 32, 1, 1, 2, 1, asyncK, asyncOuter,
     2, 2, true},
    {"few_short", "F16", DType::F16, 32, 32, 32, 1, 1, 3, 1, computedK(2),
     asyncK, 2, 1, true},
    {"few_computed", "BF16", DType::BF16, 16, 64, 32, 1, 1, 3, 1, asyncK,
     computedK(8), 4, 1, true},
    {"few_computed1", "F16", DType::F16, 8, 64, 32, 1, 1, 2, 1, computedK(1),
     computedOuter(1), 2, 2, true},
    {"few_computed4", "F16", DType::F16, 16, 64, 32, 1, 1, 3, 1, asyncK,
     computedOuter(4), 2, 1, true},
    {"few_tf32", "TF32", DType::F32, 16, 64, 16, 1, 1, 3, 1, asyncK, asyncK, 2,
     1, true},
    {"few_tf32_computed", "TF32", DType::F32, 8, 32, 16, 1, 1, 3, 1,
     computedK(1), computedK(4), 4, 2, true},
    // A in shared memory: parts that do not divide its depth, and that do.
    {"direct_kk", "F16", DType::F16, 16, 64, 32, 1, 2, 2, 1, asyncK, asyncK, 2,
     0, false, 0, 1, 416},
    {"direct_row", "BF16", DType::BF16, 1, 16, 32, 1, 1, 2, 1, computedK(2),
     asyncK, 2, 0, false, 0, 1, 512},
    {"direct_kn", "BF16", DType::BF16, 4, 64, 32, 1, 1, 1, 1, asyncK,
     asyncOuter, 4, 0, false, 0, 1, 416},
    {"direct_side", "F16", DType::F16, 8, 128, 32, 1, 2, 2, 1, computedK(8),
     asyncOuter, 1, 0, false, 0, 1, 256},
    {"wg_kk", "F16", DType::F16, 128, 256, 64, 8, 1, 4, 8, tensorK, tensorK, 1,
     2},
    {"wg_kn", "BF16", DType::BF16, 128, 128, 64, 8, 1, 3, 2, tensorK,
     tensorOuter, 1, 2},
    {"wg_mn", "F16", DType::F16, 128, 128, 64, 8, 1, 3, 8, tensorOuter,
     tensorOuter, 1, 1},
    {"wg_mk", "BF16", DType::BF16, 64, 64, 64, 4, 1, 4, 1, tensorOuter, tensorK,
     1, 1},
    {"wg_tf32", "TF32", DType::F32, 128, 256, 32, 8, 1, 3, 8, tensorK, tensorK,
     1, 2},
    {"wg_tf32_small", "TF32", DType::F32, 64, 64, 32, 4, 1, 4, 8, tensorK,
     tensorK, 1, 1},
    {"wg_192", "F16", DType::F16, 128, 192, 64, 8, 1, 3, 8, tensorK,
     tensorOuter, 1, 1},
    {"wg_160", "BF16", DType::BF16, 128, 160, 64, 8, 1, 3, 8, tensorK,
     tensorOuter, 1, 1},
    {"wg_224", "F16", DType::F16, 64, 224, 64, 4, 1, 3, 8, tensorOuter, tensorK,
     1, 1},
    {"wg_uneven", "F16", DType::F16, 64, 160, 64, 4, 1, 3, 8, tensorK,
     asyncOuter, 1, 1},
    {"wg_groups", "F16", DType::F16, 64, 128, 64, 4, 1, 4, 8, asyncK,
     asyncOuter, 1, 1},
    {"wg_mixed", "F16", DType::F16, 128, 64, 64, 8, 1, 4, 8, asyncOuter,
     tensorOuter, 1, 1},
    {"wg_computed", "BF16", DType::BF16, 64, 64, 64, 4, 1, 3, 8, tensorK,
     computedOuter(1), 1, 1},
    {"wg_eights", "F16", DType::F16, 128, 128, 64, 8, 1, 3, 8, tensorOuter,
     tensorEights(), 1, 2},
    {"wg_blocks", "BF16", DType::BF16, 64, 64, 64, 4, 1, 3, 8, tensorK,
     tensorEights(3), 1, 1},
    {"apart_eights", "BF16", DType::BF16, 128, 192, 64, 8, 1, 3, 8, tensorK,
     tensorEights(4), 1, 2, false, 3},
    {"wg_fours", "F16", DType::F16, 128, 128, 64, 8, 1, 3, 8, tensorK,
     tensorOuter4, 1, 2},
    {"wg_k_fours", "BF16", DType::BF16, 64, 64, 64, 4, 1, 3, 8, tensorK,
     tensorK4, 1, 1},
    {"wg_small_pair", "BF16", DType::BF16, 64, 128, 64, 4, 1, 5, 8, tensorK,
     tensorOuter, 1, 2},
    {"wg_turned", "F16", DType::F16, 128, 96, 64, 8, 1, 3, 8, tensorK,
     tensorOuter2, 1, 1},
    {"wg_k_turned", "BF16", DType::BF16, 64, 128, 64, 4, 1, 3, 8, tensorOuter,
     tensorK2, 1, 2},
    {"apart_turned", "BF16", DType::BF16, 128, 192, 64, 8, 1, 4, 2, tensorK,
     tensorOuter2, 1, 1, false, 3},
    // Two products: one box of each, two, and halves of them by each block.
    {"pair_kk", "F16", DType::F16, 128, 128, 64, 8, 1, 4, 8, tensorK,
     tensorEights(), 1, 2, false, 0, 1, 0, 2},
    {"pair_kn", "BF16", DType::BF16, 128, 128, 64, 8, 1, 3, 2, tensorK,
     tensorOuter, 1, 2, false, 0, 1, 0, 2},
    {"pair_mn", "F16", DType::F16, 64, 64, 64, 4, 1, 4, 8, tensorOuter,
     tensorOuter4, 1, 1, false, 0, 1, 0, 2},
    {"pair_mk", "BF16", DType::BF16, 128, 64, 64, 8, 1, 3, 1, tensorOuter,
     tensorK, 1, 1, false, 0, 1, 0, 2},
    // Two warpgroups that each have half of the columns.
    {"apart_kk", "F16", DType::F16, 128, 256, 64, 8, 1, 4, 8, tensorK, tensorK,
     1, 2, false, 3},
    {"apart_kn", "BF16", DType::BF16, 128, 320, 64, 8, 1, 4, 2, tensorK,
     tensorOuter, 1, 2, false, 3},
    {"apart_mn", "F16", DType::F16, 128, 128, 64, 8, 1, 3, 8, tensorOuter,
     tensorOuter, 1, 1, false, 4},
    {"apart_mk", "BF16", DType::BF16, 128, 64, 64, 8, 1, 4, 1, tensorOuter,
     tensorK, 1, 1, false, 3},
    {"apart_tf32", "TF32", DType::F32, 128, 192, 32, 8, 1, 4, 8, tensorK,
     tensorK, 1, 2, false, 3},
    // Tiles in turns.
    {"turns_kk", "F16",   DType::F16, 128, 96,    64, 8, 1, 3, 8,
     tensorK,    tensorK, 1,          2,   false, 0,  1, 0, 1, 4},
    {"turns_kn", "BF16",       DType::BF16, 128, 160,   64, 8, 1, 3, 8,
     tensorK,    tensorOuter2, 1,           2,   false, 0,  1, 0, 1, 3},
    {"turns_mn",  "F16",        DType::F16, 128, 64,    64, 8, 1, 4, 1,
     tensorOuter, tensorOuter4, 1,          1,   false, 0,  1, 0, 1, 5},
    {"turns_eights", "BF16",          DType::BF16, 128, 128,   64, 8, 1, 3, 2,
     tensorOuter,    tensorEights(4), 1,           2,   false, 0,  1, 0, 1, 3},
    // Columns of B that stay: no more steps than are held.
    {"held_kk", "F16", DType::F16, 128,   256, 64, 8, 1, 3, 1, tensorK,
     tensorK,   1,     1,          false, 0,   1,  0, 1, 0, 5},
    {"held_kn",    "BF16", DType::BF16, 128,   256, 64, 8, 1, 3, 1, tensorK,
     tensorOuter2, 1,      1,           false, 0,   1,  0, 1, 0, 4},
    {"held_mn",    "F16", DType::F16, 128,   64, 64, 8, 1, 4, 1, tensorOuter,
     tensorOuter4, 1,     1,          false, 0,  1,  0, 1, 0, 9},
    {"held_eights",
     "BF16",
     DType::BF16,
     128,
     128,
     64,
     8,
     1,
     3,
     1,
     tensorOuter,
     tensorEights(4),
     1,
     1,
     false,
     0,
     1,
     0,
     1,
     0,
     7},
    // Blocks of a cluster divide k: as many pieces of 64 x 32 as blocks'
    // warpgroups, more, fewer, and numbers that do not divide them.
    {"split_kk", "F16", DType::F16, 64, 256, 64, 4, 1, 3, 8, tensorK, tensorK,
     1, 2, false, 0, 4},
    {"split_kn", "BF16", DType::BF16, 128, 128, 64, 8, 1, 3, 2, tensorK,
     tensorOuter, 1, 1, false, 0, 2},
    {"split_tall", "BF16", DType::BF16, 64, 256, 64, 4, 1, 5, 8, tensorK,
     tensorOuter2, 1, 1, false, 0, 2},
    {"split_mn", "F16", DType::F16, 128, 128, 64, 8, 1, 4, 8, tensorOuter,
     tensorOuter4, 1, 1, false, 0, 6},
    {"split_mk", "BF16", DType::BF16, 64, 64, 64, 4, 1, 5, 1, tensorOuter,
     tensorK, 1, 1, false, 0, 2},
    {"split_many", "F16", DType::F16, 64, 128, 64, 4, 1, 3, 8, tensorK,
     tensorOuter, 1, 1, false, 0, 8},
    {"split_eights", "BF16", DType::BF16, 64, 128, 64, 4, 1, 3, 8, tensorK,
     tensorEights(4), 1, 2, false, 0, 3},
    {"split_tf32", "TF32", DType::F32, 128, 192, 32, 8, 1, 3, 8, tensorK,
     tensorK, 1, 1, false, 0, 3},
    {"f16_kk", "F16", DType::F16, 32, 64, 32, 2, 2, 3, 2, asyncK, asyncK},
    {"f16_kn", "F16", DType::F16, 64, 64, 64, 2, 2, 3, 8, asyncK, asyncOuter},
    {"f16_mn", "F16", DType::F16, 64, 32, 32, 2, 1, 4, 1, asyncOuter,
     asyncOuter},
    {"bf16_mk", "BF16", DType::BF16, 32, 64, 32, 1, 2, 2, 3, asyncOuter,
     asyncK},
    {"f16_square", "F16", DType::F16, 128, 128, 64, 2, 2, 3, 8, asyncK,
     asyncOuter},
    {"f16_wide", "F16", DType::F16, 128, 256, 64, 2, 4, 3, 8, asyncK, asyncK},
    {"f16_gather", "F16", DType::F16, 128, 128, 32, 2, 4, 3, 8, computedK(1),
     computedOuter(1)},
    {"bf16_gather", "BF16", DType::BF16, 32, 64, 32, 2, 2, 2, 8,
     computedOuter(1), computedK(1)},
    {"f16_gather8", "F16", DType::F16, 64, 64, 32, 2, 2, 3, 8, computedK(8),
     computedOuter(4)},
    {"f16_mixed", "F16", DType::F16, 64, 64, 32, 2, 2, 4, 8, computedK(2),
     asyncOuter},
    // More calls a line than threads.
    {"f16_narrow", "F16", DType::F16, 32, 128, 32, 1, 2, 3, 8, computedK(1),
     computedOuter(1)},
    {"tf32_kk", "TF32", DType::F32, 64, 64, 32, 2, 2, 3, 8, asyncK, asyncK},
    {"tf32_mn", "TF32", DType::F32, 32, 64, 16, 2, 2, 3, 8, asyncOuter,
     asyncOuter},
    {"tf32_gather", "TF32", DType::F32, 64, 64, 32, 2, 2, 2, 8, computedK(1),
     computedOuter(4)},
    {"f32_kn", "F32", DType::F32, 64, 64, 16, 2, 1, 3, 8, asyncK, asyncOuter},
    {"f32_mk", "F32", DType::F32, 128, 128, 32, 4, 2, 3, 8, asyncOuter, asyncK},
    {"f32_gather", "F32", DType::F32, 64, 64, 16, 2, 1, 3, 8, computedK(1),
     computedOuter(1)},
    {"f32_gather4", "F32", DType::F32, 32, 64, 8, 1, 1, 2, 8, computedOuter(2),
     computedK(4)},
    // Warps divide k; a thread makes 8 x 8, 4 x 4 results.
    {"f32_divided", "F32", DType::F32, 64, 64, 32, 2, 1, 2, 8, asyncK,
     asyncOuter, 4},
    {"f32_tall", "F32", DType::F32, 64, 64, 8, 1, 1, 3, 8, asyncK, asyncK},
    {"f32_wide", "F32", DType::F32, 64, 256, 16, 2, 2, 2, 8, asyncOuter,
     asyncK},
    {"f32_divided8", "F32", DType::F32, 32, 64, 64, 1, 1, 2, 8, computedK(4),
     computedOuter(1), 8},
    {"f32_small", "F32", DType::F32, 32, 32, 64, 2, 1, 2, 8, asyncOuter, asyncK,
     4},
    {"f32_smallest", "F32", DType::F32, 16, 32, 64, 1, 1, 2, 8, computedK(1),
     computedOuter(1), 8},
};

//===-- Data --------------------------------------------------------------===//

struct Shape {
  int m, n, k, batch;
};

/// Elements of one dtype as bytes, seen as doubles.
struct Storage {
  DType type;
  std::vector<uint8_t> bytes;

  Storage(DType type, size_t count)
      : type(type), bytes(count * byteSize(type)) {
    for (size_t i = 0; i < count; ++i)
      set(i, NAN);
  }
  void set(size_t i, double v) {
    uint64_t bits = encodeFloat(type, v);
    std::memcpy(&bytes[i * byteSize(type)], &bits, byteSize(type));
  }
  double get(size_t i) const {
    uint64_t bits = 0;
    std::memcpy(&bits, &bytes[i * byteSize(type)], byteSize(type));
    return decodeFloat(type, bits);
  }
};

/// An operand [batch, outer, k] in the order of its side, padded with NaN.
struct Operand {
  int32_t strides[3]; // batch, outer, k
  Storage data;

  static int32_t pitch(const Side &side, int extent) {
    return side.access == Access::Computed ? extent + 3
                                           : (extent + 7) / 8 * 8 + 8;
  }
  Operand(DType type, const Side &side, int outer, int k, int batch,
          std::mt19937 &random)
      : data(type, size_t(batch) * (side.order == Order::AlongK
                                        ? size_t(outer) * pitch(side, k)
                                        : size_t(k) * pitch(side, outer)) +
                       16) {
    bool alongK = side.order == Order::AlongK;
    strides[1] = alongK ? pitch(side, k) : 1;
    strides[2] = alongK ? 1 : pitch(side, outer);
    strides[0] = alongK ? outer * strides[1] : k * strides[2];
    std::uniform_real_distribution<double> draw(-1, 1);
    for (int b = 0; b < batch; ++b)
      for (int o = 0; o < outer; ++o)
        for (int x = 0; x < k; ++x)
          data.set(at(b, o, x), draw(random));
  }
  size_t at(int b, int o, int x) const {
    return size_t(b) * strides[0] + size_t(o) * strides[1] +
           size_t(x) * strides[2];
  }
};

struct Problem {
  const KernelCase &c;
  Shape s;
  std::mt19937 random{7};
  Operand a, b;
  std::vector<float> bias, scale, copy;
  Storage out;

  Problem(const KernelCase &c, Shape s)
      : c(c), s(s), a(c.type, c.a, s.m, s.k, s.batch, random),
        b(c.type, c.b, s.n, s.k, s.batch, random), bias(s.n + 1),
        scale(s.m + 1), copy(size_t(s.batch) * s.m * s.n + 1, NAN),
        out(c.type, size_t(s.batch) * s.m * s.n + 1) {
    std::uniform_real_distribution<float> draw(-2, 2);
    for (float &v : bias)
      v = draw(random);
    for (float &v : scale)
      v = draw(random);
  }

  void run() {
    const EmulatorModule *loaded =
        test::skeletonModule(c.name, c.text(), c.cluster > 0);
    ASSERT_NE(loaded, nullptr);
    EmulatorMemory memory;
    auto add = [&](void *data, size_t bytes, const char *name, bool output) {
      std::string error = llvm::toString(memory.registerBuffer(
          data, bytes, name,
          output ? EmulatorMemory::Contents::Uninitialised
                 : EmulatorMemory::Contents::Initialised));
      ASSERT_EQ(error, "");
    };
    void *pointers[] = {a.data.bytes.data(), b.data.bytes.data(), bias.data(),
                        scale.data(),        out.bytes.data(),    copy.data()};
    add(pointers[0], a.data.bytes.size(), "a", false);
    add(pointers[1], b.data.bytes.size(), "b", false);
    add(pointers[2], s.n * 4, "bias", false);
    add(pointers[3], s.m * 4, "scale", false);
    add(pointers[4], out.bytes.size() - byteSize(c.type), "out", true);
    add(pointers[5], (copy.size() - 1) * 4, "copy", true);

    int columns = s.n / c.products;
    int box = c.tileN / (c.halfStages ? 2
                         : c.held     ? 1
                                      : std::max(c.cluster, 1));
    int rows = c.held ? 64 : c.tileM;
    emulator::FusecTensorMap maps[] = {
        mapOf(a, c.a, s.m, rows), mapOf(b, c.b, columns, box),
        mapOf(b, c.b, columns, box, b.at(0, s.n - columns, 0))};
    EmulatorLaunch launch;
    launch.entry = c.name;
    launch.cluster = c.blocksOfCluster();
    launch.grid = {uint32_t((s.m + c.tileM - 1) / c.tileM *
                            ((columns + c.tileN - 1) / c.tileN) * s.batch),
                   1, 1};
    if (c.few)
      launch.grid[0] *= c.cluster;
    // Few enough that each takes several tiles.
    if (c.depth)
      launch.grid[0] = std::min(launch.grid[0], 2u);
    if (c.isWarpgroup())
      launch.grid[0] = launch.grid[0] ? std::max(2u, c.blocksOfCluster()) : 0;
    launch.threads = c.threads();
    launch.dynamicSharedBytes = c.sharedBytes();
    void *args[] = {&pointers[0], &pointers[1], &pointers[2], &pointers[3],
                    &pointers[4], &pointers[5], &s.m,         &s.n,
                    &s.k,         &s.batch,     a.strides,    b.strides,
                    &maps[0],     &maps[1],     &maps[2]};
    launch.args = args;
    EXPECT_EQ(llvm::toString(loaded->launch(launch, memory.buffers())), "");
  }

  /// The tensor map of an operand: contiguous dimension, other one, batch. It
  /// begins at element `first`.
  emulator::FusecTensorMap mapOf(Operand &operand, const Side &side, int outer,
                                 int tile, size_t first = 0) {
    emulator::FusecTensorMap none = {};
    if (side.access != Access::Tensor)
      return none;
    bool alongK = side.order == Order::AlongK;
    TensorMapArg map;
    map.dtype = c.type;
    map.dims = {alongK ? s.k : outer, alongK ? outer : s.k, s.batch};
    auto bytes = static_cast<int64_t>(byteSize(c.type));
    map.strides = {bytes * operand.strides[alongK ? 1 : 2],
                   bytes * operand.strides[0]};
    // Blocks that take turns share steps of k where B is along n.
    bool shares = c.alternate && &operand == &b;
    int depth = shares ? 64 / c.cluster : 64;
    map.box = {uint32_t(128 / bytes), uint32_t(alongK ? tile : depth), 1};
    if (side.vector > 16) {
      map.dims = {s.k, 2, 4, 4, s.batch * outer / 32};
      int64_t row = map.strides[0];
      map.strides = {row, 8 * row, 2 * row, 32 * row};
      map.box = {uint32_t(128 / bytes), 2, 4, 4, uint32_t(tile / 32)};
    }
    map.swizzle = 128;
    map.roundsToTf32 = c.type == DType::F32;
    first *= bytes;
    llvm::Error error =
        checkTensorMap(map, int64_t(operand.data.bytes.size() - first));
    EXPECT_EQ(llvm::toString(std::move(error)), "");
    return emulator::makeTensorMap(map, operand.data.bytes.data() + first);
  }

  /// Compares both outputs; bounds follow from the arithmetic of the kind.
  void compare() const {
    // Relative error of a product, and of an output element.
    double product = llvm::StringRef(c.kind) == "TF32" ? 0x1.01p-10 : 0;
    double rounding = std::ldexp(1.0, -int(precisionBits(c.type)));
    for (int i = 0; i < s.batch; ++i)
      for (int row = 0; row < s.m; ++row)
        for (int column = 0; column < s.n; ++column) {
          double sum = 0, size = 0;
          for (int x = 0; x < s.k; ++x) {
            double p =
                a.data.get(a.at(i, row, x)) * b.data.get(b.at(i, column, x));
            sum += p, size += std::abs(p);
          }
          double bound = size * (product + (s.k + 1) * 0x1p-24);
          size_t at = (size_t(i) * s.m + row) * s.n + column;
          double scaled = sum * scale[row];
          if (!turns())
            ASSERT_LE(std::abs(copy[at] - scaled),
                      bound * std::abs(scale[row]) + std::abs(scaled) * 0x1p-23)
                << where(i, row, column);
          double x = sum + bias[column];
          double gelu = 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
          // The derivative of GELU is below 1.13; f32 steps of its formula and
          // the rounding of erf near -1 are relative to x.
          double slack = 1.13 * bound + std::abs(x) * 0x1p-21 +
                         std::abs(gelu) * rounding * 1.001 + 0x1p-24;
          ASSERT_LE(std::abs(out.get(at) - gelu), slack)
              << where(i, row, column);
        }
  }
  /// Whether the first output is the only one.
  bool turns() const { return c.b.access == Access::Tensor && c.b.vector == 2; }
  std::string where(int i, int row, int column) const {
    return std::string(c.name) + " " + std::to_string(s.m) + "x" +
           std::to_string(s.n) + "x" + std::to_string(s.k) + " at " +
           std::to_string(i) + ", " + std::to_string(row) + ", " +
           std::to_string(column);
  }
};

/// Extents that an Async operand cannot have are rounded up to its group.
Shape fit(const KernelCase &c, Shape s) {
  auto up = [](int v) { return (v + 7) / 8 * 8; };
  for (const auto &[side, outer] : {std::pair(c.a, &s.m), std::pair(c.b, &s.n)})
    if (side.access != Access::Computed) {
      int &extent = side.order == Order::AlongK ? s.k : *outer;
      extent = up(extent);
    }
  // Results that turn are stored by eights.
  if (c.b.access == Access::Tensor && c.b.vector == 2)
    s.n = up(s.n);
  if (c.b.access == Access::Tensor && c.b.vector > 16) {
    int blocks = c.b.vector - 17;
    s.n = blocks ? 32 * blocks : (s.n + 31) / 32 * 32;
    s.batch = blocks ? s.batch : 1;
  }
  // Each product's columns begin at a multiple of 16 bytes.
  if (c.products > 1)
    s.n = c.products * up(s.n);
  return s;
}

//===-- Tests -------------------------------------------------------------===//

class Skeleton : public testing::TestWithParam<KernelCase> {
protected:
  void check(Shape shape) {
    Problem problem(GetParam(), fit(GetParam(), shape));
    problem.run();
    if (!HasFatalFailure() && !HasNonfatalFailure())
      problem.compare();
  }
};

TEST_P(Skeleton, MatchesFloat64) {
  const KernelCase &c = GetParam();
  // Part of one tile.
  check({1, 1, 1, 1});
  check({3, 5, 7, 1});
  check({16, 8, 16, 1});
  // No terms: the epilogue gets zeros. There is no map of nothing.
  if (c.a.access != Access::Tensor && c.b.access != Access::Tensor)
    check({5, 9, 0, 2});
  // Three turns of the ring and an incomplete step.
  int parts = c.few ? c.warpsK * c.cluster : c.depth ? c.warpsK : c.ranks;
  auto steps = [&](int k) {
    return c.held ? std::min(k, c.held * c.tileK) : k;
  };
  check({19, 23, steps(parts * 3 * c.stages * c.tileK + c.tileK / 2 + 1), 1});
  // Not every part has as many steps.
  if (parts > 1)
    check({c.tileM, 70, (parts + 1) * c.stages * c.tileK, 2});
  // Exactly as many steps as slots, and one fewer.
  check({9, 11, c.stages * c.tileK, 1});
  check({9, 11, (c.stages - 1) * c.tileK, 1});
  // Several tiles of a block with more steps than slots.
  if (c.isWarpgroup())
    check(
        {3 * c.tileM + 5, c.tileN + 13, steps(2 * c.stages * c.tileK + 9), 2});
  // Columns that end where a warpgroup's half of a tile does.
  if (c.halfStages)
    check({c.tileM + 9, c.tileN + c.tileN / 2, 37, 1});
  // More row tiles than one group, the last group incomplete; batches.
  check({2 * c.tileM + 17, c.tileN + 13, 37, 2});
}

TEST_P(Skeleton, KeepsNonFiniteValuesInTheirRowAndColumn) {
  Problem p(GetParam(), fit(GetParam(), {20, 24, 40, 1}));
  p.a.data.set(p.a.at(0, 3, 5), INFINITY);
  p.b.data.set(p.b.at(0, 7, 11), NAN);
  p.run();
  for (int row = 0; row < p.s.m; ++row)
    for (int column = 0; column < p.s.n; ++column)
      EXPECT_EQ(std::isfinite(p.turns() ? p.out.get(row * p.s.n + column)
                                        : p.copy[row * p.s.n + column]),
                row != 3 && column != 7)
          << p.where(0, row, column);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Skeleton, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<KernelCase> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
