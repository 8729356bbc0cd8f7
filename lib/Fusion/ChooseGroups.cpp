//===- ChooseGroups.cpp - which groups to merge ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ChooseGroups.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;
using analysis::OpClass;
using analysis::Refusal;
using analysis::RefusalReason;

/// Retries of a pair whose refusal later merges may lift. Cycles and odd
/// outputs vanish when the op in between joins, which takes few merges.
static constexpr unsigned kMaxTries = 6;
/// An edge into a contraction counts less: as an epilogue of its producer the
/// same op is computed once, as a prologue once per tile.
static constexpr double kPrologueWeight = 0.5;
/// Groups up to this size are never over the bound on live values.
static constexpr unsigned kSmallGroup = 96;
/// Pairs of readers of one value that are tried for horizontal merging.
static constexpr unsigned kMaxSiblings = 64;
/// Where launches are shared, so many readers of a small value are better parts
/// with one text than a text that grows with their number.
static constexpr unsigned kManyReaders = 8;
static constexpr double kMuchLarger = 8;

GroupChooser::GroupChooser(PlanGraph &plan, analysis::FactTable &facts,
                           const FormGroupsOptions &options)
    : plan(plan), facts(facts), options(options), model(options.target) {
  limits.statistics = false;
  limits.pairs = false;
  groups.resize(plan.nodes.size());
  for (unsigned node = 0; node < plan.nodes.size(); ++node)
    initGroup(node);
}

void GroupChooser::initGroup(unsigned id) {
  const PlanNode &node = plan.nodes[id];
  Group &group = groups[id];
  group.numBuffers = node.op->getNumOperands() + node.op->getNumResults();
  group.isOpaque = !node.facts;
  if (!node.facts)
    return;
  group.isPlain = node.facts->isPlain;
  group.shape = node.facts->space.parallel;
  group.hasSearch = node.facts->opClass == OpClass::Search;
  group.hero = node.facts->opClass == OpClass::Hero ? node.facts : nullptr;
  group.hasReduction = node.facts->opClass == OpClass::Reduction;
  group.hasWindow = node.facts->opClass == OpClass::Window;
  group.row = group.hasReduction ? node.facts : nullptr;
}

double GroupChooser::edgeSaving(unsigned producer, unsigned consumer) const {
  const PlanNode &node = plan.nodes[producer];
  double bytes = 0;
  for (Type type : node.op->getResultTypes())
    if (isa<RankedTensorType>(type))
      bytes += analysis::tensorBytes(type);
  bool onlyUse = node.users.size() == 1 && !node.isReturned;
  return options.target.launchMicroseconds +
         model.memoryTime(bytes * (onlyUse ? 2 : 1));
}

void GroupChooser::push(Pair pair) {
  unsigned a = plan.groups.find(pair.a), b = plan.groups.find(pair.b);
  pair.size = groups[a].numOps + groups[b].numOps;
  queue.push(pair);
}

void GroupChooser::pushEdges() {
  for (auto [id, node] : llvm::enumerate(plan.nodes)) {
    for (unsigned user : node.users) {
      double saving = edgeSaving(id, user);
      const analysis::OpFacts *consumer = plan.nodes[user].facts;
      if (consumer && consumer->opClass == OpClass::Hero)
        saving *= kPrologueWeight;
      push({saving, 0, static_cast<unsigned>(id), user, 0});
    }
  }
}

bool GroupChooser::isSmallForMany(Value value, ArrayRef<unsigned> readers,
                                  bool isCopied) {
  // What each reader computes for itself is no read at all.
  double small = isCopied
                     ? 0
                     : analysis::pointCount(
                           cast<RankedTensorType>(value.getType()).getShape());
  llvm::SmallDenseSet<unsigned, 16> distinct;
  for (unsigned id : readers)
    if (analysis::pointCount(plan.nodes[id].facts->loops) >=
        kMuchLarger * small)
      distinct.insert(plan.groups.find(id));
  return distinct.size() > kManyReaders;
}

void GroupChooser::pushSiblings() {
  llvm::MapVector<Value, SmallVector<unsigned, 4>> readers;
  llvm::DenseSet<Operation *> copied;
  for (auto [id, node] : llvm::enumerate(plan.nodes)) {
    if (node.isCopy)
      copied.insert(node.op);
    if (node.facts)
      for (Value operand : node.op->getOperands())
        readers[operand].push_back(id);
  }
  for (auto &[value, ids] : readers) {
    // Constants in the text are read by nobody: what has no more in common
    // shares a launch.
    Operation *producer = value.getDefiningOp();
    if (options.horizontal && producer && isInlineConstant(producer))
      continue;
    if (options.horizontal &&
        isSmallForMany(value, ids, copied.contains(value.getDefiningOp())))
      continue;
    double saving = options.target.launchMicroseconds +
                    model.memoryTime(analysis::tensorBytes(value.getType()));
    unsigned pairs = 0;
    for (unsigned i = 1; i < ids.size() && pairs < kMaxSiblings; ++i) {
      if (plan.groups.find(ids[i - 1]) == plan.groups.find(ids[i]))
        continue;
      push({saving, 0, ids[i - 1], ids[i], 0});
      ++pairs;
    }
  }
}

