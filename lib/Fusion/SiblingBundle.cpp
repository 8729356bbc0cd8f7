//===- SiblingBundle.cpp - contractions that can be one -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "SiblingBundle.h"
#include "PlanGraph.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;
using analysis::Refusal;
using analysis::RefusalReason;

/// Most members of one bundle: bounds the buffers that a joined operand has.
static constexpr unsigned kMaxMembers = 32;
/// A product with fewer columns than this is computed as a reduction of rows
/// rather than by the contraction skeleton, so its sums have another order,
/// which merging would change.
static constexpr int64_t kFewColumns = 8;
/// Most ops that one search for a dependence visits.
static constexpr unsigned kMaxVisits = 4096;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Value SiblingBundle::end(unsigned i) {
  Operation *op = steps.empty() ? members[i] : steps.back()[i];
  return op->getResult(0);
}

SiblingBundle SiblingBundle::mapped(const IRMapping &mapping) const {
  SiblingBundle result = *this;
  for (graph::ContractOp &member : result.members)
    member = cast<graph::ContractOp>(mapping.lookup(member.getOperation()));
  for (auto &step : result.steps)
    for (Operation *&op : step)
      op = mapping.lookup(op);
  return result;
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// A contraction as a member of a set that shares operand 1 - `joined`; nothing
/// if it has no dimension to join along or its shape is not known or empty.
static std::optional<SiblingBundle> asMember(graph::ContractOp op,
                                             unsigned joined) {
  for (Value value : {op.getLhs(), op.getRhs(), op.getResult()})
    if (!typeOf(value).hasStaticShape() || !typeOf(value).getNumElements() ||
        typeOf(value).getEncoding())
      return std::nullopt;
  auto free = joined ? op.getRhsFree() : op.getLhsFree();
  int64_t columns = 1;
  for (int64_t dim : free)
    columns *= typeOf(op->getOperand(joined)).getDimSize(dim);
  if (free.empty() || columns < kFewColumns)
    return std::nullopt;
  SiblingBundle bundle;
  bundle.members.push_back(op);
  bundle.joined = joined;
  bundle.joinedAxis = free.front();
  bundle.resultAxis =
      op.getLhsBatch().size() + (joined ? op.getLhsFree().size() : 0);
  return bundle;
}

/// The type with dimension `axis` of size `size`.
static RankedTensorType withSize(RankedTensorType type, unsigned axis,
                                 int64_t size) {
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = size;
  return RankedTensorType::get(shape, type.getElementType());
}

SmallVector<SiblingBundle> fusion::findSiblings(Block &block) {
  // Shared operand, side, attributes, type of the other operand but for the
  // joined size, element type of the result.
  using Key = std::tuple<Value, unsigned, Attribute, Type, Type>;
  llvm::MapVector<Key, SmallVector<SiblingBundle>> sets;
  for (auto op : block.getOps<graph::ContractOp>())
    for (unsigned joined : {1u, 0u}) {
      std::optional<SiblingBundle> one = asMember(op, joined);
      if (!one)
        continue;
      Key key{op->getOperand(1 - joined), joined, op->getAttrDictionary(),
              withSize(typeOf(op->getOperand(joined)), one->joinedAxis, 1),
              typeOf(op.getResult()).getElementType()};
      SmallVector<SiblingBundle> &bundles = sets[key];
      if (bundles.empty() || bundles.back().members.size() == kMaxMembers)
        bundles.push_back(std::move(*one));
      else
        bundles.back().members.push_back(op);
    }
  SmallVector<SiblingBundle> result;
  for (auto &[key, bundles] : sets)
    for (SiblingBundle &bundle : bundles)
      if (bundle.members.size() > 1)
        result.push_back(std::move(bundle));
  return result;
}

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

namespace {
/// Looks for paths from a set of ops to values, through ops of one block that
/// stand behind the first of the set.
class PathSearch {
public:
  explicit PathSearch(Operation *first) : first(first) {}

  void addTarget(Operation *op) { targets.insert(op); }
  /// The target that `value` depends on; null if there is none.
  Operation *find(Value value);
  /// `find` may have missed one.
  bool gaveUp() const { return visits > kMaxVisits; }

private:
  Operation *first;
  llvm::SmallPtrSet<Operation *, 16> targets, seen;
  unsigned visits = 0;
};
} // namespace

Operation *PathSearch::find(Value value) {
  SmallVector<Operation *> work, entered;
  auto enter = [&](Value read) {
    Operation *op = read.getDefiningOp();
    if (op && op->getBlock() == first->getBlock() &&
        !op->isBeforeInBlock(first) && seen.insert(op).second) {
      work.push_back(op);
      entered.push_back(op);
    }
  };
  enter(value);
  while (!work.empty() && ++visits <= kMaxVisits) {
    Operation *op = work.pop_back_val();
    if (targets.contains(op)) {
      // Only what leads to no target stays seen. Targets are added in program
      // order, so it leads to none that comes later either.
      for (Operation *other : entered)
        seen.erase(other);
      return op;
    }
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        enter(operand);
    });
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The only op that reads `value`; null if there are several or it returns.
static Operation *onlyUser(Value value) {
  Operation *user = nullptr;
  for (Operation *reader : value.getUsers()) {
    if (user && user != reader)
      return nullptr;
    user = reader;
  }
  if (!user || user->getBlock() != value.getParentBlock() ||
      user->hasTrait<OpTrait::IsTerminator>())
    return nullptr;
  return user;
}

/// Whether `op` computes each result element from the operand elements at the
/// same place, so that it may act on joined operands.
static bool isPointwise(Operation *op) {
  auto fusible = dyn_cast<graph::FusibleOpInterface>(op);
  if (!fusible || op->getNumResults() != 1 || op->getNumRegions() ||
      fusible.getFusionRole() != graph::FusionRole::elementwise)
    return false;
  return llvm::all_of(op->getOperandTypes(), [&](Type type) {
    return cast<RankedTensorType>(type).getShape() ==
           typeOf(op->getResult(0)).getShape();
  });
}

/// The ops that all of `values` go through next, if they are alike.
static SmallVector<Operation *> nextStep(ArrayRef<Value> values,
                                         PathSearch &paths) {
  SmallVector<Operation *> step;
  for (Value value : values) {
    Operation *op = onlyUser(value);
    if (!op || !isPointwise(op) || llvm::is_contained(step, op))
      return {};
    Operation *model = step.empty() ? op : step.front();
    if (op->getName() != model->getName() ||
        op->getAttrDictionary() != model->getAttrDictionary() ||
        op->getNumOperands() != model->getNumOperands() ||
        typeOf(op->getResult(0)).getElementType() !=
            typeOf(model->getResult(0)).getElementType())
      return {};
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      if ((op->getOperand(i) == value) !=
              (model->getOperand(i) == values.front()) ||
          typeOf(op->getOperand(i)).getElementType() !=
              typeOf(model->getOperand(i)).getElementType())
        return {};
      if (op->getOperand(i) != value && paths.find(op->getOperand(i)))
        return {};
    }
    step.push_back(op);
  }
  return paths.gaveUp() ? SmallVector<Operation *>() : step;
}

