//===- CompileTest.cpp - devices, options and what was made ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ApiTestUtils.h"
#include "fusec/fusec.hpp"

#include <cmath>

static fusec_error *compileWith(const Graph &graph,
                                const fusec_compile_options &options) {
  fusec_executable *executable = nullptr;
  fusec_error *error = fusec_compile(graph.get(), &options, &executable);
  fusec_executable_free(executable);
  return error;
}

TEST(ApiCompile, OptionsAreChecked) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  auto with = [&](auto change) {
    fusec_compile_options options = fusec_compile_options_default();
    options.target = FUSEC_TARGET_HOST;
    change(options);
    return compileWith(graph, options);
  };
  EXPECT_TRUE(ok(with([](auto &) {})));
  EXPECT_TRUE(failsWith(with([](auto &o) { o.size = 1; }),
                        FUSEC_INVALID_ARGUMENT, "fusec_compile_options.size"));
  EXPECT_TRUE(failsWith(with([](auto &o) { o.target = 5; }),
                        FUSEC_INVALID_ARGUMENT, "target"));
  EXPECT_TRUE(failsWith(with([](auto &o) { o.target = -1; }),
                        FUSEC_INVALID_ARGUMENT, "target"));
  EXPECT_TRUE(failsWith(with([](auto &o) { o.ordinal = 1; }),
                        FUSEC_INVALID_ARGUMENT, "ordinal"));
  EXPECT_TRUE(failsWith(with([](auto &o) { o.numerics = 2; }),
                        FUSEC_INVALID_ARGUMENT, "numerics"));
  EXPECT_TRUE(failsWith(with([](auto &o) { o.fusion = 2; }),
                        FUSEC_INVALID_ARGUMENT, "fusion"));
  EXPECT_TRUE(failsWith(with([](auto &o) { o.compute_capability = 75; }),
                        FUSEC_UNSUPPORTED, "expected 0, 80 or 90, found 75"));
  EXPECT_TRUE(failsWith(with([](auto &o) {
                          o.compile_only = 1;
                          o.target = 9;
                        }),
                        FUSEC_INVALID_ARGUMENT, "target"));
}

TEST(ApiCompile, AnInvalidOrdinalIsNoDevice) {
  Context context = makeContext();
  fusec_device *device = nullptr;
  EXPECT_TRUE(failsWith(
      fusec_device_create(context.get(), FUSEC_TARGET_CUDA, 4096, &device),
      FUSEC_NO_DEVICE, ""));
}

TEST(ApiCompile, DevicesAreSharedAndDescribed) {
  Context context = makeContext();
  fusec_device *handle = nullptr;
  ASSERT_TRUE(
      ok(fusec_device_create(context.get(), FUSEC_TARGET_HOST, 0, &handle)));
  Device device(handle);
  fusec_device_info info = fusec_device_info_default();
  ASSERT_TRUE(ok(fusec_device_get_info(device.get(), &info)));
  EXPECT_EQ(info.target, FUSEC_TARGET_HOST);
  EXPECT_STREQ(info.name, "host");
  EXPECT_EQ(info.host_memory, 1);

  void *memory = nullptr;
  ASSERT_TRUE(ok(fusec_device_allocate(device.get(), 12, &memory)));
  const float in[] = {1, 2, 3};
  float out[3] = {};
  EXPECT_TRUE(ok(fusec_device_copy_in(device.get(), memory, in, 12, nullptr)));
  EXPECT_TRUE(
      ok(fusec_device_copy_out(device.get(), out, memory, 12, nullptr)));
  EXPECT_TRUE(ok(fusec_device_synchronize(device.get(), nullptr)));
  EXPECT_EQ(out[2], 3);
  fusec_device_release(device.get(), memory);
  EXPECT_TRUE(
      failsWith(fusec_device_allocate(device.get(), UINT64_MAX / 2, &memory),
                FUSEC_OUT_OF_MEMORY, "bytes"));
  EXPECT_TRUE(
      failsWith(fusec_device_copy_in(device.get(), nullptr, in, 12, nullptr),
                FUSEC_INVALID_ARGUMENT, "two pointers"));

  Graph graph = makeAddRelu(context);
  fusec_compile_options options = fusec_compile_options_default();
  options.device = device.get();
  fusec_executable *compiled = nullptr;
  ASSERT_TRUE(ok(fusec_compile(graph.get(), &options, &compiled)));
  Executable executable(compiled);
  device.reset();
  graph.reset();
  context.reset();
  EXPECT_EQ((runHost<float, float>(executable, {{-1, -1, -1, 5, 5, 5}}, 6)),
            (std::vector<float>{0, 0, 1, 5, 6, 7}));
  fusec_device *again = nullptr;
  ASSERT_TRUE(ok(fusec_executable_device(executable.get(), &again)));
  EXPECT_NE(again, nullptr);
  fusec_device_free(again);
}

