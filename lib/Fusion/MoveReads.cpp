//===- MoveReads.cpp - reads behind products go to norms ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A residual of a layer whose norm comes behind it: a product's epilogue reads
// it slower than a kernel of rows does (CostModel.cpp, kReadBehindProduct).
//===----------------------------------------------------------------------===//
#include "RefineGroups.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;
using analysis::OpClass;

namespace {

/// An op that may move: `sum` of a product's kernel, which combines `product`
/// of the same kernel with a tensor from outside for `reader` alone. `wide` is
/// a cast of the product to the sum's type that moves, too: what is stored is
/// narrower then.
struct Move {
  unsigned sum, product, reader;
  std::optional<unsigned> wide = std::nullopt;
};

} // namespace

/// Less is no saving, us: a product whose time is that of its bytes saves as
/// much as the norm's kernel takes longer, but for rounding.
static constexpr double kLeastSaving = 0.1;

static bool isOfSize(Value value, RankedTensorType type) {
  auto own = dyn_cast<RankedTensorType>(value.getType());
  return own && own.getShape() == type.getShape();
}

/// The node of the same kernel that `node`, a cast to more bits for a single
/// user, reads.
static std::optional<unsigned> widenedBy(PlanGraph &plan, unsigned node) {
  auto cast = dyn_cast<graph::CastOp>(plan.nodes[node].op);
  if (!cast || plan.nodes[node].isReturned || plan.nodes[node].isCopy ||
      plan.nodes[node].users.size() != 1)
    return std::nullopt;
  auto bits = [](Value value) {
    return getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  };
  SmallVector<unsigned> producers = plan.producersOf(node);
  if (bits(cast->getOperand(0)) >= bits(cast->getResult(0)) ||
      producers.size() != 1 || plan.nodes[producers[0]].isCopy ||
      plan.nodes[producers[0]].op->getNumResults() != 1 ||
      plan.groups.find(producers[0]) != plan.groups.find(node))
    return std::nullopt;
  return producers[0];
}

/// The move of node `id`, if its op, kernel and reader have the form.
static std::optional<Move> moveOf(PlanGraph &plan, GroupChooser &chooser,
                                  unsigned id) {
  const PlanNode &node = plan.nodes[id];
  if (!node.facts || node.isReturned || node.isCopy || node.users.empty() ||
      node.facts->opClass != OpClass::Inlined ||
      node.facts->role != graph::FusionRole::elementwise ||
      node.op->getNumOperands() != 2)
    return std::nullopt;
  unsigned group = plan.groups.find(id);
  unsigned reader = plan.groups.find(node.users.front());
  if (reader == group || !chooser.hasContraction(group) ||
      !chooser.hasRowsAlone(reader) || !chooser.acceptsCopies(reader))
    return std::nullopt;
  for (unsigned user : node.users)
    if (plan.groups.find(user) != reader)
      return std::nullopt;
  auto type = cast<RankedTensorType>(node.op->getResult(0).getType());
  std::optional<unsigned> product;
  for (unsigned producer : plan.producersOf(id))
    if (plan.groups.find(producer) == group) {
      if (product)
        return std::nullopt;
      product = producer;
    }
  if (!product || plan.nodes[*product].isCopy ||
      plan.nodes[*product].op->getNumResults() != 1)
    return std::nullopt;
  Value made = plan.nodes[*product].op->getResult(0);
  if (made.getType() != type ||
      !llvm::all_of(node.op->getOperands(), [&](Value operand) {
        return isOfSize(operand, type) &&
               (operand == made || !operand.getDefiningOp() ||
                !isInlineConstant(operand.getDefiningOp()));
      }))
    return std::nullopt;
  if (std::optional<unsigned> narrow = widenedBy(plan, *product))
    return Move{id, *narrow, reader, *product};
  return Move{id, *product, reader};
}

/// What the move saves, us.
static double savingOf(PlanGraph &plan, GroupChooser &chooser,
                       const Move &move) {
  Operation *sum = plan.nodes[move.sum].op;
  unsigned group = plan.groups.find(move.sum);
  GroupChooser::Union before = chooser.unite(group);
  llvm::erase(before.ops, sum);
  llvm::erase(before.outputs, sum->getResult(0));
  Value made = plan.nodes[move.product].op->getResult(0);
  if (!llvm::is_contained(before.outputs, made))
    before.outputs.push_back(made);
  GroupChooser::Union after = chooser.unite(move.reader);
  if (move.wide) {
    llvm::erase(before.ops, plan.nodes[*move.wide].op);
    after.ops.push_back(plan.nodes[*move.wide].op);
  }
  if (!llvm::is_contained(after.ops, sum))
    after.ops.push_back(sum);
  if (after.ops.size() > chooser.getOptions().maxOps)
    return 0;
  std::optional<double> product = chooser.timeOf(before),
                        rows = chooser.timeOf(after);
  if (!product || !rows)
    return 0;
  return chooser.timeOf(group) + chooser.timeOf(move.reader) - *product - *rows;
}

static void apply(PlanGraph &plan, GroupChooser &chooser, const Move &move) {
  unsigned group = plan.groups.find(move.sum);
  unsigned wide = 0;
  if (move.wide) {
    wide = plan.addCopy(*move.wide, move.reader);
    plan.addUse(move.product, wide);
    llvm::erase(plan.nodes[*move.wide].users, move.sum);
  }
  unsigned copy = plan.addCopy(move.sum, move.reader);
  for (unsigned user : llvm::to_vector(plan.nodes[move.sum].users))
    plan.moveUse(move.sum, copy, user);
  for (unsigned producer : plan.producersOf(move.sum))
    plan.addUse(producer == move.wide ? wide : producer, copy);
  chooser.forgetTime(group);
  chooser.forgetTime(move.reader);
  SmallVector<unsigned, 2> copies{copy};
  if (move.wide)
    copies.push_back(wide);
  for (unsigned node : copies)
    for (unsigned producer : plan.producersOf(node))
      chooser.offer(producer, node);
}

unsigned fusion::moveReadsBehindProducts(PlanGraph &plan, GroupChooser &chooser,
                                         unsigned budget) {
  unsigned original = plan.nodes.size(), moved = 0;
  for (unsigned id = 0; id < original && moved < budget; ++id) {
    std::optional<Move> move = moveOf(plan, chooser, id);
    // A product that is stored for others already would stay as it is, but its
    // kernel would store less: that is a saving, too.
    if (!move || savingOf(plan, chooser, *move) < kLeastSaving)
      continue;
    unsigned ops = move->wide ? 2 : 1;
    if (moved + ops > budget)
      break;
    apply(plan, chooser, *move);
    moved += ops;
  }
  return moved;
}
