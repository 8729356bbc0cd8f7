//===- ExecutableTest.cpp - loading and running on a fake device ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Executable.h"
#include "FakeDevice.h"
#include "RuntimeTestUtils.h"

#include <cstring>
#include <numeric>

using namespace fusec;
using namespace fusec::runtime;

namespace {
class ExecutableTest : public testing::Test {
protected:
  std::shared_ptr<const Executable> load(Program program) {
    return llvm::cantFail(Executable::create(std::move(program), device));
  }
  std::unique_ptr<ExecutionContext> context(Program program,
                                            ContextOptions options = {}) {
    return llvm::cantFail(
        ExecutionContext::create(load(std::move(program)), options));
  }
  std::string loadError(Program program) {
    return text(Executable::create(std::move(program), device));
  }
  void *memory(uint64_t bytes) {
    buffers.push_back(llvm::cantFail(Buffer::allocate(device, bytes)));
    return buffers.back().data();
  }

  std::shared_ptr<FakeDevice> device = std::make_shared<FakeDevice>();
  std::vector<Buffer> buffers;
};

uint64_t address(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}
} // namespace

TEST_F(ExecutableTest, PassesEveryArgument) {
  auto run = context(twoKernelProgram(300));
  void *in = memory(1200), *out = memory(1200), *stream = &in;
  ASSERT_EQ(text(run->run({in}, {out}, stream)), "");
  ASSERT_EQ(device->launches.size(), 2u);
  const RecordedLaunch &first = device->launches[0];
  const RecordedLaunch &second = device->launches[1];
  EXPECT_EQ(first.entry, "k0");
  EXPECT_EQ(first.grid, (std::array<uint32_t, 3>{3, 1, 1}));
  EXPECT_EQ(first.stream, stream);
  EXPECT_EQ(first.values[0], address(in));
  EXPECT_EQ(first.values[2], 300u);
  EXPECT_EQ(first.bytes, (std::vector<int64_t>{1200, 1200, -1}));
  EXPECT_EQ(second.shared, 64u);
  EXPECT_EQ(second.values[0], first.values[1]);
  EXPECT_EQ(second.values[1], address(run->executable().constant(0)));
  EXPECT_EQ(second.values[2], address(out));
  EXPECT_EQ(static_cast<int32_t>(second.values[3]), -7);
}

TEST_F(ExecutableTest, ALaterRunSeesTheNewPointers) {
  auto run = context(twoKernelProgram());
  void *a = memory(400), *b = memory(400), *c = memory(400);
  ASSERT_EQ(text(run->run({a}, {b})), "");
  ASSERT_EQ(text(run->run({a}, {c})), "");
  ASSERT_EQ(text(run->run({b}, {c})), "");
  EXPECT_EQ(device->launches[1].values[2], address(b));
  EXPECT_EQ(device->launches[3].values[2], address(c));
  EXPECT_EQ(device->launches[4].values[0], address(b));
}

TEST_F(ExecutableTest, RunNeitherAllocatesNorSynchronizes) {
  auto run = context(twoKernelProgram());
  void *in = memory(400), *out = memory(400);
  int allocations = device->allocations, waits = device->synchronizations;
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(text(run->run({in}, {out})), "");
  EXPECT_EQ(device->allocations, allocations);
  EXPECT_EQ(device->synchronizations, waits);
  EXPECT_EQ(device->depth, 0);
}

TEST_F(ExecutableTest, RunsStepsInOrder) {
  Program program = twoKernelProgram();
  program.outputs.push_back({"copy", DType::F32, {100}});
  int seen = 0;
  program.steps.insert(program.steps.begin() + 1, Fill{temporary(0)});
  program.steps.push_back(Copy{constant(0), output(1)});
  program.steps.push_back(
      HostCall{"look", {output(1), constant(0)}, [&](auto buffers) {
                 seen = std::memcmp(buffers[0], buffers[1], 400) == 0 ? 1 : 2;
                 return llvm::Error::success();
               }});
  auto run = context(program);
  ASSERT_EQ(text(run->run({memory(400)}, {memory(400), memory(400)})), "");
  EXPECT_EQ(device->log,
            (std::vector<std::string>{"launch k0", "fill 400", "launch k1",
                                      "copy 400", "call look"}));
  EXPECT_EQ(seen, 1);
}

