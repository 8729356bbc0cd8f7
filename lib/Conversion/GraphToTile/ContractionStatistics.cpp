//===- ContractionStatistics.cpp - states beside a contraction ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What reductions of a contraction's rows and columns give the skeleton: the
// epilogue's states, their identity and combination, and what is made of a
// complete row or column. All of it is what the reductions say of themselves.
//===----------------------------------------------------------------------===//
#include "ContractionHoles.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using analysis::RegionStage;
using graph::ElementBuilder;

static graph::ReductionOpInterface reductionOf(const RegionStage &s) {
  return cast<graph::ReductionOpInterface>(s.op);
}

/// The statistics of one axis.
static auto alongAxis(const analysis::RegionForm &form, bool areColumns) {
  return llvm::make_filter_range(
      form.statistics,
      [=](const RegionStage &stage) { return stage.isColumn == areColumns; });
}

SmallVector<Type> HoleBuilder::stateTypes(const analysis::RegionForm &form,
                                          bool areColumns) {
  SmallVector<Type> types;
  for (const RegionStage &stage : alongAxis(form, areColumns))
    llvm::append_range(types, reductionOf(stage).getStateTypes());
  return types;
}

/// The state of all elements of `states`, one element each.
static ValueRange reduceElements(KernelBuilder &kb, RegionEmitter &emitter,
                                 graph::ReductionOpInterface op,
                                 ValueRange states) {
  SmallVector<Type> types;
  for (Value state : states) {
    auto type = cast<RankedTensorType>(state.getType());
    types.push_back(RankedTensorType::get({1}, type.getElementType(),
                                          tile::getLayout(type).reduced({0})));
  }
  auto reduce = tile::ReduceOp::create(kb.builder, kb.loc, types, states,
                                       ArrayRef<int64_t>{0});
  emitter.buildCombine(op, reduce);
  return reduce.getResults();
}

SmallVector<Value> HoleBuilder::liftStatistics(RegionEmitter &emitter,
                                               ValueRange spine, Value mask) {
  ElementBuilder eb = emitter.elements();
  SmallVector<Value> rows, columns;
  for (const RegionStage &stage : kb.form.statistics) {
    graph::ReductionOpInterface op = reductionOf(stage);
    SmallVector<Value> loops = eb.apply(stage.loops, spine);
    unsigned parallel = stage.result.getNumResults();
    std::unique_ptr<graph::ElementReader> reader = emitter.reader(stage.op);
    ValueRange all(loops);
    SmallVector<Value> states = op.buildLift(eb, all.take_front(parallel),
                                             all.drop_front(parallel), *reader);
    if (stage.isColumn) {
      // Those past the end are kept nowhere.
      llvm::append_range(columns, states);
      continue;
    }
    if (mask)
      for (auto [state, neutral] : llvm::zip(states, op.buildIdentity(eb)))
        state = eb.select(mask, state, neutral);
    llvm::append_range(rows, reduceElements(kb, emitter, op, states));
  }
  llvm::append_range(rows, columns);
  return rows;
}

/// The holes `none` and `join` of an axis: scalars.
static void buildStates(KernelBuilder &kb, Region &none, Region &join,
                        bool areColumns) {
  OpBuilder::InsertionGuard guard(kb.builder);
  ElementBuilder eb(kb.builder, kb.loc);
  kb.builder.setInsertionPointToStart(&none.emplaceBlock());
  SmallVector<Value> identity, joined;
  for (const RegionStage &stage : alongAxis(kb.form, areColumns))
    llvm::append_range(identity, reductionOf(stage).buildIdentity(eb));
  tile::YieldOp::create(kb.builder, kb.loc, identity);

  Block &block = join.emplaceBlock();
  SmallVector<Type> types = HoleBuilder::stateTypes(kb.form, areColumns);
  for (unsigned side = 0; side < 2; ++side)
    for (Type type : types)
      block.addArgument(type, kb.loc);
  kb.builder.setInsertionPointToStart(&block);
  ValueRange first = block.getArguments().take_front(types.size()),
             second = block.getArguments().drop_front(types.size());
  for (const RegionStage &stage : alongAxis(kb.form, areColumns)) {
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

void HoleBuilder::buildFinish(Region &hole, bool areColumns) {
  OpBuilder::InsertionGuard guard(kb.builder);
  RankedTensorType carrier = registers(1);
  Block &block = hole.emplaceBlock();
  for (int i = 0; i < 2; ++i)
    block.addArgument(kb.builder.getIndexType(), kb.loc);
  kb.builder.setInsertionPointToStart(&block);
  RegionEmitter emitter(kb.builder, kb.loc, kb.options);
  emitter.buffers = kb.emitter.buffers;
  emitter.setCarrier(carrier);
  ElementBuilder eb = emitter.elements();
  llvm::DenseMap<Operation *, SmallVector<Value>> states;
  for (const RegionStage &stage : alongAxis(kb.form, areColumns))
    for (Type type : reductionOf(stage).getStateTypes())
      states[stage.op].push_back(block.addArgument(eb.type(type), kb.loc));
  SmallVector<Value> spine = spineIndex(
      emitter,
      {{shape.batch, splat(carrier, block.getArgument(0))},
       {areColumns ? shape.n : shape.m, splat(carrier, block.getArgument(1))}});
  emitter.staged = [&](Value value, ValueRange) -> Value {
    auto found = states.find(value.getDefiningOp());
    if (found == states.end())
      return {};
    return cast<graph::ReductionOpInterface>(found->first)
        .buildFinish(eb, found->second,
                     cast<OpResult>(value).getResultNumber());
  };
  for (auto [i, output] : llvm::enumerate(kb.form.outputs)) {
    if (!output.isStatistic || output.isColumn != areColumns)
      continue;
    SmallVector<Value> index = eb.apply(output.index, spine);
    emitter.store(emitter.emit(output.value, index), kb.outputBuffer(i),
                  cast<RankedTensorType>(output.value.getType()), index,
                  /*storeMask=*/Value());
  }
  tile::YieldOp::create(kb.builder, kb.loc, ValueRange{});
}

void HoleBuilder::buildStatistics(tile::ContractOp op) {
  MutableArrayRef<Region> holes = op.getStatistics();
  for (bool areColumns : {false, true}) {
    if (stateTypes(kb.form, areColumns).empty())
      continue;
    buildStates(kb, holes[0], holes[1], areColumns);
    buildFinish(holes[2], areColumns);
    holes = holes.drop_front(kStatisticRegions);
  }
}
