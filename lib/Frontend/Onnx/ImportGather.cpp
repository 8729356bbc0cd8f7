//===- ImportGather.cpp - gathers and scatters ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Build.h"

#include "llvm/ADT/StringSwitch.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;

/// Indices must be integers; which width does not matter.
static bool checkIndices(Operator &op, const Val &indices) {
  return indices &&
         op.require(isSignedInt(indices.dtype) || isUnsignedInt(indices.dtype),
                    "expected integer indices, found " + name(indices.dtype));
}

static void importGather(Operator &op) {
  Val x = op.in(0), indices = op.in(1);
  if (!x || !checkIndices(op, indices))
    return;
  if (auto axis = op.axis(op.intAttr("axis", 0), x.rank()))
    op.out(op.emit.gather(x, indices, *axis));
}

static void importGatherElements(Operator &op) {
  Val x = op.in(0), indices = op.in(1);
  if (!x || !checkIndices(op, indices) ||
      !op.require(indices.rank() == x.rank(),
                  "expected indices of rank " + llvm::Twine(x.rank())))
    return;
  auto axis = op.axis(op.intAttr("axis", 0), x.rank());
  if (!axis)
    return;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (!op.require(d == *axis || indices.shape[d] <= x.shape[d],
                    "indices " + describe(indices.shape) +
                        " reach beyond the data " + describe(x.shape)))
      return;
  if (!op.require(x.shape[*axis] != 0 || indices.elements() == 0,
                  "cannot gather from an axis of size 0"))
    return;
  op.out(gatherElements(op, x, indices, *axis));
}

Val importer::gatherElements(Operator &op, const Val &x, const Val &indices,
                             int64_t axis) {
  if (!x || !indices)
    return {};
  Emitter &emit = op.emit;
  return emit.make(x.dtype, indices.shape, [&](mlir::RankedTensorType type) {
    return graph::GatherElementsOp::create(emit.builder, emit.location(), type,
                                           emit.use(x), emit.use(indices), axis)
        .getResult();
  });
}

