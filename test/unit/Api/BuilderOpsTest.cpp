//===- BuilderOpsTest.cpp - what built operators compute ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each case builds one operator on constants or small inputs and runs it on the
// reference evaluator and on the host: the builder must mean what builder.h
// says. The operators themselves are tested with the dialect.
//===----------------------------------------------------------------------===//
#include "ApiTestUtils.h"
#include "fusec/fusec.hpp"

#include <cmath>
#include <functional>

namespace {
/// What a case gets to build with.
struct Ops {
  fusec_builder *b;

  fusec_value floats(std::vector<int64_t> shape, std::vector<float> data) {
    return fusec_builder_constant(b, "c", FUSEC_F32,
                                  static_cast<int32_t>(shape.size()),
                                  shape.data(), data.data(), data.size() * 4);
  }
  fusec_value ints(std::vector<int64_t> shape, std::vector<int64_t> data) {
    return fusec_builder_constant(b, "i", FUSEC_I64,
                                  static_cast<int32_t>(shape.size()),
                                  shape.data(), data.data(), data.size() * 8);
  }
  /// 0, 1, 2, ... as f32.
  fusec_value counting(std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    std::vector<float> data(count);
    for (int64_t i = 0; i < count; ++i)
      data[i] = static_cast<float>(i);
    return floats(std::move(shape), std::move(data));
  }
};
using Body = std::function<fusec_value(Ops &)>;
using Shape = std::vector<int64_t>;
using Floats = std::vector<float>;
} // namespace

/// The result of `body`, cast to f32, on both targets, with its shape.
static void expect(const Shape &shape, const Floats &right, const Body &body,
                   double tolerance = 0) {
  Context context = makeContext();
  Builder builder = makeBuilder(context);
  Ops ops{builder.get()};
  fusec_value value = body(ops);
  value = fusec_builder_cast(ops.b, value, FUSEC_F32);
  fusec_builder_output(ops.b, "y", value);
  Graph graph = finish(builder);
  ASSERT_TRUE(graph);
  fusec_tensor_info info = fusec_tensor_info_default();
  ASSERT_TRUE(ok(fusec_graph_output(graph.get(), 0, &info)));
  EXPECT_EQ(Shape(info.shape, info.shape + info.rank), shape);
  for (fusec_target target : {FUSEC_TARGET_REFERENCE, FUSEC_TARGET_HOST}) {
    Executable executable = compile(graph, target);
    ASSERT_TRUE(executable);
    Floats found = runHost<float, float>(executable, {}, right.size());
    for (size_t i = 0; i < right.size(); ++i)
      EXPECT_NEAR(found[i], right[i], tolerance)
          << "element " << i << " on target " << target;
  }
}

