//===- VendorCall.h - a product by the GPU vendor's library -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch whose kernel computes nothing but a product of matrices, with what
// the vendor's library (cuBLASLt) has to follow it, may name a call of that
// library that computes the same. Its kernel is kept: it runs wherever the
// library, in the version that the call was timed with, does not.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_RUNTIME_VENDORCALL_H
#define FUSEC_RUNTIME_VENDORCALL_H

#include "fusec/Support/DType.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace fusec::runtime {

/// What follows a product.
enum class VendorActivation : uint8_t {
  None,
  /// max(x, 0); NaN stays NaN.
  Relu
};

/// out(b, m, n) = activation((sum over k of lhs(b, m, k) * rhs(b, n, k)) +
/// addend(b, m, n) + bias(n)), added in this order, for b, m, n, k in
/// [0, batch), [0, m) and so on; all sizes are at least 1. Sums are in f32, of
/// integers in i32, and are rounded once, at the end.
struct MatrixProduct {
  /// Elements are contiguous along one of the two axes that are not b; pitches
  /// are in elements.
  struct Matrix {
    /// The buffer, a position among the launch's arguments.
    uint32_t argument = 0;
    DType dtype = DType::F32;
    /// Contiguous along k, else along m (lhs) or n (rhs).
    bool alongSum = true;
    /// From one index of the other axis to the next, at least the extent of the
    /// contiguous axis.
    int64_t pitch = 0;
    /// From one b to the next; 0 where all have the same matrix.
    int64_t batchPitch = 0;
    friend bool operator==(const Matrix &, const Matrix &) = default;
  };
  int64_t batch = 1, m = 1, n = 1, k = 1;
  Matrix lhs, rhs;
  /// Contiguous along n; `alongSum` is false.
  Matrix result;
  /// As `result`, and of its type.
  std::optional<Matrix> addend = std::nullopt;
  /// n elements of the result's type: a position among the arguments.
  std::optional<uint32_t> bias = std::nullopt;
  VendorActivation activation = VendorActivation::None;
  /// f32: operands may be rounded to TF32.
  bool allowTf32 = false;
  /// 8-bit floats: all products of a sum through one accumulator of the tensor
  /// cores (docs/semantics.md).
  bool fastAccumulation = false;

  /// Elements from the first of a matrix to the last, those of all batches;
  /// nothing if pitches are too small, negative or beyond 63 bits. For sizes of
  /// 31 bits.
  std::optional<int64_t> lhsReach() const;
  std::optional<int64_t> rhsReach() const;
  std::optional<int64_t> resultReach() const;
  /// Of a matrix of the result's shape.
  std::optional<int64_t> reachAsResult(const Matrix &matrix) const;

  friend bool operator==(const MatrixProduct &,
                         const MatrixProduct &) = default;
};

/// A way in which one version of the library computes one product.
struct VendorAlgorithm {
  /// For people and reports; unique among those for a product.
  std::string name;
  /// Of the library, 130100 for 13.1.0. Another one does not know `words`.
  uint64_t version = 0;
  /// What the library calls opaque: cublasLtMatmulAlgo_t.
  std::array<uint64_t, 8> words = {};
  uint64_t workspaceBytes = 0;
  friend bool operator==(const VendorAlgorithm &,
                         const VendorAlgorithm &) = default;
};

/// Scratch memory beyond this is not worth what it gains: what NVIDIA advises
/// for Hopper.
inline constexpr uint64_t kMostVendorWorkspace = uint64_t(32) << 20;

} // namespace fusec::runtime

#endif // FUSEC_RUNTIME_VENDORCALL_H
