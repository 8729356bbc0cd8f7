//===- RunTest.cpp - running with pointers and host memory ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ApiTestUtils.h"

#include <malloc.h>
#include <thread>

namespace {
/// Buffers of makeAddRelu with the alignment that runs need.
struct alignas(256) Tensors {
  float x[8] = {-3, 0, 1, 2, -9, 4};
  alignas(256) float y[8] = {};
  const void *in[1] = {x};
  void *out[1] = {y};
};
} // namespace

static void expectRight(const float *y) {
  const float right[] = {0, 1, 3, 2, 0, 6};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(y[i], right[i]) << i;
}

TEST(ApiRun, EveryTargetOnTheCpuAgrees) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  for (fusec_target target :
       {FUSEC_TARGET_HOST, FUSEC_TARGET_EMULATOR, FUSEC_TARGET_REFERENCE}) {
    Executable executable = compile(graph, target);
    Execution execution = makeExecution(executable);
    Tensors t;
    ASSERT_TRUE(ok(fusec_execution_context_run(execution.get(), t.in, 1, t.out,
                                               1, nullptr)));
    ASSERT_TRUE(
        ok(fusec_execution_context_synchronize(execution.get(), nullptr)));
    expectRight(t.y);
  }
}

TEST(ApiRun, AutoRunsWhateverIsThere) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  Executable executable = compile(graph, FUSEC_TARGET_AUTO);
  std::vector<float> y =
      runHost<float, float>(executable, {{-3, 0, 1, 2, -9, 4}}, 6);
  expectRight(y.data());
}

TEST(ApiRun, PointersAreChecked) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  Executable executable = compile(graph);
  Execution execution = makeExecution(executable);
  Tensors t;
  auto run = [&](const void *in, void *out) {
    return fusec_execution_context_run(execution.get(), &in, 1, &out, 1,
                                       nullptr);
  };
  EXPECT_TRUE(failsWith(run(nullptr, t.y), FUSEC_INVALID_ARGUMENT, "'x'"));
  EXPECT_TRUE(failsWith(run(t.x, nullptr), FUSEC_INVALID_ARGUMENT, "'y'"));
  EXPECT_TRUE(failsWith(run(t.x, t.x), FUSEC_INVALID_ARGUMENT, "overlaps"));
  EXPECT_TRUE(failsWith(
      fusec_execution_context_run(execution.get(), t.in, 2, t.out, 1, nullptr),
      FUSEC_INVALID_ARGUMENT, "expected 1 inputs, found 2"));
  EXPECT_TRUE(failsWith(
      fusec_execution_context_run(execution.get(), t.in, 1, t.out, 0, nullptr),
      FUSEC_INVALID_ARGUMENT, "expected 1 outputs, found 0"));
  EXPECT_TRUE(failsWith(fusec_execution_context_run(execution.get(), nullptr, 1,
                                                    t.out, 1, nullptr),
                        FUSEC_INVALID_ARGUMENT, "input"));
  ASSERT_TRUE(ok(run(t.x, t.y)));
  expectRight(t.y);
}

TEST(ApiRun, HostArraysAreChecked) {
  Context context = makeContext();
  Executable executable = compile(makeAddRelu(context));
  Tensors t;
  fusec_host_array in = {t.x, 24}, out = {t.y, 24};
  auto run = [&] {
    return fusec_executable_run_host(executable.get(), &in, 1, &out, 1);
  };
  in.bytes = 20;
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT,
                        "input 'x': expected 24 bytes, found 20"));
  in = {nullptr, 24};
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT, "found null"));
  in = {t.x, 24};
  out.bytes = 25;
  EXPECT_TRUE(failsWith(run(), FUSEC_INVALID_ARGUMENT, "output 'y'"));
  out.bytes = 24;
  EXPECT_TRUE(
      failsWith(fusec_executable_run_host(executable.get(), &in, 0, &out, 1),
                FUSEC_INVALID_ARGUMENT, "expected 1 inputs"));
}

