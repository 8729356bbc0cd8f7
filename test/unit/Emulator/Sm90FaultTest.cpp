//===- Sm90FaultTest.cpp - every fault of Hopper's, planted ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text is a kernel that is right when its last parameter is 0 and has one
// fault otherwise, marked by a comment "fault N" in the line that is reported.
//===----------------------------------------------------------------------===//
#include "Harness.h"

using namespace fusec;
using namespace fusec::runtime;
using namespace fusec::runtime::emulator;
using emulator::test::KernelRun;

namespace {

/// The text with `FAULT(n)` for the condition, and what each fault gives.
class Planted {
public:
  explicit Planted(std::string body, uint32_t threads, uint32_t blocks = 1,
                   uint32_t cluster = 1)
      : text("#define FAULT(n) (fault == n)\n" + body), threads(threads),
        blocks(blocks), run(text, options()) {
    run.cluster = cluster;
    run.in(in).in(out, "out");
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = float(i);
  }
  void map(const TensorMapArg &map) { run.map(tensor, map); }

  /// Right in all modes of completion.
  void good() {
    run.scalar(0);
    for (auto completion : {EmulatorCompletion::Late, EmulatorCompletion::Issue,
                            EmulatorCompletion::Random}) {
      run.options.completion = completion;
      run.good(blocks, threads);
    }
    run.options.completion = EmulatorCompletion::Late;
    run.dropLast();
  }
  /// The first report in the marked line is of this kind; its text.
  std::string fault(int number, EmulatorFault kind) {
    run.scalar(number);
    auto reports = run.faults(blocks, threads);
    run.dropLast();
    std::string mark = "// fault " + std::to_string(number) + "\n";
    size_t at = text.find(mark);
    bool marked = at != std::string::npos;
    int line =
        marked ? int(llvm::StringRef(text).take_front(at).count('\n')) + 1 : 0;
    for (const EmulatorReport &report : reports)
      if (report.fault == kind && (!marked || report.line == line))
        return report.detail;
    ADD_FAILURE() << "fault " << number << ": expected kind " << int(kind)
                  << " in line " << line << ", found " << reports.size()
                  << " reports";
    for (const EmulatorReport &report : reports)
      ADD_FAILURE() << int(report.fault) << " " << report.str();
    return "";
  }

private:
  static EmulatorCompileOptions options() {
    EmulatorCompileOptions options;
    options.sm90 = true;
    return options;
  }
  std::string text;
  uint32_t threads, blocks;

public:
  std::vector<float> in = std::vector<float>(4096);
  std::vector<float> out = std::vector<float>(4096);
  std::vector<float> tensor = std::vector<float>(1024);
  KernelRun run;
};

TEST(Sm90Fault, BulkLoads) {
  Planted planted(R"(FUSEC_KERNEL(k, 64)(const f32 *in, f32 *out, i32 fault) {
  FUSEC_SHARED(f32, s, 64);
  FUSEC_MBARRIERS(b, 1);
  if (tid() == 0) {
    if (!FAULT(1))
      mbar_init(b, 0, 1);
    if (!FAULT(2))
      mbar_init_fence();
  }
  if (!FAULT(3))
    bar();
  if (FAULT(4)) {
    sts(s, tid(), 1.0f);
    bar();
  }
  if (tid() == 0) {
    mbar_arrive_expect(b, 0, FAULT(5) ? 512 : 256);
    bulk_load(s, 0, in, 0, 256, b, 0); /*
    */ // fault 4
    if (FAULT(6))
      mbar_arrive(b, 0); // fault 6
    if (FAULT(7))
      st1(out, 0, lds(s, 3)); // fault 7
  }
  if (!FAULT(8) || tid() < 32)
    if (!FAULT(9))
      mbar_wait(b, 0, FAULT(10) ? 1 : 0); // fault 5
  if (!FAULT(9))
    st1(out, tid(), lds(s, tid())); // fault 8
}
FUSEC_EXPORT(k))",
                  64);
  planted.good();
  EXPECT_EQ(planted.out[63], 63.0f);
  EXPECT_EQ(planted.fault(1, EmulatorFault::MbarrierMisuse),
            "element 0 is not an initialised mbarrier");
  planted.fault(2, EmulatorFault::ProxyFence);
  planted.fault(3, EmulatorFault::SharedRace);
  planted.fault(5, EmulatorFault::Deadlock);
  EXPECT_NE(planted.fault(6, EmulatorFault::MbarrierMisuse)
                .find("one arrival too many"),
            std::string::npos);
  planted.fault(7, EmulatorFault::PendingCopy);
  planted.fault(8, EmulatorFault::PendingCopy);
  // Nobody waits: the block ends before the copy.
  planted.fault(9, EmulatorFault::PendingCopy);
  planted.fault(10, EmulatorFault::PendingCopy);
  // At once, the copy is there, but only threads that waited may know.
  planted.run.options.completion = EmulatorCompletion::Issue;
  planted.fault(7, EmulatorFault::SharedRace);
  planted.fault(8, EmulatorFault::SharedRace);
}

