//===- Numeric.h - exact number conversions ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bit-exact conversions between f64 and the narrow float formats, between
// floats and integers, and the wrapping and checked integer arithmetic that
// files and evaluators need. Everything is total, pure and thread safe. A
// narrowing conversion rounds once, to nearest even, straight from f64, so no
// result is rounded twice.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SUPPORT_NUMERIC_H
#define FUSEC_SUPPORT_NUMERIC_H

#include "fusec/Support/DType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>

namespace fusec {

/// What a float conversion does with a value beyond the largest finite one
/// (infinity included).
enum class Overflow : uint8_t {
  /// Infinity, or NaN in a format without infinity (f8e4m3).
  Infinity,
  /// The largest finite value of the same sign. NaN stays NaN.
  Saturate,
};

/// The bits of `value` rounded to the float type `type`, in the low
/// `8 * byteSize(type)` bits. NaN becomes a quiet NaN of the same sign.
uint64_t encodeFloat(DType type, double value,
                     Overflow overflow = Overflow::Infinity);

/// The value of the low bits of `bits` read as the float type `type`; exact.
double decodeFloat(DType type, uint64_t bits);

/// `value` rounded to the float type `type` and widened again.
double roundToFloat(DType type, double value,
                    Overflow overflow = Overflow::Infinity);

/// An f64 that rounds to every float type of at most 51 significant bits as
/// the integer itself would: exact where possible, else rounded to odd.
double toF64RoundToOdd(int64_t value);
/// The same for an unsigned integer.
double toF64RoundToOdd(uint64_t value);

/// Truncates toward zero and clamps to `bits` (1 to 64) bits; NaN gives 0.
int64_t toSignedSaturating(double value, unsigned bits);
/// The same for unsigned results; negative values give 0.
uint64_t toUnsignedSaturating(double value, unsigned bits);

/// The low `bits` (1 to 64) bits of `value`, sign-extended.
int64_t wrapSigned(int64_t value, unsigned bits);
/// The low `bits` (1 to 64) bits of `value`, zero-extended.
uint64_t wrapUnsigned(uint64_t value, unsigned bits);

/// The product, or nothing if it does not fit.
std::optional<int64_t> checkedMul(int64_t a, int64_t b);
/// The sum, or nothing if it does not fit.
std::optional<int64_t> checkedAdd(int64_t a, int64_t b);
/// The difference, or nothing if it does not fit.
std::optional<int64_t> checkedSub(int64_t a, int64_t b);

/// The largest number of dimensions that any part of fusec accepts.
inline constexpr size_t kMaxRank = 64;
/// Default cap on the bytes of one host tensor (16 GiB).
inline constexpr int64_t kDefaultMaxTensorBytes = int64_t(16) << 30;

/// The number of elements of a row-major tensor. Fails on a rank above
/// `kMaxRank`, on a negative dimension, and if the product of the non-zero
/// dimensions does not fit (so strides never overflow, even of empty tensors).
llvm::Expected<int64_t> elementCount(llvm::ArrayRef<int64_t> shape);

/// The bytes of such a tensor in memory; fails also above `maxBytes`.
llvm::Expected<int64_t> byteCount(DType type, llvm::ArrayRef<int64_t> shape,
                                  int64_t maxBytes = kDefaultMaxTensorBytes);

} // namespace fusec

#endif // FUSEC_SUPPORT_NUMERIC_H