TEST_F(ExecutableTest, UploadsConstantsOnce) {
  Program program = twoKernelProgram();
  auto bytes = std::make_shared<Bytes>(400, std::byte(42));
  program.constants[0].bytes = bytes;
  program.constants.push_back(zeros("empty", 0));
  program.constants.push_back({{"late", DType::U8, {3}},
                               std::make_shared<Bytes>(
                                   std::vector<std::byte>(3, std::byte(9)))});
  auto loaded = load(program);
  auto *first = static_cast<std::byte *>(loaded->constant(0));
  EXPECT_EQ(std::memcmp(first, bytes->data(), 400), 0);
  EXPECT_EQ(loaded->constant(1), nullptr);
  EXPECT_EQ(address(loaded->constant(2)) % 256, 0u);
  EXPECT_EQ(*static_cast<uint8_t *>(loaded->constant(2)), 9);
  uint64_t live = device->liveBytes();
  llvm::cantFail(ExecutionContext::create(loaded));
  EXPECT_EQ(device->liveBytes(), live);
  loaded.reset();
  EXPECT_EQ(device->liveBytes(), 0u);
}

TEST_F(ExecutableTest, SkipsEmptyWork) {
  Program program = twoKernelProgram(0);
  program.steps.push_back(Fill{output(0)});
  program.steps.push_back(Copy{temporary(0), output(0)});
  auto run = context(program);
  EXPECT_EQ(text(run->run({nullptr}, {nullptr})), "");
  EXPECT_TRUE(device->log.empty());
}

TEST_F(ExecutableTest, KeepsLaunchesOfOneElement) {
  auto run = context(twoKernelProgram(1));
  EXPECT_EQ(text(run->run({memory(4)}, {memory(4)})), "");
  EXPECT_EQ(device->log.size(), 2u);
}

TEST_F(ExecutableTest, ErrorsNameTheTensor) {
  auto run = context(twoKernelProgram());
  auto *in = static_cast<std::byte *>(memory(800));
  void *out = memory(400);
  EXPECT_EQ(text(run->run({}, {out})), "expected 1 inputs, found 0");
  EXPECT_EQ(text(run->run({in}, {out, out})), "expected 1 outputs, found 2");
  EXPECT_EQ(text(run->run({nullptr}, {out})),
            "input 'in': expected a pointer to 400 bytes, found null");
  EXPECT_EQ(text(run->run({in}, {nullptr})),
            "output 'out': expected a pointer to 400 bytes, found null");
  EXPECT_TRUE(contains(text(run->run({in + 2}, {out})),
                       "input 'in': expected a pointer aligned to its elements "
                       "of 4 bytes, found"));
  EXPECT_EQ(text(run->run({in}, {in + 384})),
            "output 'out' overlaps input 'in'");
  EXPECT_TRUE(device->log.empty());
  // A refused run leaves nothing behind.
  EXPECT_EQ(text(run->run({in}, {in + 400})), "");
  EXPECT_EQ(text(run->run({in}, {nullptr})),
            "output 'out': expected a pointer to 400 bytes, found null");
}

// The failed run stores its input next to the old output.
TEST_F(ExecutableTest, AFailedRunIsNotTakenForChecked) {
  auto run = context(twoKernelProgram());
  void *a = memory(400), *b = memory(400);
  ASSERT_EQ(text(run->run({a}, {b})), "");
  ASSERT_NE(text(run->run({b}, {nullptr})), "");
  EXPECT_EQ(text(run->run({b}, {b})), "output 'out' overlaps input 'in'");
}

TEST_F(ExecutableTest, ErrorsNameTheStep) {
  device->failingEntry = "k1";
  auto run = context(twoKernelProgram());
  EXPECT_EQ(text(run->run({memory(400)}, {memory(400)})),
            "step 1, kernel 'k1': no luck");
  EXPECT_EQ(device->depth, 0);
}

TEST_F(ExecutableTest, CheckEachStepFindsTheStepThatWritesOutside) {
  Program program = twoKernelProgram();
  program.steps.push_back(
      HostCall{"spill", {output(0)}, [](llvm::ArrayRef<void *> buffers) {
                 static_cast<uint8_t *>(buffers[0])[400] = 1;
                 return llvm::Error::success();
               }});
  auto run = context(program, {.checkEachStep = true});
  EXPECT_EQ(text(run->run({memory(400)}, {memory(400)})),
            "step 2, host call 'spill': bytes written after a buffer of 400 "
            "bytes");
}