/// A reduction behind a contraction joins it only when all else is settled: a
/// kernel that reads the contraction's result again anyway, to normalise it,
/// would gain nothing.
void GroupChooser::pushStatistics() {
  for (auto [id, node] : llvm::enumerate(plan.nodes))
    for (unsigned user : node.users) {
      const Group &producer = groups[plan.groups.find(id)];
      const Group &reader = groups[plan.groups.find(user)];
      if (producer.hero && reader.hasReduction && !reader.hero)
        push({edgeSaving(id, user), 0, static_cast<unsigned>(id), user, 0});
    }
}

void GroupChooser::drain() {
  while (!queue.empty()) {
    Pair pair = queue.top();
    queue.pop();
    unsigned a = plan.groups.find(pair.a), b = plan.groups.find(pair.b);
    if (a == b)
      continue;
    if (groups[a].numOps + groups[b].numOps > 2 * pair.size)
      push(pair);
    else
      attempt(pair);
  }
}

void GroupChooser::run() {
  pushEdges();
  drain();
  pushSiblings();
  drain();
  if (options.target.computeCapability == 90) {
    limits.pairs = true;
    pushPairs();
    drain();
  }
  limits.statistics = options.productStatistics != ProductStatistics::Never;
  if (!limits.statistics)
    return;
  // What reads a group that has joined a contraction may join it, too.
  size_t before;
  do {
    before = numMerges;
    pushStatistics();
    drain();
  } while (numMerges != before);
}

void GroupChooser::retry(ArrayRef<unsigned> nodes) {
  for (unsigned node : nodes)
    for (Pair pair :
         std::exchange(groups[plan.groups.find(node)].refused, {})) {
      unsigned a = plan.groups.find(pair.a), b = plan.groups.find(pair.b);
      if (a == b || groups[a].numOps + groups[b].numOps > kSmallGroup)
        continue;
      pair.tries = kMaxTries - 1;
      push(pair);
    }
  drain();
}

void GroupChooser::offer(unsigned producer, unsigned consumer) {
  push({edgeSaving(producer, consumer), 0, producer, consumer, kMaxTries - 1});
  drain();
}

const Refusal *GroupChooser::refusalOf(unsigned a, unsigned b) {
  if (lastRefusal.empty())
    for (auto [i, refusal] : llvm::enumerate(refusals))
      lastRefusal[std::minmax(plan.groups.find(std::get<0>(refusal)),
                              plan.groups.find(std::get<1>(refusal)))] = i;
  a = plan.groups.find(a), b = plan.groups.find(b);
  auto it = lastRefusal.find(std::minmax(a, b));
  return it == lastRefusal.end() ? nullptr : &std::get<2>(refusals[it->second]);
}

/// A product joins another one when each has what stands before it: a pair has
/// operands as they come, or turned alike.
void GroupChooser::pushPairs() {
  for (auto [id, node] : llvm::enumerate(plan.nodes))
    for (unsigned user : node.users)
      if (groups[plan.groups.find(id)].hero &&
          groups[plan.groups.find(user)].hero)
        push({edgeSaving(id, user), 0, static_cast<unsigned>(id), user, 0});
}

/// Whether a product has a tile for each multiprocessor: the forms that divide
/// the sums of fewer have no pairs.
static bool fillsMachine(const analysis::OpFacts &product,
                         const TargetInfo &target) {
  constexpr double kTile = 128 * 128;
  return analysis::pointCount(product.space.parallel) >=
         kTile * double(target.multiprocessors);
}

/// Refusals that growing groups never lift.
static bool isFinal(RefusalReason reason) {
  switch (reason) {
  case RefusalReason::WouldCreateCycle:
  case RefusalReason::CycleSearchTooLong:
  case RefusalReason::OutputShapesDiffer:
  case RefusalReason::NoProfit:
  case RefusalReason::TooManyBuffers:
  case RefusalReason::ReductionAxesDiffer:
    return false;
  default:
    return true;
  }
}

void GroupChooser::refuse(const Pair &pair, Refusal why) {
  if (!isFinal(why.reason) && pair.tries + 1 < kMaxTries) {
    Pair retry = pair;
    ++retry.tries;
    groups[plan.groups.find(pair.a)].refused.push_back(retry);
    groups[plan.groups.find(pair.b)].refused.push_back(retry);
  }
  refusals.emplace_back(pair.a, pair.b, std::move(why));
}

