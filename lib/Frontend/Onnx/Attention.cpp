//===- Attention.cpp - scaled dot-product attention -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two contractions around a softmax. Query heads that share a key head become
// rows of one contraction, so that nothing is repeated in memory.
//===----------------------------------------------------------------------===//
#include "Attention.h"
#include "Build.h"

#include <limits>

using namespace fusec;
using namespace fusec::onnx;
using namespace fusec::onnx::importer;
using graph::ComparePredicate;
using graph::ReduceKind;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

static bool checkShapes(Operator &op, const AttentionSpec &s) {
  const Dims &q = s.query.shape, &k = s.key.shape, &v = s.value.shape;
  return op.require(q.size() == 4 && k.size() == 4 && v.size() == 4 &&
                        q[0] == k[0] && q[0] == v[0] && k[1] == v[1] &&
                        k[1] > 0 && q[1] % k[1] == 0 && k[2] == v[2] &&
                        q[3] == k[3],
                    "query " + describe(q) + ", key " + describe(k) +
                        " and value " + describe(v) + " do not fit") &&
         op.require(isFloat(s.query.dtype) && s.query.dtype == s.key.dtype &&
                        s.query.dtype == s.value.dtype,
                    "expected float tensors of one type");
}

/// [batch, H, S, X] against [batch, G, ...]: the heads of a group below each
/// other.
static Val groupHeads(Operator &op, const Val &x, int64_t groups) {
  return x ? op.emit.reshape(x, {x.shape[0], groups,
                                 x.shape[1] / groups * x.shape[2], x.shape[3]})
           : Val();
}

/// Bool, with size 1 as the last dimension: rows in which no key counts.
static Val maskedRows(Operator &op, const AttentionSpec &s) {
  Emitter &emit = op.emit;
  Val masked;
  if (s.allowed)
    masked = emit.unary<graph::NotOp>(emit.reduce(
        ReduceKind::any, s.allowed, {s.allowed.rank() - 1}, /*keepDims=*/true));
  if (!s.bias)
    return masked;
  // With both, a row is masked where no key is open in either.
  Val bias = s.bias;
  if (s.allowed)
    bias = emit.select(s.allowed, bias, emit.scalar(bias.dtype, -kInfinity));
  if (!bias)
    return {};
  Val most =
      emit.reduce(ReduceKind::max, bias, {bias.rank() - 1}, /*keepDims=*/true);
  return emit.compare(ComparePredicate::eq, most,
                      emit.scalar(bias.dtype, -kInfinity));
}

AttentionStages importer::buildAttention(Operator &op, const AttentionSpec &s) {
  AttentionStages stages;
  if (!s.query || !s.key || !s.value || !checkShapes(op, s))
    return stages;
  Emitter &emit = op.emit;
  DType dtype = s.query.dtype;
  int64_t batch = s.query.shape[0], heads = s.query.shape[1],
          queries = s.query.shape[2], groups = s.key.shape[1],
          keys = s.key.shape[2], width = s.value.shape[3];
  // The factor comes before the product: narrow floats do not overflow then.
  Val query =
      s.scale == 1 ? s.query : emit.binary<graph::MulOp>(s.query, s.scale);
  Val product = contract(op, groupHeads(op, query, groups), s.key,
                         {{0, 1}, {0, 1}, {3}, {3}});
  stages.scores = emit.reshape(product, {batch, heads, queries, keys});
  stages.capped = stages.scores;
  if (s.softcap != 0)
    stages.capped = emit.binary<graph::MulOp>(
        emit.unary<graph::TanhOp>(
            emit.binary<graph::DivOp>(stages.scores, s.softcap)),
        s.softcap);
  stages.biased = stages.capped;
  if (s.bias)
    stages.biased = emit.add(stages.biased, emit.cast(s.bias, dtype));
  if (s.allowed)
    stages.biased =
        emit.select(s.allowed, stages.biased, emit.scalar(dtype, -kInfinity));
  Val weights = emit.cast(
      softmaxOfRows(op, emit.cast(stages.biased, s.softmaxType)), dtype);
  if (s.zeroMaskedRows && (s.bias || s.allowed))
    weights = emit.select(maskedRows(op, s), emit.scalar(dtype, 0), weights);
  stages.weights = weights;
  Val result = contract(op, groupHeads(op, weights, groups), s.value,
                        {{0, 1}, {0, 1}, {3}, {2}});
  stages.result = emit.reshape(result, {batch, heads, queries, width});
  return stages;
}

Val importer::windowMask(Operator &op, int64_t queries, int64_t keys,
                         const Val &offset, int64_t left, int64_t right) {
  if (left < 0 && right < 0)
    return {};
  // Wider than any tensor, and far from where sums of positions wrap.
  constexpr int64_t kMaxWindow = int64_t(1) << 40;
  left = std::min(left, kMaxWindow);
  right = std::min(right, kMaxWindow);
  Emitter &emit = op.emit;
  Val query = emit.iota(DType::I64, {queries, 1}, 0);
  Val key = emit.iota(DType::I64, {1, keys}, 1);
  Val at = offset ? emit.cast(offset, DType::I64) : Val();
  if (at && at.rank() == 1)
    at = emit.reshape(at, {at.shape[0], 1, 1, 1});
  if (at)
    query = emit.add(query, at);
  Val mask;
  if (right >= 0)
    mask = emit.compare(ComparePredicate::le, key,
                        emit.add(query, emit.scalarInt(DType::I64, right)));
  if (left >= 0)
    mask = bothAllowed(
        op, mask,
        emit.compare(ComparePredicate::ge, key,
                     emit.sub(query, emit.scalarInt(DType::I64, left))));
  return mask;
}

Val importer::bothAllowed(Operator &op, const Val &a, const Val &b) {
  if (!a || !b)
    return a ? a : b;
  return op.emit.binary<graph::AndOp>(a, b);
}
