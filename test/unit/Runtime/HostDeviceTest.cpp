//===- HostDeviceTest.cpp - threads and functions of the host device ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Host/HostDevice.h"
#include "HostMath.h"
#include "RuntimeTestUtils.h"
#include "ThreadPool.h"
#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <future>
#include <thread>

using namespace fusec::runtime;

// Workers that are slower than the caller end the call.
TEST(ThreadPool, ACallReturnsWhenTheSlowestRangeIsDone) {
  auto pool = std::make_shared<ThreadPool>(3);
  auto calls = std::make_shared<std::vector<std::atomic<int>>>(1000);
  std::promise<void> done;
  std::future<void> returned = done.get_future();
  // A call that never returns costs this test, not all others.
  std::thread([pool, calls, done = std::move(done)]() mutable {
    for (int round = 0; round < 5; ++round) {
      std::thread::id caller = std::this_thread::get_id();
      pool->parallelFor(calls->size(), [&](int64_t begin, int64_t end) {
        bool isCaller = std::this_thread::get_id() == caller;
        std::this_thread::sleep_for(
            std::chrono::milliseconds(isCaller ? 1 : 5));
        for (int64_t i = begin; i < end; ++i)
          ++(*calls)[i];
      });
    }
    done.set_value();
  }).detach();
  ASSERT_EQ(returned.wait_for(std::chrono::seconds(20)),
            std::future_status::ready);
  for (const std::atomic<int> &count : *calls)
    EXPECT_EQ(count, 5);
}

TEST(HostDevice, RefusesGridsOfSeveralDimensions) {
  auto device = createHostDevice({.threads = 1, .fastCompile = true});
  Kernel kernel{"k",
                "define void @k(ptr %args, i64 %begin, i64 %end) {\n"
                "  ret void\n}\n",
                1, 1};
  auto module = llvm::cantFail(device->loadModule({kernel}));
  LaunchRequest request;
  request.kernel = &module->kernel(0);
  request.grid = {5, 1, 1};
  EXPECT_EQ(text(device->launch(request, nullptr)), "");
  for (auto [y, z] : {std::pair(2u, 1u), std::pair(1u, 2u)}) {
    request.grid = {5, y, z};
    EXPECT_EQ(text(device->launch(request, nullptr)),
              "kernel 'k': expected a grid of one dimension on the host");
  }
}

// What code for machines without half conversions calls.
TEST(HostSymbols, ConvertHalves) {
  auto find = [](llvm::StringRef name) {
    for (const HostSymbol &symbol : hostSymbols())
      if (name == symbol.name)
        return symbol.address;
    return static_cast<void *>(nullptr);
  };
  auto fromHalf = reinterpret_cast<float (*)(_Float16)>(find("__extendhfsf2"));
  auto fromF32 = reinterpret_cast<_Float16 (*)(float)>(find("__truncsfhf2"));
  auto fromF64 = reinterpret_cast<_Float16 (*)(double)>(find("__truncdfhf2"));
  ASSERT_TRUE(fromHalf && fromF32 && fromF64);
  // 1 + 2^-11 + 2^-40 is above the middle of two halves; f32 does not know.
  struct {
    double value;
    uint16_t f64, f32;
  } const cases[] = {{1, 0x3c00, 0x3c00},
                     {-2.5, 0xc100, 0xc100},
                     {65520, 0x7c00, 0x7c00},
                     {0x1p-24, 0x0001, 0x0001},
                     {1 + 0x1p-11 + 0x1p-40, 0x3c01, 0x3c00}};
  for (auto [value, f64, f32] : cases) {
    uint16_t bits;
    _Float16 half = fromF64(value);
    std::memcpy(&bits, &half, sizeof(bits));
    EXPECT_EQ(bits, f64) << value;
    EXPECT_EQ(fromHalf(half), value == 65520 ? HUGE_VALF
                              : value > 1 && value < 2
                                  ? 1 + 0x1p-10f
                                  : static_cast<float>(value));
    half = fromF32(static_cast<float>(value));
    std::memcpy(&bits, &half, sizeof(bits));
    EXPECT_EQ(bits, f32) << value;
  }
}
