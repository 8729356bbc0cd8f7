//===- FakeCudaTest.cpp - the CUDA device on a fake driver ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the CUDA device tells the driver, checked without a GPU. Kernels are
// really compiled, so NVRTC is needed.
//===----------------------------------------------------------------------===//
#include "FakeCudaDriver.h"
#include "RuntimeTestUtils.h"
#include "fusec/Runtime/Cuda/CudaDevice.h"
#include "fusec/Runtime/Executable.h"

#include <cstdlib>

using namespace fusec;
using namespace fusec::runtime;

namespace {
// Before anything opens the driver.
[[maybe_unused]] const int chosen =
    setenv("FUSEC_CUDA_DRIVER", FUSEC_FAKE_CUDA_DRIVER, 1);

const char *const kText =
    "extern \"C\" __global__ void __launch_bounds__(64) ENTRY(float *a, "
    "int n) { if (threadIdx.x < n) a[threadIdx.x] = 1.0f; }\n";

Kernel kernel(const std::string &entry, uint32_t cluster = 1) {
  std::string text = kText;
  return {entry, text.replace(text.find("ENTRY"), 5, entry), 64, cluster};
}

// out f32[10], written by two launches, one of them in clusters.
Program twoLaunches(uint32_t cluster = 16) {
  Program program;
  program.outputs = {{"out", DType::F32, {10}}};
  program.kernels = {kernel("plain"), kernel("clustered", cluster)};
  program.steps = {Launch{0, {3, 4, 5}, 100, {output(0), ScalarArg{10, 4}}},
                   Launch{1, {32, 1, 1}, 0, {output(0), ScalarArg{11, 4}}}};
  return program;
}

class FakeCudaTest : public testing::Test {
protected:
  void SetUp() override {
    auto opened = Nvrtc::open();
    if (!opened)
      GTEST_SKIP() << llvm::toString(opened.takeError());
    fake = FakeCuda();
    fake.argCount = 2;
    device = llvm::cantFail(createCudaDevice());
  }
  void TearDown() override {
    device.reset();
    EXPECT_EQ(fake.retained, 0);
    EXPECT_EQ(fake.allocations, 0);
    EXPECT_EQ(fake.modules, 0);
    EXPECT_EQ(fake.streams, 0);
    EXPECT_TRUE(fake.contexts.empty());
  }
  FakeCuda &fake = *fakeCuda();
  std::shared_ptr<Device> device;
};
} // namespace

TEST_F(FakeCudaTest, LaunchesAsTheProgramSays) {
  auto loaded = llvm::cantFail(Executable::create(twoLaunches(), device));
  auto context = llvm::cantFail(ExecutionContext::create(loaded));
  Buffer out = llvm::cantFail(Buffer::allocate(device, 40));
  Stream stream = llvm::cantFail(device->createStream());
  int pushes = fake.pushes;
  ASSERT_EQ(text(context->run({}, {out.data()}, stream)), "");
  EXPECT_EQ(fake.pushes, pushes + 1);
  EXPECT_EQ(fake.synchronizations, 0);
  device->destroyStream(stream);
  ASSERT_EQ(fake.launches.size(), 2u);
  const FakeLaunch &plain = fake.launches[0], &clustered = fake.launches[1];
  EXPECT_EQ(plain.name, "plain");
  EXPECT_EQ(plain.grid, (std::array<unsigned, 3>{3, 4, 5}));
  EXPECT_EQ(plain.block, 64u);
  EXPECT_EQ(plain.shared, 100u);
  EXPECT_EQ(plain.cluster, 0u);
  EXPECT_EQ(plain.stream, stream);
  EXPECT_EQ(plain.args[0], reinterpret_cast<uint64_t>(out.data()));
  EXPECT_EQ(static_cast<uint32_t>(plain.args[1]), 10u);
  EXPECT_EQ(clustered.name, "clustered");
  EXPECT_EQ(clustered.cluster, 16u);
  EXPECT_EQ(clustered.grid[0], 32u);
  EXPECT_EQ(static_cast<uint32_t>(clustered.args[1]), 11u);
}

TEST_F(FakeCudaTest, TakesNumbersOfTheDriverAndRaisesLimits) {
  auto loaded = llvm::cantFail(Executable::create(twoLaunches(), device));
  EXPECT_EQ(loaded->kernel(0).resources.registers, 77u);
  EXPECT_EQ(loaded->kernel(0).resources.staticSharedBytes, 400u);
  ASSERT_EQ(fake.functions.size(), 2u);
  EXPECT_TRUE(fake.functions[0]->loaded && fake.functions[1]->loaded);
  EXPECT_EQ(fake.functions[0]->attributes,
            (std::map<int, int>{{8, 232448 - 400}}));
  EXPECT_EQ(fake.functions[1]->attributes,
            (std::map<int, int>{{8, 232448 - 400}, {14, 1}}));
}