std::optional<Refusal> fusion::checkBundle(SiblingBundle &bundle) {
  PathSearch paths(bundle.members.front());
  SmallVector<graph::ContractOp> kept;
  Operation *between = nullptr;
  for (graph::ContractOp member : bundle.members) {
    if (!kept.empty()) {
      if (Operation *target = paths.find(member->getOperand(bundle.joined))) {
        between = target;
        continue;
      }
      if (paths.gaveUp())
        return Refusal{RefusalReason::CycleSearchTooLong,
                       member.getOperation(),
                       {},
                       {},
                       double(kMaxVisits)};
    }
    kept.push_back(member);
    paths.addTarget(member);
  }
  bundle.members = std::move(kept);
  if (bundle.members.size() < 2)
    return Refusal{RefusalReason::WouldCreateCycle, between};
  bundle.steps.clear();
  while (true) {
    SmallVector<Value> ends;
    for (unsigned i = 0; i < bundle.members.size(); ++i)
      ends.push_back(bundle.end(i));
    SmallVector<Operation *> step = nextStep(ends, paths);
    if (step.empty())
      return std::nullopt;
    bundle.steps.push_back(std::move(step));
  }
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

namespace {
/// Builds the merged ops.
class Joiner {
public:
  Joiner(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  /// The values side by side along `axis`.
  Value join(ArrayRef<Value> values, unsigned axis);
  SmallVector<Operation *> concats;

private:
  Value joinBroadcasts(ArrayRef<Value> values, unsigned axis,
                       RankedTensorType type);

  OpBuilder &builder;
  Location loc;
};
} // namespace

static RankedTensorType joinedType(ArrayRef<Value> values, unsigned axis) {
  int64_t size = 0;
  for (Value value : values)
    size += typeOf(value).getDimSize(axis);
  return withSize(typeOf(values.front()), axis, size);
}

/// Broadcasts alike become one: of the same operand if it does not vary along
/// `axis`, else of the joined operands.
Value Joiner::joinBroadcasts(ArrayRef<Value> values, unsigned axis,
                             RankedTensorType type) {
  auto first = values.front().getDefiningOp<graph::BroadcastOp>();
  SmallVector<Value> operands;
  for (Value value : values) {
    auto op = value.getDefiningOp<graph::BroadcastOp>();
    if (!op || op.getDimensions() != first.getDimensions())
      return {};
    operands.push_back(op.getOperand());
  }
  const int64_t *at = llvm::find(first.getDimensions(), axis);
  unsigned dim = at - first.getDimensions().begin();
  bool varies = at != first.getDimensions().end() &&
                llvm::any_of(values, [&](Value value) {
                  auto op = value.getDefiningOp<graph::BroadcastOp>();
                  return typeOf(op.getOperand()).getDimSize(dim) != 1 ||
                         typeOf(value).getDimSize(axis) == 1;
                });
  if (!varies) {
    if (!llvm::all_equal(operands))
      return {};
    return graph::BroadcastOp::create(builder, loc, type, operands.front(),
                                      first.getDimensions());
  }
  for (Value value : values)
    if (typeOf(value.getDefiningOp<graph::BroadcastOp>().getOperand())
            .getDimSize(dim) != typeOf(value).getDimSize(axis))
      return {};
  RankedTensorType narrow = withSize(typeOf(operands.front()), dim, 1);
  for (Value operand : operands)
    if (withSize(typeOf(operand), dim, 1) != narrow)
      return {};
  return graph::BroadcastOp::create(builder, loc, type, join(operands, dim),
                                    first.getDimensions());
}

Value Joiner::join(ArrayRef<Value> values, unsigned axis) {
  RankedTensorType type = joinedType(values, axis);
  DenseElementsAttr first, other;
  auto isSameSplat = [&](Value value) {
    return matchPattern(value, m_Constant(&other)) && other.isSplat() &&
           other.getSplatValue<Attribute>() == first.getSplatValue<Attribute>();
  };
  if (matchPattern(values.front(), m_Constant(&first)) && first.isSplat() &&
      llvm::all_of(values, isSameSplat))
    return graph::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(type, first.getSplatValue<Attribute>()));
  if (values.front().getDefiningOp<graph::BroadcastOp>())
    if (Value joined = joinBroadcasts(values, axis, type))
      return joined;
  auto concat = graph::ConcatOp::create(builder, loc, type, values, axis);
  concats.push_back(concat);
  return concat;
}

/// Moves ops from `first` on that depend on `madeLast`, which stand behind
/// them, to just behind those, in their order.
static void restoreOrder(Operation *first, ArrayRef<Operation *> madeLast) {
  llvm::SmallPtrSet<Operation *, 32> late(madeLast.begin(), madeLast.end());
  SmallVector<Operation *> moved;
  for (Operation *op = first; op != madeLast.front(); op = op->getNextNode()) {
    bool dependsOnLate = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          dependsOnLate |= late.contains(producer);
    });
    if (dependsOnLate) {
      late.insert(op);
      moved.push_back(op);
    }
  }
  Operation *last = madeLast.back();
  for (Operation *op : moved) {
    op->moveAfter(last);
    last = op;
  }
}