TEST(Sm90Fault, DeadlocksSayWhoWaits) {
  Planted planted(R"(FUSEC_KERNEL(k, 64)(const f32 *in, f32 *out, i32 fault) {
  FUSEC_SHARED(f32, s, 64);
  FUSEC_MBARRIERS(b, 2);
  if (tid() == 0) {
    mbar_init(b, 0, 1);
    mbar_init(b, 1, 2);
    mbar_init_fence();
  }
  bar();
  if (tid() == 0) {
    if (FAULT(1))
      mbar_expect(b, 0, 256);
    else
      mbar_arrive_expect(b, 0, 256);
    bulk_load(s, 0, in, 0, 256, b, 0);
  }
  if (warp() == 1 && lane() < 2 && !FAULT(2))
    mbar_arrive(b, 1);
  if (FAULT(2) && tid() == 63)
    mbar_arrive(b, 1);
  mbar_wait(b, 0, 0);
  mbar_wait(b, 1, 0);
}
FUSEC_EXPORT(k))",
                  64);
  planted.good();
  EXPECT_EQ(planted.fault(1, EmulatorFault::Deadlock),
            "deadlock: threads 0-63 wait in line 22 for phase 0 of element 0 "
            "of the mbarriers made in line 6, which lacks 1 of 1 arrivals and "
            "0 bytes");
  EXPECT_EQ(planted.fault(2, EmulatorFault::Deadlock),
            "deadlock: threads 0-63 wait in line 23 for phase 0 of element 1 "
            "of the mbarriers made in line 7, which lacks 1 of 2 arrivals and "
            "0 bytes");
}

TEST(Sm90Fault, BulkStores) {
  Planted planted(R"(FUSEC_KERNEL(k, 64)(const f32 *in, f32 *out, i32 fault) {
  FUSEC_SHARED(f32, s, 128);
  sts(s, tid(), 1.0f); 
  sts(s, 64 + tid(), 1.0f);
  if (!FAULT(1))
    fence_proxy_async();
  if (FAULT(2))
    sts(s, tid(), 2.0f);
  if (!FAULT(3))
    bar();
  if (tid() == 0) {
    const i32 bytes = FAULT(4) ? 24 : 256;
    bulk_store(out, FAULT(5) ? 1 : 0, s, FAULT(6) ? 2 : 0, bytes);
    bulk_commit();
    if (!FAULT(7))
      bulk_wait_read<0>();
    sts(s, 0, 3.0f);
    if (FAULT(8)) {
      bulk_store(out, 0, s, 64, 256);
      bulk_wait_read<0>();
    }
  }
}
FUSEC_EXPORT(k))",
                  64);
  planted.good();
  EXPECT_EQ(planted.out[0], 1.0f);
  EXPECT_NE(planted.fault(1, EmulatorFault::ProxyFence)
                .find("did not call fence_proxy_async"),
            std::string::npos);
  planted.fault(2, EmulatorFault::ProxyFence);
  planted.fault(3, EmulatorFault::UninitialisedRead);
  planted.fault(4, EmulatorFault::InvalidArgument);
  planted.fault(5, EmulatorFault::Misaligned);
  planted.fault(6, EmulatorFault::Misaligned);
  planted.fault(7, EmulatorFault::PendingRead);
  // Not committed, so not waited for.
  planted.fault(8, EmulatorFault::PendingCopy);
}

