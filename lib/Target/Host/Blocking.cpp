//===- Blocking.cpp - several elements in one pass of a reduction ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Blocking.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::host;
using graph::FusionRole;

/// Most elements of a block: with 16 lanes of f32 six accumulators take 12 of
/// AVX2's 16 registers and hide the latency of its multiply-add.
static constexpr int64_t kMostBlocked = 6;
/// Elements where no number up to kMostBlocked divides the dimension.
static constexpr int64_t kUnevenBlock = 4;
/// Sums along the reduced dimension have accumulators of 32 lanes.
static constexpr int64_t kBlockedSums = 4;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// True for sums of products of two operands.
static bool isContraction(graph::FusibleOpInterface op) {
  return op.getFusionRole() == FusionRole::contraction ||
         isa<graph::ConvolutionOp>(op);
}

/// The contraction of which the roots of `stage` are elementwise functions.
static graph::FusibleOpInterface
findContraction(const Stage &stage,
                llvm::function_ref<bool(Value)> isInMemory) {
  SmallVector<Value> open(stage.roots);
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    auto op = value.getDefiningOp<graph::FusibleOpInterface>();
    if (!op || shapeOf(value) != ArrayRef(stage.shape) ||
        !seen.insert(op).second)
      continue;
    if (isContraction(op))
      return op;
    if (op.getFusionRole() != FusionRole::elementwise)
      continue;
    for (Value operand : op->getOperands())
      if (!isInMemory(operand))
        open.push_back(operand);
  }
  return {};
}

/// True if an operand is indexed by result dimension `with` (any if negative)
/// and not by `without`.
static bool hasOperand(const graph::IterationSpace &space, int64_t with,
                       int64_t without) {
  return llvm::any_of(space.operands, [&](const auto &operand) {
    return (with < 0 || operand.map.isFunctionOfDim(with)) &&
           !operand.map.isFunctionOfDim(without);
  });
}

static int64_t blockOf(int64_t size) {
  for (int64_t count = kMostBlocked; count > 1; --count)
    if (size % count == 0)
      return count;
  return size > kUnevenBlock ? kUnevenBlock : 1;
}

Blocking host::blockForLanes(const Stage &stage,
                             llvm::function_ref<bool(Value)> isInMemory) {
  auto op = findContraction(stage, isInMemory);
  if (!op)
    return {};
  graph::IterationSpace space = op.getIterationSpace();
  int64_t last = static_cast<int64_t>(stage.shape.size()) - 1;
  Blocking best;
  for (int64_t dim = 0; dim < last; ++dim)
    if (int64_t count = blockOf(stage.shape[dim]);
        count > best.count && hasOperand(space, last, dim))
      best = {dim, count};
  // A depthwise convolution shares its kernel along a column; the sums do not
  // wait for each other.
  if (!best && last > 0 && op.getFusionRole() == FusionRole::window &&
      hasOperand(space, -1, last - 1))
    if (int64_t count = blockOf(stage.shape[last - 1]); count > 1)
      best = {last - 1, count};
  return best;
}

Blocking host::blockForSums(const Stage &stage,
                            llvm::function_ref<bool(Value)> isInMemory) {
  auto op = findContraction(stage, isInMemory);
  int64_t last = static_cast<int64_t>(stage.shape.size()) - 1;
  if (!op || last < 0 || stage.shape[last] < kBlockedSums ||
      !hasOperand(op.getIterationSpace(), -1, last))
    return {};
  return {last, kBlockedSums};
}

void host::jam(scf::ForOp loop, int64_t count) {
  // Bounds of inner loops must be defined outside.
  loop->walk([](LoopLikeOpInterface inner) { moveLoopInvariantCode(inner); });
  (void)loopUnrollJamByFactor(loop, count);
}
