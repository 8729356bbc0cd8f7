//===- MeetingStates.cpp - states of blocks that share rows ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between the passes of the meeting form: states of inner columns become states
// of rows, of one block and then of all that share them, and go back to all
// inner columns.
//===----------------------------------------------------------------------===//
#include "MeetingSchedule.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using tile::Digit;

/// Tiles of at least (rows of the block) x `count`, lanes along the latter and
/// warps along the former, so that reducing them needs no shared memory.
RankedTensorType MeetingSchedule::groupCarrier(int64_t count) {
  int64_t warps = tiling.threads() / 32;
  int64_t lanes = std::min<int64_t>(32, llvm::PowerOf2Ceil(count));
  int64_t span = 32 / lanes * warps;
  int64_t repeats = llvm::divideCeil(ownGroups(), uint64_t(span));
  auto groups =
      tile::LayoutAttr::get(kb.builder.getContext(), {Digit{repeats, span, 0}},
                            {Digit{lanes, 1, 1}, Digit{32 / lanes, 1, 0}},
                            {Digit{warps, 32 / lanes, 0}});
  return kb.carrierType({repeats * span, lanes}, groups);
}

/// The states of all units, combined along axis 1 at once.
SmallVector<Value> MeetingSchedule::reduceAll(ValueRange states) {
  SmallVector<Type> types;
  for (Value state : states) {
    auto type = cast<RankedTensorType>(state.getType());
    types.push_back(RankedTensorType::get({type.getDimSize(0), 1},
                                          type.getElementType(),
                                          tile::getLayout(type).reduced({1})));
  }
  auto op = tile::ReduceOp::create(kb.builder, kb.loc, types, states,
                                   ArrayRef<int64_t>{1});
  kb.emitter.buildCombine(
      op, [&](graph::ElementBuilder &eb, ValueRange lhs, ValueRange rhs) {
        return combineParts(eb, lhs, rhs);
      });
  return llvm::to_vector_of<Value>(op.getResults());
}

/// Arrays of the block's shared memory with `states` at places `at`, where
/// `mask` (null: everywhere) holds.
SmallVector<Value> MeetingSchedule::storeShared(ValueRange states, Value at,
                                                Value mask) {
  SmallVector<Value> buffers;
  for (Value state : states) {
    auto type =
        MemRefType::get({tiling.rows()}, getElementTypeOrSelf(state),
                        MemRefLayoutAttrInterface(),
                        kb.builder.getI64IntegerAttr(tile::kSharedSpace));
    buffers.push_back(
        tile::AllocOp::create(kb.builder, kb.loc, type, /*dynamic=*/true));
    tile::StoreOp::create(kb.builder, kb.loc, state, buffers.back(), at, mask,
                          /*vector=*/1);
  }
  tile::BarrierOp::create(kb.builder, kb.loc);
  return buffers;
}

/// States at places `at` of `buffers`, in the emitter's carrier and under its
/// mask.
SmallVector<Value> MeetingSchedule::loadShared(ValueRange buffers, Value at) {
  SmallVector<Value> result;
  for (auto [buffer, neutral] : llvm::zip(buffers, identities(all)))
    result.push_back(tile::LoadOp::create(
        kb.builder, kb.loc, neutral.getType(), buffer, at, kb.emitter.getMask(),
        kb.emitter.getMask() ? neutral : Value(), /*vector=*/1));
  return result;
}

/// States of rows from those of their inner columns.
SmallVector<Value> MeetingSchedule::joinInner(ValueRange states) {
  SmallVector<Value> buffers =
      storeShared(states, kb.axisTile(row, 0, kb.index(0)), Value());
  RankedTensorType carrier = groupCarrier(meeting.inner);
  int64_t lanes = carrier.getDimSize(1);
  kb.emitter.setCarrier(carrier);
  SmallVector<Value> joined;
  // Inner columns are few: as many steps as lanes need.
  for (int64_t first = 0; first < meeting.inner; first += lanes) {
    Value at = kb.axisTile(carrier, 0, kb.index(0));
    Value inner = kb.axisTile(carrier, 1, kb.index(first));
    graph::ElementBuilder eb = kb.emitter.elements();
    kb.emitter.setMask(
        eb.logicalAnd(kb.below(carrier, at, kb.index(ownGroups())),
                      kb.below(carrier, inner, kb.index(meeting.inner))));
    Value to = eb.make<arith::AddIOp>(
        eb.make<arith::MulIOp>(at, splat(at, meeting.inner)), inner);
    SmallVector<Value> next = loadShared(buffers, to);
    joined = joined.empty() ? next : combineParts(eb, joined, next);
  }
  return reduceAll(joined);
}

