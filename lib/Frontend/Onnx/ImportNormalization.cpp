//===- ImportNormalization.cpp - norms and softmax ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms without a composite op of their own are spelt out; narrow floats are
// then computed in f32 and rounded once.
//===----------------------------------------------------------------------===//
#include "Build.h"

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ReduceKind;

static bool requireFloat(Operator &op, const Val &x) {
  return x && op.require(isFloat(x.dtype),
                         "expected a float tensor, found " + name(x.dtype));
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Before opset 13 all dimensions from the axis on are normalised together.
template <typename OpT>
static void importSoftmax(Operator &op) {
  Val x = op.in(0);
  if (!requireFloat(op, x))
    return;
  bool flattens = op.opset < 13;
  auto axis = op.axis(op.intAttr("axis", flattens ? 1 : -1), x.rank(),
                      /*inclusive=*/flattens);
  if (!axis)
    return;
  Dims dims = flattens ? countUp(x.rank() - *axis, *axis) : Dims{*axis};
  if (dims.empty()) // each element by itself
    return op.out(op.emit.splat(
        x.dtype, std::is_same_v<OpT, graph::SoftmaxOp> ? 1 : 0, x.shape));
  Emitter &emit = op.emit;
  op.out(emit.make(x.dtype, x.shape, [&](mlir::RankedTensorType type) {
    return OpT::create(emit.builder, emit.location(), type, emit.use(x), dims)
        .getResult();
  }));
}

Val importer::softmaxOfRows(Operator &op, const Val &x) {
  if (!x)
    return {};
  Emitter &emit = op.emit;
  return emit.make(x.dtype, x.shape, [&](mlir::RankedTensorType type) {
    return graph::SoftmaxOp::create(emit.builder, emit.location(), type,
                                    emit.use(x), Dims{x.rank() - 1})
        .getResult();
  });
}

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

Val importer::meanOver(Operator &op, const Val &x, DimsRef dims) {
  if (!x)
    return {};
  double count = 1;
  for (int64_t d : dims)
    count *= static_cast<double>(x.shape[d]);
  Val sum = op.emit.reduce(ReduceKind::sum, x, dims, /*keepDims=*/true);
  return op.emit.binary<graph::DivOp>(sum, count);
}

namespace {
/// x - mean, and 1 / sqrt(variance + epsilon), over some dimensions.
struct Moments {
  Val mean, centred, invStdDev;
};
} // namespace

static Moments moments(Operator &op, const Val &x, DimsRef dims,
                       double epsilon) {
  Emitter &emit = op.emit;
  Moments m;
  m.mean = meanOver(op, x, dims);
  m.centred = emit.sub(x, m.mean);
  Val variance = meanOver(op, emit.mul(m.centred, m.centred), dims);
  m.invStdDev =
      emit.unary<graph::RsqrtOp>(emit.binary<graph::AddOp>(variance, epsilon));
  return m;
}

/// `v` of one element per channel as [C, 1, ...] against rank `rank`.
static Val perChannel(Operator &op, const Val &v, int64_t channels,
                      int64_t rank) {
  if (!v || !op.require(v.rank() == 1 && v.shape[0] == channels,
                        "expected " + llvm::Twine(channels) +
                            " elements, found " + describe(v.shape)))
    return {};
  Dims shape(rank - 1, 1);
  shape[0] = channels;
  return op.emit.reshape(v, shape);
}

//===----------------------------------------------------------------------===//
// Batch, instance and group norm
//===----------------------------------------------------------------------===//

static void importBatchNormalization(Operator &op) {
  double epsilon = op.floatAttr("epsilon", 1e-5f);
  op.ignore({"momentum"});
  if (!op.requireSupport(op.intAttr("training_mode", 0) == 0,
                         "training mode is not supported") ||
      !op.requireSupport(op.intAttr("spatial", 1) == 1,
                         "statistics per element are not supported"))
    return;
  Val x = op.in(0);
  if (!requireFloat(op, x) ||
      !op.require(x.rank() >= 2, "expected rank 2 or more"))
    return;
  // Statistics may be wider than the data.
  DType dtype = x.dtype;
  Val params[4];
  for (size_t i = 0; i < 4; ++i) {
    params[i] = op.in(i + 1);
    if (!requireFloat(op, params[i]) ||
        !op.require(params[i].rank() == 1 && params[i].shape[0] == x.shape[1],
                    "expected " + llvm::Twine(x.shape[1]) +
                        " elements as input " + llvm::Twine(i + 1)))
      return;
    if (precisionBits(params[i].dtype) > precisionBits(dtype))
      dtype = params[i].dtype;
  }
  Emitter &emit = op.emit;
  Val wide = emit.cast(x, dtype);
  for (Val &p : params)
    p = emit.cast(p, dtype);
  Val y = emit.make(dtype, x.shape, [&](mlir::RankedTensorType type) {
    return graph::BatchNormOp::create(
               emit.builder, emit.location(), type, emit.use(wide),
               emit.use(params[0]), emit.use(params[1]), emit.use(params[2]),
               emit.use(params[3]), emit.builder.getI64IntegerAttr(1),
               emit.builder.getF64FloatAttr(epsilon))
        .getResult();
  });
  op.out(emit.cast(y, x.dtype));
}

static void importInstanceNormalization(Operator &op) {
  double epsilon = op.floatAttr("epsilon", 1e-5f);
  Val x = op.in(0);
  if (!requireFloat(op, x) ||
      !op.require(x.rank() >= 3, "expected rank 3 or more"))
    return;
  Emitter &emit = op.emit;
  Moments m = moments(op, emit.widen(x), countUp(x.rank() - 2, 2), epsilon);
  Val scale = perChannel(op, emit.widen(op.in(1)), x.shape[1], x.rank());
  Val bias = perChannel(op, emit.widen(op.in(2)), x.shape[1], x.rank());
  Val y = emit.add(emit.mul(emit.mul(m.centred, m.invStdDev), scale), bias);
  op.out(emit.cast(y, x.dtype));
}

/// Scale and bias are per group before opset 21, per channel since then.
static void importGroupNormalization(Operator &op) {
  double epsilon = op.floatAttr("epsilon", 1e-5f);
  int64_t groups = op.intAttr("num_groups", 0);
  op.ignore({"stash_type"});
  Val x = op.in(0);
  if (!requireFloat(op, x) ||
      !op.require(x.rank() >= 2, "expected rank 2 or more") ||
      !op.require(groups > 0 && x.shape[1] % groups == 0,
                  "the channels are not a multiple of num_groups"))
    return;
  Emitter &emit = op.emit;
  Dims split = {x.shape[0], groups, x.shape[1] / groups};
  split.append(x.shape.begin() + 2, x.shape.end());
  Val grouped = emit.reshape(emit.widen(x), split);
  if (!grouped)
    return;
  int64_t rank = grouped.rank();
  Moments m = moments(op, grouped, countUp(rank - 2, 2), epsilon);
  Val y = emit.mul(m.centred, m.invStdDev);
  bool perGroup = op.opset < 21;
  if (!perGroup)
    y = emit.reshape(y, x.shape);
  int64_t count = perGroup ? groups : x.shape[1];
  int64_t against = perGroup ? rank : x.rank();
  Val scale = perChannel(op, emit.widen(op.in(1)), count, against);
  Val bias = perChannel(op, emit.widen(op.in(2)), count, against);
  y = emit.add(emit.mul(y, scale), bias);
  op.out(emit.cast(emit.reshape(y, x.shape), x.dtype));
}

//===----------------------------------------------------------------------===//
// Layer and RMS norm
//===----------------------------------------------------------------------===//

/// The normalised dimensions of the node's `axis`.
static std::optional<int64_t> normAxis(Operator &op, const Val &x) {
  return op.axis(op.intAttr("axis", -1), x.rank());
}

/// A scale or bias with the shape of the normalised dimensions.
static Val normParam(Operator &op, size_t input, const Val &x, int64_t axis) {
  return op.emit.broadcastTo(op.in(input), DimsRef(x.shape).drop_front(axis));
}

static void importLayerNormalization(Operator &op) {
  double epsilon = op.floatAttr("epsilon", 1e-5f);
  Val x = op.in(0);
  if (!requireFloat(op, x) ||
      !op.requireSupport(op.intAttr("stash_type", 1) == 1,
                         "unsupported stash_type"))
    return;
  auto axis = normAxis(op, x);
  if (!axis)
    return;
  Val scale = normParam(op, 1, x, *axis);
  Val bias = op.hasInput(2) ? normParam(op, 2, x, *axis) : Val();
  if (!scale || op.failed())
    return;
  op.out(layerNorm(op, x, scale, bias, *axis, epsilon));
  if (!op.hasOutput(1) && !op.hasOutput(2))
    return;
  Moments m =
      moments(op, op.emit.widen(x), countUp(x.rank() - *axis, *axis), epsilon);
  op.out(1, m.mean);
  op.out(2, m.invStdDev);
}

static void importRmsNormalization(Operator &op) {
  double epsilon = op.floatAttr("epsilon", 1e-5f);
  Val x = op.in(0);
  if (!requireFloat(op, x) ||
      !op.requireSupport(op.intAttr("stash_type", 1) == 1,
                         "unsupported stash_type"))
    return;
  auto axis = normAxis(op, x);
  if (!axis)
    return;
  op.out(rmsNorm(op, x, normParam(op, 1, x, *axis), *axis, epsilon));
}

Val importer::layerNorm(Operator &op, const Val &x, const Val &scale,
                        const Val &bias, int64_t axis, double epsilon) {
  if (!x || !scale)
    return {};
  Emitter &emit = op.emit;
  return emit.make(x.dtype, x.shape, [&](mlir::RankedTensorType type) {
    return graph::LayerNormOp::create(emit.builder, emit.location(), type,
                                      emit.use(x), emit.use(scale),
                                      emit.use(bias),
                                      emit.builder.getI64IntegerAttr(axis),
                                      emit.builder.getF64FloatAttr(epsilon))
        .getResult();
  });
}

Val importer::rmsNorm(Operator &op, const Val &x, const Val &scale,
                      int64_t axis, double epsilon) {
  if (!x || !scale)
    return {};
  Emitter &emit = op.emit;
  return emit.make(x.dtype, x.shape, [&](mlir::RankedTensorType type) {
    return graph::RmsNormOp::create(emit.builder, emit.location(), type,
                                    emit.use(x), emit.use(scale),
                                    emit.builder.getI64IntegerAttr(axis),
                                    emit.builder.getF64FloatAttr(epsilon))
        .getResult();
  });
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

/// x / ||x||_p along one axis; 0 where the norm is 0.
static void importLpNormalization(Operator &op) {
  int64_t p = op.intAttr("p", 2);
  Val x = op.in(0);
  if (!requireFloat(op, x) ||
      !op.require(p == 1 || p == 2, "expected p of 1 or 2"))
    return;
  auto axis = op.axis(op.intAttr("axis", -1), x.rank());
  if (!axis)
    return;
  Emitter &emit = op.emit;
  Val wide = emit.widen(x);
  Val power = p == 1 ? emit.unary<graph::AbsOp>(wide) : emit.mul(wide, wide);
  Val norm = emit.reduce(ReduceKind::sum, power, {*axis}, /*keepDims=*/true);
  if (p == 2)
    norm = emit.unary<graph::SqrtOp>(norm);
  if (!norm)
    return;
  Val zero = emit.scalar(norm.dtype, 0);
  Val isZero = emit.compare(graph::ComparePredicate::eq, norm, zero);
  Val y = emit.select(isZero, zero, emit.div(wide, norm));
  op.out(emit.cast(y, x.dtype));
}

/// x / (bias + alpha / size * sum of squares over near channels)^beta.
static void importLrn(Operator &op) {
  double alpha = op.floatAttr("alpha", 1e-4f),
         beta = op.floatAttr("beta", 0.75f), bias = op.floatAttr("bias", 1);
  int64_t size = op.intAttr("size", 0);
  Val x = op.in(0);
  if (!requireFloat(op, x) ||
      !op.require(x.rank() >= 2 && size > 0 && size < (1 << 30),
                  "expected rank 2 or more and a positive size"))
    return;
  Emitter &emit = op.emit;
  Val wide = emit.widen(x);
  Val square = emit.mul(wide, wide);
  if (!square)
    return;
  Dims ones(x.rank(), 1), window = ones, low(x.rank(), 0), high(x.rank(), 0);
  window[1] = size;
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  Val sum = emit.make(wide.dtype, x.shape, [&](mlir::RankedTensorType type) {
    return graph::WindowReduceOp::create(emit.builder, emit.location(), type,
                                         ReduceKind::sum, emit.use(square),
                                         window, ones, ones, low, high)
        .getResult();
  });
  Val scale = emit.binary<graph::MulOp>(sum, alpha / static_cast<double>(size));
  scale = emit.binary<graph::AddOp>(scale, bias);
  Val y = emit.div(wide, emit.binary<graph::PowOp>(scale, beta));
  op.out(emit.cast(y, x.dtype));
}

/// (x - mean) / (sqrt(variance) + 1e-9), as the format defines it.
static void importMeanVarianceNormalization(Operator &op) {
  Val x = op.in(0);
  auto given = op.intsAttr("axes");
  if (!requireFloat(op, x))
    return;
  auto axes = op.axes(given ? *given : Dims{0, 2, 3}, x.rank());
  if (!axes)
    return;
  Emitter &emit = op.emit;
  Val wide = emit.widen(x);
  Val centred = emit.sub(wide, meanOver(op, wide, *axes));
  Val variance = meanOver(op, emit.mul(centred, centred), *axes);
  Val deviation = emit.binary<graph::AddOp>(emit.unary<graph::SqrtOp>(variance),
                                            double(1e-9f));
  op.out(emit.cast(emit.div(centred, deviation), x.dtype));
}

void importer::addNormalization(Registry &registry) {
  registry.add("Softmax", importSoftmax<graph::SoftmaxOp>);
  registry.add("LogSoftmax", importSoftmax<graph::LogSoftmaxOp>);
  registry.add("BatchNormalization", importBatchNormalization);
  registry.add("InstanceNormalization", importInstanceNormalization);
  registry.add("GroupNormalization", importGroupNormalization);
  registry.add("LayerNormalization", importLayerNormalization);
  registry.add("RMSNormalization", importRmsNormalization);
  registry.add("LpNormalization", importLpNormalization);
  registry.add("LRN", importLrn);
  registry.add("MeanVarianceNormalization", importMeanVarianceNormalization);
}
