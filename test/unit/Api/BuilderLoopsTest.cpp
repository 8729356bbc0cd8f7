//===- BuilderLoopsTest.cpp - while and scan from code --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ApiTestUtils.h"
#include "fusec/fusec.hpp"

namespace {

/// Inputs x f32 [3] and what bodies need beside it.
struct Loop {
  Context context = makeContext();
  Builder builder = makeBuilder(context);
  fusec_builder *b = builder.get();
  int64_t three = 3;
  fusec_value x = fusec_builder_input(b, "x", FUSEC_F32, 1, &three);

  fusec_value scalar(double value) {
    return fusec_builder_full(b, FUSEC_F32, 0, nullptr, value);
  }
  std::vector<float> run(fusec_value result, std::vector<float> input,
                         size_t size, fusec_target target) {
    fusec_builder_output(b, "y", result);
    Graph graph = finish(builder);
    return runHost<float, float>(compile(graph, target), {input}, size);
  }
  testing::AssertionResult refuses(const std::string &text) {
    fusec_builder_output(b, "y", x);
    fusec_graph *graph = nullptr;
    return failsWith(fusec_builder_finish(b, &graph), FUSEC_INVALID_GRAPH,
                     text);
  }
};

/// Carried + slice, stacked too.
void addSlice(fusec_builder *b, const fusec_value *in, fusec_value *out,
              void *) {
  out[0] = out[1] = fusec_builder_binary(b, FUSEC_ADD, in[0], in[1]);
}
void nothing(fusec_builder *, const fusec_value *, fusec_value *, void *) {}

} // namespace

TEST(ApiBuilderLoops, ScanCarriesAndStacks) {
  for (fusec_target target : {FUSEC_TARGET_HOST, FUSEC_TARGET_REFERENCE})
    for (bool reverse : {false, true}) {
      Loop l;
      fusec_value zero = l.scalar(0), results[2];
      fusec_builder_scan(l.b, &zero, 1, &l.x, 1, 3, reverse, 1, addSlice,
                         nullptr, results);
      EXPECT_EQ(l.run(results[1], {1, 10, 100}, 3, target),
                reverse ? (std::vector<float>{111, 110, 100})
                        : (std::vector<float>{1, 11, 111}));
    }
}

// Doubles until the sum is beyond 50; bodies read values from outside.
TEST(ApiBuilderLoops, WhileStopsByItsCondition) {
  struct Outside {
    fusec_value limit, two;
  };
  for (auto [trips, expected] :
       {std::pair<int64_t, float>{100, 64}, {2, 4}, {0, 1}}) {
    Loop l;
    Outside outside = {l.scalar(50), l.scalar(2)};
    fusec_value one = l.scalar(1), result;
    fusec_builder_while(
        l.b, &one, 1, trips,
        [](fusec_builder *b, const fusec_value *in, fusec_value *out, void *p) {
          out[0] = fusec_builder_compare(b, FUSEC_LT, in[0],
                                         static_cast<Outside *>(p)->limit);
        },
        [](fusec_builder *b, const fusec_value *in, fusec_value *out, void *p) {
          out[0] = fusec_builder_binary(b, FUSEC_MUL, in[0],
                                        static_cast<Outside *>(p)->two);
        },
        &outside, &result);
    const int64_t shape[] = {3};
    fusec_value wide = fusec_builder_broadcast(l.b, result, 1, shape);
    fusec_value sum = fusec_builder_binary(l.b, FUSEC_ADD, wide, l.x);
    EXPECT_EQ(l.run(sum, {0, 1, 2}, 3, FUSEC_TARGET_HOST),
              (std::vector<float>{expected, expected + 1, expected + 2}));
  }
}

TEST(ApiBuilderLoops, RefusesWhatDoesNotFit) {
  fusec_value results[2];
  {
    Loop l;
    fusec_value zero = l.scalar(0);
    fusec_builder_scan(l.b, &zero, 1, &l.x, 1, 4, 0, 1, addSlice, nullptr,
                       results);
    EXPECT_EQ(results[0], FUSEC_NO_VALUE);
    EXPECT_TRUE(l.refuses("(scan): expected inputs with a leading dimension of "
                          "4, found rank 1 and size 3"));
  }
  {
    Loop l;
    fusec_builder_while(l.b, &l.x, 1, 1, nothing, nothing, nullptr, results);
    EXPECT_TRUE(l.refuses("(while): operand 0 is no value"));
  }
  {
    Loop l;
    fusec_builder_while(l.b, &l.x, 1, 1, nullptr, nothing, nullptr, results);
    EXPECT_TRUE(l.refuses("expected a condition and a body"));
  }
  {
    // The condition is no bool.
    Loop l;
    auto same = [](fusec_builder *, const fusec_value *in, fusec_value *out,
                   void *) { out[0] = in[0]; };
    fusec_builder_while(l.b, &l.x, 1, 1, same, same, nullptr, results);
    EXPECT_TRUE(l.refuses("(while): "));
  }
  {
    Loop l;
    fusec_builder_while(l.b, nullptr, 1, 1, nothing, nothing, nullptr, results);
    EXPECT_TRUE(l.refuses("found 1 without a list"));
  }
}

