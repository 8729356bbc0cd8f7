//===- AxisInfo.h - runs of equal and consecutive elements ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the arithmetic of an index or mask tile says along one axis. Elements
// are looked at in aligned groups: group g of size s holds coordinates
// [g * s, (g + 1) * s) of the axis. All numbers are powers of two.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_TILE_TRANSFORMS_AXISINFO_H
#define FUSEC_DIALECT_TILE_TRANSFORMS_AXISINFO_H

#include "fusec/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>

namespace fusec::tile {

/// Facts about a tile along one axis.
struct AxisInfo {
  /// Elements of aligned groups of this size increase by one.
  int64_t contiguity = 1;
  /// Elements of aligned groups of this size are equal.
  int64_t constancy = 1;
  /// Divides the first element of every aligned group of size `contiguity`.
  int64_t divisibility = 1;
  /// Elements of aligned groups of size `span` (1: unknown) increase by one
  /// after every `repeat` equal ones, as coordinates divided by a number do;
  /// `spanDivisibility` divides the first of each such group.
  int64_t repeat = 1, span = 1, spanDivisibility = 1;

  /// A power of two that divides the first element of every group of `size`.
  int64_t divisibilityAt(int64_t size) const;
};

/// Computes facts along `axis`; remembers what it has seen.
class AxisAnalysis {
public:
  explicit AxisAnalysis(int64_t axis) : axis(axis) {}
  AxisInfo get(mlir::Value value);

private:
  AxisInfo compute(mlir::Value value);
  int64_t axis;
  llvm::DenseMap<mlir::Value, AxisInfo> known;
};

/// The axis along which a thread's registers may be vectors.
int64_t vectorAxis(LayoutAttr layout);

/// Elements of type `element` that one access at the index tile `offsets`
/// takes, where `mask` (may be null) is the same for all of them; at most 16
/// bytes, wider vectors are several accesses. `analysis` is of their layout's
/// vectorAxis.
int64_t accessWidth(AxisAnalysis &analysis, mlir::Type element,
                    mlir::Value offsets, mlir::Value mask);

} // namespace fusec::tile

#endif // FUSEC_DIALECT_TILE_TRANSFORMS_AXISINFO_H
