//===- BuilderTest.cpp - what builders accept and refuse ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ApiTestUtils.h"

namespace {
/// A builder with a few inputs, and the error that finishing it gives.
struct Made {
  Context context = makeContext();
  Builder builder = makeBuilder(context);
  fusec_builder *b = builder.get();
  fusec_value f23 = input("f23", FUSEC_F32, {2, 3});
  fusec_value f4 = input("f4", FUSEC_F32, {4});
  fusec_value h23 = input("h23", FUSEC_F16, {2, 3});
  fusec_value i23 = input("i23", FUSEC_I32, {2, 3});
  fusec_value p23 = input("p23", FUSEC_BOOL, {2, 3});

  fusec_value input(const char *name, fusec_dtype dtype,
                    std::vector<int64_t> shape) {
    return fusec_builder_input(
        b, name, dtype, static_cast<int32_t>(shape.size()), shape.data());
  }
  testing::AssertionResult refuses(fusec_value value, const std::string &text) {
    if (value != FUSEC_NO_VALUE)
      return testing::AssertionFailure() << "expected no value";
    fusec_graph *graph = nullptr;
    return failsWith(fusec_builder_finish(b, &graph), FUSEC_INVALID_GRAPH,
                     text);
  }
};
} // namespace

TEST(ApiBuilder, ErrorsNameTheOperator) {
  Made m;
  EXPECT_TRUE(m.refuses(fusec_builder_binary(m.b, FUSEC_ADD, m.f23, m.f4),
                        "op 5 (add): shapes [2, 3] and [4] do not broadcast"));
}

TEST(ApiBuilder, TheFirstErrorStays) {
  Made m;
  fusec_builder_set_scope(m.b, "layer1");
  fusec_value bad = fusec_builder_binary(m.b, FUSEC_ADD, m.f23, m.h23);
  fusec_builder_set_scope(m.b, nullptr);
  EXPECT_EQ(fusec_builder_unary(m.b, FUSEC_EXP, bad), FUSEC_NO_VALUE);
  fusec_builder_output(m.b, "y", bad);
  EXPECT_TRUE(m.refuses(FUSEC_NO_VALUE,
                        "'layer1': op 5 (add): expected operands of one "
                        "element type, found f32 and f16"));
}

TEST(ApiBuilder, OperandsMustBeValues) {
  EXPECT_TRUE([] {
    Made m;
    return m.refuses(fusec_builder_unary(m.b, FUSEC_EXP, 77), "operand 77");
  }());
  EXPECT_TRUE([] {
    Made m;
    return m.refuses(fusec_builder_unary(m.b, FUSEC_EXP, 0), "operand 0");
  }());
}

TEST(ApiBuilder, TypesMustFitTheOperator) {
  using Body = fusec_value (*)(Made &);
  const std::pair<Body, const char *> cases[] = {
      {[](Made &m) { return fusec_builder_unary(m.b, FUSEC_EXP, m.i23); },
       "exp"},
      {[](Made &m) { return fusec_builder_unary(m.b, FUSEC_NOT, m.f23); },
       "not"},
      {[](Made &m) { return fusec_builder_unary(m.b, 38, m.f23); },
       "expected an operator, 0 to 37, found 38"},
      {[](Made &m) { return fusec_builder_unary(m.b, -1, m.f23); }, "found -1"},
      {[](Made &m) { return fusec_builder_binary(m.b, 15, m.f23, m.f23); },
       "found 15"},
      {[](Made &m) {
         return fusec_builder_binary(m.b, FUSEC_AND, m.f23, m.f23);
       },
       "and"},
      {[](Made &m) { return fusec_builder_compare(m.b, 6, m.f23, m.f23); },
       "found 6"},
      {[](Made &m) { return fusec_builder_select(m.b, m.f23, m.f23, m.f23); },
       "select"},
      {[](Made &m) { return fusec_builder_select(m.b, m.p23, m.f23, m.h23); },
       "select"},
      {[](Made &m) { return fusec_builder_clamp(m.b, m.f23, m.f23, m.h23); },
       "one element type"},
      {[](Made &m) { return fusec_builder_cast(m.b, m.f23, 17); }, "found 17"},
      {[](Made &m) { return fusec_builder_mean(m.b, m.i23, nullptr, 0, 0); },
       "expected floats, found i32"},
      {[](Made &m) {
         return fusec_builder_reduce(m.b, FUSEC_ALL, m.f23, nullptr, 0, 0);
       },
       "reduce"},
      {[](Made &m) { return fusec_builder_gather(m.b, m.f23, m.f4, 0); },
       "gather"},
      {[](Made &m) { return fusec_builder_elu(m.b, m.i23, 1); }, "elu"},
      {[](Made &m) { return fusec_builder_rms_norm(m.b, m.f23, m.f4, 1, 0); },
       "rms_norm"},
  };
  for (const auto &[body, text] : cases) {
    Made m;
    EXPECT_TRUE(m.refuses(body(m), text)) << text;
  }
}

