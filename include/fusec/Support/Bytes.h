//===- Bytes.h - bytes that are owned or looked at --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights are large: from the file that was read to the upload they are shared,
// not copied. Bytes are a vector of their own or a part of memory that somebody
// else keeps.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_SUPPORT_BYTES_H
#define FUSEC_SUPPORT_BYTES_H

#include "llvm/ADT/ArrayRef.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace fusec {

/// A run of bytes of fixed length. Reading is thread safe; writing is not.
class Bytes {
public:
  Bytes() = default;
  /// Zeros.
  explicit Bytes(size_t size) : own(size), seen(own) {}
  Bytes(size_t size, std::byte value) : own(size, value), seen(own) {}
  Bytes(std::vector<std::byte> bytes) : own(std::move(bytes)), seen(own) {}
  /// A copy.
  explicit Bytes(llvm::ArrayRef<std::byte> bytes)
      : own(bytes.begin(), bytes.end()), seen(own) {}
  /// `bytes`, which live as long as `owner`.
  Bytes(llvm::ArrayRef<std::byte> bytes, std::shared_ptr<const void> owner)
      : seen(bytes), owner(std::move(owner)) {}
  Bytes(const Bytes &) = delete;
  Bytes &operator=(const Bytes &) = delete;

  const std::byte *data() const { return seen.data(); }
  size_t size() const { return seen.size(); }
  bool empty() const { return seen.empty(); }
  const std::byte *begin() const { return seen.begin(); }
  const std::byte *end() const { return seen.end(); }
  const std::byte &operator[](size_t i) const { return seen[i]; }
  operator llvm::ArrayRef<std::byte>() const { return seen; }

  /// Whether the contents are equal.
  bool operator==(const Bytes &other) const { return seen == other.seen; }

  /// For writing; bytes of somebody else are copied first.
  std::byte *mutableData() {
    if (own.size() != seen.size()) {
      own.assign(seen.begin(), seen.end());
      seen = own;
    }
    return own.data();
  }

private:
  std::vector<std::byte> own;
  llvm::ArrayRef<std::byte> seen;
  // Stays after a copy: others may look at the same memory through it.
  std::shared_ptr<const void> owner;
};

} // namespace fusec

#endif // FUSEC_SUPPORT_BYTES_H
