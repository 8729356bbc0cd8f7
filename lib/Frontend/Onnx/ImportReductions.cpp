//===- ImportReductions.cpp - reductions, arg reductions, prefix sums -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions that are not one combine object are built from those that are;
// narrow floats are then computed in f32 and rounded once at the end.
//===----------------------------------------------------------------------===//
#include "Build.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ComparePredicate;
using graph::ReduceKind;

//===----------------------------------------------------------------------===//
// Reduce*
//===----------------------------------------------------------------------===//

namespace {
/// Operand, axes and flags of a reduction.
struct Reduction {
  Val x;
  Dims axes;
  bool keepDims = true;
  /// No axes and noop_with_empty_axes: nothing is combined.
  bool isNoop = false;
};
} // namespace

/// Reads a reduction; axes are an input since opset `inputSince`.
static std::optional<Reduction> readReduction(Operator &op,
                                              int64_t inputSince) {
  Reduction r;
  r.x = op.in(0);
  r.keepDims = op.intAttr("keepdims", 1) != 0;
  bool noop = op.intAttr("noop_with_empty_axes", 0) != 0;
  std::optional<Dims> given = op.axesArgument(1, inputSince);
  if (!r.x || op.failed())
    return std::nullopt;
  if (given && !given->empty()) {
    auto axes = op.axes(*given, r.x.rank());
    if (!axes)
      return std::nullopt;
    r.axes = *axes;
  } else if (noop) {
    r.isNoop = true;
  } else {
    r.axes = countUp(r.x.rank());
  }
  return r;
}

static Val combine(Operator &op, const Reduction &r, ReduceKind kind,
                   const Val &x) {
  return op.emit.reduce(kind, x, r.axes, r.keepDims);
}

template <ReduceKind kind, int64_t inputSince>
static void importReduce(Operator &op) {
  auto r = readReduction(op, inputSince);
  if (!r)
    return;
  if (r->isNoop)
    return op.out(r->x);
  // Bool maximum and minimum are "any" and "all".
  ReduceKind actual = kind;
  if (r->x.dtype == DType::Bool)
    actual = kind == ReduceKind::max ? ReduceKind::any : ReduceKind::all;
  if (op.require(r->x.dtype != DType::Bool || kind == ReduceKind::max ||
                     kind == ReduceKind::min,
                 "expected a number tensor, found bool"))
    op.out(combine(op, *r, actual, r->x));
}

static void importReduceMean(Operator &op) {
  auto r = readReduction(op, 18);
  if (!r)
    return;
  if (r->isNoop)
    return op.out(r->x);
  int64_t count = 1;
  for (int64_t d : r->axes)
    count *= r->x.shape[d];
  Val sum = combine(op, *r, ReduceKind::sum, op.emit.widen(r->x));
  Val mean = op.emit.binary<graph::DivOp>(sum, static_cast<double>(count));
  op.out(op.emit.cast(mean, r->x.dtype));
}

static void importReduceL1(Operator &op) {
  if (auto r = readReduction(op, 18)) {
    Val magnitude = op.emit.unary<graph::AbsOp>(r->x);
    op.out(r->isNoop ? magnitude : combine(op, *r, ReduceKind::sum, magnitude));
  }
}

/// sum(x^2), in f32 for narrow floats.
static Val sumSquares(Operator &op, const Reduction &r) {
  Val wide = op.emit.widen(r.x);
  Val square = op.emit.mul(wide, wide);
  return r.isNoop ? square : combine(op, r, ReduceKind::sum, square);
}

static void importReduceSumSquare(Operator &op) {
  if (auto r = readReduction(op, 18))
    op.out(op.emit.cast(sumSquares(op, *r), r->x.dtype));
}

/// The root of an integer sum is taken in f64 and truncated.
static void importReduceL2(Operator &op) {
  auto r = readReduction(op, 18);
  if (!r)
    return;
  Val sum = sumSquares(op, *r);
  if (sum && !isFloat(sum.dtype))
    sum = op.emit.cast(sum, DType::F64);
  op.out(op.emit.cast(op.emit.unary<graph::SqrtOp>(sum), r->x.dtype));
}

static void importReduceLogSum(Operator &op) {
  auto r = readReduction(op, 18);
  if (!r || !op.require(isFloat(r->x.dtype), "expected a float tensor"))
    return;
  Val sum = op.emit.widen(r->x);
  if (!r->isNoop)
    sum = combine(op, *r, ReduceKind::sum, sum);
  op.out(op.emit.cast(op.emit.unary<graph::LogOp>(sum), r->x.dtype));
}