GroupChooser::Union GroupChooser::unite(ArrayRef<unsigned> ids) {
  Union result;
  llvm::SmallPtrSet<Operation *, 8> copies;
  auto inside = [&](unsigned node) {
    return llvm::is_contained(ids, plan.groups.find(node));
  };
  for (unsigned id : ids) {
    for (unsigned member : plan.groups.members(id)) {
      const PlanNode &node = plan.nodes[member];
      if (!node.isCopy || copies.insert(node.op).second)
        result.ops.push_back(node.op);
      if (node.isReturned || !llvm::all_of(node.users, inside))
        for (Value value : node.op->getResults())
          if (!node.isCopy || !llvm::is_contained(result.outputs, value))
            result.outputs.push_back(value);
    }
  }
  analyzedOps += result.ops.size();
  return result;
}

bool GroupChooser::mayCopy(const Union &all, unsigned reader,
                           unsigned producer) {
  std::optional<double> time = timeOf(all);
  return time && *time <= timeOf(reader) + timeOf(plan.groups.find(producer));
}

std::optional<double> GroupChooser::timeOf(const Union &all) {
  analysis::RegionVerdict verdict =
      analysis::analyzeRegion(facts, all.ops, all.outputs, limits);
  if (!verdict)
    return std::nullopt;
  return model.estimate(facts, *verdict).total();
}

bool GroupChooser::acceptsCopies(unsigned id) {
  const Group &group = groups[plan.groups.find(id)];
  return !group.isOpaque && !group.hasSearch;
}

double GroupChooser::timeOf(unsigned id) {
  Group &group = groups[id];
  // A group that lost its shape cannot arise; dead ops have no outputs.
  if (!group.time)
    group.time = timeOf(unite(id)).value_or(0);
  return *group.time;
}

std::optional<Refusal> GroupChooser::quickCheck(unsigned a, unsigned b) {
  const Group &x = groups[a], &y = groups[b];
  auto culprit = [&](auto has) {
    unsigned id = has(y) ? b : a;
    for (unsigned member : plan.groups.members(id)) {
      const PlanNode &node = plan.nodes[member];
      if (groups[id].numOps == 1 ||
          (node.facts && node.facts->opClass != OpClass::Inlined))
        return node.op;
    }
    return plan.nodes[id].op;
  };
  auto opaque = [](const Group &g) { return g.isOpaque || g.hasSearch; };
  auto hero = [](const Group &g) { return g.hero != nullptr; };
  auto reduction = [](const Group &g) { return g.hasReduction; };
  auto window = [](const Group &g) { return g.hasWindow; };
  if (opaque(x) || opaque(y))
    return Refusal{RefusalReason::OpaqueOp, culprit(opaque)};
  if (hero(x) && hero(y) &&
      (!limits.pairs || x.isPair || y.isPair ||
       !analysis::mayPair(*x.hero, *y.hero) ||
       !fillsMachine(*x.hero, options.target)))
    return Refusal{RefusalReason::SecondContraction, culprit(hero)};
  if (!limits.statistics &&
      ((hero(x) && reduction(y)) || (reduction(x) && hero(y))))
    return Refusal{RefusalReason::ReductionBesideContraction,
                   culprit(reduction)};
  auto staysApart = [&](const Group &g) {
    return hero(g) || (g.row && !analysis::mayFollowWindows(*g.row));
  };
  if ((window(x) && staysApart(y)) || (window(y) && staysApart(x)))
    return Refusal{RefusalReason::WindowBesideReduction, culprit(window)};
  // Beside a contraction there may be reductions of rows and of columns.
  if (x.row && y.row && !hero(x) && !hero(y) &&
      analysis::haveDifferentRows(*x.row, *y.row) &&
      !analysis::mayCross(*x.row, *y.row))
    return Refusal{RefusalReason::ReductionAxesDiffer, y.row->op,
                   analysis::reducedAxes(*x.row),
                   analysis::reducedAxes(*y.row)};
  if (x.numOps + y.numOps > options.maxOps)
    return Refusal{RefusalReason::RegionTooLarge,
                   nullptr,
                   {},
                   {},
                   static_cast<double>(options.maxOps)};
  return std::nullopt;
}

