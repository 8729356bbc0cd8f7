//===- Sm90Test.cpp - Hopper's instructions against plain loops -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every primitive of prelude_sm90.cuh against a plain computation, with
// asynchronous operations that end late, at once and at random.
//===----------------------------------------------------------------------===//
#include "Harness.h"
#include "Numbers.h"
#include "sm90_cases.h"

#include "fusec/Embedded/Sm90Kernels.h"

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

//===-- Cases shared with the program for a GPU ---------------------------===//

class Sm90Cases : public testing::TestWithParam<sm90::Case> {
public:
  static const EmulatorModule &module() {
    static const std::unique_ptr<EmulatorModule> made = [] {
      // The text exports all kernels: it stands with the first of them.
      std::vector<EmulatorKernel> kernels;
      std::vector<std::string> names;
      for (const sm90::Case &test : sm90::allCases())
        if (!llvm::is_contained(names, test.kernel))
          names.push_back(test.kernel);
      for (const std::string &name : names)
        kernels.push_back(
            {name, kernels.empty() ? fusec::embedded::kSm90Kernels : ""});
      auto result = EmulatorModule::compile(kernels, sm90());
      EXPECT_TRUE(bool(result)) << llvm::toString(result.takeError());
      return result ? std::move(*result) : nullptr;
    }();
    return *made;
  }
};

TensorMapArg convert(const sm90::Map &from) {
  TensorMapArg map;
  constexpr DType types[] = {DType::U8,  DType::U32,  DType::F32,
                             DType::F16, DType::BF16, DType::F32};
  map.dtype = types[from.type];
  map.roundsToTf32 = from.type == sm90::Map::TF32;
  map.dims = from.dims;
  map.strides = from.strides;
  map.box = from.box;
  map.steps = from.steps;
  map.swizzle = from.swizzle;
  map.fill = from.nan ? TensorMapArg::Fill::Nan : TensorMapArg::Fill::Zero;
  return map;
}

/// The first difference, for people.
std::string difference(const sm90::Bytes &got, const sm90::Bytes &expected) {
  for (size_t i = 0; i < expected.size(); ++i)
    if (got[i] != expected[i])
      return "byte " + std::to_string(i) + ": got " + std::to_string(got[i]) +
             ", expected " + std::to_string(expected[i]);
  return "";
}

TEST_P(Sm90Cases, IsWhatPlainLoopsGive) {
  const sm90::Case &test = GetParam();
  forEachCompletion([&](EmulatorCompletion completion, uint32_t seed) {
    std::vector<sm90::Buffer> buffers = test.buffers;
    EmulatorMemory memory;
    for (sm90::Buffer &buffer : buffers)
      ASSERT_FALSE(memory.registerBuffer(buffer.bytes.data(),
                                         buffer.bytes.size(), "buffer"));
    std::vector<uint64_t> words;
    std::vector<FusecTensorMap> maps;
    words.reserve(test.args.size());
    maps.reserve(test.args.size());
    std::vector<void *> args;
    for (const sm90::Arg &arg : test.args) {
      sm90::Bytes &bytes = buffers[arg.buffer].bytes;
      if (arg.kind == sm90::Arg::Tensor) {
        TensorMapArg map = convert(arg.map);
        Im2colMapArg windows = {map, arg.map.lower, arg.map.upper,
                                arg.map.channels, arg.map.pixels};
        bool tiled = arg.map.pixels == 0;
        auto size = int64_t(bytes.size());
        llvm::Error error =
            tiled ? checkTensorMap(map, size) : checkIm2colMap(windows, size);
        ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
        maps.push_back(tiled ? makeTensorMap(map, bytes.data())
                             : makeIm2colMap(windows, bytes.data()));
        args.push_back(&maps.back());
        continue;
      }
      words.push_back(arg.kind == sm90::Arg::Int
                          ? uint32_t(arg.value)
                          : reinterpret_cast<uint64_t>(bytes.data()));
      args.push_back(&words.back());
    }
    EmulatorLaunch launch;
    launch.entry = test.kernel;
    launch.grid = {test.blocks, 1, 1};
    launch.threads = test.threads;
    launch.cluster = test.cluster;
    launch.args = args.data();
    EmulatorRunOptions options;
    options.completion = completion;
    options.seed = seed;
    llvm::Error error = module().launch(launch, memory.buffers(), options);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    for (const sm90::Buffer &buffer : buffers)
      if (buffer.isOutput)
        ASSERT_EQ(difference(buffer.bytes, buffer.expected), "");
  });
}

std::string nameOfCase(const testing::TestParamInfo<sm90::Case> &info) {
  std::string name = info.param.name;
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = c == '+' ? 'P' : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Emulator, Sm90Cases,
                         testing::ValuesIn(sm90::allCases()), nameOfCase);

} // namespace
