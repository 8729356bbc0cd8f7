//===- ReduceTest.cpp - planted faults are reduced to their op ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Reduce/Reduce.h"
#include "Faults.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "gtest/gtest.h"

using namespace fusec;
using namespace fusec::reduce;

static Case parsed(llvm::StringRef text) {
  auto model = session::parseModel(text, "test");
  if (!model)
    llvm::report_fatal_error(model.takeError());
  Case subject{std::move(*model), {}};
  fuzz::Rng rng(1);
  for (const runtime::TensorSpec &spec : subject.model.inputs)
    subject.inputs.push_back(fuzz::randomValues(rng, spec.dtype, spec.shape));
  return subject;
}

static std::string textOf(const Case &subject) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const_cast<session::Model &>(subject.model).module->print(os);
  return text;
}

static const test::Fault &fault(llvm::StringRef name) {
  for (const test::Fault &one : test::allFaults())
    if (one.name == name)
      return one;
  llvm::report_fatal_error("no such fault");
}

/// A graph of several ops, shapes and types around one subtraction.
static const char *kGraph = R"(
func.func @f(%x: tensor<6x35xbf16>, %y: tensor<35xbf16>) -> (tensor<35x6xbf16>, tensor<6xbf16>) {
  %b = graph.broadcast %y [1] : tensor<35xbf16> -> tensor<6x35xbf16>
  %e = graph.tanh %x : tensor<6x35xbf16>
  %d = graph.sub %e, %b : tensor<6x35xbf16>
  %a = graph.abs %d : tensor<6x35xbf16>
  %t = graph.transpose %a [1, 0] : tensor<6x35xbf16> -> tensor<35x6xbf16>
  %s = graph.reduce sum %x [1] : tensor<6x35xbf16> -> tensor<6xbf16>
  return %t, %s : tensor<35x6xbf16>, tensor<6xbf16>
})";

TEST(Reduce, LeavesTheOpAtFault) {
  Case subject = parsed(kGraph);
  Report report;
  auto smallest = reduce::reduce(
      subject,
      [](const Case &c) { return test::isSeen(c, fault("add for sub")); }, {},
      report);
  ASSERT_TRUE(bool(smallest)) << llvm::toString(smallest.takeError());
  EXPECT_EQ(report.opsBefore, 6);
  EXPECT_EQ(report.opsAfter, 1);
  EXPECT_EQ(report.elementsAfter, 2) << textOf(*smallest);
  EXPECT_NE(textOf(*smallest).find("graph.sub"), std::string::npos);
  EXPECT_NE(textOf(*smallest).find("f32"), std::string::npos);
  EXPECT_FALSE(report.timeOver);
}

TEST(Reduce, IsDeterministic) {
  std::string texts[2];
  for (std::string &text : texts) {
    Report report;
    auto smallest = reduce::reduce(
        parsed(kGraph),
        [](const Case &c) { return test::isSeen(c, fault("lost abs")); }, {},
        report);
    ASSERT_TRUE(bool(smallest));
    text = textOf(*smallest);
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(Reduce, KeepsWhatTheCheckNeeds) {
  Report report;
  auto smallest = reduce::reduce(
      parsed(kGraph),
      [](const Case &c) {
        std::string text = textOf(c);
        return text.find("graph.transpose") != std::string::npos &&
               text.find("graph.tanh") != std::string::npos;
      },
      {}, report);
  ASSERT_TRUE(bool(smallest)) << llvm::toString(smallest.takeError());
  EXPECT_LE(report.opsAfter, 3) << textOf(*smallest);
}

TEST(Reduce, RefusesACaseThatDoesNotFail) {
  Report report;
  auto smallest = reduce::reduce(
      parsed(kGraph), [](const Case &) { return false; }, {}, report);
  EXPECT_EQ(llvm::toString(smallest.takeError()),
            "the graph does not fail the check");
}

TEST(Reduce, EndsWhenTheTimeIsOver) {
  Report report;
  Options options;
  options.seconds = 1e-9;
  auto smallest = reduce::reduce(
      parsed(kGraph), [](const Case &) { return true; }, options, report);
  ASSERT_TRUE(bool(smallest));
  EXPECT_TRUE(report.timeOver);
  EXPECT_EQ(report.opsAfter, 6);
}

/// Of any random graph that shows a fault little is left.
TEST(Reduce, MakesRandomGraphsSmall) {
  const test::Fault &swapped = fault("swapped sub");
  int64_t reduced = 0, before = 0, after = 0;
  for (uint64_t seed = 0; seed < 400 && reduced < 5; ++seed) {
    auto subject = fuzz::generate(seed);
    ASSERT_TRUE(bool(subject));
    if (!test::isSeen(*subject, swapped))
      continue;
    Report report;
    auto smallest = reduce::reduce(
        *subject, [&](const Case &c) { return test::isSeen(c, swapped); }, {},
        report);
    ASSERT_TRUE(bool(smallest));
    EXPECT_LE(report.opsAfter, 3) << seed << '\n' << textOf(*smallest);
    before += report.opsBefore;
    after += report.opsAfter;
    ++reduced;
  }
  EXPECT_EQ(reduced, 5);
  EXPECT_LT(after * 3, before);
}
