//===- ErrorTest.cpp - errors, versions, null and struct sizes ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ApiTestUtils.h"

TEST(ApiError, NullIsSuccess) {
  EXPECT_EQ(fusec_error_code(nullptr), FUSEC_OK);
  EXPECT_STREQ(fusec_error_message(nullptr), "");
  fusec_error_free(nullptr);
}

TEST(ApiError, VersionIsThatOfTheProject) {
  EXPECT_STREQ(fusec_version_string(), FUSEC_PROJECT_VERSION);
  EXPECT_EQ(fusec_version(), FUSEC_VERSION_MAJOR * 10000u +
                                 FUSEC_VERSION_MINOR * 100 +
                                 FUSEC_VERSION_PATCH);
}

TEST(ApiError, DTypesHaveNamesAndSizes) {
  EXPECT_STREQ(fusec_dtype_name(FUSEC_BF16), "bf16");
  EXPECT_STREQ(fusec_dtype_name(FUSEC_BOOL), "bool");
  EXPECT_EQ(fusec_dtype_name(17), nullptr);
  EXPECT_EQ(fusec_dtype_name(-1), nullptr);
  EXPECT_EQ(fusec_dtype_bytes(FUSEC_F64), 8u);
  EXPECT_EQ(fusec_dtype_bytes(FUSEC_I4), 1u);
  EXPECT_EQ(fusec_dtype_bytes(99), 0u);
}

TEST(ApiError, FreeingNullDoesNothing) {
  fusec_context_free(nullptr);
  fusec_graph_free(nullptr);
  fusec_builder_free(nullptr);
  fusec_device_free(nullptr);
  fusec_executable_free(nullptr);
  fusec_execution_context_free(nullptr);
  fusec_string_free(nullptr);
  fusec_device_release(nullptr, nullptr);
}

TEST(ApiError, NullArgumentsAreNamed) {
  Context context = makeContext();
  fusec_graph *graph = nullptr;
  EXPECT_TRUE(failsWith(fusec_context_create(nullptr, nullptr),
                        FUSEC_INVALID_ARGUMENT, "result"));
  EXPECT_TRUE(failsWith(fusec_graph_from_mlir(nullptr, "", 0, &graph),
                        FUSEC_INVALID_ARGUMENT, "context"));
  EXPECT_TRUE(
      failsWith(fusec_graph_from_mlir(context.get(), nullptr, 0, &graph),
                FUSEC_INVALID_ARGUMENT, "data"));
  EXPECT_TRUE(failsWith(fusec_graph_from_onnx(context.get(), "", 0, nullptr),
                        FUSEC_INVALID_ARGUMENT, "result"));
  EXPECT_TRUE(failsWith(fusec_graph_from_file(context.get(), nullptr, &graph),
                        FUSEC_INVALID_ARGUMENT, "data"));
  EXPECT_TRUE(failsWith(fusec_graph_input(nullptr, 0, nullptr),
                        FUSEC_INVALID_ARGUMENT, "graph"));
  EXPECT_TRUE(
      failsWith(fusec_graph_bind(nullptr, nullptr, 0, nullptr, 0, &graph),
                FUSEC_INVALID_ARGUMENT, "graph"));
  EXPECT_TRUE(failsWith(fusec_graph_to_mlir(nullptr, nullptr),
                        FUSEC_INVALID_ARGUMENT, "graph"));
  EXPECT_TRUE(failsWith(fusec_builder_create(context.get(), nullptr),
                        FUSEC_INVALID_ARGUMENT, "result"));
  EXPECT_TRUE(failsWith(fusec_builder_finish(nullptr, &graph),
                        FUSEC_INVALID_ARGUMENT, "builder"));
  EXPECT_TRUE(failsWith(fusec_compile(nullptr, nullptr, nullptr),
                        FUSEC_INVALID_ARGUMENT, "graph"));
  EXPECT_TRUE(failsWith(fusec_device_create(nullptr, 0, 0, nullptr),
                        FUSEC_INVALID_ARGUMENT, "context"));
  EXPECT_TRUE(failsWith(fusec_device_get_info(nullptr, nullptr),
                        FUSEC_INVALID_ARGUMENT, "device"));
  EXPECT_TRUE(failsWith(fusec_device_synchronize(nullptr, nullptr),
                        FUSEC_INVALID_ARGUMENT, "device"));
  EXPECT_TRUE(failsWith(fusec_device_allocate(nullptr, 1, nullptr),
                        FUSEC_INVALID_ARGUMENT, "result"));
  EXPECT_TRUE(failsWith(fusec_executable_input(nullptr, 0, nullptr),
                        FUSEC_INVALID_ARGUMENT, "executable"));
  EXPECT_TRUE(failsWith(fusec_executable_kernel(nullptr, 0, nullptr),
                        FUSEC_INVALID_ARGUMENT, "executable"));
  EXPECT_TRUE(failsWith(fusec_executable_kernel_ptx(nullptr, 0, nullptr),
                        FUSEC_INVALID_ARGUMENT, "executable"));
  EXPECT_TRUE(failsWith(fusec_executable_device(nullptr, nullptr),
                        FUSEC_INVALID_ARGUMENT, "executable"));
  EXPECT_TRUE(
      failsWith(fusec_execution_context_create(nullptr, nullptr, nullptr),
                FUSEC_INVALID_ARGUMENT, "executable"));
  EXPECT_TRUE(failsWith(
      fusec_execution_context_run(nullptr, nullptr, 0, nullptr, 0, nullptr),
      FUSEC_INVALID_ARGUMENT, "context"));
  EXPECT_TRUE(failsWith(fusec_execution_context_run_dlpack(nullptr, nullptr, 0,
                                                           nullptr, 0, nullptr),
                        FUSEC_INVALID_ARGUMENT, "context"));
  EXPECT_TRUE(failsWith(fusec_execution_context_synchronize(nullptr, nullptr),
                        FUSEC_INVALID_ARGUMENT, "context"));
  EXPECT_TRUE(
      failsWith(fusec_executable_run_host(nullptr, nullptr, 0, nullptr, 0),
                FUSEC_INVALID_ARGUMENT, "executable"));
  EXPECT_TRUE(failsWith(fusec_executable_allocate_output(nullptr, 0, nullptr),
                        FUSEC_INVALID_ARGUMENT, "executable"));
  EXPECT_EQ(fusec_graph_num_inputs(nullptr), 0u);
  EXPECT_EQ(fusec_graph_num_outputs(nullptr), 0u);
  EXPECT_EQ(fusec_graph_is_bound(nullptr), 0);
  EXPECT_EQ(fusec_executable_num_inputs(nullptr), 0u);
  EXPECT_EQ(fusec_executable_num_outputs(nullptr), 0u);
  EXPECT_EQ(fusec_executable_num_kernels(nullptr), 0u);
  EXPECT_EQ(fusec_executable_workspace_bytes(nullptr), 0u);
  EXPECT_STREQ(fusec_executable_plan_json(nullptr), "{}");
  EXPECT_EQ(fusec_builder_input(nullptr, "x", FUSEC_F32, 0, nullptr),
            FUSEC_NO_VALUE);
  EXPECT_EQ(fusec_builder_unary(nullptr, FUSEC_EXP, 1), FUSEC_NO_VALUE);
  fusec_builder_output(nullptr, "y", 1);
  fusec_builder_set_scope(nullptr, "s");
}

