//===- RoadmapGraphicsTest.cpp - neural graphics in the evaluator ---------===//
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
// NGP
//===----------------------------------------------------------------------===//

namespace {
struct Ngp {
  Array origin{{4, 3}, 1, 0.05, 0.2}, direction{{4, 3}, 2, 0.1, 0.7},
      table{{64, 2}, 3}, w1{{2, 8}, 4, -2, 2}, w2{{8, 4}, 5, -2, 4};

  /// Interpolated features at a point.
  std::array<double, 2> encode(const std::array<double, 3> &point) const {
    std::array<double, 2> code = {0, 0};
    for (int corner = 0; corner < 8; ++corner) {
      const uint32_t primes[] = {1, 2654435761u, 805459861u};
      uint32_t hash = 0;
      double weight = 1;
      for (int d = 0; d < 3; ++d) {
        double scaled = point[d] * 7, cell = std::floor(scaled);
        uint32_t far = corner >> (2 - d) & 1;
        hash ^= (static_cast<uint32_t>(cell) + far) * primes[d];
        weight *= far ? scaled - cell : 1 - (scaled - cell);
      }
      for (int f = 0; f < 2; ++f)
        code[f] += weight * table(hash % 64, f);
    }
    return code;
  }

  /// Density and colour before their activations.
  std::array<double, 4> network(const std::array<double, 2> &code) const {
    std::array<double, 4> out = {0, 0, 0, 0};
    for (int h = 0; h < 8; ++h) {
      double hidden = std::max(0.0, code[0] * w1(0, h) + code[1] * w1(1, h));
      for (int o = 0; o < 4; ++o)
        out[o] += hidden * w2(h, o);
    }
    return out;
  }
};
} // namespace

TEST(Roadmap, NgpEndsEachRayAtItsOwnStep) {
  Ngp ngp;
  reference::test::Expected color({4, 3}), transmittance({4});
  int64_t longest = 0, shortest = 16;
  for (int ray = 0; ray < 4; ++ray) {
    double trans = 1;
    int64_t step = 0;
    for (; step < 16 && trans >= 0.125; ++step) {
      std::array<double, 3> point;
      for (int d = 0; d < 3; ++d)
        point[d] = ngp.origin(ray, d) + ngp.direction(ray, d) * step / 16;
      auto out = ngp.network(ngp.encode(point));
      double pass = std::exp(-std::exp(out[0]) / 16);
      for (int c = 0; c < 3; ++c)
        color(ray, c) += trans * (1 - pass) * logistic(out[1 + c]);
      trans *= pass;
    }
    transmittance(ray) = trans;
    longest = std::max(longest, step);
    shortest = std::min(shortest, step);
  }
  // The data must exercise rays that end at different steps.
  ASSERT_LT(shortest, longest);
  runRoadmap("ngp",
             {ngp.origin.tensor, ngp.direction.tensor, ngp.table.tensor,
              ngp.w1.tensor, ngp.w2.tensor},
             [&](const std::vector<HostTensor> &results) {
               ASSERT_EQ(results.size(), 3u);
               expectNear(results[0], color, "colour");
               expectNear(results[1], transmittance, "transmittance");
               EXPECT_EQ(results[2].getI64(0), longest);
             });
}

//===----------------------------------------------------------------------===//
// Plenoxels
//===----------------------------------------------------------------------===//

