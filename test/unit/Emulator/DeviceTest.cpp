//===- DeviceTest.cpp - the emulator behind Device ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Emulator/EmulatorDevice.h"

#include "gtest/gtest.h"

using namespace fusec::runtime;

namespace {

Kernel addOne() {
  Kernel kernel;
  kernel.entry = "k_add";
  kernel.threads = 32;
  kernel.source = R"(FUSEC_KERNEL(k_add, 32)(const i32 *in, i32 *out, i32 n) {
  const i32 i = cta_x() * 32 + tid();
  if (i < n)
    st1(out, i, i_add(ld1(in, i), 1));
}
FUSEC_EXPORT(k_add))";
  return kernel;
}

class EmulatorDeviceTest : public testing::Test {
protected:
  void SetUp() override {
    device = createEmulatorDevice();
    auto loaded = device->loadModule(addOne());
    ASSERT_TRUE(static_cast<bool>(loaded))
        << llvm::toString(loaded.takeError());
    module = std::move(*loaded);
  }
  Buffer buffer(uint64_t bytes) {
    return llvm::cantFail(Buffer::allocate(device, bytes));
  }
  /// Launches on 40 elements; returns the error's text.
  std::string launch(const Buffer &in, const Buffer &out, int32_t n) {
    void *a = in.data(), *b = out.data(), *args[] = {&a, &b, &n};
    int64_t bytes[] = {int64_t(in.size()), int64_t(out.size()), -1};
    LaunchRequest request;
    request.kernel = &module->kernel(0);
    request.grid = {2, 1, 1};
    request.args = args;
    request.bufferBytes = bytes;
    return llvm::toString(device->launch(request, nullptr));
  }
  std::shared_ptr<Device> device;
  std::unique_ptr<LoadedModule> module;
};

TEST_F(EmulatorDeviceTest, Runs) {
  Buffer in = buffer(160), out = buffer(160);
  std::vector<int32_t> data(40), result(40);
  for (int i = 0; i < 40; ++i)
    data[i] = i * i;
  EXPECT_EQ(
      llvm::toString(device->copyIn(in.data(), data.data(), 160, nullptr)), "");
  EXPECT_EQ(launch(in, out, 40), "");
  EXPECT_EQ(
      llvm::toString(device->copyOut(result.data(), out.data(), 160, nullptr)),
      "");
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(result[i], i * i + 1);
}

TEST_F(EmulatorDeviceTest, KnowsWhatWasWritten) {
  Buffer in = buffer(160), middle = buffer(160), out = buffer(160);
  EXPECT_NE(launch(in, middle, 40).find("never written"), std::string::npos);
  EXPECT_EQ(llvm::toString(device->fill(in.data(), 0, 160, nullptr)), "");
  EXPECT_EQ(launch(in, middle, 39), "");
  EXPECT_EQ(
      llvm::toString(device->copy(out.data(), middle.data(), 160, nullptr)),
      "");
  EXPECT_EQ(launch(out, in, 39), "");
}

TEST_F(EmulatorDeviceTest, KnowsTheBoundsOfArguments) {
  Buffer in = buffer(160), out = buffer(156);
  EXPECT_EQ(llvm::toString(device->fill(in.data(), 0, 160, nullptr)), "");
  EXPECT_EQ(launch(in, out, 40),
            "the emulator found 1 fault\n  k_add:4: write of 4 bytes at byte "
            "156 of buffer 'argument 1' of 156 bytes (block 1,0,0, thread 7)");
}

} // namespace
