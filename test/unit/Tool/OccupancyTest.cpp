//===- OccupancyTest.cpp --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expected numbers are those of NVIDIA's occupancy tables for compute
// capability 8.0 and 9.0.
//===----------------------------------------------------------------------===//
#include "fusec/Session/Occupancy.h"
#include "gtest/gtest.h"

using namespace fusec;
using namespace fusec::session;

TEST(Occupancy, ThreadsFillAMultiprocessor) {
  Occupancy full = occupancy(TargetInfo::h200(), 256, 32, 0);
  EXPECT_EQ(full.blocks, 8u);
  EXPECT_EQ(full.fraction, 1);
  EXPECT_EQ(full.limit, "threads");
}

TEST(Occupancy, RegistersRunOut) {
  Occupancy some = occupancy(TargetInfo::h200(), 256, 128, 0);
  EXPECT_EQ(some.blocks, 2u);
  EXPECT_EQ(some.fraction, 0.25);
  EXPECT_EQ(some.limit, "registers");
  // 33 registers are given as 40.
  EXPECT_EQ(occupancy(TargetInfo::h200(), 256, 33, 0).blocks, 6u);
  EXPECT_EQ(occupancy(TargetInfo::h200(), 1024, 255, 0).blocks, 0u);
}

TEST(Occupancy, SharedMemoryRunsOut) {
  // A block may have all but the KiB that the system takes.
  Occupancy one = occupancy(TargetInfo::h200(), 128, 32, 227 * 1024);
  EXPECT_EQ(one.blocks, 1u);
  EXPECT_EQ(one.limit, "shared memory");
  EXPECT_EQ(occupancy(TargetInfo::h200(), 128, 32, 227 * 1024 + 1).blocks, 0u);
  EXPECT_EQ(occupancy(TargetInfo::h200(), 128, 32, 56 * 1024).blocks, 4u);
  EXPECT_EQ(occupancy(TargetInfo::a100(), 128, 32, 40 * 1024).blocks, 4u);
}

TEST(Occupancy, SmallBlocksRunOutOfSlots) {
  for (uint32_t threads : {0u, 1u, 31u, 32u}) {
    Occupancy half = occupancy(TargetInfo::a100(), threads, 16, 0);
    EXPECT_EQ(half.blocks, 32u) << threads;
    EXPECT_EQ(half.fraction, 0.5);
    EXPECT_EQ(half.limit, "blocks");
  }
}