TEST(ApiBuilderOps, UnaryOperatorsAreInTheirOrder) {
  const double x = 0.4;
  const std::pair<fusec_unary, double> cases[] = {
      {FUSEC_ABS, x},
      {FUSEC_NEG, -x},
      {FUSEC_SIGN, 1},
      {FUSEC_FLOOR, 0},
      {FUSEC_CEIL, 1},
      {FUSEC_TRUNC, 0},
      {FUSEC_ROUND, 0},
      {FUSEC_SQRT, std::sqrt(x)},
      {FUSEC_RSQRT, 1 / std::sqrt(x)},
      {FUSEC_CBRT, std::cbrt(x)},
      {FUSEC_EXP, std::exp(x)},
      {FUSEC_EXP2, std::exp2(x)},
      {FUSEC_EXPM1, std::expm1(x)},
      {FUSEC_LOG, std::log(x)},
      {FUSEC_LOG2, std::log2(x)},
      {FUSEC_LOG1P, std::log1p(x)},
      {FUSEC_SIN, std::sin(x)},
      {FUSEC_COS, std::cos(x)},
      {FUSEC_TAN, std::tan(x)},
      {FUSEC_ASIN, std::asin(x)},
      {FUSEC_ACOS, std::acos(x)},
      {FUSEC_ATAN, std::atan(x)},
      {FUSEC_SINH, std::sinh(x)},
      {FUSEC_COSH, std::cosh(x)},
      {FUSEC_TANH, std::tanh(x)},
      {FUSEC_ASINH, std::asinh(x)},
      {FUSEC_ATANH, std::atanh(x)},
      {FUSEC_ERF, std::erf(x)},
      {FUSEC_LOGISTIC, 1 / (1 + std::exp(-x))},
      {FUSEC_RELU, x},
      {FUSEC_SILU, x / (1 + std::exp(-x))},
      {FUSEC_SOFTPLUS, std::log1p(std::exp(x))},
      {FUSEC_GELU, x * 0.5 * std::erfc(-x / std::sqrt(2.0))},
      {FUSEC_GELU_TANH,
       0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)))},
      {FUSEC_IS_NAN, 0},
      {FUSEC_IS_INF, 0}};
  for (auto [op, right] : cases)
    expect(
        {1}, {static_cast<float>(right)},
        [op = op](Ops &o) {
          return fusec_builder_unary(o.b, op, o.floats({1}, {0.4f}));
        },
        2e-6);
  expect(
      {1}, {static_cast<float>(std::acosh(1.5))},
      [](Ops &o) {
        return fusec_builder_unary(o.b, FUSEC_ACOSH, o.floats({1}, {1.5f}));
      },
      2e-6);
  expect({1}, {-6}, [](Ops &o) {
    return fusec_builder_unary(o.b, FUSEC_NOT, o.ints({1}, {5}));
  });
}

TEST(ApiBuilderOps, BinaryOperatorsAreInTheirOrder) {
  const std::pair<fusec_binary, float> cases[] = {
      {FUSEC_ADD, -4},  {FUSEC_SUB, -10}, {FUSEC_MUL, -21},  {FUSEC_DIV, -2},
      {FUSEC_REM, -1},  {FUSEC_MOD, 2},   {FUSEC_POW, -343}, {FUSEC_MAX, 3},
      {FUSEC_MIN, -7},  {FUSEC_AND, 1},   {FUSEC_OR, -5},    {FUSEC_XOR, -6},
      {FUSEC_SHL, -56}, {FUSEC_SHR, -1}};
  for (auto [op, right] : cases)
    expect({1}, {right}, [op = op](Ops &o) {
      return fusec_builder_binary(o.b, op, o.ints({1}, {-7}), o.ints({1}, {3}));
    });
  expect(
      {1}, {static_cast<float>(std::atan2(1.0, 2.0))},
      [](Ops &o) {
        return fusec_builder_binary(o.b, FUSEC_ATAN2, o.floats({1}, {1}),
                                    o.floats({1}, {2}));
      },
      1e-6);
}

TEST(ApiBuilderOps, ShapesBroadcast) {
  expect({2, 2, 3}, {0, 1, 2, 10, 11, 12, 0, 1, 2, 10, 11, 12}, [](Ops &o) {
    fusec_value column = o.floats({2, 1}, {0, 10});
    fusec_value row = o.counting({3});
    fusec_value zeros = o.floats({2, 1, 1}, {0, 0});
    return fusec_builder_binary(
        o.b, FUSEC_ADD, zeros,
        fusec_builder_binary(o.b, FUSEC_ADD, column, row));
  });
  expect({3}, {0, 0, 1}, [](Ops &o) {
    return fusec_builder_compare(o.b, FUSEC_GT, o.counting({3}),
                                 o.floats({}, {1}));
  });
  expect({3}, {7, 7, 2}, [](Ops &o) {
    fusec_value small = fusec_builder_compare(o.b, FUSEC_LE, o.counting({3}),
                                              o.floats({}, {1}));
    return fusec_builder_select(o.b, small, o.floats({}, {7}), o.counting({3}));
  });
  expect({4}, {1, 1, 2, 2}, [](Ops &o) {
    return fusec_builder_clamp(o.b, o.floats({}, {1}), o.counting({4}),
                               o.floats({}, {2}));
  });
}

