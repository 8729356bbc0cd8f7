//===- GraphTopK.cpp - the first elements of a dimension ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The combine object of `top_k`: a state is the sorted list of the best entries
// so far, greatest first. An entry is one integer that holds value and index
// (OrderedKey.h), or a value and an index. One element is inserted by a chain
// of exchanges; two lists meet as in a bitonic sort: the better ones of
// opposite entries are the best of both, and log2 steps sort them.
//===----------------------------------------------------------------------===//
#include "OrderedKey.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fusec;
using namespace fusec::graph;
using ops::OrderedKey;

/// Most results: a thread holds them all.
static constexpr int64_t kMostEntries = 64;

LogicalResult TopKOp::verify() {
  if (getKind() != ReduceKind::max && getKind() != ReduceKind::min)
    return emitOpError() << "expected kind max or min, found "
                         << stringifyReduceKind(getKind());
  auto type = ops::tensorOf(getOperand());
  int64_t dimension = getDimension(), count = getNumResults();
  if (auto problem = ops::checkDistinctDims(dimension, type.getRank()))
    return emitOpError() << *problem;
  if (count < 1 || count > kMostEntries)
    return emitOpError() << "expected 1 to " << kMostEntries
                         << " results, found " << count;
  SmallVector<int64_t> shape(type.getShape());
  int64_t size = shape[dimension];
  shape.erase(shape.begin() + dimension);
  if (!ShapedType::isDynamic(size) && size < count &&
      !llvm::is_contained(shape, 0))
    return emitOpError() << "expected at least " << count
                         << " elements in dimension " << dimension << ", found "
                         << size;
  for (Type each : getResultTypes()) {
    auto result = cast<RankedTensorType>(each);
    if (result != getResultTypes().front())
      return emitOpError() << "expected results of one type";
    if (!ops::shapesAgree(shape, result.getShape()))
      return emitOpError() << "expected result shape " << ops::shapeText(shape)
                           << ", found " << ops::shapeText(result.getShape());
    auto indexType = cast<IntegerType>(result.getElementType());
    unsigned bits = indexType.getWidth() - (indexType.isUnsigned() ? 0 : 1);
    if (!ShapedType::isDynamic(size) && size > 0 && bits < 63 &&
        size - 1 > (int64_t(1) << bits) - 1)
      return emitOpError() << "indices below " << size << " do not fit in "
                           << indexType;
  }
  return success();
}