TEST(Roadmap, PlenoxelsSkipEmptyVoxels) {
  Array points({5, 3}, 11, 0, 0.99), view({5, 3}, 12), data({20, 13}, 13);
  std::vector<int64_t> values(216);
  for (int64_t i = 0; i < 216; ++i)
    values[i] = i * 7 % 3 == 0 ? -1 : i * 11 % 20;
  HostTensor links = wholes(DType::I32, {6, 6, 6}, values);
  reference::test::Expected density({5}), rgb({5, 3});
  for (int p = 0; p < 5; ++p) {
    double mixed[13] = {};
    for (int corner = 0; corner < 8; ++corner) {
      int64_t at = 0;
      double weight = 1;
      for (int d = 0; d < 3; ++d) {
        double scaled = points(p, d) * 5, cell = std::floor(scaled);
        int far = corner >> (2 - d) & 1;
        at = at * 6 + int64_t(cell) + far;
        weight *= far ? scaled - cell : 1 - (scaled - cell);
      }
      if (values[at] >= 0)
        for (int f = 0; f < 13; ++f)
          mixed[f] += weight * data(values[at], f);
    }
    density(p) = std::max(0.0, mixed[0]);
    const double c0 = 0.28209479177387814, c1 = 0.48860251190291992;
    double basis[] = {c0, -c1 * view(p, 1), c1 * view(p, 2), -c1 * view(p, 0)};
    for (int c = 0; c < 3; ++c) {
      double sum = 0;
      for (int b = 0; b < 4; ++b)
        sum += mixed[1 + 4 * c + b] * basis[b];
      rgb(p, c) = logistic(sum);
    }
  }
  runRoadmap("plenoxels", {points.tensor, view.tensor, links, data.tensor},
             [&](const std::vector<HostTensor> &results) {
               ASSERT_EQ(results.size(), 2u);
               expectNear(results[0], density, "density");
               expectNear(results[1], rgb, "colour");
             });
}

//===----------------------------------------------------------------------===//
// Shading rate
//===----------------------------------------------------------------------===//

/// An image whose contrast grows from tile to tile.
static Array contrastImage() {
  Array noise({16, 12, 3}, 21, 0, 1);
  HostTensor image = noise.tensor.clone();
  for (int64_t y = 0; y < 16; ++y)
    for (int64_t x = 0; x < 12; ++x)
      for (int64_t c = 0; c < 3; ++c) {
        double contrast = (y / 4 * 3 + x / 4) / 12.0;
        image.setF64((y * 12 + x) * 3 + c,
                     0.5 + contrast * (noise(y, x, c) - 0.5));
      }
  return Array(image);
}

TEST(Roadmap, ShadingRateFollowsTheVariance) {
  Array image = contrastImage();
  auto luma = [&](int64_t y, int64_t x) {
    return 0.25 * image(y, x, 0) + 0.625 * image(y, x, 1) +
           0.125 * image(y, x, 2);
  };
  std::vector<int64_t> rates, shaded;
  int64_t seen[5] = {};
  for (int64_t tile = 0; tile < 12; ++tile) {
    double mean = 0, variance = 0;
    int64_t y0 = tile / 3 * 4, x0 = tile % 3 * 4;
    for (int64_t i = 0; i < 16; ++i)
      mean += luma(y0 + i / 4, x0 + i % 4) / 16;
    for (int64_t i = 0; i < 16; ++i)
      variance += std::pow(luma(y0 + i / 4, x0 + i % 4) - mean, 2) / 16;
    rates.push_back(variance >= 0.02 ? 1 : variance >= 0.002 ? 2 : 4);
    ++seen[rates.back()];
  }
  ASSERT_TRUE(seen[1] && seen[2] && seen[4]) << "all rates must occur";
  reference::test::Expected result({16, 12, 3});
  for (int64_t y = 0; y < 16; ++y)
    for (int64_t x = 0; x < 12; ++x) {
      int64_t rate = rates[y / 4 * 3 + x / 4];
      shaded.push_back(y % rate == 0 && x % rate == 0);
      for (int64_t c = 0; c < 3; ++c)
        result(y, x, c) = image(y / rate * rate, x / rate * rate, c);
    }
  runRoadmap("shading_rate", {image.tensor},
             [&](const std::vector<HostTensor> &results) {
               ASSERT_EQ(results.size(), 3u);
               EXPECT_EQ(asWholes(results[0]), rates);
               EXPECT_EQ(asWholes(results[1]), shaded);
               expectNear(results[2], result, "image");
             });
}
