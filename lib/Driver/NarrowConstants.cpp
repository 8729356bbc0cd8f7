//===- NarrowConstants.cpp - constants in fewer bytes ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms are in f32, so scale and bias of a 16-bit network become constants in
// f32 when their casts are folded. Every row reads them, from the first-level
// cache, and a thread holds them in registers while the row is reduced: half
// the bytes are half of both.
//
//  1. A constant is narrowed if all that reads it are row kernels that read
//     other tensors of the narrow type, where it is read by elements or
//     repeated. Other rows would have buffers of one type more, which they
//     cannot shift alike.
//  2. Fusions may be parts of others: types of arguments change at each level,
//     and the innermost one widens.
//===----------------------------------------------------------------------===//
#include "NarrowConstants.h"
#include "fusec/Analysis/OpFacts.h"
#include "fusec/Dialect/Graph/IR/ConstantStore.h"
#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Reference/Attributes.h"

using namespace mlir;
using namespace fusec;
using graph::FusionRole;

/// Constants up to this size are part of the text.
static constexpr int64_t kLeastElements = 17;
/// Larger ones are no scale of a row.
static constexpr int64_t kMostElements = 1 << 20;

/// `tensor` in `dtype` if that holds all its values: zeros have signs, and a
/// NaN equals nothing.
static std::optional<HostTensor> narrowed(const HostTensor &tensor,
                                          DType dtype) {
  llvm::Expected<HostTensor> result = HostTensor::create(dtype, tensor.shape);
  if (!result) {
    llvm::consumeError(result.takeError());
    return std::nullopt;
  }
  for (int64_t i = 0, count = tensor.elements(); i < count; ++i) {
    double value = tensor.getF64(i);
    result->setF64(i, value);
    double kept = result->getF64(i);
    if (kept != value || std::signbit(kept) != std::signbit(value))
      return std::nullopt;
  }
  return std::move(*result);
}

/// Whether a kernel reduces rows and does nothing that has a schedule of its
/// own for what it reads.
static bool reducesRows(graph::FusionOp fusion) {
  analysis::FactTable facts;
  bool reduces = false;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    const analysis::OpFacts *fact = facts.get(&op);
    if (!fact || fact->role == FusionRole::window ||
        fact->role == FusionRole::contraction ||
        fact->role == FusionRole::search)
      return false;
    reduces |= fact->role == FusionRole::reduction;
  }
  return reduces;
}

/// Whether `fusion` reads a tensor of `element` beside constants.
static bool readsOthers(graph::FusionOp fusion, Type element) {
  return llvm::any_of(fusion.getInputs(), [&](Value input) {
    Operation *op = input.getDefiningOp();
    return !(op && op->hasTrait<OpTrait::ConstantLike>()) &&
           cast<RankedTensorType>(input.getType()).getElementType() == element;
  });
}

/// Whether `use`, of a constant or of a fusion's argument, is one for which the
/// value may have elements of this type.
static bool allowsNarrow(OpOperand &use, Type element) {
  auto fusion = dyn_cast<graph::FusionOp>(use.getOwner());
  if (!fusion)
    return false;
  BlockArgument argument = fusion.getBody().getArgument(use.getOperandNumber());
  if (!fusion.getParts().empty())
    return llvm::all_of(argument.getUses(), [&](OpOperand &inner) {
      return allowsNarrow(inner, element);
    });
  analysis::FactTable facts;
  return reducesRows(fusion) && readsOthers(fusion, element) &&
         llvm::all_of(argument.getUsers(), [&](Operation *user) {
           const analysis::OpFacts *fact = facts.get(user);
           return isa<graph::BroadcastOp>(user) ||
                  (fact && fact->role == FusionRole::elementwise);
         });
}

/// Gives `use` the narrow value, which the kernel widens again.
static void narrowUse(OpOperand &use, Value narrow) {
  auto fusion = cast<graph::FusionOp>(use.getOwner());
  BlockArgument argument = fusion.getBody().getArgument(use.getOperandNumber());
  Type wide = argument.getType();
  use.set(narrow);
  argument.setType(narrow.getType());
  if (!fusion.getParts().empty()) {
    for (OpOperand &inner : llvm::make_early_inc_range(argument.getUses()))
      narrowUse(inner, argument);
    return;
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&fusion.getBody().front());
  auto widened =
      graph::CastOp::create(builder, fusion.getLoc(), wide, argument);
  argument.replaceAllUsesExcept(widened, widened);
}

/// `constant` in `dtype`, if its readers allow that and it holds all values.
static graph::ConstantOp inType(graph::ConstantOp constant, DType dtype) {
  Type element = graph::fromDType(constant.getContext(), dtype);
  if (!llvm::all_of(constant->getUses(),
                    [&](OpOperand &use) { return allowsNarrow(use, element); }))
    return {};
  llvm::Expected<HostTensor> wide =
      reference::toHostTensor(constant.getValue());
  if (!wide) {
    llvm::consumeError(wide.takeError());
    return {};
  }
  std::optional<HostTensor> narrow = narrowed(*wide, dtype);
  if (!narrow)
    return {};
  OpBuilder builder(constant);
  return graph::ConstantOp::create(
      builder, constant.getLoc(),
      graph::makeResource(constant.getType().clone(element), "narrow",
                          narrow->bytes));
}

static void narrowConstant(graph::ConstantOp constant) {
  RankedTensorType type = constant.getType();
  if (!type.getElementType().isF32() || constant.getValue().isSplat() ||
      type.getNumElements() < kLeastElements ||
      type.getNumElements() > kMostElements)
    return;
  graph::ConstantOp narrow = inType(constant, DType::F16);
  if (!narrow)
    narrow = inType(constant, DType::BF16);
  if (!narrow)
    return;
  for (OpOperand &use : llvm::make_early_inc_range(constant->getUses()))
    narrowUse(use, narrow);
  constant.erase();
}

void driver::narrowConstants(func::FuncOp function) {
  for (auto constant : llvm::make_early_inc_range(
           function.getBody().getOps<graph::ConstantOp>()))
    narrowConstant(constant);
}
