//===- Stages.cpp - which values of a region go to memory -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Stages.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::host;
using graph::FusionRole;

namespace {
class Planner {
public:
  Planner(const RegionBody &region, bool everyOp)
      : region(region), everyOp(everyOp) {
    for (Operation *op : region.ops)
      inside.insert(op);
  }
  SmallVector<Stage> run();

private:
  bool isInside(Value value) const {
    return value.getDefiningOp() && inside.contains(value.getDefiningOp());
  }
  bool isOutput(Value value) const {
    return llvm::is_contained(region.outputs, value);
  }
  static FusionRole role(Operation *op) {
    return cast<graph::FusibleOpInterface>(op).getFusionRole();
  }
  bool staysInRegisters(Operation *reduction);
  void stageSource(Value value);
  void choose();
  SmallVector<Value> finalOutputs();
  llvm::SmallPtrSet<Value, 16> sourcesOf(Value value);

  const RegionBody &region;
  bool everyOp;
  llvm::SmallPtrSet<Operation *, 16> inside;
  llvm::SmallPtrSet<Value, 16> staged;
};
} // namespace

static bool isFusible(Operation *op) {
  return isa<graph::FusibleOpInterface>(op);
}

/// True if each element is used for one element of one output: a reduction with
/// elementwise ops behind it.
bool Planner::staysInRegisters(Operation *reduction) {
  Operation *op = reduction;
  if (op->getNumResults() != 1)
    return false;
  for (;;) {
    Value value = op->getResult(0);
    if (isOutput(value))
      return true;
    SmallVector<Operation *> users;
    for (Operation *user : value.getUsers())
      if (inside.contains(user) && !llvm::is_contained(users, user))
        users.push_back(user);
    if (users.size() != 1 || !isFusible(users[0]) ||
        role(users[0]) != FusionRole::elementwise)
      return false;
    op = users[0];
  }
}

/// Stages the computed values that `value` is made of by movement alone.
void Planner::stageSource(Value value) {
  if (!isInside(value))
    return;
  Operation *op = value.getDefiningOp();
  if (!isFusible(op) || isa<graph::ConstantOp>(op))
    return;
  // Padding is there to be read without a check.
  if (role(op) != FusionRole::movement || isa<graph::PadOp>(op)) {
    staged.insert(value);
    return;
  }
  for (Value operand : op->getOperands())
    stageSource(operand);
}

void Planner::choose() {
  for (Operation *op : region.ops) {
    if (!isFusible(op))
      continue;
    FusionRole kind = role(op);
    bool reduces = isa<graph::ReductionOpInterface>(op);
    for (Value result : op->getResults())
      if (everyOp || (reduces && !staysInRegisters(op)))
        staged.insert(result);
    bool readsOften = kind == FusionRole::contraction ||
                      kind == FusionRole::window || kind == FusionRole::search;
    if (readsOften)
      for (Value operand : op->getOperands())
        stageSource(operand);
  }
}

/// The outputs without a stage so far, in the order of their ops. Constants are
/// in memory already.
SmallVector<Value> Planner::finalOutputs() {
  SmallVector<Value> outputs;
  for (Operation *op : region.ops)
    for (Value result : op->getResults())
      if (isOutput(result) && !staged.contains(result) &&
          !isa<graph::ConstantOp>(op))
        outputs.push_back(result);
  return outputs;
}

/// `value` and all of the region that it is computed from.
llvm::SmallPtrSet<Value, 16> Planner::sourcesOf(Value value) {
  llvm::SmallPtrSet<Value, 16> found;
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (isInside(next) && found.insert(next).second)
      llvm::append_range(open, next.getDefiningOp()->getOperands());
  }
  return found;
}

SmallVector<Stage> Planner::run() {
  choose();
  SmallVector<Stage> stages;
  auto shapeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  for (Operation *op : region.ops) {
    Stage stage;
    for (Value result : op->getResults())
      if (staged.contains(result))
        stage.roots.push_back(result);
    if (stage.roots.empty())
      continue;
    stage.shape.assign(shapeOf(stage.roots[0]).begin(),
                       shapeOf(stage.roots[0]).end());
    stages.push_back(std::move(stage));
  }
  size_t firstFinal = stages.size();
  for (Value output : finalOutputs()) {
    ArrayRef<int64_t> shape = shapeOf(output);
    llvm::SmallPtrSet<Value, 16> needed = sourcesOf(output);
    Stage *home = nullptr;
    for (Stage &stage : llvm::drop_begin(stages, firstFinal)) {
      // What reads a stage comes with it or after it.
      if (llvm::any_of(stage.roots,
                       [&](Value root) { return needed.contains(root); }))
        home = nullptr;
      if (ArrayRef(stage.shape) == shape)
        home = &stage;
    }
    if (!home) {
      stages.push_back({{}, SmallVector<int64_t>(shape)});
      home = &stages.back();
    }
    home->roots.push_back(output);
  }
  return stages;
}

SmallVector<Stage> host::planStages(const RegionBody &region, bool everyOp) {
  return Planner(region, everyOp).run();
}