TEST(ApiError, StructSizesAreChecked) {
  fusec_context *context = nullptr;
  fusec_context_options options = fusec_context_options_default();
  options.size = 0;
  EXPECT_TRUE(failsWith(fusec_context_create(&options, &context),
                        FUSEC_INVALID_ARGUMENT, "fusec_context_options.size"));
  options.size = offsetof(fusec_context_options, log_level);
  EXPECT_TRUE(failsWith(fusec_context_create(&options, &context),
                        FUSEC_INVALID_ARGUMENT, "fusec_context_options.size"));
  options.size = 1 << 20;
  EXPECT_TRUE(failsWith(fusec_context_create(&options, &context),
                        FUSEC_INVALID_ARGUMENT, "fusec_context_options.size"));
  options.size = sizeof(options);
  options.log_level = 7;
  EXPECT_TRUE(failsWith(fusec_context_create(&options, &context),
                        FUSEC_INVALID_ARGUMENT, "log_level"));
}

TEST(ApiError, NewerStructsMayOnlyAddZeros) {
  struct Newer {
    fusec_context_options known;
    uint64_t added;
  } options = {fusec_context_options_default(), 0};
  options.known.size = sizeof(options);
  fusec_context *context = nullptr;
  EXPECT_TRUE(ok(fusec_context_create(&options.known, &context)));
  fusec_context_free(context);
  options.added = 1;
  EXPECT_TRUE(failsWith(fusec_context_create(&options.known, &context),
                        FUSEC_UNSUPPORTED, "does not know"));
}

TEST(ApiError, OlderInfoStructsGetWhatTheyKnow) {
  Context context = makeContext();
  Graph graph = makeAddRelu(context);
  fusec_tensor_info info = fusec_tensor_info_default();
  info.size = sizeof(info) - 8;
  EXPECT_TRUE(failsWith(fusec_graph_input(graph.get(), 0, &info),
                        FUSEC_INVALID_ARGUMENT, "fusec_tensor_info.size"));
  EXPECT_TRUE(failsWith(fusec_graph_input(graph.get(), 0, nullptr),
                        FUSEC_INVALID_ARGUMENT, "fusec_tensor_info"));
}
