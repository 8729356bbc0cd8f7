//===- MemoryTest.cpp - refused memory is an error ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each test runs in a child process whose address space is limited, so that
// large allocations fail at their source.
//===----------------------------------------------------------------------===//
#include "ApiTestUtils.h"

#include <functional>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// Bytes of address space that this process has.
size_t addressSpace() {
  FILE *file = std::fopen("/proc/self/statm", "r");
  unsigned long pages = 0;
  if (!file || std::fscanf(file, "%lu", &pages) != 1)
    pages = 0;
  if (file)
    std::fclose(file);
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

/// Runs `body` in a child that may map `spare` more bytes. True if it returned
/// and said so.
bool limited(size_t spare, const std::function<bool()> &body) {
  pid_t child = ::fork();
  if (child == 0) {
    struct rlimit limit;
    limit.rlim_cur = limit.rlim_max = addressSpace() + spare;
    bool good = ::setrlimit(RLIMIT_AS, &limit) == 0 && body();
    std::fflush(nullptr);
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    ADD_FAILURE() << "died of signal " << WTERMSIG(status);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

constexpr size_t kSpare = size_t(200) << 20;

fusec_code codeOf(fusec_error *error) {
  fusec_code code = fusec_error_code(error);
  fusec_error_free(error);
  return code;
}

/// y = relu(x) on f32[64M], 256 MB.
Graph makeLarge(const Context &context) {
  Graph graph;
  const char text[] =
      "func.func @f(%x: tensor<67108864xf32>) -> tensor<67108864xf32> {\n"
      "  %a = graph.relu %x : tensor<67108864xf32>\n"
      "  %b = graph.cumulative sum %a dimension = 0 : tensor<67108864xf32>\n"
      "  return %b : tensor<67108864xf32>\n}\n";
  fusec_graph *handle = nullptr;
  EXPECT_TRUE(ok(
      fusec_graph_from_mlir(context.get(), text, sizeof(text) - 1, &handle)));
  return Graph(handle);
}

TEST(ApiMemory, DeviceMemoryIsRefused) {
  EXPECT_TRUE(limited(kSpare, [] {
    Context context = makeContext();
    fusec_device *handle = nullptr;
    if (fusec_device_create(context.get(), FUSEC_TARGET_HOST, 0, &handle))
      return false;
    Device device(handle);
    void *memory = nullptr;
    return codeOf(fusec_device_allocate(device.get(), size_t(1) << 30,
                                        &memory)) == FUSEC_OUT_OF_MEMORY;
  }));
}

TEST(ApiMemory, WorkspaceIsRefused) {
  for (fusec_target target : {FUSEC_TARGET_HOST, FUSEC_TARGET_REFERENCE})
    EXPECT_TRUE(limited(size_t(1) << 30, [target] {
      Context context = makeContext();
      Graph graph = makeLarge(context);
      Executable executable = compile(graph, target);
      // What compilation mapped counts: little is left now.
      struct rlimit limit;
      limit.rlim_cur = limit.rlim_max = addressSpace() + kSpare;
      if (::setrlimit(RLIMIT_AS, &limit) != 0)
        return false;
      fusec_execution_options options = fusec_execution_options_default();
      fusec_execution_context *handle = nullptr;
      fusec_code code = codeOf(
          fusec_execution_context_create(executable.get(), &options, &handle));
      fusec_execution_context_free(handle);
      // The evaluator has no workspace.
      return code ==
             (target == FUSEC_TARGET_HOST ? FUSEC_OUT_OF_MEMORY : FUSEC_OK);
    })) << target;
}

TEST(ApiMemory, ConstantsAreRefusedAndGivenBack) {
  EXPECT_TRUE(limited(kSpare, [] {
    Context context = makeContext();
    Builder builder = makeBuilder(context);
    int64_t shape[] = {int64_t(1) << 28};
    static int released = 0;
    // More than there is: the bytes of a bool constant are copied.
    fusec_value value = fusec_builder_constant_ref(
        builder.get(), "c", FUSEC_BOOL, 1, shape, &released, uint64_t(1) << 28,
        [](void *) { ++released; }, nullptr);
    fusec_graph *graph = nullptr;
    fusec_code code = codeOf(fusec_builder_finish(builder.get(), &graph));
    fusec_graph_free(graph);
    return value == FUSEC_NO_VALUE && released == 1 && code != FUSEC_OK;
  }));
}

TEST(ApiMemory, ANullBuilderGivesBytesBack) {
  static int released = 0;
  int64_t shape[] = {1};
  float data = 1;
  EXPECT_EQ(fusec_builder_constant_ref(
                nullptr, "c", FUSEC_F32, 1, shape, &data, 4,
                [](void *) { ++released; }, nullptr),
            FUSEC_NO_VALUE);
  EXPECT_EQ(released, 1);
}

} // namespace
