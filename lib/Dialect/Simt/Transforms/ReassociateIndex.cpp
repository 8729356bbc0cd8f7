//===- ReassociateIndex.cpp - addresses as base plus literal --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "fusec/Dialect/Common/ConstantOf.h"
#include "fusec/Dialect/Simt/IR/Simt.h"
#include "fusec/Dialect/Simt/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace fusec::simt {
#define GEN_PASS_DEF_REASSOCIATEINDEXPASS
#include "fusec/Dialect/Simt/Transforms/Passes.h.inc"
} // namespace fusec::simt

using namespace mlir;
using fusec::constantOf;

namespace {

/// A sum: constant + factor * value for each term, in order of appearance.
struct Sum {
  llvm::MapVector<Value, int64_t> terms;
  int64_t constant = 0;
};

class Reassociate {
public:
  /// Rewrites `root`, the last op of a sum, unless it is short.
  void rewrite(Operation *root);
  /// An addition, subtraction or multiplication by a constant of indices.
  static bool isSumOp(Operation *op);
  /// Takes terms that are multiples of the divisor out of a division or
  /// remainder of a sum without negative parts.
  void splitDivision(Operation *op);

private:
  void shareRemainder(Operation *op, const Sum &sum, int64_t by);
  void collect(Value value, int64_t factor, Sum &sum);
  bool changesInLoops(Value value);
  Value build(OpBuilder &builder, Location loc, Value sum,
              std::pair<Value, int64_t> term);
  DenseMap<Value, bool> variant;
};

} // namespace

bool Reassociate::isSumOp(Operation *op) {
  if (!op || op->getNumResults() != 1 || !op->getResult(0).getType().isIndex())
    return false;
  return isa<arith::AddIOp, arith::SubIOp>(op) ||
         (isa<arith::MulIOp>(op) && constantOf(op->getOperand(1)));
}

void Reassociate::collect(Value value, int64_t factor, Sum &sum) {
  if (std::optional<int64_t> number = constantOf(value)) {
    sum.constant += factor * *number;
    return;
  }
  Operation *op = value.getDefiningOp();
  if (!isSumOp(op)) {
    sum.terms[value] += factor;
    return;
  }
  if (isa<arith::MulIOp>(op)) {
    collect(op->getOperand(0), factor * *constantOf(op->getOperand(1)), sum);
    return;
  }
  collect(op->getOperand(0), factor, sum);
  collect(op->getOperand(1), isa<arith::SubIOp>(op) ? -factor : factor, sum);
}

/// True if the value depends on the variable of a loop or on what a loop
/// carries.
bool Reassociate::changesInLoops(Value value) {
  auto it = variant.find(value);
  if (it != variant.end())
    return it->second;
  bool result;
  if (auto arg = dyn_cast<BlockArgument>(value))
    result = isa<scf::ForOp>(arg.getOwner()->getParentOp());
  else
    result =
        llvm::any_of(value.getDefiningOp()->getOperands(),
                     [&](Value operand) { return changesInLoops(operand); });
  return variant[value] = result;
}

Value Reassociate::build(OpBuilder &builder, Location loc, Value sum,
                         std::pair<Value, int64_t> term) {
  auto [value, factor] = term;
  if (factor != 1)
    value = arith::MulIOp::create(
        builder, loc, value,
        arith::ConstantIndexOp::create(builder, loc, factor));
  return sum ? arith::AddIOp::create(builder, loc, sum, value).getResult()
             : value;
}

void Reassociate::rewrite(Operation *root) {
  Sum sum;
  collect(root->getResult(0), 1, sum);
  OpBuilder builder(root);
  Location loc = root->getLoc();
  Value fixed, moving;
  for (auto term : sum.terms) {
    if (term.second == 0)
      continue;
    Value &part = changesInLoops(term.first) ? moving : fixed;
    part = build(builder, loc, part, term);
  }
  Value result = fixed;
  if (moving)
    result =
        result ? arith::AddIOp::create(builder, loc, result, moving).getResult()
               : moving;
  if (sum.constant || !result) {
    Value constant = arith::ConstantIndexOp::create(builder, loc, sum.constant);
    // With the moving part, so that both become one literal.
    if (moving && fixed)
      result = arith::AddIOp::create(
          builder, loc, fixed,
          arith::AddIOp::create(builder, loc, moving, constant));
    else
      result = result ? arith::AddIOp::create(builder, loc, result, constant)
                            .getResult()
                      : constant;
  }
  root->getResult(0).replaceAllUsesWith(result);
}

