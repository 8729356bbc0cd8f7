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

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

using namespace fusec;
using namespace fusec::runtime;

namespace {
// Before anything opens the driver.
[[maybe_unused]] const int chosen =
    setenv("FUSEC_CUDA_DRIVER", FUSEC_FAKE_CUDA_DRIVER, 1) +
    setenv("FUSEC_CACHE", "off", 1);

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
    fakeReset();
    fake.argCount = 2;
    device = llvm::cantFail(createCudaDevice());
  }
  void TearDown() override {
    device.reset();
    EXPECT_EQ(fake.retained, 0);
    EXPECT_EQ(fake.allocations, 0);
    EXPECT_EQ(fake.modules, 0);
    EXPECT_EQ(fake.streams, 0);
    EXPECT_EQ(fake.graphs, 0);
    EXPECT_TRUE(fake.illegal.empty());
    EXPECT_TRUE(fakeContexts()->empty());
  }
  FakeCuda &fake = *fakeCuda();
  std::shared_ptr<Device> device;
};
} // namespace

// Maps follow the pointers, in launches and in graphs, and are made anew only
// when a pointer changes; cooperative launches say so.
TEST_F(FakeCudaTest, BindsTensorMaps) {
  fake.argCount = 1;
  TensorMapArg map;
  map.buffer = input(0);
  map.byteOffset = 16;
  map.dtype = DType::BF16;
  map.dims = {8, 3};
  map.strides = {32};
  map.box = {8, 2};
  map.steps = {1, 2};
  map.swizzle = 64;
  map.fill = TensorMapArg::Fill::Nan;
  Program program;
  program.inputs = {{"in", DType::BF16, {64}}};
  program.outputs = {{"out", DType::F32, {10}}};
  std::string source =
      "struct __align__(64) Map { unsigned long long words[16]; };\n"
      "extern \"C\" __global__ void __launch_bounds__(64) "
      "mapped(const __grid_constant__ Map map, float *a) { a[0] = 0; }\n";
  program.kernels = {{"mapped", source, 64}};
  program.kernels[0].usesSm90 = true;
  program.kernels[0].cooperative = true;
  for (int i = 0; i < 3; ++i)
    program.steps.push_back(Launch{0, {1, 1, 1}, 0, {map, output(0)}});
  auto loaded = llvm::cantFail(Executable::create(program, device));
  Buffer in = llvm::cantFail(Buffer::allocate(device, 512));
  Buffer out = llvm::cantFail(Buffer::allocate(device, 40));
  for (bool replay : {false, true}) {
    ContextOptions options;
    options.replay = replay;
    auto context = llvm::cantFail(ExecutionContext::create(loaded, options));
    for (int64_t offset : {0, 0, 256}) {
      int before = fake.tensorMaps;
      bool isNew = offset != 0 || fake.launches.empty();
      fake.launches.clear();
      auto *data = static_cast<std::byte *>(in.data()) + offset;
      ASSERT_EQ(text(context->run({data}, {out.data()}, nullptr)), "");
      ASSERT_EQ(fake.launches.size(), 3u);
      for (const FakeLaunch &launch : fake.launches) {
        EXPECT_EQ(launch.args[0], reinterpret_cast<uint64_t>(data + 16));
        EXPECT_TRUE(launch.cooperative);
        EXPECT_EQ(launch.cluster, 0u);
      }
      EXPECT_EQ(fake.tensorMaps, before + (isNew ? 3 : 0));
    }
    fake.launches.clear();
  }
  alignas(64) uint64_t words[16];
  ASSERT_EQ(text(device->encodeTensorMap(map, in.data(), words)), "");
  EXPECT_EQ(words[1], 9u | 2u << 8 | 2u << 24 | 2ull << 32 | 1ull << 40);
  EXPECT_EQ(words[2], 8u | 3ull << 32);
  EXPECT_EQ(words[3], 32u);
  EXPECT_EQ(words[4], 8u | 2ull << 32);
  EXPECT_EQ(words[5], 1u | 2ull << 32);
}

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
  EXPECT_EQ(fakeContexts()->size(), 1u);
  device->leave(token);
  // Under the context of somebody else ours is on top for the call only.
  int other;
  fakeContexts()->push_back(&other);
  EXPECT_EQ(text(context->run({}, {out.data()})), "");
  ASSERT_EQ(fakeContexts()->size(), 1u);
  EXPECT_EQ(fakeContexts()->back(), &other);
  fakeContexts()->clear();
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
  context.reset();
  loaded.reset(); // or its module would be found loaded
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