TEST(Sm90Fault, TensorMaps) {
  Planted planted(R"(FUSEC_KERNEL(k, 32)
(const f32 *in, f32 *out, FUSEC_TENSOR_MAP(map), i32 fault) {
  FUSEC_SHARED_TILE(f32, s, 288);
  FUSEC_MBARRIERS(b, 1);
  if (tid() == 0) {
    mbar_init(b, 0, 1);
    mbar_init_fence();
    mbar_arrive_expect(b, 0, FAULT(1) ? 1000 : 1024);
    if (FAULT(2))
      tma_load_3d(s, 0, map, b, 0, 0, 0, 0); // fault 2
    else if (FAULT(3))
      tma_load_2d(s, 16, map, b, 0, 0, 0); // fault 3
    else if (FAULT(4))
      tma_load_2d(s, 64, map, b, 0, 0, 0); // fault 4
    else if (FAULT(5))
      tma_load_2d(s, 0, map, b, 0, 5, 0); // fault 5
    else if (FAULT(6))
      tma_store_2d(map, s, 0, 0, -1); // fault 6
    else if (FAULT(7))
      tma_prefetch_2d(map, 2, 0); // fault 7
    else
      tma_load_2d(s, 0, map, b, 0, 8, 4);
  }
  bar();
  if (!(fault >= 2 && fault <= 7))
    mbar_wait(b, 0, 0);
}
FUSEC_EXPORT(k))",
                  32);
  TensorMapArg map;
  map.dtype = DType::F32;
  map.dims = {32, 32};
  map.strides = {128};
  map.box = {32, 8};
  map.swizzle = 128;
  planted.map(map);
  planted.good();
  planted.fault(1, EmulatorFault::Deadlock);
  EXPECT_EQ(planted.fault(2, EmulatorFault::InvalidArgument),
            "3 coordinates for a tensor map of 2 dimensions");
  planted.fault(3, EmulatorFault::Misaligned);
  planted.fault(4, EmulatorFault::OutOfBounds);
  EXPECT_EQ(planted.fault(5, EmulatorFault::InvalidArgument),
            "a tensor copy from element 5 of 4 bytes: expected whole units of "
            "16 bytes");
  EXPECT_EQ(planted.fault(6, EmulatorFault::InvalidArgument),
            "a tensor store from -1 in dimension 1: expected none below 0");
  planted.fault(7, EmulatorFault::InvalidArgument);
}