/// True for ids, loop variables, sizes and other results of divisions.
static bool isNonNegative(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    Operation *parent = arg.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop)
      return isa<fusec::simt::KernelOp>(parent);
    std::optional<int64_t> start = constantOf(loop.getLowerBound());
    return arg == loop.getInductionVar() && start && *start >= 0;
  }
  return isa<fusec::simt::LaneOp, fusec::simt::WarpOp, fusec::simt::BlockIdOp,
             arith::DivUIOp, arith::RemUIOp>(value.getDefiningOp());
}

/// The digit of a register that counts neighbours, less than a vector's; null
/// if `sum` has none.
static Value neighbourOf(const Sum &sum, int64_t by) {
  for (auto [value, factor] : sum.terms) {
    auto digit = value.getDefiningOp<arith::RemUIOp>();
    std::optional<int64_t> size =
        digit ? constantOf(digit.getRhs()) : std::nullopt;
    if (factor == 1 && size && *size >= 4 && *size <= 16 && *size <= by &&
        isa<BlockArgument>(digit.getLhs()))
      return value;
  }
  return {};
}

/// (base + d) % by as base % by + d, less `by` where that is too much:
/// neighbours have a remainder in common.
void Reassociate::shareRemainder(Operation *op, const Sum &sum, int64_t by) {
  Value digit = neighbourOf(sum, by);
  if (!digit || sum.terms.size() < 2 || llvm::isPowerOf2_64(by))
    return;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Value base;
  for (auto [value, factor] : sum.terms)
    if (value != digit && factor)
      base = build(builder, loc, base, {value, factor});
  if (!base)
    return;
  if (sum.constant)
    base = arith::AddIOp::create(
        builder, loc, base,
        arith::ConstantIndexOp::create(builder, loc, sum.constant));
  Value common = arith::RemUIOp::create(builder, loc, base, op->getOperand(1));
  Value result = arith::AddIOp::create(builder, loc, common, digit);
  // Wraps below `by`: unsigned, that is the greater.
  Value less = arith::SubIOp::create(builder, loc, result, op->getOperand(1));
  op->getResult(0).replaceAllUsesWith(
      arith::MinUIOp::create(builder, loc, result, less));
}

void Reassociate::splitDivision(Operation *op) {
  std::optional<int64_t> by = constantOf(op->getOperand(1));
  if (!by || *by <= 0 || !isSumOp(op->getOperand(0).getDefiningOp()))
    return;
  Sum sum;
  collect(op->getOperand(0), 1, sum);
  if (sum.constant < 0 || llvm::any_of(
                              sum.terms,
                              [](auto term) {
                                return term.second < 0 ||
                                       !isNonNegative(term.first);
                              }))
    return;
  bool isDivision = isa<arith::DivUIOp>(op);
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value multiples, rest;
  for (auto [value, factor] : sum.terms) {
    if (factor % *by)
      rest = build(builder, loc, rest, {value, factor});
    else if (isDivision && factor)
      multiples = build(builder, loc, multiples, {value, factor / *by});
  }
  if (llvm::none_of(sum.terms, [&](auto term) {
        return term.second && term.second % *by == 0;
      })) {
    if (!isDivision)
      shareRemainder(op, sum, *by);
    return;
  }
  if (sum.constant)
    rest =
        rest ? arith::AddIOp::create(builder, loc, rest, constant(sum.constant))
                   .getResult()
             : constant(sum.constant);
  Value result = constant(0);
  if (rest)
    result = isDivision
                 ? arith::DivUIOp::create(builder, loc, rest, op->getOperand(1))
                       .getResult()
                 : arith::RemUIOp::create(builder, loc, rest, op->getOperand(1))
                       .getResult();
  if (multiples)
    result =
        rest
            ? arith::AddIOp::create(builder, loc, multiples, result).getResult()
            : multiples;
  op->getResult(0).replaceAllUsesWith(result);
}

namespace {
struct ReassociateIndexPass
    : fusec::simt::impl::ReassociateIndexPassBase<ReassociateIndexPass> {
  void runOnOperation() override {
    Reassociate reassociate;
    SmallVector<Operation *> divisions;
    getOperation().walk([&](Operation *op) {
      if (isa<arith::DivUIOp, arith::RemUIOp>(op))
        divisions.push_back(op);
    });
    for (Operation *division : divisions)
      reassociate.splitDivision(division);
    // Sums whose value something other than a sum uses, producers first.
    SmallVector<Operation *> roots;
    getOperation().walk([&](Operation *op) {
      if (Reassociate::isSumOp(op) &&
          llvm::any_of(op->getUsers(), [](Operation *user) {
            return !Reassociate::isSumOp(user);
          }))
        roots.push_back(op);
    });
    for (Operation *root : roots)
      reassociate.rewrite(root);
  }
};
} // namespace