TEST_F(ExecutableTest, UsesTheWorkspaceOfTheCaller) {
  auto loaded = load(twoKernelProgram());
  EXPECT_EQ(loaded->workspaceBytes(), 512u);
  auto *mine = static_cast<std::byte *>(memory(1024));
  auto make = [&](void *memory, uint64_t bytes) {
    return ExecutionContext::create(
        loaded, {.workspace = WorkspaceMemory{memory, bytes}});
  };
  EXPECT_EQ(text(make(mine, 511)), "workspace: expected 512 bytes, found 511");
  EXPECT_EQ(text(make(nullptr, 512)),
            "workspace: expected 512 bytes, found 512 at a null pointer");
  EXPECT_TRUE(contains(text(make(mine + 16, 512)), "aligned to 256"));
  auto run = llvm::cantFail(make(mine, 512));
  ASSERT_EQ(text(run->run({memory(400)}, {memory(400)})), "");
  EXPECT_EQ(device->launches[0].values[1], address(mine));
}

TEST_F(ExecutableTest, ContextsDoNotShareAWorkspace) {
  auto loaded = load(twoKernelProgram());
  auto a = llvm::cantFail(ExecutionContext::create(loaded));
  auto b = llvm::cantFail(ExecutionContext::create(loaded));
  void *in = memory(400), *out = memory(400);
  ASSERT_EQ(text(a->run({in}, {out})), "");
  ASSERT_EQ(text(b->run({in}, {out})), "");
  EXPECT_NE(device->launches[0].values[1], device->launches[2].values[1]);
}

TEST_F(ExecutableTest, RefusesWhatTheDeviceCannotRun) {
  device->deviceInfo.maxThreadsPerBlock = 128;
  EXPECT_EQ(loadError(twoKernelProgram()),
            "kernel 'k1': device 'fake' allows 128 threads per block, found "
            "256");
  device->deviceInfo = {.name = "fake", .maxGrid = {2, 1, 1}};
  EXPECT_EQ(loadError(twoKernelProgram(300)),
            "kernel 'k0': device 'fake' allows 2 blocks in dimension 0, found "
            "3");
  device->deviceInfo = {.name = "fake", .sharedPerBlock = 100};
  device->resources.staticSharedBytes = 60;
  EXPECT_EQ(loadError(twoKernelProgram()),
            "kernel 'k1': device 'fake' has 100 bytes of shared memory per "
            "block, found 124");
  device->deviceInfo = {.name = "fake", .maxClusterBlocks = 1};
  Program clustered = twoKernelProgram(256);
  clustered.kernels[0].cluster = 2;
  EXPECT_EQ(loadError(clustered),
            "kernel 'k0': device 'fake' allows 1 blocks per cluster, found 2");
}

TEST_F(ExecutableTest, RefusesHostCallsWithoutHostMemory) {
  device->deviceInfo.hostMemory = false;
  Program program = twoKernelProgram();
  program.steps.push_back(
      HostCall{"sort", {}, [](auto) { return llvm::Error::success(); }});
  EXPECT_EQ(loadError(program), "device 'fake' cannot run host call 'sort'");
}

TEST_F(ExecutableTest, RefusesAProgramThatDoesNotVerify) {
  Program program = twoKernelProgram();
  program.temporaries[0].offset = -1;
  EXPECT_TRUE(contains(loadError(program), "temporary 0"));
}

TEST_F(ExecutableTest, RunsWithHostData) {
  Program program;
  program.inputs = {{"x", DType::I32, {5}}, {"none", DType::F32, {0}}};
  program.outputs = {{"y", DType::I32, {5}}, {"nothing", DType::F32, {0, 3}}};
  program.steps = {Copy{input(0), output(0)}};
  auto loaded = load(program);
  std::vector<std::byte> x(20, std::byte(3));
  auto results = runWithHostData(loaded, {x, {}});
  ASSERT_TRUE(!!results);
  EXPECT_EQ((*results)[0], x);
  EXPECT_TRUE((*results)[1].empty());
  EXPECT_EQ(device->liveBytes(), 0u);
  EXPECT_EQ(text(runWithHostData(loaded, {x})), "expected 2 inputs, found 1");
  EXPECT_EQ(text(runWithHostData(loaded, {x, x})),
            "input 'none': expected 0 bytes, found 20");
}