TEST(Sm90Fault, Im2colMaps) {
  Planted planted(R"(FUSEC_KERNEL(k, 32)
(const f32 *in, f32 *out, FUSEC_TENSOR_MAP(map), i32 fault) {
  FUSEC_SHARED_TILE(f32, s, 288);
  FUSEC_MBARRIERS(b, 1);
  if (tid() == 0) {
    mbar_init(b, 0, 1);
    mbar_init_fence();
    mbar_arrive_expect(b, 0, FAULT(1) ? 1000 : 1024);
    if (FAULT(2))
      tma_load_im2col_3d(s, 0, map, b, 0, 0, 0, 0, 0); // fault 2
    else if (FAULT(3))
      tma_load_im2col_4d(s, 16, map, b, 0, 0, 0, 0, 0, 0, 0); // fault 3
    else if (FAULT(4))
      tma_load_im2col_4d(s, 64, map, b, 0, 0, 0, 0, 0, 0, 0); // fault 4
    else if (FAULT(5))
      tma_load_im2col_4d(s, 0, map, b, 0, 0, -2, 0, 0, 0, 0); // fault 5
    else if (FAULT(6))
      tma_load_im2col_4d(s, 0, map, b, 0, 0, 0, 3, 0, 0, 0); // fault 6
    else if (FAULT(7))
      tma_load_im2col_4d(s, 0, map, b, 0, 0, 0, 0, 0, 0, 256); // fault 7
    else if (FAULT(8))
      tma_load_4d(s, 0, map, b, 0, 0, 0, 0, 0); // fault 8
    else if (FAULT(9))
      tma_store_im2col_4d(map, s, 0, 0, 4, 0, 0); // fault 9
    else if (FAULT(11))
      tma_store_im2col_4d(map, s, 0, 0, 0, 0, 0); // fault 11
    else
      tma_load_im2col_4d(s, 0, map, b, 0, 0, -1, 2, 0, 1, 255);
  }
  bar();
  if (FAULT(10))
    st1(out, tid(), lds(s, tid())); // fault 10
  if (!(fault >= 2 && fault <= 9) && fault != 11)
    mbar_wait(b, 0, 0);
}
FUSEC_EXPORT(k))",
                  32);
  Im2colMapArg map;
  map.tensor.dims = {8, 4, 4, 2};
  map.tensor.strides = {32, 128, 512};
  map.lower = {-1, 0};
  map.upper = {0, -1};
  map.channels = 8;
  map.pixels = 32;
  map.tensor.swizzle = 32;
  planted.run.windows(planted.tensor, map);
  planted.good();
  planted.fault(1, EmulatorFault::Deadlock);
  EXPECT_EQ(planted.fault(2, EmulatorFault::InvalidArgument),
            "3 coordinates for a tensor map of 4 dimensions");
  planted.fault(3, EmulatorFault::Misaligned);
  planted.fault(4, EmulatorFault::OutOfBounds);
  EXPECT_EQ(planted.fault(5, EmulatorFault::InvalidArgument),
            "an im2col copy from -2 in dimension 1: expected a pixel of the "
            "map's box [-1, 4)");
  planted.fault(6, EmulatorFault::InvalidArgument);
  EXPECT_EQ(planted.fault(7, EmulatorFault::InvalidArgument),
            "an im2col copy with offset 256 in dimension 2: expected 0 to 255");
  EXPECT_EQ(planted.fault(8, EmulatorFault::InvalidArgument),
            "a tiled copy by an im2col map");
  planted.fault(9, EmulatorFault::InvalidArgument);
  planted.fault(10, EmulatorFault::PendingCopy);
  EXPECT_EQ(planted.fault(11, EmulatorFault::InvalidArgument),
            "an im2col store by a map whose box begins at -1 in dimension 1: "
            "expected none below 0");
}

TEST(Sm90Launch, RefusesWrongIm2colMaps) {
  Im2colMapArg good;
  good.tensor.dims = {8, 4, 4, 2};
  good.tensor.strides = {32, 128, 512};
  good.lower = {-1, 0};
  good.upper = {0, -1};
  good.channels = 8;
  good.pixels = 32;
  auto refusal = [&](auto change, int64_t bytes = 1024) {
    Im2colMapArg map = good;
    change(map);
    return llvm::toString(checkIm2colMap(map, bytes));
  };
  EXPECT_EQ(refusal([](Im2colMapArg &) {}), "");
  EXPECT_EQ(refusal([](Im2colMapArg &map) { map.tensor.dims = {8, 4}; }),
            "im2col map: expected 3 to 5 dimensions, found 2");
  EXPECT_EQ(refusal([](Im2colMapArg &map) { map.lower = {0}; }),
            "im2col map: expected corners of 2 dimensions, found 1 and 2");
  EXPECT_EQ(refusal([](Im2colMapArg &map) { map.pixels = 1025; }),
            "im2col map: expected 1 to 1024 pixels, found 1025");
  EXPECT_EQ(refusal([](Im2colMapArg &map) { map.channels = 257; }),
            "im2col map: expected 1 to 256 channels, found 257");
  EXPECT_EQ(refusal([](Im2colMapArg &map) { map.upper[1] = 128; }),
            "im2col map: dimension 2: expected corners from -128 to 127, "
            "found 128");
  EXPECT_EQ(refusal([](Im2colMapArg &map) { map.upper[0] = -5; }),
            "im2col map: dimension 1: expected a box that is not empty, found "
            "[-1, -1)");
  EXPECT_EQ(refusal([](Im2colMapArg &map) { map.tensor.steps = {1, 1, 1, 2}; }),
            "im2col map: expected a step of 1 from image to image, found 2");
  EXPECT_NE(refusal([](Im2colMapArg &map) {
              map.channels = 6;
            }).find("in steps of 16 bytes, found 24"),
            std::string::npos);
  EXPECT_NE(refusal([](Im2colMapArg &) {}, 1023).find("does not fit"),
            std::string::npos);
}

