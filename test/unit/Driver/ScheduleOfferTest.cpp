//===- ScheduleOfferTest.cpp - every candidate is right -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows, stencils and plans in each way in which a search may build them.
//===----------------------------------------------------------------------===//
#include "Differential.h"

#include <set>

using namespace fusec;
using namespace fusec::test;

namespace {
/// Takes the candidate at one position everywhere, and remembers what was
/// offered.
struct Taking final : ScheduleChooser {
  explicit Taking(size_t position) : position(position) {}
  ScheduleAnswer choose(const ScheduleQuestion &question) const override {
    std::set<std::string> names;
    for (const ScheduleCandidate &candidate : question.candidates) {
      names.insert(candidate.name);
      most = std::max(most, question.candidates.size());
    }
    EXPECT_EQ(names.size(), question.candidates.size()) << "names tell apart";
    return {position < question.candidates.size() ? position : 0, ""};
  }
  size_t position;
  mutable size_t most = 0;
};

/// Checks `text` with each candidate; how many there were.
size_t checkEach(const std::string &text, DifferentialOptions options) {
  size_t count = 1;
  for (size_t i = 0; i < count; ++i) {
    auto chooser = std::make_shared<Taking>(i);
    options.chooser = chooser;
    SCOPED_TRACE("candidate " + std::to_string(i));
    checkGraph(text, options);
    count = std::max(count, chooser->most);
  }
  return count;
}

std::string softmax(const std::string &sizes, int axis) {
  std::string type = "tensor<" + sizes + ">";
  return "func.func @f(%x: " + type + ") -> " + type +
         " { %y = graph.softmax %x [" + std::to_string(axis) + "] : " + type +
         " return %y : " + type + " }";
}
} // namespace

TEST(ScheduleOffer, Rows) {
  // An exponential, a sum and a quotient in f32: 150 roundings of 2^-24.
  Tolerance close{1e-5, 1e-6};
  // Rows that share a warp, have one, and share a block; odd ones with their
  // ends apart; rows across memory; one that many blocks share.
  EXPECT_GT(checkEach(softmax("70x20xf32", 1), {close, true}), 1u);
  EXPECT_GT(checkEach(softmax("7x1025xf32", 1), {close, true}), 1u);
  EXPECT_GT(checkEach(softmax("2x2048xf32", 1), {close}), 2u);
  EXPECT_GT(checkEach(softmax("2x65x37xf32", 1), {close, true}), 1u);
  EXPECT_GT(checkEach("func.func @f(%x: tensor<1x36000xf32>) -> tensor<1xf32> {"
                      " %y = graph.reduce max %x [1] : tensor<1x36000xf32> -> "
                      "tensor<1xf32> return %y : tensor<1xf32> }",
                      {{}, true}),
            1u);
  EXPECT_GT(
      checkEach(
          "func.func @f(%x: tensor<9x300xbf16>, %g: tensor<300xbf16>) -> "
          "tensor<9x300xbf16> { %y = graph.rms_norm %x, %g axis = 1 epsilon = "
          "1.0e-5 : tensor<9x300xbf16>, tensor<300xbf16> return %y : "
          "tensor<9x300xbf16> }",
          {{0x1p-7, 1e-3}}),
      1u);
}

TEST(ScheduleOffer, MarchingStencils) {
  std::string image = "tensor<2x37x70xf32>";
  EXPECT_GT(checkEach("func.func @f(%x: " + image + ") -> " + image +
                          " { %y = graph.window_reduce max %x window [1, 3, 3] "
                          "strides [1, 1, 1] dilations [1, 1, 1] low [0, 1, 1] "
                          "high [0, 1, 1] : " +
                          image + " -> " + image + " return %y : " + image +
                          " }",
                      {{}, true}),
            2u);
}

// A bias and its gradient: in one kernel, and in two.
TEST(ScheduleOffer, Plans) {
  EXPECT_GT(
      checkEach(
          "func.func @f(%x: tensor<72x40xf16>, %w: tensor<40x48xf16>) -> "
          "(tensor<72x48xf16>, tensor<48xf32>) { "
          "%y = graph.contract %x, %w batch [] x [] contract [1] x [0] : "
          "tensor<72x40xf16>, tensor<40x48xf16> -> tensor<72x48xf16> "
          "%z = graph.cast %y : tensor<72x48xf16> -> tensor<72x48xf32> "
          "%s = graph.reduce sum %z [0] : tensor<72x48xf32> -> tensor<48xf32> "
          "return %y, %s : tensor<72x48xf16>, tensor<48xf32> }",
          {{0x1p-9, 0.05}}),
      2u);
}