IterationSpace TopKOp::getIterationSpace() {
  return ops::spaceAlong(ops::tensorOf(getOperand()), getDimension());
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static OrderedKey keyOf(TopKOp op) {
  return {ops::tensorOf(op.getOperand()), int64_t(op.getDimension()),
          op.getKind() == ReduceKind::max, /*last=*/false};
}

static bool isPacked(TopKOp op) { return keyOf(op).getBits() != 0; }

int64_t TopKOp::getSelected() {
  return isPacked(*this) ? int64_t(getNumResults()) : 0;
}

/// The types of an entry: key, or value and index.
static SmallVector<Type> entryTypes(TopKOp op) {
  if (isPacked(op))
    return {keyOf(op).getType(op.getContext())};
  auto type = ops::tensorOf(op.getOperand());
  return {ElementBuilder::computeType(type.getElementType()),
          ops::carriedIndexType(op.getContext(),
                                type.getDimSize(op.getDimension()))};
}

namespace {
using Entry = SmallVector<Value, 2>;

/// Exchanges entries of one list or of two.
class Sorter {
public:
  Sorter(TopKOp op, ElementBuilder &eb) : op(op), eb(eb) {}

  SmallVector<Entry> split(ValueRange state) {
    size_t width = entryTypes(op).size();
    SmallVector<Entry> entries;
    for (; !state.empty(); state = state.drop_front(width))
      entries.push_back(Entry(state.take_front(width)));
    return entries;
  }
  static SmallVector<Value> join(ArrayRef<Entry> entries) {
    SmallVector<Value> state;
    for (const Entry &entry : entries)
      llvm::append_range(state, entry);
    return state;
  }
  /// Puts the better of two entries first.
  void order(Entry &first, Entry &second);

private:
  TopKOp op;
  ElementBuilder &eb;
};
} // namespace

void Sorter::order(Entry &first, Entry &second) {
  if (first.size() == 1) {
    Value best = eb.make<arith::MaxSIOp>(first[0], second[0]);
    second[0] = eb.make<arith::MinSIOp>(first[0], second[0]);
    first[0] = best;
    return;
  }
  auto [better, tie] =
      ops::compareValues(eb, op.getKind() == ReduceKind::max,
                         ops::elementOf(op.getOperand()), first[0], second[0]);
  Value isEarlier =
      ops::compare(eb, arith::CmpIPredicate::slt, first[1], second[1]);
  Value keep = eb.logicalOr(better, eb.logicalAnd(tie, isEarlier));
  for (auto [a, b] : llvm::zip(first, second)) {
    Value best = eb.select(keep, a, b);
    b = eb.select(keep, b, a);
    a = best;
  }
}

static Entry worstEntry(TopKOp op, ElementBuilder &eb) {
  SmallVector<Type> types = entryTypes(op);
  if (types.size() == 1)
    return {
        eb.integer(APInt::getSignedMinValue(types[0].getIntOrFloatBitWidth()))};
  return {
      ops::buildIdentity(eb, op.getKind(), ops::elementOf(op.getOperand())),
      eb.integer(APInt::getSignedMaxValue(types[1].getIntOrFloatBitWidth()))};
}

//===----------------------------------------------------------------------===//
// The combine object
//===----------------------------------------------------------------------===//

SmallVector<Type> TopKOp::getStateTypes() {
  SmallVector<Type> result;
  for (unsigned i = 0; i < getNumResults(); ++i)
    llvm::append_range(result, entryTypes(*this));
  return result;
}

SmallVector<Value> TopKOp::buildIdentity(ElementBuilder &eb) {
  return Sorter::join(
      SmallVector<Entry>(getNumResults(), worstEntry(*this, eb)));
}

/// The element number `place` of the dimension.
static Value readAt(TopKOp op, ValueRange parallel, Value place,
                    ElementReader &reader) {
  SmallVector<Value> index(parallel);
  index.insert(index.begin() + op.getDimension(), place);
  return reader.read(0, index);
}

static Entry liftEntry(TopKOp op, ElementBuilder &eb, ValueRange parallel,
                       Value place, ElementReader &reader) {
  Value value = readAt(op, parallel, place, reader);
  if (isPacked(op))
    return {keyOf(op).build(eb, value, place)};
  return {value, eb.fromIndex(place, entryTypes(op)[1])};
}

SmallVector<Value> TopKOp::buildLift(ElementBuilder &eb, ValueRange parallel,
                                     ValueRange reduced,
                                     ElementReader &reader) {
  SmallVector<Entry> entries(getNumResults(), worstEntry(*this, eb));
  entries.front() = liftEntry(*this, eb, parallel, reduced[0], reader);
  return Sorter::join(entries);
}

Value TopKOp::buildCoarse(ElementBuilder &eb, ValueRange parallel,
                          ValueRange reduced, ElementReader &reader) {
  return keyOf(*this).buildCoarse(eb,
                                  readAt(*this, parallel, reduced[0], reader));
}

Value TopKOp::buildMayEnter(ElementBuilder &eb, Value coarse, Value last) {
  return keyOf(*this).buildMayExceed(eb, coarse, last);
}

SmallVector<Value> TopKOp::buildAccumulate(ElementBuilder &eb, ValueRange state,
                                           ValueRange parallel,
                                           ValueRange reduced,
                                           ElementReader &reader) {
  Sorter sorter(*this, eb);
  SmallVector<Entry> entries = sorter.split(state);
  Entry next = liftEntry(*this, eb, parallel, reduced[0], reader);
  for (Entry &entry : entries)
    sorter.order(entry, next);
  return Sorter::join(entries);
}

SmallVector<Value> TopKOp::buildCombine(ElementBuilder &eb, ValueRange lhs,
                                        ValueRange rhs) {
  Sorter sorter(*this, eb);
  SmallVector<Entry> left = sorter.split(lhs), right = sorter.split(rhs);
  size_t size = llvm::PowerOf2Ceil(left.size());
  left.resize(size, worstEntry(*this, eb));
  right.resize(size, worstEntry(*this, eb));
  // The better ones go down and then up, or the converse: a bitonic sequence.
  for (size_t i = 0; i < size; ++i)
    sorter.order(left[i], right[size - 1 - i]);
  for (size_t apart = size / 2; apart; apart /= 2)
    for (size_t i = 0; i < size; ++i)
      if (!(i & apart))
        sorter.order(left[i], left[i + apart]);
  left.resize(getNumResults());
  return Sorter::join(left);
}

Value TopKOp::buildFinish(ElementBuilder &eb, ValueRange state,
                          unsigned result) {
  Type element = ops::elementOf(getResult(result));
  if (isPacked(*this))
    return keyOf(*this).buildIndex(eb, state[result], element);
  return eb.convert(state[2 * result + 1], entryTypes(*this)[1], element);
}
