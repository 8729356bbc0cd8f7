//===- Control.cpp - loops ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Writer.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fuzz;

/// A block with arguments of `types` in a new region of `state`.
static Block &addBody(Writer &w, OperationState &state, TypeRange types) {
  Block &block = state.addRegion()->emplaceBlock();
  for (Type type : types)
    block.addArgument(type, w.builder.getUnknownLoc());
  return block;
}

/// A builder for a block that is in no op yet.
static OpBuilder endOf(Writer &w, Block &block) {
  OpBuilder builder(w.context());
  builder.setInsertionPointToEnd(&block);
  return builder;
}

/// Two ops of two values of one type, at the end of `block`.
static Value mix(Writer &w, Block &block, Value a, Value b) {
  OpBuilder builder = endOf(w, block);
  Location loc = builder.getUnknownLoc();
  Value sum = graph::AddOp::create(builder, loc, a, b);
  return w.rng.chance(1, 2) ? Value(graph::MaxOp::create(builder, loc, sum, a))
                            : Value(graph::SubOp::create(builder, loc, sum, b));
}

static bool isNumber(Value value) {
  return Writer::dtypeOf(value) != DType::Bool;
}

/// carry = mix(carry, x[i]), stacked.
static Value scan(Writer &w) {
  Value xs = w.anyOf(
      [](Value v) {
        auto type = Writer::typeOf(v);
        return isNumber(v) && type.getRank() > 0 && type.getDimSize(0) < 12;
      },
      [&] {
        int64_t trips = w.rng.between(0, 5), size = w.size();
        DType dtype = w.floatType();
        return w.fresh({trips, size}, dtype);
      });
  if (!xs)
    return {};
  Shape shape = w.shapeOf(xs);
  int64_t trips = shape[0];
  Value init = w.fitting(ArrayRef(shape).drop_front(), w.dtypeOf(xs));
  if (!init)
    return {};
  OperationState state(w.builder.getUnknownLoc(),
                       graph::ScanOp::getOperationName());
  graph::ScanOp::build(
      w.builder, state, TypeRange{init.getType(), xs.getType()},
      ValueRange{init}, ValueRange{xs}, w.builder.getI64IntegerAttr(trips),
      w.builder.getBoolAttr(w.rng.chance(1, 3)));
  state.regions.clear();
  Block &body = addBody(w, state, {init.getType(), init.getType()});
  Value next = mix(w, body, body.getArgument(0), body.getArgument(1));
  OpBuilder builder = endOf(w, body);
  graph::YieldOp::create(builder, builder.getUnknownLoc(),
                         ValueRange{next, next});
  return w.make(state);
}

/// Adds a value over and over, while a counter is below a limit.
static Value loop(Writer &w) {
  Value x = w.anyOf(isNumber, [&] {
    Shape shape = w.shape(0, 2);
    DType dtype = w.floatType();
    return w.fresh(shape, dtype);
  });
  if (!x)
    return {};
  HostTensor zero = llvm::cantFail(HostTensor::create(DType::I32, {}));
  HostTensor unit = zero.clone(), limit = zero.clone();
  unit.setI64(0, 1);
  limit.setI64(0, w.rng.between(0, 5));
  Value counter = w.given(std::move(zero));
  Value step = w.constant(std::move(unit)), end = w.given(std::move(limit));
  OperationState state(w.builder.getUnknownLoc(),
                       graph::WhileOp::getOperationName());
  Type types[] = {counter.getType(), x.getType()};
  graph::WhileOp::build(w.builder, state, types, ValueRange{counter, x},
                        w.builder.getI64IntegerAttr(w.rng.between(0, 6)));
  state.regions.clear();
  Block &condition = addBody(w, state, types);
  OpBuilder builder = endOf(w, condition);
  Location loc = builder.getUnknownLoc();
  Value more = graph::CompareOp::create(builder, loc, w.tensor({}, DType::Bool),
                                        graph::ComparePredicate::lt,
                                        condition.getArgument(0), end);
  graph::YieldOp::create(builder, loc, more);
  Block &body = addBody(w, state, types);
  Value next = mix(w, body, body.getArgument(1), x);
  builder.setInsertionPointToEnd(&body);
  Value count = graph::AddOp::create(builder, loc, body.getArgument(0), step);
  graph::YieldOp::create(builder, loc, ValueRange{count, next});
  return w.make(state);
}

void fuzz::appendControlRecipes(SmallVectorImpl<WeightedRecipe> &recipes) {
  recipes.append({{scan, 1}, {loop, 1}});
}