TEST(ApiBuilderOps, ActivationsTakeTheirNumbers) {
  auto x = [](Ops &o) { return o.floats({2}, {-2, 2}); };
  expect({2}, {-1, 2},
         [&](Ops &o) { return fusec_builder_leaky_relu(o.b, x(o), 0.5); });
  expect(
      {2}, {static_cast<float>(3 * std::expm1(-2.0)), 2},
      [&](Ops &o) { return fusec_builder_elu(o.b, x(o), 3); }, 1e-6);
  expect({2}, {0, 0.75f}, [&](Ops &o) {
    return fusec_builder_hard_sigmoid(o.b, x(o), 0.25, 0.25);
  });
}

TEST(ApiBuilderOps, QuantisationFollowsItsFormula) {
  expect({3}, {-128, 13, 127}, [](Ops &o) {
    const int8_t zero = 3;
    fusec_value z =
        fusec_builder_constant(o.b, "z", FUSEC_I8, 0, nullptr, &zero, 1);
    return fusec_builder_quantize(o.b, o.floats({3}, {-1000, 5, 1000}),
                                  o.floats({}, {0.5f}), z);
  });
  expect({2}, {-2, 1}, [](Ops &o) {
    const int8_t data[] = {-1, 5}, zero = 3;
    const int64_t two[] = {2};
    fusec_value x = fusec_builder_constant(o.b, "x", FUSEC_I8, 1, two, data, 2);
    fusec_value z =
        fusec_builder_constant(o.b, "z", FUSEC_I8, 0, nullptr, &zero, 1);
    return fusec_builder_dequantize(o.b, x, o.floats({}, {0.5f}), z);
  });
}

TEST(ApiBuilderOps, MovementMovesElements) {
  const int64_t three[] = {3, 2}, open[] = {-1, 2};
  const int32_t swapped[] = {1, 0};
  const int64_t from[] = {1, 2}, sizes[] = {1, 2}, back[] = {1, -1};
  const int64_t low[] = {0, 1}, high[] = {1, 0};
  expect({3, 2}, {0, 1, 2, 3, 4, 5}, [&](Ops &o) {
    return fusec_builder_reshape(o.b, o.counting({2, 3}), 2, open);
  });
  expect({3, 2}, {7, 7, 7, 7, 7, 7}, [&](Ops &o) {
    return fusec_builder_broadcast(o.b, o.floats({1}, {7}), 2, three);
  });
  expect({3, 2}, {0, 3, 1, 4, 2, 5}, [&](Ops &o) {
    return fusec_builder_transpose(o.b, o.counting({2, 3}), swapped, 2);
  });
  expect({1, 2}, {5, 4}, [&](Ops &o) {
    return fusec_builder_slice(o.b, o.counting({2, 3}), from, sizes, back, 2);
  });
  expect({3, 3}, {9, 0, 1, 9, 2, 3, 9, 9, 9}, [&](Ops &o) {
    return fusec_builder_pad(o.b, o.counting({2, 2}), o.floats({}, {9}), low,
                             high, 2);
  });
  expect({2, 3}, {0, 1, 0, 2, 3, 1}, [&](Ops &o) {
    fusec_value parts[] = {o.counting({2, 2}), o.counting({2, 1})};
    return fusec_builder_concat(o.b, parts, 2, -1);
  });
  expect({2, 3}, {0, 0, 0, 1, 1, 1}, [&](Ops &o) {
    const int64_t shape[] = {2, 3};
    return fusec_builder_iota(o.b, FUSEC_I32, 2, shape, 0);
  });
  expect({2}, {2.5f, 2.5f}, [&](Ops &o) {
    const int64_t shape[] = {2};
    return fusec_builder_full(o.b, FUSEC_F16, 1, shape, 2.5);
  });
}