TEST(ApiBuilder, NumbersMustBeInRange) {
  using Body = fusec_value (*)(Made &);
  static const int64_t huge[] = {INT64_MAX, INT64_MAX};
  static const int64_t negative[] = {-2, 3};
  static const int64_t twoThree[] = {2, 3}, sixOne[] = {6, 1}, open[] = {-1, 4};
  static const int64_t bigPad[] = {INT64_MAX, 0}, noPad[] = {0, 0};
  static const int32_t repeated[] = {0, 0}, far[] = {2}, one[] = {0};
  static const float data[6] = {};
  const std::pair<Body, const char *> cases[] = {
      {[](Made &m) { return fusec_builder_input(m.b, "v", 1, 2, huge); },
       "input"},
      {[](Made &m) { return fusec_builder_input(m.b, "v", 1, 2, negative); },
       "input"},
      {[](Made &m) { return fusec_builder_input(m.b, "v", 1, -1, nullptr); },
       "rank -1"},
      {[](Made &m) { return fusec_builder_input(m.b, "v", 1, 65, nullptr); },
       "rank 65"},
      {[](Made &m) { return fusec_builder_input(m.b, "v", 1, 2, nullptr); },
       "without sizes"},
      {[](Made &m) { return fusec_builder_input(m.b, "v", 99, 0, nullptr); },
       "found 99"},
      {[](Made &m) { return fusec_builder_input(m.b, "f4", 1, 0, nullptr); },
       "'f4' is used twice"},
      {[](Made &m) { return fusec_builder_input(m.b, nullptr, 1, 0, nullptr); },
       "expected a name"},
      {[](Made &m) {
         return fusec_builder_constant(m.b, "c", 1, 2, twoThree, data, 23);
       },
       "expected 24 bytes, found 23"},
      {[](Made &m) {
         return fusec_builder_constant(m.b, "c", 1, 2, twoThree, nullptr, 24);
       },
       "found null"},
      {[](Made &m) {
         return fusec_builder_reshape(m.b, m.f23, 2, twoThree + 1);
       },
       "reshape"},
      {[](Made &m) { return fusec_builder_reshape(m.b, m.f23, 2, open); },
       "do not divide"},
      {[](Made &m) { return fusec_builder_reshape(m.b, m.f23, 2, huge); },
       "reshape"},
      {[](Made &m) { return fusec_builder_broadcast(m.b, m.f23, 2, sixOne); },
       "broadcast"},
      {[](Made &m) { return fusec_builder_broadcast(m.b, m.f23, 1, sixOne); },
       "rank"},
      {[](Made &m) { return fusec_builder_transpose(m.b, m.f23, repeated, 2); },
       "named twice"},
      {[](Made &m) { return fusec_builder_transpose(m.b, m.f23, one, 1); },
       "expected 2 dimensions"},
      {[](Made &m) {
         return fusec_builder_reduce(m.b, FUSEC_SUM, m.f23, far, 1, 0);
       },
       "dimension 2 is out of range"},
      {[](Made &m) { return fusec_builder_reduce(m.b, 6, m.f23, one, 1, 0); },
       "found 6"},
      {[](Made &m) {
         return fusec_builder_slice(m.b, m.f23, twoThree, twoThree, nullptr, 2);
       },
       "slice"},
      {[](Made &m) {
         return fusec_builder_slice(m.b, m.f23, noPad, twoThree, noPad, 2);
       },
       "slice"},
      {[](Made &m) {
         return fusec_builder_slice(m.b, m.f23, noPad, twoThree, nullptr, 1);
       },
       "one entry for each"},
      {[](Made &m) {
         fusec_value zero = fusec_builder_full(m.b, FUSEC_F32, 0, nullptr, 0);
         return fusec_builder_pad(m.b, m.f23, zero, bigPad, noPad, 2);
       },
       "paddings"},
      {[](Made &m) { return fusec_builder_concat(m.b, nullptr, 0, 0); },
       "at least one"},
      {[](Made &m) {
         fusec_value both[] = {m.f23, m.f4};
         return fusec_builder_concat(m.b, both, 2, 0);
       },
       "one rank"},
      {[](Made &m) { return fusec_builder_softmax(m.b, m.f23, far, 1); },
       "out of range"},
      {[](Made &m) { return fusec_builder_iota(m.b, 1, 2, twoThree, 2); },
       "out of range"},
      {[](Made &m) { return fusec_builder_matmul(m.b, m.f23, m.f23); },
       "matmul"},
      {[](Made &m) {
         fusec_window window = fusec_window_default();
         window.count = 1;
         return fusec_builder_window_reduce(m.b, FUSEC_SUM, m.f23, &window);
       },
       "window of 2 dimensions, found 1"},
      {[](Made &m) {
         fusec_window window = fusec_window_default();
         window.size = 3;
         return fusec_builder_window_reduce(m.b, FUSEC_SUM, m.f23, &window);
       },
       "fusec_window.size"},
      {[](Made &m) {
         fusec_window window = fusec_window_default();
         window.count = 2;
         window.strides = noPad;
         return fusec_builder_window_reduce(m.b, FUSEC_SUM, m.f23, &window);
       },
       "strides: expected 1"},
      {[](Made &m) {
         return fusec_builder_convolution(m.b, m.f23, m.f4, nullptr, 1, 0, 0);
       },
       "ranks 2 and 1"},
      {[](Made &m) {
         return fusec_builder_convolution(m.b, m.f23, m.f23, nullptr, 1, 2, 0);
       },
       "found 2"},
      {[](Made &m) {
         return fusec_builder_convolution(m.b, m.f23, m.f23, nullptr, 0, 0, 0);
       },
       "convolution"},
      {[](Made &m) {
         return fusec_builder_scatter_nd(m.b, 5, m.f23, m.i23, m.f23);
       },
       "found 5"},
      {[](Made &m) {
         fusec_value results[2];
         fusec_builder_top_k(m.b, FUSEC_REDUCE_MAX, m.f23, 0, 1, results);
         return results[1];
       },
       "expected k from 1 to 64, found 0"},
      {[](Made &m) {
         fusec_value results[2];
         fusec_builder_top_k(m.b, FUSEC_REDUCE_MAX, m.f23, INT32_MAX, 1,
                             results);
         return results[0];
       },
       "expected k from 1 to 64, found 2147483647"},
      {[](Made &m) {
         fusec_value results[2];
         fusec_builder_top_k(m.b, FUSEC_REDUCE_MAX, m.f23, 4, 1, results);
         return results[0];
       },
       "expected at least 4 elements in dimension 1"},
      {[](Made &m) { return fusec_builder_gather_nd(m.b, m.f23, m.i23, 2); },
       "batch_dims"},
      {[](Made &m) { return fusec_builder_gather_nd(m.b, m.f23, m.i23, 0); },
       "index vectors of 3"},
  };
  for (const auto &[body, text] : cases) {
    Made m;
    EXPECT_TRUE(m.refuses(body(m), text)) << text;
  }
}

