//===- HolePairs.cpp - a hole's arithmetic on pairs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which fields share a word follows from the arithmetic of their places, which
// is evaluated for each element of a span; k is a multiple of the span.
//===----------------------------------------------------------------------===//
#include "HolePairs.h"
#include "fusec/Dialect/Common/ConstantOf.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace fusec;
using namespace fusec::cuda;

/// Integers up to this have all digits in bf16, and in f16.
static constexpr int64_t kExact = 256;
/// Zero points of 4 bits that are part of a constant (GemmPacked::fields).
static constexpr int64_t kNear = 16;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

namespace {
/// A number that is not negative: `value`, or that and a multiple of `modulus`.
struct Residue {
  int64_t value, modulus = 0;
  bool isKnown() const { return modulus == 0; }
};

/// Evaluates indices of element number `element` of a span of `span` k.
struct Places {
  Value k, variable;
  int64_t span, element;

  std::optional<Residue> of(Value value) const;
  std::optional<Residue> ofDivision(Operation *op, Residue of,
                                    bool isQuotient) const;
};
} // namespace

std::optional<Residue> Places::ofDivision(Operation *op, Residue number,
                                          bool isQuotient) const {
  std::optional<int64_t> by = constantOf(op->getOperand(1));
  if (!by || *by <= 0)
    return std::nullopt;
  if (number.modulus % *by == 0)
    return isQuotient ? Residue{number.value / *by, number.modulus / *by}
                      : Residue{number.value % *by};
  if (isQuotient)
    return std::nullopt;
  int64_t common = std::gcd(number.modulus, *by);
  return Residue{number.value % common, common};
}

std::optional<Residue> Places::of(Value value) const {
  if (value == k)
    return Residue{0, span};
  if (value == variable)
    return Residue{element};
  if (std::optional<int64_t> number = constantOf(value))
    return *number >= 0 ? std::optional(Residue{*number}) : std::nullopt;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() == 0)
    return std::nullopt;
  std::optional<Residue> first = of(op->getOperand(0));
  if (!first)
    return std::nullopt;
  if (isa<arith::DivUIOp, arith::DivSIOp>(op))
    return ofDivision(op, *first, /*isQuotient=*/true);
  if (isa<arith::RemUIOp, arith::RemSIOp>(op))
    return ofDivision(op, *first, /*isQuotient=*/false);
  if (op->getNumOperands() != 2)
    return std::nullopt;
  std::optional<Residue> second = of(op->getOperand(1));
  if (!second)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return Residue{first->value + second->value,
                   std::gcd(first->modulus, second->modulus)};
  if (isa<arith::MulIOp>(op) && (first->isKnown() || second->isKnown()))
    return Residue{first->value * second->value,
                   first->isKnown() ? first->value * second->modulus
                                    : first->modulus * second->value};
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || !first->isKnown() || !second->isKnown())
    return std::nullopt;
  return Residue{arith::applyCmpPredicate(compare.getPredicate(),
                                          llvm::APInt(64, first->value),
                                          llvm::APInt(64, second->value))};
}

/// Whether the fields of `count` elements follow each other so that those in
/// the halves of a word are the same number of elements apart.
bool HolePairs::liesInPairs(Value k, int64_t count) {
  SmallVector<int64_t> bits;
  for (int64_t element = 0; element < count; ++element) {
    Places places{k, variable, count, element};
    std::optional<Residue> index = places.of(field.index), holds = Residue{1};
    if (field.condition)
      holds = places.of(field.condition);
    if (!index || !holds || !index->isKnown() || !holds->isKnown())
      return false;
    bits.push_back(8 * index->value +
                   (holds->value ? field.offset : field.otherwise));
  }
  for (int64_t first = 0; first < count; ++first) {
    if (first / apart() % 2)
      continue;
    // Floats that share 16 bits, or fields in both halves of a word.
    int64_t within = bits[first] % (field.isFloat ? 16 : 32);
    if (first + apart() >= count ||
        (field.isFloat ? within > 0 : within >= 16) ||
        bits[first + apart()] != bits[first] + apart() * field.width)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether all elements share `value`: it follows from arrays of one element
/// and from what is outside of the loop over them.
static bool isShared(Value value, Value variable) {
  if (value == variable)
    return false;
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return cast<MemRefType>(load.getMemRef().getType()).getNumElements() == 1;
  return op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isShared(operand, variable);
         });
}