// No GPC of another GPU, or of a share of one, need have 16 multiprocessors.
TEST_F(FakeCudaTest, ClustersArePortableOnOtherGpus) {
  fake.deviceAttributes[16] = 114;
  EXPECT_EQ(deviceReport().devices.at(0).maxClusterBlocks, 8u);
  fake.deviceAttributes[120] = 0;
  EXPECT_EQ(deviceReport().devices.at(0).maxClusterBlocks, 1u);
}

// Nothing runs on the fake, so the self test must notice.
TEST_F(FakeCudaTest, SelfTestSeesWrongResults) {
  fake.argCount = 3;
  EXPECT_TRUE(contains(text(cudaSelfTest()), "self test: output 'out'"));
}

//===----------------------------------------------------------------------===//
// Replay, capture, variants
//===----------------------------------------------------------------------===//

namespace {
// in -> t0 -> t1 -> t0 .. -> out by `count` launches of one kernel on f32[10].
Program chain(unsigned count, uint32_t blocks = 3) {
  Program program;
  program.inputs = {{"in", DType::F32, {2, 5}}};
  program.outputs = {{"out", DType::F32, {2, 5}}};
  program.temporaries = {{40, -1}, {40, -1}};
  program.kernels = {kernel("link")};
  for (unsigned i = 0; i < count; ++i)
    program.steps.push_back(
        Launch{0,
               {blocks, 1, 1},
               0,
               {i == 0 ? input(0) : temporary(i % 2),
                i + 1 == count ? output(0) : temporary((i + 1) % 2)}});
  llvm::cantFail(planWorkspace(program));
  return program;
}

uint64_t address(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}
} // namespace

TEST_F(FakeCudaTest, ReplaysAGraphWithNewPointers) {
  auto loaded = llvm::cantFail(Executable::create(chain(6), device));
  auto context = llvm::cantFail(ExecutionContext::create(loaded));
  Buffer memory = llvm::cantFail(Buffer::allocate(device, 4096));
  auto *bytes = static_cast<std::byte *>(memory.data());
  int allocations = fake.allocations;
  for (int i = 0; i < 3; ++i) {
    fake.launches.clear();
    ASSERT_EQ(text(context->run({bytes + 256 * i}, {bytes + 2048}, &fake)), "");
    EXPECT_EQ(fake.graphLaunches, i + 1);
    // First and last node at first, then only the one that reads the input.
    EXPECT_EQ(fake.graphUpdates, 2 + i);
    ASSERT_EQ(fake.launches.size(), 6u);
    EXPECT_EQ(fake.launches[0].args[0], address(bytes + 256 * i));
    EXPECT_EQ(fake.launches[5].args[1], address(bytes + 2048));
    EXPECT_EQ(fake.launches[0].args[1], fake.launches[1].args[0]);
    EXPECT_EQ(fake.launches[3].stream, &fake);
    EXPECT_EQ(fake.launches[3].grid[0], 3u);
    EXPECT_EQ(fake.launches[3].block, 64u);
  }
  ASSERT_EQ(text(context->run({bytes + 512}, {bytes + 2048}, &fake)), "");
  EXPECT_EQ(fake.graphUpdates, 4);
  EXPECT_EQ(fake.allocations, allocations);
  EXPECT_EQ(fake.synchronizations, 0);
}

