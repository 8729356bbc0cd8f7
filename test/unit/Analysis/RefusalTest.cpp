//===- RefusalTest.cpp - every reason has words ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/Refusal.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"

using namespace fusec::analysis;

namespace {

TEST(Refusal, EveryReasonHasANameASentenceAndARemedy) {
  llvm::StringSet<> names, sentences;
  for (unsigned i = 0;
       i <= static_cast<unsigned>(RefusalReason::NoSchedule); ++i) {
    Refusal refusal{static_cast<RefusalReason>(i)};
    EXPECT_TRUE(names.insert(name(refusal.reason)).second);
    EXPECT_TRUE(sentences.insert(refusal.sentence()).second);
    EXPECT_FALSE(refusal.remedy().empty());
    EXPECT_NE(refusal.sentence().back(), '.');
  }
}

TEST(Refusal, SentencesCarryTheirData) {
  Refusal axes{RefusalReason::ReductionAxesDiffer, nullptr, {1}, {0, 2}};
  EXPECT_EQ(
      axes.sentence(),
      "an op reduces axes [0, 2] of its operand where the kernel's longest "
      "reduction reduces [1]");
  Refusal shapes{RefusalReason::OutputShapesDiffer, nullptr, {512}, {4, -1}};
  EXPECT_EQ(shapes.sentence(), "a result of an op has shape [4, ?] where the "
                               "kernel iterates over [512]");
  Refusal halo{RefusalReason::HaloTooLarge, nullptr, {}, {}, 2.5};
  EXPECT_EQ(halo.sentence(), "tiles of an op grow 2.50 times by their halo");
}

} // namespace
