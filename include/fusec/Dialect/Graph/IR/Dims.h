//===- Dims.h - facts about dynamic dimensions ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_DIMS_H
#define FUSEC_DIALECT_GRAPH_IR_DIMS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/Hashing.h"

namespace fusec::graph {

/// What is known of the size of one dynamic dimension: the entries of
/// `#graph.dims`. The default says nothing.
struct DimFact {
  /// Equal symbols in a function mean equal sizes. Null: unnamed, and then the
  /// other fields have their defaults.
  mlir::StringAttr symbol;
  int64_t min = 0;
  /// kDynamic: unbounded.
  int64_t max = mlir::ShapedType::kDynamic;
  /// The size is a multiple of it; at least 1.
  int64_t divisor = 1;

  bool operator==(const DimFact &) const = default;
  /// True if a dimension of this size satisfies the facts.
  bool admits(int64_t size) const;
};

inline llvm::hash_code hash_value(const DimFact &fact) {
  return llvm::hash_combine(fact.symbol, fact.min, fact.max, fact.divisor);
}

/// The `#graph.dims` encoding that has the facts of `type`'s dimensions `kept`,
/// in that order; null if `type` has no such encoding or all facts are empty.
mlir::Attribute projectDims(mlir::RankedTensorType type,
                            llvm::ArrayRef<int64_t> kept);

} // namespace fusec::graph

#endif // FUSEC_DIALECT_GRAPH_IR_DIMS_H
