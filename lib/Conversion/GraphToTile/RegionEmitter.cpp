//===- RegionEmitter.cpp - elements of a region as tiles ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "RegionEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph_to_tile;
using graph::ElementBuilder;

//===----------------------------------------------------------------------===//
// Reading operands
//===----------------------------------------------------------------------===//

namespace fusec::graph_to_tile {
class Reader : public graph::ElementReader {
public:
  Reader(RegionEmitter &emitter, Operation *op) : emitter(emitter), op(op) {}
  Value readMasked(unsigned operand, ValueRange index, Value mask,
                   Value other) override {
    return emitter.readOperand(op, operand, index, mask, other);
  }

private:
  RegionEmitter &emitter;
  Operation *op;
};
} // namespace fusec::graph_to_tile

std::unique_ptr<graph::ElementReader> RegionEmitter::reader(Operation *op) {
  return std::make_unique<Reader>(*this, op);
}

Value RegionEmitter::readOperand(Operation *op, unsigned operand,
                                 ValueRange index, Value readMask,
                                 Value other) {
  bool rounded = cast<graph::FusibleOpInterface>(op).readsRounded();
  Value value = op->getOperand(operand);
  if (!readMask || isProven(readMask))
    return emit(value, index, rounded);
  if (isRefuted(readMask))
    return other;
  if (Value known =
          stagedMasked ? stagedMasked(value, index, readMask, other) : Value())
    return rounded
               ? elements().roundTo(
                     known,
                     cast<RankedTensorType>(value.getType()).getElementType())
               : known;
  // Everything that is read below must stay in range where the mask is false.
  Value outer = mask;
  ElementBuilder eb = elements();
  mask = outer ? eb.logicalAnd(outer, readMask) : readMask;
  Value result = emit(value, index, rounded);
  mask = outer;
  return eb.select(readMask, result, other);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool RegionEmitter::isVisible(Value value) {
  Block *block = builder.getInsertionBlock();
  return value.getParentBlock()->findAncestorOpInBlock(
             *builder.getInsertionBlock()->getParentOp()) != nullptr ||
         value.getParentBlock() == block;
}

Value RegionEmitter::emit(Value value, ValueRange index, bool rounded) {
  std::vector<void *> key = {
      value.getAsOpaquePointer(), mask.getAsOpaquePointer(),
      carrier.getAsOpaquePointer()
          ? const_cast<void *>(carrier.getAsOpaquePointer())
          : nullptr,
      reinterpret_cast<void *>(uintptr_t(rounded))};
  for (Value i : index)
    key.push_back(i.getAsOpaquePointer());
  auto it = memo.find(key);
  if (it != memo.end() && isVisible(it->second))
    return it->second;
  Value result = emitUncached(value, index);
  bool isStored =
      isa<BlockArgument>(value) || value.getDefiningOp<graph::ConstantOp>();
  if (!isStored && (rounded || options.numerics == NumericsMode::Exact))
    result = elements().roundTo(
        result, cast<RankedTensorType>(value.getType()).getElementType());
  memo[key] = result;
  return result;
}

/// Fewest addends of a sum beside whose rounding those of an addend's factors
/// do not count.
static constexpr int64_t kManyAddends = 128;

/// True for what casts to 16 bits or fewer read, and sums of so many elements
/// that each may be off by a few units (docs/semantics.md).
static bool isCastAndSummed(Value value) {
  bool isCast = false;
  for (Operation *user : value.getUsers()) {
    if (isa<graph::CastOp>(user)) {
      auto element = dyn_cast<FloatType>(
          cast<RankedTensorType>(user->getResult(0).getType())
              .getElementType());
      if (!element || element.getWidth() > 16)
        return false;
      isCast = true;
      continue;
    }
    auto reduce = dyn_cast<graph::ReduceOp>(user);
    if (!reduce || reduce.getKind() != graph::ReduceKind::sum)
      return false;
    auto shape = cast<RankedTensorType>(value.getType()).getShape();
    int64_t count = 1;
    for (int64_t dim : reduce.getDimensions())
      count *= shape[dim];
    if (count < kManyAddends)
      return false;
  }
  return isCast;
}

Value RegionEmitter::emitUncached(Value value, ValueRange index) {
  if (staged)
    if (Value known = staged(value, index))
      return known;
  if (isa<BlockArgument>(value))
    return load(value, index, {});
  Operation *op = value.getDefiningOp();
  if (auto constantOp = dyn_cast<graph::ConstantOp>(op))
    return constant(constantOp, index);
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  bool isFree = options.numerics == NumericsMode::Default &&
                isa<FloatType>(element) &&
                !cast<graph::FusibleOpInterface>(op).readsRounded();
  bool isShort =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 16;
  // Of what nothing else reads; discontinuous ops see every place.
  bool isAlone = value.hasOneUse();
  bool staysInside =
      isFree && element.isF32() &&
      (isAlone ? isNarrow || isRoundedLater : isCastAndSummed(value));
  // What a cast alone reads is as free as what the cast makes; so are factors.
  bool isOfCast = isCast && staysInside && isAlone;
  bool mayApproximate = isFree && (isShort || isOfCast);
  bool rounds = options.numerics == NumericsMode::Default && isShort &&
                isa<graph::CastOp>(op);
  bool isFactor = isOfCast && isa<graph::MulOp, graph::DivOp>(op);
  llvm::SaveAndRestore toShort(isCast, rounds || isFactor);
  llvm::SaveAndRestore later(isRoundedLater, staysInside || rounds);
  llvm::SaveAndRestore narrow(isNarrow, mayApproximate);
  llvm::SaveAndRestore part(isPart, op == summedPower);
  llvm::SaveAndRestore saturates(isSaturated, isa<graph::QuantizeOp>(op));
  llvm::SaveAndRestore byOne(isByOne, byOneAtLeast.contains(op));
  ElementBuilder eb = elements();
  std::unique_ptr<graph::ElementReader> operands = reader(op);
  return cast<graph::FusibleOpInterface>(op).buildElement(
      eb, cast<OpResult>(value).getResultNumber(), index, *operands);
}

void RegionEmitter::notifyOperationInserted(Operation *op,
                                            OpBuilder::InsertPoint) {
  using Flags = arith::FastMathFlags;
  auto mark = [&](Flags flags) {
    op->setAttr("fastmath",
                arith::FastMathFlagsAttr::get(op->getContext(), flags));
  };
  if (isSaturated && isa<arith::DivFOp>(op))
    return mark(Flags::arcp);
  // An exponential is as sensitive to its operand's last rounding.
  if (!isNarrow && (isRoundedLater || isPart) && isa<math::ExpOp>(op) &&
      getElementTypeOrSelf(op->getResult(0)).isF32())
    return mark(Flags::afn);
  // It may come from an exponential that is computed anyway.
  if (!isNarrow && isRoundedLater && isa<math::ErfOp>(op) &&
      getElementTypeOrSelf(op->getResult(0)).isF32())
    return mark(Flags::afn);
  // Within two units: the rounding that follows is of 2^13 or more.
  if (!isNarrow && isRoundedLater && !isByOne && isa<arith::DivFOp>(op) &&
      getElementTypeOrSelf(op->getResult(0)).isF32())
    return mark(Flags::afn);
  if (!isNarrow && isByOne && isa<arith::DivFOp>(op) &&
      options.numerics == NumericsMode::Default &&
      getElementTypeOrSelf(op->getResult(0)).isF32())
    return mark(Flags::afn | Flags::arcp);
  if (isNarrow &&
      isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
          math::ExpOp, math::ErfOp, math::TanhOp, math::SqrtOp>(op))
    mark(Flags::contract | Flags::afn |
         (isByOne && isa<arith::DivFOp>(op) ? Flags::arcp : Flags::none));
}

Value RegionEmitter::constant(graph::ConstantOp op, ValueRange index) {
  ElementBuilder eb = elements();
  auto type = cast<RankedTensorType>(op.getType());
  Type element = type.getElementType();
  Type compute = ElementBuilder::computeType(element);
  auto elementAt = [&](Attribute attribute) {
    if (auto real = dyn_cast<FloatAttr>(attribute))
      return eb.real(compute, real.getValueAsDouble());
    return eb.integer(cast<IntegerAttr>(attribute).getValue());
  };
  auto values = cast<ElementsAttr>(op.getValue());
  if (type.getNumElements() == 0) // Nothing reads it, but text needs a value.
    return eb.zero(compute);
  if (values.isSplat())
    return elementAt(values.getSplatValue<Attribute>());
  // Nobody reads an element of an empty constant, but kernels of empty results
  // are built like others.
  if (values.empty())
    return eb.zero(compute);
  // A table of a few values: chosen by position.
  Value position = eb.linearize(index, type.getShape());
  Value result;
  for (auto [i, attribute] : llvm::enumerate(values.getValues<Attribute>())) {
    Value candidate = elementAt(attribute);
    if (!result) {
      result = candidate;
      continue;
    }
    Value here =
        eb.make<arith::CmpIOp>(arith::CmpIPredicate::eq, position, eb.index(i));
    result = eb.select(here, candidate, result);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Type RegionEmitter::storageType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  if (auto integer = dyn_cast<IntegerType>(elementType)) {
    if (integer.getWidth() == 4)
      return IntegerType::get(context, 8);
    return IntegerType::get(context, integer.getWidth());
  }
  return elementType;
}

Value RegionEmitter::fromStorage(Value stored, Type elementType) {
  ElementBuilder eb = elements();
  Type compute = ElementBuilder::computeType(elementType);
  if (elementType.isInteger(4))
    return eb.make<arith::TruncIOp>(eb.type(compute), stored);
  if (isa<FloatType>(elementType) && compute != elementType)
    return eb.make<arith::ExtFOp>(eb.type(compute), stored);
  return stored;
}

Value RegionEmitter::load(Value argument, ValueRange index, Value other) {
  auto type = cast<RankedTensorType>(argument.getType());
  ElementBuilder eb = elements();
  Type storage = storageType(type.getElementType());
  // There is nothing to read, whatever an index that folded to 0 says; nobody
  // uses the value.
  if (type.getNumElements() == 0)
    return fromStorage(eb.zero(storage), type.getElementType());
  Value loadMask = mask && !isInside(index, type.getShape()) ? mask : Value();
  Value fallback = loadMask ? eb.zero(storage) : Value();
  Value loaded = tile::LoadOp::create(
      builder, loc, eb.type(storage), buffers.lookup(argument),
      offset(index, type.getShape()), loadMask, fallback, /*vector=*/1);
  return fromStorage(loaded, type.getElementType());
}

/// True if `value` was rounded to `element` where it was made.
static bool isRounded(Value value, Type element) {
  auto wide = value.getDefiningOp<arith::ExtFOp>();
  return wide && getElementTypeOrSelf(wide.getIn()) == element;
}

Value RegionEmitter::toStorage(Value value, Type element) {
  ElementBuilder eb = elements();
  Type storage = storageType(element);
  if (auto real = dyn_cast<FloatType>(element);
      real && storage != ElementBuilder::computeType(element)) {
    if (real.getWidth() == 8 && !isRounded(value, element))
      value = eb.roundTo(value, element);
    return eb.make<arith::TruncFOp>(eb.type(storage), value);
  }
  if (auto integer = dyn_cast<IntegerType>(element);
      integer && integer.getWidth() == 4)
    return integer.isUnsigned()
               ? eb.make<arith::ExtUIOp>(eb.type(storage), value)
               : eb.make<arith::ExtSIOp>(eb.type(storage), value);
  return value;
}

void RegionEmitter::store(Value value, Value buffer, RankedTensorType type,
                          ValueRange index, Value storeMask) {
  tile::StoreOp::create(builder, loc, toStorage(value, type.getElementType()),
                        buffer, offset(index, type.getShape()), storeMask,
                        /*vector=*/1);
}

void RegionEmitter::buildCombine(tile::ReduceOp reduce,
                                 CombineBuilder combine) {
  OpBuilder::InsertionGuard guard(builder);
  Block &block = reduce.getCombine().emplaceBlock();
  unsigned count = reduce->getNumResults();
  for (unsigned side = 0; side < 2; ++side)
    for (Type type : reduce->getResultTypes())
      block.addArgument(getElementTypeOrSelf(type), loc);
  builder.setInsertionPointToStart(&block);
  ElementBuilder scalars(builder, loc);
  ValueRange args = block.getArguments();
  tile::YieldOp::create(
      builder, loc,
      combine(scalars, args.take_front(count), args.drop_front(count)));
}

void RegionEmitter::buildCombine(graph::ReductionOpInterface reduction,
                                 tile::ReduceOp reduce) {
  buildCombine(reduce, [&](ElementBuilder &eb, ValueRange lhs, ValueRange rhs) {
    return reduction.buildCombine(eb, lhs, rhs);
  });
}
