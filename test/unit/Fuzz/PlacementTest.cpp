//===- PlacementTest.cpp - tensors in awkward places ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Fuzz/RunCase.h"
#include "gtest/gtest.h"

using namespace fusec;
using namespace fusec::fuzz;
using verify::Placement;
using verify::Way;

/// x - 2y of two 3x4 tensors of one type, and y as it is.
static constexpr char kText[] =
    R"(func.func @f(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = graph.add %y, %y : tensor<3x4xf32>
  %1 = graph.sub %x, %0 : tensor<3x4xf32>
  return %1, %y : tensor<3x4xf32>, tensor<3x4xf32>
})";

static HostTensor ramp(double first, double step) {
  HostTensor tensor = llvm::cantFail(HostTensor::create(DType::F32, {3, 4}));
  for (int64_t i = 0; i < 12; ++i)
    tensor.setF64(i, first + step * double(i));
  return tensor;
}

static void check(const Placement &placement, session::TargetKind kind,
                  double yStep = 1) {
  auto model = session::parseModel(kText, "test");
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  Way way;
  way.target = llvm::cantFail(session::openTarget(kind, {.fastCompile = true}));
  way.placement = placement;
  HostTensor x = ramp(100, 3), y = ramp(1, yStep);
  auto outputs = verify::runWay(*model, way, {x, y});
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ((*outputs)[0].getF64(i), x.getF64(i) - 2 * y.getF64(i)) << i;
    EXPECT_EQ((*outputs)[1].getF64(i), y.getF64(i)) << i;
  }
}

class Placements : public testing::TestWithParam<session::TargetKind> {};

TEST_P(Placements, OffsetsAndStrides) {
  check({{{1, {}}, {3, {}}}, {{5, {}}, {0, {}}}, false}, GetParam());
  // Columns first; rows backwards with gaps.
  check({{{0, {1, 3}}, {2, {-7, 1}}}, {{0, {}}, {1, {}}}, false}, GetParam());
  check({{{1, {-1, -4}}, {0, {10, 2}}}, {{0, {}}, {0, {}}}, false}, GetParam());
}

TEST_P(Placements, EqualElementsShareMemory) {
  check({{{0, {}}, {1, {0, 0}}}, {{0, {}}, {0, {}}}, false}, GetParam(), 0);
}

TEST_P(Placements, InPlace) {
  check({{{0, {}}, {0, {}}}, {{0, {}}, {0, {}}}, true}, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Targets, Placements,
                         testing::Values(session::TargetKind::Host,
                                         session::TargetKind::Emulator),
                         [](const auto &info) {
                           return session::name(info.param).str();
                         });

/// Random placements are of all kinds, and one seed always gives the same.
TEST(RandomPlacement, IsOfEveryKind) {
  bool strided = false, negative = false, zero = false, offset = false,
       inPlace = false;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    llvm::Expected<Case> subject = generate(seed);
    ASSERT_TRUE(bool(subject)) << llvm::toString(subject.takeError());
    Rng rng(seed), again(seed);
    Placement placement = randomPlacement(rng, *subject);
    Placement same = randomPlacement(again, *subject);
    ASSERT_EQ(placement.inputs.size(), subject->inputs.size());
    ASSERT_EQ(placement.outputs.size(), subject->model.outputs.size());
    inPlace |= placement.inPlace;
    for (auto [place, twin] : llvm::zip(placement.inputs, same.inputs)) {
      EXPECT_EQ(place.offset, twin.offset);
      EXPECT_EQ(place.strides, twin.strides);
      offset |= place.offset != 0;
      strided |= !place.strides.empty();
      negative |= llvm::any_of(place.strides, [](int64_t s) { return s < 0; });
      zero |= llvm::is_contained(place.strides, 0);
    }
  }
  EXPECT_TRUE(strided && negative && zero && offset && inPlace);
}

/// A list that misses a path would hide that nothing reaches it.
TEST(Coverage, ListsWhatGraphsReach) {
  std::vector<std::string> all = decisionsAndPaths();
  std::set<std::string> known(all.begin(), all.end());
  EXPECT_EQ(known.size(), all.size());
  Features features;
  runtime::Program program;
  program.kernels.emplace_back();
  program.kernels.back().source = "a = ldm<1>(p, i, m); bar();";
  program.aliases.push_back({0, 0});
  addPaths(program, features);
  EXPECT_EQ(features, Features({"path:masked loads", "path:barriers of a block",
                                "path:outputs in place of inputs"}));
  for (const std::string &feature : features)
    EXPECT_TRUE(known.count(feature)) << feature;
}
