//===- MergeContractions.cpp - contractions of one operand ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Profit and record. Whether a merge pays depends on what stands behind it: a
// slice that a contraction reads costs nothing, one that returns is a copy, and
// gate * up is an epilogue of one product only while there are two. So the
// planner itself plans the neighbourhood of a bundle with and without the
// merge, and the smaller sum of its estimates wins. Equal neighbourhoods (the
// layers of a net) are planned once.
//===----------------------------------------------------------------------===//
#include "fusec/Fusion/MergeContractions.h"
#include "PlanGraph.h"
#include "SiblingBundle.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;
using analysis::Refusal;
using analysis::RefusalReason;

/// Most ops of a neighbourhood.
static constexpr unsigned kMaxNeighbours = 256;
/// Most bytes of constants that are joined in one function: they are held a
/// second time while it compiles.
static constexpr double kMaxJoinedBytes = double(int64_t(1) << 31);

namespace {

/// Ops of a function of their own: a bundle and what reads it, up to the next
/// contractions.
class Neighbourhood {
public:
  explicit Neighbourhood(SiblingBundle &bundle);

  /// µs of the neighbourhood as it is, or with the bundle merged. Joined
  /// constants count as constants if `foldable`.
  double estimate(const FormGroupsOptions &options, bool merged, bool foldable);
  /// Equal for neighbourhoods of equal ops and types.
  std::string text();

private:
  struct Copy {
    OwningOpRef<func::FuncOp> function;
    SiblingBundle bundle;
    /// Arguments that stand for constants.
    llvm::DenseSet<Value> constants;
  };
  void add(Operation *op);
  Copy copy();
  void foldConcats(Copy &copy, ArrayRef<Operation *> concats);

  SiblingBundle &bundle;
  llvm::SetVector<Operation *> ops;
};

} // namespace

/// Adds `op` and, in front of it, movements of outside values that it reads.
void Neighbourhood::add(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto broadcast = operand.getDefiningOp<graph::BroadcastOp>())
      ops.insert(broadcast);
  ops.insert(op);
}

Neighbourhood::Neighbourhood(SiblingBundle &bundle) : bundle(bundle) {
  // Which members an op depends on, as bits.
  llvm::DenseMap<Operation *, uint64_t> from;
  SmallVector<Operation *> work;
  auto enter = [&](Operation *op, uint64_t bits) {
    uint64_t &known = from[op];
    if ((known | bits) == known)
      return;
    known |= bits;
    work.push_back(op);
  };
  for (auto [i, member] : llvm::enumerate(bundle.members))
    enter(member, uint64_t(1) << i);
  llvm::SmallPtrSet<Operation *, 8> members(bundle.members.begin(),
                                            bundle.members.end());
  while (!work.empty() && from.size() < kMaxNeighbours) {
    Operation *op = work.pop_back_val();
    if (isa<graph::ContractOp>(op) && !members.contains(op))
      continue;
    uint64_t bits = from.lookup(op);
    for (Operation *user : op->getUsers())
      if (user->getBlock() == op->getBlock() &&
          isa<graph::FusibleOpInterface>(user))
        enter(user, bits);
  }
  SmallVector<Operation *> found;
  for (auto [op, bits] : from) {
    // A contraction of what members were combined to is not for them to feed:
    // it would take the combination as a prologue, which an estimate of bytes
    // and instructions makes too cheap.
    bool readsCombined = llvm::any_of(op->getOperands(), [&](Value operand) {
      return llvm::popcount(from.lookup(operand.getDefiningOp())) > 1;
    });
    if (!isa<graph::ContractOp>(op) || !readsCombined)
      found.push_back(op);
  }
  llvm::sort(found,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : found)
    add(op);
}

Neighbourhood::Copy Neighbourhood::copy() {
  OpBuilder builder(bundle.members.front().getContext());
  Location loc = builder.getUnknownLoc();
  Copy result;
  result.function = func::FuncOp::create(loc, "neighbourhood",
                                         builder.getFunctionType({}, {}));
  Block *block = result.function->addEntryBlock();
  builder.setInsertionPointToEnd(block);
  IRMapping mapping;
  for (Operation *op : ops)
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (mapping.contains(operand) || (producer && ops.contains(producer)))
        continue;
      if (producer && isInlineConstant(producer)) {
        builder.clone(*producer, mapping);
        continue;
      }
      Value argument = block->addArgument(operand.getType(), loc);
      mapping.map(operand, argument);
      if (producer && producer->hasTrait<OpTrait::ConstantLike>())
        result.constants.insert(argument);
    }
  SmallVector<Value> results;
  for (Operation *op : ops) {
    builder.clone(*op, mapping)->setLoc(loc);
    for (Value value : op->getResults())
      if (llvm::any_of(value.getUsers(),
                       [&](Operation *user) { return !ops.contains(user); }))
        results.push_back(mapping.lookup(value));
  }
  func::ReturnOp::create(builder, loc, results);
  result.bundle = bundle.mapped(mapping);
  return result;
}

/// Replaces concatenations of constants by constants.
void Neighbourhood::foldConcats(Copy &copy, ArrayRef<Operation *> concats) {
  for (Operation *op : concats) {
    if (!llvm::all_of(op->getOperands(), [&](Value operand) {
          return copy.constants.contains(operand) ||
                 (operand.getDefiningOp() &&
                  operand.getDefiningOp()->hasTrait<OpTrait::ConstantLike>());
        }))
      continue;
    Value argument =
        op->getBlock()->addArgument(op->getResult(0).getType(), op->getLoc());
    op->getResult(0).replaceAllUsesWith(argument);
    op->erase();
  }
}