TEST_F(ExecutableTest, RunsWithHostDataReportFailures) {
  auto loaded = load(twoKernelProgram());
  std::vector<std::byte> x(400);
  ASSERT_EQ(text(runWithHostData(loaded, {x})), "");
  uint64_t bytes = device->liveBytes();
  int synchronizations = device->synchronizations;
  device->failingEntry = "k0";
  EXPECT_TRUE(contains(text(runWithHostData(loaded, {x})), "no luck"));
  EXPECT_EQ(device->synchronizations, synchronizations + 1);
  EXPECT_EQ(device->liveBytes(), bytes);
}

// A table holds pointers of the run at hand and integers where C puts them.
TEST_F(ExecutableTest, PassesTables) {
  Program program;
  program.inputs = {{"in", DType::F32, {100}}};
  program.outputs = {{"out", DType::F32, {100}}};
  program.constants = {zeros("weight", 100)};
  program.kernels = {{"k0", "source 0", 128, 1}};
  TableArg table;
  table.fields = {ScalarArg{7, 4},  ScalarArg{-8, 4}, ScalarArg{9, 4},
                  input(0),         constant(0),      output(0),
                  ScalarArg{-1, 8}, ScalarArg{5, 4}};
  ASSERT_EQ(table.bytes(), 56u);
  program.steps = {Launch{0, {1, 1, 1}, 0, {table, input(0)}}};
  auto run = context(program);
  void *a = memory(400), *b = memory(400), *c = memory(400);
  for (auto [in, out] : {std::pair(a, b), std::pair(a, c), std::pair(b, c)}) {
    ASSERT_EQ(text(run->run({in}, {out})), "");
    const RecordedLaunch &launch = device->launches.back();
    uint64_t words[7];
    std::memcpy(words, launch.table.data(), sizeof(words));
    EXPECT_EQ(words[0], 0xfffffff800000007u);
    EXPECT_EQ(words[1], 9u);
    EXPECT_EQ(words[2], address(in));
    EXPECT_EQ(words[3], address(run->executable().constant(0)));
    EXPECT_EQ(words[4], address(out));
    EXPECT_EQ(words[5], ~0ull);
    EXPECT_EQ(words[6], 5u);
    EXPECT_EQ(launch.bytes, (std::vector<int64_t>{-1, 400}));
    EXPECT_EQ(launch.values[1], address(in));
    EXPECT_EQ(launch.tableBuffers,
              (std::vector<std::pair<uint64_t, int64_t>>{
                  {address(in), 400},
                  {address(run->executable().constant(0)), 400},
                  {address(out), 400}}));
  }
}

//===----------------------------------------------------------------------===//
// Strides, alignment, aliases
//===----------------------------------------------------------------------===//

namespace {
// out = in, by a host call that sees what the steps see.
Program copyProgram(std::vector<int64_t> shape) {
  Program program;
  program.inputs = {{"in", DType::I32, shape}};
  program.outputs = {{"out", DType::I32, shape}};
  program.kernels = {{"k", "text", 32, 1}};
  program.steps = {Launch{0, {1, 1, 1}, 0, {input(0), output(0)}},
                   Copy{input(0), output(0)}};
  return program;
}
} // namespace

TEST_F(ExecutableTest, StridedInputsReachTheStepsDense) {
  auto run = context(copyProgram({2, 3}));
  std::vector<int32_t> data(64);
  std::iota(data.begin(), data.end(), 0);
  auto *out = static_cast<int32_t *>(memory(24));
  struct Case {
    int64_t byteOffset;
    std::vector<int64_t> strides;
    std::vector<int32_t> expected;
  };
  for (const Case &c : std::vector<Case>{
           {0, {1, 2}, {0, 2, 4, 1, 3, 5}},          // transposed
           {4, {10, 1}, {1, 2, 3, 11, 12, 13}},      // rows of a wider tensor
           {0, {0, 1}, {0, 1, 2, 0, 1, 2}},          // broadcast
           {80, {-3, -1}, {20, 19, 18, 17, 16, 15}}, // from the end
           {0, {20, 3}, {0, 3, 6, 20, 23, 26}},
           {12, {3, 1}, {3, 4, 5, 6, 7, 8}}}) { // dense, not aligned to 16
    ASSERT_EQ(
        text(run->runViews(TensorView(data.data(), c.byteOffset, c.strides),
                           static_cast<void *>(out))),
        "");
    EXPECT_EQ(std::vector<int32_t>(out, out + 6), c.expected);
  }
  // The same view again allocates nothing.
  int allocations = device->allocations;
  const int64_t transposed[] = {1, 2};
  ASSERT_EQ(text(run->runViews(TensorView(data.data(), 0, transposed),
                               static_cast<void *>(out))),
            "");
  EXPECT_EQ(device->allocations, allocations);
}

