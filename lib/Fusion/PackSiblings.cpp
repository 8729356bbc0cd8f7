//===- PackSiblings.cpp - independent kernels in one launch ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//  1. Small kernels of one level are packed.
//  2. One that is left over is the guest of a kernel that fills the machine, if
//     there is one at a level where it can run.
//===----------------------------------------------------------------------===//
#include "PackSiblings.h"
#include "LaunchParts.h"
#include "fusec/Analysis/RowTiling.h"
#include <queue>

using namespace mlir;
using namespace fusec;
using namespace fusec::fusion;
using analysis::KernelKind;
using analysis::Refusal;
using analysis::RefusalReason;

/// What the parts of one launch read from and leave for other kernels lives
/// longer than it would in launches of their own. Half of the L2 of the presets
/// (50 and 40 MB): what stays there costs no traffic.
static constexpr double kMaxHeldBytes = 20e6;

/// Streams of up to so many launches share one: starting and ending a kernel
/// costs about 3 us of bandwidth beside the launch.
static constexpr double kStreamLaunches = 32;
/// Addresses from a table are registers: streams of more buffers would run
/// with fewer threads.
static constexpr unsigned kStreamBuffers = 12;
/// Of its host's time, what the guests of a kernel may take together.
static constexpr double kGuestShare = 0.1;
/// Hosts that are tried for a guest.
static constexpr size_t kMostHosts = 8;

namespace {

/// A kernel that may share a launch.
struct Candidate {
  unsigned outlined; // index
  unsigned level, position;
  unsigned tableBytes, numOps;
  double heldBytes;
  /// Equal for kernels whose text is likely to be equal.
  llvm::hash_code body;
  KernelKind kind;
  /// Without its launch.
  double microseconds;
};

/// A launch that is still open for parts.
struct Pack {
  SmallVector<unsigned> members; // indices into `outlined`
  unsigned tableBytes = 0, numOps = 0;
  double heldBytes = 0;
  llvm::SmallDenseSet<size_t, 8> bodies;
};

class Packer {
public:
  Packer(Block &block, ArrayRef<OutlinedGroup> outlined,
         const FormGroupsOptions &options)
      : block(block), outlined(outlined), options(options),
        model(options.target) {}
  std::vector<PlannedKernel> run();

private:
  void collectEdges();
  void assignLevels();
  std::optional<Refusal> whyAlone(unsigned index);
  Candidate describe(unsigned index, const analysis::RegionForm &form,
                     double microseconds);
  std::optional<Refusal> add(Pack &pack, const Candidate &candidate);
  std::pair<unsigned, unsigned> levelsOf(unsigned position);
  void placeGuests();
  void merge(ArrayRef<unsigned> members);
  void reorder();

  Block &block;
  ArrayRef<OutlinedGroup> outlined;
  const FormGroupsOptions &options;
  analysis::CostModel model;
  analysis::FactTable facts;
  /// Ops of the block in order, and their positions there.
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> positions;
  SmallVector<SmallVector<unsigned, 4>> producers, users;
  SmallVector<unsigned> levels;
  std::vector<Candidate> candidates, hosts;
  /// By number in `outlined`.
  SmallVector<bool> isPart;
  std::vector<PlannedKernel> result;
};

} // namespace

/// Calls `visit` for the ops of `block` that `op`, or an op inside it, reads.
static void forEachProducer(Block &block, Operation *op,
                            function_ref<void(Operation *)> visit) {
  auto visitOperands = [&](Operation *reader) {
    for (Value operand : reader->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && producer->getBlock() == &block)
        visit(producer);
  };
  // What is inside a fusion reads its arguments only.
  if (isa<graph::FusionOp>(op))
    visitOperands(op);
  else
    op->walk(visitOperands);
}

