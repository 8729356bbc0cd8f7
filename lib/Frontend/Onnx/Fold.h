//===- Fold.h - small computations at import --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graph ops on small host tensors, for shape arithmetic. Only ops whose result
// is exact or correctly rounded are here, so a folded graph has the bits of an
// unfolded one. Operands are well typed and in range; the Emitter checks.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_FRONTEND_ONNX_FOLD_H
#define FUSEC_LIB_FRONTEND_ONNX_FOLD_H

#include "fusec/Dialect/Graph/IR/Graph.h"
#include "fusec/Support/HostTensor.h"
#include "llvm/ADT/ArrayRef.h"

namespace fusec::onnx::importer {

/// A unary op on floats and on integers (wrapped afterwards); null: no fold.
struct UnaryFold {
  double (*real)(double) = nullptr;
  int64_t (*integer)(int64_t) = nullptr;
};
/// A binary op; integers are signed or at most 32 bits wide.
struct BinaryFold {
  double (*real)(double, double) = nullptr;
  int64_t (*integer)(int64_t, int64_t) = nullptr;
};

/// The folds of an op class; not to be folded unless specialised in Fold.cpp.
template <typename OpT>
UnaryFold unaryFold() {
  return {};
}
template <typename OpT>
BinaryFold binaryFold() {
  return {};
}
template <>
UnaryFold unaryFold<graph::NegOp>();
template <>
UnaryFold unaryFold<graph::AbsOp>();
template <>
UnaryFold unaryFold<graph::FloorOp>();
template <>
UnaryFold unaryFold<graph::CeilOp>();
template <>
UnaryFold unaryFold<graph::RoundOp>();
template <>
UnaryFold unaryFold<graph::SqrtOp>();
template <>
UnaryFold unaryFold<graph::NotOp>();
template <>
BinaryFold binaryFold<graph::AddOp>();
template <>
BinaryFold binaryFold<graph::SubOp>();
template <>
BinaryFold binaryFold<graph::MulOp>();
template <>
BinaryFold binaryFold<graph::DivOp>();
template <>
BinaryFold binaryFold<graph::ModOp>();
template <>
BinaryFold binaryFold<graph::RemOp>();
template <>
BinaryFold binaryFold<graph::MaxOp>();
template <>
BinaryFold binaryFold<graph::MinOp>();
template <>
BinaryFold binaryFold<graph::AndOp>();
template <>
BinaryFold binaryFold<graph::OrOp>();
template <>
BinaryFold binaryFold<graph::XorOp>();

/// True if integers of this type can go through int64_t in any op.
bool fitsSigned64(DType type);

/// `from` op by op into `out` (same shape, same type).
void foldUnary(const UnaryFold &fold, const HostTensor &from, HostTensor &out);
void foldBinary(const BinaryFold &fold, const HostTensor &lhs,
                const HostTensor &rhs, HostTensor &out);
void foldCompare(graph::ComparePredicate predicate, const HostTensor &lhs,
                 const HostTensor &rhs, HostTensor &out);
void foldSelect(const HostTensor &pred, const HostTensor &onTrue,
                const HostTensor &onFalse, HostTensor &out);
/// Conversion with the meaning of graph.cast.
void foldCast(const HostTensor &from, bool saturate, HostTensor &out);
/// out[i] = from[offset + sum i_d * stride_d]: broadcast, transpose, slice.
void foldStrided(const HostTensor &from, int64_t offset,
                 llvm::ArrayRef<int64_t> strides, HostTensor &out);
/// Copies `from` into `out` at `start` along `axis` (concat, pad).
void foldInsert(const HostTensor &from, llvm::ArrayRef<int64_t> start,
                HostTensor &out);
/// graph.gather.
void foldGather(const HostTensor &from, const HostTensor &indices, int64_t axis,
                HostTensor &out);
/// sum, prod, max, min of integers (or of floats for max and min) over
/// `dimensions`; false if the kind or type is not folded.
bool foldReduce(graph::ReduceKind kind, const HostTensor &from,
                llvm::ArrayRef<int64_t> dimensions, HostTensor &out);
void foldIota(int64_t dimension, HostTensor &out);

/// Row-major strides of a shape.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

} // namespace fusec::onnx::importer

#endif // FUSEC_LIB_FRONTEND_ONNX_FOLD_H
