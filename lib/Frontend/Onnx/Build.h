//===- Build.h - compositions that several operators share ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Like the Emitter's methods, all of them pass the null value on.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FRONTEND_ONNX_BUILD_H
#define FUSEC_LIB_FRONTEND_ONNX_BUILD_H

#include "Operator.h"

namespace fusec::onnx::importer {

/// Which dimensions of the operands a contraction pairs.
struct Pairing {
  Dims lhsBatch, rhsBatch, lhsContract, rhsContract;
};

/// Sum of products. Result dimensions: batch, free of lhs, free of rhs.
Val contract(Operator &op, const Val &a, const Val &b, const Pairing &p);
/// NumPy's matmul.
Val matmul(Operator &op, Val a, Val b);
/// x W' for x of [..., k] and W of [n, k].
Val multiplyTransposed(Operator &op, const Val &x, const Val &w);

/// Softmax along the last dimension.
Val softmaxOfRows(Operator &op, const Val &x);
/// Layer norm over the dimensions from `axis` on; `bias` may be null. `scale`
/// and `bias` have the shape of these dimensions.
Val layerNorm(Operator &op, const Val &x, const Val &scale, const Val &bias,
              int64_t axis, double epsilon);
/// RMS norm likewise.
Val rmsNorm(Operator &op, const Val &x, const Val &scale, int64_t axis,
            double epsilon);
Val gelu(Operator &op, const Val &x, graph::GeluKind kind);
Val silu(Operator &op, const Val &x);

/// result[i] = x[i with indices[i] at `axis`]; the shape of `indices`.
Val gatherElements(Operator &op, const Val &x, const Val &indices,
                   int64_t axis);
/// `x` with updates applied at i with indices[i] at `axis`.
Val scatterElements(Operator &op, graph::ScatterKind kind, const Val &x,
                    const Val &indices, const Val &updates, int64_t axis);
/// Index (i64) of the maximum or minimum along `axis`, which is removed.
Val argReduce(Operator &op, graph::ReduceKind kind, const Val &x, int64_t axis,
              bool selectLast);

/// The sum over `dims` divided by their size; they are kept with size 1.
Val meanOver(Operator &op, const Val &x, DimsRef dims);
/// `x` with size-1 dimensions inserted so that it has `rank` dimensions, its
/// own ones starting at `at`.
Val expandRank(Operator &op, const Val &x, int64_t rank, int64_t at);
/// [..., heads * size] as [..., heads, size].
Val splitHeads(Operator &op, const Val &x, int64_t heads);
/// [batch, length, heads * size] as [batch, heads, length, size].
Val headsFirst(Operator &op, const Val &x, int64_t heads);
/// [batch, heads, length, size] as [batch, length, heads * size].
Val headsLast(Operator &op, const Val &x);

} // namespace fusec::onnx::importer

#endif // FUSEC_LIB_FRONTEND_ONNX_BUILD_H