// Launches begin early, in streams, captures and graphs; the first node of a
// graph, and what follows or is a cooperative launch, does not.
TEST_F(FakeCudaTest, LaunchesOverlap) {
  Program program = chain(6);
  program.kernels[0].overlaps = true;
  program.kernels.push_back(program.kernels[0]);
  program.kernels[1].entry = "together";
  program.kernels[1].source = kernel("together").source;
  program.kernels[1].cooperative = true;
  program.kernels.push_back(kernel("hasty"));
  std::get<Launch>(program.steps[2]).kernel = 1;
  std::get<Launch>(program.steps[4]).kernel = 2;
  auto loaded = llvm::cantFail(Executable::create(program, device));
  Buffer a = llvm::cantFail(Buffer::allocate(device, 40));
  Buffer b = llvm::cantFail(Buffer::allocate(device, 40));
  for (bool overlap : {true, false})
    for (bool replay : {true, false})
      for (bool capture : {true, false}) {
        auto context = llvm::cantFail(ExecutionContext::create(
            loaded, {.replay = replay, .overlap = overlap}));
        fake.launches.clear();
        if (capture)
          fake.capturing = {&fake};
        // The second run replays nodes whose arguments were updated.
        for (int run = 0; run < 2; ++run)
          ASSERT_EQ(text(context->run({a.data()}, {b.data()}, &fake)), "");
        fake.capturing.clear();
        ASSERT_EQ(fake.launches.size(), 12u);
        for (int i = 0; i < 12; ++i)
          EXPECT_EQ(fake.launches[i].overlaps,
                    overlap && (i % 6 == 1 || i % 6 == 5 ||
                                (i % 6 == 0 && (capture || !replay))))
              << i << " " << overlap << replay << capture;
      }
  EXPECT_EQ(fake.graphLaunches, 4);
}

// By itself a step follows whatever the caller has put on the stream.
TEST_F(FakeCudaTest, SingleStepsAndOlderGpusDoNotOverlap) {
  Program program = chain(6);
  program.kernels[0].overlaps = true;
  Buffer a = llvm::cantFail(Buffer::allocate(device, 40));
  Buffer b = llvm::cantFail(Buffer::allocate(device, 40));
  auto loaded = llvm::cantFail(Executable::create(program, device));
  auto context = llvm::cantFail(ExecutionContext::create(loaded));
  ASSERT_EQ(text(context->runStep(3, {a.data()}, {b.data()}, &fake)), "");
  fake.deviceAttributes[75] = 8;
  auto older = llvm::cantFail(createCudaDevice());
  auto there = llvm::cantFail(Executable::create(program, older));
  for (bool replay : {true, false}) {
    auto plain =
        llvm::cantFail(ExecutionContext::create(there, {.replay = replay}));
    ASSERT_EQ(text(plain->run({a.data()}, {b.data()}, &fake)), "");
  }
  ASSERT_EQ(fake.launches.size(), 13u);
  for (const FakeLaunch &launch : fake.launches)
    EXPECT_FALSE(launch.overlaps);
}

TEST_F(FakeCudaTest, FewLaunchesAndUnwantedGraphsArePlain) {
  Buffer a = llvm::cantFail(Buffer::allocate(device, 40));
  Buffer b = llvm::cantFail(Buffer::allocate(device, 40));
  for (unsigned count : {2u, 6u}) {
    auto loaded = llvm::cantFail(Executable::create(chain(count), device));
    auto context = llvm::cantFail(
        ExecutionContext::create(loaded, {.replay = count == 2}));
    ASSERT_EQ(text(context->run({a.data()}, {b.data()})), "");
  }
  EXPECT_EQ(fake.graphLaunches, 0);
  EXPECT_EQ(fake.launches.size(), 8u);
}