TEST(ApiBuilder, GraphsNeedOutputsWithNames) {
  Context context = makeContext();
  Builder b = makeBuilder(context);
  fusec_graph *graph = nullptr;
  EXPECT_TRUE(failsWith(fusec_builder_finish(b.get(), &graph),
                        FUSEC_INVALID_GRAPH, "no output"));
  fusec_value x = fusec_builder_input(b.get(), "x", FUSEC_F32, 0, nullptr);
  fusec_builder_output(b.get(), "y", x);
  fusec_builder_output(b.get(), "y", x);
  EXPECT_TRUE(failsWith(fusec_builder_finish(b.get(), &graph),
                        FUSEC_INVALID_GRAPH, "'y' is used twice"));
}

TEST(ApiBuilder, FinishesOnce) {
  Context context = makeContext();
  Builder b = makeBuilder(context);
  fusec_value x = fusec_builder_input(b.get(), "x", FUSEC_F32, 0, nullptr);
  fusec_builder_output(b.get(), "y", x);
  Graph graph = finish(b);
  fusec_graph *again = nullptr;
  fusec_tensor_info info = fusec_tensor_info_default();
  EXPECT_TRUE(failsWith(fusec_builder_value(b.get(), x, &info),
                        FUSEC_INVALID_ARGUMENT, "finished before"));
  EXPECT_TRUE(failsWith(fusec_builder_finish(b.get(), &again),
                        FUSEC_INVALID_ARGUMENT, "finished before"));
  EXPECT_EQ(fusec_builder_unary(b.get(), FUSEC_EXP, x), FUSEC_NO_VALUE);
}