/// exp(x) summed twice over different axes: more than one kernel.
static Graph makeWithWorkspace(const Context &context) {
  Builder b = makeBuilder(context);
  const int64_t shape[] = {64, 64};
  const int32_t rows[] = {1}, columns[] = {0};
  fusec_value x = fusec_builder_input(b.get(), "x", FUSEC_F32, 2, shape);
  fusec_value s = fusec_builder_softmax(b.get(), x, rows, 1);
  s = fusec_builder_softmax(b.get(), s, columns, 1);
  fusec_builder_output(b.get(), "y", fusec_builder_matmul(b.get(), s, s));
  return finish(b);
}

TEST(ApiRun, TheCallersWorkspaceIsUsedAndChecked) {
  Context context = makeContext();
  Executable executable = compile(makeWithWorkspace(context));
  uint64_t bytes = fusec_executable_workspace_bytes(executable.get());
  ASSERT_GT(bytes, 0u);
  void *memory = nullptr;
  ASSERT_EQ(posix_memalign(&memory, 256, bytes), 0);
  fusec_execution_options options = fusec_execution_options_default();
  options.workspace = memory;
  options.workspace_bytes = bytes - 1;
  fusec_execution_context *execution = nullptr;
  EXPECT_TRUE(failsWith(
      fusec_execution_context_create(executable.get(), &options, &execution),
      FUSEC_INVALID_ARGUMENT, "workspace"));
  options.workspace_bytes = bytes;
  options.check_each_step = 1;
  // As a caller knows the struct that was built with its first version.
  options.size = offsetof(fusec_execution_options, allocate);
  ASSERT_TRUE(ok(
      fusec_execution_context_create(executable.get(), &options, &execution)));
  std::vector<float> own =
      runHost<float, float>(executable, {std::vector<float>(4096, 1)}, 4096);
  void *x = nullptr, *y = nullptr;
  ASSERT_EQ(posix_memalign(&x, 256, 4096 * 4), 0);
  ASSERT_EQ(posix_memalign(&y, 256, 4096 * 4), 0);
  for (int i = 0; i < 4096; ++i)
    static_cast<float *>(x)[i] = 1;
  const void *in = x;
  EXPECT_TRUE(
      ok(fusec_execution_context_run(execution, &in, 1, &y, 1, nullptr)));
  EXPECT_EQ(memcmp(own.data(), y, 4096 * 4), 0);
  fusec_execution_context_free(execution);
  for (void *pointer : {memory, x, y})
    free(pointer);
}

namespace {
/// Counts what it gives and takes; gives nothing if it is empty.
struct CountingAllocator {
  int allocated = 0, released = 0;
  bool isEmpty = false;

  static void *allocate(void *user, uint64_t bytes, void *) {
    auto *self = static_cast<CountingAllocator *>(user);
    void *memory = nullptr;
    if (self->isEmpty || posix_memalign(&memory, 256, bytes))
      return nullptr;
    ++self->allocated;
    return memory;
  }
  static void release(void *user, void *memory, uint64_t, void *) {
    ++static_cast<CountingAllocator *>(user)->released;
    free(memory);
  }
};
} // namespace

TEST(ApiRun, TheCallersAllocatorIsAskedAtEveryRun) {
  Context context = makeContext();
  Executable executable = compile(makeWithWorkspace(context));
  CountingAllocator allocator;
  fusec_execution_options options = fusec_execution_options_default();
  options.allocate = CountingAllocator::allocate;
  options.user = &allocator;
  fusec_execution_context *execution = nullptr;
  EXPECT_TRUE(failsWith(
      fusec_execution_context_create(executable.get(), &options, &execution),
      FUSEC_INVALID_ARGUMENT, "together"));
  options.release = CountingAllocator::release;
  options.no_replay = 1;
  options.no_overlap = 1;
  ASSERT_TRUE(ok(
      fusec_execution_context_create(executable.get(), &options, &execution)));
  void *x = nullptr, *y = nullptr;
  ASSERT_EQ(posix_memalign(&x, 256, 4096 * 4), 0);
  ASSERT_EQ(posix_memalign(&y, 256, 4096 * 4), 0);
  memset(x, 0, 4096 * 4);
  const void *in = x;
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(
        ok(fusec_execution_context_run(execution, &in, 1, &y, 1, nullptr)));
  EXPECT_EQ(allocator.allocated, 2);
  EXPECT_EQ(allocator.released, 2);
  allocator.isEmpty = true;
  EXPECT_TRUE(
      failsWith(fusec_execution_context_run(execution, &in, 1, &y, 1, nullptr),
                FUSEC_FAILED, "allocator gave null"));
  fusec_execution_context_free(execution);
  free(x);
  free(y);
}

