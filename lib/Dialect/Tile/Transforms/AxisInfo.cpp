//===- AxisInfo.cpp - runs of equal and consecutive elements --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Tile/Transforms/AxisInfo.h"
#include "fusec/Dialect/Common/ConstantOf.h"
#include "fusec/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;
using fusec::constantOf;
using namespace fusec::tile;

// "Any size": larger than every tile.
static constexpr int64_t kAll = int64_t(1) << 30;

/// The largest power of two that divides `value`.
static int64_t powerOfTwoIn(int64_t value) {
  return value == 0 ? kAll : std::min(kAll, value & -value);
}

int64_t AxisInfo::divisibilityAt(int64_t size) const {
  return size >= contiguity ? divisibility : std::min(divisibility, size);
}

static AxisInfo uniform(int64_t divisibility) {
  return {/*contiguity=*/1, /*constancy=*/kAll, divisibility};
}

/// Groups of this size start at a multiple of their size and so does `by`.
static int64_t alignedRun(const AxisInfo &x, int64_t by) {
  int64_t run = std::min(x.contiguity, powerOfTwoIn(by));
  while (run > 1 && x.divisibilityAt(run) < run)
    run /= 2;
  return run;
}

/// Runs of equal elements of x in a sum with y.
static void addSpan(AxisInfo &result, const AxisInfo &x, const AxisInfo &y) {
  int64_t span = std::min(x.span, y.constancy);
  if (span <= x.repeat || span <= result.span)
    return;
  result.span = span;
  result.repeat = x.repeat;
  // A group that is cut starts at multiples of its length.
  int64_t first = span < x.span ? std::min(x.spanDivisibility, span / x.repeat)
                                : x.spanDivisibility;
  result.spanDivisibility = std::min(first, y.divisibilityAt(1));
}

static AxisInfo addInfo(const AxisInfo &x, const AxisInfo &y) {
  AxisInfo result;
  addSpan(result, x, y);
  addSpan(result, y, x);
  result.contiguity = std::max(std::min(x.contiguity, y.constancy),
                               std::min(y.contiguity, x.constancy));
  result.constancy = std::min(x.constancy, y.constancy);
  result.divisibility = std::min(x.divisibilityAt(result.contiguity),
                                 y.divisibilityAt(result.contiguity));
  return result;
}

static AxisInfo subInfo(const AxisInfo &x, const AxisInfo &y) {
  AxisInfo result = addInfo(x, y);
  // y increasing makes the difference decrease.
  result.span = result.repeat = result.spanDivisibility = 1;
  addSpan(result, x, y);
  result.contiguity = std::min(x.contiguity, y.constancy);
  result.divisibility = std::min(x.divisibilityAt(result.contiguity),
                                 y.divisibilityAt(result.contiguity));
  return result;
}

static AxisInfo mulInfo(const AxisInfo &x, const AxisInfo &y) {
  AxisInfo result;
  result.constancy = std::min(x.constancy, y.constancy);
  result.divisibility =
      std::min(kAll, x.divisibilityAt(1) * y.divisibilityAt(1));
  return result;
}

static AxisInfo divInfo(const AxisInfo &x, int64_t by) {
  if (by == 1)
    return x;
  AxisInfo result;
  result.constancy = std::max(x.constancy, alignedRun(x, by));
  if (powerOfTwoIn(by) != by)
    return result;
  result.divisibility = std::max<int64_t>(1, x.divisibilityAt(1) / by);
  // Groups that start at multiples of `by`.
  int64_t run = x.contiguity;
  while (run > by && x.divisibilityAt(run) < by)
    run /= 2;
  if (run > by) {
    result.repeat = by;
    result.span = run;
    result.spanDivisibility = std::max<int64_t>(1, x.divisibilityAt(run) / by);
  }
  return result;
}

static AxisInfo remInfo(const AxisInfo &x, int64_t by) {
  AxisInfo result;
  result.contiguity = alignedRun(x, by);
  result.constancy = x.constancy;
  result.divisibility =
      std::min(x.divisibilityAt(result.contiguity), powerOfTwoIn(by));
  return result;
}

static AxisInfo compareInfo(arith::CmpIOp op, const AxisInfo &x,
                            const AxisInfo &y) {
  AxisInfo result;
  result.constancy = std::min(x.constancy, y.constancy);
  using P = arith::CmpIPredicate;
  P predicate = op.getPredicate();
  if (predicate != P::slt && predicate != P::sge && predicate != P::ult &&
      predicate != P::uge)
    return result;
  // A group that starts at a multiple of its size lies on one side of a bound
  // that is one too.
  int64_t run = std::min({x.contiguity, y.constancy, y.divisibilityAt(1)});
  while (run > 1 && x.divisibilityAt(run) < run)
    run /= 2;
  result.constancy = std::max(result.constancy, run);
  return result;
}

