//===- IndexingMapsTest.cpp - simplification, reshape maps, solving -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simplified expressions are compared with the original ones at every point of
// the box.
//===----------------------------------------------------------------------===//
#include "fusec/Analysis/IndexingMaps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"
#include <random>

using namespace mlir;
using namespace fusec::analysis;

namespace {

class IndexingMaps : public ::testing::Test {
protected:
  MLIRContext context;
  AffineExpr dim(unsigned i) { return getAffineDimExpr(i, &context); }
  AffineExpr constant(int64_t v) { return getAffineConstantExpr(v, &context); }
  AffineMap map(unsigned dims, ArrayRef<AffineExpr> results) {
    return AffineMap::get(dims, 0, results, &context);
  }
};

int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> point) {
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return value.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return point[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t a = evaluate(binary.getLHS(), point);
  int64_t b = evaluate(binary.getRHS(), point);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::FloorDiv:
    return a / b - (a % b < 0);
  case AffineExprKind::Mod:
    return ((a % b) + b) % b;
  default:
    ADD_FAILURE() << "unexpected expression";
    return 0;
  }
}

void forEachPoint(ArrayRef<int64_t> sizes,
                  llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> point(sizes.size(), 0);
  if (llvm::is_contained(sizes, 0))
    return;
  while (true) {
    visit(point);
    unsigned i = 0;
    while (i < sizes.size() && ++point[i] == sizes[i])
      point[i++] = 0;
    if (i == sizes.size())
      return;
  }
}

// Equal sums are one expression, in whichever order they were written.
TEST_F(IndexingMaps, EqualSumsAreOneExpression) {
  int64_t sizes[] = {8, 6, 5};
  SmallVector<AffineExpr> terms{dim(0) * 30, dim(1) * 5,
                                dim(2),      dim(0).floorDiv(3) * 7,
                                dim(0) % 3,  constant(4)};
  SmallVector<unsigned> order{0, 1, 2, 3, 4, 5};
  AffineExpr first;
  do {
    AffineExpr sum = constant(0);
    for (unsigned i : order)
      sum = sum + terms[i];
    AffineExpr simple = simplifyIndex(sum, sizes);
    if (!first)
      first = simple;
    ASSERT_EQ(simple, first);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(IndexingMaps, ReshapeThereAndBackCancels) {
  SmallVector<SmallVector<int64_t>> shapes{{8, 64}, {512},       {4, 2, 16, 4},
                                           {64, 8}, {1, 512, 1}, {2, 256}};
  for (auto &from : shapes)
    for (auto &to : shapes) {
      AffineMap forth = reshapeMap(&context, from, to);
      AffineMap back = reshapeMap(&context, to, from);
      ASSERT_TRUE(forth && back);
      AffineMap both = composeIndex(back, forth, from);
      AffineMap identity = simplifyIndexMap(
          AffineMap::getMultiDimIdentityMap(from.size(), &context), from);
      EXPECT_EQ(both, identity);
    }
}

TEST_F(IndexingMaps, ReshapeNeedsEqualCounts) {
  EXPECT_FALSE(reshapeMap(&context, {8, 64}, {511}));
  EXPECT_FALSE(reshapeMap(&context, {ShapedType::kDynamic}, {1}));
  EXPECT_TRUE(reshapeMap(&context, {0, 3}, {5, 0}));
  EXPECT_TRUE(reshapeMap(&context, {}, {1, 1}));
}

TEST_F(IndexingMaps, SplitAxesSimplifyToDims) {
  // [n, c, h, w] seen as [n, g, m]: the group of a channel.
  AffineMap map = reshapeMap(&context, {4, 32, 16, 16}, {4, 8, 1024});
  EXPECT_EQ(map.getResult(0), dim(0));
  EXPECT_EQ(map.getResult(1), dim(1).floorDiv(4));
}

TEST_F(IndexingMaps, UnitDimsBecomeZero) {
  EXPECT_EQ(simplifyIndex(dim(0) + dim(1) * 7, {1, 5}), dim(1) * 7);
}

TEST_F(IndexingMaps, RandomExpressionsKeepTheirValues) {
  std::mt19937 random(7);
  auto pick = [&](int n) { return static_cast<int>(random() % n); };
  for (int round = 0; round < 400; ++round) {
    SmallVector<int64_t> sizes;
    for (int i = 0; i < 3; ++i)
      sizes.push_back(1 + pick(6));
    std::function<AffineExpr(int)> make = [&](int depth) -> AffineExpr {
      if (depth == 0)
        return pick(4) ? dim(pick(3)) : constant(pick(9) - 4);
      switch (pick(4)) {
      case 0:
        return make(depth - 1) + make(depth - 1);
      case 1:
        return make(depth - 1) * (pick(9) - 3);
      case 2:
        return make(depth - 1).floorDiv(1 + pick(8));
      default:
        return make(depth - 1) % (1 + pick(8));
      }
    };
    AffineExpr expr = make(4);
    AffineExpr simple = simplifyIndex(expr, sizes);
    forEachPoint(sizes, [&](ArrayRef<int64_t> point) {
      ASSERT_EQ(evaluate(expr, point), evaluate(simple, point));
    });
  }
}

TEST_F(IndexingMaps, SolvesPermutations) {
  // Consumer (i, j) reads operand[j, i]; element (d0, d1) is read at (d1, d0).
  auto loops = solveIndex(map(2, {dim(1), dim(0)}), {3, 5}, {5, 3},
                          map(2, {dim(0), dim(1)}), {5, 3}, false);
  ASSERT_TRUE(loops);
  EXPECT_EQ((*loops)[0], dim(1));
  EXPECT_EQ((*loops)[1], dim(0));
}

TEST_F(IndexingMaps, LeavesBroadcastLoopsOpen) {
  auto loops =
      solveIndex(map(2, {dim(0)}), {3, 5}, {3}, map(1, {dim(0)}), {3}, false);
  ASSERT_TRUE(loops);
  EXPECT_EQ((*loops)[0], dim(0));
  EXPECT_FALSE((*loops)[1]);
}

TEST_F(IndexingMaps, SolvesReshapes) {
  AffineMap access = reshapeMap(&context, {6, 4}, {2, 12});
  auto loops = solveIndex(access, {6, 4}, {2, 12}, map(2, {dim(0), dim(1)}),
                          {2, 12}, false);
  ASSERT_TRUE(loops);
  EXPECT_EQ(AffineMap::get(2, 0, *loops, &context),
            reshapeMap(&context, {2, 12}, {6, 4}));
}

TEST_F(IndexingMaps, RefusesSlicesAndReversals) {
  // The first half of an axis, a shifted one, and an axis backwards.
  AffineMap target = map(1, {dim(0)});
  EXPECT_FALSE(solveIndex(map(1, {dim(0)}), {4}, {8}, target, {8}, false));
  EXPECT_FALSE(solveIndex(map(1, {dim(0) + 1}), {4}, {8}, target, {8}, false));
  EXPECT_FALSE(
      solveIndex(map(1, {constant(7) - dim(0)}), {8}, {8}, target, {8}, false));
}

TEST_F(IndexingMaps, DynamicSizesMatchOnlyOnRequest) {
  int64_t any = ShapedType::kDynamic;
  AffineMap access = map(1, {dim(0)});
  EXPECT_FALSE(solveIndex(access, {any}, {any}, access, {any}, false));
  EXPECT_TRUE(solveIndex(access, {any}, {any}, access, {any}, true));
}

} // namespace
