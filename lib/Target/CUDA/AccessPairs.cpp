//===- AccessPairs.cpp - accesses of neighbouring rows --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "AccessPairs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::cuda;

/// What is past `from` is `to`: the constant, if it is positive.
static std::optional<int64_t> distanceOf(Value from, Value to) {
  auto sum = to.getDefiningOp<arith::AddIOp>();
  APInt number;
  if (!sum || sum.getLhs() != from ||
      !matchPattern(sum.getRhs(), m_ConstantInt(&number)) ||
      !number.isStrictlyPositive())
    return std::nullopt;
  return number.getSExtValue();
}

/// Whether an access of the array `registers` may be made behind `op` as well
/// as ahead of it. A store has no load of memory behind it that was ahead.
static bool mayPass(Operation &op, Value registers, bool isStore) {
  return !op.walk([&](Operation *inner) {
              bool isKnown =
                  isMemoryEffectFree(inner) ||
                  isa<memref::AllocaOp, memref::LoadOp, memref::StoreOp,
                      scf::ForOp, scf::YieldOp>(inner) ||
                  (!isStore && isa<simt::LoadOp>(inner));
              return isKnown && !llvm::is_contained(inner->getOperands(),
                                                    registers)
                         ? WalkResult::advance()
                         : WalkResult::interrupt();
            }).wasInterrupted();
}

namespace {
/// Finds pairs of accesses in a block.
class Finder {
public:
  Finder(ArrayRef<bool> isRow, AccessPairs &pairs)
      : isRow(isRow), pairs(pairs) {}
  template <class Access>
  void pair(Access first) {
    if (!canPair(first))
      return;
    bool isStore = std::is_same_v<Access, simt::StoreOp>;
    for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
      if (auto second = dyn_cast<Access>(op); second && canPair(second))
        if (std::optional<int64_t> distance = match(first, second)) {
          pairs.firstOf[second] = {first, *distance};
          pairs.isLater.insert(first);
          return;
        }
      if (!mayPass(*op, first.getRegisters(), isStore))
        return;
    }
  }

private:
  template <class Access>
  bool canPair(Access access) const {
    auto buffer = dyn_cast<BlockArgument>(access.getBuffer());
    bool isMasked = std::is_same_v<Access, simt::LoadOp> && access.getMask();
    return buffer && buffer.getArgNumber() < isRow.size() &&
           isRow[buffer.getArgNumber()] && !isMasked &&
           access.getVector() > 1 && !pairs.firstOf.contains(access);
  }
  template <class Access>
  static std::optional<int64_t> match(Access first, Access second) {
    if (first.getBuffer() != second.getBuffer() ||
        first.getVector() != second.getVector() ||
        first.getMask() != second.getMask() ||
        first.getRegisters() == second.getRegisters() ||
        !matchPattern(first.getReg(), m_Zero()) ||
        !matchPattern(second.getReg(), m_Zero()))
      return std::nullopt;
    std::optional<int64_t> distance =
        distanceOf(first.getOffset(), second.getOffset());
    bool isApart = distance && *distance >= int64_t(first.getVector());
    return isApart ? distance : std::nullopt;
  }

  ArrayRef<bool> isRow;
  AccessPairs &pairs;
};
} // namespace

AccessPairs cuda::findAccessPairs(simt::KernelOp kernel, ArrayRef<bool> isRow) {
  AccessPairs pairs;
  Finder finder(isRow, pairs);
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<simt::LoadOp>(op))
      finder.pair(load);
    else if (auto store = dyn_cast<simt::StoreOp>(op))
      finder.pair(store);
  });
  return pairs;
}
