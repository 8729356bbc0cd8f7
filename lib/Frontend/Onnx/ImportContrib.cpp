//===- ImportContrib.cpp - com.microsoft: fused operators -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ONNX Runtime's optimizer writes into files, taken apart again: the
// planner fuses by itself. Norms are ONNX Runtime's: narrow floats are widened
// before and rounded once.
//===----------------------------------------------------------------------===//
#include "Attention.h"
#include "Build.h"

#include <cmath>
#include <limits>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ComparePredicate;
using graph::GeluKind;
using graph::ReduceKind;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// gelu(x + bias); the bias may be absent.
template <GeluKind kind>
static void importBiasGelu(Operator &op) {
  Val x = op.in(0);
  if (!x || !op.require(isFloat(x.dtype), "expected a float tensor"))
    return;
  op.out(gelu(op, op.hasInput(1) ? op.emit.add(x, op.in(1)) : x, kind));
}

/// x * logistic(alpha * x).
static void importQuickGelu(Operator &op) {
  double alpha = op.floatAttr("alpha", 1.702f);
  Val x = op.in(0);
  op.out(op.emit.mul(x, op.emit.unary<graph::LogisticOp>(
                            op.emit.binary<graph::MulOp>(x, alpha))));
}

/// x + bias + skip.
static void importBiasAdd(Operator &op) {
  op.out(op.emit.add(op.emit.add(op.in(0), op.in(1)), op.in(2)));
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// The norm of a float tensor over its last dimension.
static Val normOfRows(Operator &op, const Val &x, const Val &scale,
                      const Val &bias, double epsilon, bool isRms) {
  if (!x || !scale)
    return {};
  Emitter &emit = op.emit;
  Val wide = emit.widen(x), factor = emit.widen(scale);
  if (isRms)
    return emit.cast(rmsNorm(op, wide, factor, x.rank() - 1, epsilon), x.dtype);
  return emit.cast(layerNorm(op, wide, factor, bias ? emit.widen(bias) : Val(),
                             x.rank() - 1, epsilon),
                   x.dtype);
}

/// norm(input + skip + bias); the sum is output 3.
template <bool isRms>
static void importSkipNorm(Operator &op) {
  double epsilon = op.floatAttr("epsilon", isRms ? 1e-5f : 1e-12f);
  Emitter &emit = op.emit;
  Val x = op.in(0), scale = op.in(2);
  if (!x || !op.require(isFloat(x.dtype) && x.rank() >= 2,
                        "expected a float tensor of rank 2 or more"))
    return;
  size_t biasInput = isRms ? 3 : 4;
  Val sum = emit.add(x, op.in(1));
  if (op.hasInput(biasInput))
    sum = emit.add(sum, op.in(biasInput));
  if (!sum || !op.require(sum.shape == x.shape, "the skip is larger"))
    return;
  Val bias = !isRms && op.hasInput(3) ? op.in(3) : Val();
  op.out(0, normOfRows(op, sum, scale, bias, epsilon, isRms));
  op.out(3, sum);
}

/// RMS norm over the dimensions from `axis` on.
static void importSimplifiedNorm(Operator &op) {
  double epsilon = op.floatAttr("epsilon", 1e-5f);
  op.ignore({"stash_type"});
  Val x = op.in(0);
  if (!x || !op.require(isFloat(x.dtype), "expected a float tensor"))
    return;
  auto axis = op.axis(op.intAttr("axis", -1), x.rank());
  if (!axis)
    return;
  Emitter &emit = op.emit;
  Val scale = emit.broadcastTo(op.in(1), DimsRef(x.shape).drop_front(*axis));
  Val y = rmsNorm(op, emit.widen(x), emit.widen(scale), *axis, epsilon);
  op.out(emit.cast(y, x.dtype));
}

/// Word, position and segment embeddings, summed and normalised.
static void importEmbedLayerNorm(Operator &op) {
  double epsilon = op.floatAttr("epsilon", 1e-12f);
  Emitter &emit = op.emit;
  op.ignore({"mask_index_type"});
  Val words = op.in(0), table = op.in(2), places = op.in(3);
  if (!words || !table || !places ||
      !op.require(words.rank() == 2 && table.rank() == 2 && places.rank() == 2,
                  "expected token numbers and tables of rank 2"))
    return;
  int64_t batch = words.shape[0], length = words.shape[1];
  Val sum = emit.gather(table, words, 0);
  Val positions =
      op.hasInput(8) ? op.in(8) : emit.iota(DType::I64, {1, length}, 1);
  sum = emit.add(sum, emit.gather(places, positions, 0));
  if (op.hasInput(1) && op.hasInput(4))
    sum = emit.add(sum, emit.gather(op.in(4), op.in(1), 0));
  op.out(0, normOfRows(op, sum, op.in(5), op.in(6), epsilon, false));
  if (op.hasOutput(1)) {
    // How many tokens the mask keeps.
    Val kept = emit.splat(emit.scalarInt(DType::I32, 0), {batch});
    if (op.hasInput(7)) {
      Val mask = op.in(7);
      if (!mask || !op.requireSupport(mask.rank() == 2,
                                      "expected a mask of rank 2, found " +
                                          describe(mask.shape)))
        return;
      kept = emit.reduce(ReduceKind::sum, emit.cast(mask, DType::I32), {1});
    }
    op.out(1, kept);
  }
  op.out(2, sum);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static Val swapLast(Operator &op, const Val &x) {
  if (!x || x.rank() < 2)
    return x;
  Dims order = countUp(x.rank());
  std::swap(order[x.rank() - 1], order[x.rank() - 2]);
  return op.emit.transpose(x, order);
}

static void importFusedMatMul(Operator &op) {
  double alpha = op.floatAttr("alpha", 1);
  bool swapA = op.intAttr("transA", 0) != 0,
       swapB = op.intAttr("transB", 0) != 0;
  if (!op.requireSupport(op.intAttr("transBatchA", 0) == 0 &&
                             op.intAttr("transBatchB", 0) == 0,
                         "transposed batches are not supported"))
    return;
  Val a = op.in(0), b = op.in(1);
  Val y = matmul(op, swapA ? swapLast(op, a) : a, swapB ? swapLast(op, b) : b);
  op.out(alpha == 1 ? y : op.emit.binary<graph::MulOp>(y, alpha));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The scale of the node: 1 / sqrt(size) unless it says otherwise.
static double scaleOf(Operator &op, int64_t size) {
  double scale = op.floatAttr("scale", 0);
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(size));
}

/// A key mask: [batch] lengths, [batch, keys], [batch, S, keys] or
/// [batch, 1, S, keys] of 0 and 1, as bool against [batch, H, S, keys].
static Val keyMask(Operator &op, Val mask, int64_t batch, int64_t keys) {
  Emitter &emit = op.emit;
  if (!mask)
    return {};
  if (!op.require(!isFloat(mask.dtype) && mask.dtype != DType::Bool,
                  "expected an integer mask"))
    return {};
  if (mask.rank() == 1) {
    if (!op.require(mask.shape[0] == batch, "expected one length per batch"))
      return {};
    Val column = emit.reshape(mask, {batch, 1, 1, 1});
    return emit.compare(ComparePredicate::lt,
                        emit.iota(mask.dtype, {1, 1, 1, keys}, 3), column);
  }
  if (!op.require(mask.rank() <= 4 && mask.shape.back() == keys,
                  "the mask " + describe(mask.shape) + " does not fit " +
                      llvm::Twine(keys) + " keys"))
    return {};
  if (mask.rank() == 2)
    mask = emit.reshape(mask, {mask.shape[0], 1, 1, keys});
  else if (mask.rank() == 3)
    mask = emit.reshape(mask, {mask.shape[0], 1, mask.shape[1], keys});
  return emit.compare(ComparePredicate::ne, mask,
                      emit.scalarInt(mask.dtype, 0));
}

/// Masked keys get `filter` added to their scores, as ONNX Runtime does it: a
/// row that is masked whole is a plain softmax.
static void maskByFilter(Operator &op, AttentionSpec &spec, const Val &allowed,
                         double filter) {
  if (!allowed)
    return;
  Emitter &emit = op.emit;
  DType dtype = spec.query ? spec.query.dtype : DType::F32;
  Val bias =
      emit.select(allowed, emit.scalar(dtype, 0), emit.scalar(dtype, filter));
  spec.bias = spec.bias ? emit.add(spec.bias, bias) : bias;
}

/// Packs: weights of query, key and value side by side.
static void importContribAttention(Operator &op) {
  Emitter &emit = op.emit;
  int64_t heads = op.intAttr("num_heads", 0);
  bool causal = op.intAttr("unidirectional", 0) != 0;
  double filter = op.floatAttr("mask_filter_value", -10000);
  auto sizes = op.intsAttr("qkv_hidden_sizes");
  Val x = op.in(0), weights = op.in(1);
  if (!x || !weights ||
      !op.require(x.rank() == 3 && weights.rank() == 2,
                  "expected an input of rank 3 and weights of rank 2") ||
      !op.requireSupport(op.intAttr("do_rotary", 0) == 0 && !op.hasInput(4),
                         "rotation and past keys are not supported"))
    return;
  int64_t third = weights.shape[1] / 3;
  Dims parts = sizes ? *sizes : Dims{third, third, third};
  // Each is at most the width, so their sum does not overflow.
  bool fits = parts.size() == 3 && llvm::all_of(parts, [&](int64_t n) {
                return n > 0 && n <= weights.shape[1];
              });
  if (!op.require(fits && parts[0] + parts[1] + parts[2] == weights.shape[1],
                  "the weights do not split into query, key and value"))
    return;
  Val packed = matmul(op, x, weights);
  if (op.hasInput(2))
    packed = emit.add(packed, op.in(2));
  AttentionSpec spec;
  spec.query = headsFirst(op, emit.sliceAxis(packed, 2, 0, parts[0]), heads);
  spec.key =
      headsFirst(op, emit.sliceAxis(packed, 2, parts[0], parts[1]), heads);
  spec.value = headsFirst(
      op, emit.sliceAxis(packed, 2, parts[0] + parts[1], parts[2]), heads);
  if (!spec.query)
    return;
  int64_t length = x.shape[1];
  spec.scale = scaleOf(op, spec.query.shape[3]);
  spec.softmaxType = emit.widen(spec.query).dtype;
  if (op.hasInput(5))
    spec.bias = op.in(5);
  if (op.hasInput(3))
    maskByFilter(op, spec, keyMask(op, op.in(3), x.shape[0], length), filter);
  if (causal)
    spec.allowed = windowMask(op, length, length, {}, -1, 0);
  op.out(headsLast(op, buildAttention(op, spec).result));
}

/// Query, key and value apart, each [batch, length, heads * size].
static void importMultiHeadAttention(Operator &op) {
  Emitter &emit = op.emit;
  int64_t heads = op.intAttr("num_heads", 0);
  bool causal = op.intAttr("unidirectional", 0) != 0;
  double filter = op.floatAttr("mask_filter_value", -10000);
  Val query = op.in(0);
  if (!query || !op.requireSupport(query.rank() == 3 && op.hasInput(1) &&
                                       op.hasInput(2) && !op.hasInput(6),
                                   "expected separate query, key and value"))
    return;
  Val key = op.in(1), value = op.in(2);
  if (op.hasInput(3)) {
    Val bias = op.in(3);
    if (!key || !value || !bias ||
        !op.require(bias.rank() == 1 && key.rank() == 3 && value.rank() == 3 &&
                        bias.shape[0] ==
                            query.shape[2] + key.shape[2] + value.shape[2],
                    "unexpected shape of the bias"))
      return;
    int64_t at = 0;
    for (Val *part : {&query, &key, &value}) {
      int64_t size = part->shape[2];
      *part = emit.add(*part, emit.sliceAxis(bias, 0, at, size));
      at += size;
    }
  }
  AttentionSpec spec;
  spec.query = headsFirst(op, query, heads);
  spec.key = key && key.rank() == 4 ? key : headsFirst(op, key, heads);
  spec.value =
      value && value.rank() == 4 ? value : headsFirst(op, value, heads);
  if (!spec.query || !spec.key || !spec.value)
    return;
  int64_t keys = spec.key.shape[2];
  spec.scale = scaleOf(op, spec.query.shape[3]);
  spec.softmaxType = emit.widen(spec.query).dtype;
  if (op.hasInput(5))
    spec.bias = op.in(5);
  if (op.hasInput(4))
    maskByFilter(op, spec, keyMask(op, op.in(4), query.shape[0], keys), filter);
  if (causal)
    spec.allowed = windowMask(
        op, spec.query.shape[2], keys,
        emit.scalarInt(DType::I64, keys - spec.query.shape[2]), -1, 0);
  op.out(0, headsLast(op, buildAttention(op, spec).result));
  op.out(1, spec.key);
  op.out(2, spec.value);
}

//===----------------------------------------------------------------------===//
// Quantised arithmetic
//===----------------------------------------------------------------------===//

/// (x - zero) * scale in f32, all of one scale.
static Val dequantised(Operator &op, const Val &x, const Val &scale,
                       const Val &zero) {
  Emitter &emit = op.emit;
  if (!x || !scale ||
      !op.require(scale.elements() == 1 && (!zero || zero.elements() == 1),
                  "expected one scale and zero point"))
    return {};
  Val wide = emit.cast(x, DType::I32);
  if (zero)
    wide = emit.sub(wide, emit.cast(emit.reshape(zero, {}), DType::I32));
  return emit.mul(emit.cast(wide, DType::F32), emit.reshape(scale, {}));
}

static Val quantised(Operator &op, const Val &x, const Val &scale,
                     const Val &zero, DType dtype) {
  Emitter &emit = op.emit;
  if (!x || !scale ||
      !op.require(scale.elements() == 1 && (!zero || zero.elements() == 1),
                  "expected one scale and zero point"))
    return {};
  Val factor = emit.splat(emit.reshape(scale, {}), x.shape);
  Val offset = emit.splat(
      zero ? emit.reshape(zero, {}) : emit.scalarInt(dtype, 0), x.shape);
  return emit.make(dtype, x.shape, [&](mlir::RankedTensorType type) {
    return graph::QuantizeOp::create(emit.builder, emit.location(), type,
                                     emit.use(x), emit.use(factor),
                                     emit.use(offset))
        .getResult();
  });
}

static Val optional(Operator &op, size_t i) {
  return op.hasInput(i) ? op.in(i) : Val();
}

/// QLinearAdd, QLinearMul: two operands and a result with scales and zero
/// points.
template <typename OpT>
static void importQLinearBinary(Operator &op) {
  Val a = op.in(0);
  Val sum =
      op.emit.binary<OpT>(dequantised(op, a, op.in(1), optional(op, 2)),
                          dequantised(op, op.in(3), op.in(4), optional(op, 5)));
  if (a)
    op.out(quantised(op, sum, op.in(6), optional(op, 7), a.dtype));
}

static void importQLinearSigmoid(Operator &op) {
  Val x = op.in(0);
  Val y = op.emit.unary<graph::LogisticOp>(
      dequantised(op, x, op.in(1), optional(op, 2)));
  if (x)
    op.out(quantised(op, y, op.in(3), optional(op, 4), x.dtype));
}

static void importQLinearLeakyRelu(Operator &op) {
  double alpha = op.floatAttr("alpha", 0.01f);
  Emitter &emit = op.emit;
  Val x = op.in(0), real = dequantised(op, x, op.in(1), optional(op, 2));
  if (!real)
    return;
  Val y = emit.select(
      emit.compare(ComparePredicate::ge, real, emit.scalar(real.dtype, 0)),
      real, emit.binary<graph::MulOp>(real, alpha));
  op.out(quantised(op, y, op.in(3), optional(op, 4), x.dtype));
}

void importer::addContrib(Registry &registry) {
  auto add = [&](llvm::StringRef name, ImportFunction function) {
    registry.add(("com.microsoft." + name).str(), function);
  };
  add("Gelu", importBiasGelu<GeluKind::erf>);
  add("BiasGelu", importBiasGelu<GeluKind::erf>);
  add("FastGelu", importBiasGelu<GeluKind::tanh>);
  add("QuickGelu", importQuickGelu);
  add("BiasAdd", importBiasAdd);
  add("SkipLayerNormalization", importSkipNorm<false>);
  add("SkipSimplifiedLayerNormalization", importSkipNorm<true>);
  add("EmbedLayerNormalization", importEmbedLayerNorm);
  add("FusedMatMul", importFusedMatMul);
  add("Attention", importContribAttention);
  add("MultiHeadAttention", importMultiHeadAttention);
  add("QLinearAdd", importQLinearBinary<graph::AddOp>);
  add("QLinearMul", importQLinearBinary<graph::MulOp>);
  add("QLinearSigmoid", importQLinearSigmoid);
  add("QLinearLeakyRelu", importQLinearLeakyRelu);
  // ONNX Runtime registers this one in the default domain.
  registry.add("SimplifiedLayerNormalization", importSimplifiedNorm);
}