namespace {
/// Replaces one bundle.
class BundleRewriter {
public:
  explicit BundleRewriter(SiblingBundle &bundle)
      : bundle(bundle), builder(bundle.members.front().getContext()),
        joiner(builder, bundle.members.front().getLoc()) {}
  SmallVector<Operation *> run();

private:
  using Ops = SmallVector<Operation *>;
  Operation *lastReplaced();
  Value merge(ArrayRef<Operation *> ops, ArrayRef<Operation *> before,
              Value merged);
  Ops slice(Value merged, ArrayRef<Operation *> ends);

  SiblingBundle &bundle;
  OpBuilder builder;
  Joiner joiner;
};
} // namespace

Operation *BundleRewriter::lastReplaced() {
  Operation *last = bundle.members.back();
  for (ArrayRef<Operation *> step : bundle.steps)
    for (Operation *op : step)
      if (last->isBeforeInBlock(op))
        last = op;
  return last;
}

/// One op for `ops`: the members if `before` is empty, else a step behind
/// `before`, which have become `merged`.
Value BundleRewriter::merge(ArrayRef<Operation *> ops,
                            ArrayRef<Operation *> before, Value merged) {
  Operation *model = ops.front();
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(model->getOperands())) {
    bool isMember = before.empty();
    if (!isMember && operand == before.front()->getResult(0)) {
      operands.push_back(merged);
    } else if (isMember && i != bundle.joined) {
      operands.push_back(operand);
    } else {
      SmallVector<Value> parts;
      for (Operation *op : ops)
        parts.push_back(op->getOperand(i));
      operands.push_back(
          joiner.join(parts, isMember ? bundle.joinedAxis : bundle.resultAxis));
    }
  }
  SmallVector<Value> results;
  SmallVector<Location> places;
  for (Operation *op : ops) {
    results.push_back(op->getResult(0));
    places.push_back(op->getLoc());
  }
  OperationState state(builder.getFusedLoc(places), model->getName());
  state.addOperands(operands);
  state.addAttributes(model->getAttrDictionary().getValue());
  state.addTypes(joinedType(results, bundle.resultAxis));
  return builder.create(state)->getResult(0);
}

