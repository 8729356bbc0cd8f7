//===- RowSelect.cpp - reductions that keep a sorted list -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction whose state is a sorted list of integers (`getSelected` of
// ReductionOpInterface) has no state for each element of a tile: every warp
// keeps one list for its part of a row, into which `tile.select` puts tiles.
// Lists of several warps, blocks and parts meet as other states do.
//===----------------------------------------------------------------------===//
#include "RowSchedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;

RankedTensorType RowSchedule::listCarrier() {
  tile::LayoutAttr list = tile::getLayout(full).perWarp(1);
  return kb.carrierType({tiling.rows(), tiling.columnWarps * tiling.cluster},
                        list);
}

SmallVector<Value> RowSchedule::startOf(graph::ReductionOpInterface op) {
  if (!op.getSelected()) {
    graph::ElementBuilder eb = kb.emitter.elements();
    SmallVector<Value> identity = op.buildIdentity(eb);
    if (narrowState)
      identity.front() = narrowed(identity.front());
    return identity;
  }
  kb.emitter.setCarrier(listCarrier());
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> list = op.buildIdentity(eb);
  kb.emitter.setCarrier(full);
  return list;
}

SmallVector<Value> RowSchedule::liftTile(const analysis::RegionStage &stage) {
  SmallVector<Value> states = lift(stage);
  auto op = cast<graph::ReductionOpInterface>(stage.op);
  if (!op.getSelected())
    return states;
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> loops = eb.apply(stage.loops, spineFull);
  ValueRange all(loops);
  unsigned parallel = stage.result.getNumResults();
  std::unique_ptr<graph::ElementReader> reader = kb.emitter.reader(stage.op);
  return {states.front(), op.buildCoarse(eb, all.take_front(parallel),
                                         all.drop_front(parallel), *reader)};
}

SmallVector<Value> RowSchedule::addTile(graph::ReductionOpInterface op,
                                        ValueRange state, ValueRange lifted) {
  graph::ElementBuilder eb = kb.emitter.elements();
  if (narrowState)
    return {eb.make<arith::MaximumFOp>(state.front(), lifted.front())};
  if (!op.getSelected())
    return op.buildCombine(eb, state, lifted);
  auto select =
      tile::SelectOp::create(kb.builder, kb.loc, state.getTypes(), lifted[0],
                             lifted[1], state, /*axis=*/uint64_t(1));
  OpBuilder::InsertionGuard guard(kb.builder);
  Block &block = select.getMayEnter().emplaceBlock();
  Value coarse =
      block.addArgument(getElementTypeOrSelf(lifted[1].getType()), kb.loc);
  Value last =
      block.addArgument(getElementTypeOrSelf(lifted[0].getType()), kb.loc);
  kb.builder.setInsertionPointToStart(&block);
  graph::ElementBuilder scalars(kb.builder, kb.loc);
  tile::YieldOp::create(kb.builder, kb.loc,
                        op.buildMayEnter(scalars, coarse, last));
  return llvm::to_vector_of<Value>(select.getResults());
}
