//===- ChainPlan.cpp - what steps of a chain hand on ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 1. A step that few blocks would do, and whose results only steps read, every
//    block does: that takes less than handing its results on.
// 2. The results of other steps are sent to all blocks, each for a meeting of
//    its own: who reads one does not wait for the next.
// 3. A value gets the first room that nobody has read since all blocks met the
//    last time. If there is none, they meet again.
//===----------------------------------------------------------------------===//
#include "ChainPlan.h"
#include "fusec/Analysis/CostModel.h"

#include "llvm/ADT/MapVector.h"
#include <functional>
#include <numeric>

using namespace mlir;
using namespace fusec;
using namespace fusec::driver;
using cuda::ChainAccess;

/// What barriers may take of a block's memory.
static constexpr int64_t kBarrierBytes = 4 * 1024;

/// Bytes of a kept value: whole lines.
static int64_t keptBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return llvm::alignTo(
      tensor.getNumElements() * (tensor.getElementTypeBitWidth() / 8), 128);
}

bool driver::canBeKept(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return false;
  Type element = tensor.getElementType();
  // Sends have whole words.
  return element.isIntOrFloat() && (element.getIntOrFloatBitWidth() == 32 ||
                                    element.getIntOrFloatBitWidth() == 64);
}

static int64_t blocksOf(simt::KernelOp kernel) {
  return std::accumulate(kernel.getGrid().begin(), kernel.getGrid().end(),
                         int64_t(1), std::multiplies<int64_t>());
}

namespace {
class Planner {
public:
  Planner(ArrayRef<graph::FusionOp> fusions, ArrayRef<simt::KernelOp> kernels,
          ArrayRef<bool> repeated, int64_t room)
      : fusions(fusions), kernels(kernels), repeated(repeated), room(room) {}
  std::optional<ChainPlan> run();

private:
  struct Value {
    int64_t place = -1, bytes = 0;
    /// The last step that reads it; its meeting, or -1.
    unsigned lastRead = 0;
    int meeting = -1;
    bool isOutput = false;
  };

  bool findValues();
  bool findRoom(Value &value, unsigned step);
  bool planStep(unsigned step);

  ArrayRef<graph::FusionOp> fusions;
  ArrayRef<simt::KernelOp> kernels;
  ArrayRef<bool> repeated;
  int64_t room;
  ChainPlan plan;
  llvm::MapVector<mlir::Value, Value> values;
  /// The step at which all blocks met the last time, and the last meeting that
  /// they have waited for.
  unsigned metAt = 0;
  int waited = -1;
};
} // namespace

/// Whether `kernel` has its buffer `argument` by plain loads and stores.
static bool isPlain(simt::KernelOp kernel, unsigned argument) {
  BlockArgument buffer = kernel.getBody().getArgument(argument);
  return llvm::all_of(buffer.getUses(), [](OpOperand &use) {
    return isa<simt::LoadOp, simt::StoreOp>(use.getOwner()) &&
           use.getOperandNumber() == 0;
  });
}

/// What steps hand on; false if one of it cannot be kept.
bool Planner::findValues() {
  for (unsigned step = 0; step < fusions.size(); ++step) {
    graph::FusionOp fusion = fusions[step];
    for (auto [i, input] : llvm::enumerate(fusion.getInputs())) {
      auto found = values.find(input);
      if (found == values.end())
        continue;
      found->second.lastRead = step;
      if (!isPlain(kernels[step], i))
        return false;
    }
    for (auto [i, result] : llvm::enumerate(fusion->getResults())) {
      auto isStep = [&](Operation *user) {
        return llvm::is_contained(fusions, user);
      };
      if (llvm::none_of(result.getUsers(), isStep))
        continue;
      if (!canBeKept(result.getType()) ||
          !isPlain(kernels[step], fusion.getNumOperands() + i))
        return false;
      Value &value = values[result];
      value.bytes = keptBytes(result.getType());
      value.isOutput = !llvm::all_of(result.getUsers(), isStep);
    }
  }
  return true;
}

/// Gives `value` a place that nobody reads any more.
bool Planner::findRoom(Value &value, unsigned step) {
  SmallVector<std::pair<int64_t, int64_t>> taken;
  for (auto &[other, known] : values)
    if (known.place >= 0 && known.lastRead >= metAt)
      taken.push_back({known.place, known.place + known.bytes});
  llvm::sort(taken);
  int64_t place = 0;
  for (auto [first, end] : taken) {
    if (first - place >= value.bytes)
      break;
    place = std::max(place, end);
  }
  if (place + value.bytes > room)
    return false;
  value.place = place;
  plan.sharedBytes = std::max(plan.sharedBytes, place + value.bytes);
  return true;
}