TEST(ApiBuilder, ValuesAreDescribed) {
  Made m;
  fusec_tensor_info first = fusec_tensor_info_default(), second = first;
  ASSERT_TRUE(ok(fusec_builder_value(m.b, m.h23, &first)));
  ASSERT_TRUE(ok(fusec_builder_value(m.b, m.f4, &second)));
  EXPECT_EQ(first.dtype, FUSEC_F16);
  ASSERT_EQ(first.rank, 2);
  EXPECT_EQ(first.shape[0], 2);
  EXPECT_EQ(first.bytes, 12);
  EXPECT_EQ(second.shape[0], 4);
  EXPECT_TRUE(failsWith(fusec_builder_value(m.b, 99, &first),
                        FUSEC_INVALID_ARGUMENT, "value 99"));
}

TEST(ApiBuilder, BorrowedConstantsAreGivenBackOnce) {
  static int released;
  released = 0;
  std::vector<float> data(1000, 2.0f);
  const int64_t shape[] = {1000};
  Context context = makeContext();
  auto release = [](void *user) { ++*static_cast<int *>(user); };
  Executable executable;
  {
    Builder b = makeBuilder(context);
    fusec_value x = fusec_builder_input(b.get(), "x", FUSEC_F32, 1, shape);
    fusec_value w =
        fusec_builder_constant_ref(b.get(), "w", FUSEC_F32, 1, shape,
                                   data.data(), 4000, release, &released);
    fusec_builder_output(b.get(), "y",
                         fusec_builder_binary(b.get(), FUSEC_MUL, x, w));
    Graph graph = finish(b);
    b.reset();
    EXPECT_EQ(released, 0);
    executable = compile(graph);
  }
  EXPECT_EQ(released, 1);
  data.assign(1000, 0.0f);
  std::vector<float> y =
      runHost<float, float>(executable, {std::vector<float>(1000, 3)}, 1000);
  EXPECT_EQ(y[999], 6);
}

TEST(ApiBuilder, RefusedBorrowedConstantsAreGivenBackToo) {
  static int released;
  released = 0;
  auto release = [](void *user) { ++*static_cast<int *>(user); };
  Context context = makeContext();
  Builder b = makeBuilder(context);
  const int64_t shape[] = {1000};
  EXPECT_EQ(fusec_builder_constant_ref(b.get(), "w", FUSEC_F32, 1, shape,
                                       nullptr, 4000, release, &released),
            FUSEC_NO_VALUE);
  EXPECT_EQ(released, 1);
  fusec_builder_constant_ref(nullptr, "w", FUSEC_F32, 1, shape, nullptr, 4000,
                             release, &released);
  EXPECT_EQ(released, 2);
}