bool HolePairs::matchDifference(const HoleStream &stream, Value value) {
  value = throughArray(value);
  auto difference = value.getDefiningOp<arith::SubFOp>();
  std::optional<HoleStream::Field> found =
      stream.fieldOf(difference ? difference.getLhs() : value);
  if (!found || !value.getType().isF32())
    return false;
  field = *found;
  if (!difference || field.isFloat)
    return !difference;
  int64_t count = int64_t(1) << field.width;
  int64_t least = field.isSigned ? -count / 2 : 0, most = least + count - 1;
  llvm::APFloat number(0.0f);
  if (matchPattern(difference.getRhs(), m_ConstantFloat(&number))) {
    double known = number.convertToDouble();
    if (known != std::trunc(known) || std::abs(known) > kExact)
      return false;
    less = static_cast<int64_t>(known);
    return field.width == 4 ? std::abs(less) <= kNear
                            : least - less >= -kExact && most - less <= kExact;
  }
  zero = difference.getRhs();
  auto range = smallRange(zero);
  return range && isShared(zero, variable) &&
         least - range->second >= -kExact && most - range->first <= kExact;
}

bool HolePairs::match(const HoleStream &stream, Value value) {
  value = throughArray(value);
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product)
    return matchDifference(stream, value);
  for (bool isSecond : {true, false}) {
    auto widened = throughArray(product->getOperand(isSecond))
                       .getDefiningOp<arith::ExtFOp>();
    if (!widened || widened.getIn().getType() != element ||
        !isShared(widened.getIn(), variable) ||
        !matchDifference(stream, product->getOperand(!isSecond)))
      continue;
    scale = widened.getIn();
    return true;
  }
  return false;
}

/// Ops of the loop that nothing but the stored value needs, unless the text
/// does: indices and conditions stay, and so do the shared numbers.
void HolePairs::collect() {
  llvm::SetVector<Operation *> ops;
  auto add = [&](Value from) {
    Operation *op = from.getDefiningOp();
    if (op && op->getBlock() == store->getBlock() && from != zero &&
        from != scale && !from.getType().isIndex() &&
        !from.getType().isInteger(1))
      ops.insert(op);
  };
  add(value());
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands())
      add(operand);
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *op : ops)
      if (!replaced.contains(op) &&
          llvm::all_of(op->getUsers(), [&](auto *user) {
            return user == store || replaced.contains(user);
          }))
        changed = replaced.insert(op).second;
  }
}

std::optional<HolePairs> HolePairs::find(const HoleStream &stream, Block &hole,
                                         Type element) {
  HolePairs pairs;
  pairs.element = element;
  Value array = hole.getTerminator()->getOperand(0);
  for (Operation *user : array.getUsers()) {
    if (user == hole.getTerminator())
      continue;
    if (!isa<memref::StoreOp>(user) || pairs.store)
      return std::nullopt;
    pairs.store = user;
  }
  if (!pairs.store || pairs.array() != array ||
      !(element.isF16() || element.isBF16()))
    return std::nullopt;
  int64_t count = cast<MemRefType>(array.getType()).getNumElements();
  auto loop = dyn_cast<scf::ForOp>(pairs.store->getParentOp());
  if (!loop || loop->getBlock() != &hole ||
      pairs.store->getOperand(2) != loop.getInductionVar() ||
      constantOf(loop.getLowerBound()) != 0 ||
      constantOf(loop.getUpperBound()) != count ||
      constantOf(loop.getStep()) != 1)
    return std::nullopt;
  pairs.variable = loop.getInductionVar();
  if (!pairs.match(stream, pairs.value()) ||
      !pairs.liesInPairs(hole.getArgument(2), count))
    return std::nullopt;
  pairs.collect();
  return pairs;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string HolePairs::text(Emitter &emitter, const HoleStream &stream) const {
  std::string type = emitter.typeName(element);
  std::string result = stream.where(field.array) + ".template ";
  if (field.isFloat)
    result += "floats<" + type + ">(" + emitter.use(field.index) + ")";
  else
    result += "fields<" + type + ", " + std::to_string(field.width) + ", " +
              (field.isSigned ? "true" : "false") + ", " +
              std::to_string(less) + ">(" + stream.bitOf(emitter, field) + ")";
  if (zero)
    result = "gemmLess<" + type + ">(" + result + ", gemmTwice(from_f32<" +
             type + ">(" + emitter.use(zero) + ")))";
  if (scale)
    result = "gemmTimes<" + type + ">(" + result + ", gemmTwice(" +
             emitter.use(scale) + "))";
  return result;
}
