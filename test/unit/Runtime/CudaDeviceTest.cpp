//===- CudaDeviceTest.cpp - driver, device report, real launches ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What needs a GPU is skipped, with the reason, where there is none.
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Cuda/CudaDevice.h"
#include "Driver.h"
#include "RuntimeTestUtils.h"
#include "fusec/Runtime/Executable.h"

#include "llvm/Support/JSON.h"

#include <chrono>

using namespace fusec;
using namespace fusec::runtime;

TEST(CudaDriver, AMissingLibraryIsAnError) {
  EXPECT_TRUE(contains(text(cuda::Driver::open("libnosuchdriver.so.1")),
                       "cannot open the CUDA driver: libnosuchdriver.so.1"));
}

TEST(CudaDriver, AnotherLibraryIsRefused) {
  EXPECT_EQ(text(cuda::Driver::open("libc.so.6")),
            "CUDA driver: function 'cuInit' is missing");
}

TEST(CudaReport, IsJSONWithOrWithoutAGPU) {
  DeviceReport report = deviceReport();
  EXPECT_EQ(report.driverVersion == 0, !report.driverError.empty());
  EXPECT_EQ(report.nvrtcMajor == 0, !report.nvrtcError.empty());
  auto parsed = llvm::json::parse(toJSON(report));
  ASSERT_TRUE(!!parsed) << text(parsed.takeError());
  ASSERT_NE(parsed->getAsObject(), nullptr);
  const llvm::json::Object &object = *parsed->getAsObject();
  ASSERT_NE(object.getArray("devices"), nullptr);
  EXPECT_EQ(object.getArray("devices")->size(), report.devices.size());
  EXPECT_EQ(object.getObject("driver")->get("error") != nullptr,
            !report.driverError.empty());
}

TEST(CudaReport, PrintsVersionsAndNames) {
  DeviceReport report;
  report.driverVersion = 12080;
  report.nvrtcMajor = 13;
  report.devices.push_back({.name = "bad \xff name", .computeCapability = 120});
  std::string json = toJSON(report);
  EXPECT_TRUE(contains(json, "\"version\": \"12.8\""));
  EXPECT_TRUE(contains(json, "\"version\": \"13.0\""));
  EXPECT_TRUE(contains(json, "\"computeCapability\": \"12.0\""));
  EXPECT_EQ(text(llvm::json::parse(json)), "");
}

namespace {
class CudaDeviceTest : public testing::Test {
protected:
  void SetUp() override {
    auto opened = createCudaDevice();
    if (!opened)
      GTEST_SKIP() << llvm::toString(opened.takeError());
    device = *opened;
  }
  std::shared_ptr<Device> device;
};
} // namespace

TEST_F(CudaDeviceTest, PassesItsSelfTest) {
  EXPECT_EQ(text(cudaSelfTest()), "");
}

TEST_F(CudaDeviceTest, RefusesAnOrdinalThatDoesNotExist) {
  EXPECT_TRUE(contains(text(createCudaDevice({.ordinal = 4711})),
                       "device 4711: cuDeviceGet failed"));
}

TEST_F(CudaDeviceTest, CopiesAndFills) {
  Buffer buffer = llvm::cantFail(Buffer::allocate(device, 1000));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 256, 0u);
  std::vector<uint8_t> in(1000, 7), out(1000);
  ASSERT_EQ(text(device->copyIn(buffer.data(), in.data(), 1000, nullptr)), "");
  auto *bytes = static_cast<uint8_t *>(buffer.data());
  ASSERT_EQ(text(device->fill(bytes + 16, 9, 100, nullptr)), "");
  ASSERT_EQ(text(device->copy(bytes + 512, bytes + 16, 16, nullptr)), "");
  ASSERT_EQ(text(device->copyOut(out.data(), bytes, 1000, nullptr)), "");
  ASSERT_EQ(text(device->synchronize(nullptr)), "");
  EXPECT_EQ(out[15], 7);
  EXPECT_EQ(out[16], 9);
  EXPECT_EQ(out[115], 9);
  EXPECT_EQ(out[116], 7);
  EXPECT_EQ(out[512], 9);
  EXPECT_EQ(out[528], 7);
}

