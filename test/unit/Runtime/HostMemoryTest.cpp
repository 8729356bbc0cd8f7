//===- HostMemoryTest.cpp - guarded host memory ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RuntimeTestUtils.h"
#include "fusec/Runtime/Device.h"

#include <thread>

using namespace fusec::runtime;

namespace {
class PlainDevice : public HostMemoryDevice {
public:
  const DeviceInfo &info() const override { return deviceInfo; }
  llvm::Expected<std::unique_ptr<LoadedModule>>
  loadModule(llvm::ArrayRef<Kernel>) override {
    return llvm::createStringError("not used here");
  }
  llvm::Error launch(const LaunchRequest &, Stream) override {
    return llvm::Error::success();
  }
  DeviceInfo deviceInfo{.name = "plain", .hostMemory = true};
};
} // namespace

TEST(HostMemory, AlignsAndCountsAllocations) {
  PlainDevice device;
  for (uint64_t bytes : {1, 3, 255, 256, 257, 4096}) {
    llvm::Expected<void *> memory = device.allocate(bytes);
    ASSERT_TRUE(!!memory);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*memory) % 256, 0u);
    EXPECT_EQ(device.liveBytes(), bytes);
    EXPECT_EQ(text(device.fill(*memory, 7, bytes, nullptr)), "");
    EXPECT_EQ(text(device.synchronize(nullptr)), "");
    device.free(*memory);
    EXPECT_EQ(device.liveBytes(), 0u);
  }
}

TEST(HostMemory, ZeroBytesAreNull) {
  PlainDevice device;
  EXPECT_EQ(llvm::cantFail(device.allocate(0)), nullptr);
  device.free(nullptr);
  EXPECT_EQ(text(device.copy(nullptr, nullptr, 0, nullptr)), "");
  EXPECT_EQ(text(device.fill(nullptr, 0, 0, nullptr)), "");
}

TEST(HostMemory, ReportsWritesOutsideABuffer) {
  PlainDevice device;
  auto *bytes = static_cast<uint8_t *>(llvm::cantFail(device.allocate(10)));
  bytes[10] ^= 1;
  EXPECT_TRUE(contains(text(device.synchronize(nullptr)),
                       "written after a buffer of 10 bytes"));
  bytes[10] ^= 1;
  EXPECT_EQ(text(device.synchronize(nullptr)), "");
  bytes[-1] = 0;
  device.free(bytes);
  EXPECT_TRUE(contains(text(device.synchronize(nullptr)),
                       "written before a buffer of 10 bytes"));
  EXPECT_EQ(text(device.synchronize(nullptr)), "");
}

TEST(HostMemory, FindsTheBufferOfAPointer) {
  PlainDevice device;
  auto *bytes = static_cast<uint8_t *>(llvm::cantFail(device.allocate(10)));
  ASSERT_TRUE(device.findExtent(bytes + 9));
  EXPECT_EQ(device.findExtent(bytes + 9)->base, bytes);
  EXPECT_EQ(device.findExtent(bytes + 9)->bytes, 10u);
  EXPECT_FALSE(device.findExtent(bytes + 10));
  EXPECT_FALSE(device.findExtent(bytes - 1));
}

TEST(HostMemory, RefusesWhatDoesNotFit) {
  PlainDevice device;
  EXPECT_TRUE(contains(text(device.allocate(UINT64_MAX - 5)),
                       "cannot allocate 18446744073709551610 bytes"));
}

TEST(HostMemory, BufferFreesItself) {
  auto device = std::make_shared<PlainDevice>();
  {
    Buffer buffer = llvm::cantFail(Buffer::allocate(device, 100));
    Buffer moved = std::move(buffer);
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_EQ(moved.size(), 100u);
    EXPECT_EQ(device->liveBytes(), 100u);
    moved = llvm::cantFail(Buffer::allocate(device, 50));
  }
  EXPECT_EQ(device->liveBytes(), 0u);
}

TEST(HostMemory, OnlyHostDevicesRunHostCalls) {
  PlainDevice device;
  int calls = 0;
  HostCall call{"count", {}, [&](llvm::ArrayRef<void *>) {
                  ++calls;
                  return llvm::Error::success();
                }};
  EXPECT_EQ(text(device.call(call, {}, nullptr)), "");
  EXPECT_EQ(calls, 1);
  device.deviceInfo.hostMemory = false;
  EXPECT_EQ(text(device.call(call, {}, nullptr)),
            "device 'plain' cannot run host call 'count'");
  EXPECT_EQ(calls, 1);
}

TEST(HostMemory, EventsMeasureTheHost) {
  PlainDevice device;
  Event begin = llvm::cantFail(device.createEvent());
  Event end = llvm::cantFail(device.createEvent());
  ASSERT_EQ(text(device.recordEvent(begin, nullptr)), "");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  ASSERT_EQ(text(device.recordEvent(end, nullptr)), "");
  EXPECT_GE(llvm::cantFail(device.elapsedMicroseconds(begin, end)), 2000.0);
  device.destroyEvent(begin);
  device.destroyEvent(end);
}