void Packer::collectEdges() {
  for (Operation &op : block.without_terminator()) {
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
  producers.resize(ops.size());
  users.resize(ops.size());
  for (auto [i, op] : llvm::enumerate(ops))
    forEachProducer(block, op, [&, i = unsigned(i)](Operation *producer) {
      unsigned from = positions.lookup(producer);
      producers[i].push_back(from);
      users[from].push_back(i);
    });
}

/// As early as possible; but what nothing waits for goes last and what waits
/// for nothing goes just before its first reader, so that parts which could run
/// at any time meet.
void Packer::assignLevels() {
  levels.assign(ops.size(), 0);
  unsigned last = 0;
  for (unsigned i = 0; i < ops.size(); ++i) {
    for (unsigned producer : producers[i])
      if (!ops[producer]->hasTrait<OpTrait::ConstantLike>())
        levels[i] = std::max(levels[i], levels[producer] + 1);
    last = std::max(last, levels[i]);
  }
  for (unsigned i = 0; i < ops.size(); ++i)
    if (users[i].empty())
      levels[i] = last;
  auto isConstant = [&](unsigned op) {
    return ops[op]->hasTrait<OpTrait::ConstantLike>();
  };
  for (unsigned i = 0; i < ops.size(); ++i) {
    if (users[i].empty() || !llvm::all_of(producers[i], isConstant))
      continue;
    unsigned first = last;
    for (unsigned user : users[i])
      first = std::min(first, levels[user]);
    levels[i] = first ? first - 1 : 0;
  }
}

/// A hash of what decides the text of a kernel.
static llvm::hash_code bodyOf(const analysis::RegionForm &form) {
  llvm::hash_code hash = llvm::hash_value(unsigned(form.kind));
  for (Operation *op : form.ops) {
    hash = llvm::hash_combine(hash, op->getName().getAsOpaquePointer());
    SmallVector<Type> types(op->getOperandTypes());
    llvm::append_range(types, op->getResultTypes());
    for (Type type : types) {
      auto tensor = cast<RankedTensorType>(type);
      // Sizes of a pointwise kernel are arguments, mostly.
      hash = form.kind == KernelKind::Pointwise
                 ? llvm::hash_combine(hash, tensor.getElementType(),
                                      tensor.getRank())
                 : llvm::hash_combine(hash, type);
    }
  }
  return hash;
}

/// Why a kernel cannot be a part, whatever is beside it; adds it to the
/// candidates if it can.
std::optional<Refusal> Packer::whyAlone(unsigned index) {
  graph::FusionOp fusion = outlined[index].fusion;
  analysis::RegionVerdict form = analysis::analyzeFusion(facts, fusion);
  if (!form)
    return form.refusal();
  if (Operation *hero = form->hero())
    return Refusal{RefusalReason::LaunchOfItsOwn, hero};
  if (analysis::blocksMeet(facts, *form, options.target))
    return Refusal{RefusalReason::LaunchOfItsOwn, form->stages.front().op};
  if (form->kind == KernelKind::Naive)
    return Refusal{RefusalReason::OpaqueOp, form->ops.front()};
  analysis::CostEstimate cost = model.estimate(facts, *form);
  double alone = cost.total() - cost.launchTime;
  // What starting and ending a kernel costs shows in streams of many times its
  // length; other schedules are better by themselves.
  unsigned buffers = fusion.getNumOperands() + fusion.getNumResults();
  bool isStream =
      form->kind == KernelKind::Pointwise && buffers <= kStreamBuffers;
  double limit =
      options.target.launchMicroseconds * (isStream ? kStreamLaunches : 1);
  if (alone > limit) {
    if (analysis::rowsMayShare(facts, *form, options.target))
      hosts.push_back(describe(index, *form, alone));
    return Refusal{RefusalReason::FillsTheMachine, nullptr, {}, {}, alone};
  }
  candidates.push_back(describe(index, *form, alone));
  return std::nullopt;
}

Candidate Packer::describe(unsigned index, const analysis::RegionForm &form,
                           double microseconds) {
  graph::FusionOp fusion = outlined[index].fusion;
  unsigned position = positions.lookup(fusion);
  double held = 0;
  for (Value input : fusion.getInputs())
    if (Operation *producer = input.getDefiningOp();
        producer && !producer->hasTrait<OpTrait::ConstantLike>())
      held += analysis::tensorBytes(input.getType());
  for (Value result : fusion.getResults())
    if (llvm::any_of(result.getUsers(), [&](Operation *user) {
          return user != block.getTerminator();
        }))
      held += analysis::tensorBytes(result.getType());
  return {index,
          levels[position],
          position,
          tableBytesOf(fusion),
          unsigned(form.ops.size()),
          held,
          bodyOf(form),
          form.kind,
          microseconds};
}

/// Adds a part, or says why the launch is full.
std::optional<Refusal> Packer::add(Pack &pack, const Candidate &candidate) {
  bool isNew = !pack.bodies.contains(size_t(candidate.body));
  if (!pack.members.empty()) {
    if (pack.tableBytes + candidate.tableBytes > kMaxTableBytes)
      return Refusal{RefusalReason::TooManyBuffers,
                     nullptr,
                     {},
                     {},
                     double(kMaxTableBytes / 8)};
    if (isNew && pack.numOps + candidate.numOps > options.maxOps)
      return Refusal{RefusalReason::RegionTooLarge,
                     nullptr,
                     {},
                     {},
                     double(options.maxOps)};
    if (pack.heldBytes + candidate.heldBytes > kMaxHeldBytes)
      return Refusal{RefusalReason::HoldsMemory,
                     nullptr,
                     {},
                     {},
                     pack.heldBytes + candidate.heldBytes};
  }
  pack.members.push_back(candidate.outlined);
  pack.tableBytes += candidate.tableBytes;
  pack.heldBytes += candidate.heldBytes;
  if (isNew)
    pack.numOps += candidate.numOps;
  pack.bodies.insert(size_t(candidate.body));
  return std::nullopt;
}

/// The first and the last level at which the op at `position` can run.
std::pair<unsigned, unsigned> Packer::levelsOf(unsigned position) {
  unsigned first = 0, last = ops.size();
  for (unsigned producer : producers[position])
    if (!ops[producer]->hasTrait<OpTrait::ConstantLike>())
      first = std::max(first, levels[producer] + 1);
  // Nothing reads a kernel of level 0 from below.
  for (unsigned user : users[position])
    last = std::min(last, levels[user] - 1);
  return {first, last};
}

/// Gives small streams that share no launch to kernels that fill the machine: a
/// few more blocks, which take their time beside those of the host.
void Packer::placeGuests() {
  llvm::sort(hosts, [](const Candidate &a, const Candidate &b) {
    return std::pair(a.level, a.position) < std::pair(b.level, b.position);
  });
  SmallVector<Pack> packs(hosts.size());
  SmallVector<double> room;
  for (auto [host, pack] : llvm::zip(hosts, packs)) {
    host.heldBytes = 0; // whether it has guests or not
    (void)add(pack, host);
    room.push_back(kGuestShare * host.microseconds);
  }
  for (const Candidate &guest : candidates) {
    if (isPart[guest.outlined] || guest.kind != KernelKind::Pointwise)
      continue;
    auto [first, last] = levelsOf(guest.position);
    size_t at = llvm::partition_point(hosts,
                                      [&, first = first](auto &host) {
                                        return host.level < first;
                                      }) -
                hosts.begin();
    size_t end = std::min(at + kMostHosts, hosts.size());
    for (; at < end && hosts[at].level <= last; ++at) {
      if (guest.microseconds > room[at] || add(packs[at], guest))
        continue;
      room[at] -= guest.microseconds;
      levels[guest.position] = hosts[at].level;
      break;
    }
  }
  for (const Pack &pack : packs)
    if (pack.members.size() > 1)
      merge(pack.members);
}

/// Makes `members` parts of one launch, where the last of them stood: there all
/// inputs are at hand.
void Packer::merge(ArrayRef<unsigned> members) {
  unsigned last = 0;
  PlannedKernel kernel;
  SmallVector<graph::FusionOp> parts;
  for (unsigned member : members) {
    parts.push_back(outlined[member].fusion);
    last = std::max(last, positions.lookup(outlined[member].fusion));
    kernel.groups.push_back(outlined[member].group);
    isPart[member] = true;
  }
  OpBuilder builder = OpBuilder::atBlockTerminator(&block);
  kernel.fusion = mergeParts(builder, parts);
  positions[kernel.fusion] = last;
  result.push_back(std::move(kernel));
}

/// Producers first, otherwise in the order of `positions`.
void Packer::reorder() {
  ops.clear();
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  llvm::DenseMap<Operation *, SmallVector<Operation *, 2>> readers;
  llvm::DenseMap<Operation *, unsigned> missing;
  using Entry = std::pair<unsigned, Operation *>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  for (Operation *op : ops) {
    unsigned count = 0;
    forEachProducer(block, op, [&](Operation *producer) {
      readers[producer].push_back(op);
      ++count;
    });
    missing[op] = count;
    if (!count)
      ready.push({positions.lookup(op), op});
  }
  while (!ready.empty()) {
    Operation *op = ready.top().second;
    ready.pop();
    op->moveBefore(block.getTerminator());
    for (Operation *reader : readers[op])
      if (--missing[reader] == 0)
        ready.push({positions.lookup(reader), reader});
  }
}

std::vector<PlannedKernel> Packer::run() {
  collectEdges();
  assignLevels();
  isPart.assign(outlined.size(), false);
  std::vector<std::optional<Refusal>> alone(outlined.size());
  for (unsigned i = 0; i < outlined.size(); ++i)
    alone[i] = whyAlone(i);
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    return std::pair(a.level, a.position) < std::pair(b.level, b.position);
  });
  auto close = [&](Pack &pack, std::optional<Refusal> why) {
    if (pack.members.size() == 1)
      alone[pack.members.front()] =
          why ? std::move(why) : Refusal{RefusalReason::NothingBeside};
    if (pack.members.size() > 1)
      merge(pack.members);
    pack = Pack();
  };
  Pack pack;
  unsigned level = 0;
  for (const Candidate &candidate : candidates) {
    if (candidate.level != level)
      close(pack, std::nullopt);
    level = candidate.level;
    if (std::optional<Refusal> why = add(pack, candidate)) {
      close(pack, std::move(why));
      (void)add(pack, candidate);
    }
  }
  close(pack, std::nullopt);
  placeGuests();
  if (!result.empty())
    reorder();
  for (auto [i, group] : llvm::enumerate(outlined))
    if (!isPart[i])
      result.push_back({group.fusion, {group.group}, std::move(alone[i])});
  llvm::sort(result, [](const PlannedKernel &a, const PlannedKernel &b) {
    return a.fusion->isBeforeInBlock(b.fusion);
  });
  return std::move(result);
}

std::vector<PlannedKernel>
fusion::packSiblings(Block &block, ArrayRef<OutlinedGroup> outlined,
                     const FormGroupsOptions &options) {
  return Packer(block, outlined, options).run();
}