TEST(ApiRun, SixteenThreadsShareAnExecutable) {
  Context context = makeContext();
  Executable executable = compile(makeAddRelu(context));
  std::vector<std::thread> threads;
  std::vector<int> wrong(16);
  for (int id = 0; id < 16; ++id)
    threads.emplace_back([&, id] {
      Execution execution = makeExecution(executable);
      Tensors t;
      for (int i = 0; i < 50; ++i) {
        t.x[0] = static_cast<float>(id * 50 + i);
        fusec_error *error = fusec_execution_context_run(execution.get(), t.in,
                                                         1, t.out, 1, nullptr);
        wrong[id] += error || t.y[0] != t.x[0] || t.y[5] != 6;
        fusec_error_free(error);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<int>(16));
}

TEST(ApiRun, OneGraphCompilesOnManyThreads) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int id = 0; id < 4; ++id)
    threads.emplace_back([&, id] {
      Executable executable =
          compile(graph, id % 2 ? FUSEC_TARGET_HOST : FUSEC_TARGET_REFERENCE);
      std::vector<float> y =
          runHost<float, float>(executable, {{0, 0, 0, 0, 0, 0}}, 6);
      wrong[id] = y[2] != 2;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(ApiRun, EmptyTensorsMayBeNull) {
  Context context = makeContext();
  Builder b = makeBuilder(context);
  const int64_t shape[] = {0, 3};
  fusec_value x = fusec_builder_input(b.get(), "x", FUSEC_F32, 2, shape);
  fusec_builder_output(b.get(), "y",
                       fusec_builder_unary(b.get(), FUSEC_EXP, x));
  Executable executable = compile(finish(b));
  Execution execution = makeExecution(executable);
  const void *in[] = {nullptr};
  void *out[] = {nullptr};
  EXPECT_TRUE(
      ok(fusec_execution_context_run(execution.get(), in, 1, out, 1, nullptr)));
}

/// Bytes that the heap has handed out.
static size_t heapBytes() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

TEST(ApiRun, NothingLeaks) {
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer looks for leaks itself";
#endif
  auto round = [] {
    Context context = makeContext();
    Graph graph = makeAddRelu(context);
    Executable executable = compile(graph);
    runHost<float, float>(executable, {{0, 0, 0, 0, 0, 0}}, 6);
    fusec_graph *bad = nullptr;
    EXPECT_TRUE(failsWith(fusec_graph_from_mlir(context.get(), "func", 4, &bad),
                          FUSEC_INVALID_GRAPH, ""));
    DLManagedTensor *tensor = nullptr;
    EXPECT_TRUE(
        ok(fusec_executable_allocate_output(executable.get(), 0, &tensor)));
    tensor->deleter(tensor);
  };
  // Caches of the allocator and of LLVM fill now and then. A leak grows in
  // every window: a leaked error is a hundred bytes a round.
  size_t least = SIZE_MAX;
  for (int window = 0; window < 12 && least >= 800; ++window) {
    size_t before = heapBytes();
    for (int i = 0; i < 10; ++i)
      round();
    size_t after = heapBytes();
    least = std::min(least, after > before ? after - before : 0);
  }
  EXPECT_LT(least, 800u);
}
