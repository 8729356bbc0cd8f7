//===- ImportAttention.cpp - attention and rotary embedding ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Attention.h"
#include "Build.h"

#include <cmath>
#include <limits>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ComparePredicate;

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// The inputs of an Attention node by their position.
enum Input : size_t { Q, K, V, Mask, PastKey, PastValue, KeyLengths };
} // namespace

/// Query, key and value as [batch, heads, length, size].
static bool readHeads(Operator &op, AttentionSpec &spec) {
  int64_t heads = op.intAttr("q_num_heads", 0);
  int64_t groups = op.intAttr("kv_num_heads", 0);
  spec.query = op.in(Q);
  spec.key = op.in(K);
  spec.value = op.in(V);
  if (!spec.query || !spec.key || !spec.value)
    return false;
  if (spec.query.rank() == 3) {
    spec.query = headsFirst(op, spec.query, heads);
    spec.key = headsFirst(op, spec.key, groups);
    spec.value = headsFirst(op, spec.value, groups);
  }
  return spec.query && spec.key && spec.value &&
         op.require(spec.query.rank() == 4 && spec.key.rank() == 4 &&
                        spec.value.rank() == 4,
                    "expected query, key and value of rank 3 or 4");
}

/// The mask of the node, with keys behind its end masked.
static void readMask(Operator &op, AttentionSpec &spec) {
  if (!op.hasInput(Mask))
    return;
  Emitter &emit = op.emit;
  Val mask = op.in(Mask);
  int64_t keys = spec.key.shape[2];
  if (!mask || !op.require(mask.rank() >= 1 && mask.rank() <= 4 &&
                               mask.shape.back() <= keys,
                           "the mask " + describe(mask.shape) +
                               " does not fit " + llvm::Twine(keys) + " keys"))
    return;
  bool isBool = mask.dtype == DType::Bool;
  if (!op.require(isBool || isFloat(mask.dtype),
                  "expected a bool or float mask, found " + name(mask.dtype)))
    return;
  Dims low(mask.rank(), 0), high(mask.rank(), 0);
  high.back() = keys - mask.shape.back();
  double closed = isBool ? 0 : -std::numeric_limits<double>::infinity();
  mask = emit.pad(mask, emit.scalar(mask.dtype, closed), low, high);
  (isBool ? spec.allowed : spec.bias) = mask;
}

/// Masks by position: causal, windows and lengths.
static void readPositions(Operator &op, AttentionSpec &spec, int64_t past) {
  Emitter &emit = op.emit;
  bool causal = op.intAttr("is_causal", 0) != 0;
  int64_t left = op.intAttr("left_window_size", -1);
  int64_t right = op.intAttr("right_window_size", -1);
  if (!op.require(left >= -1 && right >= -1, "a negative window size"))
    return;
  if (causal)
    right = 0;
  int64_t queries = spec.query.shape[2], keys = spec.key.shape[2];
  Val offset = emit.scalarInt(DType::I64, past);
  if (op.hasInput(KeyLengths)) {
    Val lengths = emit.cast(op.in(KeyLengths), DType::I64);
    if (!lengths || !op.require(lengths.rank() == 1 &&
                                    lengths.shape[0] == spec.query.shape[0],
                                "expected one key length per batch"))
      return;
    offset = emit.sub(lengths, emit.scalarInt(DType::I64, queries));
    Val column = emit.reshape(lengths, {lengths.shape[0], 1, 1, 1});
    spec.allowed = bothAllowed(
        op, spec.allowed,
        emit.compare(ComparePredicate::lt,
                     emit.iota(DType::I64, {1, 1, 1, keys}, 3), column));
  }
  spec.allowed = bothAllowed(
      op, spec.allowed, windowMask(op, queries, keys, offset, left, right));
  // With causal masks alone every query sees a key.
  spec.zeroMaskedRows =
      op.hasInput(Mask) || op.hasInput(KeyLengths) || left >= 0;
}