TEST(Sm90Fault, Products) {
  Planted planted(R"(FUSEC_KERNEL(k, 128)(const f32 *in, f32 *out, i32 fault) {
  FUSEC_SHARED_TILE(bf16, s, 8192);
  for (i32 i = tid(); i < 8192; i += 128)
    sts(s, i, from_f32<bf16>(1.0f));
  if (!FAULT(1))
    fence_proxy_async();
  if (!FAULT(2))
    bar();
  f32 acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  const u64 a = wgmma_desc<128>(s, 0, 16, 1024);
  const u64 b = wgmma_desc<128>(s, FAULT(3) ? 8192 : 4096, 16, 1024);
  if (!FAULT(4))
    wgmma_fence();
  if (!FAULT(5) || warp() != 3)
    wgmma<bf16>(acc, a, b, tid() != 77 || !FAULT(6)); // fault 1
  wgmma_commit();
  if (FAULT(7))
    acc[1] = 3.0f;
  if (FAULT(8))
    st1(out, tid(), acc[0] * 2.0f); // fault 8
  if (FAULT(9) && tid() == 5)
    sts(s, 10, from_f32<bf16>(2.0f)); // fault 9
  if (FAULT(10))
    st1(out, tid(), to_f32(from_f32<bf16>(acc[0])));
  if (!FAULT(11))
    wgmma_wait<0>(acc);
  if (FAULT(12))
    wgmma<bf16>(acc, a, b, true); // fault 12
  wgmma_commit();
  wgmma_wait<0>();
  if (!FAULT(11))
    st1(out, tid(), acc[0]);
}
FUSEC_EXPORT(k))",
                  128);
  planted.good();
  EXPECT_EQ(planted.out[5], 16.0f);
  planted.fault(1, EmulatorFault::ProxyFence);
  planted.fault(2, EmulatorFault::UninitialisedRead);
  planted.fault(3, EmulatorFault::OutOfBounds);
  planted.fault(4, EmulatorFault::WgmmaOrder);
  planted.fault(5, EmulatorFault::DivergentBarrier);
  planted.fault(6, EmulatorFault::DivergentBarrier);
  planted.fault(7, EmulatorFault::WgmmaOrder);
  planted.fault(8, EmulatorFault::WgmmaOrder);
  planted.fault(9, EmulatorFault::PendingRead);
  planted.fault(10, EmulatorFault::WgmmaOrder);
  planted.fault(12, EmulatorFault::WgmmaOrder);
}

TEST(Sm90Fault, ProductsMustBeWaitedFor) {
  Planted planted(R"(FUSEC_KERNEL(k, 128)(const f32 *in, f32 *out, i32 fault) {
  FUSEC_SHARED_TILE(bf16, s, 8192);
  for (i32 i = tid(); i < 8192; i += 128)
    sts(s, i, from_f32<bf16>(1.0f));
  fence_proxy_async();
  bar();
  f32 acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  wgmma_fence();
  wgmma<bf16>(acc, wgmma_desc<128>(s, 0, 16, 1024), wgmma_desc<128>(s, 4096, 16, 1024), true); // fault 1
  if (!FAULT(1))
    wgmma_commit();
  wgmma_wait<0>();
  if (FAULT(2) && tid() == 0)
    sts(s, 0, from_f32<bf16>(1.0f));
  if (FAULT(3) && tid() == 0) {
    bar_named_arrive(1, 64);
    sts(s, 0, from_f32<bf16>(1.0f));
  }
}
FUSEC_EXPORT(k))",
                  128);
  planted.good();
  planted.fault(1, EmulatorFault::WgmmaOrder);
  // After its own wait a thread may overwrite what the warpgroup has read.
  planted.run.scalar(2);
  planted.run.good(1, 128);
}