static void setType(func::FuncOp function) {
  Block &block = function.getBody().front();
  function.setFunctionType(
      FunctionType::get(function.getContext(), block.getArgumentTypes(),
                        block.getTerminator()->getOperandTypes()));
}

double Neighbourhood::estimate(const FormGroupsOptions &options, bool merged,
                               bool foldable) {
  Copy copy = this->copy();
  if (merged) {
    SmallVector<Operation *> concats = rewriteBundle(copy.bundle);
    if (foldable)
      foldConcats(copy, concats);
  }
  setType(*copy.function);
  return formGroups(*copy.function, options).estimatedMicroseconds();
}

std::string Neighbourhood::text() {
  Copy copy = this->copy();
  setType(*copy.function);
  std::string text;
  llvm::raw_string_ostream os(text);
  copy.function->print(os, OpPrintingFlags().useLocalScope());
  for (auto [i, argument] : llvm::enumerate(copy.function->getArguments()))
    os << copy.constants.contains(argument);
  // Which ops are the members.
  for (graph::ContractOp member : bundle.members)
    os << ' ' << std::distance(ops.begin(), llvm::find(ops, member));
  return text;
}

namespace {

/// What a trial said of one neighbourhood.
struct Verdict {
  double separate = 0, merged = 0;
};

class Merger {
public:
  Merger(Block &block, const FormGroupsOptions &options)
      : block(block), options(options) {}
  MergedContractions run();

private:
  std::optional<Refusal> whyNot(SiblingBundle &bundle, double &saved);
  double workOf(graph::ContractOp member);
  Verdict tryBoth(SiblingBundle &bundle, bool foldable);

  Block &block;
  const FormGroupsOptions &options;
  llvm::StringMap<Verdict> verdicts;
  double joinedBytes = 0;
};

} // namespace

/// µs that a contraction takes by itself, without its launch.
double Merger::workOf(graph::ContractOp member) {
  double k = 1;
  auto lhs = cast<RankedTensorType>(member.getLhs().getType());
  for (int64_t dim : member.getLhsContract())
    k *= double(lhs.getDimSize(dim));
  auto result = cast<RankedTensorType>(member.getResult().getType());
  analysis::CostEstimate cost =
      analysis::CostModel(options.target)
          .fromTotals(analysis::tensorBytes(lhs) +
                          analysis::tensorBytes(member.getRhs().getType()),
                      analysis::tensorBytes(result), 0,
                      2 * k * analysis::pointCount(result.getShape()));
  return cost.total() - cost.launchTime;
}

Verdict Merger::tryBoth(SiblingBundle &bundle, bool foldable) {
  Neighbourhood neighbourhood(bundle);
  auto [it, isNew] =
      verdicts.try_emplace(neighbourhood.text() + (foldable ? "f" : "-"));
  if (isNew)
    it->second = {neighbourhood.estimate(options, false, foldable),
                  neighbourhood.estimate(options, true, foldable)};
  return it->second;
}

/// Why a legal bundle stays as it is.
std::optional<Refusal> Merger::whyNot(SiblingBundle &bundle, double &saved) {
  double bytes = 0, longest = 0;
  bool foldable = true;
  for (graph::ContractOp member : bundle.members) {
    Value joined = member->getOperand(bundle.joined);
    bytes += analysis::tensorBytes(joined.getType());
    longest = std::max(longest, workOf(member));
    Operation *producer = joined.getDefiningOp();
    foldable &= producer && producer->hasTrait<OpTrait::ConstantLike>();
  }
  foldable &= joinedBytes + bytes <= kMaxJoinedBytes;
  // Choosing among operands element by element costs the main loop more than a
  // launch where there is much to do.
  if (!foldable && longest > options.target.launchMicroseconds)
    return Refusal{RefusalReason::OperandsNotConstant,
                   bundle.members.front().getOperation(),
                   {},
                   {},
                   longest};
  Verdict verdict = tryBoth(bundle, foldable);
  saved = verdict.separate - verdict.merged;
  if (saved <= 0)
    return Refusal{RefusalReason::NoProfit,
                   bundle.members.front().getOperation(),
                   {},
                   {},
                   -saved};
  if (foldable)
    joinedBytes += bytes;
  return std::nullopt;
}

static bool isOfConstants(Operation *op) {
  return llvm::all_of(op->getOperands(), [](Value operand) {
    Operation *producer = operand.getDefiningOp();
    return producer && producer->hasTrait<OpTrait::ConstantLike>();
  });
}

MergedContractions Merger::run() {
  MergedContractions result;
  llvm::DenseSet<Operation *> gone;
  for (SiblingBundle &bundle : findSiblings(block)) {
    llvm::erase_if(bundle.members, [&](graph::ContractOp member) {
      return gone.contains(member);
    });
    if (bundle.members.size() < 2)
      continue;
    SiblingDecision decision;
    SmallVector<graph::ContractOp> found = bundle.members;
    std::optional<Refusal> why = checkBundle(bundle);
    for (graph::ContractOp member : why ? found : bundle.members)
      decision.members.push_back(member.getOperation());
    if (!why)
      why = whyNot(bundle, decision.microseconds);
    decision.merged = !why;
    decision.refusal = std::move(why);
    result.decisions.push_back(std::move(decision));
    if (!result.decisions.back().merged)
      continue;
    gone.insert(bundle.members.begin(), bundle.members.end());
    for (Operation *concat : rewriteBundle(bundle))
      if (isOfConstants(concat))
        result.constantConcats.push_back(concat);
  }
  return result;
}

MergedContractions fusion::mergeContractions(FunctionOpInterface function,
                                             const FormGroupsOptions &options) {
  if (function.isExternal() || !function.getFunctionBody().hasOneBlock())
    return {};
  return Merger(function.getFunctionBody().front(), options).run();
}