/// Most results of `ops` (in program order) that are needed later at once.
static unsigned mostLiveValues(ArrayRef<Operation *> ops) {
  llvm::DenseMap<Value, unsigned> lastUse;
  llvm::SmallPtrSet<Operation *, 32> inside(ops.begin(), ops.end());
  for (auto [i, op] : llvm::enumerate(ops))
    for (Value operand : op->getOperands())
      if (inside.contains(operand.getDefiningOp()))
        lastUse[operand] = i;
  SmallVector<unsigned> deaths(ops.size());
  for (auto &[value, at] : lastUse)
    ++deaths[at];
  unsigned live = 0, most = 0;
  for (auto [i, op] : llvm::enumerate(ops)) {
    live -= deaths[i];
    live += lastUse.contains(op->getResult(0));
    most = std::max(most, live);
  }
  return most;
}

std::optional<Refusal> GroupChooser::checkSize(unsigned a, unsigned b) {
  Group &x = groups[a], &y = groups[b];
  bool manyBuffers = x.numBuffers + y.numBuffers > options.maxBuffers;
  bool manyOps = x.numOps + y.numOps > kSmallGroup;
  if (!manyBuffers && !manyOps)
    return std::nullopt;
  Union all = unite({a, b});
  llvm::sort(all.ops,
             [](Operation *p, Operation *q) { return p->isBeforeInBlock(q); });
  llvm::SmallPtrSet<Operation *, 32> inside(all.ops.begin(), all.ops.end());
  llvm::SmallPtrSet<Value, 32> inputs;
  for (Operation *op : all.ops)
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && (inside.contains(producer) || isInlineConstant(producer)))
        continue;
      inputs.insert(operand);
    }
  unsigned buffers = inputs.size() + all.outputs.size();
  if (buffers > options.maxBuffers)
    return Refusal{RefusalReason::TooManyBuffers,
                   nullptr,
                   {},
                   {},
                   static_cast<double>(options.maxBuffers)};
  if (unsigned live = manyOps ? mostLiveValues(all.ops) : 0;
      live > options.maxLiveValues)
    return Refusal{RefusalReason::RegisterPressure,
                   nullptr,
                   {},
                   {},
                   static_cast<double>(live)};
  // The exact count, so that the bound above is tight again.
  x.numBuffers = buffers;
  y.numBuffers = 0;
  return std::nullopt;
}

std::optional<Refusal> GroupChooser::check(unsigned a, unsigned b,
                                           std::optional<double> &time) {
  if (std::optional<Refusal> why = quickCheck(a, b))
    return why;
  switch (plan.groups.checkMerge(a, b)) {
  case GroupGraph::MergeCheck::Ok:
    break;
  case GroupGraph::MergeCheck::Cycle:
    return Refusal{RefusalReason::WouldCreateCycle};
  case GroupGraph::MergeCheck::GaveUp:
    return Refusal{RefusalReason::CycleSearchTooLong, nullptr, {}, {}, 4096};
  }
  const Group &x = groups[a], &y = groups[b];
  bool plain = x.isPlain && y.isPlain && x.shape == y.shape;
  if (!plain) {
    Union all = unite({a, b});
    analysis::RegionVerdict verdict =
        analysis::analyzeRegion(facts, all.ops, all.outputs, limits);
    if (!verdict)
      return verdict.refusal();
    time = model.estimate(facts, *verdict).total();
    double apart = timeOf(a) + timeOf(b);
    bool isWanted = limits.statistics &&
                    options.productStatistics == ProductStatistics::Always;
    if (*time > apart && !isWanted)
      return Refusal{RefusalReason::NoProfit, nullptr, {}, {}, *time - apart};
  }
  return checkSize(a, b);
}

void GroupChooser::attempt(Pair pair) {
  ++attempts;
  unsigned a = plan.groups.find(pair.a), b = plan.groups.find(pair.b);
  std::optional<double> time;
  if (std::optional<Refusal> why = check(a, b, time)) {
    refuse(pair, std::move(*why));
    return;
  }
  mergeGroups(a, b);
  groups[plan.groups.find(a)].time = time;
}

void GroupChooser::mergeGroups(unsigned a, unsigned b) {
  ++numMerges;
  unsigned merged = plan.groups.merge(a, b);
  Group &into = groups[merged], &from = groups[merged == a ? b : a];
  into.numOps += from.numOps;
  into.numBuffers += from.numBuffers;
  into.isPlain = into.isPlain && from.isPlain && into.shape == from.shape;
  into.isPair |= from.isPair || (into.hero && from.hero);
  into.hero = into.hero ? into.hero : from.hero;
  into.hasReduction |= from.hasReduction;
  into.hasWindow |= from.hasWindow;
  into.row = into.row ? into.row : from.row;
  SmallVector<Pair, 0> retries = std::move(into.refused);
  llvm::append_range(retries, from.refused);
  into.refused.clear();
  from.refused.clear();
  for (const Pair &pair : retries)
    if (plan.groups.find(pair.a) != plan.groups.find(pair.b))
      push(pair);
}
