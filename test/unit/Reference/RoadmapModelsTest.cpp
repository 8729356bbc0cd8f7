//===- RoadmapModelsTest.cpp - models of the road map in the evaluator ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each graph of the road map against plain loops in double.
//===----------------------------------------------------------------------===//
#include "RoadmapTestUtils.h"
#include "gtest/gtest.h"
#include <array>
#include <cmath>

using namespace fusec;
using namespace fusec::reference::test;

//===----------------------------------------------------------------------===//
// LSTM
//===----------------------------------------------------------------------===//

TEST(Roadmap, LstmAsScan) {
  Array xs({5, 2, 3}, 1), h0({2, 4}, 2), c0({2, 4}, 3), wx({3, 16}, 4),
      wh({4, 16}, 5), bias({16}, 6);
  reference::test::Expected states({5, 2, 4}), h({2, 4}), c({2, 4});
  for (int b = 0; b < 2; ++b)
    for (int j = 0; j < 4; ++j) {
      h(b, j) = h0(b, j);
      c(b, j) = c0(b, j);
    }
  for (int t = 0; t < 5; ++t)
    for (int b = 0; b < 2; ++b) {
      double gates[16];
      for (int g = 0; g < 16; ++g) {
        gates[g] = bias(g);
        for (int i = 0; i < 3; ++i)
          gates[g] += xs(t, b, i) * wx(i, g);
        for (int i = 0; i < 4; ++i)
          gates[g] += h(b, i) * wh(i, g);
      }
      for (int j = 0; j < 4; ++j) {
        c(b, j) = logistic(gates[4 + j]) * c(b, j) +
                  logistic(gates[j]) * std::tanh(gates[8 + j]);
        h(b, j) = logistic(gates[12 + j]) * std::tanh(c(b, j));
        states(t, b, j) = h(b, j);
      }
    }
  runRoadmap(
      "lstm",
      {xs.tensor, h0.tensor, c0.tensor, wx.tensor, wh.tensor, bias.tensor},
      [&](const std::vector<HostTensor> &results) {
        ASSERT_EQ(results.size(), 3u);
        expectNear(results[0], states, "states");
        expectNear(results[1], h, "hidden");
        expectNear(results[2], c, "cell");
      });
}

//===----------------------------------------------------------------------===//
// Mixture of experts
//===----------------------------------------------------------------------===//

