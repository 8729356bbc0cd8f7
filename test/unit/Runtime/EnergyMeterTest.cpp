//===- EnergyMeterTest.cpp ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Runtime/Cuda/EnergyMeter.h"
#include "gtest/gtest.h"

#include <cstdlib>

using fusec::runtime::EnergyMeter;

static std::string errorOf(const char *library, const char *bus) {
  ::setenv("FUSEC_NVML", library, 1);
  auto meter = EnergyMeter::open(bus);
  return meter ? "" : llvm::toString(meter.takeError());
}

TEST(EnergyMeter, CountsJoules) {
  ::setenv("FUSEC_NVML", FUSEC_FAKE_NVML, 1);
  auto meter = EnergyMeter::open("0000:18:00.0");
  ASSERT_TRUE(bool(meter)) << llvm::toString(meter.takeError());
  auto before = meter->joules();
  ASSERT_TRUE(bool(before)) << llvm::toString(before.takeError());
  auto after = meter->joules();
  ASSERT_TRUE(bool(after)) << llvm::toString(after.takeError());
  EXPECT_DOUBLE_EQ(*after - *before, 1.5);
}

TEST(EnergyMeter, SaysWhatIsMissing) {
  EXPECT_NE(errorOf("/none", "0000:18:00.0").find("cannot open NVML"),
            std::string::npos);
  EXPECT_EQ(errorOf(FUSEC_FAKE_NVML, "0000:20:00.0"),
            "nvmlDeviceGetHandleByPciBusId_v2 failed: Not Found");
  EXPECT_EQ(errorOf(FUSEC_FAKE_NVML, "0000:19:00.0"),
            "nvmlDeviceGetTotalEnergyConsumption failed: Not Supported");
  EXPECT_EQ(errorOf(FUSEC_FAKE_NVML, ""),
            "the driver does not say which GPU it is");
  // A library that is there and is another one.
  EXPECT_EQ(errorOf("libm.so.6", "0000:18:00.0"),
            "NVML lacks a function for energy");
}