TEST(ApiCompile, KernelsAndPlanAreTold) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  fusec_compile_options options = fusec_compile_options_default();
  options.compile_only = 1;
  fusec_executable *compiled = nullptr;
  ASSERT_TRUE(ok(fusec_compile(graph.get(), &options, &compiled)));
  Executable executable(compiled);
  ASSERT_EQ(fusec_executable_num_kernels(compiled), 1u);
  fusec_kernel_info info = fusec_kernel_info_default();
  ASSERT_TRUE(ok(fusec_executable_kernel(compiled, 0, &info)));
  EXPECT_NE(std::string(info.source).find(info.name), std::string::npos);
  EXPECT_EQ(info.launches, 1u);
  EXPECT_GE(info.num_ops, 2u);
  EXPECT_EQ(std::string(info.ops[0]).substr(0, 6), "graph.");
  // x and y; the small constant is in the text.
  EXPECT_EQ(info.bytes, 24 + 24);
  EXPECT_EQ(info.registers, -1);
  EXPECT_TRUE(failsWith(fusec_executable_kernel(compiled, 1, &info),
                        FUSEC_INVALID_ARGUMENT, "kernel 1"));
  std::string plan = fusec_executable_plan_json(compiled);
  EXPECT_NE(plan.find("\"fused\":true"), std::string::npos) << plan;
  EXPECT_NE(plan.find("\"launches\":1"), std::string::npos) << plan;
  // The schema of `fusec explain --json`, which test/Tool/json.test checks.
  for (const char *key :
       {"\"target\":\"sm_90a H200\"", "\"bandwidth\":", "\"siblings\":[]",
        "\"op_count\":", "\"floor_us\":", "\"cost_us\":", "\"entry\":"})
    EXPECT_NE(plan.find(key), std::string::npos)
        << key << " is not in " << plan;
}

TEST(ApiCompile, CompiledOnlyDoesNotRun) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  fusec_compile_options options = fusec_compile_options_default();
  options.compile_only = 1;
  options.target = FUSEC_TARGET_HOST;
  fusec_executable *compiled = nullptr;
  ASSERT_TRUE(ok(fusec_compile(graph.get(), &options, &compiled)));
  Executable executable(compiled);
  fusec_execution_context *context2 = nullptr;
  DLManagedTensor *tensor = nullptr;
  char *text = nullptr;
  fusec_device *device = nullptr;
  EXPECT_TRUE(
      failsWith(fusec_execution_context_create(compiled, nullptr, &context2),
                FUSEC_INVALID_ARGUMENT, "only compiled"));
  EXPECT_TRUE(
      failsWith(fusec_executable_run_host(compiled, nullptr, 0, nullptr, 0),
                FUSEC_INVALID_ARGUMENT, "only compiled"));
  EXPECT_TRUE(failsWith(fusec_executable_allocate_output(compiled, 0, &tensor),
                        FUSEC_INVALID_ARGUMENT, "no device"));
  EXPECT_TRUE(failsWith(fusec_executable_kernel_ptx(compiled, 0, &text),
                        FUSEC_UNSUPPORTED, "no PTX"));
  ASSERT_TRUE(ok(fusec_executable_device(compiled, &device)));
  EXPECT_EQ(device, nullptr);
}

/// The text of the only kernel of `graph`, compiled like `like`.
static std::string onlyText(const Graph &graph, const Executable &like) {
  fusec_compile_options options = fusec_compile_options_default();
  options.compile_only = 1;
  options.like = like.get();
  fusec_executable *compiled = nullptr;
  if (!ok(fusec_compile(graph.get(), &options, &compiled)))
    return "";
  Executable executable(compiled);
  fusec_kernel_info info = fusec_kernel_info_default();
  if (!ok(fusec_executable_kernel(compiled, 0, &info)))
    return "";
  return std::string(info.source) + fusec_executable_plan_json(compiled);
}

TEST(ApiCompile, AnotherBatchHasTheSameKernels) {
  Context context = makeContext();
  fusec_compile_options options = fusec_compile_options_default();
  options.compile_only = 1;
  fusec_executable *compiled = nullptr;
  {
    Graph graph = makeAddRelu(context, 8);
    ASSERT_TRUE(ok(fusec_compile(graph.get(), &options, &compiled)));
  } // the executable keeps what it needs of it
  Executable base(compiled);
  fusec_kernel_info info = fusec_kernel_info_default();
  ASSERT_TRUE(ok(fusec_executable_kernel(compiled, 0, &info)));
  for (int64_t rows : {1, 7, 8, 32, 33}) {
    std::string text = onlyText(makeAddRelu(context, rows), base);
    EXPECT_EQ(text.find(info.source), 0u) << rows << " rows: " << text;
    EXPECT_NE(text.find("\"like\":{\"new_kernels\":0,\"shared_kernels\":1}"),
              std::string::npos)
        << text;
  }
}

TEST(ApiCompile, LikeNeedsGpuKernels) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  fusec_compile_options options = fusec_compile_options_default();
  options.compile_only = 1;
  options.target = FUSEC_TARGET_HOST;
  fusec_executable *compiled = nullptr;
  ASSERT_TRUE(ok(fusec_compile(graph.get(), &options, &compiled)));
  Executable host(compiled);
  options.target = FUSEC_TARGET_CUDA;
  options.like = host.get();
  EXPECT_TRUE(failsWith(compileWith(graph, options), FUSEC_INVALID_ARGUMENT,
                        "like: expected an executable with GPU kernels"));
}