TEST(ApiBuilderOps, IndicesGatherAndScatter) {
  expect({2, 2}, {4, 5, 0, 1}, [](Ops &o) {
    return fusec_builder_gather(o.b, o.counting({3, 2}), o.ints({2}, {-1, 0}),
                                0);
  });
  expect({1, 2}, {2, 5}, [](Ops &o) {
    return fusec_builder_gather_elements(o.b, o.counting({3, 2}),
                                         o.ints({1, 2}, {1, 2}), 0);
  });
  expect({2}, {3, 4}, [](Ops &o) {
    return fusec_builder_gather_nd(o.b, o.counting({3, 2}),
                                   o.ints({2, 2}, {1, 1, 2, 0}), 0);
  });
  expect({4}, {0, 1, 32, 3}, [](Ops &o) {
    return fusec_builder_scatter_nd(o.b, FUSEC_SCATTER_ADD, o.counting({4}),
                                    o.ints({2, 1}, {2, 2}),
                                    o.floats({2}, {10, 20}));
  });
  expect({4}, {0, 8, 2, 3}, [](Ops &o) {
    return fusec_builder_scatter_elements(o.b, FUSEC_SCATTER_ASSIGN,
                                          o.counting({4}), o.ints({1}, {1}),
                                          o.floats({1}, {8}), 0);
  });
}

TEST(ApiBuilderOps, ReductionsDropOrKeepDimensions) {
  const int32_t last[] = {-1}, both[] = {1, 0};
  expect({2}, {3, 12}, [&](Ops &o) {
    return fusec_builder_reduce(o.b, FUSEC_SUM, o.counting({2, 3}), last, 1, 0);
  });
  expect({1, 1}, {5}, [&](Ops &o) {
    return fusec_builder_reduce(o.b, FUSEC_REDUCE_MAX, o.counting({2, 3}), both,
                                2, 1);
  });
  expect({2, 1}, {1, 4}, [&](Ops &o) {
    return fusec_builder_mean(o.b, o.counting({2, 3}), last, 1, 1);
  });
  // In f16 the sum alone would be infinite.
  expect({}, {60000}, [&](Ops &o) {
    const int64_t shape[] = {8};
    const int32_t first[] = {0};
    fusec_value big = fusec_builder_full(o.b, FUSEC_F16, 1, shape, 60000);
    return fusec_builder_mean(o.b, big, first, 1, 0);
  });
  expect({2}, {2, 2}, [&](Ops &o) {
    return fusec_builder_arg_reduce(o.b, FUSEC_REDUCE_MAX, o.counting({2, 3}),
                                    1, 0);
  });
  for (int part : {0, 1})
    expect({2, 2}, part ? Floats{2, 1, 2, 1} : Floats{2, 1, 5, 4}, [&](Ops &o) {
      fusec_value results[2];
      fusec_builder_top_k(o.b, FUSEC_REDUCE_MAX, o.counting({2, 3}), 2, 1,
                          results);
      return results[part];
    });
  expect({1, 3}, {0, 0, 0}, [&](Ops &o) {
    fusec_value results[2];
    fusec_builder_top_k(o.b, FUSEC_REDUCE_MIN, o.counting({2, 3}), 1, -2,
                        results);
    return results[1];
  });
  expect({3}, {3, 3, 2}, [&](Ops &o) {
    return fusec_builder_cumulative(o.b, FUSEC_SUM, o.counting({3}), 0, 0, 1);
  });
  expect({1, 2}, {4, 5}, [&](Ops &o) {
    const int64_t size[] = {2, 2};
    fusec_window window = fusec_window_default();
    window.count = 2;
    window.window = size;
    return fusec_builder_window_reduce(o.b, FUSEC_REDUCE_MAX,
                                       o.counting({2, 3}), &window);
  });
}

