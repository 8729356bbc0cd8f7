//===- SessionTargetTest.cpp - what is planned for an open GPU ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The limits of the open device, here a fake one, hold for what is compiled.
//===----------------------------------------------------------------------===//
#include "FakeCudaDriver.h"
#include "fusec/Runtime/Cuda/CudaDevice.h"
#include "fusec/Session/Target.h"
#include "gtest/gtest.h"

#include <cstdlib>

using namespace fusec;
using namespace fusec::session;

namespace {
// Before anything opens the driver.
[[maybe_unused]] const int chosen =
    setenv("FUSEC_CUDA_DRIVER", FUSEC_FAKE_CUDA_DRIVER, 1) +
    setenv("FUSEC_CACHE", "off", 1);

// CUDA's numbers of attributes.
constexpr int kMultiprocessors = 16, kSharedPerBlock = 97, kMinor = 76,
              kMajor = 75, kClusters = 120;

class SessionTargetTest : public testing::Test {
protected:
  void SetUp() override {
    // A device is opened together with its compiler, which the machine may
    // lack.
    auto nvrtc = runtime::Nvrtc::open();
    if (!nvrtc)
      GTEST_SKIP() << llvm::toString(nvrtc.takeError());
    fakeReset();
  }
  TargetInfo open(const OpenOptions &options = {}) {
    return llvm::cantFail(openTarget(TargetKind::Cuda, options)).info;
  }
  std::map<int, int> &attributes = fakeCuda()->deviceAttributes;
};
} // namespace

TEST_F(SessionTargetTest, FullDeviceKeepsThePreset) {
  TargetInfo info = open(), preset = TargetInfo::h200();
  EXPECT_EQ(info.multiprocessors, preset.multiprocessors);
  EXPECT_EQ(info.maxClusterBlocks, preset.maxClusterBlocks);
  EXPECT_EQ(info.sharedBytesPerBlock, preset.sharedBytesPerBlock);
}

TEST_F(SessionTargetTest, SmallerDeviceLimitsThePreset) {
  attributes = {{kMultiprocessors, 60}, {kSharedPerBlock, 101376}};
  TargetInfo info = open();
  EXPECT_EQ(info.multiprocessors, 60u);
  EXPECT_EQ(info.maxClusterBlocks, 8u);
  EXPECT_EQ(info.sharedBytesPerBlock, 101376);
  attributes[kClusters] = 0;
  EXPECT_EQ(open().maxClusterBlocks, 1u);
}

// What the caller states is a limit; of ours the multiprocessors are not.
TEST_F(SessionTargetTest, LargerDevice) {
  attributes = {{kMultiprocessors, 148}, {kSharedPerBlock, 1 << 20}};
  TargetInfo preset = TargetInfo::h200();
  EXPECT_EQ(open().multiprocessors, 148u);
  EXPECT_EQ(open().sharedBytesPerBlock, preset.sharedBytesPerBlock);
  OpenOptions options;
  options.machine = preset;
  options.machine->maxClusterBlocks = 4;
  EXPECT_EQ(open(options).multiprocessors, preset.multiprocessors);
  EXPECT_EQ(open(options).maxClusterBlocks, 4u);
}

TEST_F(SessionTargetTest, UnknownLimitsStay) {
  attributes = {{kMajor, 8},
                {kMinor, 0},
                {kClusters, 0},
                {kMultiprocessors, 0},
                {kSharedPerBlock, 0}};
  TargetInfo info = open(), preset = TargetInfo::a100();
  EXPECT_EQ(info.name, preset.name);
  EXPECT_EQ(info.multiprocessors, preset.multiprocessors);
  EXPECT_EQ(info.sharedBytesPerBlock, preset.sharedBytesPerBlock);
}
