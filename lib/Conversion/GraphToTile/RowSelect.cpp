//===- RowSelect.cpp - reductions that keep a sorted list -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction whose state is a sorted list of integers (`getSelected` of
// ReductionOpInterface) has no state for each element of a tile: every warp
// keeps one list for its part of a row, into which `tile.select` puts tiles.
// Lists of several warps, blocks and parts meet as other states do.
//===----------------------------------------------------------------------===//
#include "RowSchedule.h"

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
    return op.buildIdentity(eb);
  }
  kb.emitter.setCarrier(listCarrier());
  graph::ElementBuilder eb = kb.emitter.elements();
  SmallVector<Value> list = op.buildIdentity(eb);
  kb.emitter.setCarrier(full);
  return list;
}

SmallVector<Value> RowSchedule::addTile(graph::ReductionOpInterface op,
                                        ValueRange state, ValueRange lifted) {
  graph::ElementBuilder eb = kb.emitter.elements();
  if (!op.getSelected())
    return op.buildCombine(eb, state, lifted);
  auto select =
      tile::SelectOp::create(kb.builder, kb.loc, state.getTypes(),
                             lifted.front(), state, /*axis=*/uint64_t(1));
  return llvm::to_vector_of<Value>(select.getResults());
}