/// States of rows at all of their inner columns, in the row carrier.
SmallVector<Value> MeetingSchedule::spreadInner(ValueRange states) {
  RankedTensorType carrier = cast<RankedTensorType>(states[0].getType());
  RankedTensorType indices =
      kb.carrierType(carrier.getShape(), tile::getLayout(carrier));
  kb.emitter.setCarrier(indices);
  Value from = kb.axisTile(indices, 0, kb.index(0));
  SmallVector<Value> buffers =
      storeShared(states, from, kb.below(indices, from, kb.index(ownGroups())));
  kb.emitter.setCarrier(row);
  Value at = kb.axisTile(row, 0, kb.index(0));
  kb.emitter.setMask(meeting.ownRows == tiling.rows()
                         ? Value()
                         : kb.below(row, at, kb.index(meeting.ownRows)));
  return loadShared(buffers, divide(at, meeting.inner));
}

/// Where the states of `split` for `group` of this block's rows are: the
/// states of rows with inner columns are neighbours along blocks, others along
/// rows.
Value MeetingSchedule::stateOffsets(RankedTensorType carrier, Value at,
                                    Value splits) {
  kb.emitter.setCarrier(carrier);
  graph::ElementBuilder eb = kb.emitter.elements();
  int64_t each = hasInner() ? ownGroups() : tiling.rows();
  Value base = tile::SplatOp::create(kb.builder, kb.loc, at.getType(),
                                     kb.mulIndex(group, each * tiling.splits));
  Value scaled =
      hasInner()
          ? eb.make<arith::AddIOp>(
                eb.make<arith::MulIOp>(at, splat(at, tiling.splits)), splits)
          : eb.make<arith::AddIOp>(
                eb.make<arith::MulIOp>(splits, splat(splits, each)), at);
  return eb.make<arith::AddIOp>(base, scaled);
}

/// The states of all blocks that share these rows, from those of this one.
SmallVector<Value> MeetingSchedule::meet(ValueRange states) {
  auto own = cast<RankedTensorType>(states[0].getType());
  RankedTensorType mine = kb.carrierType(own.getShape(), tile::getLayout(own));
  auto inside = [&](RankedTensorType carrier, Value at) -> Value {
    return hasInner() ? kb.below(carrier, at, kb.index(ownGroups())) : Value();
  };
  Value at = kb.axisTile(mine, 0, kb.index(0));
  Value here = tile::SplatOp::create(kb.builder, kb.loc, mine, split);
  Value offsets = stateOffsets(mine, at, here), mask = inside(mine, at);
  for (auto [i, state] : llvm::enumerate(states))
    tile::StoreOp::create(kb.builder, kb.loc, state, kb.scratch(i), offsets,
                          mask, /*vector=*/1);
  tile::GridBarrierOp::create(kb.builder, kb.loc, kb.scratch(states.size()),
                              /*resident=*/1);
  RankedTensorType carrier = hasInner() ? groupCarrier(tiling.splits) : full;
  kb.emitter.setCarrier(carrier);
  SmallVector<Value> identity = identities(all);
  auto loop = scf::ForOp::create(kb.builder, kb.loc, kb.index(0),
                                 kb.index(tiling.splits),
                                 kb.index(carrier.getDimSize(1)), identity);
  {
    OpBuilder::InsertionGuard guard(kb.builder);
    kb.enterBody(loop);
    Value rowOf = kb.axisTile(carrier, 0, kb.index(0));
    Value part = kb.axisTile(carrier, 1, loop.getInductionVar());
    Value from = stateOffsets(carrier, rowOf, part);
    graph::ElementBuilder eb = kb.emitter.elements();
    Value exists = kb.below(carrier, part, kb.index(tiling.splits));
    if (Value isRow = inside(carrier, rowOf))
      exists = eb.logicalAnd(exists, isRow);
    SmallVector<Value> next;
    for (auto [i, neutral] : llvm::enumerate(identity))
      next.push_back(tile::LoadOp::create(kb.builder, kb.loc, neutral.getType(),
                                          kb.scratch(i), from, exists, neutral,
                                          /*vector=*/1));
    scf::YieldOp::create(kb.builder, kb.loc,
                         combineParts(eb, loop.getRegionIterArgs(), next));
  }
  return reduceAll(loop.getResults());
}