static void importGatherNd(Operator &op) {
  Val x = op.in(0), indices = op.in(1);
  int64_t batch = op.intAttr("batch_dims", 0);
  if (!x || !checkIndices(op, indices) ||
      !op.require(batch >= 0 && batch < std::min(x.rank(), indices.rank()),
                  "batch_dims " + llvm::Twine(batch) + " is out of range"))
    return;
  int64_t depth = indices.shape.back();
  if (!op.require(depth >= 1 && depth <= x.rank() - batch,
                  "index vectors of length " + llvm::Twine(depth) +
                      " do not fit the data " + describe(x.shape)) ||
      !op.require(DimsRef(x.shape).take_front(batch) ==
                      DimsRef(indices.shape).take_front(batch),
                  "the batch dimensions differ"))
    return;
  Dims shape(DimsRef(indices.shape).drop_back());
  shape.append(x.shape.begin() + batch + depth, x.shape.end());
  Emitter &emit = op.emit;
  op.out(emit.make(x.dtype, shape, [&](mlir::RankedTensorType type) {
    return graph::GatherNdOp::create(emit.builder, emit.location(), type,
                                     emit.use(x), emit.use(indices), batch)
        .getResult();
  }));
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

static std::optional<graph::ScatterKind> scatterKind(Operator &op) {
  using graph::ScatterKind;
  std::string text = op.stringAttr("reduction", "none");
  auto kind = llvm::StringSwitch<std::optional<ScatterKind>>(text)
                  .Case("none", ScatterKind::assign)
                  .Case("add", ScatterKind::add)
                  .Case("mul", ScatterKind::mul)
                  .Case("max", ScatterKind::max)
                  .Case("min", ScatterKind::min)
                  .Default(std::nullopt);
  op.require(kind.has_value(), "unknown reduction " + quoted(text));
  return op.failed() ? std::nullopt : kind;
}

static void importScatterElements(Operator &op) {
  Val x = op.in(0), indices = op.in(1), updates = op.in(2);
  auto kind = scatterKind(op);
  if (!x || !updates || !kind || !checkIndices(op, indices))
    return;
  auto axis = op.axis(op.intAttr("axis", 0), x.rank());
  if (!axis || !op.require(indices.rank() == x.rank() &&
                               updates.shape == indices.shape &&
                               updates.dtype == x.dtype,
                           "data " + describe(x.shape) + ", indices " +
                               describe(indices.shape) + " and updates " +
                               describe(updates.shape) + " do not fit"))
    return;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (!op.require(d == *axis || indices.shape[d] <= x.shape[d],
                    "indices " + describe(indices.shape) +
                        " reach beyond the data " + describe(x.shape)))
      return;
  op.out(scatterElements(op, *kind, x, indices, updates, *axis));
}

Val importer::scatterElements(Operator &op, graph::ScatterKind kind,
                              const Val &x, const Val &indices,
                              const Val &updates, int64_t axis) {
  if (!x || !indices || !updates)
    return {};
  Emitter &emit = op.emit;
  return emit.make(x.dtype, x.shape, [&](mlir::RankedTensorType type) {
    return graph::ScatterElementsOp::create(
               emit.builder, emit.location(), type, kind, emit.use(x),
               emit.use(indices), emit.use(updates), axis)
        .getResult();
  });
}

static void importScatterNd(Operator &op) {
  Val x = op.in(0), indices = op.in(1), updates = op.in(2);
  auto kind = scatterKind(op);
  if (!x || !updates || !kind || !checkIndices(op, indices) ||
      !op.require(indices.rank() >= 1, "expected indices of rank 1 or more"))
    return;
  int64_t depth = indices.shape.back();
  if (!op.require(depth >= 1 && depth <= x.rank(),
                  "index vectors of length " + llvm::Twine(depth) +
                      " do not fit the data " + describe(x.shape)))
    return;
  Dims expected(DimsRef(indices.shape).drop_back());
  expected.append(x.shape.begin() + depth, x.shape.end());
  if (!op.require(updates.shape == expected && updates.dtype == x.dtype,
                  "expected updates of shape " + describe(expected) +
                      ", found " + describe(updates.shape)))
    return;
  Emitter &emit = op.emit;
  op.out(emit.make(x.dtype, x.shape, [&](mlir::RankedTensorType type) {
    return graph::ScatterNdOp::create(emit.builder, emit.location(), type,
                                      *kind, emit.use(x), emit.use(indices),
                                      emit.use(updates))
        .getResult();
  }));
}

//===----------------------------------------------------------------------===//
// OneHot
//===----------------------------------------------------------------------===//

/// on where an index (counted from the end if negative) meets the position
/// along the new axis, else off.
static void importOneHot(Operator &op) {
  Val indices = op.in(0), depthVal = op.in(1), values = op.in(2);
  if (!indices || !depthVal || !values ||
      !op.requireSupport(depthVal.constant && depthVal.elements() == 1,
                         "the depth must be known at import") ||
      !op.require(values.rank() == 1 && values.shape[0] == 2,
                  "expected two values"))
    return;
  int64_t depth = -1;
  if (!isFloat(depthVal.dtype))
    depth = depthVal.constant->getI64(0);
  else if (double real = depthVal.constant->getF64(0); real >= 0 && real < 1e15)
    depth = static_cast<int64_t>(real);
  auto axis = op.axis(op.intAttr("axis", -1), indices.rank() + 1);
  if (!axis || !op.require(depth >= 0, "the depth is negative"))
    return;
  Emitter &emit = op.emit;
  Val at = emit.cast(indices, DType::I64);
  Val zero = emit.scalarInt(DType::I64, 0);
  at = emit.select(emit.compare(graph::ComparePredicate::lt, at, zero),
                   emit.add(at, emit.scalarInt(DType::I64, depth)), at);
  if (!at)
    return;
  Dims shape = indices.shape, column = indices.shape;
  shape.insert(shape.begin() + *axis, depth);
  column.insert(column.begin() + *axis, 1);
  Val hit = emit.compare(graph::ComparePredicate::eq,
                         emit.iota(DType::I64, shape, *axis),
                         emit.reshape(at, column));
  Val off = emit.reshape(emit.sliceAxis(values, 0, 0, 1), {});
  Val on = emit.reshape(emit.sliceAxis(values, 0, 1, 1), {});
  op.out(emit.select(hit, on, off));
}

/// The first `length` entries along the time axis turned around, a length for
/// each entry of the batch axis.
static void importReverseSequence(Operator &op) {
  Val x = op.in(0), lengths = op.in(1);
  int64_t time = op.intAttr("time_axis", 0);
  int64_t batch = op.intAttr("batch_axis", 1);
  if (!x || !lengths ||
      !op.require(x.rank() >= 2,
                  "expected rank 2 or more, found " + describe(x.shape)) ||
      !op.require((time == 0 && batch == 1) || (time == 1 && batch == 0),
                  "expected time and batch axes 0 and 1 or 1 and 0, found " +
                      llvm::Twine(time) + " and " + llvm::Twine(batch)) ||
      !op.require(lengths.dtype == DType::I64 &&
                      DimsRef(lengths.shape) == DimsRef{x.shape[batch]},
                  "expected " + llvm::Twine(x.shape[batch]) +
                      " lengths of type i64, found " + name(lengths.dtype) +
                      describe(lengths.shape)))
    return;
  if (x.elements() == 0)
    return op.out(x);
  Emitter &emit = op.emit;
  Val at = emit.iota(DType::I64, {x.shape[0], x.shape[1]}, time);
  Val length = emit.broadcast(lengths, {x.shape[0], x.shape[1]}, {batch});
  Val turned = emit.sub(emit.sub(length, emit.scalarInt(DType::I64, 1)), at);
  Val inside = emit.compare(graph::ComparePredicate::lt, at, length);
  op.out(gatherElements(
      op, x, emit.broadcast(emit.select(inside, turned, at), x.shape, {0, 1}),
      time));
}

void importer::addGather(Registry &registry) {
  registry.add("Gather", importGather);
  registry.add("GatherElements", importGatherElements);
  registry.add("GatherND", importGatherNd);
  registry.add("Scatter", importScatterElements);
  registry.add("ScatterElements", importScatterElements);
  registry.add("ScatterND", importScatterNd);
  registry.add("OneHot", importOneHot);
  registry.add("ReverseSequence", importReverseSequence);
}
