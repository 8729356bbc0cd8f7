//===- FaultsTest.cpp - do random graphs see planted faults? --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Faults.h"
#include "gtest/gtest.h"

using namespace fusec;

TEST(Faults, RandomGraphsSeeAllOfThem) {
  std::vector<test::Fault> unseen(test::allFaults());
  uint64_t seed = 0;
  for (; seed < 3000 && !unseen.empty(); ++seed) {
    auto subject = fuzz::generate(seed);
    ASSERT_TRUE(bool(subject)) << llvm::toString(subject.takeError());
    auto bounds = test::boundsOf(*subject);
    llvm::erase_if(unseen, [&](const test::Fault &fault) {
      return test::isSeen(*subject, bounds, fault);
    });
  }
  for (const test::Fault &fault : unseen)
    ADD_FAILURE() << "not seen in 3000 graphs: " << fault.name.str();
  RecordProperty("graphs", std::to_string(seed));
}

/// A fault that changes nothing is not seen: the bounds hold for the evaluator.
TEST(Faults, NoneIsSeenWhereThereIsNone) {
  test::Fault none{"none", [](mlir::func::FuncOp) {}};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    auto subject = fuzz::generate(seed);
    ASSERT_TRUE(bool(subject)) << llvm::toString(subject.takeError());
    EXPECT_FALSE(test::isSeen(*subject, none)) << seed;
  }
}