TEST_F(FakeCudaTest, PortableClustersNeedNoConsent) {
  auto loaded = llvm::cantFail(Executable::create(twoLaunches(8), device));
  EXPECT_EQ(fake.functions[1]->attributes.count(14), 0u);
}

TEST_F(FakeCudaTest, KernelsOfOneProgramShareAModule) {
  CudaOptions options;
  options.compileThreads = 1;
  auto one = llvm::cantFail(createCudaDevice(options));
  auto loaded = llvm::cantFail(Executable::create(twoLaunches(), one));
  EXPECT_EQ(fake.modules, 1);
}

TEST_F(FakeCudaTest, LeavesACurrentContextAlone) {
  auto loaded = llvm::cantFail(Executable::create(twoLaunches(), device));
  auto context = llvm::cantFail(ExecutionContext::create(loaded));
  Buffer out = llvm::cantFail(Buffer::allocate(device, 40));
  void *token = llvm::cantFail(device->enter());
  int pushes = fake.pushes;
  EXPECT_EQ(text(context->run({}, {out.data()})), "");
  EXPECT_EQ(fake.pushes, pushes);
  EXPECT_EQ(fake.contexts.size(), 1u);
  device->leave(token);
  // Under the context of somebody else ours is on top for the call only.
  int other;
  fake.contexts.push_back(&other);
  EXPECT_EQ(text(context->run({}, {out.data()})), "");
  ASSERT_EQ(fake.contexts.size(), 1u);
  EXPECT_EQ(fake.contexts.back(), &other);
  fake.contexts.clear();
}

TEST_F(FakeCudaTest, ErrorsNameFunctionCodeAndStep) {
  auto loaded = llvm::cantFail(Executable::create(twoLaunches(), device));
  auto context = llvm::cantFail(ExecutionContext::create(loaded));
  Buffer out = llvm::cantFail(Buffer::allocate(device, 40));
  fake.failing = "cuLaunchKernel";
  EXPECT_EQ(text(context->run({}, {out.data()})),
            "step 0, kernel 'plain': cuLaunchKernel failed: CUDA_ERROR_FAKE "
            "(code 719): fake failure");
  fake.failing = "cuMemAlloc";
  EXPECT_EQ(text(device->allocate(123)),
            "allocating 123 bytes: cuMemAlloc failed: CUDA_ERROR_FAKE (code "
            "719): fake failure");
  fake.failing = "cuModuleLoadData";
  EXPECT_TRUE(contains(text(Executable::create(twoLaunches(), device)),
                       "kernel 'plain': cuModuleLoadData failed"));
  EXPECT_TRUE(contains(text(createCudaDevice({.ordinal = 5})),
                       "device 5: cuDeviceGet failed"));
}

TEST_F(FakeCudaTest, MovesDataAndMeasures) {
  Buffer buffer = llvm::cantFail(Buffer::allocate(device, 64));
  std::vector<uint8_t> in(64, 3), out(64);
  ASSERT_EQ(text(device->copyIn(buffer.data(), in.data(), 64, nullptr)), "");
  auto *bytes = static_cast<uint8_t *>(buffer.data());
  ASSERT_EQ(text(device->fill(bytes, 8, 16, nullptr)), "");
  ASSERT_EQ(text(device->copy(bytes + 32, bytes, 16, nullptr)), "");
  ASSERT_EQ(text(device->copyOut(out.data(), bytes, 64, nullptr)), "");
  EXPECT_EQ(out[15], 8);
  EXPECT_EQ(out[16], 3);
  EXPECT_EQ(out[47], 8);
  EXPECT_EQ(out[48], 3);
  Event event = llvm::cantFail(device->createEvent());
  EXPECT_EQ(text(device->recordEvent(event, nullptr)), "");
  EXPECT_EQ(llvm::cantFail(device->elapsedMicroseconds(event, event)), 1500.0);
  device->destroyEvent(event);
}

TEST_F(FakeCudaTest, IsReported) {
  DeviceReport report = deviceReport();
  EXPECT_EQ(report.driverError, "");
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].name, "fake GPU");
  EXPECT_EQ(report.devices[0].computeCapability, 90u);
  EXPECT_EQ(report.devices[0].maxClusterBlocks, 16u);
}

// Nothing runs on the fake, so the self test must notice.
TEST_F(FakeCudaTest, SelfTestSeesWrongResults) {
  fake.argCount = 3;
  EXPECT_TRUE(contains(text(cudaSelfTest()), "self test: output 'out'"));
}
