//===- PlanGraph.cpp - the graph that the planner works on ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "PlanGraph.h"
#include "fusec/Analysis/CostModel.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;

/// Constants up to this size are immediates in a kernel; larger ones are
/// buffers.
static constexpr int64_t kInlineConstantElements = 16;
/// An element-wise value up to this size may be recomputed at each broadcast of
/// it: it stays in the first-level cache and its kernel would be all launch.
static constexpr double kSmallValueBytes = 64 * 1024;
/// Most instructions of such an op.
static constexpr int64_t kCheapCost = 20;

bool fusion::isInlineConstant(Operation *op) {
  DenseElementsAttr value;
  if (!matchPattern(op, m_Constant(&value)))
    return false;
  return value.isSplat() || value.getNumElements() <= kInlineConstantElements;
}

Operation *fusion::ancestorIn(Block &block, Operation *op) {
  return block.findAncestorOpInBlock(*op);
}

/// Whether a copy of `op` per user is better than storing its result.
static bool isBetterRecomputed(Operation *op, const analysis::OpFacts &facts) {
  using graph::FusionRole;
  if (facts.role == FusionRole::movement)
    return facts.cost <= kCheapCost;
  if (facts.role != FusionRole::elementwise || facts.cost > kCheapCost ||
      analysis::tensorBytes(op->getResult(0).getType()) > kSmallValueBytes)
    return false;
  double own = analysis::pointCount(facts.space.parallel);
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    auto type = user->getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(user->getResult(0).getType())
                    : RankedTensorType();
    return type && analysis::pointCount(type.getShape()) > own;
  });
}

void PlanGraph::addCopies(Operation *op, analysis::FactTable &facts) {
  PlanNode node;
  node.op = op;
  node.facts = facts.get(op);
  bool hasOpaqueUser = false;
  llvm::SmallSetVector<unsigned, 4> users;
  for (Operation *user : op->getUsers()) {
    Operation *holder = ancestorIn(*op->getBlock(), user);
    if (holder->hasTrait<OpTrait::IsTerminator>()) {
      node.isReturned = true;
      continue;
    }
    for (unsigned copy : copies[holder]) {
      hasOpaqueUser |= !nodes[copy].facts;
      users.insert(copy);
    }
  }
  bool split = node.facts && users.size() > 1 && !node.isReturned &&
               !hasOpaqueUser && users.size() - 1 <= spareCopies &&
               isBetterRecomputed(op, *node.facts);
  auto &own = copies[op];
  if (!split) {
    node.users.assign(users.begin(), users.end());
    own.push_back(nodes.size());
    nodes.push_back(std::move(node));
    return;
  }
  spareCopies -= users.size() - 1;
  node.isCopy = true;
  for (unsigned user : users) {
    node.users.assign(1, user);
    own.push_back(nodes.size());
    nodes.push_back(node);
  }
}

PlanGraph::PlanGraph(Block &block, analysis::FactTable &facts) {
  for (Operation &op : block.without_terminator())
    if (!op.hasTrait<OpTrait::ConstantLike>())
      ++numOps;
  spareCopies = numOps;
  // Users first, so that a copy can be made per copy of a user.
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (!op.hasTrait<OpTrait::ConstantLike>())
      addCopies(&op, facts);
  std::reverse(nodes.begin(), nodes.end());
  unsigned last = nodes.size() - 1;
  for (PlanNode &node : nodes) {
    groups.addNode();
    for (unsigned &user : node.users)
      user = last - user;
  }
  producers.resize(nodes.size());
  for (auto [id, node] : llvm::enumerate(nodes))
    for (unsigned user : node.users) {
      groups.addEdge(id, user);
      producers[user].push_back(id);
    }
}

unsigned PlanGraph::addCopy(unsigned node, unsigned group) {
  PlanNode copy = nodes[node];
  copy.users.clear();
  copy.isReturned = false;
  copy.isCopy = nodes[node].isCopy = true;
  nodes.push_back(copy);
  producers.emplace_back();
  return groups.addMember(group);
}

void PlanGraph::addUse(unsigned producer, unsigned user) {
  if (llvm::is_contained(nodes[producer].users, user))
    return;
  nodes[producer].users.push_back(user);
  producers[user].push_back(producer);
  groups.addEdge(producer, user);
}

void PlanGraph::moveUse(unsigned from, unsigned to, unsigned user) {
  llvm::erase(nodes[from].users, user);
  llvm::erase(producers[user], from);
  addUse(to, user);
}

SmallVector<unsigned> PlanGraph::producersOf(unsigned node) {
  return llvm::to_vector(producers[node]);
}