TEST(ApiBuilderOps, MatrixProductsBroadcast) {
  expect({2, 2}, {10, 13, 28, 40}, [](Ops &o) {
    return fusec_builder_matmul(o.b, o.counting({2, 3}), o.counting({3, 2}));
  });
  expect({2}, {5, 14}, [](Ops &o) {
    return fusec_builder_matmul(o.b, o.counting({2, 3}), o.counting({3}));
  });
  expect({2}, {10, 13}, [](Ops &o) {
    return fusec_builder_matmul(o.b, o.counting({3}), o.counting({3, 2}));
  });
  expect({}, {5}, [](Ops &o) {
    return fusec_builder_matmul(o.b, o.counting({3}), o.counting({3}));
  });
  expect({2, 1, 2}, {2, 3, 6, 11}, [](Ops &o) {
    return fusec_builder_matmul(o.b, o.counting({2, 1, 2}), o.counting({2, 2}));
  });
  expect({2, 1, 2}, {2, 3, 6, 7}, [](Ops &o) {
    return fusec_builder_matmul(o.b, o.counting({1, 2}), o.counting({2, 2, 2}));
  });
  // Rows of lhs with rows of rhs.
  expect({2, 2}, {5, 14, 14, 50}, [](Ops &o) {
    const int32_t one[] = {1};
    fusec_contraction how = fusec_contraction_default();
    how.num_contract = 1;
    how.lhs_contract = how.rhs_contract = one;
    return fusec_builder_contract(o.b, o.counting({2, 3}), o.counting({2, 3}),
                                  &how);
  });
  // 8-bit floats, and the permission to sum them fast.
  // (50 lies between 48 and 52.)
  expect({2, 2}, {5, 14, 14, 48}, [](Ops &o) {
    const int32_t one[] = {1};
    fusec_contraction how = fusec_contraction_default();
    how.num_contract = 1;
    how.lhs_contract = how.rhs_contract = one;
    how.fast_accumulation = 1;
    auto narrow = [&] {
      return fusec_builder_cast(o.b, o.counting({2, 3}), FUSEC_F8E4M3);
    };
    return fusec_builder_cast(
        o.b, fusec_builder_contract(o.b, narrow(), narrow(), &how), FUSEC_F32);
  });
}

TEST(ApiBuilderOps, ConvolutionsTakeBothLayouts) {
  // One channel of 0..8 in a 3x3 image, a 2x2 kernel of ones.
  expect({1, 1, 2, 2}, {8, 12, 20, 24}, [](Ops &o) {
    return fusec_builder_convolution(o.b, o.counting({1, 1, 3, 3}),
                                     o.floats({1, 1, 2, 2}, {1, 1, 1, 1}),
                                     nullptr, 1, FUSEC_CONV_CHANNELS_FIRST, 0);
  });
  // Two channels, [n, h, w, c], kernel [h, w, in, out] that takes their
  // difference; padded by one on the left.
  expect({1, 1, 3, 1}, {0, -1, -1}, [](Ops &o) {
    const int64_t low[] = {0, 1};
    fusec_window window = fusec_window_default();
    window.count = 2;
    window.low = low;
    return fusec_builder_convolution(o.b, o.counting({1, 1, 2, 2}),
                                     o.floats({1, 1, 2, 1}, {1, -1}), &window,
                                     1, FUSEC_CONV_CHANNELS_LAST, 0);
  });
}

TEST(ApiBuilderOps, NormalisationsNormalise) {
  const int32_t last[] = {-1};
  expect({1, 2}, {0.5f, 0.5f}, [&](Ops &o) {
    return fusec_builder_softmax(o.b, o.floats({1, 2}, {3, 3}), last, 1);
  });
  expect(
      {1, 2}, {-std::log(2.0f), -std::log(2.0f)},
      [&](Ops &o) {
        return fusec_builder_log_softmax(o.b, o.floats({1, 2}, {3, 3}), last,
                                         1);
      },
      1e-6);
  expect({1, 2}, {-2 + 5, 2 + 5}, [&](Ops &o) {
    return fusec_builder_layer_norm(o.b, o.floats({1, 2}, {1, 3}),
                                    o.floats({2}, {2, 2}),
                                    o.floats({2}, {5, 5}), 1, 0);
  });
  expect({1, 2}, {-1, 1}, [&](Ops &o) {
    return fusec_builder_layer_norm(o.b, o.floats({1, 2}, {1, 3}),
                                    o.floats({2}, {1, 1}), FUSEC_NO_VALUE, -1,
                                    0);
  });
  expect(
      {1, 2}, {-3, 3},
      [&](Ops &o) {
        return fusec_builder_rms_norm(o.b, o.floats({1, 2}, {-2, 2}),
                                      o.floats({2}, {3, 3}), 1, 0);
      },
      1e-6);
  expect({1, 2}, {5, 9}, [&](Ops &o) {
    auto pair = [&](float a, float b) { return o.floats({2}, {a, b}); };
    return fusec_builder_batch_norm(o.b, o.counting({1, 2}), pair(2, 2),
                                    pair(5, 7), pair(0, 0), pair(1, 1), 1, 0);
  });
}