AxisInfo AxisAnalysis::get(Value value) {
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  AxisInfo info = compute(value);
  known[value] = info;
  return info;
}

AxisInfo AxisAnalysis::compute(Value value) {
  bool isTile = bool(getLayout(value.getType()));
  if (std::optional<int64_t> number = constantOf(value))
    return uniform(powerOfTwoIn(*number));
  Operation *op = value.getDefiningOp();
  AxisInfo unknown = isTile ? AxisInfo() : uniform(1);
  if (!op) {
    auto loop =
        dyn_cast_or_null<scf::ForOp>(value.getParentBlock()->getParentOp());
    if (loop && value == loop.getInductionVar())
      return uniform(std::min(get(loop.getLowerBound()).divisibility,
                              get(loop.getStep()).divisibility));
    if (auto contract =
            dyn_cast_or_null<ContractOp>(value.getParentBlock()->getParentOp());
        contract && !isTile)
      return uniform(contract.getDivisor(cast<BlockArgument>(value)));
    return unknown;
  }
  auto operand = [&](unsigned i) { return get(op->getOperand(i)); };
  // Equal operands give equal results.
  auto equalWhere = [&](ValueRange operands) {
    AxisInfo result = uniform(1);
    for (Value value : operands)
      result.constancy = std::min(result.constancy, get(value).constancy);
    return result;
  };
  AxisInfo info =
      llvm::TypeSwitch<Operation *, AxisInfo>(op)
          .Case<IotaOp>([&](IotaOp iota) {
            return int64_t(iota.getAxis()) == axis ? AxisInfo{kAll, 1, kAll}
                                                   : AxisInfo{1, kAll, 1};
          })
          .Case<SlotOp>([&](SlotOp slot) {
            ArrayRef<Digit> digits = getLayout(slot.getType()).getReg();
            int64_t run = digits.empty() || digits.front().axis != axis
                              ? 1
                              : digits.front().size;
            return AxisInfo{run, 1, powerOfTwoIn(run)};
          })
          .Case<SplatOp, tensor::SplatOp>(
              [&](auto) { return uniform(operand(0).divisibility); })
          // An axis along which one element is repeated, or another one.
          .Case<BroadcastOp>([&](BroadcastOp broadcast) {
            auto from =
                cast<RankedTensorType>(broadcast.getOperand().getType());
            return from.getDimSize(axis) == 1 ? uniform(1) : operand(0);
          })
          .Case<arith::AddIOp>(
              [&](auto) { return addInfo(operand(0), operand(1)); })
          .Case<arith::SubIOp>(
              [&](auto) { return subInfo(operand(0), operand(1)); })
          .Case<arith::MulIOp>([&](auto) {
            return constantOf(op->getOperand(1)) == 1
                       ? operand(0)
                       : mulInfo(operand(0), operand(1));
          })
          .Case<arith::DivUIOp, arith::DivSIOp>([&](auto) {
            std::optional<int64_t> by = constantOf(op->getOperand(1));
            return by && *by > 0 ? divInfo(operand(0), *by) : unknown;
          })
          .Case<arith::RemUIOp, arith::RemSIOp>([&](auto) {
            std::optional<int64_t> by = constantOf(op->getOperand(1));
            return by && *by > 0 ? remInfo(operand(0), *by) : unknown;
          })
          .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) {
            return compareInfo(cmp, operand(0), operand(1));
          })
          // What is read at one place is one value, so that rows which an
          // index is read for are vectors.
          .Case<LoadOp>([&](LoadOp load) {
            return equalWhere(load->getOperands().drop_front());
          })
          .Default([&](Operation *other) {
            return other->hasTrait<OpTrait::Elementwise>() && isPure(other)
                       ? equalWhere(other->getOperands())
                       : unknown;
          });
  // A scalar is the same for every element.
  if (!isTile)
    info = uniform(info.divisibility);
  return info;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

static constexpr int64_t kMaxAccessBytes = 16;

int64_t fusec::tile::vectorAxis(LayoutAttr layout) {
  return layout.getReg().empty() ? 0 : layout.getReg().front().axis;
}

int64_t fusec::tile::accessWidth(AxisAnalysis &analysis, Type element,
                                 Value offsets, Value mask) {
  ArrayRef<Digit> digits = getLayout(offsets.getType()).getReg();
  if (digits.empty() || digits.front().stride != 1)
    return 1;
  int64_t run = llvm::bit_floor(uint64_t(digits.front().size));
  if (digits.front().size % run)
    return 1;
  AxisInfo info = analysis.get(offsets);
  int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  run = std::min({run, info.contiguity, kMaxAccessBytes / bytes});
  if (mask)
    run = std::min(run, analysis.get(mask).constancy);
  while (run > 1 &&
         (info.divisibilityAt(run) < run || digits.front().size % run))
    run /= 2;
  return run;
}
