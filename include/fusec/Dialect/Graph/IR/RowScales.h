//===- RowScales.h - operands that are rows times factors -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a contraction's operand of 16-bit floats is made of where it is another
// tensor with each row scaled, as norms make it. Which contractions may be
// computed from that tensor, and scaled afterwards, follows from the graph
// (docs/semantics.md); the planner and the bounds of results ask here.
//===----------------------------------------------------------------------===//
#ifndef FUSEC_DIALECT_GRAPH_IR_ROWSCALES_H
#define FUSEC_DIALECT_GRAPH_IR_ROWSCALES_H

#include "fusec/Dialect/Graph/IR/Graph.h"

#include <optional>

namespace fusec::graph {

/// operand = raw * rows * terms, rounded to the operand's type on the way.
struct RowScales {
  /// A factor and where its dimensions lie in the operand.
  struct Factor {
    mlir::Value value;
    llvm::SmallVector<int64_t> dims;
    /// It is divided by.
    bool isDivisor = false;
  };
  /// Of the operand's type and shape.
  mlir::Value raw;
  /// Factors that do not depend on what is summed (none are named where a norm
  /// makes them), and those that depend on nothing else.
  llvm::SmallVector<Factor> rows, terms;
  /// Values of the operand's type on the way, the operand included: each
  /// rounds.
  unsigned roundings = 0;
};

/// The operand of `op` (lhs or rhs) as such; nothing if it is 8 or 32 bits
/// wide, no factor scales its rows, another op is on the way, or factors along
/// what is summed would be multiplied in f16.
std::optional<RowScales> rowScales(ContractOp op, bool isLhs);

} // namespace fusec::graph

#endif // FUSEC_DIALECT_GRAPH_IR_ROWSCALES_H
