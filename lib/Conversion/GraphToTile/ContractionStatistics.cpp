//===- ContractionStatistics.cpp - states of a contraction's rows ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What reductions of a contraction's rows give the skeleton: the epilogue's
// states, their identity and combination, and what is made of a complete row.
// All of it is what the reductions say of themselves.
//===----------------------------------------------------------------------===//
#include "ContractionHoles.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using graph::ElementBuilder;

static graph::ReductionOpInterface reductionOf(const analysis::RegionStage &s) {
  return cast<graph::ReductionOpInterface>(s.op);
}

SmallVector<Type> HoleBuilder::stateTypes(const analysis::RegionForm &form) {
  SmallVector<Type> types;
  for (const analysis::RegionStage &stage : form.statistics)
    llvm::append_range(types, reductionOf(stage).getStateTypes());
  return types;
}

SmallVector<Value> HoleBuilder::liftStatistics(RegionEmitter &emitter,
                                               ValueRange spine, Value mask) {
  ElementBuilder eb = emitter.elements();
  SmallVector<Value> results;
  for (const analysis::RegionStage &stage : kb.form.statistics) {
    graph::ReductionOpInterface op = reductionOf(stage);
    SmallVector<Value> loops = eb.apply(stage.loops, spine);
    unsigned parallel = stage.result.getNumResults();
    std::unique_ptr<graph::ElementReader> reader = emitter.reader(stage.op);
    ValueRange all(loops);
    SmallVector<Value> states = op.buildLift(eb, all.take_front(parallel),
                                             all.drop_front(parallel), *reader);
    if (mask)
      for (auto [state, neutral] : llvm::zip(states, op.buildIdentity(eb)))
        state = eb.select(mask, state, neutral);
    SmallVector<Type> types;
    for (Value state : states) {
      auto type = cast<RankedTensorType>(state.getType());
      types.push_back(RankedTensorType::get(
          {1}, type.getElementType(), tile::getLayout(type).reduced({0})));
    }
    auto reduce = tile::ReduceOp::create(kb.builder, kb.loc, types, states,
                                         ArrayRef<int64_t>{0});
    emitter.buildCombine(op, reduce);
    llvm::append_range(results, reduce.getResults());
  }
  return results;
}

/// `none` and `join`: scalars.
static void buildStates(KernelBuilder &kb, tile::ContractOp op) {
  OpBuilder::InsertionGuard guard(kb.builder);
  ElementBuilder eb(kb.builder, kb.loc);
  kb.builder.setInsertionPointToStart(&op.getNone().emplaceBlock());
  SmallVector<Value> none, joined;
  for (const analysis::RegionStage &stage : kb.form.statistics)
    llvm::append_range(none, reductionOf(stage).buildIdentity(eb));
  tile::YieldOp::create(kb.builder, kb.loc, none);

  Block &join = op.getJoin().emplaceBlock();
  SmallVector<Type> types = HoleBuilder::stateTypes(kb.form);
  for (unsigned side = 0; side < 2; ++side)
    for (Type type : types)
      join.addArgument(type, kb.loc);
  kb.builder.setInsertionPointToStart(&join);
  ValueRange first = join.getArguments().take_front(types.size()),
             second = join.getArguments().drop_front(types.size());
  for (const analysis::RegionStage &stage : kb.form.statistics) {
    graph::ReductionOpInterface reduction = reductionOf(stage);
    size_t count = reduction.getStateTypes().size();
    llvm::append_range(joined,
                       reduction.buildCombine(eb, first.take_front(count),
                                              second.take_front(count)));
    first = first.drop_front(count);
    second = second.drop_front(count);
  }
  tile::YieldOp::create(kb.builder, kb.loc, joined);
}

void HoleBuilder::buildStatistics(tile::ContractOp op) {
  buildStates(kb, op);
  OpBuilder::InsertionGuard guard(kb.builder);
  RankedTensorType carrier = registers(1);
  Block &block = op.getFinish().emplaceBlock();
  for (int i = 0; i < 2; ++i)
    block.addArgument(kb.builder.getIndexType(), kb.loc);
  kb.builder.setInsertionPointToStart(&block);
  RegionEmitter emitter(kb.builder, kb.loc, kb.options);
  emitter.buffers = kb.emitter.buffers;
  emitter.setCarrier(carrier);
  ElementBuilder eb = emitter.elements();
  llvm::DenseMap<Operation *, SmallVector<Value>> states;
  for (const analysis::RegionStage &stage : kb.form.statistics)
    for (Type type : reductionOf(stage).getStateTypes())
      states[stage.op].push_back(block.addArgument(eb.type(type), kb.loc));
  SmallVector<Value> spine =
      spineIndex(emitter, {{shape.batch, splat(carrier, block.getArgument(0))},
                           {shape.m, splat(carrier, block.getArgument(1))}});
  emitter.staged = [&](Value value, ValueRange) -> Value {
    auto found = states.find(value.getDefiningOp());
    if (found == states.end())
      return {};
    return cast<graph::ReductionOpInterface>(found->first)
        .buildFinish(eb, found->second,
                     cast<OpResult>(value).getResultNumber());
  };
  for (auto [i, output] : llvm::enumerate(kb.form.outputs)) {
    if (!output.isStatistic)
      continue;
    SmallVector<Value> index = eb.apply(output.index, spine);
    emitter.store(emitter.emit(output.value, index), kb.outputBuffer(i),
                  cast<RankedTensorType>(output.value.getType()), index,
                  /*storeMask=*/Value());
  }
  tile::YieldOp::create(kb.builder, kb.loc, ValueRange{});
}