TEST_F(FakeCudaTest, GraphsKeepClustersAndFills) {
  fake.argCount = 1;
  Program program = twoLaunches(16);
  program.temporaries = {{64, -1}};
  program.steps.insert(program.steps.begin(), Fill{temporary(0)});
  llvm::cantFail(planWorkspace(program));
  auto loaded = llvm::cantFail(Executable::create(program, device));
  std::vector<uint64_t> space(64, ~uint64_t(0));
  void *aligned =
      reinterpret_cast<void *>((address(space.data()) + 255) & ~uint64_t(255));
  auto context = llvm::cantFail(ExecutionContext::create(
      loaded, {.workspace = WorkspaceMemory{aligned, 256}}));
  Buffer out = llvm::cantFail(Buffer::allocate(device, 40));
  // The second time, so that replaying is worth it.
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(text(context->run({}, {out.data()})), "");
  EXPECT_EQ(fake.graphLaunches, 1);
  ASSERT_EQ(fake.launches.size(), 4u);
  EXPECT_EQ(fake.launches[2].name, "plain");
  EXPECT_EQ(fake.launches[3].cluster, 16u);
  EXPECT_EQ(*static_cast<uint64_t *>(aligned), 0u);
}

TEST_F(FakeCudaTest, DoesNothingIllegalInACapture) {
  auto loaded = llvm::cantFail(Executable::create(chain(6), device));
  auto context = llvm::cantFail(ExecutionContext::create(loaded));
  Buffer a = llvm::cantFail(Buffer::allocate(device, 256));
  Buffer b = llvm::cantFail(Buffer::allocate(device, 256));
  auto *bytes = static_cast<std::byte *>(a.data());
  fake.capturing = {&fake};
  EXPECT_EQ(text(context->run({bytes}, {b.data()}, &fake)), "");
  EXPECT_EQ(fake.graphLaunches, 0);
  EXPECT_EQ(fake.launches.size(), 6u);
  // What needs compiling or memory is refused until it has been prepared.
  const int64_t strides[] = {1, 2};
  TensorView odd(bytes + 4), strided(bytes, 0, strides);
  for (const TensorView &view : {odd, strided})
    EXPECT_TRUE(contains(text(context->runViews(view, b.data(), &fake)),
                         "input 'in': its strides or alignment need "
                         "preparation"));
  EXPECT_TRUE(fake.illegal.empty());
  fake.capturing.clear();
  EXPECT_EQ(text(context->prepare(odd, b.data())), "");
  EXPECT_EQ(text(context->prepare(strided, b.data())), "");
  fake.capturing = {&fake};
  fake.launches.clear();
  for (const TensorView &view : {odd, strided})
    EXPECT_EQ(text(context->runViews(view, b.data(), &fake)), "");
  EXPECT_EQ(fake.launches.size(), 13u);
  fake.capturing.clear();
}

TEST_F(FakeCudaTest, AsksTheAllocatorOfTheCaller) {
  auto loaded = llvm::cantFail(Executable::create(chain(6), device));
  Buffer memory = llvm::cantFail(Buffer::allocate(device, 4096));
  auto *bytes = static_cast<std::byte *>(memory.data());
  std::byte *next = bytes + 1024;
  std::vector<std::string> log;
  WorkspaceAllocator allocator{
      [&](uint64_t size, Stream stream) -> llvm::Expected<void *> {
        EXPECT_EQ(size, 512u);
        EXPECT_EQ(stream, &fake);
        log.push_back("allocate");
        if (!next)
          return llvm::createStringError("nothing left");
        return next;
      },
      [&](void *given, uint64_t size, Stream) {
        EXPECT_EQ(given, next);
        EXPECT_EQ(size, 512u);
        log.push_back("release after " + std::to_string(fake.launches.size()));
      }};
  auto context = llvm::cantFail(
      ExecutionContext::create(loaded, {.allocator = allocator}));
  for (std::byte *place : {bytes + 1024, bytes + 1024, bytes + 2048}) {
    next = place;
    fake.launches.clear();
    log.clear();
    ASSERT_EQ(text(context->run({bytes}, {bytes + 256}, &fake)), "");
    EXPECT_EQ(log, (std::vector<std::string>{"allocate", "release after 6"}));
    EXPECT_GE(fake.launches[2].args[0], address(place));
    EXPECT_LT(fake.launches[2].args[1], address(place) + 512);
  }
  // The second time at the same place was a replay.
  EXPECT_EQ(fake.graphLaunches, 1);
  next = nullptr;
  EXPECT_EQ(text(context->run({bytes}, {bytes + 256}, &fake)),
            "workspace: allocating 512 bytes: nothing left");
}