TEST(ApiBuilderLoops, ValuesEndWithTheirBody) {
  Loop l;
  fusec_value kept = FUSEC_NO_VALUE, results[2], zero = l.scalar(0);
  fusec_builder_scan(
      l.b, &zero, 1, &l.x, 1, 3, 0, 1,
      [](fusec_builder *b, const fusec_value *in, fusec_value *out, void *p) {
        addSlice(b, in, out, nullptr);
        *static_cast<fusec_value *>(p) = out[0];
      },
      &kept, results);
  fusec_tensor_info info = fusec_tensor_info_default();
  EXPECT_TRUE(failsWith(fusec_builder_value(l.b, kept, &info),
                        FUSEC_INVALID_ARGUMENT, "body that has ended"));
  EXPECT_EQ(fusec_builder_unary(l.b, FUSEC_EXP, kept), FUSEC_NO_VALUE);
  EXPECT_TRUE(l.refuses("body that has ended"));
}

TEST(ApiBuilderLoops, InputsAndOutputsAreMadeOutside) {
  for (bool input : {true, false}) {
    Loop l;
    fusec_value results[1];
    fusec_builder_scan(
        l.b, nullptr, 0, &l.x, 1, 3, 0, 1,
        [](fusec_builder *b, const fusec_value *in, fusec_value *out, void *p) {
          out[0] = in[0];
          if (*static_cast<bool *>(p))
            fusec_builder_input(b, "late", FUSEC_F32, 0, nullptr);
          else
            fusec_builder_output(b, "early", in[0]);
        },
        &input, results);
    EXPECT_TRUE(l.refuses("outside of the bodies of loops"));
  }
}

// Scans nest, and C++ bodies are lambdas.
TEST(ApiBuilderLoops, CppLoopsNest) {
  auto context = fusec::Context::create();
  ASSERT_TRUE(bool(context));
  auto b = fusec::GraphBuilder::create(*context);
  ASSERT_TRUE(bool(b));
  using Values = std::vector<fusec::Value>;
  fusec::Value x = b->input("x", fusec::DType::F32, {2, 3});
  fusec::Value zero = b->full(fusec::DType::F32, 0);
  // Sums of rows by an inner scan, then their running sum.
  Values results = b->scan({zero}, {x}, 2, 1, [&](const Values &in) {
    Values row = b->scan({zero}, {in[1]}, 3, 0, [&](const Values &inner) {
      return Values{inner[0] + inner[1]};
    });
    fusec::Value sum = in[0] + row[0];
    return Values{sum, sum};
  });
  ASSERT_EQ(results.size(), 2u);
  // Doubled until at least 100.
  fusec::Value limit = b->full(fusec::DType::F32, 100);
  Values doubled = b->whileLoop(
      {results[0]}, 50,
      [&](const Values &in) { return Values{b->less(in[0], limit)}; },
      [&](const Values &in) { return Values{in[0] + in[0]}; });
  b->output("sums", results[1]);
  b->output("doubled", doubled[0]);
  auto graph = b->finish();
  ASSERT_TRUE(bool(graph)) << graph.error().message();
  fusec_compile_options options = fusec_compile_options_default();
  options.target = FUSEC_TARGET_HOST;
  fusec_executable *raw = nullptr;
  ASSERT_TRUE(ok(fusec_compile(graph->get(), &options, &raw)));
  Executable executable(raw);
  float in[6] = {1, 2, 3, 4, 5, 6}, sums[2] = {}, last = 0;
  fusec_host_array inputs[] = {{in, sizeof(in)}};
  fusec_host_array outputs[] = {{sums, sizeof(sums)}, {&last, sizeof(last)}};
  ASSERT_TRUE(ok(fusec_executable_run_host(raw, inputs, 1, outputs, 2)));
  EXPECT_EQ(sums[0], 6);
  EXPECT_EQ(sums[1], 21);
  EXPECT_EQ(last, 168);
}