TEST_F(CudaDeviceTest, LaunchesClusters) {
  if (device->info().maxClusterBlocks < 2)
    GTEST_SKIP() << "this device knows no clusters";
  const char *source = R"(
extern "C" __global__ void __launch_bounds__(32) c(unsigned *out) {
  unsigned size, rank;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0)
    out[blockIdx.x] = size * 100 + rank;
}
)";
  for (uint32_t cluster : {2u, 8u, 16u}) {
    if (cluster > device->info().maxClusterBlocks)
      continue;
    Program program;
    program.outputs = {{"out", DType::U32, {32}}};
    program.kernels = {{"c", source, 32, cluster}};
    program.steps = {Launch{0, {32, 1, 1}, 0, {output(0)}}};
    auto loaded = llvm::cantFail(Executable::create(program, device));
    auto results = runWithHostData(loaded, {});
    ASSERT_TRUE(!!results) << text(results.takeError());
    const auto *values = reinterpret_cast<uint32_t *>((*results)[0].data());
    for (uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(values[i], cluster * 100 + i % cluster);
  }
}

TEST_F(CudaDeviceTest, ReportsWhatTheDriverSaysOfAKernel) {
  const char *source = "extern \"C\" __global__ void __launch_bounds__(64) "
                       "s(float *a) { __shared__ float t[64]; "
                       "t[threadIdx.x] = a[threadIdx.x]; __syncthreads(); "
                       "a[threadIdx.x] = t[63 - threadIdx.x]; }";
  auto module = llvm::cantFail(device->loadModule(Kernel{"s", source, 64, 1}));
  const KernelResources &resources = module->kernel(0).resources;
  EXPECT_GT(resources.registers.value_or(0), 0u);
  EXPECT_EQ(resources.staticSharedBytes, 256u);
  EXPECT_EQ(resources.localBytes, 0u);
}

// The aim is 3 microseconds; the bound leaves room for a loaded machine.
TEST_F(CudaDeviceTest, LaunchesCostTheHostLittle) {
  Program program;
  program.outputs = {{"out", DType::F32, {1}}};
  program.kernels = {{"n",
                      "extern \"C\" __global__ void __launch_bounds__(32) "
                      "n(float *a) { if (!threadIdx.x) a[0] = 1.0f; }",
                      32, 1}};
  program.steps.assign(100, Launch{0, {1, 1, 1}, 0, {output(0)}});
  auto loaded = llvm::cantFail(Executable::create(program, device));
  auto context = llvm::cantFail(ExecutionContext::create(loaded));
  Buffer out = llvm::cantFail(Buffer::allocate(device, 4));
  Stream stream = llvm::cantFail(device->createStream());
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(text(context->run({}, {out.data()}, stream)), "");
    std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / 100);
    ASSERT_EQ(text(device->synchronize(stream)), "");
  }
  device->destroyStream(stream);
  RecordProperty("microseconds_per_launch", std::to_string(best));
  printf("%.2f microseconds of host time per launch\n", best);
  EXPECT_LT(best, 10.0);
}

TEST_F(CudaDeviceTest, MeasuresTime) {
  Event begin = llvm::cantFail(device->createEvent());
  Event end = llvm::cantFail(device->createEvent());
  Buffer buffer = llvm::cantFail(Buffer::allocate(device, 64 << 20));
  ASSERT_EQ(text(device->recordEvent(begin, nullptr)), "");
  ASSERT_EQ(text(device->fill(buffer.data(), 0, 64 << 20, nullptr)), "");
  ASSERT_EQ(text(device->recordEvent(end, nullptr)), "");
  EXPECT_GT(llvm::cantFail(device->elapsedMicroseconds(begin, end)), 1.0);
  device->destroyEvent(begin);
  device->destroyEvent(end);
}
