//===- Attention.h - scaled dot-product attention ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FRONTEND_ONNX_ATTENTION_H
#define FUSEC_LIB_FRONTEND_ONNX_ATTENTION_H

#include "Operator.h"

namespace fusec::onnx::importer {

/// Attention of H query heads over G key and value heads, G a divisor of H:
/// heads H/G * g, ..., H/G * (g + 1) - 1 read key head g.
struct AttentionSpec {
  /// [batch, H, S, D], [batch, G, T, D], [batch, G, T, E].
  Val query, key, value;
  /// Factor of the scores.
  double scale = 1;
  /// Scores become softcap * tanh(score / softcap); 0: they do not.
  double softcap = 0;
  /// Added to the scores; broadcasts to [batch, H, S, T]. Null: nothing.
  Val bias;
  /// Bool, broadcasts likewise: keys that count. Null: all.
  Val allowed;
  /// Rows without any key that counts (by `allowed`, or by a bias of -inf) give
  /// zeros instead of NaN.
  bool zeroMaskedRows = false;
  /// Type of the softmax.
  DType softmaxType = DType::F32;
};

/// The stages of an attention, all [batch, H, S, T] but `result`, which is
/// [batch, H, S, E].
struct AttentionStages {
  Val scores, capped, biased, weights, result;
};

AttentionStages buildAttention(Operator &op, const AttentionSpec &spec);

/// Bool [S, T] (or [batch, 1, S, T] where `offset` is [batch]): true where key
/// j is at most `right` after and `left` before position i + offset of query i;
/// -1: no bound. Null if there is no bound at all.
Val windowMask(Operator &op, int64_t queries, int64_t keys, const Val &offset,
               int64_t left, int64_t right);

/// a and b; either may be null.
Val bothAllowed(Operator &op, const Val &a, const Val &b);

} // namespace fusec::onnx::importer

#endif // FUSEC_LIB_FRONTEND_ONNX_ATTENTION_H