// The node of a fill in a graph would keep the memory of the first run.
TEST_F(FakeCudaTest, FillsGoWhereTheAllocatorSays) {
  fake.argCount = 1;
  Program program = twoLaunches(16);
  program.temporaries = {{64, -1}};
  program.steps.push_back(program.steps.front());
  program.steps.insert(program.steps.begin(), Fill{temporary(0)});
  llvm::cantFail(planWorkspace(program));
  auto loaded = llvm::cantFail(Executable::create(program, device));
  Buffer memory = llvm::cantFail(Buffer::allocate(device, 1024));
  auto *next = static_cast<std::byte *>(memory.data());
  WorkspaceAllocator allocator{
      [&](uint64_t, Stream) -> llvm::Expected<void *> { return next; },
      [](void *, uint64_t, Stream) {}};
  auto context = llvm::cantFail(
      ExecutionContext::create(loaded, {.allocator = allocator}));
  Buffer out = llvm::cantFail(Buffer::allocate(device, 40));
  for (int offset : {0, 0, 512}) {
    next = static_cast<std::byte *>(memory.data()) + offset;
    std::memset(next, 0xff, 64);
    ASSERT_EQ(text(context->run({}, {out.data()})), "");
    EXPECT_TRUE(std::all_of(next, next + 64, [](std::byte byte) {
      return byte == std::byte(0);
    })) << offset;
  }
}

// Grids are not part of a text, so another batch size is the same kernel.
TEST_F(FakeCudaTest, AnotherBatchSizeLoadsNothing) {
  auto one = llvm::cantFail(Executable::create(chain(3), device));
  EXPECT_EQ(fake.modulesLoaded, 1);
  size_t functions = fake.functions.size();
  auto two = llvm::cantFail(Executable::create(chain(6, 50), device));
  // Any call of NVRTC would have given another module.
  EXPECT_EQ(fake.modulesLoaded, 1);
  EXPECT_EQ(fake.functions.size(), functions);
  EXPECT_EQ(&one->kernel(0), &two->kernel(0));
  one.reset();
  EXPECT_EQ(fake.modules, 1);
  two.reset();
  EXPECT_EQ(fake.modules, 0);
}

TEST_F(FakeCudaTest, MisalignedPointersTakeAVariant) {
  auto loaded = llvm::cantFail(Executable::create(chain(6), device));
  auto context = llvm::cantFail(ExecutionContext::create(loaded));
  Buffer a = llvm::cantFail(Buffer::allocate(device, 256));
  Buffer b = llvm::cantFail(Buffer::allocate(device, 256));
  auto *bytes = static_cast<std::byte *>(a.data());
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(text(context->run({bytes + 8}, {b.data()})), "");
  EXPECT_EQ(fake.modulesLoaded, 2);
  ASSERT_EQ(text(context->run({bytes + 4}, {b.data()})), "");
  EXPECT_EQ(fake.modulesLoaded, 3);
  EXPECT_EQ(fake.launches[0].args[0], address(bytes + 8));
  ASSERT_EQ(text(context->run({bytes + 16}, {b.data()})), "");
  EXPECT_EQ(fake.modulesLoaded, 3);
  EXPECT_EQ(text(context->run({bytes + 2}, {b.data()})).substr(0, 59),
            "input 'in': expected a pointer aligned to its elements of 4");
}