bool Planner::planStep(unsigned index) {
  graph::FusionOp fusion = fusions[index];
  simt::KernelOp kernel = kernels[index];
  ChainStep &step = plan.steps[index];
  step.blocks = blocksOf(kernel);
  SmallVector<ChainAccess> accesses;
  SmallVector<int64_t> places;
  auto add = [&](ChainAccess access, int64_t place) {
    accesses.push_back(access);
    places.push_back(place);
  };
  for (mlir::Value input : fusion.getInputs()) {
    auto found = values.find(input);
    if (found == values.end()) {
      add(ChainAccess::Memory, -1);
      continue;
    }
    add(ChainAccess::Kept, found->second.place);
    if (found->second.meeting > waited)
      step.waits = waited = found->second.meeting;
  }
  bool hasScratch = kernel.getScratch() && !kernel.getScratch()->empty();
  step.isRepeated = repeated[index] && !hasScratch &&
                    llvm::all_of(fusion->getResults(), [&](mlir::Value result) {
                      auto found = values.find(result);
                      return found != values.end() && !found->second.isOutput;
                    });
  for (mlir::Value result : fusion->getResults()) {
    auto found = values.find(result);
    if (found == values.end()) {
      add(ChainAccess::Memory, -1);
      continue;
    }
    Value &value = found->second;
    if (!findRoom(value, index)) {
      metAt = index;
      step.meets = plan.form.syncs = true;
      if (!findRoom(value, index))
        return false;
    }
    if (step.isRepeated) {
      add(ChainAccess::Kept, value.place);
      continue;
    }
    add(value.isOutput ? ChainAccess::SentOut : ChainAccess::Sent, value.place);
    value.meeting = plan.meetingBytes.size();
    if (step.sends < 0)
      step.sends = value.meeting;
    auto type = cast<RankedTensorType>(result.getType());
    plan.meetingBytes.push_back(type.getNumElements() *
                                (type.getElementTypeBitWidth() / 8));
  }
  for (size_t i = accesses.size(); i < kernel.getBody().getNumArguments(); ++i)
    add(ChainAccess::Memory, -1);
  plan.form.accesses.push_back(std::move(accesses));
  plan.places.push_back(std::move(places));
  return true;
}

std::optional<ChainPlan> Planner::run() {
  plan.form.blocks = analysis::kChainBlocks;
  plan.steps.resize(fusions.size());
  if (!findValues())
    return std::nullopt;
  for (unsigned step = 0; step < fusions.size(); ++step)
    if (!planStep(step))
      return std::nullopt;
  if (plan.meetingBytes.empty())
    plan.meetingBytes.push_back(0); // no array without elements
  plan.form.meetings = plan.meetingBytes.size();
  return std::move(plan);
}

/// All values are in memory. The blocks meet after a step where the next one
/// reads what was made since the last time.
static ChainPlan planInMemory(ArrayRef<graph::FusionOp> fusions,
                              ArrayRef<simt::KernelOp> kernels) {
  ChainPlan plan;
  plan.form.blocks = analysis::kChainBlocks;
  llvm::SmallPtrSet<Operation *, 8> since;
  for (auto [fusion, kernel] : llvm::zip(fusions, kernels)) {
    if (llvm::any_of(fusion->getOperands(), [&](Value input) {
          return since.contains(input.getDefiningOp());
        })) {
      plan.steps.back().meets = true;
      since.clear();
    }
    since.insert(fusion);
    plan.steps.emplace_back().blocks = blocksOf(kernel);
  }
  return plan;
}

ChainPlan driver::planChain(ArrayRef<graph::FusionOp> fusions,
                            ArrayRef<simt::KernelOp> kernels,
                            ArrayRef<bool> repeated, const TargetInfo &target,
                            int64_t arenaBytes) {
  int64_t room = target.sharedBytesPerBlock - kBarrierBytes - arenaBytes;
  if (auto kept = Planner(fusions, kernels, repeated, room).run())
    return std::move(*kept);
  return planInMemory(fusions, kernels);
}