TEST(ApiBuilderOps, RandomBitsAreThoseOfPhilox) {
  // Counter 0, key 0 of Philox4x32-10.
  Context context = makeContext();
  Builder b = makeBuilder(context);
  const int64_t four[] = {4};
  fusec_value zero = fusec_builder_full(b.get(), FUSEC_U64, 0, nullptr, 0);
  fusec_builder_output(b.get(), "y",
                       fusec_builder_philox(b.get(), zero, zero, 1, four));
  Executable executable = compile(finish(b), FUSEC_TARGET_REFERENCE);
  std::vector<uint32_t> bits = runHost<float, uint32_t>(executable, {}, 4);
  EXPECT_EQ(bits, (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                         0x9b00dbd8}));
}

// Values and indices of both ends, by the C++ builder, on every target that has
// no GPU: NaN first, both zeros equal, of equal elements the lower index.
TEST(ApiBuilderOps, CppTopK) {
  auto context = fusec::Context::create();
  ASSERT_TRUE(bool(context));
  auto b = fusec::GraphBuilder::create(*context);
  ASSERT_TRUE(bool(b));
  fusec::Value x = b->input("x", fusec::DType::F32, {2, 5});
  auto [most, where] = b->topK(fusec::Reduction::Max, x, 3, 1);
  auto [least, whereLeast] = b->topK(fusec::Reduction::Min, x, 1, -2);
  b->output("most", most);
  b->output("where", where);
  b->output("least", least);
  b->output("whereLeast", whereLeast);
  auto graph = b->finish();
  ASSERT_TRUE(bool(graph)) << graph.error().message();
  for (fusec::Target target : {fusec::Target::Reference, fusec::Target::Host,
                               fusec::Target::Emulator}) {
    fusec::CompileOptions options;
    options.target = target;
    auto executable = fusec::compile(*graph, options);
    ASSERT_TRUE(bool(executable)) << executable.error().message();
    Floats in = {-0.0f, 0, -1, NAN, 0, 7, -INFINITY, 7, 8, 7}, mostFound(6),
           leastFound(5);
    std::vector<int64_t> whereFound(6), whereLeastFound(5);
    fusec_host_array inputs[] = {{in.data(), 40}};
    fusec_host_array outputs[] = {{mostFound.data(), 24},
                                  {whereFound.data(), 48},
                                  {leastFound.data(), 20},
                                  {whereLeastFound.data(), 40}};
    ASSERT_TRUE(ok(
        fusec_executable_run_host(executable->get(), inputs, 1, outputs, 4)));
    EXPECT_TRUE(std::isnan(mostFound[0]));
    EXPECT_EQ(Floats(mostFound.begin() + 1, mostFound.end()),
              (Floats{0, 0, 8, 7, 7}));
    EXPECT_TRUE(std::signbit(mostFound[1]));
    EXPECT_EQ(whereFound, (std::vector<int64_t>{3, 0, 1, 3, 0, 2}));
    EXPECT_TRUE(std::isnan(leastFound[3]));
    leastFound[3] = 0;
    EXPECT_EQ(leastFound, (Floats{0, -INFINITY, -1, 0, 0}));
    EXPECT_EQ(whereLeastFound, (std::vector<int64_t>{0, 1, 0, 0, 0}));
  }
}