// A store in the background is over when its bytes have been waited for: nothing
// else need keep the block that it goes to.
TEST(Sm90Fault, BackgroundStores) {
  Planted planted(
      R"(FUSEC_KERNEL_CLUSTER(k, 32, 1, 2)(const f32 *in, f32 *out, i32 fault) {
  FUSEC_SHARED(f32, t, 32);
  FUSEC_MBARRIERS(b, 1);
  if (tid() == 0) {
    mbar_init(b, 0, 1);
    mbar_init_fence();
    mbar_arrive_expect(b, 0, 128);
  }
  cluster_sync();
  st_async(t, tid(), 2.0f, cluster_rank() ^ 1, b, 0); // fault 1
  if (!FAULT(1))
    mbar_wait(b, 0, 0);
  st1(out, cta_x() * 32 + tid(), FAULT(1) ? 0.0f : lds(t, tid()));
}
FUSEC_EXPORT(k))",
      32, 4, 2);
  planted.good();
  EXPECT_EQ(planted.out[127], 2.0f);
  planted.fault(1, EmulatorFault::PendingCopy);
}

TEST(Sm90Fault, Clusters) {
  Planted planted(
      R"(FUSEC_KERNEL_CLUSTER(k, 32, 1, 2)(const f32 *in, f32 *out, i32 fault) {
  FUSEC_SHARED(f32, s, 32);
  FUSEC_SHARED(f32, t, 32);
  FUSEC_MBARRIERS(b, 1);
  const i32 other = cluster_rank() ^ 1;
  if (FAULT(1))
    cluster_wait(); // fault 1
  if (FAULT(2) && tid() == 3) {
    cluster_arrive();
    cluster_arrive(); // fault 2
  }
  if (tid() == 0) {
    mbar_init(b, 0, 1);
    mbar_init_fence();
    mbar_arrive_expect(b, 0, 128);
  }
  if (!FAULT(3))
    cluster_sync();
  sts_cluster(s, tid(), 1.0f, FAULT(4) ? 2 : other);
  st_async(t, tid(), 2.0f, other, b, 0);
  if (FAULT(5))
    cluster_arrive_relaxed();
  else if (!FAULT(6))
    cluster_arrive();
  if (!FAULT(6))
    cluster_wait();
  st1(out, cta_x() * 32 + tid(), lds(s, tid())); // fault 5
  if (FAULT(7))
    st1(out, tid(), lds(t, tid())); // fault 7
  mbar_wait(b, 0, 0);
  st1(out, cta_x() * 32 + tid(), lds(t, tid()));
  if (FAULT(8))
    st1(out, tid(), lds_cluster(s, tid(), other)); // fault 8
  if (FAULT(9) && cluster_rank() == 1) {
    for (i32 k = 0; k < 100; ++k)
      bar();
    st1(out, tid(), lds_cluster(s, tid(), other)); // fault 9
  }
}
FUSEC_EXPORT(k))",
      32, 4, 2);
  planted.good();
  EXPECT_EQ(planted.out[127], 2.0f);
  planted.fault(1, EmulatorFault::DivergentBarrier);
  planted.fault(2, EmulatorFault::DivergentBarrier);
  planted.fault(3, EmulatorFault::MbarrierMisuse);
  planted.fault(4, EmulatorFault::InvalidArgument);
  EXPECT_NE(planted.fault(5, EmulatorFault::SharedRace)
                .find("did not release it to the cluster"),
            std::string::npos);
  planted.fault(6, EmulatorFault::SharedRace);
  planted.fault(7, EmulatorFault::PendingCopy);
  planted.fault(8, EmulatorFault::ClusterExit);
  planted.fault(9, EmulatorFault::ClusterExit);
}