/// log(sum(exp(x - m))) + m with m the maximum, or 0 where it is infinite.
static void importReduceLogSumExp(Operator &op) {
  auto r = readReduction(op, 18);
  if (!r || !op.require(isFloat(r->x.dtype), "expected a float tensor"))
    return;
  if (r->isNoop)
    return op.out(r->x);
  Emitter &emit = op.emit;
  Val x = emit.widen(r->x);
  Val max = emit.reduce(ReduceKind::max, x, r->axes, /*keepDims=*/true);
  if (!max)
    return;
  Val isInf =
      emit.make(DType::Bool, max.shape, [&](mlir::RankedTensorType type) {
        return graph::IsInfOp::create(emit.builder, emit.location(), type,
                                      emit.use(max))
            .getResult();
      });
  max = emit.select(isInf, emit.scalar(x.dtype, 0), max);
  Val sum = emit.reduce(ReduceKind::sum,
                        emit.unary<graph::ExpOp>(emit.sub(x, max)), r->axes,
                        /*keepDims=*/true);
  Val result =
      emit.cast(emit.add(emit.unary<graph::LogOp>(sum), max), r->x.dtype);
  if (!result || r->keepDims)
    return op.out(result);
  Dims shape;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (!llvm::is_contained(r->axes, d))
      shape.push_back(x.shape[d]);
  op.out(emit.reshape(result, shape));
}

//===----------------------------------------------------------------------===//
// ArgMax, ArgMin, Hardmax
//===----------------------------------------------------------------------===//

Val importer::argReduce(Operator &op, ReduceKind kind, const Val &x,
                        int64_t axis, bool selectLast) {
  if (!x || !op.require(x.dtype != DType::Bool, "expected a number tensor") ||
      !op.require(x.shape[axis] != 0, "the axis has no elements"))
    return {};
  Dims shape = x.shape;
  shape.erase(shape.begin() + axis);
  Emitter &emit = op.emit;
  return emit.make(DType::I64, shape, [&](mlir::RankedTensorType type) {
    return graph::ArgReduceOp::create(emit.builder, emit.location(), type, kind,
                                      emit.use(x), axis, selectLast)
        .getResult();
  });
}

template <ReduceKind kind>
static void importArg(Operator &op) {
  Val x = op.in(0);
  bool keepDims = op.intAttr("keepdims", 1) != 0;
  bool last = op.intAttr("select_last_index", 0) != 0;
  if (!x)
    return;
  auto axis = op.axis(op.intAttr("axis", 0), x.rank());
  if (!axis)
    return;
  Dims kept = x.shape;
  kept[*axis] = 1;
  Val result = argReduce(op, kind, x, *axis, last);
  op.out(keepDims ? op.emit.reshape(result, kept) : result);
}

/// One at the first maximum, else zero. Before opset 13 all dimensions from
/// the axis on are one.
static void importHardmax(Operator &op) {
  Val x = op.in(0);
  if (!x)
    return;
  bool flattens = op.opset < 13;
  auto axis = op.axis(op.intAttr("axis", flattens ? 1 : -1), x.rank());
  if (!axis)
    return;
  Emitter &emit = op.emit;
  Val flat = x;
  int64_t at = *axis;
  if (flattens) {
    int64_t outer = 1, inner = 1;
    for (int64_t d = 0; d < x.rank(); ++d)
      (d < at ? outer : inner) *= x.shape[d];
    flat = emit.reshape(x, {outer, inner});
    at = 1;
  }
  Val index = argReduce(op, ReduceKind::max, flat, at, false);
  if (!index)
    return;
  Dims kept = flat.shape;
  kept[at] = 1;
  Val hit =
      emit.compare(ComparePredicate::eq, emit.iota(DType::I64, flat.shape, at),
                   emit.reshape(index, kept));
  op.out(emit.reshape(emit.cast(hit, x.dtype), x.shape));
}

//===----------------------------------------------------------------------===//
// Prefix sums and products
//===----------------------------------------------------------------------===//

template <ReduceKind kind>
static void importCumulative(Operator &op) {
  bool exclusive = op.intAttr("exclusive", 0) != 0;
  bool reverse = op.intAttr("reverse", 0) != 0;
  Val x = op.in(0);
  std::optional<int64_t> given = op.constInt(1);
  if (!x || !given)
    return;
  auto axis = op.axis(*given, x.rank());
  if (!axis || !op.require(x.dtype != DType::Bool, "expected a number tensor"))
    return;
  Emitter &emit = op.emit;
  op.out(emit.make(x.dtype, x.shape, [&](mlir::RankedTensorType type) {
    return graph::CumulativeOp::create(emit.builder, emit.location(), type,
                                       kind, emit.use(x), *axis, exclusive,
                                       reverse)
        .getResult();
  }));
}

void importer::addReductions(Registry &registry) {
  registry.add("ReduceSum", importReduce<ReduceKind::sum, 13>);
  registry.add("ReduceProd", importReduce<ReduceKind::prod, 18>);
  registry.add("ReduceMax", importReduce<ReduceKind::max, 18>);
  registry.add("ReduceMin", importReduce<ReduceKind::min, 18>);
  registry.add("ReduceMean", importReduceMean);
  registry.add("ReduceL1", importReduceL1);
  registry.add("ReduceL2", importReduceL2);
  registry.add("ReduceSumSquare", importReduceSumSquare);
  registry.add("ReduceLogSum", importReduceLogSum);
  registry.add("ReduceLogSumExp", importReduceLogSumExp);
  registry.add("ArgMax", importArg<ReduceKind::max>);
  registry.add("ArgMin", importArg<ReduceKind::min>);
  registry.add("Hardmax", importHardmax);
  registry.add("CumSum", importCumulative<ReduceKind::sum>);
  registry.add("CumProd", importCumulative<ReduceKind::prod>);
}
