//===- ApiTestUtils.h - handles and expectations ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_TEST_UNIT_API_APITESTUTILS_H
#define FUSEC_TEST_UNIT_API_APITESTUTILS_H

#include "fusec-c/fusec.h"
#include "gtest/gtest.h"

#include <memory>
#include <string>
#include <vector>

/// Frees a handle.
template <auto Free>
struct Freer {
  template <class T>
  void operator()(T *handle) const {
    Free(handle);
  }
};
using Context = std::unique_ptr<fusec_context, Freer<fusec_context_free>>;
using Graph = std::unique_ptr<fusec_graph, Freer<fusec_graph_free>>;
using Builder = std::unique_ptr<fusec_builder, Freer<fusec_builder_free>>;
using Device = std::unique_ptr<fusec_device, Freer<fusec_device_free>>;
using Executable =
    std::unique_ptr<fusec_executable, Freer<fusec_executable_free>>;
using Execution = std::unique_ptr<fusec_execution_context,
                                  Freer<fusec_execution_context_free>>;

/// Succeeds on null; shows and frees an error otherwise.
inline testing::AssertionResult ok(fusec_error *error) {
  if (!error)
    return testing::AssertionSuccess();
  auto result = testing::AssertionFailure()
                << "code " << fusec_error_code(error) << ": "
                << fusec_error_message(error);
  fusec_error_free(error);
  return result;
}

/// Succeeds on an error of this code whose message holds `text`.
inline testing::AssertionResult failsWith(fusec_error *error, fusec_code code,
                                          const std::string &text) {
  if (!error)
    return testing::AssertionFailure() << "expected an error, found success";
  fusec_code found = fusec_error_code(error);
  std::string message = fusec_error_message(error);
  fusec_error_free(error);
  if (found == code && message.find(text) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "expected code " << code << " and '" << text << "', found code "
         << found << " and '" << message << "'";
}

inline Context makeContext() {
  fusec_context *context = nullptr;
  EXPECT_TRUE(ok(fusec_context_create(nullptr, &context)));
  return Context(context);
}
inline Builder makeBuilder(const Context &context) {
  fusec_builder *builder = nullptr;
  EXPECT_TRUE(ok(fusec_builder_create(context.get(), &builder)));
  return Builder(builder);
}
inline Graph finish(const Builder &builder) {
  fusec_graph *graph = nullptr;
  EXPECT_TRUE(ok(fusec_builder_finish(builder.get(), &graph)));
  return Graph(graph);
}
inline Executable compile(const Graph &graph,
                          fusec_target target = FUSEC_TARGET_HOST) {
  fusec_compile_options options = fusec_compile_options_default();
  options.target = target;
  fusec_executable *executable = nullptr;
  EXPECT_TRUE(ok(fusec_compile(graph.get(), &options, &executable)));
  return Executable(executable);
}
inline Execution makeExecution(const Executable &executable) {
  fusec_execution_context *context = nullptr;
  EXPECT_TRUE(
      ok(fusec_execution_context_create(executable.get(), nullptr, &context)));
  return Execution(context);
}

/// y = relu(x + w) with x f32 [2, 3] and w = 0 1 2 broadcast.
inline Graph makeAddRelu(const Context &context, int64_t rows = 2) {
  Builder b = makeBuilder(context);
  const int64_t shape[] = {rows, 3};
  const float weights[] = {0, 1, 2};
  fusec_value x = fusec_builder_input(b.get(), "x", FUSEC_F32, 2, shape);
  fusec_value w = fusec_builder_constant(b.get(), "w", FUSEC_F32, 1, shape + 1,
                                         weights, sizeof(weights));
  fusec_value sum = fusec_builder_binary(b.get(), FUSEC_ADD, x, w);
  fusec_builder_output(b.get(), "y",
                       fusec_builder_unary(b.get(), FUSEC_RELU, sum));
  return finish(b);
}

/// Runs with host memory.
template <class In, class Out>
std::vector<Out> runHost(const Executable &executable,
                         const std::vector<std::vector<In>> &inputs,
                         size_t outputs) {
  std::vector<fusec_host_array> in;
  for (const std::vector<In> &input : inputs)
    in.push_back({const_cast<In *>(input.data()), input.size() * sizeof(In)});
  std::vector<Out> result(outputs);
  fusec_host_array out = {result.data(), outputs * sizeof(Out)};
  EXPECT_TRUE(ok(fusec_executable_run_host(executable.get(), in.data(),
                                           in.size(), &out, 1)));
  return result;
}

#endif // FUSEC_TEST_UNIT_API_APITESTUTILS_H