TEST_F(FakeCudaTest, StridedInputsAreGathered) {
  auto loaded = llvm::cantFail(Executable::create(chain(1), device));
  auto context = llvm::cantFail(ExecutionContext::create(loaded));
  Buffer a = llvm::cantFail(Buffer::allocate(device, 256));
  Buffer b = llvm::cantFail(Buffer::allocate(device, 256));
  const int64_t transposed[] = {1, 2}, dense[] = {5, 1};
  fake.argCount = 2;
  ASSERT_EQ(text(context->runViews(TensorView(a.data(), 16, dense), b.data())),
            "");
  EXPECT_EQ(fake.launches.back().args[0], address(a.data()) + 16);
  EXPECT_EQ(fake.launches.size(), 1u);
  ASSERT_EQ(
      text(context->runViews(TensorView(a.data(), 8, transposed), b.data())),
      "");
  ASSERT_EQ(fake.launches.size(), 3u);
  const FakeLaunch &gather = fake.launches[1], &link = fake.launches[2];
  EXPECT_EQ(gather.name, "fusec_strided_copy_4");
  EXPECT_EQ(gather.args[0], address(a.data()) + 8);
  EXPECT_EQ(gather.args[1], link.args[0]);
  EXPECT_NE(link.args[0], address(a.data()) + 8);
}

TEST_F(FakeCudaTest, UpdatesInPlaceWhereDeclared) {
  Program program = chain(1);
  program.aliases = {{0, 0}};
  auto loaded = llvm::cantFail(Executable::create(program, device));
  auto context = llvm::cantFail(ExecutionContext::create(loaded));
  Buffer a = llvm::cantFail(Buffer::allocate(device, 256));
  auto *bytes = static_cast<std::byte *>(a.data());
  ASSERT_EQ(text(context->run({bytes}, {bytes})), "");
  EXPECT_EQ(fake.modulesLoaded, 2); // a variant without read-only loads
  EXPECT_EQ(text(context->run({bytes}, {bytes + 16})),
            "output 'out' overlaps input 'in'");
  auto other = llvm::cantFail(ExecutionContext::create(
      llvm::cantFail(Executable::create(chain(1), device))));
  EXPECT_EQ(text(other->run({bytes}, {bytes})),
            "output 'out' overlaps input 'in'");
}

TEST_F(FakeCudaTest, TheOrdinalIsThatAskedFor) {
  fake.deviceCount = 2;
  auto second = llvm::cantFail(createCudaDevice({.ordinal = 1}));
  EXPECT_EQ(fake.ordinal, 1);
  void *first = llvm::cantFail(device->enter());
  void *token = llvm::cantFail(second->enter());
  EXPECT_NE(first, token);
  EXPECT_EQ(fakeContexts()->back(), token);
  second->leave(token);
  device->leave(first);
}

TEST_F(FakeCudaTest, SixteenThreadsShareAnExecutable) {
  auto loaded = llvm::cantFail(Executable::create(chain(6), device));
  Buffer memory = llvm::cantFail(Buffer::allocate(device, 65536));
  auto *bytes = static_cast<std::byte *>(memory.data());
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      auto context = llvm::cantFail(ExecutionContext::create(loaded));
      for (int i = 0; i < 20; ++i) {
        // Aligned and not, so that variants are made by all at once.
        std::byte *from = bytes + 4096 * t + (i % 4) * 4;
        failures +=
            text(context->run({from}, {bytes + 4096 * t + 1024}, from)) != "";
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(fake.launches.size(), 16u * 20 * 6);
  // A stream is that of one thread, so its launches follow each other.
  std::map<void *, std::vector<const FakeLaunch *>> streams;
  for (const FakeLaunch &launch : fake.launches)
    streams[launch.stream].push_back(&launch);
  for (auto &[stream, launches] : streams)
    for (size_t i = 0; i < launches.size(); i += 6) {
      EXPECT_EQ(launches[i]->args[0], address(stream));
      EXPECT_EQ(launches[i]->args[1], launches[i + 1]->args[0]);
    }
}
