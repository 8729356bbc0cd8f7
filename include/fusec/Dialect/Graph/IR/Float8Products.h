//===- Float8Products.h - products of 8-bit floats --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which products may be made of 8-bit floats with the sums of tensor cores
// (docs/semantics.md): a permission that follows from the graph as written, so
// that the rewrite that uses it and the bounds that judge it agree.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_FLOAT8PRODUCTS_H
#define FUSEC_DIALECT_GRAPH_IR_FLOAT8PRODUCTS_H

#include "fusec/Dialect/Graph/IR/Graph.h"

namespace fusec::graph {

/// True for f8E4M3FN and f8E5M2.
bool isFloat8(mlir::Type type);

/// Unit attribute of a contraction, which may be dropped: sums of 8-bit floats
/// may do without promotion, also where operands or result are f32.
inline constexpr llvm::StringLiteral kFastAccumulation =
    "graph.fast_accumulation";
bool hasFastAccumulation(mlir::Operation *op);

/// An 8-bit float tensor that a value has the elements of, up to factors.
struct Float8Source {
  /// A factor and where its dimensions lie in the value.
  struct Factor {
    mlir::Value value;
    llvm::SmallVector<int64_t> dims;
  };
  mlir::Value narrow;
  /// Dimension i of the value is dimension permutation[i] of `narrow`.
  llvm::SmallVector<int64_t> permutation;
  llvm::SmallVector<Factor> factors;
};

/// Looks through casts that keep all numbers, products with broadcast factors,
/// dequantisation and transposes; nothing if there is another op on the way.
std::optional<Float8Source> float8Source(mlir::Value value);

/// Whether `op` may be computed as a product of the 8-bit floats that its
/// operands come from, scaled afterwards: both have none but factors that do
/// not depend on what is summed, and its type, or a permission that it has,
/// leaves room for such sums.
bool mayUseFloat8(ContractOp op);

} // namespace fusec::graph

#endif // FUSEC_DIALECT_GRAPH_IR_FLOAT8PRODUCTS_H