TEST_F(ExecutableTest, RefusesStridesThatAreNotRight) {
  auto run = context(copyProgram({2, 3}));
  void *in = memory(64), *out = memory(24);
  auto error = [&](llvm::ArrayRef<int64_t> strides) {
    return text(run->runViews(TensorView(in, 0, strides), out));
  };
  EXPECT_EQ(error({1}), "input 'in': expected 2 strides, found 1");
  EXPECT_EQ(error({INT64_MAX, 1}),
            "input 'in': its strides do not fit 62 bits of bytes");
  EXPECT_EQ(error({INT64_MIN, 1}),
            "input 'in': its strides do not fit 62 bits of bytes");
  auto deep = context(copyProgram({2, 2, 2, 2, 2, 2, 2, 2, 2}));
  std::vector<int64_t> odd = {1, 3, 5, 7, 9, 11, 13, 15, 17};
  EXPECT_EQ(text(deep->runViews(TensorView(in, 0, odd), memory(2048))),
            "input 'in': expected strides that make at most 8 dimensions");
  // An overlap is that of all elements that a view reaches.
  auto *base = static_cast<std::byte *>(memory(400));
  const int64_t rows[] = {40, 1};
  EXPECT_EQ(text(run->runViews(TensorView(base, 0, rows),
                               static_cast<void *>(base + 160))),
            "output 'out' overlaps input 'in'");
  EXPECT_EQ(text(run->runViews(TensorView(base, 0, rows),
                               static_cast<void *>(base + 176))),
            "");
}

TEST_F(ExecutableTest, MisalignedTensorsAreStagedWhereKernelsNeedIt) {
  auto run = context(copyProgram({2, 3}));
  auto *in = static_cast<std::byte *>(memory(64));
  auto *out = static_cast<std::byte *>(memory(64));
  std::vector<int32_t> data = {1, 2, 3, 4, 5, 6};
  std::memcpy(in + 4, data.data(), 24);
  ASSERT_EQ(text(run->run({in + 4}, {out + 8})), "");
  EXPECT_EQ(std::memcmp(out + 8, data.data(), 24), 0);
  const RecordedLaunch &staged = device->launches.back();
  EXPECT_EQ(staged.values[0] % 16, 0u);
  EXPECT_EQ(staged.values[1] % 16, 0u);
  // A device whose kernels take any alignment gets the pointers themselves.
  device->deviceInfo.bufferAlignment = 1;
  ASSERT_EQ(text(run->run({in + 8}, {out + 4})), "");
  EXPECT_EQ(device->launches.back().values[0], address(in + 8));
  EXPECT_EQ(device->launches.back().values[1], address(out + 4));
}

TEST_F(ExecutableTest, VariantsAreMadeOncePerAlignment) {
  device->deviceInfo.splitsAccesses = true;
  Program program = copyProgram({2, 3});
  program.kernels.push_back({"skeleton", "text", 32, 1, true});
  program.steps.push_back(Launch{1, {1, 1, 1}, 0, {output(0)}});
  auto run = context(program);
  auto *in = static_cast<std::byte *>(memory(64));
  auto *out = static_cast<std::byte *>(memory(64));
  int modules = device->modules;
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(text(run->run({in + 4 * i}, {out})), "");
  EXPECT_EQ(device->modules, modules + 2); // for 4 and for 8 bytes
  EXPECT_EQ(device->launches.back().entry, "skeleton");
  // The skeleton has no variants: its output is staged.
  ASSERT_EQ(text(run->run({in}, {out + 4})), "");
  EXPECT_EQ(device->modules, modules + 2);
  EXPECT_EQ(device->launches.back().values[0] % 16, 0u);
}

TEST_F(ExecutableTest, AliasesAreChecked) {
  Program program = copyProgram({2, 3});
  program.aliases = {{0, 1}};
  EXPECT_EQ(loadError(program), "alias 0: expected an input and an output");
  program.outputs.push_back({"wide", DType::I32, {7}});
  program.steps.push_back(Fill{output(1)});
  EXPECT_EQ(loadError(program),
            "alias 0: expected as many bytes in output 'wide' as in input "
            "'in', found 28 and 24");
}