static void importAttention(Operator &op) {
  Emitter &emit = op.emit;
  AttentionSpec spec;
  if (!readHeads(op, spec))
    return;
  bool isPacked = op.in(Q).rank() == 3;
  spec.scale = op.floatAttr("scale", 0);
  if (!op.attribute("scale"))
    spec.scale = 1 / std::sqrt(static_cast<double>(spec.query.shape[3]));
  spec.softcap = op.floatAttr("softcap", 0);
  spec.softmaxType = op.dtypeAttr("softmax_precision", spec.query.dtype);
  int64_t mode = op.intAttr("qk_matmul_output_mode", 0);
  if (!op.require(isFloat(spec.softmaxType), "expected a float softmax") ||
      !op.require(mode >= 0 && mode <= 3, "unknown qk_matmul_output_mode"))
    return;
  int64_t past = 0;
  if (op.hasInput(PastKey) || op.hasInput(PastValue)) {
    Val key = op.in(PastKey), value = op.in(PastValue);
    if (!key || !value ||
        !op.require(key.rank() == 4 && value.rank() == 4,
                    "expected past keys and values of rank 4"))
      return;
    past = key.shape[2];
    spec.key = emit.concat({key, spec.key}, 2);
    spec.value = emit.concat({value, spec.value}, 2);
    if (!spec.key || !spec.value)
      return;
  }
  readMask(op, spec);
  readPositions(op, spec, past);
  AttentionStages stages = buildAttention(op, spec);
  op.out(0, isPacked ? headsLast(op, stages.result) : stages.result);
  op.out(1, spec.key);
  op.out(2, spec.value);
  const Val *shown[] = {&stages.scores, &stages.capped, &stages.biased,
                        &stages.weights};
  op.out(3, *shown[mode]);
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

/// Rotates pairs of x [batch, length, heads, size] by angles whose cosines and
/// sines are [batch or 1, length, rotated / 2]; the rest of `size` is copied.
static Val rotate(Operator &op, const Val &x, Val cos, Val sin, int64_t rotated,
                  bool interleaved) {
  Emitter &emit = op.emit;
  if (!x || !cos || !sin)
    return {};
  int64_t half = rotated / 2, size = x.shape[3];
  if (!op.require(rotated % 2 == 0 && rotated <= size &&
                      cos.shape.back() == half && cos.shape == sin.shape,
                  "angles " + describe(cos.shape) + " do not fit " +
                      llvm::Twine(rotated) + " rotated elements"))
    return {};
  for (Val *angle : {&cos, &sin})
    *angle = emit.reshape(
        *angle, {angle->shape[0], angle->shape[1], 1, angle->shape[2]});
  Val first = emit.sliceAxis(x, 3, 0, half, interleaved ? 2 : 1);
  Val second =
      emit.sliceAxis(x, 3, interleaved ? 1 : half, half, interleaved ? 2 : 1);
  Val real = emit.sub(emit.mul(cos, first), emit.mul(sin, second));
  Val imaginary = emit.add(emit.mul(sin, first), emit.mul(cos, second));
  if (!real || !imaginary)
    return {};
  Val turned;
  if (interleaved) {
    Dims pairs = real.shape, flat = real.shape;
    pairs.push_back(1);
    flat.back() = rotated;
    turned = emit.reshape(
        emit.concat({emit.reshape(real, pairs), emit.reshape(imaginary, pairs)},
                    4),
        flat);
  } else {
    turned = emit.concat({real, imaginary}, 3);
  }
  if (rotated == size)
    return turned;
  return emit.concat({turned, emit.sliceAxis(x, 3, rotated, size - rotated)},
                     3);
}

/// x is [batch, length, heads * size] or [batch, heads, length, size].
static void importRotary(Operator &op, const Val &x, Val cos, Val sin,
                         const Val &positions) {
  Emitter &emit = op.emit;
  int64_t heads = op.intAttr("num_heads", 0);
  int64_t rotated = op.intAttr("rotary_embedding_dim", 0);
  bool interleaved = op.intAttr("interleaved", 0) != 0;
  if (!x || !cos || !sin ||
      !op.require(x.rank() == 3 || x.rank() == 4, "expected rank 3 or 4"))
    return;
  if (positions) {
    if (!op.require(cos.rank() == 2 && sin.rank() == 2,
                    "expected tables of rank 2"))
      return;
    cos = emit.gather(cos, positions, 0);
    sin = emit.gather(sin, positions, 0);
  }
  if (!cos || !sin ||
      !op.require(cos.rank() == 3 && sin.rank() == 3,
                  "expected angles of rank 3"))
    return;
  if (x.rank() == 3 && heads == 0 && rotated == 0)
    heads = x.shape[2] / std::max<int64_t>(1, 2 * cos.shape[2]);
  Val split = x.rank() == 4 ? emit.transpose(x, {0, 2, 1, 3})
                            : splitHeads(op, x, heads);
  if (!split)
    return;
  Val y = rotate(op, split, emit.cast(cos, x.dtype), emit.cast(sin, x.dtype),
                 rotated ? rotated : split.shape[3], interleaved);
  op.out(x.rank() == 4 ? emit.transpose(y, {0, 2, 1, 3})
                       : emit.reshape(y, x.shape));
}

static void importRotaryEmbedding(Operator &op) {
  importRotary(op, op.in(0), op.in(1), op.in(2),
               op.hasInput(3) ? op.in(3) : Val());
}

/// The positions are one first position, or one per token.
static void importContribRotaryEmbedding(Operator &op) {
  Emitter &emit = op.emit;
  op.ignore({"max_position"});
  Val x = op.in(0), positions = op.in(1);
  if (!op.requireSupport(op.floatAttr("scale", 1) == 1 &&
                             op.intAttr("is_packed_batching", 0) == 0,
                         "scaled or packed rotation is not supported") ||
      !x || !positions ||
      !op.require(x.rank() == 3 || x.rank() == 4, "expected rank 3 or 4"))
    return;
  int64_t length = x.shape[x.rank() == 4 ? 2 : 1];
  if (positions.elements() == 1 && positions.rank() <= 1) {
    Val first = emit.reshape(positions, {1, 1});
    positions = emit.broadcastTo(
        emit.add(first, emit.iota(first.dtype, {1, length}, 1)),
        {x.shape[0], length});
  }
  importRotary(op, x, op.in(2), op.in(3), positions);
}

void importer::addAttention(Registry &registry) {
  registry.add("Attention", importAttention);
  registry.add("RotaryEmbedding", importRotaryEmbedding);
  registry.add("com.microsoft.RotaryEmbedding", importContribRotaryEmbedding);
}