TEST(ApiCompile, PtxNeedsNvrtcOnly) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  fusec_compile_options options = fusec_compile_options_default();
  options.compile_only = 1;
  options.compute_capability = 80;
  fusec_executable *compiled = nullptr;
  ASSERT_TRUE(ok(fusec_compile(graph.get(), &options, &compiled)));
  Executable executable(compiled);
  char *text = nullptr;
  fusec_error *error = fusec_executable_kernel_ptx(compiled, 0, &text);
  if (fusec_error_code(error) == FUSEC_NO_DEVICE) {
    fusec_error_free(error);
    GTEST_SKIP() << "no NVRTC";
  }
  ASSERT_TRUE(ok(error));
  EXPECT_NE(std::string(text).find(".target sm_80"), std::string::npos);
  fusec_string_free(text);
}

TEST(ApiCompile, FusionOffMakesOneKernelPerOp) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  fusec_compile_options options = fusec_compile_options_default();
  options.target = FUSEC_TARGET_HOST;
  options.fusion = FUSEC_FUSION_OFF;
  fusec_executable *compiled = nullptr;
  ASSERT_TRUE(ok(fusec_compile(graph.get(), &options, &compiled)));
  EXPECT_GT(fusec_executable_num_kernels(compiled), 1u);
  fusec_executable_free(compiled);
}

TEST(ApiCompile, MessagesGoToTheCallback) {
  std::vector<std::string> messages;
  fusec_context_options options = fusec_context_options_default();
  options.log_user = &messages;
  options.log_level = FUSEC_LOG_INFO;
  options.log = [](void *user, fusec_log_level, const char *message) {
    static_cast<std::vector<std::string> *>(user)->push_back(message);
  };
  fusec_context *handle = nullptr;
  ASSERT_TRUE(ok(fusec_context_create(&options, &handle)));
  Context context(handle);
  Graph graph = makeAddRelu(context);
  compile(graph);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0], "opened host device 'host'");
  EXPECT_EQ(messages[1].find("compiled 'graph' for host: 3 ops, 1 launches"),
            0u)
      << messages[1];
}

TEST(ApiCompile, TunesWhereThereAreKernels) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  auto with = [&](auto change) {
    fusec_compile_options options = fusec_compile_options_default();
    options.target = FUSEC_TARGET_EMULATOR;
    options.tune_seconds = 1;
    change(options);
    return compileWith(graph, options);
  };
  EXPECT_TRUE(ok(with([](auto &) {})));
  for (double seconds : {-1.0, std::nan(""), HUGE_VAL})
    EXPECT_TRUE(failsWith(with([&](auto &o) { o.tune_seconds = seconds; }),
                          FUSEC_INVALID_ARGUMENT, "tune_seconds"));
  EXPECT_TRUE(failsWith(with([](auto &o) { o.target = FUSEC_TARGET_HOST; }),
                        FUSEC_INVALID_ARGUMENT, "tune_seconds"));
  EXPECT_TRUE(failsWith(with([](auto &o) { o.compile_only = 1; }),
                        FUSEC_INVALID_ARGUMENT, "tune_seconds"));
}

// What was found is told, and used; C++ says the same.
TEST(ApiCompile, TellsWhatTuningFound) {
  fusec::ContextOptions apart;
  apart.cache = false;
  auto own = fusec::Context::create(apart);
  ASSERT_TRUE(bool(own));
  auto b = fusec::GraphBuilder::create(*own);
  ASSERT_TRUE(bool(b));
  fusec::Value x = b->input("x", fusec::DType::F16, {16, 32});
  fusec::Value w = b->input("w", fusec::DType::F16, {32, 64});
  b->output("y", b->matmul(x, w));
  auto product = b->finish();
  ASSERT_TRUE(bool(product)) << product.error().message();
  fusec::CompileOptions options;
  options.target = fusec::Target::Emulator;
  options.tuneSeconds = 60;
  auto tuned = fusec::compile(*product, options);
  ASSERT_TRUE(bool(tuned)) << tuned.error().message();
  std::string plan = tuned->planJson();
  EXPECT_NE(plan.find("\"tuning\":"), std::string::npos) << plan;
  EXPECT_NE(plan.find("tuned now: "), std::string::npos) << plan;
  // No vendor's library is in the emulator; where none is wanted none is
  // missed.
  EXPECT_NE(plan.find("\"no_vendor\":\"device 'emulator' has no"),
            std::string::npos)
      << plan;
  options.useVendor = false;
  auto without = fusec::compile(*product, options);
  ASSERT_TRUE(bool(without)) << without.error().message();
  EXPECT_EQ(std::string(without->planJson()).find("no_vendor"),
            std::string::npos);
  options.tuneSeconds = 0;
  options.useTuningRecord = false;
  auto model = fusec::compile(*product, options);
  ASSERT_TRUE(bool(model)) << model.error().message();
  EXPECT_NE(std::string(model->planJson()).find("no_tuning_record is set"),
            std::string::npos);
}
