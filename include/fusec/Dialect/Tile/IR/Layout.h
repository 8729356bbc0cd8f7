//===- Layout.h - which thread holds which tile element ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layout maps hardware places (register, lane, warp) to coordinates of a
// tile. Each hardware axis is a list of digits in mixed radix, fastest first;
// a digit adds `value * stride` to the coordinate along one tile axis. Vector
// accesses, blocked rows, MMA fragments and reduction trees are all such
// lists. A digit of stride 0 replicates: its places hold the same element.
//
//   place  = d0 + size0 * (d1 + size1 * (d2 + ...))
//   coord[axis] = sum over all digits on that axis of d * stride
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_TILE_IR_LAYOUT_H
#define FUSEC_DIALECT_TILE_IR_LAYOUT_H

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>

namespace fusec::tile {

/// One digit: `size` places, each step moves `stride` along tile axis `axis`.
/// Printed as `size:stride:axis`.
struct Digit {
  int64_t size = 1;
  int64_t stride = 0;
  int64_t axis = 0;
  friend bool operator==(const Digit &, const Digit &) = default;
  friend llvm::hash_code hash_value(const Digit &digit) {
    return llvm::hash_combine(digit.size, digit.stride, digit.axis);
  }
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Digit &digit);

/// Number of places of a list of digits (the product of sizes).
int64_t placeCount(llvm::ArrayRef<Digit> digits);

/// The digits of `digits` that do not move along any of `axes`.
llvm::SmallVector<Digit> dropAxes(llvm::ArrayRef<Digit> digits,
                                  llvm::ArrayRef<int64_t> axes);

/// `digits` with the stride of those along `axes` set to 0.
llvm::SmallVector<Digit> replicateAxes(llvm::ArrayRef<Digit> digits,
                                       llvm::ArrayRef<int64_t> axes);

/// Adds the coordinates that `place` contributes to `coords`.
void addCoordinates(llvm::ArrayRef<Digit> digits, int64_t place,
                    llvm::MutableArrayRef<int64_t> coords);

} // namespace fusec::tile

namespace mlir {
template <>
struct FieldParser<fusec::tile::Digit> {
  static FailureOr<fusec::tile::Digit> parse(AsmParser &parser);
};
} // namespace mlir

#endif // FUSEC_DIALECT_TILE_IR_LAYOUT_H
