//===- ConvTest.cpp - convolutions on the contraction skeleton ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two im2col forms against a direct convolution in float64.
//===----------------------------------------------------------------------===//
#include "fusec/Embedded/GemmSkeleton.h"
#include "fusec/Embedded/SkeletonConvHoles.h"
#include "fusec/Runtime/Emulator/EmulatorModule.h"
#include "fusec/Support/Numeric.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace fusec;
using namespace fusec::runtime;

namespace {

/// As the device struct of that name.
struct ConvShape {
  int32_t images, h, w, c, o, r, s, p, q, stride, pad, dilation;

  ConvShape(int images, int h, int w, int c, int o, int r, int s, int stride,
            int pad, int dilation)
      : images(images), h(h), w(w), c(c), o(o), r(r), s(s),
        p((h + 2 * pad - dilation * (r - 1) - 1) / stride + 1),
        q((w + 2 * pad - dilation * (s - 1) - 1) / stride + 1), stride(stride),
        pad(pad), dilation(dilation) {}
};

class Conv {
public:
  Conv(ConvShape v, bool channelsLast)
      : v(v), last(channelsLast), x(size_t(v.images) * v.h * v.w * v.c),
        weights(size_t(v.o) * v.c * v.r * v.s),
        y(size_t(v.images) * v.o * v.p * v.q, NAN) {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> draw(-1, 1);
    for (uint16_t &e : x)
      e = encodeFloat(DType::F16, draw(random));
    for (uint16_t &e : weights)
      e = encodeFloat(DType::F16, draw(random));
  }

  void check() {
    run();
    if (testing::Test::HasFailure())
      return;
    for (int i = 0; i < v.images; ++i)
      for (int o = 0; o < v.o; ++o)
        for (int p = 0; p < v.p; ++p)
          for (int q = 0; q < v.q; ++q) {
            auto [sum, size] = reference(i, o, p, q);
            float got = last ? y[((size_t(i) * v.p + p) * v.q + q) * v.o + o]
                             : y[((size_t(i) * v.o + o) * v.p + p) * v.q + q];
            ASSERT_LE(std::abs(got - sum),
                      size * (v.c * v.r * v.s + 1) * 0x1p-24)
                << i << ", " << o << ", " << p << ", " << q;
          }
  }

private:
  void run() {
    const char *entry = last ? "conv_nhwc" : "conv_nchw";
    EmulatorCompileOptions options;
    options.preamble = embedded::kGemmSkeleton;
    auto module = EmulatorModule::compile(
        {EmulatorKernel{entry, embedded::kSkeletonConvHoles}}, options);
    ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
    EmulatorMemory memory;
    void *pointers[] = {x.data(), weights.data(), y.data()};
    size_t bytes[] = {x.size() * 2, weights.size() * 2, y.size() * 4};
    for (int i = 0; i < 3; ++i) {
      std::string error = llvm::toString(memory.registerBuffer(
          pointers[i], bytes[i], i < 2 ? "input" : "output",
          i < 2 ? EmulatorMemory::Contents::Initialised
                : EmulatorMemory::Contents::Uninitialised));
      ASSERT_EQ(error, "");
    }
    auto tiles = [](int extent) { return uint32_t(extent + 63) / 64; };
    EmulatorLaunch launch;
    launch.entry = entry;
    launch.grid = {last ? tiles(v.images * v.p * v.q) * tiles(v.o)
                        : tiles(v.o) * tiles(v.p * v.q) * v.images,
                   1, 1};
    launch.threads = 128;
    launch.dynamicSharedBytes = 3 * 128 * 32 * 2;
    void *args[] = {&pointers[0], &pointers[1], &pointers[2], &v};
    launch.args = args;
    EXPECT_EQ(llvm::toString((*module)->launch(launch, memory.buffers())), "");
  }

  /// The sum, and the sum of absolute values.
  std::pair<double, double> reference(int i, int o, int p, int q) const {
    double sum = 0, size = 0;
    for (int c = 0; c < v.c; ++c)
      for (int r = 0; r < v.r; ++r)
        for (int s = 0; s < v.s; ++s) {
          int h = p * v.stride - v.pad + r * v.dilation;
          int w = q * v.stride - v.pad + s * v.dilation;
          if (h < 0 || h >= v.h || w < 0 || w >= v.w)
            continue;
          size_t xi = last ? ((size_t(i) * v.h + h) * v.w + w) * v.c + c
                           : ((size_t(i) * v.c + c) * v.h + h) * v.w + w;
          size_t wi = last ? ((size_t(o) * v.r + r) * v.s + s) * v.c + c
                           : ((size_t(o) * v.c + c) * v.r + r) * v.s + s;
          double term = decodeFloat(DType::F16, x[xi]) *
                        decodeFloat(DType::F16, weights[wi]);
          sum += term, size += std::abs(term);
        }
    return {sum, size};
  }

  ConvShape v;
  bool last;
  std::vector<uint16_t> x, weights;
  std::vector<float> y;
};

TEST(SkeletonConv, CopiesGroupsOfChannels) {
  Conv(ConvShape(2, 9, 7, 16, 24, 3, 3, 1, 1, 1), true).check();
  Conv(ConvShape(1, 11, 13, 8, 70, 5, 3, 2, 2, 1), true).check();
  Conv(ConvShape(3, 8, 8, 24, 5, 3, 3, 1, 2, 2), true).check();
  Conv(ConvShape(1, 5, 5, 40, 8, 1, 1, 1, 0, 1), true).check();
}

TEST(SkeletonConv, GathersSingleElements) {
  Conv(ConvShape(2, 9, 7, 3, 70, 3, 3, 1, 1, 1), false).check();
  Conv(ConvShape(1, 11, 13, 5, 11, 5, 3, 2, 2, 1), false).check();
  Conv(ConvShape(3, 8, 10, 7, 5, 3, 3, 1, 2, 2), false).check();
  Conv(ConvShape(1, 1, 1, 1, 1, 3, 3, 1, 1, 1), false).check();
}

} // namespace