TEST(Sm90Fault, ClustersMustAllArrive) {
  Planted planted(
      R"(FUSEC_KERNEL_CLUSTER(k, 64, 1, 2)(const f32 *in, f32 *out, i32 fault) {
  FUSEC_SHARED(f32, s, 4);
  FUSEC_MBARRIERS(b, 1);
  if (tid() == 0) {
    mbar_init(b, 0, 1);
    mbar_init_fence();
  }
  bar();
  if (FAULT(1) && cluster_rank() == 1 && warp() == 1)
    mbar_wait(b, 0, 0);
  cluster_sync();
  if (FAULT(2) && tid() == 0 && cluster_rank() == 0)
    bulk_load_multicast(s, 0, in, 0, 16, b, 0, 4u); // fault 2
  cluster_sync();
}
FUSEC_EXPORT(k))",
      64, 2, 2);
  planted.good();
  std::string text = planted.fault(1, EmulatorFault::Deadlock);
  EXPECT_NE(
      text.find("threads 0-63 of block 0 wait at cluster_wait in line 12"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("threads 32-63 of block 1 wait in line 11 for phase 0"),
            std::string::npos)
      << text;
  planted.fault(2, EmulatorFault::InvalidArgument);
}

TEST(Sm90Fault, PhasesThatAreMissed) {
  Planted planted(R"(FUSEC_KERNEL(k, 64)(const f32 *in, f32 *out, i32 fault) {
  FUSEC_MBARRIERS(b, 1);
  if (tid() == 63) {
    mbar_init(b, 0, 1);
    mbar_init_fence();
  }
  bar();
  // All others wait by then.
  if (tid() == 62) {
    mbar_arrive(b, 0);
    if (FAULT(1))
      mbar_arrive(b, 0); // fault 1
  } else {
    mbar_wait(b, 0, 0);
  }
  if (FAULT(2) && tid() == 0)
    mbar_expect(b, 0, 2000000); // fault 2
  if (FAULT(3) && tid() == 0)
    mbar_init(b, 0, 0); // fault 3
}
FUSEC_EXPORT(k))",
                  64);
  planted.good();
  planted.fault(1, EmulatorFault::MbarrierMisuse);
  planted.fault(2, EmulatorFault::MbarrierMisuse);
  planted.fault(3, EmulatorFault::InvalidArgument);
}

TEST(Sm90Fault, Grids) {
  std::string text = R"(FUSEC_KERNEL_GRID(k, 32, 1)(u32 *words, i32 fault) {
  if (fault == 1 && cta_x() == 2)
    return;
  grid_sync(words, 0);
}
FUSEC_EXPORT(k))";
  std::vector<uint32_t> words(1);
  KernelRun run(text);
  run.in(words).scalar(0);
  run.good(5, 32);
  run.good(5, 32);
  run.dropLast();
  run.scalar(1);
  auto reports = run.faults(5, 32);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(int(reports[0].fault), int(EmulatorFault::Deadlock))
      << reports[0].str();
}

TEST(Sm90Launch, RefusesWrongClusters) {
  KernelRun run("FUSEC_KERNEL_CLUSTER(k, 32, 1, 2)(i32 n) {}\nFUSEC_EXPORT(k)",
                [] {
                  EmulatorCompileOptions options;
                  options.sm90 = true;
                  return options;
                }());
  run.scalar(0);
  EXPECT_EQ(llvm::toString(run.launch(2, 32)),
            "kernel 'k' is made for clusters of 2 blocks, but was launched "
            "with 1");
  run.cluster = 2;
  EXPECT_EQ(llvm::toString(run.launch(3, 32)),
            "kernel 'k': expected clusters of at most 16 blocks that divide "
            "the grid of 3, found 2");
  run.good(4, 32);
}

} // namespace
