//===- ImportSorting.cpp - TopK, Compress ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Build.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ComparePredicate;
using graph::ReduceKind;

/// Longest axis of which more are sorted: ranks are counted, n^2 comparisons a
/// row.
static constexpr int64_t kMaxSorted = 8192;

/// The place of every element along `axis` (i64): how many others come before
/// it. Of equal ones the first comes first; a NaN counts as the largest.
static Val ranksAlong(Operator &op, const Val &x, int64_t axis, bool largest) {
  Emitter &emit = op.emit;
  int64_t n = x.shape[axis];
  // One more dimension behind the axis: the element compared with.
  Dims self = x.shape, other = x.shape, both = x.shape;
  self.insert(self.begin() + axis + 1, 1);
  other.insert(other.begin() + axis, 1);
  both.insert(both.begin() + axis + 1, n);
  Val mine = emit.reshape(x, self), theirs = emit.reshape(x, other);
  Val before = emit.compare(
      largest ? ComparePredicate::gt : ComparePredicate::lt, theirs, mine);
  Val equal = emit.compare(ComparePredicate::eq, theirs, mine);
  if (isFloat(x.dtype)) {
    // x != x only for NaN.
    Val myNan = emit.compare(ComparePredicate::ne, mine, mine);
    Val theirNan = emit.compare(ComparePredicate::ne, theirs, theirs);
    Val nanFirst = largest ? emit.binary<graph::AndOp>(
                                 theirNan, emit.unary<graph::NotOp>(myNan))
                           : emit.binary<graph::AndOp>(
                                 myNan, emit.unary<graph::NotOp>(theirNan));
    before = emit.binary<graph::OrOp>(before, nanFirst);
    equal = emit.binary<graph::OrOp>(
        equal, emit.binary<graph::AndOp>(myNan, theirNan));
  }
  Val earlier =
      emit.compare(ComparePredicate::lt, emit.iota(DType::I64, both, axis + 1),
                   emit.iota(DType::I64, both, axis));
  before = emit.binary<graph::OrOp>(before,
                                    emit.binary<graph::AndOp>(equal, earlier));
  return emit.reduce(ReduceKind::sum, emit.cast(before, DType::I64),
                     {axis + 1});
}

/// Most elements that are looked for in one pass over an axis.
static constexpr int64_t kMostSelected = 16;

/// Where the first `count` of the sorted axis are (i64).
static Val selectAlong(Operator &op, const Val &x, int64_t axis, bool largest,
                       int64_t count) {
  Emitter &emit = op.emit;
  Dims shape = x.shape, kept = x.shape;
  shape.erase(shape.begin() + axis);
  kept[axis] = 1;
  llvm::SmallVector<Val> places(count);
  places[0] = emit.make(DType::I64, shape, [&](mlir::RankedTensorType type) {
    return graph::TopKOp::create(emit.builder, emit.location(),
                                 llvm::SmallVector<mlir::Type>(count, type),
                                 largest ? ReduceKind::max : ReduceKind::min,
                                 emit.use(x), axis)
        .getResult(0);
  });
  if (!places[0])
    return {};
  mlir::Operation *made = emit.use(places[0]).getDefiningOp();
  for (int64_t i = 1; i < count; ++i)
    places[i] = emit.make(DType::I64, shape, [&](mlir::RankedTensorType) {
      return made->getResult(i);
    });
  for (Val &place : places)
    place = emit.reshape(place, kept);
  return emit.concat(places, axis);
}

/// The k first of the sorted axis and where they were. k is an attribute before
/// opset 10.
static void importTopK(Operator &op) {
  Emitter &emit = op.emit;
  bool largest = op.intAttr("largest", 1) != 0;
  op.ignore({"sorted"}); // sorted is one of the orders that 0 allows
  Val x = op.in(0);
  std::optional<int64_t> k =
      op.opset < 10 ? std::optional(op.intAttr("k", -1)) : op.constInt(1);
  if (!x || !k ||
      !op.require(x.rank() >= 1 && x.dtype != DType::Bool,
                  "expected numbers of rank 1 or more"))
    return;
  auto axis = op.axis(op.intAttr("axis", -1), x.rank());
  if (!axis ||
      !op.require(*k >= 0 && *k <= x.shape[*axis],
                  "k is " + llvm::Twine(*k) + " of " +
                      llvm::Twine(x.shape[*axis])) ||
      !op.requireSupport(x.shape[*axis] <= kMaxSorted || *k <= kMostSelected,
                         "cannot sort more than " + llvm::Twine(kMaxSorted) +
                             " elements"))
    return;
  if (*k > 0 && *k <= kMostSelected && x.elements() > 0) {
    Val where = selectAlong(op, x, *axis, largest, *k);
    op.out(0, gatherElements(op, x, where, *axis));
    op.out(1, where);
    return;
  }
  Dims shape = x.shape;
  shape[*axis] = *k;
  // Elements whose rank is k or more fall outside and are dropped.
  Val ranks = ranksAlong(op, x, *axis, largest);
  Val where =
      scatterElements(op, graph::ScatterKind::assign,
                      emit.splat(emit.scalarInt(DType::I64, 0), shape), ranks,
                      emit.iota(DType::I64, x.shape, *axis), *axis);
  op.out(0, gatherElements(op, x, where, *axis));
  op.out(1, where);
}

/// The entries of an axis (or of the flat tensor) where a known condition
/// holds.
static void importCompress(Operator &op) {
  Val x = op.in(0), condition = op.in(1);
  if (!x || !condition ||
      !op.requireSupport(condition.constant != nullptr,
                         "the condition must be known at import") ||
      !op.require(condition.dtype == DType::Bool && condition.rank() == 1,
                  "expected a vector of bool as condition"))
    return;
  std::optional<int64_t> axis = 0;
  if (op.attribute("axis"))
    axis = op.axis(op.intAttr("axis", 0), x.rank());
  else
    x = op.emit.reshape(x, {x.elements()});
  if (!axis || !x)
    return;
  Dims chosen;
  for (int64_t i = 0, e = condition.elements(); i < e; ++i)
    if (condition.constant->getI64(i))
      chosen.push_back(i);
  if (op.require(chosen.empty() || chosen.back() < x.shape[*axis],
                 "the condition is longer than the axis"))
    op.out(op.emit.gather(x, op.emit.vector(chosen), *axis));
}

void importer::addSorting(Registry &registry) {
  registry.add("TopK", importTopK);
  registry.add("Compress", importCompress);
}
