//===- IndexBoundsTest.cpp - what is known of an index --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks are dropped on the ground of these bounds, so a bound that is too tight
// is an access out of bounds.
//===----------------------------------------------------------------------===//
#include "RegionEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

namespace {
class IndexBounds : public testing::Test {
protected:
  IndexBounds() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect>();
    module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    Type index = builder.getIndexType();
    auto function = func::FuncOp::create(
        builder, loc, "f", builder.getFunctionType({index, index}, {}));
    Block *block = function.addEntryBlock();
    known = block->getArgument(0);
    unknown = block->getArgument(1);
    builder.setInsertionPointToStart(block);
    emitter.emplace(builder, loc, options);
  }

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  template <typename Op>
  Value make(Value lhs, Value rhs) {
    return Op::create(builder, loc, lhs, rhs);
  }
  /// "low..high", or "?".
  std::string bounds(Value value) {
    auto found = emitter->bounds(value);
    return found
               ? std::to_string(found->low) + ".." + std::to_string(found->high)
               : "?";
  }

  MLIRContext context;
  Location loc = UnknownLoc::get(&context);
  OpBuilder builder{&context};
  OwningOpRef<ModuleOp> module;
  TileOptions options;
  std::optional<RegionEmitter> emitter;
  Value known, unknown;
};
} // namespace

TEST_F(IndexBounds, OfSumsAndMultiples) {
  emitter->setBounds(known, {3, 20});
  EXPECT_EQ(bounds(known), "3..20");
  EXPECT_EQ(bounds(constant(7)), "7..7");
  EXPECT_EQ(bounds(make<arith::AddIOp>(known, constant(5))), "8..25");
  EXPECT_EQ(bounds(make<arith::SubIOp>(known, constant(5))), "-2..15");
  EXPECT_EQ(bounds(make<arith::MulIOp>(known, constant(4))), "12..80");
  EXPECT_EQ(bounds(make<arith::SubIOp>(constant(5), known)), "-15..2");
}

TEST_F(IndexBounds, OfQuotientsAndRemainders) {
  emitter->setBounds(known, {3, 20});
  EXPECT_EQ(bounds(make<arith::DivUIOp>(known, constant(4))), "0..5");
  EXPECT_EQ(bounds(make<arith::RemUIOp>(known, constant(8))), "0..7");
  EXPECT_EQ(bounds(make<arith::RemUIOp>(known, constant(20))), "0..19");
  EXPECT_EQ(bounds(make<arith::RemUIOp>(known, constant(21))), "3..20");
  // Unsigned: what may be negative may be huge.
  emitter->setBounds(known, {-1, 20});
  EXPECT_EQ(bounds(make<arith::DivUIOp>(known, constant(4))), "?");
  EXPECT_EQ(bounds(make<arith::RemUIOp>(known, constant(8))), "?");
}

TEST_F(IndexBounds, WhatIsUnknownStaysUnknown) {
  emitter->setBounds(known, {3, 20});
  EXPECT_EQ(bounds(unknown), "?");
  EXPECT_EQ(bounds(make<arith::AddIOp>(known, unknown)), "?");
  EXPECT_EQ(bounds(make<arith::AddIOp>(unknown, known)), "?");
  EXPECT_EQ(bounds(make<arith::MulIOp>(unknown, constant(4))), "?");
  EXPECT_EQ(bounds(make<arith::DivUIOp>(unknown, constant(4))), "?");
  // A start that is taken away again does not count.
  Value there = make<arith::AddIOp>(unknown, known);
  EXPECT_EQ(bounds(make<arith::SubIOp>(there, unknown)), "3..20");
  EXPECT_EQ(emitter->distance(there, known), std::nullopt);
  EXPECT_EQ(emitter->distance(
                there, make<arith::AddIOp>(
                           known, make<arith::SubIOp>(unknown, constant(4)))),
            4);
}