static double geluTanh(double x) {
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST(Roadmap, MixtureOfExpertsDropsBeyondTheCapacity) {
  Array tokens({8, 4}, 31), router({4, 3}, 32), w({3, 4, 4}, 33);
  reference::test::Expected result({8, 4});
  std::vector<int64_t> slots;
  int64_t counts[3] = {}, droppedTokens = 0;
  for (int t = 0; t < 8; ++t) {
    double logits[3] = {}, sum = 0;
    for (int e = 0; e < 3; ++e)
      for (int d = 0; d < 4; ++d)
        logits[e] += tokens(t, d) * router(d, e);
    int64_t best = std::max_element(logits, logits + 3) - logits;
    for (double logit : logits)
      sum += std::exp(logit - logits[best]);
    int64_t place = counts[best]++;
    slots.push_back(place < 2 ? best * 2 + place : 6);
    if (place >= 2) {
      ++droppedTokens;
      continue;
    }
    for (int o = 0; o < 4; ++o) {
      double hidden = 0;
      for (int d = 0; d < 4; ++d)
        hidden += tokens(t, d) * w(best, d, o);
      result(t, o) = geluTanh(hidden) / sum;
    }
  }
  ASSERT_GT(droppedTokens, 0);
  runRoadmap("mixture_of_experts", {tokens.tensor, router.tensor, w.tensor},
             [&](const std::vector<HostTensor> &results) {
               ASSERT_EQ(results.size(), 2u);
               expectNear(results[0], result, "tokens");
               EXPECT_EQ(asWholes(results[1]), slots);
             });
}

//===----------------------------------------------------------------------===//
// Batch normalisation in training
//===----------------------------------------------------------------------===//

TEST(Roadmap, BatchNormTraining) {
  Array x({4, 3, 5, 2}, 41, -2, 3), scale({3}, 42), bias({3}, 43),
      runMean({3}, 44), runVar({3}, 45, 0.5, 2), grad({4, 3, 5, 2}, 46);
  reference::test::Expected y({4, 3, 5, 2}), nextMean({3}), nextVar({3}),
      dx({4, 3, 5, 2});
  for (int64_t c = 0; c < 3; ++c) {
    auto each = [&](auto body) {
      for (int64_t n = 0; n < 4; ++n)
        for (int64_t i = 0; i < 5; ++i)
          for (int64_t j = 0; j < 2; ++j)
            body(n, i, j);
    };
    double mean = 0, variance = 0, meanGrad = 0, meanProduct = 0;
    each([&](auto n, auto i, auto j) { mean += x(n, c, i, j) / 40; });
    each([&](auto n, auto i, auto j) {
      variance += std::pow(x(n, c, i, j) - mean, 2) / 40;
    });
    double deviation = std::sqrt(variance + 1e-5);
    each([&](auto n, auto i, auto j) {
      meanGrad += grad(n, c, i, j) / 40;
      meanProduct += grad(n, c, i, j) * (x(n, c, i, j) - mean) / deviation / 40;
    });
    each([&](auto n, auto i, auto j) {
      double unit = (x(n, c, i, j) - mean) / deviation;
      y(n, c, i, j) = unit * scale(c) + bias(c);
      dx(n, c, i, j) = scale(c) / deviation *
                       (grad(n, c, i, j) - meanGrad - unit * meanProduct);
    });
    nextMean(c) = 0.9 * runMean(c) + 0.1 * mean;
    nextVar(c) = 0.9 * runVar(c) + 0.1 * variance * 40 / 39;
  }
  runRoadmap("batch_norm_training",
             {x.tensor, scale.tensor, bias.tensor, runMean.tensor,
              runVar.tensor, grad.tensor},
             [&](const std::vector<HostTensor> &results) {
               ASSERT_EQ(results.size(), 4u);
               expectNear(results[0], y, "result");
               expectNear(results[1], nextMean, "running mean");
               expectNear(results[2], nextVar, "running variance");
               expectNear(results[3], dx, "gradient");
             });
}

//===----------------------------------------------------------------------===//
// Attention with dropout
//===----------------------------------------------------------------------===//

/// Philox4x32-10 of the published constants.
static std::array<uint32_t, 4> philox(uint64_t counter, uint64_t key) {
  uint32_t x[4] = {uint32_t(counter), uint32_t(counter >> 32), 0, 0};
  uint32_t k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53u) * x[0], b = uint64_t(0xCD9E8D57u) * x[2];
    uint32_t next[4] = {uint32_t(b >> 32) ^ x[1] ^ k0, uint32_t(b),
                        uint32_t(a >> 32) ^ x[3] ^ k1, uint32_t(a)};
    std::copy(next, next + 4, x);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {x[0], x[1], x[2], x[3]};
}

TEST(Roadmap, PhiloxHelperGivesThePublishedVector) {
  EXPECT_EQ(philox(0, 0), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d,
                                                   0xbc57ac4c, 0x9b00dbd8}));
}

TEST(Roadmap, AttentionWithDropout) {
  Array q({2, 2, 6, 4}, 51), k({2, 2, 6, 4}, 52), v({2, 2, 6, 4}, 53);
  uint64_t seed = 0x123456789abcdef0, offset = (uint64_t(7) << 32) - 3;
  reference::test::Expected out({2, 2, 6, 4});
  std::vector<int64_t> kept;
  for (int b = 0; b < 2; ++b)
    for (int h = 0; h < 2; ++h)
      for (int i = 0; i < 6; ++i) {
        double weights[6] = {}, sum = 0;
        for (int j = 0; j <= i; ++j) {
          double score = 0;
          for (int d = 0; d < 4; ++d)
            score += q(b, h, i, d) * k(b, h, j, d);
          weights[j] = std::exp(score / 2);
          sum += weights[j];
        }
        for (int j = 0; j < 6; ++j) {
          uint64_t number = ((b * 2 + h) * 6 + i) * 6 + j;
          bool keep =
              philox(offset + number / 4, seed)[number % 4] >= (1u << 30);
          kept.push_back(keep);
          for (int d = 0; keep && d < 4; ++d)
            out(b, h, i, d) += weights[j] / sum * 4 / 3 * v(b, h, j, d);
        }
      }
  runRoadmap("attention_dropout",
             {q.tensor, k.tensor, v.tensor,
              wholes(DType::U64, {}, {int64_t(seed)}),
              wholes(DType::U64, {}, {int64_t(offset)})},
             [&](const std::vector<HostTensor> &results) {
               ASSERT_EQ(results.size(), 2u);
               expectNear(results[0], out, "attention");
               EXPECT_EQ(asWholes(results[1]), kept);
             });
}
