//===- Tensor.h - the evaluator's own tensors -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_LIB_REFERENCE_TENSOR_H
#define FUSEC_LIB_REFERENCE_TENSOR_H

#include "fusec/Support/HostTensor.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace fusec::reference {

/// A row-major tensor of numbers ready to compute with. Floats are in `real`.
/// Integers and bools are in `whole`: sign-extended if signed, zero-extended
/// if unsigned (u64 as its bits), 0 or 1 for bool. The other vector is empty.
struct Tensor {
  DType dtype = DType::F32;
  llvm::SmallVector<int64_t, 6> shape;
  std::vector<double> real;
  std::vector<int64_t> whole;

  bool isReal() const { return isFloat(dtype); }
  int64_t rank() const { return shape.size(); }
  int64_t elements() const { return isReal() ? real.size() : whole.size(); }

  /// A tensor of zeros; fails as HostTensor::create does, for 8 bytes an
  /// element.
  static llvm::Expected<Tensor>
  create(DType dtype, llvm::ArrayRef<int64_t> shape, int64_t maxBytes);
  static llvm::Expected<Tensor> fromHost(const HostTensor &tensor,
                                         int64_t maxBytes);
  /// The tensor in its own type, or with `wide` floats as f64.
  llvm::Expected<HostTensor> toHost(bool wide) const;

  /// Rounds floats to their type (not if `wide`) and wraps integers to their
  /// width. Float8 overflow saturates, but what is infinite in f32 becomes
  /// infinite in f8e5m2, as float8 is computed in f32.
  void normalize(bool wide);
};

/// A float rounded to `dtype` by the rule of Tensor::normalize.
double roundResult(DType dtype, double value);

/// An integer as a double that one more rounding to `dtype` makes exact.
double integerToReal(int64_t value, DType from, DType to);

/// Row-major strides of a shape, in elements.
llvm::SmallVector<int64_t, 6> stridesOf(llvm::ArrayRef<int64_t> shape);

/// Calls `body(i, p)` for each index of `shape` in row-major order: i counts
/// from 0, p is `start` plus the sum of index times `strides`.
template <typename Body>
void walkStrided(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
                 int64_t start, Body body) {
  for (int64_t size : shape)
    if (size == 0)
      return;
  int64_t rank = shape.size(), position = start, count = 0;
  if (rank == 0)
    return body(count, position);
  int64_t inner = shape[rank - 1], step = strides[rank - 1];
  llvm::SmallVector<int64_t, 6> index(rank, 0);
  while (true) {
    for (int64_t k = 0; k < inner; ++k)
      body(count++, position + k * step);
    int64_t dim = rank - 2;
    for (; dim >= 0; --dim) {
      position += strides[dim];
      if (++index[dim] < shape[dim])
        break;
      position -= shape[dim] * strides[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

/// Calls `body(source, target)` on the vectors that hold the elements of two
/// tensors of one element type.
template <typename Body>
void onPayload(const Tensor &source, Tensor &target, Body body) {
  if (source.isReal())
    body(source.real, target.real);
  else
    body(source.whole, target.whole);
}

} // namespace fusec::reference

#endif // FUSEC_LIB_REFERENCE_TENSOR_H
