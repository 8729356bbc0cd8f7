//===- RefineGroups.cpp - steps after the greedy choice -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RefineGroups.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;

/// Most ops and instructions of a value that is recomputed: well below what a
/// load and a store of it cost at the ratio of bandwidth to issue rate of the
/// presets (about 25 instructions per 4-byte element).
static constexpr unsigned kMaxSliceOps = 8;
static constexpr int64_t kMaxSliceCost = 32;

namespace {

/// What it takes to compute a value from values outside of its group.
struct Slice {
  SmallVector<unsigned, 8> nodes; // producers first
  llvm::SmallSetVector<Value, 8> inputs;
};

class Recomputer {
public:
  Recomputer(PlanGraph &plan, GroupChooser &chooser, unsigned budget)
      : plan(plan), chooser(chooser), budget(budget) {}

  unsigned run();

private:
  PlanGraph &plan;
  GroupChooser &chooser;
  unsigned budget, numCopies = 0;
  /// A node of each group that stores less or computes more than before.
  SmallVector<unsigned> changed;

  std::optional<Slice> sliceOf(unsigned node);
  bool isCheapIn(const Slice &slice, unsigned node, unsigned reader);
  bool isLegalIn(const Slice &slice, unsigned node, unsigned reader);
  void copyInto(const Slice &slice, unsigned node, unsigned reader);
  bool tryNode(unsigned node);
};

} // namespace

std::optional<Slice> Recomputer::sliceOf(unsigned root) {
  Slice slice;
  unsigned group = plan.groups.find(root);
  llvm::DenseMap<Operation *, unsigned> inGroup;
  for (unsigned member : plan.groups.members(group))
    inGroup[plan.nodes[member].op] = member;
  SmallVector<unsigned> stack{root};
  llvm::SmallDenseSet<unsigned> seen{root};
  int64_t cost = 0;
  while (!stack.empty()) {
    unsigned id = stack.pop_back_val();
    const PlanNode &node = plan.nodes[id];
    cost += node.facts->cost;
    if (node.facts->opClass != analysis::OpClass::Inlined ||
        cost > kMaxSliceCost || slice.nodes.size() == kMaxSliceOps)
      return std::nullopt;
    slice.nodes.push_back(id);
    for (Value operand : node.op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      auto it = producer ? inGroup.find(producer) : inGroup.end();
      if (it == inGroup.end()) {
        if (!producer || !isInlineConstant(producer))
          slice.inputs.insert(operand);
      } else if (seen.insert(it->second).second) {
        stack.push_back(it->second);
      }
    }
  }
  llvm::sort(slice.nodes, [&](unsigned a, unsigned b) {
    return plan.nodes[a].op->isBeforeInBlock(plan.nodes[b].op);
  });
  return slice;
}

bool Recomputer::isCheapIn(const Slice &slice, unsigned node, unsigned reader) {
  llvm::SmallPtrSet<Value, 16> known;
  for (unsigned member : plan.groups.members(reader))
    for (Value operand : plan.nodes[member].op->getOperands())
      known.insert(operand);
  double extra = 0;
  for (Value input : slice.inputs)
    if (!known.contains(input))
      extra += analysis::tensorBytes(input.getType());
  return extra <=
         analysis::tensorBytes(plan.nodes[node].op->getResult(0).getType());
}

bool Recomputer::isLegalIn(const Slice &slice, unsigned node, unsigned reader) {
  GroupChooser::Union all = chooser.unite(reader);
  llvm::SmallPtrSet<Operation *, 16> present(all.ops.begin(), all.ops.end());
  for (unsigned id : slice.nodes)
    if (present.insert(plan.nodes[id].op).second)
      all.ops.push_back(plan.nodes[id].op);
  return all.ops.size() <= chooser.getOptions().maxOps &&
         chooser.mayCopy(all, reader, node);
}

void Recomputer::copyInto(const Slice &slice, unsigned root, unsigned reader) {
  llvm::DenseMap<Operation *, unsigned> copies;
  for (unsigned id : slice.nodes) {
    unsigned copy = plan.addCopy(id, reader);
    copies[plan.nodes[id].op] = copy;
    ++numCopies;
  }
  llvm::SmallDenseSet<Operation *> ops;
  for (unsigned id : slice.nodes)
    ops.insert(plan.nodes[id].op);
  // Uses among the copies and of the root by the reader.
  for (unsigned id : slice.nodes)
    for (unsigned user : llvm::to_vector(plan.nodes[id].users))
      if (ops.contains(plan.nodes[user].op) &&
          llvm::is_contained(slice.nodes, user))
        plan.addUse(copies[plan.nodes[id].op], copies[plan.nodes[user].op]);
  for (unsigned user : llvm::to_vector(plan.nodes[root].users))
    if (plan.groups.find(user) == reader)
      plan.moveUse(root, copies[plan.nodes[root].op], user);
  // Values that the copies read from other groups.
  for (unsigned id : slice.nodes)
    for (unsigned producer : plan.producersOf(id))
      if (!llvm::is_contained(slice.nodes, producer))
        plan.addUse(producer, copies[plan.nodes[id].op]);
}

bool Recomputer::tryNode(unsigned id) {
  const PlanNode &node = plan.nodes[id];
  if (!node.facts || node.isReturned || node.isCopy ||
      node.facts->opClass != analysis::OpClass::Inlined)
    return false;
  unsigned group = plan.groups.find(id);
  llvm::SmallSetVector<unsigned, 4> readers;
  for (unsigned user : node.users)
    if (unsigned reader = plan.groups.find(user); reader != group)
      readers.insert(reader);
  if (readers.empty())
    return false;
  std::optional<Slice> slice = sliceOf(id);
  if (!slice || numCopies + slice->nodes.size() * readers.size() > budget)
    return false;
  for (unsigned reader : readers)
    if (!chooser.acceptsCopies(reader) || !isCheapIn(*slice, id, reader) ||
        !isLegalIn(*slice, id, reader))
      return false;
  for (unsigned reader : readers)
    copyInto(*slice, id, reader);
  for (unsigned reader : readers)
    chooser.forgetTime(reader);
  chooser.forgetTime(group);
  changed.push_back(id);
  changed.append(readers.begin(), readers.end());
  return true;
}

unsigned Recomputer::run() {
  unsigned original = plan.nodes.size();
  for (unsigned id = 0; id < original; ++id)
    tryNode(id);
  chooser.retry(changed);
  return numCopies;
}

unsigned fusion::recomputeCheapValues(PlanGraph &plan, GroupChooser &chooser,
                                      unsigned budget) {
  return Recomputer(plan, chooser, budget).run();
}
