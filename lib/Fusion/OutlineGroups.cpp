//===- OutlineGroups.cpp - rewriting groups to graph.fusion ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "OutlineGroups.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;

namespace {

class Outliner {
public:
  Outliner(Block &block, PlanGraph &plan)
      : block(block), plan(plan),
        builder(OpBuilder::atBlockTerminator(&block)) {}

  SmallVector<OutlinedGroup> run();

private:
  Block &block;
  PlanGraph &plan;
  OpBuilder builder;
  /// Values of the old graph to results of fusions.
  IRMapping global;
  SmallVector<SmallVector<Operation *>> ops; // by group, program order
  SmallVector<SmallVector<Value>> outputs;   // by group
  llvm::DenseSet<std::pair<unsigned, Operation *>> holds;

  void collectOps(ArrayRef<unsigned> order);
  void collectOutputs(ArrayRef<unsigned> order);
  void dropDead(unsigned group);
  graph::FusionOp outline(unsigned group);
  void keep(Operation *op);
};

} // namespace

void Outliner::collectOps(ArrayRef<unsigned> order) {
  ops.resize(plan.nodes.size());
  outputs.resize(plan.nodes.size());
  for (unsigned group : order) {
    for (unsigned member : plan.groups.members(group)) {
      Operation *op = plan.nodes[member].op;
      if (holds.insert({group, op}).second)
        ops[group].push_back(op);
    }
    llvm::sort(ops[group], [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
  }
}

void Outliner::collectOutputs(ArrayRef<unsigned> order) {
  llvm::DenseSet<Operation *> stored;
  for (unsigned group : order) {
    for (unsigned member : plan.groups.members(group)) {
      const PlanNode &node = plan.nodes[member];
      bool needed =
          node.isReturned || llvm::any_of(node.users, [&](unsigned user) {
            unsigned reader = plan.groups.find(user);
            return reader != group && !holds.contains({reader, node.op});
          });
      if (needed && stored.insert(node.op).second)
        llvm::append_range(outputs[group], node.op->getResults());
    }
  }
}

/// Ops whose results only other groups needed, which now compute them.
void Outliner::dropDead(unsigned group) {
  llvm::SmallPtrSet<Operation *, 16> live;
  for (Value output : outputs[group])
    live.insert(output.getDefiningOp());
  for (Operation *op : llvm::reverse(ops[group]))
    if (live.contains(op))
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          live.insert(producer);
  llvm::erase_if(ops[group], [&](Operation *op) {
    bool dead = !live.contains(op);
    if (dead)
      holds.erase({group, op});
    return dead;
  });
}

graph::FusionOp Outliner::outline(unsigned group) {
  llvm::SetVector<Value> inputs;
  SmallVector<Operation *> constants;
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (Operation *op : ops[group]) {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && holds.contains({group, producer}))
        continue;
      if (producer && isInlineConstant(producer)) {
        if (seen.insert(producer).second)
          constants.push_back(producer);
        continue;
      }
      inputs.insert(operand);
    }
  }
  SmallVector<Value> actual;
  SmallVector<Location> locs, opLocs;
  for (Value input : inputs) {
    actual.push_back(global.lookupOrDefault(input));
    locs.push_back(input.getLoc());
  }
  for (Operation *op : ops[group])
    opLocs.push_back(op->getLoc());
  // Without outputs for terminators, results are what others read.
  llvm::sort(outputs[group], [](Value a, Value b) {
    return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  });
  auto fusion =
      graph::FusionOp::create(builder, outputs[group].back().getLoc(),
                              ValueRange(outputs[group]).getTypes(), actual);
  Region &region = fusion.getBody();
  Block *body = region.empty() ? &region.emplaceBlock() : &region.front();
  if (!body->empty())
    body->clear();
  IRMapping local;
  for (auto [input, loc] : llvm::zip(inputs, locs))
    local.map(input, body->addArgument(input.getType(), loc));
  OpBuilder inner = OpBuilder::atBlockEnd(body);
  for (Operation *constant : constants)
    inner.clone(*constant, local);
  for (Operation *op : ops[group])
    inner.clone(*op, local);
  SmallVector<Value> yielded;
  for (Value output : outputs[group])
    yielded.push_back(local.lookup(output));
  graph::YieldOp::create(inner, fusion.getLoc(), yielded);
  for (auto [output, result] : llvm::zip(outputs[group], fusion.getResults()))
    global.map(output, result);
  return fusion;
}

void Outliner::keep(Operation *op) {
  op->moveBefore(block.getTerminator());
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      operand.set(global.lookupOrDefault(operand.get()));
  });
}

SmallVector<OutlinedGroup> Outliner::run() {
  SmallVector<unsigned> order = plan.groups.sortedGroups();
  collectOps(order);
  collectOutputs(order);
  SmallVector<OutlinedGroup> result;
  SmallVector<Operation *> covered;
  for (unsigned group : order) {
    if (!plan.nodes[plan.groups.members(group).front()].facts) {
      keep(ops[group].front());
      continue;
    }
    llvm::append_range(covered, ops[group]);
    dropDead(group);
    if (!outputs[group].empty())
      result.push_back({outline(group), group});
  }
  Operation *terminator = block.getTerminator();
  for (OpOperand &operand : terminator->getOpOperands())
    operand.set(global.lookupOrDefault(operand.get()));
  llvm::SmallPtrSet<Operation *, 32> dead(covered.begin(), covered.end());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (dead.contains(&op) ||
        (op.hasTrait<OpTrait::ConstantLike>() && op.use_empty()))
      op.erase();
  return result;
}

SmallVector<OutlinedGroup> fusion::outlineGroups(Block &block,
                                                 PlanGraph &plan) {
  return Outliner(block, plan).run();
}