/// Puts slices of `merged` in the place of the results of `ends`.
BundleRewriter::Ops BundleRewriter::slice(Value merged,
                                          ArrayRef<Operation *> ends) {
  Ops slices;
  SmallVector<int64_t> offsets(typeOf(merged).getRank(), 0);
  SmallVector<int64_t> strides(offsets.size(), 1);
  for (Operation *end : ends) {
    Value result = end->getResult(0);
    auto slice = graph::SliceOp::create(
        builder, end->getLoc(), result.getType(), merged, offsets, strides);
    offsets[bundle.resultAxis] += typeOf(result).getDimSize(bundle.resultAxis);
    result.replaceAllUsesWith(slice);
    slices.push_back(slice);
  }
  return slices;
}

SmallVector<Operation *> BundleRewriter::run() {
  Operation *before = bundle.members.front()->getPrevNode();
  Block *block = bundle.members.front()->getBlock();
  // Behind the last op that is replaced all operands are at hand.
  builder.setInsertionPointAfter(lastReplaced());
  Ops ops(bundle.members.begin(), bundle.members.end());
  Value merged = merge(ops, {}, {});
  for (ArrayRef<Operation *> step : bundle.steps) {
    merged = merge(step, ops, merged);
    ops.assign(step.begin(), step.end());
  }
  Ops slices = slice(merged, ops);
  for (auto &step : llvm::reverse(bundle.steps))
    for (Operation *op : step)
      op->erase();
  for (graph::ContractOp member : bundle.members)
    member->erase();
  restoreOrder(before ? before->getNextNode() : &block->front(), slices);
  return std::move(joiner.concats);
}

SmallVector<Operation *> fusion::rewriteBundle(SiblingBundle &bundle) {
  return BundleRewriter(bundle).run();
}
