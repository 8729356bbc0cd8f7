//===- StencilShifts.cpp - windows spelt with slices ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "StencilShifts.h"
#include "BoxExtent.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::analysis;

// Reads of a region, each through its movement ops.
static constexpr size_t kMaxReads = 256;
// An op of so many places is worth a look; fewer are halves of rows or pairs.
static constexpr size_t kNeighbours = 3;

namespace {

class ShiftSolver {
public:
  explicit ShiftSolver(const RegionForm &form) : form(form) {}
  std::optional<SmallVector<ShiftedValue>> run();

private:
  bool readOperands(Operation *op, ArrayRef<TileExtent> box,
                    ArrayRef<TileExtent> reader);
  bool read(Value value, ArrayRef<TileExtent> box, ArrayRef<TileExtent> reader);
  bool isInside(Operation *op) const {
    auto placed = form.placements.find(op);
    return placed != form.placements.end() && !placed->second.box.empty();
  }

  const RegionForm &form;
  llvm::MapVector<Value, ShiftedValue> values;
  size_t count = 0;
};

} // namespace

static bool isMovement(Operation *op) {
  auto fusible = dyn_cast_or_null<graph::FusibleOpInterface>(op);
  return fusible && fusible.getFusionRole() == graph::FusionRole::movement;
}

/// Reads what `op` needs for `box` of its result, on behalf of an op with the
/// box `reader`.
bool ShiftSolver::readOperands(Operation *op, ArrayRef<TileExtent> box,
                               ArrayRef<TileExtent> reader) {
  graph::IterationSpace space =
      cast<graph::FusibleOpInterface>(op).getIterationSpace();
  for (auto [operand, access] : llvm::zip(op->getOperands(), space.operands)) {
    if (operand.getDefiningOp<graph::ConstantOp>())
      continue;
    if (!access.map || access.isIndirect)
      return false;
    SmallVector<TileExtent> needed;
    auto type = cast<RankedTensorType>(operand.getType());
    for (auto [expr, size] :
         llvm::zip(access.map.getResults(), type.getShape()))
      needed.push_back(extentOf(expr, box, size));
    if (!read(operand, needed, reader))
      return false;
  }
  return true;
}

bool ShiftSolver::read(Value value, ArrayRef<TileExtent> box,
                       ArrayRef<TileExtent> reader) {
  Operation *op = value.getDefiningOp();
  if (op && isInside(op) && isMovement(op))
    return readOperands(op, box, reader);
  if (++count > kMaxReads)
    return false;
  ShiftedValue &known = values[value];
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  if (!known.value) {
    known.value = value;
    known.box.assign(box.begin(), box.end());
  }
  for (auto [mine, other, size] : llvm::zip(known.box, box, shape))
    mine = join(mine, other, size);
  known.reads.push_back(
      {SmallVector<TileExtent>(reader), SmallVector<TileExtent>(box)});
  return true;
}

std::optional<SmallVector<ShiftedValue>> ShiftSolver::run() {
  for (Operation *op : form.ops)
    if (isInside(op) && !isMovement(op)) {
      ArrayRef<TileExtent> box = form.placements.find(op)->second.box;
      if (!readOperands(op, box, box))
        return std::nullopt;
    }
  // Results that only move elements are read at the spine's points.
  for (const RegionOutput &output : form.outputs)
    if (isMovement(output.value.getDefiningOp())) {
      ArrayRef<TileExtent> box =
          form.placements.find(output.value.getDefiningOp())->second.box;
      if (!read(output.value, box, box))
        return std::nullopt;
    }
  // Arguments first, then in the order of the ops.
  SmallVector<ShiftedValue> result;
  for (auto &[value, shifted] : values)
    if (!value.getDefiningOp() || !isInside(value.getDefiningOp()))
      result.push_back(shifted);
  for (Operation *op : form.ops)
    for (Value value : op->getResults())
      if (auto it = values.find(value); it != values.end() && isInside(op))
        result.push_back(it->second);
  return result;
}

std::optional<SmallVector<ShiftedValue>>
analysis::shiftedValues(const RegionForm &form) {
  return ShiftSolver(form).run();
}

bool analysis::readsNeighbours(const RegionForm &form) {
  // Pieces read what they have in common once, without a march.
  return form.kind == KernelKind::Pointwise && countPieces(form) == 1 &&
         llvm::any_of(form.placements, [](const auto &placed) {
           return placed.second.reads.size() >= kNeighbours;
         });
}
