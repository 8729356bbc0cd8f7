//===- HostTensor.h - a tensor in host memory -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What file readers produce and evaluators consume: an element type, a shape
// and row-major bytes in host order, with typed access element by element.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SUPPORT_HOSTTENSOR_H
#define FUSEC_SUPPORT_HOSTTENSOR_H

#include "fusec/Support/Bytes.h"
#include "fusec/Support/Numeric.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace fusec {

/// A dense row-major tensor. Copies share `bytes`; whoever writes must own the
/// only copy (or call `clone`). Reading is thread safe, writing is not.
/// `bytes` holds exactly `elements() * byteSize(dtype)` bytes and is never null
/// in a tensor made by `create`.
struct HostTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::shared_ptr<Bytes> bytes;

  /// A tensor of zeros. Fails as `byteCount` does, and if memory is refused.
  static llvm::Expected<HostTensor>
  create(DType dtype, llvm::ArrayRef<int64_t> shape,
         int64_t maxBytes = kDefaultMaxTensorBytes);

  /// A tensor with bytes of its own.
  HostTensor clone() const;

  /// Number of elements, from the size of `bytes`.
  int64_t elements() const;

  const std::byte *data() const { return bytes->data(); }
  std::byte *data() { return bytes->mutableData(); }

  // `index` is a row-major position in [0, elements()); the caller checks it.

  /// The element as f64. Exact for floats, bool and integers up to 53 bits;
  /// larger integers round to nearest even.
  double getF64(int64_t index) const;
  /// The element as an integer. U64 keeps its bit pattern; floats truncate
  /// toward zero and saturate (NaN: 0); bool gives 0 or 1.
  int64_t getI64(int64_t index) const;
  /// Stores `value`: floats round once to nearest even, integers truncate and
  /// saturate (NaN: 0), bool stores `value != 0`.
  void setF64(int64_t index, double value,
              Overflow overflow = Overflow::Infinity);
  /// Stores an integer: integers wrap to their width, floats round once to
  /// nearest even, bool stores `value != 0`.
  void setI64(int64_t index, int64_t value);
  /// The same for an unsigned value (floats take it as unsigned).
  void setU64(int64_t index, uint64_t value);
  /// The stored bits of the element, zero-extended.
  uint64_t getBits(int64_t index) const;
  /// Stores the low `8 * byteSize(dtype)` bits of `bits`.
  void setBits(int64_t index, uint64_t bits);
};

} // namespace fusec

#endif // FUSEC_SUPPORT_HOSTTENSOR_H
