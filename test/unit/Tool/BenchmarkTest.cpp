//===- BenchmarkTest.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Benchmark.h"
#include "gtest/gtest.h"

using fusec::tool::Times;

TEST(Benchmark, TimesAreByNearestRank) {
  std::vector<double> samples;
  for (int i = 100; i > 0; --i)
    samples.push_back(i);
  Times times = Times::of(samples);
  EXPECT_EQ(times.median, 50);
  EXPECT_EQ(times.p10, 10);
  EXPECT_EQ(times.p90, 90);
  EXPECT_EQ(times.least, 1);
  EXPECT_EQ(times.most, 100);
  EXPECT_EQ(times.count, 100);
  times = Times::of({7});
  EXPECT_EQ(times.median, 7);
  EXPECT_EQ(times.p10, 7);
  EXPECT_EQ(times.p90, 7);
}
